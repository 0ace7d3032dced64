//! The summary: one narrative of a user's memory, written by the user's chat model once the memory has not
//! changed for a while, with the items it is based on. The old text stays until a new one is ready, with one
//! exception: if one of its items is erased, the text is deleted at once (docs/consolidation.md).

pub(in crate::consolidation) mod facts;
pub(super) mod guard;
pub(super) mod narrative;
mod store;

pub(super) use store::hold_items;

use time::{Duration, OffsetDateTime};

use super::{Consolidation, ConsolidationError, back_off};
use crate::db::{UserId, is_of_a_gone_user, log_user_error};
use crate::memories::derived::{self, TextBasis};
use crate::memories::{ItemId, Trust};
use crate::providers::chat::{ChatError, ChatPurpose};
use crate::providers::settings::Effective;
use crate::queue;
use facts::PromptFact;

/// The model's temperature (Navi).
const TEMPERATURE: f32 = 0.3;
/// Maximum length of the text.
pub const WORDS_MAX: usize = 400;
/// Waits until the memory has not changed for this long.
pub const STILL_FOR: Duration = Duration::minutes(5);
/// But no longer than this after the first change.
pub const WAITS_MAX: Duration = Duration::hours(1);
/// Minimum time between automatic attempts.
pub const BEGUN_EVERY: Duration = Duration::minutes(15);
/// Minimum time between attempts on request.
pub const ASKED_EVERY: Duration = Duration::minutes(1);
/// Users per sweep.
const USERS_MAX: i64 = 200;
/// Maximum characters that are shown of each source item.
pub(super) const BEGINNING_CHARS_MAX: i32 = 160;

/// Maximum private items of an agent in its summary.
const OWN_MAX: i64 = 20;
const OWN: &str = "What only this agent remembers:";

/// An attempt in progress.
#[derive(Clone, Debug)]
pub(in crate::consolidation) struct Attempt {
    started_at: OffsetDateTime,
    /// Failed attempts before this one.
    attempts: i32,
    /// The fingerprint of the current text's facts; `None` without a text.
    facts_hash: Option<Vec<u8>>,
    /// The newest item event when the attempt began.
    event: i64,
    is_memory_on: bool,
}

/// An item that a summary is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceItem {
    pub id: ItemId,
    pub beginning: String,
    pub trust: Trust,
    pub is_cut: bool,
    /// False if it was archived since.
    pub is_active: bool,
}

/// A written summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryText {
    /// Paragraphs, separated by an empty line.
    pub text: String,
    pub made_at: OffsetDateTime,
    pub model: Option<String>,
    pub items: Vec<SourceItem>,
    /// How many items were available; if more than `items`, the least certain and oldest were left out.
    pub facts_total: i64,
    /// The memory has changed since.
    pub is_stale: bool,
}

/// The state of the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummaryProgress {
    /// The text is up to date.
    Current,
    /// It will be written, now or once the memory has not changed for a while.
    Waiting(Option<OffsetDateTime>),
    Writing,
    /// The reason, and the time of the next attempt.
    Failed(String, Option<OffsetDateTime>),
    /// The memory is empty.
    Empty,
    Off(SummaryOff),
}

/// Why no summary is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryOff {
    #[error("the summary is switched off, in Settings › Chat model")]
    Unwanted,
    #[error("memory is switched off for this account")]
    Memory,
    #[error("chat is switched off, in Settings › Chat model: no model may read what is remembered")]
    Chat,
    #[error("no chat model is set: choose one in Settings › Chat model, or ask an admin for one")]
    NoModel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryStatus {
    pub told: Option<SummaryText>,
    pub state: SummaryProgress,
    /// It may be requested: it is switched on, and there is a model.
    pub can_be_written: bool,
}

impl Consolidation {
    /// The current summary. It has no text while the user has switched it off.
    pub async fn summary(&self, user: UserId) -> Result<SummaryStatus, ConsolidationError> {
        let off = self.why_off(user).await?;
        let now = self.now();
        let mut tx = self.db.as_user(user).await?;
        let row = store::find(&mut tx, user, now).await?;
        let items = store::list_items(&mut tx, user, BEGINNING_CHARS_MAX).await?;
        let bounds = (BEGINNING_CHARS_MAX, OWN_MAX);
        let own = store::list_own(&mut tx, user, bounds, now).await?;
        let ids: Vec<i64> = items.iter().map(|item| item.id.0).collect();
        let basis = match row.body {
            Some(_) => derived::basis_of_all(&mut tx, user, &ids).await?,
            None => TextBasis::default(),
        };
        tx.commit().await?;
        if !row.sees_shared {
            return Ok(of_own(own));
        }
        let off = off.or((!row.is_memory_on).then_some(SummaryOff::Memory));
        let is_stale = row.newest_event > row.made_event;
        let state = match off {
            Some(SummaryOff::Unwanted) => SummaryProgress::Off(SummaryOff::Unwanted),
            _ if row.body.is_some() && !is_stale && row.next_try_at.is_none() => {
                SummaryProgress::Current
            }
            Some(off) => SummaryProgress::Off(off),
            None if row.writing_since.is_some() => SummaryProgress::Writing,
            None if row.body.is_none() && !row.has_facts => SummaryProgress::Empty,
            None => match row.failure {
                Some(why) if row.next_try_at.is_none_or(|at| at > now) => {
                    SummaryProgress::Failed(why, row.next_try_at)
                }
                _ => SummaryProgress::Waiting(row.next_try_at),
            },
        };
        // Until it is written again, without what does not hold any more.
        let body = row.body.and_then(|body| basis.still_told(&body));
        let told = body.zip(row.made_at).filter(|_| off != Some(SummaryOff::Unwanted));
        let told = told.map(|(text, made_at)| SummaryText {
            text,
            made_at,
            model: row.model,
            items,
            facts_total: row.facts_total,
            is_stale,
        });
        Ok(SummaryStatus {
            told: with_own(told, own),
            state,
            can_be_written: off.is_none() && row.has_facts,
        })
    }

