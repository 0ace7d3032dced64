//! What the chat model reads: with the facts of a session, and at night.

use serde_json::{Value, json};

use super::{told, upkeep};
use crate::chat::use_server;
use crate::consolidation::{self, read_due, user_says};
use crate::support::{ChatServer, Provider, TestApp, change_model, said};

/// The jobs of a night.
async fn night(app: &TestApp) {
    app.clock.advance(time::Duration::days(1));
    app.run_job("enrich").await;
}

#[tokio::test]
async fn one_call_reads_facts_and_connections_of_a_session() {
    let (app, anna) = TestApp::start_for("anna").await;
    let found = json!({
        "facts": [],
        "entities": [{"name": "Marta Helgesen", "type": "person"}, {"name": "Nobody Here", "type": "person"}],
        "connections": [
            {"subject": "user", "relation": "sibling_of", "object": "Marta Helgesen", "valid_from": "", "valid_until": "", "sentence": "my sister Marta Helgesen"},
            {"subject": "Marta Helgesen", "relation": "works_at", "object": "Hansa Brewery", "valid_from": "2022", "valid_until": "", "sentence": "has worked at Hansa Brewery since 2022"},
            {"subject": "Marta Helgesen", "relation": "lives_in", "object": "Atlantis", "valid_from": "", "valid_until": "", "sentence": "x"}
        ]
    });
    let model = ChatServer::answering(move |_, _| said(&found.to_string())).await;
    use_server(&app, &anna, &model).await;
    let words =
        "Yesterday my sister Marta Helgesen called, she has worked at Hansa Brewery since 2022.";
    consolidation::told(&anna, "chat", &[user_says("1", words)]).await;
    read_due(&app).await;
    assert_eq!(model.asked().len(), 1, "no further call");
    let marta = told(&anna, "Marta Helgesen").await;
    let relations = marta["relations"].as_array().unwrap().iter();
    let mut relations: Vec<[&Value; 2]> =
        relations.map(|r| [&r["relation"], &r["trust"]]).collect();
    relations.sort_by_key(|relation| relation[0].to_string());
    assert_eq!(json!(relations), json!([["sibling of", "user"], ["works at", "user"]]));
    assert_eq!(told(&anna, "me").await["relations"][0]["object"], "Marta Helgesen");
    for nobody in ["Nobody Here", "Atlantis"] {
        let (status, _) = anna.refused("memory_entity", json!({ "name": nobody })).await;
        assert_eq!(status, 404, "{nobody}");
    }
    upkeep(&app).await;
}

/// Memories of one word are read at 02:00, once; those that name much are not.
#[tokio::test]
async fn at_night_the_model_reads_what_names_little() {
    let (app, anna) = TestApp::start_for("anna").await;
    let found = json!({
        "entities": [{"text": 1, "name": "kraken labs", "type": "organization"}],
        "connections": [{"text": 1, "subject": "user", "relation": "works_at", "object": "kraken labs", "valid_from": "", "valid_until": "", "sentence": "works at kraken labs"}]
    });
    let model = ChatServer::answering(move |body: &Value, _| {
        let asked = body["messages"][1]["content"].as_str().unwrap_or_default();
        match asked.contains("<text n=") {
            true => said(&found.to_string()),
            false => said("Kraken labs is where the user works."),
        }
    })
    .await;
    use_server(&app, &anna, &model).await;
    anna.add("works at kraken labs").await;
    night(&app).await;
    let entity = told(&anna, "Kraken Labs").await;
    assert_eq!(entity["type"], "organization", "{entity}");
    assert_eq!(entity["mentions"], 1, "{entity}");
    assert_eq!(entity["relations"][0]["subject"], "You");
    let asked = model.asked().len();
    night(&app).await;
    assert_eq!(model.asked().len(), asked, "nothing is read twice");
}

#[tokio::test]
async fn without_a_model_the_night_says_so_and_bad_answers_harm_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("works at kraken labs").await;
    night(&app).await;
    let problem = app.sql("SELECT problem FROM job_runs WHERE job = 'enrich' AND outcome = 'done'");
    let problem: Option<String> = problem.value().await;
    assert_eq!(problem.as_deref(), Some("no chat model is set, so nothing was read for entities"));
    for answer in [
        "",
        "I cannot.",
        "{\"entities\": [{\"text\": 99, \"name\": \"x\"}]}",
        "{\"entities\": [[[[",
        "<think>",
    ] {
        let model = ChatServer::answering(move |_, _| said(answer)).await;
        use_server(&app, &anna, &model).await;
        anna.add(&format!("likes tea number {}", answer.len())).await;
        night(&app).await;
    }
    let stats = anna.call("memory_stats", json!({})).await;
    assert_eq!(stats["entities"]["total"], 0, "{stats}");
}

/// Names nothing, and writes the same of everybody.
async fn writer() -> ChatServer {
    ChatServer::answering(|body: &Value, _| {
        let asked = body["messages"][1]["content"].as_str().unwrap_or_default();
        match asked.contains("<text n=") {
            true => said(&json!({ "entities": [], "connections": [] }).to_string()),
            false => said("Marta Helgesen brews beer in Bergen."),
        }
    })
    .await
}

/// What is told of an entity is found by meaning; when the embedding model changes, its vector is made again.
#[tokio::test]
async fn a_summary_is_found_by_the_model_that_is_in_force() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "first").await;
    let model = writer().await;
    use_server(&app, &anna, &model).await;
    for what in ["brews beer in Bergen", "brews in Bergen", "likes beer"] {
        anna.add(&format!("Marta Helgesen {what}.")).await;
    }
    app.drain(&anna).await;
    let spaces = async || -> (Option<i64>, i64) {
        app.sql(
            "SELECT e.summary_space, s.id FROM entities e, embedding_spaces s
             WHERE e.name = 'Marta Helgesen' AND s.user_id = e.user_id AND s.state = 'active'",
        )
        .row()
        .await
    };
    night(&app).await;
    let (of_summary, first) = spaces().await;
    assert_eq!(of_summary, Some(first));
    change_model(&app, &anna, &provider, "second").await;
    app.drain(&anna).await;
    night(&app).await;
    let (of_summary, second) = spaces().await;
    assert_ne!(first, second);
    assert_eq!(of_summary, Some(second));
}

/// A name that is mentioned often is written about again when it is mentioned half as often again, and not because something went
/// that the text does not tell.
#[tokio::test]
async fn what_is_written_of_an_entity_goes_with_what_it_was_written_from() {
    let (app, anna) = TestApp::start_for("anna").await;
    let model = writer().await;
    use_server(&app, &anna, &model).await;
    let mut ids = Vec::new();
    for n in 0..15 {
        ids.push(anna.add(&format!("Marta Helgesen brews beer number {n} in Bergen.")).await);
        app.clock.advance(time::Duration::minutes(1));
    }
    let written = async || -> Option<String> {
        app.sql("SELECT summary FROM entities WHERE name = 'Marta Helgesen'").value().await
    };
    night(&app).await;
    let text = written().await;
    assert_eq!(text.as_deref(), Some("Marta Helgesen brews beer in Bergen."));
    let calls = model.asked().len();
    let browser = app.signed_in(&anna).await;
    app.delete_item(&browser, ids[0]).await;
    assert_eq!(written().await, text, "it is not among the newest twelve");
    night(&app).await;
    assert_eq!(model.asked().len(), calls, "nothing is written again");
    browser.sign_in(&anna).await;
    app.delete_item(&browser, ids[14]).await;
    assert_eq!(written().await, None);
    night(&app).await;
    assert_eq!(written().await, text);
}
