//! What a user has set about entities: who finds them, and whether searches go by them.

pub mod store;

use crate::db::{Db, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntitySettings {
    /// Found by rules, as sources are written.
    pub by_rules: bool,
    /// Read by the chat model, with the facts of a session and at night.
    pub by_model: bool,
    /// What a query names counts in `memory_search`.
    pub in_search: bool,
    /// There are as many as there may be.
    pub is_full: bool,
}

impl Default for EntitySettings {
    fn default() -> Self {
        Self {
            by_rules: true,
            by_model: true,
            in_search: false,
            is_full: false,
        }
    }
}

pub async fn of(db: &Db, user: UserId) -> Result<EntitySettings, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let settings = store::find(&mut tx, user).await?;
    tx.commit().await?;
    Ok(settings)
}

/// Whether there are as many as there may be stays as it is.
pub async fn save(db: &Db, user: UserId, wanted: EntitySettings) -> Result<(), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    store::save(&mut tx, user, wanted).await?;
    tx.commit().await
}
