//! Clients whose id is the address of their description: fetched by the policy of endpoints, and kept for ten minutes.

use keepsake::providers::settings::EndpointPurpose;
use serde_json::{Value, json};
use time::Duration;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{CALLBACK, Connecting, text};
use crate::support::{TestApp, Wish};

async fn serving() -> (MockServer, String) {
    let server = MockServer::start().await;
    let id = format!("{}/client.json", server.uri());
    let response = ResponseTemplate::new(200).set_body_json(described(&id));
    Mock::given(path("/client.json")).respond_with(response).mount(&server).await;
    (server, id)
}

/// A program on one's own machine.
const OWN: &str = "http://127.0.0.1:33418/";

fn described(id: &str) -> Value {
    json!({ "client_id": id, "client_name": "Described", "redirect_uris": [OWN, CALLBACK] })
}

async fn allow_host(app: &TestApp, server: &MockServer) {
    app.allow_for(&server.address().to_string(), EndpointPurpose::Clients).await;
}

#[tokio::test]
async fn a_described_client_is_asked_for_by_its_host_warned_of_and_fetched_once_in_ten_minutes() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (server, id) = serving().await;
    allow_host(&app, &server).await;
    let connecting = Connecting { client: id, ..Connecting::start(&app, &anna).await };
    let path = connecting.path(&[]);
    let page = connecting.browser.look(&path).await;
    let only = "only who controls that address";
    for said in ["Described", "described at", "claude.ai", only] {
        assert!(page.contains(said) && !page.contains("unverified"), "{said}: {page}");
    }
    let (_, page) = connecting.browser.get(&connecting.path(&[("redirect_uri", OWN)])).await;
    assert!(page.contains("Any program on your machine") && !page.contains(only), "{page}");
    let tokens = connecting.connect("Described").await;
    assert_eq!(connecting.refresh(&text(&tokens, "refresh_token")).await.0, 200);
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
    app.clock.advance(Duration::minutes(10));
    connecting.browser.get(&path).await;
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn an_address_that_no_admin_allowed_for_descriptions_is_not_called_if_it_is_private() {
    let (app, anna) = TestApp::start_for("anna").await;
    // Whoever sends an admin to the page chooses the address.
    app.make_admin(&anna).await;
    let (server, id) = serving().await;
    app.allow(&server.address().to_string()).await;
    let mut connecting = Connecting::start(&app, &anna).await;
    for private in [
        id.as_str(),
        "https://127.0.0.1/client.json",
        "https://10.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost/client.json",
        "https://192.168.1.1/client.json",
    ] {
        connecting.client = private.to_owned();
        let (status, page) = connecting.browser.get(&connecting.path(&[])).await;
        assert_eq!(status, 400, "{private}");
        assert!(page.contains("may not call"), "{private}: {page}");
    }
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_description_by_http_is_for_a_server_reached_by_http_and_fetched_for_no_stranger() {
    let public_url = Some("https://k.example");
    let app = TestApp::start_as(Wish { public_url, ..Wish::default() }).await;
    app.user("anna").await;
    let (server, id) = serving().await;
    allow_host(&app, &server).await;
    let client = keepsake::accounts::oauth::ClientId::parse(&id).unwrap();
    assert!(client.document_url(true).is_some() && client.document_url(false).is_none());
    // The cookie of https is not sent to this test's address: strangers make nobody fetch anything.
    let connecting = Connecting { app: &app, browser: app.browser(), client: id };
    assert_eq!(connecting.browser.get(&connecting.path(&[])).await.0, 303);
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_description_that_is_wrong_is_refused_in_words() {
    let (app, anna) = TestApp::start_for("anna").await;
    let server = MockServer::start().await;
    allow_host(&app, &server).await;
    let mut connecting = Connecting::start(&app, &anna).await;
    let id_of = |path: &str| format!("{}/{path}", server.uri());
    let with = |id: &str, field: &str, value: &str| {
        let body = json!({ "client_id": id_of(id), "redirect_uris": [CALLBACK], field: value });
        ResponseTemplate::new(200).set_body_json(body)
    };
    for (at, response) in [
        ("other", with("elsewhere", "client_name", "Described")),
        ("secret", with("secret", "token_endpoint_auth_method", "client_secret_basic")),
        ("large", with("large", "x", &"x".repeat(20_000))),
        ("html", ResponseTemplate::new(200).set_body_string("<html>")),
        ("gone", ResponseTemplate::new(404)),
        ("moved", ResponseTemplate::new(302).insert_header("location", "/client.json")),
    ] {
        Mock::given(path(format!("/{at}"))).respond_with(response).mount(&server).await;
        connecting.client = id_of(at);
        let (status, page) = connecting.browser.get(&connecting.path(&[])).await;
        assert_eq!(status, 400, "{at}");
        let why = ["no valid description", "wants to authenticate itself"];
        let why = why[usize::from(at == "secret")];
        assert!(page.contains(why), "{at}");
    }
    // It follows no redirect.
    let asked = server.received_requests().await.unwrap();
    assert!(asked.iter().all(|request| request.url.path() != "/client.json"));
}
