//! Finds the users whose vectors want work, whatever became of what was pushed for them.

use super::system::store;
use super::{COMPARED_FOR, EmbeddingError, Embeddings, RETIRED_FOR};
use crate::db::UserId;
use crate::queue;

impl Embeddings {
    /// In the order of their numbers.
    pub async fn users_with_work(&self) -> Result<Vec<UserId>, EmbeddingError> {
        let now = self.now();
        let has_builtin = self.0.embedder.has_builtin();
        let mut conn = self.0.db.system_connection().await?;
        let outlived = (now - RETIRED_FOR, now - COMPARED_FOR);
        Ok(store::list_users_with_work(&mut conn, has_builtin, now, outlived).await?)
    }

    /// Pushes what they miss: how many there are.
    pub async fn sweep(&self) -> Result<usize, EmbeddingError> {
        let now = self.now();
        let found: Vec<_> = self
            .users_with_work()
            .await?
            .into_iter()
            .map(|user| (user, now))
            .collect();
        let mut conn = self.0.db.system_connection().await?;
        queue::push_found(&mut conn, queue::EMBED, &found, now).await?;
        Ok(found.len())
    }
}
