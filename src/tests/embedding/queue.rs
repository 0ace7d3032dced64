//! What apalis does not do by itself (FACTS): each remedy with a test that fails
//! without it. Those that need a running worker are in `workers.rs`.

use keepsake::queue;
use serde_json::json;
use time::Duration;

use crate::support::{Provider, TestApp};

#[tokio::test]
async fn a_second_job_for_a_user_neither_exists_nor_aborts_the_transaction() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let mut tx = app.db.as_user(anna.id).await.unwrap();
    queue::push(&mut tx, anna.id).await.unwrap();
    queue::push(&mut tx, anna.id).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(app.jobs().await.len(), 1);
    // Two transactions that do not see each other.
    sqlx::query("DELETE FROM apalis.jobs")
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
    let mut one = app.db.as_user(anna.id).await.unwrap();
    let mut two = app.db.as_user(anna.id).await.unwrap();
    queue::push(&mut one, anna.id).await.unwrap();
    let pushing = tokio::spawn(async move {
        queue::push(&mut two, anna.id).await.unwrap();
        // The transaction is still good for more.
        sqlx::query("SELECT 1").execute(&mut *two).await.unwrap();
        two.commit().await.unwrap();
    });
    app.until_blocked(1).await;
    one.commit().await.unwrap();
    pushing.await.unwrap();
    assert_eq!(app.jobs().await.len(), 1);
}

#[tokio::test]
async fn a_job_that_has_begun_does_not_keep_a_new_one_away() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let mut conn = app.superuser().await;
    queue::push(&mut conn, anna.id).await.unwrap();
    sqlx::query("UPDATE apalis.jobs SET status = 'Running'")
        .execute(&mut conn)
        .await
        .unwrap();
    queue::push(&mut conn, anna.id).await.unwrap();
    assert_eq!(app.jobs().await.len(), 1);
    queue::started(&mut conn, anna.id).await.unwrap();
    queue::push(&mut conn, anna.id).await.unwrap();
    assert_eq!(app.jobs().await.len(), 2);
    // The one that waits keeps its key, whoever begins.
    queue::started(&mut conn, anna.id).await.unwrap();
    queue::push(&mut conn, anna.id).await.unwrap();
    assert_eq!(app.jobs().await.len(), 2);
}

#[tokio::test]
async fn a_job_that_waits_for_later_is_brought_forward_when_something_changes() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let mut conn = app.superuser().await;
    let now = app.embeddings.now();
    queue::push_at(&mut conn, anna.id, Some(now + Duration::hours(1)))
        .await
        .unwrap();
    queue::push_now(&mut conn, anna.id, now).await.unwrap();
    let waits: bool =
        sqlx::query_scalar("SELECT run_at > now() + interval '1 minute' FROM apalis.jobs")
            .fetch_one(&mut conn)
            .await
            .unwrap();
    assert!(!waits);
    assert_eq!(app.jobs().await.len(), 1);
}

#[tokio::test]
async fn losing_every_job_loses_no_work_and_two_sweeps_make_one_job() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("Anna keeps bees.").await;
    ben.add("Ben rows.").await;
    sqlx::query("DELETE FROM apalis.jobs")
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
    let twin = app.twin().await;
    let (one, two) = tokio::join!(app.embeddings.sweep(), twin.embeddings.sweep());
    // Anna's alone: Ben has no provider.
    assert_eq!((one.unwrap(), two.unwrap()), (1, 1));
    assert_eq!(app.jobs().await.len(), 1);
    app.drain(&anna).await;
    assert_eq!(provider.texts().len(), 1);
    // Run again it changes nothing.
    app.drain(&anna).await;
    assert_eq!(provider.texts().len(), 1);
    sqlx::query("DELETE FROM apalis.jobs")
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn twenty_adds_at_once_make_one_job_with_ids_alone_in_it() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    app.drain(&anna).await;
    sqlx::query("DELETE FROM apalis.jobs")
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
    let adds = (0..20).map(|n| {
        let input = json!({ "type": "fact", "content": format!("secret {n}") });
        let anna = &anna;
        async move { anna.call("memory_add", input).await }
    });
    futures_util::future::join_all(adds).await;
    let jobs = app.jobs().await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].2, format!("{{\"user_id\":{}}}", anna.id.0));
}

#[tokio::test]
async fn requests_may_put_jobs_on_and_may_not_read_or_change_what_is_in_them() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    for forbidden in [
        "SELECT job FROM apalis.jobs",
        "SELECT last_result FROM apalis.jobs",
        "DELETE FROM apalis.jobs",
        "UPDATE apalis.jobs SET status = 'Killed'",
        "SELECT * FROM apalis.workers",
    ] {
        let mut tx = app.db.as_user(anna.id).await.unwrap();
        let refused = sqlx::query(forbidden).execute(&mut *tx).await.unwrap_err();
        assert!(
            refused.to_string().contains("permission denied"),
            "{forbidden}"
        );
    }
}

#[tokio::test]
async fn a_job_that_went_with_its_worker_keeps_no_other_away() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("Anna keeps bees.").await;
    // Fetched, and not yet begun when the worker was gone: its key is still taken.
    sqlx::query("UPDATE apalis.jobs SET status = 'Queued'")
        .execute(&mut app.superuser().await)
        .await
        .unwrap();
    assert_eq!(app.embeddings.sweep().await.unwrap(), 1);
    let jobs = app.jobs().await;
    let waiting = jobs.iter().filter(|(_, status, _)| status == "Pending");
    assert_eq!(waiting.count(), 1, "{jobs:?}");
}

#[tokio::test]
async fn a_job_about_to_begin_waits_for_what_is_being_added() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let mut conn = app.superuser().await;
    queue::push(&mut conn, anna.id).await.unwrap();
    sqlx::query("UPDATE apalis.jobs SET status = 'Queued'")
        .execute(&mut conn)
        .await
        .unwrap();
    // An adder relies on the job that waits; until it has committed, that job may not begin,
    // or it would look for pending rows and miss the adder's.
    let mut adding = app.db.as_user(anna.id).await.unwrap();
    queue::push(&mut adding, anna.id).await.unwrap();
    let user = anna.id;
    let beginning = tokio::spawn(async move { queue::started(&mut conn, user).await });
    app.until_blocked(1).await;
    adding.commit().await.unwrap();
    beginning.await.unwrap().unwrap();
    assert_eq!(app.jobs().await[0].0, None);
}
