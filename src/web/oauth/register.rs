//! Registers clients (RFC 7591).

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{BODY_BYTES_MAX, OauthError};
use crate::accounts::oauth::{ClientMetadata, RedirectUri};
use crate::web::AppState;
use crate::web::api::tools::read_body;
use crate::web::client::ClientAddress;

/// Anybody may register a client; it may do nothing until a person allows it.
pub async fn register(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
    body: Body,
) -> Result<Response, OauthError> {
    state.throttles.check_registration(address)?;
    let body = read_body(body, BODY_BYTES_MAX).await?;
    let metadata = ClientMetadata::of_registration(&body)?;
    let client = state.accounts.register_client(metadata).await?;
    let uris = client.redirect_uris.iter().map(RedirectUri::as_str);
    let answer = json!({
        "client_id": client.id.as_str(),
        "client_id_issued_at": state.clock.now().unix_timestamp(),
        "client_name": client.name,
        "redirect_uris": uris.collect::<Vec<_>>(),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}
