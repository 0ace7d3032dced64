//! Automatic context for prompts (GoClaw's auto-injector): memories relevant to a message, as one block of data within a token
//! budget, or nothing, which is the usual result. Nothing is repeated within a session or taken from that session, and
//! trivial messages are not searched for.

mod gathered;
mod held;
mod section;
mod store;
mod trivial;

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use crate::accounts::{AgentSettings, Viewer};
use crate::clock::Zone;
use crate::consolidation::{Consolidation, ConsolidationError, reflection};
use crate::db::{Db, Tx, UserId, labels};
use crate::json::JsonTime;
use crate::languages::is_dense;
use crate::memories::period::PeriodPhase;
use crate::memories::projects::MeantProjects;
use crate::memories::{ItemId, ItemType, ProjectRef, Trust, fading, projects, with_key};
use crate::redaction::{ScreenedField, TextDoor};
use crate::search::asks::{is_long, whole_of};
use crate::search::{LentFound, Search, snippet};
use crate::sessions::given::Envelope;
use gathered::gathered;
use held::{Wanted, held_sources};
use section::Section;
use store::RecallSource;
pub use trivial::is_trivial;

/// Limit on the stored sessions of a user.
const SESSIONS_MAX: i64 = 10_000;
/// A session without recall for this long is deleted.
const SESSIONS_KEPT: Duration = Duration::days(30);
const FACTS_MAX: usize = 5;
const EPISODES_MAX: usize = 2;
/// Share of the remaining budget for the reflection, in percent.
const REFLECTION_SHARE: usize = 40;
/// Limit of what is shown of a source.
const SHOWN_CHARS_MAX: usize = 400;
/// Likewise, of a text in a script that says much with one character, and takes about a token for it.
const DENSE_CHARS_MAX: usize = 120;
/// Marks the summary in the list of what a session was given, and the project's name.
const SUMMARY: i64 = 0;
const PROJECT: i64 = -1;

/// A recall request.
#[derive(Clone, Debug, Default)]
pub struct RecallRequest {
    /// The user's messages, oldest first.
    pub messages: Vec<String>,
    /// The agent's id of the session; it may be unknown to the server.
    pub session: Option<String>,
    /// Token budget of the block; `None`: the agent's setting.
    pub budget: Option<i64>,
    /// Minimum relevance, 0 to 1; `None`: the agent's setting.
    pub threshold: Option<f64>,
    /// What the person works on; `None`: the session's.
    pub project: Option<ProjectRef>,
}

labels! {
    /// Why the result is empty.
    pub enum EmptyReason {
        /// Switched off for this agent.
        Off = "off",
        /// The message is too short or trivial to search for.
        Trivial = "trivial",
        /// Nothing reaches the threshold.
        NothingRelevant = "nothing_relevant",
        /// Everything relevant was given in this session before …
        Told = "told",
        /// … or read in it.
        InSession = "in_session",
        /// What is relevant is of another project.
        OtherProject = "other_project",
        /// Nothing fits into the budget, or it only repeats what is in the block.
        Budget = "budget",
    }
}

// A memory or an episode in the result; its schema has no description.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GivenItem {
    pub id: ItemId,
    #[serde(rename = "type")]
    pub item_type: ItemType,
    /// The theme's slug; null for an episode.
    pub theme: Option<String>,
    pub text: String,
    /// Relevance, 0 to 1. Comparable between answers, unlike the score of memory_search.
    #[schemars(range(min = 0, max = 1))]
    pub relevance: f64,
    /// Start of validity, or when it was stated.
    pub at: JsonTime,
    /// How the information was obtained.
    pub source: String,
    /// Trust class: who stated it.
    pub trust: Trust,
    /// The project that the item belongs to. Omitted if it is about the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The team leader or the global pool that shares the item. Omitted for the user's own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_of: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct RecallResult {
    /// Empty if nothing was recalled.
    pub section: String,
    /// Approximate tokens of the section.
    pub tokens: usize,
    pub told: Vec<GivenItem>,
    /// What the person works on, by name.
    pub project: Option<String>,
    pub has_summary: bool,
    /// Number of sources that reach the threshold, including those given before.
    pub match_count: usize,
    /// Highest relevance found; 0 if nothing was found.
    pub top_score: f64,
    pub reason: Option<EmptyReason>,
    /// Why the search was degraded, as a clause.
    pub degraded: Option<String>,
    /// Lent memory was searched too.
    pub has_lent: bool,
}

