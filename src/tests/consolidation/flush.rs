//! Before an agent forgets: what is new of a session is read now, with decisions and what is to be done, noted once, and told.

use keepsake::documents::DocumentPath;
use keepsake::memories::Trust;
use reqwest::Method;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::{assert_has, fact, user_says};
use crate::chat::use_server;
use crate::support::{ChatServer, TestApp, TestUser, said};

const PATH: &str = "/api/v1/sessions/work/flush";
/// Longer than a flush waits.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(180);
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

async fn say(user: &TestUser, messages: Value) -> Value {
    let body = json!({ "messages": messages });
    let (status, added) =
        user.request(Method::POST, "/api/v1/sessions/work/messages", Some(body)).await;
    assert_eq!(status, 200, "{added}");
    added
}

fn talk() -> Value {
    json!([
        user_says("m1", "I prefer tabs over spaces. We decided to use PostgreSQL for the boat register."),
        { "id": "m2", "role": "assistant", "content": "Noted. Next step: write the migration for the register." },
    ])
}

/// Flushes while jobs run, as they do on a server.
async fn flush(app: &TestApp, user: &TestUser, body: Value) -> (u16, Value) {
    let asked = user.request(Method::POST, PATH, Some(body));
    tokio::pin!(asked);
    loop {
        tokio::select! {
            answer = &mut asked => return answer,
            () = tokio::time::sleep(std::time::Duration::from_millis(50)) => {}
        }
        app.run_job("extract").await;
    }
}

async fn model(summary: &'static str) -> ChatServer {
    let postgresql = "PostgreSQL is used for the boat register.";
    let decided = "We decided to use PostgreSQL for the boat register.";
    let migration = "Write the migration for the register.";
    let next = "Next step: write the migration for the register.";
    let facts = json!([
        prefers_tabs(),
        fact("decisions", "register_database", postgresql, "user_explicit", decided),
        fact("to_do", "register_migration", migration, "conversation", next),
    ]);
    let found = json!({ "facts": facts, "summary": summary });
    ChatServer::answering(move |_, _| said(&found.to_string())).await
}

fn prefers_tabs() -> Value {
    let words = "I prefer tabs over spaces.";
    fact("preferences", "indentation", "Prefers tabs over spaces.", "user_explicit", words)
}

async fn note(app: &TestApp, user: &TestUser) -> String {
    note_with_trust(app, user).await.0
}

async fn note_with_trust(app: &TestApp, user: &TestUser) -> (String, Trust) {
    let day = app.embeddings.now().date();
    let path = DocumentPath::parse("path", &format!("memory/{day}.md")).unwrap();
    let read = app.documents.read(user.id, &path).await.unwrap();
    (read.content, read.document.trust)
}

fn contents(told: &Value) -> Vec<String> {
    let items = told["items"].as_array().unwrap().iter();
    let mut contents: Vec<String> = items
        .map(|item| ["type", "theme", "content"].map(|of| item[of].as_str().unwrap()).join(" "))
        .collect();
    contents.sort();
    contents
}

#[tokio::test]
async fn what_is_new_is_read_now_with_decisions_and_what_is_to_be_done() {
    let (app, anna) = TestApp::start_for("anna").await;
    let summary = "They decided on PostgreSQL for the boat register. The migration is open.";
    let model = model(summary).await;
    use_server(&app, &anna, &model).await;
    say(&anna, talk()).await;
    let asked = json!({ "reason": "context compaction", "message_count": 2, "context_used": 0.9 });
    let (status, told) = flush(&app, &anna, asked).await;
    assert_eq!(status, 200, "{told}");
    let day = app.embeddings.now().date();
    assert_has(&told, json!({ "state": "done", "outcome": "stored", "message_count": 2 }));
    assert_has(&told, json!({ "episode": summary, "note": format!("memory/{day}.md") }));
    let kept = [
        "other decisions register_database: PostgreSQL is used for the boat register.",
        "other to_do register_migration: Write the migration for the register.",
        "preference preferences indentation: Prefers tabs over spaces.",
    ];
    assert_eq!(contents(&told), kept);
    let noted = note(&app, &anna).await;
    assert!(noted.starts_with("## "), "{noted}");
    for line in [
        " (context compaction)\n\nThey decided on PostgreSQL",
        // With their keys, as search and recall show them.
        "- indentation: Prefers tabs over spaces.\n",
        "- Decided: register_database: PostgreSQL is used for the boat register.\n",
        "- To do: register_migration: Write the migration for the register.\n",
    ] {
        assert!(noted.contains(line), "{line}: {noted}");
    }
    // They hold for a while alone.
    let expires: Vec<(String, Option<OffsetDateTime>)> = app
        .sql("SELECT key, expires_at FROM memory_items WHERE theme_id IS NOT NULL ORDER BY key")
        .rows()
        .await;
    let days = |n: usize| expires[n].1.map(|at| (at - app.embeddings.now()).whole_days());
    assert_eq!((days(0), days(1), days(2)), (None, Some(180), Some(30)), "{expires:?}");
    let prompt = model.asked()[0].body.to_string();
    assert!(prompt.contains("as category to_do"), "{prompt}");
    // The session goes on; what is flushed again changes nothing.
    let session: Value = anna.get("/api/v1/sessions/work").await.json().await.unwrap();
    assert_eq!(session["state"], "open");
    let (status, again) = flush(&app, &anna, json!({})).await;
    assert_eq!((status, contents(&again)), (200, contents(&told)));
    assert_eq!(note(&app, &anna).await, noted);
    assert_eq!(model.asked().len(), 1);
    // What comes later is noted below.
    say(&anna, json!([user_says("m3", "Thanks, that is all for the register now.")])).await;
    flush(&app, &anna, json!({})).await;
    let later = note(&app, &anna).await;
    assert!(later.starts_with(&noted) && later.matches("## ").count() == 2, "{later}");
}

