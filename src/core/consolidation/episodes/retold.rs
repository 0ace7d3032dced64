//! Replaces an episode with a summary that its agent sends after the session was read.

use sqlx::PgConnection;

use super::store::{self, NewestEpisode};
use super::{SummaryAuthor, cut, heard_in, is_telling, is_too_short, sentences};
use crate::accounts::UserId;
use crate::consolidation::ConsolidationError;
use crate::consolidation::transcript::ToolNames;
use crate::db::Db;
use crate::embedding::Embeddings;
use crate::memories::write::{NewSource, SourceOwner, write};
use crate::memories::{MemoryError, Trust};
use crate::sessions::{SessionId, ledger};

/// Pages of messages that are looked through for their trust; more count as external.
const PAGES_MAX: usize = 8;

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
    if is_too_short(summary) {
        return Ok(false);
    }
    let now = embeddings.now();
    let mut tx = db.as_writer(user).await?;
    let newest = store::find_newest(&mut tx, user, session).await?;
    let Some(newest) = newest.filter(|newest| newest.made_by != SummaryAuthor::Agent) else {
        return Ok(false);
    };
    let heard = heard(&mut tx, user, session, &newest).await?;
    store::remove(&mut tx, &[newest.source_id]).await?;
    let source = NewSource {
        agent_id: newest.agent_id,
        owner: SourceOwner::given(newest.owner_id),
        project_id: newest.project_id,
        source: "conversation",
        trust: newest.trust.min(heard).min(Trust::Agent).as_str(),
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

/// The least trust of what the agent has heard in the stretch. An extract's own leaves tool results out.
async fn heard(
    conn: &mut PgConnection,
    user: UserId,
    session: SessionId,
    newest: &NewestEpisode,
) -> Result<Trust, sqlx::Error> {
    if newest.made_by != SummaryAuthor::Extract {
        return Ok(newest.trust);
    }
    let (first, last) = (newest.first_position, newest.last_position);
    let (mut messages, mut after) = (Vec::new(), 0);
    for _ in 0..PAGES_MAX {
        let page = ledger::messages_of(&mut *conn, user, session, first..=last, after).await?;
        after = page.last().map_or(last, |message| message.position);
        messages.extend(page);
        if after >= last {
            return Ok(heard_in(&messages, &ToolNames::of(&messages)));
        }
    }
    Ok(Trust::External)
}
