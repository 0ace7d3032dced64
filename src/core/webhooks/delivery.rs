//! Delivers events to the webhooks of one user, each webhook by itself and in order. An event that was accepted moves the
//! position, in one transaction with its record; after a crash it is delivered again.

use std::time::{Duration as StdDuration, Instant};

use futures_util::future::join_all;
use rand::Rng;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use super::message::EventMessage;
use super::store::{self, DueWebhook, NewDelivery};
use super::{FAILING_MAX, WebhookError, WebhookState, Webhooks};
use crate::db::UserId;
use crate::memories::feed::{self, FeedEvent, FeedSubject};
use crate::memories::store::find_item;
use crate::providers::settings::EndpointPurpose;
use crate::providers::{EndpointUrl, ProviderError, Unreachable};
use crate::queue::Slice;

/// Events read at a time.
const BATCH: usize = 50;
const BACK_OFF: Duration = Duration::seconds(5);
const BACK_OFF_MAX: Duration = Duration::hours(12);
/// The status by which an endpoint asks for no more (Standard Webhooks).
const GONE: u16 = 410;

/// What is left for a user after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryRound {
    Done,
    More,
    /// A webhook failed; not before this time.
    Later(OffsetDateTime),
}

/// Why a message was not accepted, as its page tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryProblem {
    #[error("the address may not be called from here; an admin can allow its host and port")]
    Forbidden,
    #[error("there was no answer within 10 seconds")]
    TimedOut,
    #[error("{0}")]
    Unreachable(Unreachable),
    #[error("it redirects, which is not followed; give the address it redirects to")]
    Redirect,
    #[error("it does not want more messages (410)")]
    Gone,
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("its secret cannot be read any more; make a new one")]
    Secret,
}

/// How an attempt ended.
struct DeliveryAttempt {
    status: Option<u16>,
    problem: Option<DeliveryProblem>,
    retry_after: Option<StdDuration>,
    took: StdDuration,
}

impl DeliveryAttempt {
    fn of(sent: Result<(u16, Option<StdDuration>), ProviderError>, took: StdDuration) -> Self {
        let (status, retry_after, problem) = match sent {
            Ok((status, wait)) => {
                let problem = match status {
                    200..300 => None,
                    300..400 => Some(DeliveryProblem::Redirect),
                    GONE => Some(DeliveryProblem::Gone),
                    other => Some(DeliveryProblem::Status(other)),
                };
                (Some(status), wait, problem)
            }
            Err(ProviderError::Forbidden) => (None, None, Some(DeliveryProblem::Forbidden)),
            Err(ProviderError::Refused(why)) => {
                (None, None, Some(DeliveryProblem::Unreachable(why)))
            }
            Err(_) => (None, None, Some(DeliveryProblem::TimedOut)),
        };
        Self { status, problem, retry_after, took }
    }

    fn record<'a>(&self, event: &'a str, at: OffsetDateTime) -> NewDelivery<'a> {
        NewDelivery {
            event,
            at,
            took_ms: i32::try_from(self.took.as_millis()).unwrap_or(i32::MAX),
            status: self.status.and_then(|status| i16::try_from(status).ok()),
            problem: self.problem.map(|why| crate::input::sentence(&why.to_string())),
        }
    }
}

impl Webhooks {
    /// Delivers what is due to this user's webhooks, until the slice is over. A webhook that does not answer keeps no other
    /// one waiting.
    pub async fn deliver(&self, user: UserId, slice: &Slice) -> Result<DeliveryRound, sqlx::Error> {
        let on = self.db.for_user(user, store::list_on).await?;
        let now = self.clock.now();
        let all = on.into_iter().map(async |webhook| match webhook.next_try_at {
            Some(at) if at > now => Ok(DeliveryRound::Later(at)),
            _ => self.deliver_to(user, webhook, slice).await,
        });
        let mut round = DeliveryRound::Done;
        for one in join_all(all).await {
            round = match (round, one?) {
                (DeliveryRound::More, _) | (_, DeliveryRound::More) => DeliveryRound::More,
                (DeliveryRound::Later(a), DeliveryRound::Later(b)) => {
                    DeliveryRound::Later(a.min(b))
                }
                (DeliveryRound::Done, other) | (other, DeliveryRound::Done) => other,
            };
        }
        Ok(round)
    }

    async fn deliver_to(
        &self,
        user: UserId,
        mut webhook: DueWebhook,
        slice: &Slice,
    ) -> Result<DeliveryRound, sqlx::Error> {
        let events = store::parsed(&webhook.events);
        loop {
            let now = self.clock.now();
            let page = feed::read(&self.db, user, webhook.position, &events, BATCH, now).await?;
            for event in page.events {
                let position = event.id;
                let ended = self.deliver_one(user, &webhook, event, slice).await?;
                if ended != DeliveryRound::More {
                    return Ok(ended);
                }
                webhook.position = position;
                (webhook.failing_since, webhook.attempts) = (None, 0);
                if slice.is_over() {
                    return Ok(DeliveryRound::More);
                }
            }
            if page.position > webhook.position {
                let mut tx = self.db.as_user(user).await?;
                let is_moved =
                    store::pass_over(&mut tx, user, webhook.place(), page.position).await?;
                tx.commit().await?;
                if !is_moved {
                    return Ok(DeliveryRound::Done);
                }
                webhook.position = page.position;
            }
            if !page.has_more {
                return Ok(DeliveryRound::Done);
            }
            if slice.is_over() {
                return Ok(DeliveryRound::More);
            }
        }
    }

