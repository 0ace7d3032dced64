//! Every known way around an endpoint policy, through the client that calls
//! providers: none may end in a connection.
//!
//! The cases run twice. Once as they are: nothing on this machine is connected to.
//! And once in a network of their own (`unshare`, `ip`), where *every* address is
//! this machine's and one listener answers at all of them: there any connection at
//! all, to whatever address, is seen, and nothing can leave.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use keepsake::clock::MovableClock;
use keepsake::providers::chat::{ChatMessage, ChatPurpose, ChatRequest};
use keepsake::providers::{
    ApiKey, Embedder, Endpoint, EndpointUrl, NameLookup, NotChat, NotEmbeddings, ProviderError,
    ProviderType, Reach, Unreachable,
};
use time::macros::datetime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::{DEADLINE, http, json, texts};
use crate::support::until;

/// Set for the run in a network of its own.
const EVERY_ADDRESS_IS_OURS: &str = "KEEPSAKE_TEST_EVERY_ADDRESS_IS_OURS";
const ONE: &str = r#"{"data":[{"index":0,"embedding":[1,0]}]}"#;
const PUBLIC: &str = "93.184.216.34";

/// Addresses that nobody may name who may reach public ones alone: `PORT` is the
/// listener's.
#[rustfmt::skip]
const URLS: &[&str] = &[
    // Loopback, as numbers are read by those who connect.
    "http://127.0.0.1:PORT", "http://2130706433:PORT", "http://017700000001:PORT", "http://0177.0.0.1:PORT",
    "http://0177.0.0.01:PORT", "http://00000177.0.0.1:PORT", "http://0x7f000001:PORT", "http://0X7F000001:PORT",
    "http://0x7f.0x0.0x0.0x1:PORT", "http://0x7f.1:PORT", "http://0x7f.0.1:PORT", "http://127.1:PORT",
    "http://127.0.1:PORT", "http://127.65793:PORT", "http://0177.1:PORT", "http://127.0.0.1.:PORT",
    "http://127.255.255.254:PORT", "http://0x7f.0.0.0x000001:PORT",
    // Written so that others read something else.
    "http://%31%32%37.0.0.1:PORT", "http://127%2e0%2e0%2e1:PORT", "http://１２７.０.０.１:PORT", "http://127。0。0。1:PORT",
    "http://127．0．0．1:PORT", "http://127｡0｡0｡1:PORT", "http://①②⑦.⓪.⓪.①:PORT", "http://¹²⁷.⁰.⁰.¹:PORT",
    "http://𝟏𝟐𝟕.𝟎.𝟎.𝟏:PORT", "http://١٢٧.٠.٠.١:PORT", "http://127.0.0.1\u{ad}:PORT", "http://127.0.\t0.1:PORT",
    "http://127.0.0\n.1:PORT", " http://127.0.0.1:PORT ", "HTTP://127.0.0.1:PORT", "http:127.0.0.1:PORT",
    "http:/127.0.0.1:PORT", "http:////127.0.0.1:PORT", "http:\\\\127.0.0.1:PORT", "http://127.0.0.1:PORT\\@example.com",
    "http://127.0.0.1:PORT/../..//example.com", "http://127.0.0.1:PORT?@example.com/", "http://127.0.0.1:0PORT",
    // Users and fragments that look like hosts.
    "http://example.com@127.0.0.1:PORT", "http://example.com:80@127.0.0.1:PORT", "http://example.com%40@127.0.0.1:PORT",
    "http://127.0.0.1:PORT#@example.com", "http://example.com#@127.0.0.1:PORT", "http://example.com\\@127.0.0.1:PORT",
    "http://@127.0.0.1:PORT", "http://:@127.0.0.1:PORT",
    // Other schemes.
    "ftp://127.0.0.1:PORT", "file:///etc/passwd", "gopher://127.0.0.1:PORT/_x", "ws://127.0.0.1:PORT", "unix:///run/x.sock",
    "data:,x", "javascript:0",
    // IPv6, and IPv4 within it.
    "http://[::1]:PORT", "http://[0:0:0:0:0:0:0:1]:PORT", "http://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT",
    "http://[::ffff:127.0.0.1]:PORT", "http://[::ffff:7f00:1]:PORT", "http://[0:0:0:0:0:ffff:7f00:0001]:PORT",
    "http://[::127.0.0.1]:PORT", "http://[::ffff:0:127.0.0.1]:PORT", "http://[64:ff9b::127.0.0.1]:PORT",
    "http://[64:ff9b::a9fe:a9fe]:PORT", "http://[64:ff9b:1::127.0.0.1]:PORT", "http://[64:ff9b:1:ffff::1]:PORT",
    "http://[2002:7f00:1::]:PORT", "http://[2002:a9fe:a9fe::1]:PORT", "http://[2001:0:7f00:1::]:PORT",
    "http://[2001:0:5db8:d822:0:0:80ff:fffe]:PORT", "http://[fe80::1%25lo]:PORT", "http://[fe80::1%lo]:PORT",
    "http://[::1%25lo]:PORT", "http://[fe80::1]:PORT", "http://[febf::1]:PORT", "http://[fec0::1]:PORT",
    "http://[fc00::1]:PORT", "http://[fdff:ffff::1]:PORT", "http://[ff02::1]:PORT", "http://[::]:PORT",
    "http://[2001:db8::1]:PORT", "http://[100::1]:PORT", "http://[::ffff:0.0.0.0]:PORT", "http://[::1]:PORT/%5B",
    // Metadata, in each dress.
    "http://169.254.169.254:PORT", "http://2852039166:PORT", "http://0xa9fea9fe:PORT", "http://0251.0376.0251.0376:PORT",
    "http://169.16689662:PORT", "http://[::ffff:169.254.169.254]:PORT", "http://[fd00:ec2::254]:PORT",
    "http://[fd20:ce::254]:PORT", "http://100.100.100.200:PORT", "http://168.63.129.16:PORT", "http://192.0.0.192:PORT",
    "http://169.254.170.2:PORT",
    // What is nobody's, everybody's or a neighbour's.
    "http://0.0.0.0:PORT", "http://0:PORT", "http://0x0:PORT", "http://0.1.2.3:PORT", "http://10.0.0.1:PORT",
    "http://172.16.0.1:PORT", "http://172.31.255.254:PORT", "http://192.168.0.1:PORT", "http://3232235521:PORT",
    "http://100.64.0.1:PORT", "http://100.127.255.254:PORT", "http://198.18.0.1:PORT", "http://192.0.2.1:PORT",
    "http://192.88.99.1:PORT", "http://203.0.113.1:PORT", "http://224.0.0.1:PORT", "http://239.255.255.250:PORT",
    "http://240.0.0.1:PORT", "http://255.255.255.255:PORT", "http://4294967295:PORT",
    // Numbers that are none.
    "http://4294967296:PORT", "http://256.0.0.1:PORT", "http://127.0.0.1.1:PORT", "http://0x100000000:PORT",
    // Names of this machine, asked of nobody.
    "http://localhost:PORT", "http://LOCALHOST:PORT", "http://localhost.:PORT", "http://app.localhost:PORT",
    "http://a.b.localhost.:PORT", "http://localhost.localdomain:PORT", "http://ｌｏｃａｌｈｏｓｔ:PORT", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT",
    "http://localho\u{17f}t:PORT", "http://%6cocalhost:PORT", "http://local\u{ad}host:PORT", "http://localhost%2e:PORT",
];

