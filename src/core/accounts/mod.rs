//! Accounts: users, the agents that act for them, and how they authenticate: passwords on pages, tokens for tools. Each
//! operation is one transaction. Must never reveal to a stranger whether an address has an account.

pub mod admin_events;
mod agent_settings;
mod agents;
pub mod invitations;
pub mod model;
pub mod oauth;
pub mod operators;
mod password;
pub mod people;
mod resets;
pub mod store;
pub mod teams;
mod tokens;
mod users;

pub use agent_settings::{AgentSettings, MemoryScope, NAMES as AGENT_SETTINGS, RECALL_TOKENS};
pub(crate) use agents::list_names as list_agent_names;
pub use model::{
    AgentId, AgentName, Email, ExternalId, LentMemory, OperatorId, Password, Role, Scope, Scopes,
    SignUpState, TokenId, ToolProfile, User, UserId, UsersMax, VerifiedUser, Viewer,
};
pub use operators::TooManyUsers;
pub use password::HashCost;
pub use tokens::{
    ActingFor, AgentAccess, LinkToken, MemoryOff, NewUser, Token, TokenHolder, TokenOwner,
    TokenRefusal, TokenWish,
};

use std::sync::{Arc, Mutex};

use password::{HashError, HashingQueue};
use time::OffsetDateTime;

use crate::clock::SharedClock;
use crate::config::SignUp;
use crate::db::Db;
use crate::input::Invalid;

/// After a restore, as the owner role: what let somebody in at the time of the backup may have been used or ended
/// since. Voids invitations, links that set a password and invitations to teams; signs everybody out of browsers.
/// Passwords and agents' tokens stay.
pub async fn end_links_and_web_sessions(
    conn: &mut sqlx::PgConnection,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    invitations::store::revoke_all(conn, now).await?;
    teams::store::delete_all_invitations(conn).await?;
    store::delete_all_web_sessions(conn).await
}

#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("sign-up is closed on this server; ask its admin for an account")]
    SignUpClosed,
    #[error("the e-mail address or the password is not right")]
    WrongPassword,
    #[error("this invitation cannot be used: it was used, revoked, is out of date, or never was")]
    InvitationOver,
    #[error(
        "this link cannot be used: it was used, revoked, is older than 24 hours, or never was; ask an admin for a new one"
    )]
    ResetLinkOver,
    #[error("there is no such agent, operator, token, invitation or account")]
    NotFound,
    #[error("too many people are signing in at this moment; try again in a few seconds")]
    Busy,
    #[error(transparent)]
    Hash(HashError),
    #[error("the operating system has no randomness to give: {0}")]
    Randomness(#[from] rand::rand_core::OsError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<HashError> for AccountError {
    fn from(error: HashError) -> Self {
        match error {
            HashError::Busy => Self::Busy,
            error => Self::Hash(error),
        }
    }
}

#[derive(Clone)]
pub struct Accounts {
    db: Db,
    clock: SharedClock,
    sign_up: SignUp,
    /// Serializes the creation of operators' users.
    making_users: Arc<tokio::sync::Mutex<()>>,
    hashing: Arc<HashingQueue>,
    offer: Arc<Mutex<Option<(OffsetDateTime, SignUpState)>>>,
}

impl Accounts {
    pub fn new(db: Db, clock: SharedClock, sign_up: SignUp) -> Self {
        Self::with_hash_cost(db, clock, sign_up, HashCost::default())
    }

    /// For tests, which make hundreds of accounts.
    pub fn with_hash_cost(db: Db, clock: SharedClock, sign_up: SignUp, cost: HashCost) -> Self {
        Self {
            db,
            clock,
            sign_up,
            making_users: Arc::default(),
            hashing: Arc::new(HashingQueue::new(cost)),
            offer: Arc::default(),
        }
    }

    /// Number of passwords waiting to be checked.
    pub fn count_waiting_passwords(&self) -> usize {
        self.hashing.count_waiting()
    }
}

/// Only shown to the server's operator or where sign-up is allowed, so it reveals nothing to strangers.
fn address_taken() -> AccountError {
    Invalid::new("email", "taken", "An account with this address already exists; sign in instead.")
        .into()
}
