//! What background work is due: one row a user and job, pushed in the transaction that makes
//! the work. Rows here are hints: what is due follows from the rows of the domain, and the sweep
//! (src/jobs) pushes again what is missing. They hold ids, times and counts, never content.
//!
//! - A push that comes while the job runs raises `pushes`, so that the run's end leaves the row due.
//! - A run has its row by a lease that its process renews. A process that was killed renews none,
//!   and another run follows when the lease is over.
//! - `attempts` counts the runs since the last that ended well, killed ones included. After a run that
//!   failed, pushes bring nothing forward; [`push_now`] does.

pub mod runs;
mod slice;
pub mod store;

pub use slice::Slice;
pub use store::{list_rounds, list_users_due, note_round, push_found};

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::db::UserId;

/// Stands for the server where a job is nobody's.
pub const SERVER: UserId = UserId(0);

/// Jobs that other modules push.
pub const EMBED: &str = "embed";
pub const EXTRACT: &str = "extract";
pub const TURNS: &str = "turns";
pub const SUMMARY: &str = "summary";
pub const ERASE: &str = "erase";
pub const EVALUATE: &str = "evaluate";
pub const DELETE: &str = "delete";

/// Whoever has waited so long comes next, whatever others have to do.
pub const PATIENCE: Duration = Duration::seconds(30);
/// Of a job that fails again and again.
pub const BACK_OFF_MAX: Duration = Duration::hours(1);
/// A process that is gone frees what it ran after this long at most.
pub const LEASE: Duration = Duration::seconds(15);

/// The job is due, with about `size` rows more to work on.
pub async fn push(
    conn: &mut PgConnection,
    user: UserId,
    job: &str,
    size: usize,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let size = i32::try_from(size).unwrap_or(i32::MAX);
    store::push(conn, user, job, size, now).await
}

/// The job is due at once, whatever has failed before: somebody asks for it, or what it failed
/// at has changed.
pub async fn push_now(
    conn: &mut PgConnection,
    user: UserId,
    job: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::push_now(conn, user, job, now).await
}
