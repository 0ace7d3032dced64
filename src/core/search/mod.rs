//! The one search, called by pages, REST, MCP and the evaluation; extend it, never fork it. Its data is in memory
//! ([`reader`]), its arms are pure functions over that ([`arms`]), and the hits are read from the database under the user's
//! own rights. That takes two small statements.

pub mod arms;
pub mod asks;
mod candidate;
mod closer;
mod explanation;
pub mod fuse;
mod kept;
mod lent;
pub mod many;
mod page;
pub mod query;
mod rank;
pub mod reader;
pub mod reciprocal;
mod related;
pub mod relevance;
pub mod replaced;
mod restrict;
pub mod snippet;
pub mod store;
pub mod when;

use std::sync::Arc;
use std::time::Instant;

use sqlx::PgConnection;
use tracing::Instrument;

pub use candidate::{CandidateSignals, FoundItem};
pub use explanation::Explanation;
pub use lent::LentFound;
pub use page::{Hit, Mode, ResultPage};
use query::Ingredients;
pub use query::{Filters, RawQuery, SearchQuery};
pub use reader::Reader;
pub use snippet::Snippet;

use crate::accounts::{UserId, Viewer};
use crate::clock::Zone;
use crate::db::{Db, Tx};
use crate::embedding::model::Space;
use crate::embedding::{
    Embeddings, NamedWord, QUERY_DEADLINE, QueryEmbedding, QueryVector, unready,
};
use crate::memories::projects::MeantProjects;
use crate::memories::{mentions, speakers, words};
use crate::metrics;
use crate::redaction::TextDoor;
use arms::ArmQuery;
use rank::RankingInput;
use reader::seen::SeenSources;
use reader::{IndexRequest, SearchIndex, vectors};

const NONE_EMBEDDED: &str =
    "none of these memories has an embedding, so they were found by words alone";

/// The query's words with their weights by rarity; 0 for a word that does not occur.
pub type WeighedTerms = Vec<(words::Term, f64)>;

/// The unranked candidates for a text.
pub struct Candidates {
    /// The user's transaction, for further reads; `None` if lent memory was read.
    pub tx: Option<Tx>,
    /// The lent part of `found`.
    pub lent: Option<LentFound>,
    /// Unordered.
    pub found: Vec<CandidateSignals>,
    /// The distinct words of the query.
    pub terms: WeighedTerms,
    /// Of the person.
    pub zone: Zone,
    /// The projects that are worked on, if the filters name one.
    pub projects: Option<Arc<MeantProjects>>,
    /// See [`ResultPage::degraded`].
    pub degraded: Option<String>,
}

/// The search with its data sources.
#[derive(Clone)]
pub struct Search {
    db: Db,
    embeddings: Embeddings,
    reader: Reader,
}

