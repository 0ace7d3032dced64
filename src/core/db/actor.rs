//! The actor on whose behalf the current task runs. A request's rights are read when it begins, but its body may arrive much
//! later. So every transaction within [`scope`] checks them again, in the same round trip as its `BEGIN`. Outside of a scope
//! (jobs, the command line), nothing is checked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{UserId, store};
use crate::clock::SharedClock;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An agent, by token id.
    Agent {
        user: UserId,
        token_id: i64,
        /// The call writes, which the leader of the agent's team can forbid.
        writes: bool,
    },
    /// A job on behalf of an agent: applies the agent's scope, without checking its token.
    OnBehalf { user: UserId, agent_id: i64 },
    /// An operator, by service token id.
    Operator { token_id: i64 },
    /// A user in a browser, by the hash of the web session id.
    Person {
        user: UserId,
        session_hash: [u8; 32],
        /// The action requires an admin.
        is_admin_act: bool,
        /// The action manages memories, which an admin can forbid for all users.
        manages_memory: bool,
    },
}

/// GoClaw's words, which its clients may look for: passed on as they are.
pub const READ_ONLY_TEAM: &str = "memory is read-only for team members";

/// Why an actor is not allowed to act any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActorRefusal {
    #[error("this token is not known here")]
    Unknown,
    #[error("this token was revoked")]
    Revoked,
    #[error("this token has expired")]
    Expired,
    #[error(
        "the account that this token acts for is disabled; an admin of this server can say why"
    )]
    Disabled,
    #[error("memory is switched off for this account")]
    MemoryOffForUser,
    #[error("memory is switched off for this agent")]
    MemoryOffForAgent,
    #[error("you were signed out before this was sent; nothing was changed. Sign in and try again")]
    SignedOut,
    #[error("you are no longer an admin of this server; nothing was changed")]
    NotAdmin,
    #[error(
        "an admin has made the memory browser read-only; nothing was changed. Memories can still be deleted on the page Your data"
    )]
    ReadOnlyBrowser,
    /// Of a team whose members write nothing.
    #[error("{READ_ONLY_TEAM}")]
    ReadOnlyTeam,
}

impl ActorRefusal {
    /// Stable, part of the API.
    pub fn code(self) -> &'static str {
        match self {
            Self::Unknown => "unknown_token",
            Self::Revoked => "revoked_token",
            Self::Expired => "expired_token",
            Self::Disabled => "disabled_user",
            Self::MemoryOffForUser | Self::MemoryOffForAgent => "memory_off",
            Self::SignedOut => "signed_out",
            Self::NotAdmin => "not_admin",
            Self::ReadOnlyBrowser => "read_only_browser",
            Self::ReadOnlyTeam => "read_only_memory",
        }
    }
}

/// Raised by the functions of the migration `actors`.
const SQLSTATE: &str = "KS001";

impl ActorRefusal {
    /// The refusal, if this is why a transaction could not begin; `None` for other errors.
    pub fn of(error: &sqlx::Error) -> Option<Self> {
        let error = error.as_database_error()?;
        if error.code().as_deref() != Some(SQLSTATE) {
            return None;
        }
        Some(match error.message() {
            "revoked" => Self::Revoked,
            "expired" => Self::Expired,
            "disabled" => Self::Disabled,
            "memory_off_user" => Self::MemoryOffForUser,
            "memory_off_agent" => Self::MemoryOffForAgent,
            "signed_out" => Self::SignedOut,
            "not_admin" => Self::NotAdmin,
            "read_only_browser" => Self::ReadOnlyBrowser,
            "read_only_team" => Self::ReadOnlyTeam,
            _ => Self::Unknown,
        })
    }
}

/// An actor, with the clock that decides whether its token has expired.
#[derive(Clone)]
pub struct Authority {
    actor: Actor,
    clock: SharedClock,
}

