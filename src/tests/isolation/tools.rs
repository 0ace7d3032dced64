//! Every tool of the registry, through REST and MCP, called with what is another's.

use keepsake::sessions::own_tools::OWN_TOOLS;
use reqwest::RequestBuilder;
use serde_json::Value;

use super::scene::{Answer, Asking, Scene};
use crate::mcp::{CURRENT, message};

/// Input of a tool as JSON with `{names}`, and the status that REST answers.
/// Several where a tool can name rows in several ways.
#[rustfmt::skip]
const CASES: &[(&str, &str, u16)] = &[
    ("memory_search", r#"{"query":"*","theme":"{theme}"}"#, 200),
    ("memory_search", r#"{"query":"{word}","explain":true}"#, 200),
    ("memory_search", r#"{"query":"*","status":"archived","theme":"{theme}"}"#, 200),
    ("memory_search", r#"{"query":"*","cursor":"{cursor}"}"#, 200),
    ("memory_get", r#"{"item_id":{item}}"#, 404),
    ("memory_archive", r#"{"item_id":{item}}"#, 404),
    ("memory_list_themes", "{}", 200),
    ("memory_correct", r#"{"item_id":{item},"content":"taken over"}"#, 404),
    ("memory_correct", r#"{"key":"{key}","theme":"{theme}","content":"taken over"}"#, 404),
    ("memory_confirm", r#"{"item_id":{item}}"#, 404),
    ("memory_forget", r#"{"key":"{key}","theme":"{theme}"}"#, 200),
    ("memory_describe_theme", r#"{"theme":"{theme}","description":"taken over"}"#, 404),
    ("memory_stats", "{}", 200),
    ("memory_summary", "{}", 200),
    ("memory_entity", r#"{"id":{entity}}"#, 404),
    ("memory_entity", r#"{"name":"{person}"}"#, 404),
    ("memory_graph", r#"{"entity":"{person}"}"#, 404),
    ("memory", r#"{"action":"search","text":"{word}"}"#, 200),
    ("memory", r#"{"action":"list"}"#, 200),
    ("memory", r#"{"action":"forget","key":"{theme}"}"#, 200),
    ("memory_recall", r#"{"message":"what about {word} and {person} then?","session":"{session}"}"#, 200),
    ("search", r#"{"query":"{word}"}"#, 200),
    ("fetch", r#"{"id":"{item}"}"#, 404),
    ("memory_files", r#"{"command":"view","path":"/memories/{document}"}"#, 404),
    ("memory_files", r#"{"command":"str_replace","path":"/memories/{document}","old_str":"a","new_str":"b"}"#, 404),
    ("memory_files", r#"{"command":"insert","path":"/memories/{document}","insert_line":0,"insert_text":"b"}"#, 404),
    ("memory_files", r#"{"command":"delete","path":"/memories/{document}"}"#, 404),
    ("memory_files", r#"{"command":"rename","old_path":"/memories/{document}","new_path":"/memories/x.md"}"#, 404),
    // What another has said already, in a theme of the same name and under the same key: it is new here.
    ("memory_add", r#"{"type":"fact","content":"{content}","theme":"{theme}"}"#, 200),
    ("memory_add", r#"{"type":"fact","content":"{content} or not","theme":"{theme}","key":"{key}"}"#, 200),
];

#[tokio::test]
async fn whatever_tool_is_called_with_anothers_names_it_answers_as_if_they_never_were() {
    let scene = Scene::start().await;
    let document = format!("{}/api/v1/openapi.json", scene.app.base);
    let document = scene.client.get(document).send().await.unwrap();
    let document: Value = document.json().await.unwrap();
    // Also those that no model is told of.
    let paths = document["paths"].as_object().unwrap().keys();
    let tools = paths.filter_map(|path| path.strip_prefix("/api/v1/tools/"));
    let tools: Vec<&str> = tools.collect();
    for tool in &tools {
        assert!(
            CASES.iter().any(|(name, ..)| name == tool),
            "the tool {tool} is in the registry and nobody has tried it with another's rows: add to CASES in \
             src/tests/isolation/tools.rs its name, an input with {{item}}, {{theme}}, {{cursor}} or {{word}} for \
             each way to name a row, and the status"
        );
        assert!(
            OWN_TOOLS.contains(tool),
            "what {tool} answers would be learned again: add it to OWN_TOOLS in src/core/consolidation/transcript.rs"
        );
    }
    for (tool, input, status) in CASES {
        assert!(tools.contains(tool), "{tool} is no tool any more");
        for (who, token, user) in scene.by_token() {
            let rest = |fill: &dyn Fn(&str) -> String| {
                let url = format!("{}/api/v1/tools/{tool}", scene.app.base);
                with_user(scene.client.post(url), token, user).body(fill(input))
            };
            let mcp = |fill: &dyn Fn(&str) -> String| {
                let arguments: Value = serde_json::from_str(&fill(input)).unwrap();
                let params = serde_json::json!({ "name": tool, "arguments": arguments });
                let url = format!("{}/mcp", scene.app.base);
                with_user(scene.client.post(url), token, user)
                    .header("accept", "application/json, text/event-stream")
                    .header("mcp-protocol-version", CURRENT)
                    .header("mcp-method", "tools/call")
                    .header("mcp-name", *tool)
                    .json(&message("tools/call", params))
            };
            if *tool == "memory_add" {
                add(&scene, who, &rest).await;
                continue;
            }
            let template = format!("{tool} {input}");
            let answer = scene.assert_alike(who, &template, &rest).await;
            assert_eq!(answer.status, *status, "{who}: {template}: {answer:?}");
            if ["memory_search", "search"].contains(tool) && !input.contains("cursor") {
                let body: Value = serde_json::from_str(&answer.body).unwrap();
                assert_eq!(body["results"], serde_json::json!([]), "{template}");
            }
            let answer = scene.assert_alike(who, &template, &mcp).await;
            assert_eq!(answer.status, 200, "{who}: MCP {template}: {answer:?}");
        }
        scene.assert_untouched(tool).await;
    }
}

pub(super) fn with_user(
    request: RequestBuilder,
    token: &str,
    user: Option<&str>,
) -> RequestBuilder {
    let request = request.bearer_auth(token).header("content-type", "application/json");
    match user {
        Some(user) => request.header("keepsake-user", user),
        None => request,
    }
}

/// The one tool that writes a row anew: each is stored, as nobody else's duplicate.
async fn add(scene: &Scene, who: &str, rest: Asking<'_>) {
    for names in [&scene.annas, &scene.nobodys] {
        let mut answer = Answer::of(rest(&|text| names.fill(text))).await;
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(body["duplicate"], false, "{who}: {body}");
        assert!(body["superseded"].is_null(), "{who}: {body}");
        answer.body = answer.body.replace(&body["id"].to_string(), "");
        scene.assert_tells_nothing(&answer, who);
    }
}
