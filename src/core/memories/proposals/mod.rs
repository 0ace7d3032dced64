//! What an agent may not change itself is proposed, and the person decides: what they have confirmed, and what comes faster than
//! [`CHANGES_A_MINUTE`]. The text of a proposed correction is stored archived, linked to the item that it would replace.

pub(super) mod store;

pub use store::{reopen_of_agent, void_of_agent};

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::MemoryError;
use super::add::put_aside_in;
use super::manage::find;
use super::model::{ItemId, MemoryItem, NewItem};
use crate::accounts::{UserId, Viewer};
use crate::activity;
use crate::db::{Db, labels, write_as};
use crate::embedding::Embeddings;

/// Calls that archive or correct, by one agent within a minute; more become proposals.
pub const CHANGES_A_MINUTE: i64 = 20;
const CHANGING_TOOLS: [&str; 3] = ["memory_archive", "memory_correct", "memory_forget"];
/// Limit on the open proposals of one agent.
pub const OPEN_MAX: i64 = 100;
/// Limit on the proposals of the page.
pub const SHOWN_MAX: i64 = 50;

labels! {
    pub enum AgentChange {
        Archive = "archive",
        Correct = "correct",
    }
}

labels! {
    /// Why the agent did not make the change itself.
    pub enum ProposalReason {
        /// The person has confirmed the item.
        Locked = "locked",
        /// It has the key of one that the person has confirmed.
        Together = "together",
        /// [`CHANGES_A_MINUTE`] came before it.
        Rate = "rate",
    }
}

/// An open proposal, about an active item.
#[derive(Clone, Debug)]
pub struct AgentProposal {
    pub id: i64,
    pub change: AgentChange,
    pub reason: ProposalReason,
    pub agent: String,
    pub item: ItemId,
    pub beginning: String,
    /// Of a correction: the new item and the beginning of its text.
    pub instead: Option<(ItemId, String)>,
    pub proposed_at: OffsetDateTime,
}

/// Why this viewer's change of the item must be proposed; `None`: the person, or an agent that may make it.
///
/// # Errors
/// Database errors only.
pub(super) async fn reason(
    conn: &mut PgConnection,
    viewer: &Viewer,
    is_locked: bool,
    now: OffsetDateTime,
) -> Result<Option<ProposalReason>, sqlx::Error> {
    let Some(agent) = viewer.agent_id else {
        return Ok(None);
    };
    if is_locked {
        return Ok(Some(ProposalReason::Locked));
    }
    let (since, enough) = (now - Duration::MINUTE, CHANGES_A_MINUTE);
    let made =
        activity::count_calls(conn, viewer.user_id, agent, &CHANGING_TOOLS, since, enough).await?;
    Ok((made >= CHANGES_A_MINUTE).then_some(ProposalReason::Rate))
}

/// Proposes to archive the item, or to replace it by another. Idempotent. Needs a transaction of
/// [`Db::as_writer`](crate::db::Db::as_writer), which the caller commits.
///
/// # Errors
/// [`MemoryError::Proposed`] is the outcome. Else [`MemoryError::TooManyProposals`], or a database error.
pub(super) async fn propose_in(
    conn: &mut PgConnection,
    embeddings: Option<&Embeddings>,
    viewer: &Viewer,
    (item, instead): (&MemoryItem, Option<&NewItem>),
    reason: ProposalReason,
    now: OffsetDateTime,
) -> Result<MemoryError, MemoryError> {
    let user = viewer.user_id;
    let Some(agent) = viewer.agent_id else {
        return Err(MemoryError::NotFound(item.id));
    };
    let proposed = |proposal| MemoryError::Proposed { id: item.id, proposal, reason };
    for (known, text) in store::list_of(conn, user, agent, item.id).await? {
        let is_same = match (text, instead) {
            (None, None) => true,
            (Some(text), Some(new)) => find(conn, user, text).await?.says_what(new),
            _ => false,
        };
        if is_same {
            return Ok(proposed(known));
        }
    }
    if store::count_open(conn, user, agent, OPEN_MAX).await? >= OPEN_MAX {
        return Err(MemoryError::TooManyProposals);
    }
    let instead = match instead.zip(embeddings) {
        Some((new, embeddings)) => {
            write_as(conn, item.owner.as_ref().map(|(id, _)| *id)).await?;
            let added = put_aside_in(conn, embeddings, viewer, new, item.id, now).await?;
            Some(added.id)
        }
        None => None,
    };
    Ok(proposed(store::insert(conn, user, agent, (item.id, instead), reason, now).await?))
}

/// The open proposals about an item, or all, newest first, at most [`SHOWN_MAX`]; and whether there are more.
///
/// # Errors
/// Database errors only.
pub async fn list(
    db: &Db,
    user: UserId,
    item: Option<ItemId>,
) -> Result<(Vec<AgentProposal>, bool), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let mut found = store::list(&mut tx, user, item, SHOWN_MAX + 1).await?;
    tx.commit().await?;
    let has_more = found.len() > SHOWN_MAX as usize;
    found.truncate(SHOWN_MAX as usize);
    Ok((found, has_more))
}

/// Dismisses open proposals. Returns how many.
///
/// # Errors
/// Database errors only.
pub async fn dismiss(
    db: &Db,
    user: UserId,
    proposals: &[i64],
    now: OffsetDateTime,
) -> Result<usize, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let dismissed = store::decide(&mut tx, user, proposals, "dismissed", now).await?;
    tx.commit().await?;
    Ok(dismissed)
}

/// A proposal to decide.
pub(super) struct Undecided {
    pub id: i64,
    pub item: ItemId,
    pub instead: Option<ItemId>,
}
