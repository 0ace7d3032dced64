//! Changes of a user's embedding settings. A change that requires a rebuild needs a confirmation with the number of texts;
//! other changes apply at once. Also: cancel a rebuild, retry, switch off.

use super::keys::KeyBounds;
use super::model::Texts;
use super::spaces::{Because, Followed, Spaces};
use super::{EmbeddingError, Embeddings, overview, store};
use crate::db::{UserId, tell_anew};
use crate::providers::settings::{
    self, EndpointForm, EndpointWish, UserSettings, own_key, parse_own_type, staged_key,
};
use crate::providers::{EndpointUrl, Reach, TestReport};
use crate::queue;

fn own_keys(user: UserId) -> KeyBounds {
    KeyBounds {
        kept: own_key(user),
        staged: staged_key(user),
    }
}

/// The result of saving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// Applied; no rebuild is needed.
    InForce,
    /// Nothing was changed: a confirmation is needed to rebuild `texts`, of which `kept` still have embeddings. `staged`
    /// carries the typed key, sealed, to the confirmation.
    AskFirst {
        texts: Texts,
        kept: i64,
        staged: String,
    },
    /// Applied once this many texts are rebuilt.
    Rebuilding { texts: u64 },
}

/// A change of the user's own endpoint, from the form.
pub struct EndpointChange<'a> {
    pub own_enabled: bool,
    pub form: EndpointForm<'a>,
    /// From [`Saved::AskFirst`]; empty otherwise.
    pub staged: &'a str,
    pub confirmed: bool,
}

impl Embeddings {
    pub async fn save(
        &self,
        user: UserId,
        change: EndpointChange<'_>,
    ) -> Result<Saved, EmbeddingError> {
        let mut tx = self.0.db.as_user(user).await?;
        let kept = settings::of_user(&mut tx, user).await?;
        tx.commit().await?;
        let mut wanted = UserSettings {
            own_enabled: change.own_enabled,
            declined: None,
            ..kept.clone()
        };
        let mut staged = String::new();
        // An unused and empty endpoint: only the switch changes.
        if change.own_enabled || !change.form.url.trim().is_empty() {
            let wish = self.parse_own(user, &change, &kept)?;
            let bounds = own_keys(user);
            let sealed = self.seal_wish(wish.key, &bounds, Some(&kept.own))?;
            wanted.pace = wish.pace;
            wanted.own = wish.settings;
            (wanted.own.sealed_key, staged) = sealed;
        }
        self.apply(user, wanted, change.confirmed, staged).await
    }

    fn parse_own(
        &self,
        user: UserId,
        change: &EndpointChange<'_>,
        kept: &UserSettings,
    ) -> Result<EndpointWish, EmbeddingError> {
        let provider_type = parse_own_type(change.form.provider_type)?;
        let (bounds, kept) = (own_keys(user), Some(&kept.own));
        self.parse_endpoint(change.form, change.staged, &bounds, provider_type, kept)
    }

    /// Switches embeddings off (at once: the building space is deleted, the active one is kept unused) or on again.
    pub async fn set_enabled(
        &self,
        user: UserId,
        enabled: bool,
        confirmed: bool,
    ) -> Result<Saved, EmbeddingError> {
        let mut tx = self.0.db.as_user(user).await?;
        let kept = settings::of_user(&mut tx, user).await?;
        tx.commit().await?;
        let wanted = UserSettings {
            enabled,
            declined: None,
            ..kept
        };
        self.apply(user, wanted, confirmed, String::new()).await
    }

    async fn apply(
        &self,
        user: UserId,
        wanted: UserSettings,
        confirmed: bool,
        staged: String,
    ) -> Result<Saved, EmbeddingError> {
        let now = self.0.clock.now();
        let system = self.system_settings().await?;
        let effective = self.effective_of(&wanted, &system);
        let mut tx = self.0.db.as_writer(user).await?;
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
                return Ok(Saved::AskFirst {
                    texts,
                    kept,
                    staged,
                });
            }
        }
        settings::store::save_user_settings(&mut tx, user, &wanted, now).await?;
        store::forget_removed_key(&mut tx, user).await?;
        let followed = self
            .follow(&mut tx, user, &effective, Because::UserChanged)
            .await?;
        queue::push_now(&mut tx, user, queue::EMBED, now).await?;
        tx.commit().await?;
        self.0.breakers.forget(user);
        Ok(match followed {
            Followed::Kept => Saved::InForce,
            Followed::Building { texts } => Saved::Rebuilding { texts },
        })
    }

    /// Recomputes all embeddings with the current settings.
    pub async fn rebuild(&self, user: UserId) -> Result<Saved, EmbeddingError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_writer(user).await?;
        let (mut settings, effective) = self.effective(&mut tx, user).await?;
        if settings.declined.take().is_some() {
            settings::store::save_user_settings(&mut tx, user, &settings, now).await?;
        }
        let followed = self
            .follow(&mut tx, user, &effective, Because::UserRebuilds)
            .await?;
        queue::push_now(&mut tx, user, queue::EMBED, now).await?;
        tx.commit().await?;
        Ok(match followed {
            Followed::Kept => Saved::InForce,
            Followed::Building { texts } => Saved::Rebuilding { texts },
        })
    }

    /// Cancels a rebuild: the active space stays, and the rebuild does not restart by itself. Returns false if there was none.
    pub async fn cancel_rebuild(&self, user: UserId) -> Result<bool, EmbeddingError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_writer(user).await?;
        let spaces = Spaces::of(&mut tx, user).await?;
        let (mut settings, _) = self.effective(&mut tx, user).await?;
        let Some(building) = spaces.building else {
            return Ok(false);
        };
        settings.declined = Some(building.settings.fingerprint());
        settings::store::save_user_settings(&mut tx, user, &settings, now).await?;
        store::delete_building(&mut tx, user).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Retries failed items at once, ignoring backoff. Returns how many.
    pub async fn retry(&self, user: UserId) -> Result<u64, EmbeddingError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_writer(user).await?;
        let retried = store::retry_failed(&mut tx, user, now).await?;
        tell_anew(&mut tx, user).await?;
        for space in store::list_spaces(&mut tx, user).await? {
            store::clear_problem(&mut tx, user, space.id).await?;
        }
        queue::push_now(&mut tx, user, queue::EMBED, now).await?;
        tx.commit().await?;
        self.0.breakers.forget(user);
        Ok(retried)
    }

    /// Sends two test texts to the form's endpoint. Stores nothing.
    pub async fn test_own(
        &self,
        user: UserId,
        change: EndpointChange<'_>,
    ) -> Result<TestReport, EmbeddingError> {
        let mut tx = self.0.db.as_user(user).await?;
        let kept = settings::of_user(&mut tx, user).await?;
        tx.commit().await?;
        let wish = self.parse_own(user, &change, &kept)?;
        let prefixes = wish.prefixes();
        let url = EndpointUrl::parse("url", &wish.settings.endpoint)?;
        let reach = self.reach(user, &url).await?;
        let endpoint = self.endpoint_to_test(wish, &own_keys(user), Some(&kept.own), url, reach)?;
        Ok(self
            .0
            .embedder
            .test(&endpoint, &prefixes.0, &prefixes.1)
            .await?)
    }

    pub(super) async fn reach(
        &self,
        user: UserId,
        url: &EndpointUrl,
    ) -> Result<Reach, sqlx::Error> {
        let mut conn = self.0.db.system_connection().await?;
        settings::reach(&mut conn, user, url).await
    }
}
