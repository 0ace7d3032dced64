//! Turns conversations into memory: reads each completed session and stores lasting facts about the user as
//! items, each with the words it comes from. Nothing fails silently: every reading ends in its row of the
//! ledger, in the same transaction as what it found.

mod category;
mod compare;
mod comparison;
pub mod dreaming;
mod enrichment;
pub mod episodes;
mod exclusive;
mod facts;
mod fallback;
mod guesses;
mod keep;
mod keeping;
pub mod likeness;
pub mod lineage;
mod model;
mod named;
pub mod note;
pub(crate) mod prompt;
mod proof;
mod reading;
pub mod reflection;
mod round;
pub mod same;
mod store;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod transcript;

use std::time::Duration as StdDuration;

use time::{Duration, OffsetDateTime};

use crate::accounts::store::find_time_zone;
use crate::clock::{SharedClock, Zone};
use crate::db::actor::{self, Actor};
use crate::db::{Db, UserId, is_of_a_gone_user};
use crate::embedding::Embeddings;
use crate::memories::quoted::own_words;
pub(crate) use crate::memories::sentences;
use crate::memories::{ItemKey, MemoryError};
use crate::providers::chat::{Chat, ChatError};
use crate::queue::Slice;
use crate::search::Search;
use crate::sessions::model::{
    DueExtraction, ExtractionCounts, ExtractionEnd, ExtractionOutcome, SessionExtraction,
};
use crate::sessions::{self, ledger};
pub use compare::ComparedItems;
pub use round::Round;
use transcript::without_own_memory;

/// A stretch that was begun this often without an end (the server died each time) is given up, and the ledger
/// says so.
const BEGUN_MAX: i32 = 16;
/// After this many failures there is no automatic retry.
const ATTEMPTS_MAX: i32 = 8;
const BACK_OFF: Duration = Duration::minutes(1);
const BACK_OFF_MAX: Duration = Duration::hours(6);

const NEVER_ENDED: &str = "the server ended each time in the middle of it";
const NOT_KEPT: &str = "what was found could not be kept";
const PANICKED: &str = "reading it ended before its time";

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

    /// Not retryable at once: the same input fails again. An unreachable database is different.
    fn is_of_what_was_read(&self) -> bool {
        if self.is_of_a_gone_user() {
            return false;
        }
        match self {
            Self::Database(error) | Self::Memory(MemoryError::Database(error)) => match error {
                // SQLSTATE classes 22 (invalid value) and 23 (constraint violation).
                sqlx::Error::Database(error) => {
                    let code = error.code().unwrap_or_default();
                    code.starts_with("22") || code.starts_with("23")
                }
                // Erased in the meantime.
                sqlx::Error::RowNotFound => true,
                _ => false,
            },
            Self::Memory(_) => true,
            Self::Chat(_) => false,
        }
    }
}

/// Limits of one call to a model.
#[derive(Clone, Copy, Debug)]
pub struct AskLimits {
    pub call_deadline: StdDuration,
    /// An incomplete fact at the end is counted as malformed; those before it are kept.
    pub answer_tokens_max: u32,
}

impl Default for AskLimits {
    fn default() -> Self {
        Self { call_deadline: StdDuration::from_secs(120), answer_tokens_max: 2_048 }
    }
}

/// Limit on the messages with a quote that are asked whether they prove what it is given for.
const PROVING_MAX: usize = 10;

/// Whether a stored message of the user has this quote in their own words, and proves the content ([`proof`]).
pub async fn is_said_by_user(
    db: &Db,
    user: UserId,
    quote: &str,
    key: Option<&ItemKey>,
    content: &str,
) -> Result<bool, sqlx::Error> {
    let words = likeness::flat(quote);
    if words.chars().count() < likeness::REPEATED_CHARS_MIN {
        return Ok(false);
    }
    // The database lower-cases only ASCII reliably: without an ASCII word, all recent messages are compared
    // here.
    let longest = words
        .split(|c: char| !c.is_ascii_alphanumeric())
        .max_by_key(|word| word.len())
        .unwrap_or_default();
    let said = sessions::said_by_user(db, user, longest).await?;
    let content = proof::claim_of(key.map(ItemKey::as_str), content);
    let is_own = move || {
        let own = |text: &String| likeness::flat(&own_words(&without_own_memory(text)));
        let quoted = said.iter().filter(|text| own(text).contains(&words));
        quoted.take(PROVING_MAX).any(|text| proof::proves(&content, text))
    };
    Ok(reading::off_the_runtime(is_own).await)
}

