//! The statements of the nightly enrichment, as the app role in a transaction that has set the user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::EnrichmentItem;
use crate::db::UserId;
use crate::embedding::{QueryVector, SpaceId};
use crate::memories::Trust;

/// Live items with few mentions that were not read yet, newest first; only the beginning of each.
pub async fn list_poor(
    conn: &mut PgConnection,
    user: UserId,
    (enough, chars_max, limit): (i64, i32, i64),
    now: OffsetDateTime,
) -> Result<Vec<EnrichmentItem>, sqlx::Error> {
    sqlx::query_as!(
        EnrichmentItem,
        r#"SELECT i.id, i.key, left(i.content, $4) AS "content!", i.trust AS "trust: Trust", i.created_at FROM memory_items i
           WHERE i.user_id = $1 AND is_live(i.status, i.live_until, $2)
             -- Of an episode in a model's words that has read the rest with it.
             AND (i.theme_id IS NOT NULL OR i.type = 'episode' AND NOT EXISTS (
                 SELECT FROM episodes e WHERE e.user_id = $1 AND e.source_id = i.id AND e.made_by = 'model'))
             AND NOT EXISTS (SELECT FROM entity_enriched e WHERE e.user_id = $1 AND e.source_id = i.id)
             AND (SELECT count(*) FROM entity_mentions m WHERE m.user_id = $1 AND m.source_id = i.id) < $3
           ORDER BY i.created_at DESC, i.id DESC LIMIT $5"#,
        user.0,
        now,
        enough,
        chars_max,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Which of these ids are still live and shared, so that what is written of them may be read by all agents.
pub async fn list_shared(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    now: OffsetDateTime,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT id FROM memory_items
         WHERE user_id = $1 AND id = ANY ($2) AND owner_agent_id IS NULL AND is_live(status, live_until, $3)",
        user.0,
        ids,
        now,
    )
    .fetch_all(conn)
    .await
}

/// Which of these ids still exist.
pub async fn list_existing(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT id FROM memory_items WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids
    )
    .fetch_all(conn)
    .await
}

