//! SQL of recall. Runs as the app role in a transaction bound to its user.

use std::sync::Arc;

use serde_json::Value;
use sqlx::PgConnection;
use time::{Date, OffsetDateTime};

use super::SESSIONS_MAX;
use crate::accounts::AgentId;
use crate::clock::Zone;
use crate::db::UserId;
use crate::memories::projects::MeantProjects;
use crate::memories::{ItemId, ItemType, Period, Trust, fading};

/// An agent's settings and the state of a session.
pub struct RecallState {
    pub settings: Value,
    /// The named session, if it exists.
    pub session: Option<i64>,
    /// What it is about, by name.
    pub project: Option<String>,
    /// Ids of sources given in this session, with 0 for the summary and -1 for the project's name; `None`: nothing yet.
    pub told: Option<Vec<i64>>,
}

pub async fn find_standing(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    session: Option<&str>,
    name: &[u8],
) -> Result<Option<RecallState>, sqlx::Error> {
    sqlx::query_as!(
        RecallState,
        r#"SELECT a.settings, s.id AS "session?", p.name AS "project?", r.told AS "told?" FROM agents a
           LEFT JOIN sessions s ON s.user_id = $1 AND s.agent_id = $2 AND s.external_id = $3
           LEFT JOIN projects p ON p.user_id = $1 AND p.id = s.project_id
           LEFT JOIN recall_sessions r ON r.user_id = $1 AND r.agent_id = $2 AND r.name = $4
           WHERE a.user_id = $1 AND a.id = $2"#,
        user.0,
        agent.0,
        session,
        name,
    )
    .fetch_optional(conn)
    .await
}

/// A source that may be recalled.
#[derive(Clone, Debug)]
pub struct RecallSource {
    pub id: ItemId,
    pub item_type: ItemType,
    pub theme: Option<String>,
    pub key: Option<String>,
    /// An episode's abstract, otherwise the content.
    pub text: String,
    /// An episode's whole text.
    pub whole: Option<String>,
    pub source: String,
    pub trust: Trust,
    pub at: OffsetDateTime,
    /// Of `at`, where the person is.
    pub day: Date,
    pub period: Period,
    /// The period as it is told, empty without one.
    pub when: String,
    /// 0 to 1; 1 if it does not fade.
    pub strength: f64,
    /// See [`super::GivenItem::project`].
    pub project: Option<String>,
    /// See [`super::GivenItem::memory_of`].
    pub memory_of: Option<Arc<str>>,
    /// It was read in the session that is recalled for.
    pub is_of_session: bool,
}

/// The active sources among these ids, unordered.
pub async fn list_sources(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    session: Option<i64>,
    now: OffsetDateTime,
) -> Result<Vec<RecallSource>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, i.type AS "item_type: ItemType", t.slug AS "theme?", i.key, coalesce(e.abstract, i.content) AS "text!", i.source, i.trust AS "trust: Trust", j.name AS "project?",
                  CASE WHEN e.source_id IS NOT NULL THEN i.content END AS whole,
                  coalesce(e.ended_at, i.created_at) AS "at!", coalesce(e.session_id, i.session_id, -1) IS NOT DISTINCT FROM $3 AS "is_of_session!",
                  i.valid_from, i.valid_until, u.time_zone
           FROM users u CROSS JOIN unnest($2::bigint[]) AS f (id)
           CROSS JOIN LATERAL (
               SELECT * FROM memory_items i WHERE i.user_id = $1 AND i.id = f.id AND i.delete_at IS NULL
                 AND NOT is_shadowed(i.owner_agent_id, i.theme_id, i.key, i.content_hash, i.project_id, i.valid_from, i.valid_until, $4) OFFSET 0) i
           LEFT JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           LEFT JOIN episodes e ON e.user_id = $1 AND e.source_id = i.id
           LEFT JOIN projects j ON j.user_id = $1 AND j.id = i.project_id
           WHERE u.id = $1 AND is_live(i.status, i.live_until, $4)"#,
        user.0,
        ids,
        session,
        now,
    );
    let rows = rows.fetch_all(&mut *conn).await?;
    let strengths = fading::strengths(conn, user, ids, now).await?;
    let rows = rows.into_iter().map(|row| {
        let zone = Zone::from_column(&row.time_zone);
        let period = Period { from: row.valid_from, until: row.valid_until };
        RecallSource {
            id: ItemId(row.id),
            when: period.told(&zone),
            day: zone.local(row.at).date(),
            period,
            strength: strengths.get(&row.id).map_or(1.0, |strength| strength.value),
            item_type: row.item_type,
            theme: row.theme,
            key: row.key,
            text: row.text,
            whole: row.whole,
            source: row.source,
            trust: row.trust,
            at: row.at,
            project: row.project,
            memory_of: None,
            is_of_session: row.is_of_session,
        }
    });
    Ok(rows.collect())
}

/// Of these texts, which were written from others, those with a source of another project than these; none if `projects` is
/// `None`.
pub async fn list_of_others(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    projects: Option<&MeantProjects>,
) -> Result<Vec<i64>, sqlx::Error> {
    let Some(projects) = projects.filter(|_| !ids.is_empty()) else {
        return Ok(Vec::new());
    };
    let meant: Vec<i64> = projects.ids().collect();
    sqlx::query_scalar!(
        "SELECT DISTINCT o.item_id FROM memory_origins o JOIN memory_items i ON i.user_id = $1 AND i.id = o.source_id
         WHERE o.user_id = $1 AND o.item_id = ANY ($2) AND i.project_id <> ALL ($3)",
        user.0,
        ids,
        &meant,
    )
    .fetch_all(conn)
    .await
}

/// Adds to what a session was given: the newest 500 ids, for at most [`SESSIONS_MAX`] sessions per user.
pub async fn note_told(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    name: &[u8],
    told: &[i64],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO recall_sessions AS r (user_id, agent_id, name, told, at)
         SELECT $1, $2, $3, $4, $5
         WHERE EXISTS (SELECT 1 FROM recall_sessions WHERE user_id = $1 AND agent_id = $2 AND name = $3)
            OR (SELECT count(*) FROM (SELECT 1 FROM recall_sessions WHERE user_id = $1 LIMIT $6) s) < $6
         ON CONFLICT (user_id, agent_id, name) DO UPDATE
         SET told = trim_array(excluded.told || r.told, greatest(0, cardinality(r.told) + cardinality(excluded.told) - 500)),
             at = excluded.at",
        user.0,
        agent.0,
        name,
        told,
        now,
        SESSIONS_MAX,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Runs as the system role. Deletes a batch of sessions without recall since then. Returns how many.
pub async fn prune(conn: &mut PgConnection, oldest: OffsetDateTime) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT prune_recall_sessions($1) AS "pruned!""#, oldest)
        .fetch_one(conn)
        .await
}
