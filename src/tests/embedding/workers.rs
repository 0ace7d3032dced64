//! Real workers, on real time: what is asserted is what happens, with patience.

use std::time::Duration;

use keepsake::clock::Clock;
use keepsake::embedding::Drained;
use keepsake::jobs::{self, JobContext};
use keepsake::queue;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::{Provider, TestApp, TestUser, until};

pub struct Worker {
    stop: watch::Sender<bool>,
    running: JoinHandle<()>,
}

impl Worker {
    pub fn start(app: &TestApp) -> Self {
        let (stop, stopped) = watch::channel(false);
        let context = JobContext {
            db: app.db.clone(),
            embeddings: app.embeddings.clone(),
        };
        Self {
            stop,
            running: tokio::spawn(jobs::run(context, stopped)),
        }
    }

    pub async fn stop(self) {
        self.stop.send(true).unwrap();
        self.running.await.unwrap();
    }

    /// As `kill -9` would: nothing is put back, nothing is said.
    async fn kill(self) {
        self.running.abort();
        self.running.await.ok();
    }
}

async fn until_ready(app: &TestApp, user: &TestUser, items: usize) {
    until("all vectors are ready", async || {
        let rows = app.vectors(user, "active").await;
        rows.len() == items && rows.iter().all(|(_, state)| state == "ready")
    })
    .await;
}

#[tokio::test]
async fn an_idle_worker_comes_at_once_and_goes_when_asked() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
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

/// Two jobs of one user at once: the second is put off until the first has given the space
/// back. Nobody who adds after that waits for the time to which it was put off.
#[tokio::test]
async fn a_job_that_another_kept_waiting_comes_when_that_one_is_done() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("item 1").await;
    provider.forget_calls();
    let held = provider.hold();
    let worker = Worker::start(&app);
    provider.until_called().await;
    let drained = app.embeddings.drain(anna.id).await.unwrap();
    let Drained::Later(at) = drained else {
        panic!("{drained:?}");
    };
    assert!(at <= app.clock.now() + time::Duration::seconds(1), "{at}");
    let far = app.clock.now().max(time::OffsetDateTime::now_utc()) + time::Duration::minutes(1);
    let mut tx = app.db.as_system().await.unwrap();
    queue::push_at(&mut tx, anna.id, Some(far)).await.unwrap();
    tx.commit().await.unwrap();
    drop(held);
    until_ready(&app, &anna, 1).await;
    anna.add("item 2").await;
    until_ready(&app, &anna, 2).await;
    worker.stop().await;
}

#[tokio::test]
async fn work_goes_on_soon_after_a_worker_was_killed() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
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
    restarted.clock.advance(time::Duration::seconds(11));
    let worker = Worker::start(&restarted);
    until_ready(&app, &anna, 40).await;
    // Under a name of its own: under the dead one's, the jobs it held would be stranded.
    let names: i64 = sqlx::query_scalar("SELECT count(DISTINCT id) FROM apalis.workers")
        .fetch_one(&mut app.superuser().await)
        .await
        .unwrap();
    assert_eq!(names, 2);
    worker.stop().await;
}

#[tokio::test]
async fn a_job_that_kills_its_worker_each_time_is_given_up() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("Anna keeps bees.").await;
    sqlx::query("UPDATE apalis.jobs SET attempts = 7")
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
    let worker = Worker::start(&app);
    until("the job is given up", async || {
        let jobs = app.jobs().await;
        jobs.iter().any(|(_, status, _)| status == "Killed")
    })
    .await;
    assert!(provider.texts().is_empty());
    worker.stop().await;
}

#[tokio::test]
async fn workers_resume_when_postgresql_dropped_every_connection() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    let worker = Worker::start(&app);
    anna.add("item 1").await;
    until_ready(&app, &anna, 1).await;
    sqlx::query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    anna.add("item 2").await;
    until_ready(&app, &anna, 2).await;
    worker.stop().await;
}

#[tokio::test]
async fn one_users_many_items_do_not_keep_another_waiting() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    app.use_provider(&ben, &provider, "model").await;
    anna.add("the first").await;
    sqlx::query(
        "INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source, created_at, updated_at, content_tsv)
         SELECT user_id, theme_id, type, 'item ' || n, sha256(n::text::bytea), source, created_at, updated_at, ''
         FROM memory_items, generate_series(1, 4000) n",
    )
    .execute(&mut app.superuser().await)
    .await
    .unwrap();
    app.embeddings.rebuild(anna.id).await.unwrap();
    provider.behave(|b| b.delay = Duration::from_millis(60));
    let worker = Worker::start(&app);
    tokio::time::sleep(Duration::from_secs(1)).await;
    ben.add("Ben rows.").await;
    until_ready(&app, &ben, 1).await;
    let waiting = app.vectors(&anna, "building").await;
    assert!(
        waiting.iter().any(|(_, state)| state == "pending"),
        "Anna's were done before"
    );
    worker.kill().await;
}
