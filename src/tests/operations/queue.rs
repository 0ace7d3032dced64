//! The admin page's section Queue: what failed is seen, tried again, removed.

use keepsake::queue;

use crate::support::{Provider, TestApp};

#[tokio::test]
async fn what_failed_is_seen_without_a_word_of_it_and_tried_again() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.make_admin(&ben).await;
    let browser = app.browser();
    browser.sign_in(&ben).await;
    let (_, page) = browser.get("/admin").await;
    assert!(
        page.contains("Nothing waits and nothing has failed"),
        "{page}"
    );
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    provider.behave(|b| b.poison = Some("zanzibar"));
    anna.add("zanzibar clove").await;
    anna.add("plain").await;
    app.drain(&anna).await;
    provider.behave(|b| b.status = Some(503));
    anna.add("third").await;
    app.drain(&anna).await;
    let (_, page) = browser.get("/admin").await;
    assert!(
        page.contains("1 text of 1 user could not be embedded"),
        "{page}"
    );
    assert!(
        page.contains("OpenAI-compatible endpoints of users"),
        "{page}"
    );
    assert!(
        page.contains("data-look-again"),
        "it looks again while something waits"
    );
    for private in ["zanzibar", "anna@example.com", &provider.host_port()] {
        let section = page.split("id=\"queue\"").nth(1).unwrap();
        let section = section.split("</section>").next().unwrap();
        assert!(!section.contains(private), "{private} in {section}");
    }

    provider.behave(|b| {
        b.poison = None;
        b.status = None;
    });
    let answer = browser.post("/admin/queue", &[("action", "retry")]).await;
    assert_eq!(answer.status(), 200);
    let said = answer.text().await.unwrap();
    assert!(
        said.contains("1 memory of 1 user: tried again now."),
        "{said}"
    );
    app.drain(&anna).await;
    let states = app.vectors(&anna, "active").await;
    assert!(
        states.iter().all(|(_, state)| state == "ready"),
        "{states:?}"
    );
}

#[tokio::test]
async fn a_run_that_failed_says_why_and_is_tried_again_when_asked_for() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.make_admin(&ben).await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("bees").await;
    let browser = app.browser();
    browser.sign_in(&ben).await;
    let fail = "UPDATE job_queue SET problem = 'the database was away', attempts = 6, run_at = run_at + interval '1 h'";
    let mut conn = app.superuser().await;
    sqlx::query(fail).execute(&mut conn).await.unwrap();
    let (_, page) = browser.get("/admin").await;
    assert!(
        page.contains("failed after 6 attempts: the database was away."),
        "{page}"
    );
    let press = async |action| {
        let fields = [("action", action), ("job", "embed")];
        let answer = browser.post("/admin/queue", &fields).await;
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (status, said) = press("retry_job").await;
    assert!(
        status == 200 && said.contains("1 run is tried again now."),
        "{said}"
    );
    let now = app.embeddings.now();
    let counts = queue::store::count_jobs(&mut conn, now).await.unwrap();
    assert_eq!((counts[0].waiting, counts[0].failed), (1, 0));
    let (status, said) = press("retry_job").await;
    assert!(
        status == 200 && said.contains("There is nothing to try again."),
        "{said}"
    );
    assert_eq!(press("explode").await.0, 422);
}

#[tokio::test]
async fn for_members_and_strangers_there_is_no_such_form() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let browser = app.browser();
    let fields = [("action", "retry")];
    assert_eq!(browser.post("/admin/queue", &fields).await.status(), 303);
    browser.sign_in(&anna).await;
    assert_eq!(browser.post("/admin/queue", &fields).await.status(), 404);
}
