//! Signing in while somebody guesses, floods, lies about where they come from,
//! or listens to how long an answer takes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use keepsake::accounts::{AccountError, Email, HashCost, Password};
use keepsake::config::SignUp;
use reqwest::{Response, StatusCode};

use super::{assert_has, endpoint_form};
use crate::support::{PASSWORD, Provider, TestApp, Wish, problem};

async fn behind_a_proxy() -> TestApp {
    let trusted_proxies = Some("127.0.0.1");
    TestApp::start_as(Wish { trusted_proxies, hash_cost: HashCost::default(), ..Wish::default() })
        .await
}

async fn guess(app: &TestApp, email: &str, forwarded_for: &str) -> Response {
    sign_in(app, email, "not the password", forwarded_for).await
}

async fn sign_in(app: &TestApp, email: &str, password: &str, forwarded_for: &str) -> Response {
    app.browser()
        .client
        .post(format!("{}/login", app.base))
        .header("sec-fetch-site", "same-origin")
        .header("x-forwarded-for", forwarded_for)
        .form(&[("email", email), ("password", password)])
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn who_is_slowed_down_is_told_for_how_long() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.make_admin(&anna).await;
    let guesses = (0..12).map(|_| guess(&app, "anna@example.com", ""));
    let answers = join_all(guesses).await;
    let (refused, _): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|a| a.status() == StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.len(), 2);
    for answer in refused {
        let wait: u64 = answer.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=13).contains(&wait), "{wait}");
        let page = answer.text().await.unwrap();
        assert!(page.contains("wait a minute") && page.contains("value=\"anna@example.com\""));
    }
}

/// 70 guesses of 70 accounts, each said to be passed on for another address.
async fn refused_of_70(app: &TestApp) -> usize {
    let guesses = (0..70).map(|n| {
        let (email, from) = (format!("u{n}@example.com"), format!("203.0.113.{n}"));
        async move { guess(app, &email, &from).await.status() }
    });
    let answers = join_all(guesses).await;
    let refused = answers.iter().filter(|s| **s == StatusCode::TOO_MANY_REQUESTS);
    refused.count()
}

#[tokio::test]
async fn what_a_trusted_proxy_says_of_its_clients_is_heeded_and_what_a_client_says_is_not() {
    // Of 60 at once and one in two seconds.
    let refused = refused_of_70(&TestApp::start().await).await;
    assert!((1..=10).contains(&refused), "{refused}");
    assert_eq!(refused_of_70(&behind_a_proxy().await).await, 0, "its clients are told apart");
}

#[tokio::test]
async fn tests_of_endpoints_are_counted_for_each_user() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    app.make_admin(&anna).await;
    let provider = Provider::start().await;
    let url = provider.url();
    let fields = endpoint_form("test", &url, "m");
    let (annas, bens) = (app.signed_in(&anna).await, app.signed_in(&ben).await);
    for n in 0..10 {
        let path = ["/settings/embeddings", "/admin/embeddings"][n % 2];
        assert_eq!(annas.post(path, &fields).await.status(), 200, "{n}");
    }
    for path in ["/settings/embeddings", "/admin/embeddings"] {
        let calls = provider.call_sizes().len();
        let refused = annas.post(path, &fields).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
        assert!(refused.headers().contains_key("retry-after"), "{path}");
        assert!(refused.text().await.unwrap().contains("Too many tests"), "{path}");
        assert_eq!(provider.call_sizes().len(), calls, "nobody is called");
    }
    bens.answers(200, "/settings/embeddings", &fields).await;
}

