//! The statements of dreams, as the app role in a transaction that has set the user; those that change
//! something, in one that has raised the user's revision.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Dream, ItemProposal, PairMemory, Proposal, ProposalState, ReadEpisode};
use super::{
    DreamEpisode, DreamMemory, DreamScope, DreamSettings, EPISODES_MIN, ProposedChange, QUIET_FOR,
};
use crate::clock::Zone;
use crate::consolidation::summary::facts::PromptFact;
use crate::db::UserId;
use crate::memories::settle::ItemPair;
use crate::memories::{ItemId, Period, Trust};

/// As the system role: users who have enough episodes for a dream, and a chat model that may write it; at
/// most `limit`.
pub async fn list_users_due(
    conn: &mut PgConnection,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT u.id AS "id: UserId" FROM memory_revisions m
         JOIN users u ON u.id = m.user_id
         LEFT JOIN dream_settings s ON s.user_id = m.user_id
         LEFT JOIN chat_settings c ON c.user_id = m.user_id
         LEFT JOIN job_rounds r ON r.user_id = m.user_id AND r.job = 'dream'
         WHERE u.erasing_at IS NULL AND u.disabled_at IS NULL AND u.memory_enabled
           AND (r.next_try_at IS NULL OR r.next_try_at <= $1)
           AND coalesce(c.enabled, true) AND coalesce((c.purposes -> 'dreaming' ->> 'on')::boolean, true)
           AND (coalesce(c.own_enabled, false) OR EXISTS (SELECT 1 FROM system_chat_provider WHERE endpoint <> ''))
           AND EXISTS (SELECT 1 FROM episodes e JOIN memory_items i ON i.user_id = e.user_id AND i.id = e.source_id
                       WHERE e.user_id = m.user_id AND e.promoted_at IS NULL AND i.live_until > $1
                       GROUP BY e.user_id, i.owner_agent_id, i.project_id
                       HAVING count(*) >= coalesce(s.episodes_min, $4) AND max(e.kept_at) <= $2)
         ORDER BY r.next_try_at NULLS FIRST LIMIT $3"#,
        now,
        now - QUIET_FOR,
        limit,
        EPISODES_MIN,
    )
    .fetch_all(conn)
    .await
}

/// Whose episodes are next for a dream; `None` if none are due.
pub async fn find_waiting(
    conn: &mut PgConnection,
    user: UserId,
    least: i16,
    quiet_since: OffsetDateTime,
    now: OffsetDateTime,
) -> Result<Option<DreamScope>, sqlx::Error> {
    sqlx::query_as!(
        DreamScope,
        "SELECT i.owner_agent_id AS owner, i.project_id AS project FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
         WHERE e.user_id = $1 AND e.promoted_at IS NULL AND i.live_until > $4
         GROUP BY i.owner_agent_id, i.project_id HAVING count(*) >= $2::smallint AND max(e.kept_at) <= $3
         ORDER BY min(e.kept_at) LIMIT 1",
        user.0,
        least,
        quiet_since,
        now,
    )
    .fetch_optional(conn)
    .await
}

/// Oldest first.
pub(super) async fn list_waiting(
    conn: &mut PgConnection,
    user: UserId,
    scope: DreamScope,
    (chars_max, limit): (i32, i16),
    now: OffsetDateTime,
) -> Result<Vec<DreamEpisode>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, i.trust AS "trust: Trust", left(i.content, $3) AS "content!", e.session_id AS "session_id?", e.abstract AS short, e.ended_at, u.time_zone
           FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
           JOIN users u ON u.id = e.user_id
           WHERE e.user_id = $1 AND e.promoted_at IS NULL AND i.live_until > $5 AND i.owner_agent_id IS NOT DISTINCT FROM $2
             AND i.project_id IS NOT DISTINCT FROM $6
           ORDER BY e.ended_at, i.id LIMIT $4::smallint"#,
        user.0,
        scope.owner,
        chars_max,
        limit,
        now,
        scope.project,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| DreamEpisode {
        fact: PromptFact {
            id: ItemId(row.id),
            theme: Zone::from_column(&row.time_zone).local(row.ended_at).date().to_string(),
            key: None,
            trust: row.trust,
            agent: None,
            // A date stands there.
            is_persons: true,
            content: row.content,
        },
        session: row.session_id,
        short: row.short,
        ended_at: row.ended_at,
    });
    Ok(rows.collect())
}

