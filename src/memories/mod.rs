//! Items and themes: add, get, archive, correct, list. Each operation is a transaction
//! that knows its user. Nothing here destroys a row or changes an item's text.

mod add;
mod change;
pub mod model;
pub mod provenance;
pub mod quota;
pub mod speakers;
mod stop_words;
pub mod store;
pub mod words;

pub use add::{Added, Adding, Tries, add_in, say_again};
pub use change::{
    Correction, Target, archive, confirm, correct, forget, supersede_in, sweep_expired,
};
pub use model::{
    Item, ItemEvent, ItemId, ItemType, NewItem, OfSession, Stats, Status, Theme, ThemeCount,
    ThemeNames, ThemeSlug, Turn,
};
pub use provenance::{Expiry, ItemKey, Provenance, Source, Yielding};
pub use stop_words::is_stop_word;

use time::OffsetDateTime;

use crate::accounts::Viewer;
use crate::activity::Call;
use crate::clock::SharedClock;
use crate::db::{Db, UserId};
use crate::embedding::{EmbeddingError, Embeddings, ItemEmbedding, Waiting};
use crate::input::Invalid;

/// Of an item's history, when it left what is active.
const ARCHIVED: &str = "archived";
const SUPERSEDED: &str = "superseded";
const EXPIRED: &str = "expired";

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("there is no item {0}")]
    NotFound(ItemId),
    #[error("{}", not_active(*.id, *.superseded_by))]
    NotActive {
        id: ItemId,
        superseded_by: Option<ItemId>,
    },
    #[error(
        "item {id} has this key and is confirmed; nothing was added: correct it with memory_correct, or give the source user_explicit when the user said so"
    )]
    Confirmed { id: ItemId },
    #[error("no active item has this key")]
    NoSuchKey,
    #[error("there is no such theme")]
    NoSuchTheme,
    #[error("{count} active items have this key, in as many themes; give the theme or the item_id")]
    KeyInThemes { count: usize },
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

fn not_active(id: ItemId, superseded_by: Option<ItemId>) -> String {
    let instead = match superseded_by {
        Some(newer) => format!("item {newer} took its place: use that"),
        None => "add it anew if it holds again".to_owned(),
    };
    format!("item {id} is archived or has expired; nothing was changed: {instead}")
}

/// An item or a turn, and where its vector stands.
pub async fn get(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    id: ItemId,
) -> Result<(Item, ItemEmbedding), MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let found = store::find_to_read(&mut tx, viewer.user_id, id).await?;
    let item = found.ok_or(MemoryError::NotFound(id))?;
    let states = embeddings.states(&mut tx, viewer.user_id, &[id.0]).await?;
    tx.commit().await?;
    Ok((item, states[0].clone()))
}

/// Items that came of a session of the user, in the order of what was said, at most `limit`; and
/// how many there are.
pub async fn of_session(
    db: &Db,
    user: UserId,
    session_id: i64,
    limit: i64,
) -> Result<(Vec<OfSession>, i64), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let found = store::list_of_session(&mut tx, user, session_id, limit).await?;
    tx.commit().await?;
    Ok(found)
}

/// An item or a turn with all that is known of it.
pub struct Whole {
    pub item: Item,
    pub embedding: ItemEmbedding,
    /// Oldest first.
    pub history: Vec<ItemEvent>,
    /// Those whose place it took, newest first.
    pub superseded: Vec<ItemId>,
}

pub async fn get_whole(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    id: ItemId,
) -> Result<Whole, MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let found = store::find_to_read(&mut tx, viewer.user_id, id).await?;
    let item = found.ok_or(MemoryError::NotFound(id))?;
    let history = store::list_events(&mut tx, viewer.user_id, id).await?;
    let superseded = store::list_superseded(&mut tx, viewer.user_id, id).await?;
    let states = embeddings.states(&mut tx, viewer.user_id, &[id.0]).await?;
    tx.commit().await?;
    Ok(Whole {
        item,
        embedding: states[0].clone(),
        history,
        superseded,
    })
}

/// At most so many themes, each with its count of active items, fullest first; and whether there
/// are more.
pub async fn list_themes(
    db: &Db,
    viewer: &Viewer,
    limit: usize,
    now: OffsetDateTime,
) -> Result<(Vec<Theme>, bool), MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let ask = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut themes = store::list_themes(&mut tx, viewer.user_id, ask, now).await?;
    tx.commit().await?;
    let has_more = themes.len() > limit;
    themes.truncate(limit);
    Ok((themes, has_more))
}

/// Changes how a theme is called and described. The call's record is committed with it.
pub async fn describe_theme(
    db: &Db,
    clock: &SharedClock,
    call: &Call,
    slug: &ThemeSlug,
    names: &ThemeNames,
) -> Result<Theme, MemoryError> {
    let (user, now) = (call.viewer.user_id, clock.now());
    let mut tx = db.as_user(user).await?;
    if !store::update_theme(&mut tx, user, slug, names, now).await? {
        return Err(MemoryError::NoSuchTheme);
    }
    let themes = store::list_themes(&mut tx, user, quota::THEMES_MAX, now).await?;
    let theme = themes.into_iter().find(|theme| theme.slug == slug.as_str());
    let theme = theme.ok_or(MemoryError::NoSuchTheme)?;
    call.write(&mut tx, Vec::new()).await?;
    tx.commit().await?;
    Ok(theme)
}

/// The eleven themes with the most active items, fullest first (ten are told of, and one
/// more says that there are more); those without any are left out.
pub async fn fullest_themes(
    db: &Db,
    viewer: &Viewer,
    now: OffsetDateTime,
) -> Result<Vec<ThemeCount>, MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let themes = store::fullest_themes(&mut tx, viewer.user_id, now).await?;
    tx.commit().await?;
    Ok(themes)
}

/// Counts of items by status, type and theme, and of the vectors that are still to be made:
/// pending, and failed.
pub async fn stats(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    now: OffsetDateTime,
) -> Result<(Stats, Waiting), MemoryError> {
    let user = viewer.user_id;
    let mut tx = db.as_user(user).await?;
    let mut stats = store::count_by_status(&mut tx, user, now).await?;
    stats.by_type = store::count_by_type(&mut tx, user, now).await?;
    stats.by_theme = store::fullest_themes(&mut tx, user, now).await?;
    let open = embeddings.waiting(&mut tx, user).await?;
    tx.commit().await?;
    Ok((stats, open))
}
