//! The chat tokens of a user by day (UTC). A call reserves its maximum before it starts and is settled with
//! its actual cost, so that concurrent calls never exceed the limit together. The reservations of a killed
//! server expire after some minutes; its calls then count as failed.

pub mod store;

use sqlx::PgConnection;
use time::{Date, Duration, OffsetDateTime};

use super::{ChatPurpose, ChatRequest, Completion};
use crate::db::UserId;
use crate::providers::ProviderError;

/// Days on the page, before today.
pub const SHOWN_DAYS: Duration = Duration::days(29);
/// Older days are deleted.
pub(super) const KEPT_DAYS: Duration = Duration::days(400);

/// The limit is reached; nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {cap} tokens of today{} are used up, or this call could pass them: wait until tomorrow (UTC), or raise the {}",
    .purpose.map_or(String::new(), |purpose| format!(" for {}", purpose.as_str())), if .purpose.is_some() { "share" } else { "cap" }
)]
pub struct CapReached {
    pub cap: i64,
    /// The purpose whose share is used up; `None`: the total.
    pub purpose: Option<ChatPurpose>,
}

/// The reservation that a call needs.
#[derive(Clone, Copy, Debug)]
pub struct ReservationRequest {
    pub tokens: i64,
    pub purpose: ChatPurpose,
    /// The user's tokens per day, and those for this purpose.
    pub cap: i64,
    pub purpose_cap: i64,
    pub now: OffsetDateTime,
    /// By then the call is settled, or its server was killed.
    pub until: OffsetDateTime,
}

/// Tokens that are reserved for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub id: i64,
    pub day: Date,
}

/// The actual cost of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub purpose: ChatPurpose,
    pub is_failed: bool,
}

impl Spent {
    /// A call that never reached the model costs nothing; a failed one that the model may have processed
    /// costs the maximum.
    pub fn of(answer: &Result<Completion, ProviderError>, request: &ChatRequest<'_>) -> Self {
        let (tokens_in, tokens_out) = match answer {
            Ok(completion) => (completion.tokens_in, completion.tokens_out),
            Err(error) if error.may_have_cost() => {
                (request.estimated_tokens_in(), request.max_tokens.into())
            }
            Err(_) => (0, 0),
        };
        let tokens = |n: u64| i64::try_from(n).unwrap_or(i64::MAX).min(TOKENS_A_CALL_MAX);
        Self {
            tokens_in: tokens(tokens_in),
            tokens_out: tokens(tokens_out),
            purpose: request.purpose,
            is_failed: answer.is_err(),
        }
    }
}

/// Prevents overflow, whatever a server reports.
const TOKENS_A_CALL_MAX: i64 = 1_000_000_000;

/// One day of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaySpend {
    pub day: Date,
    pub tokens_in: i64,
    pub tokens_out: i64,
    /// Including failed ones.
    pub calls: i64,
    pub failed_calls: i64,
    /// The day's tokens by purpose; `None`: from before purposes were recorded.
    pub by_purpose: Vec<(Option<ChatPurpose>, i64)>,
}

impl DaySpend {
    fn none_on(day: Date) -> Self {
        Self { day, tokens_in: 0, tokens_out: 0, calls: 0, failed_calls: 0, by_purpose: Vec::new() }
    }

    pub fn tokens(&self) -> i64 {
        self.tokens_in + self.tokens_out
    }
}

/// Reserves the maximum of a call, in the caller's transaction, which must commit before the call. Other
/// calls of the same user and day wait for it.
pub async fn reserve(
    conn: &mut PgConnection,
    user: UserId,
    wanted: &ReservationRequest,
) -> Result<Result<Reservation, CapReached>, sqlx::Error> {
    let day = wanted.now.date();
    store::lock_lost_days(conn, user, wanted.now).await?;
    let spent = store::lock_day(conn, user, day).await?;
    store::count_lost(conn, user, wanted.now).await?;
    store::forget_before(conn, user, day - KEPT_DAYS).await?;
    let reserved = store::reserved(conn, user, day).await?;
    let left = wanted.cap.saturating_sub(spent.saturating_add(reserved));
    if wanted.tokens > left {
        let cap = wanted.cap;
        return Ok(Err(CapReached { cap, purpose: None }));
    }
    if wanted.purpose_cap < wanted.cap {
        let taken = store::taken_for(conn, user, day, wanted.purpose).await?;
        if wanted.tokens > wanted.purpose_cap.saturating_sub(taken) {
            return Ok(Err(CapReached { cap: wanted.purpose_cap, purpose: Some(wanted.purpose) }));
        }
    }
    let id = store::insert_reservation(conn, user, day, wanted).await?;
    Ok(Ok(Reservation { id, day }))
}

/// Records the actual cost of a call, and releases its reservation.
pub async fn settle(
    conn: &mut PgConnection,
    user: UserId,
    reservation: &Reservation,
    spent: Spent,
) -> Result<(), sqlx::Error> {
    // Locks the day first, as `reserve` does, to avoid a deadlock.
    store::add(conn, user, reservation.day, spent).await?;
    store::delete_reservation(conn, user, reservation.id).await
}

/// The last [`SHOWN_DAYS`], oldest first, including days without calls.
pub(super) fn every_day(spent: &[DaySpend], today: Date) -> Vec<DaySpend> {
    let days = SHOWN_DAYS.whole_days();
    (0..=days)
        .rev()
        .map(|ago| {
            let day = today - Duration::days(ago);
            let found = spent.iter().find(|s| s.day == day);
            found.cloned().unwrap_or_else(|| DaySpend::none_on(day))
        })
        .collect()
}