impl Search {
    pub fn new(db: Db, embeddings: Embeddings, reader: Reader) -> Self {
        Self { db, embeddings, reader }
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

    /// For background jobs, which yield to interactive searches.
    pub fn for_jobs(&self) -> Self {
        Self {
            db: self.db.with_job_timeout(),
            embeddings: self.embeddings.for_jobs(),
            reader: self.reader.clone(),
        }
    }

    /// The entry point of all searches (Nova §3.2.1): refreshes the index, embeds the query (holding no connection
    /// during a provider's request) and runs the arms. Without an embedding, only words are used and the page says why. Of a
    /// long text ([`asks`]) what is surest to be answered counts.
    ///
    /// # Errors
    /// Database errors only; a query that finds nothing gives an empty page.
    pub async fn find(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
    ) -> Result<ResultPage, sqlx::Error> {
        let span = tracing::error_span!("search");
        let find = async {
            // A statement asks nothing.
            let is_asked = query.filters.ingredients != Ingredients::OF_STATEMENTS;
            let text = query.text.as_deref().filter(|text| is_asked && asks::is_long(text));
            let asks = match text {
                Some(text) => self.parts(viewer, text).await?,
                None => Vec::new(),
            };
            let [whole, parts @ ..] = asks.as_slice() else {
                return self.find_in_span(viewer, query).await;
            };
            let with = |text: &String| SearchQuery { text: Some(text.clone()), ..query.clone() };
            let began = Instant::now();
            let mut page = self.find_in_span(viewer, &with(whole)).await?;
            let sure = |page: &ResultPage| page.confidence.map_or(0.0, |sure| sure.value);
            for part in parts {
                // Nobody waits for a slow endpoint several times.
                if began.elapsed() > QUERY_DEADLINE {
                    break;
                }
                let found = self.find_in_span(viewer, &with(part)).await?;
                if sure(&found) > sure(&page) {
                    page = found;
                }
            }
            Ok(page)
        };
        let page = find.instrument(span).await?;
        metrics::searched(page.mode.as_str(), page.degraded.is_some());
        Ok(page)
    }

    /// What a long text asks. It is screened as a whole: a part has lost the beginning of what is private. Nothing if all of
    /// it is.
    async fn parts(&self, viewer: &Viewer, text: &str) -> Result<Vec<String>, sqlx::Error> {
        let mut text = text.to_owned();
        let field = ("query", &mut text);
        let redactor = self.embeddings.redactor();
        let screened =
            redactor.screen_text(viewer.user_id, viewer.agent_id, TextDoor::Query, field);
        screened.await.map_err(sqlx::Error::from)?;
        Ok(if text.trim().is_empty() { Vec::new() } else { asks::asks(text.trim()) })
    }

    async fn find_in_span(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
    ) -> Result<ResultPage, sqlx::Error> {
        let user = viewer.user_id;
        let need = IndexRequest::of(user, query, None);
        let Some(text) = need.text else {
            return self.newest(viewer, query).await;
        };
        let names = names(&query.filters, text);
        let (tx, held, asked) = self.ask(&need, text, &names).await?;
        let mut tx = match tx {
            Some(tx) => tx,
            None => self.db.as_user(user).await?,
        };
        let vector = asked.vector.as_ref();
        let filters = self.restrict(&mut tx, user, &held, &query.filters, Some(text)).await?;
        let filters = &*self.in_time(&filters, text, &held).await?;
        let (found, terms) = self.run_arms(&mut tx, user, &held, filters, text, vector).await?;
        let found = RankingInput {
            tx: Some(tx),
            user,
            signals: found,
            terms,
            lent: None,
            time: filters.time,
        };
        let space = held.serving.space.clone();
        let theme = held.theme_to_lend(filters.theme.as_ref());
        drop(held);
        let found = self
            .with_lent(viewer, found, || lent::LentQuery {
                filters,
                theme,
                text,
                vector,
                space: space.as_ref(),
                with_entities: false,
            })
            .await?;
        let by_words_alone = found.lent.as_ref().filter(|lent| lent.by_words_alone);
        let by_words_alone = by_words_alone.map(|lent| lent.why_words_alone());
        let mut page = self.rank(found, query).await?;
        page.degraded = asked.degraded.or(by_words_alone);
        if page.degraded.is_none() {
            let is_none_embedded = page.mode == Mode::Fts && !page.hits.is_empty();
            page.degraded = unready(asked.unready)
                .or_else(|| is_none_embedded.then(|| NONE_EMBEDDED.to_owned()));
        }
        Ok(page)
    }

    /// Adds candidates from lent memory. Releases its connection before it waits for another.
    async fn with_lent<'a>(
        &self,
        viewer: &Viewer,
        mut found: RankingInput,
        wanted: impl FnOnce() -> lent::LentQuery<'a>,
    ) -> Result<RankingInput, sqlx::Error> {
        if viewer.lent.is_none() {
            return Ok(found);
        }
        found.tx = None;
        if let Some((lent, signals)) = self.run_lent_arms(viewer, wanted()).await? {
            found.signals.extend(signals);
            found.lent = Some(lent);
        }
        Ok(found)
    }

