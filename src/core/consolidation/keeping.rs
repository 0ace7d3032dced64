//! Stores what a reading found: decides for each statement whether it is new, a duplicate or supersedes an
//! older one, and writes everything, including the ledger's row, in one transaction.

use time::OffsetDateTime;

use super::comparison::{self, StatementRelation};
use super::keep::{ComparedFact, RelatedItem, Resolution, excluded, resolve_fact};
use super::model::{Reading, ReadingEnd, SourcedStatement};
use super::named::{note_connection, note_names};
use super::same::StatementWords;
use super::{Consolidation, ConsolidationError, episodes, guesses, store};
use crate::accounts::Viewer;
use crate::db::UserId;
use crate::entities::RelationEvidence;
use crate::memories::quota::ItemQuota;
use crate::memories::{
    self, ConflictPolicy, Expiry, ItemKey, ItemSource, MemoryError, NewItem, Project, ProjectRef,
    Provenance, with_key,
};
use crate::providers::chat::{ChatError, ChatPurpose, Completion};
use crate::redaction::TextDoor;
use crate::search::query::{Ingredients, WHOLE_CHARS_MAX};
use crate::search::{RawQuery, SearchQuery};
use crate::sessions::ledger;
use crate::sessions::model::{
    ExtractionCounts, ExtractionEnd, ExtractionOutcome, SessionExtraction,
};

/// Items to compare a statement with.
const NEAREST: i64 = 5;
/// After so many look-ups, checks again whether the reading may continue.
const RENEWED_AFTER: usize = 16;
/// Maximum pairs per prompt.
pub(super) const PAIRS_MAX: usize = 20;
const MEMORY_OFF: &str = "memory is switched off";
const NOT_OF_AGENT: &str = "the settings of its agent say that its sessions are not read";

impl Consolidation {
    pub(super) async fn keep(
        &self,
        viewer: &Viewer,
        row: &SessionExtraction,
        mut reading: Reading,
    ) -> Result<(), ConsolidationError> {
        if reading.end == ReadingEnd::Lost {
            return Ok(());
        }
        let user = viewer.user_id;
        // Its messages may have been stored before their user had secrets replaced.
        let redactor = self.embeddings.redactor();
        let (agent, door) = (viewer.agent_id, TextDoor::Model);
        let mut fields = reading.fields();
        let screened = redactor.screen(user, agent, door, &mut fields).await;
        screened.map_err(sqlx::Error::from)?;
        let found = std::mem::take(&mut reading.found);
        let mut fates = Vec::with_capacity(found.len());
        for (n, one) in found.iter().enumerate() {
            // Each look-up may wait for a query vector.
            if n % RENEWED_AFTER == RENEWED_AFTER - 1
                && let Some(end) = self.must_end(user, row).await?
            {
                reading.end = end;
                break;
            }
            let fact = ComparedFact {
                theme: one.theme,
                key: one.key.as_ref().map(ItemKey::as_str),
                value: &one.value,
                period: one.period,
            };
            let project = reading.project.as_ref().filter(|_| one.is_of_project);
            let is_guess = one.source == ItemSource::Guess;
            let with_guesses = is_guess || reading.is_fallback;
            let known = self.known(viewer, fact, project, with_guesses).await?;
            // A model's fact, and the person's word, neither repeats nor replaces a guess; but without a model, they end one.
            let (guesses, held): (Vec<_>, Vec<_>) =
                known.into_iter().partition(|other| other.is_guess && !is_guess);
            let mut fate = resolve_fact(fact, &held, self.now());
            if reading.is_fallback {
                let mut ended = guesses;
                ended.extend(held.iter().filter(|other| other.is_guess || !is_guess).cloned());
                fate.supersede = excluded(fact, &ended, self.now());
            }
            fates.push((fate, held));
        }
        let fates = self.resolve(user, row, &found, fates, &mut reading).await?;
        if reading.end == ReadingEnd::Lost {
            return Ok(());
        }
        self.write(viewer, row, &found, &fates, &reading).await
    }

