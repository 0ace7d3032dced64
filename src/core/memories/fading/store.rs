//! SQL of fading. Runs as the app role in a transaction bound to its user.

use std::collections::HashMap;

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{BEGINNING_CHARS, FadingSettings, Strength};
use crate::db::UserId;
use crate::memories::model::{ItemId, ItemType};

pub async fn find_settings(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<FadingSettings, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT coalesce(s.is_on, u.operator_id IS NULL) AS "is_on!", s.threshold AS "threshold?", s.rates AS "rates?"
           FROM users u LEFT JOIN fading_settings s ON s.user_id = u.id WHERE u.id = $1"#,
        user.0
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map_or_else(FadingSettings::default, |row| {
        FadingSettings::new(row.is_on, row.threshold, &row.rates.unwrap_or_default())
    }))
}

pub async fn save_settings(
    conn: &mut PgConnection,
    user: UserId,
    is_on: bool,
    threshold: f64,
    rates: &Value,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO fading_settings (user_id, is_on, threshold, rates) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id) DO UPDATE SET is_on = $2, threshold = $3, rates = $4",
        user.0,
        is_on,
        threshold,
        rates,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// `rates` are the defaults; the user's own rates override them.
pub async fn list_strengths(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    rates: &Value,
    now: OffsetDateTime,
) -> Result<HashMap<i64, Strength>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT w.id AS "id!", w.rate AS "rate!", w.is_own AS "is_own!", w.last_used AS "last_used!",
                  w.access_count AS "access_count!", w.last_accessed AS "last_accessed?",
                  strength_of(w.confidence, w.rate, w.last_used, $4) AS "strength!"
           FROM (SELECT i.id, i.confidence, i.decay_rate IS NOT NULL AS is_own,
                        decay_rate_of(i.type, i.protected, i.decay_rate, $3 || coalesce(s.rates, '{}')) AS rate,
                        greatest(i.created_at, i.last_verified_at, m.last_accessed) AS last_used,
                        coalesce(m.access_count, 0) AS access_count, m.last_accessed
                 FROM memory_items i
                 LEFT JOIN memory_uses m ON m.user_id = $1 AND m.item_id = i.id
                 LEFT JOIN fading_settings s ON s.user_id = $1
                 WHERE i.user_id = $1 AND i.id = ANY ($2) AND i.theme_id IS NOT NULL) w"#,
        user.0,
        ids,
        rates,
        now,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let strength = Strength {
            value: row.strength,
            rate: row.rate,
            is_own_rate: row.is_own,
            access_count: row.access_count,
            last_accessed: row.last_accessed,
            last_used: row.last_used,
        };
        (row.id, strength)
    });
    Ok(rows.collect())
}

/// Number of items below the threshold at that time, if they are not used until then.
pub async fn count_weak(
    conn: &mut PgConnection,
    user: UserId,
    at: OffsetDateTime,
    rates: &Value,
    threshold: f64,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM fading_items($1, $2, $3) f WHERE f.strength < $4"#,
        user.0,
        at,
        rates,
        threshold,
    )
    .fetch_one(conn)
    .await
}

/// Items below the threshold.
pub async fn list_weak(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
    rates: &Value,
    threshold: f64,
    limit: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT f.item_id AS "id!" FROM fading_items($1, $2, $3) f WHERE f.strength < $4 ORDER BY 1 LIMIT $5"#,
        user.0,
        now,
        rates,
        threshold,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// An item below the threshold.
#[derive(Clone, Debug)]
pub struct FadingItem {
    pub id: ItemId,
    pub theme: String,
    pub item_type: ItemType,
    pub beginning: String,
    /// 0 to 1
    pub strength: f64,
    pub last_used: OffsetDateTime,
    pub access_count: i64,
}

/// Weakest first.
pub async fn list_weakest(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
    rates: &Value,
    threshold: f64,
    limit: i64,
) -> Result<Vec<FadingItem>, sqlx::Error> {
    let fading = sqlx::query!(
        r#"SELECT f.item_id AS "id!", f.strength AS "strength!", f.last_used AS "last_used!", f.access_count AS "access_count!"
           FROM fading_items($1, $2, $3) f WHERE f.strength < $4 ORDER BY f.strength, f.item_id LIMIT $5"#,
        user.0,
        now,
        rates,
        threshold,
        limit,
    )
    .fetch_all(&mut *conn)
    .await?;
    let ids: Vec<i64> = fading.iter().map(|item| item.id).collect();
    let strengths: Vec<f64> = fading.iter().map(|item| item.strength).collect();
    let uses: Vec<OffsetDateTime> = fading.iter().map(|item| item.last_used).collect();
    let counts: Vec<i64> = fading.iter().map(|item| item.access_count).collect();
    sqlx::query_as!(
        FadingItem,
        r#"SELECT f.id AS "id!: ItemId", t.slug AS theme, i.type AS "item_type: ItemType", left(concat_ws(': ', i.key, i.content), $6) AS "beginning!",
                  f.strength AS "strength!", f.last_used AS "last_used!", f.access_count AS "access_count!"
           FROM unnest($2::bigint[], $3::double precision[], $4::timestamptz[], $5::bigint[])
                AS f (id, strength, last_used, access_count)
           JOIN memory_items i ON i.user_id = $1 AND i.id = f.id
           JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           ORDER BY f.strength, f.id"#,
        user.0,
        &ids,
        &strengths,
        &uses,
        &counts,
        BEGINNING_CHARS,
    )
    .fetch_all(conn)
    .await
}

/// An item that faded and has not changed since.
#[derive(Clone, Debug)]
pub struct FadedItem {
    pub id: ItemId,
    pub theme: String,
    pub item_type: ItemType,
    pub beginning: String,
    pub at: OffsetDateTime,
}

/// Latest first.
pub async fn list_faded(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<FadedItem>, sqlx::Error> {
    sqlx::query_as!(
        FadedItem,
        r#"SELECT i.id AS "id: ItemId", t.slug AS theme, i.type AS "item_type: ItemType", left(concat_ws(': ', i.key, i.content), $3) AS "beginning!", e.at
           FROM memory_item_events e
           JOIN memory_items i ON i.user_id = $1 AND i.id = e.item_id AND i.status = 'archived'
           JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           WHERE e.user_id = $1 AND e.event = 'faded'
             AND NOT EXISTS (SELECT FROM memory_item_events l WHERE l.user_id = $1 AND l.item_id = e.item_id AND l.id > e.id AND l.event <> 'imported')
           ORDER BY e.at DESC, e.id DESC LIMIT $2"#,
        user.0,
        limit,
        BEGINNING_CHARS,
    )
    .fetch_all(conn)
    .await
}

pub async fn count_faded(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!"
           FROM memory_item_events e
           JOIN memory_items i ON i.user_id = $1 AND i.id = e.item_id AND i.status = 'archived' AND i.theme_id IS NOT NULL
           WHERE e.user_id = $1 AND e.event = 'faded'
             AND NOT EXISTS (SELECT FROM memory_item_events l WHERE l.user_id = $1 AND l.item_id = e.item_id AND l.id > e.id AND l.event <> 'imported')"#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// NULL: the rate of its type. Returns false if there is no such item.
pub async fn set_decay_rate(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
    rate: Option<f64>,
) -> Result<bool, sqlx::Error> {
    let set = sqlx::query!(
        "UPDATE memory_items SET decay_rate = $3 WHERE user_id = $1 AND id = $2 AND theme_id IS NOT NULL",
        user.0,
        id.0,
        rate,
    );
    Ok(set.execute(conn).await?.rows_affected() == 1)
}
