//! Two servers and two workers on one database, each a process of its own.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{beside, until_ready, with_provider};
use crate::server::{Home, Server, call};
use crate::support::{Browser, Provider, until};

const ITEMS: usize = 60;

async fn search(home: &Home, token: &str, query: &str) -> Value {
    let (status, found) = call(home, token, "memory_search", json!({ "query": query })).await;
    assert_eq!(status, 200, "{found}");
    found
}

/// What a browser does at one server is true at the other.
fn at(home: &Home, browser: &Browser) -> Browser {
    Browser { base: home.url(""), client: browser.client.clone() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_and_two_workers_share_one_database() {
    let (app, anna, provider) = with_provider().await;
    let (one, other, third, fourth) = (Home::new(), Home::new(), Home::new(), Home::new());
    let serve = ["serve", "--no-worker"];
    let _one = Server::start_command(&one, &mut beside(&app, &one, &serve)).await;
    let _other = Server::start_command(&other, &mut beside(&app, &other, &serve)).await;
    let _third = Server::spawn(&mut beside(&app, &third, &["work"]));
    let _fourth = Server::spawn(&mut beside(&app, &fourth, &["work"]));

    // Adds through both, each text to the provider once.
    let adds = (0..ITEMS).map(|n| {
        let home = if n % 2 == 0 { &one } else { &other };
        let input = json!({ "type": "fact", "content": format!("item number{n}") });
        call(home, &anna.token, "memory_add", input)
    });
    for (status, added) in futures_util::future::join_all(adds).await {
        assert_eq!(status, 200, "{added}");
    }
    until_ready(&app, &anna, ITEMS).await;
    let mut sent: BTreeMap<String, usize> = BTreeMap::new();
    for text in provider.texts() {
        *sent.entry(text).or_default() += 1;
    }
    let twice: Vec<_> = sent.iter().filter(|(_, n)| **n > 1).collect();
    assert_eq!((sent.len(), twice), (ITEMS, vec![]));

    // Searches through both.
    for home in [&one, &other] {
        let found = search(home, &anna.token, "number7").await;
        assert_eq!(found["mode"], "hybrid", "{found}");
        assert!(found["results"][0]["content_snippet"].as_str().unwrap().contains("number7"));
    }

    // A settings change at one is in force at the other, for workers and for searches.
    let second = Provider::start().await;
    app.use_provider(&anna, &second, "model").await;
    until_ready(&app, &anna, ITEMS).await;
    provider.forget_calls();
    for home in [&one, &other] {
        search(home, &anna.token, "number9").await;
    }
    assert_eq!(provider.texts(), Vec::<String>::new(), "the old endpoint was asked");
    let rebuilt = second.texts().iter().filter(|text| text.starts_with("item")).count();
    assert_eq!(rebuilt, ITEMS);

    // What an admin switches is seen elsewhere.
    app.embeddings.set_builtin(false).await.unwrap();
    until("the builtin model is off elsewhere", async || {
        let told: Value = reqwest::get(other.url("/readyz")).await.unwrap().json().await.unwrap();
        assert_eq!((&told["ready"], &told["worker"]), (&json!(true), &json!("elsewhere")));
        told["builtin_model"] == "off"
    })
    .await;

    // Signed in at one is signed in at the other, and signed out too.
    let browser = at(&one, &app.browser());
    browser.sign_in(&anna).await;
    assert_eq!(at(&other, &browser).get("/memory").await.0, 200);
    at(&other, &browser).post("/logout", &[]).await;
    assert_eq!(browser.get("/memory").await.0, 303);

    // A token that is revoked at one opens nothing at the other, at once.
    let token = app.token(anna.id, "second", &keepsake::accounts::Scope::ALL, None).await;
    for home in [&one, &other] {
        search(home, &token, "number3").await;
    }
    browser.sign_in(&anna).await;
    let ids: (i64, i64) = app.sql("SELECT t.agent_id, t.id FROM agent_tokens t JOIN agents a ON a.id = t.agent_id AND a.user_id = t.user_id
         WHERE a.name = 'second'").row().await;
    let revoke = format!("/agents/{}/tokens/{}/revoke", ids.0, ids.1);
    assert_eq!(browser.post(&revoke, &[]).await.status(), 303);
    let (status, refused) = call(&other, &token, "memory_search", json!({ "query": "*" })).await;
    assert_eq!((status, &refused["code"]), (401, &json!("revoked_token")));
}
