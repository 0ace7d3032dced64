//! What endpoints do on bad days, and what is made of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keepsake::providers::{
    Endpoint, NotEmbeddings, ProviderError, ProviderType, Unreachable, WrongVector,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{DEADLINE, answering, ask, embedder, endpoint, http, json, raw_server, texts};
use crate::support::Provider;

async fn error_of(answer: String) -> ProviderError {
    let server = answering(answer).await;
    ask(&server.url()).await.expect_err("refused")
}

#[tokio::test]
async fn an_endpoint_that_refuses_one_that_hangs_up_and_a_name_of_nothing_are_told_apart() {
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refusing = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let hanging_up = answering("").await;
    for (url, why) in [
        (refusing, Unreachable::NoConnection),
        ("http://nowhere.test".to_owned(), Unreachable::NoSuchHost),
        (hanging_up.url(), Unreachable::HungUp),
    ] {
        let error = ask(&url).await.unwrap_err();
        assert_eq!(error, ProviderError::Refused(why), "{url}");
        assert!(!error.is_about_the_input(), "{url}");
    }
}

#[tokio::test]
async fn an_endpoint_that_hangs_at_once_or_in_the_middle_is_given_up_at_the_deadline() {
    let part = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"data\":";
    for (provider_type, sent) in [(ProviderType::Openai, ""), (ProviderType::Ollama, part)] {
        let server = raw_server(move |mut stream| async move {
            let _ = stream.write_all(sent.as_bytes()).await;
            let _ = stream.read(&mut [0; 1]).await;
        })
        .await;
        let endpoint = endpoint(provider_type, &server.url());
        let deadline = Duration::from_millis(300);
        let answer = embedder().embed(&endpoint, &texts(&["one"]), deadline).await;
        assert_eq!(answer.unwrap_err(), ProviderError::TimedOut, "{sent:?}");
    }
}

#[tokio::test]
async fn a_web_page_is_no_embeddings_endpoint() {
    let page = "<!doctype html><title>Hello</title>";
    for status in ["200 OK", "400 Bad Request"] {
        let error = error_of(http(status, "content-type: text/html\r\n", page)).await;
        assert_eq!(error, ProviderError::NotEmbeddings(NotEmbeddings::Html));
    }
    let error = error_of(http("404 Not Found", "content-type: text/html\r\n", page)).await;
    assert_eq!(error, ProviderError::NotEmbeddings(NotEmbeddings::NothingThere));
}

