//! The life cycle of embeddings: which space serves a user, how an item goes from pending to ready or error, and how a space
//! replaces another during searches. No connection is held during a provider call, and a late answer of an old model never
//! overwrites anything.

mod breaker;
mod change;
mod compare;
mod drain;
mod health;
pub mod model;
mod overview;
mod query;
pub mod reseal;
mod spaces;
pub mod store;
mod sweep;
mod system;
pub mod tokens;
pub mod vector;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lru::LruCache;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

pub use change::Saved;
pub use compare::Compared;
pub use drain::Drained;
pub use health::{BuiltinState, ProviderTrouble, Retried, SystemProviderState};
pub use model::{
    EmbeddingState, HeldVectors, ItemEmbedding, NamedWord, Noted, PendingMemories, QueryAnswer,
    QueryVector, SpaceId, Texts, tokens_of,
};
pub use overview::{EmbeddingOverview, RebuildProgress};
pub use query::{PENDING, QUERY_DEADLINE, QueryEmbedding, unready};
pub use reseal::{OnlyRotation, Resealed};
pub use spaces::serving_space;
pub use system::{OpenEmbeddings, SystemOverview, SystemSaved};
pub use vector::{DIMENSIONS, Vector};

use crate::clock::SharedClock;
use crate::db::{self, Db, UserId};
use crate::input::Invalid;
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::{
    self, Effective, SpaceSettings, SystemEmbeddingSettings, UserEmbeddingSettings,
};
use crate::providers::{Embedder, EndpointUrl, ProviderError, QueryPriority};
use crate::queue;
use crate::quota::Quota;
use crate::redaction::Redactor;
use crate::seal::{SealError, Sealer};

/// Above this many pending embeddings, adds are refused.
pub const PENDING_MAX: i64 = 1_000_000;
/// How long a retired space's embeddings are kept, in case its settings are chosen again.
pub const RETIRED_FOR: Duration = Duration::days(30);
/// Limit on the retired spaces, newest kept.
pub const RETIRED_MAX: usize = 2;
/// How long the space before a rebuild can be compared with the current one, unless another rebuild begins.
pub const COMPARED_FOR: Duration = Duration::days(1);
/// How long a retired space answers searches that began before the swap.
pub const SEARCHED_FOR: Duration = Duration::seconds(60);
/// The rate of a rebuild is measured over this time.
pub const RATE_WINDOW: Duration = Duration::seconds(10);
const SYSTEM_SETTINGS_KEPT_FOR: std::time::Duration = std::time::Duration::from_secs(1);
const QUERY_CACHE_ENTRIES: NonZeroUsize = NonZeroUsize::new(1_024).expect("not zero");

#[derive(Debug, thiserror::Error)]
pub enum EmbeddingError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(
        "{PENDING_MAX} embeddings are pending; nothing was added: look at Settings › Embeddings for what holds them up, or try again later"
    )]
    TooManyPending,
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl EmbeddingError {
    /// Whether the user's account was erased during the work.
    pub fn is_of_a_gone_user(&self) -> bool {
        match self {
            Self::Database(error) => db::is_of_a_gone_user(error),
            _ => false,
        }
    }

    /// Stable, part of the API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(invalid) => invalid.code,
            Self::TooManyPending => "too_many_pending",
            Self::Seal(_) => "unreadable_key",
            Self::Provider(_) => "provider_failed",
            Self::Database(_) => "database_unavailable",
        }
    }
}

/// Cheap to clone; one is created at startup.
#[derive(Clone)]
pub struct Embeddings {
    db: Db,
    asked_for: QueryPriority,
    /// After this, a search continues with words only.
    query_deadline: std::time::Duration,
    shared: Arc<SharedEmbeddings>,
}

struct SharedEmbeddings {
    redactor: Redactor,
    quota: Quota,
    clock: SharedClock,
    embedder: Embedder,
    sealer: Sealer,
    /// From `KEEPSAKE_LLAMACPP_URL`: applied at startup if nothing must be rebuilt, else offered to the admin.
    offered: Option<EndpointUrl>,
    queries: Mutex<LruCache<query::CacheKey, QueryAnswer>>,
    breakers: breaker::Breakers,
    system: Mutex<Option<(Instant, SystemEmbeddingSettings)>>,
}

impl Embeddings {
    pub fn new(
        db: Db,
        clock: SharedClock,
        embedder: Embedder,
        sealer: Sealer,
        offered: Option<EndpointUrl>,
    ) -> Self {
        let shared = SharedEmbeddings {
            redactor: Redactor::new(db.clone(), clock.clone(), sealer.clone()),
            quota: Quota::new(db.clone(), clock.clone()),
            clock,
            embedder,
            sealer,
            offered,
            queries: Mutex::new(LruCache::new(QUERY_CACHE_ENTRIES)),
            breakers: breaker::Breakers::default(),
            system: Mutex::new(None),
        };
        Self {
            db,
            asked_for: QueryPriority::Search,
            query_deadline: QUERY_DEADLINE,
            shared: Arc::new(shared),
        }
    }

    /// With another time after which a search continues with words only, in place of [`QUERY_DEADLINE`].
    pub fn with_query_deadline(self, query_deadline: std::time::Duration) -> Self {
        Self { query_deadline, ..self }
    }

