//! Reads the messages of one stretch: window after window through the user's chat model;
//! without one, or when it fails, by patterns. It writes nothing but its lease.

use std::collections::VecDeque;
use std::time::{Duration as StdDuration, Instant};

use time::{Duration, OffsetDateTime};

use super::facts::{self, Fact};
use super::likeness::{evidence, source_seen};
use super::prompt::{self, Ask};
use super::transcript::{self, Transcript};
use super::{Consolidation, ConsolidationError, LEASE, back_off, fallback, store};
use crate::db::UserId;
use crate::memories::{ItemKey, ItemType, Source};
use crate::providers::chat::{ChatError, ChatMessage, ChatRequest, Completion};
use crate::sessions::model::Extraction;
use crate::sessions::{Message, ledger};

const CALL_DEADLINE: StdDuration = StdDuration::from_secs(120);
const ANSWER_TOKENS_MAX: u32 = 2_048;
const TEMPERATURE: f32 = 0.1;
/// Of a session's texts, this much is held of its head and of its tail, in bytes.
const HELD_BYTES: usize = 2 * 1_024 * 1_024;
/// From this attempt on, what a model could not read is read by patterns.
const FALLBACK_FROM_ATTEMPT: i32 = 2;

/// A statement that may be kept.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub theme: &'static str,
    pub item_type: ItemType,
    pub key: Option<ItemKey>,
    pub value: String,
    pub source: Source,
    pub confidence: i16,
    /// The words it comes from.
    pub quote: Option<String>,
    /// The message they stand in.
    pub position: Option<i32>,
    pub said_at: Option<OffsetDateTime>,
}

/// How a reading ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Read,
    /// Why, and when it is to be tried again.
    Skipped(String, Option<OffsetDateTime>),
    Failed(String, Option<OffsetDateTime>),
    /// Another reader has it: nothing is written.
    Lost,
}

/// What a reading came to.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub found: Vec<Found>,
    pub end: End,
    pub malformed: usize,
    pub skipped_chars: usize,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub model: Option<String>,
    pub is_fallback: bool,
    pub began: Instant,
}

impl Reading {
    fn new() -> Self {
        Self {
            found: Vec::new(),
            end: End::Read,
            malformed: 0,
            skipped_chars: 0,
            tokens_in: 0,
            tokens_out: 0,
            model: None,
            is_fallback: false,
            began: Instant::now(),
        }
    }

    pub(super) fn pay(&mut self, completion: &Completion) {
        self.tokens_in += completion.tokens_in;
        self.tokens_out += completion.tokens_out;
        if let Some(model) = &completion.model {
            self.model = Some(model.clone());
        }
    }
}

impl Consolidation {
    pub(super) async fn read(
        &self,
        user: UserId,
        row: &Extraction,
    ) -> Result<Reading, ConsolidationError> {
        let mut reading = Reading::new();
        let mut tx = self.db.as_user(user).await?;
        let is_off = store::is_memory_off(&mut tx, user, row.session_id).await?;
        let known = store::list_known(&mut tx, user, prompt::KNOWN_MAX as i64, self.now()).await?;
        tx.commit().await?;
        if is_off {
            reading.end = End::Skipped("memory is switched off".to_owned(), None);
            return Ok(reading);
        }
        let (messages, dropped) = self.messages(user, row).await?;
        let transcript = transcript::render(&messages);
        reading.skipped_chars = dropped + transcript.skipped_chars;
        if transcript.windows.is_empty() {
            return Ok(reading);
        }
        let known: Vec<(String, String)> = known;
        let mut found = Vec::new();
        self.ask_for_facts(user, row, &transcript, &known, &mut reading, &mut found)
            .await?;
        reading.found = found
            .into_iter()
            .map(|fact| of_fact(fact, &messages))
            .collect();
        let is_failed = matches!(reading.end, End::Failed(..));
        if is_failed && row.attempts >= FALLBACK_FROM_ATTEMPT {
            reading.is_fallback = true;
            reading.found.extend(by_patterns(&messages));
        }
        Ok(reading)
    }

