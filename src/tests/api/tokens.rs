use keepsake::accounts::{AgentId, Scope, Token, TokenHolder, TokenId};
use reqwest::Client;
use time::Duration;

use super::{code, two_users};
use crate::support::TestApp;

async fn code_for(app: &TestApp, authorization: Option<&str>) -> String {
    let mut request = Client::new().post(format!("{}/api/v1/tools/memory_list_themes", app.base));
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    let response = request.send().await.unwrap();
    if response.status() != 200 {
        assert!(response.headers()["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
    }
    code(response).await
}

async fn code_of(app: &TestApp, token: &str) -> String {
    code_for(app, Some(&format!("Bearer {token}"))).await
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_token_that_is_missing_malformed_or_unknown_opens_nothing() {
    let (app, anna) = TestApp::with_user().await;
    let unknown = Token::generate(None).unwrap().reveal();
    let cut = &anna.token[..anna.token.len() - 1];
    for (authorization, expected) in [
        (None, "401 missing_token"),
        (Some("".to_owned()), "401 malformed_token"),
        (Some("Bearer".to_owned()), "401 malformed_token"),
        (Some(format!("Basic {}", anna.token)), "401 malformed_token"),
        (Some(format!("Bearer {cut}")), "401 malformed_token"),
        (Some(format!("Bearer {unknown}")), "401 unknown_token"),
        (Some(format!("bearer {}", anna.token)), "200"),
    ] {
        assert_eq!(code_for(app, authorization.as_deref()).await, expected, "{authorization:?}");
    }
}

#[tokio::test]
async fn a_token_that_is_expired_or_revoked_or_of_a_disabled_user_opens_nothing() {
    let (app, anna, ben) = two_users().await;
    let brief = app.token(anna.id, "brief", &Scope::ALL, Some(Duration::days(1))).await;
    assert_eq!(code_of(&app, &brief).await, "200");
    app.clock.advance(Duration::days(1));
    assert_eq!(code_of(&app, &brief).await, "401 expired_token");

    // Its owner alone revokes it, which is effective at once.
    let of_agent =
        "SELECT t.agent_id, t.id FROM agent_tokens t JOIN agents a ON a.user_id = t.user_id
                    AND a.id = t.agent_id WHERE t.user_id = $1 AND a.name = 'agent'";
    let (agent, token): (i64, i64) = app.sql(of_agent).bind(anna.id.0).row().await;
    let (agent, token) = (AgentId(agent), TokenId(token));
    assert!(app.accounts.revoke_token(TokenHolder::Agent(ben.id, agent), token).await.is_err());
    assert_eq!(code_of(&app, &anna.token).await, "200");
    app.accounts.revoke_token(TokenHolder::Agent(anna.id, agent), token).await.unwrap();
    assert_eq!(code_of(&app, &anna.token).await, "401 revoked_token");

    app.sql("UPDATE users SET disabled_at = now()").run().await;
    assert_eq!(code_of(&app, &ben.token).await, "401 disabled_user");
}

#[tokio::test]
async fn last_use_is_written_at_most_once_a_minute() {
    let (app, anna) = TestApp::start_for("anna").await;
    let last_use = async || -> time::OffsetDateTime {
        anna.find("*").await;
        app.sql("SELECT last_used_at FROM agent_tokens").value().await
    };
    let first = last_use().await;
    app.clock.advance(Duration::seconds(59));
    assert_eq!(last_use().await, first);
    app.clock.advance(Duration::seconds(1));
    assert_eq!(last_use().await, first + Duration::minutes(1));
}

#[tokio::test]
async fn the_database_holds_no_token_and_no_password() {
    let (app, anna) = TestApp::start_for("anna").await;
    for table in ["users", "agents", "agent_tokens", "service_tokens", "web_sessions"] {
        let rows = format!("SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t");
        let all: String = app.sql(rows).value().await;
        assert!(!all.contains(&anna.token[3..40]), "{table}");
        assert!(!all.contains(crate::support::PASSWORD), "{table}");
    }
}
