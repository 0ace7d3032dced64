//! The types of the admin page, and of what pages say about vectors. A key is never among them: only that there is one.

use super::{
    EndpointView, JobsLine, OperatorRow, ScoreParts, ServerStorage, SpaceView, SystemChatView,
};
use time::OffsetDateTime;

/// Where an item's vector stands in the space that search uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingState {
    Pending,
    Ready,
    Error,
}

impl EmbeddingState {
    pub const ALL: [Self; 3] = [Self::Pending, Self::Ready, Self::Error];

    /// As it stands in the address: `embedding=pending`.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Error => "error",
        }
    }

    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.slug() == slug)
    }
}

/// What an admin has set, and how far it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateSwitch {
    pub is_on: bool,
    /// Served by the builtin model …
    pub users: i64,
    /// … and those for whom it is as it was switched.
    pub done: i64,
}

/// For admins alone.
#[derive(Clone, Debug, PartialEq)]
pub struct AdminPage {
    /// The system's provider that is confirmed; its `provider` is the endpoint's host and port.
    pub in_force: Option<SpaceView>,
    /// A URL from `KEEPSAKE_LLAMACPP_URL` that waits to be confirmed.
    pub offered: Option<String>,
    /// What the form starts with: what is in force, else what is offered, else the host of
    /// the chat model where nothing else makes vectors.
    pub system: EndpointView,
    pub chat: SystemChatView,
    /// One sentence: the builtin model's files are missing.
    pub missing_model: Option<String>,
    pub builtin_enabled: bool,
    pub exchange: BuiltinExchange,
    pub late: LateSwitch,
    /// The pages show memories and change none.
    pub is_browser_read_only: bool,
    pub storage: ServerStorage,
    /// Each `host:port` with the name of its purpose.
    pub allowed_endpoints: Vec<(String, String)>,
    pub queue: QueueCounts,
    pub jobs: JobsLine,
    pub users: i64,
    pub operators: Vec<OperatorRow>,
    pub public_url: String,
}

/// From the English builtin model to the multilingual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinExchange {
    pub is_postponed: bool,
    /// The English model's files are there.
    pub can_postpone: bool,
    /// Of the builtin model, and those of them whom the wanted one serves.
    pub users: i64,
    pub done: i64,
}

impl BuiltinExchange {
    pub fn is_under_way(self) -> bool {
        self.done < self.users
    }
}

/// Of all users together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    pub pending: i64,
    pub failed: i64,
    pub users_waiting: i64,
}

/// The vectors of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemEmbedding {
    /// `None`: no space, so no vector is to be had.
    pub state: Option<EmbeddingState>,
    pub error: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub dimensions: Option<i32>,
    /// Stretches of its text, each with a vector of its own; and those that have theirs.
    pub passages: i64,
    pub passages_ready: i64,
    pub updated: Option<OffsetDateTime>,
}
