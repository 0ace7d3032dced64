//! Clients that run in a browser, on pages of other origins: what they may ask, what they may read, and which of them MCP
//! answers.

use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::mcp::{CURRENT, message};
use crate::support::{TestApp, Wish};

/// The page of an inspector on the person's own machine.
const INSPECTOR: &str = "http://localhost:6274";
const ELSEWHERE: &str = "https://elsewhere.example";

fn words(response: &Response, name: &str) -> Vec<String> {
    let values = response.headers().get_all(name).iter();
    let values = values.flat_map(|value| value.to_str().unwrap().split(','));
    let mut words: Vec<String> = values.map(|word| word.trim().to_lowercase()).collect();
    words.sort();
    words
}

async fn preflight(app: &TestApp, path: &str, method: &str, headers: &str) -> Response {
    let request = Client::new()
        .request(Method::OPTIONS, format!("{}{path}", app.base))
        .header("origin", ELSEWHERE)
        .header("access-control-request-method", method)
        .header("access-control-request-headers", headers);
    request.send().await.unwrap()
}

#[tokio::test]
async fn pages_of_any_origin_may_ask_and_none_with_cookies() {
    let app = TestApp::start().await;
    let of_mcp = [
        "authorization",
        "content-type",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
    ];
    let of_oauth = ["content-type", "mcp-protocol-version"];
    for (path, headers) in [
        ("/mcp", &of_mcp[..]),
        ("/.well-known/oauth-protected-resource", &of_oauth),
        ("/.well-known/oauth-protected-resource/mcp", &of_oauth),
        ("/.well-known/oauth-authorization-server", &of_oauth),
        // Looked for by some clients, and not there.
        ("/.well-known/openid-configuration", &of_oauth),
        ("/oauth/register", &of_oauth),
        ("/oauth/token", &of_oauth),
        ("/oauth/revoke", &of_oauth),
    ] {
        let answer = preflight(&app, path, "POST", &headers.join(",")).await;
        assert!(answer.status().is_success(), "{path}");
        assert_eq!(words(&answer, "access-control-allow-origin"), ["*"], "{path}");
        assert_eq!(words(&answer, "access-control-allow-headers"), headers, "{path}");
        assert_eq!(words(&answer, "access-control-allow-methods"), ["get", "post"]);
        assert_eq!(words(&answer, "access-control-max-age"), ["600"]);
        assert!(!answer.headers().contains_key("access-control-allow-credentials"), "{path}");
    }
    // Whatever reads a cookie, or takes the tokens that people make, is of our own pages and of programs.
    for path in ["/oauth/authorize", "/login", "/agents", "/memory", "/api/v1/tools"] {
        let answer = preflight(&app, path, "POST", "content-type").await;
        assert!(!answer.headers().contains_key("access-control-allow-origin"), "{path}");
    }
}

fn ping(app: &TestApp, origin: &str) -> RequestBuilder {
    Client::new()
        .post(format!("{}/mcp", app.base))
        .header("origin", origin)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", CURRENT)
        .header("mcp-method", "tools/list")
        .json(&message("tools/list", json!({})))
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_page_reads_why_it_is_refused_and_where_it_gets_a_token() {
    let (app, anna) = TestApp::with_user().await;
    let other = |method: Method, path: &str| {
        let request = Client::new().request(method, format!("{}{path}", app.base));
        request.header("origin", INSPECTOR)
    };
    for (what, request, status) in [
        ("from an inspector", ping(app, INSPECTOR), 401),
        ("from elsewhere", ping(app, ELSEWHERE), 401),
        ("with a token", ping(app, INSPECTOR).bearer_auth(&anna.token), 200),
        ("a stream", other(Method::GET, "/mcp").bearer_auth(&anna.token), 405),
        ("a session's end", other(Method::DELETE, "/mcp").bearer_auth(&anna.token), 405),
        ("a token in the address", other(Method::POST, "/mcp?token=x"), 400),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status, "{what}");
        assert!(status != 401 || answer.headers().contains_key("www-authenticate"), "{what}");
        assert_eq!(words(&answer, "access-control-allow-origin"), ["*"], "{what}");
        let exposed = words(&answer, "access-control-expose-headers");
        assert_eq!(exposed, ["mcp-session-id", "retry-after", "www-authenticate"], "{what}");
    }
}

#[tokio::test]
async fn mcp_answers_its_own_origin_and_loopback_ones_alone() {
    for (public, own) in
        [(None, "http://127.0.0.1:3000"), (Some("https://k.example"), "https://k.example")]
    {
        let app = TestApp::start_as(Wish { public_url: public, ..Wish::default() }).await;
        let anna = app.user("anna").await;
        let answer = async |origin: &str| {
            let request = ping(&app, origin).bearer_auth(&anna.token);
            request.send().await.unwrap()
        };
        for origin in [own, INSPECTOR, "http://127.0.0.1:5173", "http://[::1]:8080"] {
            assert_eq!(answer(origin).await.status(), 200, "{origin}");
        }
        // Rebound names are among these: a page keeps its origin, whatever its name resolves to.
        for origin in [
            ELSEWHERE,
            "null",
            "http://rebound.example:3000",
            "http://localhost.elsewhere.example:6274",
            "https://k.example.elsewhere.example",
            "https://k.example:8443",
        ] {
            let answer = answer(origin).await;
            assert_eq!(answer.status(), 403, "{origin}");
            let said: Value = answer.json().await.unwrap();
            assert_eq!(said["error"]["data"]["code"], "wrong_origin", "{origin}");
        }
    }
}
