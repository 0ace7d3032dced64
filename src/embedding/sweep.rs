//! Finds the users whose vectors want work and gives each a job: at the start
//! and every minute. Jobs are hints; whatever became of them, this brings the
//! work on again.

use time::OffsetDateTime;

use super::system::store;
use super::{EmbeddingError, Embeddings, RETIRED_FOR};
use crate::db::{UserId, go_on};
use crate::queue::{self, QueueError};

impl Embeddings {
    /// Returns how many users have work.
    pub async fn sweep(&self) -> Result<usize, EmbeddingError> {
        let now = self.0.clock.now();
        let has_builtin = self.0.embedder.has_builtin();
        let mut tx = self.0.db.as_system().await?;
        let users =
            store::list_users_with_work(&mut tx, has_builtin, now, now - RETIRED_FOR).await?;
        tx.commit().await?;
        for user in &users {
            match self.give_job(*user, now).await {
                Err(
                    EmbeddingError::Database(error)
                    | EmbeddingError::Queue(QueueError::Database(error)),
                ) => {
                    go_on("embedding", *user, Err::<(), _>(error))?;
                }
                given => given?,
            }
        }
        Ok(users.len())
    }

    async fn give_job(&self, user: UserId, now: OffsetDateTime) -> Result<(), EmbeddingError> {
        let mut tx = self.0.db.as_system().await?;
        // A worker may have gone with the job in its hands, and the job's key with it.
        queue::started(&mut tx, user).await?;
        // One that waits for a lease which a restart ended need not wait any longer.
        queue::push_now(&mut tx, user, now).await?;
        Ok(tx.commit().await?)
    }
}