    /// `More` if it was accepted; `Done` if the webhook is not to be told any more.
    async fn deliver_one(
        &self,
        user: UserId,
        webhook: &DueWebhook,
        event: FeedEvent,
        slice: &Slice,
    ) -> Result<DeliveryRound, sqlx::Error> {
        let id = event.id;
        let mut tx = self.db.as_user(user).await?;
        let content = match &event.subject {
            FeedSubject::Item(item, _) if webhook.includes_text => {
                find_item(&mut tx, user, *item).await?.map(|item| item.content)
            }
            _ => None,
        };
        tx.commit().await?;
        let message = EventMessage::new(event, self.public_url.as_str(), content);
        let attempt = self.send(user, webhook, &message).await?;
        let now = self.clock.now();
        let record = attempt.record(message.event_type(), now);
        let mut tx = self.db.as_user(user).await?;
        let Some(why) = attempt.problem else {
            slice.note(1, 0);
            let is_on = store::accept(&mut tx, user, webhook.place(), id, &record).await?;
            tx.commit().await?;
            return Ok(match is_on {
                true => DeliveryRound::More,
                false => DeliveryRound::Done,
            });
        };
        slice.note(0, 1);
        let failing_since = webhook.failing_since.unwrap_or(now);
        let is_over = why == DeliveryProblem::Gone || now - failing_since >= FAILING_MAX;
        let next_try_at = now + back_off(webhook.attempts, attempt.retry_after);
        let state = if is_over { WebhookState::Off } else { WebhookState::On };
        let next = (!is_over).then_some(next_try_at);
        store::fail(&mut tx, user, webhook.place(), state, next, &record).await?;
        tx.commit().await?;
        if is_over {
            tracing::info!(
                user = user.0,
                webhook = webhook.id,
                "a webhook that kept failing was switched off"
            );
            return Ok(DeliveryRound::Done);
        }
        Ok(DeliveryRound::Later(next_try_at))
    }

    /// Sends a message of its own at once, whatever the state; it moves nothing.
    ///
    /// # Errors
    /// If there is no such webhook. How it was answered is the result.
    pub async fn test(
        &self,
        user: UserId,
        id: i64,
    ) -> Result<Result<u16, DeliveryProblem>, WebhookError> {
        let mut tx = self.db.as_user(user).await?;
        let webhook = store::find(&mut tx, user, id).await?;
        let webhook = webhook.ok_or(WebhookError::NotFound)?;
        tx.commit().await?;
        let unique = Uuid::new_v4().simple().to_string();
        let message = EventMessage::test(&unique, self.public_url.as_str(), self.clock.now());
        let attempt = self.send(user, &webhook, &message).await?;
        let record = attempt.record(message.event_type(), self.clock.now());
        let mut tx = self.db.as_user(user).await?;
        store::insert_delivery(&mut tx, user, id, &record).await?;
        tx.commit().await?;
        Ok(match attempt.problem {
            None => Ok(attempt.status.unwrap_or_default()),
            Some(why) => Err(why),
        })
    }

    async fn send(
        &self,
        user: UserId,
        webhook: &DueWebhook,
        message: &EventMessage,
    ) -> Result<DeliveryAttempt, sqlx::Error> {
        let now = self.clock.now();
        let secrets = self.open(user, webhook, now);
        let body = serde_json::to_vec(message).unwrap_or_default();
        let (Ok(url), Ok(secrets)) = (EndpointUrl::parse("url", &webhook.url), secrets) else {
            return Ok(DeliveryAttempt {
                status: None,
                problem: Some(DeliveryProblem::Secret),
                retry_after: None,
                took: StdDuration::ZERO,
            });
        };
        // Asked before each message, since an admin may have changed the list.
        let reach = EndpointPurpose::Webhooks.reach(&self.db, Some(user), &url).await?;
        let timestamp_s = now.unix_timestamp();
        let signature = secrets.sign(message.id(), timestamp_s, &body);
        let headers = headers(message.id(), timestamp_s, &signature);
        let began = Instant::now();
        let sent = self.outbound.post(&url, reach, headers, body).await;
        Ok(DeliveryAttempt::of(sent, began.elapsed()))
    }
}

fn headers(id: &str, timestamp_s: i64, signature: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in [
        ("webhook-id", id),
        ("webhook-timestamp", &timestamp_s.to_string()),
        ("webhook-signature", signature),
    ] {
        // Letters, digits and base64: always a value of a header.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

/// Exponential, from 5 seconds to 12 hours, with ±10 % jitter; longer if the endpoint asks for it.
fn back_off(attempts_before: i32, retry_after: Option<StdDuration>) -> Duration {
    let doublings = u32::try_from(attempts_before).unwrap_or(0).min(14);
    let planned = (BACK_OFF * 2_i32.pow(doublings)).min(BACK_OFF_MAX);
    let asked = retry_after.and_then(|wait| Duration::try_from(wait).ok());
    let asked = asked.unwrap_or_default().min(BACK_OFF_MAX);
    (planned * rand::rng().random_range(0.9..1.1_f64)).max(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_tried_again_after_five_seconds_and_at_most_twelve_hours() {
        let seconds = |attempts, asked| back_off(attempts, asked).as_seconds_f64();
        assert!((4.5..5.6).contains(&seconds(0, None)));
        assert!((36.0..44.1).contains(&seconds(3, None)));
        for attempts in [14, 60, i32::MAX] {
            assert!((38_880.0..47_521.0).contains(&seconds(attempts, None)));
        }
        let hour = StdDuration::from_secs(3_600);
        assert_eq!(seconds(0, Some(hour)), 3_600.0);
        assert_eq!(seconds(0, Some(hour * 1_000)), 43_200.0);
    }
}
