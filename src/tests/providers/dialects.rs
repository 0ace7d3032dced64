//! Endpoints that differ from the API they speak: where they serve it, what they refuse, where their answer
//! stands. Each refusal is learned, and the next request is in the learned form.

use std::sync::Arc;

use keepsake::providers::chat::ChatModel;
use keepsake::providers::{Embedder, Endpoint, NotChat, ProviderError, ProviderType, SystemNames};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::chat::{ask, model};
use super::{DEADLINE, embedder, endpoint, texts};
use crate::support::{TestApp, refused, said};

const CITY: &str = "{\"city\":\"Paris\"}";

async fn serving(
    answer: impl Fn(&str, &Value) -> ResponseTemplate + Send + Sync + 'static,
) -> MockServer {
    let server = MockServer::start().await;
    let respond = move |request: &Request| {
        let body = serde_json::from_slice(&request.body).unwrap_or_default();
        answer(request.url.path(), &body)
    };
    Mock::given(any()).respond_with(respond).mount(&server).await;
    server
}

/// Only at this path, and nothing elsewhere.
async fn serving_at(path: &'static str, answer: fn() -> ResponseTemplate) -> MockServer {
    serving(move |asked, _| match asked == path {
        true => answer(),
        false => refused(404, "nothing here"),
    })
    .await
}

async fn paths(server: &MockServer) -> Vec<String> {
    let requests = server.received_requests().await.unwrap();
    requests.iter().map(|request| request.url.path().to_owned()).collect()
}

async fn last(server: &MockServer) -> (Request, Value) {
    let request = server.received_requests().await.unwrap().pop().unwrap();
    let body = serde_json::from_slice(&request.body).unwrap();
    (request, body)
}

fn vectors(body: &Value) -> ResponseTemplate {
    let texts = body["input"].as_array().unwrap().iter();
    let data: Vec<Value> = texts.map(|_| json!({ "embedding": [1.0, 0.0] })).collect();
    ResponseTemplate::new(200).set_body_json(json!({ "data": data }))
}

async fn embed(embedder: &Embedder, at: &Endpoint) -> Result<(), ProviderError> {
    embedder.embed(at, &texts(&["one"]), DEADLINE).await.map(drop)
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "city": {} }, "required": ["city"] })
}

#[tokio::test]
async fn an_address_with_a_version_stands_as_it_is() {
    for (given, base) in [
        ("", "/v1"),
        ("/", "/v1"),
        ("/v1", "/v1"),
        ("/v1beta/openai", "/v1beta/openai"),
        ("/api/paas/v4", "/api/paas/v4"),
        ("/api/v3/", "/api/v3"),
        ("/v2", "/v2"),
        ("/openai/deployments/D?api-version=7", "/openai/deployments/D"),
    ] {
        let server = serving(|path, body| match path.ends_with("/embeddings") {
            true => vectors(body),
            false => said("Hi."),
        })
        .await;
        let at = endpoint(ProviderType::Openai, &format!("{}{given}", server.uri()));
        embed(&embedder(), &at).await.unwrap();
        ask(&model(), &at, None).await.unwrap();
        let asked = [format!("{base}/embeddings"), format!("{base}/chat/completions")];
        assert_eq!(paths(&server).await, asked, "{given}");
        let query = last(&server).await.0.url.query().map(str::to_owned);
        assert_eq!(query.as_deref(), given.split_once('?').map(|(_, query)| query), "{given}");
    }
}

#[tokio::test]
async fn where_nothing_is_served_the_other_form_is_asked_learned_and_offered() {
    for (given, works) in [("", ""), ("/x", "/x/v1"), ("/v1", ""), ("/x/v1", "/x")] {
        let works_at = format!("{works}/embeddings");
        let server = serving(move |path, body| match path == works_at {
            true => vectors(body),
            false => ResponseTemplate::new(404).set_body_string("<html>no</html>"),
        })
        .await;
        let at = endpoint(ProviderType::Openai, &format!("{}{given}?k=1", server.uri()));
        let (embedder, works_at) = (embedder(), format!("{works}/embeddings"));
        for asked in [2, 3] {
            embed(&embedder, &at).await.unwrap();
            let paths = paths(&server).await;
            assert_eq!((paths.len(), &paths[asked - 1]), (asked, &works_at), "{given}");
        }
        let tested = embedder.test(&at, "", "").await;
        assert!(tested.report.is_ok_and(|report| report.dimensions == 2), "{given}");
        let of = |path: &str| format!("{}{path}", server.uri());
        assert_eq!(tested.works_at, Some(of(&format!("{works_at}?k=1"))), "{given}");
        assert_eq!((tested.asked.len(), &tested.asked[1]), (2, &of(&works_at)), "{given}");
    }
}

