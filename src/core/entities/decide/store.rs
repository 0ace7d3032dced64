//! SQL of decisions about entities and of pairs that may be the same. Runs as the app role in the user's write transaction.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::{UserId, draw_id};
use crate::entities::model::{DecisionRecord, EntityId};
use crate::memories::mentions::EntityType;

pub async fn list_decisions(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    limit: i64,
) -> Result<Vec<DecisionRecord>, sqlx::Error> {
    sqlx::query_as!(
        DecisionRecord,
        r#"SELECT d.id, d.event, d.by_person, d.detail, d.at, d.undone_at, e.id AS "other_id?", e.name AS "other_name?"
           FROM entity_events d
           LEFT JOIN entities e ON e.user_id = $1
             AND e.id = coalesce(d.detail->>'from', d.detail->>'made', d.detail->>'other')::bigint
           WHERE d.user_id = $1 AND d.entity_id = $2 ORDER BY d.id DESC LIMIT $3"#,
        user.0,
        id.0,
        limit,
    )
    .fetch_all(conn)
    .await
}

pub async fn insert_decision(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    event: &str,
    by_person: bool,
    detail: &Value,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO entity_events (user_id, entity_id, event, by_person, detail, at) VALUES ($1, $2, $3, $4, $5, $6)",
        user.0,
        id.0,
        event,
        by_person,
        detail,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks the latest decision that is not undone as undone, if it is this one.
pub async fn take_back(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    decision: i64,
    now: OffsetDateTime,
) -> Result<Option<(String, Value)>, sqlx::Error> {
    let row = sqlx::query!(
        "UPDATE entity_events SET undone_at = $4
         WHERE user_id = $1 AND id = $3 AND undone_at IS NULL AND id = (
             SELECT max(id) FROM entity_events
             WHERE user_id = $1 AND entity_id = $2 AND undone_at IS NULL AND event <> 'withdrawn')
         RETURNING event, detail",
        user.0,
        id.0,
        decision,
        now,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| (row.event, row.detail)))
}

pub async fn set_name(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    name: &str,
    entity_type: EntityType,
    by_person: bool,
) -> Result<Option<(String, String, bool)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"WITH before AS (SELECT name, type, by_person FROM entities WHERE user_id = $1 AND id = $2 FOR UPDATE)
           UPDATE entities e SET name = $3, type = $4, by_person = $5, compared_at = NULL FROM before b
           WHERE e.user_id = $1 AND e.id = $2 RETURNING b.name AS "name!", b.type AS "type!", b.by_person AS "by_person!""#,
        user.0,
        id.0,
        name,
        entity_type.as_str(),
        by_person,
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| (row.name, row.r#type, row.by_person)))
}

/// Adds a name. Returns its row if it is new.
pub async fn add_name(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    name: &str,
    normal: &str,
    by_person: bool,
) -> Result<Option<i64>, sqlx::Error> {
    let drawn = draw_id(&mut *conn, "entity_names_id_seq").await?;
    sqlx::query_scalar!(
        "INSERT INTO entity_names (user_id, id, entity_id, name, normal, by_person) OVERRIDING SYSTEM VALUE
         SELECT $1, $6, $2, $3, $4, $5
         WHERE NOT EXISTS (SELECT 1 FROM entity_names WHERE user_id = $1 AND entity_id = $2 AND normal = $4) RETURNING id",
        user.0,
        id.0,
        name,
        normal,
        by_person,
        drawn,
    )
    .fetch_optional(conn)
    .await
}

pub async fn set_protected(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    protected: bool,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE entities SET protected = $3 WHERE user_id = $1 AND id = $2 AND protected <> $3 AND NOT is_user",
        user.0,
        id.0,
        protected,
    );
    Ok(done.execute(conn).await?.rows_affected() > 0)
}

/// Moves names with their mentions to another entity. Returns those that moved.
pub async fn move_names(
    conn: &mut PgConnection,
    user: UserId,
    names: &[i64],
    from: EntityId,
    into: EntityId,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "UPDATE entity_names SET entity_id = $4 WHERE user_id = $1 AND id = ANY ($2) AND entity_id = $3 RETURNING id",
        user.0,
        names,
        from.0,
        into.0,
    )
    .fetch_all(conn)
    .await
}

pub async fn list_name_ids(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT id FROM entity_names WHERE user_id = $1 AND entity_id = $2 ORDER BY id",
        user.0,
        id.0
    )
    .fetch_all(conn)
    .await
}

/// Sets which entity these were merged into; `None` undoes it.
pub async fn set_merged(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    into: Option<EntityId>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entities SET merged_into = $3 WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids,
        into.map(|id| id.0),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Entities that were merged into this one.
pub async fn list_merged(
    conn: &mut PgConnection,
    user: UserId,
    into: EntityId,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT id FROM entities WHERE user_id = $1 AND merged_into = $2 ORDER BY id",
        user.0,
        into.0
    )
    .fetch_all(conn)
    .await
}

