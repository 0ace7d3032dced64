//! The builtin model with more queries than it can answer in time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use keepsake::clock::WallClock;
use keepsake::providers::{Embedder, Endpoint, QueryPriority, SystemNames, builtin};
use serde_json::json;

use crate::support::{PATIENCE, TestApp, Wish};

const FLOOD: usize = 240;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a series under load: `make check` runs it alone"]
async fn a_busy_model_is_late_for_some_and_is_left_alone_by_nobody() {
    let model = builtin::find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data"));
    let app = TestApp::start_as(Wish { builtin: Some(model.clone()), ..Wish::default() }).await;
    let anna = app.user("anna").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;

    let embedder = Embedder::new(Some(model), Arc::new(SystemNames), Arc::new(WallClock));
    let flood: Vec<_> = (0..FLOOD)
        .map(|n| {
            let embedder = embedder.clone();
            let query = format!("{n} {}", "herons cross rivers at dawn ".repeat(50));
            tokio::spawn(async move {
                let endpoint = Endpoint::builtin(builtin::BuiltinModel::default().name());
                let asked = embedder.embed_query(QueryPriority::Search, &endpoint, query, PATIENCE);
                asked.await.map(drop)
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    // As many failures would open the breaker of an endpoint.
    let late = join_all((0..5).map(|n| app.embed_query(&anna, ["a", "b", "c", "d", "e"][n]))).await;
    // However fast it is, whoever is not answered is told nothing of an endpoint.
    for reason in late.into_iter().filter_map(|query| query.degraded) {
        assert!(reason.starts_with("the built-in model is busy"), "{reason}");
    }
    flood.iter().for_each(tokio::task::JoinHandle::abort);
    join_all(flood).await;
    // The one pass that is under way ends.
    let (endpoint, one) =
        (Endpoint::builtin(builtin::BuiltinModel::default().name()), "one".to_owned());
    let asked = embedder.embed_query(QueryPriority::Search, &endpoint, one, PATIENCE);
    tokio::time::timeout(PATIENCE, asked).await.unwrap().unwrap();

    let answer = anna.call("memory_search", json!({ "query": "honey" })).await;
    assert_eq!(answer["degraded"], json!(null), "{answer}");
    assert_eq!(answer["mode"], "hybrid");
}
