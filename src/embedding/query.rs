//! The vector of a query: from the cache, or from the provider of the space that
//! serves, with a deadline. Where there is none, full text answers alone and the
//! answer says why.

use std::sync::PoisonError;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::model::{NamedWord, QueryVector, Serving, Space, SpaceId, without_speakers};
use super::{Embeddings, Vector, store};
use crate::db::{Tx, UserId};
use crate::providers::settings::SystemSettings;
use crate::providers::{Endpoint, ProviderError, ProviderType};

/// Past this a search goes on by words (DESIGN §10).
pub const QUERY_DEADLINE: Duration = Duration::from_millis(1_500);

const WARM_UP_DEADLINE: Duration = Duration::from_secs(60);

/// Said on the page too, where the rebuild begins.
pub(super) const OTHER_WIDTH: &str = "the endpoint answers with vectors of another width than this space was built with; start a rebuild in Settings › Embeddings";

/// User, space and the hash of the query: its words are kept nowhere.
pub(super) type CacheKey = (i64, i64, [u8; 32]);
/// A query's vector, and the speakers without whom it was made.
pub(super) type Known = (Vector, Vec<String>);

fn key(user: UserId, space: SpaceId, text: &str) -> CacheKey {
    (user.0, space.0, Sha256::digest(text.as_bytes()).into())
}

/// What a search has to go by, besides words.
#[derive(Clone, Debug, Default)]
pub struct QueryEmbedding {
    pub vector: Option<QueryVector>,
    /// Why it goes by words alone, as a clause; `None` when it does not, or when
    /// there is nothing yet that could be found by meaning.
    pub degraded: Option<String>,
}

impl QueryEmbedding {
    fn degraded(reason: impl Into<String>) -> Self {
        Self {
            vector: None,
            degraded: Some(reason.into()),
        }
    }
}

impl Embeddings {
    /// The query's vector as this server knows it without asking anybody: from the
    /// cache, in the space that served the user last. Whether it still does, the search's own
    /// statement tells, so that a query that is asked again costs no look-up.
    /// `None` too where only a provider of their own might serve, since they may have switched it off.
    ///
    /// # Errors
    /// Only what the database says.
    pub async fn recall(
        &self,
        user: UserId,
        text: &str,
    ) -> Result<Option<QueryVector>, sqlx::Error> {
        if !self.has_shared_provider(&self.system_settings().await?) {
            return Ok(None);
        }
        let mut served = self.0.served.lock().unwrap_or_else(PoisonError::into_inner);
        let last = served.get(&user.0).copied();
        drop(served);
        Ok(last.and_then(|space_id| {
            let (vector, speakers) = self.cached(&key(user, space_id, text))?;
            Some(QueryVector {
                space_id,
                vector,
                speakers,
            })
        }))
    }

