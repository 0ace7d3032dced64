//! The search statements: one a search. Both take a connection that knows its
//! user, and are measured and explained as the role under row security. Neither
//! may be answered from an approximate index: the vector arm's order is an
//! expression that no such index offers.

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgStatement};
use sqlx::{Execute, Executor, PgConnection, Postgres, SqlStr};
use time::OffsetDateTime;

use super::candidate::{Candidate, FoundItem};
use super::query::{Bound, Cursor, Filters};
use crate::accounts::UserId;
use crate::embedding::QueryVector;
use crate::memories::speakers;
use crate::memories::words::Term;

/// Candidates an arm gives (DESIGN §4; Nova's K).
pub const CANDIDATES_MAX: i64 = 50;
/// Rows that the vector arm re-ranks exactly: the nearest by their bits, so many …
const RERANKED_ROWS_MIN: i64 = 200;
/// … and one more for so many items of the user (bench/README.md, "Search by meaning").
const ITEMS_PER_RERANKED_ROW: i64 = 250;
/// Items that the words of a query may bring by themselves, rarest word first.
/// The words after that are common.
const BROUGHT_ITEMS_MAX: f64 = 600.0;
/// The newest items that are asked for every word, and by which a common word is known.
const NEWEST_ITEMS_MAX: i64 = 1_000;
/// How common a word is, so many of a user's memories tell. Where there are fewer, turns fill up.
const TELLING_ITEMS_MIN: i64 = 1_000;
/// So many of each arm's first bring what was said just before and after them (FACTS, "Finding the evidence") …
const BRINGING_NEIGHBOURS: i64 = 5;
/// … so many steps away …
pub const NEIGHBOUR_STEPS_MAX: i64 = 2;
/// … unless more time than this lies between.
const NEIGHBOUR_SECONDS_MAX: f64 = 3_600.0;
/// The newest items whose text is read where no word of the query matches: what
/// stands inside a word has no index, and reading ten thousand takes some 9 ms.
const SUBSTRING_ITEMS_MAX: i64 = 25_000;
/// So much of each fragment is looked for (DESIGN §11).
const FRAGMENT_CHARS_MAX: usize = 64;

/// The newest items, after the cursor where one is given. Turns are never listed.
pub async fn list_recent(
    conn: &mut PgConnection,
    user: UserId,
    filters: &Filters,
    cursor: Option<Cursor>,
    limit: i64,
    now: OffsetDateTime,
) -> Result<Vec<FoundItem>, sqlx::Error> {
    let bound = Bound::new(filters, now);
    let query = sqlx::query!(
        r#"WITH newest AS MATERIALIZED (
               -- Cut before the joins, so that the index gives the rows in order.
               SELECT i.id, i.theme_id, i.agent_id, i.type, i.content, i.tags, i.status, i.key, i.source, i.trust,
                      i.created_at, i.expires_at, i.valid_from, i.valid_until, i.superseded_by
               FROM memory_items i
               WHERE i.user_id = $1 AND NOT i.is_turn AND $11
                 AND ($2::text IS NULL OR i.theme_id = (
                     SELECT t.id FROM memory_themes t WHERE t.user_id = $1 AND t.slug = $2))
                 AND ($3::text[] IS NULL OR i.type = ANY ($3))
                 AND ($4::text IS NULL OR is_live(i.status, i.live_until, $10) = ($4 = 'active'))
                 AND ($5::timestamptz IS NULL OR i.created_at >= $5)
                 AND ($6::timestamptz IS NULL OR (i.created_at, i.id) < ($6, $7))
                 AND ($9::text IS NULL OR $9 = embedding_state($1, (
                         SELECT s.id FROM embedding_spaces s
                         WHERE s.user_id = $1 AND s.state <> 'retired' ORDER BY s.state LIMIT 1), i.id))
               ORDER BY i.created_at DESC, i.id DESC
               LIMIT $8
           )
           SELECT i.id, i.created_at, t.slug AS theme, i.type, i.content, i.tags, i.status, i.key,
                  i.source, i.trust, a.name AS agent, i.expires_at,
                  i.valid_from, i.valid_until, i.superseded_by IS NOT NULL AS is_superseded,
                  NULL::bigint AS session_id, NULL::text AS session, NULL::integer AS position, NULL::text AS message,
                  NULL::text AS role
           FROM newest i
           JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = i.agent_id
           ORDER BY i.created_at DESC, i.id DESC"#,
        user.0,
        bound.theme,
        bound.types.as_deref(),
        bound.status,
        bound.since,
        cursor.map(|c| c.created_at),
        cursor.map(|c| c.id.0),
        limit,
        bound.embedding,
        now,
        filters.wants_items(),
    );
    let rows = conn.fetch_all(Rows(query)).await?;
    rows.iter().map(|row| FoundItem::of(row, now)).collect()
}

