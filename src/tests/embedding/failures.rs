use std::collections::HashSet;

use keepsake::embedding::{Drained, Saved};
use keepsake::providers::settings::EndpointForm;
use serde_json::{Value, json};
use time::Duration;

use super::with_provider;
use crate::support::{Provider, TestApp, TestUser};

async fn embedding(user: &TestUser, id: i64) -> Value {
    user.call("memory_get", json!({ "item_id": id })).await["embedding"].clone()
}

async fn problem(app: &TestApp, user: &TestUser) -> Option<String> {
    let overview = app.embeddings.overview(user.id).await.unwrap();
    overview.serving.and_then(|space| space.problem)
}

#[tokio::test]
async fn a_poison_text_is_isolated_and_the_others_go_on() {
    let (app, anna, provider) = with_provider("model").await;
    let mut ids = Vec::new();
    for n in 0..9 {
        let text = if n == 4 { "a poison pill".to_owned() } else { format!("item {n}") };
        ids.push(anna.add(&text).await);
    }
    provider.behave(|b| b.poison = Some("poison"));
    assert_eq!(app.drain(&anna).await, Drained::Done);
    for (n, id) in ids.iter().enumerate() {
        let expected = if n == 4 { "error" } else { "ready" };
        assert_eq!(embedding(&anna, *id).await["state"], expected, "{n}");
    }
    let said = embedding(&anna, ids[4]).await;
    assert_eq!(said["error"], "The endpoint failed with status 500.");
    assert!(problem(&app, &anna).await.is_none());
    // Found by its words all the same.
    assert_eq!(anna.find("poison").await, [ids[4]]);
    provider.behave(|b| b.poison = None);
    assert_eq!(app.embeddings.retry(anna.id).await.unwrap(), 1);
    app.drain(&anna).await;
    assert_eq!(embedding(&anna, ids[4]).await["state"], "ready");
}

#[tokio::test]
async fn a_long_text_is_embedded_whole_by_its_passages_and_ready_when_all_are() {
    let (app, anna, provider) = with_provider("model").await;
    let words: Vec<String> = (0..2_000).map(|n| format!("word{n}")).collect();
    let id = anna.add(&words.join(" ")).await;
    let short = anna.add("a short one").await;
    provider.behave(|b| {
        b.chars_max = Some(1_500);
        b.poison = Some("word1999");
    });
    assert_eq!(app.drain(&anna).await, Drained::Done);
    // One of its passages is not ready.
    assert_eq!(embedding(&anna, id).await["state"], "error");
    assert_eq!(embedding(&anna, short).await["state"], "ready");
    assert_eq!(anna.find("word1").await[0], id);
    provider.behave(|b| b.poison = None);
    assert_eq!(app.embeddings.retry(anna.id).await.unwrap(), 1);
    app.drain(&anna).await;
    assert_eq!(embedding(&anna, id).await["state"], "ready");
    let sent = provider.texts().join(" ");
    let sent: HashSet<&str> = sent.split(' ').collect();
    assert!(words.iter().all(|word| sent.contains(word.as_str())), "a word was left out");
}

#[tokio::test]
async fn a_dead_endpoint_is_left_alone_for_a_while_even_across_a_restart() {
    let (app, anna, provider) = with_provider("model").await;
    let id = anna.add("Anna keeps bees.").await;
    provider.behave(|b| b.status = Some(503));
    let Drained::Later(at) = app.drain(&anna).await else { panic!("it should wait") };
    let now = app.embeddings.now();
    assert!(at > now && at <= now + Duration::seconds(3), "{}", at - now);
    assert!(problem(&app, &anna).await.unwrap().contains("503"));
    assert_eq!(embedding(&anna, id).await["state"], "pending");
    provider.forget_calls();
    let restarted = app.twin().await;
    assert!(matches!(restarted.drain(&anna).await, Drained::Later(_)));
    assert!(provider.texts().is_empty(), "it was asked before its time");
    // It waits longer each time.
    restarted.clock.advance(Duration::seconds(30));
    let Drained::Later(again) = restarted.drain(&anna).await else { panic!("it should wait") };
    assert!(again - restarted.embeddings.now() > Duration::milliseconds(2_900));
    assert!(!provider.texts().is_empty());
    provider.behave(|b| b.status = None);
    restarted.clock.advance(Duration::seconds(60));
    assert_eq!(restarted.drain(&anna).await, Drained::Done);
    assert_eq!(embedding(&anna, id).await["state"], "ready");
    assert!(problem(&app, &anna).await.is_none());
}

