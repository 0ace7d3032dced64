//! How much one user may keep.

use serde_json::{Value, json};

use crate::support::{TestApp, Wish, problem};

#[tokio::test]
async fn a_memory_that_is_full_takes_no_more_items_until_some_are_erased() {
    let app = TestApp::start_as(Wish { items_max: 3, ..Wish::default() }).await;
    let (anna, bob) = (app.user("anna").await, app.user("bob").await);
    let first = anna.add("Anna keeps bees.").await;
    anna.call("memory_archive", json!({ "item_id": first })).await;
    let second = anna.add("Anna sells honey.").await;
    anna.add("Anna has two hives.").await;
    let one_more = json!({ "type": "fact", "content": "Anna has three hives." });
    let with_key = json!({ "type": "fact", "content": "Three hives.", "key": "hives" });
    let correction = json!({ "item_id": second, "content": "Anna sells wax." });
    for (tool, input) in
        [("memory_add", &one_more), ("memory_add", &with_key), ("memory_correct", &correction)]
    {
        let (status, refused) = anna.refused(tool, input.clone()).await;
        assert_eq!((status, &refused["code"]), (422, &json!("too_many_items")));
        let sentence = refused["detail"].as_str().unwrap();
        assert!(sentence.contains("at most 3 items"), "{sentence}");
    }
    bob.add("Bob keeps goats.").await;

    let browser = app.signed_in(&anna).await;
    app.delete_item(&browser, first).await;
    anna.call("memory_add", one_more).await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_ten_thousand_and_first_theme_is_refused_and_themes_are_listed_up_to_a_limit() {
    let (app, anna) = TestApp::with_user().await;
    app.sql(
        "INSERT INTO memory_themes (user_id, slug, display_name, created_at, updated_at)
         SELECT $1, 'theme-' || n, 'Theme ' || n, now(), now() FROM generate_series(1, 9999) n",
    )
    .bind(anna.id.0)
    .run()
    .await;
    anna.add_to("the-last", "Anna keeps bees.").await;
    for key in [Value::Null, json!("honey")] {
        let input = json!({ "type": "fact", "content": "Honey.", "theme": "one-more", "key": key });
        let (status, refused) = anna.refused("memory_add", input).await;
        assert_eq!((status, &refused["code"]), (422, &json!("too_many_themes")));
        assert_eq!(refused["field"], "theme");
    }
    // One that is there takes more, and another user has room.
    anna.add_to("theme-7", "Anna sells honey.").await;
    app.user("bob").await.add_to("goats", "Bob keeps goats.").await;

    let listed = async |input: Value| -> (usize, Value, Value) {
        let answer = anna.call("memory_list_themes", input).await;
        let themes = answer["themes"].as_array().unwrap();
        (themes.len(), themes[0]["slug"].clone(), answer["truncated"].clone())
    };
    let fullest = json!("the-last");
    assert_eq!(listed(json!({})).await, (100, fullest.clone(), json!(true)));
    assert_eq!(listed(json!({ "limit": 1 })).await, (1, fullest.clone(), json!(true)));
    assert_eq!(listed(json!({ "limit": 1000 })).await, (1000, fullest, json!(true)));
    for limit in [0, -1, 1001] {
        let (status, refused) = anna.refused("memory_list_themes", json!({ "limit": limit })).await;
        assert_eq!((status, &refused["field"]), (422, &json!("limit")));
    }
}

#[tokio::test]
async fn the_hundred_thousand_and_first_session_is_refused() {
    let (app, anna) = TestApp::start_for("anna").await;
    let send = async |name: &str, id: &str| {
        let message = json!({ "messages": [{ "id": id, "role": "user", "content": "Hello." }] });
        anna.post(&format!("/api/v1/sessions/{name}/messages"), &message).await
    };
    assert_eq!(send("first", "1").await.status(), 200);
    app.sql("INSERT INTO sessions (user_id, agent_id, external_id, created_at, opened_at, last_message_at)
         SELECT user_id, agent_id, 'made-' || n, created_at, opened_at, last_message_at
         FROM sessions CROSS JOIN generate_series(1, 99999) n").run().await;
    let (status, refused) = problem(send("one-more", "1").await).await;
    assert_eq!((status, &refused["code"]), (422, &json!("too_many_sessions")));
    assert_eq!(send("first", "2").await.status(), 200);
}

/// A megabyte of one letter is kept in some kilobytes, and is a megabyte to whoever reads it.
#[tokio::test(crate = "crate::support::shared")]
async fn a_page_of_messages_weighs_tool_calls_as_they_are_read() {
    let (_, anna) = TestApp::with_user().await;
    for n in 0..6 {
        let calls: Vec<Value> =
            (0..8).map(|_| json!({ "name": "write", "arguments": "a".repeat(100_000) })).collect();
        let message = json!({ "id": format!("{n}"), "role": "assistant", "tool_calls": calls });
        let sent =
            anna.post("/api/v1/sessions/long/messages", &json!({ "messages": [message] })).await;
        assert_eq!(sent.status(), 200);
    }
    let page: Value = anna.get("/api/v1/sessions/long/messages").await.json().await.unwrap();
    // Two MiB, and the one that goes past them.
    assert_eq!(page["messages"].as_array().unwrap().len(), 3, "{}", page["next_after"]);
    assert_eq!(page["next_after"], 3);
}