    /// A transaction that knows its user, for the search, and the query's vector.
    /// What goes wrong with the vector is the reason in the answer. One look-up
    /// tells what serves, and which of the query's names speak; only where the vector is
    /// not known yet is the connection given back while the provider is asked.
    ///
    /// # Errors
    /// Only what the database says.
    pub async fn begin_search(
        &self,
        user: UserId,
        text: &str,
        names: &[NamedWord],
    ) -> Result<(Tx, QueryEmbedding), sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        let serving = store::find_serving(&mut tx, user, names).await?;
        let system = self.system_settings().await?;
        if let Some(reason) = self.words_alone(&serving, &system) {
            return Ok((tx, QueryEmbedding::degraded(reason)));
        }
        let Some(space) = serving.space else {
            return Ok((tx, QueryEmbedding::default()));
        };
        self.served_by(user, space.id);
        let key = key(user, space.id, text);
        let (vector, speakers) = match self.cached(&key) {
            Some(known) => known,
            None => {
                tx.commit().await?;
                let query = without_speakers(text, names, &serving.speakers);
                let asked = self.ask(user, &space, &query).await;
                tx = self.0.db.as_user(user).await?;
                match asked {
                    Ok(vector) => self.keep(key, (vector, serving.speakers)),
                    Err(reason) => return Ok((tx, QueryEmbedding::degraded(reason))),
                }
            }
        };
        let space_id = space.id;
        let vector = Some(QueryVector {
            space_id,
            vector,
            speakers,
        });
        let degraded = None;
        Ok((tx, QueryEmbedding { vector, degraded }))
    }

    /// Why no provider is in force, by the rules of [`Effective`](crate::providers::settings::Effective).
    fn words_alone(&self, serving: &Serving, system: &SystemSettings) -> Option<&'static str> {
        let has_provider = serving.own_enabled || self.has_shared_provider(system);
        match (serving.enabled, has_provider) {
            (false, _) => Some("embeddings are switched off, so this was found by words alone"),
            (true, false) => {
                Some("no embedding provider is set up, so this was found by words alone")
            }
            (true, true) => None,
        }
    }

    fn has_shared_provider(&self, system: &SystemSettings) -> bool {
        system.provider.is_some() || system.builtin_enabled && self.0.embedder.has_builtin()
    }

    /// Reads the builtin model where it serves, so that the first search need not wait for it.
    pub async fn warm_up(&self) {
        let is_wanted = self
            .system_settings()
            .await
            .is_ok_and(|s| s.builtin_enabled && s.provider.is_none());
        if is_wanted && self.0.embedder.has_builtin() {
            let warmed = self
                .0
                .embedder
                .embed_query(&Endpoint::builtin(), "warm".to_owned(), WARM_UP_DEADLINE)
                .await;
            if let Err(error) = warmed {
                tracing::warn!(%error, "the builtin model cannot be used");
            }
        }
    }

    fn served_by(&self, user: UserId, space: SpaceId) {
        let mut served = self.0.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.put(user.0, space);
    }

    fn cached(&self, key: &CacheKey) -> Option<Known> {
        let mut queries = self
            .0
            .queries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        queries.get(key).cloned()
    }

    fn keep(&self, key: CacheKey, known: Known) -> Known {
        let mut queries = self
            .0
            .queries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        queries.put(key, known.clone());
        known
    }

    pub(super) async fn ask(
        &self,
        user: UserId,
        space: &Space,
        text: &str,
    ) -> Result<Vector, String> {
        let words_alone = |why: &dyn std::fmt::Display| format!("{why}; found by words alone");
        let now = self.0.clock.now();
        let breakers = &self.0.breakers;
        if !breakers.admits(user, space.id, now) {
            return Err(words_alone(
                &"the embedding endpoint has failed several times and is left alone for a moment",
            ));
        }
        let endpoint = match self.endpoint(user, space).await {
            Ok(endpoint) => endpoint,
            Err(error) => return Err(words_alone(&error)),
        };
        let query = format!("{}{text}", space.settings.query_prefix);
        let answer = self
            .0
            .embedder
            .embed_query(&endpoint, query, QUERY_DEADLINE)
            .await;
        let embedded = match answer {
            Ok(embedded) => embedded,
            Err(error) => {
                // The builtin model is late when it has much to do, never because it is dead.
                let is_busy = space.settings.provider_type == ProviderType::Builtin
                    && error == ProviderError::TimedOut;
                // A question that the model does not take says nothing about the endpoint.
                if !error.is_about_the_input() && !is_busy {
                    breakers.failed(user, space.id, now);
                }
                return Err(if is_busy {
                    words_alone(&"the builtin model is busy")
                } else {
                    words_alone(&error)
                });
            }
        };
        breakers.succeeded(user, space.id);
        let values = embedded
            .vectors
            .first()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if space.dimensions.is_some_and(|d| d as usize != values.len()) {
            return Err(words_alone(&OTHER_WIDTH));
        }
        Vector::from_answer(values).map_err(|error| words_alone(&error))
    }
}
