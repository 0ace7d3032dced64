//! Reads the messages of one stretch, window by window, with the user's chat model; without one, or when it
//! fails, makes guesses. It writes nothing.

use std::collections::VecDeque;

use time::{Date, Duration, OffsetDateTime};

use super::category::Category;
use super::episodes::{self, SummaryAuthor};
use super::facts::{self, ExtractedFact, FactsAnswer, UnreadableAnswer};
use super::keeping::once_each;
use super::likeness::{FactSource, claim_of_fact, claim_of_relation, evidence, source_seen};
use super::model::{Reading, ReadingEnd, SourcedRelation, SourcedStatement};
use super::named::{self, ExtractedNames, ExtractedRelation};
use super::prompt::{self, Prompt};
use super::transcript::{self, ToolNames, Transcript, said_at};
use super::{Consolidation, ConsolidationError, back_off, guesses, store};
use crate::db::UserId;
use crate::entities;
use crate::memories::{ItemKey, ItemSource, learned, projects};
use crate::providers::chat::{ChatError, ChatMessage, ChatPurpose, ChatRequest, Completion};
use crate::sessions::model::SessionExtraction;
use crate::sessions::{MessageRole, StoredMessage, ToolCall, given, ledger};

/// Facts must be literal; a summary may be written more freely (Navi).
pub(super) const EXTRACTION_TEMPERATURE: f32 = 0.1;
/// Maximum bytes kept of the head and of the tail of a session.
const HELD_BYTES: usize = 2 * 1_024 * 1_024;
/// Maximum facts, and relations, of one reading: each is compared with all others, and with every message.
const FOUND_A_READING_MAX: usize = 400;
/// Overhead of a message or a tool call beside its texts, in bytes.
const OVERHEAD_BYTES: usize = 128;
/// From this attempt on, guesses are made of what a model could not read.
const FALLBACK_FROM_ATTEMPT: i32 = 2;

/// Each with the last message of its window.
type Positioned<T> = Vec<(T, i32)>;

impl Consolidation {
    pub(super) async fn read(
        &self,
        user: UserId,
        row: &SessionExtraction,
    ) -> Result<Reading, ConsolidationError> {
        let mut reading = Reading::new();
        reading.windows_read = row.windows_read;
        if let Some(end) = self.must_end(user, row).await? {
            reading.end = end;
            return Ok(reading);
        }
        let mut tx = self.db.as_user(user).await?;
        let session = row.session_id.0;
        reading.project = projects::store::find_of_session(&mut tx, user, session).await?;
        let of_project = reading.project.as_ref().map(|project| project.id);
        let known = prompt::KNOWN_MAX as i64;
        let viewer = store::viewer_of(&mut tx, user, row.session_id).await?;
        let whose = (viewer.and_then(|viewer| viewer.agent_id), of_project);
        let context = prompt::ReadingContext {
            known: store::list_known(&mut tx, user, whose, known, self.now()).await?,
            unwanted: learned::unwanted(&mut tx, user).await?,
            project: reading.project.as_ref().map(|project| project.name.clone()),
        };
        tx.commit().await?;
        let by_model = entities::settings::of(&self.db, user).await?.by_model;
        let zone = self.zone(user).await?;
        let of_person = zone.clone();
        let (messages, dropped) = self.messages(user, row).await?;
        let rendered = move || {
            let transcript = transcript::render(&messages, &ToolNames::of(&messages), &of_person);
            let episode = episodes::of_messages(&messages);
            (messages, transcript, episode)
        };
        let (messages, transcript, episode) = off_the_runtime(rendered).await;
        let date = zone.local(said_at(&messages, row.last_position).unwrap_or(self.now()));
        reading.skipped_chars = dropped + transcript.skipped_chars;
        if transcript.windows.is_empty() {
            return Ok(reading);
        }
        let (mut found, mut connections) = (Vec::new(), Vec::new());
        let mut tx = self.db.as_user(user).await?;
        reading.handed = ledger::handed_of(&mut tx, user, row.id).await?;
        tx.commit().await?;
        reading.episode = match &reading.handed.summary {
            Some(summary) => episode.map(|episode| episode.told_by_agent(summary)),
            None => episode,
        };
        self.ask_for_facts(
            user,
            row,
            (&transcript, date.date()),
            (&context, by_model),
            &mut reading,
            (&mut found, &mut connections),
        )
        .await?;
        if let Some(episode) = reading.episode.take() {
            let summaries = std::mem::take(&mut reading.summaries);
            reading.episode = Some(match episode.made_by {
                SummaryAuthor::Agent => episode,
                _ => episode.told_by_model(&summaries),
            });
        }
        // A flushed session is about to be forgotten: it does not wait for a model.
        let is_flush = reading.handed.flush.is_some();
        reading.is_fallback = match reading.end {
            ReadingEnd::Failed(..) => is_flush || row.attempts >= FALLBACK_FROM_ATTEMPT,
            // Without a model; if its tokens are used up, it goes on tomorrow.
            ReadingEnd::Skipped(_, next) => is_flush || next.is_none(),
            _ => false,
        };
        let mut known = None;
        if reading.is_fallback {
            let from = reading.read_to.map_or(row.first_position, |read_to| read_to + 1);
            let positions = from..=row.last_position;
            let mut tx = self.db.as_user(user).await?;
            let guesses = learned::guesses_of(&mut tx, user, row.session_id.0, &positions).await?;
            tx.commit().await?;
            known = Some((positions, guesses));
        }
        let located = move || {
            let connections = locate_connections(connections, &messages);
            let mut found = locate(found, &messages);
            let mut made_before = 0;
            if let Some((positions, known)) = known {
                let from = messages.partition_point(|m| m.position < *positions.start());
                let made = guesses::make(&messages[from..], is_flush, &known, &found);
                made_before = made.made_before;
                found.extend(made.new);
            }
            let (found, repeated) = once_each(found);
            ((found, repeated + made_before), connections)
        };
        ((reading.found, reading.repeated), reading.connections) = off_the_runtime(located).await;
        Ok(reading)
    }

