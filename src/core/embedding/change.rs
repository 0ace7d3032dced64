//! Changes of a user's embedding settings. A change that requires a rebuild needs a confirmation with the number of texts;
//! other changes apply at once. Also: cancel a rebuild, retry, switch off.

use super::model::Texts;
use super::spaces::{FollowReason, Followed, Spaces};
use super::{EmbeddingError, Embeddings, overview, store};
use crate::db::{UserId, mark_all_changed, note_changes};
use crate::providers::settings::{
    self, EndpointForm, EndpointKind, EndpointPurpose, EndpointSettings, ParsedEmbedding,
    UserEmbeddingSettings, own_embedding_key, typed_key,
};
use crate::providers::{EmbeddingReport, Reach, Tested};
use crate::queue;
use crate::replay::{NotedAct, note_own};
use crate::seal::SecretOwner;

/// The result of saving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// Applied; no rebuild is needed.
    InForce,
    /// Nothing was changed: a confirmation is needed to rebuild `texts`, of which `kept` still have embeddings. `staged`
    /// carries the typed key, sealed, to the confirmation.
    AskFirst { texts: Texts, kept: i64, staged: String },
    /// Applied once this many texts are rebuilt.
    Rebuilding { texts: u64 },
}

impl From<Followed> for Saved {
    fn from(followed: Followed) -> Self {
        match followed {
            Followed::Kept => Self::InForce,
            Followed::Building { texts } => Self::Rebuilding { texts },
        }
    }
}

impl Embeddings {
    /// Saves the user's own endpoint.
    pub async fn save(
        &self,
        user: UserId,
        form: &EndpointForm<'_>,
        confirmed: bool,
    ) -> Result<Saved, EmbeddingError> {
        let bound = own_embedding_key(user);
        self.apply(user, confirmed, |settings| {
            settings.own_enabled = form.own_enabled;
            if !form.has_endpoint() {
                return Ok(String::new());
            }
            let kept = &settings.own.endpoint;
            let parsed = self.parse(form, EndpointKind::OwnEmbeddings, bound, kept)?;
            let staged = parsed.endpoint.stage(&self.shared.sealer, bound)?;
            settings.pace = parsed.pace;
            settings.own = parsed.seal(&self.shared.sealer, bound)?;
            Ok(staged)
        })
        .await
    }

    /// A staged key counts as typed again.
    pub(super) fn parse(
        &self,
        form: &EndpointForm<'_>,
        kind: EndpointKind,
        bound: SecretOwner,
        kept: &EndpointSettings,
    ) -> Result<ParsedEmbedding, EmbeddingError> {
        let key = typed_key(form, &self.shared.sealer, bound)?;
        let form = EndpointForm { key: &key, ..*form };
        Ok(ParsedEmbedding::parse(&form, kind, kept)?)
    }

    /// Switches embeddings off (at once: the building space is deleted, the active one is kept unused) or on again.
    pub async fn set_enabled(
        &self,
        user: UserId,
        enabled: bool,
        confirmed: bool,
    ) -> Result<Saved, EmbeddingError> {
        self.apply(user, confirmed, |settings| {
            settings.enabled = enabled;
            Ok(String::new())
        })
        .await
    }

    /// Changes the settings as they are stored: one change of a user after the other. `change` returns what carries the
    /// typed key to the confirmation.
    async fn apply(
        &self,
        user: UserId,
        confirmed: bool,
        change: impl FnOnce(&mut UserEmbeddingSettings) -> Result<String, EmbeddingError>,
    ) -> Result<Saved, EmbeddingError> {
        let now = self.now();
        let system = self.system_settings().await?;
        let mut tx = self.db.as_writer(user).await?;
        let kept = settings::store::find_embedding_settings(&mut tx, user).await?;
        let mut wanted = UserEmbeddingSettings { declined: None, ..kept.clone() };
        let staged = change(&mut wanted)?;
        let effective = wanted.effective(&system);
        let spaces = Spaces::of(&mut tx, user).await?;
        if let Some(provider) = effective.settings()
            && spaces.need_rebuild(provider)
            && !confirmed
        {
            let texts = overview::store::count_texts(&mut tx, user).await?;
            if texts.total() > 0 {
                let kept = match spaces.kept(provider, now) {
                    Some(space) => {
                        overview::store::count_ready(&mut tx, user, space.id, false).await?
                    }
                    None => 0,
                };
                return Ok(Saved::AskFirst { texts, kept, staged });
            }
        }
        settings::store::save_embedding_settings(&mut tx, user, &wanted, now).await?;
        if kept.own_enabled && !wanted.own_enabled {
            note_own(&mut tx, NotedAct::EmbeddingEndpointRemoved, None, now).await?;
        }
        if kept.enabled != wanted.enabled {
            let noted =
                if wanted.enabled { NotedAct::EmbeddingsOn } else { NotedAct::EmbeddingsOff };
            note_own(&mut tx, noted, None, now).await?;
        }
        store::forget_removed_key(&mut tx, user).await?;
        let followed = self.follow(&mut tx, user, &effective, FollowReason::UserChanged).await?;
        queue::push_now(&mut tx, user, queue::EMBED, now).await?;
        tx.commit().await?;
        self.shared.breakers.forget(user);
        Ok(followed.into())
    }

