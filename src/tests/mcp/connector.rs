//! `search` and `fetch`, in the form that ChatGPT expects of a connector: one text with the JSON that `structuredContent` has.

use keepsake::accounts::{Scope, ToolProfile};
use serde_json::{Value, json};

use super::Mcp;
use crate::support::{TestApp, TestUser, Wish};
use crate::turns;

async fn connector(app: &TestApp, user: &TestUser, scopes: &[Scope]) -> Mcp {
    Mcp::of_profile(app, user, scopes, ToolProfile::Connector).await
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("{value}")).keys().map(String::as_str).collect()
}

/// The content: one item, the JSON of the structured content.
fn same_twice(result: &Value) -> &Value {
    assert_eq!(result["isError"], false, "{result}");
    let content = result["content"].as_array().unwrap();
    assert_eq!(content.len(), 1, "{result}");
    assert_eq!(content[0]["type"], "text");
    let text: Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    &result["structuredContent"]
}

#[tokio::test]
async fn search_gives_ids_titles_and_addresses_and_fetch_the_whole_with_its_metadata() {
    let public_url = Some("https://memory.example.com");
    let app = TestApp::start_as(Wish { public_url, ..Wish::default() }).await;
    let anna = app.user("anna").await;
    let mcp = connector(&app, &anna, &[Scope::MemoryRead]).await;
    let text = format!("The boat to Bergen\nleaves at nine. {}", "It is slow. ".repeat(50));
    let item = json!({ "type": "fact", "content": text, "theme": "travel", "tags": ["boat", "north"],
        "key": "bergen", "source": "user_explicit", "valid_from": "2026-05-17" });
    let id = anna.call("memory_add", item).await["id"].clone();
    let result = mcp.result("search", json!({ "query": "when does the boat leave?" })).await;
    let found = same_twice(&result);
    let address = format!("https://memory.example.com/memory/{id}");
    assert_eq!(keys(found), ["confidence", "degraded", "results"]);
    let hit = &found["results"][0];
    assert_eq!(keys(hit), ["id", "title", "url"]);
    assert_eq!((&hit["id"], &hit["url"]), (&json!(id.to_string()), &json!(address)));
    let title = hit["title"].as_str().unwrap();
    assert!(title.starts_with("bergen: The boat to Bergen leaves at nine. It is slow."), "{title}");
    assert!(title.ends_with('…') && title.chars().count() <= 81, "{title}");

    let result = mcp.result("fetch", json!({ "id": hit["id"] })).await;
    let read = same_twice(&result);
    assert_eq!(keys(read), ["id", "metadata", "text", "title", "url"]);
    assert_eq!(read["text"], format!("bergen: {}", text.trim()));
    for same in ["id", "title", "url"] {
        assert_eq!(read[same], hit[same], "{same}");
    }
    let metadata = &read["metadata"];
    assert!(metadata.as_object().unwrap().values().all(Value::is_string), "{metadata}");
    for (name, value) in [
        ("type", "fact"),
        ("theme", "travel"),
        ("tags", "boat, north"),
        ("key", "bergen"),
        ("status", "active"),
        ("source", "user_explicit"),
        ("valid_from", "2026-05-17T00:00:00Z"),
    ] {
        assert_eq!(metadata[name], value, "{metadata}");
    }
    assert!(metadata.get("valid_until").is_none() && metadata["created_at"].is_string());
    // Both doors answer the same.
    assert_eq!(&anna.call("fetch", json!({ "id": hit["id"] })).await["text"], &read["text"]);
}

#[tokio::test]
async fn the_two_tools_are_listed_to_connectors_alone_and_fit_what_chatgpt_reads() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mcp = connector(&app, &anna, &Scope::ALL).await;
    let tools = mcp.tools().await;
    assert_eq!(tools.len(), 2);
    for (name, argument) in [("search", "query"), ("fetch", "id")] {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
        let input = &tool["inputSchema"];
        assert_eq!(input["required"], json!([argument]));
        assert_eq!(keys(&input["properties"]), [argument]);
        assert_eq!(input["properties"][argument]["type"], "string");
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert_eq!(tool["outputSchema"]["type"], "object");
    }
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let greeted: Value = mcp.post().json(&hello).send().await.unwrap().json().await.unwrap();
    let instructions = greeted["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("- fetch:"), "{instructions}");
    assert!(!instructions.contains("memory_"), "{instructions}");
    // Nobody else is listed them.
    for profile in [ToolProfile::Single, ToolProfile::Core, ToolProfile::Full] {
        for tool in Mcp::of_profile(&app, &anna, &Scope::ALL, profile).await.tools().await {
            assert!(tool["name"] != "search" && tool["name"] != "fetch", "{profile:?}");
        }
    }
}

