//! What was known and what is said now: a changed value supersedes, a repeated one renews, and
//! what is older takes no newer one's place.

use serde_json::{Value, json};
use time::Duration;
use time::format_description::well_known::Rfc3339;

use super::{
    active, answering, assert_has, fact, finding, finding_anna, is_comparison, items, ledger,
    one_after_the_other, read_due, told, user_of, user_says, with_model,
};
use crate::support::{ChatServer, DueNow, TestApp, TestUser};

#[tokio::test]
async fn a_changed_value_of_a_key_supersedes_however_alike_the_words_are() {
    for (frame, older, newer) in [
        ("Lives in the old town of _, Austria", "Graz", "Linz"),
        ("_ Rust for command line tools and servers", "Loves", "Hates"),
        ("Isst zu Hause am Abend _ ein Stück Fleisch", "gern", "nicht gern"),
    ] {
        let of = |word: &str| {
            json!([fact("profile", "it", &frame.replace('_', word), "user_explicit", "")])
        };
        let model = answering(vec![("first", of(older)), ("second", of(newer))], "same").await;
        let (app, user) = with_model(&model).await;
        one_after_the_other(&app, &user, &["first", "second"]).await;
        assert_eq!(active(&app, &user).await, [frame.replace('_', newer)]);
        let all = items(&app, &user).await;
        assert_eq!(all[0]["superseded_by"], all[1]["id"], "{all:?}");
    }
}

