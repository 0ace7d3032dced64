use keepsake::embedding::{Drained, RETIRED_FOR, Saved};
use keepsake::providers::settings::EndpointForm;
use serde_json::json;
use time::Duration;

use super::{all_ready, memories, with_provider};
use crate::support::{Provider, TestApp, TestUser};

async fn with_items() -> (TestApp, TestUser, Provider, Vec<i64>) {
    let (app, anna, provider) = with_provider("old").await;
    let mut ids = Vec::new();
    for text in ["Anna keeps bees.", "She lives in Bern.", "Tea, not coffee."] {
        ids.push(anna.add(text).await);
    }
    app.drain(&anna).await;
    anna.call("memory_archive", json!({ "item_id": ids[0] })).await;
    provider.forget_calls();
    (app, anna, provider, ids)
}

fn all(ids: &[i64], state: &str) -> Vec<(i64, String)> {
    ids.iter().map(|id| (*id, state.to_owned())).collect()
}

#[tokio::test]
async fn settings_that_keep_the_space_are_in_force_at_once() {
    let (app, anna, provider, ids) = with_items().await;
    provider.behave(|b| b.key = Some("sk-new"));
    let saved = app.save_endpoint(&anna, &provider.url(), "old", "sk-new", false).await;
    assert_eq!(saved, Saved::InForce);
    assert_eq!(app.vectors(&anna, "active").await, all(&ids, "ready"));
    let fourth = anna.add("She rows on Sundays.").await;
    app.drain(&anna).await;
    assert_eq!(app.vectors(&anna, "active").await[3], (fourth, "ready".to_owned()));
}

#[tokio::test]
async fn a_change_is_asked_first_with_the_number_and_nothing_happens_until_it_is_confirmed() {
    let (app, anna, provider, ids) = with_items().await;
    let asked = app.save_endpoint(&anna, &provider.url(), "new", "", false).await;
    // The archived item counts too.
    assert_eq!(asked, Saved::AskFirst { texts: memories(3), kept: 0, staged: String::new() });
    app.drain(&anna).await;
    assert!(provider.texts().is_empty());
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert_eq!(overview.settings.own.endpoint.model, "old");
    assert!(overview.rebuild.is_none());

    let confirmed = app.save_endpoint(&anna, &provider.url(), "new", "", true).await;
    assert_eq!(confirmed, Saved::Rebuilding { texts: 3 });
    assert_eq!(app.vectors(&anna, "active").await, all(&ids, "ready"));
    assert_eq!(app.vectors(&anna, "building").await, all(&ids, "pending"));
    let rebuild = app.embeddings.overview(anna.id).await.unwrap().rebuild.unwrap();
    assert_eq!((rebuild.counts.pending, rebuild.counts.total()), (3, 3));
    app.drain(&anna).await;
    assert_eq!(provider.texts().len(), 3);
    assert_eq!(app.vectors(&anna, "active").await, all(&ids, "ready"));
    let item = anna.call("memory_get", json!({ "item_id": ids[0] })).await;
    assert_eq!(item["embedding"]["model"], "new");
}

#[tokio::test]
async fn a_key_that_is_confirmed_later_travels_sealed() {
    let (app, anna, provider, _) = with_items().await;
    let asked = app.save_endpoint(&anna, &provider.url(), "new", "sk-secret", false).await;
    let Saved::AskFirst { staged, .. } = asked else { panic!("{asked:?}") };
    assert!(!staged.is_empty() && !staged.contains("sk-secret"));
    provider.behave(|b| b.key = Some("sk-secret"));
    let url = provider.url();
    let form = EndpointForm {
        own_enabled: true,
        provider_type: "openai",
        url: &url,
        model: "new",
        staged: &staged,
        ..EndpointForm::default()
    };
    // Sealed for Anna, it is nobody else's.
    let ben = app.user("ben").await;
    assert!(app.embeddings.save(ben.id, &form, true).await.is_err());
    app.embeddings.save(anna.id, &form, true).await.unwrap();
    app.drain(&anna).await;
    assert!(all_ready(&app, &anna).await.is_some());
    assert!(app.embeddings.overview(anna.id).await.unwrap().rebuild.is_none());
}

