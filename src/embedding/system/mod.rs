//! Embedding settings that an admin makes for all users: the system's llama.cpp, the builtin model, and the endpoints that
//! users may configure. A change that requires rebuilds needs a confirmation with the number of users and texts. An
//! environment variable alone never starts a rebuild.

pub mod store;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::keys::KeyBounds;
use super::model::Texts;
use super::{EmbeddingError, Embeddings};
use crate::accounts::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use crate::providers::settings::{
    self, EndpointForm, EndpointWish, ProviderSettings, SYSTEM_KEY, SystemSettings,
    parse_allowed_endpoint,
};
use crate::providers::{EndpointUrl, ProviderType, Reach, TestReport};
use crate::seal::Bound;

const SYSTEM_KEYS: KeyBounds = KeyBounds {
    kept: SYSTEM_KEY,
    staged: Bound {
        user_id: 0,
        column: "staged key",
    },
};

/// The result of an admin's change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemSaved {
    InForce,
    AskFirst {
        users: i64,
        texts: Texts,
        staged: String,
    },
    /// Applied per user, when the user's new space is complete.
    Rebuilding {
        users: i64,
        texts: Texts,
    },
}

/// The data of the admin page.
pub struct SystemOverview {
    pub settings: SystemSettings,
    pub has_builtin: bool,
    /// When the current provider was set.
    pub provider_since: Option<OffsetDateTime>,
    /// `KEEPSAKE_LLAMACPP_URL`, if it is not the current provider.
    pub offered: Option<String>,
    pub allowed: Vec<(String, u16)>,
    pub pending: i64,
    pub failed: i64,
    pub users_waiting: i64,
    /// Users of the builtin model, and those of them whose token signs match the late interaction switch.
    pub builtin_users: i64,
    pub late_users: i64,
}

impl Embeddings {
    pub async fn system_overview(&self) -> Result<SystemOverview, EmbeddingError> {
        let mut tx = self.0.db.as_system().await?;
        let settings = settings::store::find_system_settings(&mut tx).await?;
        let allowed = settings::store::list_allowed_endpoints(&mut tx).await?;
        let provider_since = settings::store::find_provider_since(&mut tx).await?;
        let (pending, failed, users_waiting) =
            store::count_all(&mut tx, self.0.embedder.has_builtin()).await?;
        let (builtin_users, late_users) = store::count_late(&mut tx).await?;
        tx.commit().await?;
        let offered = self.0.offered.as_ref().map(|url| url.as_str().to_owned());
        let in_force = settings.provider.as_ref().map(|p| p.endpoint.clone());
        Ok(SystemOverview {
            has_builtin: self.0.embedder.has_builtin(),
            offered: offered.filter(|url| Some(url) != in_force.as_ref()),
            settings,
            provider_since,
            allowed,
            pending,
            failed,
            users_waiting,
            builtin_users,
            late_users,
        })
    }

    /// Saves the system's llama.cpp; an empty URL removes it.
    pub async fn save_system(
        &self,
        form: EndpointForm<'_>,
        staged: &str,
        confirmed: bool,
    ) -> Result<SystemSaved, EmbeddingError> {
        let kept = self.system_settings().await?.provider;
        if form.url.trim().is_empty() {
            return self
                .apply_system(None, kept, None, confirmed, String::new())
                .await;
        }
        let mut wish = self.parse_system(form, staged, kept.as_ref())?;
        let (sealed, staged) = self.seal_wish(wish.key, &SYSTEM_KEYS, kept.as_ref())?;
        wish.settings.sealed_key = sealed;
        self.apply_system(
            Some(wish.settings),
            kept,
            Some(wish.pace),
            confirmed,
            staged,
        )
        .await
    }

    fn parse_system(
        &self,
        form: EndpointForm<'_>,
        staged: &str,
        kept: Option<&ProviderSettings>,
    ) -> Result<EndpointWish, EmbeddingError> {
        self.parse_endpoint(form, staged, &SYSTEM_KEYS, ProviderType::Llamacpp, kept)
    }

