//! The life of a vector: each line of its table, and its bad days.

mod crash;
mod exchange;
mod failures;
mod honest;
mod known;
mod life;
mod liveness;
mod queue;
mod rebuild;
mod restart;
mod system;
pub mod workers;

use keepsake::embedding::Texts;

use crate::support::{Provider, TestApp, TestUser};

/// Anna on a server of her own, and the provider of her own endpoint.
async fn with_provider(model: &str) -> (TestApp, TestUser, Provider) {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, model).await;
    (app, anna, provider)
}

/// Whether every vector that serves the user is ready, and how many those are.
async fn all_ready(app: &TestApp, user: &TestUser) -> Option<usize> {
    let rows = app.vectors(user, "active").await;
    rows.iter().all(|(_, state)| state == "ready").then_some(rows.len())
}

fn memories(memories: i64) -> Texts {
    Texts { memories, from_messages: 0 }
}
