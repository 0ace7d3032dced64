//! Items in PostgreSQL. Every function takes a connection bound to its user and still filters by user: row security is the
//! second line of defence.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::history::{ItemEvent, ItemState, ReplacedItem};
use super::model::{
    EXPIRING_SOON, ItemId, ItemType, MemoryItem, SessionItem, Stats, Status, ThemeSlug,
    UncomparedItem,
};
use super::part::{DocumentPart, EpisodeSpan, TurnPosition};
use super::period::Period;
use super::projects::{Project, ProjectId};
use super::provenance::{ItemKey, SUPERSEDED_CONFIDENCE};
use super::trust::Trust;
use crate::accounts::{AgentId, UserId};
use crate::db::note_changes;

/// Includes archived items, not turns; stops counting at the limit.
pub async fn count_items_up_to(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!"
           FROM (SELECT FROM whole_memory WHERE user_id = $1 AND theme_id IS NOT NULL LIMIT $2) i"#,
        user.0,
        limit,
    )
    .fetch_one(conn)
    .await
}

/// An active item with a key.
pub struct ItemOfKey {
    pub id: i64,
    pub project_id: Option<i64>,
    pub holds: bool,
    pub locked: bool,
}

/// The active items with a key: per theme, project and moment at most one shared one and one per agent. An
/// agent's own item hides the shared one, if the agent's settings say so.
pub async fn list_of_key(
    conn: &mut PgConnection,
    user: UserId,
    key: &ItemKey,
    theme: Option<&ThemeSlug>,
    now: OffsetDateTime,
) -> Result<Vec<ItemOfKey>, sqlx::Error> {
    sqlx::query_as!(
        ItemOfKey,
        r#"SELECT i.id, i.project_id, holds(i.valid_from, i.valid_until, $4) AS "holds!", i.locked FROM memory_items i
         JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
         WHERE i.user_id = $1 AND replace(i.key, '_', '') = replace($2, '_', '') AND is_live(i.status, i.live_until, $4) AND ($3::text IS NULL OR t.slug = $3)
           AND NOT is_shadowed(i.owner_agent_id, i.theme_id, i.key, i.content_hash, i.project_id, i.valid_from, i.valid_until, $4)
         ORDER BY i.id"#,
        user.0,
        key.as_str(),
        theme.map(ThemeSlug::as_str),
        now,
    )
    .fetch_all(conn)
    .await
}

/// The only theme that has an active item with this key, of this project or of none, and of the owner of a new item.
pub async fn find_theme_of_key(
    conn: &mut PgConnection,
    user: UserId,
    key: &ItemKey,
    project: Option<ProjectId>,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT CASE WHEN count(DISTINCT t.slug) = 1 THEN min(t.slug) END
         FROM memory_items i JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
         WHERE i.user_id = $1 AND replace(i.key, '_', '') = replace($2, '_', '') AND i.status = 'active'
           AND i.owner_agent_id IS NOT DISTINCT FROM new_owner() AND i.project_id IS NOT DISTINCT FROM $3",
        user.0,
        key.as_str(),
        project.map(|project| project.0),
    )
    .fetch_one(conn)
    .await
}

/// An item. Turns and document parts are not found, because they cannot be changed.
pub async fn find_item(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
) -> Result<Option<MemoryItem>, sqlx::Error> {
    let found = find_to_read(conn, user, id).await?;
    Ok(found.filter(|item| item.theme.is_some()))
}

