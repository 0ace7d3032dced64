//! Searches memory that is lent to the agent (teams, an operator's pool: docs/teams.md): a separate index and a transaction
//! of its owner, which checks each time that it is still lent. An index never mixes two users, and a search never holds two
//! connections at once.

use std::collections::HashSet;
use std::sync::Arc;

use time::OffsetDateTime;

use super::candidate::CandidateSignals;
use super::query::{Filters, SearchQuery, ThemeFilter};
use super::reader::IndexRequest;
use super::{Hit, Search, store};
use crate::accounts::{LentMemory, UserId, Viewer};
use crate::db::{Db, Tx, is_not_lent};
use crate::embedding::QueryVector;
use crate::embedding::model::{Space, TokenSigns};
use crate::memories::{Status, speakers};

/// What the arms found in the lent memory.
pub struct LentFound {
    lent: LentMemory,
    db: Db,
    ids: HashSet<i64>,
    /// Its embeddings are from another model than the query's.
    pub by_words_alone: bool,
}

impl LentFound {
    pub fn has(&self, id: i64) -> bool {
        self.ids.contains(&id)
    }

    pub fn lent(&self) -> &LentMemory {
        &self.lent
    }

    /// The display name of the lent memory if `id` is from it; `None`: the viewer's own.
    pub fn name_of(&self, id: i64) -> Option<Arc<str>> {
        self.has(id).then(|| self.lent.name.clone())
    }

    /// With what another query has found there.
    pub fn joined(mut self, other: Self) -> Self {
        self.ids.extend(other.ids);
        self.by_words_alone |= other.by_words_alone;
        self
    }

    pub fn why_words_alone(&self) -> String {
        let of = match self.lent.leader {
            Some(_) => "the team's leader",
            None => "the global pool",
        };
        format!("what {of} lends has vectors of another model, so it was found by words alone")
    }

    /// A transaction on the owner's lent rows; `None` if it is not lent any more.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn begin(&self) -> Result<Option<Tx>, sqlx::Error> {
        unless_not_lent(self.db.as_user(self.lent.user_id).await)
    }
}

/// `None` if nothing is lent any more; the viewer's own memory is still searched.
fn unless_not_lent<T>(read: Result<T, sqlx::Error>) -> Result<Option<T>, sqlx::Error> {
    match read {
        Err(error) if is_not_lent(&error) => Ok(None),
        read => read.map(Some),
    }
}

/// The query for the lent memory.
pub struct LentQuery<'a> {
    pub filters: &'a Filters,
    /// [`SearchIndex::theme_to_lend`](super::reader::SearchIndex::theme_to_lend)
    pub theme: Option<ThemeFilter>,
    pub text: &'a str,
    pub vector: Option<&'a QueryVector>,
    /// The space of the vector.
    pub space: Option<&'a Space>,
    /// Use entities, regardless of the owner's setting.
    pub with_entities: bool,
}

impl Search {
    /// Runs the arms on the memory lent to this agent; `None` if there is none.
    ///
    /// # Errors
    /// Database errors only.
    pub(super) async fn run_lent_arms(
        &self,
        viewer: &Viewer,
        wanted: LentQuery<'_>,
    ) -> Result<Option<(LentFound, Vec<CandidateSignals>)>, sqlx::Error> {
        let Some((lent, filters)) = viewer.lent.as_ref().zip(lent_filters(wanted.filters)) else {
            return Ok(None);
        };
        let db = self.db.lent_to(viewer.user_id);
        let need = IndexRequest {
            user: lent.user_id,
            space: None,
            theme: wanted.theme.as_ref(),
            text: Some(wanted.text),
        };
        let current = self.reader.current(&db, &need).await;
        let Some((mut tx, mut held)) = unless_not_lent(current)? else {
            return Ok(None);
        };
        held.with_entities |= wanted.with_entities;
        held.leave_turns_out();
        let there = held.serving.space.as_ref();
        let is_same = |here: &&Space| {
            there.is_some_and(|there| there.settings.makes_the_vectors_of(&here.settings))
        };
        let is_same = wanted.space.is_some_and(|here| is_same(&here));
        let vector = wanted.vector.filter(|_| is_same);
        let vector = match vector.cloned().zip(there) {
            Some((vector, there)) => Some(QueryVector {
                space_id: there.id,
                is_fitted: vector.is_fitted,
                tokens: vector.tokens.filter(|_| there.token_signs == TokenSigns::All),
                speakers: held.vectors(&speakers::names(wanted.text)).await?.speakers,
                vector: vector.vector,
            }),
            None => None,
        };
        let by_words_alone = wanted.vector.is_some() && vector.is_none();
        let user = lent.user_id;
        let filters = &*self.restrict(&mut tx, user, &held, &filters, Some(wanted.text)).await?;
        let text = wanted.text;
        let (mut found, _) =
            self.run_arms(&mut tx, user, &held, filters, text, vector.as_ref()).await?;
        for signals in &mut found {
            signals.is_lent = true;
            signals.comes_first = false;
            // Directions of two spaces have nothing in common.
            signals.direction = signals.direction.take().filter(|_| is_same);
            signals.is_users_word &= !lent.is_anothers(viewer.user_id);
        }
        let lent = LentFound {
            lent: lent.clone(),
            db,
            ids: found.iter().map(|signals| signals.id.0).collect(),
            by_words_alone: by_words_alone && !found.is_empty(),
        };
        Ok(Some((lent, found)))
    }
}