    /// Embeds a query as a search would, or tells why it cannot.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn embed_query(
        &self,
        user: UserId,
        text: &str,
    ) -> Result<QueryEmbedding, sqlx::Error> {
        let need = IndexRequest { user, space: None, theme: None, text: Some(text) };
        Ok(self.ask(&need, text, &speakers::names(text)).await?.2)
    }

    /// The current index and the query's embedding. The transaction is `None` if a provider was asked.
    async fn ask(
        &self,
        need: &IndexRequest<'_>,
        text: &str,
        names: &[NamedWord],
    ) -> Result<(Option<Tx>, SearchIndex, QueryEmbedding), sqlx::Error> {
        let (tx, held) = self.reader.current(&self.db, need).await?;
        let (vectors, serving) = (held.vectors(names).await?, held.serving.clone());
        let held = Some(held).filter(|held| !held.is_large());
        let asked = self.embeddings.query_vector(tx, need.user, serving, vectors, text, names);
        let (tx, embedding) = asked.await?;
        if let Some(held) = held {
            return Ok((tx, held, embedding));
        }
        // The large index was dropped, so that no other search waited for it meanwhile. The serving space may have changed.
        drop(tx);
        let need = IndexRequest {
            space: embedding.vector.as_ref().map(|vector| vector.space_id),
            ..*need
        };
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        Ok((Some(tx), held, embedding))
    }

    /// [`Self::find`] with the given embedding or none; asks no provider.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn find_with(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
        vector: Option<&QueryVector>,
    ) -> Result<ResultPage, sqlx::Error> {
        let user = viewer.user_id;
        let need = IndexRequest::of(user, query, vector.map(|vector| vector.space_id));
        let Some(text) = need.text else {
            return self.newest(viewer, query).await;
        };
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        self.ranked(tx, user, &held, query, text, vector).await
    }

    /// [`Self::find`] in a given space of the user, active or not. Embeds with that space's model, without the cache. Returns
    /// also the approximate tokens sent, or a clause that says why the model failed.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn find_in(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
        text: &str,
        space: &Space,
    ) -> Result<Result<(ResultPage, u64), String>, sqlx::Error> {
        let user = viewer.user_id;
        let need = IndexRequest::of(user, query, Some(space.id));
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        drop(tx);
        let names = speakers::names(text);
        let speakers = held.vectors(&names).await?.speakers;
        drop(held);
        let asked = self.embeddings.vector_in(user, space, text, &names, speakers);
        let (vector, tokens) = match asked.await {
            Ok(answer) => answer,
            Err(reason) => return Ok(Err(reason)),
        };
        let (tx, held) = self.reader.current(&self.db, &need).await?;
        let page = self.ranked(tx, user, &held, query, text, Some(&vector));
        Ok(Ok((page.await?, tokens)))
    }

    /// For each text, the sources of any kind that contain all of its words: newest first, at most `limit`.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn sources_with_all(
        &self,
        user: UserId,
        texts: &[String],
        limit: usize,
    ) -> Result<Vec<Vec<i64>>, sqlx::Error> {
        let asked = texts.join(" ");
        let need = IndexRequest { user, space: None, theme: None, text: Some(&asked) };
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
        held: &SearchIndex,
        query: &SearchQuery,
        text: &str,
        vector: Option<&QueryVector>,
    ) -> Result<ResultPage, sqlx::Error> {
        let filters = self.restrict(&mut tx, user, held, &query.filters, Some(text)).await?;
        let filters = &*self.in_time(&filters, text, held).await?;
        let (signals, terms) = self.run_arms(&mut tx, user, held, filters, text, vector).await?;
        let found =
            RankingInput { tx: Some(tx), user, signals, terms, lent: None, time: filters.time };
        self.rank(found, query).await
    }

    /// Runs the arms in one memory, whose ids the filters have ([`Self::restrict`]).
    async fn run_arms(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        held: &SearchIndex,
        filters: &Filters,
        text: &str,
        vector: Option<&QueryVector>,
    ) -> Result<(Vec<CandidateSignals>, WeighedTerms), sqlx::Error> {
        let asked = self.question(&mut *conn, user, held, filters, text, vector);
        let asked = asked.await?;
        let mut found = held.candidates(&asked, Vec::new(), 0).await?;
        let fragments = words::query_fragments(text);
        if !found.has_words && !fragments.is_empty() {
            let texts = held.scanned(&asked, fragments.len()).await?;
            let containing = store::list_containing(conn, user, &fragments, &texts).await?;
            if !containing.is_empty() {
                found = held.candidates(&asked, containing, fragments.len()).await?;
            }
        }
        if let Some(vector) = vector.filter(|_| filters.ingredients.late) {
            closer::compare_tokens(conn, user, vector, &mut found.candidates).await?;
        }
        let terms = asked.terms.iter().cloned().zip(found.weights).collect();
        Ok((found.candidates, terms))
    }
}

