//! Chat models by each wire format: what they are asked, what their answers are read
//! as, and their failures told apart.

use std::time::Duration;

use keepsake::providers::chat::{
    ChatMessage, ChatModel, ChatPurpose, ChatRequest, ChatRole, Completion,
};
use keepsake::providers::{Endpoint, NotChat, ProviderError, ProviderType, Unreachable};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{DEADLINE, answering, embedder, endpoint, http, raw_server};
use crate::support::{ChatServer, refused, said};

pub fn model() -> ChatModel {
    embedder().chat_model()
}

fn messages() -> [ChatMessage; 2] {
    [ChatMessage::system("Be short."), ChatMessage::user("Hello?")]
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "facts": { "type": "array" } } })
}

pub async fn ask(
    model: &ChatModel,
    endpoint: &Endpoint,
    schema: Option<&Value>,
) -> Result<Completion, ProviderError> {
    model.complete(endpoint, &request(&messages(), schema)).await
}

pub fn request<'a>(messages: &'a [ChatMessage], schema: Option<&'a Value>) -> ChatRequest<'a> {
    ChatRequest {
        purpose: ChatPurpose::Facts,
        messages,
        schema,
        max_tokens: 100,
        temperature: 0.2,
        deadline: DEADLINE,
    }
}

#[tokio::test]
async fn openais_form_is_spoken_as_it_is_written() {
    let server = ChatServer::saying("Hi.").await;
    let schema = schema();
    let at = endpoint(ProviderType::Openai, &format!("{}/v1", server.url()));
    let completion = ask(&model(), &at, Some(&schema)).await.unwrap();
    assert_eq!(completion.text, "Hi.");
    assert_eq!((completion.tokens_in, completion.tokens_out), (40, 10));
    assert!(!completion.are_tokens_estimated && !completion.is_cut_off && completion.has_schema);
    assert_eq!(completion.model.as_deref(), Some("scripted-1"));
    let asked = &server.asked()[0];
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.authorization.as_deref(), Some("Bearer sesame"));
    let expected = json!({
        "model": "small",
        "messages": [
            { "role": "system", "content": "Be short." },
            { "role": "user", "content": "Hello?" },
        ],
        "stream": false,
        "max_tokens": 100,
        "temperature": 0.2,
        "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "answer", "strict": true, "schema": schema },
        },
    });
    let mut body = asked.body.clone();
    // A number of 32 bits.
    assert!((body["temperature"].as_f64().unwrap() - 0.2).abs() < 1e-6);
    body["temperature"] = json!(0.2);
    assert_eq!(body, expected);
}

#[tokio::test]
async fn ollamas_form_is_spoken_as_it_is_written() {
    let server = ChatServer::answering(|_, _| {
        ResponseTemplate::new(200).set_body_json(json!({
            "model": "small:latest", "message": { "role": "assistant", "content": "{\"facts\":[]}" },
            "done": true, "done_reason": "length", "prompt_eval_count": 21, "eval_count": 100,
        }))
    })
    .await;
    let schema = schema();
    let at = endpoint(ProviderType::Ollama, &server.url());
    let completion = ask(&model(), &at, Some(&schema)).await.unwrap();
    assert_eq!(completion.text, "{\"facts\":[]}");
    assert_eq!((completion.tokens_in, completion.tokens_out), (21, 100));
    assert!(completion.is_cut_off && completion.has_schema);
    let asked = &server.asked()[0];
    assert_eq!(asked.path, "/api/chat");
    assert_eq!(asked.body["stream"], false);
    assert_eq!(asked.body["format"], schema);
    assert_eq!(asked.body["options"]["num_predict"], 100);
    // Left to itself it would drop what came first, without a word.
    assert_eq!(asked.body["options"]["num_ctx"], 4_096);
    assert_eq!(asked.body["messages"][1]["content"], "Hello?");
}

