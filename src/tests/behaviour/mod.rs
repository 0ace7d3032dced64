//! What an agent may expect of the search: small cases, written as data in `cases/`, asked through REST in each state that
//! embeddings can be in. Each group has an account of its own. What does not hold yet stands in `later.toml`.
//! `KEEPSAKE_BEHAVIOUR_GROUP=tea` asks only groups with that in their names or their file's; `KEEPSAKE_BEHAVIOUR_REPORT` is a file that gets
//! a line of each case that does not hold.

mod cases;
mod generated;
mod names;
mod prose;
mod recall;

use std::collections::HashMap;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use futures_util::{StreamExt, stream};
use keepsake::embedding::Drained;
use keepsake::providers::builtin::{self, BuiltinModels};
use serde_json::{Value, json};

use self::cases::{Case, Group, Later, State};
use crate::data;
use crate::support::{TestApp, TestUser, Wish, turns_due};

const GROUPS_AT_ONCE: usize = 4;
/// Other facts in the state [`State::Among`].
const FILL: usize = 200;
/// Other facts that have vectors in the state [`State::Failed`].
const READY: usize = 3;
/// Of a memory in the states with long ones, at least.
const LONG_CHARS: usize = 1_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_expected_is_found_with_vectors_ready() {
    ask_all_in(State::Ready).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_expected_is_found_while_vectors_are_pending() {
    ask_all_in(State::Pending).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_expected_is_found_where_vectors_failed() {
    ask_all_in(State::Failed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_expected_is_found_with_vectors_switched_off() {
    ask_all_in(State::Off).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_expected_is_found_in_long_memories() {
    ask_all_in(State::Long).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_expected_is_found_in_long_memories_while_vectors_are_pending() {
    ask_all_in(State::LongPending).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_expected_is_found_among_many_others() {
    ask_all_in(State::Among).await;
}

/// How a case went.
struct Asked {
    holds: bool,
    is_for_later: bool,
    /// As `later.toml` would have it.
    line: String,
}

async fn ask_all_in(state: State) {
    let (app, later) = (start().await, cases::later());
    let wanted = env::var("KEEPSAKE_BEHAVIOUR_GROUP").unwrap_or_default();
    let mut groups = cases::all();
    let is_wanted = |group: &Group| group.name.contains(&wanted) || group.file.contains(&wanted);
    groups.retain(|group| group.is_asked_in(state) && is_wanted(group));
    let groups = groups.into_iter().enumerate();
    let opening = groups.map(|(n, group)| Account::open(&app, state, n, group));
    let accounts: Vec<Account> = stream::iter(opening).buffered(GROUPS_AT_ONCE).collect().await;
    while !turns_due(&app).await.is_empty() {
        app.run_job("turns").await;
    }
    let asking = accounts.iter().map(|account| account.ask_all(&app, state, &later));
    let asked: Vec<Vec<Asked>> = stream::iter(asking).buffered(GROUPS_AT_ONCE).collect().await;
    let asked: Vec<Asked> = asked.into_iter().flatten().collect();
    let holding = asked.iter().filter(|one| one.holds).count();
    let head = format!("{state:?}: {holding} of {} cases hold", asked.len());
    println!("{head}");
    report(&head, asked.iter().filter(|one| !one.holds).map(|one| one.line.as_str()));
    let unexpected = asked.iter().filter(|one| one.holds == one.is_for_later);
    let unexpected: Vec<String> = unexpected
        .map(|one| match one.holds {
            true => format!("holds now, remove it from later.toml: {}", one.line),
            false => one.line.clone(),
        })
        .collect();
    assert!(unexpected.is_empty(), "{head}\n{}", unexpected.join("\n"));
}

/// Writes down what does not hold, where somebody wants to know.
fn report<'a>(head: &'a str, open: impl Iterator<Item = &'a str>) {
    if let Ok(path) = env::var("KEEPSAKE_BEHAVIOUR_REPORT") {
        let report: Vec<&str> = [head].into_iter().chain(open).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{}\n", report.join("\n")).as_bytes()).unwrap();
    }
}

/// A server with the builtin model, whose weights are read once for all of them.
async fn start() -> TestApp {
    static MODEL: LazyLock<BuiltinModels> = LazyLock::new(|| builtin::find(Path::new("data")));
    TestApp::start_as(Wish { builtin: Some(MODEL.clone()), ..Wish::default() }).await
}

async fn embed(app: &TestApp, user: &TestUser) {
    assert_eq!(app.drain(user).await, Drained::Done);
}

async fn import(app: &TestApp, user: &TestUser, facts: &[String]) {
    let mut lines = vec![json!({ "keepsake_export": 1 })];
    for fact in facts {
        lines.push(json!({ "record": "item", "type": "fact", "content": fact }));
    }
    lines.push(json!({ "record": "end", "counts": { "items": facts.len() } }));
    let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let outcome = data::import(app, user, &file).await;
    assert_eq!(outcome.added, facts.len() as u64, "{outcome:?}");
}

/// Of a group, whose memories it holds.
struct Account {
    group: Group,
    user: TestUser,
    labels: HashMap<i64, String>,
}

impl Account {
    async fn open(app: &TestApp, state: State, n: usize, group: Group) -> Self {
        let user = app.user(&format!("group-{n}")).await;
        if state == State::Off {
            app.embeddings.set_enabled(user.id, false, true).await.unwrap();
        }
        let fill = if state == State::Among { FILL } else { group.fill };
        let facts = prose::facts(&prose::terms(&group), READY + fill);
        if state == State::Failed {
            import(app, &user, &facts[..READY]).await;
            embed(app, &user).await;
        }
        if fill > 0 {
            import(app, &user, &facts[READY..]).await;
        }
        let mut account = Self { group, user, labels: HashMap::new() };
        account.remember(app, state).await;
        if !account.group.said.is_empty() {
            account.say().await;
        }
        account
    }

    async fn remember(&mut self, app: &TestApp, state: State) {
        let paragraphs = match state.is_long() {
            true => prose::paragraphs(&prose::sentences(&self.group)),
            false => Vec::new(),
        };
        for (n, (label, memory)) in self.group.memories.iter().enumerate() {
            let mut input = match memory {
                Value::String(content) => json!({ "content": content }),
                whole => whole.clone(),
            };
            if input["type"].is_null() {
                input["type"] = "fact".into();
            }
            let content = input["content"].as_str().unwrap();
            if state.is_long() && content.chars().count() < LONG_CHARS {
                let long = prose::amid(content, &paragraphs, n, LONG_CHARS);
                input["content"] = long.into();
            }
            let added = self.user.call("memory_add", input).await;
            self.labels.insert(added["id"].as_i64().unwrap(), label.clone());
            if state == State::Long {
                // Paragraphs that come again are known then.
                embed(app, &self.user).await;
            }
        }
    }

    /// The conversation, which is searched once its turns are made.
    async fn say(&self) {
        let mut messages = Vec::new();
        for (label, said) in &self.group.said {
            let (role, content) = said.as_object().unwrap().iter().next().unwrap();
            messages.push(json!({ "id": label, "role": role, "content": content }));
        }
        let session = "/api/v1/sessions/chat";
        let body = json!({ "messages": messages });
        let told = self.user.post(&format!("{session}/messages"), &body).await;
        assert_eq!(told.status(), 200, "{}", told.text().await.unwrap());
        let ended = self.user.post(&format!("{session}/complete"), &json!({})).await;
        assert_eq!(ended.status(), 200, "{}", ended.text().await.unwrap());
    }

    async fn ask_all(&self, app: &TestApp, state: State, later: &[Later]) -> Vec<Asked> {
        if state.is_ready() {
            embed(app, &self.user).await;
        }
        if state == State::Failed {
            app.sql("UPDATE memory_embeddings SET state = 'error', error = 'No vector can be made of it.' WHERE user_id = $1 AND state = 'pending'")
                .bind(self.user.id.0)
                .run()
                .await;
            app.tell_changed(&self.user).await;
        }
        let mut asked = Vec::new();
        for case in self.group.cases_in(state) {
            asked.push(self.ask(state, case, later).await);
        }
        asked
    }

    async fn ask(&self, state: State, case: &Case, later: &[Later]) -> Asked {
        let mut input = case.with.clone();
        input.insert("query".to_owned(), case.ask.clone().into());
        let answer = self.user.call("memory_search", Value::Object(input)).await;
        assert!(state.is_told(case, &answer), "{state:?}, {}: {answer}", case.ask);
        let results = answer["results"].as_array().unwrap();
        let found: Vec<&str> = results.iter().map(|hit| self.label(hit)).collect();
        let scores = results.iter().map(|hit| hit["score"].as_f64().unwrap());
        let scored = found.iter().zip(scores).map(|(label, score)| format!("{label} {score:.2}"));
        let scored: Vec<String> = scored.collect();
        let listed = later.iter().find(|one| one.is_of(&self.group, case, state));
        let why = listed.map_or_else(String::new, |one| format!(" ({})", one.why));
        // JSON's strings are TOML's.
        let [group, ask] = [&self.group.name, &case.ask].map(|text| json!(text));
        let line = format!(
            "{{ group = {group}, ask = {ask}, states = [\"{state:?}\"] }}, # {}: {}; found: {}{why}",
            self.group.file,
            case.expected(),
            scored.join(", "),
        );
        Asked { holds: case.holds(&found), is_for_later: listed.is_some(), line }
    }

    /// Of a result: a memory's, a message's, or a dash for one of the other facts.
    fn label<'a>(&'a self, hit: &'a Value) -> &'a str {
        let said = hit["said_in"]["message"].as_str();
        let label = || self.labels.get(&hit["id"].as_i64()?).map(String::as_str);
        said.or_else(label).unwrap_or("–")
    }
}
