//! An archived item stays archived in the vectors of a rebuild, whichever of both commits first.

use keepsake::embedding::Saved;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::with_provider;
use crate::support::Sql as _;
use crate::support::{Provider, TestApp, TestUser, ids, until};

/// Until `task` has ended, or waits for a lock beside `others` that do.
async fn ended_or_waits<T>(app: &TestApp, task: &JoinHandle<T>, others: i64) {
    let is_so = async || task.is_finished() || app.waiting_for_locks().await > others;
    until("it ends, or waits", is_so).await;
}

async fn with_bees() -> (TestApp, TestUser, Provider, i64) {
    let (app, anna, provider) = with_provider("model").await;
    let id = anna.add("Anna keeps bees.").await;
    anna.add("She lives in Bern.").await;
    app.drain(&anna).await;
    (app, anna, provider, id)
}

fn archive(anna: &TestUser, id: i64) -> JoinHandle<Value> {
    let anna = anna.with_token(&anna.token);
    tokio::spawn(async move { anna.call("memory_archive", json!({ "item_id": id })).await })
}

fn rebuild(app: &TestApp, anna: &TestUser) -> JoinHandle<Saved> {
    let (embeddings, user) = (app.embeddings.clone(), anna.id);
    tokio::spawn(async move { embeddings.rebuild(user).await.unwrap() })
}

async fn is_not_found(app: &TestApp, anna: &TestUser, id: i64) {
    app.drain(anna).await;
    let answer = anna.call("memory_search", json!({ "query": "what does Anna keep" })).await;
    assert_eq!(answer["mode"], "hybrid");
    assert!(!ids(&answer).contains(&id), "{answer}");
}

#[tokio::test]
async fn an_item_that_is_being_archived_when_a_rebuild_begins_is_not_found_after_it() {
    let (app, anna, _provider, id) = with_bees().await;
    // Somebody holds the item, so that the archiving has begun and cannot end.
    let mut holder = app.superuser().await;
    holder.sql("BEGIN").run_all().await;
    let hold = "SELECT FROM memory_items WHERE user_id = $1 AND id = $2 FOR NO KEY UPDATE";
    holder.sql(hold).bind(anna.id.0).bind(id).run().await;
    let archiving = archive(&anna, id);
    ended_or_waits(&app, &archiving, 0).await;
    assert!(!archiving.is_finished());
    let rebuilding = rebuild(&app, &anna);
    ended_or_waits(&app, &rebuilding, 1).await;
    holder.sql("COMMIT").run_all().await;
    archiving.await.unwrap();
    rebuilding.await.unwrap();
    is_not_found(&app, &anna, id).await;
}

#[tokio::test]
async fn an_item_that_is_archived_while_a_rebuild_begins_is_not_found_after_it() {
    let (app, anna, _provider, id) = with_bees().await;
    // The last that a rebuild asks for is its job: held, it has made its rows and cannot commit.
    let mut holder = app.superuser().await;
    holder.sql("BEGIN").run_all().await;
    let held = holder.sql("SELECT FROM job_queue WHERE job = 'embed' FOR UPDATE").run().await;
    assert_eq!(held, 1);
    let rebuilding = rebuild(&app, &anna);
    ended_or_waits(&app, &rebuilding, 0).await;
    assert!(!rebuilding.is_finished());
    let archiving = archive(&anna, id);
    ended_or_waits(&app, &archiving, 1).await;
    holder.sql("COMMIT").run_all().await;
    rebuilding.await.unwrap();
    archiving.await.unwrap();
    is_not_found(&app, &anna, id).await;
}
