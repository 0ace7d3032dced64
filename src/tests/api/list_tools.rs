use keepsake::accounts::{AgentName, Scope, TokenWish, ToolProfile};
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser, problem};

#[tokio::test]
async fn the_five_core_tools_are_listed_with_their_schemas() {
    let (app, anna) = TestApp::start_for("anna").await;
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
        ["memory_search", "memory_add", "memory_get", "memory_archive", "memory_list_themes"]
    );
    for tool in tools {
        assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
        assert_eq!(tool["input_schema"]["additionalProperties"], false, "{tool}");
        assert_eq!(tool["output_schema"]["type"], "object", "{tool}");
        assert!(!tool.to_string().contains("$ref"), "{tool}");
        assert!(tool["description"].as_str().unwrap().contains("Example:"), "{tool}");
    }
    assert_eq!(tools[1]["input_schema"]["required"], serde_json::json!(["type", "content"]));
    let (status, refused) = problem(get("?format=yaml").await.unwrap()).await;
    assert_eq!((status, refused["field"].as_str()), (422, Some("format")));
}

#[tokio::test]
async fn an_agent_of_the_full_profile_is_told_of_all_tools_and_one_of_core_may_call_them_too() {
    let (app, anna) = TestApp::start_for("anna").await;
    let agent = AgentName::parse("all tools").unwrap();
    let make = async |profile| {
        let wish = TokenWish { scopes: Scope::ALL.into(), lifetime: None, profile };
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
    let named: Vec<&str> =
        named["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
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
    assert_eq!(listed(&further, "openai").await.as_array().unwrap().len(), 13);
    make(Some(ToolProfile::Core)).await;
    assert_eq!(listed(&full, "openai").await.as_array().unwrap().len(), 5);
    anna.call("memory_stats", serde_json::json!({})).await;
}

#[tokio::test]
async fn the_users_of_an_operator_are_told_of_what_its_profile_says() {
    let app = TestApp::start().await;
    let name = AgentName::parse("acme").unwrap();
    let make = async |profile| {
        let wish = TokenWish { scopes: Scope::ALL.into(), lifetime: None, profile };
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
    let (app, anna) = TestApp::start_for("anna").await;
    let reader = app.token(anna.id, "reader", &[Scope::MemoryRead], None).await;
    let writer = app.token(anna.id, "writer", &[Scope::MemoryWrite], None).await;
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
        ("search", &writer, &reader),
        ("fetch", &writer, &reader),
    ] {
        let (status, refused) = problem(call(wrong, tool).await.unwrap()).await;
        assert_eq!((status, refused["code"].as_str()), (403, Some("missing_scope")), "{tool}");
        assert_ne!(call(right, tool).await.unwrap().status(), 403, "{tool}");
    }
}

#[tokio::test]
async fn an_agent_of_one_tool_saves_searches_lists_and_forgets_with_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let agent = AgentName::parse("small").unwrap();
    let make = async |scopes: Vec<Scope>| {
        let wish = TokenWish {
            scopes: scopes.into_iter().collect(),
            lifetime: None,
            profile: Some(ToolProfile::Single),
        };
        let token = app.accounts.create_token_by_name(anna.id, &agent, &wish);
        token.await.unwrap().reveal()
    };
    let small = anna.with_token(&make(Scope::ALL.into()).await);
    let listed: Value = small.get("/api/v1/tools?format=openai").await.json().await.unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["function"]["name"], "memory");
    assert!(listed.to_string().len() < 1_600, "{listed}");
    let prompt = small.get("/api/v1/prompt").await.text().await.unwrap();
    assert!(prompt.contains("the tool memory.") && !prompt.contains("memory_"), "{prompt}");
    let say = async |input: Value| {
        let answer = small.call("memory", input).await;
        answer["output"].as_str().unwrap().to_owned()
    };
    let saved =
        say(json!({ "action": "save", "text": "Lives in Lisbon.", "key": "home_city" })).await;
    let id: i64 = saved.trim_start_matches("Saved as #").trim_end_matches('.').parse().unwrap();
    assert_eq!(
        say(json!({ "action": "save", "text": "Lives in Lisbon.", "key": "home_city" })).await,
        format!("Known already, as #{id}.")
    );
    let found = say(json!({ "action": "search", "text": "Lisbon" })).await;
    assert!(
        found.starts_with(&format!("#{id} (2026-"))
            && found.ends_with(", agent, key home_city) Lives in Lisbon."),
        "{found}"
    );
    assert_eq!(say(json!({ "action": "list" })).await, found);
    assert_eq!(
        say(json!({ "action": "forget", "key": "home_city" })).await,
        "Forgotten: 1 memory is archived."
    );
    assert_eq!(
        say(json!({ "action": "forget", "key": "home_city" })).await,
        "Nothing has this key."
    );
    assert_eq!(
        say(json!({ "action": "search", "text": "Lisbon" })).await,
        "Nothing is remembered about that."
    );
    for (input, field) in [
        (json!({ "action": "save" }), "text"),
        (json!({ "action": "search", "text": " " }), "text"),
        (json!({ "action": "forget" }), "key"),
        (json!({ "action": "erase" }), "action"),
        (json!({}), "action"),
    ] {
        let (status, problem) = small.refused("memory", input).await;
        assert_eq!((status, problem["field"].as_str()), (422, Some(field)), "{problem}");
    }
    // Who may only read saves nothing.
    let reader = anna.with_token(&make(vec![Scope::MemoryRead]).await);
    assert_eq!(reader.refused("memory", json!({ "action": "save", "text": "x" })).await.0, 403);
    reader.call("memory", json!({ "action": "list" })).await;
}

