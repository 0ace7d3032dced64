//! SQL of the graph. Runs as the app role in a transaction bound to its user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{EdgeKind, GraphEdge};
use crate::db::UserId;
use crate::entities::model::EntityId;
use crate::entities::predicates::Predicate;
use crate::memories::Period;

struct EdgeRow {
    id: i64,
    subject_id: i64,
    object_id: i64,
    predicate: Predicate,
    words: Option<String>,
    valid_from: Option<OffsetDateTime>,
    valid_until: Option<OffsetDateTime>,
    item: Option<i64>,
}

impl From<EdgeRow> for GraphEdge {
    fn from(row: EdgeRow) -> Self {
        Self {
            from: EntityId(row.subject_id),
            to: EntityId(row.object_id),
            tie: EdgeKind::Relation {
                id: row.id,
                predicate: row.predicate,
                words: row.words,
                period: Period { from: row.valid_from, until: row.valid_until },
                item: row.item,
            },
        }
    }
}

/// Relations between entities that are not retired, newest first; with `as_of`, in their state at that time.
pub async fn list_edges(
    conn: &mut PgConnection,
    user: UserId,
    predicate: Option<Predicate>,
    as_of: Option<OffsetDateTime>,
    limit: i64,
) -> Result<Vec<GraphEdge>, sqlx::Error> {
    let rows = sqlx::query_as!(
        EdgeRow,
        r#"SELECT id, subject_id, object_id AS "object_id!", predicate AS "predicate: Predicate", words, valid_from,
                  CASE WHEN NOT ($4::timestamptz IS NOT NULL AND is_single AND EXISTS (
                      SELECT FROM entity_relations n
                      WHERE n.user_id = $1 AND n.subject_id = r.subject_id AND n.predicate = r.predicate AND n.valid_from = r.valid_until
                        AND n.recorded_at > $4 AND n.stated_at > $4)) THEN valid_until END AS valid_until,
                  (SELECT source_id FROM entity_relation_sources
                   WHERE user_id = $1 AND relation_id = r.id AND source_id IS NOT NULL AND ($4 IS NULL OR at <= $4) ORDER BY at DESC, id DESC LIMIT 1) AS item
           FROM entity_relations r
           WHERE user_id = $1 AND object_id IS NOT NULL AND (retired_at IS NULL OR retired_at > $4)
             AND ($4::timestamptz IS NULL OR recorded_at <= $4
                  OR EXISTS (SELECT FROM entity_relation_sources e WHERE e.user_id = $1 AND e.relation_id = r.id AND e.at <= $4))
             AND ($2::text IS NULL OR predicate = $2)
           ORDER BY id DESC LIMIT $3"#,
        user.0,
        predicate.map(Predicate::as_str),
        limit,
        as_of,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(GraphEdge::from).collect())
}

/// Like [`list_edges`], for relations with one of these entities at either end.
pub async fn list_edges_of(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    predicate: Option<Predicate>,
    as_of: Option<OffsetDateTime>,
    limit: i64,
) -> Result<Vec<GraphEdge>, sqlx::Error> {
    let rows = sqlx::query_as!(
        EdgeRow,
        r#"SELECT id, subject_id, object_id AS "object_id!", predicate AS "predicate: Predicate", words, valid_from,
                  CASE WHEN NOT ($5::timestamptz IS NOT NULL AND is_single AND EXISTS (
                      SELECT FROM entity_relations n
                      WHERE n.user_id = $1 AND n.subject_id = r.subject_id AND n.predicate = r.predicate AND n.valid_from = r.valid_until
                        AND n.recorded_at > $5 AND n.stated_at > $5)) THEN valid_until END AS valid_until,
                  (SELECT source_id FROM entity_relation_sources
                   WHERE user_id = $1 AND relation_id = r.id AND source_id IS NOT NULL AND ($5 IS NULL OR at <= $5) ORDER BY at DESC, id DESC LIMIT 1) AS item
           FROM entity_relations r
           WHERE user_id = $1 AND object_id IS NOT NULL AND (retired_at IS NULL OR retired_at > $5)
             AND ($5::timestamptz IS NULL OR recorded_at <= $5
                  OR EXISTS (SELECT FROM entity_relation_sources e WHERE e.user_id = $1 AND e.relation_id = r.id AND e.at <= $5))
             AND ($3::text IS NULL OR predicate = $3)
             AND (subject_id = ANY ($2) OR object_id = ANY ($2))
           ORDER BY id DESC LIMIT $4"#,
        user.0,
        ids,
        predicate.map(Predicate::as_str),
        limit,
        as_of,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(GraphEdge::from).collect())
}

/// Pairs of entities named in the same sources up to a time: among the most mentioned, or with one entity. Excludes dates
/// and addresses.
pub async fn list_mentioned_together(
    conn: &mut PgConnection,
    user: UserId,
    around: Option<EntityId>,
    at: OffsetDateTime,
    (of, least): (i64, i64),
) -> Result<Vec<GraphEdge>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"WITH chosen AS MATERIALIZED (
               SELECT n.entity_id AS id, sum(n.mentions) AS mentions
               FROM entity_names n JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id
               WHERE n.user_id = $1 AND e.type NOT IN ('date', 'email', 'url')
               GROUP BY n.entity_id ORDER BY n.entity_id = $2 DESC NULLS LAST, mentions DESC, n.entity_id LIMIT $4
           ), named AS MATERIALIZED (
               SELECT DISTINCT m.source_id, n.entity_id AS id
               FROM chosen c
               JOIN entity_names n ON n.user_id = $1 AND n.entity_id = c.id
               JOIN entity_mentions m ON m.user_id = $1 AND m.name_id = n.id
               JOIN memory_items i ON i.user_id = $1 AND i.id = m.source_id AND i.created_at <= $3
           )
           SELECT a.id AS "one!", b.id AS "other!", count(*) AS "sources!"
           FROM named a JOIN named b ON b.source_id = a.source_id AND b.id > a.id
           WHERE $2::bigint IS NULL OR a.id = $2 OR b.id = $2
           GROUP BY a.id, b.id HAVING count(*) >= $5 ORDER BY 3 DESC, 1, 2 LIMIT 1000"#,
        user.0,
        around.map(|id| id.0),
        at,
        of,
        least,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| GraphEdge {
        from: EntityId(row.one),
        to: EntityId(row.other),
        tie: EdgeKind::Together(row.sources),
    });
    Ok(read.collect())
}

pub async fn find_first_day(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<OffsetDateTime>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT least((SELECT min(coalesce(valid_from, stated_at)) FROM entity_relations WHERE user_id = $1),
                        (SELECT min(first_seen) FROM entity_names WHERE user_id = $1 AND mentions > 0)) AS first"#,
        user.0
    )
    .fetch_one(conn)
    .await
}
