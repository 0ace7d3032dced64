//! SQL of webhooks. Runs as the app role in a transaction bound to its user, but for the look-up of who is due.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{DELIVERIES_KEPT, Delivery, NewWebhook, Webhook, WebhookState};
use crate::db::UserId;
use crate::memories::feed::FeedEventType;

/// What a delivery needs.
pub struct DueWebhook {
    pub id: i64,
    pub url: String,
    pub sealed_secret: Vec<u8>,
    pub sealed_old_secret: Option<Vec<u8>>,
    pub old_secret_until: Option<OffsetDateTime>,
    /// See [`parsed`].
    pub events: Vec<String>,
    pub includes_text: bool,
    pub position: i64,
    pub failing_since: Option<OffsetDateTime>,
    pub attempts: i32,
    pub next_try_at: Option<OffsetDateTime>,
}

/// A webhook and its position: what was begun there counts only while both are as they were.
#[derive(Clone, Copy)]
pub struct Place {
    webhook: i64,
    position: i64,
}

impl DueWebhook {
    pub fn place(&self) -> Place {
        Place { webhook: self.id, position: self.position }
    }
}

pub struct NewDelivery<'a> {
    pub event: &'a str,
    pub at: OffsetDateTime,
    pub took_ms: i32,
    pub status: Option<i16>,
    pub problem: Option<String>,
}

/// So that of two webhooks added at the same time the second counts the first.
pub async fn lock(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "SELECT pg_advisory_xact_lock(hashtextextended('keepsake webhooks ' || $1::bigint, 0))",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn count(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT count(*) AS "n!" FROM webhooks WHERE user_id = $1"#, user.0)
        .fetch_one(conn)
        .await
}

pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    new: &NewWebhook,
    sealed: &[u8],
    position: i64,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let events: Vec<String> = new.events.iter().map(|e| e.as_str().to_owned()).collect();
    sqlx::query!(
        "INSERT INTO webhooks (user_id, url, sealed_secret, events, includes_text, state, position, created_at)
         VALUES ($1, $2, $3, $4, $5, 'on', $6, $7)",
        user.0,
        new.url.as_str(),
        sealed,
        &events,
        new.includes_text,
        position,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Oldest first.
pub async fn list(conn: &mut PgConnection, user: UserId) -> Result<Vec<Webhook>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, url, events, includes_text, state AS "state: WebhookState", created_at, delivered_at, failing_since, next_try_at,
                old_secret_until
         FROM webhooks WHERE user_id = $1 ORDER BY id"#,
        user.0
    )
    .fetch_all(conn)
    .await?;
    let webhooks = rows.into_iter().map(|row| Webhook {
        id: row.id,
        url: row.url,
        events: parsed(&row.events),
        includes_text: row.includes_text,
        state: row.state,
        created_at: row.created_at,
        delivered_at: row.delivered_at,
        failing_since: row.failing_since,
        next_try_at: row.next_try_at,
        old_secret_until: row.old_secret_until,
    });
    Ok(webhooks.collect())
}

/// The types of events that still exist.
pub fn parsed(events: &[String]) -> Vec<FeedEventType> {
    events.iter().filter_map(|name| FeedEventType::from_label(name)).collect()
}