    /// Screens texts before they are stored and embedded.
    pub fn redactor(&self) -> &Redactor {
        &self.shared.redactor
    }

    /// Room for texts, before they are stored and embedded.
    pub fn quota(&self) -> &Quota {
        &self.shared.quota
    }

    /// Seals with the server's secret key.
    pub fn sealer(&self) -> &Sealer {
        &self.shared.sealer
    }

    /// For background jobs: with a longer statement timeout ([`Db::with_job_timeout`]), and queries behind those of users.
    pub fn for_jobs(&self) -> Self {
        Self {
            db: self.db.with_job_timeout(),
            asked_for: QueryPriority::Job,
            query_deadline: self.query_deadline,
            shared: self.shared.clone(),
        }
    }

    /// Enqueues the job for this transaction's pending embeddings, and creates the user's first space if there is none. Never
    /// waits for a provider.
    ///
    /// # Errors
    /// [`EmbeddingError::TooManyPending`]: the caller must roll back.
    pub async fn see_to(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        noted: Noted,
    ) -> Result<EmbeddingState, EmbeddingError> {
        let system = self.system_settings().await?;
        let has_provider = has_provider(noted.enabled, noted.own_enabled, &system);
        // Boxed because it is rare: its state would enlarge every add's future.
        if !has_provider || !noted.has_space && !Box::pin(self.make_first(conn, user)).await? {
            return Ok(EmbeddingState::Off);
        }
        // Checked only with a provider: without one, nothing would ever drain the pending embeddings.
        if noted.is_full {
            return Err(EmbeddingError::TooManyPending);
        }
        queue::push(conn, user, queue::EMBED, noted.tokens, self.now()).await?;
        Ok(EmbeddingState::Pending)
    }

    /// The embedding states of these items, in the same order.
    pub async fn states(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        items: &[i64],
    ) -> Result<Vec<ItemEmbedding>, EmbeddingError> {
        let rows = store::list_item_embeddings(conn, user, items).await?;
        let (settings, effective) = self.effective(conn, user).await?;
        let without_row = match settings.awaited(&effective) {
            Some(_) => EmbeddingState::Pending,
            None => EmbeddingState::Off,
        };
        let is_off = effective.settings().is_none();
        Ok(items
            .iter()
            .map(|id| {
                let found = rows.iter().find(|(item, _)| item == id);
                match found {
                    Some((_, embedding)) if is_off => {
                        ItemEmbedding { state: EmbeddingState::Off, ..embedding.clone() }
                    }
                    Some((_, embedding)) => embedding.clone(),
                    None => ItemEmbedding::without_row(without_row),
                }
            })
            .collect())
    }

    pub fn now(&self) -> OffsetDateTime {
        self.shared.clock.now()
    }

    /// The user's settings, and the provider that results from them.
    async fn effective(
        &self,
        conn: &mut PgConnection,
        user: UserId,
    ) -> Result<(UserEmbeddingSettings, Effective<SpaceSettings>), sqlx::Error> {
        let user_settings = settings::store::find_embedding_settings(conn, user).await?;
        let system = self.system_settings().await?;
        let effective = user_settings.effective(&system);
        Ok((user_settings, effective))
    }

    /// The builtin model of these settings, if its files are missing.
    fn missing_model(&self, wanted: &SpaceSettings) -> Option<BuiltinModel> {
        wanted.builtin_model().filter(|model| !self.shared.embedder.has(*model))
    }

    /// Cached for [`SYSTEM_SETTINGS_KEPT_FOR`], because every search needs them: a change on another server takes effect a
    /// second late.
    async fn system_settings(&self) -> Result<SystemEmbeddingSettings, sqlx::Error> {
        let kept = self.shared.system.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((read_at, settings)) = kept
            && read_at.elapsed() < SYSTEM_SETTINGS_KEPT_FOR
        {
            return Ok(settings);
        }
        let read_at = Instant::now();
        let mut conn = self.db.system_connection().await?;
        let mut settings = settings::store::find_system_embedding_settings(&mut conn).await?;
        settings.builtin_enabled &= self.shared.embedder.runs_builtin();
        let mut system = self.shared.system.lock().unwrap_or_else(PoisonError::into_inner);
        *system = Some((read_at, settings.clone()));
        Ok(settings)
    }

    /// Drops a user's cached queries when the account is erased.
    pub fn forget(&self, user: UserId) {
        let mut queries = self.shared.queries.lock().unwrap_or_else(PoisonError::into_inner);
        let of_user = queries.iter().filter(|(key, _)| key.0 == user.0);
        let keys: Vec<_> = of_user.map(|(key, _)| *key).collect();
        for key in keys {
            queries.pop(&key);
        }
    }

    /// Invalidates the cache after a change on this server.
    fn forget_system_settings(&self) {
        *self.shared.system.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Whether a provider is configured, by the rules of [`UserEmbeddingSettings::effective`].
fn has_provider(enabled: bool, own_enabled: bool, system: &SystemEmbeddingSettings) -> bool {
    enabled && (system.provider.is_some() || own_enabled || system.builtin_enabled)
}
