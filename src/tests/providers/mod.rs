//! Providers, each behaviour with its outcome. No packet leaves this machine:
//! loopback stands in for the networks that the policy is about.

mod bad_days;
mod builtin;
mod chat;
mod dialects;
mod endpoints;
mod formats;
pub mod llamacpp;
mod policy;
mod ssrf;
mod test_report;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use keepsake::clock::MovableClock;
use keepsake::providers::{
    ApiKey, Embedded, Embedder, Endpoint, EndpointUrl, NameLookup, ProviderError, ProviderType,
    Reach,
};
use time::macros::datetime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub const DEADLINE: Duration = crate::support::PATIENCE;

/// Names that stand for what a test says, and how often they were asked for. Of a name that is
/// there several times it says the next thing at each look-up, the last for ever.
pub struct Table {
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    pub asked: AtomicUsize,
}

impl Table {
    pub fn of(names: &[(&str, &[&str])]) -> Arc<Self> {
        let mut turns: HashMap<String, Vec<Vec<IpAddr>>> = HashMap::new();
        for (name, addresses) in names {
            let addresses = addresses.iter().map(|a| a.parse().unwrap()).collect();
            turns.entry((*name).to_owned()).or_default().push(addresses);
        }
        Arc::new(Self { names: Mutex::new(turns), asked: AtomicUsize::new(0) })
    }
}

#[async_trait]
impl NameLookup for Table {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut names = self.names.lock().unwrap();
        let turns = names.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(if turns.len() > 1 { turns.remove(0) } else { turns[0].clone() })
    }
}

pub fn embedder() -> Embedder {
    embedder_knowing(Table::of(&[]))
}

pub fn embedder_knowing(names: Arc<Table>) -> Embedder {
    let clock = MovableClock::at(datetime!(2026-11-21 07:28:00 UTC));
    Embedder::new(None, names, clock)
}

pub fn endpoint(provider_type: ProviderType, url: &str) -> Endpoint {
    Endpoint {
        provider_type,
        url: EndpointUrl::parse("url", url).unwrap(),
        model: "small".into(),
        dimensions: None,
        key: Some(ApiKey::new("sesame")),
        key_header: String::new(),
        is_thinking_off: false,
        reach: Reach::Private,
    }
}

pub fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Two texts at an endpoint that speaks OpenAI's words.
pub async fn ask(url: &str) -> Result<Embedded, ProviderError> {
    let endpoint = endpoint(ProviderType::Openai, url);
    let two = texts(&["one", "two"]);
    embedder().embed(&endpoint, &two, DEADLINE).await
}

/// Saves the address of an endpoint and sends one text there, as far as that goes.
pub async fn call(
    embedder: &Embedder,
    provider_type: ProviderType,
    url: &str,
    reach: Reach,
) -> Result<(), ProviderError> {
    if EndpointUrl::parse("url", url).is_err() {
        return Err(ProviderError::Forbidden);
    }
    let endpoint = Endpoint { reach, ..endpoint(provider_type, url) };
    embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await.map(drop)
}

/// A server of a few bytes: each connection is handed to `answer` once the
/// request has been read. Returns its address and the count of connections.
pub async fn raw_server<F>(answer: impl Fn(TcpStream) -> F + Send + 'static) -> Raw
where
    F: Future<Output = ()> + Send + 'static,
{
    raw_server_at(TcpListener::bind("127.0.0.1:0").await.unwrap(), answer)
}

fn raw_server_at<F>(listener: TcpListener, answer: impl Fn(TcpStream) -> F + Send + 'static) -> Raw
where
    F: Future<Output = ()> + Send + 'static,
{
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request).await;
            tokio::spawn(answer(stream));
        }
    });
    Raw { address, connections, server }
}

pub struct Raw {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    server: tokio::task::JoinHandle<()>,
}

impl Raw {
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// One answer, then the connection is closed.
pub async fn answering(bytes: impl Into<Vec<u8>>) -> Raw {
    answering_at(TcpListener::bind("127.0.0.1:0").await.unwrap(), bytes)
}

fn answering_at(listener: TcpListener, bytes: impl Into<Vec<u8>>) -> Raw {
    let bytes: Vec<u8> = bytes.into();
    raw_server_at(listener, move |mut stream| {
        let bytes = bytes.clone();
        async move {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    })
}

/// An HTTP answer of status and body, with its length.
pub fn http(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

pub fn json(body: &str) -> String {
    http("200 OK", "content-type: application/json\r\n", body)
}
