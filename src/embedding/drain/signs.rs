//! Keeps the signs of tokens as the admin's switch says: made for what had its vector before, and removed where late
//! interaction is switched off.

use super::{Drained, Of, TEXTS_A_PAGE, first_group, store};
use crate::db::UserId;
use crate::embedding::model::TokenSigns;
use crate::embedding::{EmbeddingError, Embeddings};
use crate::providers::settings::Pace;
use crate::queue::Slice;

/// Removed in one transaction.
const REMOVED_AT_ONCE: i64 = 1_000;

impl Embeddings {
    /// Before anything is sent: from here on what is made has its signs, or nothing has any more. How it stands.
    pub(super) async fn begin_signs(
        &self,
        user: UserId,
        of: Of<'_>,
    ) -> Result<TokenSigns, EmbeddingError> {
        let now = of.space.token_signs;
        let becomes = match (now, of.with_signs) {
            (TokenSigns::None, true) => TokenSigns::Some,
            (TokenSigns::Some | TokenSigns::All, false) => {
                self.set_token_signs(user, of, TokenSigns::Some).await?;
                self.remove_signs(user, of).await?;
                TokenSigns::None
            }
            _ => return Ok(now),
        };
        self.set_token_signs(user, of, becomes).await?;
        Ok(becomes)
    }

    async fn set_token_signs(
        &self,
        user: UserId,
        of: Of<'_>,
        which: TokenSigns,
    ) -> Result<(), sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        store::set_token_signs(&mut tx, user, of.space.id, which).await?;
        tx.commit().await
    }

    async fn remove_signs(&self, user: UserId, of: Of<'_>) -> Result<(), sqlx::Error> {
        let mut after = 0;
        loop {
            let mut tx = self.0.db.as_user_again(user).await?;
            let space = of.space.id;
            let removed = store::remove_signs(&mut tx, user, space, after, REMOVED_AT_ONCE).await?;
            tx.commit().await?;
            let Some(last) = removed else { return Ok(()) };
            after = last;
        }
    }

    /// Makes the signs of what has its vector and none of them, until the slice is over.
    pub(super) async fn make_signs(
        &self,
        user: UserId,
        of: Of<'_>,
        pace: Pace,
        slice: &Slice,
    ) -> Result<Drained, EmbeddingError> {
        let space = of.space;
        let endpoint = self.endpoint(user, space).await?;
        slice.calls(endpoint.url.as_str());
        let batch = pace.batch_size.max(1) as usize;
        let mut after = 0;
        loop {
            let mut tx = self.0.db.as_user_again(user).await?;
            let page = TEXTS_A_PAGE as i64;
            let rows = store::list_without_signs(&mut tx, user, space.id, after, page).await?;
            tx.commit().await?;
            let Some(last) = rows.last() else { break };
            after = last.source_id;
            let mut rest = rows.as_slice();
            while !rest.is_empty() {
                if slice.is_over() {
                    return Ok(Drained::More(rest.len()));
                }
                let (group, more) = rest.split_at(first_group(space, rest, batch));
                rest = more;
                let answered = self.send_group(&endpoint, of, group, batch).await;
                let mut tx = self.0.db.as_user_again(user).await?;
                store::write_signs(&mut tx, user, space.id, &answered.written).await?;
                tx.commit().await?;
                slice.note(answered.written.len(), 0);
                if let Some(trouble) = answered.trouble {
                    return Ok(Drained::Later(self.note(user, space, trouble).await?));
                }
            }
        }
        self.set_token_signs(user, of, TokenSigns::All).await?;
        Ok(Drained::Done)
    }
}
