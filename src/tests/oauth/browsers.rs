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
        let lets_cookies = answer.headers().get("access-control-allow-credentials");
        assert!(lets_cookies.is_none(), "{path}");
    }
    // Whatever reads a cookie, or takes the tokens that people make, is of our own pages and of programs.
    for path in ["/oauth/authorize", "/login", "/agents", "/memory", "/api/v1/tools"] {
        let answer = preflight(&app, path, "POST", "content-type").await;
        let is_open = answer.headers().get("access-control-allow-origin");
        assert!(is_open.is_none(), "{path}");
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
    let readable = |response: &Response| {
        assert_eq!(words(response, "access-control-allow-origin"), ["*"]);
        let exposed = words(response, "access-control-expose-headers");
        assert_eq!(exposed, ["mcp-session-id", "retry-after", "www-authenticate"]);
    };
    for origin in [INSPECTOR, ELSEWHERE] {
        let refused = ping(app, origin).send().await.unwrap();
        assert_eq!(refused.status(), 401);
        assert!(refused.headers().contains_key("www-authenticate"));
        readable(&refused);
    }
    let listed = ping(app, INSPECTOR).bearer_auth(&anna.token);
    let listed = listed.send().await.unwrap();
    assert_eq!(listed.status(), 200);
    readable(&listed);
    // What else a client tries: a stream, and the end of a session.
    for method in [Method::GET, Method::DELETE] {
        let url = format!("{}/mcp", app.base);
        let request = Client::new().request(method, url).header("origin", INSPECTOR);
        let refused = request.bearer_auth(&anna.token).send().await.unwrap();
        assert_eq!(refused.status(), 405);
        readable(&refused);
    }
    let in_address = Client::new().post(format!("{}/mcp?token=x", app.base));
    let refused = in_address.header("origin", INSPECTOR).send().await.unwrap();
    assert_eq!(refused.status(), 400);
    readable(&refused);
}

#[tokio::test]
async fn mcp_answers_its_own_origin_and_loopback_ones_alone() {
    for (public, own) in
        [(None, "http://127.0.0.1:3000"), (Some("https://k.example"), "https://k.example")]
    {
        let app = TestApp::start_as(Wish { public_url: public, ..Wish::default() }).await;
        let anna = app.user("anna").await;
        for origin in [own, INSPECTOR, "http://127.0.0.1:5173", "http://[::1]:8080"] {
            let answer = ping(&app, origin).bearer_auth(&anna.token);
            assert_eq!(answer.send().await.unwrap().status(), 200, "{origin}");
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
            let answer = ping(&app, origin).bearer_auth(&anna.token);
            let answer = answer.send().await.unwrap();
            assert_eq!(answer.status(), 403, "{origin}");
            let said: Value = answer.json().await.unwrap();
            assert_eq!(said["error"]["data"]["code"], "wrong_origin", "{origin}");
        }
    }
}
