use std::collections::BTreeSet;

use keepsake::accounts::{AgentName, Scope, TokenHolder, TokenWish, UsersMax};
use keepsake::tools::guidance;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use sqlx::Connection;
use time::Duration;

use super::{answer, code};
use crate::support::{Sql as _, TestApp, ids, problem};

/// A program of an operator, that names a user with each call.
struct Operator<'a> {
    app: &'a TestApp,
    token: String,
}

impl<'a> Operator<'a> {
    async fn new(app: &'a TestApp, name: &str) -> Self {
        let token = app.service_token(name, &Scope::ALL).await;
        Self { app, token }
    }

    async fn send(&self, user: &[u8], tool: &str, input: Value) -> Response {
        let user = reqwest::header::HeaderValue::from_bytes(user).unwrap();
        send(self.app, &self.token, &[user], tool, input).await
    }

    async fn call(&self, user: &str, tool: &str, input: Value) -> Value {
        answer(self.send(user.as_bytes(), tool, input).await).await
    }

    async fn add(&self, user: &str, content: &str) -> i64 {
        let input = json!({ "type": "fact", "content": content });
        self.call(user, "memory_add", input).await["id"].as_i64().unwrap()
    }

    async fn find(&self, user: &str) -> Vec<i64> {
        ids(&self.call(user, "memory_search", json!({ "query": "*" })).await)
    }

    /// What a call for this user comes to.
    async fn code(&self, user: &[u8]) -> String {
        code(self.send(user, "memory_list_themes", json!({})).await).await
    }
}

async fn send(
    app: &TestApp,
    token: &str,
    users: &[reqwest::header::HeaderValue],
    tool: &str,
    input: Value,
) -> Response {
    let mut request = Client::new()
        .post(format!("{}/api/v1/tools/{tool}", app.base))
        .bearer_auth(token)
        .json(&input);
    for user in users {
        request = request.header("keepsake-user", user);
    }
    request.send().await.unwrap()
}

const OPERATED: &str = "users WHERE operator_id IS NOT NULL";

/// How many users operators have: as rows, and as it is counted with each.
async fn users(app: &TestApp) -> (i64, i64) {
    let counted = app.sql("SELECT sum(users_count)::bigint FROM operators").value().await;
    (app.count(OPERATED).await, counted)
}

#[tokio::test]
async fn a_service_token_acts_for_the_user_of_its_operator_that_it_names_made_on_first_use() {
    let app = TestApp::start().await;
    let bot = Operator::new(&app, "support-bot").await;
    let one = bot.add("customer-1", "Likes tea.").await;
    let two = bot.add("customer-2", "Likes tea.").await;
    assert_ne!(one, two);
    assert_eq!(bot.find("customer-1").await, [one]);
    assert_eq!(bot.find("  customer-2 ").await, [two], "trimmed");
    let not_mine = bot.send(b"customer-1", "memory_get", json!({ "item_id": two })).await;
    assert_eq!(not_mine.status(), 404);
    let item = bot.call("customer-1", "memory_get", json!({ "item_id": one })).await;
    assert_eq!(item["agent"], "support-bot", "{item}");
    assert_eq!(app.count(OPERATED).await, 2);
    let users = app.accounts.list_operated_users().await.unwrap();
    let named: Vec<_> = users.iter().map(|u| (&*u.operator, &*u.external_id)).collect();
    assert_eq!(named, [("support-bot", "customer-1"), ("support-bot", "customer-2")]);
    assert!(app.accounts.list_users().await.unwrap().is_empty(), "nobody of them signs in");
    // Two operators' ids never meet.
    let other = Operator::new(&app, "other").await;
    assert!(other.find("customer-1").await.is_empty());
    let others = other.add("customer-1", "The other's.").await;
    assert_eq!(other.find("customer-1").await, [others]);
    // A further token of the operator leads to the same users.
    for bot in [bot, Operator::new(&app, "support-bot").await] {
        assert_eq!(bot.find("customer-1").await, [one]);
    }
}