    async fn ask_for_facts(
        &self,
        user: UserId,
        row: &SessionExtraction,
        (transcript, date): (&Transcript, Date),
        (context, by_model): (&prompt::ReadingContext, bool),
        reading: &mut Reading,
        (found, connections): (&mut Positioned<ExtractedFact>, &mut Positioned<ExtractedRelation>),
    ) -> Result<(), ConsolidationError> {
        let is_flush = reading.handed.flush.is_some();
        let schema = prompt::extraction_schema(by_model, is_flush, context.project.is_some());
        let mut read_to = 0;
        let windows = transcript.windows.iter().zip(&transcript.ends);
        for (n, (window, end)) in windows.enumerate() {
            if n < row.windows_read as usize {
                read_to = *end;
                continue;
            }
            // If memory was switched off in the meantime, nothing more may be sent.
            if let Some(end) = self.must_end(user, row).await? {
                reading.end = end;
                return Ok(());
            }
            let ask = prompt::extraction(window, context, date, by_model, is_flush);
            match self.ask_for(user, ChatPurpose::Facts, &ask, &schema).await {
                Ok(completion) => {
                    reading.count_tokens(&completion);
                    let text = completion.text;
                    let window = window.clone();
                    let read = move || {
                        let names = match by_model {
                            true => named::read(&text, &[&window]),
                            false => ExtractedNames::default(),
                        };
                        (read_answer(&text), names, episodes::summary_in(&text))
                    };
                    let (answer, names, summary) = off_the_runtime(read).await;
                    match answer {
                        Ok(answer) => {
                            let entities = names.entities.into_iter().map(|(_, name, t)| (name, t));
                            reading.entities.extend(entities);
                            add(connections, names.connections, *end);
                            reading.summaries.extend(summary);
                            reading.malformed += answer.malformed;
                            reading.malformed += add(found, answer.facts, *end);
                        }
                        // The other windows may still be readable.
                        Err(nonsense) => {
                            reading.end = self.failed(row, nonsense.to_string());
                        }
                    }
                }
                Err(ChatError::Database(error)) => return Err(error.into()),
                Err(error @ ChatError::CapReached(_)) => {
                    if reading.end == ReadingEnd::Read {
                        match read_to >= row.first_position {
                            true => reading.read_to = Some(read_to),
                            false => reading.windows_read = n as i32,
                        }
                    }
                    reading.end = ReadingEnd::Skipped(error.to_string(), Some(self.tomorrow()));
                    return Ok(());
                }
                Err(error @ ChatError::NoProvider) => {
                    reading.end = ReadingEnd::Skipped(error.to_string(), None);
                    return Ok(());
                }
                Err(error) => {
                    reading.end = self.failed(row, error.to_string());
                    return Ok(());
                }
            }
            read_to = *end;
        }
        Ok(())
    }

