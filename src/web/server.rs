//! Serves the connections of the gate: HTTP/1.1, one task per connection. A request's handler is dropped with
//! its connection, so that no work is done for a client that has disconnected.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tower::ServiceExt;

use super::connection::{AnswerState, Connection};
use super::gate::Gate;
use super::held::HeldBody;

/// Limit of a request's line and headers, which are buffered until complete.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Runs until `drained` completes; then each connection closes after its current answer, and this returns
/// when all have.
pub async fn serve(mut gate: Gate, router: Router, drained: impl Future<Output = ()>) {
    let (stop, stopped) = watch::channel(false);
    let mut drained = pin!(drained);
    loop {
        let (connection, peer) = tokio::select! {
            accepted = gate.accept() => accepted,
            () = &mut drained => break,
        };
        tokio::spawn(answer(connection, peer, router.clone(), stopped.clone()));
    }
    drop((gate, stopped));
    stop.send(true).ok();
    stop.closed().await;
}

async fn answer(
    connection: Connection,
    peer: SocketAddr,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let answering = connection.answering();
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let under_way = AnswerGuard::begin(&answering);
        let answered = router.clone().oneshot(request);
        async move {
            let response: Response = answered.await?;
            Ok::<_, Infallible>(response.map(|body| HeldBody::new(body, under_way)))
        }
    });
    let connection = http1::Builder::new()
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(connection), service);
    let mut connection = pin!(connection);
    let stopped = async {
        stopped.wait_for(|stopped| *stopped).await.ok();
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::trace!(%error, "a connection ended before its time");
    }
}

/// Lasts from the end of a request's headers to the end of its answer.
struct AnswerGuard(Arc<AnswerState>);

impl AnswerGuard {
    fn begin(answering: &Arc<AnswerState>) -> Self {
        answering.begin();
        Self(answering.clone())
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use axum::routing::{get, post};
    use futures_util::stream::{self, StreamExt};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::*;
    use crate::web::connection::ConnectionLimits;

    const HANG_GUARD: Duration = Duration::from_secs(60);
    const LONG: Duration = Duration::from_secs(600);
    /// Long enough for a busy machine to send a request.
    const SHORT: Duration = Duration::from_secs(1);
    const NO_LIMITS: ConnectionLimits =
        ConnectionLimits { count: 100, head: LONG, idle: LONG, stalled: LONG };
    const ASK: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    /// Answers on `/`, on `/slow` after a signal, and on `/much` with more than fits into a socket's buffer;
    /// notifies when that answer ends.
    async fn start(limits: ConnectionLimits) -> (SocketAddr, Arc<Notify>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (gate, door) = Gate::new(listener, limits);
        let release = Arc::new(Notify::new());
        let told = release.clone();
        let slow = move || async move {
            told.notified().await;
            "done"
        };
        let tell = release.clone();
        let much = move || async move {
            let until_ended = TellAtEnd(tell);
            let parts = stream::repeat(vec![b'a'; 64 << 10]).take(1 << 10);
            Body::from_stream(parts.map(move |part| {
                let _held = &until_ended;
                Ok::<_, Infallible>(part)
            }))
        };
        let router = Router::new()
            .route("/", get(|| async { "done" }))
            .route("/slow", post(slow))
            .route("/much", get(much));
        tokio::spawn(async move {
            let _door = door;
            serve(gate, router, std::future::pending()).await;
        });
        (address, release)
    }

    struct TellAtEnd(Arc<Notify>);

    impl Drop for TellAtEnd {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }

    async fn said(socket: &mut TcpStream) -> String {
        let mut buffer = vec![0; 4 << 10];
        let count = timeout(HANG_GUARD, socket.read(&mut buffer)).await;
        let count = count.expect("an answer, or the end").unwrap_or(0);
        String::from_utf8_lossy(&buffer[..count]).into_owned()
    }

    #[tokio::test]
    async fn a_client_that_does_not_end_its_headers_is_cut_off() {
        let limits = ConnectionLimits { head: SHORT, ..NO_LIMITS };
        let (address, _) = start(limits).await;
        for begun in [&b""[..], b"GET / HTTP/1.1\r\nhost: a\r\n"] {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(begun).await.unwrap();
            assert_eq!(said(&mut socket).await, "");
        }
        // The same for a second request.
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(ASK).await.unwrap();
        assert!(said(&mut socket).await.ends_with("done"));
        socket.write_all(b"GET /").await.unwrap();
        assert_eq!(said(&mut socket).await, "");
    }

    #[tokio::test]
    async fn a_connection_is_kept_between_requests_and_closed_when_it_is_idle_for_long() {
        let limits = ConnectionLimits { idle: SHORT, ..NO_LIMITS };
        let (address, _) = start(limits).await;
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(ASK).await.unwrap();
        let answer = said(&mut socket).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("done"), "{answer}");
        assert_eq!(said(&mut socket).await, "");
    }

    #[tokio::test]
    async fn a_request_that_is_being_answered_may_take_longer_than_its_headers() {
        let limits = ConnectionLimits { head: SHORT, idle: SHORT, ..NO_LIMITS };
        let (address, release) = start(limits).await;
        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(b"POST /slow HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
            .await
            .unwrap();
        // A later connection that sends nothing times out, and so would the first.
        for _ in 0..2 {
            let mut silent = TcpStream::connect(address).await.unwrap();
            assert_eq!(said(&mut silent).await, "");
        }
        release.notify_one();
        assert!(said(&mut slow).await.ends_with("done"));
    }

    #[tokio::test]
    async fn a_client_that_does_not_take_its_answer_is_cut_off() {
        let limits = ConnectionLimits { stalled: SHORT, ..NO_LIMITS };
        let (address, ended) = start(limits).await;
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(b"GET /much HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        timeout(HANG_GUARD, ended.notified()).await.expect("cut off");
        drop(socket);
    }

    #[tokio::test]
    async fn no_more_connections_are_open_than_may_be_and_the_next_has_its_turn() {
        let limits = ConnectionLimits { count: 1, ..NO_LIMITS };
        let (address, _) = start(limits).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        first.write_all(ASK).await.unwrap();
        assert!(said(&mut first).await.ends_with("done"));
        let mut second = TcpStream::connect(address).await.unwrap();
        second.write_all(ASK).await.unwrap();
        // The first connection is served again while the second waits.
        first.write_all(ASK).await.unwrap();
        assert!(said(&mut first).await.ends_with("done"));
        let mut byte = [0];
        let early = timeout(SHORT, second.peek(&mut byte)).await;
        assert!(early.is_err(), "the second is not let in");
        drop(first);
        assert!(said(&mut second).await.ends_with("done"));
    }
}
