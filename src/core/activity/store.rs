//! SQL of the activity: rows are added and read, never changed. Functions take a connection bound to its user, unless stated
//! otherwise.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{
    ActivityEntry, ActivityFilter, ActivityRow, BEGINNING_CHARS, BUSIEST, DayCount, OK, PruneStep,
    READS_COUNTED_MAX, TeamRead, ThemeReads, UsedItem,
};
use crate::accounts::{AgentId, UserId};

/// Inserts calls of one user. Queries are stored only if the user's setting allows it now; nothing is written for a deleted
/// user.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    entries: &[ActivityEntry],
) -> Result<(), sqlx::Error> {
    let at: Vec<_> = entries.iter().map(|e| e.at).collect();
    let agents: Vec<_> = entries.iter().map(|e| e.agent.map(|a| a.0)).collect();
    let tools: Vec<_> = entries.iter().map(|e| e.tool.to_owned()).collect();
    let outcomes: Vec<_> = entries.iter().map(|e| e.outcome.to_owned()).collect();
    let durations: Vec<_> = entries.iter().map(|e| e.duration_us).collect();
    // PostgreSQL's nested arrays must be rectangular, so each array is passed as text.
    let items: Vec<_> = entries.iter().map(|e| array_text(&e.items)).collect();
    let lent = |e: &ActivityEntry| match e.of_team.as_deref() {
        Some(TeamRead::Lent(_, ids)) => Some(array_text(ids)).filter(|_| !ids.is_empty()),
        _ => None,
    };
    let lent: Vec<_> = entries.iter().map(lent).collect();
    let queries: Vec<_> = entries.iter().map(|e| e.query.clone()).collect();
    let member = |e: &ActivityEntry| match e.of_team.as_deref() {
        Some(TeamRead::Member(user, agent)) => Some((user.0, agent.0)),
        _ => None,
    };
    let (users, members): (Vec<_>, Vec<_>) = entries.iter().map(member).map(Option::unzip).unzip();
    sqlx::query!(
        "INSERT INTO activity (user_id, at, agent_id, tool, outcome, duration_us, item_ids, query, member_user, member_agent, lent_ids)
         SELECT u.id, c.at, c.agent_id, c.tool, c.outcome, c.duration_us, c.item_ids::bigint[],
                CASE WHEN u.activity_queries THEN c.query END, c.member_user, c.member_agent, c.lent_ids::bigint[]
         FROM users u, unnest($2::timestamptz[], $3::bigint[], $4::text[], $5::text[], $6::integer[],
                              $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::text[])
              AS c (at, agent_id, tool, outcome, duration_us, item_ids, query, member_user, member_agent, lent_ids)
         WHERE u.id = $1
         RETURNING user_id",
        user.0,
        &at,
        &agents as &[Option<i64>],
        &tools,
        &outcomes,
        &durations,
        &items,
        &queries as &[Option<String>],
        &users as &[Option<i64>],
        &members as &[Option<i64>],
        &lent as &[Option<String>],
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// Which of these are items or documents of their owner still: the transaction's user, or one who lends to an agent of theirs.
/// Until the transaction ends, an erasure of one waits; what is being erased is left out.
pub async fn list_still_there(
    conn: &mut PgConnection,
    owner: UserId,
    ids: &[i64],
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT id AS "id!" FROM still_there($1, $2) AS t (id)"#, owner.0, ids)
        .fetch_all(conn)
        .await
}

/// Adds uses of items: id, count and time of the last use, in id order. Ignores ids that are not items of the user.
pub async fn count_uses(
    conn: &mut PgConnection,
    user: UserId,
    uses: &[(i64, i64, OffsetDateTime)],
) -> Result<(), sqlx::Error> {
    let ids: Vec<i64> = uses.iter().map(|(id, ..)| *id).collect();
    let counts: Vec<i64> = uses.iter().map(|(_, count, _)| *count).collect();
    let last: Vec<OffsetDateTime> = uses.iter().map(|(.., last)| *last).collect();
    sqlx::query!(
        "INSERT INTO memory_uses AS m (user_id, item_id, access_count, last_accessed)
         SELECT $1, i.id, u.n, u.last
         FROM unnest($2::bigint[], $3::bigint[], $4::timestamptz[]) AS u (id, n, last)
         -- Locked, so that one that is being deleted is waited for and left out.
         CROSS JOIN LATERAL (SELECT id FROM memory_items
                             WHERE user_id = $1 AND id = u.id AND theme_id IS NOT NULL FOR KEY SHARE) i
         ON CONFLICT (user_id, item_id) DO UPDATE
         SET access_count = m.access_count + excluded.access_count,
             last_accessed = greatest(m.last_accessed, excluded.last_accessed)",
        user.0,
        &ids,
        &counts,
        &last,
    )
    .execute(conn)
    .await?;
    Ok(())
}

fn array_text(ids: &[i64]) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    format!("{{{}}}", ids.join(","))
}

/// Makes the commit of this transaction asynchronous.
pub async fn commit_without_waiting(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!("SET LOCAL synchronous_commit = off").execute(conn).await?;
    Ok(())
}

/// Limits lock waits of this transaction to less than PostgreSQL's `deadlock_timeout`.
pub async fn wait_a_moment_for_locks(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!("SET LOCAL lock_timeout = '200ms'").execute(conn).await?;
    Ok(())
}

pub async fn list(
    conn: &mut PgConnection,
    user: UserId,
    filter: &ActivityFilter,
) -> Result<Vec<ActivityRow>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT c.id, c.at, a.name AS "agent?", c.tool, c.outcome, c.duration_us, c.item_ids, c.query, c.lent_ids,
                  CASE WHEN c.member_user IS NOT NULL
                       THEN coalesce(member_name(c.member_user, c.member_agent), 'an agent that is gone') END AS member
           FROM activity c
           LEFT JOIN agents a ON a.user_id = c.user_id AND a.id = c.agent_id
           WHERE c.user_id = $1
             AND ($2::bigint IS NULL OR c.agent_id = $2)
             AND ($3::text[] IS NULL OR c.tool = ANY ($3))
             AND ($4::boolean IS NULL OR (c.outcome = $5) = $4)
             AND ($6::timestamptz IS NULL OR c.at >= $6)
             AND ($7::bigint IS NULL OR $7 = ANY (c.item_ids))
             AND ($9::timestamptz IS NULL OR c.at < $9)
             AND ($10::text IS NULL OR (
                 -- Not EXISTS, which would look up each item: the theme's items are read once.
                 SELECT bool_or(r.id IN (
                     SELECT i.id FROM memory_items i JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
                     WHERE i.user_id = $1 AND t.slug = $10)) FROM unnest(c.item_ids) AS r (id)))
           ORDER BY c.at DESC, c.id DESC LIMIT $8"#,
        user.0,
        filter.agent.map(|a| a.0),
        any_of(filter) as Option<Vec<String>>,
        filter.went_well,
        OK,
        filter.since,
        filter.item,
        filter.limit,
        filter.until,
        filter.theme,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| ActivityRow {
            id: row.id,
            at: row.at,
            agent: row.agent,
            member: row.member,
            tool: row.tool,
            outcome: row.outcome,
            duration_us: row.duration_us,
            items: row.item_ids,
            lent: row.lent_ids.unwrap_or_default(),
            query: row.query,
        })
        .collect())
}

