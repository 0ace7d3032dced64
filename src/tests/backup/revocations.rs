//! What was ended since a backup stays ended after its restore, what was begun again stays, and own endpoints wait.

use std::fs;

use keepsake::accounts::admin_events::{AdminAction, AdminActor};
use keepsake::accounts::{AgentId, Scope, TokenHolder, TokenId};
use keepsake::providers::chat::ChatPurpose;
use keepsake::providers::settings::{Effective, EndpointPurpose};
use reqwest::StatusCode;

use super::{backed_up, restore, server_of, words};
use crate::chat::{form, use_server};
use crate::support::{ChatServer, Provider, TestApp, TestUser, Wish, fresh_database};
use crate::teams::{agent, agent_id};
use crate::webhooks::{ALL, Receiver, hook};

async fn token_of(app: &TestApp, user: &TestUser) -> (AgentId, TokenId) {
    let (agent, tokens) = app.accounts.list_agents(user.id).await.unwrap().pop().unwrap();
    (agent.id, tokens.last().unwrap().id)
}

/// Each is false where somebody has ended it.
const STATES: [(&str, &str); 12] = [
    ("token of anna", "SELECT revoked_at IS NULL FROM agent_tokens ORDER BY id LIMIT 1"),
    (
        "all tokens of ben",
        "SELECT bool_or(revoked_at IS NULL) FROM agent_tokens t JOIN users u ON u.id = user_id WHERE email LIKE 'ben@%'",
    ),
    ("service token", "SELECT revoked_at IS NULL FROM service_tokens"),
    ("carl enabled", "SELECT disabled_at IS NULL FROM users WHERE email LIKE 'carl@%'"),
    ("dora enabled", "SELECT disabled_at IS NULL FROM users WHERE email LIKE 'dora@%'"),
    ("ben admin", "SELECT role = 'admin' FROM users WHERE email LIKE 'ben@%'"),
    ("in a team", "SELECT count(*) > 0 FROM team_members"),
    ("webhook", "SELECT count(*) > 0 FROM webhooks"),
    ("agent on", "SELECT memory_enabled FROM agents ORDER BY id LIMIT 1"),
    ("dora's memory on", "SELECT memory_enabled FROM users WHERE email LIKE 'dora@%'"),
    (
        "anna's chat on",
        "SELECT coalesce((SELECT enabled FROM chat_settings s JOIN users u ON u.id = user_id WHERE email LIKE 'anna@%'), true)",
    ),
    ("allowed", "SELECT count(*) > 0 FROM allowed_endpoints WHERE host = '10.0.0.5'"),
];

async fn states(app: &TestApp) -> Vec<(&'static str, bool)> {
    let mut states = Vec::new();
    for (name, question) in STATES {
        states.push((name, app.sql(question).value().await));
    }
    states
}

#[tokio::test]
async fn what_was_ended_after_the_backup_is_ended_again_and_what_was_begun_again_stays() {
    let folder = tempfile::tempdir().unwrap();
    let backup_dir = Some(folder.path().to_owned());
    let app = TestApp::start_as(Wish { backup_dir, ..Wish::default() }).await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let (carl, dora) = (app.user("carl").await, app.user("dora").await);
    for admin in [&anna, &ben] {
        app.make_admin(admin).await;
    }
    let change = async |user: &TestUser, action| {
        app.accounts.change_person(AdminActor::Command, user.id, action).await.unwrap();
    };
    app.service_token("shop", &[Scope::MemoryRead]).await;
    agent(&app, &anna, "leader", "own_first").await;
    agent(&app, &anna, "member", "shared").await;
    let lead = agent_id(&app, &anna, "leader").await;
    app.accounts.add_to_team(anna.id, lead, agent_id(&app, &anna, "member").await).await.unwrap();
    let receiver = Receiver::start().await;
    hook(&app, &anna, &receiver, ALL).await;
    app.allow_for("10.0.0.5:80", EndpointPurpose::Models).await;
    change(&dora, AdminAction::Disable).await;
    let file = folder.path().join("by-hand.tar");
    app.run_job("backup").await;
    backed_up(&app, &file).await;
    let before = states(&app).await;
    let on: Vec<&str> = before.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    assert_eq!(on.len(), STATES.len() - 1, "{before:?}");

    let (agent, token) = token_of(&app, &anna).await;
    app.accounts.revoke_token(TokenHolder::Agent(anna.id, agent), token).await.unwrap();
    app.accounts.revoke_all_tokens(ben.id).await.unwrap();
    let operator = app.accounts.list_operators().await.unwrap().remove(0);
    let of_shop = TokenHolder::Operator(operator.id);
    app.accounts.revoke_token(of_shop, operator.tokens[0].id).await.unwrap();
    for action in [AdminAction::Disable, AdminAction::Enable, AdminAction::Disable] {
        change(&carl, action).await;
    }
    change(&dora, AdminAction::Enable).await;
    for action in [AdminAction::Demote, AdminAction::Promote, AdminAction::Demote] {
        change(&ben, action).await;
    }
    // What was given since is not given again, and what came since is not there.
    change(&dora, AdminAction::Promote).await;
    let emil = app.user("emil").await;
    app.accounts.revoke_all_tokens(emil.id).await.unwrap();
    change(&emil, AdminAction::Disable).await;
    let tie = app.accounts.teams(anna.id).await.unwrap().memberships[0].id;
    app.accounts.leave_team(anna.id, lead, tie).await.unwrap();
    let of_anna = app.webhooks.list(anna.id).await.unwrap()[0].0.id;
    app.webhooks.delete(anna.id, of_anna).await.unwrap();
    app.accounts.switch_agent_memory(anna.id, agent, false).await.unwrap();
    for on in [false, true] {
        app.accounts.switch_user_memory(dora.id, on).await.unwrap();
    }
    app.chat.set_enabled(anna.id, false).await.unwrap();
    app.embeddings.disallow_endpoint("10.0.0.5:80", EndpointPurpose::Models).await.unwrap();
    app.run_job("backup").await;
    let ended = states(&app).await;
    let lines = fs::read_to_string(folder.path().join("erasures.jsonl")).unwrap();
    assert!(!lines.contains("@") && app.count("erasure_notes").await == 0, "{lines}");

    let there = fresh_database().await;
    let done = restore(&there, &file);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.contains("0 erasures and 1"), "{said}{}", words(&done));
    let next = server_of(&there).await;
    assert_eq!(states(&next).await, ended);
    let is_admin = "users WHERE email LIKE 'dora@%' AND role = 'admin'";
    assert_eq!((app.count(is_admin).await, next.count(is_admin).await), (1, 0));
    let refused = anna.at(&next).get("/api/v1/prompt").await;
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    // It is noted again, for the backups of this server.
    assert!(next.count("erasure_notes WHERE what = 'token_revoked'").await >= 2);
    // Without the file all of it is back.
    fs::remove_file(folder.path().join("erasures.jsonl")).unwrap();
    let there = fresh_database().await;
    let refused = restore(&there, &file);
    assert!(words(&refused).contains("lacks lines"), "{}", words(&refused));
    let done = super::run(&there, &["restore", file.to_str().unwrap(), "--unsigned"]);
    assert!(done.status.success(), "{}", words(&done));
    assert_eq!(states(&server_of(&there).await).await, before);
}

