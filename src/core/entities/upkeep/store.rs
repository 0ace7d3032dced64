//! SQL of the upkeep. Runs as the app role in a transaction bound to its user, unless stated otherwise.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::entities::model::EntityId;
use crate::memories::mentions::EntityType;

/// Runs as the system role.
pub async fn list_users_due(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id!: UserId" FROM entity_names WHERE filled_at IS NULL OR is_unchecked
           UNION SELECT user_id FROM entities WHERE compared_at IS NULL"#
    )
    .fetch_all(conn)
    .await
}

pub struct UnsearchedName {
    pub id: i64,
    pub name: String,
}

pub async fn list_unfilled(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<UnsearchedName>, sqlx::Error> {
    sqlx::query_as!(
        UnsearchedName,
        "SELECT id, name FROM entity_names WHERE user_id = $1 AND filled_at IS NULL ORDER BY id LIMIT $2",
        user.0,
        limit,
    )
    .fetch_all(conn)
    .await
}

pub struct SourceText {
    pub id: i64,
    pub created_at: OffsetDateTime,
    pub content: String,
}

pub async fn list_texts(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<Vec<SourceText>, sqlx::Error> {
    sqlx::query_as!(
        SourceText,
        "SELECT id, created_at, content FROM memory_items WHERE user_id = $1 AND id = ANY ($2) ORDER BY id",
        user.0,
        ids,
    )
    .fetch_all(conn)
    .await
}

pub async fn note_filled(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_names SET filled_at = $3 WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn list_uncompared(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT id FROM entities WHERE user_id = $1 AND compared_at IS NULL ORDER BY id LIMIT $2",
        user.0,
        limit
    )
    .fetch_all(conn)
    .await
}

/// A name with its entity's data.
pub struct NameWithEntity {
    pub entity_id: i64,
    pub name: String,
    pub entity_type: EntityType,
    /// The user has set its type or protected it.
    pub is_settled: bool,
    /// Entities that it has a pair with, decided or not: these are not compared again.
    pub apart: Vec<i64>,
}

impl NameWithEntity {
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.apart.contains(&other.entity_id) || other.apart.contains(&self.entity_id)
    }
}

pub async fn list_all_names(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<NameWithEntity>, sqlx::Error> {
    sqlx::query_as!(
        NameWithEntity,
        r#"SELECT n.entity_id, n.name, e.type AS "entity_type: EntityType", (e.protected OR e.by_person) AS "is_settled!",
                  ARRAY(SELECT CASE WHEN p.one_id = e.id THEN p.other_id ELSE p.one_id END FROM entity_pairs p
                        WHERE p.user_id = $1 AND (p.one_id = e.id OR p.other_id = e.id)) AS "apart!"
           FROM entity_names n JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id
           WHERE n.user_id = $1 AND e.type NOT IN ('date', 'email', 'url') ORDER BY n.entity_id, n.id"#,
        user.0
    )
    .fetch_all(conn)
    .await
}

pub async fn note_compared(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entities SET compared_at = $3 WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A name that today's rules have not checked yet.
pub struct UncheckedName {
    pub id: i64,
    pub normal: String,
    /// By a person, the chat model, a relation or an import; or it is named too often to be read, or rules are switched off.
    pub is_confirmed: bool,
}

pub async fn list_unchecked(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
    mentions_max: i64,
) -> Result<Vec<UncheckedName>, sqlx::Error> {
    sqlx::query_as!(
        UncheckedName,
        r#"SELECT n.id, n.normal,
                  (n.by_person OR e.by_person OR e.protected OR e.is_user OR n.mentions = 0 OR n.mentions > $3
                   OR EXISTS (SELECT FROM entity_settings s WHERE s.user_id = $1 AND NOT s.by_rules)
                   OR EXISTS (SELECT FROM entity_mentions m WHERE m.user_id = $1 AND m.name_id = n.id AND m.found_by = 'model')
                   OR EXISTS (SELECT FROM entity_relations r WHERE r.user_id = $1
                              AND (r.subject_id = n.entity_id OR r.object_id = n.entity_id))
                   OR EXISTS (SELECT FROM entity_events v WHERE v.user_id = $1 AND v.entity_id = n.entity_id AND v.by_person)
                  ) AS "is_confirmed!"
           FROM entity_names n JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id
           WHERE n.user_id = $1 AND n.is_unchecked ORDER BY n.id LIMIT $2"#,
        user.0,
        limit,
        mentions_max,
    )
    .fetch_all(conn)
    .await
}

/// Of each name, the newest sources in which rules have found it.
pub async fn list_sources_of(
    conn: &mut PgConnection,
    user: UserId,
    names: &[i64],
    limit: i64,
) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT m.name_id AS "name_id!", m.source_id AS "source_id!" FROM unnest($2::bigint[]) AS n (id)
           CROSS JOIN LATERAL (
               SELECT name_id, source_id FROM entity_mentions
               WHERE user_id = $1 AND name_id = n.id AND found_by = 'rules' ORDER BY source_id DESC LIMIT $3) m"#,
        user.0,
        names,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.name_id, row.source_id)).collect())
}

