//! What *Test* reports.

use keepsake::providers::{EmbeddingReport, Endpoint, ProviderError, ProviderType};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::{embedder, endpoint};

/// A vector by what the text is about; `turned` answers the batch in another order.
fn respond(request: &Request, turned: bool, width: usize) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let mut vectors: Vec<Vec<f64>> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| {
            let text = text.as_str().unwrap();
            assert!(text.starts_with("q: ") || text.starts_with("d: "), "{text}");
            let mut vector = vec![0.0; width];
            let drinks = text.contains("drink") || text.contains("coffee");
            vector[usize::from(drinks)] = 2.0;
            vector[2] = text.len() as f64 / 1e4;
            vector
        })
        .collect();
    if turned {
        vectors.rotate_left(1);
    }
    ResponseTemplate::new(200).set_body_json(json!({"embeddings": vectors}))
}

async fn report(turned: bool, width: usize) -> EmbeddingReport {
    let server = MockServer::start().await;
    Mock::given(path("/api/embed"))
        .respond_with(move |request: &Request| respond(request, turned, width))
        .mount(&server)
        .await;
    let tags = json!({"models": [{"name": "other:latest"}, {"name": "small:latest"}]});
    Mock::given(method("GET"))
        .and(path("/api/tags"))
        .respond_with(ResponseTemplate::new(200).set_body_json(tags))
        .mount(&server)
        .await;
    let endpoint =
        Endpoint { dimensions: Some(8), ..endpoint(ProviderType::Ollama, &server.uri()) };
    embedder().test(&endpoint, "q: ", "d: ").await.report.unwrap()
}

#[tokio::test]
async fn a_good_endpoint_passes_with_its_figures_and_another_order_and_width_are_noticed() {
    let bad = report(true, 6).await;
    assert!(!bad.order_kept && !bad.similar_closer);
    assert_eq!((bad.dimensions, bad.requested_dimensions_honoured), (6, Some(false)));
    let report = report(false, 8).await;
    assert_eq!((report.dimensions, report.requested_dimensions_honoured), (8, Some(true)));
    assert!((report.norm - 2.0).abs() < 0.01);
    assert!(report.order_kept && report.similar_closer);
    assert_eq!(report.model_found.as_deref(), Some("small:latest"));
    assert!(report.latency.as_nanos() > 0);
}

#[tokio::test]
async fn a_failing_endpoint_fails_the_test_with_the_same_words() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(401)).mount(&server).await;
    let endpoint = endpoint(ProviderType::Ollama, &server.uri());
    let error = embedder().test(&endpoint, "", "").await.report.unwrap_err();
    assert_eq!(error, ProviderError::KeyRejected);
}
