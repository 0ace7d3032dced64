//! The search statements: one a search. Both take a connection that knows its
//! user, and are measured and explained as the role under row security.

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::query::{Cursor, Filters};
use crate::accounts::UserId;
use crate::memories::words::Term;
use crate::memories::{ItemId, ItemType, Status};

/// Candidates an arm gives (DESIGN §4; Nova's K).
pub const CANDIDATES_MAX: i64 = 50;

/// A row that an arm found, with the signals the ranking is made of.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub id: ItemId,
    pub theme: String,
    pub item_type: ItemType,
    pub content: String,
    pub tags: Vec<String>,
    pub status: Status,
    /// The agent's name, or how else the item came.
    pub source: String,
    pub created_at: OffsetDateTime,
    /// 0 where the list is by date.
    pub lexical: f64,
    pub words_matched: i64,
    pub is_substring: bool,
}

struct CandidateLookup {
    id: i64,
    theme: String,
    item_type: String,
    content: String,
    tags: Vec<String>,
    status: String,
    source: String,
    created_at: OffsetDateTime,
    lexical: f64,
    words_matched: i64,
    is_substring: bool,
}

impl From<CandidateLookup> for Candidate {
    fn from(row: CandidateLookup) -> Self {
        Self {
            id: ItemId(row.id),
            theme: row.theme,
            item_type: ItemType::from_column(&row.item_type),
            content: row.content,
            tags: row.tags,
            status: Status::from_column(&row.status),
            source: row.source,
            created_at: row.created_at,
            lexical: row.lexical,
            words_matched: row.words_matched,
            is_substring: row.is_substring,
        }
    }
}

/// The filters as the statements take them.
struct Bound {
    theme: Option<String>,
    types: Option<Vec<String>>,
    status: Option<&'static str>,
    since: Option<OffsetDateTime>,
}

impl Bound {
    fn new(filters: &Filters, now: OffsetDateTime) -> Self {
        let types: Vec<String> = filters
            .types
            .iter()
            .map(|t| t.as_str().to_owned())
            .collect();
        Self {
            theme: filters.theme.as_ref().map(|t| t.as_str().to_owned()),
            types: (!types.is_empty()).then_some(types),
            status: filters.status.map(Status::as_str),
            since: filters.recency_days.map(|days| now - Duration::days(days)),
        }
    }
}

/// The newest items, after the cursor where one is given.
pub async fn list_recent(
    conn: &mut PgConnection,
    user: UserId,
    filters: &Filters,
    cursor: Option<Cursor>,
    limit: i64,
    now: OffsetDateTime,
) -> Result<Vec<Candidate>, sqlx::Error> {
    let bound = Bound::new(filters, now);
    let rows = sqlx::query_as!(
        CandidateLookup,
        r#"WITH newest AS MATERIALIZED (
               -- Cut before the joins, so that the index gives the rows in order.
               SELECT i.id, i.theme_id, i.agent_id, i.type, i.content, i.tags, i.status, i.source,
                      i.created_at
               FROM memory_items i
               WHERE i.user_id = $1
                 AND ($2::text IS NULL OR i.theme_id = (
                     SELECT t.id FROM memory_themes t WHERE t.user_id = $1 AND t.slug = $2))
                 AND ($3::text[] IS NULL OR i.type = ANY ($3))
                 AND ($4::text IS NULL OR i.status = $4)
                 AND ($5::timestamptz IS NULL OR i.created_at >= $5)
                 AND ($6::timestamptz IS NULL OR (i.created_at, i.id) < ($6, $7))
               ORDER BY i.created_at DESC, i.id DESC
               LIMIT $8
           )
           SELECT i.id AS "id!", t.slug AS "theme!", i.type AS "item_type!", i.content AS "content!",
                  i.tags AS "tags!", i.status AS "status!",
                  coalesce(a.name, i.source) AS "source!", i.created_at AS "created_at!",
                  0::float8 AS "lexical!", 0::bigint AS "words_matched!", false AS "is_substring!"
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
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Candidate::from).collect())
}

