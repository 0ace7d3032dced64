//! What a session was about: in whose words, found by search, gone with its session and when its time is over.

use keepsake::sessions::lifetimes::{self, Lifetimes};
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;

use super::{assert_has, erase_session, told, user_says};
use crate::chat::use_server;
use crate::data::{export, import, records};
use crate::support::{ChatServer, TestApp, TestUser, said};

fn talk() -> [Value; 3] {
    let plan = "We plan the boat trip to Bergen with Marta Helgesen. The boat leaves on Friday.";
    [
        user_says("m1", plan),
        json!({ "id": "m2", "role": "assistant", "content": "The boat trip to Bergen is on Friday then. I book the boat." }),
        user_says("m3", "Thanks!"),
    ]
}

async fn read_due(app: &TestApp) {
    // Of each user the next.
    for _ in 0..3 {
        super::read_due(app).await;
    }
}

/// Anna with the talk in a session, which has been read.
async fn with_talk() -> (TestApp, TestUser) {
    let (app, anna) = TestApp::start_for("anna").await;
    told(&anna, "talk", &talk()).await;
    read_due(&app).await;
    (app, anna)
}

/// Hands over that the talk is complete: with which status that ends.
async fn complete(user: &TestUser, body: &Value) -> u16 {
    user.post("/api/v1/sessions/talk/complete", body).await.status().as_u16()
}

/// As if nothing had been read.
async fn read_again(app: &TestApp) {
    app.sql("UPDATE session_extractions SET outcome = 'pending', next_try_at = NULL, ended_at = NULL, reason = NULL").run().await;
    read_due(app).await;
}

async fn episodes(user: &TestUser, query: &str) -> Vec<Value> {
    let input = json!({ "query": query, "types": ["episode"] });
    let found = user.call("memory_search", input).await;
    found["results"].as_array().unwrap().clone()
}

async fn made_by(app: &TestApp) -> Vec<(String, i32, i32)> {
    app.sql("SELECT made_by, first_position, last_position FROM episodes ORDER BY source_id")
        .rows()
        .await
}