    /// One prompt to the user's chat model. Holds no connection.
    pub(super) async fn ask(
        &self,
        user: UserId,
        purpose: ChatPurpose,
        ask: &Prompt,
        schema: Option<&serde_json::Value>,
        temperature: f32,
    ) -> Result<Completion, ChatError> {
        let messages =
            [ChatMessage::system(ask.system.as_str()), ChatMessage::user(ask.user.as_str())];
        let request = ChatRequest {
            purpose,
            messages: &messages,
            schema,
            max_tokens: self.limits.answer_tokens_max,
            temperature,
            deadline: self.limits.call_deadline,
        };
        self.chat.complete(user, &request).await
    }

    /// Like [`Self::ask`], for facts: with a schema and a low temperature.
    pub(super) async fn ask_for(
        &self,
        user: UserId,
        purpose: ChatPurpose,
        ask: &Prompt,
        schema: &serde_json::Value,
    ) -> Result<Completion, ChatError> {
        self.ask(user, purpose, ask, Some(schema), EXTRACTION_TEMPERATURE).await
    }

    /// Checked before each call of a provider: why the reading must end, or `None` if it may continue.
    pub(super) async fn must_end(
        &self,
        user: UserId,
        row: &SessionExtraction,
    ) -> Result<Option<ReadingEnd>, ConsolidationError> {
        let mut tx = self.db.as_user(user).await?;
        let is_ours = ledger::is_ours(&mut tx, user, row).await?;
        let may_read = match is_ours {
            true => store::may_read(&mut tx, user, row.session_id).await?,
            false => store::ReadPermission::Nobody,
        };
        tx.commit().await?;
        Ok(match may_read {
            store::ReadPermission::Yes => None,
            store::ReadPermission::MemoryOff => Some(ReadingEnd::MemoryOff),
            store::ReadPermission::NotOfAgent => Some(ReadingEnd::NotOfAgent),
            store::ReadPermission::Nobody => Some(ReadingEnd::Lost),
        })
    }

    fn failed(&self, row: &SessionExtraction, why: String) -> ReadingEnd {
        ReadingEnd::Failed(why, back_off(row.attempts, self.now()))
    }

    /// When the daily limits reset (UTC).
    pub(super) fn tomorrow(&self) -> OffsetDateTime {
        let now = self.now();
        let midnight = now.replace_time(time::Time::MIDNIGHT);
        midnight + Duration::days(1)
    }

    /// The messages of the stretch; if they are too large, its head and tail. Also returns the number of
    /// characters dropped between them.
    async fn messages(
        &self,
        user: UserId,
        row: &SessionExtraction,
    ) -> Result<(Vec<StoredMessage>, usize), ConsolidationError> {
        // Memory that an earlier version left in them is not learned again.
        while given::convert_some(&self.db, user, Some(row.session_id)).await? {}
        let (mut head, mut tail) = (Vec::new(), VecDeque::new());
        let (mut head_bytes, mut tail_bytes, mut dropped) = (0, 0, 0);
        let mut after = 0;
        loop {
            let mut tx = self.db.as_user(user).await?;
            let positions = row.first_position..=row.last_position;
            let page = ledger::messages_of(&mut tx, user, row.session_id, positions, after).await?;
            tx.commit().await?;
            let Some(last) = page.last() else { break };
            after = last.position;
            let is_last = after >= row.last_position;
            for message in page {
                let bytes = weight(&message);
                if tail.is_empty() && head_bytes + bytes <= HELD_BYTES {
                    head_bytes += bytes;
                    head.push(message);
                    continue;
                }
                tail_bytes += bytes;
                tail.push_back(message);
                while tail_bytes > HELD_BYTES && tail.len() > 1 {
                    if let Some(gone) = tail.pop_front() {
                        tail_bytes -= weight(&gone);
                        dropped += gone.content.chars().count();
                    }
                }
            }
            if is_last {
                break;
            }
        }
        head.extend(tail);
        Ok((head, dropped))
    }
}

