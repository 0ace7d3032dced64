use keepsake::consolidation::Consolidation;
use keepsake::providers::chat::ChatLimits;
use keepsake::sessions::ledger as session_ledger;
use serde_json::json;
use time::Duration;
use wiremock::ResponseTemplate;

use super::{active, fact, finding, items, ledger, prose, read_due, told, user_of, user_says};
use crate::chat::chat;
use crate::support::{ChatServer, TestApp, refused, said};

const TALK: &str = "My name is Anna. Can you help me with the shelf?";

#[tokio::test]
async fn without_a_model_the_ledger_says_so() {
    let app = TestApp::start().await;
    let user = app.user("anna").await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    read_due(&app).await;
    let row = ledger(&user, "talk").await;
    assert_eq!(row["outcome"], "skipped");
    assert!(
        row["reason"].as_str().unwrap().contains("no chat model"),
        "{row}"
    );
    assert_eq!(items(&app, &user).await, Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn nonsense_twice_lets_patterns_store_what_they_can_and_the_model_is_tried_again() {
    let app = TestApp::start().await;
    let model = ChatServer::answering(|_, before| match before {
        0 | 1 => prose(),
        _ => said(&json!({ "facts": [fact("profile", "name", "Anna", "user_explicit", "My name is Anna")] }).to_string()),
    })
    .await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;

    read_due(&app).await;
    let row = ledger(&user, "talk").await;
    assert_eq!(
        (&row["outcome"], &row["stored"]),
        (&json!("failed"), &json!(0)),
        "{row}"
    );
    assert!(row["next_try_at"].is_string(), "{row}");
    assert_eq!(read_due(&app).await, 0, "not before its time");

    app.clock.advance(Duration::minutes(2));
    assert_eq!(read_due(&app).await, 1);
    let row = ledger(&user, "talk").await;
    assert_eq!(
        (&row["outcome"], &row["fallback"]),
        (&json!("failed"), &json!(true)),
        "{row}"
    );
    assert_eq!(active(&app, &user).await, ["My name is Anna."]);

    app.clock.advance(Duration::minutes(10));
    assert_eq!(read_due(&app).await, 1);
    let row = ledger(&user, "talk").await;
    assert_eq!(
        (&row["outcome"], &row["fallback"]),
        (&json!("stored"), &json!(false)),
        "{row}"
    );
    assert_eq!(
        active(&app, &user).await,
        ["Anna"],
        "the model's takes the pattern's place"
    );
    app.clock.advance(Duration::days(1));
    assert_eq!(read_due(&app).await, 0);
}

#[tokio::test]
async fn a_model_that_fails_says_why_and_is_left_alone_after_eight_tries() {
    let app = TestApp::start().await;
    let model = ChatServer::answering(|_, _| refused(500, "oom")).await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", "Nothing that lasts.")]).await;
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
    let app = TestApp::start().await;
    let facts = json!({ "facts": [fact("profile", "name", "Anna", "user_explicit", "")] });
    let model = ChatServer::answering(move |_, _| {
        ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{ "message": { "role": "assistant", "content": facts.to_string() } }],
            "usage": { "prompt_tokens": 4_000, "completion_tokens": 100 },
        }))
    })
    .await;
    let user = user_of(&app, "anna", &model).await;
    // One window of 12,000 characters comes to some 5,000 tokens, and its answer to 2,048.
    let limits = ChatLimits {
        daily_token_cap: "9000",
        summary_enabled: false,
    };
    chat(&app).save_limits(user.id, limits).await.unwrap();
    let messages: Vec<_> = (0..200)
        .map(|n| {
            user_says(
                &format!("m{n}"),
                &format!("part{n} {}", "words ".repeat(20)),
            )
        })
        .collect();
    told(&user, "long", &messages).await;
    read_due(&app).await;
    let row = ledger(&user, "long").await;
    assert_eq!(
        (&row["outcome"], &row["stored"]),
        (&json!("skipped"), &json!(1)),
        "{row}"
    );
    assert!(row["reason"].as_str().unwrap().contains("tokens"), "{row}");
    assert_eq!(active(&app, &user).await, ["Anna"]);
    let asked = model.asked().len();
    app.clock.advance(Duration::days(1));
    assert_eq!(read_due(&app).await, 1);
    assert!(model.asked().len() > asked);
    assert_eq!(active(&app, &user).await, ["Anna"], "no fact twice");
}

#[tokio::test]
async fn with_memory_off_nothing_is_read() {
    let app = TestApp::start().await;
    let model = finding(json!([]), "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    app.accounts
        .switch_user_memory(user.id, false)
        .await
        .unwrap();
    assert_eq!(read_due(&app).await, 1);
    app.accounts
        .switch_user_memory(user.id, true)
        .await
        .unwrap();
    let row = ledger(&user, "talk").await;
    assert_eq!(
        (&row["outcome"], &row["reason"]),
        (&json!("skipped"), &json!("memory is switched off"))
    );
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn two_readers_at_once_keep_each_fact_once() {
    let app = TestApp::start().await;
    let model = finding(
        json!([fact("profile", "name", "Anna", "user_explicit", "")]),
        "unrelated",
    )
    .await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    let consolidation = Consolidation::new(app.db.clone(), app.embeddings.clone());
    let due = consolidation.due().await.unwrap()[0];
    let readings = (0..8).map(|_| consolidation.extract(due));
    for ended in futures_util::future::join_all(readings).await {
        ended.unwrap();
    }
    assert_eq!(model.asked().len(), 1);
    assert_eq!(items(&app, &user).await.len(), 1);
}

#[tokio::test]
async fn a_reader_that_was_killed_is_followed_by_another_and_comes_too_late_itself() {
    let app = TestApp::start().await;
    let model = finding(
        json!([fact("profile", "name", "Anna", "user_explicit", "")]),
        "unrelated",
    )
    .await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    let now = app.embeddings.now();
    let due = session_ledger::due_extractions(&app.db, now, 10)
        .await
        .unwrap()[0];
    let mut tx = app.db.as_user(user.id).await.unwrap();
    let killed = session_ledger::claim(
        &mut tx,
        user.id,
        due.extraction,
        now,
        now + Duration::minutes(4),
    )
    .await
    .unwrap()
    .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(read_due(&app).await, 0, "somebody is at it");
    app.clock.advance(Duration::minutes(5));
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(items(&app, &user).await.len(), 1);
    let mut tx = app.db.as_user(user.id).await.unwrap();
    let until = app.embeddings.now() + Duration::minutes(4);
    assert!(
        !session_ledger::renew(&mut tx, user.id, &killed, until)
            .await
            .unwrap()
    );
}