/// An item, a turn or a part of a document.
pub async fn find_to_read(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
) -> Result<Option<MemoryItem>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT i.id, t.slug AS "slug?", t.display_name AS "display_name?", i.type AS "item_type: ItemType", i.key, i.content, i.tags,
                  i.status AS "status: Status", i.source, i.trust AS "trust: Trust", i.source_context, a.name AS "agent?", i.owner_agent_id, o.name AS "owner?",
                  i.project_id, j.name AS "project?", i.confidence,
                  i.protected, i.locked, i.expires_at, i.valid_from, i.valid_until, i.last_verified_at, i.superseded_by, n.id AS "successor?", i.session_id, i.message_id,
                  i.delete_at, i.created_at, i.updated_at, i.turn_session_id, p.began_at AS "began_at?", p.ended_at AS "ended_at?", p.session_id AS "told_of?", s.external_id AS "session?", m.external_id AS "message?",
                  m.position AS "position?", i.document_id, d.path AS "path?", i.first_line, i.last_line
           FROM memory_items i
           LEFT JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
           LEFT JOIN agents a ON a.user_id = i.user_id AND a.id = i.agent_id
           LEFT JOIN agents o ON o.user_id = i.user_id AND o.id = i.owner_agent_id
           LEFT JOIN projects j ON j.user_id = i.user_id AND j.id = i.project_id
           LEFT JOIN episodes p ON p.user_id = i.user_id AND p.source_id = i.id
           LEFT JOIN sessions s ON s.user_id = i.user_id AND s.id = coalesce(i.turn_session_id, i.session_id, p.session_id)
           LEFT JOIN session_messages m ON m.user_id = i.user_id AND m.session_id = s.id
                                       AND m.position = coalesce(i.turn_position, i.message_id)
           LEFT JOIN documents d ON d.user_id = i.user_id AND d.id = i.document_id
           LEFT JOIN memory_items n ON n.user_id = i.user_id AND n.id = i.superseded_by
           WHERE i.user_id = $1 AND i.id = $2
             AND (NOT i.is_turn OR (SELECT u.turns_searched FROM users u WHERE u.id = $1))"#,
        user.0,
        id.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| MemoryItem {
        source_session: row.session.clone(),
        source_message: row.message.clone(),
        span: EpisodeSpan::of(row.told_of.zip(row.session.clone()), (row.began_at, row.ended_at)),
        turn: row.turn_session_id.zip(row.session).zip(row.position).zip(row.message).map(
            |(((session_id, session), position), message)| TurnPosition {
                session_id,
                session,
                position,
                message,
                role: row.source.clone(),
            },
        ),
        part: DocumentPart::of(row.document_id.zip(row.path), row.first_line.zip(row.last_line)),
        id: ItemId(row.id),
        theme: row.slug,
        theme_display_name: row.display_name,
        item_type: row.item_type,
        key: row.key,
        content: row.content,
        tags: row.tags,
        status: row.status,
        source: row.source,
        trust: row.trust,
        source_context: row.source_context,
        agent: row.agent,
        owner: row.owner_agent_id.zip(row.owner),
        project: Project::of_row(row.project_id.zip(row.project)),
        confidence: row.confidence,
        protected: row.protected,
        locked: row.locked,
        expires_at: row.expires_at,
        period: Period { from: row.valid_from, until: row.valid_until },
        last_verified_at: row.last_verified_at,
        superseded_by: row.superseded_by.map(ItemId),
        successor: row.successor.map(ItemId),
        delete_at: row.delete_at,
        said_in: row.session_id.map(|session| {
            let position = row.message_id.map(i32::try_from);
            (session, position.and_then(Result::ok))
        }),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }))
}

/// Newest first.
pub async fn list_events(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
    limit: i64,
) -> Result<Vec<ItemEvent>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.id, e.event, a.name AS "agent?", e.at, e.was_confidence, e.was_protected, e.was_locked, e.was_verified_at,
                  e.was_expires_at, e.was_superseded_by, e.was_tags, e.was_trust AS "was_trust: Trust", e.was_valid_from, e.was_valid_until
           FROM memory_item_events e
           LEFT JOIN agents a ON a.user_id = e.user_id AND a.id = e.agent_id
           WHERE e.user_id = $1 AND e.item_id = $2 ORDER BY e.id DESC LIMIT $3"#,
        user.0,
        id.0,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| ItemEvent {
            id: row.id,
            event: row.event,
            agent: row.agent,
            at: row.at,
            was_confidence: row.was_confidence,
            was: row.was_protected.map(|protected| ItemState {
                confidence: row.was_confidence.unwrap_or_default(),
                trust: row.was_trust.unwrap_or(Trust::External),
                protected,
                locked: row.was_locked.unwrap_or_default(),
                last_verified_at: row.was_verified_at,
                expires_at: row.was_expires_at,
                period: Period { from: row.was_valid_from, until: row.was_valid_until },
                superseded_by: row.was_superseded_by.map(ItemId),
                tags: row.was_tags.unwrap_or_default(),
            }),
        })
        .collect())
}

/// The items that this one superseded, and those put aside for it, newest first; as of `by`, if given.
pub async fn list_superseded(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
    by: Option<OffsetDateTime>,
) -> Result<Vec<ReplacedItem>, sqlx::Error> {
    sqlx::query_as!(
        ReplacedItem,
        r#"SELECT i.id AS "id: ItemId", left(concat_ws(': ', i.key, i.content), $3) AS "beginning!", i.source, i.trust AS "trust: Trust",
                  coalesce((SELECT e.event = 'put_aside' FROM memory_item_events e
                            WHERE e.user_id = $1 AND e.item_id = i.id AND e.event IN ('put_aside', 'superseded')
                            ORDER BY e.id DESC LIMIT 1), false) AS "is_put_aside!"
           FROM memory_items i WHERE i.user_id = $1 AND i.superseded_by = $2 AND ($4::timestamptz IS NULL OR i.live_until <= $4)
           ORDER BY i.id DESC LIMIT 50"#,
        user.0,
        id.0,
        ReplacedItem::CHARS_MAX,
        by,
    )
    .fetch_all(conn)
    .await
}

