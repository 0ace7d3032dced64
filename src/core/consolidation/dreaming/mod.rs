//! Dreaming (GoClaw's): reads the episodes of several ended sessions together. It writes what lasts to a
//! document, `_system/dreaming/20261125-consolidated.md`; each line must be supported by the episodes. The
//! document gets the lowest trust of its sources, and is erased with any of them. A dream also proposes which
//! memories to merge or supersede (`decide.rs`): the person accepts, dismisses and undoes.

pub mod decide;
pub mod model;
mod prompt;
mod store;

use std::time::Duration as StdDuration;

use time::macros::format_description;
use time::{Duration, OffsetDateTime};

use super::reading::off_the_runtime;
use super::round::Round;
use super::summary::facts::{PromptFact, within_bounds};
use super::summary::hold_items;
use super::{AskLimits, Consolidation, ConsolidationError};
use crate::accounts::store::find_time_zone;
use crate::accounts::{AgentId, Viewer};
use crate::db::{Db, UserId, labels, write_as};
use crate::documents::{ChangeAuthor, DocumentError, DocumentPath, Documents};
use crate::input::{Invalid, number};
use crate::memories::settle::{Settlement, may_give_way};
use crate::memories::store::find_item;
use crate::memories::{ItemId, MemoryError, MemoryItem, ProjectId, Status, Trust, derived, feed};
use crate::providers::chat::ChatPurpose;
use crate::search::query::Ingredients;
use crate::search::{RawQuery, SearchQuery};
use prompt::SuggestedPair;

/// A dream begins after this long without a new episode.
pub const QUIET_FOR: Duration = Duration::minutes(10);
pub const EPISODES_MIN: i16 = 5;
/// Maximum episodes per dream.
pub const EPISODES_MAX: i16 = 10;
/// Maximum characters per episode.
const EPISODE_CHARS_MAX: i32 = 1_100;
const ANSWER_TOKENS_MAX: u32 = 4_096;
const CALL_DEADLINE: StdDuration = StdDuration::from_secs(240);
const TEMPERATURE: f32 = 0.3;
/// Maximum memories that a dream compares: those nearest to its episodes.
const MEMORIES_MAX: usize = 60;
const NEAREST: i64 = 10;
const MEMORY_CHARS_MAX: i32 = 300;
const FOLDER: &str = "_system/dreaming";
/// Maximum dreams per day and owner.
const A_DAY_MAX: usize = 1_000;

labels! {
    /// What a dream proposes for two memories.
    pub enum ProposedChange {
        /// Both say the same.
        Merge = "merge",
        /// The later one replaces the earlier one.
        Supersede = "supersede",
        /// They cannot both be true; the person decides.
        Contradiction = "contradiction",
    }
}

impl ProposedChange {
    /// The reason that is shown if the model's own words are not supported by the two memories.
    fn in_words(self) -> &'static str {
        match self {
            Self::Merge => "Both say the same.",
            Self::Supersede => "The later one holds in the earlier one's place.",
            Self::Contradiction => "Both cannot be true.",
        }
    }

    fn stands(self) -> Settlement {
        match self {
            Self::Merge => Settlement::Same,
            Self::Supersede | Self::Contradiction => Settlement::InPlace,
        }
    }
}

/// A user's settings for dreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DreamSettings {
    /// Proposals are applied at once, unless they would replace the person's own statement.
    pub applies: bool,
    /// 2 to 10
    pub episodes_min: i16,
}

impl Default for DreamSettings {
    fn default() -> Self {
        Self { applies: false, episodes_min: EPISODES_MIN }
    }
}

impl DreamSettings {
    /// Parses a form.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse(mode: &str, episodes_min: &str) -> Result<Self, Invalid> {
        let applies = match mode {
            "propose" => false,
            "apply" => true,
            _ => {
                let sentence = "`mode` is not known; give propose or apply.";
                return Err(Invalid::new("mode", "invalid_mode", sentence));
            }
        };
        let accepted = format!("give a whole number of sessions, 2 to {EPISODES_MAX}");
        let episodes_min = number("episodes_min", episodes_min, 2..=EPISODES_MAX, accepted)?;
        Ok(Self { applies, episodes_min })
    }
}

/// Users who have enough episodes for a dream, and a chat model that may write it; at most `limit`.
///
/// # Errors
/// Only database errors.
pub async fn users_due(
    db: &Db,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    let mut conn = db.system_connection().await?;
    store::list_users_due(&mut conn, now, limit).await
}

/// The user's settings, or the defaults.
///
/// # Errors
/// Only database errors.
pub async fn settings(db: &Db, user: UserId) -> Result<DreamSettings, sqlx::Error> {
    db.for_user(user, store::find_settings).await
}

/// Saves the user's settings.
///
/// # Errors
/// Only database errors.
pub async fn save(db: &Db, user: UserId, settings: DreamSettings) -> Result<(), sqlx::Error> {
    db.for_user(user, async |conn, user| store::save_settings(conn, user, settings).await).await
}

