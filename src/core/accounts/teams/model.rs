//! A team, as its users see it.

use time::OffsetDateTime;

use crate::accounts::model::AgentId;

/// A team membership: a leader and one of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(transparent)]
pub struct MembershipId(pub i64);

/// A membership as seen from one side.
#[derive(Clone, Debug)]
pub struct Membership {
    pub id: MembershipId,
    /// Whether `agent` is the leader; otherwise it is the member.
    pub leads: bool,
    /// The user's own agent.
    pub agent: AgentId,
    /// The other agent's name.
    pub other: String,
    /// The other agent's user, if it is somebody else.
    pub person: Option<String>,
    pub since: OffsetDateTime,
    /// The leader lets its members write nothing.
    pub is_read_only: bool,
}

/// The team data of the agents page.
#[derive(Clone, Debug, Default)]
pub struct Teams {
    pub memberships: Vec<Membership>,
    /// Number of valid links per leader.
    pub invitations: Vec<(AgentId, i64)>,
    /// Number of memories that each agent owns, which is what it would lend.
    pub own: Vec<(AgentId, i64)>,
    /// Agents whose team is read-only for its members.
    pub read_only: Vec<AgentId>,
}

/// The sender of an invitation.
#[derive(Clone, Debug)]
pub struct InvitationSender {
    pub agent: String,
    pub person: Option<String>,
    pub is_read_only: bool,
}

/// The result of joining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinResult {
    Yes,
    NoAgent,
    IsLeader,
    Full,
    IsInATeam,
    Unknown,
}