    /// Active items that may be related to the fact: those with its key, and the nearest. Only what is of the same project, or
    /// of none, too, is compared.
    pub(super) async fn known(
        &self,
        viewer: &Viewer,
        fact: ComparedFact<'_>,
        project: Option<&Project>,
        with_guesses: bool,
    ) -> Result<Vec<RelatedItem>, ConsolidationError> {
        let asked = project.map(|project| ProjectRef::named(&project.name)).unwrap_or_default();
        // As an item is embedded: with its key.
        let told: String = with_key(fact.key, fact.value).chars().take(WHOLE_CHARS_MAX).collect();
        let raw = RawQuery {
            query: &told,
            limit: Some(NEAREST),
            explain: true,
            memories_alone: true,
            project: Some(&asked),
            ingredients: Ingredients::OF_STATEMENTS,
            ..RawQuery::default()
        };
        let near = match SearchQuery::parse(raw) {
            Ok(query) if query.text.is_some() => self.search.find(viewer, &query).await?.hits,
            _ => Vec::new(),
        };
        let ids: Vec<i64> = near.iter().map(|hit| hit.item.id.0).collect();
        let mut tx = self.db.as_user(viewer.user_id).await?;
        let of_key = (fact.key, project.map(|project| project.id));
        let (user, now) = (viewer.user_id, self.now());
        let mut known = store::list_active(&mut tx, user, &ids, of_key, with_guesses, now).await?;
        tx.commit().await?;
        for item in &mut known {
            let hit = near.iter().find(|hit| hit.item.id == item.id);
            item.cosine = hit.and_then(|hit| hit.explanation.distance).map(|d| 1.0 - d);
        }
        Ok(known)
    }

    /// Asks the model about the pairs that words and vectors cannot decide. Without an answer, both are kept.
    async fn resolve(
        &self,
        user: UserId,
        row: &SessionExtraction,
        found: &[SourcedStatement],
        fates: Vec<(Resolution, Vec<RelatedItem>)>,
        reading: &mut Reading,
    ) -> Result<Vec<Resolution>, ConsolidationError> {
        let mut resolved = Vec::with_capacity(fates.len());
        let mut open = Vec::new();
        for (n, (fate, known)) in fates.into_iter().enumerate() {
            let asked = known.into_iter().filter(|item| fate.ask.contains(&item.id));
            open.extend(asked.map(|older| (n, older)));
            resolved.push(fate);
        }
        if reading.end != ReadingEnd::Read {
            // The model has just failed: do not ask it again.
            return Ok(resolved);
        }
        for some in open.chunks(PAIRS_MAX) {
            if let Some(end) = self.must_end(user, row).await? {
                reading.end = end;
                break;
            }
            let pair = |(n, older): &(usize, RelatedItem)| {
                let newer = &found[*n];
                let key = newer.key.as_ref().map(ItemKey::as_str);
                let older = with_key(older.key.as_deref(), &older.content);
                (older.into_owned(), with_key(key, &newer.value).into_owned())
            };
            let pairs: Vec<(String, String)> = some.iter().map(pair).collect();
            let Ok((relations, completion)) = self.relations(user, &pairs).await else {
                break;
            };
            reading.count_tokens(&completion);
            for ((n, older), relation) in some.iter().zip(relations) {
                resolved[*n].answer(older, &found[*n].value, relation);
            }
        }
        Ok(resolved)
    }

    /// How the second of each pair relates to the first; nothing if the answer cannot be read.
    pub(super) async fn relations(
        &self,
        user: UserId,
        pairs: &[(String, String)],
    ) -> Result<(Vec<StatementRelation>, Completion), ChatError> {
        let schema = comparison::schema(pairs.len());
        let ask = comparison::ask(pairs);
        let completion = self.ask_for(user, ChatPurpose::Facts, &ask, &schema).await?;
        let relations = comparison::relations(&completion.text, pairs.len()).unwrap_or_default();
        Ok((relations, completion))
    }

