//! SQL of entities. Runs as the app role in a transaction bound to its user; writes need the user's write transaction.

use pgvector::HalfVector;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Alias, Entity, EntityId};
use super::{EntityFilter, EntityOrder};
use crate::db::UserId;
use crate::embedding::SpaceId;
use crate::memories::ItemId;
use crate::memories::mentions::EntityType;

/// Entities that match the filter and are not merged into another, and their total number.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    filter: &EntityFilter,
) -> Result<(Vec<Entity>, i64), sqlx::Error> {
    let types: Vec<String> = filter.types.iter().map(|t| t.as_str().to_owned()).collect();
    let rows = sqlx::query!(
        r#"WITH of_name AS (
               SELECT n.entity_id, sum(n.mentions)::bigint AS mentions, min(n.first_seen) FILTER (WHERE n.mentions > 0) AS first,
                      max(n.last_seen) FILTER (WHERE n.mentions > 0) AS last,
                      bool_or($3::text IS NULL OR n.normal LIKE $3 OR n.name ILIKE $4) AS matches
               FROM entity_names n WHERE n.user_id = $1 GROUP BY n.entity_id
           ), found AS (
               SELECT e.id, e.name, e.type, e.is_user, e.protected, CASE WHEN sees_shared() THEN e.summary END AS summary, coalesce(n.mentions, 0) AS mentions,
                      n.first, n.last
               FROM entities e LEFT JOIN of_name n ON n.entity_id = e.id
               WHERE e.user_id = $1 AND e.merged_into IS NULL
                 AND ($2::text[] = '{}' OR e.type = ANY ($2))
                 AND ($3::text IS NULL OR coalesce(n.matches, false) OR e.name ILIKE $4)
           ), page AS (
               SELECT *, count(*) OVER () AS total FROM found
               ORDER BY CASE WHEN $5 = 'name' THEN lower(name) END,
                        CASE WHEN $5 = 'last' THEN last END DESC NULLS LAST,
                        is_user DESC, mentions DESC, id LIMIT $6
           )
           SELECT p.id AS "id!", CASE WHEN (SELECT sees_all_names()) THEN p.name ELSE seen_name(p.id, p.name) END AS "name!", p.type AS "type!: EntityType", p.is_user AS "is_user!", p.protected AS "protected!",
                  p.summary, p.mentions AS "mentions!", p.first, p.last, p.total AS "total!",
                  (SELECT count(*) FROM entity_relations r
                   WHERE r.user_id = $1 AND (r.subject_id = p.id OR r.object_id = p.id) AND r.retired_at IS NULL) AS "relations!"
           FROM page p"#,
        user.0,
        &types,
        filter.normal_pattern(),
        filter.name_pattern(),
        match filter.sort {
            EntityOrder::Mentions => "mentions",
            EntityOrder::Name => "name",
            EntityOrder::LastSeen => "last",
        },
        filter.limit,
    )
    .fetch_all(conn)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    let entities = rows.into_iter().map(|row| Entity {
        id: EntityId(row.id),
        name: row.name,
        entity_type: row.r#type,
        is_user: row.is_user,
        is_protected: row.protected,
        summary: row.summary,
        mentions: row.mentions,
        first_seen: row.first,
        last_seen: row.last,
        relations: row.relations,
    });
    Ok((entities.collect(), total))
}

pub async fn count_by_type(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(EntityType, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT type AS "type: EntityType", count(*) AS "n!" FROM entities WHERE user_id = $1 AND merged_into IS NULL
           GROUP BY type ORDER BY 2 DESC, 1"#,
        user.0
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| (row.r#type, row.n)).collect())
}

/// The entity that this one was merged into, or itself.
pub async fn find_root(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
) -> Result<Option<EntityId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT coalesce(merged_into, id) AS "id!: EntityId" FROM entities WHERE user_id = $1 AND id = $2"#,
        user.0,
        id.0
    )
    .fetch_optional(conn)
    .await
}

