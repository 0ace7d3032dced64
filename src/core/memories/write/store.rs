//! SQL that writes sources. Runs in a transaction bound to its user that has raised the user's revision.

use serde::Serialize;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::NewSource;
use crate::accounts::UserId;
use crate::activity;
use crate::embedding::Noted;
use crate::memories::ItemId;

#[derive(Serialize)]
struct NumberedSource<'a> {
    n: usize,
    #[serde(flatten)]
    source: &'a NewSource<'a>,
}

/// Ids of the written sources. One JSON parameter keeps each source's data together. Themes and texts use scalar
/// subqueries, so that no plan scans all of a user's rows.
pub async fn insert(
    conn: &mut PgConnection,
    user: UserId,
    sources: &[NewSource<'_>],
    now: OffsetDateTime,
) -> Result<(Vec<Option<ItemId>>, Noted), sqlx::Error> {
    let numbered: Vec<NumberedSource> =
        (0..).zip(sources).map(|(n, source)| NumberedSource { n, source }).collect();
    let rows = sqlx::query!(
        r#"WITH read AS MATERIALIZED (
               SELECT r.*, decode(r.content_hash, 'base64') AS hash,
                      CASE WHEN r.is_owner_given THEN r.given_owner ELSE new_owner() END AS owner,
                      coalesce(r.theme_id, (SELECT t.id FROM memory_themes t WHERE t.user_id = $1 AND t.slug = r.slug)) AS theme
               FROM json_to_recordset($2::text::json) AS r (
                   n integer, theme_id bigint, slug text, is_checked boolean, agent_id bigint, given_owner bigint, is_owner_given boolean, project_id bigint,
                   type text, key text, content text, content_hash text,
                   tags text[], status text, source text, trust text, source_context text, session_id bigint, message_id bigint,
                   confidence smallint, protected boolean, locked boolean, is_uncompared boolean, expires_at timestamptz, valid_from timestamptz,
                   valid_until timestamptz, last_verified_at timestamptz, decay_rate double precision, superseded_by bigint, attributes jsonb,
                   created_at timestamptz, updated_at timestamptz, turn_session_id bigint, turn_position integer,
                   turn_part smallint, document_id bigint, first_line integer, last_line integer,
                   passages json, events json, call json)
           ), new AS MATERIALIZED (
               SELECT nextval('memory_source_ids') AS id, r.* FROM (
                   SELECT r.* FROM read r
                   WHERE num_nonnulls(r.turn_session_id, r.document_id) > 0 OR r.type = 'episode'
                      OR r.theme IS NOT NULL AND (r.status <> 'active' OR r.is_checked OR (
                          SELECT i.id FROM memory_items i
                          WHERE i.user_id = $1 AND i.theme_id = r.theme AND i.content_hash = r.hash AND i.status = 'active'
                            AND i.owner_agent_id IS NOT DISTINCT FROM r.owner AND i.project_id IS NOT DISTINCT FROM r.project_id
                            AND (r.key IS NULL OR i.key IS NULL) LIMIT 1) IS NULL AND (r.key IS NULL OR (
                          SELECT i.id FROM memory_items i
                          WHERE i.user_id = $1 AND i.theme_id = r.theme AND replace(i.key, '_', '') = replace(r.key, '_', '') AND i.status = 'active'
                            AND i.owner_agent_id IS NOT DISTINCT FROM r.owner AND i.project_id IS NOT DISTINCT FROM r.project_id LIMIT 1) IS NULL))
                   ORDER BY r.n) r
           ), item AS (
               INSERT INTO memory_items (user_id, id, theme_id, agent_id, type, key, content, content_hash, tags, status,
                                         source, trust, source_context, session_id, message_id, confidence, protected, locked, is_uncompared,
                                         expires_at, valid_from, valid_until, last_verified_at, decay_rate, superseded_by, attributes,
                                         created_at, updated_at, turn_session_id, turn_position, turn_part, document_id, first_line,
                                         last_line, owner_agent_id, project_id, turns_at, live_from, live_until)
               SELECT $1, id, theme, agent_id, type, key, content, hash, tags, status, source, trust, source_context,
                      session_id, message_id, confidence, protected, locked, is_uncompared, expires_at, valid_from, valid_until, last_verified_at,
                      decay_rate, superseded_by, coalesce(attributes, '{}'), created_at, updated_at, turn_session_id, turn_position,
                      turn_part, document_id, first_line, last_line, owner, project_id, next_turn(valid_from, valid_until, $3), created_at,
                      -- What is put aside never was live; what comes archived was until it was changed last.
                      CASE WHEN status = 'active' THEN greatest(created_at, coalesce(expires_at, 'infinity'))
                           WHEN superseded_by IS NOT NULL THEN created_at
                           ELSE greatest(created_at, least(updated_at, coalesce(expires_at, 'infinity'))) END
               FROM new ORDER BY n
               ON CONFLICT DO NOTHING
               RETURNING id, is_turn
           ), settings AS MATERIALIZED (
               SELECT coalesce(e.enabled, true) AS enabled, coalesce(e.own_enabled, false) AS own_enabled
               FROM (SELECT $1::bigint AS user_id) u LEFT JOIN embedding_settings e ON e.user_id = u.user_id
           ), spaces AS MATERIALIZED (
               SELECT id, is_full FROM embedding_spaces WHERE user_id = $1 AND state IN ('active', 'building')
           ), added AS MATERIALIZED (
               SELECT new.n, new.agent_id, new.passages, new.events, new.call, item.* FROM item JOIN new USING (id)
           ), passage AS (
               INSERT INTO memory_passages (user_id, source_id, n, start, length, key_chars, content_hash, terms)
               SELECT $1, a.id, p.n, p.start, p.length, p.key_chars, decode(p.hash, 'base64'), decode(p.terms, 'base64')
               FROM added a CROSS JOIN LATERAL json_to_recordset(a.passages)
                    AS p (n smallint, start integer, length integer, key_chars integer, hash text, terms text)
               RETURNING source_id, n
           ), pending AS (
               INSERT INTO memory_embeddings (user_id, space_id, source_id, passage, state, is_turn, updated_at)
               SELECT $1, s.id, p.source_id, p.n, 'pending', a.is_turn, $3
               FROM passage p JOIN added a ON a.id = p.source_id CROSS JOIN spaces s CROSS JOIN settings
               WHERE settings.enabled
               RETURNING user_id
           ), event AS (
               INSERT INTO memory_item_events (user_id, item_id, agent_id, event, at)
               SELECT $1, a.id, e.agent_id, e.event, e.at
               FROM added a CROSS JOIN LATERAL json_to_recordset(a.events) AS e (agent_id bigint, event text, at timestamptz)
               RETURNING user_id
           ), record AS (
               INSERT INTO activity (user_id, at, agent_id, tool, outcome, duration_us, item_ids)
               SELECT $1, c.at, a.agent_id, c.tool, $4, c.duration_us, ARRAY[a.id]
               FROM added a CROSS JOIN LATERAL json_to_record(a.call) AS c (at timestamptz, tool text, duration_us integer)
               WHERE a.call IS NOT NULL
               RETURNING user_id
           ), change AS (
               INSERT INTO memory_changes (user_id, revision, source_id)
               SELECT $1, r.revision, a.id FROM added a JOIN memory_revisions r ON r.user_id = $1
               RETURNING user_id
           )
           SELECT a.n AS "n?", a.id AS "id?", s.enabled AS "enabled!", s.own_enabled AS "own_enabled!",
                  EXISTS (SELECT 1 FROM spaces) AS "has_space!", EXISTS (SELECT 1 FROM spaces WHERE is_full) AS "is_full!"
           FROM settings s LEFT JOIN added a ON true"#,
        user.0,
        serde_json::to_string(&numbered).map_err(|e| sqlx::Error::Encode(e.into()))?,
        now,
        activity::OK,
    )
    .fetch_all(conn)
    .await?;
    let mut ids = vec![None; sources.len()];
    for (n, id) in rows.iter().filter_map(|row| row.n.zip(row.id)) {
        if let Some(place) = usize::try_from(n).ok().and_then(|at| ids.get_mut(at)) {
            *place = Some(ItemId(id));
        }
    }
    let first = rows.first();
    let noted = Noted {
        tokens: 0,
        enabled: first.is_some_and(|row| row.enabled),
        own_enabled: first.is_some_and(|row| row.own_enabled),
        has_space: first.is_some_and(|row| row.has_space),
        is_full: first.is_some_and(|row| row.is_full),
    };
    Ok((ids, noted))
}
