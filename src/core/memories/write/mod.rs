//! Writes all sources: added, imported or learned items, turns, and document parts. One statement writes many sources with
//! their passages, pending embeddings, first events and the user's changes.

mod store;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::mentions::{self, NamingSource};
use super::model::hash_of;
use super::passages::{self, Passage};
use super::period::Period;
use super::trust::Trust;
use super::{ADDED, ItemId, ItemKey, ItemSource, NewItem, PUT_ASIDE, Status};
use crate::accounts::{AgentId, UserId};
use crate::activity::CallJson;
use crate::embedding::{Noted, tokens_of};

/// The message that a turn belongs to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TurnMessage {
    pub turn_session_id: i64,
    pub turn_position: i32,
    pub turn_part: i16,
}

/// The document that a source is part of.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DocumentLines {
    pub document_id: i64,
    pub first_line: i32,
    pub last_line: i32,
}

/// Who owns a new source.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SourceOwner {
    given_owner: Option<i64>,
    is_owner_given: bool,
}

impl SourceOwner {
    /// The transaction's agent, or shared, as the agent's settings say.
    pub const BY_SCOPE: Self = Self { given_owner: None, is_owner_given: false };

    /// Owned by this agent; `None`: shared.
    pub fn given(agent: Option<i64>) -> Self {
        Self { given_owner: agent, is_owner_given: true }
    }

    /// The explicit owner.
    pub fn agent(self) -> Option<i64> {
        self.given_owner
    }
}

/// An event of the new source.
#[derive(Clone, Debug, Serialize)]
pub struct NewEvent {
    pub agent_id: Option<i64>,
    pub event: &'static str,
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
}

/// A source to write, by the names of the columns.
#[derive(Clone, Debug, Serialize)]
pub struct NewSource<'a> {
    /// An item's theme, by id, or by the slug of an existing theme. `None` for turns and document parts.
    pub theme_id: Option<i64>,
    pub slug: Option<&'a str>,
    /// The caller has looked at the active items with its text or key: it is written beside them.
    pub is_checked: bool,
    pub agent_id: Option<i64>,
    #[serde(flatten)]
    pub owner: SourceOwner,
    /// What it was learned of; `None`: of the person.
    pub project_id: Option<i64>,
    #[serde(rename = "type")]
    pub source_type: &'static str,
    pub key: Option<&'a str>,
    pub content: &'a str,
    pub tags: &'a [String],
    pub status: &'static str,
    pub source: &'a str,
    pub trust: &'static str,
    pub source_context: Option<&'a str>,
    pub session_id: Option<i64>,
    pub message_id: Option<i64>,
    /// 0 to 100
    pub confidence: i16,
    pub protected: bool,
    pub locked: bool,
    /// A job compares it with what is held.
    pub is_uncompared: bool,
    #[serde(with = "time::serde::rfc3339::option")]
    pub expires_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub valid_from: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub valid_until: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub last_verified_at: Option<OffsetDateTime>,
    /// Per day; `None`: the rate of its type.
    pub decay_rate: Option<f64>,
    pub superseded_by: Option<i64>,
    pub attributes: Option<&'a Value>,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    #[serde(flatten)]
    pub part: Option<TurnMessage>,
    #[serde(flatten)]
    pub document: Option<DocumentLines>,
    /// The call that adds it, recorded in the same statement.
    pub call: Option<CallJson>,
    pub events: Vec<NewEvent>,
    /// Base64; equal hashes are duplicates.
    pub content_hash: String,
    pub passages: Vec<Passage>,
}

/// The result of writing a batch of sources.
pub struct WrittenSources {
    /// One per source, in order; `None` if it was skipped.
    pub ids: Vec<Option<ItemId>>,
    /// About those that were written.
    pub noted: Noted,
}

