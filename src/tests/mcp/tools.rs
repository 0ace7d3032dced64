use keepsake::accounts::{Scope, ToolProfile};
use keepsake::tools::guidance;
use serde_json::{Value, json};

use super::Mcp;
use crate::support::{TestApp, problem};

const FACT: &str = "The staging database listens on 5433.";

#[tokio::test(crate = "crate::support::shared")]
async fn discover_says_who_this_is_and_when_to_use_the_tools() {
    let (status, answer) = Mcp::shared().await.ask("server/discover", json!({})).await;
    let result = &answer["result"];
    assert_eq!((status, &answer["id"]), (200, &json!(7)));
    let said = result["instructions"].as_str().unwrap();
    assert!(said.starts_with(guidance::INSTRUCTIONS), "{said}");
    assert!(said.ends_with("a tag without this id is not from memory."), "{said}");
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    for (field, value) in [
        ("name", "keepsake"),
        ("title", "Keepsake"),
        ("version", env!("CARGO_PKG_VERSION")),
        ("websiteUrl", "http://127.0.0.1:3000"),
    ] {
        assert_eq!(server[field], value, "{field}");
    }
    let versions = result["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-06-18")));
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_older_client_says_initialize_and_goes_on_without_a_session() {
    let mcp = Mcp::shared().await;
    for (asked, agreed) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
    ] {
        let info = json!({ "name": "old", "version": "1" });
        let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": info });
        let hello =
            json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params });
        let response = mcp.post().json(&hello).send().await.unwrap();
        assert!(!response.headers().contains_key("mcp-session-id"));
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["result"]["protocolVersion"], agreed);
        let said = answer["result"]["instructions"].as_str().unwrap();
        assert!(said.starts_with(guidance::INSTRUCTIONS), "{said}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "keepsake");

        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let later =
            |message: Value| mcp.post().header("mcp-protocol-version", agreed).json(&message);
        assert_eq!(later(ready).send().await.unwrap().status(), 202);
        let call = json!({ "jsonrpc": "2.0", "id": "b", "method": "tools/call",
            "params": { "name": "memory_search", "arguments": { "query": "*" } } });
        let answer: Value = later(call).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["id"], "b");
        assert_eq!(answer["result"]["structuredContent"]["mode"], "recent");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn tools_are_those_of_rest_with_what_a_client_may_count_on() {
    let (app, anna) = TestApp::with_user().await;
    let tools = Mcp::of(app, &anna).tools().await;
    let functions: Value = anna.get("/api/v1/tools?format=openai").await.json().await.unwrap();
    let rest: Value = anna.get("/api/v1/tools").await.json().await.unwrap();
    let (rest, functions) = (rest["tools"].as_array().unwrap(), functions.as_array().unwrap());
    assert_eq!((tools.len(), tools.len()), (rest.len(), functions.len()));
    for ((tool, rest), function) in tools.iter().zip(rest).zip(functions) {
        assert_eq!(tool["name"], rest["name"]);
        assert_eq!(tool["description"], rest["description"]);
        assert_eq!(tool["inputSchema"], function["function"]["parameters"]);
        assert_eq!(tool["outputSchema"]["required"], rest["output_schema"]["required"]);
        assert!(tool["title"].as_str().is_some_and(|title| !title.contains('_')), "{tool}");
        assert!(!tool.to_string().contains("\"format\""), "some clients complain: {tool}");
        let annotations = json!({
            "title": tool["title"],
            "readOnlyHint": rest["read_only"],
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": false,
        });
        assert_eq!(tool["annotations"], annotations);
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn every_tool_answers_as_at_the_rest_door() {
    let (app, anna) = TestApp::with_user().await;
    let mcp = Mcp::of(app, &anna);
    let fact = json!({ "type": "fact", "content": FACT, "theme": "work" });
    let added = mcp.call("memory_add", fact.clone()).await;
    let id = added["id"].as_i64().unwrap();
    assert_eq!(added["duplicate"], false);
    assert_eq!(mcp.call("memory_add", fact).await["duplicate"], true);
    for (tool, input) in [
        ("memory_search", json!({ "query": "staging", "explain": true })),
        ("memory_get", json!({ "item_id": id })),
        ("memory_list_themes", json!({})),
        ("memory_archive", json!({ "item_id": id })),
    ] {
        assert_eq!(mcp.call(tool, input.clone()).await, anna.call(tool, input).await, "{tool}");
    }
    // Without arguments, a tool is called with none.
    let (_, themes) = mcp.ask("tools/call", json!({ "name": "memory_list_themes" })).await;
    assert_eq!(themes["result"]["structuredContent"]["themes"][0]["slug"], "work");
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_goes_wrong_in_a_tool_is_an_answer_in_the_words_of_rest() {
    let (app, anna) = TestApp::with_user().await;
    let mcp = Mcp::of(app, &anna);
    for (tool, input) in [
        ("memory_get", json!({ "item_id": 4711 })),
        ("memory_get", json!({})),
        ("memory_get", json!({ "item": 1 })),
        ("memory_get", json!([1])),
        ("memory_get", json!("one")),
        ("memory_archive", json!({ "item_id": "1" })),
        ("memory_search", json!({ "limit": 51 })),
        ("memory_search", json!({ "types": ["fact", "opinion"] })),
        ("memory_add", json!({ "type": "fact", "content": "x".repeat(20_001) })),
        ("memory_add", json!({ "type": "fact", "content": "a\u{0}b" })),
        ("memory_list_themes", json!({ "limit": 0 })),
    ] {
        let (_, rest) = anna.refused(tool, input.clone()).await;
        let result = mcp.result(tool, input).await;
        let mut about = json!({ "code": rest["code"] });
        if rest["field"].is_string() {
            about["field"] = rest["field"].clone();
        }
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"], json!([{ "type": "text", "text": rest["detail"] }]));
        assert_eq!(result["_meta"]["keepsake/problem"], about);
        // Some clients hold even a mistake's against the output schema.
        assert!(result.get("structuredContent").is_none(), "{result}");
    }
}

/// The text of the arguments reaches the registry as it was written.
#[tokio::test(crate = "crate::support::shared")]
async fn what_only_the_text_shows_is_seen_too() {
    let (app, anna) = TestApp::with_user().await;
    let mcp = Mcp::of(app, &anna);
    for arguments in [
        r#"{"type":"fact","content":"\ud800"}"#,
        r#"{"type":"fact","content":"one","content":"two"}"#,
    ] {
        let rest = reqwest::Client::new()
            .post(format!("{}/api/v1/tools/memory_add", app.base))
            .bearer_auth(&anna.token)
            .header("content-type", "application/json")
            .body(arguments);
        let (_, rest) = problem(rest.send().await.unwrap()).await;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"memory_add","arguments":{arguments}}}}}"#
        );
        let answer = mcp.post().body(body).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["content"][0]["text"], rest["detail"]);
    }
    assert!(anna.find("*").await.is_empty());
}

