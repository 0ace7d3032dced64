//! What attackers try: RFC 9700's list, as far as it concerns this server.

use reqwest::Method;
use serde_json::json;
use time::Duration;

use super::{CALLBACK, Connecting, VERIFIER, answer_of, is_invalid_grant, opens, post, text};
use crate::mcp::Mcp;
use crate::support::{TestApp, Wish};
use crate::teams::agent_id;

/// Somebody else's code in one's own flow: it fits neither the verifier, nor another client, nor another address.
#[tokio::test(crate = "crate::support::shared")]
async fn a_stolen_code_is_worth_nothing_elsewhere_and_used_twice_ends_what_it_gave() {
    let (app, anna) = TestApp::with_user().await;
    let connecting = Connecting::start(app, &anna).await;
    let code = connecting.code("Claude").await;
    let other = Connecting::start(app, &anna).await;
    let own = "another-verifier-of-43-characters-or-more-0123456";
    is_invalid_grant(connecting.redeem(&code, &[("code_verifier", own)]).await);
    is_invalid_grant(connecting.redeem(&code, &[("code_verifier", "short")]).await);
    is_invalid_grant(connecting.redeem(&code, &[("client_id", &other.client)]).await);
    is_invalid_grant(connecting.redeem(&code, &[("redirect_uri", "https://claude.ai/")]).await);
    is_invalid_grant(connecting.redeem(&"0".repeat(64), &[]).await);
    is_invalid_grant(connecting.redeem("x", &[]).await);
    let (_, said) = connecting.redeem(&code, &[("resource", "https://evil.example/mcp")]).await;
    assert_eq!(said["error"], "invalid_target");
    for missing in ["code_verifier", "client_id", "code"] {
        let (status, said) = connecting.redeem(&code, &[(missing, "")]).await;
        assert_eq!((status, &said["error"]), (400, &json!("invalid_request")), "{missing}");
    }
    // As clients of OAuth 2.1 proper redeem it.
    let (status, tokens) = connecting.redeem(&code, &[("redirect_uri", "")]).await;
    assert_eq!(status, 200);
    assert!(opens(app, &tokens).await);
    is_invalid_grant(connecting.redeem(&code, &[]).await);
    assert!(!opens(app, &tokens).await);
    is_invalid_grant(connecting.refresh(&text(&tokens, "refresh_token")).await);
}

#[tokio::test]
async fn a_code_ends_after_a_minute_and_a_refresh_token_of_its_client_after_a_month_without_use() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let code = connecting.code("Claude").await;
    app.clock.advance(Duration::seconds(60));
    is_invalid_grant(connecting.redeem(&code, &[]).await);
    let (_, agents) = connecting.browser.get("/agents").await;
    assert!(!agents.contains("claude.ai"), "no connection that never was");
    assert_eq!(app.accounts.sweep_oauth().await.unwrap(), 1, "nothing of the code is left");

    let tokens = connecting.connect("Other").await;
    let refresh = text(&tokens, "refresh_token");
    let thief = Connecting::start(&app, &anna).await;
    // A guess without the first half ends nothing either.
    let guess = format!("ksr_{}", "0".repeat(128));
    for (client, token) in [(&thief, &refresh), (&connecting, &guess)] {
        is_invalid_grant(client.refresh(token).await);
        assert!(opens(&app, &tokens).await);
    }
    app.clock.advance(Duration::days(30));
    is_invalid_grant(connecting.refresh(&refresh).await);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_refresh_token_used_twice_ends_the_connection_and_at_once_succeeds_once_at_most() {
    let (app, anna) = TestApp::with_user().await;
    let connecting = Connecting::start(app, &anna).await;
    let first = connecting.connect("Claude").await;
    let other = connecting.connect("Other").await;
    let (status, second) = connecting.refresh(&text(&first, "refresh_token")).await;
    assert_eq!(status, 200);
    assert!(!opens(app, &first).await && opens(app, &second).await);
    // A thief or the client comes with the one that was used: nobody can tell who, so both lose.
    is_invalid_grant(connecting.refresh(&text(&first, "refresh_token")).await);
    assert!(!opens(app, &second).await);
    is_invalid_grant(connecting.refresh(&text(&second, "refresh_token")).await);
    assert!(opens(app, &other).await, "another connection goes on");
    let refresh = text(&other, "refresh_token");
    let both = tokio::join!(connecting.refresh(&refresh), connecting.refresh(&refresh));
    let succeeded = [both.0.0, both.1.0].iter().filter(|status| **status == 200).count();
    assert_eq!(succeeded, 1);
}

