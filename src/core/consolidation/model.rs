//! What a reading of a stretch gives: statements, relations, and how it ended.

use std::time::Instant;

use time::OffsetDateTime;

use super::episodes::EpisodeDraft;
use super::named::ExtractedRelation;
use crate::memories::mentions::EntityType;
use crate::memories::{ItemKey, ItemSource, ItemType, Period, Project, ProjectId, Trust};
use crate::providers::chat::Completion;
use crate::redaction::ScreenedField;
use crate::sessions::ledger::AgentInput;

/// A statement that may be stored.
#[derive(Clone, Debug)]
pub(super) struct SourcedStatement {
    pub theme: &'static str,
    pub item_type: ItemType,
    pub key: Option<ItemKey>,
    pub value: String,
    pub source: ItemSource,
    pub trust: Trust,
    pub period: Period,
    /// It is of what the session is about, not of the person.
    pub is_of_project: bool,
    pub confidence: i16,
    /// Days until it expires.
    pub days: Option<i64>,
    /// The words it comes from.
    pub quote: Option<String>,
    /// The position of the message that contains them.
    pub position: Option<i32>,
    /// `position`, or the last message of the window; orders the facts of a session.
    pub place: i32,
    pub said_at: Option<OffsetDateTime>,
}

/// A relation that may be stored, with its source and trust.
#[derive(Clone, Debug)]
pub(super) struct SourcedRelation {
    pub said: ExtractedRelation,
    pub trust: Trust,
    pub sentence: Option<String>,
    pub position: Option<i32>,
    pub said_at: Option<OffsetDateTime>,
}

/// How a reading ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadingEnd {
    Read,
    /// The reason, and the time of the next attempt.
    Skipped(String, Option<OffsetDateTime>),
    Failed(String, Option<OffsetDateTime>),
    /// Memory was switched off: nothing is stored.
    MemoryOff,
    /// Its agent's settings say that its sessions are not read.
    NotOfAgent,
    /// Another reader has the stretch, or the user is disabled or being erased: nothing is written.
    Lost,
}

/// The result of a reading.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// What the session is about.
    pub project: Option<Project>,
    /// Without duplicates, in the order in which they are written.
    pub found: Vec<SourcedStatement>,
    /// The episode of the stretch.
    pub episode: Option<EpisodeDraft>,
    pub handed: AgentInput,
    /// The model's summary of each window.
    pub summaries: Vec<String>,
    /// The entities and relations that it names.
    pub entities: Vec<(String, EntityType)>,
    pub connections: Vec<SourcedRelation>,
    /// The number of duplicates.
    pub repeated: i32,
    pub end: ReadingEnd,
    pub malformed: usize,
    pub skipped_chars: usize,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub model: Option<String>,
    pub is_fallback: bool,
    /// If the daily token limit was reached midway: the last message that was read. The rest becomes another
    /// stretch.
    pub read_to: Option<i32>,
    /// If the limit was reached before one message was complete: how many windows were read.
    pub windows_read: i32,
    pub began: Instant,
}

impl Reading {
    /// What of it is stored, to be screened: some of it are words of messages, not of a model.
    pub(super) fn fields(&mut self) -> Vec<ScreenedField<'_>> {
        let mut fields = Vec::new();
        let mut add = |name: &str, text| fields.push(ScreenedField::new(name, text));
        for one in &mut self.found {
            add("statement", &mut one.value);
            one.quote.iter_mut().for_each(|quote| add("quote", quote));
        }
        for one in &mut self.connections {
            one.sentence.iter_mut().for_each(|text| add("sentence", text));
        }
        if let Some(episode) = &mut self.episode {
            add("episode", &mut episode.summary);
            add("episode", &mut episode.short);
            episode.topics.iter_mut().for_each(|topic| add("topic", topic));
        }
        fields
    }

    /// The project of a statement.
    pub(super) fn project_of(&self, one: &SourcedStatement) -> Option<ProjectId> {
        self.project.as_ref().filter(|_| one.is_of_project).map(|project| project.id)
    }

    pub(super) fn new() -> Self {
        Self {
            project: None,
            found: Vec::new(),
            episode: None,
            handed: AgentInput::default(),
            summaries: Vec::new(),
            entities: Vec::new(),
            connections: Vec::new(),
            repeated: 0,
            end: ReadingEnd::Read,
            malformed: 0,
            skipped_chars: 0,
            tokens_in: 0,
            tokens_out: 0,
            model: None,
            is_fallback: false,
            read_to: None,
            windows_read: 0,
            began: Instant::now(),
        }
    }

    pub(super) fn count_tokens(&mut self, completion: &Completion) {
        self.tokens_in += completion.tokens_in;
        self.tokens_out += completion.tokens_out;
        if let Some(model) = &completion.model {
            self.model = Some(model.clone());
        }
    }
}
