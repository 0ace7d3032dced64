//! Chat settings of users and admins: tested and saved. They take effect at once, since nothing has to be
//! recomputed. An entered key is sealed or sent to the endpoint, and never shown again.

use time::Date;

use super::settings::{
    self, ChatForm, ChatProvider, ChatSettings, ChatWish, Effective, SYSTEM_KEY, SystemChat,
    own_key, parse_cap,
};
use super::spend::{self, DaySpend, SHOWN_DAYS};
use super::{Allowances, Chat, ChatEndpoint, ChatError, ChatReport};
use crate::accounts::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use crate::db::UserId;
use crate::providers::settings::KeyWish;
use crate::providers::{EndpointUrl, Reach, SecretKey};
use crate::seal::Bound;

/// A change of the user's own endpoint, as submitted.
pub struct ChatChange<'a> {
    pub own_enabled: bool,
    pub form: ChatForm<'a>,
}

/// Other settings of a user.
pub struct ChatLimits<'a> {
    /// Empty: the server's default.
    pub daily_token_cap: &'a str,
    pub purposes: Allowances,
}

/// The content of the page Settings › Chat model.
pub struct Overview {
    pub settings: ChatSettings,
    pub effective: Effective,
    /// The daily token limit of the effective provider, or of the one that would be effective.
    pub cap: i64,
    /// The limit without the user's own.
    pub server_cap: i64,
    pub today: Date,
    /// The last [`SHOWN_DAYS`] days, oldest first, including days without calls.
    pub days: Vec<DaySpend>,
}

impl Chat {
    pub async fn overview(&self, user: UserId) -> Result<Overview, ChatError> {
        let (settings, system) = self.settings(user).await?;
        let today = self.0.clock.now().date();
        let mut tx = self.0.db.as_user(user).await?;
        let spent = spend::store::list_days(&mut tx, user, today - SHOWN_DAYS).await?;
        tx.commit().await?;
        let effective = Effective::of(&settings, &system);
        let who = effective.would_be(&system);
        let unset = ChatSettings {
            daily_token_cap: None,
            ..settings.clone()
        };
        Ok(Overview {
            cap: settings::cap(&settings, &system, who),
            server_cap: settings::cap(&unset, &system, who),
            settings,
            effective,
            today,
            days: spend::every_day(&spent, today),
        })
    }

    pub async fn system_overview(&self) -> Result<SystemChat, ChatError> {
        Ok(self.system().await?)
    }

    /// Saves the user's own endpoint.
    pub async fn save(&self, user: UserId, change: ChatChange<'_>) -> Result<(), ChatError> {
        let (mut wanted, _) = self.settings(user).await?;
        wanted.own_enabled = change.own_enabled;
        // If the endpoint is neither used nor filled in, the form changes only the switch.
        if change.own_enabled || !change.form.url.trim().is_empty() {
            let wish = ChatWish::parse(&change.form, Some(&wanted.own))?;
            wanted.own = self.kept(wish, own_key(user), &wanted.own)?;
        }
        self.save_settings(user, &wanted).await
    }

    /// Deletes the user's own endpoint and its key.
    pub async fn remove(&self, user: UserId) -> Result<(), ChatError> {
        let (kept, _) = self.settings(user).await?;
        let wanted = ChatSettings {
            own_enabled: false,
            own: ChatProvider::default(),
            ..kept
        };
        self.save_settings(user, &wanted).await
    }

    /// Switches chat off (no model reads anything of this user) or on.
    pub async fn set_enabled(&self, user: UserId, enabled: bool) -> Result<(), ChatError> {
        let (kept, _) = self.settings(user).await?;
        self.save_settings(user, &ChatSettings { enabled, ..kept })
            .await
    }

    pub async fn save_limits(&self, user: UserId, limits: ChatLimits<'_>) -> Result<(), ChatError> {
        let daily_token_cap = match limits.daily_token_cap.trim() {
            "" => None,
            text => Some(parse_cap(text)?),
        };
        let (kept, system) = self.settings(user).await?;
        let wanted = ChatSettings {
            daily_token_cap,
            purposes: limits.purposes,
            ..kept
        };
        let who = Effective::of(&wanted, &system).would_be(&system);
        let cap = settings::cap(&wanted, &system, who);
        wanted.purposes.check(cap)?;
        self.save_settings(user, &wanted).await
    }

