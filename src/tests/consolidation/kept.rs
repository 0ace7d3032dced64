use keepsake::redaction::SecretPolicy;
use serde_json::{Value, json};

use super::{
    active, answering, assert_has, fact, finding, is_comparison, items, ledger,
    one_after_the_other, read_due, told, user_of, user_says, with_model,
};
use crate::support::{ChatServer, TestApp, TestUser};

/// Answers the first session with one list of facts, and all others with another.
async fn first_then(first: Value, then: Value, relation: &'static str) -> ChatServer {
    answering(vec![("first", first), ("", then)], relation).await
}

async fn two_sessions(app: &TestApp, user: &TestUser) {
    one_after_the_other(app, user, &["first talk", "another talk"]).await;
}

#[tokio::test]
async fn the_same_key_with_another_value_supersedes_and_the_old_one_stays_readable() {
    let of = |key, value| json!([fact("profile", key, value, "user_explicit", "")]);
    let (graz, linz) = (of("home_city", "Lives in Graz"), of("Home City", "Lives in Linz"));
    let model = first_then(graz, linz, "unrelated").await;
    let (app, user) = with_model(&model).await;
    two_sessions(&app, &user).await;
    let kept = items(&app, &user).await;
    assert_eq!(kept.len(), 2, "{kept:?}");
    let replaced =
        json!({ "status": "archived", "confidence": 30, "superseded_by": kept[1]["id"] });
    assert_has(&kept[0], replaced);
    assert_eq!(active(&app, &user).await, ["Lives in Linz"]);
    assert_has(&ledger(&user, "another talk").await, json!({ "stored": 1, "superseded": 1 }));
    let old = user.call("memory_get", json!({ "item_id": kept[0]["id"] })).await;
    assert_eq!(old["content"], "Lives in Graz");
}

#[tokio::test]
async fn what_is_said_again_is_merged_by_text_and_by_words() {
    let first = json!([
        fact("preferences", "drink", "Drinks green tea every morning", "conversation", ""),
        fact("profile", "name", "Anna", "user_explicit", ""),
    ]);
    let then = json!([
        fact("preferences", "morning_drink", "drinks tea every morning", "user_explicit", ""),
        fact("profile", "name", "Anna", "user_explicit", ""),
        fact("profile", "name", "anna", "user_explicit", ""),
    ]);
    let model = first_then(first, then, "unrelated").await;
    let (app, user) = with_model(&model).await;
    two_sessions(&app, &user).await;
    let mut kept = active(&app, &user).await;
    kept.sort();
    assert_eq!(kept, ["Anna", "Drinks green tea every morning"]);
    let merged = json!({ "outcome": "stored", "stored": 0, "merged": 3 });
    assert_has(&ledger(&user, "another talk").await, merged);
}

#[tokio::test]
async fn a_contradiction_under_another_key_is_put_to_the_model() {
    for (relation, left) in [
        ("contradicts", vec!["The office is in Vienna"]),
        ("same", vec!["The office is in Graz"]),
        ("unrelated", vec!["The office is in Graz", "The office is in Vienna"]),
    ] {
        let app = TestApp::start_with_builtin().await;
        let graz = fact("profile", "office", "The office is in Graz", "conversation", "");
        let vienna = fact("projects", "work_place", "The office is in Vienna", "conversation", "");
        let model = first_then(json!([graz]), json!([vienna]), relation).await;
        let user = user_of(&app, "anna", &model).await;
        two_sessions(&app, &user).await;
        assert!(model.asked().iter().any(|asked| is_comparison(&asked.body)));
        assert_eq!(active(&app, &user).await, left, "{relation}");
        // Never are both sides lost: what gave way is still there, and leads to what took its place.
        let all = items(&app, &user).await;
        if relation == "contradicts" {
            assert_eq!(all.len(), 2);
            assert_has(&all[0], json!({ "superseded_by": all[1]["id"], "confidence": 30 }));
        }
    }
}