    async fn apply_system(
        &self,
        wanted: Option<ProviderSettings>,
        kept: Option<ProviderSettings>,
        pace: Option<settings::Pace>,
        confirmed: bool,
        staged: String,
    ) -> Result<SystemSaved, EmbeddingError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_system().await?;
        if let Some(pace) = pace {
            settings::store::set_system_pace(&mut tx, pace, now).await?;
        }
        let is_kept = match (&wanted, &kept) {
            (Some(wanted), Some(kept)) => wanted.makes_the_vectors_of(kept),
            (None, None) => true,
            _ => false,
        };
        if is_kept {
            if let (Some(wanted), Some(id)) = (&wanted, kept.and_then(|k| k.system_provider_id)) {
                settings::store::update_system_provider(&mut tx, id, wanted).await?;
                self.record(&mut tx, AdminAction::SetProvider).await?;
            }
            tx.commit().await?;
            self.forget_system_settings();
            return Ok(SystemSaved::InForce);
        }
        let (users, texts) = store::count_affected(&mut tx, wanted.as_ref()).await?;
        if texts.total() > 0 && !confirmed {
            return Ok(SystemSaved::AskFirst {
                users,
                texts,
                staged,
            });
        }
        settings::store::retire_system_provider(&mut tx).await?;
        if let Some(wanted) = &wanted {
            settings::store::insert_system_provider(&mut tx, wanted, now).await?;
        }
        let action = match &wanted {
            Some(_) => AdminAction::SetProvider,
            None => AdminAction::RemoveProvider,
        };
        self.record(&mut tx, action).await?;
        tx.commit().await?;
        self.forget_system_settings();
        self.sweep().await?;
        Ok(match texts.total() {
            0 => SystemSaved::InForce,
            _ => SystemSaved::Rebuilding { users, texts },
        })
    }

    pub async fn test_system(
        &self,
        form: EndpointForm<'_>,
        staged: &str,
    ) -> Result<TestReport, EmbeddingError> {
        let kept = self.system_settings().await?.provider;
        let wish = self.parse_system(form, staged, kept.as_ref())?;
        let prefixes = wish.prefixes();
        let url = EndpointUrl::parse("url", &wish.settings.endpoint)?;
        let endpoint =
            self.endpoint_to_test(wish, &SYSTEM_KEYS, kept.as_ref(), url, Reach::Private)?;
        Ok(self
            .0
            .embedder
            .test(&endpoint, &prefixes.0, &prefixes.1)
            .await?)
    }

    pub async fn set_builtin(&self, enabled: bool) -> Result<(), EmbeddingError> {
        let mut tx = self.0.db.as_system().await?;
        settings::store::set_builtin_enabled(&mut tx, enabled, self.0.clock.now()).await?;
        let action = match enabled {
            true => AdminAction::BuiltinOn,
            false => AdminAction::BuiltinOff,
        };
        self.record(&mut tx, action).await?;
        tx.commit().await?;
        self.forget_system_settings();
        self.sweep().await?;
        Ok(())
    }

    /// Switches late interaction; jobs then create or remove the token signs.
    pub async fn set_late_interaction(&self, enabled: bool) -> Result<(), EmbeddingError> {
        let mut tx = self.0.db.as_system().await?;
        settings::store::set_late_interaction(&mut tx, enabled, self.0.clock.now()).await?;
        let action = match enabled {
            true => AdminAction::LateOn,
            false => AdminAction::LateOff,
        };
        self.record(&mut tx, action).await?;
        tx.commit().await?;
        self.forget_system_settings();
        self.sweep().await?;
        Ok(())
    }

    pub async fn allow_endpoint(&self, endpoint: &str) -> Result<(), EmbeddingError> {
        let (host, port) = parse_allowed_endpoint(endpoint)?;
        let mut tx = self.0.db.as_system().await?;
        settings::store::allow_endpoint(&mut tx, &host, port, self.0.clock.now()).await?;
        self.record(&mut tx, AdminAction::AllowEndpoint).await?;
        Ok(tx.commit().await?)
    }

    pub async fn disallow_endpoint(&self, endpoint: &str) -> Result<(), EmbeddingError> {
        let (host, port) = parse_allowed_endpoint(endpoint)?;
        let mut tx = self.0.db.as_system().await?;
        settings::store::disallow_endpoint(&mut tx, &host, port).await?;
        self.record(&mut tx, AdminAction::DisallowEndpoint).await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn record(
        &self,
        conn: &mut PgConnection,
        action: AdminAction,
    ) -> Result<(), sqlx::Error> {
        let (by, subject) = (AdminActor::current(), AdminSubject::Nobody);
        admin_events::record(conn, by, action, subject, self.0.clock.now()).await
    }

    /// At startup: applies `KEEPSAKE_LLAMACPP_URL` if nothing must be rebuilt. Otherwise the admin page offers it.
    pub async fn take_offered(&self) -> Result<(), EmbeddingError> {
        let Some(url) = &self.0.offered else {
            return Ok(());
        };
        if self.system_settings().await?.provider.is_some() {
            return Ok(());
        }
        let form = EndpointForm {
            url: url.as_str(),
            ..EndpointForm::default()
        };
        if let SystemSaved::AskFirst { users, texts, .. } =
            self.save_system(form, "", false).await?
        {
            tracing::info!(
                users,
                texts = texts.total(),
                "KEEPSAKE_LLAMACPP_URL is set, and vectors of another model exist: the admin page asks whether to rebuild"
            );
        }
        Ok(())
    }
}
