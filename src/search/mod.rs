//! THE search. Pages, REST, MCP and the evaluation call this one function; later arms and fusions join it and do not
//! fork it. What it reads lies in memory ([`reader`]); the arms are pure functions over that ([`arms`]); what they
//! found is read from the database under the user's own rights. Around them stand two small statements.

pub mod arms;
mod candidate;
pub mod fuse;
pub mod query;
pub mod reader;
mod snippet;
pub mod store;

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::PgConnection;
use time::OffsetDateTime;
use tracing::Instrument;

pub use candidate::{FoundItem, Signals};
pub use fuse::Explanation;
pub use query::{Filters, RawQuery, SearchQuery};
pub use reader::Reader;
pub use snippet::Snippet;

use crate::accounts::{UserId, Viewer};
use crate::db::{Db, Tx};
use crate::embedding::model::Space;
use crate::embedding::{Embeddings, PENDING, QueryEmbedding, QueryVector};
use crate::memories::{ItemId, mentions, speakers, words};
use crate::metrics;
use query::Cursor;
use reader::{Held, Need, Question, vectors};

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

/// What the arms find for a text.
pub struct Gathered {
    /// Of the user, to read on with.
    pub tx: Tx,
    /// In no order.
    pub found: Vec<Signals>,
    /// Distinct words that were looked for.
    pub terms: usize,
    /// As [`Page::degraded`].
    pub degraded: Option<String>,
}

/// THE search, with what it reads from.
#[derive(Clone)]
pub struct Search {
    db: Db,
    embeddings: Embeddings,
    reader: Reader,
}

impl Search {
    pub fn new(db: Db, embeddings: Embeddings, reader: Reader) -> Self {
        Self {
            db,
            embeddings,
            reader,
        }
    }

    pub fn db(&self) -> &Db {
        &self.db
    }