impl Search {
    /// Builds the arms' input, reading what it needs.
    async fn question(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        held: &SearchIndex,
        filters: &Filters,
        text: &str,
        vector: Option<&QueryVector>,
    ) -> Result<Arc<ArmQuery>, sqlx::Error> {
        if let Some(vector) = vector {
            held.measure(&mut *conn, user, &vector.vector).await?;
        }
        let naming = match held.with_entities {
            true => self.naming(conn, user, held, text).await?,
            false => Vec::new(),
        };
        Ok(Arc::new(ArmQuery {
            naming,
            with_context: vector.is_some_and(|v| v.tokens.is_some()) && filters.ingredients.late,
            times: filters.time.map_or_else(Vec::new, |_| when::words_of_time(text)),
            terms: words::query_terms(text),
            is_bare: words::is_bare(text),
            vector: vector.map(|v| vectors::PreparedQuery::new(v.vector.values())),
            is_fitted: vector.is_some_and(|v| v.is_fitted),
            names: capitalised(text),
            speakers: vector.map(|v| v.speakers.clone()).unwrap_or_default(),
            filters: filters.clone(),
            now: self.embeddings.now(),
        }))
    }

    /// The unranked candidates for a text, for recall. Uses entities regardless of the user's search setting.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn gather(
        &self,
        viewer: &Viewer,
        filters: &Filters,
        text: &str,
    ) -> Result<Candidates, sqlx::Error> {
        let user = viewer.user_id;
        let need = IndexRequest { user, space: None, theme: None, text: Some(text) };
        let names = speakers::names(text);
        let (tx, mut held, asked) = self.ask(&need, text, &names).await?;
        held.with_entities = true;
        let mut tx = match tx {
            Some(tx) => tx,
            None => self.db.as_user(user).await?,
        };
        let vector = asked.vector.as_ref();
        let restricted = self.restrict(&mut tx, user, &held, filters, Some(text)).await?;
        let question = self.question(&mut tx, user, &held, &restricted, text, vector);
        let question = question.await?;
        let found = held.candidates(&question, Vec::new(), 0).await?;
        let space = held.serving.space.clone();
        let theme = held.theme_to_lend(filters.theme.as_ref());
        let zone = Zone::from_column(&held.time_zone);
        drop(held);
        let found = RankingInput {
            tx: Some(tx),
            user,
            signals: found.candidates,
            terms: question.terms.iter().cloned().zip(found.weights).collect(),
            lent: None,
            time: None,
        };
        let found = self
            .with_lent(viewer, found, || lent::LentQuery {
                filters,
                theme,
                text,
                vector,
                space: space.as_ref(),
                with_entities: true,
            })
            .await?;
        Ok(Candidates {
            tx: found.tx,
            lent: found.lent,
            found: found.signals,
            terms: found.terms,
            zone,
            projects: restricted.projects.clone(),
            degraded: asked.degraded,
        })
    }

    /// Sources that mention entities of the query, with their weights.
    async fn naming(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        held: &SearchIndex,
        text: &str,
    ) -> Result<Vec<(i64, f64)>, sqlx::Error> {
        let normals = mentions::normal::runs(text);
        let meant = store::list_meant(&mut *conn, user, &normals, self.embeddings.now());
        let mut meant = meant.await?;
        if meant.is_empty() {
            return Ok(Vec::new());
        }
        let entities: Vec<i64> = meant.iter().map(|one| one.entity).collect();
        let mut found = store::list_mentioning(conn, user, &entities).await?;
        let index = held.read().await;
        let seen = SeenSources::of(&index, held.scope);
        if !seen.sees_all() {
            arms::entity::keep_seen(&index, &seen, &mut meant, &mut found);
        }
        let sources = seen.counts().iter().sum();
        Ok(arms::entity::weigh(&meant, &found, sources))
    }
}

/// Words of the query that may name a speaker.
fn names(filters: &Filters, text: &str) -> Vec<NamedWord> {
    match filters.ingredients.speakers {
        true => speakers::names(text),
        false => Vec::new(),
    }
}

/// Words of the query that are capitalized as names.
fn capitalised(text: &str) -> Vec<String> {
    let is_name = |name: &NamedWord| {
        let mut places = name.places.iter();
        places.any(|place| text[place.clone()].starts_with(char::is_uppercase))
    };
    let names = speakers::names(text).into_iter().filter(is_name);
    names.map(|name| name.word).collect()
}
