//! Headers of every response, and the content security policy of pages.

use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::Response;

use super::oauth;

const ALWAYS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

pub async fn secure(request: Request, next: Next) -> Response {
    let keeps_opener = OPENED_BY_CLIENTS.contains(&request.uri().path());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if keeps_opener {
        let opener_policy = HeaderName::from_static("cross-origin-opener-policy");
        headers.insert(opener_policy, HeaderValue::from_static("unsafe-none"));
    }
    // Responses contain memory, so caches must not store them; static files override this.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    response
}

/// Pages that a client may have opened in a window of its own, with which it goes on after the answer.
const OPENED_BY_CLIENTS: [&str; 3] = [oauth::AUTHORIZE, "/login", "/signup"];

/// Removes `Accept-Encoding` where the address has a query: a page that repeats its words beside memories must not be
/// compressed, since its length would show what they share (BREACH).
pub async fn keep_queries_uncompressed(mut request: Request, next: Next) -> Response {
    if request.uri().query().is_some() {
        request.headers_mut().remove(header::ACCEPT_ENCODING);
    }
    next.run(request).await
}

/// Whether a response is compressed for a browser: pages are, downloads are not.
pub fn is_page(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}

const FORMS_STAY: &str = "form-action 'self';";

/// Lets the form of a page end in a redirect to another site, which browsers count as a form sent there, and to wherever that
/// site goes on to. Frames stay forbidden.
pub fn let_forms_leave(response: &mut Response) {
    let headers = response.headers_mut();
    let policy = headers.get(header::CONTENT_SECURITY_POLICY);
    let policy = policy.and_then(|policy| policy.to_str().ok());
    let policy = policy.map(|policy| policy.replace(FORMS_STAY, ""));
    if let Some(Ok(policy)) = policy.map(|policy| HeaderValue::from_str(&policy)) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// The policy of a page whose scripts have this nonce.
pub fn page_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; \
         style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; {FORMS_STAY} \
         base-uri 'none'; frame-ancestors 'none'"
    )
}