    pub fn embeddings(&self) -> &Embeddings {
        &self.embeddings
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// What jobs ask waits for what people ask.
    pub fn for_jobs(&self) -> Self {
        Self {
            db: self.db.with_job_timeout(),
            embeddings: self.embeddings.for_jobs(),
            reader: self.reader.clone(),
        }
    }

    /// What every door calls (DESIGN §4, Nova §3.2.1): the index as it stands, the query's vector, for which no
    /// connection is held where a provider is asked, then the arms. Where there is no vector the words answer alone
    /// and the page says why.
    ///
    /// # Errors
    /// Only what the database says; a query that finds nothing is an empty page.
    pub async fn find(&self, viewer: &Viewer, query: &SearchQuery) -> Result<Page, sqlx::Error> {
        let span = tracing::error_span!("search");
        let page = self.find_in_span(viewer, query).instrument(span).await?;
        metrics::searched(page.mode.as_str(), page.degraded.is_some());
        Ok(page)
    }

    async fn find_in_span(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
    ) -> Result<Page, sqlx::Error> {
        let user = viewer.user_id;
        let need = Need::of(user, query, None);
        let Some(text) = need.text else {
            let (tx, held) = self.reader.current(&self.db, &need).await?;
            return newest(tx, user, &held, query, self.embeddings.now()).await;
        };
        let (tx, held, asked) = self.ask(&need, text).await?;
        let tx = match tx {
            Some(tx) => tx,
            None => self.db.as_user(user).await?,
        };
        let vector = asked.vector.as_ref();
        let mut page = self.ranked(tx, user, &held, query, text, vector).await?;
        page.degraded = asked.degraded;
        if page.mode == Mode::Fts && page.degraded.is_none() {
            let why = match asked.has_pending {
                true => Some(PENDING),
                false => (!page.hits.is_empty()).then_some(NONE_EMBEDDED),
            };
            page.degraded = why.map(str::to_owned);
        }
        Ok(page)
    }

    /// What a search for this would go by besides words, or why there is nothing.
    ///
    /// # Errors
    /// Only what the database says.
    pub async fn embed_query(
        &self,
        user: UserId,
        text: &str,
    ) -> Result<QueryEmbedding, sqlx::Error> {
        let need = Need {
            user,
            space: None,
            theme: None,
            text: Some(text),
        };
        Ok(self.ask(&need, text).await?.2)
    }

    /// The index as it stands and the query's vector; the transaction is gone where a provider had to be asked.
    async fn ask(
        &self,
        need: &Need<'_>,
        text: &str,
    ) -> Result<(Option<Tx>, Held, QueryEmbedding), sqlx::Error> {
        let (tx, held) = self.reader.current(&self.db, need).await?;
        let names = speakers::names(text);
        let (vectors, serving) = (held.vectors(&names).await, held.serving.clone());
        let held = Some(held).filter(|held| !held.is_large());
        let asked = self
            .embeddings
            .query_vector(tx, need.user, serving, vectors, text, &names);
        let (tx, embedding) = asked.await?;
        if let Some(held) = held {
            return Ok((tx, held, embedding));
        }
        // It was let go, so that nobody waited for it while the provider was asked. What serves may be another by now.
        drop(tx);
        let need = Need {
            space: embedding.vector.as_ref().map(|vector| vector.space_id),
            ..*need
        };
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        Ok((Some(tx), held, embedding))
    }

    /// The same with this vector, or with none: no provider is asked.
    ///
    /// # Errors
    /// Only what the database says.
    pub async fn find_with(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
        vector: Option<&QueryVector>,
    ) -> Result<Page, sqlx::Error> {
        let user = viewer.user_id;
        let need = Need::of(user, query, vector.map(|vector| vector.space_id));
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        match need.text {
            Some(text) => self.ranked(tx, user, &held, query, text, vector).await,
            None => newest(tx, user, &held, query, self.embeddings.now()).await,
        }
    }

    /// The same with the vector of a space of its user, whether that serves or not, from its own model and kept nowhere;
    /// and the tokens that were sent for it, about. Or why that model does not answer, as a clause.
    ///
    /// # Errors
    /// Only what the database says.
    pub async fn find_in(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
        text: &str,
        space: &Space,
    ) -> Result<Result<(Page, u64), String>, sqlx::Error> {
        let user = viewer.user_id;
        let need = Need::of(user, query, Some(space.id));
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        drop(tx);
        let names = speakers::names(text);
        let speakers = held.vectors(&names).await.speakers;
        drop(held);
        let asked = self
            .embeddings
            .vector_in(user, space, text, &names, speakers);
        let (vector, tokens) = match asked.await {
            Ok(answer) => answer,
            Err(reason) => return Ok(Err(reason)),
        };
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        let page = self.ranked(tx, user, &held, query, text, Some(&vector));
        Ok(Ok((page.await?, tokens)))
    }

    /// Of each of these the sources that have all of its words, whatever they are, newest first and at most so many.
    ///
    /// # Errors
    /// Only what the database says.
    pub async fn sources_with_all(
        &self,
        user: UserId,
        texts: &[String],
        limit: usize,
    ) -> Result<Vec<Vec<i64>>, sqlx::Error> {
        let asked = texts.join(" ");
        let need = Need {
            user,
            space: None,
            theme: None,
            text: Some(&asked),
        };
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        drop(tx);
        let index = held.read().await;
        let of_text =
            |text: &String| arms::lexical::with_all(&index, &words::query_terms(text), limit);
        Ok(texts.iter().map(of_text).collect())
    }

    async fn ranked(
        &self,
        mut tx: Tx,
        user: UserId,
        held: &Held,
        query: &SearchQuery,
        text: &str,
        vector: Option<&QueryVector>,
    ) -> Result<Page, sqlx::Error> {
        let now = self.embeddings.now();
        let asked = self.question(&mut tx, user, held, &query.filters, text, vector);
        let asked = asked.await?;
        let (mut found, has_words) = held.candidates(&asked, Vec::new()).await?;
        let fragments = words::query_fragments(text);
        if !has_words && !fragments.is_empty() {
            let containing =
                store::list_containing(&mut tx, user, &fragments, held.tiers(&query.filters))
                    .await?;
            if !containing.is_empty() {
                found = held.candidates(&asked, containing).await?.0;
            }
        }
        let has_near = found.iter().any(|c| c.is_near);
        // A cutoff of similarity needs a similarity: without one it is passed over.
        let similarity_min = query.min_similarity.filter(|_| has_near);
        let ranked: Vec<(Signals, Explanation)> = fuse::weighted(found, query.balance)
            .into_iter()
            .filter(|(_, why)| similarity_min.is_none_or(|least| why.similarity() >= least))
            .collect();
        let status = query.filters.status;
        let mut hits = Vec::new();
        let mut ranked = ranked.into_iter();
        // Some may be there no more.
        while hits.len() < query.limit && !ranked.as_slice().is_empty() {
            let next: Vec<_> = ranked.by_ref().take(query.limit - hits.len()).collect();
            let ids: Vec<i64> = next.iter().map(|(found, _)| found.id.0).collect();
            let rows = store::list_found(&mut tx, user, &ids, now).await?;
            let mut rows: HashMap<ItemId, FoundItem> =
                rows.into_iter().map(|row| (row.id, row)).collect();
            hits.extend(next.into_iter().filter_map(|(found, why)| {
                let item = rows.remove(&found.id)?;
                let is_wanted = status.is_none_or(|status| item.status == status);
                is_wanted.then(|| Hit::new(item, why, found.is_near, &asked.terms))
            }));
        }
        // Nothing was written: its end is sent when the connection goes back, and waited for by nobody.
        drop(tx);
        Ok(Page {
            hits,
            mode: if has_near { Mode::Hybrid } else { Mode::Fts },
            cursor: None,
            degraded: None,
        })
    }
}

impl Search {
    /// What is asked of the arms, with what has to be read for it.
    async fn question(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        held: &Held,
        filters: &Filters,
        text: &str,
        vector: Option<&QueryVector>,
    ) -> Result<Arc<Question>, sqlx::Error> {
        if let Some(vector) = vector {
            held.measure(&mut *conn, user, &vector.vector).await?;
        }
        let naming = match held.with_entities {
            true => self.naming(conn, user, held, text).await?,
            false => Vec::new(),
        };
        Ok(Arc::new(Question {
            naming,
            terms: words::query_terms(text),
            vector: vector.map(|v| vectors::Asked::new(v.vector.values())),
            speakers: vector.map(|v| v.speakers.clone()).unwrap_or_default(),
            filters: filters.clone(),
            now: self.embeddings.now(),
        }))
    }