    async fn save_settings(&self, user: UserId, wanted: &ChatSettings) -> Result<(), ChatError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_user(user).await?;
        settings::store::save_settings(&mut tx, user, wanted, now).await?;
        Ok(tx.commit().await?)
    }

    /// Tests the endpoint in the form, and saves nothing.
    pub async fn test_own(
        &self,
        user: UserId,
        form: &ChatForm<'_>,
    ) -> Result<ChatReport, ChatError> {
        let (kept, _) = self.settings(user).await?;
        let wish = ChatWish::parse(form, Some(&kept.own))?;
        let url = EndpointUrl::parse("url", &wish.provider.endpoint)?;
        let reach = self.reach(user, &url).await?;
        let endpoint = self.wished(wish, own_key(user), &kept.own, url, reach)?;
        Ok(self.0.model.test(&endpoint).await?)
    }

    /// Saves the model for all users; an empty URL means none.
    pub async fn save_system(&self, form: &ChatForm<'_>, cap: &str) -> Result<(), ChatError> {
        let kept = self.system().await?;
        let daily_token_cap = match cap.trim() {
            "" => super::DAILY_TOKEN_CAP,
            text => parse_cap(text)?,
        };
        let provider = match form.url.trim() {
            "" => ChatProvider::default(),
            _ => {
                let wish = ChatWish::parse(form, Some(&kept.provider))?;
                self.kept(wish, SYSTEM_KEY, &kept.provider)?
            }
        };
        let wanted = SystemChat {
            provider,
            daily_token_cap,
        };
        let now = self.0.clock.now();
        let action = match wanted.provider.endpoint.is_empty() {
            true => AdminAction::RemoveChat,
            false => AdminAction::SetChat,
        };
        let mut tx = self.0.db.as_system().await?;
        settings::store::save_system(&mut tx, &wanted, now).await?;
        let (by, subject) = (AdminActor::current(), AdminSubject::Nobody);
        admin_events::record(&mut tx, by, action, subject, now).await?;
        Ok(tx.commit().await?)
    }

    pub async fn test_system(&self, form: &ChatForm<'_>) -> Result<ChatReport, ChatError> {
        let kept = self.system().await?.provider;
        let wish = ChatWish::parse(form, Some(&kept))?;
        let url = EndpointUrl::parse("url", &wish.provider.endpoint)?;
        let endpoint = self.wished(wish, SYSTEM_KEY, &kept, url, Reach::Private)?;
        Ok(self.0.model.test(&endpoint).await?)
    }

    /// The provider to be stored, with its key sealed.
    fn kept(
        &self,
        wish: ChatWish,
        bound: Bound,
        kept: &ChatProvider,
    ) -> Result<ChatProvider, ChatError> {
        let sealed_key = match wish.key {
            KeyWish::Keep => kept.sealed_key.clone(),
            KeyWish::Clear => None,
            KeyWish::Replace(key) => Some(self.0.sealer.seal(bound, &key)?),
        };
        Ok(ChatProvider {
            sealed_key,
            ..wish.provider
        })
    }

    /// The endpoint to be called, with its key in clear.
    fn wished(
        &self,
        wish: ChatWish,
        bound: Bound,
        kept: &ChatProvider,
        url: EndpointUrl,
        reach: Reach,
    ) -> Result<ChatEndpoint, ChatError> {
        let is_kept = wish.key == KeyWish::Keep;
        let provider = ChatProvider {
            sealed_key: kept.sealed_key.clone().filter(|_| is_kept),
            ..wish.provider
        };
        let mut endpoint = self.endpoint(&provider, bound, url, reach)?;
        if let KeyWish::Replace(key) = wish.key {
            endpoint.key = Some(SecretKey::new(key));
        }
        Ok(endpoint)
    }
}
