//! The statements of lifetimes, as the app role in a transaction that has set the user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::Lifetimes;
use crate::db::{UserId, note_changes};

pub async fn find(conn: &mut PgConnection, user: UserId) -> Result<Lifetimes, sqlx::Error> {
    sqlx::query_as!(Lifetimes, "SELECT episode_days, turn_days FROM users WHERE id = $1", user.0)
        .fetch_one(conn)
        .await
}

/// The lifetimes, locked until the transaction ends.
pub async fn hold(conn: &mut PgConnection, user: UserId) -> Result<Lifetimes, sqlx::Error> {
    sqlx::query_as!(
        Lifetimes,
        "SELECT episode_days, turn_days FROM users WHERE id = $1 FOR NO KEY UPDATE",
        user.0
    )
    .fetch_one(conn)
    .await
}

pub async fn set(
    conn: &mut PgConnection,
    user: UserId,
    chosen: Lifetimes,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE users SET episode_days = $2, turn_days = $3, updated_at = $4 WHERE id = $1",
        user.0,
        chosen.episode_days,
        chosen.turn_days,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Moves the expiry of the user's episodes by `days`.
pub async fn move_ends(
    conn: &mut PgConnection,
    user: UserId,
    days: i32,
) -> Result<(), sqlx::Error> {
    let moved = sqlx::query_scalar!(
        "UPDATE memory_items i
         -- In UTC, since otherwise a day depends on the session's time zone.
         SET expires_at = (i.expires_at AT TIME ZONE 'UTC' + make_interval(days => $2)) AT TIME ZONE 'UTC',
             live_until = greatest(i.live_from, (i.expires_at AT TIME ZONE 'UTC' + make_interval(days => $2)) AT TIME ZONE 'UTC')
         FROM episodes e
         WHERE e.user_id = $1 AND i.user_id = $1 AND i.id = e.source_id AND i.expires_at IS NOT NULL
         RETURNING i.id",
        user.0,
        days,
    );
    let moved = moved.fetch_all(&mut *conn).await?;
    note_changes(conn, &moved).await
}
