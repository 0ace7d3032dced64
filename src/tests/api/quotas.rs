//! How much one user may keep.

use serde_json::{Value, json};

use super::{add, answer, code, fields, refused_field};
use crate::support::{TestApp, Wish};

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

    app.delete_item(&app.signed_in(&anna).await, first).await;
    add(&anna, one_more).await;
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
        let (_, refused) = anna.refused("memory_add", input).await;
        let told = fields(&refused, ["status", "code", "field"]);
        assert_eq!(told, json!([422, "too_many_themes", "theme"]));
    }
    // One that is there takes more, and another user has room.
    anna.add_to("theme-7", "Anna sells honey.").await;
    app.user("bob").await.add_to("goats", "Bob keeps goats.").await;

    for (input, listed) in
        [(json!({}), 100), (json!({ "limit": 1 }), 1), (json!({ "limit": 1000 }), 1000)]
    {
        let answer = anna.call("memory_list_themes", input).await;
        let themes = answer["themes"].as_array().unwrap();
        assert_eq!((themes.len(), &themes[0]["slug"]), (listed, &json!("the-last")));
        assert_eq!(answer["truncated"], true, "{listed}");
    }
    for limit in [0, -1, 1001] {
        let input = json!({ "limit": limit });
        assert_eq!(refused_field(&anna, "memory_list_themes", input).await, "422 limit");
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
    assert_eq!(code(send("one-more", "1").await).await, "422 too_many_sessions");
    assert_eq!(send("first", "2").await.status(), 200);
}

/// A megabyte of one letter is kept in some kilobytes, and is a megabyte to whoever reads it.
#[tokio::test(crate = "crate::support::shared")]
async fn a_page_of_messages_weighs_tool_calls_as_they_are_read() {
    let (_, anna) = TestApp::with_user().await;
    let path = "/api/v1/sessions/long/messages";
    for n in 0..6 {
        let calls = vec![json!({ "name": "write", "arguments": "a".repeat(100_000) }); 8];
        let message = json!({ "id": format!("{n}"), "role": "assistant", "tool_calls": calls });
        assert_eq!(anna.post(path, &json!({ "messages": [message] })).await.status(), 200);
    }
    let page = answer(anna.get(path).await).await;
    // Two MiB, and the one that goes past them.
    assert_eq!(page["messages"].as_array().unwrap().len(), 3, "{}", page["next_after"]);
    assert_eq!(page["next_after"], 3);
}
