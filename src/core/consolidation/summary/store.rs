//! The statements of the summary. The sweep's look-ups run as the system role and see ids and times only; the
//! rest runs as the app role in a transaction that has set the user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::facts::PromptFact;
use super::{Attempt, SourceItem};
use crate::clock::Zone;
use crate::db::UserId;
use crate::memories::{ItemId, Period, Trust};

/// When a change is ready to be summarised.
#[derive(Clone, Copy, Debug)]
pub struct DebounceTimes {
    /// Either nothing has changed since then,
    pub still_since: OffsetDateTime,
    /// or a change has waited since before then;
    pub waited_since: OffsetDateTime,
    /// and no attempt has begun since then.
    pub begun_before: OffsetDateTime,
}

/// As the system role: users whose memory changed since the last attempt, who want a summary and have a model
/// that could write it (the same rule as `Effective::of` in `providers::chat`, which is checked again before
/// writing).
pub async fn list_changed(
    conn: &mut PgConnection,
    patience: DebounceTimes,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT u.id AS "id: UserId" FROM memory_revisions m
           JOIN users u ON u.id = m.user_id
           LEFT JOIN memory_summaries s ON s.user_id = m.user_id
           LEFT JOIN chat_settings c ON c.user_id = m.user_id
           CROSS JOIN LATERAL (SELECT e.id, e.at FROM memory_item_events e WHERE e.user_id = m.user_id
                               ORDER BY e.id DESC LIMIT 1) newest
           CROSS JOIN LATERAL (SELECT e.at FROM memory_item_events e
                               WHERE e.user_id = m.user_id AND e.id > coalesce(s.tried_event, 0)
                               ORDER BY e.id LIMIT 1) waiting
           WHERE u.disabled_at IS NULL AND u.memory_enabled AND newest.id > coalesce(s.tried_event, 0)
             AND s.next_try_at IS NULL AND (s.started_at IS NULL OR s.started_at <= $3)
             AND (newest.at <= $1 OR waiting.at <= $2)
             AND coalesce(c.enabled, true) AND coalesce((c.purposes -> 'summary' ->> 'on')::boolean, true)
             AND (coalesce(c.own_enabled, false) OR EXISTS (SELECT 1 FROM system_chat_provider WHERE endpoint <> ''))
           ORDER BY waiting.at LIMIT $4"#,
        patience.still_since,
        patience.waited_since,
        patience.begun_before,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// As the system role: users whose summary is due, longest due first.
pub async fn list_due(
    conn: &mut PgConnection,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT s.user_id AS "user_id: UserId" FROM memory_summaries s JOIN users u ON u.id = s.user_id
         WHERE s.next_try_at <= $1 AND u.disabled_at IS NULL
         ORDER BY s.next_try_at LIMIT $2"#,
        now,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Makes the summary due at `at` at the latest, even if a failed attempt backs off for longer.
pub async fn note_due(
    conn: &mut PgConnection,
    user: UserId,
    at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO memory_summaries AS s (user_id, next_try_at) VALUES ($1, $2)
         ON CONFLICT (user_id) DO UPDATE SET next_try_at = least(s.next_try_at, $2)",
        user.0,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Like [`note_due`], for a request: writes even if the facts are unchanged, and resets the attempts.
pub async fn note_asked(
    conn: &mut PgConnection,
    user: UserId,
    at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    note_due(&mut *conn, user, at).await?;
    sqlx::query!(
        "UPDATE memory_summaries SET facts_hash = NULL, attempts = 0 WHERE user_id = $1",
        user.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Begins an attempt, if one is due.
pub async fn claim(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Option<Attempt>, sqlx::Error> {
    sqlx::query_as!(
        Attempt,
        r#"UPDATE memory_summaries SET started_at = $2, writing_since = $2 WHERE user_id = $1 AND next_try_at <= $2
           RETURNING started_at AS "started_at!", attempts,
                     CASE WHEN body IS NOT NULL THEN facts_hash END AS facts_hash,
                     (SELECT coalesce(max(id), 0) FROM memory_item_events WHERE user_id = $1) AS "event!",
                     (SELECT memory_enabled FROM users WHERE id = $1) AS "is_memory_on!""#,
        user.0,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// The facts for a summary, which is of the person: active shared items of no project that hold or will hold, with their periods; tool and external ones last, the most certain first, then
/// the newest. Excludes turns and items written from memories.
pub async fn list_facts(
    conn: &mut PgConnection,
    user: UserId,
    chars_max: i32,
    limit: i64,
    now: OffsetDateTime,
) -> Result<Vec<PromptFact>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, t.slug, i.key, i.trust AS "trust: Trust", i.agent_id, i.locked, left(i.content, $2) AS "content!", i.valid_from, i.valid_until, u.time_zone
           FROM memory_items i JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
           JOIN users u ON u.id = i.user_id
           WHERE i.user_id = $1 AND is_live(i.status, i.live_until, $4) AND NOT is_over(i.valid_until, $4) AND i.theme_id IS NOT NULL AND i.type <> 'reflection' AND i.owner_agent_id IS NULL
             AND i.project_id IS NULL
           ORDER BY i.locked DESC, i.trust IN ('user', 'agent') DESC, i.confidence DESC, greatest(i.last_verified_at, i.created_at) DESC, i.id DESC
           LIMIT $3"#,
        user.0,
        chars_max,
        limit,
        now,
    )
    .fetch_all(conn)
    .await?;
    let rows = rows.into_iter();
    Ok(rows
        .map(|row| PromptFact {
            id: ItemId(row.id),
            theme: row.slug,
            key: row.key,
            is_persons: row.locked || row.trust == Trust::User,
            trust: row.trust,
            agent: row.agent_id,
            content: Period { from: row.valid_from, until: row.valid_until }
                .beside(row.content, &Zone::from_column(&row.time_zone)),
        })
        .collect())
}

pub async fn count_facts(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM memory_items
           WHERE user_id = $1 AND is_live(status, live_until, $2) AND NOT is_over(valid_until, $2) AND theme_id IS NOT NULL
             AND type <> 'reflection' AND owner_agent_id IS NULL AND project_id IS NULL"#,
        user.0,
        now,
    )
    .fetch_one(conn)
    .await
}

/// Locks the existing items among these until the transaction ends. Ordered by id and before the summary, as
/// an erasure does, to avoid a deadlock.
pub async fn hold_items(
    conn: &mut PgConnection,
    user: UserId,
    items: &[i64],
) -> Result<usize, sqlx::Error> {
    let held = sqlx::query_scalar!(
        "SELECT id FROM memory_items WHERE user_id = $1 AND id = ANY ($2) ORDER BY id FOR KEY SHARE",
        user.0,
        items,
    );
    Ok(held.fetch_all(conn).await?.len())
}

/// False if another attempt began since: a late result writes nothing.
pub async fn is_ours(
    conn: &mut PgConnection,
    user: UserId,
    attempt: &Attempt,
) -> Result<bool, sqlx::Error> {
    let found = sqlx::query_scalar!(
        "SELECT user_id FROM memory_summaries
         WHERE user_id = $1 AND started_at = $2 AND writing_since IS NOT NULL FOR NO KEY UPDATE",
        user.0,
        attempt.started_at,
    );
    Ok(found.fetch_optional(conn).await?.is_some())
}

/// Replaces the source items, in the transaction that writes the new text.
pub async fn replace_items(
    conn: &mut PgConnection,
    user: UserId,
    items: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM memory_summary_items WHERE user_id = $1", user.0)
        .execute(&mut *conn)
        .await?;
    sqlx::query!(
        "INSERT INTO memory_summary_items (user_id, item_id) SELECT $1, unnest($2::bigint[])
         RETURNING user_id",
        user.0,
        items,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// A written summary.
pub struct NewSummary<'a> {
    /// `None` if the memory is empty.
    pub body: Option<&'a str>,
    pub model: Option<&'a str>,
    pub facts_hash: &'a [u8],
    pub facts_total: i64,
}

pub async fn write(
    conn: &mut PgConnection,
    user: UserId,
    attempt: &Attempt,
    written: &NewSummary<'_>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE memory_summaries
         SET body = $2, made_at = CASE WHEN $2::text IS NOT NULL THEN $3::timestamptz END, model = $4, facts_hash = $5,
             facts_total = $6, made_event = $7, tried_event = $7, next_try_at = NULL, writing_since = NULL, attempts = 0,
             failure = NULL
         WHERE user_id = $1",
        user.0,
        written.body,
        now,
        written.model,
        written.facts_hash,
        written.facts_total,
        attempt.event,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The current text is still up to date.
pub async fn write_unchanged(
    conn: &mut PgConnection,
    user: UserId,
    attempt: &Attempt,
    facts_total: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE memory_summaries SET facts_total = $2, made_event = $3, tried_event = $3, next_try_at = NULL,
             writing_since = NULL, attempts = 0, failure = NULL
         WHERE user_id = $1",
        user.0,
        facts_total,
        attempt.event,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps the old text. Without `next_try_at`, the next attempt is when the memory changes or somebody asks.
pub async fn write_failure(
    conn: &mut PgConnection,
    user: UserId,
    attempt: &Attempt,
    why: Option<&str>,
    next_try_at: Option<OffsetDateTime>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE memory_summaries
         SET attempts = attempts + ($2::text IS NOT NULL)::int, failure = $2, next_try_at = $3, writing_since = NULL,
             tried_event = CASE WHEN $2 IS NOT NULL THEN $4 ELSE tried_event END
         WHERE user_id = $1",
        user.0,
        why,
        next_try_at,
        attempt.event,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The stored summary, and what has happened since.
pub struct SummaryRow {
    pub body: Option<String>,
    pub made_at: Option<OffsetDateTime>,
    pub model: Option<String>,
    pub facts_total: i64,
    pub made_event: i64,
    pub newest_event: i64,
    pub next_try_at: Option<OffsetDateTime>,
    pub writing_since: Option<OffsetDateTime>,
    pub started_at: Option<OffsetDateTime>,
    pub failure: Option<String>,
    pub is_memory_on: bool,
    pub has_facts: bool,
    /// The caller may see shared items.
    pub sees_shared: bool,
}

pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<SummaryRow, sqlx::Error> {
    sqlx::query_as!(
        SummaryRow,
        r#"SELECT s.body, s.made_at, s.model, coalesce(s.facts_total, 0) AS "facts_total!",
                  coalesce(s.made_event, 0) AS "made_event!", s.next_try_at, s.writing_since, s.started_at, s.failure,
                  u.memory_enabled AS is_memory_on, sees_shared() AS "sees_shared!",
                  (SELECT coalesce(max(id), 0) FROM memory_item_events WHERE user_id = $1) AS "newest_event!",
                  EXISTS (SELECT FROM memory_items WHERE user_id = $1 AND is_live(status, live_until, $2) AND theme_id IS NOT NULL AND type <> 'reflection') AS "has_facts!"
           FROM users u LEFT JOIN memory_summaries s ON s.user_id = u.id
           WHERE u.id = $1"#,
        user.0,
        now,
    )
    .fetch_one(conn)
    .await
}

/// The private items of the acting agent, newest first; none for a person.
pub async fn list_own(
    conn: &mut PgConnection,
    user: UserId,
    (chars_max, limit): (i32, i64),
    now: OffsetDateTime,
) -> Result<Vec<(SourceItem, OffsetDateTime)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, left(concat_ws(': ', key, content), $2) AS "content!", length(concat_ws(': ', key, content)) > $2 AS "is_cut!",
                  trust AS "trust: Trust", created_at
           FROM memory_items
           WHERE user_id = $1 AND owner_agent_id = scope_agent() AND is_live(status, live_until, $4)
             AND NOT is_over(valid_until, $4) AND theme_id IS NOT NULL
           ORDER BY created_at DESC, id DESC LIMIT $3"#,
        user.0,
        chars_max,
        limit,
        now,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let item = SourceItem {
            id: ItemId(row.id),
            beginning: row.content,
            trust: row.trust,
            is_cut: row.is_cut,
            is_active: true,
        };
        (item, row.created_at)
    });
    Ok(rows.collect())
}

/// The items that the summary is based on, with the beginning of their texts.
pub async fn list_items(
    conn: &mut PgConnection,
    user: UserId,
    chars_max: i32,
) -> Result<Vec<SourceItem>, sqlx::Error> {
    sqlx::query_as!(
        SourceItem,
        r#"SELECT i.id AS "id: ItemId", left(concat_ws(': ', i.key, i.content), $2) AS "beginning!", length(concat_ws(': ', i.key, i.content)) > $2 AS "is_cut!", i.trust AS "trust: Trust",
                  i.status = 'active' AS "is_active!"
           FROM memory_summary_items m JOIN memory_items i ON i.user_id = m.user_id AND i.id = m.item_id
           WHERE m.user_id = $1 ORDER BY i.id"#,
        user.0,
        chars_max,
    )
    .fetch_all(conn)
    .await
}