impl Authority {
    /// The authority of the current task, to hand over to another task.
    pub fn current() -> Option<Self> {
        let scope = CURRENT.try_with(Arc::clone).ok()?;
        let actor = locked(&scope.actor).clone()?;
        let clock = scope.clock.clone();
        Some(Self { actor, clock })
    }

    pub fn is_of_the_same(&self, other: &Self) -> bool {
        self.actor == other.actor
    }

    /// SQL that raises an error unless the actor is allowed to act on the rows of `account`.
    pub(super) fn check(&self, account: Option<UserId>) -> String {
        match &self.actor {
            Actor::Agent { user, token_id, writes } => {
                let check = store::requiring_token(*user, *token_id, &self.now());
                match writes {
                    true => check + store::REQUIRING_TEAM_WRITES,
                    false => check,
                }
            }
            Actor::OnBehalf { user, agent_id } => store::entering_scope(*user, *agent_id),
            Actor::Operator { token_id } => {
                store::requiring_service_token(account, *token_id, &self.now())
            }
            Actor::Person { user, session_hash, is_admin_act, manages_memory } => {
                let check = store::requiring_session(*user, session_hash, *is_admin_act);
                match manages_memory {
                    true => check + store::REQUIRING_OPEN_BROWSER,
                    false => check,
                }
            }
        }
    }

    fn now(&self) -> String {
        let now: OffsetDateTime = self.clock.now();
        now.format(&Rfc3339).unwrap_or_default()
    }
}

/// The user in a browser for whom the current task acts.
pub fn person() -> Option<UserId> {
    match Authority::current()?.actor {
        Actor::Person { user, .. } => Some(user),
        Actor::Agent { .. } | Actor::OnBehalf { .. } | Actor::Operator { .. } => None,
    }
}

struct ActorScope {
    clock: SharedClock,
    actor: Mutex<Option<Actor>>,
    refusal: Mutex<Option<ActorRefusal>>,
}

tokio::task_local! {
    static CURRENT: Arc<ActorScope>;
}

/// Runs `work` as `actor`, or as the one that [`act_as`] sets meanwhile. Also returns the first refusal of its transactions.
pub async fn scope<T>(
    actor: Option<Actor>,
    clock: &SharedClock,
    work: impl Future<Output = T>,
) -> (T, Option<ActorRefusal>) {
    let scope = Arc::new(ActorScope {
        clock: clock.clone(),
        actor: Mutex::new(actor),
        refusal: Mutex::default(),
    });
    let done = CURRENT.scope(scope.clone(), work).await;
    let refusal = *locked(&scope.refusal);
    (done, refusal)
}

/// Sets the actor of the current scope.
pub fn act_as(actor: Actor) {
    in_scope(|scope| *locked(&scope.actor) = Some(actor));
}

/// From now on, every transaction of the current scope requires an admin.
pub fn require_admin() {
    in_scope(|scope| {
        if let Some(Actor::Person { is_admin_act, .. }) = &mut *locked(&scope.actor) {
            *is_admin_act = true;
        }
    });
}

/// From now on, every transaction of the current scope requires that its agent may write at all.
pub fn require_team_writes() {
    in_scope(|scope| {
        if let Some(Actor::Agent { writes, .. }) = &mut *locked(&scope.actor) {
            *writes = true;
        }
    });
}

/// From now on, every transaction of the current scope requires that memories can be managed in the browser.
pub fn require_open_browser() {
    in_scope(|scope| {
        if let Some(Actor::Person { manages_memory, .. }) = &mut *locked(&scope.actor) {
            *manages_memory = true;
        }
    });
}

/// Records a refusal in the current scope.
pub fn note_refusal_in(error: &sqlx::Error) {
    if let Some(refusal) = ActorRefusal::of(error) {
        note(refusal);
    }
}

fn note(refusal: ActorRefusal) {
    in_scope(|scope| {
        locked(&scope.refusal).get_or_insert(refusal);
    });
}

fn in_scope(act: impl FnOnce(&ActorScope)) {
    // Outside of a scope there is no actor.
    CURRENT.try_with(|scope| act(scope)).ok();
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
