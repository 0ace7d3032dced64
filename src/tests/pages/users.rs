use keepsake::accounts::admin_events::{AdminAction, AdminActor};
use keepsake::accounts::{Email, Scope};
use keepsake::config::SignUp;
use keepsake::embedding::Drained;
use reqwest::StatusCode;
use serde_json::json;

use super::{action_in, assert_has, between};
use crate::support::{Browser, PASSWORD, Provider, TestApp};

/// Gives status and page.
async fn change(browser: &Browser, user: i64, action: &str) -> (u16, String) {
    let path = format!("/admin/users/{user}");
    let (status, page) = browser.submit(&path, &[("action", action)]).await;
    (status, text_of(&page))
}

/// Without the marks around pieces of text.
fn text_of(page: &str) -> String {
    ["<!>", "<bdi>", "</bdi>"].iter().fold(page.to_owned(), |page, mark| page.replace(mark, ""))
}

async fn mcp_status(app: &TestApp, token: &str) -> StatusCode {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let request = reqwest::Client::new()
        .post(format!("{}/mcp", app.base))
        .bearer_auth(token)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18")
        .json(&body);
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn disabling_ends_browsers_agents_mcp_jobs_and_invitations_at_once() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    let ben = app.user("ben").await;
    app.make_admin(&ben).await;
    let bens = app.signed_in(&ben).await;
    bens.answers(200, "/admin/invitations", &[("email", ""), ("role", "admin")]).await;
    let provider = Provider::start().await;
    app.use_provider(&ben, &provider, "model").await;
    ben.add("to be embedded").await;
    assert_eq!(mcp_status(&app, &ben.token).await, 200);

    let (status, page) = change(&browser, ben.id.0, "disable").await;
    assert_eq!(status, 200);
    assert!(page.contains("ben@example.com was disabled"), "{page}");
    assert_eq!(bens.get("/memory").await.0, 303);
    bens.answers(422, "/login", &[("email", &ben.email), ("password", PASSWORD)]).await;
    let (status, refused) = ben.refused("memory_search", json!({ "query": "*" })).await;
    assert_eq!((status, refused["code"].as_str()), (401, Some("disabled_user")));
    assert_eq!(mcp_status(&app, &ben.token).await, 401);
    let asked = provider.call_sizes().len();
    assert_eq!(app.drain(&ben).await, Drained::Done);
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0);
    assert_eq!(provider.call_sizes().len(), asked, "nothing of them is sent to anybody");
    let sessions = app.sql("SELECT count(*) FROM web_sessions WHERE user_id = $1");
    assert_eq!(sessions.bind(ben.id.0).value::<i64>().await, 0);
    assert_eq!(app.count("invitations WHERE revoked_at IS NULL").await, 0);

    let (status, page) = change(&browser, ben.id.0, "enable").await;
    assert_eq!(status, 200);
    assert!(page.contains("anna@example.com disabled ben@example.com"), "{page}");
    ben.call("memory_search", json!({ "query": "*" })).await;
    assert_eq!(bens.get("/memory").await.0, 303, "an ended session stays ended");
    assert_eq!(app.embeddings.sweep().await.unwrap(), 1);
    app.drain(&ben).await;
    assert!(provider.call_sizes().len() > asked);
}

#[tokio::test]
async fn a_drain_under_way_stops_when_its_user_is_disabled() {
    let (app, ben) = TestApp::start_for("ben").await;
    let provider = Provider::start().await;
    app.use_provider(&ben, &provider, "model").await;
    for n in 0..300 {
        ben.add(&format!("item {n}")).await;
    }
    provider.forget_calls();
    let held = provider.hold();
    let draining = app.drain_once(ben.id);
    let disabling = async {
        provider.until_called().await;
        let change = app.accounts.change_person(AdminActor::Command, ben.id, AdminAction::Disable);
        change.await.unwrap();
        drop(held);
    };
    let (drained, ()) = tokio::join!(draining, disabling);
    drained.unwrap();
    assert_eq!(app.drain_once(ben.id).await.unwrap(), Drained::Done);
    let pending = app.count("memory_embeddings WHERE state = 'pending'").await;
    assert!(pending > 0, "the page after the one under way is not read");
}

#[tokio::test]
async fn an_operators_user_is_found_by_its_id_and_shut_out() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    let token = app.service_token("support", &Scope::ALL).await;
    let call = async || {
        let request = reqwest::Client::new()
            .post(format!("{}/api/v1/tools/memory_add", app.base))
            .bearer_auth(&token)
            .header("keepsake-user", "customer-42")
            .json(&json!({ "type": "fact", "content": "kept" }));
        request.send().await.unwrap().status()
    };
    assert_eq!(call().await, 200);
    let operator = app.accounts.list_operators().await.unwrap()[0].id.0;
    let find = async |id: &str| {
        let path = format!("/admin/users?operator={operator}&external_id={id}");
        text_of(&browser.get(&path).await.1)
    };
    for nobody in ["customer-43", "", "%00"] {
        assert!(find(nobody).await.contains("no user that it calls"), "{nobody}");
    }
    let page = find("customer-42").await;
    let user: i64 = between(&page, "action=\"/admin/users/", "\"").parse().unwrap();
    let (_, page) = change(&browser, user, "disable").await;
    assert!(page.contains("support: customer-42 was disabled"), "{page}");
    assert_eq!(call().await, 401);
    let (status, page) = change(&browser, user, "promote").await;
    assert_eq!(status, 422);
    assert!(page.contains("does not sign in"), "{page}");
    change(&browser, user, "enable").await;
    assert_eq!(call().await, 200);
}

