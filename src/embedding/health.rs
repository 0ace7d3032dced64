//! How the life of everybody's vectors stands, for whoever looks after the server:
//! numbers and states, never whose and never of what.

use sqlx::PgConnection;

use super::Embeddings;
use super::system::store;
pub use super::system::store::OpenVectors;

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

impl Embeddings {
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
        store::count_open(conn).await
    }
}
