//! The types that pages are made of: plain data, already fit to be shown.
//! Nothing secret has a type here (but for a token in the one answer that
//! shows it), so nothing secret can reach a page by accident.

mod backups;
mod chat;
mod consent;
mod embeddings;
mod jobs;
mod storage;
mod teams;
mod users;

use time::OffsetDateTime;

pub use crate::address::{ActivityFilters, EntityLink, PartPlace, said_in};
pub use crate::components::{LateView, RelationBar, Retired, ScoreParts, SpaceView};
pub use crate::consolidation::summary::SourceItem;
pub use crate::endpoint::EndpointView;
pub use crate::pages::activity::readings::Reading;
pub use backups::{BackupRow, BackupsPage, Verification};
pub use chat::SystemChatView;
pub use consent::{ConnectedClient, ConsentPage, ConsentView, RefusedConsent};
pub use embeddings::{
    AdminPage, BuiltinExchange, EmbeddingState, ItemEmbedding, LateSwitch, QueueCounts,
};
pub use jobs::{
    DayRuns, FailedRun, JobFailures, JobRow, JobsLine, JobsPage, LastRun, NextRun, ScheduleView,
    TroubleRow, VectorsView,
};
pub use storage::{ServerStorage, StorageList};
pub use teams::{JoinPage, TeamMate, TeamView};
pub use users::{
    AdminEventRow, InvitationPage, InvitationRow, InvitationState, OperatedUserRow, PersonRow,
    ResetPage, UsersFilters, UsersPage,
};

/// The person who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub email: String,
    pub is_admin: bool,
    /// Whether their agents may read and write memory.
    pub memory_enabled: bool,
    /// "Europe/Vienna"
    pub time_zone: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TokenRow {
    pub id: i64,
    /// "ks_…x7Qz"
    pub hint: String,
    pub scopes: Vec<String>,
    pub created: OffsetDateTime,
    pub expires: Option<OffsetDateTime>,
    pub last_used: Option<OffsetDateTime>,
    pub state: TokenState,
    /// The program that was allowed by OAuth; `None`: a token that somebody copied.
    pub client: Option<ConnectedClient>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    Valid,
    Expired,
    Revoked,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AgentRow {
    pub id: i64,
    pub name: String,
    /// It has a valid token, and called in the last minutes.
    pub is_active: bool,
    pub created: OffsetDateTime,
    pub memory_enabled: bool,
    /// single, core or full: the tools that it is told of.
    pub profile: &'static str,
    pub item_count: i64,
    pub tokens: Vec<TokenRow>,
    pub settings: Vec<AgentSetting>,
    /// The same as JSON, without what is as the server has it.
    pub settings_document: String,
    pub team: TeamView,
    /// The last time that its changes were undone, and since when: to take back.
    pub undone: Option<(OffsetDateTime, OffsetDateTime)>,
}

/// A setting of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSetting {
    pub name: &'static str,
    pub label: &'static str,
    pub hint: &'static str,
    /// Empty: as the server has it.
    pub value: String,
    pub default: String,
    /// What it may be, each with its words; a number where there are none.
    pub choices: Vec<(&'static str, &'static str)>,
}

/// A product that remembers for users of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorRow {
    pub id: i64,
    pub name: String,
    pub created: OffsetDateTime,
    pub users: i64,
    pub users_max: i64,
    /// The user whose memory all others fall back to, as it calls them.
    pub pool: Option<String>,
    pub tokens: Vec<TokenRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AgentsPage {
    pub agents: Vec<AgentRow>,
    pub public_url: String,
    /// In the person's time zone, as a field for a date and a time has it.
    pub a_day_ago: String,
}

/// What the sign-in page offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInOffer {
    /// Nobody has an account yet: the first one becomes the admin.
    FirstAccount,
    /// Accounts were made at the command line, none of them an admin's.
    SignInOrFirstAdmin,
    /// Accounts exist and sign-up is closed.
    SignIn,
    /// Accounts exist and anyone may make one.
    SignInOrSignUp,
}

/// What goes with one memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemErasure {
    pub vectors: i64,
    pub events: i64,
    /// Calls that were about it.
    pub mentions: i64,
    /// Memories whose place it took.
    pub links: i64,
    /// The summary stands on it.
    pub is_in_summary: bool,
    /// Memories that were written from it.
    pub derived: i64,
}
