//! Items and themes: add, get, archive, correct, list. Each operation is one transaction bound to one user. Nothing here
//! deletes a row or changes an item's text.

mod add;
mod change;
pub mod chatter;
pub mod day;
pub mod derived;
mod due;
pub mod fading;
pub mod feed;
pub mod history;
mod item_type;
pub mod learned;
pub mod manage;
pub mod mentions;
pub mod model;
mod part;
pub mod passages;
pub mod period;
pub mod projects;
pub mod proposals;
pub mod provenance;
pub mod quota;
pub mod quoted;
pub mod sentences;
pub mod settle;
pub mod speakers;
pub mod store;
pub mod take_back;
pub mod themes;
pub mod timeline;
pub mod trust;
pub mod words;
pub mod write;

pub use add::{AddedItem, Adding, add_in, restate};
pub use change::{
    Correction, CorrectionTarget, Reconfirmation, archive, confirm, correct, disown, forget,
    replace_in, restore, supersede_in, unconfirm,
};
pub use day::Day;
pub use due::{archive_expired, turn, users_with_expired};
pub use history::{ItemEvent, ItemState, ReplacedItem};
pub use model::{
    ItemId, ItemType, MemoryItem, MemoryTheme, NewItem, SessionItem, Stats, Status, ThemeCount,
    ThemeNames, ThemeSlug, UncomparedItem, with_key,
};
pub use part::{DocumentPart, EpisodeSpan, TurnPosition};
pub use period::Period;
pub use projects::{Project, ProjectId, ProjectRef};
pub use provenance::{ConflictPolicy, Expiry, ItemKey, ItemSource, Provenance};
pub use themes::{
    describe_theme, find_theme, list_themes, theme_of_key, themes_for_prompt, themes_on,
};
pub use trust::Trust;

use self::proposals::{CHANGES_A_MINUTE, OPEN_MAX, ProposalReason};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::accounts::Viewer;
use crate::db::{Db, UserId};
use crate::embedding::{EmbeddingError, Embeddings, ItemEmbedding, PendingMemories};
use crate::input::Invalid;

const ADDED: &str = "added";
/// Events of `memory_item_events` that end an item's active time.
const ARCHIVED: &str = "archived";
pub(crate) const SUPERSEDED: &str = "superseded";
pub(crate) const PUT_ASIDE: &str = "put_aside";
const EXPIRED: &str = "expired";
const FADED: &str = "faded";
/// Its period.
const BEGAN: &str = "began";
const ENDED: &str = "ended";
/// Archived as a duplicate of another item.
const MERGED: &str = "merged";
/// A guess, archived because a model has read what it was made of.
const READ_AGAIN: &str = "read_again";
/// Active again.
const RESTORED: &str = "restored";
const CONFIRMED: &str = "confirmed";
/// Restated or corrected with other tags, dates, confidence or trust.
const CHANGED: &str = "changed";
const UNCONFIRMED: &str = "unconfirmed";
/// Visible to all agents; before, to one agent only.
const SHARED: &str = "shared";
/// Visible to one agent only from then on.
const OWNED: &str = "owned";

/// Limit on the events returned with an item.
const HISTORY_MAX: i64 = 500;

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("there is no item {0}")]
    NotFound(ItemId),
    #[error("{}", not_active(*.id, *.superseded_by))]
    NotActive { id: ItemId, superseded_by: Option<ItemId> },
    #[error(
        "item {id} has this key and was confirmed by the user; nothing was added: propose the change with memory_correct, or give the source user_explicit with the user's own words as source_context"
    )]
    Confirmed { id: ItemId },
    /// An agent may not change the item itself.
    #[error("{}", proposed(*.id, *.proposal, *.reason))]
    Proposed { id: ItemId, proposal: i64, reason: ProposalReason },
    #[error(
        "{OPEN_MAX} proposals of this agent wait for the user already; nothing was changed or proposed: the user decides about them on the page Learned"
    )]
    TooManyProposals,
    #[error("the ten seconds for Undo are over; nothing was changed")]
    TooLate,
    #[error("this memory has changed since; nothing was undone")]
    ChangedSince,
    #[error("no active item has this key")]
    NoSuchKey,
    #[error("there is no such theme")]
    NoSuchTheme,
    #[error(
        "{count} active items have this key, in other themes or projects; give the theme, the project or the item_id"
    )]
    KeyInThemes { count: usize },
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

