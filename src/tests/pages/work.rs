//! Settings › Work: what is being done for one's own memory, and for nobody else's.

use serde_json::json;

use super::assert_has;
use crate::chat::use_server;
use crate::data::hand_over;
use crate::support::{Browser, ChatServer, Provider, TestApp};

const PATH: &str = "/settings/work";
const IDLE: &str = "No work under way.";

async fn look(browser: &Browser) -> String {
    browser.look(PATH).await
}

#[tokio::test]
async fn each_person_sees_how_far_their_own_work_is_and_nobody_elses() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    let (provider, model) = (Provider::start().await, ChatServer::saying(r#"{"facts":[]}"#).await);
    app.use_provider(&anna, &provider, "model").await;
    use_server(&app, &anna, &model).await;
    let (hers, his) = (app.signed_in(&anna).await, app.signed_in(&ben).await);
    assert!(look(&hers).await.contains(IDLE));
    for text in ["Anna keeps bees.", "Anna rows.", "Tea, not coffee."] {
        anna.add(text).await;
    }
    // The last message is left to the job.
    let said = |n: i32| json!({ "id": n.to_string(), "role": "user", "content": "I row." });
    hand_over(&anna, "talk", &json!((0..101).map(said).collect::<Vec<_>>())).await;
    let page = look(&hers).await;
    assert_has(&page, &["0 of 103 texts", "1 session is waiting to be read."]);
    assert_has(&page, &["Making the messages of 1 session searchable."]);
    assert_has(&page, &["It is written after a few quiet minutes."]);
    assert!(look(&his).await.contains(IDLE), "none of it is Ben's");
    assert_eq!(app.browser().get(PATH).await.0, 303, "a stranger signs in first");

    app.run_due().await;
    // The summary alone waits for the memory to be still.
    let page = look(&hers).await;
    assert!(!page.contains("vectors</"), "{page}");
    assert!(!page.contains("read.") && page.contains("1 task is running."));
}

#[tokio::test]
async fn what_stands_in_the_way_is_said_and_so_is_a_pause_of_the_job() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    provider.behave(|b| b.status = Some(503));
    anna.add("Anna keeps bees.").await;
    app.run_due().await;
    let hers = app.signed_in(&anna).await;
    let page = look(&hers).await;
    assert_has(&page, &["The endpoint failed with status 503.", "Continues"]);
    let job = keepsake::jobs::find("embed").unwrap();
    let now = app.embeddings.now();
    keepsake::jobs::control::pause(&app.db, job, now).await.unwrap();
    let page = look(&hers).await;
    assert!(page.contains("An admin paused this work."), "{page}");
}

#[tokio::test]
async fn what_comes_round_by_the_clock_stands_there_with_where_it_is_switched() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    anna.add("Anna keeps bees.").await;
    let page = look(&browser).await;
    assert_has(&page, &["Reflection", "every Sunday at 03:00", "every day at 04:00"]);
    assert_has(&page, &["It needs a chat model.", "href=\"/settings/fading\""]);
    let of_fading = |page: &str| {
        let row = page.split("<tr>").skip(1).find(|row| row.contains(">Fading")).unwrap();
        row.to_owned()
    };
    assert!(of_fading(&page).contains("–"), "no night has come: {page}");
    browser.post("/settings/fading", &[("action", "off")]).await;
    app.clock.advance(time::Duration::days(2));
    app.run_job("fade").await;
    let row = of_fading(&look(&browser).await);
    assert!(row.contains("just now") && row.contains("off"), "{row}");
}