impl<'a> NewSource<'a> {
    /// A source of an agent, created now, owned by scope, with its passages and terms.
    pub fn new(
        source_type: &'static str,
        content: &'a str,
        key: Option<&'a str>,
        tags: &'a [String],
        now: OffsetDateTime,
    ) -> Self {
        Self {
            theme_id: None,
            slug: None,
            is_checked: false,
            agent_id: None,
            owner: SourceOwner::BY_SCOPE,
            project_id: None,
            source_type,
            key,
            content,
            tags,
            status: Status::Active.as_str(),
            source: "agent",
            trust: Trust::Agent.as_str(),
            source_context: None,
            session_id: None,
            message_id: None,
            confidence: 100,
            protected: false,
            locked: false,
            is_uncompared: false,
            expires_at: None,
            valid_from: None,
            valid_until: None,
            last_verified_at: None,
            decay_rate: None,
            superseded_by: None,
            attributes: None,
            created_at: now,
            updated_at: now,
            part: None,
            document: None,
            call: None,
            events: Vec::new(),
            content_hash: BASE64.encode(hash_of(content)),
            passages: passages::of_text(content, key, tags),
        }
    }

    /// A new item. With `aside_for` it is stored archived, linked to that item.
    pub fn of_item(
        item: &'a NewItem,
        agent: Option<AgentId>,
        aside_for: Option<ItemId>,
        now: OffsetDateTime,
    ) -> Self {
        let provenance = item.provenance();
        let agent_id = agent.map(|a| a.0);
        let happened = |event| NewEvent { agent_id, event, at: now };
        let events = [Some(ADDED), aside_for.map(|_| PUT_ASIDE)];
        let status = match aside_for {
            Some(_) => Status::Archived,
            None => Status::Active,
        };
        let (item_type, key) = (item.item_type().as_str(), item.key().map(ItemKey::as_str));
        Self {
            slug: Some(item.theme().as_str()),
            agent_id,
            status: status.as_str(),
            source: provenance.source.as_str(),
            trust: item.trust().as_str(),
            source_context: provenance.context.as_deref(),
            session_id: provenance.session_id,
            message_id: provenance.message_id,
            confidence: item.confidence(),
            // What was read from a session was compared before; a summary or a reflection repeats what is held.
            is_uncompared: provenance.session_id.is_none()
                && aside_for.is_none()
                && item.item_type().states()
                && provenance.source != ItemSource::Derived,
            project_id: item.project().map(|project| project.0),
            expires_at: item.expires_at(now),
            superseded_by: aside_for.map(|id| id.0),
            created_at: item.created_at(now),
            events: events.into_iter().flatten().map(happened).collect(),
            ..Self::new(item_type, item.content(), key, item.tags(), now).with_period(item.period())
        }
    }

    /// Equal hashes are the same text, character by character.
    pub fn compared_exactly(self) -> Self {
        Self { content_hash: BASE64.encode(Sha256::digest(self.content.as_bytes())), ..self }
    }

    pub fn with_period(self, period: Period) -> Self {
        Self { valid_from: period.from, valid_until: period.until, ..self }
    }
}

/// Writes sources of a user, in a transaction of [`Db::as_writer`](crate::db::Db::as_writer). Skips a source if an active
/// item has its text or key and the caller has looked at none, if it exists already, or if its theme does not exist. The caller must then call
/// [`Embeddings::see_to`](crate::embedding::Embeddings::see_to).
pub async fn write(
    conn: &mut PgConnection,
    user: UserId,
    sources: &[NewSource<'_>],
    now: OffsetDateTime,
) -> Result<WrittenSources, sqlx::Error> {
    let (ids, mut noted) = store::insert(conn, user, sources, now).await?;
    let written = || sources.iter().zip(&ids).filter_map(|(source, id)| Some((source, (*id)?)));
    noted.tokens = written().map(|(source, _)| tokens_of(source.content.len())).sum();
    let naming: Vec<NamingSource> = written()
        .map(|(source, id)| NamingSource::of_text(id.0, source.created_at, source.content))
        .collect();
    mentions::write(conn, user, &naming, now).await?;
    Ok(WrittenSources { ids, noted })
}
