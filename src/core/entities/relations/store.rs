//! SQL of relations. Runs as the app role in a transaction bound to its user; writes need the user's write transaction.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{
    EVIDENCE_MAX, ExistingRelation, RELATIONS_MAX, RelationTarget, StatedRelation, StoragePlan,
};
use crate::db::{UserId, draw_id};
use crate::entities::model::{EntityId, Relation, RelationEvidence, RelationObject};
use crate::entities::predicates::Predicate;
use crate::memories::mentions::EntityType;
use crate::memories::{ItemId, Period, Trust};

/// The owner of a relation stated by this item, or by the transaction's agent without one; `None`: shared.
pub async fn find_owner(
    conn: &mut PgConnection,
    user: UserId,
    item: Option<ItemId>,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT CASE WHEN $2::bigint IS NULL THEN new_owner()
                     ELSE (SELECT owner_agent_id FROM memory_items WHERE user_id = $1 AND id = $2) END",
        user.0,
        item.map(|item| item.0),
    )
    .fetch_one(conn)
    .await
}

/// Relations with this owner, subject and predicate that are not retired, by start. Needs the writer lock to be stable.
pub async fn list_standing(
    conn: &mut PgConnection,
    user: UserId,
    owner: Option<i64>,
    subject: EntityId,
    predicate: Predicate,
) -> Result<Vec<ExistingRelation>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, object_id, value, words, valid_from, valid_until, trust AS "trust: Trust", stated_at FROM entity_relations
         WHERE user_id = $1 AND subject_id = $2 AND predicate = $3 AND retired_at IS NULL
           AND owner_agent_id IS NOT DISTINCT FROM $4
         ORDER BY valid_from NULLS FIRST, id"#,
        user.0,
        subject.0,
        predicate.as_str(),
        owner,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| ExistingRelation {
        id: row.id,
        object: target(row.object_id, row.value),
        words: row.words,
        period: Period { from: row.valid_from, until: row.valid_until },
        trust: row.trust,
        stated_at: row.stated_at,
    });
    Ok(read.collect())
}

pub(super) fn target(object: Option<i64>, value: Option<String>) -> RelationTarget {
    match object {
        Some(id) => RelationTarget::Entity(EntityId(id)),
        None => RelationTarget::Value(value.unwrap_or_default()),
    }
}

fn columns(target: &RelationTarget) -> (Option<i64>, Option<&str>) {
    match target {
        RelationTarget::Entity(id) => (Some(id.0), None),
        RelationTarget::Value(value) => (None, Some(value)),
    }
}

pub(super) async fn insert_relation(
    conn: &mut PgConnection,
    user: UserId,
    owner: Option<i64>,
    stated: &StatedRelation,
    plan: &StoragePlan,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    let (object, value) = columns(&stated.object);
    sqlx::query_scalar!(
        "INSERT INTO entity_relations (user_id, subject_id, predicate, words, object_id, value, is_single, valid_from,
                                       valid_until, confidence, trust, stated_at, recorded_at, retired_at, retired_for, owner_agent_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
                 CASE WHEN $14::bigint IS NULL THEN NULL ELSE $13::timestamptz END, $14, $15) RETURNING id",
        user.0,
        stated.subject.0,
        stated.predicate.as_str(),
        stated.words,
        object,
        value,
        stated.predicate.is_single(),
        plan.period.from,
        plan.period.until,
        stated.confidence,
        stated.evidence.trust.as_str(),
        stated.evidence.at,
        now,
        plan.aside_for,
        owner,
    )
    .fetch_one(conn)
    .await
}

