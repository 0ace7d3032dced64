use keepsake::consolidation::AskLimits;
use keepsake::providers::chat::{Allowance, Allowances, ChatLimits, ChatPurpose};
use keepsake::sessions::ledger as session_ledger;
use serde_json::json;
use time::Duration;
use wiremock::ResponseTemplate;

use super::{active, fact, finding, items, ledger, prose, read_due, told, user_of, user_says};
use crate::chat::chat;
use crate::support::{ChatServer, DueNow, TestApp, refused, said};

fn without_summary() -> Allowances {
    let off = Allowance { is_on: false, share: 100 };
    Allowances::default().with(ChatPurpose::Summary, off)
}

const TALK: &str = "My name is Anna. Can you help me with the shelf?";

#[tokio::test]
async fn without_a_model_the_ledger_says_so() {
    let (app, user) = TestApp::start_for("anna").await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    read_due(&app).await;
    let row = ledger(&user, "talk").await;
    assert_eq!(row["outcome"], "skipped");
    assert!(row["reason"].as_str().unwrap().contains("no chat model"), "{row}");
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
    assert_eq!((&row["outcome"], &row["stored"]), (&json!("failed"), &json!(0)), "{row}");
    assert!(row["next_try_at"].is_string(), "{row}");
    assert_eq!(read_due(&app).await, 0, "not before its time");

    app.clock.advance(Duration::minutes(2));
    assert_eq!(read_due(&app).await, 1);
    let row = ledger(&user, "talk").await;
    assert_eq!((&row["outcome"], &row["fallback"]), (&json!("failed"), &json!(true)), "{row}");
    assert_eq!(active(&app, &user).await, ["My name is Anna."]);

    app.clock.advance(Duration::minutes(10));
    assert_eq!(read_due(&app).await, 1);
    let row = ledger(&user, "talk").await;
    assert_eq!((&row["outcome"], &row["fallback"]), (&json!("stored"), &json!(false)), "{row}");
    assert_eq!(active(&app, &user).await, ["Anna"], "the model's takes the pattern's place");
    app.clock.advance(Duration::days(1));
    assert_eq!(read_due(&app).await, 0);
}

#[tokio::test]
async fn a_model_that_fails_says_why_and_is_left_alone_after_eight_tries() {
    let app = TestApp::start().await;
    let model = ChatServer::answering(|_, _| refused(500, "oom")).await;
    let user = user_of(&app, "anna", &model).await;
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
    let app = TestApp::start().await;
    let facts = json!({ "facts": [fact("profile", "name", "Anna", "user_explicit", "")] });
    let model = ChatServer::answering(move |_, _| {
        ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{ "message": { "role": "assistant", "content": facts.to_string() } }],
            "usage": { "prompt_tokens": 6_000, "completion_tokens": 100 },
        }))
    })
    .await;
    let user = user_of(&app, "anna", &model).await;
    // One window of 12,000 characters may come to some 6,000 tokens, and comes to 6,100.
    let limits = ChatLimits { daily_token_cap: "10000", purposes: without_summary() };
    chat(&app).save_limits(user.id, limits).await.unwrap();
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
    let rows = all_rows(&app).await;
    let stretches = rows.iter().map(|row| (&row["first_position"], &row["last_position"]));
    let mut next = 1;
    for (first, last) in stretches {
        assert_eq!(first, next);
        next = last.as_i64().unwrap() + 1;
    }
    assert_eq!(next, 301);
    let told: Vec<String> =
        model.asked().iter().map(|one| one.body["messages"][1].to_string()).collect();
    for n in 0..300 {
        let part = format!("part{n} ");
        let times = told.iter().filter(|text| text.contains(&part)).count();
        assert_eq!(times, 1, "{part}");
    }
    assert_eq!(items(&app, &user).await.len(), 1);
}

#[tokio::test]
async fn a_first_message_longer_than_a_day_is_read_on_each_day_and_nothing_of_it_is_paid_twice() {
    let app = TestApp::start().await;
    let facts = json!({ "facts": [fact("profile", "name", "Anna", "user_explicit", "")] });
    let model = ChatServer::answering(move |_, _| {
        ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{ "message": { "role": "assistant", "content": facts.to_string() } }],
            "usage": { "prompt_tokens": 6_000, "completion_tokens": 100 },
        }))
    })
    .await;
    let user = user_of(&app, "anna", &model).await;
    let limits = ChatLimits { daily_token_cap: "10000", purposes: without_summary() };
    chat(&app).save_limits(user.id, limits).await.unwrap();
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
    let told: Vec<String> =
        model.asked().iter().map(|one| one.body["messages"][1].to_string()).collect();
    for n in [0, 1, 777, 1_500, 1_999] {
        let part = format!("part{n} and");
        let times = told.iter().filter(|text| text.contains(&part)).count();
        assert_eq!(times, 1, "{part}");
    }
    let row = ledger(&user, "long").await;
    assert_eq!((&row["outcome"], &row["attempts"]), (&json!("stored"), &json!(1)), "{row}");
    assert_eq!(row["tokens_in"], 6_000 * told.len(), "{row}");
    assert_eq!(items(&app, &user).await.len(), 1);
}

async fn all_rows(app: &TestApp) -> Vec<serde_json::Value> {
    app.sql("SELECT to_jsonb(e) FROM session_extractions e ORDER BY first_position").values().await
}

