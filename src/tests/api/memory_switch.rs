use keepsake::accounts::{Scope, UserId};
use serde_json::json;

use crate::support::{TestApp, TestUser};

const CALLS: [(&str, &str); 5] = [
    ("memory_search", r#"{"query":"*"}"#),
    ("memory_add", r#"{"type":"fact","content":"new"}"#),
    ("memory_get", r#"{"item_id":1}"#),
    ("memory_archive", r#"{"item_id":1}"#),
    ("memory_list_themes", "{}"),
];

async fn switch_agent(app: &TestApp, user: UserId, on: bool) {
    let agent = app.accounts.list_agents(user).await.unwrap().pop().unwrap().0;
    assert_eq!(agent.name, "agent");
    app.accounts.switch_agent_memory(user, agent.id, on).await.unwrap();
}

async fn is_refused(user: &TestUser, place: &str) {
    for (tool, input) in CALLS {
        let input = serde_json::from_str(input).unwrap();
        let (status, problem) = user.refused(tool, input).await;
        assert_eq!((status, problem["code"].as_str()), (403, Some("memory_off")), "{tool}");
        assert!(problem["detail"].as_str().unwrap().contains(place), "{problem}");
    }
}

#[tokio::test]
async fn switched_off_for_a_user_no_tool_reads_or_writes_from_the_next_call_on() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let id = anna.add("Anna's own.").await;
    // Each user's client keeps its connection: this is in the middle of it.
    app.accounts.switch_user_memory(anna.id, false).await.unwrap();
    is_refused(&anna, "on the page Account").await;
    ben.add("Ben goes on.").await;
    app.accounts.switch_user_memory(anna.id, true).await.unwrap();
    assert_eq!(anna.find("*").await, [id], "nothing was added or archived meanwhile");
}

#[tokio::test]
async fn switched_off_for_an_agent_the_users_others_go_on() {
    let (app, anna) = TestApp::start_for("anna").await;
    let other = app.token(anna.id, "other", &Scope::ALL, None).await;
    switch_agent(&app, anna.id, false).await;
    is_refused(&anna, "on the page Agents & tokens").await;
    let response = reqwest::Client::new()
        .post(format!("{}/api/v1/tools/memory_search", app.base))
        .bearer_auth(other)
        .json(&json!({ "query": "*" }))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    switch_agent(&app, anna.id, true).await;
    anna.add("again").await;
}

#[tokio::test]
async fn nobody_switches_anothers_agent() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let agent = app.accounts.list_agents(anna.id).await.unwrap()[0].0.id;
    assert!(app.accounts.switch_agent_memory(ben.id, agent, false).await.is_err());
    anna.add("mine").await;
}
