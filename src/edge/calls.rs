//! Limits the concurrent calls of one user, or of one operator with all its users: further calls wait in
//! order, and beyond that they are refused with 429. So one token uses a bounded share of the database
//! connections, and slows down only its owner.
//!
//! Counted in this server's memory; a caller without calls uses none.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::Problem;
use super::held::HeldBody;
use crate::accounts::{TokenOwner, UserId};
use crate::metrics;

/// Concurrent calls of one caller,
const RUNNING_MAX: usize = 4;
/// and those that may wait.
const WAITING_MAX: usize = 32;
/// How long an abandoned call still counts: PostgreSQL may still run its statement.
const ABANDONED_FOR: Duration = Duration::from_secs(1);
const RETRY_AFTER_S: u64 = 1;

/// Whose calls are counted together. A person's browser is counted separately from their agents, so that a
/// runaway agent can still be stopped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallOwner {
    Agent(TokenOwner),
    Person(UserId),
}

#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<HashMap<CallOwner, CallQueue>>>);

/// The calls of one caller.
struct CallQueue {
    running: Arc<Semaphore>,
    /// Running and waiting calls.
    count: usize,
}

impl Calls {
    /// Waits until the call may run. Its place is held until the returned value is dropped.
    pub async fn begin(&self, caller: CallOwner) -> Result<AdmittedCall, Problem> {
        let (place, running) = self.take_place(caller).ok_or_else(|| {
            metrics::call_refused();
            too_many_calls()
        })?;
        // The semaphore is never closed.
        let permit = running.clone().try_acquire_owned().ok();
        let has_waited = permit.is_none();
        let permit = match permit {
            Some(permit) => permit,
            None => running.acquire_owned().await.map_err(|_| too_many_calls())?,
        };
        Ok(AdmittedCall {
            held: Mutex::new(Some((Some(permit), place))),
            has_waited,
            is_finished: AtomicBool::new(false),
        })
    }

    fn take_place(&self, caller: CallOwner) -> Option<(CountedCall, Arc<Semaphore>)> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.entry(caller).or_insert_with(|| CallQueue {
            running: Arc::new(Semaphore::new(RUNNING_MAX)),
            count: 0,
        });
        if queue.count >= RUNNING_MAX + WAITING_MAX {
            return None;
        }
        queue.count += 1;
        let place = CountedCall { calls: self.clone(), caller };
        Some((place, queue.running.clone()))
    }
}

pub fn too_many_calls() -> Problem {
    Problem {
        wait_s: Some(RETRY_AFTER_S),
        ..Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_calls",
            format!(
                "{RUNNING_MAX} calls are running and {WAITING_MAX} are waiting already; wait for some of them to end, then try again."
            ),
        )
    }
}

/// A place among the calls of one caller.
struct CountedCall {
    calls: Calls,
    caller: CallOwner,
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        let mut queues = self.calls.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get_mut(&self.caller) {
            queue.count -= 1;
            if queue.count == 0 {
                queues.remove(&self.caller);
            }
        }
    }
}

/// A running call.
pub struct AdmittedCall {
    held: Mutex<Option<(Option<OwnedSemaphorePermit>, CountedCall)>>,
    /// If true, check the caller's permissions again: they may have changed.
    pub has_waited: bool,
    is_finished: AtomicBool,
}

impl AdmittedCall {
    /// Lets another call of the caller run while this one only waits. It still counts.
    pub fn wait(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((permit, _)) = held.as_mut() {
            drop(permit.take());
        }
    }

    /// Marks the call as answered: no statement of it is running.
    pub fn finish(&self) {
        self.is_finished.store(true, Ordering::Relaxed);
    }

    /// The response, which holds the call until it is sent or the client disconnects.
    pub fn answered(self, response: Response) -> Response {
        self.finish();
        if response.body().is_end_stream() {
            return response;
        }
        response.map(|body| Body::new(HeldBody::new(body, self)))
    }
}

impl Drop for AdmittedCall {
    fn drop(&mut self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(held) = held
            && !self.is_finished.load(Ordering::Relaxed)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move {
                tokio::time::sleep(ABANDONED_FOR).await;
                drop(held);
            });
        }
    }
}

/// Receives the [`AdmittedCall`] from the authentication. It is an extension of the request, so that a call lasts as
/// long as its last user.
#[derive(Clone, Default)]
pub struct CallSlot(Arc<OnceLock<AdmittedCall>>);

impl CallSlot {
    pub fn put(&self, call: AdmittedCall) {
        self.0.set(call).ok();
    }

    /// See [`AdmittedCall::wait`].
    pub fn wait(&self) {
        if let Some(call) = self.0.get() {
            call.wait();
        }
    }
}

/// For requests with a token: the handler authenticates the caller.
pub async fn hold(mut request: Request, next: Next) -> Response {
    let slot = CallSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = next.run(request).await;
    if let Some(call) = slot.0.get() {
        call.finish();
    }
    response
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const ANNA: CallOwner = CallOwner::Agent(TokenOwner::User(UserId(1)));

    #[tokio::test]
    async fn calls_past_the_limit_wait_in_order_and_those_past_that_are_refused() {
        let calls = Calls::default();
        let mut running = Vec::new();
        for _ in 0..RUNNING_MAX {
            running.push(calls.begin(ANNA).await.expect("it runs"));
        }
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(calls.begin(ANNA))).collect();
        for call in &mut waiting {
            assert!(call.now_or_never().is_none(), "it waits");
        }
        let refused = calls.begin(ANNA).await.err().expect("one too many");
        assert_eq!((refused.status.as_u16(), refused.retry_after_s()), (429, Some(1)));
        assert!(calls.begin(CallOwner::Person(UserId(1))).await.is_ok());
        assert!(calls.begin(CallOwner::Agent(TokenOwner::User(UserId(2)))).await.is_ok());

        let ended = running.remove(0);
        ended.finish();
        drop(ended);
        assert!((&mut waiting[1]).now_or_never().is_none(), "another came first");
        let first = (&mut waiting[0]).now_or_never().expect("its turn");
        assert!(first.is_ok());
        // Dropping a waiting call frees its place.
        waiting.pop();
        assert!(calls.begin(ANNA).now_or_never().is_none(), "there is room to wait");
    }

    #[tokio::test]
    async fn who_has_no_call_under_way_takes_no_memory() {
        let calls = Calls::default();
        let call = calls.begin(ANNA).await.expect("it runs");
        let waiting = calls.begin(ANNA);
        assert_eq!(calls.0.lock().expect("not poisoned").len(), 1);
        call.finish();
        drop((call, waiting));
        assert!(calls.0.lock().expect("not poisoned").is_empty());
    }
}
