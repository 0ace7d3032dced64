//! Teams (GoClaw): agents that may read what another agent, their leader, owns. Agents of the same user are added; those of
//! others join by a link that their user accepts. Either side can end it at once. Lent memory is read in `crate::search`,
//! `crate::documents` and `crate::tools`, through `crate::db::Db::lent_to`.

mod model;
pub(super) mod store;

pub use model::{InvitationSender, Membership, MembershipId, Teams};

use model::JoinResult;
use sqlx::PgConnection;
use time::Duration;

use super::model::{AgentId, UserId};
use super::tokens::LinkToken;
use super::{AccountError, Accounts};
use crate::db::citus;
use crate::input::Invalid;
use crate::replay::{NotedAct, note_own};

/// Limit on the members of one leader.
pub const MEMBERS_MAX: i64 = 50;
/// Limit on the valid links of one leader.
const INVITATIONS_MAX: i64 = 20;
/// Lifetime of a link.
pub const INVITED_FOR: Duration = Duration::days(7);

fn refused(field: &'static str, code: &'static str, sentence: impl Into<String>) -> AccountError {
    Invalid::new(field, code, sentence).into()
}

fn full() -> AccountError {
    let sentence = format!("This team has {MEMBERS_MAX} members, which is the most.");
    refused("agent", "too_many", sentence)
}

fn is_in_a_team() -> AccountError {
    let sentence = "This agent is in a team already; let it leave that one first.";
    refused("member", "in_a_team", sentence)
}

/// Makes an agent the leader of a team.
async fn prepare_leader(
    conn: &mut PgConnection,
    user: UserId,
    leader: AgentId,
) -> Result<(), AccountError> {
    if !super::agents::exists(conn, user, leader).await? {
        return Err(AccountError::NotFound);
    }
    citus::require_one_server(conn, "agent", "There are no teams").await??;
    match store::prepare_leader(conn, user, leader).await? {
        true => Ok(()),
        false => Err(AccountError::NotFound),
    }
}

