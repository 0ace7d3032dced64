use serde_json::json;

use super::{action_in, assert_has, token_in};
use crate::support::TestApp;

const BOTH: [(&str, &str); 2] = [("scope", "memory:read"), ("scope", "memory:write")];

fn with(fields: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    fields.iter().copied().chain(BOTH).collect()
}

async fn status_with(app: &TestApp, token: &str, user: &str) -> u16 {
    let request = reqwest::Client::new()
        .post(format!("{}/api/v1/tools/memory_add", app.base))
        .bearer_auth(token)
        .header("keepsake-user", user)
        .json(&json!({ "type": "fact", "content": "pasted" }));
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn an_admin_makes_an_operator_gives_it_tokens_and_revokes_them() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    let fields = with(&[("name", "support-bot"), ("users_max", "3"), ("expires_days", "")]);
    let page = browser.answers(200, "/admin/operators", &fields).await;
    let token = token_in(&page);
    assert_eq!(token.len(), 75);
    assert!(page.contains("Keepsake-User: customer-42"), "a line to paste");
    assert_eq!(status_with(&app, &token, "customer-42").await, 200);
    let page = browser.look("/admin").await;
    assert!(!page.contains(&token));
    assert_has(&page, &[&token[71..], "support-bot", "used ", "1 of 3 users"]);
    assert!(page.contains("act_as, memory:read, memory:write"), "{page}");

    let further = browser.answers(200, &action_in(&page, "/tokens"), &BOTH).await;
    let further = token_in(&further);
    let page = browser.look("/admin").await;
    // Newest first.
    browser.answers(303, &action_in(&page, "/revoke"), &[]).await;
    assert_eq!(status_with(&app, &further, "customer-42").await, 401);
    assert_eq!(status_with(&app, &token, "customer-42").await, 200);

    let operator = action_in(&page, "/tokens").trim_end_matches("/tokens").to_owned();
    browser.answers(303, &operator, &[("users_max", "1")]).await;
    assert_eq!(status_with(&app, &token, "another").await, 403);
}

#[tokio::test]
async fn bad_input_makes_no_operator_and_says_why() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    app.service_token("there", &keepsake::accounts::Scope::ALL).await;
    for (fields, said) in [
        (with(&[("name", "")]), "is empty"),
        (with(&[("name", "a\nb")]), "control character"),
        (with(&[("name", "there")]), "of this name already"),
        (vec![("name", "ok")], "at least one scope"),
        (with(&[("name", "ok"), ("scope", "act_as")]), "is not known"),
        (with(&[("name", "ok"), ("users_max", "0")]), "out of range"),
        (with(&[("name", "ok"), ("users_max", "many")]), "out of range"),
    ] {
        browser.says(422, "/admin/operators", &fields, said).await;
    }
    let page = browser.look("/admin").await;
    for (path, fields, status) in [
        (&*action_in(&page, "/tokens"), vec![], 422),
        ("/admin/operators/999/tokens", BOTH.to_vec(), 404),
        ("/admin/operators/x", vec![], 404),
        ("/admin/operators/999/tokens/1/revoke", vec![], 404),
    ] {
        browser.says(status, path, &fields, "class=\"error\"").await;
    }
    assert_eq!(app.accounts.list_operators().await.unwrap().len(), 1);
}

#[tokio::test]
async fn for_a_member_there_are_no_operators() {
    let (app, ben) = TestApp::start_for("ben").await;
    app.service_token("bot", &keepsake::accounts::Scope::ALL).await;
    let operator = &app.accounts.list_operators().await.unwrap()[0];
    let (id, token) = (operator.id.0, operator.tokens[0].id.0);
    let browser = app.signed_in(&ben).await;
    for path in [
        "/admin/operators".to_owned(),
        format!("/admin/operators/{id}"),
        format!("/admin/operators/{id}/tokens"),
        format!("/admin/operators/{id}/tokens/{token}/revoke"),
    ] {
        let fields = with(&[("name", "mine"), ("users_max", "9")]);
        let page = browser.answers(404, &path, &fields).await;
        assert!(!page.contains("ks_"));
    }
    let after = app.accounts.list_operators().await.unwrap();
    assert_eq!((after.len(), after[0].tokens.len(), after[0].users_max), (1, 1, 10_000));
    assert!(after[0].tokens[0].revoked_at.is_none());
}