/// Whose episodes a dream reads: of one owner, or shared; of one project, or of none.
#[derive(Clone, Copy)]
struct DreamScope {
    owner: Option<i64>,
    project: Option<i64>,
}

/// An episode, as a dream reads it.
struct DreamEpisode {
    fact: PromptFact,
    session: Option<i64>,
    short: String,
    ended_at: OffsetDateTime,
}

/// A memory that a dream compares.
struct DreamMemory {
    fact: PromptFact,
    /// When it was last stated.
    stated_at: OffsetDateTime,
}

impl Consolidation {
    /// Runs one dream of a user, if there are enough episodes. If it is killed, nothing of it is kept.
    ///
    /// # Errors
    /// Database errors.
    pub async fn dream(&self, user: UserId) -> Result<Round, ConsolidationError> {
        if let Some(why_not) = self.why_not(user, ChatPurpose::Dreaming).await? {
            return Ok(why_not);
        }
        let dreamer = self.clone().with_limits(AskLimits {
            answer_tokens_max: ANSWER_TOKENS_MAX,
            call_deadline: CALL_DEADLINE,
        });
        let now = self.now();
        let mut tx = self.db.as_user(user).await?;
        let least = store::find_settings(&mut tx, user).await?.episodes_min;
        let waiting = store::find_waiting(&mut tx, user, least, now - QUIET_FOR, now).await?;
        let Some(scope) = waiting else {
            return Ok(Round::Nothing(None));
        };
        let bounds = (EPISODE_CHARS_MAX, EPISODES_MAX);
        let mut episodes = store::list_waiting(&mut tx, user, scope, bounds, now).await?;
        let told = episodes.iter().map(|one| one.fact.clone()).collect();
        let told = derived::still_told(&mut tx, user, told, |fact| (fact.id.0, &mut fact.content));
        let told = told.await?;
        tx.commit().await?;
        let facts = within_bounds(told.clone());
        // One that tells nothing that holds is done with those around it.
        let next = told.get(facts.len()).map(|next| next.id);
        let read = episodes.iter().position(|one| Some(one.fact.id) == next);
        episodes.truncate(read.unwrap_or(episodes.len()));
        if facts.is_empty() {
            return self.keep_dream(user, scope, &episodes, None, &[]).await;
        }
        let asked = prompt::ask_document(&facts);
        let purpose = ChatPurpose::Dreaming;
        let answer = dreamer.ask_in_round(user, purpose, (&asked, None), TEMPERATURE);
        let answer = match answer.await? {
            Ok(completion) => completion.text,
            Err(ends) => return Ok(ends),
        };
        let read = move || prompt::read_document(&answer, &asked, &facts);
        let text = off_the_runtime(read).await;
        let pairs = dreamer.find_pairs(user, scope, &episodes).await?;
        self.keep_dream(user, scope, &episodes, text, &pairs).await
    }

    /// Asks the model which memories near the episodes belong together. Finds none if the model does not
    /// answer.
    async fn find_pairs(
        &self,
        user: UserId,
        scope: DreamScope,
        episodes: &[DreamEpisode],
    ) -> Result<Vec<SuggestedPair>, ConsolidationError> {
        let mut near: Vec<i64> = Vec::new();
        for episode in episodes {
            let query = SearchQuery::parse(RawQuery {
                query: &episode.short,
                limit: Some(NEAREST),
                memories_alone: true,
                ingredients: Ingredients::OF_STATEMENTS,
                ..RawQuery::default()
            });
            let query = query.map_err(MemoryError::from)?;
            let page = self.search.find(&Viewer::person(user), &query).await?;
            let found = page.hits.iter().map(|hit| hit.item.id.0);
            near.extend(found.filter(|id| !near.contains(id)).collect::<Vec<_>>());
        }
        near.truncate(MEMORIES_MAX);
        let now = self.now();
        let mut tx = self.db.as_user(user).await?;
        let memories =
            store::list_memories(&mut tx, user, (scope, &near), MEMORY_CHARS_MAX, now).await?;
        tx.commit().await?;
        if memories.len() < 2 {
            return Ok(Vec::new());
        }
        let asked = prompt::ask_pairs(&memories);
        let schema = prompt::pairs_schema(memories.len());
        let purpose = ChatPurpose::Dreaming;
        let answer = self.ask_in_round(user, purpose, (&asked, Some(&schema)), 0.0);
        let Ok(completion) = answer.await? else {
            return Ok(Vec::new());
        };
        let read = move || prompt::read_pairs(&completion.text, &memories);
        Ok(off_the_runtime(read).await)
    }