/// Names, and what a resolver says of them: `Name` in a URL, addresses.
#[rustfmt::skip]
const NAMES: &[(&str, &[&str])] = &[
    ("loopback.test", &["127.0.0.1"]), ("loopback.test.", &["127.0.0.2"]), ("loopback6.test", &["::1"]),
    ("127.0.0.1.nip.test", &["127.0.0.1"]), ("xn--fiqs8s.test", &["127.0.0.1"]), ("a_b.test", &["127.0.0.1"]),
    ("mapped.test", &["::ffff:127.0.0.1"]), ("compatible.test", &["::127.0.0.1"]), ("nat64.test", &["64:ff9b::7f00:1"]),
    ("nat64-local.test", &["64:ff9b:1::7f00:1"]), ("sixtofour.test", &["2002:7f00:1::1"]), ("teredo.test", &["2001:0:7f00:1::"]),
    ("siit.test", &["::ffff:0:7f00:1"]), ("metadata.test", &["169.254.169.254"]), ("metadata6.test", &["fd00:ec2::254"]),
    ("google.test", &["fd20:ce::254"]), ("alibaba.test", &["100.100.100.200"]), ("azure.test", &["168.63.129.16"]),
    ("any.test", &["0.0.0.0"]), ("any6.test", &["::"]), ("broadcast.test", &["255.255.255.255"]),
    ("multicast.test", &["224.0.0.1", "ff02::1"]), ("link.test", &["169.254.1.1", "fe80::1"]),
    ("private.test", &["10.0.0.1", "172.16.0.1", "192.168.1.1"]), ("carrier.test", &["100.64.0.1"]),
    ("unique.test", &["fd12:3456::1"]), ("site.test", &["fec0::1"]), ("documented.test", &["192.0.2.1", "2001:db8::1"]),
    ("benchmark.test", &["198.18.0.1"]), ("reserved.test", &["240.0.0.1"]), ("discard.test", &["100::1"]),
    ("all.test", &["127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "::", "10.0.0.1"]),
    ("empty.test", &[]),
];

/// What stays forbidden where loopback and private networks are allowed.
#[rustfmt::skip]
const FORBIDDEN_TO_ADMINS: &[&str] = &[
    "169.254.169.254", "2852039166", "0xa9fea9fe", "0", "0.0.0.0", "224.0.0.1", "255.255.255.255", "100.100.100.200",
    "168.63.129.16", "192.0.0.192", "240.0.0.1", "198.18.0.1", "[::]", "[fe80::1]", "[fec0::1]", "[ff02::1]",
    "[fd00:ec2::254]", "[fd20:ce::254]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]",
    "[2002:a9fe:a9fe::]", "[2001:0:a9fe:a9fe::]", "[::169.254.169.254]", "metadata.test", "metadata6.test", "google.test",
    "alibaba.test", "azure.test", "any.test", "any6.test", "multicast.test", "link.test", "teredo.test", "siit.test",
];

/// A resolver: says what it is told to, the next thing at each look-up, the last for ever.
#[derive(Default)]
struct Resolver {
    names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: AtomicUsize,
}

impl Resolver {
    fn knowing(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let parse = |all: &&[&str]| all.iter().map(|a| a.parse().unwrap()).collect();
        let names = names
            .iter()
            .map(|(name, turns)| ((*name).to_owned(), turns.iter().map(parse).collect()));
        Arc::new(Self { names: Mutex::new(names.collect()), asked: AtomicUsize::new(0) })
    }

    fn of_the_table() -> Arc<Self> {
        let turns: Vec<(&str, [&[&str]; 1])> = NAMES.iter().map(|(n, a)| (*n, [*a])).collect();
        let turns: Vec<(&str, &[&[&str]])> = turns.iter().map(|(n, t)| (*n, &t[..])).collect();
        Self::knowing(&turns)
    }
}

#[async_trait]
impl NameLookup for Resolver {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut names = self.names.lock().unwrap();
        let turns = names.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(if turns.len() > 1 { turns.remove(0) } else { turns[0].clone() })
    }
}

fn embedder(resolver: Arc<Resolver>) -> Embedder {
    let clock = MovableClock::at(datetime!(2026-11-21 07:28:00 UTC));
    Embedder::new(None, resolver, clock)
}

/// At every address of this machine, IPv4 and IPv6 alike; counts who comes.
struct Everywhere {
    port: u16,
    connections: Arc<AtomicUsize>,
    server: tokio::task::JoinHandle<()>,
}

impl Everywhere {
    async fn answering(bytes: String) -> Self {
        let listener = match TcpSocket::new_v6() {
            // Both families, as Linux has it.
            Ok(socket) if socket.bind("[::]:0".parse().unwrap()).is_ok() => {
                socket.listen(64).unwrap()
            }
            _ => TcpListener::bind("0.0.0.0:0").await.unwrap(),
        };
        let (connections, port) =
            (Arc::new(AtomicUsize::new(0)), listener.local_addr().unwrap().port());
        let count = connections.clone();
        let server = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let bytes = bytes.clone();
                tokio::spawn(async move {
                    let mut request = [0; 4_096];
                    let _ = stream.read(&mut request).await.unwrap_or(0);
                    stream.write_all(bytes.as_bytes()).await.ok();
                    stream.shutdown().await.ok();
                });
            }
        });
        Self { port, connections, server }
    }

    fn seen(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Everywhere {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Saves an endpoint and calls it, as far as that goes.
async fn call(embedder: &Embedder, url: &str, reach: Reach) -> Result<(), ProviderError> {
    let Ok(url) = EndpointUrl::parse("url", url) else {
        return Err(ProviderError::Forbidden);
    };
    let endpoint = Endpoint {
        provider_type: ProviderType::Openai,
        url,
        model: "small".into(),
        dimensions: None,
        key: Some(ApiKey::new("sesame")),
        reach,
    };
    embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await.map(drop)
}

/// The same through the door of chat.
async fn chat(embedder: &Embedder, url: &str, reach: Reach) -> Result<(), ProviderError> {
    let Ok(url) = EndpointUrl::parse("url", url) else {
        return Err(ProviderError::Forbidden);
    };
    let endpoint = Endpoint {
        provider_type: ProviderType::Openai,
        url,
        model: "small".into(),
        dimensions: None,
        key: Some(ApiKey::new("sesame")),
        reach,
    };
    let messages = [ChatMessage::user("one")];
    let request = ChatRequest {
        purpose: ChatPurpose::Facts,
        messages: &messages,
        schema: None,
        max_tokens: 1,
        temperature: 0.0,
        deadline: DEADLINE,
    };
    let answer = embedder.chat_model().complete(&endpoint, &request).await;
    answer.map(drop)
}

/// Refused by the policy, or a name that nobody knows. A time-out or a refused
/// connection would mean that somebody tried.
fn assert_blocked(answer: &Result<(), ProviderError>, what: &str) {
    let is_blocked = matches!(
        answer,
        Err(ProviderError::Forbidden | ProviderError::Refused(Unreachable::NoSuchHost))
    );
    assert!(is_blocked, "{what:?} got through: {answer:?}");
}

/// All cases, with a listener wherever this machine has an address.
async fn nothing_gets_through() -> usize {
    let everywhere = Everywhere::answering(json(ONE)).await;
    let port = everywhere.port.to_string();
    let resolver = Resolver::of_the_table();
    let embedder = embedder(resolver.clone());
    let mut cases = 0;
    for url in URLS {
        let url = url.replace("PORT", &port);
        assert_blocked(&call(&embedder, &url, Reach::Public).await, &url);
        assert_blocked(&chat(&embedder, &url, Reach::Public).await, &url);
        cases += 1;
    }
    for (name, _) in NAMES {
        let url = format!("http://{name}:{port}");
        assert_blocked(&call(&embedder, &url, Reach::Public).await, &url);
        assert_blocked(&chat(&embedder, &url, Reach::Public).await, &url);
        cases += 1;
    }
    for host in FORBIDDEN_TO_ADMINS {
        let url = format!("http://{host}:{port}");
        assert_blocked(&call(&embedder, &url, Reach::Private).await, &url);
        assert_blocked(&chat(&embedder, &url, Reach::Private).await, &url);
        cases += 1;
    }
    // A moment for whatever was begun and not waited for.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(everywhere.seen(), 0, "somebody was connected to");
    // The listener does see who comes.
    TcpStream::connect(("127.0.0.1", everywhere.port)).await.unwrap();
    until("the listener sees who comes", async || everywhere.seen() == 1).await;
    cases
}

#[tokio::test]
async fn no_way_around_the_policy_ends_in_a_connection() {
    let cases = nothing_gets_through().await;
    assert!(cases >= 150, "{cases} cases");
}

/// What needs an address that is public and answers.
async fn public_ones_lead_nowhere_else() {
    // The trap is set: a public address is called, and this is where it ends.
    let good = Everywhere::answering(json(ONE)).await;
    let resolver = Resolver::knowing(&[
        ("public.test", &[&[PUBLIC]]),
        ("public6.test", &[&["2606:4700::1111"]]),
        // First public, then ours; and both at once, in either order.
        ("rebound.test", &[&[PUBLIC], &["127.0.0.1"]]),
        ("flips.test", &[&[PUBLIC], &["169.254.169.254"], &[PUBLIC]]),
        ("mixed.test", &[&["127.0.0.1", PUBLIC, "::1"]]),
    ]);
    let embedder = embedder(resolver.clone());
    let at = |name: &str| format!("http://{name}:{}", good.port);
    for name in ["public.test", "public6.test", PUBLIC, "[64:ff9b::5db8:d822]"] {
        let answer = call(&embedder, &at(name), Reach::Public).await;
        assert_eq!(answer, Ok(()), "{name}");
    }
    assert_eq!(good.seen(), 4);
    // Each call looks up once, and each look-up is judged.
    assert_eq!(call(&embedder, &at("rebound.test"), Reach::Public).await, Ok(()));
    assert_blocked(&call(&embedder, &at("rebound.test"), Reach::Public).await, "rebound");
    for (turn, is_open) in [(1, true), (2, false), (3, true)] {
        let answer = call(&embedder, &at("flips.test"), Reach::Public).await;
        assert_eq!(answer.is_ok(), is_open, "turn {turn}: {answer:?}");
    }
    assert_eq!(call(&embedder, &at("mixed.test"), Reach::Public).await, Ok(()));
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 2 + 2 + 3 + 1);
    assert_eq!(good.seen(), 4 + 1 + 2 + 1);

    // A public endpoint that sends on, to each kind of place.
    let target = Everywhere::answering(json(ONE)).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        for place in [
            "127.0.0.1",
            "169.254.169.254",
            "localhost",
            "[::1]",
            "[fd00:ec2::254]",
            PUBLIC,
            "2130706433",
        ] {
            let to = format!(
                "location: http://{place}:{}/\r\nrefresh: 0; url=http://{place}:{}/\r\n",
                target.port, target.port
            );
            let sends_on = Everywhere::answering(http(status, &to, "")).await;
            let url = format!("http://{PUBLIC}:{}", sends_on.port);
            let answer = call(&embedder, &url, Reach::Public).await;
            let redirect = ProviderError::NotEmbeddings(NotEmbeddings::Redirect);
            assert_eq!(answer, Err(redirect), "{status} to {place}");
            assert_eq!(sends_on.seen(), 1);
            let answer = chat(&embedder, &url, Reach::Public).await;
            let redirect = ProviderError::NotChat(NotChat::Redirect);
            assert_eq!(answer, Err(redirect), "{status} to {place}");
            assert_eq!(sends_on.seen(), 2);
        }
    }
    assert_eq!(target.seen(), 0);
}

