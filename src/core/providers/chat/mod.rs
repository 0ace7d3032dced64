//! The chat backend: which model answers for a user, and how many tokens it may use. A call is reserved, made
//! and settled, and holds no connection while it runs. Independent of embedding: nothing here changes a
//! vector.

mod anthropic;
mod change;
mod message;
mod model;
mod ollama;
mod openai;
mod refused;
mod report;
mod said;
pub mod spend;
mod stream;
mod wire;

use std::time::Duration;

pub use change::{ChatLimits, ChatOverview};
pub use message::{ChatMessage, ChatRequest, ChatRole, Completion, estimated_tokens, is_of_text};
pub use model::ChatModel;
pub use report::ChatReport;
pub use spend::{CapReached, DaySpend, Spent};

use super::client::HttpAnswer;
use super::settings::{
    self, Effective, EndpointOwner, EndpointPurpose, EndpointSettings, SYSTEM_CHAT_KEY,
    SystemChatSettings, UserChatSettings, own_chat_key,
};
pub use super::settings::{Allowance, Allowances, ChatPurpose};
use super::{Endpoint, EndpointUrl, ProviderError, Reach};
use crate::clock::SharedClock;
use crate::db::{self, Db, UserId};
use crate::input::Invalid;
use crate::redaction::{RedactionError, Redactor, TextDoor};
use crate::seal::{SealError, Sealer};

/// Deadline of a call that nobody waits for.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(120);
/// Deadline of *Test*: a model may have to be loaded first.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum bytes of an answer per token; ten times what a token usually takes in any script, even
/// JSON-escaped.
const TOKEN_BYTES_MAX: usize = 128;
/// For estimates.
pub const CHARS_A_TOKEN: u64 = 4;
/// How long after its deadline a call may still be settled.
const SETTLED_WITHIN: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error(
        "no chat model is set for this: choose one, or switch it on, in Settings › Chat model, or ask an admin for one"
    )]
    NoProvider,
    #[error(transparent)]
    CapReached(#[from] CapReached),
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<RedactionError> for ChatError {
    fn from(error: RedactionError) -> Self {
        match error {
            RedactionError::Invalid(invalid) => invalid.into(),
            RedactionError::Database(error) => error.into(),
            RedactionError::Seal(error) => error.into(),
        }
    }
}

impl ChatError {
    /// The account was erased in the meantime.
    pub fn is_of_a_gone_user(&self) -> bool {
        matches!(self, Self::Database(error) if db::is_of_a_gone_user(error))
    }

    /// Stable; clients rely on it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProvider => "no_chat_provider",
            Self::CapReached(_) => "token_cap_reached",
            Self::Invalid(invalid) => invalid.code,
            Self::Seal(_) => "unreadable_key",
            Self::Provider(_) => "provider_failed",
            Self::Database(_) => "database_unavailable",
        }
    }
}

/// Reads any endpoint's answer to a question for JSON; sends nothing. For fuzzing.
pub fn read_chat_answer(status: u16, body: Vec<u8>) -> Result<String, ProviderError> {
    let answer = HttpAnswer { status, retry_after: None, is_html: false, body };
    let said = wire::read(&answer, Some(&report::schema()));
    said.map(|said| said.text).map_err(|refusal| refusal.error)
}

/// The model that serves a user, ready to be called.
#[derive(Clone, Debug)]
pub struct ServingChat {
    pub endpoint: Endpoint,
    pub owner: EndpointOwner,
    /// Tokens per day.
    pub cap: i64,
    /// Tokens per day for this purpose.
    pub purpose_cap: i64,
}

/// Cheap to clone; created once at the start.
#[derive(Clone)]
pub struct Chat {
    db: Db,
    clock: SharedClock,
    model: ChatModel,
    redactor: Redactor,
    sealer: Sealer,
}

impl Chat {
    pub fn new(db: Db, clock: SharedClock, model: ChatModel, sealer: Sealer) -> Self {
        Self {
            redactor: Redactor::new(db.clone(), clock.clone(), sealer.clone()),
            db,
            clock,
            model,
            sealer,
        }
    }

