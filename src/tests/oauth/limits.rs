//! What strangers and forgotten clients cost at most.

use keepsake::accounts::oauth::ClientMetadata;
use keepsake::accounts::{AgentName, Scope, TokenWish};
use keepsake::clock::Clock;
use serde_json::{Value, json};
use time::Duration;

use super::{CALLBACK, Connecting, is_invalid_grant, register, text};
use crate::support::TestApp;
use crate::teams::agent_id;

#[tokio::test]
async fn registrations_are_checked_and_slowed_down_by_network() {
    let app = TestApp::start().await;
    for body in [
        json!({}),
        json!([]),
        json!({ "redirect_uris": [] }),
        json!({ "redirect_uris": ["http://evil.example/cb"] }),
        json!({ "redirect_uris": [CALLBACK], "grant_types": ["client_credentials"] }),
    ] {
        let (status, said) = register(&app, &body).await;
        assert_eq!(status, 400, "{body}: {said}");
        assert!(text(&said, "error").starts_with("invalid_"), "{said}");
    }
    let large = json!({ "redirect_uris": [CALLBACK], "x": "x".repeat(20_000) });
    assert_eq!(register(&app, &large).await.0, 413);
    let body = json!({ "redirect_uris": [CALLBACK] });
    let mut last = (201, Value::Null);
    for _ in 0..60 {
        if last.0 == 201 {
            last = register(&app, &body).await;
        }
    }
    assert_eq!((last.0, &last.1["error"]), (429, &json!("temporarily_unavailable")));
    assert!(app.count("oauth_clients").await <= 30);
}

#[tokio::test]
async fn the_oldest_registration_that_nobody_allowed_gives_way_then_the_one_not_used_for_longest() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let tokens = connecting.connect("Claude").await;
    app.sql("INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
         SELECT 'ksc_' || n, 'x', '{https://a.example/}', now() - interval '1 day' + n * interval '1 second'
         FROM generate_series(1, 9999) n").run().await;
    let metadata = ClientMetadata::of_registration(br#"{"redirect_uris":["https://a.example/"]}"#);
    let newest = app.accounts.register_client(metadata.unwrap()).await.unwrap();
    assert_eq!(app.count("oauth_clients").await, 10_000);
    assert!(app.accounts.find_client(&newest.id).await.unwrap().is_some());
    let left = "SELECT client_id FROM oauth_clients WHERE client_id IN ('ksc_1', $1)";
    let left: Vec<String> = app.sql(left).bind(&connecting.client).values().await;
    assert_eq!(left, std::slice::from_ref(&connecting.client), "one that is in use stays");

    // What is neither allowed nor renewed does not count as use.
    let (_, other) = register(&app, &json!({ "redirect_uris": [CALLBACK] })).await;
    for other in [&text(&other, "client_id"), "\0"] {
        let other = Connecting { app: &app, browser: app.browser(), client: other.to_owned() };
        is_invalid_grant(other.refresh(&text(&tokens, "refresh_token")).await);
    }
    let path = connecting.path(&[("client_id", &text(&other, "client_id"))]);
    let taken = [("agent", "new"), ("name", "Claude")];
    assert_eq!(connecting.allow(&path, &taken).await.status(), 422);
    let used: Vec<String> =
        app.sql("SELECT client_id FROM oauth_clients WHERE allowed_at IS NOT NULL").values().await;
    assert_eq!(used, std::slice::from_ref(&connecting.client));
    // All are in use, and one of the newest was not used for longest.
    let used = "UPDATE oauth_clients SET allowed_at = created_at WHERE allowed_at IS NULL;
                UPDATE oauth_clients SET allowed_at = '2020-01-01' WHERE client_id = 'ksc_9999'";
    app.sql(used).run_all().await;
    register(&app, &json!({ "redirect_uris": [CALLBACK] })).await;
    assert_eq!(app.count("oauth_clients").await, 10_000);
    assert_eq!(app.count("oauth_clients WHERE client_id = 'ksc_9999'").await, 0);
}

#[tokio::test]
async fn revoked_tokens_are_bounded_and_deleted_after_a_month() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    let path = format!("/agents/{}/tokens", agent_id(&app, &anna, "agent").await.0);
    let make = async || browser.post(&path, &[("scope", "memory:read")]).await.status().as_u16();
    let revoke = async || {
        let newest = "UPDATE agent_tokens SET revoked_at = $1
                      WHERE id = (SELECT max(id) FROM agent_tokens)";
        app.sql(newest).bind(app.clock.now()).run().await;
    };
    // One token was there.
    for _ in 0..99 {
        assert_eq!(make().await, 200);
        revoke().await;
    }
    assert_eq!(make().await, 422);
    app.clock.advance(Duration::days(30) + Duration::minutes(1));
    browser.sign_in(&anna).await;
    assert_eq!(make().await, 422);
    assert_eq!(app.accounts.sweep_oauth().await.unwrap(), 99);
    assert_eq!(make().await, 200);
}