#[tokio::test]
async fn an_endpoint_that_asks_for_patience_gets_it() {
    let (app, anna, provider) = with_provider("model").await;
    anna.add("Anna keeps bees.").await;
    provider.behave(|b| (b.status, b.retry_after) = (Some(429), Some("120")));
    let Drained::Later(at) = app.drain(&anna).await else { panic!("it should wait") };
    assert_eq!(at - app.embeddings.now(), Duration::seconds(120));
}

#[tokio::test]
async fn during_a_retry_after_nobody_asks_neither_search_nor_job() {
    for is_search in [true, false] {
        let (app, anna, provider) = with_provider("model").await;
        let id = anna.add("Anna keeps bees.").await;
        app.drain(&anna).await;
        provider.behave(|b| (b.status, b.retry_after) = (Some(429), Some("120")));
        anna.add("She lives in Bern.").await;
        if is_search {
            let query = app.embed_query(&anna, "bees").await;
            assert!(query.degraded.unwrap().contains("wants us to wait"));
        } else {
            app.drain(&anna).await;
        }
        provider.forget_calls();
        provider.behave(|b| b.status = None);
        app.clock.advance(Duration::seconds(119));
        // What counts is kept in the database.
        let twin = app.twin().await;
        for app in [&app, &twin] {
            let query = app.embed_query(&anna, "honey").await;
            let told = "the embedding endpoint asked to be called later; found by words alone";
            assert_eq!((query.vector.is_none(), query.degraded.as_deref()), (true, Some(told)));
            assert_eq!(anna.find("bees").await, [id]);
            let Drained::Later(at) = app.drain_once(anna.id).await.unwrap() else {
                panic!("it should wait")
            };
            assert_eq!(at - app.embeddings.now(), Duration::seconds(1));
        }
        assert!(provider.texts().is_empty());
        app.clock.advance(Duration::seconds(1));
        assert!(app.embed_query(&anna, "honey").await.vector.is_some());
        assert_eq!(app.drain(&anna).await, Drained::Done);
    }
}

#[tokio::test]
async fn a_key_that_was_rotated_is_told_and_a_new_one_works_at_once() {
    let (app, anna, provider) = with_provider("model").await;
    let id = anna.add("Anna keeps bees.").await;
    provider.behave(|b| b.key = Some("sk-rotated"));
    assert!(matches!(app.drain(&anna).await, Drained::Later(_)));
    assert!(problem(&app, &anna).await.unwrap().contains("rejected the key"));
    let query = app.embed_query(&anna, "bees").await;
    assert!(query.degraded.unwrap().contains("rejected the key"));
    let saved = app.save_endpoint(&anna, &provider.url(), "model", "sk-rotated", false).await;
    assert_eq!(saved, Saved::InForce);
    assert_eq!(app.drain(&anna).await, Drained::Done);
    assert_eq!(embedding(&anna, id).await["state"], "ready");
}

#[tokio::test]
async fn an_endpoint_that_answers_another_width_writes_nothing_and_asks_for_a_rebuild() {
    let (app, anna, provider) = with_provider("model").await;
    let old = anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    provider.behave(|b| b.width = 32);
    let new = anna.add("She lives in Bern.").await;
    assert!(matches!(app.drain(&anna).await, Drained::Later(_)));
    assert_eq!(embedding(&anna, old).await["state"], "ready");
    assert_eq!(embedding(&anna, new).await["state"], "pending");
    assert!(problem(&app, &anna).await.unwrap().contains("start a rebuild"));
    let query = app.embed_query(&anna, "bees").await;
    assert!(query.vector.is_none() && query.degraded.unwrap().contains("width"));
    assert_eq!(app.embeddings.rebuild(anna.id).await.unwrap(), Saved::Rebuilding { texts: 2 });
    app.clock.advance(Duration::minutes(10));
    app.drain(&anna).await;
    assert_eq!(embedding(&anna, new).await["dimensions"], 32);
}

#[tokio::test]
async fn calls_that_are_answered_with_different_widths_write_nothing() {
    let (app, anna, provider) = with_provider("model").await;
    provider.behave(|b| b.wide = Some("goats"));
    app.sql("UPDATE embedding_settings SET batch_size = 1, concurrency = 2").run().await;
    let items = [anna.add("Anna keeps bees.").await, anna.add("Anna keeps goats.").await];
    assert!(matches!(app.drain(&anna).await, Drained::Later(_)));
    assert_eq!(provider.texts().len(), 2);
    for item in items {
        assert_eq!(embedding(&anna, item).await["state"], "pending");
    }
    assert!(problem(&app, &anna).await.unwrap().contains("width"));
}

