use serde_json::json;

use super::{add, fields, get};
use crate::support::TestApp;

#[tokio::test(crate = "crate::support::shared")]
async fn an_item_is_added_to_general_when_no_theme_is_named() {
    let (_, anna) = TestApp::with_user().await;
    let added = add(&anna, json!({ "type": "fact", "content": " Lives in Lyon. " })).await;
    let told = fields(&added, ["status", "embedding", "duplicate"]);
    assert_eq!(told, json!(["active", "off", false]));
    let item = fields(&get(&anna, &added["id"]).await, ["theme", "content", "source"]);
    assert_eq!(item, json!(["general", "Lives in Lyon.", "agent"]));
    // A blank theme means it too.
    add(&anna, json!({ "type": "other", "content": "x", "theme": "  " })).await;
    add(&anna, json!({ "type": "other", "content": "y", "theme": null, "tags": null })).await;
    let themes = anna.call("memory_list_themes", json!({})).await;
    assert_eq!(fields(&themes["themes"][0], ["slug", "active_count"]), json!(["general", 3]));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_theme_is_made_when_missing_and_its_slug_is_normalised() {
    let (_, anna) = TestApp::with_user().await;
    for theme in ["Home Lab", "home-lab", " HOME/LAB "] {
        anna.add_to(theme, &format!("from {theme:?}")).await;
    }
    let theme = json!({ "slug": "home-lab", "display_name": "Home Lab", "description": "", "active_count": 3 });
    let themes = anna.call("memory_list_themes", json!({})).await;
    assert_eq!(themes, json!({ "themes": [theme], "truncated": false }));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_word_may_begin_with_any_letter_and_have_a_capital_inside() {
    let (_, anna) = TestApp::with_user().await;
    for word in ["Ägypten-Reise", "Öko-Strom", "Über-App", "Île-de-France", "Ä2.5"] {
        for text in [word.to_owned(), format!("We talked about {word} again.")] {
            anna.add(&text).await;
        }
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn every_type_and_tags_are_kept() {
    let (_, anna) = TestApp::with_user().await;
    for item_type in ["preference", "fact", "instruction", "summary", "other"] {
        let input = json!({ "type": item_type, "content": item_type, "tags": [" a ", "b", "a"] });
        let item = get(&anna, &add(&anna, input).await["id"]).await;
        assert_eq!(fields(&item, ["type", "tags"]), json!([item_type, ["a", "b"]]));
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_exact_duplicate_in_its_theme_returns_the_existing_id_and_another_user_is_not_seen() {
    let (_, anna, ben) = TestApp::with_users().await;
    let first = anna.add("Prefers tea.").await;
    let bens = add(&ben, json!({ "type": "fact", "content": "Prefers tea." })).await;
    assert_eq!(bens["duplicate"], false);
    assert_eq!(anna.find("tea").await, [first]);
    let again = add(&anna, json!({ "type": "fact", "content": "Prefers tea." })).await;
    assert_eq!(fields(&again, ["id", "duplicate"]), json!([first, true]));
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

#[tokio::test]
async fn nothing_is_written_when_the_input_is_refused() {
    let (app, anna) = TestApp::start_for("anna").await;
    for input in [
        json!({ "type": "fact", "content": "x".repeat(20_001), "theme": "new" }),
        json!({ "type": "fact", "content": "ok", "theme": "new", "tags": [""] }),
    ] {
        anna.refused("memory_add", input).await;
    }
    for table in ["memory_items", "memory_themes", "memory_item_events"] {
        assert_eq!(app.count(table).await, 0, "{table}");
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

#[tokio::test(crate = "crate::support::shared")]
async fn the_same_text_of_another_type_says_which_it_keeps() {
    let (_, anna) = TestApp::with_user().await;
    let text = "Answers are brief.";
    let first = add(&anna, json!({ "type": "fact", "content": text })).await;
    assert_eq!(first["note"], json!(null));
    let again = add(&anna, json!({ "type": "fact", "content": text })).await;
    assert_eq!(fields(&again, ["duplicate", "note"]), json!([true, null]));
    let keeps = format!(
        "Item {} has the same text with the type fact and keeps it; no item of another type was added.",
        first["id"]
    );
    for (item_type, key) in [("instruction", None), ("preference", Some("style"))] {
        let other = json!({ "type": item_type, "content": text, "key": key });
        let other = add(&anna, other).await;
        assert_eq!(fields(&other, ["id", "duplicate"]), json!([first["id"], true]));
        assert_eq!(other["note"], keeps, "{item_type}");
        assert_eq!(get(&anna, &first["id"]).await["type"], "fact");
    }
    // What is unproven is told beside it.
    let claim = json!({ "type": "instruction", "content": text, "source": "user_explicit" });
    let note = add(&anna, claim).await["note"].as_str().unwrap().to_owned();
    assert!(note.starts_with(&keeps) && note.len() > keeps.len(), "{note}");
}