    /// Writes everything in one transaction: the document, its sources, the promotion of the episodes, and
    /// the proposals.
    async fn keep_dream(
        &self,
        user: UserId,
        scope: DreamScope,
        episodes: &[DreamEpisode],
        text: Option<String>,
        pairs: &[SuggestedPair],
    ) -> Result<Round, ConsolidationError> {
        let now = self.now();
        let ids: Vec<i64> = episodes.iter().map(|one| one.fact.id.0).collect();
        let mut tx = self.db.as_writer(user).await?;
        let settings = store::find_settings(&mut tx, user).await?;
        let zone = find_time_zone(&mut tx, user).await?;
        let held = hold_items(&mut tx, user, &ids).await?;
        // What was read may have been erased since: dream again.
        let (Some(zone), true) = (zone, held == ids.len()) else {
            return Ok(Round::Later("what was read was erased meanwhile"));
        };
        if store::promote(&mut tx, user, &ids, now).await? != ids.len() {
            return Ok(Round::Later("what was read was dreamt of meanwhile"));
        }
        write_as(&mut tx, scope.owner).await?;
        let mut document = None;
        if let Some(text) = text {
            let trust = episodes.iter().map(|one| one.fact.trust).min();
            let by = ChangeAuthor {
                agent: scope.owner.map(AgentId),
                trust: trust.unwrap_or(Trust::Agent).min(Trust::Agent),
                call: None,
            };
            let days = episodes.iter().map(|one| zone.local(one.ended_at).date());
            let text = text_of(days.clone().min().zip(days.max()), episodes.len(), &text);
            let day = zone.local(now).format(format_description!("[year][month][day]"));
            let day = day.unwrap_or_default();
            let documents = Documents::new(self.db.clone(), self.embeddings.clone());
            let documents = documents.in_project(scope.project.map(ProjectId));
            let path = |n| path_of(&day, n);
            match documents.create_first_free(&mut tx, user, by, path, &text, A_DAY_MAX).await {
                Ok(written) => document = Some(written.id),
                Err(DocumentError::Database(error)) => return Err(error.into()),
                // The quota is full: the episodes are not promoted.
                Err(error) => {
                    tracing::info!(user = user.0, %error, "a dream was not written");
                    return Ok(Round::Later("there is no room for what it wrote"));
                }
            }
        }
        let dream =
            store::insert_dream(&mut tx, user, (document, scope.owner), ids.len(), now).await?;
        if let Some(document) = document {
            store::insert_origins(&mut tx, user, document, episodes).await?;
        }
        let mut n = 0;
        for pair in pairs {
            let Some((kind, gone, kept)) = self.weighed(&mut tx, user, scope, pair).await? else {
                continue;
            };
            n += 1;
            store::insert_proposal(&mut tx, user, (dream, n), kind, (gone, kept), &pair.why)
                .await?;
        }
        if n > 0 {
            feed::store::insert_dream(&mut tx, user, dream, now).await?;
        }
        if settings.applies {
            decide::apply_own_in(&mut tx, user, dream, now).await?;
        }
        tx.commit().await?;
        Ok(Round::Written)
    }

    /// Decides whether a pair may be proposed, and which of the two would give way. A person's own statement
    /// never gives way to a less trusted one; then the proposal becomes a contradiction that the person
    /// decides.
    async fn weighed(
        &self,
        conn: &mut sqlx::PgConnection,
        user: UserId,
        scope: DreamScope,
        pair: &SuggestedPair,
    ) -> Result<Option<(ProposedChange, ItemId, ItemId)>, sqlx::Error> {
        let now = self.now();
        let mut found = Vec::with_capacity(2);
        for id in [pair.first.min(pair.second), pair.first.max(pair.second)] {
            let item = find_item(&mut *conn, user, id).await?;
            let is_of_scope = |item: &MemoryItem| {
                item.owner.as_ref().map(|(id, _)| *id) == scope.owner
                    && item.project.as_ref().map(|project| project.id.0) == scope.project
            };
            found.extend(
                item.filter(|item| item.status_at(now) == Status::Active && is_of_scope(item)),
            );
        }
        let [first, second] = found.as_slice() else {
            return Ok(None);
        };
        let strength = |item: &MemoryItem| (item.protected, item.trust, item.confidence);
        let said = |item: &MemoryItem| (item.stated_at(), item.id);
        let is_first_gone = match pair.kind {
            ProposedChange::Merge => {
                (strength(first), said(first)) < (strength(second), said(second))
            }
            ProposedChange::Supersede | ProposedChange::Contradiction => said(first) < said(second),
        };
        let (gone, kept) = match is_first_gone {
            true => (first, second),
            false => (second, first),
        };
        let kind = match pair.kind {
            ProposedChange::Supersede if !may_give_way(gone, kept, Settlement::InPlace) => {
                ProposedChange::Contradiction
            }
            kind => kind,
        };
        Ok(Some((kind, gone.id, kept.id)))
    }
}

fn path_of(day: &str, n: usize) -> Result<DocumentPath, Invalid> {
    let path = match n {
        1 => format!("{FOLDER}/{day}-consolidated.md"),
        n => format!("{FOLDER}/{day}-{n}-consolidated.md"),
    };
    DocumentPath::parse("path", &path)
}

fn text_of(days: Option<(time::Date, time::Date)>, sessions: usize, body: &str) -> String {
    let when = match days {
        Some((first, last)) if first == last => format!(" of {first}"),
        Some((first, last)) => format!(" from {first} to {last}"),
        None => String::new(),
    };
    format!("# What lasts of {sessions} conversations{when}\n\n{body}")
}
