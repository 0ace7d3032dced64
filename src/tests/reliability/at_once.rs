//! Many callers at once, on two servers of one database: what is to happen once happens once.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use keepsake::accounts::Scope;
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser};

const ADDS: usize = 100;
/// Of one user at a server.
const CALLS_AT_ONCE_MAX: usize = 36;
const ITEMS: usize = 400;
const ITEMS_AT_ONCE: usize = 8;

/// The user's agent of this name, as a client of this server.
async fn agent_at(app: &TestApp, server: &TestApp, user: &TestUser, name: &str) -> TestUser {
    let token = app.token(user.id, name, &Scope::ALL, None).await;
    user.at(server).with_token(&token)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_identical_adds_at_once_on_two_servers_make_one_item() {
    let (app, anna) = TestApp::start_for("anna").await;
    let twin = app.twin().await;
    let agents =
        [agent_at(&app, &app, &anna, "here").await, agent_at(&app, &twin, &anna, "there").await];
    let input = json!({ "type": "fact", "content": "Anna keeps bees.", "theme": "a new theme" });
    let adds = agents.iter().map(|agent| {
        let adds = (0..ADDS / 2).map(|_| agent.call("memory_add", input.clone()));
        stream::iter(adds).buffer_unordered(CALLS_AT_ONCE_MAX).collect::<Vec<Value>>()
    });
    let answers = join_all(adds).await.concat();

    let ids: BTreeSet<i64> = answers.iter().filter_map(|a| a["id"].as_i64()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let first = answers.iter().filter(|a| a["duplicate"] == false).count();
    assert_eq!(first, 1, "one of them made it, and the others are told so");
    for table in ["memory_items", "memory_themes", "memory_item_events"] {
        assert_eq!(app.count(table).await, 1, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_that_two_agents_archive_at_once_on_two_servers_are_each_archived_once() {
    let (app, anna) = TestApp::start_for("anna").await;
    let twin = app.twin().await;
    anna.add("Anna keeps bees.").await;
    let ids: Vec<i64> = app.sql("INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source, created_at, updated_at)
         SELECT user_id, theme_id, type, 'note ' || n, sha256(n::text::bytea), source, created_at, updated_at
         FROM memory_items, generate_series(1, $1) n RETURNING id").bind(ITEMS as i64).values().await;

    // More of one agent within a minute would wait for its person.
    let mut agents = Vec::new();
    for n in 0..ITEMS / 20 {
        let here = agent_at(&app, &app, &anna, &format!("here {n}")).await;
        agents.push((here, agent_at(&app, &twin, &anna, &format!("there {n}")).await));
    }
    // Both are sent the same item at once, each first at every other one.
    let pairs = ids.chunks_exact(2).enumerate().flat_map(|(n, pair)| {
        let (here, there) = &agents[n / 10];
        [(pair[0], here, there), (pair[1], there, here)]
    });
    stream::iter(pairs)
        .for_each_concurrent(ITEMS_AT_ONCE, |(id, first, second)| async move {
            let input = json!({ "item_id": id });
            let answers =
                join_all([first, second].map(|agent| agent.call("memory_archive", input.clone())))
                    .await;
            assert!(answers.iter().all(|a| a["status"] == "archived"), "{answers:?}");
        })
        .await;

    let events: Vec<(i64, String)> = app.sql("SELECT e.item_id, a.name FROM memory_item_events e JOIN agents a ON a.user_id = e.user_id AND a.id = e.agent_id
         WHERE event = 'archived'").rows().await;
    let archived: BTreeSet<i64> = events.iter().map(|(id, _)| *id).collect();
    assert_eq!(events.len(), ITEMS, "one event each");
    assert_eq!(archived, ids.into_iter().collect());
    let of = |(_, agent): &(i64, String)| agent.split(' ').next().unwrap().to_owned();
    let first: BTreeSet<String> = events.iter().map(of).collect();
    assert_eq!(first.len(), 2, "both came first now and then: {first:?}");
}
