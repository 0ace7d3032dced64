//! Every known way around an endpoint policy, through the client that calls
//! providers: none may end in a connection.
//!
//! The cases run twice. Once as they are: nothing on this machine is connected to.
//! And once in a network of their own (`unshare`, `ip`), where *every* address is
//! this machine's and one listener answers at all of them: there any connection at
//! all, to whatever address, is seen, and nothing can leave.

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use keepsake::providers::{
    Embedder, Endpoint, EndpointUrl, NotChat, NotEmbeddings, ProviderError, ProviderType, Reach,
    Unreachable,
};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::{Raw, Table, answering_at, call, embedder_knowing, endpoint, http, json};
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

/// At every address of this machine, IPv4 and IPv6 alike; counts who comes.
async fn everywhere(bytes: String) -> Raw {
    let listener = match TcpSocket::new_v6() {
        // Both families, as Linux has it.
        Ok(socket) if socket.bind("[::]:0".parse().unwrap()).is_ok() => socket.listen(64).unwrap(),
        _ => TcpListener::bind("0.0.0.0:0").await.unwrap(),
    };
    answering_at(listener, bytes)
}

/// As [`call`], through the door of chat.
async fn chat(embedder: &Embedder, url: &str, reach: Reach) -> Result<(), ProviderError> {
    if EndpointUrl::parse("url", url).is_err() {
        return Err(ProviderError::Forbidden);
    }
    let endpoint = Endpoint { reach, ..endpoint(ProviderType::Openai, url) };
    super::chat::ask(&embedder.chat_model(), &endpoint, None).await.map(drop)
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
    let everywhere = everywhere(json(ONE)).await;
    let port = everywhere.address.port().to_string();
    let embedder = embedder_knowing(Table::of(NAMES));
    let mut cases = 0;
    let of_names = NAMES.iter().map(|(name, _)| format!("http://{name}:{port}"));
    for url in URLS.iter().map(|url| url.replace("PORT", &port)).chain(of_names) {
        assert_blocked(&call(&embedder, ProviderType::Openai, &url, Reach::Public).await, &url);
        assert_blocked(&chat(&embedder, &url, Reach::Public).await, &url);
        cases += 1;
    }
    for host in FORBIDDEN_TO_ADMINS {
        let url = format!("http://{host}:{port}");
        for (provider_type, reach) in [
            (ProviderType::Openai, Reach::Private),
            (ProviderType::CustomHttp, Reach::Private),
            (ProviderType::CustomHttp, Reach::Public),
        ] {
            let answer = call(&embedder, provider_type, &url, reach).await;
            assert_eq!(answer, Err(ProviderError::Forbidden), "{provider_type} {reach:?} {url}");
        }
        assert_blocked(&chat(&embedder, &url, Reach::Private).await, &url);
        cases += 1;
    }
    // A moment for whatever was begun and not waited for.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(everywhere.connections(), 0, "somebody was connected to");
    // The listener does see who comes.
    TcpStream::connect(("127.0.0.1", everywhere.address.port())).await.unwrap();
    until("the listener sees who comes", async || everywhere.connections() == 1).await;
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
    let good = everywhere(json(ONE)).await;
    let names = Table::of(&[
        ("public.test", &[PUBLIC]),
        ("public6.test", &["2606:4700::1111"]),
        // First public, then ours; and both at once, in either order.
        ("rebound.test", &[PUBLIC]),
        ("rebound.test", &["127.0.0.1"]),
        ("flips.test", &[PUBLIC]),
        ("flips.test", &["169.254.169.254"]),
        ("flips.test", &[PUBLIC]),
        ("mixed.test", &["127.0.0.1", PUBLIC, "::1"]),
    ]);
    let embedder = embedder_knowing(names.clone());
    let ask = async |host: &str, server: &Raw| {
        let url = format!("http://{host}:{}", server.address.port());
        call(&embedder, ProviderType::Openai, &url, Reach::Public).await
    };
    for name in ["public.test", "public6.test", PUBLIC, "[64:ff9b::5db8:d822]"] {
        assert_eq!(ask(name, &good).await, Ok(()), "{name}");
    }
    assert_eq!(good.connections(), 4);
    // Each call looks up once, and each look-up is judged.
    assert_eq!(ask("rebound.test", &good).await, Ok(()));
    assert_blocked(&ask("rebound.test", &good).await, "rebound");
    for (turn, is_open) in [(1, true), (2, false), (3, true)] {
        let answer = ask("flips.test", &good).await;
        assert_eq!(answer.is_ok(), is_open, "turn {turn}: {answer:?}");
    }
    assert_eq!(ask("mixed.test", &good).await, Ok(()));
    assert_eq!(names.asked.load(Ordering::SeqCst), 2 + 2 + 3 + 1);
    assert_eq!(good.connections(), 4 + 1 + 2 + 1);

    // A public endpoint that sends on, to each kind of place.
    let target = everywhere(json(ONE)).await;
    let port = target.address.port();
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let places = "127.0.0.1 169.254.169.254 localhost [::1] [fd00:ec2::254] 2130706433";
        for place in places.split(' ').chain([PUBLIC]) {
            let to = format!("http://{place}:{port}/");
            let to = format!("location: {to}\r\nrefresh: 0; url={to}\r\n");
            let sends_on = everywhere(http(status, &to, "")).await;
            let answer = ask(PUBLIC, &sends_on).await;
            let redirect = Err(ProviderError::NotEmbeddings(NotEmbeddings::Redirect));
            assert_eq!((answer, sends_on.connections()), (redirect, 1), "{status} to {place}");
            let url = format!("http://{PUBLIC}:{}", sends_on.address.port());
            let answer = chat(&embedder, &url, Reach::Public).await;
            let redirect = Err(ProviderError::NotChat(NotChat::Redirect));
            assert_eq!((answer, sends_on.connections()), (redirect, 2), "{status} to {place}");
        }
    }
    assert_eq!(target.connections(), 0);
}

/// In the network where every address is ours; otherwise it passes at once.
#[tokio::test]
async fn where_every_address_answers_none_that_is_forbidden_is_called() {
    if std::env::var_os(EVERY_ADDRESS_IS_OURS).is_some() {
        for address in ["169.254.169.254", "10.0.0.1", PUBLIC] {
            let here = everywhere(json(ONE)).await;
            TcpStream::connect((address, here.address.port())).await.unwrap();
            until("this machine is met", async || here.connections() == 1).await;
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
