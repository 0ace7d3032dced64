//! Downloads: a person's export, a receipt, the text of a document, and the script that connects programs.
//! They change nothing.

use app::{DocumentFilters, not_found_for};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use serde_json::json;
use time::format_description::well_known::Rfc3339;

use super::AppState;
use super::error::Problem;
use super::visitor::SignedIn;
use crate::documents::{DocumentError, FullDocument};
use crate::erasure;
use crate::export::Export;

pub async fn export(State(state): State<AppState>, signed_in: SignedIn) -> Response {
    let now = state.clock.now();
    let (db, sealer) = (state.db.with_job_timeout(), state.embeddings.sealer());
    let mut export = Export::new(&db, sealer, signed_in.0.id, now);
    // Read before the response begins, so that a database error can still set its status.
    let first = match export.next().await {
        Ok(first) => first.unwrap_or_default(),
        Err(error) => return Problem::from(error).into_response(),
    };
    let rest = stream::try_unfold(export, async |mut export| {
        // The connection is cut off, and the file has no last line.
        let next = export.next().await.inspect_err(|_| {
            tracing::warn!("an export ended before its time: the database cannot be reached");
        });
        Ok::<_, sqlx::Error>(next?.map(|lines| (lines, export)))
    });
    let body = Body::from_stream(stream::once(async { Ok(first) }).chain(rest));
    let name = format!("attachment; filename=\"keepsake-{}.jsonl\"", now.date());
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/x-ndjson; charset=utf-8"),
    );
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

/// What an import did with each entry of its file.
pub async fn import_report(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Response {
    let Ok(id) = id.parse::<i64>() else {
        return not_found_for(&state, signed_in).await;
    };
    let lines = match state.imports.find_report(signed_in.0.id, id).await {
        Ok(Some(lines)) => lines,
        Ok(None) => return not_found_for(&state, signed_in).await,
        Err(error) => return Problem::from(error).into_response(),
    };
    let kind = HeaderValue::from_static("application/x-ndjson; charset=utf-8");
    let name = HeaderValue::from_static("attachment; filename=\"keepsake-import.jsonl\"");
    ([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], lines).into_response()
}

/// The script that connects a program that runs agents (docs/connect.md); the same for all users.
pub async fn connect() -> impl IntoResponse {
    const SCRIPT: &str = include_str!("../../clients/connect/keepsake_connect.py");
    ([(header::CONTENT_TYPE, "text/x-python; charset=utf-8")], SCRIPT)
}

/// For anyone who has the receipt's id.
pub async fn receipt(State(state): State<AppState>, Path(id): Path<String>) -> Response {
    let found = match erasure::find_receipt(&state.db, &id).await {
        Ok(found) => found,
        Err(error) => return Problem::from(error).into_response(),
    };
    let Some(receipt) = found else {
        return (StatusCode::NOT_FOUND, "No such receipt.\n").into_response();
    };
    let rfc3339 = |at: time::OffsetDateTime| at.format(&Rfc3339).unwrap_or_default();
    let document = json!({
        "receipt": receipt.id.as_str(),
        "erased": receipt.kind,
        "requested_at": rfc3339(receipt.requested_at),
        "finished_at": receipt.finished_at.map(rfc3339),
        "rows": receipt.erased,
        "stays": receipt.stays,
    });
    let name = HeaderValue::from_static("attachment; filename=\"keepsake-erased.json\"");
    ([(header::CONTENT_DISPOSITION, name)], Json(document)).into_response()
}

/// The original text at the revision in the URL.
pub async fn document(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Ok(id) = id.parse::<i64>() else {
        return not_found_for(&state, signed_in).await;
    };
    let revision = DocumentFilters::from_query(&query.unwrap_or_default()).revision;
    let FullDocument { document, content } =
        match state.documents.read_revision(signed_in.0.id, id, revision).await {
            Ok(whole) => whole,
            Err(DocumentError::Database(error)) => return Problem::from(error).into_response(),
            Err(_) => return not_found_for(&state, signed_in).await,
        };
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    let mut response = ([(header::CONTENT_TYPE, kind)], content).into_response();
    let name = HeaderValue::from_str(&attached(document.path.as_str()));
    let name = name.unwrap_or(HeaderValue::from_static("attachment"));
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    response
}

/// The `Content-Disposition` with the file's name: an ASCII version, and the full name (RFC 6266).
fn attached(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut whole = String::new();
    for byte in name.bytes() {
        match byte {
            b if b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_') => {
                whole.push(char::from(b));
            }
            b => whole.push_str(&format!("%{b:02X}")),
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_within_its_header() {
        assert_eq!(
            attached("a/b/größe \"1\".md"),
            "attachment; filename=\"gr__e _1_.md\"; filename*=UTF-8''gr%C3%B6%C3%9Fe%20%221%22.md"
        );
    }
}