/// When to retry after this many attempts: exponential backoff.
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
    search: Search,
    chat: Chat,
    clock: SharedClock,
    limits: AskLimits,
}

impl Consolidation {
    pub fn new(search: Search, chat: Chat, clock: SharedClock) -> Self {
        Self {
            db: search.db().clone(),
            embeddings: search.embeddings().clone(),
            search,
            chat,
            clock,
            limits: AskLimits::default(),
        }
    }

    pub fn with_limits(self, limits: AskLimits) -> Self {
        Self { limits, ..self }
    }

    fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    /// The person's time zone.
    async fn zone(&self, user: UserId) -> Result<Zone, sqlx::Error> {
        let zone = self.db.for_user(user, find_time_zone).await?;
        Ok(zone.unwrap_or(Zone::utc()))
    }

    /// Tells the slice which chat provider a run for the user will call.
    pub async fn tell_endpoint(
        &self,
        user: UserId,
        slice: &Slice,
    ) -> Result<(), ConsolidationError> {
        let (_, effective) = self.chat.chosen(user).await?;
        if let Some(endpoint) = effective.settings() {
            slice.calls(&endpoint.url);
        }
        Ok(())
    }

    /// Users who have sessions to be read now.
    pub async fn users_with_sessions_due(&self) -> Result<Vec<UserId>, ConsolidationError> {
        Ok(ledger::users_due(&self.db, self.now()).await?)
    }

    /// The user's next stretch to be read, and when.
    pub async fn next_due(
        &self,
        user: UserId,
    ) -> Result<Option<(DueExtraction, OffsetDateTime)>, ConsolidationError> {
        Ok(ledger::next_due(&self.db, user, self.now()).await?)
    }

    /// Reads one stretch of a session and stores what is worth keeping. The caller holds the user's job.
    /// Idempotent; if it is killed, nothing is stored and another run reads it again.
    pub async fn extract(&self, due: DueExtraction) -> Result<(), ConsolidationError> {
        let now = self.now();
        let mut tx = self.db.as_user(due.user).await?;
        let claimed = ledger::claim(&mut tx, due.user, due.extraction, now).await?;
        let Some(row) = claimed else {
            return Ok(());
        };
        tx.commit().await?;
        if row.outcome == ExtractionOutcome::Pending && row.attempts > BEGUN_MAX {
            return self.give_up(due.user, &row, NEVER_ENDED, None).await;
        }
        let mut tx = self.db.as_user(due.user).await?;
        let viewer = store::viewer_of(&mut tx, due.user, row.session_id).await?;
        tx.commit().await?;
        // Erased in the meantime.
        let Some(viewer) = viewer else {
            return Ok(());
        };
        let reading = async {
            let found = self.read(due.user, &row).await?;
            self.keep(&viewer, &row, found).await
        };
        // Compare only with what the session's agent may see.
        let by = viewer.agent_id.map(|agent| Actor::OnBehalf { user: due.user, agent_id: agent.0 });
        let (ended, _) = actor::scope(by, &self.clock, reading).await;
        match ended {
            Err(error) if error.is_of_what_was_read() => {
                let user = due.user.0;
                tracing::warn!(user, %error, "what was read in a session could not be kept");
                let again = back_off(row.attempts, self.now());
                self.give_up(due.user, &row, NOT_KEPT, again).await
            }
            ended => ended,
        }
    }

    /// The reading task ended without a result, such as by a panic: counts as a failure.
    pub async fn record_panic(&self, due: DueExtraction) -> Result<(), ConsolidationError> {
        let mut tx = self.db.as_user(due.user).await?;
        let row = ledger::find_extraction(&mut tx, due.user, due.extraction).await?;
        tx.commit().await?;
        match row {
            Some(row) => {
                let again = back_off(row.attempts, self.now());
                self.give_up(due.user, &row, PANICKED, again).await
            }
            None => Ok(()),
        }
    }

    async fn give_up(
        &self,
        user: UserId,
        row: &SessionExtraction,
        why: &str,
        next_try_at: Option<OffsetDateTime>,
    ) -> Result<(), ConsolidationError> {
        let ending = ExtractionEnd {
            outcome: ExtractionOutcome::Failed,
            reason: Some(why),
            counts: ExtractionCounts::default(),
            is_fallback: row.is_fallback,
            model: None,
            next_try_at,
            windows_read: row.windows_read,
        };
        let mut tx = self.db.as_user(user).await?;
        ledger::finish(&mut tx, user, row, &ending, self.now()).await?;
        tx.commit().await?;
        Ok(())
    }
}