fn any_of(filter: &ActivityFilter) -> Option<Vec<String>> {
    let tools = filter.tools.iter().map(|t| (*t).to_owned()).collect();
    Some(tools).filter(|tools: &Vec<String>| !tools.is_empty())
}

/// How many calls of these tools by an agent succeeded since then, up to `limit`.
pub async fn count_calls(
    conn: &mut PgConnection,
    user: UserId,
    agent: AgentId,
    tools: &[&str],
    since: OffsetDateTime,
    limit: i64,
) -> Result<i64, sqlx::Error> {
    let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM (
               SELECT FROM activity
               WHERE user_id = $1 AND at > $2 AND agent_id = $3 AND tool = ANY ($4) AND outcome = $5 LIMIT $6) c"#,
        user.0,
        since,
        agent.0,
        &tools,
        OK,
        limit,
    )
    .fetch_one(conn)
    .await
}

/// Applies the filter, except its period and limit.
pub async fn count_by_day(
    conn: &mut PgConnection,
    user: UserId,
    filter: &ActivityFilter,
    since: OffsetDateTime,
) -> Result<Vec<DayCount>, sqlx::Error> {
    sqlx::query_as!(
        DayCount,
        r#"SELECT (at AT TIME ZONE 'UTC')::date AS "day!",
                  count(*) FILTER (WHERE outcome = $5) AS "ok!",
                  count(*) FILTER (WHERE outcome <> $5) AS "failed!"
           FROM activity
           WHERE user_id = $1 AND at >= $6
             AND ($2::bigint IS NULL OR agent_id = $2)
             AND ($3::text[] IS NULL OR tool = ANY ($3))
             AND ($4::boolean IS NULL OR (outcome = $5) = $4)
             AND ($7::bigint IS NULL OR $7 = ANY (item_ids))
             AND ($8::text IS NULL OR (
                 -- Not EXISTS, which would look up each item: the theme's items are read once.
                 SELECT bool_or(r.id IN (
                     SELECT i.id FROM memory_items i JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
                     WHERE i.user_id = $1 AND t.slug = $8)) FROM unnest(item_ids) AS r (id)))
           GROUP BY 1 ORDER BY 1"#,
        user.0,
        filter.agent.map(|a| a.0),
        any_of(filter) as Option<Vec<String>>,
        filter.went_well,
        OK,
        since,
        filter.item,
        filter.theme,
    )
    .fetch_all(conn)
    .await
}