impl Accounts {
    pub async fn teams(&self, user: UserId) -> Result<Teams, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let teams = Teams {
            memberships: store::list(&mut tx).await?,
            invitations: store::count_invitations(&mut tx, user, self.clock.now()).await?,
            own: store::count_own(&mut tx, user).await?,
            read_only: store::list_read_only(&mut tx, user).await?,
        };
        tx.commit().await?;
        Ok(teams)
    }

    /// Allows another agent of the same user to read what this one owns.
    ///
    /// # Errors
    /// [`Invalid`] if it is in a team or is the leader itself, or the team is full.
    pub async fn add_to_team(
        &self,
        user: UserId,
        leader: AgentId,
        member: AgentId,
    ) -> Result<(), AccountError> {
        if leader == member {
            let sentence = "An agent does not join its own team; choose another.";
            return Err(refused("member", "leader", sentence));
        }
        let mut tx = self.db.as_user(user).await?;
        if !super::agents::exists(&mut tx, user, member).await? {
            return Err(AccountError::NotFound);
        }
        prepare_leader(&mut tx, user, leader).await?;
        if store::count_members(&mut tx, user, leader).await? >= MEMBERS_MAX {
            return Err(full());
        }
        let now = self.clock.now();
        if !store::insert_own(&mut tx, user, leader, member, now).await? {
            return Err(is_in_a_team());
        }
        tx.commit().await?;
        Ok(())
    }

    /// Creates a link by which one agent of its holder can join; shown only this once.
    ///
    /// # Errors
    /// [`Invalid`] if the team is full or has too many valid links.
    pub async fn invite_to_team(
        &self,
        user: UserId,
        leader: AgentId,
    ) -> Result<LinkToken, AccountError> {
        let now = self.clock.now();
        let mut tx = self.db.as_user(user).await?;
        prepare_leader(&mut tx, user, leader).await?;
        if store::count_members(&mut tx, user, leader).await? >= MEMBERS_MAX {
            return Err(full());
        }
        let open = store::tidy_invitations(&mut tx, user, leader, now).await?;
        if open >= INVITATIONS_MAX {
            let sentence = format!(
                "{INVITATIONS_MAX} invitations to this team are open, which is the most; take them back first."
            );
            return Err(refused("agent", "too_many", sentence));
        }
        let token = LinkToken::generate()?;
        let times = (now, now + INVITED_FOR);
        store::insert_invitation(&mut tx, user, leader, &token.hash(), times).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// Revokes all unused links of this team. Returns how many.
    pub async fn take_invitations_back(
        &self,
        user: UserId,
        leader: AgentId,
    ) -> Result<u64, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        if !super::agents::exists(&mut tx, user, leader).await? {
            return Err(AccountError::NotFound);
        }
        let taken = store::delete_invitations(&mut tx, user, leader).await?;
        tx.commit().await?;
        Ok(taken)
    }

    /// With `read_only`, the members of this agent's team write nothing any more, in their own memory neither. Takes effect at
    /// once, within a running call too.
    pub async fn make_team_read_only(
        &self,
        user: UserId,
        leader: AgentId,
        read_only: bool,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        if !store::set_read_only(&mut tx, user, leader, read_only).await? {
            return Err(AccountError::NotFound);
        }
        let noted = if read_only { NotedAct::TeamReadOnly } else { NotedAct::TeamWritable };
        note_own(&mut tx, noted, Some(leader.0), self.clock.now()).await?;
        tx.commit().await?;
        Ok(())
    }

    /// `None` if the link is not valid (any more).
    pub async fn find_team_invitation(
        &self,
        user: UserId,
        token: &LinkToken,
    ) -> Result<Option<InvitationSender>, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let found = store::find_invitation(&mut tx, &token.hash(), self.clock.now()).await?;
        tx.commit().await?;
        Ok(found)
    }

    /// An agent of this user joins the link's team; the link is then used up.
    ///
    /// # Errors
    /// [`AccountError::InvitationOver`]; or [`Invalid`] if the agent cannot join, and the link stays valid.
    pub async fn join_team(
        &self,
        user: UserId,
        token: &LinkToken,
        agent: AgentId,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let now = self.clock.now();
        match store::join(&mut tx, &token.hash(), agent, MEMBERS_MAX, now).await? {
            JoinResult::Yes => {
                tx.commit().await?;
                Ok(())
            }
            JoinResult::NoAgent => Err(refused(
                "member",
                "not_found",
                "`member` is no agent of yours; choose one of the list.",
            )),
            JoinResult::IsLeader => Err(refused(
                "member",
                "leader",
                "An agent does not join its own team; choose another.",
            )),
            JoinResult::Full => Err(full()),
            JoinResult::IsInATeam => Err(is_in_a_team()),
            JoinResult::Unknown => Err(AccountError::InvitationOver),
        }
    }

    /// Ends a membership, from either side. Takes effect at once, even within a running search.
    pub async fn leave_team(
        &self,
        user: UserId,
        agent: AgentId,
        membership: MembershipId,
    ) -> Result<(), AccountError> {
        let mut tx = self.db.as_user(user).await?;
        if !store::delete(&mut tx, user, Some(agent), membership).await? {
            return Err(AccountError::NotFound);
        }
        note_own(&mut tx, NotedAct::TeamLeft, Some(membership.0), self.clock.now()).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Ends a membership again after a restore. False if there is none.
    pub async fn leave_again(&self, user: UserId, membership: i64) -> Result<bool, AccountError> {
        let mut tx = self.db.as_user(user).await?;
        let was_there = store::delete(&mut tx, user, None, MembershipId(membership)).await?;
        note_own(&mut tx, NotedAct::TeamLeft, Some(membership), self.clock.now()).await?;
        tx.commit().await?;
        Ok(was_there)
    }
}
