use serde_json::json;

use super::{code, get};
use crate::support::TestApp;

#[tokio::test]
async fn archiving_is_idempotent_and_keeps_the_row() {
    let (app, anna) = TestApp::start_for("anna").await;
    let id = anna.add("outdated").await;
    app.clock.advance(time::Duration::hours(1));
    for _ in 0..3 {
        let answer = anna.call("memory_archive", json!({ "item_id": id })).await;
        assert_eq!(answer, json!({ "id": id, "status": "archived" }));
        app.clock.advance(time::Duration::hours(1));
    }
    assert_eq!(get(&anna, id).await["content"], "outdated");
    let events = "SELECT event FROM memory_item_events WHERE item_id = $1 ORDER BY id";
    let happened: Vec<String> = app.sql(events).bind(id).values().await;
    assert_eq!(happened, ["added", "archived"], "archiving again is no event");
}

#[tokio::test(crate = "crate::support::shared")]
async fn nobody_archives_anothers_item() {
    let (_, anna, ben) = TestApp::with_users().await;
    let id = anna.add("mine").await;
    for (user, item) in [(&ben, id), (&anna, id + 1_000)] {
        let refused = user.send("memory_archive", &json!({ "item_id": item })).await;
        assert_eq!(code(refused).await, "404 not_found", "{item}");
    }
    assert_eq!(get(&anna, id).await["status"], "active");
}
