use serde_json::{Value, json};

use keepsake::redaction::SecretPolicy;

use super::{
    active, fact, finding, is_comparison, items, ledger, prose, read_due, told, user_of, user_says,
};
use crate::support::{ChatServer, TestApp, said};

/// Answers the first session with one list of facts, and all others with another.
async fn first_then(first: Value, then: Value, relation: &'static str) -> ChatServer {
    ChatServer::answering(move |body, _| {
        let text = body["messages"][1]["content"].as_str().unwrap_or_default();
        if is_comparison(body) {
            return said(
                &json!({ "relations": vec![relation; text.matches("<pair ").count()] }).to_string(),
            );
        }
        let facts = if text.contains("first") { &first } else { &then };
        said(&json!({ "facts": facts }).to_string())
    })
    .await
}

async fn two_sessions(app: &TestApp, model: &ChatServer) -> crate::support::TestUser {
    let user = user_of(app, "anna", model).await;
    for (session, text) in [("one", "This is the first talk."), ("two", "This is another talk.")] {
        told(&user, session, &[user_says("m1", text)]).await;
        assert_eq!(read_due(app).await, 1);
        app.drain(&user).await;
        app.clock.advance(time::Duration::minutes(1));
    }
    user
}

#[tokio::test]
async fn the_same_key_with_another_value_supersedes_and_the_old_one_stays_readable() {
    let app = TestApp::start().await;
    let model = first_then(
        json!([fact("profile", "home_city", "Lives in Graz", "user_explicit", "")]),
        json!([fact("profile", "Home City", "Lives in Linz", "user_explicit", "")]),
        "unrelated",
    )
    .await;
    let user = two_sessions(&app, &model).await;
    let kept = items(&app, &user).await;
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!((&kept[0]["status"], &kept[0]["confidence"]), (&json!("archived"), &json!(30)));
    assert_eq!(kept[0]["superseded_by"], kept[1]["id"]);
    assert_eq!(active(&app, &user).await, ["Lives in Linz"]);
    let row = ledger(&user, "two").await;
    assert_eq!((&row["stored"], &row["superseded"]), (&json!(1), &json!(1)), "{row}");
    let old = user.call("memory_get", json!({ "item_id": kept[0]["id"] })).await;
    assert_eq!(old["content"], "Lives in Graz");
}

#[tokio::test]
async fn what_is_said_again_is_merged_by_text_and_by_words() {
    let app = TestApp::start().await;
    let model = first_then(
        json!([
            fact("preferences", "drink", "Drinks green tea every morning", "conversation", ""),
            fact("profile", "name", "Anna", "user_explicit", ""),
        ]),
        json!([
            fact("preferences", "morning_drink", "drinks tea every morning", "user_explicit", ""),
            fact("profile", "name", "Anna", "user_explicit", ""),
            fact("profile", "name", "anna", "user_explicit", ""),
        ]),
        "unrelated",
    )
    .await;
    let user = two_sessions(&app, &model).await;
    let mut kept = active(&app, &user).await;
    kept.sort();
    assert_eq!(kept, ["Anna", "Drinks green tea every morning"]);
    let row = ledger(&user, "two").await;
    assert_eq!((&row["stored"], &row["merged"]), (&json!(0), &json!(3)), "{row}");
    assert_eq!(row["outcome"], "stored");
}

#[tokio::test]
async fn a_contradiction_under_another_key_is_put_to_the_model() {
    for (relation, left) in [
        ("contradicts", vec!["The office is in Vienna"]),
        ("same", vec!["The office is in Graz"]),
        ("unrelated", vec!["The office is in Graz", "The office is in Vienna"]),
    ] {
        let app = TestApp::start_with_builtin().await;
        let model = first_then(
            json!([fact("profile", "office", "The office is in Graz", "conversation", "")]),
            json!([fact("projects", "work_place", "The office is in Vienna", "conversation", "")]),
            relation,
        )
        .await;
        let user = two_sessions(&app, &model).await;
        assert!(model.asked().iter().any(|asked| is_comparison(&asked.body)));
        assert_eq!(active(&app, &user).await, left, "{relation}");
        // Never are both sides lost: what gave way is still there, and leads to what took its place.
        let all = items(&app, &user).await;
        if relation == "contradicts" {
            assert_eq!(all.len(), 2);
            assert_eq!(all[0]["superseded_by"], all[1]["id"]);
            assert_eq!(all[0]["confidence"], 30);
        }
    }
}

#[tokio::test]
async fn a_confirmed_item_is_not_superseded_and_the_other_is_put_aside() {
    let app = TestApp::start().await;
    let model = finding(
        json!([fact("profile", "home_city", "Lives in Linz", "conversation", "")]),
        "contradicts",
    )
    .await;
    let user = user_of(&app, "anna", &model).await;
    let added = user
        .call("memory_add", json!({ "type": "fact", "content": "Lives in Graz", "key": "home_city", "theme": "profile" }))
        .await;
    user.call("memory_confirm", json!({ "item_id": added["id"] })).await;
    app.clock.advance(time::Duration::minutes(1));
    told(&user, "talk", &[user_says("m1", "Somebody lives in Linz.")]).await;
    read_due(&app).await;
    assert_eq!(active(&app, &user).await, ["Lives in Graz"]);
    assert_eq!(items(&app, &user).await.len(), 2);
    // In the picture of neither it is called replaced.
    let browser = app.signed_in(&user).await;
    let (_, page) = browser.get(&format!("/memory/{}", added["id"])).await;
    assert!(page.contains("put aside contradicts this"), "{page}");
    let aside = &items(&app, &user).await[1]["id"];
    let (_, page) = browser.get(&format!("/memory/{aside}")).await;
    assert!(page.contains("this contradicts kept memory"), "{page}");
}

/// Their person has secrets masked since the session came in: of its words nothing is written with them.
#[tokio::test]
async fn words_of_older_messages_are_kept_without_their_secrets() {
    let app = TestApp::start().await;
    let model = ChatServer::answering(|_, _| prose()).await;
    let user = user_of(&app, "anna", &model).await;
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
    let written: i64 = app.sql("SELECT count(*) FROM memory_items i LEFT JOIN episodes e ON e.user_id = i.user_id AND e.source_id = i.id
         WHERE concat_ws(' ', i.content, i.source_context, i.tags::text, e.abstract) LIKE '%4111 1111%' AND i.type <> 'turn'").value().await;
    assert_eq!(written, 0);
}
