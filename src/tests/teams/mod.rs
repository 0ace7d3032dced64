//! Teams and global pools: memory that is lent to an agent. What the isolation tests try as a stranger they try as a member
//! and as a former one, too; here stands what members get, and how it ends.

mod doors;
mod ends;
mod pages;
mod pool;
mod read_only;
mod uncounted;

use keepsake::accounts::teams::MembershipId;
use keepsake::accounts::{AgentId, AgentSettings, Scope};
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser, ids};

/// GoClaw's words, as they are.
pub const REFUSAL: &str = "memory is read-only for team members";

/// Another agent of the same user.
pub async fn agent(app: &TestApp, user: &TestUser, name: &str, scope: &str) -> TestUser {
    let token = app.token(user.id, name, &Scope::ALL, None).await;
    let settings = AgentSettings::parse(&json!({ "memory_scope": scope })).unwrap();
    let id = agent_id(app, user, name).await;
    app.accounts.set_agent_settings(user.id, id, &settings).await.unwrap();
    user.with_token(&token)
}

pub async fn agent_id(app: &TestApp, user: &TestUser, name: &str) -> AgentId {
    let mut names = app.accounts.agent_names(user.id).await.unwrap().into_iter();
    names.find(|(_, other)| other == name).unwrap().0
}

/// By invitation; how the membership is called.
pub async fn join(
    app: &TestApp,
    (leader, of_leader): (&TestUser, &str),
    (member, of_member): (&TestUser, &str),
) -> MembershipId {
    let lead = agent_id(app, leader, of_leader).await;
    let mine = agent_id(app, member, of_member).await;
    let link = app.accounts.invite_to_team(leader.id, lead).await.unwrap();
    app.accounts.join_team(member.id, &link, mine).await.unwrap();
    let mut ties = app.accounts.teams(member.id).await.unwrap().memberships.into_iter();
    ties.find(|tie| !tie.leads && tie.agent == mine).unwrap().id
}

/// Whose memory each hit is of: its id, and who lends it.
pub async fn hits(user: &TestUser, query: &str) -> Vec<(i64, Option<String>)> {
    let found = user.call("memory_search", json!({ "query": query, "limit": 50 })).await;
    let results = found["results"].as_array().unwrap().iter();
    let of = |hit: &Value| hit["memory_of"].as_str().map(str::to_owned);
    let mut hits: Vec<_> = results.map(|hit| (hit["id"].as_i64().unwrap(), of(hit))).collect();
    hits.sort();
    hits
}

pub fn lent(id: i64, name: &str) -> (i64, Option<String>) {
    (id, Some(name.to_owned()))
}

async fn found(user: &TestUser, input: Value) -> Vec<i64> {
    ids(&user.call("memory_search", input).await)
}

async fn read(user: &TestUser, id: i64) -> Value {
    user.call("memory_get", json!({ "item_id": id })).await
}

/// A command of the tool for files that is done: what it says.
async fn file(user: &TestUser, command: Value) -> String {
    user.call("memory_files", command).await["output"].as_str().unwrap().to_owned()
}

pub async fn status(user: &TestUser, tool: &str, input: Value) -> u16 {
    user.send(tool, &input).await.status().as_u16()
}

/// Anna, whose agents "lead", "alone" and her shared one keep a memory each; and Ben.
pub struct Scene {
    pub app: TestApp,
    pub anna: TestUser,
    pub lead: TestUser,
    pub ben: TestUser,
    pub of_lead: i64,
    pub not_lent: [i64; 2],
    pub of_ben: i64,
}

impl Scene {
    pub async fn start() -> Self {
        let app = TestApp::start().await;
        let (anna, ben) = (app.user("anna").await, app.user("ben").await);
        let lead = agent(&app, &anna, "lead", "own_first").await;
        let alone = agent(&app, &anna, "alone", "own_only").await;
        let ben = ben.with_token(&app.token(ben.id, "crew", &Scope::ALL, None).await);
        Self {
            of_lead: lead.add_to("boats", "The boat to Bergen leaves at nine.").await,
            not_lent: [
                anna.add_to("boats", "The boat to Oslo is red.").await,
                alone.add_to("boats", "The boat belongs to Rolf.").await,
            ],
            of_ben: ben.add_to("boats", "Ben has a boat of paper.").await,
            app,
            anna,
            lead,
            ben,
        }
    }

    pub async fn join(&self) -> MembershipId {
        join(&self.app, (&self.anna, "lead"), (&self.ben, "crew")).await
    }

    pub async fn leave(&self, tie: MembershipId) {
        let crew = agent_id(&self.app, &self.ben, "crew").await;
        self.app.accounts.leave_team(self.ben.id, crew, tie).await.unwrap();
    }

    /// Ben's crew has what is its own and nothing of Anna's.
    pub async fn assert_alone(&self) {
        for query in ["boat", "*"] {
            assert_eq!(hits(&self.ben, query).await, [(self.of_ben, None)], "{query}");
        }
        for id in [self.of_lead, self.not_lent[0], self.not_lent[1]] {
            for tool in ["memory_get", "memory_archive", "memory_confirm"] {
                let status = status(&self.ben, tool, json!({ "item_id": id })).await;
                assert_eq!(status, 404, "{tool} {id}");
            }
        }
    }
}
