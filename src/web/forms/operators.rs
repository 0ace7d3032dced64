//! The admin page's forms for operators: create one, change its limit, add and revoke service tokens. Members
//! get a 404.

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;

use super::{Field, Form, Outcome, Posted, TokenFields, new_token, parse_id, respond};
use crate::accounts::{AgentName, ExternalId, OperatorId, TokenId, UsersMax};
use crate::input::Invalid;
use crate::web::AppState;
use crate::web::auth::Admin;

const PATH: &str = "/admin";
const FORM: &str = "operator";
const TOKEN_FORM: &str = "service_token";
const LIMIT_FORM: &str = "users_max";
const REVOKE_FORM: &str = "service_revoke";

#[derive(Deserialize)]
pub struct NewOperatorForm {
    name: Field,
    users_max: Field,
    #[serde(flatten)]
    token: TokenFields,
}

pub async fn create(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Posted(fields, form): Posted<NewOperatorForm>,
) -> Response {
    let attempt = async {
        let form = form?;
        let name = AgentName::parse(&form.name)?;
        let users_max = UsersMax::parse(&form.users_max)?;
        let wish = form.token.wish()?;
        let token = state.accounts.create_operator(&name, users_max, &wish);
        Ok(new_token(FORM, name.as_str().to_owned(), token.await?))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, FORM, &fields, outcome).await
}

pub async fn create_token(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(operator): Path<String>,
    Posted(mut fields, form): Posted<TokenFields>,
) -> Response {
    // The page shows the error beside its operator.
    fields.add("operator", &operator);
    let attempt = async {
        let operator = OperatorId(parse_id(&operator)?);
        let wish = form?.wish()?;
        let (name, token) = state.accounts.create_service_token(operator, &wish).await?;
        Ok(new_token(TOKEN_FORM, name, token))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, TOKEN_FORM, &fields, outcome).await
}

#[derive(Deserialize)]
pub struct OperatorForm {
    users_max: Field,
    pool: Field,
}

/// Changes the limit, and sets or removes the pool.
pub async fn change(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(operator): Path<String>,
    Posted(mut fields, form): Posted<OperatorForm>,
) -> Response {
    fields.add("operator", &operator);
    let attempt = async {
        let (form, operator) = (form?, OperatorId(parse_id(&operator)?));
        let users_max = UsersMax::parse(&form.users_max)?;
        let pool = parse_pool(&form.pool)?;
        let accounts = &state.accounts;
        let changed = accounts.change_operator(operator, users_max, pool.as_ref());
        changed.await?;
        Ok(Outcome::Redirect)
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, LIMIT_FORM, &fields, outcome).await
}

pub async fn revoke_token(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path((operator, token)): Path<(String, String)>,
) -> Response {
    let attempt = async {
        let (operator, token) = (OperatorId(parse_id(&operator)?), TokenId(parse_id(&token)?));
        let accounts = &state.accounts;
        accounts.revoke_service_token(operator, token).await?;
        Ok(Outcome::Redirect)
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(&state, signed_in, PATH, REVOKE_FORM, &fields, outcome).await
}

/// Blank: none.
fn parse_pool(text: &str) -> Result<Option<ExternalId>, Invalid> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let parsed = ExternalId::parse(text.as_bytes()).map_err(|invalid| {
        let sentence = invalid.sentence.replace(ExternalId::HEADER, "pool");
        Invalid::new("pool", invalid.code, sentence)
    });
    parsed.map(Some)
}
