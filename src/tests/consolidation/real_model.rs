//! A whole session with a real llama.cpp server and a very small model, whatever that makes of
//! it: the ledger ends, nothing is stuck or lost, and what it cost is known.

use std::time::Duration as StdDuration;

use keepsake::consolidation::{AskLimits, Consolidation};
use keepsake::providers::chat::{ChatChange, ChatForm};
use keepsake::queue::Slice;
use serde_json::json;

use super::{items, ledger, told, user_says};
use crate::chat::chat;
use crate::providers::llamacpp::chat_server;
use crate::support::{DueNow, TestApp, TestUser};

/// Some two tokens a second, beside other tests: one fact, and the beginning of another.
const LIMITS: AskLimits = AskLimits {
    call_deadline: StdDuration::from_secs(180),
    answer_tokens_max: 72,
};

/// A user with a real model.
async fn with_model(app: &TestApp) -> TestUser {
    let address = chat_server();
    let user = app.user("anna").await;
    let host_port = address.trim_start_matches("http://");
    app.embeddings.allow_endpoint(host_port).await.unwrap();
    let form = ChatForm {
        provider_type: "llamacpp",
        url: address,
        model: "smollm2",
        key: "sesame",
        clear_key: false,
    };
    let change = ChatChange {
        own_enabled: true,
        form,
    };
    chat(app).save(user.id, change).await.unwrap();
    user
}

const NIGHT: AskLimits = AskLimits {
    call_deadline: StdDuration::from_secs(300),
    answer_tokens_max: 256,
};

#[tokio::test]
async fn a_session_goes_from_messages_to_the_ledger_with_a_real_model() {
    let app = TestApp::start().await;
    let user = with_model(&app).await;
    let messages = [
        user_says("m1", "Hi! My name is Anna and I live in Graz."),
        json!({ "id": "m2", "role": "assistant", "content": "Hello Anna!" }),
    ];
    told(&user, "talk", &messages).await;
    let consolidation = Consolidation::new(app.search.clone()).with_limits(LIMITS);
    let due = consolidation.due().await.unwrap();
    assert_eq!(due.len(), 1);
    consolidation.extract(due[0]).await.unwrap();

    let row = ledger(&user, "talk").await;
    let kept = items(&app, &user).await;
    println!("{row}\n{kept:?}");
    let count = |name: &str| row[name].as_i64().unwrap();
    match row["outcome"].as_str().unwrap() {
        "stored" => assert!(count("stored") > 0),
        "nothing" => assert!(kept.is_empty()),
        "failed" => assert!(
            row["reason"].is_string() && row["next_try_at"].is_string(),
            "{row}"
        ),
        other => panic!("{other}: {row}"),
    }
    // As many as the ledger says, each with where it comes from, and nothing taken for an order.
    assert_eq!(kept.len() as i64, count("stored"), "{kept:?}");
    for item in &kept {
        assert_eq!(item["session"], "talk");
        assert_ne!(item["type"], "instruction");
    }
    // Nobody reads it, and it is due by its next try alone.
    let held: Option<time::OffsetDateTime> =
        sqlx::query_scalar("SELECT reading_since FROM session_extractions")
            .fetch_one(&mut app.superuser().await)
            .await
            .unwrap();
    assert_eq!(held, None);
    assert!(consolidation.due().await.unwrap().is_empty());
    // The day's account and the ledger agree, and the model says its name.
    let (tokens_in, tokens_out, calls): (i64, i64, i64) =
        sqlx::query_as("SELECT sum(tokens_in)::bigint, sum(tokens_out)::bigint, sum(calls)::bigint FROM chat_spend")
            .fetch_one(&mut app.superuser().await)
            .await
            .unwrap();
    assert_eq!(calls, 1);
    assert!(
        tokens_in > 300 && tokens_out > 0,
        "{tokens_in} {tokens_out}"
    );
    if row["model"].is_string() {
        assert_eq!(
            (count("tokens_in"), count("tokens_out")),
            (tokens_in, tokens_out),
            "{row}"
        );
    }
    let messages = user.get("/api/v1/sessions/talk/messages").await;
    let messages: serde_json::Value = messages.json().await.unwrap();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 2);
}

/// The night's reading: whatever it says, what is named occurs in a memory, and a relation has its sentence.
#[tokio::test]
#[ignore = "minutes of a real model: `make check` runs it alone"]
async fn a_night_with_a_real_model_names_nothing_that_no_memory_says() {
    let app = TestApp::start().await;
    let user = with_model(&app).await;
    let told = "marta works at kraken labs in bergen and reports to quentin";
    user.add(told).await;
    let night = Consolidation::new(app.search.clone()).with_limits(NIGHT);
    night.enrich(user.id, &Slice::whole()).await.unwrap();
    let mut conn = app.superuser().await;
    let names: Vec<String> = sqlx::query_scalar("SELECT name FROM entity_names")
        .fetch_all(&mut conn)
        .await
        .unwrap();
    let sentences: Vec<Option<String>> =
        sqlx::query_scalar("SELECT sentence FROM entity_relation_sources")
            .fetch_all(&mut conn)
            .await
            .unwrap();
    let read: i64 = sqlx::query_scalar("SELECT count(*) FROM entity_enriched")
        .fetch_one(&mut conn)
        .await
        .unwrap();
    println!("{names:?}\n{sentences:?}");
    assert_eq!(read, 1, "the model answered in time");
    for name in names.iter().filter(|name| *name != "You") {
        assert!(told.contains(&name.to_lowercase()), "{name}");
    }
    for sentence in sentences {
        assert!(told.contains(&sentence.unwrap()));
    }
}
