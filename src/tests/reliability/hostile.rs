//! One user's calls must not keep others from theirs: statements have a timeout, end when their
//! client goes, and one caller has few of them at once.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use keepsake::accounts::Scope;
use keepsake::db::StatementTimeouts;
use reqwest::Client;
use serde_json::{Value, json};
use sqlx::PgConnection;
use tokio::time::timeout;

use super::hurried;
use crate::mcp::{Mcp, message};
use crate::support::Sql as _;
use crate::support::{HANG_GUARD, TestApp, TestUser, Wish, problem, until};

/// Calls that one caller may have under way: 4 running and 32 waiting.
const CALLS_MAX: usize = 36;
const TOO_MANY: usize = 4;

/// Until it is dropped, whatever reads or writes items waits.
async fn lock_items(app: &TestApp) -> PgConnection {
    let mut conn = app.superuser().await;
    conn.sql("BEGIN; LOCK TABLE memory_items IN ACCESS EXCLUSIVE MODE").run_all().await;
    conn
}

/// Until it is dropped, whatever this user adds waits.
async fn lock_adding(app: &TestApp, user: &TestUser) -> PgConnection {
    let mut conn = app.superuser().await;
    conn.sql("BEGIN").run_all().await;
    TestApp::hold_memory(&mut conn, user.id).await;
    conn
}

async fn until_statements_waiting(app: &TestApp, wanted: i64) {
    let what = format!("{wanted} statements wait");
    until(&what, async || app.waiting_for_locks().await == wanted).await;
}

/// The next of the calls to be answered.
async fn next_of<T>(calls: &mut FuturesUnordered<impl Future<Output = T>>) -> T {
    timeout(HANG_GUARD, calls.next()).await.expect("an answer in time").unwrap()
}

#[tokio::test]
async fn a_statement_that_runs_into_its_timeout_is_a_503_in_one_sentence_at_every_door() {
    let (app, anna) = TestApp::start_for("anna").await;
    let bees = anna.add("Anna keeps bees.").await;
    let slower = hurried(&app, Duration::from_secs(4)).await;
    let hurried = hurried(&app, Duration::from_millis(500)).await;
    let at_hurried = anna.at(&hurried);
    let mut browser = app.signed_in(&anna).await;
    browser.base = hurried.base.clone();
    let lock = lock_items(&app).await;

    let response = at_hurried.send("memory_search", &json!({ "query": "bees" })).await;
    assert!(response.headers().contains_key("retry-after"));
    let (status, refused) = problem(response).await;
    assert_eq!((status, &refused["code"]), (503, &json!("database_timeout")));
    let sentence = refused["detail"].as_str().unwrap();
    assert!(sentence.starts_with("The database took too long"), "{sentence}");

    let said = Mcp::of(&hurried, &anna);
    let said = said.result("memory_search", json!({ "query": "bees" })).await;
    assert_eq!(said["isError"], true, "{said}");
    assert_eq!(said["content"][0]["text"], sentence);

    let (status, page) = browser.get("/memory?q=bees").await;
    assert_eq!(status, 503);
    assert!(page.contains(sentence), "{page}");

    drop(lock);
    assert_eq!(anna.find("bees").await, [bees]);

    // A look for parts of words finds nothing then.
    let at_slower = anna.at(&slower);
    assert_eq!(anna.find("eeps").await, [bees]);
    // Its index is built before the table is locked.
    at_slower.find("bees").await;
    let lock = lock_items(&app).await;
    assert_eq!(at_slower.find("eeps").await, [0_i64; 0]);
    drop(lock);
    assert_eq!(anna.find("eeps").await, [bees]);
}

#[tokio::test]
async fn jobs_have_another_statement_timeout_and_give_connections_back_without_it() {
    let [request, job] = [61, 122].map(Duration::from_secs);
    let timeouts = StatementTimeouts { request, job, silence: HANG_GUARD };
    let app = TestApp::start_as(Wish { timeouts, ..Wish::default() }).await;
    let anna = app.user("anna").await;
    let timeout_of = async |conn: &mut PgConnection| -> String {
        conn.sql("SHOW statement_timeout").value().await
    };
    let jobs = app.db.with_job_timeout();
    for (db, expected) in [(&app.db, "61s"), (&jobs, "122s"), (&app.db, "61s")] {
        let mut of_user = db.as_user(anna.id).await.unwrap();
        assert_eq!(timeout_of(&mut of_user).await, expected);
        let mut of_system = db.as_system().await.unwrap();
        assert_eq!(timeout_of(&mut of_system).await, expected);
        drop((of_user, of_system));
        // More than there are, so that one that was given back is among them.
        for _ in 0..6 {
            let mut alone = db.system_connection().await.unwrap();
            assert_eq!(timeout_of(&mut alone).await, expected);
        }
    }
}

