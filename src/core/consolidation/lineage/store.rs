//! The statements of lineages, as the app role in a transaction that has set the user.

use sqlx::PgConnection;

use super::{LineageKind, OriginNode};
use crate::db::UserId;
use crate::memories::{ItemId, Trust};
use crate::sessions::MessageRole;

/// The agent's name for the session.
pub(super) async fn find_session(
    conn: &mut PgConnection,
    user: UserId,
    session: i64,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT external_id FROM sessions WHERE user_id = $1 AND id = $2",
        user.0,
        session,
    )
    .fetch_optional(conn)
    .await
}

/// The message at a position of a session.
pub(super) async fn find_turn(
    conn: &mut PgConnection,
    user: UserId,
    session: i64,
    (position, chars_max): (i32, i32),
) -> Result<Option<OriginNode>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT role AS "role: MessageRole", left(regexp_replace(content, '<keepsake-memory[^>]*/>', '…', 'g'), $4) AS "text!" FROM session_messages
           WHERE user_id = $1 AND session_id = $2 AND position = $3"#,
        user.0,
        session,
        position,
        chars_max,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| OriginNode {
        kind: LineageKind::Turn(position),
        id: session,
        text: row.text,
        trust: Some(row.role.trust()),
    }))
}

/// In session order.
pub(super) async fn list_episodes(
    conn: &mut PgConnection,
    user: UserId,
    session: i64,
    (chars_max, limit): (i32, i64),
) -> Result<Vec<OriginNode>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT e.source_id, left(e.abstract, $3) AS "text!", i.trust AS "trust: Trust"
           FROM episodes e JOIN memory_items i ON i.user_id = $1 AND i.id = e.source_id
           WHERE e.user_id = $1 AND e.session_id = $2 ORDER BY e.first_position LIMIT $4"#,
        user.0,
        session,
        chars_max,
        limit,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| OriginNode {
        kind: LineageKind::Episode,
        id: row.source_id,
        text: row.text,
        trust: Some(row.trust),
    });
    Ok(rows.collect())
}

/// The sources of an item, newest first.
pub(super) async fn list_sources(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    (chars_max, limit): (i32, i64),
) -> Result<Vec<OriginNode>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, left(concat_ws(': ', i.key, i.content), $3) AS "text!", i.trust AS "trust: Trust", i.type = 'episode' AS "is_episode!"
           FROM memory_origins o JOIN memory_items i ON i.user_id = $1 AND i.id = o.source_id
           WHERE o.user_id = $1 AND o.item_id = $2 ORDER BY i.id DESC LIMIT $4"#,
        user.0,
        item.0,
        chars_max,
        limit,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| OriginNode {
        kind: match row.is_episode {
            true => LineageKind::Episode,
            false => LineageKind::Source,
        },
        id: row.id,
        text: row.text,
        trust: Some(row.trust),
    });
    Ok(rows.collect())
}

/// The items that gave way to an item, newest first, and the event: merged, superseded or put_aside.
pub(super) async fn list_older(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    (chars_max, limit): (i32, i64),
) -> Result<Vec<(OriginNode, Option<String>)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, left(concat_ws(': ', i.key, i.content), $3) AS "text!", i.trust AS "trust: Trust",
                  (SELECT e.event FROM memory_item_events e
                   WHERE e.user_id = $1 AND e.item_id = i.id AND e.event IN ('merged', 'superseded', 'put_aside')
                   ORDER BY e.id DESC LIMIT 1) AS event
           FROM memory_items i WHERE i.user_id = $1 AND i.superseded_by = $2 ORDER BY i.id DESC LIMIT $4"#,
        user.0,
        item.0,
        chars_max,
        limit,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let node = OriginNode {
            kind: LineageKind::Older,
            id: row.id,
            text: row.text,
            trust: Some(row.trust),
        };
        (node, row.event)
    });
    Ok(rows.collect())
}

/// The item that this one gave way to, and the event.
pub(super) async fn find_newer(
    conn: &mut PgConnection,
    user: UserId,
    (item, newer): (ItemId, ItemId),
    chars_max: i32,
) -> Result<Option<(OriginNode, Option<String>)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT i.id, left(concat_ws(': ', i.key, i.content), $4) AS "text!", i.trust AS "trust: Trust",
                  (SELECT e.event FROM memory_item_events e
                   WHERE e.user_id = $1 AND e.item_id = $2 AND e.event IN ('merged', 'superseded', 'put_aside')
                   ORDER BY e.id DESC LIMIT 1) AS event
           FROM memory_items i WHERE i.user_id = $1 AND i.id = $3"#,
        user.0,
        item.0,
        newer.0,
        chars_max,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| {
        let node = OriginNode {
            kind: LineageKind::Newer,
            id: row.id,
            text: row.text,
            trust: Some(row.trust),
        };
        (node, row.event)
    }))
}

/// What was written from any of these, newest first, each with its sources among them.
pub(super) async fn list_written(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    (chars_max, limit): (i32, i64),
) -> Result<Vec<(Vec<i64>, OriginNode)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT w.item_id, w.sources AS "sources!", d.id IS NOT NULL AS "is_dream!",
                  left(coalesce(i.content, d.path), $3) AS "text!", coalesce(i.trust, d.trust) AS "trust!: Trust"
           FROM (SELECT item_id, array_agg(source_id) AS sources FROM memory_origins
                 WHERE user_id = $1 AND source_id = ANY ($2) GROUP BY item_id ORDER BY item_id DESC LIMIT $4) w
           LEFT JOIN memory_items i ON i.user_id = $1 AND i.id = w.item_id
           LEFT JOIN documents d ON d.user_id = $1 AND d.id = w.item_id
           WHERE i.id IS NOT NULL OR d.id IS NOT NULL ORDER BY w.item_id DESC"#,
        user.0,
        ids,
        chars_max,
        limit,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        let node = OriginNode {
            kind: match row.is_dream {
                true => LineageKind::Dream,
                false => LineageKind::Reflection,
            },
            id: row.item_id,
            text: row.text,
            trust: Some(row.trust),
        };
        (row.sources, node)
    });
    Ok(rows.collect())
}
