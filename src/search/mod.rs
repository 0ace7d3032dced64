//! THE search. Pages, REST, MCP and the evaluation call this one function; later
//! arms and fusions join it and do not fork it. It runs one statement, and never
//! calls a provider: who asks brings the query's vector, or none.

mod candidate;
pub mod query;
pub mod rank;
pub mod store;

use sqlx::PgConnection;
use time::OffsetDateTime;
use tracing::Instrument;

pub use candidate::FoundItem;
pub use query::{Filters, RawQuery, SearchQuery};
pub use rank::Explanation;
use store::Asked;

use crate::accounts::Viewer;
use crate::db::Db;
use crate::embedding::{Embeddings, PENDING, QueryEmbedding, QueryVector};
use crate::memories::{speakers, words};
use crate::metrics;
use query::Cursor;

/// Characters of an item's text that a hit shows.
pub const SNIPPET_CHARS: usize = 280;

const NONE_EMBEDDED: &str =
    "none of these memories has an embedding, so they were found by words alone";

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By meaning and by words.
    Hybrid,
    /// By words alone.
    Fts,
    /// Newest first.
    Recent,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Fts => "fts",
            Self::Recent => "recent",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Hit {
    pub item: FoundItem,
    pub snippet: Snippet,
    /// 0 to 1 within this answer; 0 where it is by date.
    pub score: f64,
    /// Among the nearest by meaning.
    pub is_near: bool,
    pub explanation: Explanation,
}

/// A piece of an item's text around the first word that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// With `…` where text was left out.
    pub text: String,
    /// Bytes of `text` that matched, in order, disjoint.
    pub matches: Vec<std::ops::Range<usize>>,
}

#[derive(Clone, Debug)]
pub struct Page {
    pub hits: Vec<Hit>,
    pub mode: Mode,
    /// Where a listing by date goes on; `None` at its end and in ranked answers.
    pub cursor: Option<String>,
    /// Why the search was less than it could be, as a clause; the caller that
    /// could not bring a vector says so here. `None` when it was not.
    pub degraded: Option<String>,
}

/// What every door calls: the query's vector first, with no connection held, and
/// then [`search`]. Where there is no vector the words answer alone and the page
/// says why.
///
/// # Errors
/// Only what the database says.
pub async fn find(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    query: &SearchQuery,
) -> Result<Page, sqlx::Error> {
    let span = tracing::error_span!("search");
    let page = find_in_span(db, embeddings, viewer, query)
        .instrument(span)
        .await?;
    metrics::searched(page.mode.as_str(), page.degraded.is_some());
    Ok(page)
}

async fn find_in_span(
    db: &Db,
    embeddings: &Embeddings,
    viewer: &Viewer,
    query: &SearchQuery,
) -> Result<Page, sqlx::Error> {
    let user = viewer.user_id;
    let now = embeddings.now();
    if let Some(text) = &query.text
        && let Some(recalled) = embeddings.recall(user, text).await?
    {
        let mut tx = db.as_user(user).await?;
        let found = ranked(&mut tx, viewer, query, text, Some(&recalled), now).await?;
        // Otherwise it is asked again: another space serves by now, or nothing was found that says
        // so, or by words alone, for a reason.
        if let (page, true) = found
            && page.mode == Mode::Hybrid
        {
            return Ok(page);
        }
    }
    let (mut tx, asked) = match &query.text {
        Some(text) => {
            embeddings
                .begin_search(user, text, &speakers::names(text))
                .await?
        }
        None => (db.as_user(user).await?, QueryEmbedding::default()),
    };
    let vector = asked.vector.as_ref();
    let mut page = search(&mut tx, viewer, query, vector, now).await?;
    // Nothing was written: its end is sent when the connection goes back, and waited for by nobody.
    drop(tx);
    page.degraded = asked.degraded;
    if query.text.is_some() && page.mode == Mode::Fts && page.degraded.is_none() {
        let is_empty = page.hits.is_empty();
        let why = match asked.has_pending {
            true => Some(PENDING),
            false => (!is_empty).then_some(NONE_EMBEDDED),
        };
        page.degraded = why.map(str::to_owned);
    }
    Ok(page)
}

/// Finds what a viewer's memory holds (DESIGN §4, Nova §3.2.1). Without a vector,
/// and where no item has one in its space, by words alone.
///
/// # Errors
/// Only what the database says; a query that finds nothing is an empty page.
pub async fn search(
    conn: &mut PgConnection,
    viewer: &Viewer,
    query: &SearchQuery,
    vector: Option<&QueryVector>,
    now: OffsetDateTime,
) -> Result<Page, sqlx::Error> {
    match &query.text {
        Some(text) => Ok(ranked(conn, viewer, query, text, vector, now).await?.0),
        None => newest(conn, viewer, query, now).await,
    }
}