/// What a query asks for, as the statement takes it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub terms: &'a [Term],
    pub fragments: &'a [String],
    pub vector: Option<&'a QueryVector>,
}

/// The union of both arms, in no order, with both signals of every row.
///
/// *Tiers*: memories, and turns of conversations where they may be found. Each arm finds of
/// each tier for itself, so that no flood of turns keeps a memory out of the union; the
/// signals are the same for both.
///
/// *Lexical arm*: the best [`CANDIDATES_MAX`] by full text. A word counts by its
/// rarity among *all* items of the user, whatever the filters (and among turns, where there are
/// fewer items than [`TELLING_ITEMS_MIN`]), over the log of the item's length (FACTS, "Finding the evidence"). Where no word matches, those
/// of the newest [`SUBSTRING_ITEMS_MAX`] items that contain a fragment of the query
/// as it was written.
///
/// Common words are cut short, since scoring half of a large memory takes long
/// and says little. The newest [`NEWEST_ITEMS_MAX`] items tell how common each
/// word is. Rarest first, words bring all their items while these are about
/// [`BROUGHT_ITEMS_MAX`] together; the words after that weigh by their share of the
/// newest, and bring (a) what of the newest they match, (b) items of any age in
/// which the rarest of them, as many as leave no more than that number by chance,
/// stand together. What anything brings is scored by all words. Where there are no
/// more items than that, or a theme, types or the archive are asked for, no word is cut short.
///
/// *Vector arm*: the nearest [`CANDIDATES_MAX`] by cosine among the space's ready
/// rows that the filters let through: all of them by their bits, then the best
/// few hundred exactly.
///
/// *Neighbours*: in a conversation the answer stands beside the question. Where there is a vector,
/// the first [`BRINGING_NEIGHBOURS`] of each arm that are turns, or begin with their speaker, bring
/// what the same agent kept just before and after them, of the same session and theme.
pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
    asked: Asked<'_>,
    filters: &Filters,
    now: OffsetDateTime,
) -> Result<Vec<Candidate>, sqlx::Error> {
    let bound = Bound::new(filters, now);
    let words: Vec<String> = asked.terms.iter().map(Term::tsquery).collect();
    let named = asked.vector.map_or(&[][..], |v| &v.speakers);
    let of_named: Vec<String> = named.iter().map(|s| speakers::said_by_or_of(s)).collect();
    let patterns: Vec<String> = asked.fragments.iter().map(|f| like_pattern(f)).collect();
    let query = sqlx::query!(
        r#"WITH words AS MATERIALIZED (
               SELECT w.query::tsquery AS query, w.n
               FROM unnest($2::text[]) WITH ORDINALITY AS w (query, n)
           ), theme AS MATERIALIZED (
               SELECT t.id FROM memory_themes t WHERE t.user_id = $1 AND t.slug = $4
           ), serving AS MATERIALIZED (
               SELECT s.id FROM embedding_spaces s
               WHERE s.user_id = $1 AND s.state <> 'retired' ORDER BY s.state LIMIT 1
           ), of_serving AS MATERIALIZED (
               SELECT EXISTS (SELECT FROM serving WHERE id = $9)
                      AND NOT EXISTS (SELECT FROM embedding_settings WHERE user_id = $1 AND NOT enabled) AS is_so
           ), asked_space AS MATERIALIZED (
               -- A query's vector may have been kept since before the space's width was known.
               SELECT s.id FROM embedding_spaces s
               WHERE s.user_id = $1 AND s.id = $9 AND s.dimensions = vector_dims($11::halfvec)
           ), tiers AS MATERIALIZED (
               SELECT t.is_turn, n.items
               FROM unnest($19::boolean[]) AS t (is_turn)
               CROSS JOIN LATERAL (
                   SELECT count(*) AS items FROM memory_items i WHERE i.user_id = $1 AND i.is_turn = t.is_turn
               ) n
               -- An empty tier costs nothing.
               WHERE n.items > 0 AND (NOT t.is_turn OR (SELECT u.turns_searched FROM users u WHERE u.id = $1))
           ), newest AS MATERIALIZED (
               -- None where a filter is so narrow that the index by date would be read far.
               SELECT t.is_turn, i.*
               FROM tiers t CROSS JOIN LATERAL (
                   SELECT i.id, i.created_at, i.content_tsv
                   FROM memory_items i
                   WHERE i.user_id = $1 AND i.is_turn = t.is_turn
                     AND ($6::text IS NULL OR is_live(i.status, i.live_until, $18) = ($6 = 'active'))
                     AND ($7::timestamptz IS NULL OR i.created_at >= $7)
                   ORDER BY i.created_at DESC, i.id DESC
                   LIMIT CASE WHEN $4::text IS NULL AND (t.is_turn OR $5::text[] IS NULL)
                                   AND $6 IS DISTINCT FROM 'archived' AND $16::text IS NULL
                              THEN $12::bigint ELSE 0 END
               ) i
           ), newest_matches AS MATERIALIZED (
               SELECT i.is_turn, w.n, i.id, i.created_at, length(i.content_tsv) AS lexemes,
                      ts_rank(i.content_tsv, w.query) AS rank
               FROM newest i JOIN words w ON i.content_tsv @@ w.query
           ), shares AS MATERIALIZED (
               -- How common each word is, rarest first; and in how many items it and all rarer common ones
               -- stand together, by chance.
               SELECT c.is_turn, c.n, c.query, c.share, c.is_common, c.items,
                      c.items * exp(sum(ln(c.share)) FILTER (WHERE c.is_common)
                                    OVER (PARTITION BY c.is_turn ORDER BY c.share, c.n)) AS together
               FROM (
                   SELECT s.is_turn, s.n, s.query, (s.matching + 0.5::float8) / (s.asked + 1) AS share, s.items,
                          s.asked = $12::bigint
                          AND sum(s.matching) OVER (PARTITION BY s.is_turn ORDER BY s.matching, s.n)
                              * s.items / nullif(s.asked, 0) > $13::float8 AS is_common
                   FROM (
                       SELECT t.is_turn, t.items, w.n, w.query, count(m.id) AS matching,
                              (SELECT count(*) FROM newest k WHERE k.is_turn = t.is_turn) AS asked
                       FROM tiers t CROSS JOIN words w
                       LEFT JOIN newest_matches m ON m.is_turn = t.is_turn AND m.n = w.n
                       GROUP BY t.is_turn, t.items, w.n, w.query
                   ) s
               ) c
           ), bringing AS MATERIALIZED (
               SELECT b.is_turn, string_agg('(' || b.query || ')', ' | ')::tsquery AS query
               FROM (
                   SELECT s.is_turn, s.query::text FROM shares s WHERE NOT s.is_common
                   UNION ALL
                   SELECT s.is_turn, string_agg('(' || s.query::text || ')', ' & ') FROM shares s
                   WHERE s.is_common AND s.share <= (
                       SELECT min(r.share) FROM shares r
                       WHERE r.is_turn = s.is_turn AND r.is_common AND r.together <= $13::float8)
                   GROUP BY s.is_turn
               ) b
               GROUP BY b.is_turn
           ), found AS MATERIALIZED (
               SELECT b.is_turn, i.*
               FROM bringing b
               -- OFFSET 0: one look-up in the index, whatever the statistics say.
               CROSS JOIN LATERAL (
                   SELECT i.id, i.created_at, i.content_tsv,
                          ($4::text IS NULL OR i.theme_id = (SELECT id FROM theme))
                          AND (i.is_turn OR $5::text[] IS NULL OR i.type = ANY ($5))
                          AND ($6::text IS NULL OR is_live(i.status, i.live_until, $18) = ($6 = 'active'))
                          AND ($7::timestamptz IS NULL OR i.created_at >= $7)
                          AND ($16::text IS NULL OR $16 = embedding_state($1, (SELECT id FROM serving), i.id)) AS wanted
                   FROM memory_items i
                   WHERE i.user_id = $1 AND i.is_turn = b.is_turn AND i.content_tsv @@ b.query
                   OFFSET 0
               ) i
           ), found_matches AS MATERIALIZED (
               SELECT i.is_turn, w.n, i.id, i.created_at, i.wanted, length(i.content_tsv) AS lexemes,
                      ts_rank(i.content_tsv, w.query) AS rank
               FROM found i JOIN words w ON i.content_tsv @@ w.query
           ), rarity AS MATERIALIZED (
               -- By the share among the items, filled up with turns where these are few.
               SELECT s.n, s.query, ln(sum(s.size) / sum(s.size * s.share)) AS weight
               FROM (
                   SELECT s.n, s.query,
                          CASE WHEN s.is_turn THEN least(s.items, s.fillers) ELSE s.items + 1 END::float8 AS size,
                          CASE WHEN s.is_common THEN s.share
                               ELSE (coalesce(m.items, 0) + 0.5::float8) / (s.items + 1) END AS share
                   FROM (
                       SELECT s.*, greatest($20::bigint - coalesce((SELECT t.items FROM tiers t WHERE NOT t.is_turn), 0), 0) AS fillers
                       FROM shares s
                   ) s
                   LEFT JOIN (SELECT is_turn, n, count(*) AS items FROM found_matches GROUP BY is_turn, n) m
                          ON m.is_turn = s.is_turn AND m.n = s.n
                   WHERE s.items > 0 AND (NOT s.is_turn OR s.fillers > 0)
               ) s
               GROUP BY s.n, s.query
           ), by_word AS MATERIALIZED (
               SELECT m.id, m.created_at, m.words_matched, false AS is_substring, m.lexical, m.place
               FROM (
                   SELECT m.*, row_number() OVER (PARTITION BY m.is_turn
                                                  ORDER BY m.lexical DESC, m.created_at DESC, m.id DESC) AS place
                   FROM (
                       SELECT m.is_turn, m.id, m.created_at, count(*) AS words_matched,
                              sum(m.rank * r.weight) / ln(2 + greatest(m.lexemes, 20)) AS lexical
                       FROM (
                           SELECT is_turn, n, id, created_at, lexemes, rank FROM found_matches WHERE wanted
                           UNION ALL
                           SELECT is_turn, n, id, created_at, lexemes, rank FROM newest_matches m
                           WHERE NOT EXISTS (SELECT FROM found f WHERE f.id = m.id)
                       ) m JOIN rarity r ON r.n = m.n
                       GROUP BY m.is_turn, m.id, m.created_at, m.lexemes
                   ) m
               ) m
               WHERE m.place <= $8
           ), by_substring AS MATERIALIZED (
               SELECT i.id, i.created_at, 0::bigint AS words_matched, true AS is_substring,
                      (SELECT count(*) FROM unnest($3::text[]) p WHERE i.content ILIKE p)::float8 AS lexical,
                      NULL::bigint AS place
               FROM tiers t CROSS JOIN LATERAL (
                   SELECT i.id, i.created_at, i.theme_id, i.type, i.status, i.live_until, i.content
                   FROM memory_items i WHERE i.user_id = $1 AND i.is_turn = t.is_turn
                   ORDER BY i.created_at DESC, i.id DESC
                   LIMIT CASE WHEN cardinality($3::text[]) > 0 AND NOT EXISTS (SELECT FROM by_word) THEN $17::bigint ELSE 0 END
               ) i
               WHERE i.content ILIKE ANY ($3)
                 AND ($4::text IS NULL OR i.theme_id = (SELECT id FROM theme))
                 AND (t.is_turn OR $5::text[] IS NULL OR i.type = ANY ($5))
                 AND ($6::text IS NULL OR is_live(i.status, i.live_until, $18) = ($6 = 'active'))
                 AND ($7::timestamptz IS NULL OR i.created_at >= $7)
                 AND ($16::text IS NULL OR $16 = embedding_state($1, (SELECT id FROM serving), i.id))
               ORDER BY t.is_turn, lexical DESC, i.created_at DESC, i.id DESC
               LIMIT $8
           ), lexical_arm AS MATERIALIZED (
               SELECT * FROM by_word UNION ALL SELECT * FROM by_substring
           ), near AS MATERIALIZED (
               SELECT t.is_turn, e.source_id
               FROM tiers t CROSS JOIN LATERAL (
                   SELECT e.source_id
                   FROM memory_embeddings e
                   WHERE e.user_id = $1 AND e.space_id = (SELECT id FROM asked_space) AND e.is_turn = t.is_turn AND e.passage = 0
                     AND e.state = 'ready'
                     -- Asked of every row of the user, and a fifth of the scan: what says nothing of the row is asked once, as a SELECT.
                     AND ($6::text IS NULL OR (e.item_live_until > $18) = (SELECT $6 = 'active'))
                     AND ((SELECT $4::text IS NULL AND $5::text[] IS NULL AND $7::timestamptz IS NULL AND $16::text IS NULL)
                          OR (($4::text IS NULL OR e.theme_id = (SELECT id FROM theme))
                              AND (t.is_turn OR $5::text[] IS NULL OR e.item_type = ANY ($5))
                              AND ($7::timestamptz IS NULL OR e.item_created_at >= $7)
                              AND ($16::text IS NULL OR $16 = 'ready' AND NOT EXISTS (
                                  SELECT FROM memory_embeddings o
                                  WHERE o.user_id = $1 AND o.space_id = e.space_id AND o.source_id = e.source_id AND o.state <> 'ready'))))
                   -- + 0: an HNSW index, where an admin made one, would take rows away.
                   ORDER BY (e.bits <~> $10::bit(1024)) + 0
                   LIMIT $14::bigint + t.items / $15::bigint
               ) e
           ), vector_arm AS MATERIALIZED (
               SELECT v.id, v.distance, v.place
               FROM (
                   SELECT n.source_id AS id, e.distance,
                          row_number() OVER (PARTITION BY n.is_turn ORDER BY e.distance, n.source_id DESC) AS place
                   FROM near n CROSS JOIN LATERAL (
                       SELECT e.embedding <=> $11::halfvec AS distance
                       FROM memory_embeddings e
                       WHERE e.user_id = $1 AND e.space_id = (SELECT id FROM asked_space) AND e.source_id = n.source_id AND e.passage = 0
                       OFFSET 0
                   ) e
               ) v
               WHERE v.place <= $8
           ), bringing_neighbours AS MATERIALIZED (
               SELECT i.*
               FROM (SELECT id FROM vector_arm WHERE place <= $22
                     UNION SELECT id FROM lexical_arm WHERE place <= $22 AND EXISTS (SELECT FROM vector_arm)) b
               CROSS JOIN LATERAL (
                   SELECT i.id, i.is_turn, i.created_at, i.agent_id, i.theme_id, i.turn_session_id
                   FROM memory_items i
                   WHERE i.user_id = $1 AND i.id = b.id AND (i.is_turn OR i.content_tsv @@ ''':'''::tsquery)
                   OFFSET 0
               ) i
           ), beside AS MATERIALIZED (
               SELECT i.id AS of, n.id, n.steps
               FROM bringing_neighbours i
               CROSS JOIN LATERAL (
                   SELECT n.*, row_number() OVER (ORDER BY n.created_at DESC, n.id DESC) AS steps FROM (
                       SELECT * FROM memory_items n
                       WHERE n.user_id = $1 AND n.is_turn = i.is_turn AND (n.created_at, n.id) < (i.created_at, i.id)
                       ORDER BY n.created_at DESC, n.id DESC LIMIT $23) n
                   UNION ALL
                   SELECT n.*, row_number() OVER (ORDER BY n.created_at, n.id) AS steps FROM (
                       SELECT * FROM memory_items n
                       WHERE n.user_id = $1 AND n.is_turn = i.is_turn AND (n.created_at, n.id) > (i.created_at, i.id)
                       ORDER BY n.created_at, n.id LIMIT $23) n
               ) n
               WHERE n.agent_id IS NOT DISTINCT FROM i.agent_id AND n.theme_id IS NOT DISTINCT FROM i.theme_id
                 AND n.turn_session_id IS NOT DISTINCT FROM i.turn_session_id
                 AND abs(extract(epoch FROM n.created_at - i.created_at)) <= $24::float8
                 AND (n.is_turn OR n.content_tsv @@ ''':'''::tsquery)
                 AND (n.is_turn OR $5::text[] IS NULL OR n.type = ANY ($5))
                 AND ($6::text IS NULL OR is_live(n.status, n.live_until, $18) = ($6 = 'active'))
                 AND ($7::timestamptz IS NULL OR n.created_at >= $7)
                 AND ($16::text IS NULL OR $16 = embedding_state($1, (SELECT id FROM serving), n.id))
           ), arms AS MATERIALIZED (
               SELECT id, l.lexical, l.words_matched, l.is_substring, v.distance
               FROM lexical_arm l FULL JOIN vector_arm v USING (id)
           ), candidates AS MATERIALIZED (
               SELECT *, true AS is_found FROM arms
               UNION ALL
               SELECT DISTINCT b.id, NULL::float8, NULL::bigint, NULL::boolean, NULL::float8, false
               FROM beside b WHERE NOT EXISTS (SELECT FROM arms a WHERE a.id = b.id)
           )
           SELECT i.id, i.created_at, i.is_turn, coalesce(c.lexical, w.lexical, 0) AS lexical,
                  coalesce(c.words_matched, w.words_matched, 0) AS words_matched,
                  coalesce(c.is_substring, false) AS is_substring,
                  coalesce(c.distance, d.distance) AS distance, c.distance IS NOT NULL AS is_near, c.is_found,
                  EXISTS (SELECT FROM unnest($21::text[]) s WHERE i.content_tsv @@ s::tsquery) AS is_of_named,
                  (SELECT is_so FROM of_serving) AS is_of_serving,
                  (SELECT array_agg(b.id ORDER BY b.id) FROM beside b WHERE b.of = c.id) AS beside,
                  (SELECT array_agg(b.steps ORDER BY b.id) FROM beside b WHERE b.of = c.id) AS steps,
                  t.slug AS theme, i.type, i.content, i.tags, i.status, i.key,
                  i.source, i.trust, a.name AS agent, i.expires_at,
                  i.valid_from, i.valid_until, i.superseded_by IS NOT NULL AS is_superseded,
                  s.id AS session_id, s.external_id AS session, m.position, m.external_id AS message,
                  i.source AS role
           FROM candidates c
           CROSS JOIN LATERAL (
               SELECT * FROM memory_items i WHERE i.user_id = $1 AND i.id = c.id OFFSET 0
           ) i
           LEFT JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = i.agent_id
           LEFT JOIN sessions s ON s.user_id = $1 AND s.id = i.turn_session_id
           LEFT JOIN LATERAL (
               -- OFFSET 0: by its key, whatever the statistics say of a table that was empty just now.
               SELECT m.position, m.external_id FROM session_messages m
               WHERE m.user_id = $1 AND m.session_id = i.turn_session_id AND m.position = i.turn_position
               OFFSET 0
           ) m ON true
           -- Each arm's signal of what only the other found.
           LEFT JOIN LATERAL (
               SELECT sum(ts_rank(i.content_tsv, r.query) * r.weight)
                          / ln(2 + greatest(length(i.content_tsv), 20)) AS lexical,
                      count(*) AS words_matched
               FROM rarity r WHERE c.lexical IS NULL AND i.content_tsv @@ r.query
           ) w ON true
           LEFT JOIN LATERAL (
               SELECT e.embedding <=> $11::halfvec AS distance
               FROM memory_embeddings e
               WHERE c.distance IS NULL AND e.user_id = $1 AND e.space_id = (SELECT id FROM asked_space) AND e.source_id = c.id
                 AND e.passage = 0 AND e.state = 'ready'
               OFFSET 0
           ) d ON true"#,
        user.0,
        &words,
        &patterns,
        bound.theme,
        bound.types.as_deref(),
        bound.status,
        bound.since,
        CANDIDATES_MAX,
        asked.vector.map(|v| v.space_id.0),
        asked.vector.map(|v| v.vector.bits()) as _,
        asked.vector.map(|v| v.vector.half()) as _,
        NEWEST_ITEMS_MAX,
        BROUGHT_ITEMS_MAX,
        RERANKED_ROWS_MIN,
        ITEMS_PER_RERANKED_ROW,
        bound.embedding,
        SUBSTRING_ITEMS_MAX,
        now,
        &bound.tiers,
        TELLING_ITEMS_MIN,
        &of_named,
        BRINGING_NEIGHBOURS,
        NEIGHBOUR_STEPS_MAX,
        NEIGHBOUR_SECONDS_MAX,
    );
    let rows = conn.fetch_all(Rows(query)).await?;
    rows.into_iter().map(Candidate::read).collect()
}

/// Rows as they are, of a query that was checked when we were compiled. Its own `fetch_all` reads all
/// of every row, and given to a connection as it is, it would be planned anew each time (sqlx 0.9.0).
struct Rows<Q>(Q);

impl<'q, Q: Execute<'q, Postgres>> Execute<'q, Postgres> for Rows<Q> {
    fn sql(self) -> SqlStr {
        self.0.sql()
    }

    fn statement(&self) -> Option<&PgStatement> {
        self.0.statement()
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, BoxDynError> {
        self.0.take_arguments()
    }

    fn persistent(&self) -> bool {
        true
    }
}

/// `%…%`, with what LIKE would read as a wildcard escaped, and cut: looking for a fragment
/// takes its length times the text's.
fn like_pattern(fragment: &str) -> String {
    let mut pattern = String::from("%");
    for c in fragment.chars().take(FRAGMENT_CHARS_MAX) {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
