use reqwest::StatusCode;
use serde_json::json;

use crate::support::TestApp;

/// The token that a page shows once.
fn token_in(page: &str) -> String {
    let at = page.find("ks_").expect("a token on the page");
    page[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_agent_is_made_its_token_shown_once_and_revoked() {
    let (app, anna) = TestApp::with_user().await;
    let browser = app.signed_in(&anna).await;
    let fields = [
        ("name", "claude-code"),
        ("scope", "memory:read"),
        ("scope", "memory:write"),
        ("expires_days", "90"),
    ];
    let made = browser.post("/agents", &fields).await;
    assert_eq!(made.status(), StatusCode::OK);
    assert_eq!(made.headers()["cache-control"], "no-store");
    let page = made.text().await.unwrap();
    let token = token_in(&page);
    assert_eq!(token.len(), 91, "{token}");
    assert!(page.contains("/api/v1/tools/memory_add"), "a line to paste");
    let call = || {
        reqwest::Client::new()
            .post(format!("{}/api/v1/tools/memory_add", app.base))
            .bearer_auth(&token)
            .json(&json!({ "type": "fact", "content": "made by a pasted line" }))
            .send()
    };
    assert_eq!(call().await.unwrap().status(), 200);
    let (_, later) = browser.get("/agents").await;
    assert!(
        !later.contains(&token) && later.contains("claude-code") && later.contains(&token[87..])
    );
    let action = later
        .split("action=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .find(|action| action.ends_with("/revoke"))
        .unwrap();
    assert_eq!(browser.post(action, &[]).await.status(), StatusCode::SEE_OTHER);
    assert_eq!(call().await.unwrap().status(), 401);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_further_token_is_made_for_an_agent() {
    let (app, anna) = TestApp::with_user().await;
    let browser = app.signed_in(&anna).await;
    let (_, page) = browser.get("/agents").await;
    let action = page
        .split("action=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .find(|action| action.ends_with("/tokens"))
        .unwrap()
        .to_owned();
    let made = browser.post(&action, &[("scope", "memory:read"), ("expires_days", "")]).await;
    assert_eq!(made.status(), StatusCode::OK);
    assert_eq!(token_in(&made.text().await.unwrap()).len(), 91);
    let refused = browser.post(&action, &[("expires_days", "")]).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text().await.unwrap().contains("at least one scope"));
}

#[tokio::test]
async fn bad_input_makes_nothing_and_says_why() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    let read = ("scope", "memory:read");
    let long = "x".repeat(65);
    for (fields, said) in [
        (vec![("name", ""), read], "is empty"),
        (vec![("name", long.as_str()), read], "at most 64"),
        (vec![("name", "a\nb"), read], "control character"),
        (vec![("name", "agent"), read], "of this name already"),
        (vec![("name", "ok")], "at least one scope"),
        (vec![("name", "ok"), ("scope", "everything")], "is not known"),
        (vec![("name", "ok"), read, ("expires_days", "0")], "out of range"),
        (vec![("name", "ok"), read, ("expires_days", "soon")], "out of range"),
        (vec![("name", "ok"), read, ("expires_days", "99999999999999999999")], "out of range"),
    ] {
        let response = browser.post("/agents", &fields).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{fields:?}");
        let page = response.text().await.unwrap();
        assert!(page.contains(said), "{said}");
    }
    let agents = app.accounts.list_agents(anna.id).await.unwrap();
    assert_eq!(agents.len(), 1);
}

#[tokio::test]
async fn nobody_sees_or_touches_anothers_agents() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.token(anna.id, "annas-agent", &keepsake::accounts::Scope::ALL, None).await;
    let agents = app.accounts.list_agents(anna.id).await.unwrap();
    let (agent, tokens) = &agents[0];
    let browser = app.signed_in(&ben).await;
    assert!(!browser.get("/agents").await.1.contains("annas-agent"));
    let revoke = format!("/agents/{}/tokens/{}/revoke", agent.id.0, tokens[0].id.0);
    assert_eq!(browser.post(&revoke, &[]).await.status(), StatusCode::NOT_FOUND);
    let more = format!("/agents/{}/tokens", agent.id.0);
    assert_eq!(
        browser.post(&more, &[("scope", "memory:read")]).await.status(),
        StatusCode::NOT_FOUND
    );
    for nonsense in
        ["/agents/x/tokens", "/agents/99999999999999999999/tokens", "/agents/1/tokens/x/revoke"]
    {
        assert_eq!(
            browser.post(nonsense, &[("scope", "memory:read")]).await.status(),
            StatusCode::NOT_FOUND
        );
    }
    assert!(app.accounts.list_agents(anna.id).await.unwrap()[0].1[0].revoked_at.is_none());
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_agent_is_told_of_all_tools_when_its_person_says_so() {
    let (app, anna) = TestApp::with_user().await;
    let browser = app.signed_in(&anna).await;
    let (_, page) = browser.get("/agents").await;
    let path = page.split("action=\"").find_map(|rest| {
        let path = rest.split('"').next().unwrap();
        path.ends_with("/tools").then(|| path.to_owned())
    });
    let path = path.expect("a form");
    assert!(page.contains("Tools: core (5)"));
    let chosen = browser.post(&path, &[("action", "full")]).await;
    assert_eq!(chosen.status(), 303);
    assert!(browser.get("/agents").await.1.contains("Tools: all (13)"));
    let refused = browser.post(&path, &[("action", "some")]).await;
    assert_eq!(refused.status(), 422);
    let chosen = browser.post(&path, &[("action", "core")]).await;
    assert_eq!(chosen.status(), 303);
    assert!(browser.get("/agents").await.1.contains("Tools: core (5)"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_script_that_connects_programs_is_there_for_everybody() {
    let app = TestApp::shared().await;
    let response =
        app.browser().client.get(format!("{}/connect.py", app.base)).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(kind, "text/x-python; charset=utf-8");
    let script = response.text().await.unwrap();
    for client in ["claude-code", "codex", "gemini-cli", "cursor", "opencode"] {
        assert!(script.contains(client), "{client}");
    }
}

#[tokio::test]
async fn settings_as_json_are_shown_again_after_a_mistake() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    let agents = app.accounts.list_agents(anna.id).await.unwrap();
    let path = format!("/agents/{}/settings", agents[0].0.id.0);
    for typed in ["{\"typed\": 1,}", "{\"typed\": 1}"] {
        let fields = [("action", "document"), ("document", typed)];
        let refused = browser.post(&path, &fields).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY, "{typed}");
        let page = refused.text().await.unwrap();
        let shown = page.split("name=\"document\"").nth(1).unwrap();
        let shown = shown.split("</textarea>").next().unwrap();
        assert!(shown.contains("typed"), "{typed}: {shown}");
    }
}
