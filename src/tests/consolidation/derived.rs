//! What was derived follows its source: `derived.toml` has small cases of what was read in sessions, changed later, and is told
//! then; below are relations, and what is written of memories.

use std::path::Path;

use keepsake::memories::{ConflictPolicy, ItemId, supersede_in};
use serde::Deserialize;
use serde_json::{Value, json};
use time::Duration;

use super::{
    active, answering, fact, is_comparison, one_after_the_other, told, user_of, user_says,
};
use crate::chat::use_server;
use crate::support::{Browser, ChatServer, TestApp, TestUser, said, turns_due};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    sessions: Vec<Talk>,
    #[serde(default)]
    then: Vec<String>,
    ask: String,
    first: Option<String>,
    tells: Option<String>,
    gone: Option<String>,
    past: Option<String>,
    stays: Option<String>,
    #[serde(default)]
    absent: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Talk {
    said: Vec<String>,
    facts: Vec<[String; 4]>,
    summary: String,
}

#[derive(Deserialize)]
struct CaseFile {
    case: Vec<Case>,
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/consolidation/derived.toml");
    let file: CaseFile = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file.case
}

impl Talk {
    fn messages(&self) -> Vec<Value> {
        let all = self.said.iter().enumerate().map(|(n, text)| {
            let (role, text) = match text.strip_prefix("assistant: ") {
                Some(text) => ("assistant", text),
                None => ("user", text.as_str()),
            };
            json!({ "id": format!("m{n}"), "role": role, "content": text })
        });
        all.collect()
    }

    fn answer(&self) -> Value {
        let facts = self.facts.iter().map(|[category, key, value, quote]| {
            fact(category, key, value, "user_explicit", quote)
        });
        json!({ "facts": facts.collect::<Vec<_>>(), "summary": self.summary })
    }
}

/// A model that reads each of these sessions as its case says, and finds that nothing contradicts.
async fn reader(cases: &[Case]) -> ChatServer {
    let talks: Vec<Talk> = cases.iter().flat_map(|case| case.sessions.clone()).collect();
    ChatServer::answering(move |body, _| {
        let text = body["messages"][1]["content"].as_str().unwrap_or_default();
        if is_comparison(body) {
            let pairs = text.matches("<pair ").count();
            return said(&json!({ "relations": vec!["unrelated"; pairs] }).to_string());
        }
        let talk = talks.iter().find(|talk| text.contains(&talk.said[0]));
        said(&talk.map_or(json!({ "facts": [] }), Talk::answer).to_string())
    })
    .await
}

async fn read_all(app: &TestApp) {
    while super::read_due(app).await > 0 {}
    while !turns_due(app).await.is_empty() {
        app.run_job("turns").await;
    }
}

async fn id_of(app: &TestApp, user: &TestUser, content: &str) -> i64 {
    let newest = "SELECT id FROM memory_items WHERE user_id = $1 AND content = $2 AND theme_id IS NOT NULL ORDER BY id DESC LIMIT 1";
    app.sql(newest).bind(user.id.0).bind(content).value().await
}

/// As if nobody had used it for very long.
async fn fade(app: &TestApp, user: &TestUser, id: i64) {
    app.sql("UPDATE memory_items SET status = 'archived', live_until = $3 WHERE user_id = $1 AND id = $2")
        .bind(user.id.0).bind(id).bind(app.embeddings.now()).run().await;
    app.sql(
        "INSERT INTO memory_item_events (user_id, item_id, event, at) VALUES ($1, $2, 'faded', $3)",
    )
    .bind(user.id.0)
    .bind(id)
    .bind(app.embeddings.now())
    .run()
    .await;
    app.tell_changed(user).await;
}

/// In the place of what took its own.
async fn restore(app: &TestApp, user: &TestUser, browser: &Browser, id: i64) {
    let rivals: Vec<i64> = app.sql("SELECT o.id FROM memory_items i JOIN memory_items o ON o.user_id = $1 AND o.status = 'active' AND (o.id = i.superseded_by OR o.key = i.key) WHERE i.user_id = $1 AND i.id = $2")
        .bind(user.id.0).bind(id).values().await;
    let rivals: Vec<String> = rivals.iter().map(i64::to_string).collect();
    let mut fields = vec![("action", "restore")];
    fields.extend(rivals.iter().map(|id| ("newer", id.as_str())));
    assert_eq!(browser.post(&format!("/memory/{id}"), &fields).await.status(), 303);
}