/// The names of the tools in this list; `None`: of all tools.
async fn names(app: &TestApp, user: &TestUser, list: Option<ToolProfile>) -> Vec<String> {
    let Some(profile) = list else {
        let document = user.get("/api/v1/openapi.json").await;
        let document: Value = document.json().await.unwrap();
        let paths = document["paths"].as_object().unwrap().keys();
        let names = paths.filter_map(|path| path.strip_prefix("/api/v1/tools/"));
        return names.map(str::to_owned).collect();
    };
    let wish = TokenWish { scopes: Scope::ALL.into(), lifetime: None, profile: Some(profile) };
    let name = AgentName::parse(profile.as_str()).unwrap();
    let token = app.accounts.create_token_by_name(user.id, &name, &wish);
    let user = user.with_token(&token.await.unwrap().reveal());
    let listed: Value = user.get("/api/v1/tools").await.json().await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// "Tools: all (2). Core, and forget, list themes."
#[tokio::test]
async fn the_page_says_which_tools_are_in_each_list() {
    let (app, anna) = TestApp::start_for("anna").await;
    let page = std::fs::read_to_string("app/src/components/tool_choice.rs").unwrap();
    let in_words = |names: &[String]| {
        let words = names.iter().map(|name| name.trim_start_matches("memory_").replace('_', " "));
        words.collect::<Vec<_>>().join(", ")
    };
    let core = names(&app, &anna, Some(ToolProfile::Core)).await;
    let full = names(&app, &anna, Some(ToolProfile::Full)).await;
    assert_eq!(full[..core.len()], core);
    let connector = names(&app, &anna, Some(ToolProfile::Connector)).await;
    assert!(connector.iter().all(|name| !full.contains(name)));
    let first = in_words(&core[..1]);
    let of_core = in_words(&core).replacen(&first, &(first[..1].to_uppercase() + &first[1..]), 1);
    for told in [
        format!("\"Tools: core ({}). {of_core}.\"", core.len()),
        format!("\"Tools: all ({}). Core, and {}.\"", full.len(), in_words(&full[core.len()..])),
        format!(
            "\"Tools: connector ({}). {}:",
            connector.len(),
            in_words(&connector).replacen('s', "S", 1)
        ),
        format!("\"Tools: one ({}).", names(&app, &anna, Some(ToolProfile::Single)).await.concat()),
    ] {
        assert!(page.contains(&told), "{told}");
    }
}

#[tokio::test]
async fn what_lists_the_tools_lists_all_of_them() {
    let (app, anna) = TestApp::start_for("anna").await;
    let all = names(&app, &anna, None).await;
    assert!(all.len() > 13, "{all:?}");
    for (file, quote) in [("app/src/kinds.rs", '"'), ("README.md", '`'), ("docs/tools.md", '`')] {
        let text = std::fs::read_to_string(file).unwrap();
        for name in &all {
            assert!(text.contains(&format!("{quote}{name}{quote}")), "{file}: {name}");
        }
    }
}
