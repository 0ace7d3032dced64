use serde_json::json;

use crate::support::TestApp;

#[tokio::test]
async fn themes_come_with_counts_of_active_items_fullest_first() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    assert_eq!(
        anna.call("memory_list_themes", json!({})).await,
        json!({ "themes": [], "truncated": false })
    );
    anna.add_to("work", "a").await;
    anna.add_to("work", "b").await;
    let gone = anna.add_to("garden", "c").await;
    anna.add_to("general", "d").await;
    anna.call("memory_archive", json!({ "item_id": gone }))
        .await;
    let expected = json!({ "themes": [
        { "slug": "work", "display_name": "work", "active_count": 2 },
        { "slug": "general", "display_name": "general", "active_count": 1 },
        { "slug": "garden", "display_name": "garden", "active_count": 0 },
    ], "truncated": false });
    assert_eq!(anna.call("memory_list_themes", json!({})).await, expected);
}

#[tokio::test]
async fn a_second_user_sees_no_theme_and_may_use_the_same_name() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    anna.add_to("work", "a").await;
    assert_eq!(
        ben.call("memory_list_themes", json!({})).await,
        json!({ "themes": [], "truncated": false })
    );
    ben.add_to("work", "b").await;
    let themes = ben.call("memory_list_themes", json!({})).await;
    assert_eq!(themes["themes"][0]["active_count"], 1);
}