#[tokio::test]
async fn half_a_body_is_no_answer() {
    let half = r#"{"data":[{"index":0,"embedding":[1.0,"#;
    let length = half.len();
    for answer in [
        format!("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{half}"),
        // A chunk is missing.
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{half}\r\n"),
        json(half),
    ] {
        let error = error_of(answer.clone()).await;
        assert_eq!(error, ProviderError::NotEmbeddings(NotEmbeddings::HalfABody), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_larger_than_the_vectors_asked_for_is_not_read_to_its_end() {
    let too_large = ProviderError::NotEmbeddings(NotEmbeddings::TooLarge);
    // Two texts of at most 1,024 dimensions, and one byte.
    let limit = 2 * 1_024 * 24 + (64 << 10);
    let announced = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", limit + 1);
    assert_eq!(error_of(announced).await, too_large);
    // Unannounced and without an end: only stopping ends this.
    let server = raw_server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n[").await;
        let part = vec![b' '; 1 << 20];
        while stream.write_all(&part).await.is_ok() {}
    })
    .await;
    assert_eq!(ask(&server.url()).await.unwrap_err(), too_large);
}

#[tokio::test]
async fn thirty_one_mebibytes_of_zeros_are_refused_before_they_have_come() {
    for begin in [
        "[",
        "[[",
        r#"{"data":["#,
        r#"{"data":[{"index":0,"embedding":["#,
        r#"{"data":[{"index":0,"embedding":[["#,
        r#"{"embeddings":[["#,
    ] {
        let has_sent_all = Arc::new(AtomicBool::new(false));
        let told = has_sent_all.clone();
        let server = raw_server(move |mut stream| {
            let told = told.clone();
            async move {
                let head = format!("HTTP/1.1 200 OK\r\n\r\n{begin}");
                let _ = stream.write_all(head.as_bytes()).await;
                let zeros = b"0,".repeat(31 << 19);
                told.store(stream.write_all(&zeros).await.is_ok(), Ordering::SeqCst);
            }
        })
        .await;
        let of_text = endpoint(ProviderType::CustomHttp, &server.url());
        let refused = embedder().embed(&of_text, &texts(&["one"]), DEADLINE).await;
        let error = refused.unwrap_err();
        assert_eq!(error, ProviderError::NotEmbeddings(NotEmbeddings::TooLarge), "{begin}");
        assert!(error.to_string().contains("larger than the vectors of these texts"));
        assert!(!has_sent_all.load(Ordering::SeqCst), "{begin}");
    }
}

#[tokio::test]
async fn answers_without_one_vector_of_one_width_a_text_in_a_clear_order_are_refused() {
    let wrong_count = |got| NotEmbeddings::WrongCount { sent: 2, got };
    let indices = |first: &str, second: &str| {
        format!(
            r#"{{"data":[{{"index":{first},"embedding":[1,0]}},{{"index":{second},"embedding":[0,1]}}]}}"#
        )
    };
    let three = r#"{"data":[{"embedding":[1,0]},{"embedding":[1,0]},{"embedding":[1,0]}]}"#;
    let widths_differ = r#"{"data":[{"embedding":[1,0]},{"embedding":[1,0,0]}]}"#;
    let one_a_token =
        r#"[{"index":0,"embedding":[[1,0],[0,1]]},{"index":1,"embedding":[[1,0],[0,1]]}]"#;
    for (body, flaw) in [
        (r#"{"data":[]}"#, wrong_count(0)),
        (r#"{"data":[{"index":0,"embedding":[1,0]}]}"#, wrong_count(1)),
        (three, wrong_count(3)),
        (&indices("0", "0"), NotEmbeddings::Shape),
        (&indices("1", "2"), NotEmbeddings::Shape),
        (&indices("0", "null"), NotEmbeddings::Shape),
        (widths_differ, NotEmbeddings::Shape),
        (one_a_token, NotEmbeddings::Shape),
    ] {
        let error = error_of(json(body)).await;
        assert_eq!(error, ProviderError::NotEmbeddings(flaw), "{body}");
    }
}

#[tokio::test]
async fn vectors_that_are_none_are_told_apart_and_too_wide_ones_answered_with_what_to_set() {
    let wide = format!("[{}]", vec!["0.5"; 1_536].join(","));
    for (vector, flaw, about_the_input) in [
        ("[NaN,1]", WrongVector::NotFinite, true),
        ("[null,1]", WrongVector::NotFinite, true),
        ("[1e300,1]", WrongVector::NotFinite, true),
        ("[-Infinity,1]", WrongVector::NotFinite, true),
        ("[0,0]", WrongVector::Zero, true),
        ("[]", WrongVector::Empty, false),
        (&wide, WrongVector::TooWide { dimensions: 1_536 }, false),
    ] {
        let body = format!(
            r#"{{"data":[{{"index":0,"embedding":{vector}}},{{"index":1,"embedding":{vector}}}]}}"#
        );
        let error = error_of(json(&body)).await;
        assert_eq!(error, ProviderError::WrongVector(flaw), "{vector:.20}");
        assert_eq!(error.is_about_the_input(), about_the_input, "{vector:.20}");
        if matches!(flaw, WrongVector::TooWide { .. }) {
            let words = error.to_string();
            assert!(words.contains("1536 dimensions"), "{words}");
            assert!(words.contains("set `dimensions` to 1024"), "{words}");
        }
    }
}

#[tokio::test]
async fn an_endpoint_asked_too_often_says_how_long_to_wait() {
    for (header, wait) in [
        ("retry-after: 7\r\n", Some(7)),
        ("retry-after: Sat, 21 Nov 2026 07:29:30 GMT\r\n", Some(90)),
        ("retry-after: whenever\r\n", None),
        ("", None),
    ] {
        let error = error_of(http("429 Too Many Requests", header, "{}")).await;
        let wait = wait.map(Duration::from_secs);
        assert_eq!(error, ProviderError::RateLimited { retry_after: wait });
        assert_eq!(error.retry_after(), wait);
    }
    let busy = http("503 Service Unavailable", "retry-after: 4\r\n", "{}");
    let error = error_of(busy).await;
    assert_eq!(error.retry_after(), Some(Duration::from_secs(4)));
}

#[tokio::test]
async fn refusals_are_told_apart() {
    use ProviderError::{BadInput, KeyRejected, TooLong, UnknownModel};
    let nothing_there = ProviderError::NotEmbeddings(NotEmbeddings::NothingThere);
    let failed = ProviderError::Server { status: 500, retry_after: None };
    let openai = |words: &str| format!(r#"{{"error":{{"message":"{words}"}}}}"#);
    for (status, body, expected) in [
        ("401 Unauthorized", openai("no"), KeyRejected),
        ("403 Forbidden", openai("no"), KeyRejected),
        ("404 Not Found", openai("The model `small` does not exist"), UnknownModel),
        ("400 Bad Request", openai("Model small not found"), UnknownModel),
        ("404 Not Found", openai("File Not Found"), nothing_there),
        (
            "500 Internal Server Error",
            openai("input (901 tokens) is too large to process. increase the physical batch size"),
            TooLong,
        ),
        ("400 Bad Request", openai("This model's maximum context length is 8192 tokens"), TooLong),
        ("413 Payload Too Large", "{}".into(), TooLong),
        ("400 Bad Request", openai("Input content cannot be empty"), BadInput),
        ("422 Unprocessable Entity", "{}".into(), BadInput),
        ("500 Internal Server Error", openai("boom"), failed),
    ] {
        let about_the_input = matches!(expected, TooLong | BadInput);
        let error = error_of(http(status, "", &body)).await;
        assert_eq!(error, expected, "{status} {body}");
        assert_eq!(error.is_about_the_input(), about_the_input, "{status}");
    }
}

#[tokio::test]
async fn dimensions_that_a_model_does_not_offer_are_told_apart_from_a_bad_text() {
    let body = r#"{"error":{"message":"This model does not support specifying dimensions."}}"#;
    let server = answering(http("400 Bad Request", "", body)).await;
    let endpoint =
        Endpoint { dimensions: Some(256), ..endpoint(ProviderType::Openai, &server.url()) };
    let answer = embedder().embed(&endpoint, &texts(&["one"]), DEADLINE).await;
    assert_eq!(answer.unwrap_err(), ProviderError::DimensionsRefused);
}

#[tokio::test]
async fn one_poison_text_fails_alone() {
    let server = Provider::start().await;
    server.behave(|b| b.poison = Some("poison"));
    let (embedder, endpoint) = (embedder(), endpoint(ProviderType::Openai, &server.url()));
    let status_500 = ProviderError::Server { status: 500, retry_after: None };
    for (sent, expected) in [
        (&["poison"][..], Err(status_500.clone())),
        (&["harmless"], Ok(1)),
        (&["harmless", "poison"], Err(status_500)),
    ] {
        let answer = embedder.embed(&endpoint, &texts(sent), DEADLINE).await;
        assert_eq!(answer.map(|embedded| embedded.vectors.len()), expected, "{sent:?}");
    }
}

#[tokio::test]
async fn nothing_of_key_text_or_answer_is_in_an_error_or_a_debug_line() {
    let body = r#"{"error":{"message":"key sesame and text swordfish are wrong"}}"#;
    for status in ["401 Unauthorized", "400 Bad Request", "500 Oops", "418 Teapot"] {
        let server = answering(http(status, "", body)).await;
        let endpoint = endpoint(ProviderType::Openai, &server.url());
        let answer = embedder().embed(&endpoint, &texts(&["swordfish"]), DEADLINE).await;
        let error = answer.unwrap_err();
        let shown = format!("{error} {error:?} {endpoint:?}");
        assert!(!shown.contains("sesame") && !shown.contains("swordfish"));
    }
}

#[tokio::test]
async fn no_texts_are_no_call() {
    let server = answering(json("{}")).await;
    let endpoint = endpoint(ProviderType::Openai, &server.url());
    let answer = embedder().embed(&endpoint, &[], DEADLINE).await.unwrap();
    assert!(answer.vectors.is_empty());
    assert_eq!(server.connections(), 0);
}
