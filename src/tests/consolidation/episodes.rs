//! What a session was about: in whose words, found by search, gone with its session and when its time is over.

use keepsake::erasure::{self, ExtractedMemories};
use keepsake::sessions::SessionId;
use keepsake::sessions::lifetimes::{self, Lifetimes};
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;

use super::{told, user_says};
use crate::chat::use_server;
use crate::data::{export, import, records};
use crate::support::{ChatServer, DueNow, TestApp, TestUser, said};

fn talk() -> [Value; 3] {
    [
        user_says(
            "m1",
            "We plan the boat trip to Bergen with Marta Helgesen. The boat leaves on Friday.",
        ),
        json!({ "id": "m2", "role": "assistant", "content": "The boat trip to Bergen is on Friday then. I book the boat." }),
        user_says("m3", "Thanks!"),
    ]
}

async fn read_due(app: &TestApp) {
    let consolidation = app.consolidation();
    // Of each user the next.
    for _ in 0..3 {
        for due in consolidation.due().await.unwrap() {
            consolidation.extract(due).await.unwrap();
        }
    }
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
    let (app, anna) = TestApp::start_for("anna").await;
    told(&anna, "talk", &talk()).await;
    read_due(&app).await;
    assert_eq!(made_by(&app).await, [("extract".to_owned(), 1, 3)]);
    let found = episodes(&anna, "boat").await;
    assert_eq!(found.len(), 1);
    assert!(
        found[0]["tags"].as_array().unwrap().contains(&json!("Marta Helgesen")),
        "{}",
        found[0]
    );
    assert_eq!(
        (&found[0]["type"], &found[0]["theme"], &found[0]["trust"]),
        (&json!("episode"), &Value::Null, &json!("agent"))
    );
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
    assert_eq!((&stats["active"], &stats["episodes"]), (&json!(1), &json!(1)));
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
        let model = ChatServer::answering(move |_, _| {
            said(
                &json!({ "facts": [], "entities": [], "connections": [], "summary": summary })
                    .to_string(),
            )
        })
        .await;
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
        let response = anna.post("/api/v1/sessions/talk/complete", &body).await;
        assert_eq!(response.status().as_u16(), status, "{body}");
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
    let (app, anna) = TestApp::start_for("anna").await;
    told(&anna, "talk", &talk()).await;
    read_due(&app).await;
    let model = ChatServer::answering(|_, _| {
        said(&json!({ "facts": [], "summary": "They plan a boat trip to Bergen on Friday with Marta." }).to_string())
    })
    .await;
    use_server(&app, &anna, &model).await;
    app.sql("UPDATE session_extractions SET outcome = 'pending', next_try_at = NULL, ended_at = NULL, reason = NULL").run().await;
    read_due(&app).await;
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
    let one: i64 = app.sql("SELECT id FROM sessions WHERE external_id = 'one'").value().await;
    let now = app.embeddings.now();
    erasure::session(&app.db, &app.activity, anna.id, SessionId(one), ExtractedMemories::Stay, now)
        .await
        .unwrap();
    assert_eq!(episodes(&anna, "boat").await.len(), 1);
    app.clock.advance(time::Duration::days(91));
    assert!(episodes(&anna, "boat").await.is_empty());
    app.run_job("expire").await;
    assert!(made_by(&app).await.is_empty());
    let left: i64 =
        app.sql("SELECT count(*) FROM memory_items WHERE type = 'episode'").value().await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_session_that_goes_on_is_read_in_stretches() {
    let (app, anna) = TestApp::start_for("anna").await;
    let path = "/api/v1/sessions/long/messages";
    let say = async |from: i32, to: i32| {
        let messages: Vec<Value> = (from..=to)
            .map(|n| {
                user_says(&format!("m{n}"), "The boat trip to Bergen leaves on Friday morning.")
            })
            .collect();
        anna.post(path, &json!({ "messages": messages })).await;
        read_due(&app).await;
        made_by(&app).await
    };
    assert!(say(1, 49).await.is_empty());
    assert_eq!(say(50, 52).await, [("extract".to_owned(), 1, 52)]);
    assert_eq!(say(53, 101).await.len(), 1);
    let session: Value = anna.get("/api/v1/sessions/long").await.json().await.unwrap();
    assert_eq!((&session["state"], &session["message_count"]), (&json!("open"), &json!(101)));
    told(&anna, "long", &[]).await;
    read_due(&app).await;
    assert_eq!(made_by(&app).await[1..], [("extract".to_owned(), 53, 101)]);
}

#[tokio::test]
async fn a_hit_says_its_session_and_when_it_was() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut said = talk().to_vec();
    said[0]["created_at"] = json!("2026-03-02T09:00:00Z");
    said[2]["created_at"] = json!("2026-03-02T10:30:00Z");
    said[1]["created_at"] = json!("2026-03-02T09:30:00Z");
    told(&anna, "talk", &said).await;
    read_due(&app).await;
    let found = &episodes(&anna, "boat").await[0];
    let of = &found["told_of"];
    assert_eq!(
        (&of["session"], &of["from"], &of["until"]),
        (&json!("talk"), &json!("2026-03-02T09:00:00Z"), &json!("2026-03-02T10:30:00Z"))
    );
    let whole = anna.call("memory_get", json!({ "item_id": found["id"] })).await;
    assert_eq!(whole["told_of"], *of);
}