/// Tokens of OAuth open the MCP endpoint of the address that they were issued for, and nothing else.
#[tokio::test]
async fn a_token_of_another_audience_opens_nothing_and_is_not_renewed() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let tokens = connecting.connect("Claude").await;
    let access = text(&tokens, "access_token");
    let by_oauth = anna.with_token(&access);
    let (status, said) = by_oauth.request(Method::GET, "/api/v1/tools", None).await;
    assert_eq!((status, &said["code"]), (401, &json!("wrong_audience")));
    let same = Mcp { url: format!("{}/mcp/", app.base), ..Mcp::with_token(&app, &access) };
    assert_eq!(same.ask("tools/list", json!({})).await.0, 200);
    // The same database under another name, such as after a move.
    let (public_url, database) = (Some("https://other.example"), Some(app.options.clone()));
    let moved = TestApp::start_as(Wish { public_url, database, ..Wish::default() }).await;
    let (status, said) = Mcp::with_token(&moved, &access).ask("tools/list", json!({})).await;
    assert_eq!((status, &said["error"]["data"]["code"]), (401, &json!("wrong_audience")));
    assert_eq!(Mcp::with_token(&moved, &anna.token).ask("tools/list", json!({})).await.0, 200);
    app.sql("UPDATE oauth_grants SET resource = 'https://before.example/mcp'").run().await;
    is_invalid_grant(connecting.refresh(&text(&tokens, "refresh_token")).await);
}

/// A mistake before the client and its address are known is shown here: a redirect would be to an attacker.
#[tokio::test]
async fn nobody_is_redirected_to_an_address_that_was_not_registered() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let twice = format!("{}&redirect_uri=https%3A%2F%2Fevil.example", connecting.path(&[]));
    let changed = |name, value| connecting.path(&[(name, value)]);
    for path in [
        changed("redirect_uri", ""),
        changed("redirect_uri", "https://evil.example/api/mcp/auth_callback"),
        changed("redirect_uri", "https://claude.ai/api/mcp/auth_callback/x"),
        changed("redirect_uri", "https://claude.ai/api/mcp/auth_callback?x=1"),
        changed("redirect_uri", "https://claude.ai@evil.example/api/mcp/auth_callback"),
        changed("redirect_uri", "https://claude.ai.evil.example/api/mcp/auth_callback"),
        changed("redirect_uri", "http://127.0.0.1/api/mcp/auth_callback"),
        changed("redirect_uri", "javascript:alert(1)"),
        changed("client_id", ""),
        changed("client_id", "ksc_ffffffffffffffffffffffffffffffff"),
        changed("client_id", "https://127.0.0.1/client.json"),
        changed("client_id", &"x".repeat(5_000)),
        twice,
    ] {
        let (status, page) = connecting.browser.get(&path).await;
        assert_eq!(status, 400, "{path}");
        assert!(page.contains("cannot be connected") && !page.contains("value=\"allow\""));
        let pressed = connecting.allow(&path, &[("agent", "new"), ("name", "x")]).await;
        assert_eq!(pressed.status(), 400, "{path}");
    }
    assert_eq!(app.accounts.list_agents(anna.id).await.unwrap().len(), 1);
}

#[tokio::test(crate = "crate::support::shared")]
async fn other_mistakes_are_for_the_client_and_redirect_only_to_ones_own_machine() {
    let (app, anna) = TestApp::with_user().await;
    let own = "http://127.0.0.1:43211/callback";
    let body = json!({ "redirect_uris": [CALLBACK, own] });
    let connecting = Connecting::of(app, app.signed_in(&anna).await, &body).await;
    let long = "s".repeat(2_001);
    for (name, value, error) in [
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "", "unsupported_response_type"),
        ("response_mode", "fragment", "invalid_request"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("resource", "https://evil.example/mcp", "invalid_target"),
        ("scope", "openid", "invalid_scope"),
        ("state", &long, "invalid_request"),
    ] {
        // Anybody can register an address on the web, and send people to ours.
        let path = connecting.path(&[(name, value)]);
        let (status, page) = connecting.browser.get(&path).await;
        assert_eq!(status, 400, "{name}={value}");
        let link = format!("href=\"{CALLBACK}?error={error}&amp;");
        assert!(page.contains(&link) && page.contains("not valid: "), "{page}");
        let path = connecting.path(&[(name, value), ("redirect_uri", own)]);
        let url = format!("{}{path}", app.base);
        let sent = connecting.browser.client.get(url).send().await.unwrap();
        let answer = answer_of(&sent, own);
        assert_eq!(answer["error"], error, "{name}={value}");
        assert!(!answer.contains_key("code"));
        assert_eq!(answer.contains_key("state"), name != "state", "{name}");
    }
}