/// Of all of the user's webhooks, newest first.
pub async fn list_deliveries(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<Delivery>, sqlx::Error> {
    sqlx::query_as!(
        Delivery,
        "SELECT d.webhook_id AS webhook, d.event, d.at, d.took_ms, d.status, d.problem FROM webhooks w
         CROSS JOIN LATERAL (SELECT * FROM webhook_deliveries d
                             WHERE d.user_id = $1 AND d.webhook_id = w.id ORDER BY d.id DESC LIMIT $2) d
         WHERE w.user_id = $1 ORDER BY d.id DESC",
        user.0,
        DELIVERIES_KEPT,
    )
    .fetch_all(conn)
    .await
}

/// Those that are on; none of an account that is disabled.
pub async fn list_on(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<DueWebhook>, sqlx::Error> {
    let due = sqlx::query_as!(
        DueWebhook,
        "SELECT w.id, w.url, w.sealed_secret, w.sealed_old_secret, w.old_secret_until, w.events, w.includes_text, w.position,
                w.failing_since, w.attempts, w.next_try_at
         FROM webhooks w JOIN users u ON u.id = w.user_id
         WHERE w.user_id = $1 AND w.state = 'on' AND u.disabled_at IS NULL ORDER BY w.id",
        user.0
    );
    due.fetch_all(conn).await
}

pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
) -> Result<Option<DueWebhook>, sqlx::Error> {
    let found = sqlx::query_as!(
        DueWebhook,
        "SELECT id, url, sealed_secret, sealed_old_secret, old_secret_until, events, includes_text, position, failing_since,
                attempts, next_try_at
         FROM webhooks WHERE user_id = $1 AND id = $2",
        user.0,
        id
    );
    found.fetch_optional(conn).await
}

/// Resuming forgets the failures before. False if there is no such webhook.
pub async fn set_state(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    state: WebhookState,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE webhooks SET state = $3, next_try_at = NULL,
                failing_since = CASE WHEN $3 = 'on' THEN NULL ELSE failing_since END,
                attempts = CASE WHEN $3 = 'on' THEN 0 ELSE attempts END
         WHERE user_id = $1 AND id = $2",
        user.0,
        id,
        state.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// After a restore, of every user, as the owner role: one that is on may have been paused or deleted since, and the lost server
/// may run.
pub async fn pause_all(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE webhooks SET state = 'paused', next_try_at = NULL WHERE state = 'on'")
        .execute(conn)
        .await?;
    Ok(())
}

/// With its deliveries. False if there is no such webhook.
pub async fn delete(conn: &mut PgConnection, user: UserId, id: i64) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!("DELETE FROM webhooks WHERE user_id = $1 AND id = $2", user.0, id);
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// The secret becomes the old one. Returns the address, if there is such a webhook.
pub async fn rotate(
    conn: &mut PgConnection,
    user: UserId,
    id: i64,
    sealed: &[u8],
    until: OffsetDateTime,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "UPDATE webhooks SET sealed_old_secret = sealed_secret, old_secret_until = $4, sealed_secret = $3
         WHERE user_id = $1 AND id = $2 RETURNING url",
        user.0,
        id,
        sealed,
        until,
    )
    .fetch_optional(conn)
    .await
}

/// Moves past events that it is not told. False if it is not on any more, or was moved.
pub async fn pass_over(
    conn: &mut PgConnection,
    user: UserId,
    place: Place,
    position: i64,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE webhooks SET position = $4 WHERE user_id = $1 AND id = $2 AND position = $3 AND state = 'on'",
        user.0,
        place.webhook,
        place.position,
        position,
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Moves to the event that was accepted. False if no more is to be sent: it is not on any more, or was moved.
pub async fn accept(
    conn: &mut PgConnection,
    user: UserId,
    place: Place,
    event: i64,
    delivery: &NewDelivery<'_>,
) -> Result<bool, sqlx::Error> {
    let state = sqlx::query_scalar!(
        "UPDATE webhooks SET position = $4, delivered_at = $5, failing_since = NULL, attempts = 0, next_try_at = NULL
         WHERE user_id = $1 AND id = $2 AND position = $3 RETURNING state",
        user.0,
        place.webhook,
        place.position,
        event,
        delivery.at,
    );
    let state = state.fetch_optional(&mut *conn).await?;
    insert_delivery(conn, user, place.webhook, delivery).await?;
    Ok(state.is_some_and(|state| state == "on"))
}

/// Counts a failure; one that was paused meanwhile stays paused.
pub async fn fail(
    conn: &mut PgConnection,
    user: UserId,
    place: Place,
    state: WebhookState,
    next_try_at: Option<OffsetDateTime>,
    delivery: &NewDelivery<'_>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE webhooks SET state = $4, next_try_at = $5, attempts = attempts + 1, failing_since = coalesce(failing_since, $6)
         WHERE user_id = $1 AND id = $2 AND position = $3 AND state = 'on'",
        user.0,
        place.webhook,
        place.position,
        state.as_str(),
        next_try_at,
        delivery.at,
    )
    .execute(&mut *conn)
    .await?;
    insert_delivery(conn, user, place.webhook, delivery).await
}

/// And deletes those that are too many. Does nothing for a webhook that was deleted meanwhile.
pub async fn insert_delivery(
    conn: &mut PgConnection,
    user: UserId,
    webhook: i64,
    delivery: &NewDelivery<'_>,
) -> Result<(), sqlx::Error> {
    let kept = sqlx::query!(
        "SELECT id FROM webhooks WHERE user_id = $1 AND id = $2 FOR KEY SHARE",
        user.0,
        webhook,
    );
    if kept.fetch_optional(&mut *conn).await?.is_none() {
        return Ok(());
    }
    sqlx::query!(
        "INSERT INTO webhook_deliveries (user_id, webhook_id, event, at, took_ms, status, problem)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        user.0,
        webhook,
        delivery.event,
        delivery.at,
        delivery.took_ms,
        delivery.status,
        delivery.problem,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "DELETE FROM webhook_deliveries WHERE user_id = $1 AND webhook_id = $2 AND id <= (
             SELECT id FROM webhook_deliveries WHERE user_id = $1 AND webhook_id = $2 ORDER BY id DESC OFFSET $3 LIMIT 1)",
        user.0,
        webhook,
        DELIVERIES_KEPT,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// As the system role: users of webhooks with events after their position, and when each is due.
pub async fn list_users_due(
    conn: &mut PgConnection,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<(UserId, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT w.user_id, min(greatest(coalesce(w.next_try_at, $1), $1)) AS "at!"
           FROM webhooks w JOIN users u ON u.id = w.user_id
           WHERE w.state = 'on' AND u.disabled_at IS NULL
             AND (EXISTS (SELECT FROM memory_item_events e WHERE e.user_id = w.user_id AND e.id > w.position)
                  OR EXISTS (SELECT FROM feed_events f WHERE f.user_id = w.user_id AND f.id > w.position))
           GROUP BY w.user_id ORDER BY 2, 1 LIMIT $2"#,
        now,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (UserId(row.user_id), row.at)).collect())
}
