//! Further statements of consolidation, beside those of sessions and memories. Every function takes a
//! connection that has set the user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::keep::RelatedItem;
use crate::accounts::{AgentId, Viewer};
use crate::db::UserId;
use crate::memories::{ItemId, Period, ProjectId};
use crate::sessions::SessionId;

/// Whether a session may be read.
pub enum ReadPermission {
    Yes,
    /// Memory is switched off for the person or for the session's agent.
    MemoryOff,
    /// The agent's settings say no (`consolidation_enabled`).
    NotOfAgent,
    /// The account is disabled or being erased.
    Nobody,
}

pub async fn may_read(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
) -> Result<ReadPermission, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT u.memory_enabled AND a.memory_enabled AS "is_on!", u.disabled_at IS NOT NULL AS "is_disabled!",
                  coalesce((a.settings ->> 'consolidation_enabled')::boolean, true) AS "is_read!"
           FROM sessions s
           JOIN users u ON u.id = s.user_id
           JOIN agents a ON a.user_id = s.user_id AND a.id = s.agent_id
           WHERE s.user_id = $1 AND s.id = $2"#,
        user.0,
        session.0,
    )
    .fetch_one(conn)
    .await?;
    Ok(match (row.is_disabled, row.is_on, row.is_read) {
        (true, ..) => ReadPermission::Nobody,
        (false, false, _) => ReadPermission::MemoryOff,
        (false, true, false) => ReadPermission::NotOfAgent,
        (false, true, true) => ReadPermission::Yes,
    })
}

/// The viewer for reading a session: its user, with its agent. `None` if the session no longer exists.
pub async fn viewer_of(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
) -> Result<Option<Viewer>, sqlx::Error> {
    let agent = sqlx::query_scalar!(
        "SELECT agent_id FROM sessions WHERE user_id = $1 AND id = $2",
        user.0,
        session.0,
    );
    Ok(agent.fetch_optional(conn).await?.map(|agent| Viewer::agent(user, AgentId(agent))))
}

/// Active items with a key that hold, of this project and of none, as pairs of key and content, newest first: the person's words and
/// what this agent has said itself. What a model says again of them is not more than that.
pub async fn list_known(
    conn: &mut PgConnection,
    user: UserId,
    (agent, project): (Option<AgentId>, Option<ProjectId>),
    limit: i64,
    now: OffsetDateTime,
) -> Result<Vec<(String, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT key AS "key!", left(content, 300) AS "content!" FROM memory_items
           WHERE user_id = $1 AND is_live(status, live_until, $3) AND holds(valid_from, valid_until, $3)
             AND key IS NOT NULL AND theme_id IS NOT NULL AND (project_id IS NULL OR project_id = $4)
             AND (trust = 'user' OR trust = 'agent' AND agent_id = $5)
           ORDER BY created_at DESC, id DESC LIMIT $2"#,
        user.0,
        limit,
        now,
        project.map(|project| project.0),
        agent.map(|agent| agent.0),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.key, row.content)).collect())
}

/// Those of these items that are active, and the active ones with this key in any theme, if they are of this project, and have the owner
/// that a new item would get: an agent's private item neither repeats nor replaces a shared one. Excludes reflections,
/// which do not last; includes guesses that nobody has confirmed only if they are asked for. Sets no cosine.
pub async fn list_active(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    (key, project): (Option<&str>, Option<ProjectId>),
    with_guesses: bool,
    now: OffsetDateTime,
) -> Result<Vec<RelatedItem>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, t.slug, i.key, i.content, i.valid_from, i.valid_until, i.created_at,
                  i.source = 'guess' AND i.session_id IS NOT NULL AND NOT i.protected AS "is_guess!"
         FROM memory_items i
         JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
         WHERE i.user_id = $1 AND is_live(i.status, i.live_until, $4) AND i.type <> 'reflection'
           AND i.owner_agent_id IS NOT DISTINCT FROM new_owner() AND i.project_id IS NOT DISTINCT FROM $6
           AND (i.id = ANY ($2) OR replace(i.key, '_', '') = replace($3, '_', ''))
           AND ($5 OR i.source <> 'guess' OR i.session_id IS NULL OR i.protected)
         ORDER BY i.id"#,
        user.0,
        ids,
        key,
        now,
        with_guesses,
        project.map(|project| project.0),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| RelatedItem {
            id: ItemId(row.id),
            theme: row.slug,
            key: row.key,
            content: row.content,
            period: Period { from: row.valid_from, until: row.valid_until },
            created_at: row.created_at,
            is_guess: row.is_guess,
            cosine: None,
        })
        .collect())
}
