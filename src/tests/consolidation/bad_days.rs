use keepsake::consolidation::AskLimits;
use keepsake::providers::chat::ChatPurpose;
use keepsake::sessions::model::{DueExtraction, SessionExtraction};
use keepsake::sessions::{SessionId, ledger as session_ledger};
use serde_json::{Value, json};
use time::Duration;
use wiremock::ResponseTemplate;

use super::{
    active, assert_has, fact, finding, finding_anna, items, ledger, read_due, told, user_of,
    user_says, with_model,
};
use crate::chat::{set_limits, without};
use crate::support::{ChatServer, DueNow, TestApp, TestUser, refused, said};

const TALK: &str = "My name is Anna. Can you help me with the shelf?";

/// Anna with one session, which is due.
async fn with_talk(model: &ChatServer) -> (TestApp, TestUser) {
    let (app, user) = with_model(model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    (app, user)
}

async fn first_due(app: &TestApp) -> DueExtraction {
    app.consolidation.due().await.unwrap()[0]
}

/// Begins to read it, as a process does that is killed then.
async fn claim(app: &TestApp, due: DueExtraction) -> SessionExtraction {
    let (user, now) = (due.user, app.embeddings.now());
    let mut tx = app.db.as_user(user).await.unwrap();
    let claimed = session_ledger::claim(&mut tx, user, due.extraction, now).await;
    tx.commit().await.unwrap();
    claimed.unwrap().expect("it is due")
}

/// A model that finds Anna's name, and says that this cost 6,100 tokens.
async fn costly() -> ChatServer {
    let facts = json!({ "facts": [fact("profile", "name", "Anna", "user_explicit", "")] });
    ChatServer::answering(move |_, _| {
        ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{ "message": { "role": "assistant", "content": facts.to_string() } }],
            "usage": { "prompt_tokens": 6_000, "completion_tokens": 100 },
        }))
    })
    .await
}

/// Each of these parts was told to the model in one call alone.
fn assert_told_once(model: &ChatServer, parts: impl Iterator<Item = String>) {
    let told: Vec<String> =
        model.asked().iter().map(|one| one.body["messages"][1].to_string()).collect();
    for part in parts {
        assert_eq!(told.iter().filter(|text| text.contains(&part)).count(), 1, "{part}");
    }
}

#[tokio::test]
async fn nonsense_twice_lets_patterns_store_what_they_can_and_the_model_is_tried_again() {
    let name = fact("profile", "name", "Anna", "user_explicit", "My name is Anna");
    let model = ChatServer::answering(move |_, before| match before {
        0 | 1 => said("I would be glad to help you with that!"),
        _ => said(&json!({ "facts": [name] }).to_string()),
    })
    .await;
    let (app, user) = with_talk(&model).await;

    read_due(&app).await;
    let row = ledger(&user, "talk").await;
    assert_has(&row, json!({ "outcome": "failed", "stored": 0 }));
    assert!(row["next_try_at"].is_string(), "{row}");
    assert_eq!(read_due(&app).await, 0, "not before its time");

    app.clock.advance(Duration::minutes(2));
    assert_eq!(read_due(&app).await, 1);
    let failed = json!({ "outcome": "failed", "fallback": true });
    assert_has(&ledger(&user, "talk").await, failed);
    assert_eq!(active(&app, &user).await, ["My name is Anna."]);

    app.clock.advance(Duration::minutes(10));
    assert_eq!(read_due(&app).await, 1);
    let stored = json!({ "outcome": "stored", "fallback": false });
    assert_has(&ledger(&user, "talk").await, stored);
    assert_eq!(active(&app, &user).await, ["Anna"], "the model's takes the pattern's place");
    app.clock.advance(Duration::days(1));
    assert_eq!(read_due(&app).await, 0);
}

#[tokio::test]
async fn a_model_that_fails_says_why_and_is_left_alone_after_eight_tries() {
    let model = ChatServer::answering(|_, _| refused(500, "oom")).await;
    let (app, user) = with_model(&model).await;
    told(&user, "talk", &[user_says("m1", "Nothing lasting.")]).await;
    for _ in 0..8 {
        assert_eq!(read_due(&app).await, 1);
        let row = ledger(&user, "talk").await;
        assert_eq!(row["outcome"], "failed");
        assert!(row["reason"].as_str().unwrap().contains("500"), "{row}");
        app.clock.advance(Duration::hours(7));
    }
    assert_eq!(read_due(&app).await, 0);
    assert!(ledger(&user, "talk").await["next_try_at"].is_null());
}

