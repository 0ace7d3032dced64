//! Creates or removes stored token signs when an admin switches late interaction on or off.

use super::{DrainWork, Drained, SpaceWork, store};
use crate::db::UserId;
use crate::embedding::model::TokenSigns;
use crate::embedding::{EmbeddingError, Embeddings};
use crate::providers::settings::Pace;
use crate::queue::Slice;

/// Limit per transaction.
const REMOVED_AT_ONCE: i64 = 1_000;

impl Embeddings {
    /// Marks the space as changing before anything is sent, and returns its state. New embeddings follow the switch at once.
    pub(super) async fn begin_signs(
        &self,
        user: UserId,
        of: SpaceWork<'_>,
    ) -> Result<TokenSigns, sqlx::Error> {
        match (of.space.token_signs, of.with_signs) {
            (TokenSigns::None, true) | (TokenSigns::All, false) => {
                self.set_token_signs(user, of, TokenSigns::Some).await
            }
            (as_it_is, _) => Ok(as_it_is),
        }
    }

    async fn set_token_signs(
        &self,
        user: UserId,
        of: SpaceWork<'_>,
        which: TokenSigns,
    ) -> Result<TokenSigns, sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        store::set_token_signs(&mut tx, user, of.space.id, which).await?;
        tx.commit().await?;
        Ok(which)
    }

    /// Creates or removes token signs until all match the switch or the slice is over.
    pub(super) async fn end_signs(
        &self,
        user: UserId,
        of: SpaceWork<'_>,
        pace: Pace,
        slice: &Slice,
    ) -> Result<Drained, EmbeddingError> {
        let work = DrainWork::Signs;
        let (drained, becomes) = match of.with_signs {
            true => {
                let drained = self.drain_space(user, SpaceWork { work, ..of }, pace, slice);
                (drained.await?, TokenSigns::All)
            }
            false => (self.remove_signs(user, of, slice).await?, TokenSigns::None),
        };
        if drained == Drained::Done {
            self.set_token_signs(user, of, becomes).await?;
        }
        Ok(drained)
    }

    async fn remove_signs(
        &self,
        user: UserId,
        of: SpaceWork<'_>,
        slice: &Slice,
    ) -> Result<Drained, sqlx::Error> {
        let mut after = 0;
        loop {
            let mut tx = self.db.as_user_async_commit(user).await?;
            let space = of.space.id;
            let removed = store::remove_signs(&mut tx, user, space, after, REMOVED_AT_ONCE).await?;
            tx.commit().await?;
            let Some(last) = removed else {
                return Ok(Drained::Done);
            };
            after = last;
            if slice.is_over() {
                // No tokens are sent for it, so the amount does not matter.
                return Ok(Drained::More(1));
            }
        }
    }
}