#[tokio::test]
async fn without_a_model_the_most_telling_sentences_are_found() {
    let (app, anna) = with_talk().await;
    assert_eq!(made_by(&app).await, [("extract".to_owned(), 1, 3)]);
    let found = episodes(&anna, "boat").await;
    assert_eq!(found.len(), 1);
    assert!(found[0]["tags"].as_array().unwrap().contains(&json!("Marta Helgesen")), "{found:?}");
    assert_has(&found[0], json!({ "type": "episode", "theme": null, "trust": "agent" }));
    let whole = anna.call("memory_get", json!({ "item_id": found[0]["id"] })).await;
    assert_eq!(whole["source_thread"], "talk");
    assert!(whole["content"].as_str().unwrap().contains("We plan the boat trip to Bergen"));
    assert!(!whole["expires_at"].is_null());
    // Of the same words the memory stands first. It is no memory itself.
    let item = anna.add("We plan the boat trip to Bergen with Marta Helgesen.").await;
    let all = anna.call("memory_search", json!({ "query": "plan" })).await;
    assert_eq!(all["results"][0]["id"], item);
    assert!(all["results"].as_array().unwrap().iter().any(|hit| hit["type"] == "episode"));
    assert_eq!(anna.find("*").await, [item]);
    assert_eq!(episodes(&anna, "*").await.len(), 1);
    let stats = anna.call("memory_stats", json!({})).await;
    assert_has(&stats, json!({ "active": 1, "episodes": 1 }));
    let (status, _) = anna.refused("memory_archive", json!({ "item_id": found[0]["id"] })).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_model_tells_it_in_the_same_call_and_nonsense_is_not_believed() {
    let (app, anna) = TestApp::start_for("anna").await;
    for (session, summary, by) in [
        ("good", "They plan a boat trip to Bergen on Friday. Marta Helgesen comes along.", "model"),
        ("bad", "Quantum capacitors were discussed at length by several robots.", "extract"),
        ("none", "", "extract"),
    ] {
        let found = json!({ "facts": [], "entities": [], "connections": [], "summary": summary });
        let model = ChatServer::answering(move |_, _| said(&found.to_string())).await;
        use_server(&app, &anna, &model).await;
        told(&anna, session, &talk()).await;
        read_due(&app).await;
        assert_eq!(model.asked().len(), 1, "{session}");
        assert_eq!(made_by(&app).await.last().unwrap().0, by, "{session}");
    }
    let found = episodes(&anna, "comes along").await;
    assert_eq!(
        found[0]["content_snippet"],
        "They plan a boat trip to Bergen on Friday. Marta Helgesen comes along."
    );
    let short: String =
        app.sql("SELECT abstract FROM episodes WHERE made_by = 'model'").value().await;
    assert_eq!(short, "They plan a boat trip to Bergen on Friday.");
}

#[tokio::test]
async fn an_agent_says_itself_what_it_was_about() {
    let (app, anna) = TestApp::start_for("anna").await;
    let path = "/api/v1/sessions/talk/messages";
    anna.post(path, &json!({ "messages": talk() })).await;
    for (body, status) in [
        (json!({ "summary": "x".repeat(4_001) }), 422),
        (json!({ "summary": " " }), 422),
        (json!({ "other": 1 }), 422),
        (json!({ "summary": "Trip to Bergen settled; Marta pays the boat later." }), 200),
        // What is private as a whole says nothing.
        (json!({ "summary": "<private>Marta is ill and pays later.</private>" }), 200),
        // Said twice, it is one.
        (json!({}), 200),
    ] {
        assert_eq!(complete(&anna, &body).await, status, "{body}");
    }
    read_due(&app).await;
    assert_eq!(made_by(&app).await, [("agent".to_owned(), 1, 3)]);
    let found = episodes(&anna, "Bergen").await;
    assert_eq!(found[0]["content_snippet"], "Trip to Bergen settled; Marta pays the boat later.");
    // What comes later is an episode of its own.
    let more = [user_says("m4", "By the way, the harbour cat has six kittens to give away now.")];
    told(&anna, "talk", &more).await;
    read_due(&app).await;
    assert_eq!(made_by(&app).await[1], ("extract".to_owned(), 4, 4));
}

#[tokio::test]
async fn better_words_take_the_place_of_an_extract() {
    let (app, anna) = with_talk().await;
    let summary = "They plan a boat trip to Bergen on Friday with Marta.";
    let found = json!({ "facts": [], "summary": summary });
    let model = ChatServer::answering(move |_, _| said(&found.to_string())).await;
    use_server(&app, &anna, &model).await;
    read_again(&app).await;
    assert_eq!(made_by(&app).await, [("model".to_owned(), 1, 3)]);
    assert_eq!(episodes(&anna, "boat").await.len(), 1);
}

#[tokio::test]
async fn an_episode_goes_with_its_session_and_when_its_time_is_over() {
    let (app, anna) = TestApp::start_for("anna").await;
    told(&anna, "one", &talk()).await;
    told(&anna, "two", &talk()).await;
    read_due(&app).await;
    assert_eq!(episodes(&anna, "boat").await.len(), 2);
    erase_session(&app, &anna, "one").await;
    assert_eq!(episodes(&anna, "boat").await.len(), 1);
    app.clock.advance(time::Duration::days(91));
    assert!(episodes(&anna, "boat").await.is_empty());
    app.run_job("expire").await;
    assert!(made_by(&app).await.is_empty());
    assert_eq!(app.count("memory_items WHERE type = 'episode'").await, 0);
}

#[tokio::test]
async fn a_session_that_goes_on_is_read_in_stretches() {
    let (app, anna) = TestApp::start_for("anna").await;
    let say = async |from: i32, to: i32| {
        let words = "The boat trip to Bergen leaves on Friday morning.";
        let messages: Vec<Value> =
            (from..=to).map(|n| user_says(&format!("m{n}"), words)).collect();
        let path = "/api/v1/sessions/long/messages";
        anna.post(path, &json!({ "messages": messages })).await;
        read_due(&app).await;
        made_by(&app).await
    };
    assert!(say(1, 49).await.is_empty());
    assert_eq!(say(50, 52).await, [("extract".to_owned(), 1, 52)]);
    assert_eq!(say(53, 101).await.len(), 1);
    let session: Value = anna.get("/api/v1/sessions/long").await.json().await.unwrap();
    assert_has(&session, json!({ "state": "open", "message_count": 101 }));
    told(&anna, "long", &[]).await;
    read_due(&app).await;
    assert_eq!(made_by(&app).await[1..], [("extract".to_owned(), 53, 101)]);
}

#[tokio::test]
async fn a_hit_says_its_session_and_when_it_was() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut said = talk();
    for (message, time) in said.iter_mut().zip(["09:00", "09:30", "10:30"]) {
        message["created_at"] = json!(format!("2026-03-02T{time}:00Z"));
    }
    told(&anna, "talk", &said).await;
    read_due(&app).await;
    let found = &episodes(&anna, "boat").await[0];
    let (from, until) = ("2026-03-02T09:00:00Z", "2026-03-02T10:30:00Z");
    assert_has(&found["told_of"], json!({ "session": "talk", "from": from, "until": until }));
    let whole = anna.call("memory_get", json!({ "item_id": found["id"] })).await;
    assert_eq!(whole["told_of"], found["told_of"]);
}

