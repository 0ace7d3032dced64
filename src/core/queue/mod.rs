//! The queue of background work: one row per user and job, pushed in the transaction that creates the work.
//! Rows are hints: what is due follows from the domain's rows, and the sweep (src/core/jobs) pushes again what is
//! missing. They hold ids, times and counts, never content.
//!
//! - A push during a run increments `pushes`, so that the row is due again when the run ends.
//! - A run holds its row with a lease that its process renews. After a crash the lease expires and another
//!   run follows.
//! - `attempts` counts the runs since the last success, including killed ones. After a failure, pushes do not
//!   shorten the backoff; [`push_now`] does.

pub mod runs;
mod slice;
pub mod store;

pub use slice::Slice;
pub use store::{list_rounds, list_users_due, note_round, push_found};

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::db::UserId;

/// The user id of the server's own jobs.
pub const SERVER: UserId = UserId(0);

/// Jobs that other modules push.
pub const EMBED: &str = "embed";
pub const EXTRACT: &str = "extract";
pub const TURNS: &str = "turns";
pub const SUMMARY: &str = "summary";
pub const ERASE: &str = "erase";
pub const DELETE: &str = "delete";
pub const STORAGE: &str = "storage";

/// After waiting this long, a user comes next, however much work others have.
pub const PATIENCE: Duration = Duration::seconds(30);
/// Maximum backoff of a job that keeps failing.
pub const BACK_OFF_MAX: Duration = Duration::hours(1);
/// After a crash, a process's runs are free again within this time.
pub const LEASE: Duration = Duration::seconds(15);
/// A lease that ends later than this was set by a clock that runs ahead. More than [`LEASE`], since the clocks of two
/// machines differ, and whoever looks may have read its own a moment before.
const LEASE_LEFT_MAX: Duration = Duration::seconds(4 * 15);

/// Makes the job due, with about `size` more rows to work on.
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

/// Makes the job due at once, despite earlier failures: somebody asks for it, or the cause of the failure has
/// changed.
pub async fn push_now(
    conn: &mut PgConnection,
    user: UserId,
    job: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::push_now(conn, user, job, now).await
}