#[tokio::test]
async fn when_a_client_hangs_up_its_statement_ends_in_the_database() {
    let [request, job] = [Duration::from_secs(600); 2];
    let timeouts = StatementTimeouts { request, job, silence: HANG_GUARD };
    let app = TestApp::start_as(Wish { timeouts, ..Wish::default() }).await;
    let anna = app.user("anna").await;
    anna.add("Anna keeps bees.").await;
    let search = json!({ "query": "bees" });
    let of_rest = Client::new()
        .post(format!("{}/api/v1/tools/memory_search", app.base))
        .bearer_auth(&anna.token)
        .json(&search);
    let params = json!({ "name": "memory_search", "arguments": search });
    let of_mcp = Mcp::of(&app, &anna)
        .post()
        .header("mcp-protocol-version", crate::mcp::CURRENT)
        .header("mcp-method", "tools/call")
        .header("mcp-name", "memory_search")
        .json(&message("tools/call", params));
    // A load goes on without who began it; this search reads the rows it has found.
    assert_eq!(anna.find("bees").await.len(), 1);
    let lock = lock_items(&app).await;
    for request in [of_rest, of_mcp] {
        let call = tokio::spawn(request.send());
        until_statements_waiting(&app, 1).await;
        call.abort();
        until_statements_waiting(&app, 0).await;
    }
    drop(lock);
    assert_eq!(anna.find("bees").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn past_the_calls_of_one_user_more_are_refused_and_others_notice_nothing() {
    let app = TestApp::start().await;
    let (anna, bob) = (app.user("anna").await, app.user("bob").await);
    anna.add("Anna keeps bees.").await;
    bob.add("Bob keeps goats.").await;
    let browser = app.signed_in(&anna).await;
    let lock = lock_adding(&app, &anna).await;
    let inputs: Vec<Value> = (0..CALLS_MAX + TOO_MANY)
        .map(|n| json!({ "type": "fact", "content": format!("Hive {n} is full.") }))
        .collect();
    let mut calls: FuturesUnordered<_> =
        inputs.iter().map(|input| anna.send("memory_add", input)).collect();
    for _ in 0..TOO_MANY {
        // More than may wait are refused.
        let refused = next_of(&mut calls).await;
        assert!(refused.headers().contains_key("retry-after"));
        let (status, said) = problem(refused).await;
        assert_eq!((status, &said["code"]), (429, &json!("too_many_calls")));
    }
    // Whichever call it is.
    let (status, said) = anna.refused("memory_search", json!({ "query": "bees" })).await;
    assert_eq!((status, &said["code"]), (429, &json!("too_many_calls")));
    let listed = Mcp::of(&app, &anna).ask("tools/list", json!({})).await;
    assert_eq!(listed.0, 429);
    assert_eq!(listed.1["error"]["data"]["code"], "too_many_calls");

    assert_eq!(bob.find("goats").await.len(), 1);
    bob.add("Bob sells cheese.").await;
    // The person can look, and could revoke the token.
    assert_eq!(browser.get("/memory?q=bees").await.0, 200);
    drop(lock);
    for _ in 0..CALLS_MAX {
        assert_eq!(next_of(&mut calls).await.status(), 200);
    }
    anna.add("Anna sells honey.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_token_counts_once_with_all_its_users() {
    let app = TestApp::start().await;
    let token = app.service_token("shop", &Scope::ALL).await;
    let client = Client::new();
    let search = |user: usize| {
        let request = client.post(format!("{}/api/v1/tools/memory_search", app.base));
        let request = request.bearer_auth(&token);
        let request = request.header("keepsake-user", format!("user-{user}"));
        request.json(&json!({ "query": "bees" })).send()
    };
    let lock = lock_items(&app).await;
    let mut calls: FuturesUnordered<_> = (0..CALLS_MAX + TOO_MANY).map(search).collect();
    for _ in 0..TOO_MANY {
        assert_eq!(next_of(&mut calls).await.unwrap().status(), 429);
    }
    drop(lock);
    while let Some(answer) = calls.next().await {
        assert_eq!(answer.unwrap().status(), 200);
    }
}
