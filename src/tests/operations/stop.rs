//! A stop, of the real program: told at once, and no request is lost by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Client;
use rustix::process::Signal;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{beside, serving, until_ready, with_provider};
use crate::server::{Home, Server, is_ready};
use crate::support::{TestApp, until};

const STOPS: usize = 20;
const CLIENTS: usize = 4;
/// What a server has where nobody says otherwise.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Seen {
    answered: AtomicUsize,
    answered_while_draining: AtomicUsize,
    lost: AtomicUsize,
    is_stopping: AtomicBool,
}

/// Asks on kept-alive connections until nobody listens any more: when that was.
async fn keep_asking(url: String, token: String, seen: Arc<Seen>) -> Instant {
    let client = Client::new();
    loop {
        let was_stopping = seen.is_stopping.load(Ordering::Relaxed);
        let request = client.post(&url).bearer_auth(&token).json(&json!({}));
        match request.send().await {
            Ok(response) if response.status() == 200 => {
                seen.answered.fetch_add(1, Ordering::Relaxed);
                if was_stopping {
                    seen.answered_while_draining.fetch_add(1, Ordering::Relaxed);
                    let connection = response.headers().get("connection");
                    assert!(connection.is_some_and(|value| value == "close"));
                }
                response.bytes().await.unwrap();
            }
            Err(error) if error.is_connect() => return Instant::now(),
            other => {
                eprintln!("lost: {other:?}");
                seen.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a series under load: `make check` runs it alone"]
async fn twenty_stops_under_load_lose_no_request() {
    let (app, anna) = TestApp::start_for("anna").await;
    let seen = Arc::new(Seen::default());
    let watcher = Client::new();
    for _ in 0..STOPS {
        seen.is_stopping.store(false, Ordering::Relaxed);
        let grace = GRACE.as_secs().to_string();
        let settings = [("KEEPSAKE_STOP_GRACE_SECONDS", grace.as_str())];
        let (home, server) = serving(&app, &["--no-worker"], &settings).await;
        let url = home.url("/api/v1/tools/memory_list_themes");
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| tokio::spawn(keep_asking(url.clone(), anna.token.clone(), seen.clone())))
            .collect();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let asked = Instant::now();
        server.signal(Signal::TERM);
        // Told while the door is still open: nobody answers behind a closed one.
        let readiness = || watcher.get(home.url("/readyz")).send();
        while readiness().await.unwrap().status() == 200 {}
        assert!(asked.elapsed() < GRACE, "readiness was told too late");
        seen.is_stopping.store(true, Ordering::Relaxed);
        for client in clients {
            let after = client.await.unwrap() - asked;
            assert!(after >= GRACE, "refused {after:?} after the signal");
        }
        assert_eq!(server.ended().0, Some(0));
    }
    let count = |n: &AtomicUsize| n.load(Ordering::Relaxed);
    eprintln!(
        "{STOPS} stops: {} answered, {} of them while stopping, {} lost",
        count(&seen.answered),
        count(&seen.answered_while_draining),
        count(&seen.lost)
    );
    assert!(count(&seen.answered_while_draining) > STOPS);
    assert_eq!(count(&seen.lost), 0);
}

/// A call of which all but the last byte is sent.
async fn begin_call(home: &Home, token: &str) -> TcpStream {
    let address = home.url("").replace("http://", "");
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "POST /api/v1/tools/memory_list_themes HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    stream
}

#[tokio::test]
async fn a_request_under_way_ends_after_the_door_has_closed_and_who_asks_twice_does_not_wait() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (home, server) = serving(&app, &["--no-worker"], &[]).await;
    let mut call = begin_call(&home, &anna.token).await;
    server.signal(Signal::TERM);
    until("the door is closed", async || is_ready(&home).await.is_none()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    call.write_all(b"}").await.unwrap();
    let mut answer = String::new();
    call.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    assert_eq!(server.ended().0, Some(0));

    let (home, server) = serving(&app, &["--no-worker"], &[]).await;
    let _call = begin_call(&home, &anna.token).await;
    server.signal(Signal::INT);
    until("the first is heard", async || is_ready(&home).await != Some(true)).await;
    server.signal(Signal::INT);
    let (code, log) = server.ended();
    // One signal would end it with 0, once the call had ended or was cut off.
    assert_eq!(code, Some(130), "{log}");
}

#[tokio::test]
async fn jobs_under_way_are_put_back_and_no_text_is_sent_twice() {
    let (app, anna, provider) = with_provider().await;
    for n in 0..120 {
        anna.add(&format!("item {n}")).await;
    }
    provider.forget_calls();
    let held = provider.hold();
    let home = Home::new();
    let worker = Server::spawn(&mut beside(&app, &home, &["work"]));
    provider.until_called().await;
    worker.signal(Signal::TERM);
    // The batch is 32: the call under way is answered, and no other is sent.
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(held);
    let (code, log) = worker.ended();
    assert_eq!(code, Some(0), "{log}");
    assert!(provider.texts().len() < 120, "the stop came too late to show anything");
    let next = Server::spawn(&mut beside(&app, &home, &["work"]));
    until_ready(&app, &anna, 120).await;
    let mut texts = provider.texts();
    texts.sort();
    texts.dedup();
    assert_eq!((texts.len(), provider.texts().len()), (120, 120));
    assert_eq!(next.stop().0, Some(0));
}
