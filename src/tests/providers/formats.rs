//! Each wire format as its makers document it: what is sent, what is understood.

use keepsake::providers::{
    Embedder, Endpoint, NotEmbeddings, ProviderError, ProviderType, Unreachable,
};
use serde_json::{Value, json};
use wiremock::matchers::{body_json, body_partial_json, header, method, path, query_param};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::{DEADLINE, embedder, endpoint, texts};

fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn openai_answer() -> Value {
    json!({
        "object": "list",
        "data": [
            {"object": "embedding", "index": 1, "embedding": [0.0, 1.0]},
            {"object": "embedding", "index": 0, "embedding": [1.0, 0.0]},
        ],
        "model": "small",
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    })
}

/// A server of this alone.
async fn serving(mock: Mock) -> MockServer {
    let server = MockServer::start().await;
    mock.mount(&server).await;
    server
}

async fn two(
    embedder: &Embedder,
    provider_type: ProviderType,
    url: &str,
) -> Result<Vec<Vec<f32>>, ProviderError> {
    let two = texts(&["one", "two"]);
    let endpoint = endpoint(provider_type, url);
    let answer = embedder.embed(&endpoint, &two, DEADLINE).await?;
    assert_eq!(answer.truncated, [false, false]);
    Ok(answer.vectors)
}

#[tokio::test]
async fn openai_gets_its_documented_form_and_the_key() {
    let asked = json!({ "model": "small", "input": ["one", "two"], "encoding_format": "float" });
    let mock = Mock::given(method("POST"))
        .and(path("/v1/embeddings"))
        .and(header("authorization", "Bearer sesame"))
        .and(header("content-type", "application/json"))
        .and(body_json(asked))
        .respond_with(ok(openai_answer()))
        .expect(3);
    let server = serving(mock).await;
    for (provider_type, suffix) in [
        (ProviderType::Openai, "/v1"),
        (ProviderType::Openai, "/v1/embeddings"),
        (ProviderType::Llamacpp, ""),
    ] {
        let url = format!("{}{suffix}", server.uri());
        let vectors = two(&embedder(), provider_type, &url).await.unwrap();
        assert_eq!(vectors, [[1.0, 0.0], [0.0, 1.0]]);
    }
}

#[tokio::test]
async fn dimensions_are_sent_where_they_are_set_and_a_query_string_is_kept() {
    let mock = Mock::given(path("/x/v1/embeddings"))
        .and(query_param("api-version", "7"))
        .and(body_partial_json(json!({"dimensions": 2})))
        .respond_with(ok(openai_answer()))
        .expect(1);
    let server = serving(mock).await;
    let url = format!("{}/x?api-version=7", server.uri());
    let endpoint = Endpoint { dimensions: Some(2), ..endpoint(ProviderType::Openai, &url) };
    let two = texts(&["one", "two"]);
    assert!(embedder().embed(&endpoint, &two, DEADLINE).await.is_ok());
}

#[tokio::test]
async fn ollama_gets_its_documented_form() {
    let asked = json!({ "model": "small", "input": ["one", "two"], "truncate": false });
    let answer = json!({
        "model": "small",
        "embeddings": [[0.6, 0.8], [0.0, 1.0]],
        "total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": 8,
    });
    let mock = Mock::given(method("POST")).and(path("/api/embed")).and(body_json(asked));
    let server = serving(mock.respond_with(ok(answer)).expect(3)).await;
    for suffix in ["", "/", "/api/embed"] {
        let url = format!("{}{suffix}", server.uri());
        let vectors = two(&embedder(), ProviderType::Ollama, &url).await.unwrap();
        assert_eq!(vectors, [[0.6, 0.8], [0.0, 1.0]]);
    }
}

#[tokio::test]
async fn ollama_not_knowing_a_model_is_told_apart() {
    let words = json!({"error": "model \"small\" not found, try pulling it first"});
    let not_found = ResponseTemplate::new(404).set_body_json(words);
    let server = serving(Mock::given(path("/api/embed")).respond_with(not_found)).await;
    let answer = two(&embedder(), ProviderType::Ollama, &server.uri()).await;
    assert_eq!(answer.unwrap_err(), ProviderError::UnknownModel);
}

