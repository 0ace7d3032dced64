use keepsake::config::SignUp;
use reqwest::StatusCode;
use serde_json::json;

use super::assert_has;
use crate::support::{Browser, PASSWORD, TestApp};

fn location(response: &reqwest::Response) -> &str {
    response.headers()["location"].to_str().unwrap()
}

async fn sign_up(browser: &Browser, email: &str) -> reqwest::Response {
    browser.post("/signup", &[("email", email), ("password", PASSWORD), ("next", "")]).await
}

#[tokio::test]
async fn the_first_account_is_the_admin_and_then_sign_up_closes() {
    let app = TestApp::start().await;
    let (first, second) = (app.browser(), app.browser());
    assert!(first.get("/login").await.1.contains("action=\"/signup\""));
    assert_eq!(location(&sign_up(&first, " Anna@Example.com ").await), "/memory");
    assert_eq!(first.get("/memory").await.0, 200);
    let users = app.accounts.list_users().await.unwrap();
    assert_eq!((users[0].email.as_str(), users[0].role.as_str()), ("anna@example.com", "admin"));
    assert!(!second.get("/login").await.1.contains("action=\"/signup\""));
    let fields = [("email", "ben@example.com"), ("password", PASSWORD), ("next", "")];
    second.says(403, "/signup", &fields, "closed").await;
    assert_eq!(app.accounts.list_users().await.unwrap().len(), 1);
}

#[tokio::test]
async fn of_ten_first_accounts_at_once_one_is_made() {
    let app = TestApp::start().await;
    let tries = (0..10).map(|n| {
        let browser = app.browser();
        async move { sign_up(&browser, &format!("u{n}@example.com")).await.status() }
    });
    let made = futures_util::future::join_all(tries).await;
    assert_eq!(made.iter().filter(|s| **s == StatusCode::SEE_OTHER).count(), 1, "{made:?}");
    assert_eq!(app.accounts.list_users().await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_account_made_at_the_command_line_does_not_take_the_first_persons_place() {
    let (app, demo) = TestApp::start_for("demo").await;
    let browser = app.browser();
    // Nobody is the admin yet; whoever has an account signs in all the same.
    browser.sign_in(&demo).await;
    let page = app.browser().look("/login").await;
    assert_has(&page, &["action=\"/login\"", "action=\"/signup\""]);
    assert_eq!(sign_up(&app.browser(), "anna@example.com").await.status(), 303);
    let users = app.accounts.list_users().await.unwrap();
    assert_eq!(users[1].role.as_str(), "admin");
}

#[tokio::test]
async fn open_sign_up_makes_members_and_closed_makes_nobody() {
    let app = TestApp::start_with(SignUp::Open).await;
    for email in ["a@example.com", "b@example.com"] {
        assert_eq!(sign_up(&app.browser(), email).await.status(), 303);
    }
    assert_eq!(sign_up(&app.browser(), "b@example.com").await.status(), 422);
    let roles: Vec<_> =
        app.accounts.list_users().await.unwrap().iter().map(|u| u.role.as_str()).collect();
    assert_eq!(roles, ["admin", "member"]);
    let closed = TestApp::start_with(SignUp::Closed).await;
    assert_eq!(sign_up(&closed.browser(), "a@example.com").await.status(), 403);
}

#[tokio::test]
async fn bad_input_stands_beside_its_field_with_what_was_typed() {
    let app = TestApp::start().await;
    let browser = app.browser();
    for (email, password, expected) in [
        ("not-an-address", PASSWORD, "is not an address"),
        ("", PASSWORD, "is empty"),
        ("anna@example.com", "sh0rt-pw", "at least 10 characters"),
        ("a\0b@example.com", PASSWORD, "NUL"),
    ] {
        let fields = [("email", email), ("password", password)];
        let page = browser.answers(422, "/signup", &fields).await;
        assert!(page.contains(expected), "{expected}");
        assert!(!page.contains(password), "a password is never sent back");
    }
    let (_, page) = browser.submit("/signup", &[("email", "keep<me>"), ("password", "x")]).await;
    assert!(page.contains("keep&lt;me&gt;") && !page.contains("keep<me>"));
    assert!(app.accounts.list_users().await.unwrap().is_empty());
}

#[tokio::test]
async fn signing_in_leads_where_one_wanted_to_go_and_signing_out_ends_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.browser();
    let asked =
        browser.client.get(format!("{}/memory?q=a%26b&archived=1", app.base)).send().await.unwrap();
    assert_eq!(asked.status(), StatusCode::SEE_OTHER);
    assert_eq!(location(&asked), "/login?next=%2Fmemory%3Fq%3Da%2526b%26archived%3D1");
    let page = browser.get(location(&asked)).await.1;
    assert!(page.contains("value=\"/memory?q=a%26b&amp;archived=1\""), "the form carries it on");
    let fields = [("email", "ANNA@example.com"), ("password", PASSWORD), ("next", "/memory?q=tea")];
    let signed_in = browser.post("/login", &fields).await;
    assert_eq!(location(&signed_in), "/memory?q=tea");
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("keepsake="), "{cookie}");
    assert_has(cookie, &["HttpOnly", "SameSite=Lax"]);
    assert_eq!(browser.get("/memory").await.0, 200);
    assert_eq!(browser.get("/login").await.0, 303, "whoever is signed in goes on");
    browser.post("/logout", &[]).await;
    assert_eq!(browser.get("/memory").await.0, 303);
    let evil = [("email", anna.email.as_str()), ("password", PASSWORD), ("next", "//evil.example")];
    assert_eq!(location(&app.browser().post("/login", &evil).await), "/memory");
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_read_the_same() {
    let app = TestApp::start().await;
    app.user("anna").await;
    let mut pages = Vec::new();
    for email in ["anna@example.com", "nobody@example.com"] {
        let fields = [("email", email), ("password", "wrong password")];
        let page = app.browser().answers(422, "/login", &fields).await.replace(email, "EMAIL");
        pages.push(page.split("<body").nth(1).unwrap().to_owned());
    }
    let without_nonce = |page: &str| page.split("nonce").next().unwrap().to_owned();
    assert_eq!(without_nonce(&pages[0]), without_nonce(&pages[1]));
}

#[tokio::test]
async fn the_session_id_changes_at_sign_in() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.browser();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let fields = [("email", anna.email.as_str()), ("password", PASSWORD)];
        let response = browser.post("/login", &fields).await;
        let cookie = response.headers()["set-cookie"].to_str().unwrap();
        ids.push(cookie.split(';').next().unwrap().to_owned());
    }
    assert_ne!(ids[0], ids[1]);
    let old =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let with_old =
        old.get(format!("{}/memory", app.base)).header("cookie", &ids[0]).send().await.unwrap();
    assert_eq!(with_old.status(), StatusCode::SEE_OTHER, "the old id opens nothing");
}