fn proposed(id: ItemId, proposal: i64, reason: ProposalReason) -> String {
    let why = match reason {
        ProposalReason::Locked => {
            format!("the user confirmed item {id}, so only the user can change it")
        }
        ProposalReason::Together => {
            format!(
                "the user confirmed an item with the key of item {id}, so only the user can change it"
            )
        }
        ProposalReason::Rate => format!(
            "this agent has changed {CHANGES_A_MINUTE} items within a minute, and more wait for the user"
        ),
    };
    format!(
        "{why}; nothing was changed: proposal {proposal} waits for the user on the page Learned"
    )
}

fn not_active(id: ItemId, superseded_by: Option<ItemId>) -> String {
    let instead = match superseded_by {
        Some(newer) => format!("item {newer} took its place; use that item"),
        None => "add it again if it is true again".to_owned(),
    };
    format!("item {id} is archived or has expired; nothing was changed: {instead}")
}

/// An item, turn or document part, with the state of its embedding.
#[derive(Clone, Debug)]
pub struct ItemDetails {
    pub item: MemoryItem,
    pub embedding: ItemEmbedding,
    /// The items it replaces, newest first, at most 50.
    pub gave_way: Vec<ReplacedItem>,
    /// `None` for other sources, and in the past.
    pub strength: Option<fading::Strength>,
    /// What a text that was derived from others says of what does not hold.
    pub outdated: Option<derived::Outdated>,
}

/// Returns the source as it was on `day`. For a past day there is no strength, because it is not stored.
pub async fn get(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    id: ItemId,
    day: &Day,
) -> Result<ItemDetails, MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let found = find(&mut tx, embeddings, viewer.user_id, id, day).await?;
    tx.commit().await?;
    // For an agent it is gone as soon as its person deletes it; they still have Undo.
    match viewer.agent_id.is_some() && found.item.delete_at.is_some() {
        true => Err(MemoryError::NotFound(id)),
        false => Ok(found),
    }
}

async fn find(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    user: UserId,
    id: ItemId,
    day: &Day,
) -> Result<ItemDetails, MemoryError> {
    let found = store::find_to_read(conn, user, id).await?;
    let mut item = found.ok_or(MemoryError::NotFound(id))?;
    let now = embeddings.now();
    if !day.is_now() {
        item = day::on(conn, user, item, day, now).await?;
    }
    let states = embeddings.states(conn, user, &[id.0]).await?;
    let basis = match item.item_type.is_derived() {
        true => derived::bases(conn, user, &[id.0], day.as_of).await?.remove(&id.0),
        false => None,
    };
    Ok(ItemDetails {
        outdated: basis.and_then(|basis| basis.outdated(&item.content)),
        item,
        embedding: states[0].clone(),
        gave_way: store::list_superseded(conn, user, id, day.as_of).await?,
        strength: match day.as_of {
            None => fading::strength(conn, user, id, now).await?,
            Some(_) => None,
        },
    })
}

/// The items read from a session, in conversation order, at most `limit`; and their total number.
pub async fn of_session(
    db: &Db,
    user: UserId,
    session_id: i64,
    limit: i64,
) -> Result<(Vec<SessionItem>, i64), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let found = store::list_of_session(&mut tx, user, session_id, limit).await?;
    tx.commit().await?;
    Ok(found)
}

/// An item with its history, oldest first: the newest 500 events.
pub type ItemWithHistory = (ItemDetails, Vec<ItemEvent>);

pub async fn get_whole(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    id: ItemId,
    day: &Day,
) -> Result<ItemWithHistory, MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let found = find(&mut tx, embeddings, viewer.user_id, id, day).await?;
    let mut history = store::list_events(&mut tx, viewer.user_id, id, HISTORY_MAX).await?;
    history.reverse();
    history.retain(|event| day.as_of.is_none_or(|as_of| event.at <= as_of));
    tx.commit().await?;
    Ok((found, history))
}

/// Counts of items by status, type and theme, and of pending and failed embeddings.
pub async fn stats(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    now: OffsetDateTime,
) -> Result<(Stats, PendingMemories), MemoryError> {
    let user = viewer.user_id;
    let mut tx = db.as_user(user).await?;
    let mut stats = store::count_by_status(&mut tx, user, now).await?;
    stats.faded = fading::count_faded(&mut tx, user).await?;
    stats.by_type = store::count_by_type(&mut tx, user, now).await?;
    stats.by_theme = themes::store::fullest_themes(&mut tx, user, now, false).await?;
    let open = embeddings.waiting(&mut tx, user).await?;
    tx.commit().await?;
    Ok((stats, open))
}