#[tokio::test]
async fn episodes_go_out_and_come_in_again_once() {
    let (app, anna) = with_talk().await;
    let ben = app.user("ben").await;
    let file = export(&app, &anna).await;
    let bare = |file: &str| -> Vec<Value> {
        let mut lines = records(file, "episode");
        for line in &mut lines {
            for own in ["id", "session"] {
                line.as_object_mut().unwrap().remove(own);
            }
        }
        lines
    };
    assert_eq!(bare(&file).len(), 1, "{file}");
    for _ in 0..2 {
        let outcome = import(&app, &ben, &file).await;
        assert_eq!(outcome.failed, 0, "{:?}", outcome.problems);
        assert_eq!(bare(&export(&app, &ben).await), bare(&file));
    }
    let found = episodes(&ben, "boat").await;
    assert_eq!((found.len(), &found[0]["told_of"]["session"]), (1, &Value::Null));
    // Into its own account it is known.
    import(&app, &anna, &file).await;
    assert_eq!(episodes(&anna, "boat").await.len(), 1);
    // What cannot be taken is stated by its field.
    let line = records(&file, "episode").remove(0);
    for (field, value) in [
        ("made_by", json!("nobody")),
        ("trust", json!("all")),
        ("summary", json!("")),
        ("topics", json!(vec!["x"; 9])),
    ] {
        let mut bad = line.clone();
        bad[field] = value;
        let bad = format!(
            "{{\"keepsake_export\":1}}\n{bad}\n{{\"record\":\"end\",\"counts\":{{\"items\":0}}}}\n"
        );
        let outcome = import(&app, &ben, &bad).await;
        assert!(outcome.problems[0].sentence.contains(field), "{:?}", outcome.problems);
    }
    assert_eq!(episodes(&ben, "boat").await.len(), 1);
    // What has had its days is not taken in.
    app.clock.advance(time::Duration::days(91));
    let cleo = app.user("cleo").await;
    import(&app, &cleo, &file).await;
    assert!(bare(&export(&app, &cleo).await).is_empty());
}

#[tokio::test]
async fn its_person_says_how_long_episodes_and_turns_stay() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let mut old = talk();
    let at = (app.embeddings.now() - time::Duration::days(40)).format(&Rfc3339).unwrap();
    for message in &mut old {
        message["created_at"] = json!(at);
    }
    for user in [&anna, &ben] {
        told(user, "old", &old).await;
        told(user, "new", &talk()).await;
    }
    read_due(&app).await;
    app.run_job("turns").await;
    let turns = async |user: &TestUser| {
        let input = json!({ "query": "boat", "types": ["turn"] });
        user.call("memory_search", input).await["results"].as_array().unwrap().len()
    };
    assert_eq!(turns(&anna).await, 4);
    let now = app.embeddings.now();
    let set = async |episode_days, turn_days| {
        let chosen = Lifetimes { episode_days, turn_days };
        lifetimes::set(&app.db, anna.id, chosen, now).await.unwrap();
        app.run_job("turns").await;
    };
    set(90, Some(30)).await;
    assert_eq!((turns(&anna).await, turns(&ben).await), (2, 4));
    // Nothing that is too old is made again, and more days bring it back.
    set(90, Some(20)).await;
    assert_eq!(turns(&anna).await, 2);
    set(90, Some(60)).await;
    assert_eq!(turns(&anna).await, 4);
    // With time they go by themselves.
    app.clock.advance(time::Duration::days(21));
    app.run_job("turns").await;
    assert_eq!((turns(&anna).await, turns(&ben).await), (2, 4));
    set(90, None).await;
    assert_eq!(turns(&anna).await, 4);
    // Episodes end so many days sooner.
    for (days, left) in [(90, 2), (20, 0)] {
        set(days, None).await;
        assert_eq!(episodes(&anna, "boat").await.len(), left, "{days}");
        assert_eq!(episodes(&ben, "boat").await.len(), 2, "{days}");
    }
    app.run_job("expire").await;
    assert_eq!(made_by(&app).await.len(), 2);
    for (episode, turn, field) in [
        ("0", "", "episode_days"),
        ("36501", "", "episode_days"),
        ("", "", "episode_days"),
        ("90", "-1", "turn_days"),
        ("90", "1.5", "turn_days"),
    ] {
        assert_eq!(Lifetimes::parse(episode, turn).unwrap_err().field, field);
    }
}