#[tokio::test]
async fn what_goes_wrong_is_one_sentence() {
    let (app, anna) = TestApp::start_for("anna").await;
    let bens = app.user("ben").await.add("Ben hides a quokka.").await;
    let mcp = connector(&app, &anna, &[Scope::MemoryRead]).await;
    let no_id = "`id` is no id of a memory; give the `id` of a result of search.".to_owned();
    for (id, said) in [
        ("987654321".to_owned(), "There is no item 987654321 in your memory.".to_owned()),
        (bens.to_string(), format!("There is no item {bens} in your memory.")),
        ("tea".to_owned(), no_id.clone()),
        ("9".repeat(40), no_id),
    ] {
        let result = mcp.result("fetch", json!({ "id": id })).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(result["content"], json!([{ "type": "text", "text": said }]));
    }
    for (tool, input, field) in [
        ("fetch", json!({}), "id"),
        ("fetch", json!({ "id": [42] }), "id"),
        ("search", json!({}), "query"),
        ("search", json!({ "query": "x".repeat(8_001) }), "query"),
    ] {
        let result = mcp.result(tool, input).await;
        assert_eq!(result["_meta"]["keepsake/problem"]["field"], field, "{result}");
    }
    let nothing = mcp.call("search", json!({ "query": "quokka" })).await;
    assert_eq!(keys(&nothing), ["confidence", "degraded", "note", "results"]);
    assert_eq!(nothing["note"], "probably not in memory");
    assert_eq!(nothing["results"], json!([]));
    assert_eq!(mcp.call("search", json!({ "query": "*" })).await, json!({ "results": [] }));
    let writer = connector(&app, &anna, &[Scope::MemoryWrite]).await;
    for (tool, input) in [("search", json!({ "query": "x" })), ("fetch", json!({ "id": "1" }))] {
        let result = writer.result(tool, input).await;
        assert_eq!(result["content"][0]["text"], "This token lacks the scope memory:read.");
    }
}

#[tokio::test]
async fn a_connector_finds_and_reads_what_was_said_and_notes_too() {
    let (app, anna) = TestApp::start_for("anna").await;
    let said = [turns::message("1", "user", "My sister Lena plays the theremin.")];
    turns::ended(&app, &anna, "chat-7", &said).await;
    let note = json!({ "command": "create", "path": "/memories/boats.md", "file_text": "# Boats\n\nThe zeppelin is no boat." });
    anna.call("memory_files", note).await;
    for n in 0..30 {
        anna.add(&format!("Number {n} has a kazoo.")).await;
    }
    let mcp = connector(&app, &anna, &[Scope::MemoryRead]).await;
    let read = async |query: &str| {
        let id = mcp.call("search", json!({ "query": query })).await["results"][0]["id"].clone();
        mcp.call("fetch", json!({ "id": id })).await
    };
    let turn = read("theremin").await;
    assert_eq!(turn["text"], "My sister Lena plays the theremin.");
    let metadata = &turn["metadata"];
    assert_eq!((&metadata["session"], &metadata["role"]), (&json!("chat-7"), &json!("user")));
    let part = read("zeppelin").await;
    assert_eq!(part["metadata"]["path"], "boats.md");
    assert!(part["text"].as_str().unwrap().contains("zeppelin"));
    let many = mcp.call("search", json!({ "query": "kazoo" })).await;
    assert_eq!(many["results"].as_array().unwrap().len(), 20);
    app.activity.flush().await.unwrap();
    assert_eq!(app.count("activity WHERE tool IN ('search', 'fetch') AND outcome = 'ok'").await, 5);
}
