//! The statements of reflections, as the app role in a transaction that has set the user; those that change
//! something, in one that has raised the user's revision.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{ReflectionSource, TOLD};
use crate::clock::Zone;
use crate::consolidation::summary::SourceItem;
use crate::consolidation::summary::facts::PromptFact;
use crate::db::UserId;
use crate::memories::{ItemId, Period, Trust};

/// When the last reflection was written, whatever its state is now.
pub async fn find_last(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<OffsetDateTime>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT created_at FROM memory_items WHERE user_id = $1 AND type = 'reflection' ORDER BY created_at DESC LIMIT 1",
        user.0
    )
    .fetch_optional(conn)
    .await
}

/// Shared memories stated since then, and shared episodes that ended since then; newest first.
pub(super) async fn list_recent(
    conn: &mut PgConnection,
    user: UserId,
    since: OffsetDateTime,
    (chars_max, limit): (i32, i64),
    now: OffsetDateTime,
) -> Result<Vec<ReflectionSource>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i.id, t.slug AS "slug?", i.key, i.trust AS "trust: Trust", i.agent_id, i.locked, left(i.content, $3) AS "content!", e.session_id AS "session_id?",
                  i.valid_from, i.valid_until, u.time_zone
           FROM memory_items i JOIN users u ON u.id = i.user_id
           LEFT JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
           LEFT JOIN episodes e ON e.user_id = i.user_id AND e.source_id = i.id
           WHERE i.user_id = $1 AND is_live(i.status, i.live_until, $5) AND NOT is_over(i.valid_until, $5) AND i.owner_agent_id IS NULL
             AND (i.theme_id IS NOT NULL AND i.type <> 'reflection' AND greatest(i.last_verified_at, i.created_at) > $2
                  OR e.ended_at > $2)
           ORDER BY greatest(i.last_verified_at, i.created_at) DESC, i.id DESC LIMIT $4"#,
        user.0,
        since,
        chars_max,
        limit,
        now,
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| ReflectionSource {
        session: row.session_id,
        is_memory: row.slug.is_some(),
        fact: PromptFact {
            id: ItemId(row.id),
            is_persons: row.locked || row.trust == Trust::User || row.slug.is_none(),
            theme: row.slug.unwrap_or_else(|| TOLD.to_owned()),
            key: row.key,
            trust: row.trust,
            agent: row.agent_id,
            content: Period { from: row.valid_from, until: row.valid_until }
                .beside(row.content, &Zone::from_column(&row.time_zone)),
        },
    });
    Ok(rows.collect())
}

/// Locks these sources until the transaction ends, ordered by id to avoid a deadlock with an erasure. False
/// if one no longer exists.
pub(super) async fn hold(
    conn: &mut PgConnection,
    user: UserId,
    sources: &[ReflectionSource],
) -> Result<bool, sqlx::Error> {
    let ids: Vec<i64> = sources.iter().map(|one| one.fact.id.0).collect();
    let held = crate::consolidation::summary::hold_items(conn, user, &ids).await?;
    Ok(held == ids.len())
}

pub async fn list_active(conn: &mut PgConnection, user: UserId) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        "SELECT id FROM memory_items WHERE user_id = $1 AND type = 'reflection' AND status = 'active' ORDER BY id",
        user.0
    )
    .fetch_all(conn)
    .await
}

/// Records the sources of a memory or a document, with the session of each episode among them.
///
/// # Errors
/// Only database errors.
pub async fn insert_origins(
    conn: &mut PgConnection,
    user: UserId,
    item: i64,
    sources: &[(i64, Option<i64>)],
) -> Result<(), sqlx::Error> {
    let (ids, sessions): (Vec<i64>, Vec<Option<i64>>) = sources.iter().copied().unzip();
    sqlx::query!(
        "INSERT INTO memory_origins (user_id, item_id, source_id, session_id)
         SELECT $1, $2, source, session FROM unnest($3::bigint[], $4::bigint[]) AS s (source, session)
         ON CONFLICT DO NOTHING",
        user.0,
        item,
        &ids,
        &sessions as &[Option<i64>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The existing sources of an item, with the beginning of each text.
pub(super) async fn list_origins(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    chars_max: i32,
) -> Result<Vec<SourceItem>, sqlx::Error> {
    sqlx::query_as!(
        SourceItem,
        r#"SELECT i.id AS "id: ItemId", left(concat_ws(': ', i.key, i.content), $3) AS "beginning!", length(concat_ws(': ', i.key, i.content)) > $3 AS "is_cut!", i.trust AS "trust: Trust",
                  i.status = 'active' AS "is_active!"
           FROM memory_origins o JOIN memory_items i ON i.user_id = $1 AND i.id = o.source_id
           WHERE o.user_id = $1 AND o.item_id = $2 ORDER BY i.id"#,
        user.0,
        item.0,
        chars_max,
    )
    .fetch_all(conn)
    .await
}

pub(super) async fn count_gone_origins(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "n!" FROM memory_origins o
           WHERE o.user_id = $1 AND o.item_id = $2
             AND NOT EXISTS (SELECT FROM memory_items i WHERE i.user_id = $1 AND i.id = o.source_id)"#,
        user.0,
        item.0,
    )
    .fetch_one(conn)
    .await
}

/// Memories written from an item, newest first, without dreams, which are documents.
pub(super) async fn list_derived(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
) -> Result<Vec<ItemId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT o.item_id AS "item_id: ItemId" FROM memory_origins o JOIN memory_items i ON i.user_id = $1 AND i.id = o.item_id
         WHERE o.user_id = $1 AND o.source_id = $2 ORDER BY o.item_id DESC LIMIT 50"#,
        user.0,
        item.0,
    )
    .fetch_all(conn)
    .await
}

/// The current reflection.
pub struct LatestReflection {
    pub id: ItemId,
    pub content: String,
    pub created_at: OffsetDateTime,
}

/// The current reflection, as far as row security lets the caller see it.
///
/// # Errors
/// Only database errors.
pub async fn find_latest(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<LatestReflection>, sqlx::Error> {
    sqlx::query_as!(
        LatestReflection,
        r#"SELECT id AS "id: ItemId", content, created_at FROM memory_items
         WHERE user_id = $1 AND type = 'reflection' AND status = 'active' ORDER BY created_at DESC LIMIT 1"#,
        user.0
    )
    .fetch_optional(conn)
    .await
}
