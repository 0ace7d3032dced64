use std::collections::BTreeSet;

use keepsake::accounts::Scope;
use serde_json::json;
use tokio::task::JoinSet;

use super::Mcp;
use crate::support::{TestApp, TestUser};

const AGENTS: usize = 10;
const USERS: usize = 10;
const FACTS: usize = 8;

/// What one agent does at both doors, turn by turn, checking each answer.
async fn work(mcp: Mcp, user: TestUser, own: String) {
    for n in 0..FACTS {
        let shared =
            json!({ "type": "fact", "content": format!("Shared fact {n}"), "theme": "shared" });
        let private = json!({ "type": "fact", "content": format!("{own} fact {n}"), "theme": own });
        let (one, other) =
            tokio::join!(mcp.call("memory_add", shared.clone()), user.call("memory_add", shared));
        assert_eq!(one["id"], other["id"], "one text, one item");
        let id = mcp.call("memory_add", private.clone()).await["id"].clone();
        let item = user.call("memory_get", json!({ "item_id": id })).await;
        assert_eq!((&item["content"], &item["theme"]), (&private["content"], &private["theme"]));
        let input = json!({ "query": format!("{own} fact"), "theme": own, "limit": 50 });
        let found = mcp.call("memory_search", input).await;
        let found = found["results"].as_array().unwrap();
        assert_eq!(found.len(), n + 1);
        assert!(found.iter().all(|hit| hit["theme"] == own));
    }
}

#[tokio::test]
async fn ten_agents_of_one_user_and_ten_users_do_not_get_in_each_others_way() {
    let app = TestApp::start().await;
    let mut workers = JoinSet::new();
    let mut users = Vec::new();
    for n in 0..USERS {
        let name = format!("user{n}");
        let user = app.user(&name).await;
        users.push((user.with_token(&user.token), name.clone()));
        workers.spawn(work(Mcp::of(&app, &user), user, name));
    }
    let anna = app.user("anna").await;
    for n in 0..AGENTS {
        let name = format!("agent{n}");
        let token = app.token(anna.id, &name, &Scope::ALL, None).await;
        workers.spawn(work(Mcp::with_token(&app, &token), anna.with_token(&token), name));
    }
    // A refusal, a 5xx or a wrong answer is a panic of its worker.
    while let Some(done) = workers.join_next().await {
        done.unwrap();
    }
    for (user, name) in users {
        assert_eq!(all(&user).await, facts(&[name]));
    }
    let agents: Vec<_> = (0..AGENTS).map(|n| format!("agent{n}")).collect();
    assert_eq!(all(&anna).await, facts(&agents));
}

/// All that is remembered of this user; each text once.
async fn all(user: &TestUser) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let mut input = json!({ "query": "*", "limit": 50 });
    loop {
        let page = user.call("memory_search", input.clone()).await;
        for hit in page["results"].as_array().unwrap() {
            let text = hit["content_snippet"].as_str().unwrap().to_owned();
            assert!(texts.insert(text), "{hit} twice");
        }
        if page["cursor"].is_null() {
            return texts;
        }
        input["cursor"] = page["cursor"].clone();
    }
}

fn facts(names: &[String]) -> BTreeSet<String> {
    let shared = (0..FACTS).map(|n| format!("Shared fact {n}"));
    let own = names.iter().flat_map(|name| (0..FACTS).map(move |n| format!("{name} fact {n}")));
    shared.chain(own).collect()
}