#[tokio::test]
async fn an_account_whose_erasure_has_begun_is_gone_for_admins_and_is_no_admin() {
    let (app, anna, browser) = TestApp::start_with_admin().await;
    let ben = app.user("ben").await;
    app.make_admin(&ben).await;
    assert!(browser.get("/admin/users").await.1.contains("ben@example.com"));
    let erasing = "UPDATE users SET erasing_at = now(), disabled_at = now() WHERE id = $1";
    app.sql(erasing).bind(ben.id.0).run().await;
    assert!(!browser.get("/admin/users").await.1.contains("ben@example.com"));
    for action in ["enable", "promote"] {
        assert_eq!(change(&browser, ben.id.0, action).await.0, 404, "{action}");
    }
    // Should it be enabled all the same, it is no other admin.
    app.sql("UPDATE users SET disabled_at = NULL WHERE id = $1").bind(ben.id.0).run().await;
    let act = AdminAction::parse("demote").unwrap();
    let last = app.accounts.change_person(AdminActor::Command, anna.id, act);
    assert!(last.await.unwrap_err().to_string().contains("only admin"));
}

#[tokio::test]
async fn nobody_shuts_out_themself_or_the_last_admin() {
    let (app, anna, browser) = TestApp::start_with_admin().await;
    let ben = app.user("ben").await;
    for action in ["disable", "demote"] {
        let (status, page) = change(&browser, anna.id.0, action).await;
        assert_eq!(status, 422, "{action}");
        assert!(page.contains("another admin can do it"), "{action}");
        let act = AdminAction::parse(action).unwrap();
        let last = app.accounts.change_person(AdminActor::Command, anna.id, act).await;
        assert!(last.unwrap_err().to_string().contains("only admin"), "{action}");
    }
    assert_eq!(change(&browser, ben.id.0, "promote").await.0, 200);
    // Two admins who shut out each other at the same time: one stays.
    let bens = app.signed_in(&ben).await;
    let (anns, bens) =
        tokio::join!(change(&browser, ben.id.0, "disable"), change(&bens, anna.id.0, "disable"));
    assert!((anns.0 == 200) != (bens.0 == 200), "{} {}", anns.0, bens.0);
    assert_eq!(app.count("users WHERE role = 'admin' AND disabled_at IS NULL").await, 1);
}

#[tokio::test]
async fn roles_change_at_the_next_request_and_each_change_is_recorded_once() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    let ben = app.user("ben").await;
    let bens = app.signed_in(&ben).await;
    assert_eq!(bens.get("/admin/users").await.0, 404);
    for _ in 0..2 {
        assert_eq!(change(&browser, ben.id.0, "promote").await.0, 200);
    }
    assert_eq!(bens.get("/admin/users").await.0, 200);
    change(&browser, ben.id.0, "demote").await;
    assert_eq!(bens.get("/admin/users").await.0, 404);
    assert_eq!(change(&bens, ben.id.0, "promote").await.0, 404, "for a member it is not there");
    let email = Email::parse("ben@example.com").unwrap();
    let found = app.accounts.find_person(&email).await.unwrap().unwrap();
    app.accounts.change_person(AdminActor::Command, found, AdminAction::Disable).await.unwrap();
    let events = app.accounts.list_admin_events().await.unwrap();
    let told: Vec<_> =
        events.iter().map(|e| (e.action.as_str(), e.actor.as_deref(), e.by_command)).collect();
    let anna = Some("anna@example.com");
    assert_eq!(told, [("disable", None, true), ("demote", anna, false), ("promote", anna, false)]);
    assert!(events.iter().all(|e| e.subject.as_deref() == Some("ben@example.com")));
    let (status, page) = change(&browser, ben.id.0, "destroy").await;
    assert!(status == 422 && page.contains("`action` is not known"), "{page}");
    assert_eq!(change(&browser, 999_999, "disable").await.0, 404);
}

#[tokio::test]
async fn thousands_are_listed_page_by_page_and_found_by_a_part_of_their_address() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    app.sql(
        "INSERT INTO users (email, password_hash, role, created_at, updated_at)
         SELECT 'person' || n || '@example.com', 'x', 'member', now(), now()
         FROM generate_series(1, 3000) n",
    )
    .run()
    .await;
    let page = text_of(&browser.look("/admin/users").await);
    assert_has(&page, &["3,001 users", "person3000@"]);
    assert!(!page.contains("person2975@"));
    let next = between(&page, "href=\"/admin/users?before=", "\"");
    let (_, page) = browser.get(&format!("/admin/users?before={next}")).await;
    assert!(page.contains("person2975@") && !page.contains("person2976@"));
    let (_, page) = browser.get("/admin/users?q=SON2999%40").await;
    assert!(text_of(&page).contains("1 user") && page.contains("person2999@example.com"));
    for nobody in ["%25", "_", "%5C", "%00", &"x".repeat(300)] {
        let (status, page) = browser.get(&format!("/admin/users?q={nobody}")).await;
        assert!(status == 200 && text_of(&page).contains("No users"), "{nobody}");
    }
}