#[tokio::test]
async fn own_endpoints_are_paused_until_their_owners_resume_them() {
    let folder = tempfile::tempdir().unwrap();
    let backup_dir = Some(folder.path().to_owned());
    let app = TestApp::start_as(Wish { backup_dir, ..Wish::default() }).await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let (chat, provider) = (ChatServer::saying("own").await, Provider::start().await);
    let all = ChatServer::saying("all").await;
    app.chat.save_system(&form(&all.url(), ""), "").await.unwrap();
    for user in [&anna, &ben] {
        use_server(&app, user, &chat).await;
        app.use_provider(user, &provider, "model").await;
        user.add("I row at dawn.").await;
        app.drain(user).await;
    }
    let file = folder.path().join("by-hand.tar");
    backed_up(&app, &file).await;
    // Ben takes his away, and Anna switches hers off and on, which changes nothing of the pause.
    app.chat.remove(ben.id).await.unwrap();
    for on in [false, true] {
        app.chat.set_enabled(anna.id, on).await.unwrap();
        app.embeddings.set_enabled(anna.id, on, true).await.unwrap();
    }
    app.run_job("backup").await;
    let there = fresh_database().await;
    let done = restore(&there, &file);
    assert!(done.status.success(), "{}", words(&done));

    let next = server_of(&there).await;
    provider.forget_calls();
    let anna = anna.at(&next);
    anna.add("The oar is of ash.").await;
    next.run_due().await;
    assert_eq!((provider.texts(), chat.asked().len()), (Vec::new(), 0));
    assert!(next.chat.effective(anna.id, ChatPurpose::Facts).await.unwrap().is_none());
    let of_ben = next.chat.overview(ben.id).await.unwrap();
    assert!(matches!(of_ben.effective, Effective::System(_)), "{:?}", of_ben.effective);
    let browser = next.signed_in(&anna).await;
    for (path, host) in
        [("/settings/chat", chat.host_port()), ("/settings/embeddings", provider.host_port())]
    {
        let (_, page) = browser.get(path).await;
        let is_said = page.contains("A backup was restored") && page.contains(&host);
        assert!(is_said, "{path}: {page}");
        browser.post(path, &[("action", "enable"), ("confirmed", "1")]).await;
        let (_, page) = browser.get(path).await;
        assert!(!page.contains("A backup was restored"), "{path}: {page}");
        // Switched off by herself, it says so.
        browser.post(path, &[("action", "disable")]).await;
        let (_, page) = browser.get(path).await;
        assert!(page.contains("You switched"), "{path}: {page}");
        browser.post(path, &[("action", "enable"), ("confirmed", "1")]).await;
    }
    next.run_due().await;
    assert_eq!(provider.texts(), ["The oar is of ash."]);
    let effective = next.chat.effective(anna.id, ChatPurpose::Facts).await.unwrap().unwrap();
    assert!(effective.endpoint.url.as_str().contains(&chat.host_port()));
}