    async fn write(
        &self,
        viewer: &Viewer,
        row: &SessionExtraction,
        found: &[SourcedStatement],
        fates: &[Resolution],
        reading: &Reading,
    ) -> Result<(), ConsolidationError> {
        let now = self.now();
        let user = viewer.user_id;
        let mut tx = self.db.as_writer(user).await?;
        let end = match store::may_read(&mut tx, user, row.session_id).await? {
            store::ReadPermission::Yes | store::ReadPermission::NotOfAgent => &reading.end,
            store::ReadPermission::MemoryOff => &ReadingEnd::MemoryOff,
            store::ReadPermission::Nobody => return Ok(()),
        };
        let found = match end {
            ReadingEnd::MemoryOff => &[],
            _ => found,
        };
        let mut counts = counts_of(reading, row);
        let quota = ItemQuota::default();
        let room = quota.count_and_take(&mut tx, user, found.len() as i64);
        let has_room = room.await?.is_ok();
        let guesses = match end {
            ReadingEnd::MemoryOff => Vec::new(),
            // Without room for its facts, they would be lost.
            _ if !has_room => Vec::new(),
            _ => guesses::retire(&mut tx, viewer, row, reading, found, now).await?,
        };
        let mut items = vec![None; found.len()];
        // By words alone nothing is put aside.
        let policy = match reading.is_fallback {
            true => ConflictPolicy::Never,
            false => ConflictPolicy::PutAside,
        };
        for (n, (one, fate)) in found.iter().zip(fates).enumerate() {
            let item = item_of(one, row).map(|item| item.in_project(reading.project_of(one)));
            let Some(item) = item else {
                counts.malformed += 1;
                continue;
            };
            let merged = match fate.merge {
                Some(id) if memories::restate(&mut tx, viewer, id, &item, now).await? => Some(id),
                _ => None,
            };
            let stored = match merged {
                Some(id) => {
                    counts.merged += 1;
                    items[n] = Some(id);
                    Some(id)
                }
                None if !has_room => {
                    counts.malformed += 1;
                    continue;
                }
                None => {
                    let added = memories::add_in(&mut tx, &self.embeddings, viewer, &item, now);
                    let added = match added.await {
                        // The limit of themes is reached; a retry would fail again.
                        Err(MemoryError::Invalid(_)) => {
                            counts.malformed += 1;
                            continue;
                        }
                        added => added?,
                    };
                    match added.duplicate {
                        true => counts.merged += 1,
                        false => counts.stored += 1,
                    }
                    counts.superseded += i32::from(added.superseded.is_some());
                    items[n] = Some(added.id);
                    Some(added.id).filter(|_| added.put_aside_for.is_none())
                }
            };
            for older in &fate.supersede {
                if let Some(newer) = stored.filter(|newer| newer != older)
                    && memories::supersede_in(&mut tx, viewer, *older, newer, policy, now).await?
                {
                    counts.superseded += 1;
                }
            }
        }
        guesses::link(&mut tx, viewer, &guesses, &items, now).await?;
        if *end == ReadingEnd::Read && !row.is_fallback {
            ledger::read_guesses_again(&mut tx, user, now).await?;
        }
        if !matches!(end, ReadingEnd::MemoryOff) {
            let entities = reading.entities.iter().map(|(name, t)| (name.as_str(), *t));
            note_names(&mut tx, user, entities.collect(), now).await?;
            for found in &reading.connections {
                let evidence = RelationEvidence {
                    sentence: found.sentence.clone(),
                    item: None,
                    session: Some(row.session_id.0),
                    position: found.position,
                    trust: found.trust,
                    at: found.said_at.unwrap_or(now).min(now),
                };
                note_connection(&mut tx, user, &found.said, evidence, now).await?;
            }
        }
        if let Some(episode) = &reading.episode
            && !matches!(end, ReadingEnd::MemoryOff)
        {
            let last = reading.read_to.unwrap_or(row.last_position);
            let whose = (user, viewer.agent_id);
            // The agent may have sent a summary while the session was read.
            let told = ledger::handed_of(&mut tx, user, row.id).await?.summary;
            let episode = match told.filter(|_| reading.handed.summary.is_none()) {
                Some(summary) => &episode.clone().told_by_agent(&summary),
                None => episode,
            };
            let project = reading.project.as_ref().map(|project| project.id);
            episodes::keep(&mut tx, &self.embeddings, whose, row, (last, project), episode).await?;
        }
        if !matches!(end, ReadingEnd::MemoryOff) {
            self.note(&mut tx, viewer, row, reading, found).await?;
        }
        let is_ours = match reading.read_to {
            // What was read is finished; the rest becomes a stretch of its own.
            Some(read_to) if read_to < row.last_position && *end == reading.end => {
                let rest = ExtractionEnd {
                    counts: ExtractionCounts::default(),
                    ..ending(reading, end, counts.clone())
                };
                let done = ending_of_read(reading, counts);
                ledger::finish_in_part(&mut tx, user, row, read_to, (&done, &rest), now).await?
            }
            _ => ledger::finish(&mut tx, user, row, &ending(reading, end, counts), now).await?,
        };
        if is_ours {
            tx.commit().await?;
        }
        Ok(())
    }
}

/// The counts of this attempt, plus those of the earlier attempts that it continues.
fn counts_of(reading: &Reading, row: &SessionExtraction) -> ExtractionCounts {
    let before = match row.windows_read {
        0 => ExtractionCounts::default(),
        _ => row.counts.clone(),
    };
    let tokens = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    ExtractionCounts {
        merged: before.merged + reading.repeated,
        malformed: before.malformed + i32::try_from(reading.malformed).unwrap_or(0),
        skipped_chars: i64::try_from(reading.skipped_chars).unwrap_or(i64::MAX),
        tokens_in: before.tokens_in.saturating_add(tokens(reading.tokens_in)),
        tokens_out: before.tokens_out.saturating_add(tokens(reading.tokens_out)),
        duration_ms: before.duration_ms
            + i64::try_from(reading.began.elapsed().as_millis()).unwrap_or(0),
        ..before
    }
}

