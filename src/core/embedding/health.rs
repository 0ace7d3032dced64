//! The state of all users' embeddings, for admins: counts and states only, never users or texts.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::system::store::{self, OpenEmbeddings};
use super::{EmbeddingError, Embeddings};
use crate::accounts::admin_events::AdminAction;
use crate::providers::ProviderType;

const TROUBLES_SHOWN: i64 = 20;
/// Limit per request: each user takes one transaction, and a form must answer within seconds.
const USERS_RETRIED_AT_ONCE: usize = 500;

/// The model in the server's own process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinState {
    /// Switched off by an admin.
    Off,
    /// Its files do not exist.
    Missing,
    /// Loaded with the first text.
    Present,
    Loaded,
}

/// The provider that an admin has set for all users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemProviderState {
    None,
    Ready,
    /// Some or all of its spaces cannot be filled at the moment.
    Failing,
}

/// A problem that stops a kind of provider from making embeddings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderTrouble {
    pub provider_type: ProviderType,
    /// One sentence, without host names or texts.
    pub problem: String,
    pub users: i64,
    pub next_try: Option<OffsetDateTime>,
}

/// The result of retrying everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retried {
    pub users: usize,
    pub items: u64,
    /// Users beyond the limit of one request.
    pub users_left: usize,
}

impl Embeddings {
    /// Needs a connection of the system role.
    pub async fn troubles(
        &self,
        conn: &mut PgConnection,
    ) -> Result<Vec<ProviderTrouble>, sqlx::Error> {
        let rows = store::list_troubles(conn, TROUBLES_SHOWN).await?;
        let trouble = |(provider_type, problem, users, next_try): (String, _, _, _)| {
            Some(ProviderTrouble {
                provider_type: ProviderType::parse("provider_type", &provider_type).ok()?,
                problem,
                users,
                next_try,
            })
        };
        Ok(rows.into_iter().filter_map(trouble).collect())
    }

    /// For admins: retries all failed items, ignoring backoff, and closes all breakers. Breakers of other servers close
    /// within a minute.
    pub async fn retry_all(&self) -> Result<Retried, EmbeddingError> {
        let mut conn = self.db.system_connection().await?;
        let users = store::list_users_to_retry(&mut conn).await?;
        drop(conn);
        let mut retried = Retried {
            users_left: users.len().saturating_sub(USERS_RETRIED_AT_ONCE),
            ..Retried::default()
        };
        for user in users.into_iter().take(USERS_RETRIED_AT_ONCE) {
            retried.items += self.retry(user).await?;
            retried.users += 1;
        }
        self.shared.breakers.close_all();
        let mut tx = self.db.as_system().await?;
        self.record(&mut tx, AdminAction::RetryVectors).await?;
        tx.commit().await?;
        Ok(retried)
    }

    /// Number of spaces with an open breaker in this process.
    pub fn count_open_breakers(&self) -> usize {
        self.shared.breakers.count_open(self.now())
    }

    pub async fn builtin_state(&self) -> Result<BuiltinState, sqlx::Error> {
        let system = self.system_settings().await?;
        let (embedder, model) = (&self.shared.embedder, system.builtin_model);
        Ok(match model {
            _ if !system.builtin_enabled => BuiltinState::Off,
            _ if !embedder.has(model) => BuiltinState::Missing,
            _ if embedder.is_builtin_loaded(model) => BuiltinState::Loaded,
            _ => BuiltinState::Present,
        })
    }

    /// Needs a connection of the system role.
    pub async fn system_provider_state(
        &self,
        conn: &mut PgConnection,
    ) -> Result<SystemProviderState, sqlx::Error> {
        Ok(match store::count_system_trouble(conn).await? {
            None => SystemProviderState::None,
            Some(0) => SystemProviderState::Ready,
            Some(_) => SystemProviderState::Failing,
        })
    }

    /// Needs a connection of the system role.
    pub async fn open_embeddings(
        &self,
        conn: &mut PgConnection,
    ) -> Result<OpenEmbeddings, sqlx::Error> {
        store::count_open(conn, self.system_settings().await?.builtin_enabled).await
    }
}
