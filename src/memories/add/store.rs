//! The statements of adding: an item in, what it meets, and what becomes of that. Every
//! function takes a connection that knows its user, and names the user again.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::together::Waiting;
use crate::accounts::{UserId, Viewer};
use crate::activity;
use crate::embedding::{Noted, tokens_of};
use crate::memories::provenance::ItemKey;
use crate::memories::themes::store::ThemeId;
use crate::memories::trust::{Holder, Trust};
use crate::memories::{ItemId, NewItem, words};

/// The item and its first event, in one statement. `None` when it meets an active item: of its
/// text, unless both have keys, or of its key. With `aside_for` it is kept archived, beside that one.
pub async fn insert_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    theme: ThemeId,
    item: &NewItem,
    aside_for: Option<ItemId>,
    now: OffsetDateTime,
) -> Result<Option<ItemId>, sqlx::Error> {
    let provenance = item.provenance();
    let key = item.key().map(ItemKey::as_str);
    let id = sqlx::query_scalar!(
        r#"WITH item AS (
               INSERT INTO memory_items (user_id, theme_id, agent_id, type, key, content, content_hash, tags,
                                         status, source, trust, source_context, session_id, message_id, confidence,
                                         expires_at, superseded_by, created_at, updated_at, content_tsv,
                                         valid_from, valid_until)
               SELECT $1, $2, $3, $4, $5::text, $6, $7, $8, CASE WHEN $15::bigint IS NULL THEN 'active' ELSE 'archived' END,
                      $9, $19, $10, $11, $12, $13, $14, $15, $16, $17, $18::text::tsvector, $20, $21
               WHERE $15 IS NOT NULL OR NOT EXISTS (
                   SELECT FROM memory_items i
                   WHERE i.user_id = $1 AND i.theme_id = $2 AND i.content_hash = $7 AND i.status = 'active'
                     AND ($5 IS NULL OR i.key IS NULL))
               ON CONFLICT DO NOTHING
               RETURNING id, status
           ), event AS (
               INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
               SELECT $1, item.id, $3, e.event, $17 FROM item
               JOIN (VALUES (1, 'added'), (2, 'put_aside')) AS e (n, event) ON e.n = 1 OR item.status = 'archived'
               ORDER BY e.n
           )
           SELECT id AS "id!" FROM item"#,
        viewer.user_id.0,
        theme.0,
        viewer.agent_id.map(|a| a.0),
        item.item_type().as_str(),
        key,
        item.content(),
        &item.content_hash(),
        item.tags(),
        provenance.source.as_str(),
        provenance.context,
        provenance.session_id,
        provenance.message_id,
        item.confidence(),
        item.expires_at(now),
        aside_for.map(|id| id.0),
        item.created_at(now),
        now,
        words::of_item(item.content(), key, item.tags()),
        item.trust().as_str(),
        item.period().from,
        item.period().until,
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(ItemId))
}

/// What became of items that were added together.
pub(super) struct AddedTogether {
    /// Of each, in their order; `None` where it became no row.
    pub ids: Vec<Option<ItemId>>,
    /// Of those that did.
    pub noted: Noted,
}

