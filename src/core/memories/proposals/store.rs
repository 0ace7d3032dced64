//! SQL of agents' proposals, as the app role in a transaction bound to its user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{AgentChange, AgentProposal, ProposalReason, Undecided};
use crate::accounts::{AgentId, UserId};
use crate::db::draw_id;
use crate::memories::ItemId;

const BEGINNING_CHARS: i32 = 400;

/// The open proposals of this agent about an item, each with its text.
pub async fn list_of(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    item: ItemId,
) -> Result<Vec<(i64, Option<ItemId>)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT id, instead_id FROM proposals WHERE user_id = $1 AND agent_id = $2 AND item_id = $3 AND state = 'open'",
        user.0,
        agent.0,
        item.0,
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows.map(|row| (row.id, row.instead_id.map(ItemId))).collect())
}

/// Returns the id of the new proposal.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    (item, instead): (ItemId, Option<ItemId>),
    reason: ProposalReason,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    let change = match instead {
        Some(_) => AgentChange::Correct,
        None => AgentChange::Archive,
    };
    let id = draw_id(&mut *conn, "proposals_id_seq").await?;
    sqlx::query!(
        "INSERT INTO proposals (user_id, id, agent_id, change, reason, item_id, instead_id, state, proposed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', $8)",
        user.0,
        id,
        agent.0,
        change.as_str(),
        reason.as_str(),
        item.0,
        instead.map(|id| id.0),
        now,
    )
    .execute(conn)
    .await?;
    Ok(id)
}

/// The open proposals of an agent, up to `limit`. Those whose memory is archived, or whose text is active, wait for nobody.
pub async fn count_open(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    limit: i64,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM (
               SELECT FROM proposals p JOIN memory_items i ON i.user_id = $1 AND i.id = p.item_id AND i.status = 'active'
               LEFT JOIN memory_items n ON n.user_id = $1 AND n.id = p.instead_id
               WHERE p.user_id = $1 AND p.agent_id = $2 AND p.state = 'open' AND n.status IS DISTINCT FROM 'active' LIMIT $3) o"#,
        user.0,
        agent.0,
        limit,
    )
    .fetch_one(conn)
    .await
}

/// Newest first, of one item or of all: those that [`count_open`] counts.
pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    item: Option<ItemId>,
    limit: i64,
) -> Result<Vec<AgentProposal>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT p.id, p.change AS "change: AgentChange", p.reason AS "reason: ProposalReason", a.name AS agent, p.item_id, p.proposed_at,
                  left(concat_ws(': ', i.key, i.content), $4) AS "beginning!", p.instead_id,
                  CASE WHEN n.id IS NOT NULL THEN left(concat_ws(': ', n.key, n.content), $4) END AS "instead?"
           FROM proposals p
           JOIN agents a ON a.user_id = $1 AND a.id = p.agent_id
           JOIN memory_items i ON i.user_id = $1 AND i.id = p.item_id AND i.status = 'active'
           LEFT JOIN memory_items n ON n.user_id = $1 AND n.id = p.instead_id
           WHERE p.user_id = $1 AND p.state = 'open' AND n.status IS DISTINCT FROM 'active'
             AND ($2::bigint IS NULL OR p.item_id = $2)
           ORDER BY p.id DESC LIMIT $3"#,
        user.0,
        item.map(|item| item.0),
        limit,
        BEGINNING_CHARS,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| AgentProposal {
        id: row.id,
        change: row.change,
        reason: row.reason,
        agent: row.agent,
        item: ItemId(row.item_id),
        beginning: row.beginning,
        instead: row.instead_id.map(ItemId).zip(row.instead),
        proposed_at: row.proposed_at,
    });
    Ok(rows.collect())
}

/// The open ones among these, oldest first.
pub async fn list_undecided(
    conn: &mut PgConnection,
    user: UserId,
    proposals: &[i64],
) -> Result<Vec<Undecided>, sqlx::Error> {
    sqlx::query_as!(
        Undecided,
        r#"SELECT id, item_id AS "item: ItemId", instead_id AS "instead: ItemId" FROM proposals WHERE user_id = $1 AND id = ANY ($2) AND state = 'open' ORDER BY id"#,
        user.0,
        proposals,
    )
    .fetch_all(conn)
    .await
}

/// Those that applied no more from `decided_at` on are open again, unless the agent has proposed the same since.
pub async fn reopen_of_agent(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    decided_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE proposals p SET state = 'open', decided_at = NULL
         WHERE user_id = $1 AND agent_id = $2 AND decided_at = $3 AND state = 'void' AND NOT EXISTS (
             SELECT FROM proposals o WHERE o.user_id = $1 AND o.agent_id = $2 AND o.item_id = p.item_id
                AND o.change = p.change AND o.instead_id IS NOT DISTINCT FROM p.instead_id AND o.state = 'open')",
        user.0,
        agent.0,
        decided_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The open proposals that an agent made since then apply no more.
pub async fn void_of_agent(
    conn: &mut PgConnection,
    user: UserId,
    (agent, since): (AgentId, OffsetDateTime),
    now: OffsetDateTime,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        "UPDATE proposals SET state = 'void', decided_at = $4
         WHERE user_id = $1 AND agent_id = $2 AND proposed_at >= $3 AND state = 'open'",
        user.0,
        agent.0,
        since,
        now,
    );
    Ok(done.execute(conn).await?.rows_affected())
}

/// Returns how many were open.
pub async fn decide(
    conn: &mut PgConnection,
    user: UserId,
    proposals: &[i64],
    state: &str,
    now: OffsetDateTime,
) -> Result<usize, sqlx::Error> {
    let decided = sqlx::query!(
        "UPDATE proposals SET state = $3, decided_at = $4 WHERE user_id = $1 AND id = ANY ($2) AND state = 'open'",
        user.0,
        proposals,
        state,
        now,
    );
    Ok(decided.execute(conn).await?.rows_affected() as usize)
}