#[tokio::test]
async fn a_cap_in_the_middle_keeps_what_was_found_and_goes_on_tomorrow() {
    let model = costly().await;
    let (app, user) = with_model(&model).await;
    // One window of 12,000 characters may come to some 6,000 tokens, and comes to 6,100.
    set_limits(&app, &user, "10000", without(ChatPurpose::Summary)).await;
    let messages: Vec<_> = (0..300)
        .map(|n| user_says(&format!("m{n}"), &format!("part{n} {}", "words ".repeat(20))))
        .collect();
    told(&user, "long", &messages).await;
    let mut days = 0;
    loop {
        assert_eq!(read_due(&app).await, 1);
        let rows = all_rows(&app).await;
        let rest = rows.last().unwrap();
        if rest["outcome"] != "skipped" {
            break;
        }
        // What was read is done with; the rest says why it waits, and until when.
        assert!(rest["reason"].as_str().unwrap().contains("tokens"), "{rest}");
        assert!(rest["next_try_at"].is_string() && rest["tokens_in"] == 0, "{rest}");
        assert_eq!(rows[0]["outcome"], "stored");
        assert_eq!(active(&app, &user).await, ["Anna"], "no fact twice");
        assert_eq!(read_due(&app).await, 0, "not today");
        app.clock.advance(Duration::days(1));
        days += 1;
    }
    assert!(days >= 2, "{days}");
    // No message was read twice, and none was left out.
    let mut next = 1;
    for row in all_rows(&app).await {
        assert_eq!(row["first_position"], next);
        next = row["last_position"].as_i64().unwrap() + 1;
    }
    assert_eq!(next, 301);
    assert_told_once(&model, (0..300).map(|n| format!("part{n} ")));
    assert_eq!(items(&app, &user).await.len(), 1);
}

#[tokio::test]
async fn a_first_message_longer_than_a_day_is_read_on_each_day_and_nothing_of_it_is_paid_twice() {
    let model = costly().await;
    let (app, user) = with_model(&model).await;
    set_limits(&app, &user, "10000", without(ChatPurpose::Summary)).await;
    let parts: String = (0..2_000).map(|n| format!("part{n} and some words. ")).collect();
    told(&user, "long", &[user_says("m1", &parts), user_says("m2", "Thanks.")]).await;
    let mut days = 0;
    while days < 30 {
        assert_eq!(read_due(&app).await, 1);
        let row = ledger(&user, "long").await;
        if row["outcome"] != "skipped" {
            break;
        }
        assert_eq!(row["attempts"], 0, "a day without tokens is no attempt: {row}");
        assert_eq!(active(&app, &user).await, ["Anna"], "what was read is kept");
        app.clock.advance(Duration::days(1));
        days += 1;
    }
    assert!((2..30).contains(&days), "{days}");
    let read = [0, 1, 777, 1_500, 1_999].into_iter();
    assert_told_once(&model, read.map(|n| format!("part{n} and")));
    let stored =
        json!({ "outcome": "stored", "attempts": 1, "tokens_in": 6_000 * model.asked().len() });
    assert_has(&ledger(&user, "long").await, stored);
    assert_eq!(items(&app, &user).await.len(), 1);
}

async fn all_rows(app: &TestApp) -> Vec<Value> {
    app.sql("SELECT to_jsonb(e) FROM session_extractions e ORDER BY first_position").values().await
}

