use keepsake::accounts::Viewer;
use keepsake::clock::Clock;
use keepsake::embedding::{Drained, EmbeddingState, Saved};
use keepsake::memories::{self, ItemType, NewItem};
use keepsake::queue::Slice;
use serde_json::json;
use tokio::sync::watch;

use super::{all_ready, with_provider};
use crate::support::Sql as _;

#[tokio::test]
async fn an_item_its_pending_vector_and_its_job_are_committed_together() {
    let (app, anna, provider) = with_provider("model").await;
    app.drain(&anna).await;
    app.sql("DELETE FROM job_queue").run().await;
    let added =
        anna.call("memory_add", json!({ "type": "fact", "content": "Anna keeps bees." })).await;
    assert_eq!(added["embedding"], "pending");
    let id = added["id"].as_i64().unwrap();
    assert_eq!(app.vectors(&anna, "active").await, [(id, "pending".to_owned())]);
    assert_eq!(app.jobs().await, [(anna.id.0, "embed".to_owned())]);
    // Adding asked nobody.
    assert!(provider.texts().is_empty());

    // What is rolled back leaves neither.
    let mut tx = app.db.as_writer(anna.id).await.unwrap();
    let viewer = Viewer::person(anna.id);
    let item = NewItem::parse(ItemType::Fact, "Anna has a dog.", None, &[]).unwrap();
    let now = app.clock.now();
    let added = memories::add_in(&mut tx, &app.embeddings, &viewer, &item, now).await;
    assert_eq!(added.unwrap().embedding, EmbeddingState::Pending);
    drop(tx);
    assert_eq!(app.vectors(&anna, "active").await.len(), 1);
    assert_eq!(app.jobs().await.len(), 1);
}

#[tokio::test]
async fn a_pending_item_becomes_ready_and_says_by_which_model() {
    let (app, anna, provider) = with_provider("nomic-embed-text").await;
    let id = anna.add("Anna keeps bees.").await;
    assert_eq!(app.drain(&anna).await, Drained::Done);
    assert_eq!(provider.texts(), ["search_document: Anna keeps bees."]);
    let item = anna.call("memory_get", json!({ "item_id": id })).await;
    assert_eq!(
        item["embedding"],
        json!({ "state": "ready", "error": null, "provider_type": "openai", "model": "nomic-embed-text",
                "dimensions": 64 })
    );
    // Once is enough.
    assert_eq!(app.drain(&anna).await, Drained::Done);
    assert_eq!(provider.texts().len(), 1);
}

#[tokio::test]
async fn batches_are_as_large_as_set_and_a_job_makes_way_when_its_slice_is_over() {
    let (app, anna, provider) = with_provider("model").await;
    anna.add("the first").await;
    app.drain(&anna).await;
    app.sql("INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source, created_at, updated_at)
         SELECT user_id, theme_id, type, 'item ' || n, sha256(n::text::bytea), source, created_at, updated_at
         FROM memory_items, generate_series(1, 1100) n").run().await;
    assert_eq!(app.embeddings.rebuild(anna.id).await.unwrap(), Saved::Rebuilding { texts: 1101 });
    provider.forget_calls();
    let (stop, stopped) = watch::channel(false);
    let slice = Slice::begin(stopped);
    let held = provider.hold();
    let (ended, ()) = tokio::join!(app.embeddings.drain(anna.id, &slice), async {
        provider.until_called().await;
        stop.send(true).unwrap();
        drop(held);
    });
    // In tokens, of the first thousand texts.
    let ended = ended.unwrap();
    assert!(matches!(ended, Drained::More(1_000..2_500)), "{ended:?}");
    let sizes = provider.call_sizes();
    assert!(sizes.iter().all(|size| *size <= 32), "{sizes:?}");
    let building = app.vectors(&anna, "building").await;
    let pending = building.iter().filter(|row| row.1 == "pending").count();
    assert_eq!(sizes.iter().sum::<usize>() + pending, 1_101);
    assert_eq!(app.drain(&anna).await, Drained::Done);
    assert_eq!(all_ready(&app, &anna).await, Some(1_101));
}

#[tokio::test]
async fn nobody_elses_settings_spaces_or_vectors_are_seen_or_touched() {
    let (app, anna, _provider) = with_provider("model").await;
    let ben = app.user("ben").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    let overview = app.embeddings.overview(ben.id).await.unwrap();
    assert!(overview.serving.is_none() && !overview.settings.own_enabled);
    assert_eq!(overview.counts.total(), 0);
    assert!(!app.embeddings.cancel_rebuild(ben.id).await.unwrap());
    assert_eq!(app.embeddings.retry(ben.id).await.unwrap(), 0);
    assert_eq!(app.drain(&ben).await, Drained::Done);
    // Straight at the tables, as the role of Ben's requests.
    let mut tx = app.db.as_user(ben.id).await.unwrap();
    for table in ["embedding_settings", "embedding_spaces", "memory_embeddings"] {
        assert_eq!(tx.count(table).await, 0, "{table}");
    }
    for table in ["system_settings", "system_providers", "allowed_endpoints"] {
        let mut tx = app.db.as_user(ben.id).await.unwrap();
        let look = format!("SELECT FROM {table}");
        assert!(tx.sql(look).try_run().await.is_err(), "{table}");
    }
}

#[tokio::test]
async fn a_change_of_settings_keeps_what_another_changes_at_the_same_time() {
    let (app, anna, _provider) = with_provider("model").await;
    let mut removal = app.db.as_writer(anna.id).await.unwrap();
    let update =
        "UPDATE embedding_settings SET own_enabled = false, endpoint = '' WHERE user_id = $1";
    removal.sql(update).bind(anna.id.0).run().await;
    let (embeddings, user) = (app.embeddings.clone(), anna.id);
    let off = tokio::spawn(async move { embeddings.set_enabled(user, false, true).await });
    app.until_blocked(1).await;
    removal.commit().await.unwrap();
    off.await.unwrap().unwrap();
    let kept = app.sql("SELECT enabled, own_enabled, endpoint FROM embedding_settings");
    assert_eq!(kept.row::<(bool, bool, String)>().await, (false, false, String::new()));
}
