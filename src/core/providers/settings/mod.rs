//! Endpoint settings of users and admins, for embeddings and for chat: whose endpoint serves whom. Read at each
//! use; keys are stored sealed, and leave in clear only towards an endpoint.

mod chat;
mod embedding;
mod input;
mod purpose;
pub mod store;

pub(super) use chat::parse_cap;
pub use chat::{SystemChatSettings, UserChatSettings};
pub use embedding::{Pace, SpaceSettings, SystemEmbeddingSettings, UserEmbeddingSettings};
pub use input::{
    EndpointForm, EndpointKind, ParsedEmbedding, ParsedEndpoint, parse_allowed_endpoint, typed_key,
};
pub use purpose::{
    Allowance, Allowances, CAP_TOKENS_MAX, CAP_TOKENS_MIN, ChatPurpose, DAILY_TOKEN_CAP,
};
pub use store::pause_own_endpoints;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{ApiKey, Endpoint, EndpointUrl, ProviderType, Reach};
use crate::db::{Db, UserId, labels};
use crate::input::Invalid;
use crate::replay::{self, Note, NotedAct, note_own};
use crate::seal::{SealError, Sealer, SecretOwner};

/// A stored endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSettings {
    pub provider_type: ProviderType,
    /// Empty: none is set, or the builtin model.
    pub url: String,
    pub model: String,
    pub sealed_key: Option<Vec<u8>>,
    /// See [`Endpoint::key_header`].
    pub key_header: String,
    /// See [`Endpoint::is_thinking_off`].
    pub is_thinking_off: bool,
}

impl Default for EndpointSettings {
    fn default() -> Self {
        Self {
            provider_type: ProviderType::Openai,
            url: String::new(),
            model: String::new(),
            sealed_key: None,
            key_header: String::new(),
            is_thinking_off: false,
        }
    }
}

impl EndpointSettings {
    pub fn is_set(&self) -> bool {
        !self.url.is_empty()
    }

    /// Opens the key. `url` is the parsed address.
    pub fn open(
        &self,
        sealer: &Sealer,
        bound: SecretOwner,
        url: EndpointUrl,
        reach: Reach,
    ) -> Result<Endpoint, SealError> {
        let sealed = self.sealed_key.as_ref();
        let key = sealed.map(|sealed| sealer.open(bound, sealed)).transpose()?;
        Ok(Endpoint {
            provider_type: self.provider_type,
            url,
            model: self.model.clone(),
            dimensions: None,
            key: key.map(ApiKey::new),
            key_header: self.key_header.clone(),
            is_thinking_off: self.is_thinking_off,
            reach,
        })
    }
}

/// Who has set an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointOwner {
    User,
    System,
}

/// What serves a user, which depends on the configuration, never on its health: an outage must not start a
/// rebuild.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effective<S> {
    /// Switched off by the user.
    Off,
    Own(S),
    System(S),
    /// Nothing is configured.
    Nothing,
}

impl<S> Effective<S> {
    pub fn settings(&self) -> Option<&S> {
        match self {
            Self::Own(settings) | Self::System(settings) => Some(settings),
            Self::Off | Self::Nothing => None,
        }
    }

    pub fn owner(&self) -> Option<EndpointOwner> {
        match self {
            Self::Own(_) => Some(EndpointOwner::User),
            Self::System(_) => Some(EndpointOwner::System),
            Self::Off | Self::Nothing => None,
        }
    }
}

// Bind sealed keys to their rows. Stored keys open with these strings only.
pub const SYSTEM_EMBEDDING_KEY: SecretOwner = bound(0, "system_providers.sealed_key");
pub const SYSTEM_CHAT_KEY: SecretOwner = bound(0, "system_chat_provider.sealed_key");

pub fn own_embedding_key(user: UserId) -> SecretOwner {
    bound(user.0, "embedding_settings.sealed_key")
}

pub fn own_chat_key(user: UserId) -> SecretOwner {
    bound(user.0, "chat_settings.sealed_key")
}

/// Binds a key between Save and Confirm to the owner of the row that it is for.
fn staged(row: SecretOwner) -> SecretOwner {
    bound(row.user_id, "staged key")
}

const fn bound(user_id: i64, column: &'static str) -> SecretOwner {
    SecretOwner { user_id, column }
}