/// Archives those of the items that are active and adds this event; superseding lowers the confidence. Also notes the
/// change for the search index. Needs a transaction of [`Db::as_writer`](crate::db::Db::as_writer).
pub async fn archive_items(
    conn: &mut PgConnection,
    user: UserId,
    agent: Option<AgentId>,
    ids: &[i64],
    event: &str,
    now: OffsetDateTime,
) -> Result<Vec<i64>, sqlx::Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let archived = sqlx::query_scalar!(
        r#"WITH old AS (
               SELECT id, confidence FROM memory_items
               WHERE user_id = $1 AND id = ANY ($2) AND status = 'active' AND theme_id IS NOT NULL
           ), item AS (
               UPDATE memory_items i
               SET status = 'archived', updated_at = $5, live_until = greatest(i.live_from, least(i.live_until, $5)),
                   confidence = CASE WHEN $4 = 'superseded' THEN least(i.confidence, $6) ELSE i.confidence END
               FROM old WHERE i.user_id = $1 AND i.id = old.id
               RETURNING i.id, CASE WHEN $4 = 'superseded' THEN old.confidence END AS was_confidence
           ), event AS (
               INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at, was_confidence)
               SELECT $1, id, $3, $4, $5, was_confidence FROM item
               RETURNING user_id
           )
           SELECT id AS "id!" FROM item ORDER BY id"#,
        user.0,
        ids,
        agent.map(|a| a.0),
        event,
        now,
        SUPERSEDED_CONFIDENCE,
    )
    .fetch_all(&mut *conn)
    .await?;
    note_changes(conn, &archived).await?;
    Ok(archived)
}

/// Runs as the system role. Users with items that have expired and are not archived yet, or that began or ended to hold since
/// they were looked at, the longest due first.
pub async fn list_users_with_expired(
    conn: &mut PgConnection,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT user_id AS "user_id!: UserId" FROM (
               SELECT user_id, expires_at AS at FROM memory_items WHERE status = 'active' AND expires_at <= $1
               UNION ALL SELECT user_id, turns_at FROM memory_items WHERE status = 'active' AND turns_at <= $1) due
           GROUP BY user_id ORDER BY min(at), user_id LIMIT $2"#,
        now,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Runs as the system role. Users with items that were not compared with others yet.
pub async fn list_users_uncompared(
    conn: &mut PgConnection,
    limit: i64,
) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT i.user_id AS "user_id: UserId" FROM memory_items i JOIN users u ON u.id = i.user_id
         WHERE i.is_uncompared AND u.memory_enabled AND u.disabled_at IS NULL
         GROUP BY i.user_id ORDER BY min(i.id) LIMIT $1"#,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// The newest items that were not compared with others yet.
pub async fn list_uncompared(
    conn: &mut PgConnection,
    user: UserId,
    limit: i64,
) -> Result<Vec<UncomparedItem>, sqlx::Error> {
    let ids = sqlx::query_scalar!(
        "SELECT id FROM memory_items WHERE user_id = $1 AND is_uncompared ORDER BY id DESC LIMIT $2",
        user.0,
        limit,
    );
    let ids = ids.fetch_all(&mut *conn).await?;
    list_to_compare(conn, user, &ids).await
}

/// The oldest of them, without the newest `kept`.
pub async fn list_uncompared_before(
    conn: &mut PgConnection,
    user: UserId,
    (kept, limit): (i64, i64),
) -> Result<Vec<UncomparedItem>, sqlx::Error> {
    let ids = sqlx::query_scalar!(
        "SELECT id FROM memory_items
         WHERE user_id = $1 AND is_uncompared AND id <= (
             SELECT id FROM memory_items WHERE user_id = $1 AND is_uncompared ORDER BY id DESC OFFSET $2 LIMIT 1)
         ORDER BY id LIMIT $3",
        user.0,
        kept,
        limit,
    );
    let ids = ids.fetch_all(&mut *conn).await?;
    list_to_compare(conn, user, &ids).await
}

/// None while memory is switched off for the person.
async fn list_to_compare(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<Vec<UncomparedItem>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, i.agent_id, i.status AS "status: Status", t.slug, i.key, i.content, i.valid_from, i.valid_until, i.created_at,
                  p.id AS "project_id?", p.name AS "project?",
                  coalesce(a.memory_enabled AND coalesce((a.settings ->> 'consolidation_enabled')::boolean, true), true) AS "may_be_sent!"
           FROM users u JOIN memory_items i ON i.user_id = u.id AND i.id = ANY ($2)
           JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           LEFT JOIN projects p ON p.user_id = $1 AND p.id = i.project_id
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = i.agent_id
           WHERE u.id = $1 AND u.memory_enabled AND u.disabled_at IS NULL ORDER BY i.id DESC"#,
        user.0,
        ids,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| UncomparedItem {
        id: ItemId(row.id),
        agent: row.agent_id.map(AgentId),
        is_active: row.status == Status::Active,
        may_be_sent: row.may_be_sent,
        theme: row.slug,
        key: row.key,
        content: row.content,
        period: Period { from: row.valid_from, until: row.valid_until },
        created_at: row.created_at,
        project: Project::of_row(row.project_id.zip(row.project)),
    });
    Ok(rows.collect())
}

