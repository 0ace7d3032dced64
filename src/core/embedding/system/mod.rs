//! Embedding settings that an admin makes for all users: the system's llama.cpp, the builtin model, and the endpoints that
//! users may configure. A change that requires rebuilds needs a confirmation with the number of users and texts. An
//! environment variable alone never starts a rebuild.

pub mod store;

use sqlx::PgConnection;
use time::OffsetDateTime;

pub use self::store::{BuiltinUsers, OpenEmbeddings};
use super::model::Texts;
use super::{EmbeddingError, Embeddings};
use crate::accounts::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use crate::db::Tx;
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::{
    self, EndpointForm, EndpointKind, EndpointPurpose, ParsedEmbedding, SYSTEM_EMBEDDING_KEY,
    SpaceSettings, SystemEmbeddingSettings, parse_allowed_endpoint,
};
use crate::providers::{EmbeddingReport, Reach, Tested};

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
    pub settings: SystemEmbeddingSettings,
    /// The builtin model, if its files are missing.
    pub missing_model: Option<BuiltinModel>,
    /// When the current provider was set.
    pub provider_since: Option<OffsetDateTime>,
    /// `KEEPSAKE_LLAMACPP_URL`, if it is not the current provider.
    pub offered: Option<String>,
    /// Hosts, ports and purposes.
    pub allowed: Vec<(String, i32, String)>,
    pub open: OpenEmbeddings,
    pub builtin_users: BuiltinUsers,
    pub has_english_model: bool,
}

impl Embeddings {
    pub async fn system_overview(&self) -> Result<SystemOverview, EmbeddingError> {
        let mut tx = self.db.as_system().await?;
        let settings = settings::store::find_system_embedding_settings(&mut tx).await?;
        let allowed = settings::store::list_allowed_endpoints(&mut tx).await?;
        let provider_since = settings::store::find_provider_since(&mut tx).await?;
        let (embedder, model) = (&self.shared.embedder, settings.builtin_model);
        let has_builtin = settings.builtin_enabled && embedder.runs_builtin();
        let open = store::count_open(&mut tx, has_builtin).await?;
        let builtin_users = store::count_builtin_users(&mut tx, model.name()).await?;
        tx.commit().await?;
        let offered = self.shared.offered.as_ref().map(|url| url.as_str().to_owned());
        let in_force = settings.provider.as_ref().map(|p| p.endpoint.url.clone());
        Ok(SystemOverview {
            missing_model: Some(model).filter(|model| !embedder.has(*model)),
            offered: offered.filter(|url| Some(url) != in_force.as_ref()),
            settings,
            provider_since,
            allowed,
            open,
            builtin_users,
            has_english_model: embedder.has(BuiltinModel::English),
        })
    }

    /// Saves the system's llama.cpp; an empty URL removes it.
    pub async fn save_system(
        &self,
        form: &EndpointForm<'_>,
        confirmed: bool,
    ) -> Result<SystemSaved, EmbeddingError> {
        let mut tx = self.db.as_system().await?;
        settings::store::lock_system_settings(&mut tx).await?;
        let mut system = settings::store::find_system_embedding_settings(&mut tx).await?;
        let (mut wanted, mut staged) = (None, String::new());
        if !form.url.trim().is_empty() {
            let sealer = &self.shared.sealer;
            let parsed = self.parse_system(form, system.provider.as_ref())?;
            staged = parsed.endpoint.stage(sealer, SYSTEM_EMBEDDING_KEY)?;
            system.pace = parsed.pace;
            settings::store::save_system_embedding_settings(&mut tx, &system, self.now()).await?;
            wanted = Some(parsed.seal(sealer, SYSTEM_EMBEDDING_KEY)?);
        }
        self.apply_system(tx, wanted, system.provider, confirmed, staged).await
    }

    fn parse_system(
        &self,
        form: &EndpointForm<'_>,
        kept: Option<&SpaceSettings>,
    ) -> Result<ParsedEmbedding, EmbeddingError> {
        let kept = kept.map(|kept| kept.endpoint.clone()).unwrap_or_default();
        let kind = EndpointKind::SystemEmbeddings;
        self.parse(form, kind, SYSTEM_EMBEDDING_KEY, &kept)
    }

