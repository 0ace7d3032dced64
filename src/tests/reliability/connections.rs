//! Connections that were cut while nobody used them: whoever comes next must not notice.

use std::time::Duration;

use futures_util::future::join_all;
use keepsake::evaluation::EvaluationError;
use serde_json::json;

use crate::support::Sql as _;
use crate::support::{TestApp, until};

const CALLS_AT_ONCE: usize = 6;

pub(super) async fn cut_all(app: &TestApp) -> usize {
    let cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend'";
    app.sql(cut).values::<bool>().await.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_after_all_connections_were_cut_are_answered_as_if_nothing_had_been() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("Anna keeps bees.").await;
    let search = |_| anna.call("memory_search", json!({ "query": "bees" }));
    for round in 0..3 {
        join_all((0..CALLS_AT_ONCE).map(search)).await;
        // Used a moment ago, so that nobody asks whether they live.
        assert!(cut_all(&app).await > 2, "there was something to cut");
        for answer in join_all((0..CALLS_AT_ONCE).map(search)).await {
            assert_eq!(answer["results"].as_array().unwrap().len(), 1, "{answer}");
        }
        cut_all(&app).await;
        anna.add(&format!("The hive of round {round} is full.")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_one_after_another_use_one_connection() {
    let (app, anna) = TestApp::start_for("anna").await;
    // The end of a call's transaction is waited for by nobody.
    let at_rest = async || {
        until("all connections are idle", async || {
            app.db.pools().iter().all(|pool| pool.idle == pool.open)
        })
        .await;
    };
    for n in 0..12 {
        at_rest().await;
        anna.add(&format!("Hive {n} is full.")).await;
        at_rest().await;
        anna.find("hive").await;
    }
    let [of_requests, of_tokens, ..] = app.db.pools();
    assert_eq!((of_requests.name, of_tokens.name), ("app", "tokens"));
    // One, or another where a call needs two at once.
    assert!(of_requests.open <= 2, "{of_requests:?}");
    assert_eq!(of_tokens.open, 1, "{of_tokens:?}");
}

#[tokio::test]
async fn a_transaction_that_is_broken_off_leaves_nothing_and_its_connection_is_used_again() {
    let (app, anna) = TestApp::start_for("anna").await;
    for _ in 0..20 {
        let mut tx = app.db.as_user(anna.id).await.unwrap();
        let mut sleep = Box::pin(sqlx::query("SELECT pg_sleep(0.2)").execute(&mut *tx));
        let sent = futures_util::poll!(&mut sleep);
        assert!(sent.is_pending(), "it was broken off in the middle");
        drop(sleep);
    }
    let mut tx = app.db.as_user(anna.id).await.unwrap();
    tx.sql("INSERT INTO memory_themes (user_id, slug, display_name, created_at, updated_at) VALUES ($1, 'unseen', 'Unseen', now(), now())").bind(anna.id.0).run().await;
    drop(tx);
    let themes = anna.call("memory_list_themes", json!({})).await;
    assert_eq!(themes["themes"], json!([]), "{themes}");
    let [of_requests, ..] = app.db.pools();
    assert!(of_requests.open <= of_requests.max, "{of_requests:?}");

    // While it begins, a user's or nobody's: it is not left open.
    none_is_left_open(&app).await;
    let mut begin = Box::pin(app.db.as_user_and(anna.id, "SELECT pg_sleep(0.5)"));
    while open_transactions(&app).await == 0 {
        assert!(futures_util::poll!(&mut begin).is_pending(), "it begins");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(begin);
    none_is_left_open(&app).await;
    anna.add("Anna keeps bees.").await;
    // As when a client goes away: what is done next on that connection must not be part of it.
    for polls in 1..5 {
        app.db.as_system().await.unwrap().commit().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut begin = Box::pin(app.db.as_system());
        for _ in 0..polls {
            if futures_util::poll!(&mut begin).is_ready() {
                break;
            }
        }
        drop(begin);
        none_is_left_open(&app).await;
    }
}

/// One that was left open stays open; PostgreSQL takes its time to see that a client has gone.
async fn none_is_left_open(app: &TestApp) {
    until("no transaction is open", async || open_transactions(app).await == 0).await;
}

async fn open_transactions(app: &TestApp) -> i64 {
    app.count(
        "pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL",
    )
    .await
}

#[tokio::test]
async fn a_command_waits_for_a_connection_when_a_request_would_fail() {
    let (app, anna) = TestApp::start_for("anna").await;
    let patient = app.db.patient();
    let mut held = Vec::new();
    for _ in 0..app.db.pools()[0].max {
        held.push(app.db.as_user(anna.id).await.unwrap());
    }
    let waited = patient.as_user(anna.id);
    let refused = async {
        let refused = app.db.as_user(anna.id).await;
        held.clear();
        refused
    };
    let (refused, waited) = tokio::join!(refused, waited);
    let refused = EvaluationError::Database(refused.map(drop).unwrap_err());
    let told = keepsake::db::in_words(refused.to_string());
    assert!(told.starts_with("no database connection became free in time"), "{told}");
    assert!(waited.is_ok());
}