impl RecallResult {
    fn nothing(reason: EmptyReason) -> Self {
        Self { reason: Some(reason), ..Self::default() }
    }
}

/// Hash of the agent's session id.
fn name_of(session: Option<&str>) -> Vec<u8> {
    Sha256::digest(session.unwrap_or_default().as_bytes()).to_vec()
}

/// The last message, with earlier ones in front while the text is trivial.
fn text_of(messages: &[String]) -> String {
    let mut text = String::new();
    for message in messages.iter().rev() {
        let message = message.trim();
        text = match text.is_empty() {
            true => message.to_owned(),
            false => format!("{message}\n{text}"),
        };
        if !is_trivial(whole_of(&text)) || is_long(&text) {
            break;
        }
    }
    text
}

fn shown_chars(text: &str) -> usize {
    let all = text.chars().count();
    let dense = text.chars().filter(|c| is_dense(*c)).count();
    if dense * 2 > all { DENSE_CHARS_MAX } else { SHOWN_CHARS_MAX }
}

#[derive(Clone)]
pub struct Recall {
    db: Db,
    search: Search,
    consolidation: Consolidation,
}

impl Recall {
    pub fn new(search: Search, consolidation: Consolidation) -> Self {
        Self { db: search.db().clone(), search, consolidation }
    }

