//! The statements that read entities and relations for an export and write imported names, as the app role in
//! a transaction that has set the user.

use sqlx::PgConnection;

use super::{EntityLine, RelationLine};
use crate::db::UserId;
use crate::export::lines::ExportBounds;

/// Entities that are not merged into others, ordered by id.
pub async fn list_entities(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<EntityLine>, sqlx::Error> {
    sqlx::query_as!(
        EntityLine,
        r#"SELECT e.id, e.name, e.type, e.is_user, e.protected, CASE WHEN $4::timestamptz IS NULL THEN e.summary END AS summary,
                  ARRAY(SELECT n.name FROM entity_names n WHERE n.user_id = $1 AND n.entity_id = e.id
                          AND ($4 IS NULL OR n.first_seen <= $4) ORDER BY n.id) AS "names!"
           FROM entities e WHERE e.user_id = $1 AND e.id > $2 AND e.merged_into IS NULL
             AND ($4 IS NULL OR e.created_at <= $4
                  OR EXISTS (SELECT FROM entity_names n WHERE n.user_id = $1 AND n.entity_id = e.id AND n.first_seen <= $4))
           ORDER BY e.id LIMIT $3"#,
        user.0,
        after,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}

/// Ordered by id, each with its sources.
pub async fn list_relations(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<RelationLine>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT r.id, r.subject_id, r.predicate, r.words, r.object_id, r.value, r.valid_from,
                  CASE WHEN NOT ($4::timestamptz IS NOT NULL AND r.is_single AND EXISTS (
                      SELECT FROM entity_relations n
                      WHERE n.user_id = $1 AND n.subject_id = r.subject_id AND n.predicate = r.predicate AND n.valid_from = r.valid_until
                        AND n.recorded_at > $4 AND n.stated_at > $4)) THEN r.valid_until END AS valid_until,
                  r.confidence, r.trust, r.stated_at, CASE WHEN $4 IS NULL OR r.retired_at <= $4 THEN r.retired_at END AS retired_at,
                  (SELECT a.name FROM agents a WHERE a.user_id = $1 AND a.id = r.owner_agent_id) AS owner,
                  (SELECT coalesce(jsonb_agg(jsonb_build_object('item', s.source_id, 'sentence', s.sentence, 'trust', s.trust,
                                                                'at', s.at) ORDER BY s.id), '[]')
                   FROM entity_relation_sources s WHERE s.user_id = $1 AND s.relation_id = r.id AND ($4 IS NULL OR s.at <= $4)) AS "sources!"
           FROM entity_relations r WHERE r.user_id = $1 AND r.id > $2
             AND ($4 IS NULL OR r.recorded_at <= $4
                  OR EXISTS (SELECT FROM entity_relation_sources e WHERE e.user_id = $1 AND e.relation_id = r.id AND e.at <= $4))
           ORDER BY r.id LIMIT $3"#,
        user.0,
        after,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| RelationLine {
        id: row.id,
        subject: row.subject_id,
        predicate: row.predicate,
        words: row.words,
        object: row.object_id,
        value: row.value,
        valid_from: row.valid_from,
        valid_until: row.valid_until,
        confidence: row.confidence,
        trust: row.trust,
        stated_at: row.stated_at,
        owner: row.owner,
        retired_at: row.retired_at,
        sources: serde_json::from_value(row.sources).unwrap_or_default(),
    });
    Ok(read.collect())
}