    /// Requests a new summary: at once, or a minute after the last attempt began.
    pub async fn ask_for_summary(&self, user: UserId) -> Result<(), ConsolidationError> {
        let now = self.now();
        let mut tx = self.db.as_user(user).await?;
        let begun = store::find(&mut tx, user, now).await?.started_at;
        let at = begun.map_or(now, |begun| now.max(begun + ASKED_EVERY));
        store::note_asked(&mut tx, user, at).await?;
        queue::push(&mut tx, user, queue::SUMMARY, 1, at).await?;
        Ok(tx.commit().await?)
    }

    /// Marks the users whose memory has changed and settled. Returns how many.
    pub async fn sweep_summaries(&self) -> Result<usize, ConsolidationError> {
        let now = self.now();
        let patience = store::DebounceTimes {
            still_since: now - STILL_FOR,
            waited_since: now - WAITS_MAX,
            begun_before: now - BEGUN_EVERY,
        };
        let mut conn = self.db.system_connection().await?;
        let changed = store::list_changed(&mut conn, patience, USERS_MAX).await?;
        drop(conn);
        for user in &changed {
            match self.note_due(*user, now).await {
                Err(error) if is_of_a_gone_user(&error) => {}
                noted => drop(log_user_error("summary", *user, noted)?),
            }
        }
        Ok(changed.len())
    }

    async fn note_due(&self, user: UserId, now: OffsetDateTime) -> Result<(), sqlx::Error> {
        self.db.for_user(user, async |conn, user| store::note_due(conn, user, now).await).await
    }

    /// Users whose summary is due.
    pub async fn due_summaries(&self) -> Result<Vec<UserId>, ConsolidationError> {
        let mut conn = self.db.system_connection().await?;
        Ok(store::list_due(&mut conn, self.now(), USERS_MAX).await?)
    }

    /// Writes the summary again if the facts have changed. The caller holds the user's job. Idempotent; if it
    /// is killed, the old text stays. False if nothing was due.
    pub async fn summarize(&self, user: UserId) -> Result<bool, ConsolidationError> {
        let now = self.now();
        let mut tx = self.db.as_user(user).await?;
        let Some(attempt) = store::claim(&mut tx, user, now).await? else {
            return Ok(false);
        };
        let limit = facts::FACTS_MAX as i64;
        let chars_max = facts::FACT_CHARS_MAX as i32;
        let facts = store::list_facts(&mut tx, user, chars_max, limit, now).await?;
        let total = store::count_facts(&mut tx, user, now).await?;
        tx.commit().await?;
        let facts = facts::within_bounds(facts);
        let hash = facts::fingerprint(&facts);
        let off = self.why_off(user).await?;
        if off.is_some() || !attempt.is_memory_on {
            return self.end(user, &attempt, &facts, AttemptEnd::Left).await.map(|()| true);
        }
        if attempt.facts_hash.as_ref() == Some(&hash) {
            return self.end(user, &attempt, &facts, AttemptEnd::Same(total)).await.map(|()| true);
        }
        let end = match facts.as_slice() {
            [] => AttemptEnd::Written { told: None, hash, total },
            facts => self.narrate(user, &attempt, facts, hash, total).await?,
        };
        self.end(user, &attempt, &facts, end).await?;
        Ok(true)
    }