/// The page may stand in no frame, its form comes from here, and its client is text.
#[tokio::test(crate = "crate::support::shared")]
async fn the_page_cannot_be_framed_forged_or_written_on() {
    let (app, anna) = TestApp::with_user().await;
    let name = "<script>alert(1)</script>";
    let body = json!({ "redirect_uris": [CALLBACK], "client_name": name });
    let connecting = Connecting::of(app, app.signed_in(&anna).await, &body).await;
    let url = format!("{}{}", app.base, connecting.path(&[]));
    let shown = connecting.browser.client.get(&url).send().await.unwrap();
    let header = |name: &str| shown.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-frame-options"), "DENY");
    let policy = header("content-security-policy");
    for part in ["frame-ancestors 'none'", "default-src 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    // The redirect to the client ends the form.
    assert!(!policy.contains("form-action"), "{policy}");
    // The client's window is told nothing of the page, but may go on after it.
    assert_eq!(header("cross-origin-opener-policy"), "unsafe-none");
    let page = shown.text().await.unwrap();
    assert!(!page.contains(name) && page.contains("&lt;script&gt;"));
    for site in ["cross-site", "same-site"] {
        let forged = connecting.browser.client.post(&url).header("sec-fetch-site", site);
        let fields =
            [("action", "allow"), ("agent", "new"), ("name", "x"), ("scope", "memory:read")];
        assert_eq!(forged.form(&fields).send().await.unwrap().status(), 403);
    }
    assert!(connecting.browser.get("/memory").await.1.contains("<html"));
}

#[tokio::test]
async fn nobody_connects_a_client_as_another_persons_agent() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let connecting = Connecting::start(&app, &anna).await;
    let bens = agent_id(&app, &ben, "agent").await.0.to_string();
    for agent in [bens.as_str(), "0", "x", ""] {
        let pressed = connecting.allow(&connecting.path(&[]), &[("agent", agent)]).await;
        assert_eq!(pressed.status(), 404, "{agent}");
    }
    for (name, said) in [("agent", "of this name already"), ("", "is empty")] {
        let fields = [("agent", "new"), ("name", name)];
        let pressed = connecting.allow(&connecting.path(&[]), &fields).await;
        assert_eq!(pressed.status(), 422);
        let page = pressed.text().await.unwrap();
        assert!(page.contains(said) && page.contains("claude.ai"), "{said}");
    }
    let none = [("action", "allow"), ("agent", "new"), ("name", "x")];
    let pressed = connecting.browser.post(&connecting.path(&[]), &none).await;
    assert_eq!(pressed.status(), 422);
    assert!(pressed.text().await.unwrap().contains("at least one permission"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn bad_requests_for_tokens_are_refused_in_words() {
    let app = TestApp::shared().await;
    for (fields, error) in [
        (vec![], "unsupported_grant_type"),
        (vec![("grant_type", "password")], "unsupported_grant_type"),
        (vec![("grant_type", "client_credentials")], "unsupported_grant_type"),
        (vec![("grant_type", "authorization_code")], "invalid_request"),
        (vec![("grant_type", "refresh_token"), ("refresh_token", "x")], "invalid_request"),
        (vec![("grant_type", "refresh_token"), ("grant_type", "x")], "invalid_request"),
        (
            vec![("grant_type", "refresh_token"), ("refresh_token", "ksr_x"), ("client_id", "x")],
            "invalid_grant",
        ),
    ] {
        let (status, said) = post(app, "/oauth/token", &fields).await;
        assert_eq!((status, &said["error"]), (400, &json!(error)), "{fields:?}");
        assert!(said["error_description"].as_str().unwrap().ends_with('.'), "{said}");
    }
    let json_body =
        reqwest::Client::new().post(format!("{}/oauth/token", app.base)).json(&json!({}));
    assert_eq!(json_body.send().await.unwrap().status(), 400);
    let large = "x".repeat(20_000);
    let fields = [("code", large.as_str()), ("code_verifier", VERIFIER)];
    assert_eq!(post(app, "/oauth/token", &fields).await.0, 413);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_disabled_person_gets_no_further() {
    let (app, anna) = TestApp::with_user().await;
    let connecting = Connecting::start(app, &anna).await;
    let tokens = connecting.connect("Claude").await;
    app.sql("UPDATE users SET disabled_at = now() WHERE id = $1").bind(anna.id.0).run().await;
    let mcp = Mcp::with_token(app, &text(&tokens, "access_token"));
    let (status, said) = mcp.ask("tools/list", json!({})).await;
    assert_eq!((status, &said["error"]["data"]["code"]), (401, &json!("disabled_user")));
    is_invalid_grant(connecting.refresh(&text(&tokens, "refresh_token")).await);
}
