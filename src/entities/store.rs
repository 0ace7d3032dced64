//! The statements of entities. They run as the app role in a transaction that knows its user;
//! those that write, in one of its writer.

use pgvector::HalfVector;
use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Alias, Decision, Entity, EntityId};
use super::{Filter, Sort};
use crate::db::UserId;
use crate::embedding::SpaceId;
use crate::memories::ItemId;
use crate::memories::mentions::EntityType;

struct EntityRow {
    id: i64,
    name: String,
    r#type: String,
    is_user: bool,
    protected: bool,
    summary: Option<String>,
    mentions: i64,
    first_seen: Option<OffsetDateTime>,
    last_seen: Option<OffsetDateTime>,
    relations: i64,
}

impl From<EntityRow> for Entity {
    fn from(row: EntityRow) -> Self {
        let has_mentions = row.mentions > 0;
        Self {
            id: EntityId(row.id),
            name: row.name,
            entity_type: EntityType::from_column(&row.r#type),
            is_user: row.is_user,
            is_protected: row.protected,
            summary: row.summary,
            mentions: row.mentions,
            first_seen: row.first_seen.filter(|_| has_mentions),
            last_seen: row.last_seen.filter(|_| has_mentions),
            relations: row.relations,
        }
    }
}

/// Entities that are not merged into others, as the filter says, and how many there are of it in all.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    filter: &Filter,
) -> Result<(Vec<Entity>, i64), sqlx::Error> {
    let types: Vec<String> = filter.types.iter().map(|t| t.as_str().to_owned()).collect();
    let rows = sqlx::query!(
        r#"WITH of_name AS (
               SELECT n.entity_id, sum(n.mentions)::bigint AS mentions, min(n.first_seen) FILTER (WHERE n.mentions > 0) AS first,
                      max(n.last_seen) FILTER (WHERE n.mentions > 0) AS last,
                      bool_or($3::text IS NULL OR n.normal LIKE $3 OR n.name ILIKE $4) AS matches
               FROM entity_names n WHERE n.user_id = $1 GROUP BY n.entity_id
           ), found AS (
               SELECT e.id, e.name, e.type, e.is_user, e.protected, e.summary, coalesce(n.mentions, 0) AS mentions,
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
           SELECT p.id AS "id!", p.name AS "name!", p.type AS "type!", p.is_user AS "is_user!", p.protected AS "protected!",
                  p.summary, p.mentions AS "mentions!", p.first, p.last, p.total AS "total!",
                  (SELECT count(*) FROM entity_relations r
                   WHERE r.user_id = $1 AND (r.subject_id = p.id OR r.object_id = p.id) AND r.retired_at IS NULL) AS "relations!"
           FROM page p"#,
        user.0,
        &types,
        filter.normal_pattern(),
        filter.name_pattern(),
        match filter.sort {
            Sort::Mentions => "mentions",
            Sort::Name => "name",
            Sort::LastSeen => "last",
        },
        filter.limit,
    )
    .fetch_all(conn)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    let entities = rows.into_iter().map(|row| {
        Entity::from(EntityRow {
            id: row.id,
            name: row.name,
            r#type: row.r#type,
            is_user: row.is_user,
            protected: row.protected,
            summary: row.summary,
            mentions: row.mentions,
            first_seen: row.first,
            last_seen: row.last,
            relations: row.relations,
        })
    });
    Ok((entities.collect(), total))
}

