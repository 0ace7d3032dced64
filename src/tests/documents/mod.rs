//! Documents: files by the commands of the memory tool, through REST, found by search, gone when they are deleted.

mod doors;
mod files;
mod found;
mod kept;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::TestUser;

/// A command of the tool that is done: what it says.
async fn done(user: &TestUser, input: Value) -> String {
    let output = user.call("memory_files", input).await;
    output["output"].as_str().unwrap().to_owned()
}

/// A command that is refused: the status, and in which words.
async fn refused(user: &TestUser, input: Value) -> (u16, String) {
    let path = "/api/v1/tools/memory_files";
    let (status, problem) = user.request(Method::POST, path, Some(input)).await;
    (status, problem["detail"].as_str().unwrap().to_owned())
}

/// Commands of the tool, of paths below /memories.
fn edit(path: &str, old: &str, new: &str) -> Value {
    let path = format!("/memories/{path}");
    json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": new })
}

fn rename(from: &str, to: &str) -> Value {
    let (from, to) = (format!("/memories/{from}"), format!("/memories/{to}"));
    json!({ "command": "rename", "old_path": from, "new_path": to })
}

fn delete(path: &str) -> Value {
    json!({ "command": "delete", "path": format!("/memories/{path}") })
}

pub async fn create(user: &TestUser, path: &str, text: &str) {
    let path = format!("/memories/{path}");
    let said = done(user, json!({ "command": "create", "path": path, "file_text": text })).await;
    assert_eq!(said, format!("File created successfully at: {path}"));
}

async fn view(user: &TestUser, path: &str) -> String {
    done(user, json!({ "command": "view", "path": path })).await
}