/// Updates a relation that was stated again: takes the higher confidence and trust.
pub async fn update_restated(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    period: Period,
    stated: &StatedRelation,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_relations
         SET valid_from = $3, valid_until = $4, confidence = greatest(confidence, $5), stated_at = greatest(stated_at, $7),
             trust = CASE WHEN array_position(ARRAY['external', 'tool', 'agent', 'user'], $6)
                             > array_position(ARRAY['external', 'tool', 'agent', 'user'], trust) THEN $6 ELSE trust END
         WHERE user_id = $1 AND id = $2",
        user.0,
        id,
        period.from,
        period.until,
        stated.confidence,
        stated.evidence.trust.as_str(),
        stated.evidence.at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn end(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_relations SET valid_until = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        id,
        at
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn begin(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_relations SET valid_from = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        id,
        at
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn retire(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_relations SET retired_at = $3 WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn link_retired(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    retired_for: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_relations SET retired_for = $3 WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids,
        retired_for
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds a source, unless it exists already or the limit is reached.
pub async fn add_evidence(
    conn: &mut PgConnection,
    user: UserId,
    relation: i64,
    evidence: &RelationEvidence,
) -> Result<(), sqlx::Error> {
    let drawn = draw_id(&mut *conn, "entity_relation_sources_id_seq").await?;
    sqlx::query_scalar!(
        "INSERT INTO entity_relation_sources (user_id, id, relation_id, source_id, session_id, position, sentence, trust, at)
             OVERRIDING SYSTEM VALUE
         SELECT $1, $10, $2, $3, $4, $5, $6, $7, $8
         WHERE NOT EXISTS (SELECT 1 FROM entity_relation_sources
                           WHERE user_id = $1 AND relation_id = $2 AND source_id IS NOT DISTINCT FROM $3
                             AND session_id IS NOT DISTINCT FROM $4 AND position IS NOT DISTINCT FROM $5)
           AND (SELECT count(*) FROM entity_relation_sources WHERE user_id = $1 AND relation_id = $2) < $9
         RETURNING id",
        user.0,
        relation,
        evidence.item.map(|id| id.0),
        evidence.session,
        evidence.position,
        evidence.sentence,
        evidence.trust.as_str(),
        evidence.at,
        EVIDENCE_MAX,
        drawn,
    )
    .fetch_optional(conn)
    .await?;
    Ok(())
}

/// The newest relations with one of these entities at either end, retired ones too if requested. With `as_of`, in their state
/// at that time.
pub async fn list_relations(
    conn: &mut PgConnection,
    user: UserId,
    of: &[i64],
    with_retired: bool,
    as_of: Option<OffsetDateTime>,
    limit: i64,
) -> Result<Vec<Relation>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT r.id, r.subject_id, CASE WHEN (SELECT sees_all_names()) THEN s.name ELSE seen_name(s.id, s.name) END AS "subject!",
                  s.type AS "subject_type: EntityType", r.predicate AS "predicate: Predicate", r.words, r.object_id,
                  CASE WHEN (SELECT sees_all_names()) THEN o.name ELSE seen_name(o.id, o.name) END AS "object?", o.type AS "object_type?: EntityType", r.value, r.valid_from,
                  CASE WHEN NOT ($5::timestamptz IS NOT NULL AND r.is_single AND EXISTS (
                      SELECT FROM entity_relations n
                      WHERE n.user_id = $1 AND n.subject_id = r.subject_id AND n.predicate = r.predicate AND n.valid_from = r.valid_until
                        AND n.recorded_at > $5 AND n.stated_at > $5)) THEN r.valid_until END AS valid_until,
                  r.confidence, r.trust AS "trust: Trust", r.stated_at, r.recorded_at,
                  CASE WHEN $5 IS NULL OR r.retired_at <= $5 THEN r.retired_at END AS retired_at, r.retired_for
           FROM entity_relations r
           JOIN entities s ON s.user_id = $1 AND s.id = r.subject_id
           LEFT JOIN entities o ON o.user_id = $1 AND o.id = r.object_id
           WHERE r.user_id = $1 AND (r.subject_id = ANY ($2) OR r.object_id = ANY ($2)) AND ($3 OR r.retired_at IS NULL)
             AND ($5::timestamptz IS NULL OR r.recorded_at <= $5
                  OR EXISTS (SELECT FROM entity_relation_sources e WHERE e.user_id = $1 AND e.relation_id = r.id AND e.at <= $5))
           ORDER BY r.retired_at IS NOT NULL, r.valid_until IS NOT NULL, coalesce(r.valid_from, r.stated_at) DESC, r.id DESC
           LIMIT $4"#,
        user.0,
        of,
        with_retired,
        limit,
        as_of,
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut relations: Vec<Relation> = rows
        .into_iter()
        .map(|row| Relation {
            id: row.id,
            subject: RelationObject::Entity {
                id: EntityId(row.subject_id),
                name: row.subject,
                entity_type: row.subject_type,
            },
            predicate: row.predicate,
            words: row.words,
            object: match (row.object_id, row.object, row.object_type) {
                (Some(id), Some(name), Some(entity_type)) => {
                    RelationObject::Entity { id: EntityId(id), name, entity_type }
                }
                _ => RelationObject::Value(row.value.unwrap_or_default()),
            },
            period: Period { from: row.valid_from, until: row.valid_until },
            confidence: row.confidence,
            trust: row.trust,
            stated_at: row.stated_at,
            recorded_at: row.recorded_at,
            retired_at: row.retired_at,
            retired_for: row.retired_for,
            evidence: Vec::new(),
        })
        .collect();
    add_evidence_of(conn, user, &mut relations, as_of).await?;
    Ok(relations)
}

/// What states a relation: an item, or else a message of a session.
pub(super) struct RelationSource {
    pub relation: i64,
    pub item: Option<i64>,
    pub session: Option<i64>,
    pub position: Option<i32>,
}

/// All sources of these relations, at most [`EVIDENCE_MAX`] each.
pub(super) async fn list_sources_of(
    conn: &mut PgConnection,
    user: UserId,
    relations: &[i64],
    as_of: Option<OffsetDateTime>,
) -> Result<Vec<RelationSource>, sqlx::Error> {
    sqlx::query_as!(
        RelationSource,
        r#"SELECT s.relation_id AS "relation!", s.source_id AS item, s.session_id AS session, s.position
           FROM unnest($2::bigint[]) AS r (id) CROSS JOIN LATERAL (
               SELECT * FROM entity_relation_sources s
               WHERE s.user_id = $1 AND s.relation_id = r.id AND ($4::timestamptz IS NULL OR s.at <= $4)
               ORDER BY s.id LIMIT $3) s"#,
        user.0,
        relations,
        EVIDENCE_MAX,
        as_of,
    )
    .fetch_all(conn)
    .await
}

async fn add_evidence_of(
    conn: &mut PgConnection,
    user: UserId,
    relations: &mut [Relation],
    as_of: Option<OffsetDateTime>,
) -> Result<(), sqlx::Error> {
    const SHOWN: i64 = 3;
    let ids: Vec<i64> = relations.iter().map(|r| r.id).collect();
    let rows = sqlx::query!(
        r#"SELECT s.relation_id AS "relation_id!", s.sentence, s.source_id, s.session_id, s.position, s.trust AS "trust!: Trust", s.at AS "at!"
           FROM unnest($2::bigint[]) AS r (id) CROSS JOIN LATERAL (
               SELECT * FROM entity_relation_sources WHERE user_id = $1 AND relation_id = r.id AND ($4::timestamptz IS NULL OR at <= $4)
               ORDER BY at DESC, id DESC LIMIT $3) s"#,
        user.0,
        &ids,
        SHOWN,
        as_of,
    )
    .fetch_all(conn)
    .await?;
    for row in rows {
        if let Some(relation) = relations.iter_mut().find(|r| r.id == row.relation_id) {
            relation.evidence.push(RelationEvidence {
                sentence: row.sentence,
                item: row.source_id.map(ItemId),
                session: row.session_id,
                position: row.position,
                trust: row.trust,
                at: row.at,
            });
        }
    }
    Ok(())
}

/// Number of relations that are not retired.
pub async fn count_relations(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM entity_relations WHERE user_id = $1 AND retired_at IS NULL"#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// Whether another one may be added.
pub async fn has_room(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) < $2 AS "room!" FROM (SELECT FROM entity_relations WHERE user_id = $1 LIMIT $2) r"#,
        user.0,
        RELATIONS_MAX,
    )
    .fetch_one(conn)
    .await
}