#[tokio::test]
async fn twenty_first_calls_at_once_make_one_user_and_one_agent() {
    let app = TestApp::start().await;
    let bot = Operator::new(&app, "bot").await;
    let calls = (0..20).map(|n| bot.add("customer", ["even", "odd"][n % 2]));
    let added = BTreeSet::from_iter(futures_util::future::join_all(calls).await);
    let found = bot.find("customer").await;
    assert_eq!((found.len(), added.len()), (2, 2));
    assert_eq!(BTreeSet::from_iter(found), added);
    assert_eq!((app.count(OPERATED).await, app.count("agents").await), (1, 1));
}

#[tokio::test]
async fn only_a_tool_that_runs_makes_a_user() {
    let app = TestApp::start().await;
    let bot = Operator::new(&app, "bot").await;
    let read = app.service_token("bot", &[Scope::MemoryRead]).await;
    let client = Client::new();
    let get = async |path: &str| {
        let request = client.get(format!("{}{path}", app.base));
        let request = request.bearer_auth(&bot.token).header("keepsake-user", "x");
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    assert_eq!(get("/api/v1/prompt").await, (200, guidance::INSTRUCTIONS.to_owned()));
    assert_eq!(get("/api/v1/tools").await.0, 200);
    assert_eq!(get("/api/v1/tools/memory_search").await.0, 405);
    let fact = json!({ "type": "fact", "content": "x" });
    for (token, tool, input, status) in [
        (&bot.token, "memory_erase", json!({}), 404),
        (&read, "memory_add", fact, 403),
        (&read, "memory", json!({ "action": "save", "text": "x" }), 403),
        (&bot.token, "memory_add", json!({ "typ": "fact" }), 422),
        (&bot.token, "memory_search", json!([]), 400),
    ] {
        let refused = send(&app, token, &["x".parse().unwrap()], tool, input).await;
        assert_eq!(refused.status(), status, "{tool}");
    }
    assert_eq!(users(&app).await, (0, 0));
    assert!(bot.find("x").await.is_empty());
    assert_eq!(users(&app).await, (1, 1));
}

#[tokio::test]
async fn a_flood_of_first_calls_leaves_the_connections_to_others() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (bot, full) = (Operator::new(&app, "bot").await, Operator::new(&app, "full").await);
    full.add("first", "There is room for one.").await;
    app.sql("UPDATE operators SET users_max = 1 WHERE name = 'full'").run().await;
    // Whoever makes a user waits for this.
    let mut conn = app.superuser().await;
    let mut tx = conn.begin().await.unwrap();
    tx.sql("SELECT 1 FROM operators FOR UPDATE").run().await;
    let names: Vec<String> = (0..20).map(|n| format!("user-{n}")).collect();
    let flood = futures_util::future::join_all(names.iter().map(|name| bot.find(name)));
    let others = async {
        app.until_blocked(1).await;
        assert!(anna.find("*").await.is_empty());
        assert_eq!(full.code(b"second").await, "403 too_many_users");
        assert_eq!(app.count(OPERATED).await, 1, "the flood is held up");
        tx.rollback().await.unwrap();
    };
    let (found, ()) = tokio::join!(flood, others);
    assert!(found.iter().all(Vec::is_empty));
    assert_eq!(app.count(OPERATED).await, 21);
    let operators = app.accounts.list_operators().await.unwrap();
    let counted: Vec<_> = operators.iter().map(|o| (&*o.name, o.users)).collect();
    assert_eq!(counted, [("full", 1), ("bot", 20)]);
}

#[tokio::test]
async fn two_servers_beside_each_other_make_one_user_and_keep_to_the_cap() {
    let one = TestApp::start().await;
    let bot = Operator::new(&one, "bot").await;
    let other = one.twin().await;
    let beside = Operator { app: &other, token: bot.token.clone() };
    one.sql("UPDATE operators SET users_max = 3").run().await;
    let names: Vec<String> = (0..5).map(|n| format!("user-{n}")).collect();
    let calls = names.iter().flat_map(|name| {
        let name = name.as_bytes();
        [bot.code(name), beside.code(name)]
    });
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.chunks(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| *answer == "200").count(), 2 * 3, "{answers:?}");
    assert_eq!(users(&one).await, (3, 3));
}