    /// What serves this user. `None` if it is switched off, entirely or for this purpose, or nothing is
    /// configured.
    pub async fn effective(
        &self,
        user: UserId,
        purpose: ChatPurpose,
    ) -> Result<Option<ServingChat>, ChatError> {
        let (own, system) = self.settings(user).await?;
        let allowance = own.purposes.of(purpose);
        if !allowance.is_on {
            return Ok(None);
        }
        let (settings, owner) = match own.effective(&system) {
            Effective::Off | Effective::Nothing => return Ok(None),
            Effective::Own(settings) => (settings, EndpointOwner::User),
            Effective::System(settings) => (settings, EndpointOwner::System),
        };
        let url = EndpointUrl::parse("url", &settings.url)?;
        let (bound, reach) = match owner {
            EndpointOwner::User => {
                let reach = EndpointPurpose::Models.reach(&self.db, Some(user), &url);
                (own_chat_key(user), reach.await?)
            }
            EndpointOwner::System => (SYSTEM_CHAT_KEY, Reach::Private),
        };
        let cap = own.cap(&system);
        Ok(Some(ServingChat {
            endpoint: settings.open(&self.sealer, bound, url, reach)?,
            owner,
            cap,
            purpose_cap: allowance.cap(cap),
        }))
    }

    /// The user's settings and the effective endpoint. Opens no key.
    pub async fn chosen(
        &self,
        user: UserId,
    ) -> Result<(UserChatSettings, Effective<EndpointSettings>), ChatError> {
        let (own, system) = self.settings(user).await?;
        let effective = own.effective(&system);
        Ok((own, effective))
    }

    /// One answer of the user's model, within the user's limits, without control characters except newline
    /// and tab.
    pub async fn complete(
        &self,
        user: UserId,
        request: &ChatRequest<'_>,
    ) -> Result<Completion, ChatError> {
        let chat = self.effective(user, request.purpose).await?;
        let chat = chat.ok_or(ChatError::NoProvider)?;
        let reservation = self.reserve(user, &chat, request).await?;
        let answer = self.model.complete(&chat.endpoint, request).await;
        let spent = Spent::of(&answer, request);
        let settled = self.settle(user, &reservation, spent).await;
        let completion = match (answer, settled) {
            // The call was paid for: the caller gets its answer even if it could not be settled.
            (Ok(completion), Err(error)) if !error.is_of_a_gone_user() => {
                tracing::warn!("what a chat call cost could not be written down");
                Ok(completion)
            }
            (_, Err(error)) => Err(error),
            (answer, Ok(())) => Ok(answer?),
        };
        let mut completion = completion?;
        completion.text.retain(is_of_text);
        // What it read may have been stored before its user had secrets replaced.
        let answer = ("answer", &mut completion.text);
        let screened = self.redactor.screen_text(user, None, TextDoor::Model, answer);
        screened.await?;
        Ok(completion)
    }

    async fn reserve(
        &self,
        user: UserId,
        chat: &ServingChat,
        request: &ChatRequest<'_>,
    ) -> Result<spend::Reservation, ChatError> {
        let now = self.clock.now();
        let wanted = spend::ReservationRequest {
            tokens: i64::try_from(request.estimated_tokens_max()).unwrap_or(i64::MAX),
            purpose: request.purpose,
            cap: chat.cap,
            purpose_cap: chat.purpose_cap,
            now,
            until: now + request.deadline + SETTLED_WITHIN,
        };
        let mut tx = self.db.as_user(user).await?;
        let reserved = spend::reserve(&mut tx, user, &wanted).await?;
        tx.commit().await?;
        Ok(reserved?)
    }

    async fn settle(
        &self,
        user: UserId,
        reservation: &spend::Reservation,
        spent: Spent,
    ) -> Result<(), ChatError> {
        let mut tx = self.db.as_user(user).await?;
        spend::settle(&mut tx, user, reservation, spent).await?;
        Ok(tx.commit().await?)
    }

    /// The user's settings and the system's.
    async fn settings(
        &self,
        user: UserId,
    ) -> Result<(UserChatSettings, SystemChatSettings), sqlx::Error> {
        let own = self.db.for_user(user, settings::store::find_chat_settings).await?;
        Ok((own, self.system().await?))
    }

    async fn system(&self) -> Result<SystemChatSettings, sqlx::Error> {
        let mut conn = self.db.system_connection().await?;
        settings::store::find_system_chat(&mut conn).await
    }
}
