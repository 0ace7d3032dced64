//! Each wrong message: one clear sentence, the request's id where it has one, 4xx.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::{CURRENT, Mcp, message};
use crate::support::{TestApp, Wish};

/// Status, id, code of the problem and what it says.
async fn refusal(request: RequestBuilder) -> (u16, Value, String, String) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    let answer: Value = response.json().await.unwrap();
    let error = &answer["error"];
    let said = error["message"].as_str().unwrap().to_owned();
    assert!(said.ends_with('.'), "{said}");
    assert!(error["code"].as_i64().unwrap() < 0);
    let code = error["data"]["code"].as_str().unwrap_or_default();
    (status, answer["id"].clone(), code.to_owned(), said)
}

#[tokio::test(crate = "crate::support::shared")]
async fn each_wrong_message_has_a_sentence_of_its_own() {
    let mcp = Mcp::shared().await;
    let ok = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let [two, batch] = [format!("{ok} {ok}"), format!("[{ok},{ok}]")];
    let no_version = r#"{"jsonrpc":2,"id":1,"method":"ping"}"#;
    let whole = ["{", "", "tools/list", &two, &batch, "[]", "5", "null", "{}", no_version];
    let members = [
        r#""id":1"#,
        r#""id":1,"method":5"#,
        r#""id":true,"method":"tools/list""#,
        r#""id":null,"method":"tools/list""#,
        r#""method":"tools/call","params":{"name":"memory_add"}"#,
        r#""id":{},"method":"tools/list""#,
        r#""id":"x","method":"tools/list","params":[]"#,
        r#""id":1,"method":"tools/call""#,
        r#""id":1,"method":"tools/call","params":{}"#,
        r#""id":1,"method":"tools/call","params":{"name":5}"#,
        r#""id":1,"method":"initialize","params":{}"#,
        r#""id":1,"method":"initialize""#,
    ];
    let members = members.map(|rest| format!(r#"{{"jsonrpc":"2.0",{rest}}}"#));
    let mut told = Vec::new();
    for body in whole.map(str::to_owned).into_iter().chain(members) {
        let (status, id, code, said) = refusal(mcp.post().body(body.clone())).await;
        told.push(format!("{body}\n  {status} {id} {code}: {said}"));
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    {
      400 null invalid_json: The body is not valid JSON (line 1, column 1).

      400 null invalid_json: The body is not valid JSON (line 1, column 0).
    tools/list
      400 null invalid_json: The body is not valid JSON (line 1, column 2).
    {"jsonrpc":"2.0","id":1,"method":"tools/list"} {"jsonrpc":"2.0","id":1,"method":"tools/list"}
      400 null invalid_json: The body is not valid JSON (line 1, column 48).
    [{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":1,"method":"tools/list"}]
      400 null batch: Batches are not taken; send each message in a request of its own.
    []
      400 null batch: Batches are not taken; send each message in a request of its own.
    5
      400 null invalid_message: The body must be one JSON-RPC message, a JSON object.
    null
      400 null invalid_message: The body must be one JSON-RPC message, a JSON object.
    {}
      400 null invalid_message: `jsonrpc` must be "2.0".
    {"jsonrpc":2,"id":1,"method":"ping"}
      400 1 invalid_message: `jsonrpc` must be "2.0".
    {"jsonrpc":"2.0","id":1}
      400 1 invalid_message: `method` must be the name of a method, such as tools/call.
    {"jsonrpc":"2.0","id":1,"method":5}
      400 1 invalid_message: `method` must be the name of a method, such as tools/call.
    {"jsonrpc":"2.0","id":true,"method":"tools/list"}
      400 null invalid_message: `id` must be a string or a number.
    {"jsonrpc":"2.0","id":null,"method":"tools/list"}
      400 null invalid_message: `id` must be a string or a number.
    {"jsonrpc":"2.0","method":"tools/call","params":{"name":"memory_add"}}
      400 null invalid_message: `id` is missing; a request without one would get no answer.
    {"jsonrpc":"2.0","id":{},"method":"tools/list"}
      400 null invalid_message: `id` must be a string or a number.
    {"jsonrpc":"2.0","id":"x","method":"tools/list","params":[]}
      400 "x" invalid_params: `params` must be a JSON object.
    {"jsonrpc":"2.0","id":1,"method":"tools/call"}
      400 1 invalid_params: `params` is missing; give the `name` of a tool and its `arguments`.
    {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}
      400 1 invalid_params: `params.name` must be the name of a tool; tools/list lists them.
    {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}
      400 1 invalid_params: `params.name` must be the name of a tool; tools/list lists them.
    {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
      400 1 invalid_params: `params.protocolVersion` must be a version such as "2025-11-25", beside `capabilities` and `clientInfo`.
    {"jsonrpc":"2.0","id":1,"method":"initialize"}
      400 1 invalid_params: `params.protocolVersion` must be a version such as "2025-11-25", beside `capabilities` and `clientInfo`.
    "#);
    let (status, _, code, _) = refusal(mcp.post().body(b"{\"a\":\"\xff\"}".to_vec())).await;
    assert_eq!((status, code.as_str()), (400, "invalid_json"));
    let (status, _, code, _) = refusal(mcp.post().body("[".repeat(200_000))).await;
    assert_eq!((status, code.as_str()), (400, "batch"));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}"#,
        "[".repeat(200_000)
    );
    assert_eq!(refusal(mcp.post().body(deep)).await.0, 400);
}

#[tokio::test(crate = "crate::support::shared")]
async fn unknown_methods_and_tools_are_errors_of_the_protocol() {
    let mcp = Mcp::shared().await;
    let (status, answer) = mcp.ask("tools/call", json!({ "name": "memory_delete" })).await;
    assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32_602)));
    let said = "There is no tool of this name; there are memory_search, memory_add, memory_get, memory_archive, memory_list_themes, memory_correct, memory_confirm, memory_forget, memory_describe_theme, memory_stats, memory_summary, memory_entity, memory_graph, memory_files, memory_recall, memory, search, fetch.";
    assert_eq!(answer["error"]["message"], said);
    assert_eq!(answer["error"]["data"]["code"], "unknown_tool");
    let (status, answer) = mcp.ask("memories/delete", json!({})).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!(-32_601)));
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.starts_with("There is no such method here"), "{said}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_version_that_is_not_spoken_is_refused_with_those_that_are() {
    let mcp = Mcp::shared().await;
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
    let request = mcp.post().header("mcp-protocol-version", "1999-01-01").json(&list);
    let (status, id, code, said) = refusal(request).await;
    assert_eq!((status, id, code.as_str()), (400, json!(3), "unsupported_protocol_version"));
    assert!(said.contains("2025-06-18") && said.contains(CURRENT), "{said}");
    assert!(!said.contains("1999"), "{said}");

    // The current protocol names its version in each message.
    let mut newer = message("tools/list", json!({}));
    newer["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01".into();
    let request =
        mcp.post().header("mcp-protocol-version", "2031-01-01").header("mcp-method", "tools/list");
    let response = request.json(&newer).send().await.unwrap();
    assert_eq!(response.status(), 400);
    let answer: Value = response.json().await.unwrap();
    let supported = answer["error"]["data"]["supported"].as_array().unwrap();
    assert!(supported.contains(&json!(CURRENT)), "{answer}");

    let other = mcp.post().header("mcp-protocol-version", "2025-06-18");
    let other = other.json(&message("tools/list", json!({}))).send().await.unwrap();
    assert_eq!(other.status(), 400, "header and message name two versions");
}

#[tokio::test(crate = "crate::support::shared")]
async fn only_post_is_taken() {
    let mcp = Mcp::shared().await;
    for request in [
        mcp.client.get(&mcp.url).header("accept", "text/event-stream"),
        mcp.client.delete(&mcp.url).header("mcp-session-id", "1"),
        mcp.client.put(&mcp.url),
    ] {
        let response = request.bearer_auth(&mcp.token).send().await.unwrap();
        assert_eq!(response.status(), 405);
        assert_eq!(response.headers()["allow"], "POST");
        let said: Value = response.json().await.unwrap();
        assert!(said["detail"].as_str().unwrap().ends_with("called with POST."));
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn pages_and_names_of_elsewhere_are_refused() {
    let mcp = Mcp::shared().await;
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
    let with = |name: &str, value: &str| mcp.post().header(name, value).json(&list);
    for (name, value, code) in [
        ("origin", "https://evil.example", "wrong_origin"),
        ("origin", "http://127.0.0.1.evil.example:3000", "wrong_origin"),
        ("origin", "null", "wrong_origin"),
        ("host", "evil.example", "wrong_host"),
        ("host", "evil.example:3000", "wrong_host"),
    ] {
        let (status, id, got, said) = refusal(with(name, value)).await;
        assert_eq!((status, id, got.as_str()), (403, json!(3), code), "{value}: {said}");
        assert!(said.contains("http://127.0.0.1:3000") && !said.contains("evil"), "{said}");
    }
    for (name, value) in [
        ("origin", "http://127.0.0.1:3000"),
        ("origin", "http://localhost:5173"),
        ("host", "localhost:3000"),
    ] {
        assert_eq!(with(name, value).send().await.unwrap().status(), 200, "{value}");
    }
}

#[tokio::test]
async fn the_public_url_names_the_host_and_the_origin_that_are_allowed() {
    let public_url = Some("https://memory.example.com");
    let app = TestApp::start_as(Wish { public_url, ..Wish::default() }).await;
    let mcp = Mcp::of(&app, &app.user("anna").await);
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
    for (host, origin, status) in [
        ("memory.example.com", "https://memory.example.com", 200),
        ("memory.example.com:443", "https://memory.example.com:443", 200),
        ("localhost:3000", "http://localhost:3000", 200),
        ("memory.example.com", "http://memory.example.com", 403),
        ("memory.example.com", "https://memory.example.com:8443", 403),
        ("other.example.com", "https://memory.example.com", 403),
    ] {
        let request = mcp.post().header("host", host).header("origin", origin);
        assert_eq!(request.json(&list).send().await.unwrap().status(), status, "{host} {origin}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_body_over_one_mebibyte_is_413_and_what_is_no_json_is_415() {
    let mcp = Mcp::shared().await;
    let content = "x".repeat(2 * 1024 * 1024);
    let params =
        json!({ "name": "memory_add", "arguments": { "type": "fact", "content": content } });
    let (status, _, code, said) = refusal(mcp.post().json(&message("tools/call", params))).await;
    assert_eq!((status, code.as_str()), (413, "body_too_large"));
    assert!(said.contains("1 MiB"));
    let plain =
        mcp.client.post(&mcp.url).bearer_auth(&mcp.token).header("content-type", "text/plain");
    let (status, _, code, _) = refusal(plain.body("tools/list")).await;
    assert_eq!((status, code.as_str()), (415, "unsupported_media_type"));
    let packed = mcp.post().header("content-encoding", "gzip").body(b"\x1f\x8b".to_vec());
    let (status, _, code, said) = refusal(packed).await;
    assert_eq!((status, code.as_str()), (415, "unsupported_encoding"));
    assert!(said.contains("`Content-Encoding`"), "{said}");
}
