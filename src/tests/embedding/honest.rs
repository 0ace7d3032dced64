//! What is said of embeddings is true at any time: every count, state, badge and `degraded`.

use futures_util::future::join_all;
use keepsake::embedding::EmbeddingState;
use keepsake::providers::settings::EndpointForm;
use serde_json::{Value, json};

use crate::support::{Provider, TestApp, TestUser};

/// Everybody's from now on.
async fn serve_all(app: &TestApp, provider: &Provider) {
    let url = provider.url();
    let form = EndpointForm { url: &url, model: "model", ..EndpointForm::default() };
    app.embeddings.save_system(&form, true).await.unwrap();
}

/// A server with a provider of everybody, and Anna.
async fn served() -> (TestApp, TestUser, Provider) {
    let (app, provider) = (TestApp::start().await, Provider::start().await);
    serve_all(&app, &provider).await;
    let anna = app.user("anna").await;
    (app, anna, provider)
}

async fn serve_nobody(app: &TestApp) {
    app.embeddings.save_system(&EndpointForm::default(), true).await.unwrap();
}

async fn add(user: &TestUser, content: &str) -> Value {
    let input = json!({ "type": "fact", "content": content });
    user.call("memory_add", input).await
}

async fn vectors(user: &TestUser) -> Value {
    user.call("memory_stats", json!({})).await["vectors"].clone()
}

async fn search(user: &TestUser, query: &str) -> Value {
    user.call("memory_search", json!({ "query": query })).await
}

async fn state(user: &TestUser, id: &Value) -> Value {
    let item = user.call("memory_get", json!({ "item_id": id })).await;
    item["embedding"]["state"].clone()
}

#[tokio::test]
async fn from_the_first_add_on_everything_says_pending_until_it_is_ready() {
    let (app, anna, provider) = served().await;
    // Nobody works: others' texts are being embedded.
    let added = add(&anna, "Anna keeps bees.").await;
    assert_eq!(added["embedding"], "pending");
    let row = (added["id"].as_i64().unwrap(), "pending".to_owned());
    assert_eq!(app.vectors(&anna, "active").await, [row]);
    assert_eq!(vectors(&anna).await, json!({ "pending": 1, "failed": 0 }));
    assert_eq!(state(&anna, &added["id"]).await, "pending");
    // Also where the words find nothing, which the meaning might.
    for query in ["bees", "honey"] {
        let answer = search(&anna, query).await;
        assert_eq!(answer["mode"], "fts");
        let degraded = answer["degraded"].as_str().expect("it is degraded");
        assert!(degraded.contains("embeddings are pending"), "{degraded}");
    }
    assert!(provider.texts().is_empty(), "nothing is there to compare");
    let browser = app.signed_in(&anna).await;
    for path in ["/memory", "/memory?q=bees"] {
        let page = browser.look(path).await;
        let line = "Embedding 0 of 1 memory; keyword search works meanwhile";
        assert!(page.contains(line), "{path}");
        assert!(!page.contains("class=\"degraded\""), "one notice says it");
        assert!(!page.contains("mark-state"), "no row has a mark");
    }
    let page = browser.look("/settings/embeddings").await;
    assert!(page.contains("</svg>preparing") || page.contains("preparing</span>"));
    assert!(page.contains("0 of 1 memory ready · 1 pending"));
    assert!(page.contains("Keyword search only, until the first embeddings are ready."));

    app.drain(&anna).await;
    assert_eq!(vectors(&anna).await, json!({ "pending": 0, "failed": 0 }));
    let answer = search(&anna, "bees").await;
    assert_eq!((&answer["mode"], &answer["degraded"]), (&json!("hybrid"), &json!(null)));
    let page = browser.look("/memory").await;
    assert!(page.contains("Anna keeps bees.") && !page.contains("Embedding 0"));
    let page = browser.look("/settings/embeddings").await;
    assert!(page.contains("All 1 memory ready") && !page.contains("preparing"));
}