#[tokio::test]
async fn chat_is_found_at_the_other_form_and_a_failed_test_names_what_was_asked() {
    for (provider_type, path) in [
        (ProviderType::Openai, "/x/v1/chat/completions"),
        (ProviderType::Anthropic, "/x/v1/messages"),
    ] {
        let server = serving_at(path, || said("Hi.")).await;
        let at = endpoint(provider_type, &format!("{}/x", server.uri()));
        let model = model();
        for asked in [2, 3] {
            ask(&model, &at, None).await.unwrap();
            assert_eq!(paths(&server).await.len(), asked);
        }
        let works_at = model.test(&at).await.works_at;
        assert_eq!(works_at, Some(format!("{}{path}", server.uri())));
        let elsewhere = endpoint(provider_type, &format!("{}/y?secret=1", server.uri()));
        let tested = model.test(&elsewhere).await;
        assert_eq!(tested.report.unwrap_err(), ProviderError::NotChat(NotChat::NothingThere));
        assert_eq!((tested.asked.len(), tested.works_at), (2, None));
        assert!(tested.asked.iter().all(|asked| !asked.contains("secret")));
    }
}

#[tokio::test]
async fn a_key_goes_into_the_header_that_is_named() {
    for (provider_type, key_header, name, value) in [
        (ProviderType::Openai, "", "authorization", "Bearer sesame"),
        (ProviderType::Openai, "api-key", "api-key", "sesame"),
        (ProviderType::Anthropic, "", "x-api-key", "sesame"),
        (ProviderType::Anthropic, "api-key", "api-key", "sesame"),
    ] {
        let server = serving(|path, body| match path.ends_with("/embeddings") {
            true => vectors(body),
            false => said("Hi."),
        })
        .await;
        let at = endpoint(provider_type, &server.uri());
        let at = Endpoint { key_header: key_header.to_owned(), ..at };
        ask(&model(), &at, None).await.unwrap();
        if provider_type == ProviderType::Openai {
            embed(&embedder(), &at).await.unwrap();
        }
        for request in server.received_requests().await.unwrap() {
            assert_eq!(request.headers[name], value);
            let others = ["authorization", "api-key", "x-api-key"];
            let sent = others.iter().filter(|name| request.headers.contains_key(**name)).count();
            assert_eq!(sent, 1, "{name}");
        }
    }
}

#[tokio::test]
async fn what_chat_endpoints_refuse_is_left_out_from_then_on() {
    type Refuses = fn(&Value) -> bool;
    let has_system: Refuses = |body| body["messages"][0]["role"] == "system";
    let has_schema: Refuses = |body| !body["response_format"].is_null();
    let cases: [(u16, &str, Refuses); 13] = [
        (400, "Unsupported value: 'temperature'", |body| !body["temperature"].is_null()),
        (422, "temperature: extra inputs are not permitted", |body| !body["temperature"].is_null()),
        (500, "temperature must be 1", |body| !body["temperature"].is_null()),
        (400, "Use 'max_completion_tokens' instead", |body| !body["max_tokens"].is_null()),
        (400, "This response_format type is unavailable now", has_schema),
        (404, "No endpoints found that can handle the parameters: response_format", has_schema),
        (500, "failed to parse grammar", has_schema),
        (501, "not implemented", has_schema),
        (422, "no", has_schema),
        (400, "System role not supported", has_system),
        (500, "Jinja Exception: Conversation roles must alternate user/assistant", has_system),
        (404, "Developer instruction is not enabled for models/gemma", has_system),
        (501, "\"system\" is not implemented", has_system),
    ];
    for (status, message, refuses) in cases {
        let server = serving(move |_, body| match refuses(body) {
            true => refused(status, message),
            false => said(CITY),
        })
        .await;
        let at = endpoint(ProviderType::Openai, &format!("{}/v1/chat/completions", server.uri()));
        let (model, schema) = (model(), schema());
        for requests in [2, 3] {
            let completion = ask(&model, &at, Some(&schema)).await;
            assert_eq!(completion.unwrap().text, CITY, "{status} {message}");
            assert_eq!(paths(&server).await.len(), requests, "{status} {message}");
        }
        let body = last(&server).await.1;
        let told = body["messages"].to_string();
        assert!(told.contains("Be short.") && told.contains("Hello?"), "{status} {message}");
        assert_eq!(model.test(&at).await.learned.len(), 1, "{status} {message}");
    }
}

