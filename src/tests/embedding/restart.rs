//! PostgreSQL goes away under load and comes back, as when its package is
//! upgraded: the server goes on without a restart of its own.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keepsake::clock::MovableClock;
use keepsake::db;
use keepsake::postgres::EmbeddedPostgres;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::workers::Worker;
use crate::support::{Provider, TestApp, Wish, change_model};

/// Of a machine with nothing else to do.
const BACK_WITHIN: Duration = Duration::from_secs(10);
const BENS_ITEMS: usize = 30;
const DOWN_FOR: Duration = Duration::from_secs(2);

/// A data folder that PostgreSQL's unprivileged user can reach, with the fetched tree in it.
fn data_dir() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/runtime");
    symlink(runtime, folder.path().join("runtime")).unwrap();
    folder
}

/// Leases and waits run out by this clock, which otherwise stands still.
fn let_it_run(clock: Arc<MovableClock>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut last = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = Instant::now();
            clock.advance((now - last).try_into().unwrap());
            last = now;
        }
    })
}

struct Counts {
    items: i64,
    /// With their vector in the space that serves.
    ready: i64,
    /// Without a row or an event beside them.
    incomplete: i64,
}

async fn counts(app: &TestApp) -> Counts {
    let (items, ready, incomplete) = app.sql("SELECT count(*), count(*) FILTER (WHERE e.state = 'ready'),
                count(*) FILTER (WHERE e.source_id IS NULL OR NOT EXISTS (
                    SELECT FROM memory_item_events v WHERE v.user_id = i.user_id AND v.item_id = i.id))
         FROM memory_items i
         LEFT JOIN (memory_embeddings e
                    JOIN embedding_spaces s ON s.user_id = e.user_id AND s.id = e.space_id AND s.state = 'active')
             ON e.user_id = i.user_id AND e.source_id = i.id").row().await;
    Counts { items, ready, incomplete }
}

/// How long after the database was back this was so.
async fn until(began: Instant, app: &TestApp, is_so: impl AsyncFn() -> bool) -> Duration {
    while !is_so().await {
        let jobs = app.jobs().await;
        assert!(began.elapsed() < BACK_WITHIN, "{jobs:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    began.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a series under load: `make check` runs it alone"]
async fn workers_resume_within_ten_seconds_after_postgresql_was_restarted_under_load() {
    let folder = data_dir();
    let postgres = EmbeddedPostgres::start(folder.path()).await.unwrap();
    let options = postgres.connect_options();
    db::prepare(&options).await.unwrap();
    let app = TestApp::start_as(Wish { database: Some(options), ..Wish::default() }).await;
    let clock = let_it_run(app.clock.clone());
    let anna = app.user("anna").await;
    let provider = Provider::start().await;
    provider.behave(|b| b.delay = Duration::from_millis(300));
    app.use_provider(&anna, &provider, "model").await;
    // Ben adds nothing more: what he waits for has to go on by itself.
    let ben = app.user("ben").await;
    app.use_provider(&ben, &provider, "model").await;
    for n in 0..BENS_ITEMS {
        ben.add(&format!("Ben's note {n}")).await;
    }
    app.drain(&ben).await;
    let worker = Worker::start(&app);

    // Adds go on all the time, whatever becomes of them.
    let (url, token) = (format!("{}/api/v1/tools/memory_add", app.base), anna.token.clone());
    let load = tokio::spawn(async move {
        let client = reqwest::Client::new();
        let (mut acknowledged, mut refused) = (Vec::new(), Vec::new());
        for n in 0.. {
            let input = json!({ "type": "fact", "content": format!("note {n}") });
            let request = client.post(&url).bearer_auth(&token).json(&input);
            let response = request.send().await.unwrap();
            let status = response.status().as_u16();
            let answer: Value = response.json().await.unwrap();
            match answer["id"].as_i64() {
                Some(id) if status == 200 => acknowledged.push(id),
                _ => refused.push((status, answer["code"].clone())),
            }
            if refused.len() >= 3 && status == 200 && acknowledged.len() % 50 == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        (acknowledged, refused)
    });
    while counts(&app).await.ready < BENS_ITEMS as i64 + 10 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    change_model(&app, &ben, &provider, "another").await;
    let is_half_built = async || {
        let rows = app.vectors(&ben, "building").await;
        rows.iter().any(|(_, state)| state == "ready")
    };
    while !is_half_built().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Batches of both are with the provider now.
    postgres.stop().await.unwrap();
    tokio::time::sleep(DOWN_FOR).await;
    let postgres = EmbeddedPostgres::start(folder.path()).await.unwrap();
    let began = Instant::now();

    // What waited goes on by itself, and what is added waits no longer than ever.
    let bens = async {
        let all_ready = async || app.vectors(&ben, "building").await.is_empty();
        until(began, &app, all_ready).await
    };
    let annas = async {
        let (acknowledged, refused) = load.await.unwrap();
        let added = Instant::now();
        let id = anna.add("The database is back.").await;
        let is_ready = async || {
            let item = anna.call("memory_get", json!({ "item_id": id })).await;
            item["embedding"]["state"] == "ready"
        };
        let took = until(began, &app, is_ready).await;
        (acknowledged, refused, added - began, took)
    };
    let (bens, (acknowledged, refused, added, annas)) = tokio::join!(bens, annas);
    let is_plain = |(status, code): &(u16, Value)| *status == 503 && code == "database_unavailable";
    assert!(refused.iter().all(is_plain), "{refused:?}");

    // Half of an add is nowhere, and what was said to be kept is.
    let counts = counts(&app).await;
    assert_eq!((counts.items - counts.ready, counts.incomplete), (0, 0));
    assert_eq!(app.vectors(&ben, "active").await.len(), BENS_ITEMS);
    for id in &acknowledged {
        anna.call("memory_get", json!({ "item_id": id })).await;
    }
    println!(
        "{} adds were acknowledged and {} refused; after PostgreSQL was back Ben's rebuild was done in {bens:?}, \
         Anna's last item, added after {added:?}, in {annas:?}",
        acknowledged.len(),
        refused.len()
    );
    worker.stop().await;
    clock.abort();
    drop(app);
    postgres.stop().await.unwrap();
}
