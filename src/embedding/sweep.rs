//! Finds the users whose vectors want work, whatever became of what was pushed for them.

use super::system::store;
use super::{EmbeddingError, Embeddings, RETIRED_FOR};
use crate::db::UserId;

impl Embeddings {
    /// In the order of their numbers.
    pub async fn users_with_work(&self) -> Result<Vec<UserId>, EmbeddingError> {
        let now = self.now();
        let has_builtin = self.0.embedder.has_builtin();
        let mut conn = self.0.db.system_connection().await?;
        Ok(store::list_users_with_work(&mut conn, has_builtin, now, now - RETIRED_FOR).await?)
    }
}