fn ending_of_read(reading: &Reading, counts: ExtractionCounts) -> ExtractionEnd<'_> {
    ExtractionEnd {
        outcome: match counts.stored + counts.merged {
            0 => ExtractionOutcome::Nothing,
            _ => ExtractionOutcome::Stored,
        },
        reason: None,
        counts,
        is_fallback: reading.is_fallback,
        model: reading.model.as_deref(),
        next_try_at: None,
        windows_read: reading.windows_read,
    }
}

fn ending<'a>(
    reading: &'a Reading,
    end: &'a ReadingEnd,
    counts: ExtractionCounts,
) -> ExtractionEnd<'a> {
    let (outcome, reason, next_try_at): (_, _, Option<OffsetDateTime>) = match end {
        ReadingEnd::Failed(why, again) => (ExtractionOutcome::Failed, why.as_str(), *again),
        ReadingEnd::Skipped(why, again) => (ExtractionOutcome::Skipped, why.as_str(), *again),
        ReadingEnd::MemoryOff => (ExtractionOutcome::Skipped, MEMORY_OFF, None),
        ReadingEnd::NotOfAgent => (ExtractionOutcome::Skipped, NOT_OF_AGENT, None),
        ReadingEnd::Read | ReadingEnd::Lost => return ending_of_read(reading, counts),
    };
    ExtractionEnd { outcome, reason: Some(reason), next_try_at, ..ending_of_read(reading, counts) }
}

/// `None` if it breaks a limit of items, which parsed facts never do.
fn item_of(one: &SourcedStatement, row: &SessionExtraction) -> Option<NewItem> {
    let item = NewItem::parse(one.item_type, &one.value, Some(one.theme), &[]).ok()?;
    let expiry = one.days.map(Expiry::in_days).transpose().ok()?;
    let item = item
        .with_key(one.key.clone())
        .with_expiry(expiry)
        .with_period(one.period)
        .yielding(ConflictPolicy::PutAside)
        .with_provenance(Provenance {
            source: one.source,
            trust: Some(one.trust),
            context: one.quote.clone(),
            confidence: Some(one.confidence),
            session_id: Some(row.session_id.0),
            message_id: one.position.map(i64::from),
            said_at: one.said_at,
        });
    Some(item)
}

/// Keeps duplicates within one reading once. The later of two values with one key comes after the earlier,
/// which it supersedes. The order by key prevents deadlocks between two readings of one user.
pub(super) fn once_each(mut found: Vec<SourcedStatement>) -> (Vec<SourcedStatement>, i32) {
    let form = |one: &SourcedStatement| one.key.as_ref().map(ItemKey::form);
    found.sort_by(|a, b| (a.theme, form(a), a.place).cmp(&(b.theme, form(b), b.place)));
    let mut kept: Vec<SourcedStatement> = Vec::with_capacity(found.len());
    // For each key its last value, by index in `kept`.
    let mut holding: Vec<(StatementWords, usize)> = Vec::new();
    let mut repeated = 0;
    for mut one in found {
        let words = StatementWords::of(&one.value);
        let of_key = kept.last().is_some_and(|last| {
            one.key.is_some() && (last.theme, form(last)) == (one.theme, form(&one))
        });
        let of_key = if of_key { holding.last_mut() } else { None };
        let said = match of_key {
            Some((said, at)) => {
                // Whatever the sender's clock says: within a session the later one wins.
                one.said_at = one.said_at.max(kept[*at].said_at);
                if words.are_those_of(said) {
                    kept[*at].said_at = one.said_at;
                    if one.trust > kept[*at].trust {
                        kept[*at] = one.clone();
                    }
                    Some(*at)
                } else {
                    (*said, *at) = (words, kept.len());
                    kept.push(one);
                    continue;
                }
            }
            None => {
                let says_no_more = |(said, at): &&(StatementWords, usize)| {
                    let is_repeated = kept[*at].position == one.position && words.repeat(said);
                    words.say_no_more_than(said) || is_repeated
                };
                holding.iter().find(says_no_more).map(|(_, at)| *at)
            }
        };
        match said {
            Some(at) => {
                kept[at].confidence = kept[at].confidence.max(one.confidence);
                repeated += 1;
            }
            None => {
                holding.push((words, kept.len()));
                kept.push(one);
            }
        }
    }
    (kept, repeated)
}
