use keepsake::accounts::{AgentName, Scope, TokenWish, ToolProfile};
use serde_json::Value;

use crate::support::{TestApp, problem};

#[tokio::test]
async fn the_five_core_tools_are_listed_with_their_schemas() {
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
async fn an_agent_of_the_full_profile_is_told_of_all_tools_and_one_of_core_may_call_them_too() {
    let app = TestApp::start().await;
    let anna = app.user("anna").await;
    let agent = AgentName::parse("all tools").unwrap();
    let make = async |profile| {
        let wish = TokenWish {
            scopes: Scope::ALL.into(),
            lifetime: None,
            profile,
        };
        let token = app.accounts.create_token_by_name(anna.id, &agent, &wish);
        token.await.unwrap().reveal()
    };
    let listed = async |token: &str, format: &str| -> Value {
        let url = format!("{}/api/v1/tools?format={format}", app.base);
        let request = reqwest::Client::new().get(url).bearer_auth(token);
        request.send().await.unwrap().json().await.unwrap()
    };
    let full = make(Some(ToolProfile::Full)).await;
    let named = listed(&full, "json").await;
    let named: Vec<&str> = named["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        named[5..],
        [
            "memory_correct",
            "memory_confirm",
            "memory_forget",
            "memory_stats",
            "memory_summary",
            "memory_entity",
            "memory_graph",
            "memory_files"
        ]
    );
    for format in ["openai", "anthropic"] {
        let count = |list: &Value| list.as_array().unwrap().len();
        assert_eq!(count(&listed(&anna.token, format).await), 5);
        assert_eq!(count(&listed(&full, format).await), 13);
    }
    // The profile is the agent's: another token of it leaves it as it is, and one says otherwise.
    let further = make(None).await;
    assert_eq!(
        listed(&further, "openai").await.as_array().unwrap().len(),
        13
    );
    make(Some(ToolProfile::Core)).await;
    assert_eq!(listed(&full, "openai").await.as_array().unwrap().len(), 5);
    anna.call("memory_stats", serde_json::json!({})).await;
}

#[tokio::test]
async fn the_users_of_an_operator_are_told_of_what_its_profile_says() {
    let app = TestApp::start().await;
    let name = AgentName::parse("acme").unwrap();
    let make = async |profile| {
        let wish = TokenWish {
            scopes: Scope::ALL.into(),
            lifetime: None,
            profile,
        };
        let token = app.accounts.create_service_token_by_name(&name, &wish);
        token.await.unwrap().reveal()
    };
    let token = make(None).await;
    let count = async || {
        let listed = reqwest::Client::new()
            .get(format!("{}/api/v1/tools?format=openai", app.base))
            .bearer_auth(&token)
            .header("keepsake-user", "customer-1");
        let listed: Value = listed.send().await.unwrap().json().await.unwrap();
        listed.as_array().unwrap().len()
    };
    assert_eq!(count().await, 5);
    make(Some(ToolProfile::Full)).await;
    assert_eq!(count().await, 13);
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
        ("memory_correct", &reader, &writer),
        ("memory_confirm", &reader, &writer),
        ("memory_forget", &reader, &writer),
        ("memory_describe_theme", &reader, &writer),
        ("memory_stats", &writer, &reader),
        ("memory_summary", &writer, &reader),
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