/// The live memories of one owner and project among these ids, oldest id first.
pub(super) async fn list_memories(
    conn: &mut PgConnection,
    user: UserId,
    (scope, ids): (DreamScope, &[i64]),
    chars_max: i32,
    now: OffsetDateTime,
) -> Result<Vec<DreamMemory>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, t.slug, i.key, i.trust AS "trust: Trust", i.agent_id, i.locked, left(i.content, $4) AS "content!",
                  greatest(i.last_verified_at, i.created_at) AS "stated_at!", i.valid_from, i.valid_until, u.time_zone
           FROM memory_items i JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           JOIN users u ON u.id = i.user_id
           WHERE i.user_id = $1 AND i.id = ANY ($3) AND is_live(i.status, i.live_until, $5)
             AND i.owner_agent_id IS NOT DISTINCT FROM $2 AND i.project_id IS NOT DISTINCT FROM $6
             AND i.type <> 'reflection' ORDER BY i.id"#,
        user.0,
        scope.owner,
        ids,
        chars_max,
        now,
        scope.project,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| DreamMemory {
        fact: PromptFact {
            id: ItemId(row.id),
            theme: row.slug,
            key: row.key,
            is_persons: row.locked || row.trust == Trust::User,
            trust: row.trust,
            agent: row.agent_id,
            content: Period { from: row.valid_from, until: row.valid_until }
                .beside(row.content, &Zone::from_column(&row.time_zone)),
        },
        stated_at: Zone::from_column(&row.time_zone).local(row.stated_at),
    });
    Ok(rows.collect())
}

/// Marks episodes as promoted. Returns how many were not before.
pub async fn promote(
    conn: &mut PgConnection,
    user: UserId,
    episodes: &[i64],
    now: OffsetDateTime,
) -> Result<usize, sqlx::Error> {
    let promoted = sqlx::query!(
        "UPDATE episodes SET promoted_at = $3 WHERE user_id = $1 AND source_id = ANY ($2) AND promoted_at IS NULL",
        user.0,
        episodes,
        now,
    );
    Ok(promoted.execute(conn).await?.rows_affected() as usize)
}

