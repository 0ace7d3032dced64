//! Webhooks: a person's programs are told what happens in their memory. Each is a poller that the server runs: it has a
//! position in the one stream ([`feed`]), and gets event after event from there, in order, at least once. Nothing is written
//! for it where a memory is changed.
//!
//! An address is called under the same policy as a provider ([`Outbound`]). Messages are signed as the specification
//! Standard Webhooks says. One that fails is tried again with backoff, and switched off after [`FAILING_MAX`].

mod delivery;
mod input;
pub mod message;
mod signature;
mod store;

pub use delivery::{DeliveryProblem, DeliveryRound};
pub use input::NewWebhook;
pub use signature::WebhookSecret;
pub use store::pause_all;

use time::{Duration, OffsetDateTime};

use crate::clock::SharedClock;
use crate::config::PublicUrl;
use crate::db::{Db, UserId, labels};
use crate::embedding::reseal::webhook_secret;
use crate::input::Invalid;
use crate::memories::feed::{self, FeedEventType};
use crate::providers::Outbound;
use crate::providers::settings::EndpointPurpose;
use crate::replay::{NotedAct, note_own};
use crate::seal::{SealError, Sealer};
use signature::SecretPair;
use store::DueWebhook;

/// Webhooks of one user.
pub const WEBHOOKS_MAX: usize = 10;
/// Of each, that its page shows and that are kept.
pub const DELIVERIES_KEPT: i64 = 20;
/// After a rotation, the old secret signs too for this long.
const OLD_SECRET_FOR: Duration = Duration::hours(24);
/// One that fails for this long is switched off.
pub const FAILING_MAX: Duration = Duration::days(3);
/// Users per look-up of who has something to deliver.
const USERS_MAX: i64 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("there is no such webhook")]
    NotFound,
    #[error("you have {WEBHOOKS_MAX} webhooks, which is the most; delete one first")]
    Full,
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

labels! {
    pub enum WebhookState {
        On = "on",
        /// By its person; it keeps its position.
        Paused = "paused",
        /// By the server, after it has failed for long.
        Off = "off",
    }
}

/// A webhook, without its secret.
#[derive(Clone, Debug)]
pub struct Webhook {
    pub id: i64,
    pub url: String,
    pub events: Vec<FeedEventType>,
    /// Messages about a memory carry its text.
    pub includes_text: bool,
    pub state: WebhookState,
    pub created_at: OffsetDateTime,
    pub delivered_at: Option<OffsetDateTime>,
    pub failing_since: Option<OffsetDateTime>,
    pub next_try_at: Option<OffsetDateTime>,
    /// The old secret signs too until then.
    pub old_secret_until: Option<OffsetDateTime>,
}

/// What became of one message.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub webhook: i64,
    pub event: String,
    pub at: OffsetDateTime,
    pub took_ms: i32,
    /// `None` if there was no answer.
    pub status: Option<i16>,
    /// A sentence; `None` if it was accepted.
    pub problem: Option<String>,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Webhooks {
    db: Db,
    clock: SharedClock,
    outbound: Outbound,
    sealer: Sealer,
    public_url: PublicUrl,
}

impl Webhooks {
    pub fn new(
        db: Db,
        clock: SharedClock,
        outbound: Outbound,
        sealer: Sealer,
        public_url: PublicUrl,
    ) -> Self {
        Self { db, clock, outbound, sealer, public_url }
    }

    /// Oldest first, each with its last deliveries, newest first.
    pub async fn list(&self, user: UserId) -> Result<Vec<(Webhook, Vec<Delivery>)>, sqlx::Error> {
        let mut tx = self.db.as_user(user).await?;
        let webhooks = store::list(&mut tx, user).await?;
        let mut deliveries = store::list_deliveries(&mut tx, user).await?;
        tx.commit().await?;
        let with_deliveries = webhooks.into_iter().map(|webhook| {
            let is_own = |one: &Delivery| one.webhook == webhook.id;
            let own = deliveries.extract_if(.., |one| is_own(one)).collect();
            (webhook, own)
        });
        Ok(with_deliveries.collect())
    }

