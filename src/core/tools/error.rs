//! Why a tool call failed, for errors from any part of the domain.

use super::DATABASE_UNAVAILABLE;
use crate::accounts::{MemoryOff, Scope, TooManyUsers};
use crate::db::actor::ActorRefusal;
use crate::db::{is_disk_full, is_of_a_gone_user};
use crate::documents::DocumentError;
use crate::embedding::EmbeddingError;
use crate::entities::EntityError;
use crate::input::Invalid;
use crate::memories::MemoryError;
use crate::memories::proposals::ProposalReason;
use crate::quota::QuotaError;

/// Why a call failed. The messages are the same over REST and MCP.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("there is no tool of this name; there are {known}")]
    UnknownTool { known: String },
    #[error("{}", missing_scope(*.0))]
    MissingScope(Scope),
    #[error("{}", memory_off(*.0))]
    MemoryOff(MemoryOff),
    #[error(transparent)]
    TooManyUsers(#[from] TooManyUsers),
    /// The caller was authenticated, but has lost its permission since.
    #[error("{0}")]
    NotAllowedAnyMore(ActorRefusal),
    /// The input is not JSON.
    #[error("{0}")]
    NotJson(String),
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("there is no item {item_id} in your memory")]
    NoSuchItem { item_id: i64 },
    #[error("no active item of your memory has this key")]
    NoSuchKey,
    #[error("{0}")]
    NoSuchEntity(String),
    #[error("your memory has no theme of this slug; memory_list_themes lists them")]
    NoSuchTheme,
    /// It would change an item that is only shared with the agent.
    #[error("{0}")]
    Lent(&'static str),
    /// The request conflicts with the current state.
    #[error("{sentence}")]
    Conflict { code: &'static str, sentence: String },
    /// The change waits for the user as this proposal.
    #[error("{sentence}")]
    Proposed { code: &'static str, sentence: String, proposal: i64 },
    /// An error of a file command, with the text that the memory tool's clients expect.
    #[error("{words}")]
    Files { code: &'static str, words: String },
    #[error("the account that this token acts for was erased; nothing was written")]
    AccountErased,
    #[error("the database cannot be reached right now; nothing was changed: try again in a moment")]
    Database(sqlx::Error),
    #[error(transparent)]
    Embedding(EmbeddingError),
    #[error(transparent)]
    Quota(QuotaError),
    #[error("the answer could not be written as JSON")]
    Output(#[from] serde_json::Error),
}

fn missing_scope(scope: Scope) -> String {
    let lacks = format!("this token lacks the scope {}", scope.as_str());
    match scope {
        Scope::PoolWrite => format!("{lacks}, which writing to the operator's global pool needs"),
        _ => lacks,
    }
}

fn memory_off(of: MemoryOff) -> &'static str {
    match of {
        MemoryOff::User => {
            "memory is switched off for this account: nothing is read or written until the person it belongs to switches it on, on the page Account"
        }
        MemoryOff::Agent => {
            "memory is switched off for this agent: nothing is read or written until the person it belongs to switches it on, on the page Agents & tokens"
        }
    }
}

impl ToolError {
    /// Stable: clients rely on it, and activity records it as the outcome.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownTool { .. } => "unknown_tool",
            Self::MissingScope(_) => "missing_scope",
            Self::MemoryOff(_) => "memory_off",
            Self::TooManyUsers(_) => "too_many_users",
            Self::NotAllowedAnyMore(refusal) => refusal.code(),
            Self::NotJson(_) => "invalid_json",
            Self::Invalid(invalid) => invalid.code,
            Self::NoSuchItem { .. }
            | Self::NoSuchKey
            | Self::NoSuchEntity(_)
            | Self::NoSuchTheme => "not_found",
            Self::Conflict { code, .. }
            | Self::Proposed { code, .. }
            | Self::Files { code, .. } => code,
            Self::Lent(_) => "read_only_memory",
            Self::AccountErased => "erased_user",
            Self::Database(_) => DATABASE_UNAVAILABLE,
            Self::Embedding(error) => error.code(),
            Self::Quota(error) => error.code(),
            Self::Output(_) => "unavailable",
        }
    }
}

impl From<sqlx::Error> for ToolError {
    fn from(error: sqlx::Error) -> Self {
        match ActorRefusal::of(&error) {
            Some(ActorRefusal::MemoryOffForUser) => Self::MemoryOff(MemoryOff::User),
            Some(ActorRefusal::MemoryOffForAgent) => Self::MemoryOff(MemoryOff::Agent),
            Some(refusal) => Self::NotAllowedAnyMore(refusal),
            None if is_of_a_gone_user(&error) => Self::AccountErased,
            None if is_disk_full(&error) => Self::Quota(QuotaError::DatabaseDisk),
            None => Self::Database(error),
        }
    }
}

impl From<QuotaError> for ToolError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Database(error) => error.into(),
            full => Self::Quota(full),
        }
    }
}