/// What stands in `then` of a case.
async fn act(app: &TestApp, user: &TestUser, action: &str) {
    let (verb, rest) = action.split_once(' ').unwrap();
    let (one, other) = rest.split_once(" -> ").unwrap_or((rest, ""));
    match verb {
        "forget" => drop(user.call("memory_forget", json!({ "key": rest })).await),
        "add" => {
            let (key, content) = rest.split_once(": ").unwrap();
            let added =
                json!({ "type": "fact", "theme": "profile", "key": key, "content": content });
            user.call("memory_add", added).await;
        }
        _ => {
            let id = id_of(app, user, one).await;
            match verb {
                "archive" => drop(user.call("memory_archive", json!({ "item_id": id })).await),
                "correct" => {
                    let to = json!({ "item_id": id, "content": other });
                    user.call("memory_correct", to).await;
                }
                "fade" => fade(app, user, id).await,
                "restore" => restore(app, user, &app.signed_in(user).await, id).await,
                "supersede" => {
                    let (newer, now) =
                        (ItemId(id_of(app, user, other).await), app.embeddings.now());
                    let viewer = keepsake::accounts::Viewer::person(user.id);
                    let mut tx = app.db.as_writer(user.id).await.unwrap();
                    let (older, policy) = (ItemId(id), ConflictPolicy::PutAside);
                    let done = supersede_in(&mut tx, &viewer, older, newer, policy, now).await;
                    assert!(done.unwrap());
                    tx.commit().await.unwrap();
                }
                _ => panic!("{action}"),
            }
        }
    }
}

async fn results(user: &TestUser, query: &str) -> Vec<Value> {
    let found = user.call("memory_search", json!({ "query": query })).await;
    found["results"].as_array().unwrap().clone()
}

fn snippet(hit: &Value) -> &str {
    hit["content_snippet"].as_str().unwrap()
}

fn is_marked(hit: &Value) -> bool {
    hit["replaced_by"].is_i64() || hit["no_longer_held"] == true
}

