//! The tools through `POST /api/v1/tools/{name}`.

mod activity;
mod any_day;
mod bad_input;
mod list_tools;
mod memory_add;
mod memory_archive;
mod memory_expiry;
mod memory_get;
mod memory_keys;
mod memory_list_themes;
mod memory_periods;
mod memory_search;
mod memory_switch;
mod memory_times;
mod memory_trust;
mod openapi;
mod prompt;
mod quotas;
mod service_tokens;
mod sessions;
mod tokens;
mod unread;

use reqwest::Response;
use serde::Serialize;
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser, problem};

/// A server of their own, and two members.
async fn two_users() -> (TestApp, TestUser, TestUser) {
    let (app, anna) = TestApp::start_for("anna").await;
    let ben = app.user("ben").await;
    (app, anna, ben)
}

/// What is answered with 200.
async fn answer(response: Response) -> Value {
    let (status, url) = (response.status(), response.url().clone());
    let body: Value = response.json().await.unwrap();
    assert_eq!(status, 200, "{url}: {body}");
    body
}

/// The status, and the code of a refusal: "200", "422 required".
async fn code(response: Response) -> String {
    if response.status() == 200 {
        return "200".to_owned();
    }
    let (status, problem) = problem(response).await;
    format!("{status} {}", problem["code"].as_str().unwrap())
}

/// The status of a refusal, and the field that it names: "422 tags".
async fn refused_field(user: &TestUser, tool: &str, input: Value) -> String {
    let (status, problem) = user.refused(tool, input).await;
    format!("{status} {}", problem["field"].as_str().unwrap_or_default())
}

async fn add(user: &TestUser, input: Value) -> Value {
    user.call("memory_add", input).await
}

async fn get(user: &TestUser, id: impl Serialize) -> Value {
    user.call("memory_get", json!({ "item_id": id })).await
}

/// The object with these fields, which take the place of those of the same names.
fn with(mut object: Value, more: Value) -> Value {
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

/// These fields, as an array.
fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.iter().map(|name| of[*name].clone()).collect()
}