/// Items that are new in their themes, each with its first event, its pending vectors and the
/// record of its call, in one statement, in a transaction of
/// [`crate::embedding::Embeddings::begin_adding`]. Left out is what meets an active item of its
/// text and what would be the first of its theme, and all where too many vectors are pending. No
/// two may have one theme and one text, and none a key.
///
/// Themes and texts are looked up item by item, so that no plan reads all of a user's instead;
/// rows are made in one order, so that two servers with the same texts do not wait for each other.
pub(super) async fn insert_together(
    conn: &mut PgConnection,
    user: UserId,
    items: &[Waiting],
    now: OffsetDateTime,
) -> Result<AddedTogether, sqlx::Error> {
    fn each<'a, T>(items: &'a [Waiting], of: impl Fn(&'a Waiting) -> T) -> Vec<T> {
        items.iter().map(of).collect()
    }
    // Arrays of arrays must be of one length: all tags, and where among them each item's are.
    let tags: Vec<String> = items.iter().flat_map(|w| w.item.tags()).cloned().collect();
    let (mut tags_begin, mut tags_end) = (Vec::new(), Vec::new());
    for waiting in items {
        let begin = tags_end.last().map_or(1, |end| end + 1);
        tags_begin.push(begin);
        tags_end.push(begin - 1 + waiting.item.tags().len() as i32);
    }
    let rows = sqlx::query!(
        r#"WITH given AS MATERIALIZED (
               SELECT g.*, (SELECT t.id FROM memory_themes t WHERE t.user_id = $1 AND t.slug = g.slug) AS theme_id
               FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::integer[], $8::integer[],
                           $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::smallint[], $14::timestamptz[],
                           $15::timestamptz[], $16::text[], $17::timestamptz[], $18::text[], $19::integer[], $23::text[],
                           $24::timestamptz[], $25::timestamptz[])
                    WITH ORDINALITY
                    AS g (slug, agent_id, type, content, content_hash, tags_begin, tags_end, source, source_context, session_id,
                          message_id, confidence, expires_at, created_at, words, called_at, tool, duration_us, trust,
                          valid_from, valid_until, n)
           ), settings AS MATERIALIZED (
               SELECT coalesce(e.enabled, true) AS enabled, coalesce(e.own_enabled, false) AS own_enabled
               FROM (SELECT $1::bigint AS user_id) u LEFT JOIN embedding_settings e ON e.user_id = u.user_id
           ), spaces AS MATERIALIZED (
               SELECT id, is_full FROM embedding_spaces WHERE user_id = $1 AND state IN ('active', 'building')
           ), item AS (
               INSERT INTO memory_items (user_id, theme_id, agent_id, type, content, content_hash, tags, status, source,
                                         trust, source_context, session_id, message_id, confidence, expires_at,
                                         created_at, updated_at, content_tsv, valid_from, valid_until)
               SELECT $1, g.theme_id, g.agent_id, g.type, g.content, g.content_hash,
                      ($20::text[])[g.tags_begin : g.tags_end], 'active', g.source, g.trust, g.source_context,
                      g.session_id, g.message_id, g.confidence, g.expires_at, g.created_at, $21, g.words::tsvector,
                      g.valid_from, g.valid_until
               FROM given g
               WHERE g.theme_id IS NOT NULL AND NOT EXISTS (SELECT FROM spaces, settings WHERE is_full AND enabled) AND (
                   SELECT i.id FROM memory_items i
                   WHERE i.user_id = $1 AND i.theme_id = g.theme_id AND i.content_hash = g.content_hash
                     AND i.status = 'active' LIMIT 1) IS NULL
               ORDER BY g.theme_id, g.content_hash
               ON CONFLICT DO NOTHING
               RETURNING id, theme_id, type, content_hash, expires_at, created_at
           ), added AS (
               SELECT g.n, g.agent_id, g.called_at, g.tool, g.duration_us, item.*
               FROM item JOIN given g USING (theme_id, content_hash)
           ), event AS (
               INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
               SELECT $1, id, agent_id, 'added', $21 FROM added
           ), pending AS (
               INSERT INTO memory_item_embeddings (user_id, space_id, item_id, state, theme_id, item_type,
                                                   item_live_until, item_created_at, content_hash, updated_at)
               SELECT $1, s.id, a.id, 'pending', a.theme_id, a.type, coalesce(a.expires_at, 'infinity'), a.created_at,
                      a.content_hash, $21
               FROM added a CROSS JOIN spaces s CROSS JOIN settings WHERE settings.enabled
           ), record AS (
               INSERT INTO activity (user_id, at, agent_id, tool, outcome, duration_us, item_ids)
               SELECT $1, called_at, agent_id, tool, $22, duration_us, ARRAY[id] FROM added
           )
           SELECT n AS "n!", id AS "id!", (SELECT enabled FROM settings) AS "enabled!",
                  (SELECT own_enabled FROM settings) AS "own_enabled!",
                  EXISTS (SELECT FROM spaces) AS "has_space!"
           FROM added"#,
        user.0,
        &each(items, |w| w.item.theme().as_str().to_owned()),
        &each(items, |w| w.record.agent_id.map(|a| a.0)) as &[Option<i64>],
        &each(items, |w| w.item.item_type().as_str().to_owned()),
        &each(items, |w| w.item.content().to_owned()),
        &each(items, |w| w.content_hash.to_vec()),
        &tags_begin,
        &tags_end,
        &each(items, |w| w.item.provenance().source.as_str().to_owned()),
        &each(items, |w| w.item.provenance().context.clone()) as &[Option<String>],
        &each(items, |w| w.item.provenance().session_id) as &[Option<i64>],
        &each(items, |w| w.item.provenance().message_id) as &[Option<i64>],
        &each(items, |w| w.item.confidence()),
        &each(items, |w| w.item.expires_at(now)) as &[Option<OffsetDateTime>],
        &each(items, |w| w.item.created_at(now)),
        &each(items, |w| w.words.clone()),
        &each(items, |w| w.record.at),
        &each(items, |w| w.record.tool.to_owned()),
        &each(items, |w| w.record.duration_us()),
        &tags,
        now,
        activity::OK,
        &each(items, |w| w.item.trust().as_str().to_owned()),
        &each(items, |w| w.item.period().from) as &[Option<OffsetDateTime>],
        &each(items, |w| w.item.period().until) as &[Option<OffsetDateTime>],
    )
    .fetch_all(conn)
    .await?;
    let first = rows.first();
    let mut added = AddedTogether {
        ids: vec![None; items.len()],
        noted: Noted {
            tokens: items
                .iter()
                .map(|w| tokens_of(w.item.content().len()))
                .sum(),
            enabled: first.is_some_and(|row| row.enabled),
            own_enabled: first.is_some_and(|row| row.own_enabled),
            has_space: first.is_some_and(|row| row.has_space),
            is_full: false,
        },
    };
    for row in rows {
        added.ids[row.n as usize - 1] = Some(ItemId(row.id));
    }
    Ok(added)
}

