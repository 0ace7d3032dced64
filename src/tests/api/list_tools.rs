use keepsake::accounts::Scope;
use serde_json::Value;

use crate::support::{TestApp, problem};

#[tokio::test]
async fn the_five_tools_are_listed_with_their_schemas() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let get = |query: &str| {
        reqwest::Client::new()
            .get(format!("{}/api/v1/tools{query}", app.base))
            .bearer_auth(&anna.token)
            .send()
    };
    let listed: Value = get("").await.unwrap().json().await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "memory_search",
            "memory_add",
            "memory_get",
            "memory_archive",
            "memory_list_themes"
        ]
    );
    for tool in tools {
        assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
        assert_eq!(
            tool["input_schema"]["additionalProperties"], false,
            "{tool}"
        );
        assert_eq!(tool["output_schema"]["type"], "object", "{tool}");
        assert!(!tool.to_string().contains("$ref"), "{tool}");
        assert!(
            tool["description"].as_str().unwrap().contains("Example:"),
            "{tool}"
        );
    }
    assert_eq!(
        tools[1]["input_schema"]["required"],
        serde_json::json!(["type", "content"])
    );
    let (status, refused) = problem(get("?format=yaml").await.unwrap()).await;
    assert_eq!((status, refused["field"].as_str()), (422, Some("format")));
}

#[tokio::test]
async fn each_tool_asks_for_its_scope() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let reader = app
        .token(anna.id, "reader", &[Scope::MemoryRead], None)
        .await;
    let writer = app
        .token(anna.id, "writer", &[Scope::MemoryWrite], None)
        .await;
    let call = |token: &str, tool: &str| {
        reqwest::Client::new()
            .post(format!("{}/api/v1/tools/{tool}", app.base))
            .bearer_auth(token)
            .json(&serde_json::json!({}))
            .send()
    };
    for (tool, wrong, right) in [
        ("memory_search", &writer, &reader),
        ("memory_get", &writer, &reader),
        ("memory_list_themes", &writer, &reader),
        ("memory_add", &reader, &writer),
        ("memory_archive", &reader, &writer),
    ] {
        let (status, refused) = problem(call(wrong, tool).await.unwrap()).await;
        assert_eq!(
            (status, refused["code"].as_str()),
            (403, Some("missing_scope")),
            "{tool}"
        );
        assert_ne!(call(right, tool).await.unwrap().status(), 403, "{tool}");
    }
}