#[tokio::test]
async fn a_service_token_never_leads_to_an_account_that_signs_in() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mine = anna.add("Anna's own.").await;
    let bot = Operator::new(&app, "agent").await;
    for guess in [anna.email.as_str(), &anna.id.0.to_string(), "anna", "agent"] {
        assert!(bot.find(guess).await.is_empty(), "{guess}");
        let get = bot.send(guess.as_bytes(), "memory_get", json!({ "item_id": mine })).await;
        assert_eq!(get.status(), 404, "{guess}");
        bot.add(guess, "Not Anna's.").await;
    }
    assert_eq!(anna.find("*").await, [mine]);
    assert!(!app.signed_in(&anna).await.look("/memory").await.contains("Not Anna"));
    let both = "UPDATE users SET operator_id = (SELECT id FROM operators), external_id = 'x' WHERE email IS NOT NULL";
    let refused = app.sql(both).try_run().await.unwrap_err();
    assert!(refused.to_string().contains("users_kind_check"), "{refused}");
}

#[tokio::test]
async fn each_kind_of_token_says_what_it_needs() {
    let (app, anna) = TestApp::start_for("anna").await;
    let bot = Operator::new(&app, "bot").await;
    let list = async |token: &str, users: &[&'static str]| {
        let users: Vec<_> = users.iter().map(|u| u.parse().unwrap()).collect();
        code(send(&app, token, &users, "memory_list_themes", json!({})).await).await
    };
    assert_eq!(list(&bot.token, &[]).await, "400 user_needed");
    assert_eq!(list(&anna.token, &["x"]).await, "400 user_not_allowed");
    assert_eq!(list(&bot.token, &["x", "y"]).await, "400 invalid_user");
    assert_eq!(app.count(OPERATED).await, 0);
    let read = Operator { app: &app, token: app.service_token("bot", &[Scope::MemoryRead]).await };
    let add = read.send(b"x", "memory_add", json!({ "type": "fact", "content": "x" })).await;
    assert_eq!(code(add).await, "403 missing_scope");
    assert!(read.find("x").await.is_empty());
}

#[tokio::test]
async fn an_id_is_visible_text_of_at_most_200_characters_in_utf_8() {
    let app = TestApp::start().await;
    let bot = Operator::new(&app, "bot").await;
    for bad in [
        &b""[..],
        b"   ",
        "\u{a0}".as_bytes(),
        b"a\xff",
        b"\xc3",
        b"a\tb",
        "a\u{85}b".as_bytes(),
        "a\u{200b}b".as_bytes(),
        "a\u{202e}b".as_bytes(),
        "é".repeat(201).as_bytes(),
    ] {
        assert_eq!(bot.code(bad).await, "400 invalid_user", "{bad:?}");
    }
    assert_eq!(app.count(OPERATED).await, 0);
    for good in ["a", "Ünal & 用户/7 <x>", "A", &"é".repeat(200), "'; DROP TABLE users; --"] {
        let id = bot.add(good, "mine").await;
        assert_eq!(bot.find(good).await, [id], "{good}");
    }
    assert_eq!(app.count(OPERATED).await, 5);
}