#[tokio::test]
async fn a_failure_that_names_nothing_is_learned_when_it_happens_twice_in_a_row() {
    let server = serving(|_, body| match body["response_format"].is_null() {
        true => said(CITY),
        false => refused(500, "boom"),
    })
    .await;
    let at = endpoint(ProviderType::Openai, &server.uri());
    let (model, schema) = (model(), schema());
    for requests in [2, 4, 5] {
        ask(&model, &at, Some(&schema)).await.unwrap();
        assert_eq!(paths(&server).await.len(), requests);
    }
}

#[tokio::test]
async fn encoding_format_is_left_out_where_it_is_refused() {
    for (status, message) in [
        (400, "encoding_format is not supported"),
        (404, "unknown parameter encoding_format"),
        (422, "Extra inputs are not permitted"),
        (500, "got an unexpected keyword argument 'encoding_format'"),
        (501, "encoding_format is not implemented"),
    ] {
        let server = serving(move |_, body| match body["encoding_format"].is_null() {
            true => vectors(body),
            false => refused(status, message),
        })
        .await;
        let at = endpoint(ProviderType::Openai, &server.uri());
        let embedder = embedder();
        for requests in [2, 3] {
            embed(&embedder, &at).await.unwrap();
            assert_eq!(paths(&server).await.len(), requests, "{status} {message}");
        }
        assert_eq!(embedder.test(&at, "", "").await.learned, ["no encoding_format"]);
    }
}

#[tokio::test]
async fn thinking_is_switched_off_as_the_endpoint_takes_it() {
    type Refuses = fn(&Value) -> bool;
    let template: Refuses = |body| !body["chat_template_kwargs"].is_null();
    let either: Refuses =
        |body| !body["chat_template_kwargs"].is_null() || !body["reasoning_effort"].is_null();
    for (provider_type, refuses, requests, sent) in [
        (
            ProviderType::Openai,
            (|_| false) as Refuses,
            1,
            json!({ "chat_template_kwargs": { "enable_thinking": false } }),
        ),
        (ProviderType::Openai, template, 2, json!({ "reasoning_effort": "none" })),
        (ProviderType::Openai, either, 3, json!({})),
        (ProviderType::Ollama, |_| false, 1, json!({ "think": false })),
        (ProviderType::Ollama, |body| !body["think"].is_null(), 2, json!({})),
        (ProviderType::Anthropic, |_| false, 1, json!({})),
    ] {
        let server = serving(move |_, body| match refuses(body) {
            true => refused(400, "no such parameter"),
            false => said("Hi."),
        })
        .await;
        let at = endpoint(provider_type, &format!("{}/v1", server.uri()));
        let model = model();
        ask(&model, &at, None).await.unwrap();
        let body = last(&server).await.1;
        assert!(!either(&body) && body["think"].is_null(), "nothing is sent unless it is wanted");
        let at = Endpoint { is_thinking_off: true, ..at };
        for requests in [requests + 1, requests + 2] {
            ask(&model, &at, None).await.unwrap();
            assert_eq!(paths(&server).await.len(), requests, "{sent}");
        }
        let body = last(&server).await.1;
        for (name, value) in sent.as_object().unwrap() {
            assert_eq!(&body[name], value);
        }
        let is_command = sent == json!({}) && provider_type != ProviderType::Anthropic;
        assert_eq!(body["messages"].to_string().contains("Hello? /no_think"), is_command);
    }
}

