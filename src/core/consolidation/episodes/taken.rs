//! Imported episodes, which have no session here.

use sqlx::PgConnection;

use super::{ImportedEpisode, store};
use crate::accounts::{AgentId, UserId};
use crate::embedding::{EmbeddingError, Embeddings};
use crate::memories::ProjectId;
use crate::memories::write::{NewSource, SourceOwner, write};

/// Maximum episodes without a session per user.
const TAKEN_MAX: i64 = 100_000;

/// Imports an episode, in a transaction that raises the user's revision. Returns its id, also if it exists
/// already; `None` if it has expired or the limit is reached.
///
/// # Errors
/// Database errors, and an exceeded limit of embeddings.
pub async fn import(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    user: UserId,
    (agent, owner, project): (Option<AgentId>, Option<i64>, Option<ProjectId>),
    taken: &ImportedEpisode<'_>,
) -> Result<Option<i64>, EmbeddingError> {
    let now = embeddings.now();
    let is_over = taken.expires_at.is_some_and(|at| at <= now);
    if let Some(known) = store::find_imported(&mut *conn, user, taken).await? {
        return Ok(Some(known));
    }
    if is_over || store::count_taken(&mut *conn, user, TAKEN_MAX).await? >= TAKEN_MAX {
        return Ok(None);
    }
    let source = NewSource {
        agent_id: agent.map(|agent| agent.0),
        owner: SourceOwner::given(owner),
        project_id: project.map(|project| project.0),
        source: "conversation",
        trust: taken.trust.as_str(),
        created_at: taken.ended_at.min(now),
        expires_at: taken.expires_at,
        ..NewSource::new("episode", taken.summary, None, taken.topics, now)
    };
    let written = write(&mut *conn, user, &[source], now).await?;
    let id = written.ids.first().copied().flatten();
    if let Some(id) = id {
        store::insert_taken(&mut *conn, user, id.0, taken, now).await?;
        embeddings.see_to(conn, user, written.noted).await?;
    }
    Ok(id.map(|id| id.0))
}
