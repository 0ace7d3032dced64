//! Replaces an episode with a summary that its agent sends after the session was read.

use super::{SUMMARY_CHARS_MIN, SummaryAuthor, cut, is_telling, least, sentences, store};
use crate::accounts::UserId;
use crate::consolidation::ConsolidationError;
use crate::db::Db;
use crate::embedding::Embeddings;
use crate::memories::write::{NewSource, SourceOwner, write};
use crate::memories::{MemoryError, Trust};
use crate::sessions::SessionId;

/// Replaces the newest episode of a session with the agent's summary. False if there is none, if the agent wrote it
/// already, or if the summary is too short to say anything.
///
/// # Errors
/// Database errors, and an exceeded limit of embeddings.
pub async fn retell(
    db: &Db,
    embeddings: &Embeddings,
    user: UserId,
    session: SessionId,
    summary: &str,
) -> Result<bool, ConsolidationError> {
    if summary.chars().count() < SUMMARY_CHARS_MIN {
        return Ok(false);
    }
    let now = embeddings.now();
    let mut tx = db.as_writer(user).await?;
    let newest = store::find_newest(&mut tx, user, session).await?;
    let Some(newest) = newest.filter(|newest| newest.made_by != SummaryAuthor::Agent) else {
        return Ok(false);
    };
    store::remove(&mut tx, &[newest.source_id]).await?;
    let source = NewSource {
        agent_id: newest.agent_id,
        owner: SourceOwner::given(newest.owner_id),
        source: "conversation",
        trust: least(newest.trust, Trust::Agent).as_str(),
        created_at: newest.ended_at.min(now),
        expires_at: newest.expires_at,
        ..NewSource::new("episode", summary, None, &newest.tags, now)
    };
    let written = write(&mut tx, user, &[source], now).await?;
    if let Some(Some(id)) = written.ids.first() {
        let first = sentences(summary).map(str::trim).find(is_telling);
        let short = cut(first.unwrap_or(summary));
        store::insert_retold(&mut tx, user, id.0, session, &newest, &short, now).await?;
        let seen_to = embeddings.see_to(&mut tx, user, written.noted).await;
        seen_to.map_err(MemoryError::from)?;
    }
    tx.commit().await?;
    Ok(true)
}