    async fn ask_for_facts(
        &self,
        user: UserId,
        row: &Extraction,
        transcript: &Transcript,
        known: &[(String, String)],
        reading: &mut Reading,
        found: &mut Vec<Fact>,
    ) -> Result<(), ConsolidationError> {
        let schema = prompt::extraction_schema();
        for window in &transcript.windows {
            if !self.renew(user, row).await? {
                reading.end = End::Lost;
                return Ok(());
            }
            let ask = prompt::extraction(window, known);
            match self.ask(user, &ask, Some(&schema)).await {
                Ok(completion) => {
                    reading.pay(&completion);
                    match facts::read(&completion.text) {
                        Ok(answer) => {
                            reading.malformed += answer.malformed;
                            found.extend(answer.facts);
                        }
                        // The other windows may be read better.
                        Err(nonsense) => {
                            reading.end = self.failed(row, nonsense.to_string());
                        }
                    }
                }
                Err(ChatError::Database(error)) => return Err(error.into()),
                Err(error @ ChatError::CapReached(_)) => {
                    reading.end = End::Skipped(error.to_string(), Some(self.tomorrow()));
                    return Ok(());
                }
                Err(error @ ChatError::NoProvider) => {
                    reading.end = End::Skipped(error.to_string(), None);
                    return Ok(());
                }
                Err(error) => {
                    reading.end = self.failed(row, error.to_string());
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// One question to the user's chat model, with no connection held.
    pub(super) async fn ask(
        &self,
        user: UserId,
        ask: &Ask,
        schema: Option<&serde_json::Value>,
    ) -> Result<Completion, ChatError> {
        let messages = [
            ChatMessage::system(ask.system.as_str()),
            ChatMessage::user(ask.user.as_str()),
        ];
        let request = ChatRequest {
            messages: &messages,
            schema,
            max_tokens: ANSWER_TOKENS_MAX,
            temperature: TEMPERATURE,
            deadline: CALL_DEADLINE,
        };
        self.chat.complete(user, &request).await
    }

    /// False when another reader has begun meanwhile.
    pub(super) async fn renew(
        &self,
        user: UserId,
        row: &Extraction,
    ) -> Result<bool, ConsolidationError> {
        let mut tx = self.db.as_user(user).await?;
        let is_ours = ledger::renew(&mut tx, user, row, self.now() + LEASE).await?;
        tx.commit().await?;
        Ok(is_ours)
    }

    fn failed(&self, row: &Extraction, why: String) -> End {
        End::Failed(why, back_off(row.attempts, self.now()))
    }

    /// When the caps begin anew (UTC).
    pub(super) fn tomorrow(&self) -> OffsetDateTime {
        let now = self.now();
        let midnight = now.replace_time(time::Time::MIDNIGHT);
        midnight + Duration::days(1)
    }

    /// The messages of the stretch; of texts that are more than can be held, head and tail,
    /// and how many characters lie between.
    async fn messages(
        &self,
        user: UserId,
        row: &Extraction,
    ) -> Result<(Vec<Message>, usize), ConsolidationError> {
        let (mut head, mut tail) = (Vec::new(), VecDeque::new());
        let (mut head_bytes, mut tail_bytes, mut dropped) = (0, 0, 0);
        let mut after = 0;
        loop {
            let mut tx = self.db.as_user(user).await?;
            let page = ledger::messages_of(&mut tx, user, row, after).await?;
            tx.commit().await?;
            let Some(last) = page.last() else { break };
            after = last.position;
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
        }
        head.extend(tail);
        Ok((head, dropped))
    }
}

fn weight(message: &Message) -> usize {
    let calls = message.tool_calls.iter().map(|call| call.arguments.len());
    message.content.len() + calls.sum::<usize>()
}

fn of_fact(fact: Fact, messages: &[Message]) -> Found {
    let seen = evidence(&fact, messages);
    let source = source_seen(fact.source, seen.as_ref(), messages);
    let position = seen.as_ref().map(|e| e.position);
    Found {
        theme: fact.category.as_str(),
        item_type: fact.category.item_type(),
        key: Some(fact.key),
        value: fact.value,
        source,
        confidence: facts::confidence(source),
        said_at: position.and_then(|at| said_at(messages, at)),
        position,
        quote: seen
            .map(|e| e.quote)
            .or_else(|| (!fact.context.is_empty()).then_some(fact.context)),
    }
}

/// Below a model's: a pattern understands nothing.
const PATTERN_CONFIDENCE: i16 = 60;

fn by_patterns(messages: &[Message]) -> impl Iterator<Item = Found> {
    fallback::statements(messages)
        .into_iter()
        .map(|statement| Found {
            theme: statement.category.as_str(),
            item_type: statement.category.item_type(),
            key: statement
                .key
                .and_then(|key| ItemKey::parse(key).ok().flatten()),
            quote: Some(statement.sentence.clone()),
            value: statement.sentence,
            source: Source::UserExplicit,
            confidence: PATTERN_CONFIDENCE,
            said_at: said_at(messages, statement.position),
            position: Some(statement.position),
        })
}

fn said_at(messages: &[Message], position: i32) -> Option<OffsetDateTime> {
    let message = messages.iter().find(|m| m.position == position)?;
    Some(message.sent_at.unwrap_or(message.created_at))
}