#[tokio::test]
async fn a_way_that_is_accepted_without_effect_is_followed_by_the_next() {
    let server = serving(|_, body| match body["reasoning_effort"] == "none" {
        true => said("Hi."),
        false => ResponseTemplate::new(200).set_body_json(json!({
            "choices": [{ "message": { "content": "Hi.", "reasoning_content": "Well…" } }],
        })),
    })
    .await;
    let at = endpoint(ProviderType::Openai, &server.uri());
    let at = Endpoint { is_thinking_off: true, ..at };
    let model = model();
    for is_known in [false, true, true] {
        ask(&model, &at, None).await.unwrap();
        let body = last(&server).await.1;
        assert_eq!(body["reasoning_effort"] == "none", is_known);
    }
}

#[tokio::test]
async fn an_answer_stands_anywhere_and_a_reasoning_alone_is_none() {
    for (body, expected) in [
        (json!({ "choices": [{ "text": CITY }] }), Ok(CITY)),
        (
            json!({ "choices": [{ "message": { "content": null, "tool_calls": [{ "function": { "arguments": CITY } }] } }] }),
            Ok(CITY),
        ),
        (
            json!({ "choices": [{ "message": { "content": "", "reasoning_content": format!("So: {CITY}") } }] }),
            Ok(CITY),
        ),
        (
            json!({ "choices": [{ "message": { "content": null, "parsed": { "city": "Paris" } } }] }),
            Ok(CITY),
        ),
        (
            json!({ "content": [{ "type": "text", "text": CITY }], "stop_reason": "end_turn" }),
            Ok(CITY),
        ),
        (json!({ "candidates": [{ "content": { "parts": [{ "text": CITY }] } }] }), Ok(CITY)),
        (
            json!({ "output": [{ "type": "message", "content": [{ "type": "output_text", "text": CITY }] }] }),
            Ok(CITY),
        ),
        (
            json!({ "choices": [{ "message": { "content": null, "reasoning": "Paris?" } }] }),
            Err(ProviderError::NoAnswer),
        ),
        (
            json!({ "choices": [{ "message": { "content": null, "reasoning": "…" }, "finish_reason": "length" }] }),
            Ok(""),
        ),
    ] {
        let told = body.clone();
        let server =
            serving(move |_, _| ResponseTemplate::new(200).set_body_json(body.clone())).await;
        for provider_type in [ProviderType::Openai, ProviderType::Ollama, ProviderType::Anthropic] {
            let at = endpoint(provider_type, &server.uri());
            let answer = ask(&model(), &at, Some(&schema())).await;
            let text = answer.map(|completion| completion.text);
            assert_eq!(text.as_deref(), expected.as_ref().map(|text| *text), "{told}");
            let shown = text.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!shown.contains("not a chat endpoint"), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_was_not_asked_for_is_read() {
    let openai = concat!(
        ": hello\n\n",
        "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"{\\\"city\\\":\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"Paris\\\"}\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n",
        "data: [DONE]\n\n",
    );
    let tools = concat!(
        "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":\"{\\\"city\\\":\"}}]}}]}\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"Paris\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n",
    );
    let ollama = concat!(
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"{\\\"city\\\":\"},\"done\":false}\n",
        "{\"model\":\"m\",\"message\":{\"content\":\"\\\"Paris\\\"}\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":7,\"eval_count\":3}\n",
    );
    let anthropic = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"France…\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"city\\\":\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"Paris\\\"}\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );
    for (stream, content_type) in [
        (openai, "text/event-stream"),
        (tools, "text/event-stream; charset=utf-8"),
        (ollama, "application/x-ndjson"),
        (ollama, "application/json"),
        (anthropic, "text/event-stream"),
    ] {
        let server =
            serving(move |_, _| ResponseTemplate::new(200).set_body_raw(stream, content_type))
                .await;
        let at = endpoint(ProviderType::Openai, &server.uri());
        let completion = ask(&model(), &at, Some(&schema())).await.unwrap();
        assert_eq!(completion.text, CITY, "{stream}");
        assert_eq!((completion.tokens_in, completion.tokens_out), (7, 3), "{stream}");
        assert_eq!(completion.model.as_deref(), Some("m"), "{stream}");
    }
    let half = openai.split_once("\"finish_reason\"").unwrap().0.to_owned();
    let server = serving(move |_, _| {
        ResponseTemplate::new(200).set_body_raw(half.clone(), "text/event-stream")
    })
    .await;
    let at = endpoint(ProviderType::Openai, &server.uri());
    let error = ask(&model(), &at, None).await.unwrap_err();
    assert_eq!(error, ProviderError::NotChat(NotChat::HalfABody));
}

#[tokio::test]
async fn anthropics_form_is_spoken_as_it_is_written() {
    let server = serving(|_, _| {
        ResponseTemplate::new(200).set_body_json(json!({
            "model": "claude", "stop_reason": "tool_use",
            "content": [{ "type": "tool_use", "name": "answer", "input": { "city": "Paris" } }],
            "usage": { "input_tokens": 7, "output_tokens": 3 },
        }))
    })
    .await;
    let at = endpoint(ProviderType::Anthropic, &server.uri());
    let schema = schema();
    let completion = ask(&model(), &at, Some(&schema)).await.unwrap();
    assert_eq!(completion.text, CITY);
    assert_eq!((completion.tokens_in, completion.tokens_out), (7, 3));
    assert!(completion.has_schema && !completion.is_cut_off);
    let (request, mut body) = last(&server).await;
    assert_eq!(request.url.path(), "/v1/messages");
    assert_eq!(request.headers["anthropic-version"], "2023-06-01");
    body["temperature"] = json!(0.2);
    let expected = json!({
        "model": "small",
        "max_tokens": 100,
        "system": "Be short.",
        "messages": [{ "role": "user", "content": "Hello?" }],
        "temperature": 0.2,
        "tools": [{ "name": "answer", "input_schema": schema }],
        "tool_choice": { "type": "tool", "name": "answer" },
    });
    assert_eq!(body, expected);
}

/// A server's, with all that it has learned in the database.
fn after_a_start(app: &TestApp) -> (Embedder, ChatModel) {
    let embedder = Embedder::new(None, Arc::new(SystemNames), app.clock.clone());
    embedder.keep_in(app.db.clone());
    let model = embedder.chat_model();
    (embedder, model)
}

#[tokio::test]
async fn what_was_learned_outlives_the_server_for_thirty_days_and_a_test_forgets_it() {
    let app = TestApp::start().await;
    let server = serving(|path, body| match path {
        "/embeddings" => vectors(body),
        "/chat/completions" if body["temperature"].is_null() => said(CITY),
        "/chat/completions" => refused(400, "no temperature"),
        _ => refused(404, "nothing here"),
    })
    .await;
    let at = endpoint(ProviderType::Openai, &server.uri());
    let mut requests = 0;
    for (new, days) in [(5, 0), (2, 0), (2, 29), (5, 2)] {
        app.clock.advance(time::Duration::days(days));
        let (embedder, model) = after_a_start(&app);
        embed(&embedder, &at).await.unwrap();
        ask(&model, &at, None).await.unwrap();
        requests += new;
        assert_eq!(paths(&server).await.len(), requests, "after {days} days");
    }
    // Neither address nor model is kept, and a key least of all.
    let kept: String =
        app.sql("SELECT string_agg(d::text, '') FROM endpoint_dialects d").value().await;
    assert!(kept.contains("no_temperature") && !kept.contains("127.0.0.1"));
    assert!(!kept.contains("small") && !kept.contains("sesame"));
    // Of a hostile user's endpoints, as many as there is room for.
    app.sql("INSERT INTO endpoint_dialects SELECT sha256(n::text::bytea), '{}', $1 - n * interval '1 minute' FROM generate_series(1, 10_050) n")
        .bind(app.embeddings.now())
        .run()
        .await;
    server.reset().await;
    Mock::given(any()).respond_with(said(CITY)).mount(&server).await;
    let (_, model) = after_a_start(&app);
    let tested = model.test(&at).await;
    assert!(tested.report.is_ok() && tested.learned.is_empty());
    let kept = app.count("endpoint_dialects").await;
    assert!(kept < 10_000, "{kept}");
    let (_, model) = after_a_start(&app);
    ask(&model, &at, None).await.unwrap();
    assert_eq!(paths(&server).await, ["/v1/chat/completions"; 2]);
}
