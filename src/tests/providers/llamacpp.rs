//! A real llama.cpp server: `tools/fetch_llamacpp.py` fetches it, and without it
//! these tests fail. It is started once and ends with the test binary, whose end
//! closes its standard input.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use keepsake::providers::chat::{ChatMessage, ChatRequest};
use keepsake::providers::{ApiKey, Endpoint, ProviderError, ProviderType};

use serde_json::{Value, json};

use super::{DEADLINE, chat, embedder, endpoint, texts};
use crate::support::PATIENCE;

/// Some two tokens a second, beside other tests.
const CHAT_DEADLINE: Duration = Duration::from_secs(600);

type Server = OnceLock<(Mutex<Child>, String)>;

/// Where it listens, for embeddings. The child is kept: dropping its input would end it.
fn server() -> &'static str {
    static SERVER: Server = OnceLock::new();
    start(&SERVER, &[])
}

/// The same for chat, with room for a question of some length.
pub fn chat_server() -> &'static str {
    static SERVER: Server = OnceLock::new();
    start(&SERVER, &["--chat"])
}

fn start(server: &'static Server, more: &[&str]) -> &'static str {
    let (_, address) = server.get_or_init(|| {
        let mut child = Command::new("python3")
            .args(["tools/llamacpp_server.py", "--api-key", "sesame"])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3");
        let mut address = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut address).unwrap();
        assert!(
            address.starts_with("http://"),
            "llama.cpp did not start: run python3 tools/fetch_llamacpp.py"
        );
        (Mutex::new(child), address.trim().to_owned())
    });
    address
}

fn real(provider_type: ProviderType, suffix: &str) -> Endpoint {
    endpoint(provider_type, &format!("{}{suffix}", server()))
}

#[tokio::test]
async fn it_embeds_by_every_form_that_it_speaks_and_all_agree() {
    let two = texts(&["The heron crosses the river.", "Invoices are due on Friday."]);
    let mut answers = Vec::new();
    for (provider_type, suffix) in [
        (ProviderType::Llamacpp, ""),
        (ProviderType::Openai, "/v1"),
        (ProviderType::CustomHttp, ""),
        (ProviderType::CustomHttp, "/embedding"),
        (ProviderType::CustomHttp, "/embeddings"),
    ] {
        let endpoint = real(provider_type, suffix);
        let answer = embedder().embed(&endpoint, &two, DEADLINE).await;
        let vectors = answer.unwrap_or_else(|e| panic!("{provider_type} {suffix}: {e}"));
        answers.push(vectors.vectors);
    }
    for vectors in &answers {
        assert_eq!((vectors.len(), vectors[0].len()), (2, 576));
        for (one, other) in vectors.iter().flatten().zip(answers[0].iter().flatten()) {
            assert!((one - other).abs() < 1e-3);
        }
    }
}

#[tokio::test]
async fn a_wrong_key_and_none_are_rejected() {
    for key in [Some(ApiKey::new("wrong")), None] {
        let endpoint = Endpoint { key, ..real(ProviderType::Llamacpp, "") };
        let answer = embedder().embed(&endpoint, &texts(&["one"]), DEADLINE).await;
        assert_eq!(answer.unwrap_err(), ProviderError::KeyRejected);
    }
}

#[tokio::test]
async fn input_that_is_too_long_is_about_the_input_by_every_form() {
    let long = texts(&["short", &"heron ".repeat(900)]);
    for (provider_type, suffix) in [
        (ProviderType::Llamacpp, ""),
        (ProviderType::Openai, ""),
        (ProviderType::CustomHttp, "/embedding"),
    ] {
        let endpoint = real(provider_type, suffix);
        let error = embedder().embed(&endpoint, &long, DEADLINE).await.unwrap_err();
        assert_eq!(error, ProviderError::TooLong, "{provider_type} {suffix}");
        assert!(error.is_about_the_input());
    }
    let empty = real(ProviderType::Llamacpp, "");
    let error = embedder().embed(&empty, &texts(&[""]), DEADLINE).await;
    assert_eq!(error.unwrap_err(), ProviderError::BadInput);
}

#[tokio::test]
async fn a_test_says_what_it_is_and_that_dimensions_are_ignored() {
    let endpoint = Endpoint { dimensions: Some(64), ..real(ProviderType::Llamacpp, "") };
    let began = Instant::now();
    // A busy machine may not answer within a test's 30 s.
    let report = loop {
        match embedder().test(&endpoint, "", "").await.report {
            Err(ProviderError::TimedOut) if began.elapsed() < PATIENCE => {}
            tested => break tested.unwrap(),
        }
    };
    assert_eq!(report.dimensions, 576);
    assert_eq!(report.requested_dimensions_honoured, Some(false));
    assert!((report.norm - 1.0).abs() < 1e-2);
    assert!(report.order_kept);
    let model = report.model_found.unwrap();
    assert_eq!(model, "SmolLM2-135M-Instruct.Q4_1.gguf");
}

#[tokio::test]
async fn it_answers_in_json_by_the_schema_that_it_is_given() {
    let at = endpoint(ProviderType::Llamacpp, chat_server());
    let schema = json!({
        "type": "object",
        "properties": { "likes_tea": { "type": "boolean" } },
        "required": ["likes_tea"],
        "additionalProperties": false
    });
    let messages = [
        ChatMessage::system("Answer in JSON."),
        ChatMessage::user("I drink tea every morning. Do I like tea?"),
    ];
    let request = ChatRequest {
        max_tokens: 24,
        temperature: 0.0,
        deadline: CHAT_DEADLINE,
        ..chat::request(&messages, Some(&schema))
    };
    let completion = chat::model().complete(&at, &request).await.unwrap();
    assert!(completion.has_schema && !completion.is_cut_off, "{completion:?}");
    let said: Value = serde_json::from_str(&completion.text).unwrap();
    assert!(said["likes_tea"].is_boolean(), "{said}");
    assert!(completion.tokens_in > 10 && completion.tokens_out >= 5);
    assert!(!completion.are_tokens_estimated);
    let model = completion.model.unwrap();
    assert!(!model.contains('/'), "{model}");
}
