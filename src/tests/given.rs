//! Memory that a conversation brings back is kept by its ids, shown as it was told, and gone with what is deleted.

use serde_json::{Value, json};

use crate::consolidation::told;
use crate::support::{TestApp, TestUser};
use crate::turns::message;

async fn contents(user: &TestUser, session: &str) -> Vec<String> {
    let path = format!("/api/v1/sessions/{session}/messages");
    let told: Value = user.get(&path).await.json().await.unwrap();
    let told = told["messages"].as_array().unwrap();
    told.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_keepsake_told_is_kept_by_its_ids_and_shown_as_it_was() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let boat = anna.add("The boat to Bergen leaves on Friday at nine.").await;
    let ask = json!({ "message": "When does the boat to Bergen leave?", "session": "s" });
    let block = anna.post("/api/v1/recall", &ask).await.json::<Value>().await.unwrap();
    let block = block["section"].as_str().unwrap();
    let found = anna.call("memory_search", json!({ "query": "boat" })).await.to_string();
    let asked = |id: &str, name: &str| {
        json!({ "id": format!("call {id}"), "role": "assistant", "content": "",
                "tool_calls": [{ "id": id, "name": name, "arguments": "{}" }] })
    };
    let result = |id: &str| json!({ "id": format!("result {id}"), "role": "tool", "tool_call_id": id, "content": found });
    let said = [
        message("m1", "user", &format!("When? {block}")),
        asked("c1", "mcp__keepsake__memory_search"),
        asked("c2", "mcp__other__memory_search"),
    ];
    let results = [result("c1"), result("c2")];
    for user in [&anna, &ben] {
        told(user, "s", &said).await;
        // In another request than their calls.
        told(user, "s", &results).await;
    }
    let is_kept = async |user: &TestUser| {
        app.sql("SELECT content LIKE '%leaves on Friday%' FROM session_messages WHERE user_id = $1 AND content <> '' ORDER BY position")
            .bind(user.id.0)
            .values::<bool>()
            .await
    };
    // What another server's tool of the same name answers is not ours, and her block is nothing to Ben.
    assert_eq!(is_kept(&anna).await, [false, false, true]);
    assert_eq!(is_kept(&ben).await, [true, false, true]);
    let line =
        format!("- #{boat} The boat to Bergen leaves on Friday at nine.\n</keepsake-memory>");
    let of_anna = contents(&anna, "s").await;
    assert!(
        of_anna[0].starts_with("When? <keepsake-memory kind=\"recall\"")
            && of_anna[0].ends_with(&line),
        "{of_anna:?}"
    );
    assert!(of_anna[3].ends_with(&line), "{of_anna:?}");
    let of_ben = contents(&ben, "s").await;
    assert!(of_ben[3].contains(&format!("#{boat} (not here any more)")), "{of_ben:?}");
    let browser = app.signed_in(&anna).await;
    let page = browser.look("/sessions").await;
    let at = page.split("href=\"/sessions/").nth(1).unwrap().split('"').next().unwrap();
    assert!(browser.look(&format!("/sessions/{at}")).await.contains("leaves on Friday at nine"));
    // A correction does not change what was told; a deletion does, at once.
    anna.call(
        "memory_correct",
        json!({ "item_id": boat, "content": "The boat to Bergen leaves on Monday." }),
    )
    .await;
    assert!(contents(&anna, "s").await[3].ends_with(&line));
    app.sql("UPDATE memory_items SET delete_at = now() WHERE id = $1").bind(boat).run().await;
    assert!(contents(&anna, "s").await[3].contains("(not here any more)"));
}

#[tokio::test]
async fn messages_of_earlier_versions_are_converted_and_those_since_are_as_they_came() {
    let (app, anna) = TestApp::start_for("anna").await;
    let tea = anna.add("Anna mag Tee.").await;
    let block = format!(
        "<keepsake-memory kind=\"recall\" date=\"2026-01-02\">\n- #{tea} (2026-01-02, user) Anna mag Tee.\n</keepsake-memory>"
    );
    let page = "<keepsake-memory trust=\"user\">Anna mag Wespen.</keepsake-memory>";
    let call = json!({ "id": "m2", "role": "assistant", "content": "", "tool_calls": [{ "id": "c", "name": "memory_get", "arguments": "{}" }] });
    let result = json!({ "id": "m3", "role": "tool", "tool_call_id": "c", "content": "x" });
    told(&anna, "old", &[message("m1", "user", "x"), call, result, message("m4", "user", "x")])
        .await;
    for (position, content) in [
        (1, format!("Hallo {block}")),
        (3, json!({ "id": tea, "content": "Anna mag Tee." }).to_string()),
        (4, page.to_owned()),
    ] {
        app.sql("UPDATE session_messages SET content = $2 WHERE position = $1")
            .bind(position)
            .bind(content)
            .run()
            .await;
    }
    app.sql("UPDATE sessions SET ids_kept_from = 0").run().await;
    // Before it is read, and by the job.
    app.run_job("extract").await;
    assert_eq!(app.count("session_messages WHERE content LIKE '%Tee.%'").await, 0);
    assert_eq!(app.count("sessions WHERE ids_kept_from IS NOT NULL").await, 0);
    let shown = contents(&anna, "old").await;
    for position in [0, 2] {
        assert!(shown[position].contains(&format!("- #{tea} Anna mag Tee.")), "{shown:?}");
    }
    assert_eq!(shown[3], page);
    app.sql("UPDATE sessions SET ids_kept_from = 0").run().await;
    app.run_job("turns").await;
    assert_eq!(contents(&anna, "old").await, shown, "once more changes nothing");
}