#[tokio::test]
async fn with_memory_off_nothing_is_read() {
    let model = finding(json!([]), "unrelated").await;
    let (app, user) = with_talk(&model).await;
    app.accounts.switch_user_memory(user.id, false).await.unwrap();
    assert_eq!(read_due(&app).await, 1);
    app.accounts.switch_user_memory(user.id, true).await.unwrap();
    let skipped = json!({ "outcome": "skipped", "reason": "memory is switched off" });
    assert_has(&ledger(&user, "talk").await, skipped);
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn two_readers_at_once_keep_each_fact_once_and_two_servers_read_once() {
    let model = finding_anna().await;
    let (app, user) = with_talk(&model).await;
    let consolidation = app.consolidation.clone();
    let due = first_due(&app).await;
    // As processes that lost their place and woke up late.
    let readings = (0..8).map(|_| consolidation.extract(due));
    for ended in futures_util::future::join_all(readings).await {
        ended.unwrap();
    }
    assert_eq!(items(&app, &user).await.len(), 1);

    told(&user, "talk", &[user_says("m2", "More.")]).await;
    let asked = model.asked().len();
    let twin = app.twin().await;
    tokio::join!(app.run_due(), twin.run_due());
    assert_eq!(model.asked().len(), asked + 1);
    assert_eq!(items(&app, &user).await.len(), 1);
}

#[tokio::test]
async fn a_reading_that_never_comes_to_its_end_is_given_up_and_the_ledger_says_so() {
    let model = finding(json!([]), "unrelated").await;
    let (app, user) = with_talk(&model).await;
    for _ in 0..16 {
        claim(&app, first_due(&app).await).await;
        app.clock.advance(Duration::minutes(2));
    }
    assert_eq!(read_due(&app).await, 1);
    let row = ledger(&user, "talk").await;
    assert_has(&row, json!({ "outcome": "failed", "next_try_at": null }));
    assert!(row["reason"].as_str().unwrap().contains("in the middle"), "{row}");
    assert!(model.asked().is_empty());
    // Its person may try once more.
    let session = SessionId(app.sql("SELECT id FROM sessions").value().await);
    let again = session_ledger::read_again(&app.db, user.id, session, 1, app.embeddings.now());
    assert!(again.await.unwrap());
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(ledger(&user, "talk").await["outcome"], "nothing");
}

#[tokio::test]
async fn whoever_falls_over_a_session_leaves_it_failed_and_due_again() {
    let model = finding_anna().await;
    let (app, user) = with_talk(&model).await;
    let due = first_due(&app).await;
    claim(&app, due).await;
    app.consolidation.record_panic(due).await.unwrap();
    let row = ledger(&user, "talk").await;
    assert_eq!(row["outcome"], "failed");
    assert!(row["next_try_at"].is_string(), "{row}");
    app.clock.advance(Duration::minutes(2));
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(active(&app, &user).await, ["Anna"]);
}

#[tokio::test]
async fn a_model_that_says_nothing_is_given_up_at_its_deadline() {
    let model = ChatServer::answering(|_, _| {
        said("{\"facts\": []}").set_delay(std::time::Duration::from_secs(20))
    })
    .await;
    let (app, user) = with_talk(&model).await;
    let limits =
        AskLimits { call_deadline: std::time::Duration::from_millis(300), ..AskLimits::default() };
    let consolidation = app.consolidation.clone().with_limits(limits);
    consolidation.extract(first_due(&app).await).await.unwrap();
    let row = ledger(&user, "talk").await;
    assert_eq!(row["outcome"], "failed");
    assert!(row["next_try_at"].is_string(), "{row}");
    // What it may have cost counts.
    let spent: i64 =
        app.sql("SELECT sum(tokens_in + tokens_out)::bigint FROM chat_spend").value().await;
    assert!(spent > 100, "{spent}");
}

#[tokio::test]
async fn a_session_behind_one_that_is_read_waits_its_turn_and_one_user_holds_up_no_other() {
    let app = TestApp::start().await;
    let model = finding(json!([]), "unrelated").await;
    let (anna, ben) = (user_of(&app, "anna", &model).await, user_of(&app, "ben", &model).await);
    for n in 0..3 {
        told(&anna, &format!("talk-{n}"), &[user_says("m1", TALK)]).await;
    }
    told(&ben, "talk", &[user_says("m1", TALK)]).await;
    let consolidation = app.consolidation.clone();
    let mut due = consolidation.due().await.unwrap();
    due.sort_by_key(|one| one.user.0);
    let users: Vec<_> = due.iter().map(|one| one.user).collect();
    assert_eq!(users, [anna.id, ben.id], "one of each");
    // Of one session the first stretch comes first, and while it is read the second is not due.
    told(&ben, "talk", &[user_says("m2", "More.")]).await;
    let of_ben = consolidation.next_due(ben.id).await.unwrap();
    let (first, now) = of_ben.expect("it is due");
    assert_eq!(first, due[1]);
    claim(&app, first).await;
    let next = consolidation.next_due(ben.id).await.unwrap();
    assert_eq!(next, Some((first, now)), "it has not ended");
}

#[tokio::test]
async fn a_reader_that_was_killed_is_followed_by_another_and_comes_too_late_itself() {
    let model = finding_anna().await;
    let (app, user) = with_talk(&model).await;
    let killed = claim(&app, first_due(&app).await).await;
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(items(&app, &user).await.len(), 1);
    let mut tx = app.db.as_user(user.id).await.unwrap();
    let is_ours = session_ledger::is_ours(&mut tx, user.id, &killed).await;
    assert!(!is_ours.unwrap());
}