#[tokio::test]
async fn an_item_added_meanwhile_waits_in_both_spaces() {
    let (app, anna, provider, ids) = with_items().await;
    app.use_provider(&anna, &provider, "new").await;
    let fourth = anna.add("She rows on Sundays.").await;
    assert_eq!(app.vectors(&anna, "active").await[3], (fourth, "pending".to_owned()));
    assert_eq!(app.vectors(&anna, "building").await.len(), 4);
    app.drain(&anna).await;
    assert_eq!(app.vectors(&anna, "active").await, all(&[&ids[..], &[fourth]].concat(), "ready"));
    assert!(app.vectors(&anna, "building").await.is_empty());
}

#[tokio::test]
async fn items_added_from_many_sides_while_spaces_swap_are_never_without_a_row() {
    let (app, anna, provider, _) = with_items().await;
    let adding = async {
        for n in 0..60 {
            anna.add(&format!("thing number {n}")).await;
        }
    };
    let swapping = async {
        for model in ["b", "c", "d", "e"] {
            app.use_provider(&anna, &provider, model).await;
            app.drain(&anna).await;
        }
    };
    tokio::join!(adding, swapping);
    app.drain(&anna).await;
    assert_eq!(all_ready(&app, &anna).await, Some(63));
}

#[tokio::test]
async fn a_retired_space_stays_for_a_month_and_then_its_rows_go() {
    let (app, anna, provider, _) = with_items().await;
    app.use_provider(&anna, &provider, "new").await;
    app.drain(&anna).await;
    assert_eq!(app.vectors(&anna, "retired").await.len(), 3);
    app.clock.advance(RETIRED_FOR - Duration::seconds(1));
    app.drain(&anna).await;
    assert_eq!(app.vectors(&anna, "retired").await.len(), 3);
    app.clock.advance(Duration::seconds(2));
    // The sweep sees to it, though nothing else is to be done for her.
    assert_eq!(app.embeddings.sweep().await.unwrap(), 1);
    app.drain(&anna).await;
    assert!(app.vectors(&anna, "retired").await.is_empty());
    assert_eq!(app.vectors(&anna, "active").await.len(), 3);
}

#[tokio::test]
async fn cancel_removes_what_was_being_built_and_it_does_not_begin_again_by_itself() {
    let (app, anna, provider, ids) = with_items().await;
    app.use_provider(&anna, &provider, "new").await;
    assert!(app.embeddings.cancel_rebuild(anna.id).await.unwrap());
    assert!(app.vectors(&anna, "building").await.is_empty());
    app.embeddings.sweep().await.unwrap();
    app.drain(&anna).await;
    assert!(provider.texts().is_empty());
    assert_eq!(app.vectors(&anna, "active").await, all(&ids, "ready"));
    assert!(app.embeddings.overview(anna.id).await.unwrap().is_declined);
    // Items added now go where searches look.
    let fourth = anna.add("She rows on Sundays.").await;
    app.drain(&anna).await;
    assert_eq!(app.vectors(&anna, "active").await[3], (fourth, "ready".to_owned()));
    // Asked for, it begins.
    assert_eq!(app.embeddings.rebuild(anna.id).await.unwrap(), Saved::Rebuilding { texts: 4 });
}

#[tokio::test]
async fn another_change_confirmed_meanwhile_replaces_the_older_one() {
    let (app, anna, provider, ids) = with_items().await;
    app.use_provider(&anna, &provider, "new").await;
    app.use_provider(&anna, &provider, "newer").await;
    assert_eq!(app.vectors(&anna, "building").await, all(&ids, "pending"));
    app.drain(&anna).await;
    assert_eq!(provider.texts().len(), 3);
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert_eq!(overview.serving.unwrap().settings.endpoint.model, "newer");
    // Back to what serves is no rebuild.
    app.use_provider(&anna, &provider, "other").await;
    let back = app.save_endpoint(&anna, &provider.url(), "newer", "", false).await;
    assert_eq!(back, Saved::InForce);
    assert!(app.vectors(&anna, "building").await.is_empty());
}