async fn newest(
    conn: &mut PgConnection,
    viewer: &Viewer,
    query: &SearchQuery,
    now: OffsetDateTime,
) -> Result<Page, sqlx::Error> {
    // One row more than asked for tells whether there is more.
    let ask = query.limit as i64 + 1;
    let filters = &query.filters;
    let mut rows =
        store::list_recent(conn, viewer.user_id, filters, query.cursor, ask, now).await?;
    let has_more = rows.len() > query.limit;
    rows.truncate(query.limit);
    let last = rows.last().filter(|_| has_more);
    let cursor = last.map(|c| {
        Cursor {
            created_at: c.created_at,
            id: c.id,
        }
        .encode()
    });
    let hits = rows
        .into_iter()
        .map(|item| Hit::new(item, Explanation::default(), false, &[]))
        .collect();
    Ok(Page {
        hits,
        mode: Mode::Recent,
        cursor,
        degraded: None,
    })
}

/// And whether the vector is known to be of the space that serves.
async fn ranked(
    conn: &mut PgConnection,
    viewer: &Viewer,
    query: &SearchQuery,
    text: &str,
    vector: Option<&QueryVector>,
    now: OffsetDateTime,
) -> Result<(Page, bool), sqlx::Error> {
    let terms = words::query_terms(text);
    let fragments = words::query_fragments(text);
    let asked = Asked {
        terms: &terms,
        fragments: &fragments,
        vector,
    };
    let found = store::find(conn, viewer.user_id, asked, &query.filters, now).await?;
    let has_near = found.iter().any(|c| c.is_near);
    let is_of_serving = found.iter().any(|c| c.is_of_serving);
    // A cutoff of similarity needs a similarity: without one it is passed over.
    let similarity_min = query.min_similarity.filter(|_| has_near);
    let hits = rank::fuse(found, query.balance)
        .into_iter()
        .filter(|(_, why)| similarity_min.is_none_or(|least| why.similarity() >= least))
        .take(query.limit)
        .map(|(found, why)| Ok(Hit::new(found.item(now)?, why, found.is_near, &terms)))
        .collect::<Result<_, sqlx::Error>>()?;
    let page = Page {
        hits,
        mode: if has_near { Mode::Hybrid } else { Mode::Fts },
        cursor: None,
        degraded: None,
    };
    Ok((page, is_of_serving))
}

impl Hit {
    fn new(
        item: FoundItem,
        explanation: Explanation,
        is_near: bool,
        terms: &[words::Term],
    ) -> Self {
        Self {
            snippet: snippet(&item.content, terms),
            score: explanation.score(),
            is_near,
            explanation,
            item,
        }
    }

    /// A word of the query matched, or its text as a substring.
    pub fn matched_by_words(&self) -> bool {
        self.explanation.words_matched > 0 || self.explanation.is_substring
    }
}

/// The text whole where it is short; otherwise a window that begins a little
/// before the first match.
fn snippet(content: &str, terms: &[words::Term]) -> Snippet {
    let matches = words::matches(content, terms);
    let lead_chars = SNIPPET_CHARS / 4;
    let first = matches.first().map_or(0, |r| r.start);
    let char_starts = |from: usize| content[from..].char_indices().map(move |(at, _)| from + at);
    let end_after = |start: usize| {
        char_starts(start)
            .nth(SNIPPET_CHARS)
            .unwrap_or(content.len())
    };
    let start = if first < end_after(0) {
        0
    } else {
        content[..first]
            .char_indices()
            .rev()
            .nth(lead_chars - 1)
            .map_or(0, |(at, _)| at)
    };
    let end = end_after(start);
    let lead = if start > 0 { "…" } else { "" };
    let tail = if end < content.len() { "…" } else { "" };
    let text = format!("{lead}{}{tail}", &content[start..end]);
    let shown = matches
        .into_iter()
        .filter(|r| r.start >= start && r.end <= end);
    Snippet {
        text,
        matches: shown
            .map(|r| r.start - start + lead.len()..r.end - start + lead.len())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_its_own_snippet() {
        let found = snippet("Anna deploys on Fridays", &words::query_terms("deploy"));
        assert_eq!(found.text, "Anna deploys on Fridays");
        assert_eq!(&found.text[found.matches[0].clone()], "deploys");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_match() {
        let content = format!("{} the needle é {}", "hay ".repeat(400), "hay ".repeat(400));
        let found = snippet(&content, &words::query_terms("needle"));
        assert!(found.text.starts_with('…') && found.text.ends_with('…'));
        assert!(found.text.chars().count() <= SNIPPET_CHARS + 2);
        assert_eq!(&found.text[found.matches[0].clone()], "needle");
    }
}