    async fn apply_system(
        &self,
        mut tx: Tx,
        wanted: Option<SpaceSettings>,
        kept: Option<SpaceSettings>,
        confirmed: bool,
        staged: String,
    ) -> Result<SystemSaved, EmbeddingError> {
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
            return Ok(SystemSaved::AskFirst { users, texts, staged });
        }
        settings::store::retire_system_provider(&mut tx).await?;
        if let Some(wanted) = &wanted {
            settings::store::insert_system_provider(&mut tx, wanted, self.now()).await?;
        }
        let action = match &wanted {
            Some(_) => AdminAction::SetProvider,
            None => AdminAction::RemoveProvider,
        };
        self.switched(tx, action).await?;
        Ok(match texts.total() {
            0 => SystemSaved::InForce,
            _ => SystemSaved::Rebuilding { users, texts },
        })
    }

    pub async fn test_system(
        &self,
        form: &EndpointForm<'_>,
    ) -> Result<Tested<EmbeddingReport>, EmbeddingError> {
        let kept = self.system_settings().await?.provider;
        let parsed = self.parse_system(form, kept.as_ref())?;
        self.test(parsed, SYSTEM_EMBEDDING_KEY, Reach::Private).await
    }

    pub async fn set_builtin(&self, enabled: bool) -> Result<(), EmbeddingError> {
        let action = match enabled {
            true => AdminAction::BuiltinOn,
            false => AdminAction::BuiltinOff,
        };
        self.change_system(action, |system| system.builtin_enabled = enabled).await
    }

    /// Whose vectors are wanted; jobs then make them, and those that are there serve meanwhile.
    pub async fn set_builtin_model(&self, model: BuiltinModel) -> Result<(), EmbeddingError> {
        let action = match model {
            BuiltinModel::Multilingual => AdminAction::BuiltinMultilingual,
            BuiltinModel::English => AdminAction::BuiltinEnglish,
        };
        self.change_system(action, |system| system.builtin_model = model).await
    }

    /// Switches late interaction; jobs then create or remove the token signs.
    pub async fn set_late_interaction(&self, enabled: bool) -> Result<(), EmbeddingError> {
        let action = match enabled {
            true => AdminAction::LateOn,
            false => AdminAction::LateOff,
        };
        self.change_system(action, |system| system.late_interaction = enabled).await
    }

    /// Changes the settings as they are stored: one change after the other.
    async fn change_system(
        &self,
        action: AdminAction,
        change: impl FnOnce(&mut SystemEmbeddingSettings),
    ) -> Result<(), EmbeddingError> {
        let mut tx = self.db.as_system().await?;
        settings::store::lock_system_settings(&mut tx).await?;
        let mut system = settings::store::find_system_embedding_settings(&mut tx).await?;
        change(&mut system);
        settings::store::save_system_embedding_settings(&mut tx, &system, self.now()).await?;
        self.switched(tx, action).await
    }

    async fn switched(&self, mut tx: Tx, action: AdminAction) -> Result<(), EmbeddingError> {
        self.record(&mut tx, action).await?;
        tx.commit().await?;
        self.forget_system_settings();
        self.sweep().await?;
        Ok(())
    }

    pub async fn allow_endpoint(
        &self,
        endpoint: &str,
        purpose: EndpointPurpose,
    ) -> Result<(), EmbeddingError> {
        let (host, port) = parse_allowed_endpoint(endpoint)?;
        let mut tx = self.db.as_system().await?;
        settings::allow_endpoint(&mut tx, &host, port, purpose, self.now()).await?;
        self.record(&mut tx, AdminAction::AllowEndpoint).await?;
        Ok(tx.commit().await?)
    }

    pub async fn disallow_endpoint(
        &self,
        endpoint: &str,
        purpose: EndpointPurpose,
    ) -> Result<(), EmbeddingError> {
        let (host, port) = parse_allowed_endpoint(endpoint)?;
        let mut tx = self.db.as_system().await?;
        settings::disallow_endpoint(&mut tx, &host, port, purpose, self.now()).await?;
        self.record(&mut tx, AdminAction::DisallowEndpoint).await?;
        Ok(tx.commit().await?)
    }

    pub(super) async fn record(
        &self,
        conn: &mut PgConnection,
        action: AdminAction,
    ) -> Result<(), sqlx::Error> {
        admin_events::record(conn, AdminActor::current(), action, AdminSubject::Nobody, self.now())
            .await
    }

    /// At startup: applies `KEEPSAKE_LLAMACPP_URL` if nothing must be rebuilt. Otherwise the admin page offers it.
    pub async fn take_offered(&self) -> Result<(), EmbeddingError> {
        let Some(url) = &self.shared.offered else {
            return Ok(());
        };
        if self.system_settings().await?.provider.is_some() {
            return Ok(());
        }
        let form = EndpointForm { url: url.as_str(), ..EndpointForm::default() };
        if let SystemSaved::AskFirst { users, texts, .. } = self.save_system(&form, false).await? {
            tracing::info!(
                users,
                texts = texts.total(),
                "KEEPSAKE_LLAMACPP_URL is set, and vectors of another model exist: the admin page asks whether to rebuild"
            );
        }
        Ok(())
    }
}
