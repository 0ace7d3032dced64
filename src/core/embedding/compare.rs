//! Read access for comparing two models on one memory: the serving space and the one before it, and a query's embedding in
//! either. Must not change anything.

use sqlx::PgConnection;

use super::model::{NamedWord, QueryVector, Space, without_speakers};
use super::query::has_signs;
use super::spaces::Spaces;
use super::{COMPARED_FOR, Embeddings};
use crate::db::UserId;
use crate::providers::QueryPriority;
use crate::providers::chat::estimated_tokens;

pub struct Compared {
    pub now: Space,
    /// The previously serving space; available for a day, unless a rebuild is running.
    pub before: Option<Space>,
}

impl Embeddings {
    /// `None` if no space is serving or embeddings are switched off.
    pub async fn compared(
        &self,
        conn: &mut PgConnection,
        user: UserId,
    ) -> Result<Option<Compared>, sqlx::Error> {
        let (_, effective) = self.effective(conn, user).await?;
        let spaces = Spaces::of(conn, user).await?;
        let Some(now) = spaces.active.filter(|_| effective.settings().is_some()) else {
            return Ok(None);
        };
        let until = now.activated_at.unwrap_or(now.created_at) + COMPARED_FOR;
        // It must have served until the current one took over.
        let before = spaces
            .retired
            .into_iter()
            .find(|space| space.retired_at == now.activated_at)
            .filter(|_| spaces.building.is_none() && self.now() < until);
        Ok(Some(Compared { now, before }))
    }

    /// A query's embedding from this space's own model, not cached; and the approximate tokens sent.
    ///
    /// # Errors
    /// The reason, as a clause.
    pub async fn vector_in(
        &self,
        user: UserId,
        space: &Space,
        text: &str,
        names: &[NamedWord],
        speakers: Vec<String>,
    ) -> Result<(QueryVector, u64), String> {
        let query = without_speakers(text, names, &speakers);
        let system = self.system_settings().await;
        let system = system.map_err(|error| error.to_string())?;
        let asked = self.with_prefix_in_force(space.clone(), &system);
        let tokens = estimated_tokens(&asked.settings.query_prefix) + estimated_tokens(&query);
        let answer = self.ask(user, &asked, &query, QueryPriority::Evaluation).await?;
        let vector = QueryVector {
            space_id: space.id,
            is_fitted: space.settings.has_fitted_scale(),
            vector: answer.vector,
            tokens: answer.tokens.filter(|_| has_signs(space, &system)),
            speakers,
        };
        Ok((vector, tokens))
    }
}
