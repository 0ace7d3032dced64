//! Entities: what sources name, how that is connected, what a person decides about it.

mod decided;
mod erased;
mod found;
mod merged;
mod named;
mod read;
pub mod related;

use keepsake::entities::{EntityId, find_named};
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser};

/// What the tool tells of the entity of this name.
async fn told(user: &TestUser, name: &str) -> Value {
    user.call("memory_entity", json!({ "name": name })).await
}

async fn id_of(app: &TestApp, user: &TestUser, name: &str) -> EntityId {
    find_named(&app.search, user.id, name).await.unwrap()
}

/// Runs the upkeep until nothing is left.
async fn upkeep(app: &TestApp) {
    while app.run_job("entities").await > 0 {}
}
