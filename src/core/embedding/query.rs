//! Embeds a query: from the cache, or by the serving space's provider, with a deadline. If that fails, the search uses words
//! only and says why.

use std::sync::PoisonError;
use std::time::Duration;

use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::model::{
    HeldVectors, NamedWord, QueryAnswer, QueryVector, Serving, Space, SpaceId, TokenSigns,
    without_speakers,
};
use super::tokens::QueryTokens;
use super::{Embeddings, Vector, has_provider, store};
use crate::db::{Tx, UserId};
use crate::providers::settings::SystemEmbeddingSettings;
use crate::providers::{Endpoint, ProviderError, QueryPriority};
use crate::redaction::TextDoor;

/// After this, a search continues with words only.
pub const QUERY_DEADLINE: Duration = Duration::from_millis(1_500);

/// Long: no user waits, and the endpoint may have to load its model first.
const EVALUATION_DEADLINE: Duration = Duration::from_secs(30);

/// Longest `Retry-After` that is honoured.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

const WARM_UP_DEADLINE: Duration = Duration::from_secs(60);

/// Also shown on the page where a rebuild is started.
pub(super) const OTHER_WIDTH: &str = "the endpoint answers with vectors of another width than this space was built with; start a rebuild in Settings › Embeddings";

const CANCELLED: &str =
    "the rebuild of the embeddings was cancelled, so this was found by words alone";

/// How a clause begins that says how many wait.
pub const PENDING: &str = "embeddings are pending";

/// How many sources have no embedding, as a clause; `None` if all have one.
pub fn unready([waiting, failed]: [usize; 2]) -> Option<String> {
    let texts = |count| if count == 1 { "1 text".to_owned() } else { format!("{count} texts") };
    let mut clauses = Vec::new();
    if waiting > 0 {
        clauses.push(format!("{PENDING} for {}", texts(waiting)));
    }
    if failed > 0 {
        clauses.push(format!("the embedding of {} failed", texts(failed)));
    }
    (!clauses.is_empty()).then(|| format!("{}; found by words alone", clauses.join(" and ")))
}

/// User, space, and a hash of prefix and query: the text itself is not kept.
pub(super) type CacheKey = (i64, i64, [u8; 32]);
fn key(user: UserId, space: SpaceId, prefix: &str, text: &str) -> CacheKey {
    let hash = Sha256::new().chain_update(prefix).chain_update([0]).chain_update(text);
    (user.0, space.0, hash.finalize().into())
}

/// The result of embedding a query.
#[derive(Clone, Debug, Default)]
pub struct QueryEmbedding {
    pub vector: Option<QueryVector>,
    /// Why only words are used, as a clause; `None` if not, or if there is nothing to compare with.
    pub degraded: Option<String>,
    /// See [`HeldVectors::unready`].
    pub unready: [usize; 2],
}

impl QueryEmbedding {
    fn degraded(reason: impl Into<String>) -> Self {
        Self { degraded: Some(reason.into()), ..Self::default() }
    }
}

/// Whether searches in this space use late interaction.
pub(super) fn has_signs(space: &Space, system: &SystemEmbeddingSettings) -> bool {
    system.late_interaction && space.token_signs == TokenSigns::All
}

/// Why no provider is used, by the rules of [`Effective`](crate::providers::settings::Effective).
fn words_alone(serving: &Serving, system: &SystemEmbeddingSettings) -> Option<&'static str> {
    match (serving.enabled, has_provider(true, serving.own_enabled, system)) {
        (false, _) => Some("embeddings are switched off, so this was found by words alone"),
        (true, false) => Some("no embedding provider is set up, so this was found by words alone"),
        (true, true) => None,
    }
}

