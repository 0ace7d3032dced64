//! Request bodies. A body has a deadline, so that a client cannot keep a call open by sending nothing; beyond
//! it the answer is 408.
//!
//! A client that is refused before its body was read may still be sending it. On a kept connection the next
//! request would follow the rest, so hyper closes the connection without telling the client, which only sees
//! "disconnected without a response". So a small rest is read to its end; otherwise the answer says
//! `Connection: close`.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};

use super::BODY_BYTES_MAX;
use super::error::Problem;

/// Maximum bytes of a rest that is read,
const READ_BYTES_MAX: usize = 256 << 10;
/// and for how long.
const READ_TIME_MAX: Duration = Duration::from_secs(1);

/// Time limit of a body, from when it is first read.
#[derive(Clone, Copy, Debug)]
pub struct BodyTime {
    /// For the first MiB, which is the maximum of most requests,
    pub first: Duration,
    /// and the minimum rate of an upload beyond that.
    pub bytes_per_s: u64,
}

impl Default for BodyTime {
    fn default() -> Self {
        Self { first: Duration::from_secs(30), bytes_per_s: 64 << 10 }
    }
}

impl BodyTime {
    fn of(self, bytes_read: u64) -> Duration {
        let past_first = bytes_read.saturating_sub(BODY_BYTES_MAX as u64);
        self.first + Duration::from_secs(past_first / self.bytes_per_s)
    }
}

pub async fn finish(State(time): State<BodyTime>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (give_back, mut given_back) = oneshot::channel();
    let is_late = Arc::new(AtomicBool::new(false));
    let request = request.map(|body| {
        Body::new(BorrowedBody {
            body,
            give_back: Some(give_back),
            time,
            began: None,
            bytes_read: 0,
            is_late: is_late.clone(),
        })
    });
    let mut response = next.run(request).await;
    if is_late.load(Ordering::Relaxed) {
        let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
        return (close, late(time)).into_response();
    }
    if let Ok(rest) = given_back.try_recv()
        && !reads_to_its_end(rest).await
    {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

fn late(time: BodyTime) -> Problem {
    let first_s = time.first.as_secs();
    let kib_per_s = time.bytes_per_s >> 10;
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "body_timeout",
        format!(
            "The body did not arrive in time; send it within {first_s} seconds, and what is past 1 MiB with at least {kib_per_s} KiB a second."
        ),
    )
}

async fn reads_to_its_end(rest: Body) -> bool {
    let read = axum::body::to_bytes(rest, READ_BYTES_MAX);
    matches!(tokio::time::timeout(READ_TIME_MAX, read).await, Ok(Ok(_)))
}

/// A body that ends at its deadline, and is given back if it is dropped before its end.
struct BorrowedBody {
    body: Body,
    give_back: Option<oneshot::Sender<Body>>,
    time: BodyTime,
    /// When it was first read, and the deadline.
    began: Option<(Instant, Pin<Box<Sleep>>)>,
    bytes_read: u64,
    is_late: Arc<AtomicBool>,
}

impl HttpBody for BorrowedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let first = this.time.first;
        let begin = || (Instant::now(), Box::pin(sleep(first)));
        let (began, deadline) = this.began.get_or_insert_with(begin);
        let frame = Pin::new(&mut this.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(read))) = &frame {
            let bytes = read.data_ref().map_or(0, Bytes::len);
            this.bytes_read += bytes as u64;
            let until = *began + this.time.of(this.bytes_read);
            if until > deadline.deadline() {
                deadline.as_mut().reset(until);
            }
        }
        if frame.is_ready() {
            return frame;
        }
        ready!(deadline.as_mut().poll(cx));
        this.is_late.store(true, Ordering::Relaxed);
        let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
        Poll::Ready(Some(Err(axum::Error::new(late))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for BorrowedBody {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take()
            && !self.body.is_end_stream()
        {
            // The receiver is gone if the response was sent already.
            give_back.send(std::mem::take(&mut self.body)).ok();
        }
    }
}
