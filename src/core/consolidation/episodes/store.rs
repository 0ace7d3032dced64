//! The statements of episodes, as the app role in a transaction that has set the user; those that change
//! something, in one that has raised the user's revision.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{EpisodeDraft, EpisodeView, ImportedEpisode, SummaryAuthor};
use crate::accounts::AgentId;
use crate::db::UserId;
use crate::memories::Trust;
use crate::sessions::SessionId;
use crate::sessions::model::SessionExtraction;

/// The episode of a stretch, and who wrote it.
pub async fn find_known(
    conn: &mut PgConnection,
    user: UserId,
    session: i64,
    first_position: i32,
) -> Result<Option<(i64, SummaryAuthor)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT source_id, made_by AS "made_by: SummaryAuthor" FROM episodes WHERE user_id = $1 AND session_id = $2 AND first_position = $3"#,
        user.0,
        session,
        first_position,
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| (row.source_id, row.made_by)))
}

/// Days for which the episodes of an agent are kept.
pub async fn find_days(
    conn: &mut PgConnection,
    user: UserId,
    agent: Option<AgentId>,
) -> Result<i32, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT coalesce((a.settings ->> 'episodic_ttl_days')::integer, u.episode_days) AS "days!"
           FROM users u LEFT JOIN agents a ON a.user_id = u.id AND a.id = $2 WHERE u.id = $1"#,
        user.0,
        agent.map(|agent| agent.0),
    )
    .fetch_one(conn)
    .await
}

pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    source: i64,
    row: &SessionExtraction,
    last_position: i32,
    draft: &EpisodeDraft,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO episodes (user_id, source_id, session_id, first_position, last_position, abstract, made_by, began_at, ended_at,
                               kept_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        user.0,
        source,
        row.session_id.0,
        row.first_position,
        last_position,
        draft.short,
        draft.made_by.as_str(),
        draft.began_at,
        draft.ended_at,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The last episode of a session, before it is replaced.
pub struct NewestEpisode {
    pub source_id: i64,
    pub agent_id: Option<i64>,
    pub owner_id: Option<i64>,
    pub project_id: Option<i64>,
    pub first_position: i32,
    pub last_position: i32,
    pub made_by: SummaryAuthor,
    pub trust: Trust,
    pub tags: Vec<String>,
    pub began_at: OffsetDateTime,
    pub ended_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
}

pub async fn find_newest(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
) -> Result<Option<NewestEpisode>, sqlx::Error> {
    sqlx::query_as!(
        NewestEpisode,
        r#"SELECT e.source_id, i.agent_id, i.owner_agent_id AS owner_id, i.project_id, e.first_position, e.last_position, e.made_by AS "made_by: SummaryAuthor", i.trust AS "trust: Trust", i.tags, e.began_at, e.ended_at,
                i.expires_at
         FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
         WHERE e.user_id = $1 AND e.session_id = $2 ORDER BY e.first_position DESC LIMIT 1"#,
        user.0,
        session.0,
    )
    .fetch_optional(conn)
    .await
}

pub async fn insert_retold(
    conn: &mut PgConnection,
    user: UserId,
    source: i64,
    session: SessionId,
    newest: &NewestEpisode,
    short: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO episodes (user_id, source_id, session_id, first_position, last_position, abstract, made_by, began_at, ended_at,
                               kept_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        user.0,
        source,
        session.0,
        newest.first_position,
        newest.last_position,
        short,
        SummaryAuthor::Agent.as_str(),
        newest.began_at,
        newest.ended_at,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An episode with the same period and text.
pub async fn find_imported(
    conn: &mut PgConnection,
    user: UserId,
    taken: &ImportedEpisode<'_>,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT e.source_id FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
         WHERE e.user_id = $1 AND e.began_at = $2 AND e.ended_at = $3 AND i.content = $4 LIMIT 1",
        user.0,
        taken.began_at,
        taken.ended_at,
        taken.summary,
    )
    .fetch_optional(conn)
    .await
}

/// Counts the episodes without a session, up to `limit`.
pub async fn count_taken(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (
               SELECT FROM episodes WHERE user_id = $1 AND session_id IS NULL LIMIT $2) e"#,
        user.0,
        limit,
    )
    .fetch_one(conn)
    .await
}

pub async fn insert_taken(
    conn: &mut PgConnection,
    user: UserId,
    source: i64,
    taken: &ImportedEpisode<'_>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO episodes (user_id, source_id, first_position, last_position, abstract, made_by, began_at, ended_at, promoted_at,
                               kept_at)
         VALUES ($1, $2, 1, 1, $3, $4, $5, $6, $7, $8)",
        user.0,
        source,
        taken.short,
        taken.made_by.as_str(),
        taken.began_at,
        taken.ended_at,
        taken.promoted_at,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn list_expired(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT e.source_id FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
         WHERE e.user_id = $1 AND i.expires_at <= $2 ORDER BY e.source_id LIMIT $3",
        user.0,
        now,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns how many existed.
pub async fn remove(conn: &mut PgConnection, sources: &[i64]) -> Result<usize, sqlx::Error> {
    if sources.is_empty() {
        return Ok(0);
    }
    let removed = sqlx::query_scalar!(r#"SELECT remove_episodes($1) AS "removed!""#, sources);
    let removed = removed.fetch_one(conn).await?;
    Ok(usize::try_from(removed).unwrap_or_default())
}

pub async fn list_of_sessions(
    conn: &mut PgConnection,
    user: UserId,
    sessions: &[i64],
) -> Result<Vec<EpisodeView>, sqlx::Error> {
    sqlx::query_as!(
        EpisodeView,
        r#"SELECT e.session_id AS "session!", e.first_position, e.last_position, e.abstract AS short, e.made_by AS "made_by: SummaryAuthor", i.content AS summary
           FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
           WHERE e.user_id = $1 AND e.session_id = ANY ($2) ORDER BY e.session_id, e.first_position LIMIT 500"#,
        user.0,
        sessions,
    )
    .fetch_all(conn)
    .await
}
