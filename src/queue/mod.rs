//! Puts a job on the caller's transaction, so that the work and the hint that
//! it is there are committed together. Rows are the truth: losing every job
//! loses no work, and running one twice changes nothing. A job's arguments hold
//! ids, never content.
//!
//! What apalis 1.0 needs and does not do by itself (FACTS), and where it is done:
//! - *a duplicate idempotency key aborts the transaction*: [`push`] looks first
//!   and keeps the insert in a savepoint;
//! - *the key stays taken until its row goes*: a job that starts gives it back
//!   ([`started`]), so that what is added from then on gets a job of its own;
//! - *no durable back-off*: the time of the next try stands in the space's row,
//!   and the job is put on anew with that time;
//! - *its migrations ask for pgcrypto, which nothing needs*: [`prepare`] leaves
//!   those statements out.

pub mod store;

use std::borrow::Cow;

use apalis::prelude::TaskBuilder;
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use time::OffsetDateTime;

use crate::db::{self, DatabaseError, UserId};

/// The queue of all work on vectors: one job a user.
pub const EMBED_QUEUE: &str = "embed";

/// What a job of [`EMBED_QUEUE`] is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedJob {
    pub user_id: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error("a job could not be queued: {0}")]
    Apalis(#[from] apalis_postgres::Error),
    #[error("a job could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// Makes apalis' tables, as the owner, and lets the other roles use them.
pub async fn prepare(options: &PgConnectOptions) -> Result<(), DatabaseError> {
    let mut setup = PgConnection::connect_with(options).await?;
    store::make_schema(&mut setup).await?;
    setup.close().await?;
    let mut owner = db::connect_as_owner(options).await?;
    let mut migrations = apalis_postgres::PostgresStorage::migrations();
    migrations.migrations = migrations
        .migrations
        .iter()
        .cloned()
        .map(|mut migration| {
            migration.sql = store::adapted(migration.sql.as_str());
            migration
        })
        .collect();
    // Making it needs a right on the database, even where it exists.
    migrations.create_schemas = Cow::Borrowed(&[]);
    migrations
        .run_direct(None, &mut owner, false)
        .await
        .map_err(DatabaseError::Migrate)?;
    store::grant(&mut owner).await?;
    owner.close().await?;
    Ok(())
}

/// Sees to it that a job for this user runs after the commit; nothing is added
/// where one waits already.
pub async fn push(conn: &mut PgConnection, user: UserId) -> Result<(), QueueError> {
    push_at(conn, user, None).await
}

/// The same, not before `at` (whole seconds).
pub async fn push_at(
    conn: &mut PgConnection,
    user: UserId,
    at: Option<OffsetDateTime>,
) -> Result<(), QueueError> {
    let key = user.0.to_string();
    if store::is_waiting(conn, EMBED_QUEUE, &key).await? {
        return Ok(());
    }
    let job = serde_json::to_vec(&EmbedJob { user_id: user.0 })?;
    let mut task = TaskBuilder::new(job).idempotency_key(&key);
    if let Some(at) = at {
        // Whole seconds, and rather late than before its time.
        task = task.run_at_timestamp((at.unix_timestamp() + 1).max(0) as u64);
    }
    let mut savepoint = conn.begin().await?;
    let pushed =
        apalis_postgres::queries::push_tasks(&mut *savepoint, EMBED_QUEUE, vec![task.build()])
            .await;
    match pushed {
        Ok(()) => savepoint.commit().await?,
        // Another transaction was faster: its job will see our rows, or we wait for it here.
        Err(apalis_postgres::Error::Database(error)) if is_duplicate(&error) => {
            savepoint.rollback().await?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// The same, and one that waits for a later time is brought forward. Nothing is added
/// for a user who was erased meanwhile.
pub async fn push_now(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), QueueError> {
    if !store::hold_user(conn, user.0).await? {
        return Ok(());
    }
    push(conn, user).await?;
    bring_forward(conn, user, now).await?;
    Ok(())
}

/// A job that waits for a later time begins at once; where none does, nothing happens.
pub async fn bring_forward(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::bring_forward(conn, EMBED_QUEUE, &user.0.to_string(), now).await
}

/// A job begins: whatever is added from here on needs another.
pub async fn started(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    store::release_key(conn, EMBED_QUEUE, &user.0.to_string()).await
}

fn is_duplicate(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|e| e.is_unique_violation())
}