async fn invite(browser: &Browser, email: &str, role: &str) -> String {
    let fields = [("email", email), ("role", role)];
    let page = browser.answers(200, "/admin/invitations", &fields).await;
    let at = page.find("/invitation/").expect("a link on the page");
    page[at..].chars().take("/invitation/".len() + 64).collect()
}

#[tokio::test]
async fn an_invitation_makes_one_account_although_sign_up_is_closed() {
    let app = TestApp::start_with(SignUp::Closed).await;
    let anna = app.user("anna").await;
    app.make_admin(&anna).await;
    let browser = app.signed_in(&anna).await;
    let link = invite(&browser, "", "member").await;
    let (_, page) = browser.get("/admin/users").await;
    assert!(!page.contains(&link), "shown once");
    assert_eq!(app.count("invitations WHERE length(token_hash) = 32").await, 1);

    let ben = app.browser();
    let (status, page) = ben.get(&link).await;
    assert!(status == 200 && page.contains("name=\"email\""));
    let short = [("email", "ben@example.com"), ("password", "short")];
    let page = ben.answers(422, &link, &short).await;
    assert_has(&page, &["at least 10 characters", "ben@example.com"]);
    let fields = [("email", "Ben@example.com"), ("password", PASSWORD)];
    ben.answers(303, &link, &fields).await;
    assert_eq!(ben.get("/memory").await.0, 200, "signed in");
    assert_eq!(ben.get("/admin/users").await.0, 404, "a member");
    let again = [("email", "eve@example.com"), ("password", PASSWORD)];
    app.browser().answers(404, &link, &again).await;
    assert_eq!(app.accounts.list_users().await.unwrap().len(), 2);
    let page = text_of(&browser.get("/admin/users").await.1);
    assert!(page.contains("ben@example.com accepted an invitation"), "{page}");
}

#[tokio::test]
async fn a_bound_invitation_makes_an_account_of_that_address_alone() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    let link = invite(&browser, "Carl@Example.com", "admin").await;
    let carl = app.browser();
    let (_, page) = carl.get(&link).await;
    assert!(page.contains("carl@example.com") && !page.contains("name=\"email\""));
    let fields = [("email", "eve@example.com"), ("password", PASSWORD)];
    carl.answers(303, &link, &fields).await;
    assert_eq!(carl.get("/admin/users").await.0, 200, "an admin");
    let users = app.accounts.list_users().await.unwrap();
    assert_eq!(users[1].email, "carl@example.com");
    let taken = [("email", "carl@example.com"), ("role", "member")];
    browser.answers(422, "/admin/invitations", &taken).await;
}

#[tokio::test]
async fn what_cannot_be_used_reads_the_same_whatever_the_reason() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    let used = invite(&browser, "", "member").await;
    let fields = [("email", "ben@example.com"), ("password", PASSWORD)];
    app.browser().post(&used, &fields).await;
    let revoked = invite(&browser, "", "member").await;
    let page = browser.look("/admin/users").await;
    let revoke = action_in(&page, "/revoke");
    browser.answers(303, &revoke, &[]).await;
    let expired = invite(&browser, "", "member").await;
    app.clock.advance(time::Duration::days(8));
    let never = format!("/invitation/{}", "0".repeat(64));
    let mut bodies = Vec::new();
    for link in [used, revoked, expired, never, "/invitation/cut".to_owned()] {
        let stranger = app.browser();
        let (status, page) = stranger.get(&link).await;
        assert_eq!(status, 404, "{link}");
        let fields = [("email", "eve@example.com"), ("password", PASSWORD)];
        for page in [page, stranger.answers(404, &link, &fields).await] {
            let body = page.split("<body").nth(1).unwrap();
            bodies.push(body.split("nonce").next().unwrap().to_owned());
        }
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert!(bodies[0].contains("This invitation cannot be used"));
    assert_eq!(app.accounts.list_users().await.unwrap().len(), 2);
}

#[tokio::test]
async fn of_ten_who_use_a_link_at_once_one_gets_an_account() {
    let (app, _anna, browser) = TestApp::start_with_admin().await;
    let link = invite(&browser, "", "member").await;
    let tries = (0..10).map(|n| {
        let (stranger, link) = (app.browser(), &link);
        async move {
            let email = format!("u{n}@example.com");
            let fields = [("email", email.as_str()), ("password", PASSWORD)];
            stranger.post(link, &fields).await.status()
        }
    });
    let made = futures_util::future::join_all(tries).await;
    let count = made.iter().filter(|s| **s == StatusCode::SEE_OTHER).count();
    assert_eq!(count, 1, "{made:?}");
    assert_eq!(app.accounts.list_users().await.unwrap().len(), 2);
}