#[tokio::test]
async fn words_alone_merge_no_changed_value_under_another_key() {
    let of = |key: &str, value: &str| json!([fact("profile", key, value, "user_explicit", "")]);
    let (graz, linz) =
        ("Lives in the old town of Graz, Austria", "Lives in the old town of Linz, Austria");
    let sessions = vec![
        ("first", of("home", graz)),
        ("second", of("home_town", linz)),
        ("third", of("residence", "lives in old town of Linz (Austria)")),
    ];
    let model = answering(sessions, "unrelated").await;
    let (app, user) = with_model(&model).await;
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
    let of = |value, context| fact("profile", "home", value, "user_explicit", context);
    // The model names the later one first.
    let linz = of("Lives in Linz since May", "no, Linz since May");
    let facts = json!([linz, of("Lives in Graz", "I live in Graz")]);
    let model = finding(facts, "unrelated").await;
    let (app, user) = with_model(&model).await;
    let now = app.embeddings.now();
    let sent = |ago: i64| (now - Duration::minutes(ago)).format(&Rfc3339).unwrap();
    let messages = [
        json!({ "id": "m1", "role": "user", "content": "I live in Graz.", "created_at": sent(1) }),
        json!({ "id": "m2", "role": "assistant", "content": "Noted.", "created_at": sent(1) }),
        // Sent by a device whose clock is slow.
        json!({ "id": "m3", "role": "user", "content": "Ah no, Linz since May.", "created_at": sent(9) }),
    ];
    told(&user, "talk", &messages).await;
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
async fn what_contradicts_what_was_said_after_it_or_confirmed_is_kept_archived_beside_it() {
    let (vienna, graz) = ("The office is in Vienna", "The office is in Graz");
    for (source, context, is_confirmed, days) in [
        // A session read late, whether or not the words are found in the message, which would date them.
        ("user_explicit", graz, false, 3),
        ("user_explicit", "nothing of the kind", false, 3),
        ("conversation", "", true, 0),
    ] {
        let app = TestApp::start_with_builtin().await;
        let facts = json!([fact("profile", "office", graz, source, context)]);
        let model = finding(facts, "contradicts").await;
        let user = user_of(&app, "anna", &model).await;
        let id = user.add_to("work", vienna).await;
        if is_confirmed {
            app.confirm(&user, id).await;
        }
        app.drain(&user).await;
        app.clock.advance(Duration::minutes(1));
        told_late(&app, &user, "old", &format!("Hello. {context}."), days).await;
        assert!(model.asked().iter().any(|asked| is_comparison(&asked.body)), "{context}");
        assert_eq!(active(&app, &user).await, [vienna], "{context}, confirmed: {is_confirmed}");
        let all = items(&app, &user).await;
        assert_eq!(all[1]["superseded_by"], id, "{all:?}");
    }
}

#[tokio::test]
async fn what_was_said_again_since_is_newer_than_a_session_read_late() {
    let of = |value: &str| json!([fact("profile", "home", value, "user_explicit", "")]);
    let sessions = vec![("Hello", of("Lives in Linz")), ("Again", of("Lives in Graz"))];
    let model = answering(sessions, "unrelated").await;
    let (app, user) = with_model(&model).await;
    told_late(&app, &user, "first", "Again: Lives in Graz.", 9).await;
    told_late(&app, &user, "second", "Again: Lives in Graz.", 1).await;
    told_late(&app, &user, "late", "Hello. Lives in Linz.", 5).await;
    assert_eq!(active(&app, &user).await, ["Lives in Graz"]);
}

#[tokio::test]
async fn what_is_read_again_is_verified_and_keeps_its_expiry_and_tags() {
    let value = "Is in Norway until the end of May";
    let facts = json!([fact("profile", "trip", value, "user_explicit", value)]);
    let model = finding(facts, "unrelated").await;
    let (app, user) = with_model(&model).await;
    let item = json!({ "type": "fact", "content": value, "theme": "profile", "key": "trip",
                       "tags": ["travel"], "expires_in_days": 30 });
    let id = user.call("memory_add", item).await["id"].clone();
    let before = user.call("memory_get", json!({ "item_id": id })).await;
    app.clock.advance(Duration::days(2));
    told(&user, "talk", &[user_says("m1", &format!("Hello. {value}."))]).await;
    read_due(&app).await;
    let after = user.call("memory_get", json!({ "item_id": id })).await;
    assert!(after["last_verified_at"].is_string(), "{after}");
    let (tags, expires_at) = (&before["tags"], &before["expires_at"]);
    let kept =
        json!({ "confidence": 90, "tags": tags, "expires_at": expires_at, "protected": false });
    assert_has(&after, kept);
    // A person has not confirmed it by that.
    let (browser, path) = (app.signed_in(&user).await, format!("/memory/{id}"));
    let page = browser.look(&path).await;
    assert!(!page.contains("Confirmed") && page.contains("Last stated"), "{page}");
    user.call("memory_confirm", json!({ "item_id": id })).await;
    assert!(browser.look(&path).await.contains("onfirmed"));
}

/// A session of several windows.
async fn told_at_length() -> (TestApp, TestUser, ChatServer) {
    let model = finding_anna().await;
    let (app, user) = with_model(&model).await;
    let messages: Vec<Value> =
        (0..300).map(|n| user_says(&format!("m{n}"), &"words ".repeat(25))).collect();
    told(&user, "long", &messages).await;
    (app, user, model)
}

/// Does this while the first window is read: no further one is sent, and nothing is kept.
async fn read_while(
    app: &TestApp,
    user: &TestUser,
    model: &ChatServer,
    meanwhile: impl Future<Output = ()>,
) {
    let consolidation = app.consolidation.clone();
    let due = consolidation.due().await.unwrap()[0];
    let held = model.hold();
    let reading = tokio::spawn(async move { consolidation.extract(due).await });
    model.until_asked().await;
    meanwhile.await;
    drop(held);
    reading.await.unwrap().unwrap();
    assert_eq!(model.asked().len(), 1, "the second window was sent");
    assert_eq!(items(app, user).await, Vec::<Value>::new());
}

#[tokio::test]
async fn after_memory_is_switched_off_no_further_window_is_sent_and_nothing_is_kept() {
    let (app, user, model) = told_at_length().await;
    let off = async { app.accounts.switch_user_memory(user.id, false).await.unwrap() };
    read_while(&app, &user, &model, off).await;
    app.accounts.switch_user_memory(user.id, true).await.unwrap();
    let skipped = json!({ "outcome": "skipped", "reason": "memory is switched off" });
    assert_has(&ledger(&user, "long").await, skipped);
}

#[tokio::test]
async fn of_a_user_who_is_disabled_meanwhile_nothing_more_is_sent_until_they_are_back() {
    let (app, user, model) = told_at_length().await;
    let set = async |is_disabled: bool| {
        app.sql("UPDATE users SET disabled_at = CASE WHEN $2 THEN created_at END WHERE id = $1")
            .bind(user.id.0)
            .bind(is_disabled)
            .run()
            .await;
    };
    read_while(&app, &user, &model, set(true)).await;
    app.clock.advance(Duration::minutes(2));
    assert_eq!(read_due(&app).await, 0);
    set(false).await;
    assert_eq!(read_due(&app).await, 1);
    assert_eq!(active(&app, &user).await, ["Anna"]);
    assert!(model.asked().len() > 2);
}