    /// Recomputes all embeddings with the current settings.
    pub async fn rebuild(&self, user: UserId) -> Result<Saved, EmbeddingError> {
        let now = self.now();
        let mut tx = self.db.as_writer(user).await?;
        let (mut settings, effective) = self.effective(&mut tx, user).await?;
        if settings.declined.take().is_some() {
            settings::store::save_embedding_settings(&mut tx, user, &settings, now).await?;
        }
        let followed = self.follow(&mut tx, user, &effective, FollowReason::UserRebuilds).await?;
        queue::push_now(&mut tx, user, queue::EMBED, now).await?;
        tx.commit().await?;
        Ok(followed.into())
    }

    /// Cancels a rebuild: the active space stays, and the rebuild does not restart by itself. Returns false if there was none.
    pub async fn cancel_rebuild(&self, user: UserId) -> Result<bool, EmbeddingError> {
        let now = self.now();
        let mut tx = self.db.as_writer(user).await?;
        let spaces = Spaces::of(&mut tx, user).await?;
        let (mut settings, _) = self.effective(&mut tx, user).await?;
        let Some(building) = spaces.building else {
            return Ok(false);
        };
        settings.declined = Some(building.settings.fingerprint());
        settings::store::save_embedding_settings(&mut tx, user, &settings, now).await?;
        store::delete_building(&mut tx, user).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Retries failed items at once, ignoring backoff. Returns how many.
    pub async fn retry(&self, user: UserId) -> Result<u64, EmbeddingError> {
        let now = self.now();
        let mut tx = self.db.as_writer(user).await?;
        let retried = store::retry_failed(&mut tx, user, now).await?;
        mark_all_changed(&mut tx, user).await?;
        for space in store::list_spaces(&mut tx, user).await? {
            store::clear_problem(&mut tx, user, space.id).await?;
        }
        queue::push_now(&mut tx, user, queue::EMBED, now).await?;
        tx.commit().await?;
        self.shared.breakers.forget(user);
        Ok(retried)
    }

    /// Embeds memories again that an earlier version embedded without their key. Returns how many.
    pub async fn embed_keys(&self, user: UserId) -> Result<usize, EmbeddingError> {
        let now = self.now();
        let mut tx = self.db.as_writer(user).await?;
        let (_, effective) = self.effective(&mut tx, user).await?;
        let spaces = Spaces::of(&mut tx, user).await?;
        let Some(space) = spaces.filled_by(effective.settings()) else {
            return Ok(0);
        };
        let sources = store::ask_for_keys(&mut tx, user, space.id, now).await?;
        note_changes(&mut tx, &sources).await?;
        queue::push_now(&mut tx, user, queue::EMBED, now).await?;
        tx.commit().await?;
        Ok(sources.len())
    }

    /// Tests the endpoint in the form, and saves nothing.
    pub async fn test_own(
        &self,
        user: UserId,
        form: &EndpointForm<'_>,
    ) -> Result<Tested<EmbeddingReport>, EmbeddingError> {
        let kept = self.db.for_user(user, settings::store::find_embedding_settings).await?;
        let bound = own_embedding_key(user);
        let parsed = self.parse(form, EndpointKind::OwnEmbeddings, bound, &kept.own.endpoint)?;
        let url = &parsed.endpoint.url;
        let reach = EndpointPurpose::Models.reach(&self.db, Some(user), url).await?;
        self.test(parsed, bound, reach).await
    }

    pub(super) async fn test(
        &self,
        parsed: ParsedEmbedding,
        bound: SecretOwner,
        reach: Reach,
    ) -> Result<Tested<EmbeddingReport>, EmbeddingError> {
        let (query, document) = (parsed.query_prefix.clone(), parsed.document_prefix.clone());
        let endpoint = parsed.open(&self.shared.sealer, bound, reach)?;
        Ok(self.shared.embedder.test(&endpoint, &query, &document).await)
    }
}