pub async fn set_compared(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE memory_items SET is_uncompared = false WHERE user_id = $1 AND id = ANY ($2) AND is_uncompared",
        user.0,
        ids,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn list_expired(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT id FROM memory_items
         WHERE user_id = $1 AND status = 'active' AND expires_at <= $2 AND theme_id IS NOT NULL
         ORDER BY id LIMIT $3",
        user.0,
        now,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// In the order in which they turned.
pub async fn list_turned(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
    limit: i64,
) -> Result<Vec<ItemId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT id AS "id: ItemId" FROM memory_items WHERE user_id = $1 AND status = 'active' AND turns_at <= $2
           ORDER BY turns_at, id LIMIT $3"#,
        user.0,
        now,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Items read from the session, in conversation order, and their total number.
pub async fn list_of_session(
    conn: &mut PgConnection,
    user: UserId,
    session_id: i64,
    limit: i64,
) -> Result<(Vec<SessionItem>, i64), sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, t.slug, i.type AS "item_type: ItemType", left(concat_ws(': ', i.key, i.content), $4) AS "beginning!", i.status AS "status: Status",
                  i.superseded_by IS NOT NULL AS "is_superseded!", i.expires_at, i.message_id,
                  count(*) OVER () AS "total!"
           FROM memory_items i JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
           WHERE i.user_id = $1 AND i.session_id = $2 AND i.theme_id IS NOT NULL
           ORDER BY i.message_id NULLS LAST, i.id LIMIT $3"#,
        user.0,
        session_id,
        limit,
        SessionItem::CHARS_MAX,
    );
    let rows = rows.fetch_all(conn).await?;
    let total = rows.first().map_or(0, |row| row.total);
    let items = rows.into_iter().map(|row| SessionItem {
        id: ItemId(row.id),
        theme: row.slug,
        item_type: row.item_type,
        beginning: row.beginning,
        status: row.status,
        is_superseded: row.is_superseded,
        expires_at: row.expires_at,
        position: row.message_id,
    });
    Ok((items.collect(), total))
}

/// [`Stats`] without the counts by type and theme, and without those that faded.
pub async fn count_by_status(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Stats, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT count(*) FILTER (WHERE live) AS "active!", count(*) FILTER (WHERE NOT live) AS "archived!",
                  count(*) FILTER (WHERE live AND protected) AS "confirmed!",
                  count(*) FILTER (WHERE live AND key IS NOT NULL) AS "with_key!",
                  count(*) FILTER (WHERE live AND expires_at <= $3) AS "expiring_soon!",
                  min(created_at) FILTER (WHERE live) AS oldest, max(created_at) FILTER (WHERE live) AS newest,
                  (SELECT count(*) FROM episodes WHERE user_id = $1) AS "episodes!",
                  (SELECT count(*) FROM memory_items WHERE user_id = $1 AND is_turn) AS "turns!"
           FROM (SELECT is_live(status, live_until, $2) AS live,
                        protected, key, expires_at, created_at
                 FROM memory_items WHERE user_id = $1 AND theme_id IS NOT NULL) i"#,
        user.0,
        now,
        now + EXPIRING_SOON,
    )
    .fetch_one(conn)
    .await?;
    Ok(Stats {
        active: row.active,
        archived: row.archived,
        confirmed: row.confirmed,
        with_key: row.with_key,
        expiring_soon: row.expiring_soon,
        episodes: row.episodes,
        turns: row.turns,
        oldest: row.oldest,
        newest: row.newest,
        ..Stats::default()
    })
}

/// Active items, largest count first.
pub async fn count_by_type(
    conn: &mut PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Vec<(ItemType, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT type AS "item_type: ItemType", count(*) AS "items!" FROM memory_items
           WHERE user_id = $1 AND is_live(status, live_until, $2) AND theme_id IS NOT NULL
           GROUP BY type ORDER BY 2 DESC, type"#,
        user.0,
        now,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.item_type, row.items)).collect())
}

/// All items of the user, active and archived, without turns.
pub async fn count_items(conn: &mut PgConnection, user: UserId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM memory_items WHERE user_id = $1 AND theme_id IS NOT NULL"#,
        user.0
    )
    .fetch_one(conn)
    .await
}
