//! Chat settings of users and admins: tested and saved. They take effect at once, since nothing has to be
//! recomputed. An entered key is sealed or sent to the endpoint, and never shown again.

use time::Date;

use super::spend::{self, DaySpend, SHOWN_DAYS};
use super::{Allowances, Chat, ChatError, ChatReport};
use crate::accounts::admin_events::{self, AdminAction, AdminActor, AdminSubject};
use crate::db::UserId;
use crate::providers::settings::{
    self, Effective, EndpointForm, EndpointKind, EndpointPurpose, EndpointSettings, ParsedEndpoint,
    SYSTEM_CHAT_KEY, SystemChatSettings, UserChatSettings, own_chat_key, parse_cap,
};
use crate::providers::{Reach, Tested};
use crate::replay::{NotedAct, note_own};

/// Other settings of a user.
pub struct ChatLimits<'a> {
    /// Empty: the server's default.
    pub daily_token_cap: &'a str,
    pub purposes: Allowances,
}

/// The content of the page Settings › Chat model.
pub struct ChatOverview {
    pub settings: UserChatSettings,
    pub effective: Effective<EndpointSettings>,
    /// What was learned of the effective endpoint, in words.
    pub learned: Vec<&'static str>,
    /// The daily token limit of the effective endpoint, or of the one that would be effective.
    pub cap: i64,
    /// The limit without the user's own.
    pub server_cap: i64,
    pub today: Date,
    /// The last [`SHOWN_DAYS`] days, oldest first, including days without calls.
    pub days: Vec<DaySpend>,
}

impl Chat {
    pub async fn overview(&self, user: UserId) -> Result<ChatOverview, ChatError> {
        let (settings, system) = self.settings(user).await?;
        let today = self.clock.now().date();
        let mut tx = self.db.as_user(user).await?;
        let spent = spend::store::list_days(&mut tx, user, today - SHOWN_DAYS).await?;
        tx.commit().await?;
        let unset = UserChatSettings { daily_token_cap: None, ..settings.clone() };
        let effective = settings.effective(&system);
        let learned = match effective.settings() {
            Some(endpoint) => self.model.learned(endpoint).await,
            None => Vec::new(),
        };
        Ok(ChatOverview {
            effective,
            learned,
            cap: settings.cap(&system),
            server_cap: unset.cap(&system),
            settings,
            today,
            days: spend::every_day(&spent, today),
        })
    }

    pub async fn system_overview(&self) -> Result<SystemChatSettings, ChatError> {
        Ok(self.system().await?)
    }

    /// Saves the user's own endpoint.
    pub async fn save(&self, user: UserId, form: &EndpointForm<'_>) -> Result<(), ChatError> {
        self.change(user, |settings| {
            settings.own_enabled = form.own_enabled;
            if form.has_endpoint() {
                let parsed = ParsedEndpoint::parse(form, EndpointKind::Chat, &settings.own)?;
                settings.own = parsed.seal(&self.sealer, own_chat_key(user))?;
            }
            Ok(())
        })
        .await
    }

    /// Deletes the user's own endpoint and its key.
    pub async fn remove(&self, user: UserId) -> Result<(), ChatError> {
        self.change(user, |settings| {
            settings.own_enabled = false;
            settings.own = EndpointSettings::default();
            Ok(())
        })
        .await
    }

    /// Switches chat off (no model reads anything of this user) or on.
    pub async fn set_enabled(&self, user: UserId, enabled: bool) -> Result<(), ChatError> {
        self.change(user, |settings| {
            settings.enabled = enabled;
            Ok(())
        })
        .await
    }

    pub async fn save_limits(&self, user: UserId, limits: ChatLimits<'_>) -> Result<(), ChatError> {
        let daily_token_cap = match limits.daily_token_cap.trim() {
            "" => None,
            text => Some(parse_cap(text)?),
        };
        let system = self.system().await?;
        self.change(user, |settings| {
            settings.daily_token_cap = daily_token_cap;
            settings.purposes = limits.purposes;
            Ok(settings.purposes.check(settings.cap(&system))?)
        })
        .await
    }

    /// Changes the settings as they are stored: one change of a user after the other.
    async fn change(
        &self,
        user: UserId,
        change: impl FnOnce(&mut UserChatSettings) -> Result<(), ChatError>,
    ) -> Result<(), ChatError> {
        let now = self.clock.now();
        let mut tx = self.db.as_writer(user).await?;
        let kept = settings::store::find_chat_settings(&mut tx, user).await?;
        let mut wanted = kept.clone();
        change(&mut wanted)?;
        settings::store::save_chat_settings(&mut tx, user, &wanted, now).await?;
        if kept.own_enabled && !wanted.own_enabled {
            note_own(&mut tx, NotedAct::ChatEndpointRemoved, None, now).await?;
        }
        if kept.enabled != wanted.enabled {
            let noted = if wanted.enabled { NotedAct::ChatOn } else { NotedAct::ChatOff };
            note_own(&mut tx, noted, None, now).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Tests the endpoint in the form, and saves nothing.
    pub async fn test_own(
        &self,
        user: UserId,
        form: &EndpointForm<'_>,
    ) -> Result<Tested<ChatReport>, ChatError> {
        let (kept, _) = self.settings(user).await?;
        let parsed = ParsedEndpoint::parse(form, EndpointKind::Chat, &kept.own)?;
        let reach = EndpointPurpose::Models.reach(&self.db, Some(user), &parsed.url).await?;
        let endpoint = parsed.open(&self.sealer, own_chat_key(user), reach)?;
        Ok(self.model.test(&endpoint).await)
    }

    /// Saves the model for all users; an empty URL means none.
    pub async fn save_system(&self, form: &EndpointForm<'_>, cap: &str) -> Result<(), ChatError> {
        let daily_token_cap = match cap.trim() {
            "" => settings::DAILY_TOKEN_CAP,
            text => parse_cap(text)?,
        };
        let now = self.clock.now();
        let mut tx = self.db.as_system().await?;
        settings::store::lock_system_settings(&mut tx).await?;
        let kept = settings::store::find_system_chat(&mut tx).await?.endpoint;
        let (endpoint, action) = match form.url.trim() {
            "" => (EndpointSettings::default(), AdminAction::RemoveChat),
            _ => {
                let parsed = ParsedEndpoint::parse(form, EndpointKind::Chat, &kept)?;
                (parsed.seal(&self.sealer, SYSTEM_CHAT_KEY)?, AdminAction::SetChat)
            }
        };
        let wanted = SystemChatSettings { endpoint, daily_token_cap };
        settings::store::save_system_chat(&mut tx, &wanted, now).await?;
        admin_events::record(&mut tx, AdminActor::current(), action, AdminSubject::Nobody, now)
            .await?;
        Ok(tx.commit().await?)
    }

    pub async fn test_system(
        &self,
        form: &EndpointForm<'_>,
    ) -> Result<Tested<ChatReport>, ChatError> {
        let kept = self.system().await?.endpoint;
        let parsed = ParsedEndpoint::parse(form, EndpointKind::Chat, &kept)?;
        let endpoint = parsed.open(&self.sealer, SYSTEM_CHAT_KEY, Reach::Private)?;
        Ok(self.model.test(&endpoint).await)
    }
}
