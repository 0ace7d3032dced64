use serde_json::json;

use super::{action_in, assert_has, between, token_in};
use crate::support::TestApp;

#[tokio::test(crate = "crate::support::shared")]
async fn an_agent_is_made_its_token_shown_once_and_revoked() {
    let (app, _, browser) = TestApp::with_browser().await;
    let fields = [
        ("name", "claude-code"),
        ("scope", "memory:read"),
        ("scope", "memory:write"),
        ("expires_days", "90"),
    ];
    let made = browser.post("/agents", &fields).await;
    assert_eq!(made.status(), 200);
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
    let later = browser.look("/agents").await;
    assert!(!later.contains(&token));
    assert_has(&later, &["claude-code", &token[87..]]);
    browser.answers(303, &action_in(&later, "/revoke"), &[]).await;
    assert_eq!(call().await.unwrap().status(), 401);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_further_token_is_made_for_an_agent() {
    let (_, _, browser) = TestApp::with_browser().await;
    let action = action_in(&browser.look("/agents").await, "/tokens");
    let fields = [("scope", "memory:read"), ("expires_days", "")];
    assert_eq!(token_in(&browser.answers(200, &action, &fields).await).len(), 91);
    browser.says(422, &action, &[("expires_days", "")], "at least one scope").await;
}

#[tokio::test]
async fn bad_input_makes_nothing_and_says_why() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
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
        browser.says(422, "/agents", &fields, said).await;
    }
    let agents = app.accounts.list_agents(anna.id).await.unwrap();
    assert_eq!(agents.len(), 1);
}

#[tokio::test]
async fn nobody_sees_or_touches_anothers_agents() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    app.token(anna.id, "annas-agent", &keepsake::accounts::Scope::ALL, None).await;
    let agents = app.accounts.list_agents(anna.id).await.unwrap();
    let (agent, tokens) = &agents[0];
    let browser = app.signed_in(&ben).await;
    assert!(!browser.get("/agents").await.1.contains("annas-agent"));
    let revoke = format!("/agents/{}/tokens/{}/revoke", agent.id.0, tokens[0].id.0);
    let more = format!("/agents/{}/tokens", agent.id.0);
    let far = "/agents/99999999999999999999/tokens";
    for path in [far, "/agents/x/tokens", "/agents/1/tokens/x/revoke", &revoke, &more] {
        browser.answers(404, path, &[("scope", "memory:read")]).await;
    }
    assert!(app.accounts.list_agents(anna.id).await.unwrap()[0].1[0].revoked_at.is_none());
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_agent_is_told_of_all_tools_when_its_person_says_so() {
    let (_, _, browser) = TestApp::with_browser().await;
    let page = browser.look("/agents").await;
    assert!(page.contains("Tools: core (5)"));
    let path = action_in(&page, "/tools");
    for (action, status, told) in [
        ("full", 303, "Tools: all (13)"),
        ("some", 422, "Tools: all (13)"),
        ("core", 303, "Tools: core (5)"),
    ] {
        browser.answers(status, &path, &[("action", action)]).await;
        assert!(browser.look("/agents").await.contains(told), "{action}");
    }
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
    assert_has(&script, &["claude-code", "codex", "gemini-cli", "cursor", "opencode"]);
}

#[tokio::test]
async fn settings_as_json_are_shown_again_after_a_mistake() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let agents = app.accounts.list_agents(anna.id).await.unwrap();
    let path = format!("/agents/{}/settings", agents[0].0.id.0);
    for typed in ["{\"typed\": 1,}", "{\"typed\": 1}"] {
        let fields = [("action", "document"), ("document", typed)];
        let page = browser.answers(422, &path, &fields).await;
        let shown = between(&page, "name=\"document\"", "</textarea>");
        assert!(shown.contains("typed"), "{typed}: {shown}");
    }
}