pub async fn note_enriched(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO entity_enriched (user_id, source_id, at) SELECT $1, id, $3 FROM unnest($2::bigint[]) AS s (id)
         ON CONFLICT DO NOTHING",
        user.0,
        ids,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub struct EntityWithoutPortrait {
    pub id: i64,
    pub name: String,
    pub mentions: i64,
}

/// Entities that are mentioned often, with at least one shared mention: half as often again since their last portrait, or
/// something that this was written from holds no more.
pub async fn list_unportrayed(
    conn: &mut PgConnection,
    user: UserId,
    least: i64,
    limit: i64,
) -> Result<Vec<EntityWithoutPortrait>, sqlx::Error> {
    sqlx::query_as!(
        EntityWithoutPortrait,
        r#"SELECT e.id, e.name, n.mentions AS "mentions!" FROM entities e
           JOIN LATERAL (SELECT sum(mentions)::bigint AS mentions FROM entity_names
                         WHERE user_id = $1 AND entity_id = e.id) n ON true
           WHERE e.user_id = $1 AND e.merged_into IS NULL AND NOT e.is_user AND e.type NOT IN ('date', 'email', 'url')
             AND n.mentions >= $2
             AND (n.mentions * 2 >= e.summary_mentions * 3
                  AND (e.summary IS NULL OR e.summary_mentions < n.mentions)
                  AND (e.summary_at IS NULL OR e.summary_mentions < n.mentions)
                  OR EXISTS (SELECT FROM memory_items f
                             WHERE f.user_id = $1 AND f.id = ANY (e.summary_items) AND f.status = 'archived' AND f.live_until > e.summary_at)
                  OR EXISTS (SELECT FROM memory_items i LEFT JOIN episodes p ON p.user_id = $1 AND p.source_id = i.id
                             JOIN memory_items f ON f.user_id = $1 AND f.session_id = coalesce(i.turn_session_id, p.session_id)
                             WHERE i.user_id = $1 AND i.id = ANY (e.summary_items) AND f.status = 'archived' AND f.live_until > e.summary_at
                               AND (p.source_id IS NOT NULL OR f.message_id = i.turn_position)))
             AND EXISTS (SELECT FROM entity_names o JOIN entity_mentions m ON m.user_id = $1 AND m.name_id = o.id
                         JOIN memory_items i ON i.user_id = $1 AND i.id = m.source_id
                         WHERE o.user_id = $1 AND o.entity_id = e.id AND i.owner_agent_id IS NULL)
           ORDER BY n.mentions DESC, e.id LIMIT $3"#,
        user.0,
        least,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Live shared items that mention the entity, since every agent may read its portrait; turns last, then
/// newest first; only the beginning of each.
pub async fn list_of_entity(
    conn: &mut PgConnection,
    user: UserId,
    entity: i64,
    (chars_max, limit): (i32, i64),
    now: OffsetDateTime,
) -> Result<Vec<EnrichmentItem>, sqlx::Error> {
    sqlx::query_as!(
        EnrichmentItem,
        r#"SELECT i.id, i.key, left(i.content, $4) AS "content!", i.trust AS "trust: Trust", i.created_at FROM memory_items i
           WHERE i.user_id = $1 AND is_live(i.status, i.live_until, $3) AND i.owner_agent_id IS NULL AND i.id IN (
               SELECT m.source_id FROM entity_names n JOIN entity_mentions m ON m.user_id = $1 AND m.name_id = n.id
               WHERE n.user_id = $1 AND n.entity_id = $2)
           ORDER BY i.is_turn, i.created_at DESC, i.id DESC LIMIT $5"#,
        user.0,
        entity,
        now,
        chars_max,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Saves a portrait with its source items. `None`: no usable text was written; it is retried only when the
/// entity gets more mentions.
pub async fn set_summary(
    conn: &mut PgConnection,
    user: UserId,
    (of, items): (&EntityWithoutPortrait, &[i64]),
    summary: Option<&str>,
    vector: Option<&QueryVector>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    // sqlx's macros do not know the type `halfvec`.
    let query = sqlx::query(
        "UPDATE entities SET summary = $3, summary_at = $4, summary_mentions = $5, summary_vector = $6, summary_space = $7,
             summary_items = $8
         WHERE user_id = $1 AND id = $2 AND merged_into IS NULL",
    );
    let query = query.bind(user.0).bind(of.id).bind(summary).bind(now).bind(of.mentions);
    let query =
        query.bind(vector.map(|v| v.vector.half())).bind(vector.map(|v| v.space_id.0)).bind(items);
    query.execute(conn).await?;
    Ok(())
}

pub struct EntitySummary {
    pub id: i64,
    pub name: String,
    pub summary: String,
}

/// Entities whose summary has no vector in the serving space.
pub async fn list_of_other_spaces(
    conn: &mut PgConnection,
    user: UserId,
    serving: SpaceId,
    limit: i64,
) -> Result<Vec<EntitySummary>, sqlx::Error> {
    sqlx::query_as!(
        EntitySummary,
        r#"SELECT id, name, summary AS "summary!" FROM entities
           WHERE user_id = $1 AND summary IS NOT NULL AND merged_into IS NULL AND summary_space IS DISTINCT FROM $2
           ORDER BY id LIMIT $3"#,
        user.0,
        serving.0,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Only if the name and the summary are unchanged.
pub async fn set_vector(
    conn: &mut PgConnection,
    user: UserId,
    of: &EntitySummary,
    vector: &QueryVector,
) -> Result<(), sqlx::Error> {
    // sqlx's macros do not know the type `halfvec`.
    let query = sqlx::query(
        "UPDATE entities SET summary_vector = $5, summary_space = $6 WHERE user_id = $1 AND id = $2 AND name = $3 AND summary = $4",
    );
    let query = query.bind(user.0).bind(of.id).bind(&of.name).bind(&of.summary);
    let query = query.bind(vector.vector.half()).bind(vector.space_id.0);
    query.execute(conn).await?;
    Ok(())
}
