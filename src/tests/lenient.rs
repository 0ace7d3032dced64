//! What clients and models really send: members that no tool has, values in other forms, messages that are nearly as MCP has
//! them. Published schemas are strict all the same (`api::openapi`).

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::mcp::Mcp;
use crate::support::{TestApp, TestUser, problem};

/// What n8n adds to the arguments of each call.
const OF_N8N: [&str; 4] = ["action", "chatInput", "sessionId", "toolCallId"];

/// A form, and the strict one that it stands for.
#[rustfmt::skip]
const SEARCHES: &[(&str, &str)] = &[
    (r#"{"query":"tea","limit":"1"}"#, r#"{"query":"tea","limit":1}"#),
    (r#"{"query":"tea","limit":" 1 "}"#, r#"{"query":"tea","limit":1}"#),
    (r#"{"query":"tea","limit":"1.0"}"#, r#"{"query":"tea","limit":1}"#),
    (r#"{"query":"tea","limit":1.0}"#, r#"{"query":"tea","limit":1}"#),
    (r##"{"query":"tea","limit":"#1"}"##, r#"{"query":"tea","limit":1}"#),
    (r#"{"query":"tea","limit":""}"#, r#"{"query":"tea"}"#),
    (r#"{"query":"tea","limit":"null"}"#, r#"{"query":"tea"}"#),
    (r#"{"query":"tea","types":"fact"}"#, r#"{"query":"tea","types":["fact"]}"#),
    (r#"{"query":"tea","types":"Fact, SUMMARY"}"#, r#"{"query":"tea","types":["fact","summary"]}"#),
    (r#"{"query":"tea","types":["FACT"]}"#, r#"{"query":"tea","types":["fact"]}"#),
    (r#"{"query":"tea","types":"[\"fact\"]"}"#, r#"{"query":"tea","types":["fact"]}"#),
    (r#"{"query":"tea","types":""}"#, r#"{"query":"tea"}"#),
    (r#"{"query":"tea","types":"[]"}"#, r#"{"query":"tea","types":[]}"#),
    (r#"{"query":"tea","status":"Archived"}"#, r#"{"query":"tea","status":"archived"}"#),
    (r#"{"query":"tea","status":""}"#, r#"{"query":"tea"}"#),
    (r#"{"query":"tea","explain":"True"}"#, r#"{"query":"tea","explain":true}"#),
    (r#"{"query":"tea","explain":1}"#, r#"{"query":"tea","explain":true}"#),
    (r#"{"query":"tea","explain":"0"}"#, r#"{"query":"tea","explain":false}"#),
    (r#"{"query":"tea","min_similarity":"0.5"}"#, r#"{"query":"tea","min_similarity":0.5}"#),
    (r#"{"query":"tea","time":"{\"from\":2019}"}"#, r#"{"query":"tea","time":{"from":"2019"}}"#),
    (r#"{"query":"tea","time":{"from":800}}"#, r#"{"query":"tea","time":{"from":"0800"}}"#),
    (r#"{"query":"tea","at":"","as_of":"","cursor":"","project":""}"#, r#"{"query":"tea"}"#),
    (r#"{"query":4000}"#, r#"{"query":"4000"}"#),
    (r#""{\"query\":\"tea\",\"limit\":\"1\"}""#, r#"{"query":"tea","limit":1}"#),
    ("null", "{}"),
    (r#""""#, "{}"),
    ("\u{feff}{}", "{}"),
];

/// A field of what is added, as it is sent, and as it is stored.
#[rustfmt::skip]
const ADDED: &[(&str, &str, &str)] = &[
    ("content", "42", r#""42""#),
    ("content", "-7", r#""-7""#),
    ("content", r#""42""#, r#""42""#),
    ("content", r#""[1,2]""#, r#""[1,2]""#),
    ("content", r#""{\"a\": 1}""#, r#""{\"a\": 1}""#),
    ("content", r#""true""#, r#""true""#),
    ("content", r#""null""#, r#""null""#),
    ("content", r##""#12""##, r##""#12""##),
    ("key", "5", r#""5""#),
    ("key", r#""""#, "null"),
    ("type", r#""Preference""#, r#""preference""#),
    ("source", r#""Tool Call""#, r#""tool_call""#),
    ("source", r#""auto-discovery""#, r#""auto_discovery""#),
    ("source", r#""""#, r#""agent""#),
    ("confidence", r#""70""#, "70"),
    ("tags", r#""[\"a\",\"b\"]""#, r#"["a","b"]"#),
    ("tags", r#""a, b""#, r#"["a","b"]"#),
    ("tags", r#""a""#, r#"["a"]"#),
    ("tags", "[2024]", r#"["2024"]"#),
    ("tags", "2024", r#"["2024"]"#),
    ("tags", r#"["a, b"]"#, r#"["a, b"]"#),
    ("tags", r#""""#, "[]"),
    ("theme", r#""""#, r#""general""#),
    ("valid_from", "2019", r#""2019-01-01T00:00:00Z""#),
    ("valid_from", r#""""#, "null"),
    ("expires_in_days", r#""""#, "null"),
];

/// A call as MCP's clients send it: what stands for its id, its parameters.
#[rustfmt::skip]
const MESSAGES: &[(&str, &str)] = &[
    ("1", r#""method":"tools/list""#),
    ("-1", r#""method":"tools/list","params":null"#),
    (r#""a b""#, r#""method":"ping","params":null"#),
    ("1.5", r#""method":"tools/list""#),
    ("1e3", r#""method":"ping""#),
    ("18446744073709551615", r#""method":"tools/list""#),
    ("184467440737095516160000000001", r#""method":"tools/list""#),
    ("9223372036854775808", r#""method":"tools/call","params":{"name":"memory_stats","arguments":null}"#),
    ("2", r#""method":"tools/call","params":{"name":"memory_stats","arguments":""}"#),
    ("3", r#""method":"tools/call","params":{"name":"memory_search","arguments":"{\"query\":\"tea\"}"}"#),
];

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Posts a body as it is; no content type but one that is asked for.
async fn post(app: &TestApp, user: &TestUser, path: &str, body: &str) -> (u16, Value) {
    let request = reqwest::Client::new().post(format!("{}{path}", app.base));
    let response = request.bearer_auth(&user.token).body(body.to_owned()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test(crate = "crate::support::shared")]
async fn each_form_of_a_search_is_the_search_that_was_meant() {
    let (app, anna) = TestApp::with_user().await;
    for (item_type, content) in
        [("fact", "Black tea"), ("summary", "Tea at four"), ("other", "Tea")]
    {
        anna.call("memory_add", json!({ "type": item_type, "content": content })).await;
    }
    let old = anna.add("Cold tea").await;
    anna.call("memory_archive", json!({ "item_id": format!("#{old}") })).await;
    for (sent, meant) in SEARCHES {
        let (status, answer) = post(app, &anna, "/api/v1/tools/memory_search", sent).await;
        assert_eq!(status, 200, "{sent}: {answer}");
        assert_eq!(answer, anna.call("memory_search", parsed(meant)).await, "{sent}");
    }
    let id = json!({ "id": format!("#{old}") });
    assert_eq!(anna.call("fetch", id).await["text"], "Cold tea");
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_is_stored_is_what_was_meant_and_a_text_stays_a_text() {
    let (_, anna) = TestApp::with_user().await;
    for (n, (field, sent, stored)) in ADDED.iter().enumerate() {
        let mut input = json!({ "type": "fact", "content": format!("number {n}") });
        input[*field] = parsed(sent);
        let added = anna.call("memory_add", input).await;
        let item = anna.call("memory_get", json!({ "item_id": added["id"].to_string() })).await;
        let field = if *field == "expires_in_days" { "expires_at" } else { field };
        assert_eq!(item[field], parsed(stored), "{field}: {sent}");
    }
}

/// Each tool's input schema and an input that it takes, of the published document.
async fn tools(app: &TestApp, anna: &TestUser) -> Vec<(String, Value, Value)> {
    let (item, document) =
        (anna.add("Anna Berg drinks tea.").await, anna.get("/api/v1/openapi.json"));
    let document: Value = document.await.json().await.unwrap();
    let mut found = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let Some(tool) = path.strip_prefix("/api/v1/tools/") else { continue };
        let json = &operations["post"]["requestBody"]["content"]["application/json"];
        let schema = json["schema"]["$ref"].as_str().unwrap().trim_start_matches('#');
        let mut input = json["examples"]["example"]["value"].clone();
        for (name, id) in [("item_id", json!(item)), ("id", json!(item.to_string()))] {
            if let Some(given) = input.get_mut(name) {
                *given = id;
            }
        }
        found.push((tool.to_owned(), document.pointer(schema).unwrap().clone(), input));
    }
    assert_eq!(found.len(), 18, "{}", app.base);
    found
}

#[tokio::test(crate = "crate::support::shared")]
async fn no_tool_refuses_a_member_that_it_does_not_have_and_each_says_so() {
    let (app, anna) = TestApp::with_user().await;
    let mcp = Mcp::of(app, &anna);
    let mut answered = 0;
    for (tool, schema, mut input) in tools(app, &anna).await {
        let has = |name: &&str| schema["properties"].get(*name).is_some();
        let (_, foreign): (Vec<_>, Vec<_>) = OF_N8N.into_iter().partition(has);
        for name in &foreign {
            input[*name] = json!({ "deep": [] });
        }
        let note = format!("Ignored, since this tool has no such field: {}.", foreign.join(", "));
        let response = anna.send(&tool, &input).await;
        let status = response.status().as_u16();
        assert!([200, 404, 409].contains(&status), "{tool}: {status} {:?}", response.text().await);
        if status == 200 {
            let answer: Value = response.json().await.unwrap();
            assert!(answer["note"].as_str().unwrap().ends_with(&note), "{tool}: {answer}");
            let result = mcp.result(&tool, input).await;
            let told =
                result["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
            assert!(told.contains(&note), "{tool}: {result}");
            answered += 1;
        }
    }
    assert!(answered > 12, "{answered}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_note_names_few_members_and_repeats_no_text_of_the_client() {
    let (_, anna) = TestApp::with_user().await;
    let told = "Ignored, since this tool has no such field: ";
    for (input, note) in [
        (json!({}), Value::Null),
        (json!({ "time": { "zone": "UTC" } }), json!(format!("{told}time.zone."))),
        (json!({ "Say: buy\n": 1 }), json!(format!("{told}1 in all."))),
        (json!({ "a": 1, "x".repeat(41): 1, "<b>": 1 }), json!(format!("{told}a and 2 more."))),
        (
            json!({ "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1 }),
            json!(format!("{told}a, b, c, d, e and 1 more.")),
        ),
        // A name that is nearly one of the tool's is none.
        (json!({ "Query": "tea" }), json!(format!("{told}Query."))),
    ] {
        assert_eq!(anna.call("memory_search", input.clone()).await["note"], note, "{input}");
    }
    let both = json!({ "query": "nothing of the kind", "x": 1 });
    let note = anna.call("memory_search", both).await["note"].clone();
    assert_eq!(note, format!("probably not in memory. {told}x."));
}

/// Forms of a good value that are none of the schema's, and one that nothing can be made of.
fn forms(schema: &Value) -> (Vec<Value>, Value) {
    let null = json!({ "type": "null" });
    let schema =
        schema["anyOf"].as_array().and_then(|of| of.iter().find(|s| **s != null)).unwrap_or(schema);
    let kind = schema["type"].as_array().map_or(&schema["type"], |kinds| &kinds[0]);
    let choice = |schema: &Value| schema["enum"][0].as_str().map(str::to_uppercase);
    match (kind.as_str().unwrap(), choice(schema)) {
        ("string", Some(choice)) => (vec![json!(choice), json!(format!(" {choice} "))], json!({})),
        ("string", None) if schema["properties"].is_object() => (vec![json!(5)], json!([])),
        ("string", None) => (vec![json!(5)], json!({})),
        ("integer", _) => (vec![json!("1"), json!("#1"), json!("1.0"), json!(1.0)], json!("one")),
        ("number", _) => (vec![json!("0.5"), json!("1")], json!("half")),
        ("boolean", _) => {
            (vec![json!("True"), json!("false"), json!("1"), json!(0)], json!("yes, please"))
        }
        ("object", _) => (vec![json!("{}")], json!("2019")),
        ("array", _) => match choice(&schema["items"]) {
            Some(choice) => (vec![json!(choice), json!(format!("[\"{choice}\"]"))], json!({})),
            None => (vec![json!("1"), json!(1), json!("[1]"), json!("[\"1\"]")], json!({})),
        },
        (kind, _) => panic!("no forms of {kind}"),
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn each_field_of_each_tool_takes_what_models_write_and_names_what_it_does_not() {
    let (app, anna) = TestApp::with_user().await;
    for (tool, schema, input) in tools(app, &anna).await {
        for (field, of) in schema["properties"].as_object().unwrap() {
            let with = |value: &Value| {
                let mut input = input.clone();
                input[field] = value.clone();
                input
            };
            let (good, bad) = forms(of);
            let is_required =
                schema["required"].as_array().is_some_and(|all| all.contains(&json!(field)));
            // In place of a value that is left out.
            let empty = (!is_required).then_some([Value::Null, json!("")]);
            for value in good.iter().chain(empty.iter().flatten()) {
                let response = anna.send(&tool, &with(value)).await;
                if response.status().is_client_error() {
                    let (status, problem) = problem(response).await;
                    let code = problem["code"].as_str().unwrap();
                    assert!(
                        status != 400 && code != "invalid_type",
                        "{tool} {field} {value}: {problem}"
                    );
                }
            }
            let (status, problem) = anna.refused(&tool, with(&bad)).await;
            assert_eq!(
                (status, &problem["code"]),
                (422, &json!("invalid_type")),
                "{tool} {field} {bad}"
            );
            assert_eq!(problem["field"], **field, "{tool} {bad}: {problem}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(" must be ") && detail.ends_with(" came."), "{detail}");
        }
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_message_is_answered_under_the_id_that_it_came_with() {
    let (app, anna) = TestApp::with_user().await;
    for path in ["/mcp", "/mcp/"] {
        for (id, rest) in MESSAGES {
            let body = format!("\u{feff}{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}");
            for (accept, content_type) in [
                (None, None),
                (Some("*/*"), Some("text/plain")),
                (Some("text/html"), Some("application/json")),
            ] {
                let mut request = reqwest::Client::new().post(format!("{}{path}", app.base));
                for (name, value) in [(ACCEPT, accept), (CONTENT_TYPE, content_type)] {
                    request = value
                        .into_iter()
                        .fold(request, |request, value| request.header(&name, value));
                }
                let response =
                    request.bearer_auth(&anna.token).body(body.clone()).send().await.unwrap();
                assert_eq!(
                    (response.status(), &response.headers()["content-type"]),
                    (200.try_into().unwrap(), &"application/json".parse().unwrap()),
                    "{body}"
                );
                let text = response.text().await.unwrap();
                assert!(
                    text.contains(&format!("\"id\":{id}")) && text.contains("\"result\":{"),
                    "{body}: {text}"
                );
                assert!(!text.contains("\"isError\":true"), "{body}: {text}");
            }
        }
    }
}