#[tokio::test]
async fn expired_tokens_take_the_place_of_none_and_are_deleted_after_a_month() {
    let (app, anna) = TestApp::start_for("anna").await;
    for _ in 0..49 {
        app.token(anna.id, "agent", &Scope::ALL, Some(Duration::days(1))).await;
    }
    let wish = |lifetime| TokenWish { scopes: Scope::ALL.into(), lifetime, profile: None };
    let [operator, name] = ["operator", "agent"].map(|name| AgentName::parse(name).unwrap());
    let short = wish(Some(Duration::days(1)));
    app.accounts.create_service_token_by_name(&operator, &short).await.unwrap();
    app.service_token("operator", &Scope::ALL).await;
    let make = async || app.accounts.create_token_by_name(anna.id, &name, &wish(None)).await;
    assert!(make().await.is_err(), "50 are live");
    app.clock.advance(Duration::days(2));
    assert!(make().await.is_ok());
    assert_eq!(app.accounts.sweep_oauth().await.unwrap(), 0);
    app.clock.advance(Duration::days(30));
    assert_eq!(app.accounts.sweep_oauth().await.unwrap(), 50);
    assert_eq!(app.count("service_tokens").await, 1, "the endless one");
}

#[tokio::test]
async fn what_nobody_uses_is_deleted() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let tokens = connecting.connect("Claude").await;
    register(&app, &json!({ "redirect_uris": [CALLBACK] })).await;
    assert_eq!(app.accounts.sweep_oauth().await.unwrap(), 0);
    app.clock.advance(Duration::days(7) + Duration::minutes(1));
    assert_eq!(app.accounts.sweep_oauth().await.unwrap(), 1, "the client that nobody allowed");
    assert_eq!(connecting.refresh(&text(&tokens, "refresh_token")).await.0, 200);
    app.clock.advance(Duration::days(61));
    assert_eq!(app.accounts.sweep_oauth().await.unwrap(), 1, "the grant that ended a month ago");
    assert_eq!(app.count("oauth_grants").await, 0);
    assert_eq!(app.count("agent_tokens").await, 1, "the one that Anna made");
    app.clock.advance(Duration::days(180));
    assert_eq!(app.accounts.sweep_oauth().await.unwrap(), 1, "the client");
    assert_eq!(app.count("oauth_clients").await, 0);
}

#[tokio::test]
async fn a_person_may_connect_fifty_clients_as_one_agent() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let agent = agent_id(&app, &anna, "agent").await.0.to_string();
    let press = async || {
        let pressed = connecting.allow(&connecting.path(&[]), &[("agent", &agent)]).await;
        pressed.status().as_u16()
    };
    for _ in 0..49 {
        assert_eq!(press().await, 303);
    }
    assert_eq!(press().await, 422, "one token was there");
    // Codes that were not redeemed make room again.
    app.clock.advance(Duration::minutes(2));
    app.accounts.sweep_oauth().await.unwrap();
    assert_eq!(press().await, 303);
}