    /// Recalls what this agent should know for these messages.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn recall(
        &self,
        viewer: &Viewer,
        ask: &RecallRequest,
    ) -> Result<RecallResult, ConsolidationError> {
        let mut messages = ask.messages.clone();
        // Here, since the text is cut below: half a secret is not found, nor a section without its beginning.
        let fields = messages.iter_mut();
        let mut fields: Vec<_> = fields.map(|m| ScreenedField::new("message", m)).collect();
        let redactor = self.search.embeddings().redactor();
        let (user, agent, door) = (viewer.user_id, viewer.agent_id, TextDoor::Query);
        let screened = redactor.screen(user, agent, door, &mut fields).await;
        screened.map_err(sqlx::Error::from)?;
        let text = text_of(&messages);
        if is_trivial(whole_of(&text)) {
            return Ok(RecallResult::nothing(EmptyReason::Trivial));
        }
        let session = ask.session.as_deref();
        let name = name_of(session);
        let standing = match viewer.agent_id {
            Some(agent) => {
                let mut tx = self.db.as_user(user).await?;
                let standing = store::find_standing(&mut tx, user, agent, session, &name).await?;
                tx.commit().await?;
                standing
            }
            None => None,
        };
        let settings = standing.as_ref().map(|s| AgentSettings::from_column(&s.settings));
        let settings = settings.unwrap_or_default();
        if !settings.is_recall_on() {
            return Ok(RecallResult::nothing(EmptyReason::Off));
        }
        let budget = ask.budget.unwrap_or(settings.max_tokens());
        let threshold = ask.threshold.unwrap_or(settings.threshold());
        let session_id = standing.as_ref().and_then(|s| s.session);
        let of_session =
            standing.as_ref().and_then(|s| s.project.as_deref()).map(ProjectRef::named);
        let told_before = standing.and_then(|s| s.told).filter(|_| session.is_some());
        let project = ask.project.clone().or(of_session);
        let is_first = session.is_some() && told_before.is_none();
        let told_before: HashSet<i64> = told_before.unwrap_or_default().into_iter().collect();

        let mut gathered = gathered(&self.search, viewer, project.clone(), &text).await?;
        let tx = gathered.tx.take();
        let excerpt = |source: &RecallSource| {
            let (terms, passage) = gathered.shown_by(source.id.0);
            let (key, most) = (source.key.as_deref(), shown_chars(&source.text));
            snippet::of(key, &source.text, terms, passage, most).text
        };
        let relevance = || gathered.relevance.iter().copied();
        let top_score = relevance().map(|(_, relevance)| relevance).fold(0.0, f64::max);
        let wanted: Vec<(i64, f64)> =
            relevance().filter(|(_, relevance)| *relevance >= threshold).collect();
        let now = self.search.embeddings().now();
        let tx = match tx {
            Some(tx) => tx,
            None => self.db.as_user(user).await?,
        };
        let lent = gathered.lent.as_ref();
        let terms = &gathered.terms;
        let projects = gathered.projects.as_deref().filter(|meant| meant.is_asked_in_one);
        let told = Wanted { terms, session: session_id, projects, now };
        let mut sources = self.sources(tx, lent, viewer, &wanted, told).await?;
        sources.retain(|(source, _)| {
            source.period.phase(now) != PeriodPhase::Over || !gathered.is_out_of_time(source.id.0)
        });
        let mut reason = match gathered.elsewhere >= threshold {
            true => EmptyReason::OtherProject,
            false => EmptyReason::NothingRelevant,
        };
        if sources.iter().any(|(source, _)| source.is_of_session) {
            reason = EmptyReason::InSession;
            sources.retain(|(source, _)| !source.is_of_session);
        }
        let match_count = sources.len();
        let mut section = Section::new(usize::try_from(budget).unwrap_or_default());
        let project = match projects.and_then(|meant| meant.here.as_ref()) {
            Some(here) => Some(here.name.clone()),
            None => projects::told_name(&self.db, user, project.as_ref()).await?,
        };
        let is_new = |_: &&String| session.is_some() && !told_before.contains(&PROJECT);
        let tells_project =
            project.as_ref().filter(is_new).is_some_and(|name| section.add_project(name));
        let (told, mut reason) = choose(&mut section, sources, &told_before, excerpt, reason);
        let mut noted: Vec<i64> = told.iter().map(|told| told.id.0).collect();
        let mut has_summary = false;
        if is_first {
            let projects = gathered.projects.as_deref().filter(|meant| meant.is_asked_in_one);
            let told = self.tell_reflection(user, &mut section, &noted, (&gathered.zone, projects));
            noted.extend(told.await?);
            let summary = self.consolidation.summary(user).await?;
            has_summary =
                summary.told.is_some_and(|told| section.add_beginning("In short", &told.text, 100));
        }
        noted.extend(has_summary.then_some(SUMMARY));
        noted.extend(tells_project.then_some(PROJECT));
        if let Some(agent) = viewer.agent_id.filter(|_| session.is_some() && !noted.is_empty()) {
            let mut tx = self.db.as_user(user).await?;
            store::note_told(&mut tx, user, agent, &name, &noted, now).await?;
            tx.commit().await?;
        }
        if !noted.is_empty() {
            reason = None;
        }
        let envelope = Envelope::of(self.search.embeddings().sealer(), user);
        let (section, tokens) = section.finish(&envelope, gathered.zone.local(now));
        Ok(RecallResult {
            section,
            tokens,
            told,
            project,
            has_summary,
            match_count,
            top_score,
            reason,
            degraded: gathered.degraded,
            has_lent: gathered.lent.is_some(),
        })
    }

    /// Adds the beginning of the last weekly reflection. Returns its id, if it was added and not there already.
    async fn tell_reflection(
        &self,
        user: UserId,
        section: &mut Section,
        told: &[i64],
        (zone, projects): (&Zone, Option<&MeantProjects>),
    ) -> Result<Option<i64>, sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        let latest = reflection::find_latest(&mut tx, user).await?;
        let latest = reflection::still_told(&mut tx, user, latest).await?;
        let ids: Vec<i64> = latest.iter().map(|latest| latest.id.0).collect();
        let of_others = store::list_of_others(&mut tx, user, &ids, projects).await?;
        let latest = latest.filter(|_| of_others.is_empty());
        tx.commit().await?;
        let latest = latest.filter(|latest| !told.contains(&latest.id.0));
        let told = latest.filter(|latest| {
            let day = zone.local(latest.created_at).date();
            let title = format!("The week to {day} (#{})", latest.id);
            section.add_beginning(&title, &latest.content, REFLECTION_SHARE)
        });
        Ok(told.map(|latest| latest.id.0))
    }

    /// The sources with their relevance, sorted by relevance × strength. The session applies to the viewer's own ones only.
    async fn sources(
        &self,
        mut tx: Tx,
        lent: Option<&LentFound>,
        viewer: &Viewer,
        wanted: &[(i64, f64)],
        told: Wanted<'_>,
    ) -> Result<Vec<(RecallSource, f64)>, sqlx::Error> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<i64> = wanted.iter().map(|(id, _)| *id).collect();
        let mut relevance: HashMap<i64, f64> = wanted.iter().copied().collect();
        let user = viewer.user_id;
        let mut rows = held_sources(&mut tx, user, &ids, &told, &mut relevance).await?;
        // Released before another connection is acquired, to avoid a deadlock of the pool.
        tx.commit().await?;
        if let Some(lent) = lent.filter(|lent| ids.iter().any(|id| lent.has(*id)))
            && let Some(mut tx) = lent.begin().await?
        {
            let (user, told) =
                (lent.lent().user_id, Wanted { session: None, projects: None, ..told });
            let of_lent = held_sources(&mut tx, user, &ids, &told, &mut relevance).await?;
            let named = of_lent.into_iter().map(|row| RecallSource {
                memory_of: lent.name_of(row.id.0),
                trust: row.trust.read_by_another(lent.lent().is_anothers(viewer.user_id)),
                ..row
            });
            rows.extend(named.collect::<Vec<_>>());
        }
        let mut sources: Vec<(RecallSource, f64)> = rows
            .into_iter()
            .map(|row| {
                let relevance = relevance.get(&row.id.0).copied().unwrap_or_default();
                (row, relevance)
            })
            .collect();
        let rank =
            |(source, relevance): &(RecallSource, f64)| relevance * fading::factor(source.strength);
        sources.sort_by(|a, b| {
            let by_rank = rank(b).total_cmp(&rank(a));
            by_rank.then(b.0.id.0.cmp(&a.0.id.0))
        });
        Ok(sources)
    }
}

