//! `GET /api/v1/openapi.json` and the functions for models: what is said is what
//! is done. schemathesis (end2end/openapi) holds the server to the rest.

use std::collections::BTreeSet;

use keepsake::accounts::{AgentName, Scope, TokenWish, ToolProfile};
use keepsake::memories::mentions::EntityType;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::{answer, code, fields, get};
use crate::entities::related::{say, state};
use crate::support::{TestApp, problem};

/// Of the tools of each profile together, as a model is given them.
const CORE_TOKENS_MAX: usize = 1_100;
/// A profile that lists thirteen tools; most agents are told of the core alone.
const FULL_TOKENS_MAX: usize = 2_500;
/// o200k_base takes 4.3 bytes of these schemas for a token, cl100k_base 4.4
/// (measured with npm's gpt-tokenizer); a little less, to be on the safe side.
const BYTES_PER_TOKEN: usize = 4;

const OPENAI_KEYWORDS: &str =
    "type properties required additionalProperties description enum items minimum maximum";

async fn document(app: &TestApp) -> Value {
    let response = reqwest::get(format!("{}/api/v1/openapi.json", app.base)).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    answer(response).await
}

#[tokio::test]
async fn the_document_is_what_it_was() {
    let app = TestApp::start().await;
    let document = document(&app).await;
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    // Every `$ref` and every link leads somewhere.
    let mut ids = BTreeSet::new();
    for operation in operations(&document) {
        assert!(ids.insert(operation.1["operationId"].to_string()), "{operation:?}");
    }
    let mut seen = 0;
    walk(&document, &mut |name, value| {
        if name == "$ref" {
            let pointer = value.as_str().unwrap().trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{pointer}");
            seen += 1;
        }
        if name == "operationId" {
            assert!(ids.contains(&value.to_string()), "{value}");
        }
    });
    assert!(seen > 50, "{seen}");
    insta::assert_snapshot!(format!("{document:#}"));
}

