//! What chat costs a user, by day (UTC). A call reserves as much as it can come to
//! before it is made and is settled with what it came to, so that calls at once never
//! pass the cap together. What a killed server had reserved counts no more some
//! minutes later; that such a call failed is counted then.

pub mod store;

use sqlx::PgConnection;
use time::{Date, Duration, OffsetDateTime};

use super::{ChatPurpose, ChatRequest, Completion};
use crate::db::UserId;
use crate::providers::ProviderError;

/// Days on the page, today's included.
pub const SHOWN_DAYS: Duration = Duration::days(29);
/// Older ones go.
pub(super) const KEPT_DAYS: Duration = Duration::days(400);

/// Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {cap} tokens of today{} are used up, or this call could pass them: wait until tomorrow (UTC), or raise the {}",
    .purpose.map_or(String::new(), |purpose| format!(" for {}", purpose.as_str())), if .purpose.is_some() { "share" } else { "cap" }
)]
pub struct CapReached {
    pub cap: i64,
    /// Of this alone; `None`: of all together.
    pub purpose: Option<ChatPurpose>,
}

/// What a call may come to.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub tokens: i64,
    pub purpose: ChatPurpose,
    /// Tokens of the user a day, and those of them for this purpose.
    pub cap: i64,
    pub purpose_cap: i64,
    pub now: OffsetDateTime,
    /// By then the call is settled, or lost.
    pub until: OffsetDateTime,
}

/// So many tokens are held for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub id: i64,
    pub day: Date,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub purpose: ChatPurpose,
    pub is_failed: bool,
}

impl Spent {
    /// A call that failed on its way cost nothing; one that the model may have worked on
    /// counts with all that it could have come to.
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

/// Whatever a server claims, sums stay sums.
const TOKENS_A_CALL_MAX: i64 = 1_000_000_000;

/// One day of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaySpend {
    pub day: Date,
    pub tokens_in: i64,
    pub tokens_out: i64,
    /// Those that failed too.
    pub calls: i64,
    pub failed_calls: i64,
    /// Of its tokens, those of each purpose; `None`: of before purposes were told apart.
    pub by_purpose: Vec<(Option<ChatPurpose>, i64)>,
}

impl DaySpend {
    fn none_on(day: Date) -> Self {
        Self {
            day,
            tokens_in: 0,
            tokens_out: 0,
            calls: 0,
            failed_calls: 0,
            by_purpose: Vec::new(),
        }
    }

    pub fn tokens(&self) -> i64 {
        self.tokens_in + self.tokens_out
    }
}

/// Holds what the call may come to, in the caller's transaction, which is to be committed
/// before the call. Others of the same user and day wait for that.
pub async fn reserve(
    conn: &mut PgConnection,
    user: UserId,
    wish: &Wish,
) -> Result<Result<Reservation, CapReached>, sqlx::Error> {
    let day = wish.now.date();
    let spent = store::lock_day(conn, user, day).await?;
    store::count_lost(conn, user, day, wish.now).await?;
    store::forget_before(conn, user, day - KEPT_DAYS, wish.now).await?;
    let reserved = store::reserved(conn, user, day).await?;
    let left = wish.cap.saturating_sub(spent.saturating_add(reserved));
    if wish.tokens > left {
        let cap = wish.cap;
        return Ok(Err(CapReached { cap, purpose: None }));
    }
    if wish.purpose_cap < wish.cap {
        let taken = store::taken_for(conn, user, day, wish.purpose).await?;
        if wish.tokens > wish.purpose_cap.saturating_sub(taken) {
            return Ok(Err(CapReached {
                cap: wish.purpose_cap,
                purpose: Some(wish.purpose),
            }));
        }
    }
    let id = store::insert_reservation(conn, user, day, wish).await?;
    Ok(Ok(Reservation { id, day }))
}

/// Writes down what the call came to, and lets go of what was held for it.
pub async fn settle(
    conn: &mut PgConnection,
    user: UserId,
    reservation: &Reservation,
    spent: Spent,
) -> Result<(), sqlx::Error> {
    // The day first, as in `reserve`: two that lock in other orders could wait for each other.
    store::add(conn, user, reservation.day, spent).await?;
    store::delete_reservation(conn, user, reservation.id).await
}

/// The last [`SHOWN_DAYS`], the oldest first, with the days on which nothing was spent.
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