#[tokio::test]
async fn a_server_that_refuses_the_schema_is_asked_without_and_that_is_remembered() {
    for provider_type in [ProviderType::Openai, ProviderType::Ollama] {
        let server = ChatServer::answering(|body, _| {
            if !body["response_format"].is_null() || !body["format"].is_null() {
                return refused(400, "response_format is not supported");
            }
            match body["options"].is_null() {
                true => said("prose"),
                false => ResponseTemplate::new(200)
                    .set_body_json(json!({ "message": { "content": "prose" } })),
            }
        })
        .await;
        let (model, schema) = (model(), schema());
        let mut at = endpoint(provider_type, &server.url());
        for calls in [2, 3, 4] {
            let completion = ask(&model, &at, Some(&schema)).await.unwrap();
            assert!(!completion.has_schema && completion.text == "prose");
            assert_eq!(server.asked().len(), calls, "{provider_type}");
        }
        // Another model of the same server may know better.
        at.model = "large".into();
        ask(&model, &at, Some(&schema)).await.unwrap();
        assert_eq!(server.asked().len(), 6);
    }
}

#[tokio::test]
async fn newer_models_are_asked_in_their_own_words() {
    let server = ChatServer::answering(|body, _| {
        if !body["max_tokens"].is_null() {
            return refused(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.");
        }
        if !body["temperature"].is_null() {
            return refused(400, "Unsupported value: 'temperature' does not support 0.2 with this model.");
        }
        said("Hi.")
    })
    .await;
    let (model, schema) = (model(), schema());
    let at = endpoint(ProviderType::Openai, &server.url());
    for calls in [3, 4] {
        let completion = ask(&model, &at, Some(&schema)).await.unwrap();
        assert!(completion.has_schema, "the schema was never the trouble");
        assert_eq!(server.asked().len(), calls);
    }
    assert_eq!(server.asked()[3].body["max_completion_tokens"], 100);
}

#[tokio::test]
async fn a_refusal_that_is_about_something_else_ends_and_is_not_remembered() {
    let server = ChatServer::answering(|_, before| match before {
        0 | 1 => refused(400, "no"),
        _ => said("Hi."),
    })
    .await;
    let (model, schema) = (model(), schema());
    let at = endpoint(ProviderType::Openai, &server.url());
    let error = ask(&model, &at, Some(&schema)).await.unwrap_err();
    assert_eq!(error, ProviderError::BadInput);
    assert!(ask(&model, &at, Some(&schema)).await.unwrap().has_schema);
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn tokens_are_estimated_where_the_server_does_not_count_and_marked_as_such() {
    let server = ChatServer::answering(|_, _| {
        ResponseTemplate::new(200).set_body_json(
            json!({ "choices": [{ "message": { "content": [{ "type": "text", "text": "12345678" }] } }] }),
        )
    })
    .await;
    let at = endpoint(ProviderType::Llamacpp, &server.url());
    let completion = ask(&model(), &at, None).await.unwrap();
    assert!(completion.are_tokens_estimated && !completion.has_schema);
    // "Be short." and "Hello?", then eight characters.
    assert_eq!((completion.tokens_in, completion.tokens_out), (3 + 2, 2));
    assert_eq!(completion.text, "12345678");
}

#[tokio::test]
async fn failures_are_told_apart_by_every_form() {
    use ProviderError::{KeyRejected, TooLong, UnknownModel};
    let not_chat = ProviderError::NotChat;
    let no_chat_model = not_chat(NotChat::NoChatModel);
    let server_error = |status| ProviderError::Server { status, retry_after: None };
    let cases = [
        (401, "{}", KeyRejected),
        (403, "no", KeyRejected),
        (404, r#"{"error":"model 'small' not found"}"#, UnknownModel),
        (404, "page", not_chat(NotChat::NothingThere)),
        (
            404,
            r#"{"error":{"message":"This is not a chat model and thus not supported in the v1/chat/completions endpoint."}}"#,
            not_chat(NotChat::NoChatModel),
        ),
        (400, r#"{"error":"\"all-minilm\" does not support chat"}"#, no_chat_model),
        (
            501,
            r#"{"error":{"message":"This server does not support chat completions. Start it without `--embeddings`"}}"#,
            not_chat(NotChat::NoChatModel),
        ),
        (400, r#"{"error":"the request exceeds the available context size"}"#, TooLong),
        (429, "{}", ProviderError::RateLimited { retry_after: None }),
        (500, "{}", server_error(500)),
        (307, "", not_chat(NotChat::Redirect)),
        (200, "<html>hello</html>", not_chat(NotChat::Html)),
        (200, r#"{"data":[{"embedding":[1,0]}]}"#, not_chat(NotChat::Shape)),
        (200, r#"{"choices":[{"message":{"content":"half"#, not_chat(NotChat::HalfABody)),
        (200, r#"{"choices":[],"message":{}}"#, not_chat(NotChat::NoText)),
        (200, r#"{"error":{"code":502,"message":"upstream"}}"#, server_error(502)),
        (200, "null", not_chat(NotChat::Shape)),
        (200, "", not_chat(NotChat::HalfABody)),
    ];
    for (status, body, expected) in cases {
        let server = ChatServer::answering(move |_, _| {
            ResponseTemplate::new(status)
                .set_body_raw(body, "application/json")
                .insert_header("location", "http://127.0.0.1:1/")
        })
        .await;
        for provider_type in [ProviderType::Openai, ProviderType::Ollama, ProviderType::Llamacpp] {
            let at = endpoint(provider_type, &server.url());
            let error = ask(&model(), &at, None).await.unwrap_err();
            assert_eq!(error, expected, "{provider_type} {status} {body}");
            assert!(!error.to_string().contains("small"), "{error}");
        }
    }
    let nobody = endpoint(ProviderType::Openai, "http://127.0.0.1:1");
    let error = ask(&model(), &nobody, None).await.unwrap_err();
    assert_eq!(error, ProviderError::Refused(Unreachable::NoConnection));
}

#[tokio::test]
async fn an_answer_larger_than_the_tokens_asked_for_is_not_read_to_its_end() {
    let large = format!("\"{}\"", "x".repeat(5 << 20));
    for bytes in [
        http("200 OK", "", &large),
        // Without a length to be refused by.
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{large}"),
    ] {
        let server = answering(bytes).await;
        let at = endpoint(ProviderType::Openai, &server.url());
        let error = ask(&model(), &at, None).await.unwrap_err();
        assert_eq!(error, ProviderError::NotChat(NotChat::TooLarge));
    }
}

#[tokio::test]
async fn a_silent_model_is_given_up_at_the_deadline() {
    let server = raw_server(|stream| async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        drop(stream);
    })
    .await;
    let messages = messages();
    let deadline = Duration::from_millis(300);
    let request = ChatRequest { deadline, ..request(&messages, None) };
    let at = endpoint(ProviderType::Openai, &server.url());
    let error = model().complete(&at, &request).await.unwrap_err();
    assert_eq!(error, ProviderError::TimedOut);
    assert!(error.may_have_cost());
}

#[tokio::test]
async fn what_is_asked_and_answered_does_not_show_in_what_is_written_of_them() {
    let server = ChatServer::saying("a private answer").await;
    let at = endpoint(ProviderType::Openai, &server.url());
    let completion = ask(&model(), &at, None).await.unwrap();
    let message = ChatMessage { role: ChatRole::Assistant, content: "a private word".into() };
    let shown = format!("{completion:?} {message:?} {at:?}");
    assert!(!shown.contains("private") && !shown.contains("sesame"), "{shown}");
}

#[tokio::test]
async fn a_test_says_whether_json_comes_by_schema() {
    for (text, is_honoured) in [
        ("{\"city\": \"Paris\"}", true),
        ("The capital of France is Paris.", false),
        ("{\"town\": \"Paris\"}", false),
    ] {
        let server = ChatServer::saying(text).await;
        let at = endpoint(ProviderType::Openai, &server.url());
        let report = model().test(&at).await.report.unwrap();
        assert_eq!(report.is_schema_honoured, is_honoured, "{text}");
        assert_eq!((report.tokens_in, report.tokens_out), (40, 10));
        assert_eq!(report.model.as_deref(), Some("scripted-1"));
        let sent = server.asked()[0].body.to_string();
        assert!(sent.contains("capital of France"), "{sent}");
    }
    // What was refused once is asked for again by a test.
    let server = ChatServer::answering(|body, before| match before {
        0 if !body["response_format"].is_null() => refused(400, "no"),
        _ => said("{\"city\": \"Paris\"}"),
    })
    .await;
    let at = endpoint(ProviderType::Openai, &server.url());
    let model = model();
    assert!(!model.test(&at).await.report.unwrap().is_schema_honoured);
    assert!(model.test(&at).await.report.unwrap().is_schema_honoured);
}
