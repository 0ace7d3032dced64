//! Teams: what the page of agents shows of one, and where an invitation's link leads.

use time::OffsetDateTime;

/// Of one agent, as a leader and as a member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TeamView {
    /// Whose team it is in.
    pub leader: Option<TeamMate>,
    pub members: Vec<TeamMate>,
    /// Links to its team that can still be used.
    pub invitations: i64,
    /// Memories that it keeps for itself, which members read.
    pub own_count: i64,
    /// Agents of the same person that could join.
    pub candidates: Vec<(i64, String)>,
    /// Its members write nothing, in their own memory neither.
    pub is_read_only: bool,
}

/// The agent on the other side.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamMate {
    /// Of the membership.
    pub id: i64,
    pub agent: String,
    /// Whose it is, where that is somebody else.
    pub person: Option<String>,
    pub since: OffsetDateTime,
    /// The leader lets members write nothing.
    pub is_read_only: bool,
}

/// Where the link of an invitation leads.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinPage {
    pub leader: String,
    pub person: Option<String>,
    pub is_read_only: bool,
    /// Agents of the person who has opened it.
    pub agents: Vec<(i64, String)>,
}
