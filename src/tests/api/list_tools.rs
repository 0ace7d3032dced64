use keepsake::accounts::{AgentName, Scope, TokenWish, ToolProfile};
use keepsake::clock::Clock as _;
use serde_json::{Value, json};

use super::{answer, code, refused_field};
use crate::support::{TestApp, TestUser};

/// What is listed to this token: an object as Keepsake has it, or an array of functions.
async fn listed(user: &TestUser, token: &str, format: &str) -> Value {
    let path = format!("/api/v1/tools?format={format}");
    answer(user.with_token(token).get(&path).await).await
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A token of the agent of this name, which has this profile from now on when one is named.
async fn token(
    app: &TestApp,
    user: &TestUser,
    agent: &str,
    scopes: &[Scope],
    profile: Option<ToolProfile>,
) -> String {
    let wish = TokenWish { scopes: scopes.iter().copied().collect(), lifetime: None, profile };
    let agent = AgentName::parse(agent).unwrap();
    app.accounts.create_token_by_name(user.id, &agent, &wish).await.unwrap().reveal()
}

#[tokio::test]
async fn the_five_core_tools_are_listed_with_their_schemas() {
    let (_app, anna) = TestApp::start_for("anna").await;
    let listed = answer(anna.get("/api/v1/tools").await).await;
    let core =
        ["memory_search", "memory_add", "memory_get", "memory_archive", "memory_list_themes"];
    assert_eq!(names(&listed["tools"]), core);
    let tools = listed["tools"].as_array().unwrap();
    for tool in tools {
        assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
        assert_eq!(tool["input_schema"]["additionalProperties"], false, "{tool}");
        assert_eq!(tool["output_schema"]["type"], "object", "{tool}");
        assert!(!tool.to_string().contains("$ref"), "{tool}");
        assert!(tool["description"].as_str().unwrap().contains("Example:"), "{tool}");
    }
    assert_eq!(tools[1]["input_schema"]["required"], json!(["type", "content"]));
}

#[tokio::test]
async fn an_agent_of_the_full_profile_is_told_of_all_tools_and_one_of_core_may_call_them_too() {
    let (app, anna) = TestApp::start_for("anna").await;
    let make = |profile| token(&app, &anna, "all tools", &Scope::ALL, profile);
    let count = async |token: &str, format: &str| {
        listed(&anna, token, format).await.as_array().unwrap().len()
    };
    let full = make(Some(ToolProfile::Full)).await;
    let named = names(&listed(&anna, &full, "json").await["tools"]);
    let further = "memory_correct memory_confirm memory_forget memory_stats memory_summary
                   memory_entity memory_graph memory_files";
    assert_eq!(named[5..], further.split_whitespace().collect::<Vec<_>>());
    for format in ["openai", "anthropic"] {
        assert_eq!((count(&anna.token, format).await, count(&full, format).await), (5, 13));
    }
    // The profile is the agent's: another token of it leaves it as it is, and one says otherwise.
    assert_eq!(count(&make(None).await, "openai").await, 13);
    make(Some(ToolProfile::Core)).await;
    assert_eq!(count(&full, "openai").await, 5);
    anna.call("memory_stats", json!({})).await;
}

#[tokio::test]
async fn the_users_of_an_operator_are_told_of_what_its_profile_says() {
    let app = TestApp::start().await;
    let name = AgentName::parse("acme").unwrap();
    let make = async |profile| {
        let wish = TokenWish { scopes: Scope::ALL.into(), lifetime: None, profile };
        app.accounts.create_service_token_by_name(&name, &wish).await.unwrap().reveal()
    };
    let token = make(None).await;
    let count = async || {
        let listed = reqwest::Client::new()
            .get(format!("{}/api/v1/tools?format=openai", app.base))
            .bearer_auth(&token)
            .header("keepsake-user", "customer-1");
        answer(listed.send().await.unwrap()).await.as_array().unwrap().len()
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
    let [reader, writer] = [reader, writer].map(|token| anna.with_token(&token));
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
        assert_eq!(code(wrong.send(tool, &json!({})).await).await, "403 missing_scope", "{tool}");
        assert_ne!(right.send(tool, &json!({})).await.status(), 403, "{tool}");
    }
}

#[tokio::test]
async fn an_agent_of_one_tool_saves_searches_lists_and_forgets_with_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let make = async |scopes: &[Scope]| {
        anna.with_token(&token(&app, &anna, "small", scopes, Some(ToolProfile::Single)).await)
    };
    let small = make(&Scope::ALL).await;
    let listed = listed(&small, &small.token, "openai").await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["function"]["name"], "memory");
    assert!(listed.to_string().len() < 2_000, "{listed}");
    for hidden in ["category", "expires_days", "limit", "query", "value"] {
        let shown = &listed[0]["function"]["parameters"]["properties"][hidden];
        assert!(shown.is_null(), "{hidden}");
    }
    let prompt = small.get("/api/v1/prompt").await.text().await.unwrap();
    assert!(prompt.contains("the tool memory.") && !prompt.contains("memory_"), "{prompt}");
    let say = async |input: Value| {
        small.call("memory", input).await["output"].as_str().unwrap().to_owned()
    };
    let save = json!({ "action": "save", "text": "Lives in Lisbon.", "key": "home_city" });
    let saved = say(save.clone()).await;
    let id: i64 = saved.trim_start_matches("Saved as #").trim_end_matches('.').parse().unwrap();
    assert_eq!(say(save).await, format!("Known already, as #{id}."));
    let search = json!({ "action": "search", "text": "Lisbon" });
    let found = say(search.clone()).await;
    assert!(found.starts_with(&format!("#{id} (2026-")), "{found}");
    let words = "No embedding provider is set up, so this was found by words alone.";
    let line = found.strip_suffix(&format!("\n{words}")).expect(&found);
    assert!(line.ends_with("Lives in Lisbon.") && line.contains("home_city"), "{found}");
    assert_eq!(say(json!({ "action": "list" })).await, line);
    let forget = json!({ "action": "forget", "key": "home_city" });
    let elsewhere = json!({ "action": "forget", "key": "home_city", "theme": "nowhere" });
    let empty = json!({ "action": "list", "theme": "nowhere" });
    for (input, said) in [
        (elsewhere, "Nothing in the theme nowhere has the key home_city."),
        (forget.clone(), "Forgotten: 1 memory is archived."),
        (forget, "Nothing has the key home_city."),
        (search, &format!("Nothing is remembered about that.\n{words}")),
        (empty, "Nothing is remembered in the theme nowhere."),
    ] {
        assert_eq!(say(input).await, said);
    }
    for (input, field) in [
        (json!({ "action": "save" }), "text"),
        (json!({ "action": "search", "text": " " }), "text"),
        (json!({ "action": "forget" }), "key"),
        (json!({ "action": "erase" }), "action"),
        (json!({}), "action"),
        (json!({ "action": "save", "text": "x".repeat(20_001) }), "text"),
        (json!({ "action": "search", "text": "x".repeat(8_001) }), "text"),
        (json!({ "action": "save", "text": "x", "value": "y" }), "value"),
        (json!({ "action": "save", "text": "x", "confidence": 101 }), "confidence"),
        (json!({ "action": "save", "text": "x", "expires_days": 0 }), "expires_in_days"),
        (json!({ "action": "list", "cursor": "tea" }), "cursor"),
        (json!({ "action": "list", "limit": 51 }), "limit"),
    ] {
        assert_eq!(refused_field(&small, "memory", input).await, format!("422 {field}"));
    }
    // Who may only read saves nothing.
    let reader = make(&[Scope::MemoryRead]).await;
    assert_eq!(reader.refused("memory", json!({ "action": "save", "text": "x" })).await.0, 403);
    reader.call("memory", json!({ "action": "list" })).await;
}

