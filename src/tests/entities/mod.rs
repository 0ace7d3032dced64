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

use crate::data::erasure::find_everywhere;
use crate::support::{TestApp, TestUser};

/// What the tool tells of the entity of this name.
async fn told(user: &TestUser, name: &str) -> Value {
    user.call("memory_entity", json!({ "name": name })).await
}

async fn id_of(app: &TestApp, user: &TestUser, name: &str) -> EntityId {
    find_named(&app.search, user.id, name).await.unwrap()
}

/// Of each of these names.
async fn ids_of<const N: usize>(app: &TestApp, user: &TestUser, names: [&str; N]) -> [EntityId; N] {
    let mut ids = [EntityId(0); N];
    for (id, name) in ids.iter_mut().zip(names) {
        *id = id_of(app, user, name).await;
    }
    ids
}

/// Asserts that no row of any table holds it.
async fn assert_forgotten(app: &TestApp, like: &str) {
    app.activity.flush().await.unwrap();
    let found = find_everywhere(&mut app.superuser().await, &[like.to_owned()]).await;
    assert_eq!(found, [""; 0]);
}

/// Runs the upkeep until nothing is left.
async fn upkeep(app: &TestApp) {
    while app.run_job("entities").await > 0 {}
}