#[tokio::test]
async fn vectors_wider_than_are_kept_are_refused_with_what_to_set() {
    let (app, anna, provider) = with_provider("model").await;
    provider.behave(|b| b.width = 1_536);
    anna.add("Anna keeps bees.").await;
    assert!(matches!(app.drain(&anna).await, Drained::Later(_)));
    let said = problem(&app, &anna).await.unwrap();
    assert!(said.contains("1536 dimensions") && said.contains("set `dimensions`"), "{said}");
}

#[tokio::test]
async fn a_late_answer_of_an_old_model_writes_nothing() {
    let (app, anna, provider) = with_provider("old").await;
    let elsewhere = Provider::start().await;
    let id = anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    app.use_provider(&anna, &provider, "new").await;
    provider.forget_calls();
    // While the answer is under way the space it is for goes.
    let change = async {
        app.use_provider(&anna, &elsewhere, "newer").await;
    };
    drain_while(&app, &anna, &provider, change).await;
    assert_eq!(app.vectors(&anna, "building").await, [(id, "pending".to_owned())]);
    // And an item whose text is another by then keeps waiting.
    elsewhere.forget_calls();
    let change = async {
        app.sql("UPDATE memory_passages SET content_hash = 'another'").run().await;
    };
    drain_while(&app, &anna, &elsewhere, change).await;
    assert_eq!(app.vectors(&anna, "building").await, [(id, "pending".to_owned())]);
}

/// Works off what waits, and does this before the provider answers.
async fn drain_while(
    app: &TestApp,
    user: &TestUser,
    provider: &Provider,
    change: impl Future<Output = ()>,
) {
    let held = provider.hold();
    let (drained, ()) = tokio::join!(app.drain_once(user.id), async {
        provider.until_called().await;
        change.await;
        drop(held);
    });
    drained.unwrap();
}

#[tokio::test]
async fn a_search_does_not_wait_for_a_dead_endpoint_again_and_again() {
    let (app, anna, provider) = with_provider("model").await;
    let id = anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    provider.behave(|b| b.status = Some(503));
    for n in 0..3 {
        let query = app.embed_query(&anna, &format!("question {n}")).await;
        assert!(query.degraded.unwrap().contains("503"));
    }
    provider.forget_calls();
    let query = app.embed_query(&anna, "question").await;
    assert!(query.degraded.unwrap().contains("left alone"));
    assert!(provider.texts().is_empty());
    // By words it goes on.
    assert_eq!(anna.find("bees").await, [id]);
    provider.behave(|b| b.status = None);
    app.clock.advance(Duration::seconds(61));
    assert!(app.embed_query(&anna, "question").await.vector.is_some());
    // And asked twice, it is asked once.
    provider.forget_calls();
    assert!(app.embed_query(&anna, "question").await.vector.is_some());
    assert!(provider.texts().is_empty());
}

#[tokio::test]
async fn a_million_that_wait_are_enough() {
    let (app, anna, _provider) = with_provider("model").await;
    app.sql("UPDATE embedding_spaces SET is_full = true").run().await;
    let (status, said) =
        anna.refused("memory_add", json!({ "type": "fact", "content": "One more." })).await;
    assert_eq!((status, said["code"].as_str().unwrap()), (429, "too_many_pending"));
    assert_eq!(app.count("memory_items").await, 0);
    // A look at what really waits opens it again.
    app.drain(&anna).await;
    anna.add("One more.").await;
}

#[tokio::test]
async fn what_is_added_while_its_user_pauses_waits_for_the_pause_to_end() {
    let (app, anna, provider) = with_provider("model").await;
    let url = provider.url();
    let form = EndpointForm {
        provider_type: "openai",
        url: &url,
        model: "model",
        batch_size: "1",
        pause_ms: "60000",
        ..EndpointForm::default()
    };
    app.confirm_endpoint(&anna, form).await;
    anna.add("item 1").await;
    app.run_due().await;
    assert_eq!(provider.texts().len(), 1);
    // Nothing was left when the pause began; each of these pushes.
    for n in 2..5 {
        anna.add(&format!("item {n}")).await;
        app.run_due().await;
    }
    assert_eq!(provider.texts().len(), 1, "one batch a pause");
    for sent in 2..5 {
        app.clock.advance(Duration::seconds(61));
        app.run_due().await;
        assert_eq!(provider.texts().len(), sent);
    }
    assert!(problem(&app, &anna).await.is_none());
}