#[tokio::test]
async fn a_days_note_is_the_word_of_the_least_trusted_of_its_sources() {
    let (app, anna) = TestApp::start_for("anna").await;
    let model = ChatServer::answering(|_, before| {
        let (closes, helix) =
            ("The harbour closes at nine in winter.", "Prefers Helix for all code.");
        let found = match before {
            0 => prefers_tabs(),
            1 => fact("other", "harbour_hours", closes, "tool_call", closes),
            _ => fact(
                "preferences",
                "editor",
                helix,
                "user_explicit",
                "I prefer Helix for all code.",
            ),
        };
        said(&json!({ "facts": [found] }).to_string())
    })
    .await;
    use_server(&app, &anna, &model).await;
    for (messages, trust) in [
        (json!([user_says("m1", "I prefer tabs over spaces.")]), Trust::Agent),
        (
            json!([
                { "id": "m2", "role": "assistant", "tool_calls": [{ "id": "c1", "name": "fetch", "arguments": "{}" }] },
                { "id": "m3", "role": "tool", "tool_call_id": "c1", "content": "The harbour closes at nine in winter." },
            ]),
            Trust::External,
        ),
        // What stands there is not trusted more because of what comes below it.
        (json!([user_says("m4", "I prefer Helix for all code.")]), Trust::External),
    ] {
        say(&anna, messages).await;
        let (status, told) = flush(&app, &anna, json!({})).await;
        assert_eq!((status, &told["outcome"]), (200, &json!("stored")), "{told}");
        let (noted, trusted) = note_with_trust(&app, &anna).await;
        assert_eq!(trusted, trust, "{noted}");
    }
    assert_eq!(note(&app, &anna).await.matches("## ").count(), 3);
}