/// Deletes names with their mentions. Returns their entities.
pub async fn delete_names(
    conn: &mut PgConnection,
    user: UserId,
    names: &[i64],
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "DELETE FROM entity_names WHERE user_id = $1 AND id = ANY ($2) RETURNING entity_id",
        user.0,
        names
    )
    .fetch_all(conn)
    .await
}

/// Deletes those of these entities that have no name and no relation; the others are called by a name that they have.
pub async fn settle(
    conn: &mut PgConnection,
    user: UserId,
    entities: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "DELETE FROM entities e WHERE e.user_id = $1 AND e.id = ANY ($2) AND NOT e.protected AND NOT e.is_user
           AND NOT EXISTS (SELECT FROM entity_names n WHERE n.user_id = $1 AND n.entity_id = e.id)
           AND NOT EXISTS (SELECT FROM entity_relations r WHERE r.user_id = $1 AND (r.subject_id = e.id OR r.object_id = e.id))",
        user.0,
        entities,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "UPDATE entities e
         SET name = n.name, summary = NULL, summary_vector = NULL, summary_mentions = 0, summary_items = NULL
         FROM (SELECT DISTINCT ON (entity_id) entity_id, name FROM entity_names
               WHERE user_id = $1 AND entity_id = ANY ($2) ORDER BY entity_id, mentions DESC, id) n
         WHERE e.user_id = $1 AND e.id = n.entity_id AND NOT e.is_user
           AND NOT EXISTS (SELECT FROM entity_names x WHERE x.user_id = $1 AND x.entity_id = e.id AND x.name = e.name)",
        user.0,
        entities,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds to the history of the user's own entity how many names were withdrawn: one line a day.
pub async fn note_withdrawn(
    conn: &mut PgConnection,
    user: UserId,
    you: EntityId,
    names: usize,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let names = i64::try_from(names).unwrap_or(i64::MAX);
    let known = sqlx::query!(
        // By texts, since Citus takes no other function of a column there.
        r#"UPDATE entity_events SET detail = ('{"names":' || ((detail ->> 'names')::bigint + $3)::text || '}')::jsonb
         WHERE user_id = $1 AND entity_id = $2 AND event = 'withdrawn' AND at > $4::timestamptz - interval '1 day'"#,
        user.0,
        you.0,
        names,
        now,
    );
    if known.execute(&mut *conn).await?.rows_affected() == 0 {
        sqlx::query!(
            "INSERT INTO entity_events (user_id, entity_id, event, by_person, detail, at)
             VALUES ($1, $2, 'withdrawn', false, jsonb_build_object('names', $3::bigint), $4)",
            user.0,
            you.0,
            names,
            now,
        )
        .execute(conn)
        .await?;
    }
    Ok(())
}

pub async fn note_checked(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE entity_names SET is_unchecked = false WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        ids
    )
    .execute(conn)
    .await?;
    Ok(())
}
