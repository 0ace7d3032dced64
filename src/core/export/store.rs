//! The statements of the export. All run as the app role in a transaction that has set the user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::lines::{
    AccountLine, AgentLine, CallLine, ChatSettingsLine, ChatSpendLine, EmbeddingSettingsLine,
    EventLine, ExportBounds, ExportOverview, ItemLine, SummaryLine, ThemeLine,
};
use super::read::EVENTS_MAX;
use crate::db::UserId;
use crate::memories::day;

pub async fn find_bounds(
    conn: &mut PgConnection,
    user: UserId,
    as_of: Option<OffsetDateTime>,
) -> Result<ExportBounds, sqlx::Error> {
    sqlx::query_as!(
        ExportBounds,
        r#"SELECT $2::timestamptz AS as_of, coalesce((SELECT max(id) FROM memory_items WHERE user_id = $1), 0) AS "item!",
                  coalesce((SELECT max(id) FROM documents WHERE user_id = $1), 0) AS "document!",
                  coalesce((SELECT max(id) FROM sessions WHERE user_id = $1), 0) AS "session!",
                  coalesce((SELECT max(id) FROM activity WHERE user_id = $1), 0) AS "call!""#,
        user.0,
        as_of,
    )
    .fetch_one(conn)
    .await
}

/// Lengths come from the rows' headers: no text is read.
pub async fn weigh(conn: &mut PgConnection, user: UserId) -> Result<ExportOverview, sqlx::Error> {
    sqlx::query_as!(
        ExportOverview,
        r#"SELECT i.items AS "items!", c.calls AS "calls!", 
                  (i.bytes + 650 * i.items + d.bytes + m.bytes + 260 * m.messages + 180 * c.calls) AS "bytes!"
           FROM (SELECT count(*) AS items, coalesce(sum(octet_length(content)), 0)::bigint AS bytes
                 FROM memory_items WHERE user_id = $1 AND theme_id IS NOT NULL) i,
                (SELECT coalesce(sum(kept_bytes), 0)::bigint AS bytes FROM documents WHERE user_id = $1) d,
                (SELECT count(*) AS messages,
                        coalesce(sum(octet_length(content) + tool_calls_bytes), 0)::bigint AS bytes
                 FROM session_messages WHERE user_id = $1) m,
                (SELECT count(*) AS calls FROM activity WHERE user_id = $1) c"#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// `None` if the account no longer exists.
pub async fn find_account(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<AccountLine>, sqlx::Error> {
    sqlx::query_as!(AccountLine, "SELECT time_zone FROM users WHERE id = $1", user.0)
        .fetch_optional(conn)
        .await
}

/// In lower case; `None` for a user of an operator.
pub async fn find_email(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<String>, sqlx::Error> {
    let found = sqlx::query_scalar!("SELECT lower(email) FROM users WHERE id = $1", user.0);
    Ok(found.fetch_optional(conn).await?.flatten())
}

pub async fn list_agents(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<AgentLine>, sqlx::Error> {
    sqlx::query_as!(
        AgentLine,
        "SELECT name, memory_enabled, tool_profile, settings, created_at FROM agents WHERE user_id = $1 ORDER BY id",
        user.0
    )
    .fetch_all(conn)
    .await
}

/// `None` if the user has changed nothing.
pub async fn find_embedding_settings(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<EmbeddingSettingsLine>, sqlx::Error> {
    sqlx::query_as!(
        EmbeddingSettingsLine,
        "SELECT enabled, own_enabled, provider_type, endpoint, model, dimensions, query_prefix,
                document_prefix, batch_size, concurrency, pause_ms
         FROM embedding_settings WHERE user_id = $1",
        user.0
    )
    .fetch_optional(conn)
    .await
}

/// `None` if the user has changed nothing. The API key is a secret and is not read.
pub async fn find_chat_settings(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<ChatSettingsLine>, sqlx::Error> {
    sqlx::query_as!(
        ChatSettingsLine,
        "SELECT enabled, own_enabled, provider_type, endpoint, model, daily_token_cap, purposes
         FROM chat_settings WHERE user_id = $1",
        user.0
    )
    .fetch_optional(conn)
    .await
}

/// `None` if none was written.
pub async fn find_summary(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<SummaryLine>, sqlx::Error> {
    sqlx::query_as!(
        SummaryLine,
        r#"SELECT body AS "text!", made_at AS "made_at!", model, facts_total AS items_total,
                  ARRAY(SELECT item_id FROM memory_summary_items WHERE user_id = $1 ORDER BY item_id) AS "items!"
           FROM memory_summaries WHERE user_id = $1 AND body IS NOT NULL"#,
        user.0
    )
    .fetch_optional(conn)
    .await
}

/// Days on which a chat model was called; a few hundred at most.
pub async fn list_chat_spend(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<ChatSpendLine>, sqlx::Error> {
    sqlx::query_as!(
        ChatSpendLine,
        r#"SELECT to_char(day, 'YYYY-MM-DD') AS "day!", tokens_in, tokens_out, (SELECT coalesce(jsonb_object_agg(p.purpose, p.tokens), '{}')
                             FROM chat_spend_purposes p WHERE p.user_id = $1 AND p.day = s.day) AS "by_purpose!", calls,
                  failed_calls
           FROM chat_spend s WHERE user_id = $1 ORDER BY day"#,
        user.0
    )
    .fetch_all(conn)
    .await
}

pub async fn list_themes(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<ThemeLine>, sqlx::Error> {
    sqlx::query_as!(
        ThemeLine,
        "SELECT id, slug, display_name, description, created_at, updated_at
         FROM memory_themes WHERE user_id = $1 AND id > $2 AND ($4::timestamptz IS NULL OR created_at <= $4)
         ORDER BY id LIMIT $3",
        user.0,
        after,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}

/// Ordered by id, with their newest events. Turns are left out (they have no theme): their sessions are exported.
pub async fn list_items(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<ItemLine>, sqlx::Error> {
    let found = sqlx::query!(
        r#"SELECT i.id, i.type AS item_type, t.slug AS theme, i.key, i.content, i.tags, i.status, i.source,
                  i.trust, i.source_context, i.confidence, i.protected, i.locked, i.expires_at,
                  i.valid_from, i.valid_until, i.last_verified_at, i.decay_rate,
                  coalesce(u.access_count, 0) AS "access_count!", CASE WHEN u.access_count > 0 THEN u.last_accessed END AS "last_accessed?",
                  i.attributes, i.superseded_by, a.name AS "agent?", o.name AS "owner?", p.name AS "project?", i.created_at, i.updated_at
           FROM memory_items i
           JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
           LEFT JOIN agents a ON a.user_id = i.user_id AND a.id = i.agent_id
           LEFT JOIN agents o ON o.user_id = i.user_id AND o.id = i.owner_agent_id
           LEFT JOIN projects p ON p.user_id = i.user_id AND p.id = i.project_id
           LEFT JOIN memory_uses u ON u.user_id = i.user_id AND u.item_id = i.id
           WHERE i.user_id = $1 AND i.id > $2 AND i.id <= $3 AND ($5::timestamptz IS NULL OR i.created_at <= $5)
           ORDER BY i.id LIMIT $4"#,
        user.0,
        after,
        bounds.item,
        limit,
        bounds.as_of,
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut items: Vec<ItemLine> = found
        .into_iter()
        .map(|row| ItemLine {
            id: Some(row.id),
            r#type: row.item_type,
            theme: Some(row.theme),
            key: row.key,
            content: row.content,
            tags: row.tags,
            status: Some(row.status),
            source: Some(row.source),
            trust: Some(row.trust),
            source_context: row.source_context,
            confidence: Some(row.confidence.into()),
            protected: row.protected,
            locked: Some(row.locked),
            expires_at: row.expires_at,
            valid_from: row.valid_from,
            valid_until: row.valid_until,
            last_verified_at: row.last_verified_at,
            access_count: row.access_count,
            last_accessed: row.last_accessed,
            decay_rate: row.decay_rate,
            attributes: row.attributes,
            superseded_by: row.superseded_by,
            agent: row.agent,
            owner: row.owner,
            project: row.project,
            created_at: Some(row.created_at),
            updated_at: Some(row.updated_at),
            events: Vec::new(),
        })
        .collect();
    let ids: Vec<i64> = items.iter().filter_map(|item| item.id).collect();
    if let Some(as_of) = bounds.as_of {
        let mut then = day::then(conn, user, &ids, as_of).await?;
        for item in &mut items {
            if let Some(then) = item.id.and_then(|id| then.remove(&id)) {
                item.as_then(then);
            }
        }
    }
    let events = sqlx::query!(
        r#"SELECT e.item_id AS "item_id!", e.event AS "event!", a.name AS "agent?", e.at AS "at!"
           FROM unnest($2::bigint[]) AS i (id) CROSS JOIN LATERAL (
               SELECT * FROM memory_item_events
               WHERE user_id = $1 AND item_id = i.id AND ($3::timestamptz IS NULL OR at <= $3)
               ORDER BY id DESC LIMIT $4) e
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = e.agent_id
           ORDER BY e.item_id, e.id"#,
        user.0,
        &ids,
        bounds.as_of,
        EVENTS_MAX as i64,
    )
    .fetch_all(conn)
    .await?;
    for row in events {
        if let Ok(at) = ids.binary_search(&row.item_id) {
            items[at].events.push(EventLine { event: row.event, agent: row.agent, at: row.at });
        }
    }
    Ok(items)
}

pub async fn list_calls(
    conn: &mut PgConnection,
    user: UserId,
    after: i64,
    bounds: &ExportBounds,
    limit: i64,
) -> Result<Vec<CallLine>, sqlx::Error> {
    sqlx::query_as!(
        CallLine,
        r#"SELECT c.id, c.at, a.name AS "agent?", c.tool, c.outcome, c.duration_us, c.item_ids, c.query
           FROM activity c
           LEFT JOIN agents a ON a.user_id = c.user_id AND a.id = c.agent_id
           WHERE c.user_id = $1 AND c.id > $2 AND c.id <= $3 AND ($5::timestamptz IS NULL OR c.at <= $5)
           ORDER BY c.id LIMIT $4"#,
        user.0,
        after,
        bounds.call,
        limit,
        bounds.as_of,
    )
    .fetch_all(conn)
    .await
}