#[tokio::test]
async fn who_does_not_wait_is_answered_at_once_and_two_at_once_are_one() {
    let (app, anna) = TestApp::start_for("anna").await;
    let model = model("They decided on PostgreSQL for the boat register.").await;
    use_server(&app, &anna, &model).await;
    say(&anna, talk()).await;
    let (status, told) = anna.request(Method::POST, PATH, Some(json!({ "wait": false }))).await;
    assert_eq!(status, 202, "{told}");
    assert_has(&told, json!({ "state": "reading", "outcome": null }));
    // Five that wait leave room for a call: four run at once.
    let waiting: Vec<_> =
        (0..5).map(|_| anna.request(Method::POST, PATH, Some(json!({})))).collect();
    let all = futures_util::future::join_all(waiting);
    let meanwhile = async {
        anna.call("memory_search", json!({ "query": "register" })).await;
        // A claim passes over a row that a flush is just pushing: a worker would look again.
        while app.run_job("extract").await == 0 {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let both = futures_util::future::join(all, meanwhile);
    let (told, ()) = tokio::time::timeout(PATIENCE, both).await.expect("it was never read");
    for (status, one) in told {
        assert_eq!((status, one["items"].as_array().unwrap().len()), (200, 3), "{one}");
    }
    assert_eq!(model.asked().len(), 1);
    assert_eq!(note(&app, &anna).await.matches("## ").count(), 1);
}

#[tokio::test]
async fn without_a_model_or_with_one_that_fails_words_decide() {
    let (app, anna) = TestApp::start_for("anna").await;
    say(&anna, talk()).await;
    let kept = [
        "other decisions We decided to use PostgreSQL for the boat register.",
        "other to_do Next step: write the migration for the register.",
        "preference preferences I prefer tabs over spaces.",
    ];
    let (status, told) = flush(&app, &anna, json!({})).await;
    assert_eq!((status, &told["outcome"]), (200, &json!("skipped")), "{told}");
    assert_eq!(contents(&told), kept);
    assert!(told["episode"].as_str().unwrap().contains("We decided to use PostgreSQL"), "{told}");
    let noted = note(&app, &anna).await;
    assert!(
        noted
            .contains("- Decided: We decided to use PostgreSQL for the boat register. (a guess)\n")
    );
    let ben = app.user("ben").await;
    let model = ChatServer::answering(|_, _| said("I would rather talk about the weather.")).await;
    use_server(&app, &ben, &model).await;
    say(&ben, talk()).await;
    let (_, told) = flush(&app, &ben, json!({})).await;
    assert_eq!(told["outcome"], "failed", "{told}");
    assert_eq!(contents(&told), kept);
    // In any language that has lists.
    let wang = app.user("wang").await;
    let words = "你好，我叫王芳。我对花生过敏。最后我们决定用 PostgreSQL。 Ich wohne in Freiburg.";
    say(&wang, json!([user_says("m1", words)])).await;
    let (_, told) = flush(&app, &wang, json!({})).await;
    let kept = [
        "fact profile Ich wohne in Freiburg.",
        "fact profile 你好，我叫王芳。",
        "fact profile 我对花生过敏。",
        "other decisions 最后我们决定用 PostgreSQL。",
    ];
    assert_eq!(contents(&told), kept);
}

#[tokio::test]
async fn a_flush_is_advised_when_much_was_said_or_the_context_is_full() {
    let (app, anna) = TestApp::start_for("anna").await;
    let many = |from: usize, to: usize| {
        (from..to).map(|n| user_says(&format!("m{n}"), "Hello.")).collect::<Vec<_>>()
    };
    assert_eq!(say(&anna, json!(many(0, 50))).await["flush_advised"], false);
    assert_eq!(say(&anna, json!(many(50, 51))).await["flush_advised"], true);
    let (status, told) = flush(&app, &anna, json!({})).await;
    assert_eq!(status, 200, "{told}");
    let send = async |used: Value, n: usize| {
        let body = json!({ "messages": many(n, n + 1), "context_used": used });
        anna.request(Method::POST, "/api/v1/sessions/work/messages", Some(body)).await
    };
    assert_eq!(send(json!(0.84), 51).await.1["flush_advised"], false);
    assert_eq!(send(json!(0.85), 52).await.1["flush_advised"], true);
    for wrong in [json!(1.2), json!(-0.1)] {
        let (status, problem) = send(wrong, 53).await;
        assert_eq!((status, &problem["field"]), (422, &json!("context_used")));
    }
}

#[tokio::test]
async fn each_wrong_input_has_a_sentence_and_nothing_is_flushed() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let old = (app.embeddings.now() - Duration::days(1)).format(&Rfc3339).unwrap();
    let hello =
        json!({ "id": "m1", "role": "user", "content": "Hello there, boat.", "created_at": old });
    say(&anna, json!([hello])).await;
    for (body, field) in [
        (json!({ "reason": "x".repeat(201) }), "reason"),
        (json!({ "reason": " " }), "reason"),
        (json!({ "message_count": -1 }), "message_count"),
        (json!({ "message_count": 50_001 }), "message_count"),
        (json!({ "context_used": 85 }), "context_used"),
        (json!({ "wait": "no" }), "wait"),
        (json!({ "summary": "x" }), "summary"),
    ] {
        let (status, problem) = anna.request(Method::POST, PATH, Some(body)).await;
        assert_eq!((status, &problem["field"]), (422, &json!(field)), "{problem}");
    }
    // Another's session is none, and what was never handed over neither.
    for (user, path) in [(&ben, PATH), (&anna, "/api/v1/sessions/other/flush")] {
        assert_eq!(user.request(Method::POST, path, Some(json!({ "wait": false }))).await.0, 404);
    }
    assert_eq!(app.count("session_extractions").await, 0);
}