#[tokio::test]
async fn a_confirmed_item_is_not_superseded_and_the_other_is_put_aside() {
    let linz = fact("profile", "home_city", "Lives in Linz", "conversation", "");
    let model = finding(json!([linz]), "contradicts").await;
    let (app, user) = with_model(&model).await;
    let graz = json!({ "type": "fact", "content": "Lives in Graz", "key": "home_city", "theme": "profile" });
    let added = user.call("memory_add", graz).await;
    app.confirm(&user, added["id"].as_i64().unwrap()).await;
    app.clock.advance(time::Duration::minutes(1));
    told(&user, "talk", &[user_says("m1", "Somebody lives in Linz.")]).await;
    read_due(&app).await;
    assert_eq!(active(&app, &user).await, ["Lives in Graz"]);
    let all = items(&app, &user).await;
    assert_eq!(all.len(), 2);
    // In the picture of neither it is called replaced.
    let browser = app.signed_in(&user).await;
    for (item, told) in
        [(&added, "put aside contradicts this"), (&all[1], "this contradicts kept memory")]
    {
        let page = browser.look(&format!("/memory/{}", item["id"])).await;
        assert!(page.contains(told), "{page}");
    }
}

/// Their person has secrets masked since the session came in: of its words nothing is written with them.
#[tokio::test]
async fn words_of_older_messages_are_kept_without_their_secrets() {
    let model = ChatServer::saying("I would be glad to help you with that!").await;
    let (app, user) = with_model(&model).await;
    let talk = "I prefer paying with 4111 1111 1111 1111 at the baker.";
    told(&user, "talk", &[user_says("m1", talk)]).await;
    let redactor = app.embeddings.redactor();
    redactor.save(user.id, SecretPolicy::Mask).await.unwrap();
    for _ in 0..2 {
        assert_eq!(read_due(&app).await, 1);
        app.clock.advance(time::Duration::minutes(2));
    }
    let masked = "I prefer paying with [removed: card-number] at the baker.";
    assert_eq!(active(&app, &user).await, [masked]);
    let with_number = "memory_items i LEFT JOIN episodes e ON e.user_id = i.user_id AND e.source_id = i.id
         WHERE concat_ws(' ', i.content, i.source_context, i.tags::text, e.abstract) LIKE '%4111 1111%' AND i.type <> 'turn'";
    assert_eq!(app.count(with_number).await, 0);
}

/// Spellings of a key are one; the same key in another theme is compared, and gives way only where the comparison says so.
#[tokio::test]
async fn one_key_is_one_however_it_is_spelt_and_compared_in_other_themes() {
    for (relation, left) in [("contradicts", 1), ("unrelated", 2)] {
        let linz = fact("profile", "homeCity", "Lives in Linz", "user_explicit", "");
        let model = finding(json!([linz]), relation).await;
        let (app, user) = with_model(&model).await;
        let of = |theme: &str, key: &str, content: &str| json!({ "type": "fact", "theme": theme, "key": key, "content": content });
        let graz = user.call("memory_add", of("profile", "home_city", "Lives in Graz")).await;
        user.call("memory_add", of("general", "home city", "Home is Wien")).await;
        app.clock.advance(time::Duration::minutes(1));
        told(&user, "talk", &[user_says("m1", "I moved to Linz, where I live now.")]).await;
        read_due(&app).await;
        let kept = active(&app, &user).await;
        assert_eq!(
            (kept.len(), kept.contains(&"Lives in Linz".to_owned())),
            (left, true),
            "{kept:?}"
        );
        let old = user.call("memory_get", json!({ "item_id": graz["id"] })).await;
        assert_eq!(old["status"], "archived", "{old}");
        let mail = user.call("memory_add", of("profile", "e-mail", "anna@example.org")).await;
        let other = user.call("memory_add", of("profile", "email", "a@example.org")).await;
        assert_eq!(other["superseded"], mail["id"]);
    }
}
