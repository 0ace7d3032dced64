use keepsake::accounts::Scope;

use super::two_users;
use crate::support::TestUser;

const CALLS: [(&str, &str); 5] = [
    ("memory_search", r#"{"query":"*"}"#),
    ("memory_add", r#"{"type":"fact","content":"new"}"#),
    ("memory_get", r#"{"item_id":1}"#),
    ("memory_archive", r#"{"item_id":1}"#),
    ("memory_list_themes", "{}"),
];

async fn is_refused(user: &TestUser, place: &str) {
    for (tool, input) in CALLS {
        let (status, problem) = user.refused(tool, serde_json::from_str(input).unwrap()).await;
        assert_eq!((status, problem["code"].as_str()), (403, Some("memory_off")), "{tool}");
        assert!(problem["detail"].as_str().unwrap().contains(place), "{problem}");
    }
}

#[tokio::test]
async fn switched_off_for_a_user_no_tool_reads_or_writes_from_the_next_call_on() {
    let (app, anna, ben) = two_users().await;
    let id = anna.add("Anna's own.").await;
    // Each user's client keeps its connection: this is in the middle of it.
    app.accounts.switch_user_memory(anna.id, false).await.unwrap();
    is_refused(&anna, "on the page Account").await;
    ben.add("Ben goes on.").await;
    app.accounts.switch_user_memory(anna.id, true).await.unwrap();
    assert_eq!(anna.find("*").await, [id], "nothing was added or archived meanwhile");
}

#[tokio::test]
async fn switched_off_for_an_agent_the_users_others_go_on_and_nobody_switches_anothers() {
    let (app, anna, ben) = two_users().await;
    let agent = app.accounts.list_agents(anna.id).await.unwrap()[0].0.id;
    assert!(app.accounts.switch_agent_memory(ben.id, agent, false).await.is_err());
    anna.add("mine").await;
    let other = app.token(anna.id, "other", &Scope::ALL, None).await;
    app.accounts.switch_agent_memory(anna.id, agent, false).await.unwrap();
    is_refused(&anna, "on the page Agents & tokens").await;
    anna.with_token(&other).find("*").await;
    app.accounts.switch_agent_memory(anna.id, agent, true).await.unwrap();
    anna.add("again").await;
}
