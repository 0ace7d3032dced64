//! What the program tells: lines as JSON, and spans to a collector. Neither holds what
//! is remembered, asked, or secret.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{serving, until_ready, with_provider};
use crate::server::Home;
use crate::support::{TestApp, TestUser};

const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const REQUEST_ID: &str = "turn-42";

/// Adds, searches and asks for nonsense over REST and MCP.
async fn use_it(home: &Home, anna: &TestUser, query: &str) {
    let client = reqwest::Client::new();
    let added = json!({ "type": "fact", "content": "Xylophonist from Quebec" });
    let search = json!({ "query": query });
    let rpc = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": { "name": "memory_search", "arguments": search } });
    for (path, body) in [
        ("/api/v1/tools/memory_add", added),
        ("/api/v1/tools/memory_search", search.clone()),
        ("/api/v1/tools/zanzibar?q=zanzibar", json!({})),
        ("/mcp", rpc),
    ] {
        let response = client
            .post(home.url(path))
            .bearer_auth(&anna.token)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18")
            .header("traceparent", format!("00-{TRACE_ID}-00f067aa0ba902b7-01"))
            .header("x-request-id", REQUEST_ID)
            .json(&body)
            .send()
            .await
            .unwrap();
        assert_eq!(response.headers()["x-request-id"], REQUEST_ID, "{path}");
    }
}

fn holds_nothing_private(told: &str, anna: &TestUser) {
    for secret in
        ["ylophonist", "Quebec", "quokka", "zanzibar", &anna.token, &anna.email, "correct horse"]
    {
        assert!(!told.contains(secret), "{secret:?} is told");
    }
}

#[tokio::test]
async fn lines_are_json_objects_with_the_requests_id() {
    let (app, anna) = TestApp::start_for("anna").await;
    let settings = [("KEEPSAKE_LOG_FORMAT", "json"), ("KEEPSAKE_LOG", "info,keepsake=debug")];
    let (home, server) = serving(&app, &[], &settings).await;
    use_it(&home, &anna, "quokka pictures").await;
    let (code, log) = server.stop();
    assert_eq!(code, Some(0));
    let mut answered = 0;
    for line in log.lines() {
        let told: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        for field in ["timestamp", "level", "target", "message"] {
            assert!(told[field].is_string(), "{field} in {line}");
        }
        let request = &told["spans"][0];
        if told["message"] == "answered" && request["request_id"] == REQUEST_ID {
            assert!(request["route"].is_string() && told["ms"].is_number(), "{line}");
            answered += 1;
        }
    }
    assert_eq!(answered, 4, "{log}");
    holds_nothing_private(&log, &anna);
}

/// Every span that the collector was sent.
async fn spans(collector: &MockServer) -> (Vec<Span>, String) {
    let mut all = Vec::new();
    let mut raw = String::new();
    for request in collector.received_requests().await.unwrap() {
        let sent = ExportTraceServiceRequest::decode(request.body.as_slice()).unwrap();
        raw.push_str(&String::from_utf8_lossy(&request.body));
        for resource in sent.resource_spans {
            all.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
    (all, raw)
}

#[tokio::test]
async fn spans_reach_a_collector_from_the_request_down_to_the_provider() {
    let (app, anna, provider) = with_provider().await;
    let collector = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/traces"))
        .respond_with(ResponseTemplate::new(200))
        .mount(&collector)
        .await;
    let endpoint = collector.uri();
    let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
    let (home, server) = serving(&app, &[], &settings).await;
    use_it(&home, &anna, "quokka pictures").await;
    until_ready(&app, &anna, 1).await;
    // Other words: the query before may have its vector in the cache by now.
    use_it(&home, &anna, "quokka films").await;
    let (code, log) = server.stop();
    assert_eq!(code, Some(0), "{log}");
    let (spans, raw) = spans(&collector).await;
    let by_id: BTreeMap<_, _> = spans.iter().map(|span| (span.span_id.clone(), span)).collect();
    let path_of = |span: &Span| {
        let mut names = vec![span.name.clone()];
        let mut at = span;
        while let Some(parent) = by_id.get(&at.parent_span_id) {
            names.push(parent.name.clone());
            at = parent;
        }
        names.reverse();
        names.join(" > ")
    };
    let paths: Vec<String> = spans.iter().map(path_of).collect();
    for wanted in [
        "POST /api/v1/tools/{name} > tool > search > provider_call",
        "POST /mcp > tool > search",
        "job > provider_call",
    ] {
        assert!(paths.iter().any(|path| path == wanted), "{wanted} in {paths:#?}");
    }
    let of_agents_trace = |span: &&Span| span.trace_id == hex(TRACE_ID);
    assert!(spans.iter().filter(of_agents_trace).count() >= 8, "{paths:#?}");
    holds_nothing_private(&raw, &anna);
    assert!(!raw.contains(&provider.host_port()));
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[tokio::test]
async fn a_collector_that_is_away_holds_nothing_up() {
    let (app, anna) = TestApp::start_for("anna").await;
    let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")];
    let (home, server) = serving(&app, &["--no-worker"], &settings).await;
    use_it(&home, &anna, "quokka pictures").await;
    let (code, log) = server.stop();
    assert_eq!(code, Some(0));
    assert_eq!(log.matches("accepts no traces").count(), 1, "{log}");
}
