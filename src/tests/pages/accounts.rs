use keepsake::config::SignUp;
use reqwest::StatusCode;

use super::every_route::plain_pages;
use crate::support::{Browser, PASSWORD, TestApp, problem};

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
    let refused = sign_up(&second, "ben@example.com").await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert!(refused.text().await.unwrap().contains("closed"));
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
    let page = app.browser().get("/login").await.1;
    for form in ["action=\"/login\"", "action=\"/signup\""] {
        assert!(page.contains(form), "{page}");
    }
    assert_eq!(sign_up(&app.browser(), "anna@example.com").await.status(), StatusCode::SEE_OTHER);
    let users = app.accounts.list_users().await.unwrap();
    assert_eq!(users[1].role.as_str(), "admin");
}

#[tokio::test]
async fn open_sign_up_makes_members_and_closed_makes_nobody() {
    let app = TestApp::start_with(SignUp::Open).await;
    for email in ["a@example.com", "b@example.com"] {
        assert_eq!(sign_up(&app.browser(), email).await.status(), StatusCode::SEE_OTHER);
    }
    let again = sign_up(&app.browser(), "b@example.com").await;
    assert_eq!(again.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let roles: Vec<_> =
        app.accounts.list_users().await.unwrap().iter().map(|u| u.role.as_str()).collect();
    assert_eq!(roles, ["admin", "member"]);
    let closed = TestApp::start_with(SignUp::Closed).await;
    assert_eq!(sign_up(&closed.browser(), "a@example.com").await.status(), StatusCode::FORBIDDEN);
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
        let response = browser.post("/signup", &[("email", email), ("password", password)]).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{email}");
        let page = response.text().await.unwrap();
        assert!(page.contains(expected), "{expected}");
        assert!(!page.contains(password), "a password is never sent back");
    }
    let page = browser
        .post("/signup", &[("email", "keep<me>"), ("password", "x")])
        .await
        .text()
        .await
        .unwrap();
    assert!(page.contains("keep&lt;me&gt;") && !page.contains("keep<me>"));
    assert!(app.accounts.list_users().await.unwrap().is_empty());
}

#[tokio::test]
async fn signing_in_leads_where_one_wanted_to_go_and_signing_out_ends_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.browser();
    let asked =
        browser.client.get(format!("{}/memory?q=tea&archived=1", app.base)).send().await.unwrap();
    assert_eq!(asked.status(), StatusCode::SEE_OTHER);
    assert_eq!(location(&asked), "/login?next=%2Fmemory%3Fq%3Dtea%26archived%3D1");
    let page = browser.get(location(&asked)).await.1;
    assert!(page.contains("value=\"/memory?q=tea&amp;archived=1\""), "the form carries it on");
    let fields = [("email", "ANNA@example.com"), ("password", PASSWORD), ("next", "/memory?q=tea")];
    let signed_in = browser.post("/login", &fields).await;
    assert_eq!(location(&signed_in), "/memory?q=tea");
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(
        cookie.starts_with("keepsake=")
            && cookie.contains("HttpOnly")
            && cookie.contains("SameSite=Lax"),
        "{cookie}"
    );
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
        let response =
            app.browser().post("/login", &[("email", email), ("password", "wrong password")]).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let page = response.text().await.unwrap().replace(email, "EMAIL");
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
    let (app, anna) = TestApp::start_for("anna").await;
    let (here, elsewhere) = (app.browser(), app.browser());
    here.sign_in(&anna).await;
    elsewhere.sign_in(&anna).await;
    let change = async |current: &str, new: &str| {
        here.post("/account/password", &[("current_password", current), ("new_password", new)])
            .await
    };
    let wrong = change("not my password", "another long one").await;
    assert_eq!(wrong.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(elsewhere.get("/memory").await.0, 200);
    let short = change(PASSWORD, "short").await;
    assert_eq!(short.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let changed = change(PASSWORD, "another long one").await;
    assert_eq!(changed.status(), StatusCode::OK);
    assert_eq!(here.get("/memory").await.0, 200);
    assert_eq!(elsewhere.get("/memory").await.0, 303);
    let old = elsewhere.post("/login", &[("email", &anna.email), ("password", PASSWORD)]).await;
    assert_eq!(old.status(), StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_disabled_user_is_signed_out_at_once() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    app.sql("UPDATE users SET disabled_at = now()").run().await;
    assert_eq!(browser.get("/memory").await.0, 303);
    let again = browser.post("/login", &[("email", &anna.email), ("password", PASSWORD)]).await;
    assert_eq!(again.status(), StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn guessing_is_slowed_down() {
    let app = TestApp::start().await;
    app.user("anna").await;
    let browser = app.browser();
    let mut last = StatusCode::OK;
    for _ in 0..12 {
        last = browser
            .post("/login", &[("email", "anna@example.com"), ("password", "a guess")])
            .await
            .status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_form_from_another_site_is_refused() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    let host = app.base.strip_prefix("http://").unwrap();
    for (header, value, admitted) in [
        ("sec-fetch-site", "cross-site", false),
        ("sec-fetch-site", "same-site", false),
        ("origin", "https://evil.example", false),
        ("origin", "null", false),
        ("x-nothing", "at all", false),
        ("sec-fetch-site", "same-origin", true),
        ("origin", app.base.as_str(), true),
    ] {
        for path in [
            "/logout",
            "/login",
            "/signup",
            "/agents",
            "/agents/1/tokens",
            "/agents/1/tokens/1/revoke",
            "/account/password",
        ] {
            if admitted && path == "/logout" {
                continue;
            }
            let url = format!("{}{path}", app.base);
            let request = browser.client.post(url).header(header, value).header("host", host);
            let response = request.form(&[("name", "x")]).send().await.unwrap();
            if admitted {
                assert_ne!(response.status(), StatusCode::FORBIDDEN, "{path} {header}: {value}");
            } else {
                let (status, refused) = problem(response).await;
                assert_eq!(
                    (status, refused["code"].as_str()),
                    (403, Some("cross_origin")),
                    "{path} {header}: {value}"
                );
            }
        }
    }
    assert_eq!(browser.get("/memory").await.0, 200, "nothing was done");
}

#[tokio::test]
async fn a_page_is_compressed_unless_it_repeats_what_its_address_asks() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
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

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    let others = ["/nowhere", "/livez", "/api/v1/tools"].map(str::to_owned);
    for path in plain_pages().chain(others) {
        let response = browser.client.get(format!("{}{path}", app.base)).send().await.unwrap();
        let header = |name: &str| response.headers().get(name).map_or("", |v| v.to_str().unwrap());
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe-inline"),
            "{path}: {policy}"
        );
        assert!(
            !path.starts_with("/a") || path.starts_with("/api") || policy.contains("'nonce-"),
            "{path}: {policy}"
        );
    }
}

#[tokio::test]
async fn a_page_has_no_inline_style_and_every_script_its_nonce() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("something").await;
    let browser = app.signed_in(&anna).await;
    for path in ["/memory", "/agents", "/account", "/nowhere"] {
        let (_, page) = browser.get(path).await;
        assert!(!page.contains(" style="), "{path}");
        for script in page.split("<script").skip(1) {
            let tag = script.split('>').next().unwrap();
            assert!(tag.contains("nonce="), "{path}: <script{tag}>");
        }
    }
}