#[tokio::test]
async fn the_one_tool_takes_navis_fields_pages_its_list_and_says_that_nothing_is_known() {
    let (app, anna) = TestApp::start_for("anna").await;
    let save = json!({ "action": "save", "category": "profile", "key": "shoe", "value": "Wears size 42.",
        "source": "tool_call", "confidence": 55, "expires_days": 30, "source_context": "The shop's order says 42." });
    let saved = anna.call("memory", save).await;
    let said = saved["output"].as_str().unwrap();
    let id: i64 = said.trim_start_matches("Saved as #").trim_end_matches('.').parse().unwrap();
    let item = anna.call("memory_get", json!({ "item_id": id })).await;
    for (field, value) in [
        ("theme", json!("profile")),
        ("key", json!("shoe")),
        ("content", json!("Wears size 42.")),
        ("source", json!("tool_call")),
        ("confidence", json!(55)),
        ("source_context", json!("The shop's order says 42.")),
    ] {
        assert_eq!(item[field], value, "{item}");
    }
    let until = app.clock.now().date() + time::Duration::days(30);
    assert!(item["expires_at"].as_str().unwrap().starts_with(&until.to_string()), "{item}");
    // Another of the key takes its place, an equal text of another type does not, and both are said.
    let newer =
        json!({ "action": "save", "theme": "profile", "key": "shoe", "text": "Wears size 43." });
    let said = anna.call("memory", newer).await["output"].as_str().unwrap().to_owned();
    assert!(said.ends_with(&format!(", in place of #{id}.")), "{said}");
    let rule = json!({ "type": "instruction", "content": "Answer briefly." });
    let rule = anna.call("memory_add", rule).await["id"].clone();
    let save = json!({ "action": "save", "text": "Answer briefly." });
    let said = anna.call("memory", save).await["output"].clone();
    let expected = format!(
        "Known already, as #{rule}. Item {rule} has the same text with the type instruction and keeps it; no item of another type was added."
    );
    assert_eq!(said, expected);
    // What nobody said is told as such, in each of the small tools.
    let nothing = "probably not in memory";
    let ask = json!({ "action": "search", "query": "the dentist's telephone number" });
    let found = anna.call("memory", ask).await;
    assert_eq!(found["note"], nothing, "{found}");
    assert!(found["confidence"].as_f64().unwrap() < 0.5, "{found}");
    let said = found["output"].as_str().unwrap();
    let is_said = said.starts_with("Probably not in memory. The nearest of what is known:\n#")
        || said.starts_with("Nothing is remembered about that.");
    assert!(is_said, "{said}");
    let ask = json!({ "action": "search", "text": "which shoe size", "theme": "work" });
    let output = anna.call("memory", ask).await["output"].clone();
    assert!(
        output.as_str().unwrap().starts_with("Nothing is remembered about that in the theme work.")
    );
    // All of it, page by page.
    for n in 0..43 {
        anna.add(&format!("Number {n} has a kazoo.")).await;
    }
    let (mut cursor, mut lines, mut pages) = (Value::Null, Vec::new(), 0);
    loop {
        let list = json!({ "action": "list", "theme": "general", "cursor": cursor });
        let page = anna.call("memory", list).await;
        cursor = page["cursor"].clone();
        let output = page["output"].as_str().unwrap();
        assert_eq!(output.contains("There is more"), !cursor.is_null(), "{output}");
        lines.extend(output.lines().filter(|line| line.starts_with('#')).map(str::to_owned));
        pages += 1;
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!((pages, lines.len()), (3, 44), "{lines:?}");
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), 44);
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
    let of = async |profile: ToolProfile| {
        let token = token(&app, &anna, profile.as_str(), &Scope::ALL, Some(profile)).await;
        names(&listed(&anna, &token, "json").await["tools"])
    };
    let (core, full) = (of(ToolProfile::Core).await, of(ToolProfile::Full).await);
    assert_eq!(full[..core.len()], core);
    let connector = of(ToolProfile::Connector).await;
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
        format!("\"Tools: one ({}).", of(ToolProfile::Single).await.concat()),
    ] {
        assert!(page.contains(&told), "{told}");
    }
}

#[tokio::test]
async fn what_lists_the_tools_lists_all_of_them() {
    let (_app, anna) = TestApp::start_for("anna").await;
    let document = answer(anna.get("/api/v1/openapi.json").await).await;
    let paths = document["paths"].as_object().unwrap().keys();
    let all: Vec<_> = paths.filter_map(|path| path.strip_prefix("/api/v1/tools/")).collect();
    assert!(all.len() > 13, "{all:?}");
    for (file, quote) in [("app/src/kinds.rs", '"'), ("README.md", '`'), ("docs/tools.md", '`')] {
        let text = std::fs::read_to_string(file).unwrap();
        for name in &all {
            assert!(text.contains(&format!("{quote}{name}{quote}")), "{file}: {name}");
        }
    }
}
