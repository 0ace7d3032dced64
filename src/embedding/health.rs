//! How the life of everybody's vectors stands, for whoever looks after the server:
//! numbers and states, never whose and never of what.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::system::store;
pub use super::system::store::OpenVectors;
use super::{EmbeddingError, Embeddings};
use crate::accounts::people::Act;
use crate::providers::ProviderType;

const TROUBLES_SHOWN: i64 = 20;
/// Each is a transaction of its own: a form answers within seconds.
const USERS_RETRIED_AT_ONCE: usize = 500;

/// The model in our own process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinState {
    /// An admin has switched it off.
    Off,
    /// Its files are not there.
    Missing,
    /// It is read with the first text.
    Present,
    Loaded,
}

/// The provider that an admin has set for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemProviderState {
    None,
    Ready,
    /// It cannot fill all or some of its spaces just now.
    Failing,
}

/// What keeps a kind of provider from making vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub provider_type: ProviderType,
    /// One sentence, without a host or a text.
    pub problem: String,
    pub users: i64,
    pub next_try: Option<OffsetDateTime>,
}

/// What came of trying everything again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retried {
    pub users: usize,
    pub items: u64,
    /// There were more users than one turn takes.
    pub users_left: usize,
}

impl Embeddings {
    /// On a connection of the system role.
    pub async fn troubles(&self, conn: &mut PgConnection) -> Result<Vec<Trouble>, sqlx::Error> {
        let rows = store::list_troubles(conn, TROUBLES_SHOWN).await?;
        let trouble = |(provider_type, problem, users, next_try): (String, _, _, _)| {
            Some(Trouble {
                provider_type: ProviderType::parse("provider_type", &provider_type).ok()?,
                problem,
                users,
                next_try,
            })
        };
        Ok(rows.into_iter().filter_map(trouble).collect())
    }

    /// For an admin: what was given up waits again, whatever stood in the way, and every
    /// provider is asked at once. Other servers' breakers close within a minute.
    pub async fn retry_all(&self) -> Result<Retried, EmbeddingError> {
        let mut conn = self.0.db.system_connection().await?;
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
        self.0.breakers.close_all();
        let mut tx = self.0.db.as_system().await?;
        self.record(&mut tx, Act::RetryVectors).await?;
        tx.commit().await?;
        Ok(retried)
    }

    /// Spaces whose provider searches leave alone just now, in this process.
    pub fn count_open_breakers(&self) -> usize {
        self.0.breakers.count_open(self.0.clock.now())
    }

    pub async fn builtin_state(&self) -> Result<BuiltinState, sqlx::Error> {
        let is_enabled = self.system_settings().await?.builtin_enabled;
        let embedder = &self.0.embedder;
        Ok(match (is_enabled, embedder.has_builtin()) {
            (false, _) => BuiltinState::Off,
            (true, false) => BuiltinState::Missing,
            (true, true) if embedder.is_builtin_loaded() => BuiltinState::Loaded,
            (true, true) => BuiltinState::Present,
        })
    }

    /// On a connection of the system role.
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

    /// On a connection of the system role.
    pub async fn open_vectors(&self, conn: &mut PgConnection) -> Result<OpenVectors, sqlx::Error> {
        store::count_open(conn, self.0.embedder.has_builtin()).await
    }
}