#[tokio::test]
async fn episodes_go_out_and_come_in_again_once() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    told(&anna, "talk", &talk()).await;
    read_due(&app).await;
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
    let mut old = talk().to_vec();
    for message in &mut old {
        message["created_at"] =
            json!((app.embeddings.now() - time::Duration::days(40)).format(&Rfc3339).unwrap());
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
    assert_eq!((episodes(&anna, "boat").await.len(), episodes(&ben, "boat").await.len()), (2, 2));
    set(20, None).await;
    assert_eq!((episodes(&anna, "boat").await.len(), episodes(&ben, "boat").await.len()), (0, 2));
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
    let (app, anna) = TestApp::start_for("anna").await;
    told(&anna, "talk", &talk()).await;
    read_due(&app).await;
    assert_eq!(made_by(&app).await, [("extract".to_owned(), 1, 3)]);
    // What says nothing leaves the episode as it is.
    for nothing in ["<private>Marta is ill and pays later.</private>", "ok"] {
        let body = json!({ "summary": nothing });
        let sent = anna.post("/api/v1/sessions/talk/complete", &body).await;
        assert_eq!(sent.status(), 200);
        assert_eq!(made_by(&app).await, [("extract".to_owned(), 1, 3)]);
    }
    let late = "Trip to Bergen settled for Friday; Marta pays the boat.";
    for _ in 0..2 {
        let body = json!({ "summary": late });
        assert_eq!(anna.post("/api/v1/sessions/talk/complete", &body).await.status(), 200);
        assert_eq!(made_by(&app).await, [("agent".to_owned(), 1, 3)]);
    }
    let found = episodes(&anna, "Bergen").await;
    assert_eq!((found.len(), &found[0]["content_snippet"]), (1, &json!(late)));
    assert!(found[0]["tags"].as_array().unwrap().contains(&json!("Marta Helgesen")));
    // Reading it again leaves it so.
    app.sql("UPDATE session_extractions SET outcome = 'pending', next_try_at = NULL, ended_at = NULL, reason = NULL").run().await;
    read_due(&app).await;
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
        let sent = user.post("/api/v1/sessions/talk/complete", &late).await;
        assert_eq!(sent.status(), 200);
        assert_eq!(episodes(&user, "harbour").await[0]["trust"], trust, "{tool}");
    }
}

#[tokio::test]
async fn its_person_can_delete_one_episode_and_its_session_stays() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    told(&anna, "talk", &talk()).await;
    read_due(&app).await;
    let id = episodes(&anna, "boat").await[0]["id"].as_i64().unwrap();
    let browser = app.signed_in(&anna).await;
    let (_, page) = browser.get(&format!("/memory/{id}")).await;
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
