//! Observes every request: a span with its route template and an id, its duration in the metrics, and a log
//! line for a server error. The URL itself is never recorded: it may contain a query.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use axum::middleware::Next;
use axum::response::Response;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::{Instrument, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use uuid::Uuid;

use super::Readiness;
use crate::metrics;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
/// Maximum length of a client's own request id.
const REQUEST_ID_CHARS_MAX: usize = 64;
/// For paths without a route.
const UNMATCHED: &str = "unmatched";
/// A 503 here is an answer, not a failure.
const READY: &str = "/readyz";

pub async fn request(State(readiness): State<Readiness>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id(request.headers());
    let method = method_name(request.method());
    let route = route_of(&request);
    let span = tracing::error_span!(
        "request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        method,
        route,
        request_id = id.to_str().unwrap_or_default(),
        status = tracing::field::Empty,
    );
    continue_trace(&span, request.headers());
    let may_close = request.version() <= Version::HTTP_11;
    let mut response = next.run(request).instrument(span.clone()).await;
    let took = began.elapsed();
    let status = response.status().as_u16();
    metrics::answered(method, &route, status, took);
    span.record("status", status);
    let _in = span.enter();
    let ms = took.as_secs_f64() * 1e3;
    if status >= 500 && route != READY {
        tracing::warn!(ms, "a request failed");
    } else {
        tracing::debug!(ms, "answered");
    }
    response.headers_mut().insert(REQUEST_ID, id);
    if may_close && readiness.is_draining() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

/// The client's id if it is short and plain, so that both logs can be matched.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_plain = |id: &&HeaderValue| {
        let allowed = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b);
        (1..=REQUEST_ID_CHARS_MAX).contains(&id.len()) && id.as_bytes().iter().all(allowed)
    };
    if let Some(id) = headers.get(REQUEST_ID).filter(is_plain) {
        return id.clone();
    }
    let id = Uuid::new_v4().simple().to_string();
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("none"))
}

/// Unknown methods share one label, since clients can invent any number.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// The template in the route table.
fn route_of(request: &Request) -> String {
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or(UNMATCHED, MatchedPath::as_str);
    // Hides axum's internal wildcard of nested services.
    match route.split_once("/{*__private") {
        Some((folder, _)) => folder.to_owned(),
        None => route.to_owned(),
    }
}

/// Makes the span part of the caller's trace (W3C `traceparent`).
fn continue_trace(span: &Span, headers: &HeaderMap) {
    if headers.contains_key(TRACE_PARENT) {
        let parent = TraceContextPropagator::new().extract(&Headers(headers));
        // Fails without an exporter, where there is no trace.
        let _ = span.set_parent(parent);
    }
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_id_is_taken_over_only_when_it_is_short_and_plain() {
        let with = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(id).expect("a value"));
            request_id(&headers).to_str().expect("plain").to_owned()
        };
        assert_eq!(with("turn-42_a.b"), "turn-42_a.b");
        for refused in ["", "a b", "<script>", "ü", &"a".repeat(65)] {
            assert_eq!(with(refused).len(), 32, "{refused:?}");
        }
    }
}
