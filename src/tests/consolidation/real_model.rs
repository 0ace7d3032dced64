//! A whole session with a real llama.cpp server and a very small model, whatever that makes of
//! it: the ledger ends, nothing is stuck or lost, and what it cost is known.

use std::time::Duration as StdDuration;

use keepsake::consolidation::{AskLimits, Round};
use keepsake::providers::settings::EndpointForm;
use keepsake::queue::Slice;
use serde_json::json;
use time::Duration;

use super::{items, ledger, told, user_says};
use crate::chat::chat;
use crate::providers::llamacpp::chat_server;
use crate::support::{DueNow, TestApp, TestUser};

/// Some two tokens a second, beside other tests: one fact, and the beginning of another.
const LIMITS: AskLimits =
    AskLimits { call_deadline: StdDuration::from_secs(180), answer_tokens_max: 72 };

async fn use_model(app: &TestApp, user: &TestUser) {
    let address = chat_server();
    let host_port = address.trim_start_matches("http://");
    app.allow(host_port).await;
    let form = EndpointForm {
        own_enabled: true,
        provider_type: "llamacpp",
        url: address,
        model: "smollm2",
        key: "sesame",
        ..EndpointForm::default()
    };
    chat(app).save(user.id, &form).await.unwrap();
}

const NIGHT: AskLimits =
    AskLimits { call_deadline: StdDuration::from_secs(300), answer_tokens_max: 256 };

#[tokio::test]
async fn a_session_goes_from_messages_to_the_ledger_with_a_real_model() {
    let (app, user) = TestApp::start_for("anna").await;
    use_model(&app, &user).await;
    let messages = [
        user_says("m1", "Hi! My name is Anna and I live in Graz."),
        json!({ "id": "m2", "role": "assistant", "content": "Hello Anna!" }),
    ];
    told(&user, "talk", &messages).await;
    let consolidation = app.consolidation.clone().with_limits(LIMITS);
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
        "failed" => assert!(row["reason"].is_string() && row["next_try_at"].is_string(), "{row}"),
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
        app.sql("SELECT reading_since FROM session_extractions").value().await;
    assert_eq!(held, None);
    assert!(consolidation.due().await.unwrap().is_empty());
    // The day's account and the ledger agree, and the model says its name.
    let (tokens_in, tokens_out, calls): (i64, i64, i64) =
        app.sql("SELECT sum(tokens_in)::bigint, sum(tokens_out)::bigint, sum(calls)::bigint FROM chat_spend").row().await;
    assert_eq!(calls, 1);
    assert!(tokens_in > 300 && tokens_out > 0, "{tokens_in} {tokens_out}");
    if row["model"].is_string() {
        assert_eq!((count("tokens_in"), count("tokens_out")), (tokens_in, tokens_out), "{row}");
    }
    let messages = user.get("/api/v1/sessions/talk/messages").await;
    let messages: serde_json::Value = messages.json().await.unwrap();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 2);
}

/// The night's reading: whatever it says, what is named occurs in a memory, and a relation has its sentence.
#[tokio::test]
#[ignore = "minutes of a real model: `make check` runs it alone"]
async fn a_night_with_a_real_model_names_nothing_that_no_memory_says() {
    let (app, user) = TestApp::start_for("anna").await;
    use_model(&app, &user).await;
    let told = "marta works at kraken labs in bergen and reports to quentin";
    user.add(told).await;
    let night = app.consolidation.clone().with_limits(NIGHT);
    night.enrich(user.id, &Slice::whole()).await.unwrap();
    let names: Vec<String> = app.sql("SELECT name FROM entity_names").values().await;
    let sentences: Vec<Option<String>> =
        app.sql("SELECT sentence FROM entity_relation_sources").values().await;
    println!("{names:?}\n{sentences:?}");
    assert_eq!(app.count("entity_enriched").await, 1, "the model answered in time");
    for name in names.iter().filter(|name| *name != "You") {
        assert!(told.contains(&name.to_lowercase()), "{name}");
    }
    for sentence in sentences {
        assert!(told.contains(&sentence.unwrap()));
    }
}

/// A dream of five sessions and the reflection of their week: whatever it says, numbers and names in it were said.
#[tokio::test]
#[ignore = "minutes of a real model: `make check` runs it alone"]
async fn a_dream_and_a_week_with_a_real_model_say_nothing_that_nobody_said() {
    let (app, user) = TestApp::start_for("anna").await;
    let talks = [
        "I sold one of my hives to Marta Helgesen this morning.",
        "I always prefer linden honey over clover honey.",
        "My bees need a new queen before the summer.",
        "The shed behind the house is where I keep 40 honey jars.",
        "Marta Helgesen helps me every Friday with the hives.",
    ];
    for (n, said) in talks.iter().enumerate() {
        told(&user, &format!("talk {n}"), &[user_says("m1", said)]).await;
        user.add(said).await;
    }
    let consolidation = app.consolidation.clone().with_limits(NIGHT);
    for due in consolidation.due().await.unwrap() {
        consolidation.extract(due).await.unwrap();
    }
    app.run_due().await;
    use_model(&app, &user).await;
    app.clock.advance(Duration::minutes(11));
    let before = items(&app, &user).await;
    let dreamt = consolidation.dream(user.id).await.unwrap();
    let reflected = consolidation.reflect(user.id).await.unwrap();
    let written: Vec<String> = app.sql("SELECT content FROM document_revisions UNION ALL SELECT content FROM memory_items WHERE type = 'reflection'").values().await;
    let dreams = app.count("dreams").await;
    let promoted = app.count("episodes WHERE promoted_at IS NOT NULL").await;
    println!("{dreamt:?} {reflected:?}\n{}", written.join("\n---\n"));
    let is_written = dreamt == Round::Written;
    assert_eq!((dreams, promoted), if is_written { (1, 5) } else { (0, 0) });
    let said = talks.join(" ");
    for line in written.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with('#')) {
        let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        // What begins a sentence begins with a capital, too.
        for word in words.skip(1).filter(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            assert!(said.contains(word), "{word}: {line}");
        }
        assert!(!line.contains("Paris") && line.chars().count() < 2_000, "{line}");
    }
    // It only proposes.
    let after = items(&app, &user).await;
    for was in before.iter().filter(|was| was["type"] != "document") {
        assert!(after.contains(was), "{was}");
    }
}
