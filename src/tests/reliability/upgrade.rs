//! A database of an earlier version, as that version filled it, goes forward: nothing is lost, no vector is
//! made anew but of memories with a key, and searches answer before its passages are made.

use std::collections::BTreeMap;

use keepsake::db;
use keepsake::providers::builtin::{self, BuiltinModel};
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use super::migrations::{DROPPED, has_all_of, names_dropped, now_named, rows};
use crate::support::Sql as _;
use crate::support::{TestApp, Wish, empty_database, fresh_database};

const DUMP: &str = include_str!("5c00987.sql");

/// The token after this name in the dump's head.
fn token(of: &str) -> &'static str {
    let after = DUMP.split_once(of).unwrap().1;
    let from = after.find("ks_").unwrap();
    let token = &after[from..];
    &token[..token.find([',', ';']).unwrap()]
}

async fn all_rows(options: &PgConnectOptions) -> BTreeMap<String, Vec<Value>> {
    rows(&mut PgConnection::connect_with(options).await.unwrap()).await
}

/// Its vectors of first passages, as one number; not those that are made anew with a key.
pub async fn vectors(app: &TestApp) -> String {
    let all = "SELECT md5(string_agg(source_id || ' ' || embedding::text, ',' ORDER BY source_id))
         FROM memory_embeddings e WHERE passage = 0 AND state = 'ready'
           AND NOT EXISTS (SELECT FROM memory_items i WHERE i.id = e.source_id AND i.key IS NOT NULL)";
    app.sql(all).value().await
}

pub async fn tool(app: &TestApp, token: &str, name: &str, arguments: Value) -> Value {
    let url = format!("{}/api/v1/tools/{name}", app.base);
    let asked =
        reqwest::Client::new().post(url).bearer_auth(token).json(&arguments).send().await.unwrap();
    assert_eq!(asked.status(), 200, "{name}");
    asked.json().await.unwrap()
}

/// What is found by words and by meaning, the best first.
pub async fn found(app: &TestApp, token: &str, query: &str) -> Vec<String> {
    let answer = tool(app, token, "memory_search", json!({ "query": query })).await;
    assert_eq!(answer["mode"], "hybrid", "{answer}");
    let items = answer["results"].as_array().unwrap();
    let contents = items.iter().map(|item| item["content_snippet"].as_str().unwrap());
    contents.map(str::to_owned).collect()
}

/// Anna and Ben find what they mean first, by these tokens. Returns all that was found.
pub async fn finds_what_is_meant(app: &TestApp, [anna, ben]: [&str; 2]) -> Vec<String> {
    let tea = "Which hot beverage does she have after getting up?";
    let mut all = Vec::new();
    for (token, query, first) in [
        (anna, tea, "Anna drinks green tea in the morning."),
        (anna, "Where is Anna's home?", "Anna lives in Linz."),
        (anna, "Schafberg", "We hiked up the Schafberg last Sunday and saw two marmots."),
        (ben, "Which insects does he keep?", "Ben keeps three beehives behind the barn."),
    ] {
        let found = found(app, token, query).await;
        assert!(found.first().is_some_and(|text| text.ends_with(first)), "{query}: {found:?}");
        all.extend(found);
    }
    all
}

#[tokio::test]
async fn data_of_an_earlier_version_is_carried_over_with_its_vectors() {
    // Whoever comes first makes the roles.
    fresh_database().await;
    let options = empty_database().await;
    let mut superuser = PgConnection::connect_with(&options).await.unwrap();
    superuser.sql(DUMP).run_all().await;
    superuser.close().await.unwrap();
    let before = all_rows(&options).await;
    db::prepare(&options).await.unwrap();

    // All that was there is there.
    let after = all_rows(&options).await;
    for (table, rows) in &before {
        if table.starts_with("apalis") || DROPPED.contains(&table.as_str()) {
            continue;
        }
        let now = &after[now_named(table)];
        for row in rows {
            let is_there = now.iter().any(|found| has_all_of(found, row));
            assert!(is_there || names_dropped(row), "{table}: {row} became {now:?}");
        }
    }

    let app = TestApp::start_as(Wish {
        builtin: Some(builtin::find(std::path::Path::new("data"))),
        database: Some(options),
        ..Wish::default()
    })
    .await;
    // The English model's vectors stay as they are as long as an admin keeps it.
    app.embeddings.set_builtin_model(BuiltinModel::English).await.unwrap();
    // Whoever was here before fading came decides about it.
    let switched_off = app.count("fading_settings WHERE NOT is_on").await;
    assert_eq!(switched_off, app.count("users").await);
    let sources = app.count("memory_items").await;
    assert!(sources >= 14, "{sources}");
    let kept = vectors(&app).await;
    let tokens = ["Anna's", "Ben's"].map(token);

    // Before a passage is made, and whose word it was is told.
    finds_what_is_meant(&app, tokens).await;
    let trusted =
        "SELECT DISTINCT source || ' ' || trust FROM memory_items WHERE NOT is_turn ORDER BY 1";
    let trusted: Vec<String> = app.sql(trusted).values().await;
    let expected =
        ["agent agent", "guess agent", "tool_call tool", "user_explicit user", "web external"];
    assert_eq!(trusted, expected);
    for wrong in [
        "status = 'active' AND expires_at IS NULL AND live_until <> 'infinity'",
        "status <> 'active' AND live_until = 'infinity'",
    ] {
        assert_eq!(app.count(&format!("memory_items WHERE {wrong}")).await, 0, "{wrong}");
    }

    // Passages are made, and there is more to embed of a memory that had been cut off, and of two with a key.
    assert_eq!(app.count("memory_passages").await, 0);
    app.run_job("passages").await;
    assert_eq!(app.count("memory_passages_due").await, 0);
    assert_eq!(app.count("memory_passages WHERE n = 0").await, sources);
    let pending = "memory_embeddings WHERE state = 'pending'";
    let again = format!("memory_items WHERE id IN (SELECT source_id FROM {pending})");
    assert!(app.count(&again).await == 3 && app.count(pending).await >= 4);
    app.run_job("embed").await;
    assert_eq!(app.count(pending).await, 0);
    assert_eq!(vectors(&app).await, kept);
    finds_what_is_meant(&app, tokens).await;
    app.embeddings.set_builtin_model(BuiltinModel::Multilingual).await.unwrap();
    app.run_job("embed").await;
    assert_eq!(app.count(pending).await, 0);
    assert_ne!(vectors(&app).await, kept);
    finds_what_is_meant(&app, tokens).await;

    // What is added now lies beside it.
    let again = json!({ "type": "fact", "content": "Anna lives in Linz.", "key": "home" });
    assert_eq!(tool(&app, tokens[0], "memory_add", again).await["duplicate"], true);
}