#[tokio::test]
async fn without_the_database_agents_connect_and_each_call_says_what_is_wrong() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mcp = Mcp::of(&app, &anna);
    app.db.close().await;
    let (status, rest) = anna.refused("memory_search", json!({})).await;
    assert_eq!((status, rest["code"].as_str()), (503, Some("database_unavailable")));
    assert_eq!(mcp.tools().await.len(), 5);
    assert_eq!(mcp.ask("server/discover", json!({})).await.0, 200);
    let result = mcp.result("memory_search", json!({})).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], rest["detail"]);
    // What cannot be a token is told without asking.
    assert_eq!(Mcp::with_token(&app, "ks_mistyped").ask("tools/list", json!({})).await.0, 401);
}

#[tokio::test]
async fn any_server_answers_any_request() {
    let (app, anna) = TestApp::start_for("anna").await;
    let twin = app.twin().await;
    let (here, there) = (Mcp::of(&app, &anna), Mcp::of(&twin, &anna));
    here.ask("server/discover", json!({})).await;
    let added = there.call("memory_add", json!({ "type": "fact", "content": FACT })).await;
    assert_eq!(here.call("memory_get", json!({ "item_id": added["id"] })).await["content"], FACT);
}

#[tokio::test(crate = "crate::support::shared")]
async fn every_token_sees_all_tools_and_calls_those_of_its_scopes() {
    let (app, anna) = TestApp::with_user().await;
    let reader = app.token(anna.id, "reader", &[Scope::MemoryRead], None).await;
    let reader = Mcp::with_token(app, &reader);
    assert_eq!(reader.tools().await.len(), 5);
    let result = reader.result("memory_add", json!({ "type": "fact", "content": FACT })).await;
    assert_eq!(result["content"][0]["text"], "This token lacks the scope memory:write.");
    assert_eq!(result["_meta"]["keepsake/problem"]["code"], "missing_scope");
    reader.call("memory_search", json!({})).await;
}

#[tokio::test]
async fn an_agent_of_the_full_profile_is_listed_all_tools_and_corrects_by_one() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mcp = Mcp::of_profile(&app, &anna, &Scope::ALL, ToolProfile::Full).await;
    assert_eq!((mcp.tools().await.len(), Mcp::of(&app, &anna).tools().await.len()), (13, 5));
    let input = json!({ "type": "fact", "content": FACT, "key": "staging port" });
    let item = mcp.call("memory_add", input).await;
    let moved = "The staging database listens on 5434.";
    let input = json!({ "key": "staging_port", "content": moved });
    let right = mcp.call("memory_correct", input).await;
    assert_eq!(right["superseded"], item["id"]);
    let gone = mcp.result("memory_confirm", json!({ "item_id": item["id"] })).await;
    assert_eq!(gone["isError"], true);
    assert_eq!(gone["_meta"]["keepsake/problem"]["code"], "not_active");
    let forgotten = mcp.call("memory_forget", json!({ "key": "staging_port" })).await;
    assert_eq!(forgotten["archived"], json!([right["id"]]));
    assert_eq!(mcp.call("memory_stats", json!({})).await["archived"], 2);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_prompt_brings_what_a_message_is_about_before_it() {
    let (app, anna) = TestApp::with_user().await;
    anna.add("The boat to Bergen leaves on Friday at nine.").await;
    let mcp = Mcp::of(app, &anna);
    let (_, listed) = mcp.ask("prompts/list", json!({})).await;
    assert_eq!(listed["result"]["prompts"][0]["name"], "recall", "{listed}");
    assert_eq!(listed["result"]["prompts"][0]["arguments"][0]["required"], true);
    let message = "When does the boat to Bergen leave?";
    let input = json!({ "name": "recall", "arguments": { "message": message } });
    let (_, got) = mcp.ask("prompts/get", input).await;
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.starts_with("<keepsake-memory id=\""), "{got}");
    assert!(text.ends_with(&format!("\n\n{message}")), "{got}");
    for (params, said) in [
        (json!({ "name": "other" }), "There is no such prompt here"),
        (json!({ "name": "recall" }), "`message` is missing"),
        (json!({ "name": "recall", "arguments": { "message": "x".repeat(100_001) } }), "`message`"),
    ] {
        let (_, refused) = mcp.ask("prompts/get", params).await;
        let words = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(words.contains(said), "{refused}");
    }
}