/// The best [`CANDIDATES_MAX`] by full text, best first. A word counts by its
/// rarity among *all* items of the user, whatever the filters, over the log of
/// the item's length (FACTS, "Finding the evidence"). Where no word matches,
/// items that contain a fragment of the query as it was written.
pub async fn find_by_words(
    conn: &mut PgConnection,
    user: UserId,
    terms: &[Term],
    fragments: &[String],
    filters: &Filters,
    now: OffsetDateTime,
) -> Result<Vec<Candidate>, sqlx::Error> {
    let bound = Bound::new(filters, now);
    let words: Vec<String> = terms.iter().map(Term::tsquery).collect();
    let patterns: Vec<String> = fragments.iter().map(|f| like_pattern(f)).collect();
    let rows = sqlx::query_as!(
        CandidateLookup,
        r#"WITH words AS MATERIALIZED (
               SELECT w.query::tsquery AS query, w.n
               FROM unnest($2::text[]) WITH ORDINALITY AS w (query, n)
           ), matches AS MATERIALIZED (
               SELECT w.n, i.id, i.created_at, i.lexemes, i.wanted,
                      ts_rank(i.content_tsv, w.query) AS rank
               FROM words w
               -- OFFSET 0: one look-up in the index a word, whatever the statistics say.
               CROSS JOIN LATERAL (
                   SELECT i.id, i.created_at, i.content_tsv, length(i.content_tsv) AS lexemes,
                          ($4::text IS NULL OR i.theme_id = (
                              SELECT t.id FROM memory_themes t WHERE t.user_id = $1 AND t.slug = $4))
                          AND ($5::text[] IS NULL OR i.type = ANY ($5))
                          AND ($6::text IS NULL OR i.status = $6)
                          AND ($7::timestamptz IS NULL OR i.created_at >= $7) AS wanted
                   FROM memory_items i
                   WHERE i.user_id = $1 AND i.content_tsv @@ w.query
                   OFFSET 0
               ) i
           ), rarity AS MATERIALIZED (
               SELECT m.n, ln(1 + ((SELECT count(*) FROM memory_items WHERE user_id = $1)
                                   - count(*) + 0.5) / (count(*) + 0.5)) AS weight
               FROM matches m GROUP BY m.n
           ), by_word AS MATERIALIZED (
               SELECT m.id, m.created_at, count(*) AS words_matched, false AS is_substring,
                      sum(m.rank * r.weight) / ln(2 + greatest(m.lexemes, 20)) AS lexical
               FROM matches m JOIN rarity r ON r.n = m.n
               WHERE m.wanted
               GROUP BY m.id, m.created_at, m.lexemes
               ORDER BY lexical DESC, m.created_at DESC, m.id DESC
               LIMIT $8
           ), by_substring AS MATERIALIZED (
               SELECT i.id, i.created_at, 0::bigint AS words_matched, true AS is_substring,
                      (SELECT count(*) FROM unnest($3::text[]) p WHERE i.content ILIKE p)::float8 AS lexical
               FROM memory_items i
               WHERE i.user_id = $1
                 AND NOT EXISTS (SELECT FROM by_word)
                 AND i.content ILIKE ANY ($3)
                 AND ($4::text IS NULL OR i.theme_id = (
                     SELECT t.id FROM memory_themes t WHERE t.user_id = $1 AND t.slug = $4))
                 AND ($5::text[] IS NULL OR i.type = ANY ($5))
                 AND ($6::text IS NULL OR i.status = $6)
                 AND ($7::timestamptz IS NULL OR i.created_at >= $7)
               ORDER BY lexical DESC, i.created_at DESC, i.id DESC
               LIMIT $8
           ), candidates AS (
               SELECT * FROM by_word UNION ALL SELECT * FROM by_substring
           )
           SELECT c.id AS "id!", t.slug AS "theme!", i.type AS "item_type!", i.content AS "content!",
                  i.tags AS "tags!", i.status AS "status!",
                  coalesce(a.name, i.source) AS "source!", c.created_at AS "created_at!",
                  c.lexical AS "lexical!", c.words_matched AS "words_matched!",
                  c.is_substring AS "is_substring!"
           FROM candidates c
           CROSS JOIN LATERAL (
               SELECT * FROM memory_items i WHERE i.user_id = $1 AND i.id = c.id OFFSET 0
           ) i
           JOIN memory_themes t ON t.user_id = $1 AND t.id = i.theme_id
           LEFT JOIN agents a ON a.user_id = $1 AND a.id = i.agent_id
           ORDER BY c.lexical DESC, c.created_at DESC, c.id DESC"#,
        user.0,
        &words,
        &patterns,
        bound.theme,
        bound.types.as_deref(),
        bound.status,
        bound.since,
        CANDIDATES_MAX,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Candidate::from).collect())
}

/// `%…%`, with what LIKE would read as a wildcard escaped.
fn like_pattern(fragment: &str) -> String {
    let mut pattern = String::from("%");
    for c in fragment.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
