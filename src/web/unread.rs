//! Whoever is refused before their body was read may still be sending it. On a connection
//! that is kept, the next request would stand behind the rest of it, so hyper closes the
//! connection, of which its client has not been told: "disconnected without a response" is
//! then all that it learns. So a little is read to its end, and else the answer says that
//! the connection closes.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use tokio::sync::oneshot;

/// As much of what nobody asked for is read.
const READ_BYTES_MAX: usize = 256 << 10;
/// As long an answer waits for it.
const READ_TIME_MAX: Duration = Duration::from_secs(1);

pub async fn finish(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (give_back, mut given_back) = oneshot::channel();
    let request = request.map(|body| {
        Body::new(Lent {
            body,
            give_back: Some(give_back),
        })
    });
    let mut response = next.run(request).await;
    if let Ok(rest) = given_back.try_recv()
        && !reads_to_its_end(rest).await
    {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

async fn reads_to_its_end(rest: Body) -> bool {
    let read = axum::body::to_bytes(rest, READ_BYTES_MAX);
    matches!(tokio::time::timeout(READ_TIME_MAX, read).await, Ok(Ok(_)))
}

/// A body that comes back when it is dropped before its end.
struct Lent {
    body: Body,
    give_back: Option<oneshot::Sender<Body>>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(give_back) = self.give_back.take()
            && !self.body.is_end_stream()
        {
            // Nobody takes it where the answer has gone before.
            give_back.send(std::mem::take(&mut self.body)).ok();
        }
    }
}