#[tokio::test]
async fn without_a_provider_items_are_off_and_nothing_waits_and_with_one_they_are_pending() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    for text in ["Anna keeps bees.", "She lives in Bern."] {
        assert_eq!(add(&anna, text).await["embedding"], "off");
    }
    assert!(app.jobs().await.is_empty());
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0);
    assert_eq!(vectors(&anna).await, json!({ "pending": 0, "failed": 0 }));
    serve_all(&app, &provider).await;
    // No job has run.
    assert!(app.vectors(&anna, "active").await.is_empty());
    assert_eq!(vectors(&anna).await["pending"], 2);
    assert_eq!(app.embeddings.overview(anna.id).await.unwrap().counts.pending, 2);
    let degraded = search(&anna, "bees").await["degraded"].clone();
    assert!(degraded.as_str().unwrap().contains("pending"), "{degraded}");
    // The next add makes their rows too.
    add(&anna, "Tea, not coffee.").await;
    assert_eq!(app.vectors(&anna, "active").await.len(), 3);
    assert_eq!(vectors(&anna).await["pending"], 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_users_first_items_on_two_servers_get_one_space_and_a_row_each() {
    let (app, anna, _provider) = served().await;
    let twin = app.twin().await;
    let there = anna.at(&twin);
    join_all((0..16).map(|n| {
        let user = if n % 2 == 0 { &anna } else { &there };
        let input = json!({ "type": "fact", "content": format!("Hive {n} is full."),
                            "key": (n % 4 == 0).then(|| format!("hive_{n}")) });
        async move { user.call("memory_add", input).await }
    }))
    .await;
    let rows = app.vectors(&anna, "active").await;
    assert_eq!(rows.len(), 16);
    assert!(rows.iter().all(|(_, state)| state == "pending"), "{rows:?}");
    assert_eq!(app.count("embedding_spaces").await, 1);
}

#[tokio::test]
async fn once_the_provider_is_gone_an_add_says_off_and_nothing_is_pending() {
    let (app, anna, provider) = served().await;
    let old = add(&anna, "Anna keeps bees.").await;
    app.drain(&anna).await;
    serve_nobody(&app).await;
    for (text, key) in [("Tea, not coffee.", None), ("Bern", Some("home"))] {
        let input = json!({ "type": "fact", "content": text, "key": key });
        let added = anna.call("memory_add", input).await;
        assert_eq!(added["embedding"], "off", "{text}");
        assert_eq!(state(&anna, &added["id"]).await, "off");
    }
    assert_eq!(state(&anna, &old["id"]).await, "off");
    assert_eq!(vectors(&anna).await, json!({ "pending": 0, "failed": 0 }));
    let page = app.signed_in(&anna).await.look("/memory").await;
    assert!(!page.contains("keyword search works meanwhile"));
    let system = app.embeddings.system_overview().await.unwrap();
    assert_eq!((system.open.pending, system.open.pending_users), (0, 0));
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0, "users with work");
    // Put back, it embeds what came meanwhile.
    provider.forget_calls();
    serve_all(&app, &provider).await;
    assert_eq!(vectors(&anna).await["pending"], 2);
    app.drain(&anna).await;
    assert_eq!(provider.texts().len(), 2);
    assert_eq!(vectors(&anna).await["pending"], 0);
}

#[tokio::test]
async fn after_a_rebuild_was_cancelled_that_was_the_first_nothing_is_said_to_be_pending() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    let old = anna.add("Anna keeps bees.").await;
    app.use_provider(&anna, &provider, "model").await;
    assert!(app.embeddings.cancel_rebuild(anna.id).await.unwrap());
    assert_eq!(add(&anna, "Bern.").await["embedding"], "off");
    let mut tx = app.db.as_user(anna.id).await.unwrap();
    let states = app.embeddings.states(&mut tx, anna.id, &[old]).await;
    assert_eq!(states.unwrap()[0].state, EmbeddingState::Off);
    drop(tx);
    assert_eq!(vectors(&anna).await["pending"], 0);
    let degraded = search(&anna, "bees").await["degraded"].clone();
    assert!(degraded.as_str().unwrap().contains("cancelled"), "{degraded}");
}

#[tokio::test]
async fn a_full_queue_refuses_nothing_once_nobody_works_on_it() {
    let (app, anna, _provider) = served().await;
    add(&anna, "Anna keeps bees.").await;
    app.sql("UPDATE embedding_spaces SET is_full = true").run().await;
    let input = json!({ "type": "fact", "content": "One more." });
    assert_eq!(anna.refused("memory_add", input.clone()).await.0, 429);
    app.embeddings.set_enabled(anna.id, false, true).await.unwrap();
    assert_eq!(add(&anna, "One more.").await["embedding"], "off");
    app.embeddings.set_enabled(anna.id, true, true).await.unwrap();
    serve_nobody(&app).await;
    assert_eq!(add(&anna, "Another.").await["embedding"], "off");
}
