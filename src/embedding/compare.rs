//! For whoever compares what two models make of one memory: the space that serves and the one
//! that served before it, and a question's vector in either. It must change nothing.

use super::model::{NamedWord, QueryVector, Space, SpaceId, without_speakers};
use super::spaces::Spaces;
use super::{Embeddings, store};
use crate::db::UserId;

pub struct Compared {
    pub now: Space,
    /// While its rows are there, which is [`super::RETIRED_FOR`] or a little more.
    pub before: Option<Space>,
}

impl Embeddings {
    /// `None` where nothing serves, or is switched off.
    pub async fn spaces_to_compare(&self, user: UserId) -> Result<Option<Compared>, sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        let (_, effective) = self.effective(&mut tx, user).await?;
        let Some(now) = Spaces::of(&mut tx, user).await?.active else {
            return Ok(None);
        };
        let before = store::find_retired(&mut tx, user).await?;
        Ok(effective.settings().map(|_| Compared { now, before }))
    }

    async fn speakers(
        &self,
        user: UserId,
        names: &[NamedWord],
    ) -> Result<Vec<String>, sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        Ok(store::find_serving(&mut tx, user, names).await?.speakers)
    }

    pub async fn is_space_there(&self, user: UserId, space: SpaceId) -> Result<bool, sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        Ok(store::find_retired(&mut tx, user)
            .await?
            .is_some_and(|found| found.id == space))
    }

    /// A question's vector in this space, from its own model, and kept nowhere.
    ///
    /// # Errors
    /// Why there is none, as a clause.
    pub async fn vector_in(
        &self,
        user: UserId,
        space: &Space,
        text: &str,
        names: &[NamedWord],
    ) -> Result<QueryVector, String> {
        let speakers = self
            .speakers(user, names)
            .await
            .map_err(|error| error.to_string())?;
        let query = without_speakers(text, names, &speakers);
        let system = self.system_settings().await;
        let system = system.map_err(|error| error.to_string())?;
        let asked = self.with_prefix_in_force(space.clone(), &system);
        let vector = self.ask(user, &asked, &query).await?;
        Ok(QueryVector {
            space_id: space.id,
            vector,
            speakers,
        })
    }
}
