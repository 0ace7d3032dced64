//! The end of a rebuild: the building space becomes the active one.

use super::store::set_problem;
use crate::db::UserId;
use crate::embedding::model::Space;
use crate::embedding::overview::store::count_states;
use crate::embedding::spaces::Spaces;
use crate::embedding::{EmbeddingError, Embeddings, store};

impl Embeddings {
    /// Replaces the active space by the building one if nothing is pending in it, in one write transaction of the user.
    /// Returns true if something is still pending.
    pub(super) async fn swap(
        &self,
        user: UserId,
        building: &Space,
    ) -> Result<bool, EmbeddingError> {
        let now = self.now();
        let mut tx = self.db.as_writer(user).await?;
        let spaces = Spaces::of(&mut tx, user).await?;
        let is_current = spaces.building.as_ref().is_some_and(|b| b.id == building.id);
        if !is_current {
            return Ok(false);
        }
        store::insert_missing(&mut tx, user, building.id, now).await?;
        let counts = count_states(&mut tx, user, building.id, now).await?;
        let is_complete = counts.pending == 0;
        let is_worth_it = !counts.are_all_failed() || spaces.active.is_none();
        if !is_complete || !is_worth_it {
            if is_complete {
                let sentence = "No memory could be embedded; search keeps the old embeddings.";
                let never = now + time::Duration::days(1);
                set_problem(&mut tx, user, building.id, sentence, never).await?;
            }
            tx.commit().await?;
            return Ok(!is_complete);
        }
        store::retire_active(&mut tx, user, now).await?;
        store::forget_removed_key(&mut tx, user).await?;
        store::activate(&mut tx, user, building.id, now).await?;
        tx.commit().await?;
        tracing::info!(
            user = user.0,
            items = counts.ready,
            failed = counts.failed,
            "a rebuilt space took over"
        );
        Ok(false)
    }
}
