//! Connections that were cut while nobody used them: whoever comes next must not notice.

use futures_util::future::join_all;
use serde_json::json;

use crate::support::TestApp;

const CALLS_AT_ONCE: usize = 6;

async fn cut_all(app: &TestApp) -> usize {
    let cut: Vec<bool> = sqlx::query_scalar(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend'",
    )
    .fetch_all(&mut app.superuser().await)
    .await
    .unwrap();
    cut.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_after_all_connections_were_cut_are_answered_as_if_nothing_had_been() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    anna.add("Anna keeps bees.").await;
    for round in 0..3 {
        let many =
            (0..CALLS_AT_ONCE).map(|_| anna.call("memory_search", json!({ "query": "bees" })));
        join_all(many).await;
        // Used a moment ago, so that nobody asks whether they live.
        assert!(cut_all(&app).await > 2, "there was something to cut");
        let many =
            (0..CALLS_AT_ONCE).map(|_| anna.call("memory_search", json!({ "query": "bees" })));
        for answer in join_all(many).await {
            assert_eq!(answer["results"].as_array().unwrap().len(), 1, "{answer}");
        }
        cut_all(&app).await;
        anna.add(&format!("The hive of round {round} is full."))
            .await;
    }
    let [_, tokens, ..] = app.db.pools();
    assert_eq!((tokens.name, tokens.open <= tokens.max), ("tokens", true));
}
