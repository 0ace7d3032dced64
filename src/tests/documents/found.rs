//! What documents say is found by search, with path and lines, as long as they say it.

use keepsake::entities::{EntityId, decide};
use keepsake::memories::mentions::EntityType;
use serde_json::{Value, json};

use super::{create, delete, done, edit, rename};
use crate::support::{Provider, TestApp, TestUser};

async fn hits(user: &TestUser, query: &str, types: &[&str]) -> Vec<Value> {
    let found = user.call("memory_search", json!({ "query": query, "types": types })).await;
    found["results"].as_array().unwrap().clone()
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_part_is_found_with_its_path_and_lines() {
    let (_, anna) = TestApp::with_user().await;
    let coffee = "None of it. ".repeat(20);
    let text = format!("# Coffee\n\n{coffee}\n\n# Tea\n\nGyokuro is her favourite tea.\n");
    create(&anna, "memory/tea.md", &text).await;
    create(&anna, "notes.txt", "Gyokuro in a file that is not searched.").await;
    create(&anna, "MEMORY.json", "{\"tea\": \"gyokuro\"}").await;
    anna.add("Drinks gyokuro at four.").await;
    let found = hits(&anna, "gyokuro", &["document"]).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["part_of"], json!({ "path": "memory/tea.md", "lines": [5, 7] }));
    assert_eq!((&found[0]["type"], &found[0]["theme"]), (&json!("document"), &Value::Null));
    assert_eq!(hits(&anna, "gyokuro", &[]).await.len(), 2);
    assert_eq!(hits(&anna, "gyokuro", &["fact"]).await.len(), 1);
    let part = anna.call("memory_get", json!({ "item_id": found[0]["id"] })).await;
    assert_eq!(part["content"], "# Tea\n\nGyokuro is her favourite tea.");
    assert_eq!(part["part_of"]["path"], "memory/tea.md");
    // Parts are no memories: nothing lists, counts or changes them.
    assert_eq!(hits(&anna, "*", &[]).await.len(), 1);
    assert_eq!(hits(&anna, "*", &["document"]).await.len(), 2);
    for tool in ["memory_archive", "memory_confirm"] {
        assert_eq!(anna.refused(tool, json!({ "item_id": found[0]["id"] })).await.0, 404, "{tool}");
    }
    let stats = anna.call("memory_stats", json!({})).await;
    assert_eq!((&stats["active"], &stats["documents"]), (&json!(1), &json!(3)), "{stats}");
    let themes = anna.call("memory_list_themes", json!({})).await;
    assert_eq!(themes["themes"][0]["active_count"], 1, "{themes}");
}

/// What was changed is found as it is now; what stayed keeps its number and its vector.
#[tokio::test(crate = "crate::support::shared")]
async fn an_edit_computes_what_changed_alone() {
    let (app, anna) = TestApp::with_user().await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "first").await;
    let section =
        |name: &str| format!("# {name}\n\n{}\n\n", format!("Words about {name}. ").repeat(15));
    create(&anna, "a.md", &(section("honey") + &section("bees") + &section("hives"))).await;
    app.drain(&anna).await;
    let computed = provider.texts().len();
    assert_eq!(computed, 3);
    let bees = hits(&anna, "bees", &["document"]).await[0]["id"].clone();
    done(&anna, edit("a.md", "# honey", "# wax\n\nSealed with wax.")).await;
    app.drain(&anna).await;
    let asked = provider.texts().split_off(computed);
    assert_eq!(asked.iter().filter(|text| text.contains("Words about")).count(), 1, "{asked:#?}");
    let found = hits(&anna, "bees", &["document"]).await;
    assert_eq!(found[0]["id"], bees);
    assert_eq!(found[0]["part_of"]["lines"][0], 7);
    let wax = hits(&anna, "wax", &["document"]).await.swap_remove(0);
    assert!(wax["content_snippet"].as_str().unwrap().contains("wax"));
    // Deleted, it is found no more; a file that is Markdown no more neither.
    done(&anna, rename("a.md", "a.txt")).await;
    assert!(hits(&anna, "bees", &["document"]).await.is_empty());
    done(&anna, rename("a.txt", "b.md")).await;
    assert_eq!(hits(&anna, "bees", &["document"]).await[0]["part_of"]["path"], "b.md");
    done(&anna, delete("b.md")).await;
    assert!(hits(&anna, "bees", &[]).await.is_empty());
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_document_names_is_forgotten_with_it_and_after_an_edit_is_as_its_person_named_it() {
    let (app, anna) = TestApp::with_user().await;
    create(&anna, "people.md", "Our friend Marta Helgesen brews in Bergen.\n").await;
    let marta = json!({ "name": "Marta Helgesen" });
    assert_eq!(anna.call("memory_entity", marta.clone()).await["mentions"], 1);
    done(&anna, delete("people.md")).await;
    assert_eq!(anna.refused("memory_entity", marta.clone()).await.0, 404);
    // What an edited part goes on naming stays.
    create(&anna, "people.md", "Our friend Marta Helgesen brews.\n").await;
    let id = anna.call("memory_entity", marta.clone()).await["id"].clone();
    let entity = EntityId(id.as_i64().unwrap());
    let (name, now) = ("Marta the brewer", app.embeddings.now());
    decide::rename(&app.db, anna.id, entity, name, EntityType::Person, now).await.unwrap();
    done(&anna, edit("people.md", "brews", "bakes")).await;
    let told = anna.call("memory_entity", marta).await;
    assert_eq!((&told["id"], &told["name"], &told["mentions"]), (&id, &json!(name), &json!(1)));
}

/// As long as may be, of nothing but headings or list items.
#[tokio::test]
async fn a_bomb_is_bounded() {
    let (app, anna) = TestApp::start_for("anna").await;
    create(&anna, "headings.md", &"# a\n".repeat(200_000)).await;
    create(&anna, "list.md", &"- b\n".repeat(200_000)).await;
    let parts = app.count("memory_items WHERE type = 'document'").await;
    assert!((1_000..10_000).contains(&parts), "{parts}");
    done(&anna, delete("headings.md")).await;
}