fn walk(value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                visit(name, field);
                walk(field, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

/// Method and path of each, with its object.
fn operations(document: &Value) -> Vec<((String, String), Value)> {
    let paths = document["paths"].as_object().unwrap();
    let mut all = Vec::new();
    for (path, methods) in paths {
        for (method, object) in methods.as_object().unwrap() {
            all.push(((method.to_uppercase(), path.clone()), object.clone()));
        }
    }
    all
}

fn example(object: &Value) -> Value {
    object["content"]["application/json"]["examples"]["example"]["value"].clone()
}

#[tokio::test]
async fn the_examples_are_calls_that_work_and_the_answers_they_give() {
    let (app, anna) = TestApp::start_for("anna").await;
    let document = document(&app).await;
    // In the order of a life: added, found, read, corrected, confirmed, forgotten.
    let tools =
        "memory_add memory_search memory_get memory_list_themes memory_correct memory_confirm
                 memory_describe_theme memory_entity memory_graph memory_files memory_stats
                 memory_summary search fetch memory_archive memory_forget";
    for tool in tools.split_whitespace() {
        let operation = &document["paths"][format!("/api/v1/tools/{tool}")]["post"];
        let mut input = example(&operation["requestBody"]);
        assert!(input.is_object(), "{tool} has no example");
        if input.get("item_id").is_some() {
            input["item_id"] = json!(anna.find("tea").await[0]);
        }
        if tool == "memory_forget" {
            let again = json!({ "type": "fact", "content": "Prefers water.", "theme": "food", "key": "favourite_drink" });
            anna.call("memory_add", again).await;
        }
        if tool == "memory_entity" {
            let moved = anna.add("Anna Berg moved to Lyon.").await;
            let at = app.embeddings.now();
            let lives = say("Anna Berg", "lives_in", ("Lyon", EntityType::Location), at);
            state(&app, anna.id, lives, Some(moved)).await;
        }
        if tool == "fetch" {
            input["id"] = json!(anna.find("tea").await[0].to_string());
        }
        if ["memory_search", "search"].contains(&tool) {
            // The example finds by meaning, and there is no model here.
            input["query"] = json!("tea");
        }
        let answer = anna.call(tool, input).await;
        let said = example(&operation["responses"]["200"]);
        assert_eq!(shape(&answer), shape(&said), "{tool}: {answer}");
    }
    // Those of sessions.
    for (method, below) in
        [("post", "/messages"), ("post", "/complete"), ("get", ""), ("get", "/messages")]
    {
        let template = format!("/api/v1/sessions/{{external_id}}{below}");
        let operation = &document["paths"][&template][method];
        let path = template.replace("{external_id}", "chat-7");
        let response = match method {
            "post" => anna.post(&path, &example(&operation["requestBody"])).await,
            _ => anna.get(&path).await,
        };
        let mut answer = answer(response).await;
        let said = example(&operation["responses"]["200"]);
        assert_eq!(shape(&answer), shape(&said), "{path}: {answer}");
        let is_session = said.get("extraction").is_some();
        if is_session {
            for moment in ["created_at", "last_message_at", "completed_at"] {
                answer[moment] = said[moment].clone();
            }
        }
        if is_session || (method, below) == ("post", "/messages") {
            assert_eq!(answer, said, "{path}");
        }
    }
}

/// The names of all fields, however deep.
fn shape(value: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    walk(value, &mut |name, _| _ = names.insert(name.to_owned()));
    names
}

#[tokio::test]
async fn the_documented_errors_are_those_that_come() {
    let (app, anna) = TestApp::start_for("anna").await;
    let reader = app.token(anna.id, "reader", &[Scope::MemoryRead], None).await;
    let document = document(&app).await;
    let unknown = TestApp::start().await.user("anna").await.token;
    let url = |tool: &str| format!("{}/api/v1/tools/{tool}", app.base);
    let json = "application/json";
    let item_42 = br#"{"item_id":42}"#.to_vec();
    let mut came = vec![Client::new().get(url("memory_get")).send().await.unwrap()];
    for (tool, token, content_type, body) in [
        ("memory_get", &unknown, json, item_42.clone()),
        ("memory_get", &anna.token, json, b"[]".to_vec()),
        ("memory_archive", &reader, json, item_42.clone()),
        ("memory_get", &anna.token, json, item_42),
        ("memory_get", &anna.token, json, vec![b' '; 1024 * 1024 + 1]),
        ("memory_get", &anna.token, "text/plain", b"tea".to_vec()),
        ("memory_search", &anna.token, json, br#"{"limit":500}"#.to_vec()),
    ] {
        let request = Client::new().post(url(tool)).bearer_auth(token);
        came.push(request.header("content-type", content_type).body(body).send().await.unwrap());
    }
    let mut seen = BTreeSet::new();
    for response in came {
        let (status, body) = problem(response).await;
        let documented = component(&document, status);
        let said = &documented["examples"][body["code"].as_str().unwrap()]["value"];
        let sentence = |body: &Value| {
            body["detail"].as_str().unwrap().split_inclusive('.').next().unwrap().to_owned()
        };
        assert_eq!(sentence(said), sentence(&body), "{status}");
        let names = ["type", "title", "status", "code", "field"];
        assert_eq!(fields(said, names), fields(&body, names), "{status}");
        seen.insert(status);
    }
    assert_eq!(seen, BTreeSet::from([400, 401, 403, 404, 405, 413, 415, 422]));
}

fn component(document: &Value, status: u16) -> Value {
    let responses = document["components"]["responses"].as_object().unwrap();
    let mut contents = responses.values().map(|r| &r["content"]["application/problem+json"]);
    let of_status = contents.find(|content| {
        let mut examples = content["examples"].as_object().unwrap().values();
        examples.any(|example| example["value"]["status"] == status)
    });
    of_status.unwrap_or_else(|| panic!("{status} is not documented")).clone()
}

#[tokio::test]
async fn every_path_says_405_with_its_methods_and_a_problem() {
    let app = TestApp::start().await;
    for ((method, path), object) in operations(&document(&app).await) {
        let url = format!("{}{path}", app.base);
        let response = Client::new().request(Method::PATCH, url).send().await.unwrap();
        let allow = response.headers()["allow"].to_str().unwrap().to_owned();
        assert!(allow.contains(&method), "{path}: {allow}");
        assert_eq!(problem(response).await.0, 405, "{path}");
        assert!(object["responses"].get("405").is_some(), "{path}");
    }
}

async fn functions(app: &TestApp, token: &str, format: &str) -> Value {
    let url = format!("{}/api/v1/tools?format={format}", app.base);
    answer(Client::new().get(url).bearer_auth(token).send().await.unwrap()).await
}

#[tokio::test]
async fn functions_come_as_openai_and_anthropic_take_them_and_cost_few_tokens() {
    let (app, anna) = TestApp::start_for("anna").await;
    let openai = functions(&app, &anna.token, "openai").await;
    let anthropic = functions(&app, &anna.token, "anthropic").await;
    let (openai, anthropic) = (openai.as_array().unwrap(), anthropic.as_array().unwrap());
    assert_eq!((openai.len(), anthropic.len()), (5, 5));
    for (openai, anthropic) in openai.iter().zip(anthropic) {
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(openai), ["function", "type"]);
        assert_eq!(openai["type"], "function");
        let function = &openai["function"];
        assert_eq!(keys(function), ["description", "name", "parameters"]);
        assert_eq!(keys(anthropic), ["description", "input_schema", "name"]);
        assert_eq!(function["name"], anthropic["name"]);
        let schema = &function["parameters"];
        assert_eq!(schema, &anthropic["input_schema"]);
        // OpenAI refuses an object without `properties`, and knows no `$ref` from elsewhere.
        assert!(schema["type"] == "object" && schema["properties"].is_object(), "{schema}");
        for field in schema["properties"].as_object().unwrap().values() {
            assert!(field["type"].is_string(), "{field}");
            let known = |keyword: &String| OPENAI_KEYWORDS.split(' ').any(|known| known == keyword);
            assert!(field.as_object().unwrap().keys().all(known), "{field}");
        }
    }

    // The core about a thousand, all less than two and a half.
    let full =
        TokenWish { scopes: Scope::ALL.into(), lifetime: None, profile: Some(ToolProfile::Full) };
    let agent = AgentName::parse("full").unwrap();
    let full = app.accounts.create_token_by_name(anna.id, &agent, &full).await.unwrap().reveal();
    for (token, tokens_max) in [(&anna.token, CORE_TOKENS_MAX), (&full, FULL_TOKENS_MAX)] {
        for format in ["openai", "anthropic"] {
            let bytes = functions(&app, token, format).await.to_string().len();
            let tokens = bytes / BYTES_PER_TOKEN;
            assert!(tokens < tokens_max, "{format}: {bytes} bytes, about {tokens} tokens");
        }
    }
}

#[tokio::test]
async fn a_format_that_is_not_known_is_told_those_that_are_and_a_name_of_no_unicode_is_no_tool() {
    let (app, anna) = TestApp::start_for("anna").await;
    for query in
        ["format=yaml", "format=", "format=%FF", "format=json&format=json", "format=OpenAI"]
    {
        let (status, body) = problem(anna.get(&format!("/api/v1/tools?{query}")).await).await;
        assert_eq!((status, body["field"].as_str()), (422, Some("format")), "{query}");
        for known in ["openai", "anthropic", "json"] {
            assert!(body["detail"].as_str().unwrap().contains(known), "{query}: {body}");
        }
    }
    for name in ["%FF", "memory%00add", "%F0%9F%8D%B5", "memory_add%2F"] {
        let url = format!("{}/api/v1/tools/{name}", app.base);
        let response = Client::new().post(url).bearer_auth(&anna.token).send().await.unwrap();
        assert_eq!(code(response).await, "404 unknown_tool", "{name}");
    }
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_point() {
    let (_app, anna) = TestApp::start_for("anna").await;
    let id = anna.add("Prefers tea over coffee.").await;
    let input = json!({ "query": "tea", "limit": 5.0, "recency_days": 7.0 });
    assert_eq!(anna.call("memory_search", input).await["results"][0]["id"], id);
    assert_eq!(get(&anna, id as f64).await["id"], id);
    for item_id in [json!(1.5), json!(1e17), json!(u64::MAX), json!(true)] {
        let (status, body) = anna.refused("memory_get", json!({ "item_id": item_id })).await;
        assert_eq!((status, body["code"].as_str()), (422, Some("invalid_type")), "{body}");
        assert!(body["detail"].as_str().unwrap().contains("a whole number"), "{body}");
    }
}
