//! Issues, renews and revokes tokens (RFC 6749, RFC 7009). Clients are public: a code is worth nothing without the verifier of
//! its request (PKCE), and a refresh token works once.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{BODY_BYTES_MAX, OauthError};
use crate::accounts::oauth::{
    ACCESS_LIFETIME, CodeUse, GrantRefusal, IssuedTokens, RefreshToken, is_resource,
};
use crate::accounts::{LinkToken, Scope};
use crate::web::AppState;
use crate::web::api::tools::read_body;

/// The fields of the form, each once.
struct Fields(BTreeMap<String, String>);

impl Fields {
    async fn read(headers: &HeaderMap, body: Body) -> Result<Self, OauthError> {
        let content_type = headers.get(header::CONTENT_TYPE);
        let is_form = content_type
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
        if !is_form {
            let sentence = "Send the fields as application/x-www-form-urlencoded.";
            return Err(OauthError::new("invalid_request", sentence));
        }
        let body = read_body(body, BODY_BYTES_MAX).await?;
        let mut fields = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(&body) {
            if fields.insert(name.into_owned(), value.into_owned()).is_some() {
                let sentence = "A field is sent twice; send each once.";
                return Err(OauthError::new("invalid_request", sentence));
            }
        }
        Ok(Self(fields))
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn required(&self, name: &'static str) -> Result<&str, OauthError> {
        match self.get(name) {
            "" => {
                let sentence = format!("`{name}` is missing.");
                Err(OauthError::new("invalid_request", sentence))
            }
            value => Ok(value),
        }
    }
}

pub async fn token(
    State(state): State<AppState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, OauthError> {
    let fields = Fields::read(&headers, body).await?;
    let resource = fields.get("resource");
    if !resource.is_empty() && !is_resource(resource, &state.public_url.mcp_resource()) {
        let sentence = "`resource` is not the MCP endpoint of this server.";
        return Err(OauthError::new("invalid_target", sentence));
    }
    let issued = match fields.get("grant_type") {
        "authorization_code" => redeem(&state, &fields).await?,
        "refresh_token" => refresh(&state, &fields).await?,
        _ => {
            let sentence = "`grant_type` must be authorization_code or refresh_token.";
            return Err(OauthError::new("unsupported_grant_type", sentence));
        }
    };
    Ok(answer(issued?))
}

type Issued = Result<IssuedTokens, GrantRefusal>;

async fn redeem(state: &AppState, fields: &Fields) -> Result<Issued, OauthError> {
    let (code, client_id) = (fields.required("code")?, fields.required("client_id")?);
    let verifier = fields.required("code_verifier")?;
    let Some(code) = LinkToken::parse(code) else {
        return Ok(Err(GrantRefusal::Invalid));
    };
    let given = CodeUse {
        code: &code,
        client_id,
        redirect_uri: Some(fields.get("redirect_uri")).filter(|uri| !uri.is_empty()),
        verifier,
    };
    Ok(state.accounts.redeem_code(&given).await?)
}

async fn refresh(state: &AppState, fields: &Fields) -> Result<Issued, OauthError> {
    let token = fields.required("refresh_token")?;
    let client_id = fields.required("client_id")?;
    let Some(token) = RefreshToken::parse(token) else {
        return Ok(Err(GrantRefusal::Invalid));
    };
    let resource = state.public_url.mcp_resource();
    let refreshed = state.accounts.refresh_grant(token, client_id, &resource);
    Ok(refreshed.await?)
}

fn answer(issued: IssuedTokens) -> Response {
    let scopes: Vec<&str> = issued.scopes.iter().map(|scope| Scope::as_str(*scope)).collect();
    Json(json!({
        "access_token": issued.access.reveal(),
        "token_type": "Bearer",
        "expires_in": ACCESS_LIFETIME.whole_seconds(),
        "refresh_token": issued.refresh,
        "scope": scopes.join(" "),
    }))
    .into_response()
}

/// The answer is the same whether there was such a token or not.
pub async fn revoke(
    State(state): State<AppState>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, OauthError> {
    let fields = Fields::read(&headers, body).await?;
    let (token, client_id) = (fields.required("token")?, fields.required("client_id")?);
    state.accounts.revoke_by_client(token, client_id).await?;
    Ok(StatusCode::OK)
}
