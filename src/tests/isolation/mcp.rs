//! Every method that the MCP server answers, called by those whom nothing
//! concerns. tools/call is walked tool by tool in tools.rs.

use serde_json::{Value, json};

use super::scene::{Answer, Scene};
use super::tools::with_user;
use super::walk;
use crate::mcp::{CURRENT, message};

/// The function of src/web/mcp/handler.rs, the method that leads to it, its params.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    ("get_info", "ping", "{}"),
    ("initialize", "initialize",
        r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"{theme}","version":"1"}}"#),
    ("discover", "server/discover", "{}"),
    ("list_tools", "tools/list", "{}"),
    ("call_tool", "tools/call", r#"{"name":"memory_get","arguments":{"item_id":{item}}}"#),
    ("call_tool", "tools/call", r#"{"name":"search","arguments":{"query":"{word}"}}"#),
    ("call_tool", "tools/call", r#"{"name":"fetch","arguments":{"id":"{item}"}}"#),
    ("on_custom_request", "memory/read", r#"{"item_id":{item}}"#),
    // Not served: they must not be by accident either.
    ("", "resources/list", "{}"),
    ("", "resources/read", r#"{"uri":"keepsake://memory/{item}"}"#),
    ("", "resources/subscribe", r#"{"uri":"keepsake://memory/{item}"}"#),
    ("list_prompts", "prompts/list", "{}"),
    ("get_prompt", "prompts/get", r#"{"name":"recall","arguments":{"message":"what about {word} then, and rows?"}}"#),
    ("", "prompts/get", r#"{"name":"{theme}"}"#),
    ("", "completion/complete", r#"{"ref":{"type":"ref/prompt","name":"{theme}"},"argument":{"name":"a","value":"{word}"}}"#),
    ("", "logging/setLevel", r#"{"level":"debug"}"#),
    ("", "tasks/get", r#"{"taskId":"{item}"}"#),
    ("", "tasks/cancel", r#"{"taskId":"{item}"}"#),
];

const SERVED: [&str; 6] =
    ["initialize", "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get"];

#[test]
fn every_method_of_mcp_has_a_case() {
    for function in walk::mcp_handlers() {
        assert!(
            CASES.iter().any(|(name, ..)| *name == function),
            "`{function}` in src/web/mcp/handler.rs is served and nobody has tried it with another's rows: add to \
             CASES in src/tests/isolation/mcp.rs (\"{function}\", the method's name, params with {{item}} or {{theme}})"
        );
    }
}

#[tokio::test]
async fn whatever_method_of_mcp_is_called_nothing_of_anothers_is_told() {
    let scene = Scene::start().await;
    for (_, method, params) in CASES {
        for (who, token, user) in scene.by_token() {
            let ask = |fill: &dyn Fn(&str) -> String| {
                let params: Value = serde_json::from_str(&fill(params)).unwrap();
                let request = scene.client.post(format!("{}/mcp", scene.app.base));
                let mut request = with_user(request, token, user)
                    .header("accept", "application/json, text/event-stream");
                if *method == "initialize" {
                    let hello =
                        json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
                    return request.json(&hello);
                }
                if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                    request = request.header("mcp-name", name);
                }
                request
                    .header("mcp-protocol-version", CURRENT)
                    .header("mcp-method", *method)
                    .json(&message(method, params))
            };
            let answer = scene.assert_alike(who, &format!("{method} {params}"), &ask).await;
            let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
            let is_empty = body["error"].is_object() || lists_nothing(&body["result"]);
            assert!(SERVED.contains(method) || is_empty, "{method}: {answer:?}");
        }
        let request = scene.client.post(format!("{}/mcp", scene.app.base));
        let request = request.header("accept", "application/json, text/event-stream");
        let answer = Answer::of(request.json(&message(method, json!({})))).await;
        assert_eq!(answer.status, 401, "{method}: {answer:?}");
        scene.assert_untouched(method).await;
    }
}

/// `{}`, or empty lists and words about them.
fn lists_nothing(result: &Value) -> bool {
    match result {
        Value::Object(entries) => entries.values().all(lists_nothing),
        Value::Array(entries) => entries.is_empty(),
        _ => true,
    }
}