impl From<MemoryError> for ToolError {
    fn from(error: MemoryError) -> Self {
        let sentence = error.to_string();
        if let MemoryError::Proposed { proposal, reason, .. } = error {
            let code = match reason {
                ProposalReason::Locked | ProposalReason::Together => "confirmed",
                ProposalReason::Rate => "too_many_changes",
            };
            return Self::Proposed { code, sentence, proposal };
        }
        let conflict = |code| Self::Conflict { code, sentence };
        match error {
            MemoryError::NotFound(id) => Self::NoSuchItem { item_id: id.0 },
            MemoryError::NoSuchKey => Self::NoSuchKey,
            MemoryError::NoSuchTheme => Self::NoSuchTheme,
            MemoryError::NotActive { .. } => conflict("not_active"),
            MemoryError::Confirmed { .. } | MemoryError::Proposed { .. } => conflict("confirmed"),
            MemoryError::TooManyProposals => conflict("too_many_proposals"),
            MemoryError::TooLate => conflict("too_late"),
            MemoryError::ChangedSince => conflict("changed_since"),
            MemoryError::KeyInThemes { .. } => conflict("ambiguous_key"),
            MemoryError::Invalid(invalid) => Self::Invalid(invalid),
            MemoryError::Database(error)
            | MemoryError::Embedding(EmbeddingError::Database(error)) => error.into(),
            MemoryError::Embedding(EmbeddingError::Invalid(invalid)) => Self::Invalid(invalid),
            MemoryError::Embedding(error) => Self::Embedding(error),
        }
    }
}

impl From<DocumentError> for ToolError {
    fn from(error: DocumentError) -> Self {
        let sentence = error.to_string();
        let conflict = |code| Self::Conflict { code, sentence };
        match error {
            DocumentError::NotFound => Self::Files {
                code: "not_found",
                words: "There is no document of this path.".to_owned(),
            },
            DocumentError::Exists | DocumentError::IsFolder | DocumentError::IsDocument => {
                conflict("exists")
            }
            DocumentError::ReadOnly => conflict("read_only"),
            DocumentError::Lent(refusal) => Self::Lent(refusal),
            DocumentError::Changed { .. } => conflict("changed_since"),
            DocumentError::Refused(words) => Self::Files { code: "no_match", words },
            DocumentError::Invalid(invalid) => Self::Invalid(invalid),
            DocumentError::Embedding(error) => Self::Embedding(error),
            DocumentError::Database(error) => error.into(),
        }
    }
}

impl From<EntityError> for ToolError {
    fn from(error: EntityError) -> Self {
        match error {
            EntityError::Invalid(invalid) => Self::Invalid(invalid),
            EntityError::Database(error) => error.into(),
            EntityError::Conflict(sentence) => {
                Self::Conflict { code: "conflict", sentence: sentence.to_owned() }
            }
            error @ (EntityError::NotFound(_) | EntityError::NoSuchName(_)) => {
                Self::NoSuchEntity(error.to_string())
            }
        }
    }
}