pub async fn list_of_ids(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<Vec<Entity>, sqlx::Error> {
    sqlx::query_as!(
        Entity,
        r#"SELECT e.id AS "id: EntityId", CASE WHEN (SELECT sees_all_names()) THEN e.name ELSE seen_name(e.id, e.name) END AS "name!", e.type AS "entity_type: EntityType", e.is_user, e.protected AS is_protected, CASE WHEN sees_shared() THEN e.summary END AS summary, coalesce(s.mentions, n.mentions, 0) AS "mentions!",
                  CASE WHEN s.mentions IS NULL THEN n.first ELSE s.first END AS first_seen,
                  CASE WHEN s.mentions IS NULL THEN n.last ELSE s.last END AS last_seen,
                  (SELECT count(*) FROM entity_relations r
                   WHERE r.user_id = $1 AND (r.subject_id = e.id OR r.object_id = e.id) AND r.retired_at IS NULL) AS "relations!"
           FROM entities e
           LEFT JOIN LATERAL (SELECT sum(mentions)::bigint AS mentions, min(first_seen) FILTER (WHERE mentions > 0) AS first,
                                     max(last_seen) FILTER (WHERE mentions > 0) AS last
                              FROM entity_names WHERE user_id = $1 AND entity_id = e.id) n ON true
           -- An agent that does not see all counts what it sees.
           LEFT JOIN LATERAL (
               SELECT count(*) AS mentions, min(i.created_at) AS first, max(i.created_at) AS last
               FROM memory_items i
               WHERE i.user_id = $1 AND i.id IN (
                   SELECT m.source_id FROM entity_names o JOIN entity_mentions m ON m.user_id = $1 AND m.name_id = o.id
                   WHERE o.user_id = $1 AND o.entity_id = e.id)) s ON NOT (SELECT sees_all_names())
           WHERE e.user_id = $1 AND e.id = ANY ($2) ORDER BY e.id"#,
        user.0,
        ids,
    )
    .fetch_all(conn)
    .await
}

/// Entities with one of these normalized names, most mentioned first, and whether a person has set their name or type.
pub async fn list_named(
    conn: &mut PgConnection,
    user: UserId,
    normals: &[String],
) -> Result<Vec<(EntityId, EntityType, bool)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.id, e.type AS "type: EntityType", e.by_person FROM entity_names n JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id
           WHERE n.user_id = $1 AND n.normal = ANY ($2) ORDER BY n.mentions DESC, n.id"#,
        user.0,
        normals,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| (EntityId(row.id), row.r#type, row.by_person));
    Ok(read.collect())
}

pub async fn list_names(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    seen_by: Option<OffsetDateTime>,
    limit: i64,
) -> Result<Vec<Alias>, sqlx::Error> {
    sqlx::query_as!(
        Alias,
        "SELECT id, name, mentions FROM entity_names WHERE user_id = $1 AND entity_id = $2
           AND ($4::timestamptz IS NULL OR first_seen <= $4)
         ORDER BY mentions DESC, id LIMIT $3",
        user.0,
        id.0,
        limit,
        seen_by,
    )
    .fetch_all(conn)
    .await
}

/// What its portrait was written from.
pub async fn list_portrait_sources(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
) -> Result<Vec<i64>, sqlx::Error> {
    let found = sqlx::query_scalar!(
        "SELECT summary_items FROM entities WHERE user_id = $1 AND id = $2",
        user.0,
        id.0,
    );
    Ok(found.fetch_optional(conn).await?.flatten().unwrap_or_default())
}

/// Sources that name the entity, turns last, newest first; turns only if the user searches them.
pub async fn list_sources(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    limit: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT i.id FROM memory_items i
         WHERE i.user_id = $1 AND i.id IN (
             SELECT m.source_id FROM entity_names n JOIN entity_mentions m ON m.user_id = $1 AND m.name_id = n.id
             WHERE n.user_id = $1 AND n.entity_id = $2)
           AND (NOT i.is_turn OR (SELECT turns_searched FROM users u WHERE u.id = $1))
         ORDER BY i.is_turn, i.created_at DESC, i.id DESC LIMIT $3",
        user.0,
        id.0,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// The entities that a source names, in text order.
pub async fn list_of_source(
    conn: &mut PgConnection,
    user: UserId,
    source: ItemId,
) -> Result<Vec<(EntityId, String, EntityType)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.id, CASE WHEN (SELECT sees_all_names()) THEN e.name ELSE seen_name(e.id, e.name) END AS "name!", e.type AS "type: EntityType",
                  min(m.start) AS "start!" FROM entity_mentions m
           JOIN entity_names n ON n.user_id = $1 AND n.id = m.name_id
           JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id
           WHERE m.user_id = $1 AND m.source_id = $2 GROUP BY e.id, e.name, e.type ORDER BY 4, 1"#,
        user.0,
        source.0,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| (EntityId(row.id), row.name, row.r#type));
    Ok(read.collect())
}

/// The entity of the user, created if needed.
pub async fn ensure_user(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<EntityId, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "INSERT INTO entities (user_id, name, type, is_user, protected, compared_at, created_at)
         VALUES ($1, 'You', 'person', true, true, $2, $2)
         ON CONFLICT (user_id) WHERE is_user DO UPDATE SET is_user = true RETURNING id",
        user.0,
        now,
    );
    Ok(EntityId(id.fetch_one(conn).await?))
}

pub async fn find_user(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<EntityId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT id AS "id: EntityId" FROM entities WHERE user_id = $1 AND is_user"#,
        user.0
    )
    .fetch_optional(conn)
    .await
}

/// The entity of a name row.
pub async fn find_of_name(
    conn: &mut PgConnection,
    user: UserId,
    name: i64,
) -> Result<Option<EntityId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT entity_id AS "entity_id: EntityId" FROM entity_names WHERE user_id = $1 AND id = $2"#,
        user.0,
        name
    )
    .fetch_optional(conn)
    .await
}

/// Sets a type that the rules could not determine, unless a user has set it. Returns false if nothing changed.
pub async fn learn_type(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    entity_type: EntityType,
) -> Result<bool, sqlx::Error> {
    let learnt = sqlx::query!(
        "UPDATE entities SET type = $3, compared_at = NULL
         WHERE user_id = $1 AND id = $2 AND type = 'other' AND NOT by_person AND NOT is_user",
        user.0,
        id.0,
        entity_type.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(learnt.rows_affected() == 1)
}

/// Entities with the nearest summaries in this space, with cosine distances.
pub async fn list_near(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    vector: &HalfVector,
    limit: i64,
) -> Result<Vec<(EntityId, f64)>, sqlx::Error> {
    // Not `query!`: the macro does not support the vector type.
    let rows = sqlx::query_as(
        "SELECT id, summary_vector <=> $3 FROM entities
         WHERE user_id = $1 AND summary_space = $2 AND summary_vector IS NOT NULL AND merged_into IS NULL
           AND vector_dims(summary_vector) = vector_dims($3)
         ORDER BY 2, id LIMIT $4",
    );
    let rows: Vec<(i64, f64)> =
        rows.bind(user.0).bind(space.0).bind(vector).bind(limit).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(id, distance)| (EntityId(id), distance)).collect())
}