/// In the network where every address is ours; otherwise it passes at once.
#[tokio::test]
async fn where_every_address_answers_none_that_is_forbidden_is_called() {
    if std::env::var_os(EVERY_ADDRESS_IS_OURS).is_some() {
        for address in ["169.254.169.254", "10.0.0.1", PUBLIC] {
            let here = Everywhere::answering(json(ONE)).await;
            TcpStream::connect((address, here.port)).await.unwrap();
            until("this machine is met", async || here.seen() == 1).await;
        }
        nothing_gets_through().await;
        public_ones_lead_nowhere_else().await;
        println!("{EVERY_ADDRESS_IS_OURS}: done");
        return;
    }
    const SET_UP: &str = "ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo";
    let alone = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "sh", "-c", script, "sh"]);
        command
    };
    let can = alone(SET_UP).output();
    if !can.as_ref().is_ok_and(|output| output.status.success()) {
        println!(
            "!! no network of its own can be had here ({can:?}): the cases ran beside a listener alone"
        );
        return;
    }
    let ourselves = std::env::current_exe().unwrap();
    let test = "providers::ssrf::where_every_address_answers_none_that_is_forbidden_is_called";
    let output = alone(&format!("{SET_UP} && exec \"$@\""))
        .arg(ourselves)
        .args(["--exact", test, "--nocapture"])
        .env(EVERY_ADDRESS_IS_OURS, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("done"), "{said}\n{errors}");
}
