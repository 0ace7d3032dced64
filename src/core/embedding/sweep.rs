//! Finds users whose embeddings need work, even if their queued job was lost.

use super::system::store;
use super::{COMPARED_FOR, EmbeddingError, Embeddings, RETIRED_FOR};
use crate::db::UserId;
use crate::providers::builtin::BuiltinModel;
use crate::queue;

impl Embeddings {
    /// Ordered by id.
    pub async fn users_with_work(&self) -> Result<Vec<UserId>, EmbeddingError> {
        let now = self.now();
        let system = self.system_settings().await?;
        let model = Some(system.builtin_model).filter(|model| self.shared.embedder.has(*model));
        let builtin = (system.builtin_enabled, model.map(BuiltinModel::name));
        let mut conn = self.db.system_connection().await?;
        let outlived = (now - RETIRED_FOR, now - COMPARED_FOR);
        Ok(store::list_users_with_work(&mut conn, builtin, now, outlived).await?)
    }

    /// Enqueues their jobs. Returns how many.
    pub async fn sweep(&self) -> Result<usize, EmbeddingError> {
        let now = self.now();
        let found: Vec<_> =
            self.users_with_work().await?.into_iter().map(|user| (user, now)).collect();
        let mut conn = self.db.system_connection().await?;
        queue::push_found(&mut conn, queue::EMBED, &found, now).await?;
        Ok(found.len())
    }
}
