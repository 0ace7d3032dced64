//! SQL of the stream. Reads run as the app role under row security; what is no event of an item is written here, while
//! the user's revision is locked.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{FeedEvent, FeedEventType, FeedItem, FeedSubject};
use crate::db::UserId;
use crate::memories::item_type::ItemType;
use crate::memories::model::{ItemId, Status};
use crate::memories::projects::ProjectId;

pub struct FeedRow {
    pub id: i64,
    at: OffsetDateTime,
    event: String,
    item_id: Option<i64>,
    dream_id: Option<i64>,
    job: Option<String>,
    item_type: Option<ItemType>,
    is_active: Option<bool>,
    theme: Option<String>,
    project_id: Option<i64>,
    project: Option<String>,
    superseded_by: Option<i64>,
    /// An imported item brought this event along.
    is_history: bool,
}

impl FeedRow {
    /// `None` if it is about nothing that the reader sees.
    pub fn event(self) -> Option<FeedEvent> {
        let event_type = FeedEventType::of_row(&self.event);
        let subject = match (event_type, self.item_id, self.item_type) {
            (FeedEventType::Erased, Some(id), _) => FeedSubject::ErasedItem(ItemId(id)),
            (_, Some(id), Some(item_type)) if !self.is_history => {
                let item = FeedItem {
                    item_type,
                    status: match self.is_active {
                        Some(true) => Status::Active,
                        _ => Status::Archived,
                    },
                    theme: self.theme,
                    project_id: self.project_id.map(ProjectId),
                    project: self.project,
                    superseded_by: self.superseded_by.map(ItemId),
                };
                FeedSubject::Item(ItemId(id), item)
            }
            (_, Some(_), _) => return None,
            (_, None, _) => match (self.dream_id, self.job) {
                (Some(dream), _) => FeedSubject::Dream(dream),
                (None, job) => FeedSubject::Job(job?),
            },
        };
        Some(FeedEvent { id: self.id, event_type, at: self.at, subject })
    }
}

/// The next events, oldest first, those included whose item the reader does not see.
pub async fn list_after(
    conn: &mut PgConnection,
    user: UserId,
    position: i64,
    limit: i64,
    now: OffsetDateTime,
) -> Result<Vec<FeedRow>, sqlx::Error> {
    sqlx::query_as!(
        FeedRow,
        r#"WITH of_items AS (
               SELECT e.id, e.at, e.event, e.item_id FROM memory_item_events e
               WHERE e.user_id = $1 AND e.id > $2 ORDER BY e.id LIMIT $3
           ), of_others AS (
               SELECT f.id, f.at, f.event, f.item_id, f.dream_id, f.job FROM feed_events f
               WHERE f.user_id = $1 AND f.id > $2 ORDER BY f.id LIMIT $3
           ), next AS (
               SELECT id, at, event, item_id, NULL::bigint AS dream_id, NULL::text AS job FROM of_items
               UNION ALL SELECT id, at, event, item_id, dream_id, job FROM of_others
               ORDER BY id LIMIT $3
           )
           SELECT n.id AS "id!", n.at AS "at!", n.event AS "event!", n.item_id, n.dream_id, n.job, i.type AS "item_type?: ItemType",
                  i.status = 'active' AND i.live_until > $4 AS is_active, t.slug AS "theme?", p.id AS "project_id?", p.name AS "project?", s.id AS "superseded_by?",
                  EXISTS (SELECT FROM memory_item_events l
                          WHERE l.user_id = $1 AND l.item_id = n.item_id AND l.id > n.id AND l.event = 'imported') AS "is_history!"
           FROM next n
           LEFT JOIN memory_items i ON i.user_id = $1 AND i.id = n.item_id AND i.theme_id IS NOT NULL
           LEFT JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           LEFT JOIN projects p ON p.user_id = $1 AND p.id = i.project_id
           LEFT JOIN memory_items s ON s.user_id = $1 AND s.id = i.superseded_by
           ORDER BY n.id"#,
        user.0,
        position,
        limit,
        now,
    )
    .fetch_all(conn)
    .await
}

/// The id of the last event; 0 if there is none.
pub async fn find_newest(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT greatest((SELECT max(id) FROM memory_item_events WHERE user_id = $1),
                           (SELECT max(id) FROM feed_events WHERE user_id = $1), 0) AS "newest!""#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// In the transaction that writes the proposals, which has raised the user's revision.
pub async fn insert_dream(
    conn: &mut PgConnection,
    user: UserId,
    dream: i64,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO feed_events (user_id, id, event, at, dream_id)
         VALUES ($1, nextval('memory_item_events_id_seq'), 'dream_proposed', $2, $3)",
        user.0,
        now,
        dream,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Sets the time of what the transaction erases from here on.
pub async fn set_erasure_time(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query_scalar!("SELECT set_config('keepsake.at', ($1::timestamptz)::text, true)", now)
        .fetch_one(conn)
        .await?;
    Ok(())
}

/// As the system role, before the transaction locks the job's row: a job of this user has begun to fail.
pub async fn note_job_failure(
    conn: &mut PgConnection,
    user: UserId,
    job: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!("SELECT note_job_failure($1, $2, $3)", user.0, job, now).execute(conn).await?;
    Ok(())
}

/// As the system role.
pub async fn prune(conn: &mut PgConnection, before: OffsetDateTime) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!("DELETE FROM feed_events WHERE at < $1", before);
    Ok(done.execute(conn).await?.rows_affected())
}