/// What is not as the case says.
async fn failures(user: &TestUser, case: &Case) -> Vec<String> {
    let mut failures = Vec::new();
    let hits = results(user, &case.ask).await;
    let lines: Vec<String> = hits
        .iter()
        .map(|hit| {
            format!("{} {}{}", hit["type"], snippet(hit), if is_marked(hit) { " (x)" } else { "" })
        })
        .collect();
    // So few memories hardly stand out from each other.
    let all = json!({ "message": case.ask, "min_relevance": 0.01, "budget_tokens": 1000 });
    let recalled = user.call("memory_recall", all).await;
    let section = recalled["section"].as_str().unwrap();
    let mut fail =
        |what: &str| failures.push(format!("{}: {what}: {lines:?}; {section}", case.name));
    if let Some(first) = &case.first {
        if !hits.first().is_some_and(|hit| snippet(hit).contains(first)) {
            fail("not first");
        }
        let tells = case.tells.as_ref().unwrap_or(first);
        if !section.contains(tells) {
            fail("not recalled");
        }
    }
    if let Some(gone) = &case.gone {
        if section.contains(gone) {
            fail("recalled");
        }
        let telling: Vec<&Value> = hits.iter().filter(|hit| snippet(hit).contains(gone)).collect();
        if telling.iter().any(|hit| !is_marked(hit)) {
            fail("not marked");
        }
        if case.absent && !telling.is_empty() {
            fail("found");
        }
        if let Some(past) = &case.past
            && !results(user, past).await.iter().any(|hit| snippet(hit).contains(gone))
        {
            fail("the past is not found");
        }
    }
    if let Some(stays) = &case.stays
        && !results(user, stays)
            .await
            .iter()
            .any(|hit| snippet(hit).contains(stays) && !is_marked(hit))
    {
        fail("does not stay");
    }
    failures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_is_told_as_it_holds_now() {
    let cases = cases();
    assert!(cases.len() >= 30);
    let app = TestApp::start_with_builtin().await;
    let model = reader(&cases).await;
    let mut users = Vec::new();
    for n in 0..cases.len() {
        users.push(user_of(&app, &format!("user-{n}"), &model).await);
    }
    for n in 0..cases.iter().map(|case| case.sessions.len()).max().unwrap() {
        for (case, user) in cases.iter().zip(&users) {
            if let Some(talk) = case.sessions.get(n) {
                told(user, &format!("talk-{n}"), &talk.messages()).await;
            }
        }
        read_all(&app).await;
        for user in &users {
            app.drain(user).await;
        }
        app.clock.advance(Duration::days(1));
    }
    let mut failed = Vec::new();
    for (case, user) in cases.iter().zip(&users) {
        for action in &case.then {
            act(&app, user, action).await;
            app.drain(user).await;
        }
        failed.extend(failures(user, case).await);
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

const GRAZ: &str = "I live in the town of Graz and I weld gates at Acme Works.";

/// Anna with one session, from which two facts and two relations were read.
async fn with_graz() -> (TestApp, TestUser, ChatServer) {
    let found = json!({
        "facts": [
            fact("profile", "home_city", "Lives in Graz", "user_explicit", "I live in the town of Graz"),
            fact("profile", "job", "Welds gates at Acme Works", "user_explicit", "I weld gates at Acme Works"),
        ],
        "entities": [{ "name": "Graz", "type": "place" }, { "name": "Acme Works", "type": "organization" }],
        "connections": [
            { "subject": "user", "relation": "lives_in", "object": "Graz", "sentence": "I live in the town of Graz" },
            { "subject": "user", "relation": "works_at", "object": "Acme Works", "sentence": "I weld gates at Acme Works" },
        ],
        "summary": "The user lives in the town of Graz. The user welds gates at Acme Works.",
    });
    let model = ChatServer::answering(move |body, _| {
        let text = |n: usize| body["messages"][n]["content"].as_str().unwrap_or_default().to_owned();
        match text(1).contains(GRAZ) {
            true => said(&found.to_string()),
            // Summary, reflection, dream and portrait.
            false if text(0).contains("what lasts") => {
                said("## Preferences\n- The user lives in the town of Graz.\n- The user welds gates at Acme Works.")
            }
            false => said("The user lives in Graz. The user welds gates at Acme Works."),
        }
    })
    .await;
    let (app, anna) = TestApp::start_for("anna").await;
    use_server(&app, &anna, &model).await;
    told(&anna, "talk", &[user_says("m1", GRAZ)]).await;
    read_all(&app).await;
    (app, anna, model)
}

/// The relations of the user that hold, and those that do not: retired or until some day.
async fn relations(anna: &TestUser) -> [Vec<String>; 2] {
    let me = anna.call("memory_entity", json!({ "name": "me" })).await;
    ["relations", "changed"].map(|list| {
        let all = me[list].as_array().unwrap().iter();
        let mut names: Vec<String> = all
            .map(|one| match one["retired"] == true {
                true => format!("{} retired", one["object"].as_str().unwrap()),
                false => one["object"].as_str().unwrap().to_owned(),
            })
            .collect();
        names.sort();
        names
    })
}

#[tokio::test]
async fn a_relation_holds_as_long_as_a_memory_that_states_it() {
    let (app, anna, _model) = with_graz().await;

    assert_eq!(relations(&anna).await, [vec!["Acme Works", "Graz"], vec![]]);
    app.clock.advance(Duration::days(2));
    let yesterday = (app.embeddings.now() - Duration::days(1)).date().to_string();
    act(&app, &anna, "correct Lives in Graz -> Lives in Linz").await;
    assert_eq!(relations(&anna).await, [vec!["Acme Works"], vec!["Graz"]]);
    // It held until then, and was known.
    for day in ["at", "as_of"] {
        let then = anna.call("memory_graph", json!({ "entity": "me", day: yesterday })).await;
        let nodes = then["nodes"].to_string();
        assert!(nodes.contains("Graz") && nodes.contains("Acme"), "{day}: {then}");
    }
    act(&app, &anna, "archive Welds gates at Acme Works").await;
    assert_eq!(relations(&anna).await, [vec![], vec!["Acme Works retired", "Graz"]]);
    let now = anna.call("memory_graph", json!({ "entity": "me" })).await;
    assert_eq!(now["edges"], json!([]), "{now}");
    act(&app, &anna, "restore Welds gates at Acme Works").await;
    act(&app, &anna, "restore Lives in Graz").await;
    assert_eq!(relations(&anna).await, [vec!["Acme Works", "Graz"], vec![]]);
}

#[tokio::test]
async fn an_episode_a_week_a_dream_and_the_summary_leave_out_what_holds_no_more() {
    let (app, anna, model) = with_graz().await;
    keepsake::consolidation::dreaming::save(
        &app.db,
        anna.id,
        keepsake::consolidation::dreaming::DreamSettings::parse("propose", "2").unwrap(),
    )
    .await
    .unwrap();
    anna.add("Keeps three bees in a box.").await;
    told(
        &anna,
        "other",
        &[user_says("m1", "The garden shed needs paint before the winter comes.")],
    )
    .await;
    read_all(&app).await;
    app.clock.advance(Duration::minutes(20));
    app.run_due().await;
    super::reflection::to_sunday(&app);
    app.run_due().await;
    let of = async |what: &str| {
        anna.call(
            "memory_search",
            json!({ "query": "Who lives in Graz?", "types": [what], "status": "any" }),
        )
        .await["results"][0]
            .clone()
    };
    for kind in ["reflection", "document"] {
        let hit = of(kind).await;
        assert!(snippet(&hit).contains("Graz") && !is_marked(&hit), "{kind}: {hit}");
    }
    let asked = model.asked().len();
    app.clock.advance(Duration::minutes(1));
    act(&app, &anna, "correct Lives in Graz -> Lives in Linz").await;
    let linz = id_of(&app, &anna, "Lives in Linz").await;
    for kind in ["reflection", "document", "episode", "turn"] {
        let hit = of(kind).await;
        assert_eq!(hit["replaced_by"], linz, "{kind}: {hit}");
    }
    // Until they are written again they tell the rest.
    let summary = anna.call("memory_summary", json!({})).await;
    assert!(!summary["summary"].to_string().contains("Graz"), "{summary}");
    assert!(summary["summary"].to_string().contains("welds gates"), "{summary}");
    let message = json!({ "message": "What does the user weld in the town of Graz?", "session": "s", "budget_tokens": 1000 });
    let recalled = anna.call("memory_recall", message).await;
    let section = recalled["section"].as_str().unwrap();
    assert!(section.contains("In short: ") && section.contains("welds gates"), "{section}");
    assert!(!section.contains("Graz") && section.contains("Lives in Linz"), "{section}");
    // What is written next reads what holds.
    app.clock.advance(Duration::minutes(20));
    app.run_due().await;
    app.clock.advance(Duration::days(1));
    super::reflection::to_sunday(&app);
    app.run_due().await;
    let prompts = model.asked().into_iter().skip(asked);
    let prompts: Vec<String> =
        prompts.map(|one| one.body["messages"][1]["content"].to_string()).collect();
    assert!(prompts.iter().any(|prompt| prompt.contains("Lives in Linz")), "{prompts:?}");
    let is_told = |prompt: &String| prompt.replace("<name>Graz</name>", "").contains("Graz");
    assert!(!prompts.iter().any(is_told), "{prompts:?}");
}

#[tokio::test]
async fn a_reflection_whose_sources_mostly_do_not_hold_is_not_told() {
    let (app, anna, _model) = with_graz().await;
    anna.add("Keeps three bees in a box.").await;
    super::reflection::to_sunday(&app);
    app.run_due().await;
    let week = async |session: &str| {
        let message =
            json!({ "message": "What did Berta bake yesterday evening?", "session": session });
        let told = anna.call("memory_recall", message).await;
        told["section"].as_str().unwrap().contains("The week to")
    };
    assert!(week("a").await);
    act(&app, &anna, "archive Keeps three bees in a box.").await;
    assert!(week("b").await);
    act(&app, &anna, "archive Lives in Graz").await;
    act(&app, &anna, "archive Welds gates at Acme Works").await;
    assert!(!week("c").await);
}

#[tokio::test]
async fn a_portrait_follows_what_it_was_written_from() {
    let model = ChatServer::answering(|body, _| match body.to_string().contains("Marta") {
        true => said("Marta Helgesen lives in Linz. Marta Helgesen bakes bread."),
        false => said("{}"),
    });
    let model = model.await;
    let (app, anna) = TestApp::start_for("anna").await;
    use_server(&app, &anna, &model).await;
    let home = anna.add("Marta Helgesen lives in Graz, in the old town.").await;
    for text in [
        "Marta Helgesen bakes bread on Sundays in Oslo.",
        "Marta Helgesen met Anna Berg in Bergen.",
    ] {
        anna.add(text).await;
    }
    let items: Vec<i64> = app
        .sql("SELECT id FROM memory_items WHERE user_id = $1 ORDER BY id")
        .bind(anna.id.0)
        .values()
        .await;
    app.sql("UPDATE entities SET summary = 'Marta Helgesen lives in Graz. Marta Helgesen bakes bread.', summary_items = $2,
                    summary_at = $3, summary_mentions = 3 WHERE user_id = $1 AND name = 'Marta Helgesen'")
        .bind(anna.id.0).bind(items).bind(app.embeddings.now()).run().await;
    let portrait = async || {
        anna.call("memory_entity", json!({ "name": "Marta Helgesen" })).await["summary"].clone()
    };
    assert!(portrait().await.to_string().contains("Graz"));
    app.clock.advance(Duration::days(1));
    app.run_job("enrich").await;
    assert!(portrait().await.to_string().contains("Graz"));
    anna.call(
        "memory_correct",
        json!({ "item_id": home, "content": "Marta Helgesen lives in Linz, in the new town." }),
    )
    .await;
    assert_eq!(portrait().await, "Marta Helgesen bakes bread.");
    app.clock.advance(Duration::days(1));
    app.run_job("enrich").await;
    assert_eq!(portrait().await, "Marta Helgesen lives in Linz. Marta Helgesen bakes bread.");
}

#[tokio::test]
async fn what_was_forgotten_is_found_where_archived_memories_are_and_as_of_a_day_as_it_was() {
    let (app, anna, _model) = with_graz().await;
    app.clock.advance(Duration::days(2));
    let yesterday = (app.embeddings.now() - Duration::days(1)).date().to_string();
    act(&app, &anna, "forget home_city").await;
    let found = async |input: Value| {
        let hits = anna.call("memory_search", input).await["results"].clone();
        let hits = hits.as_array().unwrap().clone();
        hits.into_iter().filter(|hit| snippet(hit).contains("Graz")).collect::<Vec<Value>>()
    };
    let ask = "Where does the user live, in Graz?";
    assert_eq!(found(json!({ "query": ask })).await, Vec::<Value>::new());
    assert_eq!(
        found(json!({ "query": "*", "types": ["turn", "episode"] })).await,
        Vec::<Value>::new()
    );
    let any = found(json!({ "query": ask, "status": "any" })).await;
    let derived: Vec<&Value> = any.iter().filter(|hit| hit["type"] != "fact").collect();
    assert!(
        derived.len() == 2 && derived.iter().all(|hit| hit["no_longer_held"] == true),
        "{any:?}"
    );
    let then = found(json!({ "query": ask, "as_of": yesterday })).await;
    assert!(then.len() == 3 && !then.iter().any(is_marked), "{then:?}");
    let answer = anna.call("memory", json!({ "action": "search", "text": ask })).await;
    assert!(!answer.to_string().contains("Graz"), "{answer}");
}

#[tokio::test]
async fn the_same_told_again_after_something_else_is_current_again() {
    let home = |value: &str| json!([fact("profile", "home_city", value, "user_explicit", "")]);
    let sessions = vec![
        ("first", home("Lives in Graz")),
        ("second", home("Lives in Linz")),
        ("third", home("Lives in Graz")),
    ];
    let model = answering(sessions, "unrelated").await;
    let (app, anna) = TestApp::start_for("anna").await;
    use_server(&app, &anna, &model).await;
    one_after_the_other(&app, &anna, &["first", "second", "third"]).await;
    assert_eq!(active(&app, &anna).await, ["Lives in Graz"]);
    let all = super::items(&app, &anna).await;
    let linked: Vec<[&Value; 2]> =
        all.iter().map(|item| [&item["id"], &item["superseded_by"]]).collect();
    assert_eq!(
        (linked[0][1], linked[1][1], linked[2][1]),
        (linked[1][0], linked[2][0], &Value::Null)
    );
    app.run_job("turns").await;
    let hit = results(&anna, "first").await.into_iter().find(|hit| hit["type"] == "turn").unwrap();
    assert!(!is_marked(&hit), "{hit}");
}
