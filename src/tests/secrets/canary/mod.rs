//! One of each kind of secret goes through everything that a server does, with the
//! log turned all the way up, and is then looked for in every log, every refusal,
//! every job and every column: in clear, in hex and in base64.

mod database;
mod drive;
mod everything;
mod holds;
mod oauth;

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer};

use crate::server::{Home, Server, find};
use crate::support::Sql as _;
use crate::support::{Browser, until};
use database::{search_the_database, superuser};
use drive::drive;
use everything::{Echo, Everything};
use holds::holds;

const EMAIL: &str = "canary.mail.6aa0@example.com";
const PASSWORD: &str = "canary password 5b1e77";
const NEW_PASSWORD: &str = "canary new password c09d12";
const KEY: &str = "sk-canary-provider-key-81f3c2";
const OTHER_KEY: &str = "sk-canary-other-key-2d77e4";
const TEXT: &str = "canarytext9c41";
const QUERY: &str = "canaryquery77d0";
const KEPT_QUERY: &str = "canarykeptquery18b3";
const THEME: &str = "canarytheme33ab";
const TAG: &str = "canarytag4f19";
const CUSTOMER: &str = "canarycustomer2d5c";
const SESSION: &str = "canarysession5e90";

/// Where each may stand, and nowhere else: what is remembered, and who somebody is.
const LIVES_IN: &[(&str, &str)] = &[
    (EMAIL, "users.email"),
    (
        TEXT,
        "memory_items.content memory_items.key memory_items.source_context \
         memory_themes.description episodes.abstract session_messages.content \
         session_messages.tool_calls",
    ),
    (SESSION, "sessions.external_id session_messages.external_id session_messages.tool_calls"),
    (TAG, "memory_items.tags memory_item_events.was_tags"),
    (THEME, "memory_themes.slug memory_themes.display_name"),
    // Only while its user wants that.
    (KEPT_QUERY, "activity.query"),
    (CUSTOMER, "users.external_id"),
];

fn say(home: &Home, args: &[&str], input: &str) -> String {
    use std::io::Write;
    let mut child =
        home.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_found_where_it_does_not_live() {
    let home = Home::new();
    let create = ["user", "create", "--email", EMAIL, "--admin", "--password-stdin"];
    say(&home, &create, PASSWORD);
    let agent = say(&home, &["token", "create", "--email", EMAIL, "--agent", "canary"], "");
    let service = say(&home, &["token", "create", "--service", "operator"], "");
    let mut command = home.command(&["serve"]);
    command.env("KEEPSAKE_LOG", "trace");
    let server = Server::start_command(&home, &mut command).await;
    let provider = MockServer::start().await;
    Mock::given(any()).respond_with(Echo::default()).mount(&provider).await;
    let all = Everything {
        browser: Browser::at(home.url("")).client,
        home,
        program: Client::new(),
        agent,
        service,
        heard: Arc::default(),
        cookies: Mutex::default(),
    };
    let handed_out = drive(&all, &format!("{}/v1", provider.uri())).await;
    until("the endpoint was called and failed", async || {
        let mut conn = superuser(&all.home).await;
        conn.count("embedding_spaces WHERE failures > 0 OR problem IS NOT NULL").await > 0
    })
    .await;

    let Everything { home, agent, service, heard, cookies, .. } = all;
    let cookies = cookies.into_inner().unwrap();
    assert!(!cookies.is_empty());
    let mut secrets: Vec<String> =
        [PASSWORD, NEW_PASSWORD, KEY, OTHER_KEY].map(str::to_owned).to_vec();
    // A token's beginning and end are told; what is between is the secret.
    secrets.extend([&agent, &service].map(|token| token[3..67].to_owned()));
    secrets.extend(cookies);
    secrets.extend(handed_out);
    let words = [EMAIL, TEXT, QUERY, KEPT_QUERY, THEME, TAG, CUSTOMER, SESSION].map(str::to_owned);

    // What was called last is recorded within a second.
    tokio::time::sleep(Duration::from_secs(1)).await;
    search_the_database(&home, &secrets, &words).await;
    let postgres_log =
        std::fs::read_to_string(find(home.folder.path(), "postgres.log").unwrap()).unwrap();
    let (code, log) = server.stop();
    assert_eq!(code, Some(0));
    assert!(log.contains("TRACE") && log.contains("answered"), "the log is on");
    for secret in secrets.iter().chain(&words) {
        for (name, log) in [("the log", &log), ("PostgreSQL's log", &postgres_log)] {
            let line = log.lines().find(|line| holds(line, secret));
            assert_eq!(line, None, "{secret} in {name}");
        }
    }
    let heard = heard.lock().unwrap();
    assert!(heard.problems.len() > 20 && heard.pages.len() > 5);
    assert_eq!(heard.panics, 0, "{:?}", heard.problems.last());
    for secret in secrets.iter().chain(&words) {
        for body in heard.problems.iter().chain(&heard.headers) {
            assert!(!holds(body, secret), "{secret} in an answer: {body:.2000}");
        }
    }
    for secret in &secrets {
        for body in &heard.pages {
            assert!(!holds(body, secret), "{secret} on a page: {body:.2000}");
        }
    }
}

const PANICS: &str = "KEEPSAKE_TEST_PANICS";

/// The standard library quotes the text that it could not cut.
#[test]
fn a_panic_tells_where_and_never_what() {
    if std::env::var_os(PANICS).is_some() {
        tracing_subscriber::fmt().with_writer(std::io::stderr).init();
        keepsake::panics::install_hook();
        let text = format!("é{TEXT}");
        let cut = std::thread::spawn(move || text[..1].len());
        assert!(cut.join().is_err());
        return;
    }
    let test = "secrets::canary::a_panic_tells_where_and_never_what";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(PANICS, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("the program panicked"), "{said}");
    assert!(said.contains("canary/mod.rs:") && !said.contains(TEXT), "{said}");
}
