use keepsake::accounts::{AgentId, Scope, Token, TokenHolder, TokenId};
use reqwest::Client;
use sqlx::Row;
use time::Duration;

use crate::support::{TestApp, problem};

async fn code_for(app: &TestApp, authorization: Option<&str>) -> (u16, String) {
    let mut request = Client::new().post(format!("{}/api/v1/tools/memory_list_themes", app.base));
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    let response = request.send().await.unwrap();
    if response.status() == 200 {
        return (200, String::new());
    }
    assert!(response.headers()["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
    let (status, problem) = problem(response).await;
    (status, problem["code"].as_str().unwrap().to_owned())
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_token_that_is_missing_malformed_or_unknown_opens_nothing() {
    let (app, anna) = TestApp::with_user().await;
    let unknown = Token::generate(None).unwrap().reveal();
    let cut = &anna.token[..anna.token.len() - 1];
    for (authorization, code) in [
        (None, "missing_token"),
        (Some("".to_owned()), "malformed_token"),
        (Some("Bearer".to_owned()), "malformed_token"),
        (Some(format!("Basic {}", anna.token)), "malformed_token"),
        (Some(format!("Bearer {cut}")), "malformed_token"),
        (Some(format!("Bearer {unknown}")), "unknown_token"),
    ] {
        assert_eq!(
            code_for(app, authorization.as_deref()).await,
            (401, code.to_owned()),
            "{authorization:?}"
        );
    }
    assert_eq!(code_for(app, Some(&format!("bearer {}", anna.token))).await.0, 200);
}

#[tokio::test]
async fn an_expired_token_opens_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    let token = app.token(anna.id, "brief", &Scope::ALL, Some(Duration::days(1))).await;
    let authorization = format!("Bearer {token}");
    assert_eq!(code_for(&app, Some(&authorization)).await.0, 200);
    app.clock.advance(Duration::days(1));
    assert_eq!(code_for(&app, Some(&authorization)).await, (401, "expired_token".to_owned()));
}

#[tokio::test]
async fn revocation_is_effective_at_once_and_only_by_its_owner() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let authorization = format!("Bearer {}", anna.token);
    let mut conn = app.superuser().await;
    let row = sqlx::query("SELECT agent_id, id FROM agent_tokens WHERE user_id = $1")
        .bind(anna.id.0)
        .fetch_one(&mut conn)
        .await
        .unwrap();
    let (agent, token) = (AgentId(row.get(0)), TokenId(row.get(1)));
    assert!(app.accounts.revoke_token(TokenHolder::Agent(ben.id, agent), token).await.is_err());
    assert_eq!(code_for(&app, Some(&authorization)).await.0, 200);
    app.accounts.revoke_token(TokenHolder::Agent(anna.id, agent), token).await.unwrap();
    assert_eq!(code_for(&app, Some(&authorization)).await, (401, "revoked_token".to_owned()));
}

#[tokio::test]
async fn a_disabled_users_token_opens_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.sql("UPDATE users SET disabled_at = now()").run().await;
    let authorization = format!("Bearer {}", anna.token);
    assert_eq!(code_for(&app, Some(&authorization)).await, (401, "disabled_user".to_owned()));
}

#[tokio::test]
async fn last_use_is_written_at_most_once_a_minute() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut conn = app.superuser().await;
    let mut last_use = async || -> Option<time::OffsetDateTime> {
        anna.find("*").await;
        let row = sqlx::query("SELECT last_used_at FROM agent_tokens")
            .fetch_one(&mut conn)
            .await
            .unwrap();
        row.get(0)
    };
    let first = last_use().await.unwrap();
    app.clock.advance(Duration::seconds(59));
    assert_eq!(last_use().await, Some(first));
    app.clock.advance(Duration::seconds(1));
    assert_eq!(last_use().await, Some(first + Duration::minutes(1)));
}

#[tokio::test]
async fn the_database_holds_no_token_and_no_password() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut conn = app.superuser().await;
    for table in ["users", "agents", "agent_tokens", "service_tokens", "web_sessions"] {
        let rows = sqlx::AssertSqlSafe(format!(
            "SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t"
        ));
        let all: String = sqlx::query(rows).fetch_one(&mut conn).await.unwrap().get(0);
        assert!(!all.contains(&anna.token[3..40]), "{table}");
        assert!(!all.contains(crate::support::PASSWORD), "{table}");
    }
}
