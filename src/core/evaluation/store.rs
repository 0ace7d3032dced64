//! The statements of evaluation: texts to make questions of, and measurements, which are counts only. Every
//! function takes a connection that has set the user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{AskedCounts, Measurement, MeasurementTokens, SideScores, SpaceSide};
use super::questions::QuestionItem;
use super::score::CUTOFFS;
use crate::db::UserId;
use crate::embedding::model::SpaceId;
use crate::providers::ProviderType;

/// The scores of one space: rows by user and space, one per [`SpaceSide`].
pub struct ScoresRow<'a> {
    pub space: SpaceId,
    pub side: SpaceSide,
    pub scores: &'a SideScores,
}

/// A page of the newest items.
pub struct TextPage {
    /// The last item of the previous page: its creation time and id.
    pub after: Option<(OffsetDateTime, i64)>,
    pub limit: i64,
    /// Per text.
    pub chars_max: i32,
}

/// The newest active items that have an embedding in this space, without turns.
pub async fn list_texts(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    page: TextPage,
    now: OffsetDateTime,
) -> Result<Vec<QuestionItem>, sqlx::Error> {
    let (after_at, after_id) = page.after.unzip();
    sqlx::query_as!(
        QuestionItem,
        r#"SELECT i.id AS item_id, i.created_at, left(concat_ws(': ', i.key, i.content), $6) AS "content!" FROM memory_items i
           WHERE i.user_id = $1 AND i.theme_id IS NOT NULL AND is_live(i.status, i.live_until, $7)
             AND ($3::timestamptz IS NULL OR (i.created_at, i.id) < ($3, $4::bigint))
             AND EXISTS (SELECT FROM memory_embeddings e
                         WHERE e.user_id = $1 AND e.space_id = $2 AND e.source_id = i.id)
           ORDER BY i.created_at DESC, i.id DESC LIMIT $5"#,
        user.0,
        space.0,
        after_at,
        after_id,
        page.limit,
        page.chars_max,
        now,
    )
    .fetch_all(conn)
    .await
}

/// The items that questions would be made of.
pub struct Sample {
    pub items: i64,
    /// Average length of their beginnings.
    pub chars: i64,
}

/// Of the same items as [`list_texts`], up to a limit.
pub async fn sample(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    (items_max, chars_max): (i64, i32),
    now: OffsetDateTime,
) -> Result<Sample, sqlx::Error> {
    sqlx::query_as!(
        Sample,
        r#"SELECT count(*) AS "items!", coalesce(avg(length(left(content, $4))), 0)::bigint AS "chars!"
           FROM (SELECT concat_ws(': ', i.key, i.content) AS content FROM memory_items i
                 WHERE i.user_id = $1 AND i.theme_id IS NOT NULL AND is_live(i.status, i.live_until, $5)
                   AND EXISTS (SELECT FROM memory_embeddings e
                               WHERE e.user_id = $1 AND e.space_id = $2 AND e.source_id = i.id)
                 ORDER BY i.created_at DESC, i.id DESC LIMIT $3) i"#,
        user.0,
        space.0,
        items_max,
        chars_max,
        now,
    )
    .fetch_one(conn)
    .await
}

/// If the space was measured in the meantime, the first result stays.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    asked: AskedCounts,
    row: ScoresRow<'_>,
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

/// Deletes all but the latest `kept` measurements.
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

/// The latest measurement, with that of the previous space if there is one.
pub async fn find_latest(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<Measurement>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.side AS "side: SpaceSide", e.measured_at, e.provider_type AS "provider_type: ProviderType", e.model, e.items, e.questions, e.questions_by_model,
                e.found, e.found_by_meaning, r.embedding_tokens, r.chat_tokens
         FROM evaluations e
         LEFT JOIN evaluation_requests r ON r.user_id = e.user_id AND r.space_id = e.space_id
         WHERE e.user_id = $1 AND e.space_id = (
             SELECT space_id FROM evaluations WHERE user_id = $1 AND side = 'now' AND questions > 0
             ORDER BY measured_at DESC, space_id DESC LIMIT 1)"#,
        user.0,
    )
    .fetch_all(conn)
    .await?;
    let mut before = None;
    let mut tokens = MeasurementTokens::default();
    let mut now = None;
    for row in rows {
        let asked = AskedCounts {
            items: row.items,
            questions: row.questions,
            by_model: row.questions_by_model,
        };
        // Older rows have no tokens.
        tokens = MeasurementTokens {
            embedding: row.embedding_tokens.unwrap_or_default(),
            chat: row.chat_tokens.unwrap_or_default(),
        };
        let scores = SideScores {
            provider_type: row.provider_type,
            model: row.model,
            found: counts(&row.found),
            found_by_meaning: counts(&row.found_by_meaning),
        };
        match row.side {
            SpaceSide::Before => before = Some(scores),
            SpaceSide::Now => now = Some((row.measured_at, asked, scores)),
        }
    }
    Ok(now.map(|(at, asked, now)| Measurement { at, asked, now, before, tokens }))
}

/// The column's CHECK allows only this length.
fn counts(column: &[i32]) -> [i32; CUTOFFS.len()] {
    column.try_into().unwrap_or_default()
}
