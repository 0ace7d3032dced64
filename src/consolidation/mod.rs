//! Conversations become memory: what was said in a session is read once it is complete,
//! and what is lastingly true of the user is kept as items, each with the words it comes
//! from. Nothing fails in silence: every reading ends in its row of the ledger, and what
//! it found is committed together with how it ended.

pub mod facts;
mod fallback;
mod keep;
mod keeping;
pub mod likeness;
mod prompt;
mod reading;
mod store;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod transcript;

use std::collections::HashSet;

use time::{Duration, OffsetDateTime};

use crate::db::{Db, is_of_a_gone_user};
use crate::embedding::Embeddings;
use crate::memories::MemoryError;
use crate::providers::chat::{Chat, ChatError};
use crate::sessions::ledger;
use crate::sessions::model::Due;

/// Renewed before each call of a model, and longer than one may take: a reader that was
/// killed is followed by another after this.
const LEASE: Duration = Duration::minutes(4);
/// After so many that failed, it is not tried again by itself.
const ATTEMPTS_MAX: i32 = 8;
const BACK_OFF: Duration = Duration::minutes(1);
const BACK_OFF_MAX: Duration = Duration::hours(6);
/// Due rows that are looked at together.
pub const DUE_MAX: i64 = 64;

#[derive(Debug, thiserror::Error)]
pub enum ConsolidationError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Chat(#[from] ChatError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl ConsolidationError {
    /// The account was erased while its session was read.
    pub fn is_of_a_gone_user(&self) -> bool {
        match self {
            Self::Database(error) | Self::Memory(MemoryError::Database(error)) => {
                is_of_a_gone_user(error)
            }
            Self::Chat(error) => error.is_of_a_gone_user(),
            Self::Memory(_) => false,
        }
    }
}

/// When what failed is tried again, after so many attempts, twice as long each time.
fn back_off(attempts: i32, now: OffsetDateTime) -> Option<OffsetDateTime> {
    (attempts < ATTEMPTS_MAX).then(|| {
        let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(16);
        now + (BACK_OFF * 2i32.pow(doublings)).min(BACK_OFF_MAX)
    })
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Consolidation {
    db: Db,
    embeddings: Embeddings,
    chat: Chat,
}

impl Consolidation {
    pub fn new(db: Db, embeddings: Embeddings) -> Self {
        let chat = embeddings.chat();
        Self {
            db,
            embeddings,
            chat,
        }
    }

    fn now(&self) -> OffsetDateTime {
        self.embeddings.now()
    }

    /// What is to be read now, of each user the session that has waited longest.
    pub async fn due(&self) -> Result<Vec<Due>, ConsolidationError> {
        let mut due = ledger::due_extractions(&self.db, self.now(), DUE_MAX).await?;
        let mut users = HashSet::new();
        due.retain(|one| users.insert(one.user));
        Ok(due)
    }

    /// Reads one stretch of a session and keeps what is worth it, unless somebody else is
    /// at it. Run twice it does nothing the second time; killed in the middle, nothing of
    /// it is kept and another does it again.
    pub async fn extract(&self, due: Due) -> Result<(), ConsolidationError> {
        let now = self.now();
        let mut tx = self.db.as_user(due.user).await?;
        let claimed = ledger::claim(&mut tx, due.user, due.extraction, now, now + LEASE).await?;
        let Some(row) = claimed else {
            return Ok(());
        };
        tx.commit().await?;
        let found = self.read(due.user, &row).await?;
        self.keep(due.user, &row, found).await
    }
}
