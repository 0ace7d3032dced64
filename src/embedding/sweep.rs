//! Finds the users whose vectors want work and gives each a job: at the start
//! and every minute. Jobs are hints; whatever became of them, this brings the
//! work on again.

use super::system::store;
use super::{EmbeddingError, Embeddings, RETIRED_FOR};
use crate::queue;

impl Embeddings {
    /// Returns how many users have work.
    pub async fn sweep(&self) -> Result<usize, EmbeddingError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_system().await?;
        let has_builtin = self.0.embedder.has_builtin();
        let users =
            store::list_users_with_work(&mut tx, has_builtin, now, now - RETIRED_FOR).await?;
        for user in &users {
            // A worker may have gone with the job in its hands, and the job's key with it.
            queue::started(&mut tx, *user).await?;
            // One that waits for a lease which a restart ended need not wait any longer.
            queue::push_now(&mut tx, *user, now).await?;
        }
        tx.commit().await?;
        Ok(users.len())
    }
}