    /// It is told what happens from now on. Returns its secret, which is shown this once.
    ///
    /// # Errors
    /// If there are [`WEBHOOKS_MAX`], or if the address may not be called.
    pub async fn create(
        &self,
        user: UserId,
        new: &NewWebhook,
    ) -> Result<WebhookSecret, WebhookError> {
        let reach = EndpointPurpose::Webhooks.reach(&self.db, Some(user), &new.url).await?;
        if !Outbound::admits(reach, &new.url) {
            return Err(input::forbidden_address().into());
        }
        let secret = WebhookSecret::generate()?;
        let sealed = self.sealer.seal(webhook_secret(user), secret.reveal())?;
        let mut tx = self.db.as_user(user).await?;
        store::lock(&mut tx, user).await?;
        if store::count(&mut tx, user).await? >= WEBHOOKS_MAX as i64 {
            return Err(WebhookError::Full);
        }
        let position = feed::store::find_newest(&mut tx, user).await?;
        store::insert(&mut tx, user, new, &sealed, position, self.clock.now()).await?;
        tx.commit().await?;
        Ok(secret)
    }

    /// It is told nothing until it is resumed, and then what happened in between.
    pub async fn pause(&self, user: UserId, id: i64) -> Result<(), WebhookError> {
        self.set_state(user, id, WebhookState::Paused).await
    }

    /// Continues where it stopped, at once.
    pub async fn resume(&self, user: UserId, id: i64) -> Result<(), WebhookError> {
        self.set_state(user, id, WebhookState::On).await
    }

    async fn set_state(
        &self,
        user: UserId,
        id: i64,
        state: WebhookState,
    ) -> Result<(), WebhookError> {
        let mut tx = self.db.as_user(user).await?;
        if !store::set_state(&mut tx, user, id, state).await? {
            return Err(WebhookError::NotFound);
        }
        Ok(tx.commit().await?)
    }

    pub async fn delete(&self, user: UserId, id: i64) -> Result<(), WebhookError> {
        let mut tx = self.db.as_user(user).await?;
        if !store::delete(&mut tx, user, id).await? {
            return Err(WebhookError::NotFound);
        }
        note_own(&mut tx, NotedAct::WebhookDeleted, Some(id), self.clock.now()).await?;
        Ok(tx.commit().await?)
    }

    /// Makes a new secret; for a day, the old one signs too. Returns the address and the secret, which is shown this once.
    pub async fn rotate(
        &self,
        user: UserId,
        id: i64,
    ) -> Result<(String, WebhookSecret), WebhookError> {
        let secret = WebhookSecret::generate()?;
        let sealed = self.sealer.seal(webhook_secret(user), secret.reveal())?;
        let until = self.clock.now() + OLD_SECRET_FOR;
        let mut tx = self.db.as_user(user).await?;
        let url = store::rotate(&mut tx, user, id, &sealed, until).await?;
        tx.commit().await?;
        Ok((url.ok_or(WebhookError::NotFound)?, secret))
    }

    /// Users with something to deliver, and from when on.
    pub async fn users_due(&self) -> Result<Vec<(UserId, OffsetDateTime)>, sqlx::Error> {
        let mut conn = self.db.system_connection().await?;
        store::list_users_due(&mut conn, self.clock.now(), USERS_MAX).await
    }

    fn open(
        &self,
        user: UserId,
        webhook: &DueWebhook,
        now: OffsetDateTime,
    ) -> Result<SecretPair, SealError> {
        let open = |sealed: &[u8]| self.sealer.open(webhook_secret(user), sealed);
        let old = webhook.sealed_old_secret.as_deref();
        let old = old.filter(|_| webhook.old_secret_until.is_some_and(|until| now < until));
        // One that cannot be read may be why there is a new one.
        let old = old.and_then(|old| open(old).ok());
        SecretPair::parse(&open(&webhook.sealed_secret)?, old.as_deref())
    }
}

/// Deletes a webhook again after a restore. False if there is none.
pub async fn delete_again(
    db: &Db,
    user: UserId,
    id: i64,
    now: OffsetDateTime,
) -> Result<bool, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let was_there = store::delete(&mut tx, user, id).await?;
    note_own(&mut tx, NotedAct::WebhookDeleted, Some(id), now).await?;
    tx.commit().await?;
    Ok(was_there)
}