impl Embeddings {
    /// Embeds the query; a failure becomes the reason in the result. On a cache miss, the transaction is ended before the
    /// provider is called, and `None` is returned for it.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn query_vector(
        &self,
        mut tx: Tx,
        user: UserId,
        serving: Serving,
        held: HeldVectors,
        text: &str,
        names: &[NamedWord],
    ) -> Result<(Option<Tx>, QueryEmbedding), sqlx::Error> {
        let system = self.system_settings().await?;
        if let Some(reason) = words_alone(&serving, &system) {
            return Ok((Some(tx), QueryEmbedding::degraded(reason)));
        }
        let Some(space) = serving.space else {
            let (settings, effective) = self.effective(&mut tx, user).await?;
            let why = unready(held.unready).map(|why| match settings.awaited(&effective) {
                Some(_) => QueryEmbedding::degraded(why),
                None => QueryEmbedding::degraded(CANCELLED),
            });
            return Ok((Some(tx), why.unwrap_or_default()));
        };
        if !held.has_ready {
            // Nothing to compare with: do not call the provider.
            let why = unready(held.unready).map(|why| match &space.problem {
                None => QueryEmbedding::degraded(why),
                Some(problem) => {
                    QueryEmbedding::degraded(format!("{why}: {}", problem.trim_end_matches('.')))
                }
            });
            return Ok((Some(tx), why.unwrap_or_default()));
        }
        let space = self.with_prefix_in_force(space, &system);
        let query = without_speakers(text, names, &held.speakers);
        let key = key(user, space.id, &space.settings.query_prefix, &query);
        let (answer, tx) = match self.cached(&key) {
            Some(known) => (known, Some(tx)),
            None => {
                // Read only.
                drop(tx);
                match self.ask(user, &space, &query, self.asked_for).await {
                    Ok(answer) => (self.keep(key, answer), None),
                    Err(reason) => {
                        let reason = format!("{reason}; found by words alone");
                        return Ok((None, QueryEmbedding::degraded(reason)));
                    }
                }
            }
        };
        let embedding = QueryEmbedding {
            vector: Some(QueryVector {
                space_id: space.id,
                is_fitted: space.settings.has_fitted_scale(),
                vector: answer.vector,
                tokens: answer.tokens.filter(|_| has_signs(&space, &system)),
                speakers: held.speakers,
            }),
            degraded: None,
            unready: held.unready,
        };
        Ok((tx, embedding))
    }

    /// Replaces the stored prefix of a system provider's space: the admin may have changed it since.
    pub(super) fn with_prefix_in_force(
        &self,
        mut space: Space,
        system: &SystemEmbeddingSettings,
    ) -> Space {
        if let Some(provider) = &system.provider
            && provider.system_provider_id == space.settings.system_provider_id
        {
            space.settings.query_prefix.clone_from(&provider.query_prefix);
        }
        space
    }

    /// Loads the builtin model if it is used, so that the first search does not wait for it.
    pub async fn warm_up(&self) {
        let system = self.system_settings().await.ok();
        let system = system.filter(|s| s.builtin_enabled && s.provider.is_none());
        let model = system.map(|system| system.builtin_model);
        if let Some(model) = model.filter(|model| self.shared.embedder.has(*model)) {
            let warmed = self
                .shared
                .embedder
                .embed_query(
                    QueryPriority::Search,
                    &Endpoint::builtin(model.name()),
                    "warm".to_owned(),
                    WARM_UP_DEADLINE,
                )
                .await;
            if let Err(error) = warmed
                && error != ProviderError::Busy
            {
                tracing::warn!(%error, "the builtin model cannot be used");
            }
        }
    }

    fn cached(&self, key: &CacheKey) -> Option<QueryAnswer> {
        let mut queries = self.shared.queries.lock().unwrap_or_else(PoisonError::into_inner);
        queries.get(key).cloned()
    }

    fn keep(&self, key: CacheKey, known: QueryAnswer) -> QueryAnswer {
        let mut queries = self.shared.queries.lock().unwrap_or_else(PoisonError::into_inner);
        queries.put(key, known.clone());
        known
    }

    /// The query without what is private, and with secrets as the user has set. The error is the reason, as a clause.
    async fn screened(&self, user: UserId, text: &str) -> Result<String, &'static str> {
        let mut query = text.to_owned();
        let field = ("query", &mut query);
        let screened = self.redactor().screen_text(user, None, TextDoor::Query, field);
        screened.await.map_err(|_| "the query could not be checked for secrets")?;
        match query.trim().is_empty() && !text.trim().is_empty() {
            true => Err("the query is private as a whole, so it was not embedded"),
            false => Ok(query),
        }
    }

    /// A hint: if it is not stored, the next search is told the same.
    async fn wait(&self, user: UserId, space: &Space, until: OffsetDateTime) {
        let stored = async {
            let mut tx = self.db.as_user_async_commit(user).await?;
            store::set_wait(&mut tx, user, space.id, until).await?;
            tx.commit().await
        };
        if let Err(error) = stored.await {
            tracing::debug!(%error, "how long an endpoint wants to be left alone was not stored");
        }
    }

    /// The error is the reason, as a clause.
    pub(super) async fn ask(
        &self,
        user: UserId,
        space: &Space,
        text: &str,
        asked_for: QueryPriority,
    ) -> Result<QueryAnswer, String> {
        let text = self.screened(user, text).await?;
        let now = self.now();
        let breakers = &self.shared.breakers;
        // The builtin model runs in this process: it can be slow, but not dead.
        let has_breaker = !space.settings.is_builtin() && asked_for != QueryPriority::Evaluation;
        if has_breaker && !breakers.admits(user, space.id, now) {
            return Err(
                "the embedding endpoint has failed several times and is left alone for a moment"
                    .to_owned(),
            );
        }
        if space.wait_until.is_some_and(|until| now < until) {
            return Err("the embedding endpoint asked to be called later".to_owned());
        }
        let endpoint = self.endpoint(user, space).await;
        let endpoint = endpoint.map_err(|error| error.to_string())?;
        let query = format!("{}{text}", space.settings.query_prefix);
        let deadline = match asked_for {
            QueryPriority::Search | QueryPriority::Job => self.query_deadline,
            QueryPriority::Evaluation => EVALUATION_DEADLINE,
        };
        let embedder = &self.shared.embedder;
        let asked = embedder.embed_query(asked_for, &endpoint, query, deadline);
        let embedded = match asked.await {
            Ok(embedded) => embedded,
            Err(error) => {
                if let Some(wait) = error.retry_after() {
                    self.wait(user, space, now + wait.min(WAIT_MAX)).await;
                }
                // A rejected input does not mean that the endpoint is broken.
                if has_breaker && !error.is_about_the_input() {
                    breakers.failed(user, space.id, now);
                }
                return Err(error.to_string());
            }
        };
        if has_breaker {
            breakers.succeeded(user, space.id);
        }
        let values = embedded.vectors.first().map(Vec::as_slice).unwrap_or_default();
        if space.dimensions.is_some_and(|d| d as usize != values.len()) {
            return Err(OTHER_WIDTH.to_owned());
        }
        let tokens = embedded.tokens.first().map_or(&[][..], Vec::as_slice);
        Ok(QueryAnswer {
            tokens: QueryTokens::new(tokens, values.len()),
            vector: Vector::from_answer(values).map_err(|error| error.to_string())?,
        })
    }
}