pub async fn insert_dream(
    conn: &mut PgConnection,
    user: UserId,
    (document, owner): (Option<i64>, Option<i64>),
    episodes: usize,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        "INSERT INTO dreams (user_id, document_id, owner_agent_id, episodes, dreamt_at) VALUES ($1, $2, $3, $4, $5) RETURNING id",
        user.0,
        document,
        owner,
        episodes as i16,
        now,
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn insert_origins(
    conn: &mut PgConnection,
    user: UserId,
    document: i64,
    episodes: &[DreamEpisode],
) -> Result<(), sqlx::Error> {
    let sources: Vec<(i64, Option<i64>)> =
        episodes.iter().map(|one| (one.fact.id.0, one.session)).collect();
    crate::consolidation::reflection::insert_origins(conn, user, document, &sources).await
}

pub async fn insert_proposal(
    conn: &mut PgConnection,
    user: UserId,
    (dream, n): (i64, i16),
    kind: ProposedChange,
    (gone, kept): (ItemId, ItemId),
    why: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO dream_proposals (user_id, dream_id, n, kind, gone_id, kept_id, why) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        user.0,
        dream,
        n,
        kind.as_str(),
        gone.0,
        kept.0,
        why,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn find_settings(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<DreamSettings, sqlx::Error> {
    let found = sqlx::query_as!(
        DreamSettings,
        "SELECT applies, episodes_min FROM dream_settings WHERE user_id = $1",
        user.0
    );
    Ok(found.fetch_optional(conn).await?.unwrap_or_default())
}

pub async fn save_settings(
    conn: &mut PgConnection,
    user: UserId,
    settings: DreamSettings,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO dream_settings (user_id, applies, episodes_min) VALUES ($1, $2, $3)
         ON CONFLICT (user_id) DO UPDATE SET applies = $2, episodes_min = $3",
        user.0,
        settings.applies,
        settings.episodes_min,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The newest dreams with an id below `before`, without what they read and proposed.
pub async fn list_dreams(
    conn: &mut PgConnection,
    user: UserId,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Dream>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT d.id, d.document_id, o.path AS "path?", o.archived_at, a.name AS "owner?", d.episodes, d.dreamt_at, o.trust AS "trust?: Trust"
           FROM dreams d
           LEFT JOIN documents o ON o.user_id = $1 AND o.id = d.document_id
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = d.owner_agent_id
           WHERE d.user_id = $1 AND ($2::bigint IS NULL OR d.id < $2) ORDER BY d.id DESC LIMIT $3"#,
        user.0,
        before,
        limit,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| Dream {
        id: row.id,
        document: row.document_id.zip(row.path),
        is_archived: row.archived_at.is_some(),
        trust: row.trust,
        owner: row.owner,
        episodes: row.episodes.into(),
        dreamt_at: row.dreamt_at,
        read: Vec::new(),
        proposals: Vec::new(),
    });
    Ok(rows.collect())
}

/// The existing episodes that these documents were written from, each with its document.
pub async fn list_read(
    conn: &mut PgConnection,
    user: UserId,
    documents: &[i64],
) -> Result<Vec<(i64, ReadEpisode)>, sqlx::Error> {
    let rows = sqlx::query!(
        "SELECT o.item_id, e.source_id, e.session_id, e.abstract AS short, e.ended_at FROM memory_origins o
         JOIN episodes e ON e.user_id = $1 AND e.source_id = o.source_id
         WHERE o.user_id = $1 AND o.item_id = ANY ($2) ORDER BY o.item_id, e.ended_at, e.source_id",
        user.0,
        documents,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let read = ReadEpisode {
            id: ItemId(row.source_id),
            session: row.session_id,
            short: row.short,
            ended_at: row.ended_at,
        };
        (row.item_id, read)
    });
    Ok(rows.collect())
}

/// The proposals of these dreams, each with its dream.
pub async fn list_proposals(
    conn: &mut PgConnection,
    user: UserId,
    dreams: &[i64],
    chars_max: i32,
) -> Result<Vec<(i64, Proposal)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT p.dream_id, p.n, p.kind AS "kind: ProposedChange", p.why, p.state AS "state: ProposalState", p.decided_at, p.by_dream,
                  g.id AS gone_id, left(concat_ws(': ', g.key, g.content), $3) AS "gone!", g.trust AS "gone_trust: Trust", g.protected AS gone_protected,
                  greatest(g.last_verified_at, g.created_at) AS "gone_stated_at!",
                  k.id AS kept_id, left(concat_ws(': ', k.key, k.content), $3) AS "kept!", k.trust AS "kept_trust: Trust", k.protected AS kept_protected,
                  greatest(k.last_verified_at, k.created_at) AS "kept_stated_at!"
           FROM dream_proposals p
           JOIN memory_items g ON g.user_id = $1 AND g.id = p.gone_id
           JOIN memory_items k ON k.user_id = $1 AND k.id = p.kept_id
           WHERE p.user_id = $1 AND p.dream_id = ANY ($2) ORDER BY p.dream_id, p.n"#,
        user.0,
        dreams,
        chars_max,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let proposal = Proposal {
            n: row.n,
            kind: row.kind,
            why: row.why,
            state: row.state,
            decided_at: row.decided_at,
            by_dream: row.by_dream,
            gone: PairMemory {
                id: ItemId(row.gone_id),
                beginning: row.gone,
                trust: row.gone_trust,
                is_confirmed: row.gone_protected,
                stated_at: row.gone_stated_at,
            },
            kept: PairMemory {
                id: ItemId(row.kept_id),
                beginning: row.kept,
                trust: row.kept_trust,
                is_confirmed: row.kept_protected,
                stated_at: row.kept_stated_at,
            },
        };
        (row.dream_id, proposal)
    });
    Ok(rows.collect())
}

