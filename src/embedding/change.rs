//! What a user sets: saved at once where the space stays; where every vector
//! would be computed anew, asked first, with the number. Cancel, retry, off.

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

/// What came of saving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// In force; nothing has to be computed anew.
    InForce,
    /// Nothing was changed: so many texts would be rebuilt, for `kept` of which the vectors are still
    /// there. `staged` carries the key that was typed, sealed, to the confirmation.
    AskFirst {
        texts: Texts,
        kept: i64,
        staged: String,
    },
    /// In force when so many texts are rebuilt.
    Rebuilding { texts: u64 },
}

/// A change of the user's own endpoint, as the form gives it.
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
        // A form whose endpoint is neither used nor filled in changes only the switch.
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

    /// Switches embeddings off (at once: what was being built is dropped, what
    /// serves is kept unused) or on again.
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

    /// Computes every vector anew with the settings in force.
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

    /// Ends a rebuild: what serves serves on, and the rebuild does not begin again
    /// by itself. False when there was none.
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

    /// Sends the failed items again, at once, whatever stood in the way. Returns how many.
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

    /// Sends two texts to the endpoint that the form names, and keeps nothing.
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
