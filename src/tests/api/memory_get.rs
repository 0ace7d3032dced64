use serde_json::{Value, json};

use super::{fields, get};
use crate::support::TestApp;

#[tokio::test(crate = "crate::support::shared")]
async fn an_item_comes_back_whole() {
    let (_, anna) = TestApp::with_user().await;
    let content = "line one\n\n  line two\twith <b>markup</b> & 'quotes' — ünïcödé 🦀";
    let id = anna.add_to("work", content).await;
    let item = get(&anna, id).await;
    let told = fields(&item, ["id", "content", "theme", "status", "confidence"]);
    assert_eq!(told, json!([id, content, "work", "active", 70]));
    assert_eq!(item["created_at"], item["updated_at"]);
    for null in ["key", "source_context", "expires_at", "last_verified_at", "superseded_by"] {
        assert!(item[null].is_null(), "{null}");
    }
    assert_eq!(
        item["embedding"],
        json!({ "state": "off", "error": null, "provider_type": null, "model": null, "dimensions": null })
    );
    // Archived ones can be read, too.
    anna.call("memory_archive", json!({ "item_id": id })).await;
    assert_eq!(get(&anna, id).await["status"], "archived");
}

#[tokio::test(crate = "crate::support::shared")]
async fn anothers_item_is_refused_like_one_that_does_not_exist() {
    let (_, anna, ben) = TestApp::with_users().await;
    let id = anna.add("mine").await;
    let (status, theirs) = ben.refused("memory_get", json!({ "item_id": id })).await;
    assert_eq!((status, theirs["code"].as_str()), (404, Some("not_found")));
    let said = |problem: &Value, id: i64| {
        problem["detail"].as_str().unwrap().replace(&id.to_string(), "N")
    };
    for none in [id + 1_000, 0, -1, i64::MAX] {
        let (status, nobodys) = ben.refused("memory_get", json!({ "item_id": none })).await;
        assert_eq!((status, said(&nobodys, none)), (404, said(&theirs, id)));
    }
}
