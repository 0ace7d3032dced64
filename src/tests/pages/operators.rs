use reqwest::StatusCode;
use serde_json::json;

use crate::support::TestApp;

const BOTH: [(&str, &str); 2] = [("scope", "memory:read"), ("scope", "memory:write")];

fn with(fields: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    fields.iter().copied().chain(BOTH).collect()
}

/// The token that a page shows once.
fn token_in(page: &str) -> String {
    let at = page.find("ks_").expect("a token on the page");
    page[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

fn action_in(page: &str, end: &str) -> String {
    let actions = page.split("action=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let mut ours = actions.filter(|a| a.starts_with("/admin/operators/") && a.ends_with(end));
    ours.next().expect("a form of this operator").to_owned()
}

async fn status_with(app: &TestApp, token: &str, user: &str) -> StatusCode {
    let request = reqwest::Client::new()
        .post(format!("{}/api/v1/tools/memory_add", app.base))
        .bearer_auth(token)
        .header("keepsake-user", user)
        .json(&json!({ "type": "fact", "content": "pasted" }));
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn an_admin_makes_an_operator_gives_it_tokens_and_revokes_them() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.make_admin(&anna).await;
    let browser = app.signed_in(&anna).await;
    let fields = with(&[("name", "support-bot"), ("users_max", "3"), ("expires_days", "")]);
    let made = browser.post("/admin/operators", &fields).await;
    assert_eq!(made.status(), StatusCode::OK);
    let page = made.text().await.unwrap();
    let token = token_in(&page);
    assert_eq!(token.len(), 75);
    assert!(page.contains("Keepsake-User: customer-42"), "a line to paste");
    assert_eq!(status_with(&app, &token, "customer-42").await, 200);
    let (_, page) = browser.get("/admin").await;
    assert!(!page.contains(&token) && page.contains(&token[71..]));
    let shown = ["support-bot", "act_as, memory:read, memory:write", "used "];
    assert!(shown.iter().all(|s| page.contains(s)), "{page}");
    let text = page.replace("<!>", "");
    assert!(text.contains("1 of 3 users"), "{text}");

    let further = browser.post(&action_in(&page, "/tokens"), &BOTH).await;
    let further = token_in(&further.text().await.unwrap());
    let (_, page) = browser.get("/admin").await;
    // Newest first.
    let revoked = browser.post(&action_in(&page, "/revoke"), &[]).await;
    assert_eq!(revoked.status(), StatusCode::SEE_OTHER);
    assert_eq!(status_with(&app, &further, "customer-42").await, 401);
    assert_eq!(status_with(&app, &token, "customer-42").await, 200);

    let operator = action_in(&page, "/tokens").trim_end_matches("/tokens").to_owned();
    let cap = browser.post(&operator, &[("users_max", "1")]).await;
    assert_eq!(cap.status(), StatusCode::SEE_OTHER);
    assert_eq!(status_with(&app, &token, "another").await, 403);
}

#[tokio::test]
async fn bad_input_makes_no_operator_and_says_why() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.make_admin(&anna).await;
    app.service_token("there", &keepsake::accounts::Scope::ALL).await;
    let browser = app.signed_in(&anna).await;
    for (fields, said) in [
        (with(&[("name", "")]), "is empty"),
        (with(&[("name", "a\nb")]), "control character"),
        (with(&[("name", "there")]), "of this name already"),
        (vec![("name", "ok")], "at least one scope"),
        (with(&[("name", "ok"), ("scope", "act_as")]), "is not known"),
        (with(&[("name", "ok"), ("users_max", "0")]), "out of range"),
        (with(&[("name", "ok"), ("users_max", "many")]), "out of range"),
    ] {
        let response = browser.post("/admin/operators", &fields).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{fields:?}");
        assert!(response.text().await.unwrap().contains(said), "{said}");
    }
    let (_, page) = browser.get("/admin").await;
    for (path, fields, status) in [
        (action_in(&page, "/tokens"), vec![], StatusCode::UNPROCESSABLE_ENTITY),
        ("/admin/operators/999/tokens".to_owned(), BOTH.to_vec(), StatusCode::NOT_FOUND),
        ("/admin/operators/x".to_owned(), vec![], StatusCode::NOT_FOUND),
        ("/admin/operators/999/tokens/1/revoke".to_owned(), vec![], StatusCode::NOT_FOUND),
    ] {
        let response = browser.post(&path, &fields).await;
        assert_eq!(response.status(), status, "{path}");
        assert!(response.text().await.unwrap().contains("class=\"error\""), "{path}");
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
        let response = browser.post(&path, &fields).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        assert!(!response.text().await.unwrap().contains("ks_"));
        let elsewhere = browser
            .client
            .post(format!("{}{path}", app.base))
            .header("sec-fetch-site", "cross-site");
        assert_eq!(elsewhere.send().await.unwrap().status(), StatusCode::FORBIDDEN, "{path}");
    }
    let after = app.accounts.list_operators().await.unwrap();
    assert_eq!((after.len(), after[0].tokens.len(), after[0].users_max), (1, 1, 10_000));
    assert!(after[0].tokens[0].revoked_at.is_none());
}