#[tokio::test]
async fn changing_the_password_ends_every_other_web_session() {
    let (app, anna, here) = TestApp::start_with_browser().await;
    let elsewhere = app.signed_in(&anna).await;
    let change = async |status: u16, current: &str, new: &str| {
        let fields = [("current_password", current), ("new_password", new)];
        here.answers(status, "/account/password", &fields).await;
    };
    change(422, "not my password", "another long one").await;
    assert_eq!(elsewhere.get("/memory").await.0, 200);
    change(422, PASSWORD, "short").await;
    let fields = [("current_password", PASSWORD), ("new_password", "another long one")];
    let page = here.answers(200, "/account/password", &fields).await;
    assert_eq!(here.get("/memory").await.0, 200);
    // What still opens is named, and ends with one press.
    assert!(page.contains("These agents still have access: <bdi>agent</bdi>"), "{page}");
    assert_eq!(anna.send("memory_stats", &json!({})).await.status(), 200);
    let page = here.answers(200, "/account/tokens", &[("action", "end_all")]).await;
    assert!(page.contains("1 token has ended."), "{page}");
    assert_eq!(anna.send("memory_stats", &json!({})).await.status(), 401);
    assert_eq!(elsewhere.get("/memory").await.0, 303);
    elsewhere.answers(422, "/login", &[("email", &anna.email), ("password", PASSWORD)]).await;
}

#[tokio::test]
async fn a_disabled_user_is_signed_out_at_once() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    app.sql("UPDATE users SET disabled_at = now()").run().await;
    assert_eq!(browser.get("/memory").await.0, 303);
    browser.answers(422, "/login", &[("email", &anna.email), ("password", PASSWORD)]).await;
}

#[tokio::test]
async fn a_form_of_our_own_origin_is_let_in() {
    let (app, _anna, browser) = TestApp::start_with_browser().await;
    let host = app.base.strip_prefix("http://").unwrap();
    for (header, value) in [("sec-fetch-site", "same-origin"), ("origin", app.base.as_str())] {
        let of_agents = ["/agents", "/agents/1/tokens", "/agents/1/tokens/1/revoke"];
        for path in ["/login", "/signup", "/account/password"].into_iter().chain(of_agents) {
            let url = format!("{}{path}", app.base);
            let request = browser.client.post(url).header(header, value).header("host", host);
            let response = request.form(&[("name", "x")]).send().await.unwrap();
            assert_ne!(response.status(), StatusCode::FORBIDDEN, "{path} {header}: {value}");
        }
    }
    assert_eq!(browser.get("/memory").await.0, 200);
}

#[tokio::test]
async fn a_page_is_compressed_unless_it_repeats_what_its_address_asks() {
    let (app, _anna, browser) = TestApp::start_with_browser().await;
    for (path, encoding) in
        [("/memory", Some("gzip")), ("/memory?q=tea", None), ("/data/export", None)]
    {
        let request = browser.client.get(format!("{}{path}", app.base));
        let response = request.header("accept-encoding", "gzip").send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let got = response.headers().get("content-encoding");
        assert_eq!(got.map(|e| e.to_str().unwrap()), encoding, "{path}");
    }
}