    /// What the arms find for a text, before anything ranks it: for recall. What the text names counts,
    /// whatever the user's setting for searches says.
    ///
    /// # Errors
    /// Only what the database says.
    pub async fn gather(
        &self,
        viewer: &Viewer,
        filters: &Filters,
        text: &str,
    ) -> Result<Gathered, sqlx::Error> {
        let user = viewer.user_id;
        let need = Need {
            user,
            space: None,
            theme: None,
            text: Some(text),
        };
        let (tx, mut held, asked) = self.ask(&need, text).await?;
        held.with_entities = true;
        let mut tx = match tx {
            Some(tx) => tx,
            None => self.db.as_user(user).await?,
        };
        let vector = asked.vector.as_ref();
        let question = self.question(&mut tx, user, &held, filters, text, vector);
        let question = question.await?;
        let (found, _) = held.candidates(&question, Vec::new()).await?;
        Ok(Gathered {
            tx,
            found,
            terms: question.terms.len(),
            degraded: asked.degraded,
        })
    }

    /// Sources that mention what a query names, and how much of it.
    async fn naming(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        held: &Held,
        text: &str,
    ) -> Result<Vec<(i64, f64)>, sqlx::Error> {
        let normals = mentions::normal::runs(text);
        let meant = store::list_meant(&mut *conn, user, &normals, self.embeddings.now()).await?;
        if meant.is_empty() {
            return Ok(Vec::new());
        }
        let entities: Vec<i64> = meant.iter().map(|one| one.entity).collect();
        let found = store::list_mentioning(conn, user, &entities).await?;
        let index = held.read().await;
        let sources = index.count(false) + index.count(true);
        Ok(arms::entity::weigh(&meant, &found, sources))
    }
}

async fn newest(
    mut tx: Tx,
    user: UserId,
    held: &Held,
    query: &SearchQuery,
    now: OffsetDateTime,
) -> Result<Page, sqlx::Error> {
    let after = query.cursor.map(|c| (arms::micros(c.created_at), c.id.0));
    let (ids, next) = {
        let index = held.read().await;
        let wanted = held.wanted(&index, &query.filters, now);
        // One more than asked for tells whether there is more.
        let mut newest = arms::recent::newest(&index, &wanted, after, query.limit + 1);
        let has_more = newest.len() > query.limit;
        newest.truncate(query.limit);
        // Of the index, since the last of them may be there no more.
        let last = newest.last().filter(|_| has_more);
        let next = last.map(|n| (index.source(*n).created_at, index.source(*n).id));
        let ids: Vec<i64> = newest.iter().map(|n| index.source(*n).id).collect();
        (ids, next)
    };
    let mut rows = store::list_found(&mut tx, user, &ids, now).await?;
    rows.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.id.0)));
    let cursor = next.map(|(created_at, id)| {
        Cursor {
            created_at: arms::time_of(created_at),
            id: ItemId(id),
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

impl Hit {
    fn new(
        item: FoundItem,
        explanation: Explanation,
        is_near: bool,
        terms: &[words::Term],
    ) -> Self {
        Self {
            snippet: snippet::of(&item.content, terms),
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