/// Adds what a window gave while there is room. Returns how many are left out.
fn add<T>(found: &mut Positioned<T>, mut of_window: Vec<T>, end: i32) -> usize {
    let given = of_window.len();
    of_window.truncate(FOUND_A_READING_MAX.saturating_sub(found.len()));
    let left_out = given - of_window.len();
    found.extend(of_window.into_iter().map(|one| (one, end)));
    left_out
}

fn read_answer(text: &str) -> Result<FactsAnswer, UnreadableAnswer> {
    match prompt::repeats_prompt(facts::without_thoughts(text)) {
        true => Err(UnreadableAnswer),
        false => facts::read(text),
    }
}

fn weight(message: &StoredMessage) -> usize {
    let of_call = |call: &ToolCall| {
        let id = call.id.as_ref().map_or(0, String::len);
        OVERHEAD_BYTES + id + call.name.len() + call.arguments.len()
    };
    let calls = message.tool_calls.iter().map(of_call);
    OVERHEAD_BYTES + message.content.len() + calls.sum::<usize>()
}

/// Runs work that takes more than a millisecond on a blocking thread.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // As if it had panicked here: the caller's job records it.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Finds where each fact was said, which gives its time and its trust.
fn locate(found: Vec<(ExtractedFact, i32)>, messages: &[StoredMessage]) -> Vec<SourcedStatement> {
    let (facts, ends): (Vec<ExtractedFact>, Vec<i32>) = found.into_iter().unzip();
    let seen = evidence(&facts, claim_of_fact, messages, &ToolNames::of(messages));
    let has_tools = messages.iter().any(|m| m.role == MessageRole::Tool);
    let each = facts.into_iter().zip(seen).zip(ends);
    each.map(|((fact, seen), end)| of_fact(fact, seen, end, messages, has_tools)).collect()
}

/// Like [`locate`], for relations.
fn locate_connections(
    found: Vec<(ExtractedRelation, i32)>,
    messages: &[StoredMessage],
) -> Vec<SourcedRelation> {
    let as_fact = |connection: &ExtractedRelation| {
        Some(ExtractedFact {
            category: Category::Other,
            key: ItemKey::parse("connection").ok().flatten()?,
            value: connection.in_words(),
            source: ItemSource::Conversation,
            period: connection.period,
            of_project: None,
            context: connection.sentence.clone(),
        })
    };
    let facts: Option<Vec<ExtractedFact>> =
        found.iter().map(|(connection, _)| as_fact(connection)).collect();
    let (facts, tools) = (facts.unwrap_or_default(), ToolNames::of(messages));
    let seen = evidence(&facts, claim_of_relation, messages, &tools);
    let each = found.into_iter().zip(seen);
    each.map(|((said, end), seen)| {
        let position = seen.evidence.as_ref().map(|e| e.position);
        SourcedRelation {
            said_at: said_at(messages, position.unwrap_or(end)),
            trust: seen.trust,
            sentence: seen
                .evidence
                .map(|e| e.quote)
                .or_else(|| (!said.sentence.is_empty()).then(|| said.sentence.clone())),
            position,
            said,
        }
    })
    .collect()
}

fn of_fact(
    fact: ExtractedFact,
    seen: FactSource,
    end: i32,
    messages: &[StoredMessage],
    has_tools: bool,
) -> SourcedStatement {
    let (source, trust) = source_seen(fact.source, &seen, has_tools);
    let position = seen.evidence.as_ref().map(|e| e.position);
    let place = position.unwrap_or(end);
    SourcedStatement {
        theme: fact.category.as_str(),
        item_type: fact.category.item_type(),
        key: Some(fact.key),
        value: fact.value,
        source,
        trust,
        period: fact.period,
        is_of_project: fact.of_project.unwrap_or(fact.category.is_of_work()),
        confidence: facts::confidence(source),
        days: fact.category.days(),
        said_at: said_at(messages, place),
        place,
        position,
        quote: seen
            .evidence
            .map(|e| e.quote)
            .or_else(|| (!fact.context.is_empty()).then_some(fact.context)),
    }
}
