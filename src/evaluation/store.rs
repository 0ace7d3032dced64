//! What evaluation asks the database: texts to make questions of, and what was measured. No
//! question and no text of an item is ever written. Every function takes a connection that knows
//! its user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::own::{Asked, Measured, Side, SideScores};
use super::questions::Text;
use super::score::CUTOFFS;
use crate::db::UserId;
use crate::embedding::model::SpaceId;
use crate::providers::ProviderType;

/// What was found in one space: rows of a user and space, one a [`Side`].
pub struct Row<'a> {
    pub space: SpaceId,
    pub side: Side,
    pub scores: &'a SideScores,
}

/// The newest active items; turns of conversations are none.
pub async fn list_texts(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
    now: OffsetDateTime,
) -> Result<Vec<Text>, sqlx::Error> {
    sqlx::query_as!(
        Text,
        "SELECT id AS item_id, content FROM memory_items
         WHERE user_id = $1 AND NOT is_turn AND status = 'active' AND (expires_at IS NULL OR expires_at > $3)
         ORDER BY created_at DESC, id DESC LIMIT $2",
        user.0,
        limit,
        now,
    )
    .fetch_all(conn)
    .await
}

/// Whether the space that serves was rebuilt, after `since`, and nobody has measured it.
pub async fn is_unmeasured(
    conn: &mut PgConnection,
    user: UserId,
    since: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM embedding_spaces s
               WHERE s.user_id = $1 AND s.state = 'active' AND s.activated_at > s.created_at AND s.activated_at > $2
                 AND NOT EXISTS (SELECT FROM evaluations e WHERE e.user_id = $1 AND e.space_id = s.id)
           ) AS "is_so!""#,
        user.0,
        since,
    )
    .fetch_one(conn)
    .await
}

/// A space that was measured meanwhile keeps what was found first.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    asked: Asked,
    row: Row<'_>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let scores = row.scores;
    sqlx::query!(
        "INSERT INTO evaluations (user_id, space_id, side, measured_at, provider_type, model, items, questions,
                                  questions_by_model, found, found_by_meaning)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT DO NOTHING",
        user.0,
        row.space.0,
        row.side.as_str(),
        now,
        scores.provider_type.as_str(),
        scores.model,
        asked.items,
        asked.questions,
        asked.by_model,
        scores.found.as_slice(),
        scores.found_by_meaning.as_slice(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// All but the latest so many measurements.
pub async fn delete_older(
    conn: &mut PgConnection,
    user: UserId,
    kept: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM evaluations WHERE user_id = $1 AND space_id NOT IN (
             SELECT space_id FROM evaluations WHERE user_id = $1
             GROUP BY space_id ORDER BY max(measured_at) DESC, space_id DESC LIMIT $2)",
        user.0,
        kept,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The latest, with what served before it where that was still there.
pub async fn find_latest(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<Measured>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT side, measured_at, provider_type, model, items, questions, questions_by_model, found, found_by_meaning
         FROM evaluations
         WHERE user_id = $1 AND space_id = (
             SELECT space_id FROM evaluations WHERE user_id = $1 AND side = 'now' AND questions > 0
             ORDER BY measured_at DESC, space_id DESC LIMIT 1)",
        user.0,
    )
    .fetch_all(conn)
    .await?;
    let mut before = None;
    let mut now = None;
    for row in rows {
        let asked = Asked {
            items: row.items,
            questions: row.questions,
            by_model: row.questions_by_model,
        };
        let scores = SideScores {
            provider_type: ProviderType::from_column(&row.provider_type),
            model: row.model,
            found: counts(&row.found),
            found_by_meaning: counts(&row.found_by_meaning),
        };
        match row.side.as_str() {
            "before" => before = Some(scores),
            _ => now = Some((row.measured_at, asked, scores)),
        }
    }
    Ok(now.map(|(at, asked, now)| Measured {
        at,
        asked,
        now,
        before,
    }))
}

/// The column's check admits no other length.
fn counts(column: &[i32]) -> [i32; CUTOFFS.len()] {
    column.try_into().unwrap_or_default()
}