#[tokio::test]
async fn with_memory_off_nothing_is_read() {
    let app = TestApp::start().await;
    let model = finding(json!([]), "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    app.accounts.switch_user_memory(user.id, false).await.unwrap();
    assert_eq!(read_due(&app).await, 1);
    app.accounts.switch_user_memory(user.id, true).await.unwrap();
    let row = ledger(&user, "talk").await;
    assert_eq!(
        (&row["outcome"], &row["reason"]),
        (&json!("skipped"), &json!("memory is switched off"))
    );
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn two_readers_at_once_keep_each_fact_once_and_two_servers_read_once() {
    let app = TestApp::start().await;
    let model =
        finding(json!([fact("profile", "name", "Anna", "user_explicit", "")]), "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    let consolidation = app.consolidation();
    let due = consolidation.due().await.unwrap()[0];
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
    let app = TestApp::start().await;
    let model = finding(json!([]), "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    let consolidation = app.consolidation();
    for _ in 0..16 {
        let due = consolidation.due().await.unwrap()[0];
        let now = app.embeddings.now();
        let mut tx = app.db.as_user(user.id).await.unwrap();
        session_ledger::claim(&mut tx, user.id, due.extraction, now).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        app.clock.advance(Duration::minutes(2));
    }
    assert_eq!(read_due(&app).await, 1);
    let row = ledger(&user, "talk").await;
    assert_eq!((&row["outcome"], &row["next_try_at"]), (&json!("failed"), &json!(null)), "{row}");
    assert!(row["reason"].as_str().unwrap().contains("in the middle"), "{row}");
    assert!(model.asked().is_empty());
    // Its person may try once more.
    let session = due_session(&app).await;
    let again = session_ledger::read_again(&app.db, user.id, session, 1, app.embeddings.now());
    assert!(again.await.unwrap());
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(ledger(&user, "talk").await["outcome"], "nothing");
}

async fn due_session(app: &TestApp) -> keepsake::sessions::SessionId {
    let id = sqlx::query_scalar("SELECT id FROM sessions");
    keepsake::sessions::SessionId(id.fetch_one(&mut app.superuser().await).await.unwrap())
}

#[tokio::test]
async fn whoever_falls_over_a_session_leaves_it_failed_and_due_again() {
    let app = TestApp::start().await;
    let model =
        finding(json!([fact("profile", "name", "Anna", "user_explicit", "")]), "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    let consolidation = app.consolidation();
    let due = consolidation.due().await.unwrap()[0];
    let now = app.embeddings.now();
    let mut tx = app.db.as_user(user.id).await.unwrap();
    session_ledger::claim(&mut tx, user.id, due.extraction, now).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    consolidation.record_panic(due).await.unwrap();
    let row = ledger(&user, "talk").await;
    assert_eq!(row["outcome"], "failed");
    assert!(row["next_try_at"].is_string(), "{row}");
    app.clock.advance(Duration::minutes(2));
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(active(&app, &user).await, ["Anna"]);
}

#[tokio::test]
async fn a_model_that_says_nothing_is_given_up_at_its_deadline() {
    let app = TestApp::start().await;
    let model = ChatServer::answering(|_, _| {
        said("{\"facts\": []}").set_delay(std::time::Duration::from_secs(20))
    })
    .await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    let limits =
        AskLimits { call_deadline: std::time::Duration::from_millis(300), ..AskLimits::default() };
    let consolidation = app.consolidation().with_limits(limits);
    let due = consolidation.due().await.unwrap()[0];
    consolidation.extract(due).await.unwrap();
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
    let consolidation = app.consolidation();
    let mut due = consolidation.due().await.unwrap();
    due.sort_by_key(|one| one.user.0);
    let users: Vec<_> = due.iter().map(|one| one.user).collect();
    assert_eq!(users, [anna.id, ben.id], "one of each");
    // Of one session the first stretch comes first, and while it is read the second is not due.
    told(&ben, "talk", &[user_says("m2", "More.")]).await;
    let of_ben = consolidation.next_due(ben.id).await.unwrap();
    let (first, now) = of_ben.expect("it is due");
    assert_eq!(first, due[1]);
    let mut tx = app.db.as_user(ben.id).await.unwrap();
    let claimed = session_ledger::claim(&mut tx, ben.id, first.extraction, now).await;
    claimed.unwrap().expect("it is due");
    tx.commit().await.unwrap();
    let next = consolidation.next_due(ben.id).await.unwrap();
    assert_eq!(next, Some((first, now)), "it has not ended");
}

#[tokio::test]
async fn a_reader_that_was_killed_is_followed_by_another_and_comes_too_late_itself() {
    let app = TestApp::start().await;
    let model =
        finding(json!([fact("profile", "name", "Anna", "user_explicit", "")]), "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    told(&user, "talk", &[user_says("m1", TALK)]).await;
    let now = app.embeddings.now();
    let next = session_ledger::next_due(&app.db, user.id, now).await;
    let (due, _) = next.unwrap().expect("it is due");
    let mut tx = app.db.as_user(user.id).await.unwrap();
    let killed = session_ledger::claim(&mut tx, user.id, due.extraction, now).await;
    let killed = killed.unwrap().unwrap();
    tx.commit().await.unwrap();
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(items(&app, &user).await.len(), 1);
    let mut tx = app.db.as_user(user.id).await.unwrap();
    let is_ours = session_ledger::is_ours(&mut tx, user.id, &killed).await;
    assert!(!is_ours.unwrap());
}
