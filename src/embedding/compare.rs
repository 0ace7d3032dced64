//! For whoever compares what two models make of one memory: the space that serves and the one
//! that served before it, and a question's vector in either. It must change nothing.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{NamedWord, QueryVector, Space, without_speakers};
use super::query::has_signs;
use super::spaces::Spaces;
use super::{COMPARED_FOR, Embeddings};
use crate::db::UserId;
use crate::providers::AskedFor;
use crate::providers::chat::estimated_tokens;

pub struct Compared {
    pub now: Space,
    /// For a day, unless a rebuild is under way.
    pub before: Option<Before>,
}

/// The space that served before.
pub struct Before {
    pub space: Space,
    /// When it is compared no more.
    pub until: OffsetDateTime,
}

impl Embeddings {
    /// `None` where nothing serves, or is switched off.
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
        // It served until this one did.
        let before = spaces
            .retired
            .into_iter()
            .find(|space| space.retired_at == now.activated_at)
            .filter(|_| spaces.building.is_none() && self.now() < until)
            .map(|space| Before { space, until });
        Ok(Some(Compared { now, before }))
    }

    /// A question's vector in this space, from its own model, and kept nowhere; and the tokens that
    /// were sent for it, about.
    ///
    /// # Errors
    /// Why there is none, as a clause.
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
        let answer = self.ask(user, &asked, &query, AskedFor::Evaluation).await?;
        let vector = QueryVector {
            space_id: space.id,
            vector: answer.vector,
            tokens: answer.tokens.filter(|_| has_signs(space, &system)),
            speakers,
        };
        Ok((vector, tokens))
    }
}