/// Counts the open proposals of all dreams.
pub async fn count_open(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM dream_proposals WHERE user_id = $1 AND state = 'open'"#,
        user.0
    )
    .fetch_one(conn)
    .await
}

/// A proposal, as it is decided.
pub struct ProposalRow {
    pub n: i16,
    pub kind: ProposedChange,
    pub pair: ItemPair,
    pub decided_at: Option<OffsetDateTime>,
}

/// The proposals of a dream in this state, or one of them.
pub async fn list_in_state(
    conn: &mut PgConnection,
    user: UserId,
    dream: i64,
    n: Option<i16>,
    state: ProposalState,
) -> Result<Vec<ProposalRow>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT n, kind AS "kind: ProposedChange", gone_id, kept_id, decided_at FROM dream_proposals
         WHERE user_id = $1 AND dream_id = $2 AND ($3::smallint IS NULL OR n = $3) AND state = $4 ORDER BY n"#,
        user.0,
        dream,
        n,
        state.as_str(),
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| ProposalRow {
        n: row.n,
        kind: row.kind,
        pair: ItemPair { gone: ItemId(row.gone_id), kept: ItemId(row.kept_id) },
        decided_at: row.decided_at,
    });
    Ok(rows.collect())
}

/// Sets the state of a proposal, and which of the two gave way.
pub async fn set_state(
    conn: &mut PgConnection,
    user: UserId,
    (dream, n): (i64, i16),
    pair: ItemPair,
    (state, by_dream): (ProposalState, bool),
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE dream_proposals SET state = $4, gone_id = $6, kept_id = $7,
             decided_at = CASE WHEN $4 = 'undone' THEN decided_at ELSE $5 END,
             by_dream = CASE WHEN $4 = 'undone' THEN by_dream ELSE $8 END
         WHERE user_id = $1 AND dream_id = $2 AND n = $3",
        user.0,
        dream,
        n,
        state.as_str(),
        now,
        pair.gone.0,
        pair.kept.0,
        by_dream,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// When a dream's proposals about an item were applied or undone, and whether by the dream itself.
pub async fn list_of_item(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
) -> Result<Vec<ItemProposal>, sqlx::Error> {
    sqlx::query_as!(
        ItemProposal,
        r#"SELECT dream_id AS "dream!", decided_at AS "at!", by_dream AS "by_dream!" FROM dream_proposals
           WHERE user_id = $1 AND gone_id = $2 AND decided_at IS NOT NULL AND state IN ('applied', 'undone')
           UNION ALL
           SELECT dream_id, decided_at, by_dream FROM dream_proposals
           WHERE user_id = $1 AND kept_id = $2 AND decided_at IS NOT NULL AND state IN ('applied', 'undone')"#,
        user.0,
        item.0,
    )
    .fetch_all(conn)
    .await
}

/// Counts the waiting episodes of the owner and project that have the most.
pub async fn count_waiting(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT coalesce(max(n), 0) AS "n!" FROM (
               SELECT count(*) AS n FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
               WHERE e.user_id = $1 AND e.promoted_at IS NULL AND i.live_until > $2 GROUP BY i.owner_agent_id, i.project_id) by_scope"#,
        user.0,
        now,
    )
    .fetch_one(conn)
    .await
}
