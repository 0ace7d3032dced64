//! What was known and what is said now: a changed value supersedes, a repeated one renews, and
//! what is older takes no newer one's place.

use serde_json::{Value, json};
use time::Duration;
use time::format_description::well_known::Rfc3339;

use super::{
    active, fact, finding, is_comparison, items, ledger, read_due, told, user_of, user_says,
};
use crate::support::{ChatServer, DueNow, TestApp, TestUser, said};

/// Answers the session that says so many words with these facts, and compares by `relation`.
async fn answering(sessions: Vec<(&'static str, Value)>, relation: &'static str) -> ChatServer {
    ChatServer::answering(move |body, _| {
        let text = body["messages"][1]["content"].as_str().unwrap_or_default();
        if is_comparison(body) {
            let pairs = text.matches("<pair ").count();
            return said(&json!({ "relations": vec![relation; pairs] }).to_string());
        }
        let facts = sessions.iter().find(|(words, _)| text.contains(words));
        said(&json!({ "facts": facts.map(|(_, facts)| facts) }).to_string())
    })
    .await
}

async fn one_after_the_other(app: &TestApp, user: &TestUser, sessions: &[&str]) {
    for text in sessions {
        told(user, text, &[user_says("m1", text)]).await;
        assert_eq!(read_due(app).await, 1);
        app.drain(user).await;
        app.clock.advance(Duration::minutes(1));
    }
}

#[tokio::test]
async fn a_changed_value_of_a_key_supersedes_however_alike_the_words_are() {
    for (older, newer) in [
        ("Lives in the old town of Graz, Austria", "Lives in the old town of Linz, Austria"),
        (
            "Loves Rust for command line tools and servers",
            "Hates Rust for command line tools and servers",
        ),
        (
            "Isst zu Hause am Abend gern ein Stück Fleisch",
            "Isst zu Hause am Abend nicht gern ein Stück Fleisch",
        ),
    ] {
        let app = TestApp::start().await;
        let of = |value: &str| json!([fact("profile", "it", value, "user_explicit", "")]);
        let model = answering(vec![("first", of(older)), ("second", of(newer))], "same").await;
        let user = user_of(&app, "anna", &model).await;
        one_after_the_other(&app, &user, &["first", "second"]).await;
        assert_eq!(active(&app, &user).await, [newer]);
        let all = items(&app, &user).await;
        assert_eq!(all[0]["superseded_by"], all[1]["id"], "{all:?}");
    }
}

#[tokio::test]
async fn words_alone_merge_no_changed_value_under_another_key() {
    let app = TestApp::start().await;
    let of = |key: &str, value: &str| json!([fact("profile", key, value, "user_explicit", "")]);
    let (graz, linz) =
        ("Lives in the old town of Graz, Austria", "Lives in the old town of Linz, Austria");
    let sessions = vec![
        ("first", of("home", graz)),
        ("second", of("home_town", linz)),
        ("third", of("residence", "lives in old town of Linz (Austria)")),
    ];
    let model = answering(sessions, "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    one_after_the_other(&app, &user, &["first", "second", "third"]).await;
    assert_eq!(active(&app, &user).await, [graz, linz]);
}

#[tokio::test]
async fn one_value_under_two_keys_is_two_facts_also_where_a_model_calls_them_the_same() {
    let app = TestApp::start_with_builtin().await;
    let of = |key: &str| fact("profile", key, "Anna", "user_explicit", "");
    let sessions = vec![
        ("first", json!([of("name"), of("daughter_name")])),
        ("second", json!([of("cat_name"), of("name")])),
    ];
    let model = answering(sessions, "same").await;
    let user = user_of(&app, "anna", &model).await;
    one_after_the_other(&app, &user, &["first", "second"]).await;
    let all = items(&app, &user).await;
    let mut keys: Vec<&str> = all.iter().map(|i| i["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["cat_name", "daughter_name", "name"]);
    assert!(all.iter().all(|item| item["status"] == "active"));
    // A model is shown what a bare value is about.
    let asked = model.asked();
    let compared = asked.iter().find(|one| is_comparison(&one.body));
    let pair = compared.unwrap().body["messages"][1]["content"].to_string();
    assert!(pair.contains("newer: cat_name: Anna"), "{pair}");
}

#[tokio::test]
async fn a_correction_later_in_the_same_session_wins_whatever_order_and_clock_say() {
    let app = TestApp::start().await;
    // The model names the later one first.
    let model = finding(
        json!([
            fact(
                "profile",
                "home",
                "Lives in Linz since May",
                "user_explicit",
                "no, Linz since May"
            ),
            fact("profile", "home", "Lives in Graz", "user_explicit", "I live in Graz"),
        ]),
        "unrelated",
    )
    .await;
    let user = user_of(&app, "anna", &model).await;
    let now = app.embeddings.now();
    let sent = |ago: i64| (now - Duration::minutes(ago)).format(&Rfc3339).unwrap();
    told(
        &user,
        "talk",
        &[
            json!({ "id": "m1", "role": "user", "content": "I live in Graz.", "created_at": sent(1) }),
            json!({ "id": "m2", "role": "assistant", "content": "Noted.", "created_at": sent(1) }),
            // Sent by a device whose clock is slow.
            json!({ "id": "m3", "role": "user", "content": "Ah no, Linz since May.", "created_at": sent(9) }),
        ],
    )
    .await;
    read_due(&app).await;
    assert_eq!(active(&app, &user).await, ["Lives in Linz since May"]);
    let all = items(&app, &user).await;
    let graz = all.iter().find(|i| i["content"] == "Lives in Graz").unwrap();
    assert!(graz["superseded_by"].is_i64(), "{graz}");
}

/// A session whose messages were sent so many days ago.
async fn told_late(app: &TestApp, user: &TestUser, session: &str, content: &str, days: i64) {
    let sent = app.embeddings.now() - Duration::days(days);
    let message = json!({ "id": "m1", "role": "user", "content": content,
                          "created_at": sent.format(&Rfc3339).unwrap() });
    told(user, session, &[message]).await;
    assert_eq!(read_due(app).await, 1);
}

#[tokio::test]
async fn a_session_read_late_supersedes_nothing_that_was_said_after_it() {
    let (vienna, graz) = ("The office is in Vienna", "The office is in Graz");
    // Whether or not the words are found in the message, which would date them.
    for context in [graz, "nothing of the kind"] {
        let app = TestApp::start_with_builtin().await;
        let sessions =
            vec![("Hello", json!([fact("profile", "office", graz, "user_explicit", context)]))];
        let model = answering(sessions, "contradicts").await;
        let user = user_of(&app, "anna", &model).await;
        user.add_to("work", vienna).await;
        app.drain(&user).await;
        told_late(&app, &user, "old", &format!("Hello. {context}."), 3).await;
        assert!(model.asked().iter().any(|asked| is_comparison(&asked.body)));
        assert_eq!(active(&app, &user).await, [vienna], "{context}");
        let all = items(&app, &user).await;
        assert_eq!(all[1]["superseded_by"], all[0]["id"], "{all:?}");
    }
}

#[tokio::test]
async fn what_was_said_again_since_is_newer_than_a_session_read_late() {
    let app = TestApp::start().await;
    let of = |value: &str| json!([fact("profile", "home", value, "user_explicit", "")]);
    let sessions = vec![("Hello", of("Lives in Linz")), ("Again", of("Lives in Graz"))];
    let model = answering(sessions, "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    told_late(&app, &user, "first", "Again: Lives in Graz.", 9).await;
    told_late(&app, &user, "second", "Again: Lives in Graz.", 1).await;
    told_late(&app, &user, "late", "Hello. Lives in Linz.", 5).await;
    assert_eq!(active(&app, &user).await, ["Lives in Graz"]);
}

#[tokio::test]
async fn what_contradicts_a_confirmed_item_is_kept_archived_beside_it() {
    let app = TestApp::start_with_builtin().await;
    let (vienna, graz) = ("The office is in Vienna", "The office is in Graz");
    let sessions = vec![("Hello", json!([fact("profile", "office", graz, "conversation", "")]))];
    let model = answering(sessions, "contradicts").await;
    let user = user_of(&app, "anna", &model).await;
    let id = user.add_to("work", vienna).await;
    user.call("memory_confirm", json!({ "item_id": id })).await;
    app.drain(&user).await;
    app.clock.advance(Duration::minutes(1));
    told(&user, "talk", &[user_says("m1", "Hello.")]).await;
    read_due(&app).await;
    assert_eq!(active(&app, &user).await, [vienna]);
    let all = items(&app, &user).await;
    assert_eq!(all[1]["superseded_by"], id, "{all:?}");
}

#[tokio::test]
async fn what_is_read_again_is_verified_and_keeps_its_expiry_and_tags() {
    let app = TestApp::start().await;
    let value = "Is in Norway until the end of May";
    let sessions = vec![("Hello", json!([fact("profile", "trip", value, "user_explicit", value)]))];
    let model = answering(sessions, "unrelated").await;
    let user = user_of(&app, "anna", &model).await;
    let item = json!({ "type": "fact", "content": value, "theme": "profile", "key": "trip",
                       "tags": ["travel"], "expires_in_days": 30 });
    let id = user.call("memory_add", item).await["id"].clone();
    let before = user.call("memory_get", json!({ "item_id": id })).await;
    app.clock.advance(Duration::days(2));
    told(&user, "talk", &[user_says("m1", &format!("Hello. {value}."))]).await;
    read_due(&app).await;
    let after = user.call("memory_get", json!({ "item_id": id })).await;
    assert_eq!(after["confidence"], 90);
    assert!(after["last_verified_at"].is_string(), "{after}");
    assert_eq!(
        (&after["tags"], &after["expires_at"], &after["protected"]),
        (&before["tags"], &before["expires_at"], &json!(false))
    );
    // A person has not confirmed it by that.
    let browser = app.signed_in(&user).await;
    let (_, page) = browser.get(&format!("/memory/{id}")).await;
    assert!(!page.contains("Confirmed") && page.contains("Last stated"), "{page}");
    user.call("memory_confirm", json!({ "item_id": id })).await;
    let (_, page) = browser.get(&format!("/memory/{id}")).await;
    assert!(page.contains("onfirmed"));
}

async fn finding_anna() -> ChatServer {
    let anna = fact("profile", "name", "Anna", "user_explicit", "");
    finding(json!([anna]), "unrelated").await
}

/// Reads a session of several windows, and does this while the first of them is read.
async fn read_while(app: &TestApp, model: &ChatServer, meanwhile: impl Future<Output = ()>) {
    let consolidation = app.consolidation();
    let due = consolidation.due().await.unwrap()[0];
    let held = model.hold();
    let reading = tokio::spawn(async move { consolidation.extract(due).await });
    model.until_asked().await;
    meanwhile.await;
    drop(held);
    reading.await.unwrap().unwrap();
}

async fn told_at_length(user: &TestUser) {
    let messages: Vec<Value> =
        (0..300).map(|n| user_says(&format!("m{n}"), &"words ".repeat(25))).collect();
    told(user, "long", &messages).await;
}

#[tokio::test]
async fn after_memory_is_switched_off_no_further_window_is_sent_and_nothing_is_kept() {
    let app = TestApp::start().await;
    let model = finding_anna().await;
    let user = user_of(&app, "anna", &model).await;
    told_at_length(&user).await;
    let off = async { app.accounts.switch_user_memory(user.id, false).await.unwrap() };
    read_while(&app, &model, off).await;
    assert_eq!(model.asked().len(), 1, "the second window was never sent");
    assert_eq!(items(&app, &user).await, Vec::<Value>::new());
    app.accounts.switch_user_memory(user.id, true).await.unwrap();
    let row = ledger(&user, "long").await;
    assert_eq!(
        (&row["outcome"], &row["reason"]),
        (&json!("skipped"), &json!("memory is switched off"))
    );
}

#[tokio::test]
async fn of_a_user_who_is_disabled_meanwhile_nothing_more_is_sent_until_they_are_back() {
    let app = TestApp::start().await;
    let model = finding_anna().await;
    let user = user_of(&app, "anna", &model).await;
    told_at_length(&user).await;
    let set = async |is_disabled: bool| {
        app.sql("UPDATE users SET disabled_at = CASE WHEN $2 THEN created_at END WHERE id = $1")
            .bind(user.id.0)
            .bind(is_disabled)
            .run()
            .await;
    };
    read_while(&app, &model, set(true)).await;
    assert_eq!(model.asked().len(), 1);
    assert_eq!(items(&app, &user).await, Vec::<Value>::new());
    app.clock.advance(Duration::minutes(2));
    assert_eq!(read_due(&app).await, 0);
    set(false).await;
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(active(&app, &user).await, ["Anna"]);
    assert!(model.asked().len() > 2);
}
