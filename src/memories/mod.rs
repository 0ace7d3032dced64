//! Items and themes: add, get, archive, list. Each operation is a transaction
//! that knows its user. Nothing here destroys a row or changes an item's text.

pub mod model;
mod stop_words;
pub mod store;
pub mod words;

pub use model::{Item, ItemEvent, ItemId, ItemType, NewItem, Status, Theme, ThemeCount, ThemeSlug};

use crate::accounts::Viewer;
use crate::activity::Call;
use crate::clock::SharedClock;
use crate::db::Db;
use crate::embedding::{EmbeddingError, EmbeddingState, Embeddings, ItemEmbedding};

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("there is no item {0}")]
    NotFound(ItemId),
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

/// What became of an item that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    pub id: ItemId,
    /// The same text was active in its theme already; this is that item.
    pub duplicate: bool,
    pub embedding: EmbeddingState,
}

/// An erasure may take an empty theme between the look at it and the insert.
const THEME_TRIES_MAX: usize = 3;

/// Adds an item; an exact duplicate of an active item in its theme is not
/// stored twice (DESIGN §3). The same text as an archived item is a new item.
/// The item, its pending vector, the job that computes it and the call's record are
/// committed together.
pub async fn add(
    db: &Db,
    clock: &SharedClock,
    embeddings: &Embeddings,
    call: &Call,
    item: &NewItem,
) -> Result<Added, MemoryError> {
    let mut tries = 1;
    loop {
        match add_once(db, clock, embeddings, call, item).await {
            Err(MemoryError::Database(error))
                if tries < THEME_TRIES_MAX && is_of_a_gone_theme(&error) =>
            {
                tries += 1;
            }
            became => return became,
        }
    }
}

fn is_of_a_gone_theme(error: &sqlx::Error) -> bool {
    let constraint = error.as_database_error().and_then(|e| e.constraint());
    constraint.is_some_and(|c| c.ends_with("_theme_id_fkey"))
}

async fn add_once(
    db: &Db,
    clock: &SharedClock,
    embeddings: &Embeddings,
    call: &Call,
    item: &NewItem,
) -> Result<Added, MemoryError> {
    let viewer = &call.viewer;
    let now = clock.now();
    let mut tx = db.as_user(viewer.user_id).await?;
    let theme = store::ensure_theme(&mut tx, viewer.user_id, item, now).await?;
    let added = loop {
        if let Some(id) = store::insert_item(&mut tx, viewer, theme, item, now).await? {
            let embedding = embeddings.note_item(&mut tx, viewer.user_id, id.0).await?;
            break Added {
                id,
                duplicate: false,
                embedding,
            };
        }
        // Nothing is found when the twin was archived in this very moment: then insert again.
        if let Some(id) = store::find_active_twin(&mut tx, viewer.user_id, theme, item).await? {
            let states = embeddings.states(&mut tx, viewer.user_id, &[id.0]).await?;
            break Added {
                id,
                duplicate: true,
                embedding: states[0].state,
            };
        }
    };
    call.write(&mut tx, added.id.0).await?;
    tx.commit().await?;
    Ok(added)
}

/// An item, and where its vector stands.
pub async fn get(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    id: ItemId,
) -> Result<(Item, ItemEmbedding), MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let found = store::find_item(&mut tx, viewer.user_id, id).await?;
    let item = found.ok_or(MemoryError::NotFound(id))?;
    let states = embeddings.states(&mut tx, viewer.user_id, &[id.0]).await?;
    tx.commit().await?;
    Ok((item, states[0].clone()))
}

/// An item with where its vector stands and what happened to it, oldest first.
pub async fn get_with_history(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    id: ItemId,
) -> Result<(Item, ItemEmbedding, Vec<ItemEvent>), MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let found = store::find_item(&mut tx, viewer.user_id, id).await?;
    let item = found.ok_or(MemoryError::NotFound(id))?;
    let history = store::list_events(&mut tx, viewer.user_id, id).await?;
    let states = embeddings.states(&mut tx, viewer.user_id, &[id.0]).await?;
    tx.commit().await?;
    Ok((item, states[0].clone(), history))
}

/// Archives an item; archiving it again changes nothing (Nova §3.2.4). The call's
/// record is committed with it.
pub async fn archive(
    db: &Db,
    clock: &SharedClock,
    call: &Call,
    id: ItemId,
) -> Result<(), MemoryError> {
    let viewer = &call.viewer;
    let mut tx = db.as_user(viewer.user_id).await?;
    let archived = store::archive_item(&mut tx, viewer, id, clock.now()).await?;
    if !archived
        && store::find_item(&mut tx, viewer.user_id, id)
            .await?
            .is_none()
    {
        return Err(MemoryError::NotFound(id));
    }
    call.write(&mut tx, id.0).await?;
    tx.commit().await?;
    Ok(())
}

/// Every theme with its count of active items, fullest first.
pub async fn list_themes(db: &Db, viewer: &Viewer) -> Result<Vec<Theme>, MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let themes = store::list_themes(&mut tx, viewer.user_id).await?;
    tx.commit().await?;
    Ok(themes)
}

/// The eleven themes with the most active items, fullest first (ten are told of, and one
/// more says that there are more); those without any are left out.
pub async fn fullest_themes(db: &Db, viewer: &Viewer) -> Result<Vec<ThemeCount>, MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let themes = store::fullest_themes(&mut tx, viewer.user_id).await?;
    tx.commit().await?;
    Ok(themes)
}
