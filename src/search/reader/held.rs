//! An index in the hands of a search.

use std::sync::Arc;

use sqlx::PgConnection;
use time::OffsetDateTime;
use tokio::sync::{OwnedSemaphorePermit, RwLockReadGuard};

use super::index::{Index, Scope};
use super::store::{self, Standing};
use super::{Resident, on_a_thread, vectors};
use crate::db::UserId;
use crate::embedding::model::Serving;
use crate::embedding::{HeldVectors, NamedWord, SpaceId, Vector};
use crate::memories::words::Term;
use crate::search::arms::{self, Asked, Wanted, speakers};
use crate::search::candidate::Signals;
use crate::search::query::Filters;

/// An index as a search has it, and what else it goes by.
#[derive(Clone)]
pub struct Held {
    resident: Arc<Resident>,
    /// The theme that is asked for, if there is one of this name.
    theme: Option<i64>,
    with_turns: bool,
    scope: Scope,
    /// What a query names counts.
    pub with_entities: bool,
    /// Of whose memory it is, by its name.
    pub time_zone: String,
    pub serving: Serving,
    /// Whose vectors it has.
    space: Option<SpaceId>,
    /// Where it was read for this search alone: until it is dropped no other is.
    pub(super) large: Option<Arc<OwnedSemaphorePermit>>,
}

/// What is asked of the arms.
pub struct Question {
    pub terms: Vec<Term>,
    pub vector: Option<vectors::Asked>,
    pub names: Vec<String>,
    pub speakers: Vec<String>,
    /// As [`Asked::naming`].
    pub naming: Vec<(i64, f64)>,
    /// As [`Asked::with_context`].
    pub with_context: bool,
    /// As [`Asked::times`].
    pub times: Vec<String>,
    pub filters: Filters,
    pub now: OffsetDateTime,
}

/// Vectors that are read at once.
const PAGE: i64 = 5_000;
/// With more passages than this the arms have a thread of their own.
const PASSAGES_INLINE: usize = 20_000;

impl Held {
    pub(super) fn new(
        resident: Arc<Resident>,
        standing: &Standing,
        space: Option<SpaceId>,
    ) -> Self {
        Self {
            resident,
            theme: standing.theme,
            with_turns: standing.turns_searched,
            scope: standing.scope,
            with_entities: standing.entities_searched,
            time_zone: standing.time_zone.clone(),
            serving: standing.serving.clone(),
            space,
            large: None,
        }
    }

    /// Reads the vectors that are not kept, and how far each is from this one.
    ///
    /// # Errors
    /// Only what the database says.
    pub async fn measure(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        vector: &Vector,
    ) -> Result<(), sqlx::Error> {
        let Some(space) = self.space.filter(|_| self.large.is_some()) else {
            return Ok(());
        };
        let mut distances: Vec<(u32, f32)> = Vec::new();
        let mut after = 0;
        loop {
            let page = store::list_vectors(conn, user, space, after, PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            let index = self.read().await;
            distances.extend(page.iter().filter_map(|(id, values)| {
                Some((
                    index.find(*id)?,
                    vectors::exact_distance(values, vector.values())?,
                ))
            }));
        }
        let mut index = self.resident.index.write().await;
        index.vectors.set_measured(distances);
        Ok(())
    }

    /// What was said in conversations, word by word, is not lent.
    pub fn leave_turns_out(&mut self) {
        self.with_turns = false;
    }

    /// It was read for this search alone.
    pub fn is_large(&self) -> bool {
        self.large.is_some()
    }

    /// The index, which stays as it is until this is given back.
    pub async fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.resident.index.read().await
    }

    pub fn wanted(&self, index: &Index, filters: &Filters, now: OffsetDateTime) -> Wanted {
        let (theme, turns) = (self.theme, self.with_turns);
        Wanted::new(index, filters, theme, turns, self.scope, now)
    }

    /// Whether memories, and turns, may be found.
    pub fn tiers(&self, filters: &Filters) -> [bool; 2] {
        let with_turns = filters.wants_turns() && self.with_turns;
        [filters.wants_items(), with_turns]
    }

    /// How it stands with its vectors, and which of these names speak.
    pub async fn vectors(&self, names: &[NamedWord]) -> HeldVectors {
        let index = self.read().await;
        HeldVectors {
            has_ready: index.has_vectors(),
            has_pending: index.has_pending(self.space.is_some()),
            speakers: speakers::speaking(&index, names),
        }
    }

    /// What the arms find, and whether any by its words; `containing` as [`Asked::containing`].
    ///
    /// # Errors
    /// Where the server is going down.
    pub async fn candidates(
        &self,
        question: &Arc<Question>,
        containing: Vec<(i64, i64)>,
    ) -> Result<(Vec<Signals>, bool), sqlx::Error> {
        let question = Arc::clone(question);
        self.with_index(move |held, index| held.find(index, &question, &containing))
            .await
    }

    /// Looks at the index; where that is large, on a thread of its own.
    ///
    /// # Errors
    /// Where the server is going down.
    pub async fn with_index<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self, &Index) -> T + Send + 'static,
    ) -> Result<T, sqlx::Error> {
        let index = self.read().await;
        if index.passages_len() <= PASSAGES_INLINE {
            return Ok(look(self, &index));
        }
        drop(index);
        let held = self.clone();
        on_a_thread(move || look(&held, &held.resident.index.blocking_read())).await
    }

    fn find(
        &self,
        index: &Index,
        question: &Question,
        containing: &[(i64, i64)],
    ) -> (Vec<Signals>, bool) {
        let wanted = self.wanted(index, &question.filters, question.now);
        let asked = Asked {
            terms: &question.terms,
            vector: question.vector.as_ref(),
            names: &question.names,
            speakers: &question.speakers,
            containing,
            naming: &question.naming,
            with_context: question.with_context,
            times: &question.times,
        };
        arms::candidates(index, &asked, &wanted)
    }
}