pub async fn count_by_type(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(EntityType, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT type, count(*) AS "n!" FROM entities WHERE user_id = $1 AND merged_into IS NULL
           GROUP BY type ORDER BY 2 DESC, 1"#,
        user.0
    );
    let rows = rows.fetch_all(conn).await?;
    let read = |row: &str, n| (EntityType::from_column(row), n);
    Ok(rows.iter().map(|row| read(&row.r#type, row.n)).collect())
}

/// The entity that this one is merged into, or itself.
pub async fn find_root(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
) -> Result<Option<EntityId>, sqlx::Error> {
    let root = sqlx::query_scalar!(
        r#"SELECT coalesce(merged_into, id) AS "id!" FROM entities WHERE user_id = $1 AND id = $2"#,
        user.0,
        id.0
    );
    Ok(root.fetch_optional(conn).await?.map(EntityId))
}

pub async fn list_of_ids(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<Vec<Entity>, sqlx::Error> {
    let rows = sqlx::query_as!(
        EntityRow,
        r#"SELECT e.id, e.name, e.type, e.is_user, e.protected, e.summary, coalesce(n.mentions, 0) AS "mentions!",
                  n.first AS first_seen, n.last AS last_seen,
                  (SELECT count(*) FROM entity_relations r
                   WHERE r.user_id = $1 AND (r.subject_id = e.id OR r.object_id = e.id) AND r.retired_at IS NULL) AS "relations!"
           FROM entities e
           LEFT JOIN LATERAL (SELECT sum(mentions)::bigint AS mentions, min(first_seen) FILTER (WHERE mentions > 0) AS first,
                                     max(last_seen) FILTER (WHERE mentions > 0) AS last
                              FROM entity_names WHERE user_id = $1 AND entity_id = e.id) n ON true
           WHERE e.user_id = $1 AND e.id = ANY ($2) ORDER BY e.id"#,
        user.0,
        ids,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Entity::from).collect())
}

/// Entities with one of these names, by their normal form; the most mentioned first.
pub async fn list_named(
    conn: &mut PgConnection,
    user: UserId,
    normals: &[String],
) -> Result<Vec<(EntityId, EntityType, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.id, e.type, n.normal FROM entity_names n JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id
           WHERE n.user_id = $1 AND n.normal = ANY ($2) ORDER BY n.mentions DESC, n.id"#,
        user.0,
        normals,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| {
        let entity_type = EntityType::from_column(&row.r#type);
        (EntityId(row.id), entity_type, row.normal)
    });
    Ok(read.collect())
}

pub async fn list_names(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    limit: i64,
) -> Result<Vec<Alias>, sqlx::Error> {
    sqlx::query_as!(
        Alias,
        "SELECT id, name, mentions FROM entity_names WHERE user_id = $1 AND entity_id = $2
         ORDER BY mentions DESC, id LIMIT $3",
        user.0,
        id.0,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Sources that name it, newest first; turns only where their user has them searched.
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

/// Entities that a source names, in the order of its text.
pub async fn list_of_source(
    conn: &mut PgConnection,
    user: UserId,
    source: ItemId,
) -> Result<Vec<(EntityId, String, EntityType)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.id, e.name, e.type, min(m.start) AS "start!" FROM entity_mentions m
           JOIN entity_names n ON n.user_id = $1 AND n.id = m.name_id
           JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id
           WHERE m.user_id = $1 AND m.source_id = $2 GROUP BY e.id, e.name, e.type ORDER BY 4, 1"#,
        user.0,
        source.0,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| {
        (
            EntityId(row.id),
            row.name,
            EntityType::from_column(&row.r#type),
        )
    });
    Ok(read.collect())
}

/// The entity of the user themself, made when first needed.
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

// What is decided.

pub async fn list_decisions(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    limit: i64,
) -> Result<Vec<Decision>, sqlx::Error> {
    sqlx::query_as!(
        Decision,
        "SELECT id, event, by_person, detail, at, undone_at FROM entity_events
         WHERE user_id = $1 AND entity_id = $2 ORDER BY id DESC LIMIT $3",
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

/// The latest decision about it that was not undone, if it is this one.
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
             SELECT max(id) FROM entity_events WHERE user_id = $1 AND entity_id = $2 AND undone_at IS NULL)
         RETURNING event, detail",
        user.0,
        id.0,
        decision,
        now,
    );
    Ok(row
        .fetch_optional(conn)
        .await?
        .map(|row| (row.event, row.detail)))
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

/// A name that a person gave. Returns its row where it is new.
pub async fn add_name(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    name: &str,
    normal: &str,
    by_person: bool,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "INSERT INTO entity_names (user_id, entity_id, name, normal, first_seen, last_seen, by_person)
         SELECT $1, $2, $3, $4, 'infinity', '-infinity', $5
         WHERE NOT EXISTS (SELECT FROM entity_names WHERE user_id = $1 AND entity_id = $2 AND normal = $4) RETURNING id",
        user.0,
        id.0,
        name,
        normal,
        by_person,
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

/// Names of one go to another, and with them what mentions it. Returns which did.
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

/// Whether two were merged, and into which: `None` takes it back.
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

/// Those that were merged into this one.
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

// Pairs.

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

/// Those that nobody has decided about, newest first; and how many there are.
pub async fn list_pairs(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<(Vec<(i64, i64, String)>, i64), sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT p.one_id, p.other_id, p.why, count(*) OVER () AS "total!" FROM entity_pairs p
           JOIN entities a ON a.user_id = $1 AND a.id = p.one_id AND a.merged_into IS NULL
           JOIN entities b ON b.user_id = $1 AND b.id = p.other_id AND b.merged_into IS NULL
           WHERE p.user_id = $1 AND p.decided_at IS NULL ORDER BY p.found_at DESC, p.one_id, p.other_id LIMIT $2"#,
        user.0,
        limit,
    )
    .fetch_all(conn)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    let pairs = rows
        .into_iter()
        .map(|row| (row.one_id, row.other_id, row.why));
    Ok((pairs.collect(), total))
}

/// They are two (`Some`), or nobody knows any more. False where there is no such pair.
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

pub async fn find_user(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<EntityId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "SELECT id FROM entities WHERE user_id = $1 AND is_user",
        user.0
    );
    Ok(id.fetch_optional(conn).await?.map(EntityId))
}

/// The entity of a name's row.
pub async fn find_of_name(
    conn: &mut PgConnection,
    user: UserId,
    name: i64,
) -> Result<Option<EntityId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "SELECT entity_id FROM entity_names WHERE user_id = $1 AND id = $2",
        user.0,
        name
    );
    Ok(id.fetch_optional(conn).await?.map(EntityId))
}

/// What rules could not tell, a model can; a person's word stays.
pub async fn learn_type(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    entity_type: EntityType,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entities SET type = $3, compared_at = NULL
         WHERE user_id = $1 AND id = $2 AND type = 'other' AND NOT by_person AND NOT is_user",
        user.0,
        id.0,
        entity_type.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whose summaries are nearest in this space, with their cosine distance.
pub async fn list_near(
    conn: &mut PgConnection,
    user: UserId,
    space: SpaceId,
    vector: &HalfVector,
    limit: i64,
) -> Result<Vec<(EntityId, f64)>, sqlx::Error> {
    // Its type is none that the macros know.
    let rows = sqlx::query_as(
        "SELECT id, summary_vector <=> $3 FROM entities
         WHERE user_id = $1 AND summary_space = $2 AND summary_vector IS NOT NULL AND merged_into IS NULL
           AND vector_dims(summary_vector) = vector_dims($3)
         ORDER BY 2, id LIMIT $4",
    );
    let rows: Vec<(i64, f64)> = rows
        .bind(user.0)
        .bind(space.0)
        .bind(vector)
        .bind(limit)
        .fetch_all(conn)
        .await?;
    Ok(rows
        .into_iter()
        .map(|(id, distance)| (EntityId(id), distance))
        .collect())
}

pub async fn drop_summary(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entities SET summary = NULL, summary_vector = NULL, summary_mentions = 0 WHERE user_id = $1 AND id = $2",
        user.0,
        id.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Of these names the one that is mentioned most.
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

/// Without a name's row yet, since its names come from another.
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

/// One that was made by a split and has nothing any more. False where it has.
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
