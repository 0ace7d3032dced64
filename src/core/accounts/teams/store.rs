//! SQL of teams. Each function takes a connection bound to its user; the other side's data comes only through functions of
//! the migration `teams`.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{InvitationSender, JoinResult, Membership, MembershipId};
use crate::accounts::model::{AgentId, UserId};

/// After a restore, as the owner role.
pub async fn delete_all_invitations(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM team_invitations").execute(conn).await?;
    Ok(())
}

/// All memberships of the user's agents, oldest first; one between two of the user's own agents appears from both sides.
pub async fn list(conn: &mut PgConnection) -> Result<Vec<Membership>, sqlx::Error> {
    sqlx::query_as!(
        Membership,
        r#"SELECT id AS "id!: MembershipId", leads AS "leads!", agent_id AS "agent!: AgentId", other_agent AS "other!",
                  person, since AS "since!", read_only AS "is_read_only!" FROM my_teams()"#
    )
    .fetch_all(conn)
    .await
}

/// Locks the leader until the transaction ends, and makes it own what it learns, because a team reads only what it owns.
/// Returns false if the user has no such agent.
pub async fn prepare_leader(
    conn: &mut PgConnection,
    user: UserId,
    leader: AgentId,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        r#"UPDATE agents SET settings = settings || CASE
               WHEN coalesce(settings ->> 'memory_scope', 'shared') = 'shared' THEN '{"memory_scope": "own_first"}'::jsonb
               ELSE '{}' END
           WHERE user_id = $1 AND id = $2"#,
        user.0,
        leader.0,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns false if the user has no such agent.
pub async fn set_read_only(
    conn: &mut PgConnection,
    user: UserId,
    leader: AgentId,
    read_only: bool,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE agents SET members_read_only = $3 WHERE user_id = $1 AND id = $2",
        user.0,
        leader.0,
        read_only,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn list_read_only(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<AgentId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT id AS "id: AgentId" FROM agents WHERE user_id = $1 AND members_read_only"#,
        user.0
    )
    .fetch_all(conn)
    .await
}

pub async fn count_members(
    conn: &mut PgConnection,
    user: UserId,
    leader: AgentId,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM team_members WHERE leader_user = $1 AND leader_agent = $2"#,
        user.0,
        leader.0,
    )
    .fetch_one(conn)
    .await
}

/// Adds an agent of the same user. Returns false if it is in a team already.
pub async fn insert_own(
    conn: &mut PgConnection,
    user: UserId,
    leader: AgentId,
    member: AgentId,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "INSERT INTO team_members (leader_user, leader_agent, member_user, member_agent, created_at)
         VALUES ($1, $2, $1, $3, $4)
         ON CONFLICT ON CONSTRAINT team_members_member_key DO NOTHING",
        user.0,
        leader.0,
        member.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// From either side, of this agent if one is named. Returns false if there is no such membership.
pub async fn delete(
    conn: &mut PgConnection,
    user: UserId,
    agent: Option<AgentId>,
    membership: MembershipId,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        "DELETE FROM team_members
         WHERE id = $3 AND (leader_user = $1 AND leader_agent = coalesce($2, leader_agent)
                            OR member_user = $1 AND member_agent = coalesce($2, member_agent))",
        user.0,
        agent.map(|agent| agent.0),
        membership.0,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes expired links. Returns how many are left.
pub async fn tidy_invitations(
    conn: &mut PgConnection,
    user: UserId,
    leader: AgentId,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    sqlx::query!(
        "DELETE FROM team_invitations WHERE leader_user = $1 AND expires_at <= $2",
        user.0,
        now
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM team_invitations WHERE leader_user = $1 AND leader_agent = $2"#,
        user.0,
        leader.0,
    )
    .fetch_one(conn)
    .await
}

pub async fn insert_invitation(
    conn: &mut PgConnection,
    user: UserId,
    leader: AgentId,
    hash: &[u8],
    (now, expires_at): (OffsetDateTime, OffsetDateTime),
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO team_invitations (code_hash, leader_user, leader_agent, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5)",
        hash,
        user.0,
        leader.0,
        now,
        expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Returns how many.
pub async fn delete_invitations(
    conn: &mut PgConnection,
    user: UserId,
    leader: AgentId,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "DELETE FROM team_invitations WHERE leader_user = $1 AND leader_agent = $2",
        user.0,
        leader.0,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Number of valid links per agent.
pub async fn count_invitations(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Vec<(AgentId, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT leader_agent, count(*) AS "n!" FROM team_invitations
           WHERE leader_user = $1 AND expires_at > $2 GROUP BY 1"#,
        user.0,
        now,
    )
    .fetch_all(conn)
    .await?;
    let counts = rows.into_iter();
    Ok(counts.map(|row| (AgentId(row.leader_agent), row.n)).collect())
}

/// `None` if the link is unknown, used or expired.
pub async fn find_invitation(
    conn: &mut PgConnection,
    hash: &[u8],
    now: OffsetDateTime,
) -> Result<Option<InvitationSender>, sqlx::Error> {
    sqlx::query_as!(
        InvitationSender,
        r#"SELECT agent AS "agent!", person, read_only AS "is_read_only!" FROM find_invitation($1, $2)"#,
        hash,
        now
    )
    .fetch_optional(conn)
    .await
}

pub async fn join(
    conn: &mut PgConnection,
    hash: &[u8],
    agent: AgentId,
    members_max: i64,
    now: OffsetDateTime,
) -> Result<JoinResult, sqlx::Error> {
    let said = sqlx::query_scalar!(
        r#"SELECT join_team($1, $2, $3, $4) AS "said!""#,
        hash,
        agent.0,
        members_max,
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(match said.as_str() {
        "joined" => JoinResult::Yes,
        "no_agent" => JoinResult::NoAgent,
        "leader" => JoinResult::IsLeader,
        "full" => JoinResult::Full,
        "in_a_team" => JoinResult::IsInATeam,
        _ => JoinResult::Unknown,
    })
}

/// Number of memories that each agent of the user owns.
pub async fn count_own(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Vec<(AgentId, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT owner_agent_id AS "agent!", count(*) AS "n!" FROM memory_items
           WHERE user_id = $1 AND owner_agent_id IS NOT NULL AND theme_id IS NOT NULL GROUP BY 1"#,
        user.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (AgentId(row.agent), row.n)).collect())
}
