//! SQL of the relations of merged entities. Runs as the app role in the user's write transaction.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::super::store::target;
use super::super::{EVIDENCE_MAX, StatedRelation};
use crate::db::{UserId, draw_ids};
use crate::entities::model::{EntityId, RelationEvidence};
use crate::entities::predicates::Predicate;
use crate::memories::{Period, Trust};

/// A relation's row, stored to undo a merge.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RelationRow {
    pub id: i64,
    pub subject_id: i64,
    pub object_id: Option<i64>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub valid_from: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub valid_until: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub retired_at: Option<OffsetDateTime>,
    pub retired_for: Option<i64>,
    /// `None` in a merge by an older version, which did not change it; the same of the next two.
    #[serde(default)]
    pub confidence: Option<i16>,
    #[serde(default)]
    pub trust: Option<String>,
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub stated_at: Option<OffsetDateTime>,
}

/// All relations with one of these entities at either end, retired ones too.
pub async fn list_rows(
    conn: &mut PgConnection,
    user: UserId,
    of: &[i64],
) -> Result<Vec<RelationRow>, sqlx::Error> {
    sqlx::query_as!(
        RelationRow,
        "SELECT id, subject_id, object_id, valid_from, valid_until, retired_at, retired_for, confidence, trust, stated_at
         FROM entity_relations WHERE user_id = $1 AND (subject_id = ANY ($2) OR object_id = ANY ($2)) ORDER BY id",
        user.0,
        of,
    )
    .fetch_all(conn)
    .await
}

/// Those of these values that would meet a relation that stands and is none of these: of the same subject and predicate at
/// the same time, if it has one value at a time; of the same object otherwise.
pub async fn list_meeting(
    conn: &mut PgConnection,
    user: UserId,
    rows: &[RelationRow],
) -> Result<Vec<i64>, sqlx::Error> {
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    sqlx::query_scalar!(
        r#"SELECT r.id FROM json_to_recordset($2::text::json) AS b (
               id bigint, subject_id bigint, object_id bigint, valid_from timestamptz, valid_until timestamptz, retired_at timestamptz)
           JOIN entity_relations r ON r.user_id = $1 AND r.id = b.id
           WHERE b.retired_at IS NULL AND EXISTS (
               SELECT 1 FROM entity_relations o
               WHERE o.user_id = $1 AND o.subject_id = b.subject_id AND o.predicate = r.predicate AND o.retired_at IS NULL
                 AND o.owner_agent_id IS NOT DISTINCT FROM r.owner_agent_id AND o.id <> ALL ($3)
                 AND tstzrange(o.valid_from, o.valid_until) && tstzrange(b.valid_from, b.valid_until)
                 AND (r.is_single OR o.object_id IS NOT DISTINCT FROM b.object_id AND o.value IS NOT DISTINCT FROM r.value
                                     AND o.words IS NOT DISTINCT FROM r.words))"#,
        user.0,
        serde_json::to_string(rows).map_err(|e| sqlx::Error::Encode(e.into()))?,
        &ids,
    )
    .fetch_all(conn)
    .await
}

pub async fn set_row(
    conn: &mut PgConnection,
    user: UserId,
    row: &RelationRow,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_relations SET subject_id = $3, object_id = $4, valid_from = $5, valid_until = $6,
                retired_at = $7, retired_for = $8, confidence = $9, trust = $10, stated_at = $11
         WHERE user_id = $1 AND id = $2",
        user.0,
        row.id,
        row.subject_id,
        row.object_id,
        row.valid_from,
        row.valid_until,
        row.retired_at,
        row.retired_for,
        row.confidence,
        row.trust,
        row.stated_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Replaces one entity by another in all relations; current ones must be retired before.
pub async fn move_ends(
    conn: &mut PgConnection,
    user: UserId,
    from: EntityId,
    into: EntityId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_relations
         SET subject_id = CASE WHEN subject_id = $2 THEN $3 ELSE subject_id END,
             object_id = CASE WHEN object_id = $2 THEN $3 ELSE object_id END
         WHERE user_id = $1 AND (subject_id = $2 OR object_id = $2)",
        user.0,
        from.0,
        into.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A relation as it would be stated by its strongest source, and its owner.
pub async fn find_stated(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
) -> Result<Option<(Option<i64>, StatedRelation)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT owner_agent_id, subject_id, predicate AS "predicate: Predicate", object_id, value, words, valid_from, valid_until, confidence, trust AS "trust: Trust", stated_at
         FROM entity_relations WHERE user_id = $1 AND id = $2"#,
        user.0,
        id,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let stated = StatedRelation {
            subject: EntityId(row.subject_id),
            predicate: row.predicate,
            words: row.words,
            object: target(row.object_id, row.value),
            period: Period { from: row.valid_from, until: row.valid_until },
            confidence: row.confidence,
            evidence: RelationEvidence {
                sentence: None,
                item: None,
                session: None,
                position: None,
                trust: row.trust,
                at: row.stated_at,
            },
        };
        (row.owner_agent_id, stated)
    }))
}

/// Restores a retired relation with this period.
pub async fn restore_relation(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    period: Period,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_relations SET retired_at = NULL, retired_for = NULL, valid_from = $3, valid_until = $4
         WHERE user_id = $1 AND id = $2",
        user.0,
        id,
        period.from,
        period.until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives the sources of one relation to another that lacks them, oldest first, up to its limit. Returns the new rows.
pub async fn copy_evidence(
    conn: &mut PgConnection,
    user: UserId,
    from: i64,
    into: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    let drawn = draw_ids(&mut *conn, "entity_relation_sources_id_seq", EVIDENCE_MAX).await?;
    sqlx::query_scalar!(
        "INSERT INTO entity_relation_sources (user_id, id, relation_id, source_id, session_id, position, sentence, trust, at)
             OVERRIDING SYSTEM VALUE
         SELECT $1, ($4::bigint[])[f.n::integer], $3, f.source_id, f.session_id, f.position, f.sentence, f.trust, f.at
         FROM (SELECT s.*, row_number() OVER (ORDER BY s.id) AS n FROM entity_relation_sources s
               WHERE s.user_id = $1 AND s.relation_id = $2 AND NOT EXISTS (
                   SELECT 1 FROM entity_relation_sources o
                   WHERE o.user_id = $1 AND o.relation_id = $3 AND o.source_id IS NOT DISTINCT FROM s.source_id
                     AND o.session_id IS NOT DISTINCT FROM s.session_id AND o.position IS NOT DISTINCT FROM s.position)) f
         WHERE f.n <= $5 - (SELECT count(*) FROM entity_relation_sources WHERE user_id = $1 AND relation_id = $3)
         RETURNING id",
        user.0,
        from,
        into,
        &drawn,
        EVIDENCE_MAX,
    )
    .fetch_all(conn)
    .await
}

/// Removes sources, and the relations that have no other.
pub async fn remove_evidence(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<(), sqlx::Error> {
    let relations = sqlx::query_scalar!(
        "DELETE FROM entity_relation_sources WHERE user_id = $1 AND id = ANY ($2) RETURNING relation_id",
        user.0,
        ids,
    )
    .fetch_all(&mut *conn)
    .await?;
    sqlx::query!(
        "DELETE FROM entity_relations r WHERE r.user_id = $1 AND r.id = ANY ($2)
           AND NOT EXISTS (SELECT FROM entity_relation_sources s WHERE s.user_id = $1 AND s.relation_id = r.id)",
        user.0,
        &relations,
    )
    .execute(conn)
    .await?;
    Ok(())
}