/// An active item that a new one meets.
pub struct Met {
    pub id: ItemId,
    /// The new one says nothing more.
    pub is_same: bool,
    /// It has the new one's key. One that is neither has its text, and no key.
    pub is_of_key: bool,
    pub standing: Holder,
    pub expires_at: Option<OffsetDateTime>,
}

/// Held until the transaction ends, and asked for in one order, so that two that meet the same
/// do not wait for each other.
pub async fn lock_met(
    conn: &mut PgConnection,
    user: UserId,
    theme: ThemeId,
    item: &NewItem,
) -> Result<Vec<Met>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT id, content_hash = $3 AND ($4::text IS NULL OR key IS NOT NULL) AS "is_same!",
                  coalesce(key = $4, false) AS "is_of_key!", trust, protected,
                  greatest(created_at, last_verified_at) AS "stated_at!", expires_at
           FROM memory_items
           WHERE user_id = $1 AND theme_id = $2 AND status = 'active'
             AND (key = $4 OR (content_hash = $3 AND ($4 IS NULL OR key IS NULL)))
           ORDER BY id FOR NO KEY UPDATE"#,
        user.0,
        theme.0,
        &item.content_hash(),
        item.key().map(ItemKey::as_str),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Met {
            id: ItemId(row.id),
            is_same: row.is_same,
            is_of_key: row.is_of_key,
            standing: Holder {
                trust: Trust::from_column(&row.trust),
                is_confirmed: row.protected,
                stated_at: row.stated_at,
            },
            expires_at: row.expires_at,
        })
        .collect())
}

/// The same item, put aside for this one before.
pub async fn find_aside(
    conn: &mut PgConnection,
    user: UserId,
    theme: ThemeId,
    item: &NewItem,
    holder: ItemId,
) -> Result<Option<ItemId>, sqlx::Error> {
    let id = sqlx::query_scalar!(
        "SELECT id FROM memory_items
         WHERE user_id = $1 AND superseded_by = $2 AND theme_id = $3 AND content_hash = $4
           AND key = $5 AND status = 'archived' ORDER BY id LIMIT 1",
        user.0,
        holder.0,
        theme.0,
        &item.content_hash(),
        item.key().map(ItemKey::as_str),
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(ItemId))
}

/// Leads from an item to the one that took its place.
pub async fn link(
    conn: &mut PgConnection,
    user: UserId,
    older: ItemId,
    newer: ItemId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE memory_items SET superseded_by = $3 WHERE user_id = $1 AND id = $2 AND id <> $3",
        user.0,
        older.0,
        newer.0,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives an item that has none its key, and the words to find it by.
pub async fn name_item(
    conn: &mut PgConnection,
    viewer: &Viewer,
    id: ItemId,
    key: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "WITH item AS (
             UPDATE memory_items SET key = $4, updated_at = $5, content_tsv = content_tsv || $6::text::tsvector
             WHERE user_id = $1 AND id = $2 AND key IS NULL RETURNING id
         )
         INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
         SELECT $1, id, $3, 'named', $5 FROM item",
        viewer.user_id.0,
        id.0,
        viewer.agent_id.map(|a| a.0),
        key,
        now,
        words::tsvector([key]),
    )
    .execute(conn)
    .await?;
    Ok(())
}