#[tokio::test]
async fn an_operator_has_no_more_users_than_its_cap() {
    let app = TestApp::start().await;
    let wish = TokenWish { scopes: Scope::ALL.into(), lifetime: None, profile: None };
    let name = AgentName::parse("bot").unwrap();
    let token = app.accounts.create_operator(&name, UsersMax::parse("2").unwrap(), &wish).await;
    let bot = Operator { app: &app, token: token.unwrap().reveal() };
    let names: Vec<String> = (0..10).map(|n| format!("user-{n}")).collect();
    let calls = names.iter().map(|name| bot.code(name.as_bytes()));
    let mut answers = futures_util::future::join_all(calls).await;
    answers.sort();
    assert_eq!(answers[1], "200");
    assert!(answers[2..].iter().all(|answer| answer == "403 too_many_users"), "{answers:?}");
    assert_eq!(app.count(OPERATED).await, 2);
    let there = app.accounts.list_operated_users().await.unwrap();
    bot.add(&there[0].external_id, "Those who are there go on.").await;
    let third = problem(bot.send(b"third", "memory_list_themes", json!({})).await).await.1;
    assert!(third["detail"].as_str().unwrap().contains("has 2 users"), "{third}");
    let operator = app.accounts.list_operators().await.unwrap()[0].id;
    app.accounts.change_operator(operator, UsersMax::parse("3").unwrap(), None).await.unwrap();
    bot.add("third", "Now there is room.").await;
}

#[tokio::test]
async fn a_revoked_or_expired_service_token_and_a_disabled_user_open_nothing() {
    let app = TestApp::start().await;
    let (bot, spare) = (Operator::new(&app, "bot").await, Operator::new(&app, "bot").await);
    bot.add("x", "mine").await;
    app.sql("UPDATE users SET disabled_at = now() WHERE external_id = 'x'").run().await;
    assert_eq!(bot.code(b"x").await, "401 disabled_user");
    assert_eq!(bot.code(b"y").await, "200");
    let operator = &app.accounts.list_operators().await.unwrap()[0];
    assert_eq!((operator.users, operator.tokens.len()), (2, 2));
    let holder = TokenHolder::Operator(operator.id);
    // Newest first: the spare one.
    app.accounts.revoke_token(holder, operator.tokens[0].id).await.unwrap();
    assert_eq!(spare.code(b"new").await, "401 revoked_token");
    let for_nobody = send(&app, &spare.token, &[], "memory_list_themes", json!({})).await;
    assert_eq!(code(for_nobody).await, "401 revoked_token");
    let wish =
        TokenWish { scopes: Scope::ALL.into(), lifetime: Some(Duration::days(1)), profile: None };
    let (_, brief) = app.accounts.create_token(holder, &wish).await.unwrap();
    let brief = Operator { app: &app, token: brief.reveal() };
    assert_eq!(brief.code(b"y").await, "200");
    app.clock.advance(Duration::days(1));
    assert_eq!(brief.code(b"new").await, "401 expired_token");
    assert_eq!(app.count(OPERATED).await, 2, "nobody was made by a token that opens nothing");
}

#[tokio::test]
async fn a_service_tokens_last_use_is_written_at_most_once_a_minute() {
    let app = TestApp::start().await;
    let bot = Operator::new(&app, "bot").await;
    let last_use = async || {
        bot.find("x").await;
        app.accounts.list_operators().await.unwrap()[0].tokens[0].last_used_at.unwrap()
    };
    let first = last_use().await;
    app.clock.advance(Duration::seconds(59));
    assert_eq!(last_use().await, first);
    app.clock.advance(Duration::seconds(1));
    assert_eq!(last_use().await, first + Duration::minutes(1));
}

#[tokio::test]
async fn where_there_are_as_many_operators_as_may_be_one_still_gets_further_tokens() {
    let app = TestApp::start().await;
    app.service_token("bot", &Scope::ALL).await;
    let more = "INSERT INTO operators (name, users_max, created_at)
                SELECT 'operator ' || n, 1, now() FROM generate_series(2, 200) n";
    app.sql(more).run().await;
    app.service_token("bot", &Scope::ALL).await;
    assert_eq!(app.count("service_tokens").await, 2);
    let wish = TokenWish { scopes: Scope::ALL.into(), lifetime: None, profile: None };
    let name = AgentName::parse("one more").unwrap();
    let refused = app.accounts.create_service_token_by_name(&name, &wish).await;
    let said = refused.err().unwrap().to_string();
    assert!(said.contains("200 operators"), "{said}");
}