    async fn narrate(
        &self,
        user: UserId,
        attempt: &Attempt,
        facts: &[PromptFact],
        hash: Vec<u8>,
        total: i64,
    ) -> Result<AttemptEnd, ConsolidationError> {
        let asked = facts::ask(facts);
        let completion = match self.ask(user, ChatPurpose::Summary, &asked, None, TEMPERATURE).await
        {
            Ok(completion) => completion,
            Err(ChatError::Database(error)) => return Err(error.into()),
            Err(ChatError::NoProvider) => return Ok(AttemptEnd::Left),
            Err(error @ ChatError::CapReached(_)) => {
                return Ok(AttemptEnd::Failed(error.to_string(), Some(self.tomorrow())));
            }
            Err(error) => return Ok(self.summary_failed(attempt, error.to_string())),
        };
        Ok(match narrative::read(&completion.text, completion.is_cut_off, &asked, facts) {
            Ok(text) => AttemptEnd::Written { told: Some((text, completion.model)), hash, total },
            Err(none) => self.summary_failed(attempt, none.to_string()),
        })
    }

    fn summary_failed(&self, attempt: &Attempt, why: String) -> AttemptEnd {
        AttemptEnd::Failed(why, back_off(attempt.attempts + 1, self.now()))
    }

    /// Records how the attempt ended, unless another one began since. If an item was erased while it was
    /// read, the text is discarded and due again at once.
    async fn end(
        &self,
        user: UserId,
        attempt: &Attempt,
        facts: &[PromptFact],
        end: AttemptEnd,
    ) -> Result<(), ConsolidationError> {
        let now = self.now();
        let ids: Vec<i64> = facts.iter().map(|fact| fact.id.0).collect();
        let mut tx = self.db.as_user(user).await?;
        let are_all_there = hold_items(&mut tx, user, &ids).await? == ids.len();
        if !store::is_ours(&mut tx, user, attempt).await? {
            return Ok(());
        }
        match end {
            AttemptEnd::Failed(why, again) => {
                store::write_failure(&mut tx, user, attempt, Some(&why), again).await?;
            }
            AttemptEnd::Left => store::write_failure(&mut tx, user, attempt, None, None).await?,
            _ if !are_all_there => {
                store::write_failure(&mut tx, user, attempt, None, Some(now)).await?;
            }
            AttemptEnd::Same(total) => {
                store::write_unchanged(&mut tx, user, attempt, total).await?;
            }
            AttemptEnd::Written { told, hash, total } => {
                store::replace_items(&mut tx, user, &ids).await?;
                let written = store::NewSummary {
                    body: told.as_ref().map(|(text, _)| text.as_str()),
                    model: told.as_ref().and_then(|(_, model)| model.as_deref()),
                    facts_hash: &hash,
                    facts_total: total,
                };
                store::write(&mut tx, user, attempt, &written, now).await?;
            }
        }
        Ok(tx.commit().await?)
    }

    /// Checks the user's and the admin's chat settings; whether memory is on is in the user's row.
    async fn why_off(&self, user: UserId) -> Result<Option<SummaryOff>, ConsolidationError> {
        let (settings, effective) = self.chat.chosen(user).await?;
        Ok(match effective {
            _ if !settings.purposes.of(ChatPurpose::Summary).is_on => Some(SummaryOff::Unwanted),
            Effective::Off => Some(SummaryOff::Chat),
            Effective::Nothing => Some(SummaryOff::NoModel),
            Effective::Own(_) | Effective::System(_) => None,
        })
    }
}

/// The shared summary, followed by the agent's private items, unchanged, since no model has read them.
fn with_own(
    shared: Option<SummaryText>,
    own: Vec<(SourceItem, OffsetDateTime)>,
) -> Option<SummaryText> {
    let Some(newest) = own.first().map(|(_, at)| *at) else {
        return shared;
    };
    let lines: Vec<String> = own
        .iter()
        .map(|(item, _)| format!("- {}{}", item.beginning, if item.is_cut { "…" } else { "" }))
        .collect();
    let lines = format!("{OWN}\n{}", lines.join("\n"));
    let own_total = own.len() as i64;
    let own = own.into_iter().map(|(item, _)| item);
    Some(match shared {
        Some(told) => SummaryText {
            text: format!("{}\n\n{lines}", told.text),
            items: told.items.into_iter().chain(own).collect(),
            facts_total: told.facts_total + own_total,
            ..told
        },
        None => SummaryText {
            text: lines,
            made_at: newest,
            model: None,
            items: own.collect(),
            facts_total: own_total,
            is_stale: false,
        },
    })
}

/// For an agent that may see only its own items.
fn of_own(own: Vec<(SourceItem, OffsetDateTime)>) -> SummaryStatus {
    let told = with_own(None, own);
    SummaryStatus {
        state: match told {
            Some(_) => SummaryProgress::Current,
            None => SummaryProgress::Empty,
        },
        told,
        can_be_written: false,
    }
}

/// How an attempt ended.
enum AttemptEnd {
    Written {
        /// The text and its model; `None` if the memory is empty.
        told: Option<(String, Option<String>)>,
        hash: Vec<u8>,
        total: i64,
    },
    /// The facts are those of the current text.
    Same(i64),
    /// Writing is switched off at the moment.
    Left,
    /// The reason, and the time of the next attempt.
    Failed(String, Option<OffsetDateTime>),
}