#[tokio::test]
async fn switched_off_the_vectors_are_kept_unused_and_what_was_missed_is_made_up_for() {
    let (app, anna, provider, ids) = with_items().await;
    app.use_provider(&anna, &provider, "new").await;
    app.embeddings.set_enabled(anna.id, false, false).await.unwrap();
    assert!(app.vectors(&anna, "building").await.is_empty());
    assert_eq!(app.vectors(&anna, "active").await, all(&ids, "ready"));
    let added = anna.call("memory_add", json!({ "type": "fact", "content": "Rows." })).await;
    assert_eq!(added["embedding"], "off");
    app.drain(&anna).await;
    assert!(provider.texts().is_empty());
    let query = app.embed_query(&anna, "bees").await;
    assert!(query.vector.is_none() && query.degraded.unwrap().contains("switched off"));
    // On again with the old model: nothing is rebuilt but what is missing.
    app.save_endpoint(&anna, &provider.url(), "old", "", true).await;
    assert_eq!(app.embeddings.set_enabled(anna.id, true, false).await.unwrap(), Saved::InForce);
    app.drain(&anna).await;
    assert_eq!(provider.texts(), ["Rows."]);
    assert!(app.embed_query(&anna, "bees").await.vector.is_some());
}

#[tokio::test]
async fn before_there_is_an_active_space_what_is_being_built_serves() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    anna.add("Anna keeps bees.").await;
    anna.add("She lives in Bern.").await;
    assert_eq!(app.use_provider(&anna, &provider, "first").await, Saved::Rebuilding { texts: 2 });
    // The first of the two is ready.
    app.sql(
        "UPDATE memory_embeddings SET state = 'ready',
                embedding = array_fill(0.1::real, ARRAY[64])::halfvec
         WHERE source_id = (SELECT min(id) FROM memory_items)",
    )
    .run()
    .await;
    let query = app.embed_query(&anna, "bees").await;
    let building: i64 =
        app.sql("SELECT id FROM embedding_spaces WHERE state = 'building'").value().await;
    assert_eq!(query.vector.unwrap().space_id.0, building);
}

#[tokio::test]
async fn a_rebuild_in_which_nothing_succeeds_does_not_take_over() {
    let (app, anna, provider, ids) = with_items().await;
    app.use_provider(&anna, &provider, "new").await;
    // Every one of the texts, but not the probe.
    app.sql("UPDATE memory_items SET content = 'poison' || content").run().await;
    provider.behave(|b| b.poison = Some("poison"));
    app.drain(&anna).await;
    assert_eq!(app.vectors(&anna, "building").await, all(&ids, "error"));
    assert_eq!(app.vectors(&anna, "active").await, all(&ids, "ready"));
    let rebuild = app.embeddings.overview(anna.id).await.unwrap().rebuild.unwrap();
    assert!(rebuild.space.problem.unwrap().contains("search keeps the old embeddings"));
    // Retry brings it to its end.
    provider.behave(|b| b.poison = None);
    assert_eq!(app.embeddings.retry(anna.id).await.unwrap(), 3);
    assert_eq!(app.drain(&anna).await, Drained::Done);
    assert_eq!(app.vectors(&anna, "active").await, all(&ids, "ready"));
    assert!(app.vectors(&anna, "building").await.is_empty());
}

#[tokio::test]
async fn a_key_that_is_removed_goes_from_what_served_before_as_well() {
    let (app, anna, provider, _) = with_items().await;
    let url = provider.url();
    let kept = async || app.count("embedding_spaces WHERE sealed_key IS NOT NULL").await;
    let save = async |model: &str, key: &str, clear_key: bool| {
        let form = EndpointForm {
            provider_type: "openai",
            url: &url,
            model,
            key,
            clear_key,
            ..EndpointForm::default()
        };
        app.confirm_endpoint(&anna, form).await;
        app.drain(&anna).await;
    };
    save("old", "sk-old", false).await;
    save("new", "", false).await;
    assert_eq!(kept().await, 2, "both may be asked");
    save("new", "", true).await;
    assert_eq!(kept().await, 0);
    // Removed while what has it still serves: it goes when that is replaced.
    save("new", "sk-new", false).await;
    save("newer", "", true).await;
    assert_eq!(kept().await, 0);
}
