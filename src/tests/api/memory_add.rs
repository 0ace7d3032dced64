use serde_json::json;
use sqlx::Row;

use crate::support::{TestApp, ids};

#[tokio::test(crate = "crate::support::shared")]
async fn an_item_is_added_to_general_when_no_theme_is_named() {
    let (_, anna) = TestApp::with_user().await;
    let added =
        anna.call("memory_add", json!({ "type": "fact", "content": " Lives in Lyon. " })).await;
    assert_eq!(added["status"], "active");
    assert_eq!(added["embedding"], "off");
    assert_eq!(added["duplicate"], false);
    let item = anna.call("memory_get", json!({ "item_id": added["id"] })).await;
    assert_eq!(item["theme"], "general");
    assert_eq!(item["content"], "Lives in Lyon.");
    assert_eq!(item["source"], "agent");
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_theme_is_made_when_missing_and_its_slug_is_normalised() {
    let (_, anna) = TestApp::with_user().await;
    for theme in ["Home Lab", "home-lab", " HOME/LAB "] {
        let content = format!("from {theme:?}");
        anna.call("memory_add", json!({ "type": "fact", "content": content, "theme": theme }))
            .await;
    }
    let themes = anna.call("memory_list_themes", json!({})).await;
    assert_eq!(
        themes,
        json!({ "themes": [{ "slug": "home-lab", "display_name": "Home Lab", "description": "", "active_count": 3 }], "truncated": false })
    );
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_word_may_begin_with_any_letter_and_have_a_capital_inside() {
    let (_, anna) = TestApp::with_user().await;
    for word in ["Ägypten-Reise", "Öko-Strom", "Über-App", "Île-de-France", "Ä2.5"] {
        for text in [word.to_owned(), format!("We talked about {word} again.")] {
            let added = json!({ "type": "fact", "content": text });
            anna.call("memory_add", added).await;
        }
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_blank_theme_means_general() {
    let (_, anna) = TestApp::with_user().await;
    anna.call("memory_add", json!({ "type": "other", "content": "x", "theme": "  " })).await;
    anna.call(
        "memory_add",
        json!({ "type": "other", "content": "y", "theme": null, "tags": null }),
    )
    .await;
    let themes = anna.call("memory_list_themes", json!({})).await;
    assert_eq!(themes["themes"][0]["slug"], "general");
    assert_eq!(themes["themes"][0]["active_count"], 2);
}

#[tokio::test(crate = "crate::support::shared")]
async fn every_type_and_tags_are_kept() {
    let (_, anna) = TestApp::with_user().await;
    for item_type in ["preference", "fact", "instruction", "summary", "other"] {
        let input = json!({ "type": item_type, "content": item_type, "tags": [" a ", "b", "a"] });
        let id = anna.call("memory_add", input).await["id"].clone();
        let item = anna.call("memory_get", json!({ "item_id": id })).await;
        assert_eq!(item["type"], item_type);
        assert_eq!(item["tags"], json!(["a", "b"]));
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_exact_duplicate_in_its_theme_returns_the_existing_id() {
    let (_, anna) = TestApp::with_user().await;
    let first = anna.add("Prefers tea.").await;
    let again = anna.call("memory_add", json!({ "type": "fact", "content": "Prefers tea." })).await;
    assert_eq!((again["id"].as_i64(), again["duplicate"].as_bool()), (Some(first), Some(true)));
    let elsewhere = anna.add_to("food", "Prefers tea.").await;
    assert_ne!(elsewhere, first);
    anna.call("memory_archive", json!({ "item_id": first })).await;
    let anew = anna.add("Prefers tea.").await;
    assert!(anew != first && anew != elsewhere);
}

#[tokio::test(crate = "crate::support::shared")]
async fn twenty_agents_adding_one_text_at_once_make_one_item() {
    let (_, anna) = TestApp::with_user().await;
    let adds = (0..20).map(|_| anna.add_to("new theme", "Said by all."));
    let mut added = futures_util::future::join_all(adds).await;
    added.dedup();
    assert_eq!(added.len(), 1);
}

#[tokio::test(crate = "crate::support::shared")]
async fn another_user_may_keep_the_same_text_and_neither_sees_the_other() {
    let (_, anna, ben) = TestApp::with_users().await;
    let annas = anna.add("Prefers tea.").await;
    let bens = ben.call("memory_add", json!({ "type": "fact", "content": "Prefers tea." })).await;
    assert_eq!(bens["duplicate"], false);
    assert_eq!(ids(&anna.call("memory_search", json!({ "query": "tea" })).await), [annas]);
}

#[tokio::test]
async fn nothing_is_written_when_the_input_is_refused() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.refused(
        "memory_add",
        json!({ "type": "fact", "content": "x".repeat(20_001), "theme": "new" }),
    )
    .await;
    anna.refused(
        "memory_add",
        json!({ "type": "fact", "content": "ok", "theme": "new", "tags": [""] }),
    )
    .await;
    let mut conn = app.superuser().await;
    for table in ["memory_items", "memory_themes", "memory_item_events"] {
        let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        let rows: i64 = sqlx::query(count).fetch_one(&mut conn).await.unwrap().get(0);
        assert_eq!(rows, 0, "{table}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_longest_content_in_any_script_is_accepted_and_found() {
    let (_, anna) = TestApp::with_user().await;
    for unit in ["word ", "a/b.c_d-e@f:g ", "日本語の記憶", "e\u{301}🦀 "] {
        let content: String = unit.chars().cycle().take(19_980).chain(" needle9".chars()).collect();
        let id = anna.add(&content).await;
        assert!(anna.find("needle9").await.contains(&id), "{unit:?}");
    }
}
