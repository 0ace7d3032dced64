//! A whole session with a real llama.cpp server and a very small model, whatever that makes of
//! it: the ledger ends, nothing is stuck or lost, and what it cost is known.

use std::time::Duration as StdDuration;

use keepsake::consolidation::{AskLimits, Consolidation};
use keepsake::providers::chat::{ChatChange, ChatForm};
use serde_json::json;

use super::{items, ledger, told, user_says};
use crate::chat::chat;
use crate::providers::llamacpp::chat_server;
use crate::support::{DueNow, TestApp};

/// Some two tokens a second, beside other tests: one fact, and the beginning of another.
const LIMITS: AskLimits = AskLimits {
    call_deadline: StdDuration::from_secs(180),
    answer_tokens_max: 72,
};

#[tokio::test]
async fn a_session_goes_from_messages_to_the_ledger_with_a_real_model() {
    let address = chat_server();
    let app = TestApp::start().await;
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
    chat(&app).save(user.id, change).await.unwrap();

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
