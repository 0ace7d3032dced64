//! From messages to memories: a scripted model answers, and what came of each session
//! stands in its ledger.

mod bad_days;
mod bad_models;
mod bait;
mod changed;
mod compared;
mod derived;
pub mod dreaming;
mod episodes;
mod extraction;
mod flush;
mod guesses;
mod kept;
mod lineage;
mod poison;
mod real_model;
mod reflection;
mod summary;

use keepsake::erasure::{self, ExtractedMemories};
use keepsake::sessions::SessionId;
use serde_json::{Value, json};

use crate::chat::use_server;
use crate::support::{ChatServer, DueNow, TestApp, TestUser, said};

/// What is asked to compare statements, told by the schema's only property.
fn is_comparison(body: &Value) -> bool {
    body.to_string().contains("relations")
}

/// A model that answers these facts to every window, and compares by the second word.
pub async fn finding(facts: Value, relation: &'static str) -> ChatServer {
    answering(vec![("", facts)], relation).await
}

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

/// A model that finds Anna's name in every window.
async fn finding_anna() -> ChatServer {
    finding(json!([fact("profile", "name", "Anna", "user_explicit", "")]), "unrelated").await
}

pub fn fact(category: &str, key: &str, value: &str, source: &str, context: &str) -> Value {
    json!({ "category": category, "key": key, "value": value, "source": source, "source_context": context })
}

pub fn user_says(id: &str, content: &str) -> Value {
    json!({ "id": id, "role": "user", "content": content })
}

/// A user whose own chat model is this server.
async fn user_of(app: &TestApp, name: &str, model: &ChatServer) -> TestUser {
    let user = app.user(name).await;
    use_server(app, &user, model).await;
    user
}

/// Anna on a server of her own, whose chat model is this server.
pub async fn with_model(model: &ChatServer) -> (TestApp, TestUser) {
    let app = TestApp::start().await;
    let user = user_of(&app, "anna", model).await;
    (app, user)
}

/// Hands the messages over and completes the session.
pub async fn told(user: &TestUser, session: &str, messages: &[Value]) {
    let path = format!("/api/v1/sessions/{session}");
    for some in messages.chunks(500) {
        let added = user.post(&format!("{path}/messages"), &json!({ "messages": some })).await;
        assert_eq!(added.status(), 200, "{}", added.text().await.unwrap());
    }
    let completed = user.post(&format!("{path}/complete"), &json!({})).await;
    assert_eq!(completed.status(), 200);
}

/// Tells one session after the other, each of these words, and reads it.
async fn one_after_the_other(app: &TestApp, user: &TestUser, sessions: &[&str]) {
    for text in sessions {
        told(user, text, &[user_says("m1", text)]).await;
        assert_eq!(read_due(app).await, 1);
        app.drain(user).await;
        app.clock.advance(time::Duration::minutes(1));
    }
}

/// Reads all that is due: how many stretches that were.
pub async fn read_due(app: &TestApp) -> usize {
    let consolidation = &app.consolidation;
    let due = consolidation.due().await.unwrap();
    for one in &due {
        consolidation.extract(*one).await.unwrap();
    }
    due.len()
}

/// The newest row of a session's ledger, as the API tells it.
async fn ledger(user: &TestUser, session: &str) -> Value {
    let answer = user.get(&format!("/api/v1/sessions/{session}")).await;
    let answer: Value = answer.json().await.unwrap();
    answer["extraction"].clone()
}

/// Asserts that the object has these values.
#[track_caller]
fn assert_has(object: &Value, values: Value) {
    for (name, value) in values.as_object().unwrap() {
        assert_eq!(&object[name], value, "{name}: {object}");
    }
}

/// Erases the session, and leaves what was read from it.
async fn erase_session(app: &TestApp, user: &TestUser, session: &str) {
    let id = app.sql("SELECT id FROM sessions WHERE user_id = $1 AND external_id = $2");
    let id = SessionId(id.bind(user.id.0).bind(session).value().await);
    let (stay, now) = (ExtractedMemories::Stay, app.embeddings.now());
    erasure::session(&app.db, &app.activity, user.id, id, stay, now).await.unwrap();
}

/// Every item of a user, oldest first, with all its columns.
async fn items(app: &TestApp, user: &TestUser) -> Vec<Value> {
    app.sql(
        "SELECT jsonb_build_object('id', i.id, 'theme', t.slug, 'type', i.type, 'key', i.key, 'content', i.content,
                'status', i.status, 'source', i.source, 'trust', i.trust, 'context', i.source_context, 'confidence', i.confidence,
                'session', s.external_id, 'message', i.message_id, 'superseded_by', i.superseded_by) AS item
         FROM memory_items i JOIN memory_themes t ON t.user_id = i.user_id AND t.id = i.theme_id
         LEFT JOIN sessions s ON s.user_id = i.user_id AND s.id = i.session_id
         WHERE i.user_id = $1 ORDER BY i.id",
    )
    .bind(user.id.0)
    .values()
    .await
}

/// The contents of the active ones.
async fn active(app: &TestApp, user: &TestUser) -> Vec<String> {
    let items = items(app, user).await;
    let active = items.iter().filter(|item| item["status"] == "active");
    active.map(|item| item["content"].as_str().unwrap().to_owned()).collect()
}
