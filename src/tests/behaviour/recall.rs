//! What recall brings for a message, and when it brings nothing: written by someone who had not read the code.
//! `KEEPSAKE_BEHAVIOUR_GROUP` and `KEEPSAKE_BEHAVIOUR_REPORT` as for the search.

use std::collections::HashMap;
use std::env;

use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::json;

use super::{GROUPS_AT_ONCE, embed, report, start};
use crate::support::{TestApp, TestUser};

#[derive(Deserialize)]
struct Groups {
    group: Vec<RecallGroup>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallGroup {
    name: String,
    language: String,
    memories: Vec<RecallMemory>,
    #[serde(default)]
    ask: Vec<RecallCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallMemory {
    id: String,
    #[serde(default)]
    key: Option<String>,
    says: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallCase {
    message: String,
    #[serde(default)]
    brings: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
    #[serde(default)]
    nothing: bool,
}

/// How often what belongs there is brought, and how often nothing that does not.
#[derive(Default)]
struct Tally {
    brought: usize,
    wanted: usize,
    quiet: usize,
    for_nothing: usize,
    spared: usize,
    unwanted: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recall_brings_what_helps_and_nothing_else() {
    let app = start().await;
    let wanted = env::var("KEEPSAKE_BEHAVIOUR_GROUP").unwrap_or_default();
    let mut groups = toml::from_str::<Groups>(include_str!("recall.toml")).unwrap().group;
    groups.retain(|group| group.name.contains(&wanted) || group.language.contains(&wanted));
    let asking = groups.iter().enumerate().map(|(n, group)| ask_all(&app, n, group));
    let asked: Vec<(Tally, Vec<String>)> =
        stream::iter(asking).buffered(GROUPS_AT_ONCE).collect().await;
    let mut all = Tally::default();
    let mut open = Vec::new();
    for (tally, lines) in asked {
        all.brought += tally.brought;
        all.wanted += tally.wanted;
        all.quiet += tally.quiet;
        all.for_nothing += tally.for_nothing;
        all.spared += tally.spared;
        all.unwanted += tally.unwanted;
        open.extend(lines);
    }
    let head = format!(
        "brought {} of {} that help; nothing {} of {} times where nothing does; without {} of {} that do not belong there",
        all.brought, all.wanted, all.quiet, all.for_nothing, all.spared, all.unwanted
    );
    println!("{head}");
    report(&head, open.iter().map(String::as_str));
    let at_least = |of: usize, all: usize, share: f64| of as f64 >= all as f64 * share;
    assert!(
        at_least(all.brought, all.wanted, 0.8)
            && at_least(all.quiet, all.for_nothing, 0.9)
            && at_least(all.spared, all.unwanted, 0.9),
        "{head}\n{}",
        open.join("\n")
    );
}

async fn ask_all(app: &TestApp, n: usize, group: &RecallGroup) -> (Tally, Vec<String>) {
    let user = app.user(&format!("recall-{n}")).await;
    let mut labels = HashMap::new();
    for memory in &group.memories {
        let input = json!({ "type": "fact", "content": memory.says, "key": memory.key });
        let added = user.call("memory_add", input).await;
        labels.insert(added["id"].as_i64().unwrap(), memory.id.as_str());
    }
    embed(app, &user).await;
    let (mut tally, mut open) = (Tally::default(), Vec::new());
    for case in &group.ask {
        let (told, score) = brought(&user, case, &labels).await;
        let missing = case.brings.iter().filter(|id| !told.contains(&id.as_str())).count();
        let unwanted = case.not.iter().filter(|id| told.contains(&id.as_str())).count();
        tally.wanted += case.brings.len();
        tally.brought += case.brings.len() - missing;
        tally.unwanted += case.not.len();
        tally.spared += case.not.len() - unwanted;
        tally.for_nothing += usize::from(case.nothing);
        tally.quiet += usize::from(case.nothing && told.is_empty());
        if missing + unwanted > 0 || case.nothing && !told.is_empty() {
            let message: String = case.message.chars().take(90).collect();
            open.push(format!(
                "{}: {message:?} brought {told:?} ({score}), not {:?}, without {:?}",
                group.name, case.brings, case.not
            ));
        }
    }
    (tally, open)
}

/// What is told, and the reason why nothing is or the highest relevance.
async fn brought<'a>(
    user: &TestUser,
    case: &RecallCase,
    labels: &HashMap<i64, &'a str>,
) -> (Vec<&'a str>, String) {
    let recalled = user.call("memory_recall", json!({ "message": case.message })).await;
    let items = recalled["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let told = items.iter().map(|item| labels[&item["id"].as_i64().unwrap()]).collect();
    let reason = recalled["reason"].as_str().map(|reason| format!("{reason}, "));
    let score = recalled["top_score"].as_f64().unwrap_or_default();
    (told, format!("{}{score:.2}", reason.unwrap_or_default()))
}
