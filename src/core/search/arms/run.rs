//! Runs the arms over the index of a search.

use std::sync::Arc;

use time::OffsetDateTime;

use super::scanned::ScannedTexts;
use super::{ArmInput, Found, SourceFilter, micros, recent, speakers};
use crate::embedding::{HeldVectors, NamedWord};
use crate::memories::words::Term;
use crate::search::query::{Filters, SearchQuery};
use crate::search::reader::SearchIndex;
use crate::search::reader::index::Index;
use crate::search::reader::seen::SeenSources;
use crate::search::reader::vectors::PreparedQuery;

/// The input of the arms.
pub struct ArmQuery {
    pub terms: Vec<Term>,
    /// See [`ArmInput::is_bare`].
    pub is_bare: bool,
    pub vector: Option<PreparedQuery>,
    /// See [`crate::embedding::QueryVector::is_fitted`].
    pub is_fitted: bool,
    pub names: Vec<String>,
    pub speakers: Vec<String>,
    /// See [`ArmInput::naming`].
    pub naming: Vec<(i64, f64)>,
    /// See [`ArmInput::with_context`].
    pub with_context: bool,
    /// See [`ArmInput::times`].
    pub times: Vec<String>,
    pub filters: Filters,
    pub now: OffsetDateTime,
}

impl SearchIndex {
    /// Dates and ids of the newest wanted sources, one more than requested, which tells whether there are more.
    pub async fn newest(
        &self,
        query: &SearchQuery,
        filters: &Filters,
        now: OffsetDateTime,
    ) -> Vec<(i64, i64)> {
        let after = query.cursor.map(|c| (micros(c.created_at), c.id.0));
        let index = self.read().await;
        let wanted = self.wanted(&index, filters, now);
        let newest = recent::newest(&index, &wanted, after, query.limit + 1);
        let of = |n: &u32| (index.source(*n).created_at, index.source(*n).id);
        newest.iter().map(of).collect()
    }

    pub fn wanted(&self, index: &Index, filters: &Filters, now: OffsetDateTime) -> SourceFilter {
        let (theme, turns) = (self.theme.as_ref().map(|theme| theme.id), self.with_turns);
        SourceFilter::new(index, filters, theme, turns, self.scope, now)
    }

    /// The state of its embeddings, and which of these names are speakers.
    ///
    /// # Errors
    /// If the server is shutting down.
    pub async fn vectors(&self, names: &[NamedWord]) -> Result<HeldVectors, sqlx::Error> {
        let mut speakers = Vec::new();
        if !names.is_empty() {
            let names = names.to_vec();
            let look = move |held: &Self, index: &Index| {
                speakers::speaking(index, &SeenSources::of(index, held.scope), &names)
            };
            speakers = self.with_index(look).await?;
        }
        let index = self.read().await;
        let seen = SeenSources::of(&index, self.scope);
        Ok(HeldVectors {
            has_ready: index.has_vectors(),
            unready: index.unready(|source| seen.has(source), self.space.is_some()),
            speakers,
        })
    }

    /// Runs the arms; for `containing` see [`ArmInput::containing`].
    ///
    /// # Errors
    /// If the server is shutting down.
    pub async fn candidates(
        &self,
        question: &Arc<ArmQuery>,
        containing: Vec<(i64, i64)>,
        fragments: usize,
    ) -> Result<Found, sqlx::Error> {
        let question = Arc::clone(question);
        self.with_index(move |held, index| held.find(index, &question, &containing, fragments))
            .await
    }

    /// The texts to scan for so many fragments of the query.
    ///
    /// # Errors
    /// If the server is shutting down.
    pub async fn scanned(
        &self,
        question: &Arc<ArmQuery>,
        fragments: usize,
    ) -> Result<ScannedTexts, sqlx::Error> {
        let question = Arc::clone(question);
        self.with_index(move |held, index| {
            let wanted = held.wanted(index, &question.filters, question.now);
            ScannedTexts::of(index, &wanted, fragments)
        })
        .await
    }

    fn find(
        &self,
        index: &Index,
        question: &ArmQuery,
        containing: &[(i64, i64)],
        fragments: usize,
    ) -> Found {
        let wanted = self.wanted(index, &question.filters, question.now);
        let asked = ArmInput {
            terms: &question.terms,
            is_bare: question.is_bare,
            vector: question.vector.as_ref(),
            is_fitted: question.is_fitted,
            names: &question.names,
            speakers: &question.speakers,
            containing,
            fragments,
            naming: &question.naming,
            with_context: question.with_context,
            times: &question.times,
        };
        super::candidates(index, &asked, &wanted)
    }
}
