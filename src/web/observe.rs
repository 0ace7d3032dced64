//! What is seen of every request: a span with its template and an id, its time in the
//! figures, a line when the server failed it. The address itself is nowhere: it may hold
//! a query's words.

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
/// An id that a client brings along is taken over up to this length.
const REQUEST_ID_CHARS_MAX: usize = 64;
/// For what stands in no table of routes.
const UNMATCHED: &str = "unmatched";
/// Their 503 is an answer, not a failure.
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

/// The client's own where it is short and plain, so that its log and ours meet.
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

/// A client may make up methods, and figures must not grow with them.
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

/// As it stands in the route table.
fn route_of(request: &Request) -> String {
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or(UNMATCHED, MatchedPath::as_str);
    // axum names the rest of a nested folder in its own way.
    match route.split_once("/{*__private") {
        Some((folder, _)) => folder.to_owned(),
        None => route.to_owned(),
    }
}

/// An agent that traces its turns finds our part of them (W3C `traceparent`).
fn continue_trace(span: &Span, headers: &HeaderMap) {
    if headers.contains_key(TRACE_PARENT) {
        let parent = TraceContextPropagator::new().extract(&Headers(headers));
        // Without an exporter there is nothing to continue.
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