/// Adds the most relevant sources that were not given before. Also returns why none was added; `reason` where there are none.
fn choose(
    section: &mut Section,
    sources: Vec<(RecallSource, f64)>,
    told_before: &HashSet<i64>,
    excerpt: impl Fn(&RecallSource) -> String,
    mut reason: EmptyReason,
) -> (Vec<GivenItem>, Option<EmptyReason>) {
    let mut told = Vec::new();
    let mut room = (FACTS_MAX, EPISODES_MAX);
    for (source, relevance) in sources {
        if told_before.contains(&source.id.0) {
            reason = EmptyReason::Told;
            continue;
        }
        let room = match source.item_type {
            ItemType::Episode => &mut room.1,
            _ => &mut room.0,
        };
        if *room == 0 {
            continue;
        }
        if !section.add(&source, &excerpt(&source)) {
            reason = EmptyReason::Budget;
            continue;
        }
        *room -= 1;
        told.push(GivenItem {
            id: source.id,
            item_type: source.item_type,
            theme: source.theme,
            text: with_key(source.key.as_deref(), &source.text).into_owned(),
            source: source.source,
            trust: source.trust,
            at: JsonTime(source.at),
            relevance,
            project: source.project,
            memory_of: source.memory_of.map(|name| name.to_string()),
        });
    }
    let reason = told.is_empty().then_some(reason);
    (told, reason)
}

/// Deletes sessions without recall for a long time. Returns how many.
///
/// # Errors
/// Database errors only.
pub async fn prune(db: &Db, now: OffsetDateTime) -> Result<u64, sqlx::Error> {
    let mut conn = db.system_connection().await?;
    let mut pruned = 0;
    loop {
        match store::prune(&mut conn, now - SESSIONS_KEPT).await? {
            0 => return Ok(pruned),
            some => pruned += some.unsigned_abs(),
        }
    }
}
