//! Evaluation through a real database: a data set leaves nothing behind, and a user's own memory is
//! measured before and after a rebuild, for them alone.

mod own;
mod trial;

use serde_json::json;

use crate::support::{ChatServer, Provider, TestApp, TestUser, said};

/// Each of two words alone, and of three that many have.
pub async fn with_memories(app: &TestApp, provider: &Provider, count: usize) -> TestUser {
    let anna = app.user("anna").await;
    app.use_provider(&anna, provider, "old").await;
    for n in 0..count {
        let place = ["garden", "harbour", "meadow", "orchard"][n % 4];
        let act = ["waters", "paints", "sweeps"][n % 3];
        let day = ["monday", "tuesday", "friday", "saturday", "sunday"][n % 5];
        anna.add(&format!("anna {act} item{n} thing{n} {place} {day}")).await;
    }
    app.drain(&anna).await;
    anna
}

/// The same on a server of its own.
async fn remembering(count: usize) -> (TestApp, TestUser, Provider) {
    let (app, provider) = (TestApp::start().await, Provider::start().await);
    let anna = with_memories(&app, &provider, count).await;
    (app, anna, provider)
}

/// A chat model that puts a question for each line it is told.
async fn questioner() -> ChatServer {
    ChatServer::answering(|asked, _| {
        let told = asked["messages"][1]["content"].as_str().unwrap_or_default();
        let lines = told.lines().filter(|line| line.starts_with("anna")).enumerate();
        let question = |n: usize| format!("what about the {n} that anna waters in the garden?");
        let questions: Vec<String> = lines.map(|(n, _)| question(n)).collect();
        said(&json!({ "questions": questions }).to_string())
    })
    .await
}