impl Search {
    /// The newest lent items, as in [`super::reader::SearchIndex::newest`]; `None` if nothing is lent.
    pub(super) async fn newest_lent(
        &self,
        viewer: &Viewer,
        query: &SearchQuery,
        theme: Option<&ThemeFilter>,
        now: OffsetDateTime,
    ) -> Result<Option<(LentFound, Vec<(i64, i64)>)>, sqlx::Error> {
        let Some((lent, filters)) = viewer.lent.as_ref().zip(lent_filters(&query.filters)) else {
            return Ok(None);
        };
        let db = self.db.lent_to(viewer.user_id);
        let need = IndexRequest { theme, ..IndexRequest::of(lent.user_id, query, None) };
        let current = self.reader.current(&db, &need).await;
        let Some((mut tx, mut held)) = unless_not_lent(current)? else {
            return Ok(None);
        };
        held.leave_turns_out();
        let query = &SearchQuery { filters, ..query.clone() };
        let filters = self.restrict(&mut tx, lent.user_id, &held, &query.filters, None).await?;
        let newest = held.newest(query, &filters, now).await;
        let found = LentFound {
            lent: lent.clone(),
            db,
            ids: newest.iter().map(|(_, id)| *id).collect(),
            by_words_alone: false,
        };
        Ok(Some((found, newest)))
    }
}

impl Search {
    /// Of these candidates, the lent ones whose text is also that of an own one.
    pub(super) async fn lent_copies(
        &self,
        user: UserId,
        found: &LentFound,
        ids: &[i64],
    ) -> Result<HashSet<i64>, sqlx::Error> {
        let (lent, own): (Vec<i64>, Vec<i64>) = ids.iter().partition(|id| found.has(**id));
        if lent.is_empty() || own.is_empty() {
            return Ok(HashSet::new());
        }
        let mut tx = self.db.as_user(user).await?;
        let own = store::list_hashes(&mut tx, user, &own).await?;
        // Released before another connection is acquired, to avoid a deadlock of the pool.
        drop(tx);
        let Some(mut tx) = found.begin().await? else {
            return Ok(HashSet::new());
        };
        let lent = store::list_hashes(&mut tx, found.lent().user_id, &lent).await?;
        let own: HashSet<Vec<u8>> = own.into_iter().map(|(_, hash)| hash).collect();
        let copies = lent.into_iter().filter(|(_, hash)| own.contains(hash));
        Ok(copies.map(|(id, _)| id).collect())
    }
}

/// Lent is what is active now: `None` where something else is asked for.
fn lent_filters(filters: &Filters) -> Option<Filters> {
    let is_lent = filters.day.is_now() && filters.status != Some(Status::Archived);
    is_lent.then(|| Filters { status: Some(Status::Active), ..filters.clone() })
}

/// Drops lent hits whose text the viewer has too (GoClaw).
pub fn drop_copies(hits: &mut Vec<Hit>) {
    let own = hits.iter().filter(|hit| hit.memory_of.is_none());
    let own: HashSet<String> = own.map(|hit| hit.item.content.clone()).collect();
    hits.retain(|hit| hit.memory_of.is_none() || !own.contains(&hit.item.content));
}
