//! What a user sets: saved at once where the space stays; where every vector
//! would be computed anew, asked first, with the number. Cancel, retry, off.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::spaces::{Because, Followed, Spaces};
use super::{EmbeddingError, Embeddings, overview, store};
use crate::db::UserId;
use crate::providers::settings::{
    self, EndpointForm, EndpointWish, KeyWish, UserSettings, own_key, parse_own_type, staged_key,
};
use crate::providers::{Endpoint, EndpointUrl, Reach, SecretKey, TestReport};
use crate::queue;

/// What came of saving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// In force; nothing has to be computed anew.
    InForce,
    /// Nothing was changed: so many items would be rebuilt. `staged` carries the
    /// key that was typed, sealed, to the confirmation.
    AskFirst { items: i64, staged: String },
    /// In force when so many items are rebuilt.
    Rebuilding { items: u64 },
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
        let mut typed_key = String::new();
        // A form whose endpoint is neither used nor filled in changes only the switch.
        if change.own_enabled || !change.form.url.trim().is_empty() {
            let mut wish = self.parse_own(&change, &kept)?;
            if let (KeyWish::Keep, false) = (&wish.key, change.staged.is_empty()) {
                wish.key = KeyWish::Replace(self.unstage(user, change.staged)?);
            }
            wanted.pace = wish.pace;
            wanted.own = wish.settings;
            wanted.own.sealed_key = match wish.key {
                KeyWish::Keep => kept.own.sealed_key.clone(),
                KeyWish::Clear => None,
                KeyWish::Replace(key) => {
                    let sealed = self.0.sealer.seal(own_key(user), &key)?;
                    typed_key = key;
                    Some(sealed)
                }
            };
        }
        let staged = match typed_key.as_str() {
            "" => String::new(),
            key => URL_SAFE_NO_PAD.encode(self.0.sealer.seal(staged_key(user), key)?),
        };
        self.apply(user, wanted, change.confirmed, staged).await
    }

    fn parse_own(
        &self,
        change: &EndpointChange<'_>,
        kept: &UserSettings,
    ) -> Result<EndpointWish, EmbeddingError> {
        let provider_type = parse_own_type(change.form.provider_type)?;
        let mut form = change.form;
        // The key that is on its way counts as given again.
        if !change.staged.is_empty() && form.key.is_empty() {
            form.key = "staged";
        }
        let mut wish = EndpointWish::parse(form, provider_type, Some(&kept.own))?;
        if form.key != change.form.key {
            wish.key = KeyWish::Keep;
        }
        Ok(wish)
    }

    fn unstage(&self, user: UserId, staged: &str) -> Result<String, EmbeddingError> {
        let sealed = URL_SAFE_NO_PAD
            .decode(staged)
            .map_err(|_| crate::seal::SealError::Damaged)?;
        Ok(self.0.sealer.open(staged_key(user), &sealed)?)
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
        let mut tx = self.0.db.as_user(user).await?;
        let spaces = Spaces::of(&mut tx, user).await?;
        if let Some(provider) = effective.settings()
            && spaces.need_rebuild(provider)
            && !confirmed
        {
            let items = overview::store::count_items(&mut tx, user).await?;
            if items > 0 {
                return Ok(Saved::AskFirst { items, staged });
            }
        }
        settings::store::save_user_settings(&mut tx, user, &wanted, now).await?;
        let followed = self
            .follow(&mut tx, user, &effective, Because::UserChanged)
            .await?;
        queue::push_now(&mut tx, user, now).await?;
        tx.commit().await?;
        self.0.breakers.forget(user);
        Ok(match followed {
            Followed::Kept => Saved::InForce,
            Followed::Building { items } => Saved::Rebuilding { items },
        })
    }

    /// Computes every vector anew with the settings in force.
    pub async fn rebuild(&self, user: UserId) -> Result<Saved, EmbeddingError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_user(user).await?;
        let (mut settings, effective) = self.effective(&mut tx, user).await?;
        if settings.declined.take().is_some() {
            settings::store::save_user_settings(&mut tx, user, &settings, now).await?;
        }
        let followed = self
            .follow(&mut tx, user, &effective, Because::UserRebuilds)
            .await?;
        queue::push_now(&mut tx, user, now).await?;
        tx.commit().await?;
        Ok(match followed {
            Followed::Kept => Saved::InForce,
            Followed::Building { items } => Saved::Rebuilding { items },
        })
    }

    /// Ends a rebuild: what serves serves on, and the rebuild does not begin again
    /// by itself. False when there was none.
    pub async fn cancel_rebuild(&self, user: UserId) -> Result<bool, EmbeddingError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_user(user).await?;
        store::lock_spaces(&mut tx, user).await?;
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
        let mut tx = self.0.db.as_user(user).await?;
        let retried = store::retry_failed(&mut tx, user, now).await?;
        for space in store::list_spaces(&mut tx, user).await? {
            store::clear_problem(&mut tx, user, space.id).await?;
        }
        queue::push_now(&mut tx, user, now).await?;
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
        let wish = self.parse_own(&change, &kept)?;
        let key = match wish.key {
            KeyWish::Replace(key) => Some(key),
            KeyWish::Clear => None,
            KeyWish::Keep if !change.staged.is_empty() => Some(self.unstage(user, change.staged)?),
            KeyWish::Keep => match &kept.own.sealed_key {
                Some(sealed) => Some(self.0.sealer.open(own_key(user), sealed)?),
                None => None,
            },
        };
        let url = EndpointUrl::parse("url", &wish.settings.endpoint)?;
        let endpoint = Endpoint {
            provider_type: wish.settings.provider_type,
            reach: self.reach(user, &url).await?,
            url,
            model: wish.settings.model,
            dimensions: wish.settings.dimensions.and_then(|d| u16::try_from(d).ok()),
            key: key.map(SecretKey::new),
        };
        let (query, document) = (&wish.settings.query_prefix, &wish.settings.document_prefix);
        Ok(self.0.embedder.test(&endpoint, query, document).await?)
    }

    pub(super) async fn reach(
        &self,
        user: UserId,
        url: &EndpointUrl,
    ) -> Result<Reach, sqlx::Error> {
        let mut conn = self.0.db.system_connection().await?;
        let may =
            settings::store::may_reach_private(&mut conn, user, url.host(), url.port()).await?;
        Ok(if may { Reach::Private } else { Reach::Public })
    }
}