labels! {
    /// What an address on this machine or its network is called for, where an admin allows it: a port that answers models takes
    /// no messages of webhooks.
    pub enum EndpointPurpose {
        /// Embeddings and chat.
        Models = "models",
        Webhooks = "webhooks",
        /// The description of a program that connects.
        Clients = "clients",
    }
}

impl EndpointPurpose {
    /// From a form, which may leave it out.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let or_models = Self::from_label(text).or(text.is_empty().then_some(Self::Models));
        let accepted = "`purpose` is none of models, webhooks and clients.";
        or_models.ok_or_else(|| Invalid::new("purpose", "unknown", accepted))
    }
}

/// Members may call this host and port, as the system role.
pub async fn allow_endpoint(
    conn: &mut PgConnection,
    host: &str,
    port: u16,
    purpose: EndpointPurpose,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::allow_endpoint(conn, host, port, purpose, now).await?;
    note_allowed(conn, NotedAct::EndpointAllowed, (host, port, purpose), now).await
}

/// Undoes [`allow_endpoint`].
pub async fn disallow_endpoint(
    conn: &mut PgConnection,
    host: &str,
    port: u16,
    purpose: EndpointPurpose,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::disallow_endpoint(conn, host, port, purpose).await?;
    note_allowed(conn, NotedAct::EndpointDisallowed, (host, port, purpose), now).await
}

async fn note_allowed(
    conn: &mut PgConnection,
    what: NotedAct,
    (host, port, purpose): (&str, u16, EndpointPurpose),
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let name = format!("{} {host}:{port}", purpose.as_str());
    let note = Note { name: Some(name), ..Note::of(what, UserId(0), None, now) };
    replay::store::insert(conn, &note).await
}

/// Repeats, after a restore, what a note says of settings, and notes it again. False for another kind of note.
pub async fn repeat(db: &Db, note: &Note, now: OffsetDateTime) -> Result<bool, sqlx::Error> {
    use NotedAct as Act;
    if let Act::EndpointAllowed | Act::EndpointDisallowed = note.what {
        let named = note.name.as_deref().and_then(|name| name.split_once(' '));
        let parsed = named.and_then(|(purpose, endpoint)| {
            let (host, port) = parse_allowed_endpoint(endpoint).ok()?;
            Some((host, port, EndpointPurpose::parse(purpose).ok()?))
        });
        let Some((host, port, purpose)) = parsed else {
            return Ok(false);
        };
        let mut tx = db.as_system().await?;
        match note.what {
            Act::EndpointAllowed => allow_endpoint(&mut tx, &host, port, purpose, now).await?,
            _ => disallow_endpoint(&mut tx, &host, port, purpose, now).await?,
        }
        return tx.commit().await.map(|()| true);
    }
    let user = UserId(note.user);
    let mut tx = db.as_writer(user).await?;
    match note.what {
        Act::ChatOff | Act::ChatOn => {
            let mut settings = store::find_chat_settings(&mut tx, user).await?;
            // What the restore has paused is resumed by the person alone.
            settings.enabled = note.what == Act::ChatOn && !settings.is_paused;
            store::save_chat_settings(&mut tx, user, &settings, now).await?;
        }
        Act::EmbeddingsOff | Act::EmbeddingsOn => {
            let mut settings = store::find_embedding_settings(&mut tx, user).await?;
            settings.enabled = note.what == Act::EmbeddingsOn && !settings.is_paused;
            store::save_embedding_settings(&mut tx, user, &settings, now).await?;
        }
        Act::ChatEndpointRemoved => store::end_own_chat(&mut tx, user).await?,
        Act::EmbeddingEndpointRemoved => store::end_own_embeddings(&mut tx, user).await?,
        _ => return Ok(false),
    }
    note_own(&mut tx, note.what, None, now).await?;
    tx.commit().await.map(|()| true)
}

impl EndpointPurpose {
    /// How far an endpoint may reach that this user chose, or nobody.
    pub async fn reach(
        self,
        db: &Db,
        user: Option<UserId>,
        url: &EndpointUrl,
    ) -> Result<Reach, sqlx::Error> {
        let mut conn = db.system_connection().await?;
        let may = store::may_reach_private(&mut conn, user, url.host(), url.port(), self).await?;
        Ok(if may { Reach::Private } else { Reach::Public })
    }
}
