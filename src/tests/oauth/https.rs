//! A client whose description stands at an https address: a real TLS server on a loopback address, and the program itself,
//! which trusts the server's CA because it stands where the machine keeps its own (`SSL_CERT_FILE`). The program has no other
//! way to be given one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{CALLBACK, VERIFIER, challenge_of};
use crate::mcp::Mcp;
use crate::server::{Home, Server};
use crate::support::{Browser, PASSWORD};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Authority::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Serves one client's description by https, under the name `localhost`.
struct DescriptionServer {
    port: u16,
    /// Requests that were read, after a handshake that the caller accepted.
    asked: Arc<AtomicUsize>,
}

impl DescriptionServer {
    async fn start(signed_by: &Authority, is_expired: bool) -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        if is_expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, signed_by).unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A caller that refuses the certificate breaks the handshake off.
                let answered = answer(&acceptor, stream, port).await;
                counted.fetch_add(usize::from(answered.is_ok()), Ordering::SeqCst);
            }
        });
        Self { port, asked }
    }

    fn id(&self) -> String {
        id_at("localhost", self.port)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn id_at(host: &str, port: u16) -> String {
    format!("https://{host}:{port}/client.json")
}

async fn answer(acceptor: &TlsAcceptor, stream: TcpStream, port: u16) -> std::io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let id = id_at("localhost", port);
    let body = json!({ "client_id": id, "client_name": "Described", "redirect_uris": [CALLBACK] })
        .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await?;
    stream.shutdown().await
}

/// The program, where an admin is signed in, and where only this authority is trusted.
async fn start(trusted: &Authority) -> (Home, Server, Browser) {
    let home = Home::new();
    let file = home.folder.path().join("authority.pem");
    std::fs::write(&file, trusted.pem()).unwrap();
    let mut command = home.command(&["serve"]);
    command.env("SSL_CERT_FILE", &file);
    let server = Server::start_command(&home, &mut command).await;
    let browser = Browser::at(home.url(""));
    let fields = [("email", "anna@example.com"), ("password", PASSWORD)];
    assert_eq!(browser.post("/signup", &fields).await.status(), 303);
    (home, server, browser)
}

/// Lets the server call this address.
async fn allow(admin: &Browser, id: &str) {
    let address = &id["https://".len()..id.len() - "/client.json".len()];
    let fields = [("action", "add"), ("endpoint", address), ("purpose", "clients")];
    assert_eq!(admin.post("/admin/endpoints", &fields).await.status(), 303);
}

fn asking(home: &Home, id: &str) -> String {
    let challenge = challenge_of(VERIFIER);
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("response_type", "code")
        .append_pair("client_id", id)
        .append_pair("redirect_uri", CALLBACK)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &home.url("/mcp"))
        .finish();
    format!("/oauth/authorize?{query}")
}

/// What the token endpoint answers.
async fn redeem(home: &Home, id: &str, code: &str) -> Value {
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", id),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    let request = reqwest::Client::new().post(home.url("/oauth/token"));
    let response = request.form(&fields).send().await.unwrap();
    response.json().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_described_at_an_https_address_is_connected() {
    let trusted = authority();
    let (home, server, browser) = start(&trusted).await;
    let described = DescriptionServer::start(&trusted, false).await;
    let (id, path) = (described.id(), asking(&home, &described.id()));
    allow(&browser, &id).await;
    let page = browser.look(&path).await;
    assert!(page.contains("described at") && !page.contains("unverified"));
    assert!(page.contains("localhost"), "its host is named");
    let fields =
        [("action", "allow"), ("agent", "new"), ("name", "Described"), ("scope", "memory:read")];
    let allowed = browser.post(&path, &fields).await;
    let location = allowed.headers()["location"].to_str().unwrap();
    let location = url::Url::parse(location).unwrap();
    let code = location.query_pairs().find(|(name, _)| name == "code");
    let tokens = redeem(&home, &id, &code.expect("a code").1).await;
    let token = tokens["access_token"].as_str().expect("a token");
    let (url, client) = (home.url("/mcp"), reqwest::Client::new());
    let mcp = Mcp { url, token: token.to_owned(), client };
    assert_eq!(mcp.ask("tools/list", json!({})).await.0, 200);
    assert_eq!(described.asked(), 1, "it is kept for a while");
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_description_whose_server_proves_nothing_is_not_read() {
    let trusted = authority();
    let (home, server, browser) = start(&trusted).await;
    let others = DescriptionServer::start(&authority(), false).await;
    let expired = DescriptionServer::start(&trusted, true).await;
    let misnamed = DescriptionServer::start(&trusted, false).await;
    for id in [others.id(), expired.id(), id_at("127.0.0.1", misnamed.port)] {
        allow(&browser, &id).await;
        let (status, page) = browser.get(&asking(&home, &id)).await;
        assert_eq!(status, 400, "{id}");
        assert!(page.contains("no valid description"), "{id}: {page}");
    }
    assert_eq!([others, expired, misnamed].map(|server| server.asked()), [0; 3]);
    server.stop();
}