#[tokio::test]
async fn an_agent_may_say_late_what_it_was_about() {
    let (app, anna) = with_talk().await;
    assert_eq!(made_by(&app).await, [("extract".to_owned(), 1, 3)]);
    let late = "Trip to Bergen settled for Friday; Marta pays the boat.";
    for (summary, by) in [
        // What says nothing leaves the episode as it is.
        ("<private>Marta is ill and pays later.</private>", "extract"),
        ("ok", "extract"),
        (late, "agent"),
        (late, "agent"),
    ] {
        assert_eq!(complete(&anna, &json!({ "summary": summary })).await, 200);
        assert_eq!(made_by(&app).await, [(by.to_owned(), 1, 3)], "{summary}");
    }
    let found = episodes(&anna, "Bergen").await;
    assert_eq!((found.len(), &found[0]["content_snippet"]), (1, &json!(late)));
    assert!(found[0]["tags"].as_array().unwrap().contains(&json!("Marta Helgesen")));
    // Reading it again leaves it so.
    read_again(&app).await;
    assert_eq!(made_by(&app).await, [("agent".to_owned(), 1, 3)]);
}

#[tokio::test]
async fn what_an_agent_says_late_is_trusted_no_more_than_what_it_had_heard() {
    let app = TestApp::start().await;
    for (tool, trust) in [("memory_search", "agent"), ("shell", "tool"), ("fetch", "external")] {
        let mut messages = talk().to_vec();
        messages.push(json!({ "id": "m4", "role": "assistant",
            "tool_calls": [{ "id": "c1", "name": tool, "arguments": "{}" }] }));
        messages.push(json!({ "id": "m5", "role": "tool", "tool_call_id": "c1",
            "content": "The boat is paid by the harbour." }));
        let user = app.user(tool).await;
        told(&user, "talk", &messages).await;
        read_due(&app).await;
        // The extract has no word of the tool's.
        assert_eq!(episodes(&user, "Bergen").await[0]["trust"], "agent");
        let late = json!({ "summary": "Trip to Bergen settled; the harbour pays the boat." });
        assert_eq!(complete(&user, &late).await, 200);
        assert_eq!(episodes(&user, "harbour").await[0]["trust"], trust, "{tool}");
    }
}

#[tokio::test]
async fn its_person_can_delete_one_episode_and_its_session_stays() {
    let (app, anna) = with_talk().await;
    let ben = app.user("ben").await;
    let id = episodes(&anna, "boat").await[0]["id"].as_i64().unwrap();
    let browser = app.signed_in(&anna).await;
    let page = browser.look(&format!("/memory/{id}")).await;
    assert!(page.contains("An episode, not a memory") && page.contains("Delete permanently"));
    assert!(!page.contains("value=\"archive\"") && !page.contains("value=\"confirm\""));
    // Another cannot.
    let other = app.signed_in(&ben).await;
    let form = [("action", "delete"), ("item", &*id.to_string())];
    assert_eq!(other.post("/data/delete", &form).await.status(), 404);
    app.delete_item(&browser, id).await;
    assert!(made_by(&app).await.is_empty() && episodes(&anna, "boat").await.is_empty());
    assert_eq!(anna.get("/api/v1/sessions/talk").await.status(), 200);
}
