//! The statements of what chat costs, as the app role: one user's rows alone.

use sqlx::PgConnection;
use time::{Date, OffsetDateTime};

use super::{DaySpend, Spent};
use crate::db::UserId;
use crate::providers::chat::ChatPurpose;

/// Tokens of the day so far; nobody else reserves or settles until the transaction ends.
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

/// Reservations past their time: their server was killed, and the calls failed.
pub async fn count_lost(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH lost AS (DELETE FROM chat_reservations WHERE user_id = $1 AND day = $2 AND until <= $3 RETURNING 1)
         UPDATE chat_spend SET calls = calls + n, failed_calls = failed_calls + n
         FROM (SELECT count(*) AS n FROM lost) l
         WHERE user_id = $1 AND day = $2 AND n > 0",
        user.0,
        day,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Days that are not kept any more, and reservations of earlier days past their time.
pub async fn forget_before(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH lost AS (DELETE FROM chat_reservations WHERE user_id = $1 AND until <= $3)
         DELETE FROM chat_spend WHERE user_id = $1 AND day < $2",
        user.0,
        day,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Tokens that are held for calls of this day.
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

pub async fn insert_reservation(
    conn: &mut PgConnection,
    user: UserId,
    day: Date,
    tokens: i64,
    until: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        "INSERT INTO chat_reservations (user_id, day, tokens, until) VALUES ($1, $2, $3, $4) RETURNING id",
        user.0,
        day,
        tokens,
        until,
    )
    .fetch_one(conn)
    .await
}

pub async fn delete_reservation(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM chat_reservations WHERE user_id = $1 AND id = $2",
        user.0,
        id
    )
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
    let evaluation_tokens = match spent.purpose {
        ChatPurpose::Evaluation => spent.tokens_in + spent.tokens_out,
        ChatPurpose::Memory => 0,
    };
    sqlx::query!(
        "INSERT INTO chat_spend AS s (user_id, day, tokens_in, tokens_out, calls, failed_calls, evaluation_tokens)
         VALUES ($1, $2, $3, $4, 1, $5::bool::int, $6)
         ON CONFLICT (user_id, day) DO UPDATE
         SET tokens_in = s.tokens_in + $3, tokens_out = s.tokens_out + $4, calls = s.calls + 1,
             failed_calls = s.failed_calls + $5::bool::int, evaluation_tokens = s.evaluation_tokens + $6",
        user.0,
        day,
        spent.tokens_in,
        spent.tokens_out,
        spent.is_failed,
        evaluation_tokens,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Those on which a call was made, the oldest first.
pub async fn list_days(
    conn: &mut PgConnection,
    user: UserId,
    since: Date,
) -> Result<Vec<DaySpend>, sqlx::Error> {
    sqlx::query_as!(
        DaySpend,
        "SELECT day, tokens_in, tokens_out, evaluation_tokens, calls, failed_calls FROM chat_spend
         WHERE user_id = $1 AND day >= $2 ORDER BY day",
        user.0,
        since,
    )
    .fetch_all(conn)
    .await
}