#[tokio::test]
#[ignore = "a series under load: `make check` runs it alone"]
async fn a_flood_of_sign_ins_is_turned_away_past_a_bound_and_others_are_served_meanwhile() {
    let app = behind_a_proxy().await;
    let anna = app.user("anna").await;
    app.make_admin(&anna).await;
    anna.add("tea").await;
    let is_over = AtomicBool::new(false);
    let flood = async {
        let guesses = (0..200).map(|n| {
            let (email, from) = (format!("u{n}@example.com"), format!("203.0.113.{n}"));
            let app = &app;
            async move { guess(app, &email, &from).await }
        });
        let answers = join_all(guesses).await;
        is_over.store(true, Ordering::SeqCst);
        answers
    };
    let others = async {
        let mut slowest = Duration::ZERO;
        let mut served = 0;
        while !is_over.load(Ordering::SeqCst) {
            let start = Instant::now();
            let live = reqwest::get(format!("{}/livez", app.base)).await.unwrap();
            assert_eq!(live.status(), StatusCode::OK);
            assert_eq!(anna.find("tea").await.len(), 1);
            slowest = slowest.max(start.elapsed());
            served += 1;
        }
        (served, slowest)
    };
    let start = Instant::now();
    let (answers, (served, slowest)) = tokio::join!(flood, others);
    let lasted = start.elapsed();
    let mut busy = 0;
    for answer in answers {
        match answer.status() {
            StatusCode::UNPROCESSABLE_ENTITY => {}
            StatusCode::SERVICE_UNAVAILABLE => {
                assert!(answer.headers().contains_key("retry-after"));
                let page = answer.text().await.unwrap();
                // On a machine that is busy besides, a page may find no connection in time.
                let says_why = page.contains("Too many people are signing in");
                assert!(says_why || page.contains("cannot be reached right now"), "{page}");
                busy += 1;
            }
            other => panic!("{other}"),
        }
    }
    println!(
        "flood: {busy} of 200 turned away in {lasted:?}; {served} rounds beside it, the slowest {slowest:?}"
    );
    assert!(busy > 0 && served >= 3, "{busy} turned away, {served} served");
    assert!(slowest * 2 < lasted.max(Duration::from_secs(2)), "{slowest:?} of {lasted:?}");
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

const ROUNDS_MIN: usize = 30;
const ROUNDS_MAX: usize = 200;

/// Tries two ways in turns until their medians are no farther apart than this part of the
/// first, and fails where they never are: on a machine that is busy with something else few
/// rounds say little.
async fn take_as_long<A: Future<Output = ()>, B: Future<Output = ()>>(
    apart_max: f64,
    first: impl Fn(usize) -> A,
    second: impl Fn(usize) -> B,
) {
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    let mut apart = f64::MAX;
    for round in 1..=ROUNDS_MAX {
        let start = Instant::now();
        first(round).await;
        firsts.push(start.elapsed());
        let start = Instant::now();
        second(round).await;
        seconds.push(start.elapsed());
        if round < ROUNDS_MIN || round % 10 > 0 {
            continue;
        }
        let (first, second) = (median(firsts.clone()), median(seconds.clone()));
        apart = (second - first).abs() / first;
        println!("medians of {round}: {:.2} ms and {:.2} ms", first * 1e3, second * 1e3);
        if apart <= apart_max {
            return;
        }
    }
    panic!("{:.1} % apart", apart * 100.0);
}

#[tokio::test]
#[ignore = "takes times: `make check` runs it alone"]
async fn a_wrong_password_takes_as_long_whether_the_address_is_known_or_not() {
    let wish = Wish { hash_cost: HashCost::default(), ..Wish::default() };
    let app = TestApp::start_as(wish).await;
    app.user("anna").await;
    let accounts = &app.accounts;
    let sign_in = |email: &'static str| async move {
        let email = Email::parse(email).unwrap();
        let refused = accounts.sign_in(&email, Password::to_compare("a guess")).await;
        assert!(matches!(refused, Err(AccountError::WrongPassword)));
    };
    sign_in("nobody@example.com").await;
    let known = |_| sign_in("anna@example.com");
    take_as_long(0.05, known, |_| sign_in("nobody@example.com")).await;
}

/// The answer says that the address is taken; its time says no more than that.
#[tokio::test]
#[ignore = "takes times: `make check` runs it alone"]
async fn signing_up_takes_about_as_long_for_an_address_that_is_taken() {
    let (sign_up, hash_cost) = (SignUp::Open, HashCost::default());
    let app = TestApp::start_as(Wish { sign_up, hash_cost, ..Wish::default() }).await;
    app.user("anna").await;
    let sign_up = |email: String| {
        let accounts = app.accounts.clone();
        async move {
            let email = Email::parse(&email).unwrap();
            let password = Password::parse_new("password", PASSWORD).unwrap();
            accounts.sign_up(&email, password).await.is_ok()
        }
    };
    let taken = |_| async { assert!(!sign_up("anna@example.com".to_owned()).await) };
    let new = |n| {
        let made = sign_up(format!("n{n}@example.com"));
        async { assert!(made.await) }
    };
    // Only the new one waits for its commit.
    take_as_long(0.15, taken, new).await;
}