/// Successful calls of these tools since then, by agent and theme of the memories that they returned; without those of team
/// members, which are not the user's own.
pub async fn count_reads(
    conn: &mut PgConnection,
    user: UserId,
    tools: &[String],
    since: OffsetDateTime,
) -> Result<Vec<ThemeReads>, sqlx::Error> {
    sqlx::query_as!(
        ThemeReads,
        r#"WITH reads AS (
               SELECT c.agent_id, i.theme_id, count(DISTINCT c.id) AS calls
               FROM (SELECT id, agent_id, item_ids FROM activity
                     WHERE user_id = $1 AND at >= $2 AND tool = ANY ($3) AND outcome = $4 AND member_user IS NULL
                     ORDER BY at DESC, id DESC LIMIT $5) c
               CROSS JOIN LATERAL unnest(c.item_ids) AS r (item_id)
               JOIN memory_items i ON i.user_id = $1 AND i.id = r.item_id
               WHERE c.agent_id IS NOT NULL AND i.theme_id IS NOT NULL GROUP BY 1, 2
           ), busy_agents AS (
               SELECT agent_id FROM reads GROUP BY 1 ORDER BY sum(calls) DESC, 1 LIMIT $6
           ), busy_themes AS (
               SELECT theme_id FROM reads GROUP BY 1 ORDER BY sum(calls) DESC, 1 LIMIT $6
           )
           SELECT a.id AS agent, a.name AS agent_name, t.slug AS theme, t.display_name AS theme_name, r.calls AS "calls!"
           FROM reads r JOIN busy_agents USING (agent_id) JOIN busy_themes USING (theme_id)
           JOIN agents a ON a.user_id = $1 AND a.id = r.agent_id
           JOIN memory_themes t ON t.user_id = $1 AND t.id = r.theme_id"#,
        user.0,
        since,
        tools,
        OK,
        READS_COUNTED_MAX,
        BUSIEST,
    )
    .fetch_all(conn)
    .await
}

/// Number of active memories, and of those among them that were never used.
pub async fn count_unused(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<(i64, i64), sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT count(*) AS "active!", count(*) FILTER (WHERE u.item_id IS NULL) AS "unused!"
           FROM memory_items i LEFT JOIN memory_uses u ON u.user_id = $1 AND u.item_id = i.id AND u.access_count > 0
           WHERE i.user_id = $1 AND is_live(i.status, i.live_until, $2) AND i.theme_id IS NOT NULL"#,
        user.0,
        now,
    );
    let row = row.fetch_one(conn).await?;
    Ok((row.active, row.unused))
}

