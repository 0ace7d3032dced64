//! SQL that finds the memories a text stands on. Every function takes a connection bound to its user and still filters by user.

use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::accounts::UserId;
use crate::memories::ItemId;

/// Limits per text: memories read from its session, its sources, and the changes of one memory that are followed.
const FACTS_MAX: i64 = 100;
const ORIGINS_MAX: i64 = 200;
const CHAIN_MAX: i32 = 16;
/// Limit on the messages noted for one memory.
const REPEATS_MAX: i64 = 50;

/// A memory that a text stands on (`n` 0), or what replaced it, in order.
pub(super) struct ChainLink {
    /// Of the text; −1, −2, … for the places.
    pub source: i64,
    pub fact: i64,
    pub is_direct: bool,
    /// Of a turn, or a place.
    pub is_message: bool,
    pub n: i32,
    pub id: i64,
    pub key: Option<String>,
    pub content: String,
    /// `None` while it is active.
    pub ended_at: Option<OffsetDateTime>,
    /// What ended it.
    pub event: Option<String>,
}

/// What these sources, and these messages (session and position), stand on: the memories read from a turn's message or an
/// episode's stretch, the sources of a reflection or a dream, a memory itself. Ordered by source and memory.
pub(super) async fn list_links(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    (sessions, positions): (&[i64], &[i32]),
) -> Result<Vec<ChainLink>, sqlx::Error> {
    sqlx::query_as!(
        ChainLink,
        r#"WITH RECURSIVE asked AS MATERIALIZED (
               SELECT i.id, i.theme_id IS NOT NULL AND i.type <> 'reflection' AS is_fact, i.is_turn,
                      coalesce(i.document_id, i.id) AS origin, coalesce(i.turn_session_id, e.session_id) AS session_id,
                      coalesce(i.turn_position, e.first_position) AS first, coalesce(i.turn_position, e.last_position) AS last
               FROM unnest($2::bigint[]) AS f (id)
               -- OFFSET 0, here and below: each by its key, whatever the statistics say.
               CROSS JOIN LATERAL (SELECT * FROM memory_items i WHERE i.user_id = $1 AND i.id = f.id OFFSET 0) i
               LEFT JOIN LATERAL (SELECT * FROM episodes e WHERE e.user_id = $1 AND e.source_id = i.id OFFSET 0) e ON true
               UNION ALL
               SELECT -p.n, false, true, NULL, p.session_id, p.place, p.place
               FROM unnest($3::bigint[], $4::integer[]) WITH ORDINALITY AS p (session_id, place, n)
           ), origin AS MATERIALIZED (
               SELECT a.id, o.source_id, e.session_id, e.first_position, e.last_position FROM asked a
               CROSS JOIN LATERAL (SELECT o.source_id FROM memory_origins o WHERE o.user_id = $1 AND o.item_id = a.origin
                                   ORDER BY o.source_id DESC LIMIT $5) o
               LEFT JOIN LATERAL (SELECT * FROM episodes e WHERE e.user_id = $1 AND e.source_id = o.source_id OFFSET 0) e ON true
               WHERE NOT a.is_fact AND a.session_id IS NULL
           ), stretch AS MATERIALIZED (
               SELECT id, is_turn, session_id, first, last FROM asked WHERE session_id IS NOT NULL
               UNION ALL
               SELECT id, false, session_id, first_position, last_position FROM origin WHERE session_id IS NOT NULL
           ), told AS (
               SELECT id, id AS fact, true AS is_direct, false AS is_message FROM asked WHERE is_fact
               UNION ALL
               SELECT id, source_id, true, false FROM origin WHERE session_id IS NULL
               UNION ALL
               SELECT s.id, i.id, NOT s.is_turn OR i.message_id IS NOT DISTINCT FROM s.first, s.is_turn FROM stretch s
               CROSS JOIN LATERAL (
                   SELECT i.id, i.message_id FROM memory_items i
                   WHERE i.user_id = $1 AND i.session_id = s.session_id AND i.theme_id IS NOT NULL
                     AND CASE WHEN s.is_turn THEN i.message_id = s.first OR i.status = 'archived'
                              ELSE i.message_id IS NULL OR i.message_id BETWEEN s.first AND s.last END
                   ORDER BY i.id DESC LIMIT $6) i
               UNION ALL
               SELECT s.id, r.item_id, NOT s.is_turn OR r.position = s.first, s.is_turn FROM stretch s
               CROSS JOIN LATERAL (
                   SELECT r.item_id, r.position FROM memory_repeats r
                   WHERE r.user_id = $1 AND r.session_id = s.session_id
                     AND (s.is_turn OR r.position = 0 OR r.position BETWEEN s.first AND s.last)
                   ORDER BY r.item_id DESC LIMIT $6) r
           ), fact AS MATERIALIZED (
               SELECT id, fact, bool_or(is_direct) AS is_direct, bool_or(is_message) AS is_message FROM told GROUP BY id, fact
           ), chain AS (
               SELECT DISTINCT fact AS first, fact AS id, 0 AS n FROM fact
               UNION ALL
               SELECT c.first, i.superseded_by, c.n + 1 FROM chain c
               CROSS JOIN LATERAL (SELECT i.superseded_by FROM memory_items i
                                   WHERE i.user_id = $1 AND i.id = c.id AND i.status = 'archived' AND i.superseded_by IS NOT NULL
                                   OFFSET 0) i
               WHERE c.n < $7
           )
           SELECT f.id AS "source!", f.fact AS "fact!", f.is_direct AS "is_direct!", f.is_message AS "is_message!", c.n AS "n!", i.id AS "id!", i.key,
                  i.content AS "content!", CASE WHEN i.status = 'archived' THEN i.live_until END AS ended_at, e.event AS "event?"
           FROM fact f JOIN chain c ON c.first = f.fact
           CROSS JOIN LATERAL (SELECT * FROM memory_items i WHERE i.user_id = $1 AND i.id = c.id AND i.theme_id IS NOT NULL OFFSET 0) i
           LEFT JOIN LATERAL (
               SELECT e.event FROM memory_item_events e
               WHERE e.user_id = $1 AND e.item_id = i.id
                 AND e.event IN ('archived', 'superseded', 'put_aside', 'expired', 'faded', 'merged', 'read_again')
               ORDER BY e.id DESC LIMIT 1) e ON i.status = 'archived'
           ORDER BY f.id, f.fact, c.n"#,
        user.0,
        ids,
        sessions,
        positions,
        ORIGINS_MAX,
        FACTS_MAX,
        CHAIN_MAX,
    )
    .fetch_all(conn)
    .await
}

/// Notes that a message said a memory again, unless it was read from this very message, or the limit is reached.
pub async fn note_repeat(
    conn: &mut PgConnection,
    user: UserId,
    item: ItemId,
    session: i64,
    message: Option<i64>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO memory_repeats (user_id, item_id, session_id, position)
         SELECT $1, i.id, $3, coalesce($4::bigint, 0)::integer FROM memory_items i
         WHERE i.user_id = $1 AND i.id = $2 AND (i.session_id, i.message_id) IS DISTINCT FROM ($3, $4)
           AND (SELECT count(*) FROM memory_repeats r WHERE r.user_id = $1 AND r.item_id = $2) < $5
         ON CONFLICT DO NOTHING",
        user.0,
        item.0,
        session,
        message,
        REPEATS_MAX,
    )
    .execute(conn)
    .await?;
    Ok(())
}