#[tokio::test]
async fn an_id_that_somebody_else_chose_never_becomes_a_session() {
    let (app, anna) = TestApp::start_for("anna").await;
    let planted = "keepsake=AAAAAAAAAAAAAAAAAAAAAA";
    let with_planted = |request: reqwest::RequestBuilder| {
        request.header("cookie", planted).header("sec-fetch-site", "same-origin")
    };
    let client =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let fields = [("email", anna.email.as_str()), ("password", PASSWORD)];
    let login = client.post(format!("{}/login", app.base)).form(&fields);
    let signed_in = with_planted(login).send().await.unwrap();
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap();
    assert!(!cookie.starts_with(planted), "{cookie}");
    let memory = client.get(format!("{}/memory", app.base));
    let memory = with_planted(memory).send().await.unwrap();
    assert_eq!(memory.status(), StatusCode::SEE_OTHER, "it opens nothing");
}

#[tokio::test]
async fn a_session_ends_thirty_days_after_the_last_visit() {
    let (app, _anna, browser) = TestApp::start_with_browser().await;
    for _ in 0..3 {
        app.clock.advance(time::Duration::days(20));
        assert_eq!(browser.get("/memory").await.0, 200);
    }
    app.clock.advance(time::Duration::days(30));
    assert_eq!(browser.get("/memory").await.0, 303);
}

#[tokio::test]
async fn signing_out_deletes_the_session() {
    let (app, _anna, browser) = TestApp::start_with_browser().await;
    assert_eq!(app.count("web_sessions").await, 1);
    let out = browser.post("/logout", &[]).await;
    assert_eq!(out.headers()["location"], "/login");
    assert_eq!(app.count("web_sessions").await, 0);
}

#[tokio::test]
async fn behind_https_the_cookie_is_bound_to_the_host() {
    let public_url = Some("https://memory.example.com");
    let app = TestApp::start_as(Wish { public_url, ..Wish::default() }).await;
    let anna = app.user("anna").await;
    let fields = [("email", anna.email.as_str()), ("password", PASSWORD)];
    let response = app.browser().post("/login", &fields).await;
    let cookie = response.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-keepsake="), "{cookie}");
    assert_has(cookie, &["; Secure", "; HttpOnly", "; SameSite=Lax", "; Path=/"]);
    assert!(!cookie.contains("Domain"), "{cookie}");
    // A plain cookie of that name is not read.
    let plain = cookie.split(';').next().unwrap().trim_start_matches("__Host-");
    let memory = app.browser().client.get(format!("{}/memory", app.base));
    let memory = memory.header("cookie", plain).send().await.unwrap();
    assert_eq!(memory.status(), StatusCode::SEE_OTHER);
}

/// One address guesses until it is refused; the owner, at another, still signs in.
#[tokio::test]
async fn a_stranger_who_guesses_does_not_lock_the_owner_out() {
    let app = behind_a_proxy().await;
    let anna = app.user("anna").await;
    let mut refused = 0;
    for _ in 0..12 {
        let answer = guess(&app, &anna.email, "203.0.113.66").await;
        refused += usize::from(answer.status() == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(refused >= 1, "the stranger is slowed down");
    let signed_in = sign_in(&app, &anna.email, PASSWORD, "203.0.113.9").await;
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
}

/// DNS rebinding: to the browser the attacker's page and ours are of one origin.
#[tokio::test]
async fn pages_and_forms_answer_to_no_name_but_their_own() {
    let app = TestApp::start().await;
    let client = app.browser().client;
    let get = async |path: &str, host: &str| {
        let request = client.get(format!("{}{path}", app.base)).header("host", host);
        request.send().await.unwrap()
    };
    for path in ["/login", "/docs", "/memory", "/nowhere"] {
        let (status, refused) = problem(get(path, "evil.example:3000").await).await;
        assert_eq!((status, refused["code"].as_str()), (421, Some("wrong_host")), "{path}");
    }
    let form = client
        .post(format!("{}/signup", app.base))
        .header("host", "evil.example:3000")
        .header("origin", "http://evil.example:3000")
        .header("sec-fetch-site", "same-origin")
        .form(&[("email", "eve@example.com"), ("password", PASSWORD)]);
    assert_eq!(form.send().await.unwrap().status(), 421);
    assert!(app.accounts.list_users().await.unwrap().is_empty());
    for probe in ["/livez", "/readyz", "/api/v1/openapi.json"] {
        let status = get(probe, "evil.example").await.status();
        assert_ne!(status, 421, "{probe} is asked by balancers and programs");
    }
    for host in ["localhost:3000", "192.168.1.5:3000", "[::1]:3000"] {
        assert_eq!(get("/login", host).await.status(), 200, "{host}");
    }
}
