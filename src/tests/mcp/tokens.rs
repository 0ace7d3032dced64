use keepsake::accounts::{AgentId, Scope, Token, TokenHolder, TokenId};
use keepsake::tools::guidance;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::Mcp;
use crate::support::{TestApp, problem};

/// The public URL of tests.
const AGENTS: &str = "http://127.0.0.1:3000/agents";

#[tokio::test(crate = "crate::support::shared")]
async fn a_refused_token_is_told_where_a_new_one_is_made_at_both_doors() {
    let (app, anna) = TestApp::with_user().await;
    let unknown = Token::generate(None).unwrap().reveal();
    for (token, code, words) in [
        ("", "missing_token", "No token was sent."),
        (&anna.token[..20], "malformed_token", "This is not a whole token."),
        (&unknown, "unknown_token", "This token is not known here."),
    ] {
        let mut headers = HeaderMap::new();
        if !token.is_empty() {
            let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
            headers.insert("authorization", value);
        }
        let client = reqwest::Client::builder().default_headers(headers).build().unwrap();
        let rest = client.get(format!("{}/api/v1/tools", app.base));
        let (_, rest) = problem(rest.send().await.unwrap()).await;
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let response = client.post(format!("{}/mcp", app.base)).json(&ping).send().await.unwrap();
        assert_eq!(response.status(), 401);
        let challenge = response.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.starts_with("Bearer realm=\"keepsake\", "), "{challenge}");
        assert_eq!(challenge.contains("error=\"invalid_token\""), !token.is_empty(), "{challenge}");
        let answer: Value = response.json().await.unwrap();
        let error = &answer["error"];
        assert_eq!((&answer["id"], &error["data"]), (&Value::Null, &rest));
        assert_eq!((&error["message"], &rest["code"]), (&rest["detail"], &json!(code)));
        let said = error["message"].as_str().unwrap();
        assert!(said.starts_with(words) && said.contains(AGENTS), "{said}");
    }
}

#[tokio::test]
async fn a_token_that_is_revoked_in_a_running_connection_opens_nothing_more() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mcp = Mcp::of(&app, &anna);
    mcp.call("memory_search", json!({})).await;
    let (agent, token): (i64, i64) = app.sql("SELECT agent_id, id FROM agent_tokens").row().await;
    let holder = TokenHolder::Agent(anna.id, AgentId(agent));
    app.accounts.revoke_token(holder, TokenId(token)).await.unwrap();
    let (status, answer) = mcp.ask("tools/call", json!({ "name": "memory_search" })).await;
    assert_eq!((status, &answer["error"]["data"]["code"]), (401, &json!("revoked_token")));
    let said = answer["error"]["message"].as_str().unwrap();
    assert_eq!(said, format!("This token was revoked. Make a new one at {AGENTS}."));
}

#[tokio::test(crate = "crate::support::shared")]
async fn whoever_looks_for_another_document_is_told_where_to_look() {
    let app = TestApp::shared().await;
    let url = format!("{}/.well-known/openid-configuration", app.base);
    let response = reqwest::get(url).await.unwrap();
    assert_eq!(response.status(), 404);
    assert_eq!(response.headers()["content-type"], "application/json");
    let said: Value = response.json().await.unwrap();
    let detail = said["detail"].as_str().unwrap();
    assert!(detail.contains(AGENTS) && detail.contains("oauth-authorization-server"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_token_in_an_address_is_refused_with_the_reason() {
    let (app, anna) = TestApp::with_user().await;
    let mcp = Mcp::of(app, &anna);
    for query in [
        format!("token={}", anna.token),
        "access_token=x".to_owned(),
        "Token=x".to_owned(),
        format!("key={}", &anna.token[..12]),
        format!("format=json&{}", anna.token),
        "x=k%73_abc".to_owned(),
    ] {
        let url = format!("{}?{query}", mcp.url);
        let at_mcp = mcp.client.post(url).bearer_auth(&anna.token).body("{}");
        let response = at_mcp.send().await.unwrap();
        assert_eq!(response.status(), 400, "{query}");
        let answer: Value = response.json().await.unwrap();
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.contains("Authorization: Bearer") && said.contains(AGENTS), "{said}");
        assert!(!answer.to_string().contains(&anna.token[3..12]));
        let url = format!("{}/api/v1/tools?{query}", app.base);
        let at_rest = mcp.client.get(url).bearer_auth(&anna.token);
        let (status, refused) = problem(at_rest.send().await.unwrap()).await;
        assert_eq!((status, &refused["code"]), (400, &json!("token_in_address")));
    }
}

#[tokio::test]
async fn only_a_tool_that_runs_makes_an_operators_user() {
    let app = TestApp::start().await;
    let mut mcp = Mcp::with_token(&app, &app.service_token("bot", &Scope::ALL).await);
    let named =
        HeaderMap::from_iter([("keepsake-user".parse().unwrap(), HeaderValue::from_static("x"))]);
    mcp.client = reqwest::Client::builder().default_headers(named).build().unwrap();
    let (status, hello) = mcp.ask("server/discover", json!({})).await;
    assert_eq!((status, &hello["result"]["instructions"]), (200, &json!(guidance::INSTRUCTIONS)));
    assert_eq!(mcp.ask("tools/list", json!({})).await.0, 200);
    mcp.ask("tools/call", json!({ "name": "memory_forget" })).await;
    assert_eq!(mcp.result("memory_add", json!({ "typ": "fact" })).await["isError"], true);
    let call = super::message("tools/call", json!({ "name": "memory_search" }));
    for (header, value) in [("origin", "https://evil.example"), ("host", "evil.example")] {
        let request = mcp.post().header(header, value).json(&call);
        assert_eq!(request.send().await.unwrap().status(), 403, "{header}");
    }
    assert_eq!(mcp.post().body("{").send().await.unwrap().status(), 400);
    let get = mcp.client.get(&mcp.url).bearer_auth(&mcp.token).send();
    assert_eq!(get.await.unwrap().status(), 405);
    assert_eq!(app.count("users").await, 0);
    mcp.call("memory_search", json!({})).await;
    assert_eq!(app.count("users").await, 1);
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_instructions_name_the_fullest_themes_and_nothing_of_what_is_in_them() {
    let (app, anna) = TestApp::with_user().await;
    app.confirm(&anna, anna.add_to("sailing", "Keeps a sloop in Kiel.").await).await;
    let mcp = Mcp::of(app, &anna);
    let (_, hello) = mcp.ask("server/discover", json!({})).await;
    let said = hello["result"]["instructions"].as_str().unwrap();
    assert!(said.starts_with(guidance::INSTRUCTIONS));
    assert!(said.contains("sailing") && !said.contains("sloop"), "{said}");
    assert_eq!(anna.get("/api/v1/prompt").await.text().await.unwrap(), said);
}

#[tokio::test]
async fn a_token_that_may_not_read_is_told_the_same_as_at_rest() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add_to("annas", "one").await;
    let writer = anna.with_token(&app.token(anna.id, "writer", &[Scope::MemoryWrite], None).await);
    let mcp = Mcp::of(&app, &writer);
    for (on, said) in [(true, guidance::INSTRUCTIONS), (false, guidance::UNAVAILABLE)] {
        app.accounts.switch_user_memory(anna.id, on).await.unwrap();
        let (_, hello) = mcp.ask("server/discover", json!({})).await;
        assert_eq!(hello["result"]["instructions"], said);
        let rest = writer.get("/api/v1/prompt").await;
        assert_eq!((rest.status().as_u16(), rest.text().await.unwrap().as_str()), (200, said));
    }
}
