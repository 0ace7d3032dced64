//! The statements of chat costs, as the app role: one user's rows only.

use sqlx::PgConnection;
use time::{Date, OffsetDateTime};

use super::{DaySpend, ReservationRequest, Spent};
use crate::db::UserId;
use crate::providers::chat::ChatPurpose;

/// The day's tokens so far. Locks the day: other reservations and settlements wait until the transaction
/// ends.
pub async fn lock_day(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"INSERT INTO chat_spend AS s (user_id, day) VALUES ($1, $2)
           ON CONFLICT (user_id, day) DO UPDATE SET calls = s.calls
           RETURNING tokens_in + tokens_out AS "tokens!""#,
        user.0,
        day,
    )
    .fetch_one(conn)
    .await
}

/// Locks the days of expired reservations, oldest first and before today, as [`count_lost`] changes them: a settlement locks
/// its day before its reservation, too.
pub async fn lock_lost_days(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "SELECT day FROM chat_spend
         WHERE user_id = $1 AND day IN (SELECT day FROM chat_reservations WHERE user_id = $1 AND until <= $2)
         ORDER BY day FOR UPDATE",
        user.0,
        now,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// Counts expired reservations of any day as failed calls of that day and deletes them: their server was killed.
pub async fn count_lost(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH lost AS (DELETE FROM chat_reservations WHERE user_id = $1 AND until <= $2 RETURNING day)
         UPDATE chat_spend s SET calls = s.calls + l.n, failed_calls = s.failed_calls + l.n
         FROM (SELECT day, count(*) AS n FROM lost GROUP BY day) l
         WHERE s.user_id = $1 AND s.day = l.day",
        user.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes days that are too old.
pub async fn forget_before(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM chat_spend WHERE user_id = $1 AND day < $2", user.0, day,)
        .execute(conn)
        .await?;
    Ok(())
}

/// Tokens that are reserved on this day.
pub async fn reserved(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT coalesce(sum(tokens), 0)::bigint AS "tokens!" FROM chat_reservations
           WHERE user_id = $1 AND day = $2"#,
        user.0,
        day,
    )
    .fetch_one(conn)
    .await
}

/// The day's tokens for one purpose, spent and reserved.
pub async fn taken_for(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
    purpose: ChatPurpose,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT coalesce((SELECT tokens FROM chat_spend_purposes
                            WHERE user_id = $1 AND day = $2 AND purpose = $3), 0)
                + coalesce((SELECT sum(tokens) FROM chat_reservations
                            WHERE user_id = $1 AND day = $2 AND purpose = $3), 0)::bigint AS "tokens!""#,
        user.0,
        day,
        purpose.as_str(),
    )
    .fetch_one(conn)
    .await
}

pub async fn insert_reservation(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
    wanted: &ReservationRequest,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        "INSERT INTO chat_reservations (user_id, day, tokens, until, purpose) VALUES ($1, $2, $3, $4, $5) RETURNING id",
        user.0,
        day,
        wanted.tokens,
        wanted.until,
        wanted.purpose.as_str(),
    )
    .fetch_one(conn)
    .await
}

pub async fn delete_reservation(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM chat_reservations WHERE user_id = $1 AND id = $2", user.0, id)
        .execute(conn)
        .await?;
    Ok(())
}

pub async fn add(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
    spent: Spent,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO chat_spend AS s (user_id, day, tokens_in, tokens_out, calls, failed_calls)
         VALUES ($1, $2, $3, $4, 1, $5::bool::int)
         ON CONFLICT (user_id, day) DO UPDATE
         SET tokens_in = s.tokens_in + $3, tokens_out = s.tokens_out + $4, calls = s.calls + 1,
             failed_calls = s.failed_calls + $5::bool::int",
        user.0,
        day,
        spent.tokens_in,
        spent.tokens_out,
        spent.is_failed,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "INSERT INTO chat_spend_purposes AS s (user_id, day, purpose, tokens) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id, day, purpose) DO UPDATE SET tokens = s.tokens + $4",
        user.0,
        day,
        spent.purpose.as_str(),
        spent.tokens_in + spent.tokens_out,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Days with calls, oldest first.
pub async fn list_days(
    conn: &mut PgConnection,
    user: UserId,
    since: Date,
) -> Result<Vec<DaySpend>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT s.day, s.tokens_in, s.tokens_out, s.calls, s.failed_calls,
                  ARRAY(SELECT p.purpose FROM chat_spend_purposes p
                        WHERE p.user_id = $1 AND p.day = s.day ORDER BY p.purpose) AS "purposes!",
                  ARRAY(SELECT p.tokens FROM chat_spend_purposes p
                        WHERE p.user_id = $1 AND p.day = s.day ORDER BY p.purpose) AS "tokens!"
           FROM chat_spend s WHERE s.user_id = $1 AND s.day >= $2 ORDER BY s.day"#,
        user.0,
        since,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| DaySpend {
        day: row.day,
        tokens_in: row.tokens_in,
        tokens_out: row.tokens_out,
        calls: row.calls,
        failed_calls: row.failed_calls,
        by_purpose: row
            .purposes
            .iter()
            .map(|purpose| ChatPurpose::from_label(purpose))
            .zip(row.tokens)
            .collect(),
    });
    Ok(rows.collect())
}
