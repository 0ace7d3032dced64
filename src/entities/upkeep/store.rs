//! SQL of the upkeep. Runs as the app role in a transaction bound to its user, unless stated otherwise.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::UserId;
use crate::memories::mentions::EntityType;

/// Runs as the system role.
pub async fn list_users_due(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    let users = sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id!" FROM entity_names WHERE filled_at IS NULL
           UNION SELECT user_id FROM entities WHERE compared_at IS NULL"#
    );
    let users = users.fetch_all(conn).await?;
    Ok(users.into_iter().map(UserId).collect())
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
    let rows = sqlx::query!(
        r#"SELECT n.entity_id, n.name, e.type, (e.protected OR e.by_person) AS "is_settled!",
                  ARRAY(SELECT CASE WHEN p.one_id = e.id THEN p.other_id ELSE p.one_id END FROM entity_pairs p
                        WHERE p.user_id = $1 AND (p.one_id = e.id OR p.other_id = e.id)) AS "apart!"
           FROM entity_names n JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id
           WHERE n.user_id = $1 AND e.type NOT IN ('date', 'email', 'url') ORDER BY n.entity_id, n.id"#,
        user.0
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| NameWithEntity {
        entity_id: row.entity_id,
        name: row.name,
        entity_type: EntityType::from_column(&row.r#type),
        is_settled: row.is_settled,
        apart: row.apart,
    });
    Ok(read.collect())
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
