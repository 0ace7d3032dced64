//! An index held by a search.

use std::sync::Arc;

use sqlx::PgConnection;
use tokio::sync::{OwnedSemaphorePermit, RwLockReadGuard};

use super::index::Index;
use super::seen::ViewerScope;
use super::store::{self, FoundTheme, MemoryState};
use super::{Resident, on_a_thread, vectors};
use crate::db::UserId;
use crate::embedding::model::Serving;
use crate::embedding::{SpaceId, Vector};
use crate::search::query::ThemeFilter;

/// An index with the settings of one search.
#[derive(Clone)]
pub struct SearchIndex {
    resident: Arc<Resident>,
    /// The requested theme, if it exists.
    pub theme: Option<FoundTheme>,
    pub with_turns: bool,
    pub scope: ViewerScope,
    /// Use the query's entities.
    pub with_entities: bool,
    /// Name of the memory owner's time zone.
    pub time_zone: String,
    pub serving: Serving,
    /// The space of its embeddings.
    pub space: Option<SpaceId>,
    /// Set for an index read for this search only; no other large one is read until it is dropped.
    pub(super) large: Option<Arc<OwnedSemaphorePermit>>,
}

/// Embeddings read per statement.
const PAGE: i64 = 5_000;
/// A larger index is searched on a blocking thread.
const PASSAGES_INLINE: usize = 20_000;

impl SearchIndex {
    pub(super) fn new(
        resident: Arc<Resident>,
        standing: &MemoryState,
        space: Option<SpaceId>,
    ) -> Self {
        Self {
            resident,
            theme: standing.theme.clone(),
            with_turns: standing.turns_searched,
            scope: standing.scope,
            with_entities: standing.entities_searched,
            time_zone: standing.time_zone.clone(),
            serving: standing.serving.clone(),
            space,
            large: None,
        }
    }

    /// For a large index: reads the embeddings and stores their passages' distances from this vector.
    ///
    /// # Errors
    /// Database errors only.
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
        let mut after = (0, 0);
        loop {
            let page = store::list_vectors(conn, user, space, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = (last.source_id, last.passage);
            let index = self.read().await;
            distances.extend(page.iter().filter_map(|of| {
                let mut passages = index.passages_of(index.find(of.source_id)?);
                let passage = passages.nth(usize::try_from(of.passage).ok()?)?;
                let distance = vectors::exact_distance(&of.vector, vector.values())?;
                Some((u32::try_from(passage).ok()?, distance))
            }));
        }
        let mut index = self.resident.index.write().await;
        index.vectors.set_measured(distances);
        Ok(())
    }

    /// The requested theme for lent memory, where it is found by its slug.
    pub fn theme_to_lend(&self, asked: Option<&ThemeFilter>) -> Option<ThemeFilter> {
        let here = self.theme.as_ref().map(|theme| &theme.slug);
        asked.map(|asked| ThemeFilter { slug: here.unwrap_or(&asked.slug).clone(), name: None })
    }

    /// Excludes turns, for lent memory.
    pub fn leave_turns_out(&mut self) {
        self.with_turns = false;
        self.scope.sees_turns = false;
    }

    /// Whether it was read for this search only.
    pub fn is_large(&self) -> bool {
        self.large.is_some()
    }

    /// Locks the index for reading.
    pub async fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.resident.index.read().await
    }

    /// Whether any of its sources is of a project.
    pub async fn has_projects(&self) -> bool {
        !self.read().await.projects.is_empty()
    }

    /// Calls `look` with the index; on a blocking thread if the index is large.
    ///
    /// # Errors
    /// If the server is shutting down.
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
}
