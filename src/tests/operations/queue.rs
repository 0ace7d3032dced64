//! The admin page's section Queue: what failed is seen, tried again, removed.

use crate::support::{Provider, TestApp};

async fn spare(app: &TestApp, status: &str) {
    sqlx::query("UPDATE apalis.jobs SET status = $1, attempts = 6, done_at = run_at, idempotency_key = NULL")
        .bind(status)
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
}

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
async fn a_job_that_was_given_up_is_tried_again_or_removed() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.make_admin(&ben).await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("bees").await;
    let browser = app.browser();
    browser.sign_in(&ben).await;
    spare(&app, "Killed").await;
    let (_, page) = browser.get("/admin").await;
    assert!(
        page.contains("was given up") && page.contains("after 6 attempts"),
        "{page}"
    );
    let job: String = sqlx::query_scalar("SELECT id FROM apalis.jobs")
        .fetch_one(&mut app.superuser().await)
        .await
        .unwrap();
    let press = |action| {
        let fields = [("action", action), ("job", job.as_str())];
        let browser = &browser;
        async move {
            browser
                .post("/admin/queue", &fields)
                .await
                .status()
                .as_u16()
        }
    };
    assert_eq!(press("retry_job").await, 200);
    assert_eq!(app.jobs().await[0].1, "Pending");
    assert_eq!(
        press("remove_job").await,
        404,
        "it waits, and is nobody's to remove"
    );
    spare(&app, "Failed").await;
    assert_eq!(press("remove_job").await, 200);
    assert_eq!(app.jobs().await.len(), 0);
    assert_eq!(press("remove_job").await, 404);
    assert_eq!(press("explode").await, 422);
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
