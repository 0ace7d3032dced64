//! A user's settings for entities: how they are found, and whether searches use them.

pub mod store;

use crate::db::{Db, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntitySettings {
    /// Found by rules when sources are written.
    pub by_rules: bool,
    /// Found by the chat model, together with a session's facts and at night.
    pub by_model: bool,
    /// `memory_search` uses the query's entities.
    pub in_search: bool,
    /// The limit on entities is reached.
    pub is_full: bool,
}

impl Default for EntitySettings {
    fn default() -> Self {
        Self { by_rules: true, by_model: true, in_search: false, is_full: false }
    }
}

pub async fn of(db: &Db, user: UserId) -> Result<EntitySettings, sqlx::Error> {
    db.for_user(user, store::find).await
}

/// Saves all except `is_full`.
pub async fn save(db: &Db, user: UserId, wanted: EntitySettings) -> Result<(), sqlx::Error> {
    db.for_user(user, async |conn, user| store::save(conn, user, wanted).await).await
}