#[tokio::test]
async fn a_single_text_that_is_too_long_is_cut_and_reported_as_such() {
    // What is not to be cut is refused by Ollama (400) and TEI (413).
    let ollama = json!({"error": "the input length exceeds the context length"});
    let ollama = ResponseTemplate::new(400).set_body_json(ollama);
    let tei = json!({
        "error": "Input validation error: `inputs` must have less than 512 tokens. Given: 600",
        "error_type": "Validation",
    });
    let tei = ResponseTemplate::new(413).set_body_json(tei);
    for (provider_type, at, refusal, answer) in [
        (ProviderType::Ollama, "/api/embed", ollama, json!({"embeddings": [[1.0, 0.0]]})),
        (ProviderType::CustomHttp, "/embed", tei, json!([[1.0, 0.0]])),
    ] {
        let given = |is_cut: bool| {
            Mock::given(path(at)).and(body_partial_json(json!({ "truncate": is_cut })))
        };
        let server = serving(given(false).respond_with(refusal)).await;
        given(true).respond_with(ok(answer)).mount(&server).await;
        let endpoint = endpoint(provider_type, &server.uri());
        let embedder = embedder();
        let one = embedder.embed(&endpoint, &texts(&["long"]), DEADLINE).await;
        assert_eq!(one.unwrap().truncated, [true]);
        // Of several, which one is not known: the caller halves.
        let two = texts(&["long", "short"]);
        let two = embedder.embed(&endpoint, &two, DEADLINE).await;
        assert_eq!(two.unwrap_err(), ProviderError::TooLong);
    }
}

#[tokio::test]
async fn a_custom_endpoint_that_speaks_tei_llama_cpp_or_openai_is_understood_and_remembered() {
    let of_tei = json!({ "inputs": ["one", "two"], "normalize": true, "truncate": false });
    let of_llama_cpp = json!([
        {"index": 0, "embedding": [[1.0, 0.0]]},
        {"index": 1, "embedding": [[0.0, 1.0]]},
    ]);
    // As some gateways answer, whatever `encoding_format` was asked for.
    let in_base64 = json!({ "data": [
        {"index": 0, "embedding": "AACAPwAAAAA="},
        {"index": 1, "embedding": "AAAAAAAAgD8="},
    ] });
    for (at, asked, answer) in [
        ("/embed", Some(of_tei), json!([[1.0, 0.0], [0.0, 1.0]])),
        ("/embedding", Some(json!({"content": ["one", "two"]})), of_llama_cpp),
        ("/v1/embeddings", None, openai_answer()),
        ("/v1/embeddings", None, in_base64),
    ] {
        let is_asked = move |request: &Request| {
            asked.is_none() || serde_json::from_slice::<Value>(&request.body).ok() == asked
        };
        let mock = Mock::given(method("POST"))
            .and(path(at))
            .and(header("authorization", "Bearer sesame"))
            .and(is_asked);
        understood_and_remembered(&serving(mock.respond_with(ok(answer))).await, at).await;
    }
}

/// By the bare address and by the whole one; the second call asks nothing else.
async fn understood_and_remembered(server: &MockServer, at: &str) {
    for url in [server.uri(), format!("{}{at}", server.uri())] {
        let embedder = embedder();
        let first = two(&embedder, ProviderType::CustomHttp, &url).await;
        assert_eq!(first.unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
        let asked = server.received_requests().await.unwrap().len();
        let second = two(&embedder, ProviderType::CustomHttp, &url).await;
        assert_eq!(second.unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
        let requests = server.received_requests().await.unwrap();
        assert_eq!(requests.len(), asked + 1);
        assert_eq!(requests.last().unwrap().url.path(), at);
    }
}

#[tokio::test]
async fn a_custom_endpoint_that_changes_its_form_is_found_again() {
    let answer = ok(json!([[1.0, 0.0], [0.0, 1.0]]));
    let server = serving(Mock::given(path("/embed")).respond_with(answer)).await;
    let embedder = embedder();
    let url = server.uri();
    let ask = || two(&embedder, ProviderType::CustomHttp, &url);
    assert!(ask().await.is_ok());
    server.reset().await;
    Mock::given(path("/v1/embeddings")).respond_with(ok(openai_answer())).mount(&server).await;
    assert!(ask().await.is_ok());
}

#[tokio::test]
async fn no_known_form_is_no_embeddings_endpoint_and_what_every_form_would_meet_ends_the_trial() {
    let what = ResponseTemplate::new(422).set_body_json(json!({"detail": "what?"}));
    let server = serving(Mock::given(method("POST")).respond_with(what)).await;
    let error = two(&embedder(), ProviderType::CustomHttp, &server.uri()).await.unwrap_err();
    assert_eq!(error, ProviderError::NotEmbeddings(NotEmbeddings::Shape));
    assert!(!error.is_about_the_input());

    let refusing = Mock::given(method("POST")).respond_with(ResponseTemplate::new(401));
    let server = serving(refusing.expect(1)).await;
    for (url, expected) in [
        (server.uri(), ProviderError::KeyRejected),
        ("http://127.0.0.1:1".to_owned(), ProviderError::Refused(Unreachable::NoConnection)),
    ] {
        let error = two(&embedder(), ProviderType::CustomHttp, &url).await.unwrap_err();
        assert_eq!(error, expected, "{url}");
    }
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let mock = Mock::given(|request: &Request| !request.headers.contains_key("authorization"));
    let server = serving(mock.respond_with(ok(openai_answer())).expect(1)).await;
    let endpoint = Endpoint { key: None, ..endpoint(ProviderType::Openai, &server.uri()) };
    let two = texts(&["one", "two"]);
    assert!(embedder().embed(&endpoint, &two, DEADLINE).await.is_ok());
}
