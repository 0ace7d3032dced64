//! Real workers, on real time: what is asserted is what happens, with patience.

use std::time::Duration;

use keepsake::jobs;
use keepsake::queue;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{all_ready, with_provider};
use crate::support::{Provider, TestApp, TestUser, until};

pub struct Worker {
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
}

impl Worker {
    pub fn start(app: &TestApp) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self { stop, running: tokio::spawn(jobs::run(app.services.clone(), stopped)) }
    }

    pub async fn stop(self) {
        self.stop.send(true).unwrap();
        self.running.await.unwrap();
    }

    /// As `kill -9` would: nothing is put back, nothing is said.
    pub async fn kill(self) {
        self.running.abort();
        self.running.await.ok();
    }
}

async fn until_ready(app: &TestApp, user: &TestUser, items: usize) {
    let is_so = async || all_ready(app, user).await == Some(items);
    until("all vectors are ready", is_so).await;
}

#[tokio::test]
async fn an_idle_worker_comes_at_once_and_goes_when_asked() {
    let (app, anna, _provider) = with_provider("model").await;
    let worker = Worker::start(&app);
    tokio::time::sleep(Duration::from_secs(2)).await;
    for n in 1..=3 {
        anna.add(&format!("item {n}")).await;
        until_ready(&app, &anna, n).await;
    }
    worker.stop().await;
    anna.add("item 4").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(app.vectors(&anna, "active").await[3].1, "pending");
}

#[tokio::test]
async fn two_workers_do_not_send_the_same_items() {
    let (app, anna, provider) = with_provider("model").await;
    for n in 0..5 {
        anna.add(&format!("item {n}")).await;
    }
    provider.forget_calls();
    let held = provider.hold();
    let twin = app.twin().await;
    let workers = [Worker::start(&app), Worker::start(&twin)];
    provider.until_called().await;
    drop(held);
    until_ready(&app, &anna, 5).await;
    for worker in workers {
        worker.stop().await;
    }
    assert_eq!(provider.texts().len(), 5);
}

#[tokio::test]
async fn work_goes_on_soon_after_a_worker_was_killed() {
    let (app, anna, provider) = with_provider("model").await;
    for n in 0..40 {
        anna.add(&format!("item {n}")).await;
    }
    provider.forget_calls();
    let held = provider.hold();
    let worker = Worker::start(&app);
    provider.until_called().await;
    worker.kill().await;
    drop(held);
    let restarted = app.twin().await;
    // Its clock has moved on like the one on the wall: the dead worker's lease has run out.
    restarted.clock.advance(time::Duration::seconds(20));
    let worker = Worker::start(&restarted);
    until_ready(&app, &anna, 40).await;
    worker.stop().await;
}

/// Anna and Ben, who have the same provider.
async fn with_two() -> (TestApp, TestUser, TestUser, Provider) {
    let (app, anna, provider) = with_provider("model").await;
    let ben = app.user("ben").await;
    app.use_provider(&ben, &provider, "model").await;
    (app, anna, ben, provider)
}

#[tokio::test]
async fn a_users_run_that_fails_is_told_tried_again_later_and_stops_nobody_elses() {
    let (app, anna, ben, _provider) = with_two().await;
    let broken = format!(
        "ALTER TABLE memory_embeddings ADD CONSTRAINT secret_content CHECK (user_id <> {} OR embedding IS NULL)",
        anna.id.0
    );
    app.sql(broken).run_all().await;
    anna.add("Anna keeps bees.").await;
    ben.add("Ben rows.").await;
    let worker = Worker::start(&app);
    until_ready(&app, &ben, 1).await;
    let failed = async || {
        let mut conn = app.superuser().await;
        queue::store::list_failed(&mut conn, 10).await.unwrap()
    };
    until("Anna's run has failed", async || !failed().await.is_empty()).await;
    let failure = &failed().await[0];
    assert_eq!((failure.user, failure.job.as_str()), (anna.id, "embed"));
    assert!(!failure.problem.contains("secret"), "{}", failure.problem);
    assert!(failure.run_at.unwrap() > app.embeddings.now());
    worker.stop().await;
    let runs =
        app.sql("SELECT user_id, outcome, done FROM job_runs WHERE job = 'embed' ORDER BY user_id");
    let expected = [(anna.id.0, "failed".to_owned(), 1), (ben.id.0, "done".to_owned(), 1)];
    assert_eq!(runs.rows::<(i64, String, i64)>().await, expected);
}

#[tokio::test]
async fn workers_resume_when_postgresql_dropped_every_connection() {
    let (app, anna, _provider) = with_provider("model").await;
    let worker = Worker::start(&app);
    anna.add("item 1").await;
    until_ready(&app, &anna, 1).await;
    app.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").run().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    anna.add("item 2").await;
    // A run whose end was not written is tried again later, counted from when the worker saw that.
    let is_ready_later = async || {
        app.clock.advance(time::Duration::seconds(1));
        all_ready(&app, &anna).await == Some(2)
    };
    until("all vectors are ready", is_ready_later).await;
    worker.stop().await;
}

#[tokio::test]
async fn one_users_many_items_do_not_keep_another_waiting() {
    let (app, anna, ben, provider) = with_two().await;
    anna.add("the first").await;
    app.sql("INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source, created_at, updated_at)
         SELECT user_id, theme_id, type, 'item ' || n, sha256(n::text::bytea), source, created_at, updated_at
         FROM memory_items, generate_series(1, 4000) n").run().await;
    app.embeddings.rebuild(anna.id).await.unwrap();
    provider.behave(|b| b.delay = Duration::from_millis(60));
    let worker = Worker::start(&app);
    tokio::time::sleep(Duration::from_secs(1)).await;
    ben.add("Ben rows.").await;
    until_ready(&app, &ben, 1).await;
    let waiting = app.vectors(&anna, "building").await;
    assert!(waiting.iter().any(|(_, state)| state == "pending"), "Anna's were done before");
    worker.kill().await;
}