pub async fn list_most_used(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Vec<UsedItem>, sqlx::Error> {
    sqlx::query_as!(
        UsedItem,
        r#"SELECT i.id, left(concat_ws(': ', i.key, i.content), $3) AS "beginning!", i.created_at, u.access_count AS uses
           FROM memory_uses u JOIN memory_items i ON i.user_id = $1 AND i.id = u.item_id
           WHERE u.user_id = $1 AND u.access_count > 0 AND is_live(i.status, i.live_until, $2) AND i.theme_id IS NOT NULL
           ORDER BY u.access_count DESC, i.id LIMIT $4"#,
        user.0,
        now,
        BEGINNING_CHARS,
        BUSIEST,
    )
    .fetch_all(conn)
    .await
}

/// Oldest first.
pub async fn list_never_used(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Vec<UsedItem>, sqlx::Error> {
    sqlx::query_as!(
        UsedItem,
        r#"SELECT i.id, left(concat_ws(': ', i.key, i.content), $3) AS "beginning!", i.created_at, 0::bigint AS "uses!"
           FROM memory_items i
           WHERE i.user_id = $1 AND NOT i.is_turn AND is_live(i.status, i.live_until, $2) AND i.theme_id IS NOT NULL
             AND NOT EXISTS (SELECT FROM memory_uses u WHERE u.user_id = $1 AND u.item_id = i.id AND u.access_count > 0)
           ORDER BY i.created_at, i.id LIMIT $4"#,
        user.0,
        now,
        BEGINNING_CHARS,
        BUSIEST,
    )
    .fetch_all(conn)
    .await
}

/// The beginnings of these calls' items.
pub async fn beginnings(
    conn: &mut PgConnection,
    user: UserId,
    rows: &[ActivityRow],
) -> Result<BTreeMap<i64, String>, sqlx::Error> {
    let ids = ids_of(rows);
    let found = sqlx::query!(
        r#"SELECT id, left(concat_ws(': ', key, content), $3) AS "beginning!" FROM memory_items
           WHERE user_id = $1 AND id = ANY ($2)"#,
        user.0,
        &ids,
        BEGINNING_CHARS,
    )
    .fetch_all(conn)
    .await?;
    Ok(found.into_iter().map(|row| (row.id, row.beginning)).collect())
}

/// Paths of these calls' items that are documents, including archived ones.
pub async fn documents(
    conn: &mut PgConnection,
    user: UserId,
    rows: &[ActivityRow],
) -> Result<BTreeMap<i64, String>, sqlx::Error> {
    let found = sqlx::query!(
        "SELECT id, path FROM documents WHERE user_id = $1 AND id = ANY ($2)",
        user.0,
        &ids_of(rows),
    );
    let found = found.fetch_all(conn).await?;
    Ok(found.into_iter().map(|row| (row.id, row.path)).collect())
}

fn ids_of(rows: &[ActivityRow]) -> Vec<i64> {
    let ids = rows.iter().flat_map(|row| row.items.iter().copied());
    let ids: BTreeSet<i64> = ids.collect();
    ids.into_iter().collect()
}

pub async fn any(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM activity WHERE user_id = $1) AS "any!""#,
        user.0
    )
    .fetch_one(conn)
    .await
}

pub async fn keeps_queries(conn: &mut PgConnection, user: UserId) -> Result<bool, sqlx::Error> {
    let kept = sqlx::query_scalar!("SELECT activity_queries FROM users WHERE id = $1", user.0);
    Ok(kept.fetch_optional(conn).await?.unwrap_or(false))
}

pub async fn count_queries(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM activity WHERE user_id = $1 AND query IS NOT NULL"#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// For the transaction's user.
pub async fn forget_queries(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT forget_activity_queries() AS "n!""#).fetch_one(conn).await
}

pub async fn set_keeps_queries(
    conn: &mut PgConnection,
    user: UserId,
    keep: bool,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE users SET activity_queries = $2, updated_at = $3 WHERE id = $1",
        user.0,
        keep,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Runs as the system role: one step through all users.
pub async fn prune(
    conn: &mut PgConnection,
    after_user: i64,
    now: OffsetDateTime,
) -> Result<PruneStep, sqlx::Error> {
    sqlx::query_as!(
        PruneStep,
        r#"SELECT pruned AS "rows!", next_after AS after_user FROM prune_activity($1, $2)"#,
        after_user,
        now,
    )
    .fetch_one(conn)
    .await
}