pub async fn insert_pair(
    conn: &mut PgConnection,
    user: UserId,
    (one, other): (EntityId, EntityId),
    why: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO entity_pairs (user_id, one_id, other_id, why, found_at)
         VALUES ($1, least($2::bigint, $3::bigint), greatest($2::bigint, $3::bigint), $4, $5) ON CONFLICT DO NOTHING",
        user.0,
        one.0,
        other.0,
        why,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Undecided pairs, newest first, and their total number. That one name contains the other is not enough: both are named
/// together, or with the same third that is seldom named, or have the same relation. Of such pairs the newest 500 are looked at.
pub async fn list_pairs(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<(Vec<(i64, i64, String)>, i64), sqlx::Error> {
    let rows = sqlx::query!(
        r#"WITH newest AS (
               SELECT p.one_id, p.other_id, p.why, p.found_at,
                      row_number() OVER (PARTITION BY p.why = 'part' ORDER BY p.found_at DESC, p.one_id, p.other_id) AS nth
               FROM entity_pairs p
               JOIN entities a ON a.user_id = $1 AND a.id = p.one_id AND a.merged_into IS NULL
               JOIN entities b ON b.user_id = $1 AND b.id = p.other_id AND b.merged_into IS NULL
               WHERE p.user_id = $1 AND p.decided_at IS NULL)
           SELECT p.one_id, p.other_id, p.why, count(*) OVER () AS "total!" FROM newest p
           WHERE p.why <> 'part' OR p.nth <= 500 AND (EXISTS (
               -- Where the other is named, not as a part of the one: beside the one, or beside what is named beside the one.
               SELECT FROM (
                   SELECT m.source_id FROM entity_names n JOIN entity_mentions m ON m.user_id = $1 AND m.name_id = n.id
                   WHERE n.user_id = $1 AND n.entity_id = p.one_id ORDER BY m.source_id DESC LIMIT 50) s
               CROSS JOIN LATERAL (
                   SELECT s.source_id
                   UNION
                   SELECT t.source_id FROM entity_mentions m
                   JOIN entity_names n ON n.user_id = $1 AND n.id = m.name_id AND n.mentions <= 20
                       AND n.entity_id NOT IN (p.one_id, p.other_id)
                   JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id AND NOT e.is_user AND e.type <> 'date'
                   JOIN entity_mentions t ON t.user_id = $1 AND t.name_id = n.id
                   WHERE m.user_id = $1 AND m.source_id = s.source_id) t
               JOIN entity_mentions o ON o.user_id = $1 AND o.source_id = t.source_id
               JOIN entity_names x ON x.user_id = $1 AND x.id = o.name_id AND x.entity_id = p.other_id
               WHERE NOT EXISTS (
                   SELECT FROM entity_mentions w JOIN entity_names v ON v.user_id = $1 AND v.id = w.name_id
                   WHERE w.user_id = $1 AND w.source_id = o.source_id AND v.entity_id = p.one_id
                     AND w.start < o.start + o.length AND o.start < w.start + w.length))
              OR EXISTS (
               SELECT FROM entity_relations r JOIN entity_relations o ON o.user_id = $1 AND o.subject_id = p.other_id
                   AND o.predicate = r.predicate AND (o.object_id = r.object_id OR o.value = r.value)
               WHERE r.user_id = $1 AND r.subject_id = p.one_id)
              OR EXISTS (
               SELECT FROM entity_relations r JOIN entity_relations o ON o.user_id = $1 AND o.object_id = p.other_id
                   AND o.predicate = r.predicate AND o.subject_id = r.subject_id
               WHERE r.user_id = $1 AND r.object_id = p.one_id))
           ORDER BY p.found_at DESC, p.one_id, p.other_id LIMIT $2"#,
        user.0,
        limit,
    )
    .fetch_all(conn)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    let pairs = rows.into_iter().map(|row| (row.one_id, row.other_id, row.why));
    Ok((pairs.collect(), total))
}

/// Sets (`Some`) or clears the decision that two entities are different. Returns false if there is no such pair.
pub async fn decide_pair(
    conn: &mut PgConnection,
    user: UserId,
    (one, other): (EntityId, EntityId),
    at: Option<OffsetDateTime>,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE entity_pairs SET decided_at = $4
         WHERE user_id = $1 AND one_id = least($2::bigint, $3::bigint) AND other_id = greatest($2::bigint, $3::bigint)",
        user.0,
        one.0,
        other.0,
        at,
    );
    Ok(done.execute(conn).await?.rows_affected() > 0)
}

pub async fn drop_summary(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entities SET summary = NULL, summary_vector = NULL, summary_mentions = 0, summary_items = NULL
         WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The most mentioned of these names.
pub async fn find_best_name(
    conn: &mut PgConnection,
    user: UserId,
    names: &[i64],
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT name FROM entity_names WHERE user_id = $1 AND id = ANY ($2) ORDER BY mentions DESC, id LIMIT 1",
        user.0,
        names
    )
    .fetch_optional(conn)
    .await
}

/// Creates an entity without names; they are moved to it afterwards.
pub async fn insert_bare(
    conn: &mut PgConnection,
    user: UserId,
    name: &str,
    entity_type: EntityType,
    now: OffsetDateTime,
) -> Result<EntityId, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "INSERT INTO entities (user_id, name, type, compared_at, created_at) VALUES ($1, $2, $3, $4, $4) RETURNING id",
        user.0,
        name,
        entity_type.as_str(),
        now,
    );
    Ok(EntityId(id.fetch_one(conn).await?))
}

/// Deletes an entity made by a split, if it has no names or relations. Returns false if it has.
pub async fn delete_bare(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "DELETE FROM entities e WHERE e.user_id = $1 AND e.id = $2
           AND NOT EXISTS (SELECT FROM entity_names WHERE user_id = $1 AND entity_id = $2)
           AND NOT EXISTS (SELECT FROM entity_relations WHERE user_id = $1 AND (subject_id = $2 OR object_id = $2))",
        user.0,
        id.0,
    );
    Ok(done.execute(conn).await?.rows_affected() > 0)
}

pub async fn delete_unused_name(
    conn: &mut PgConnection,
    user: UserId,
    name: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM entity_names WHERE user_id = $1 AND id = $2 AND mentions = 0",
        user.0,
        name
    )
    .execute(conn)
    .await?;
    Ok(())
}
