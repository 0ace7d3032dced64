//! The admin page's forms for operators: create one, change its limit, add and revoke service tokens. Members
//! get a 404.

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;

use crate::accounts::{AgentName, ExternalId, OperatorId, TokenHolder, TokenId, UsersMax};
use crate::forms::{Admin, FormName};
use crate::forms::{Field, Form, Outcome, Posted, TokenFields, new_token, parse_id, respond};
use crate::input::Invalid;
use crate::pages::admin::show;
use keepsake_edge::AppState;

const PATH: &str = "/admin";

#[derive(Deserialize)]
pub struct NewOperatorForm {
    name: Field,
    users_max: Field,
    #[serde(flatten)]
    token: TokenFields,
}

pub async fn create(_: Admin, Posted(posted, form): Posted<NewOperatorForm>) -> Response {
    let attempt = async {
        let form = form?;
        let name = AgentName::parse(&form.name)?;
        let users_max = UsersMax::parse(&form.users_max)?;
        let wish = form.token.wish()?;
        let accounts = &posted.state.accounts;
        let token = accounts.create_operator(&name, users_max, &wish).await?;
        Ok(new_token(FormName::Operator, name.as_str().to_owned(), token))
    };
    posted.respond(show, PATH, FormName::Operator, attempt.await).await
}

pub async fn create_token(_: Admin, Posted(mut posted, form): Posted<TokenFields>) -> Response {
    posted.show_id("operator");
    let attempt = async {
        let holder = TokenHolder::Operator(OperatorId(posted.id()?));
        let (accounts, wish) = (&posted.state.accounts, form?.wish()?);
        let (name, token) = accounts.create_token(holder, &wish).await?;
        Ok(new_token(FormName::ServiceToken, name, token))
    };
    posted.respond(show, PATH, FormName::ServiceToken, attempt.await).await
}

#[derive(Deserialize)]
pub struct OperatorForm {
    users_max: Field,
    pool: Field,
}

/// Changes the limit, and sets or removes the pool.
pub async fn change(_: Admin, Posted(mut posted, form): Posted<OperatorForm>) -> Response {
    posted.show_id("operator");
    let attempt = async {
        let (form, operator) = (form?, OperatorId(posted.id()?));
        let users_max = UsersMax::parse(&form.users_max)?;
        let pool = parse_pool(&form.pool)?;
        let accounts = &posted.state.accounts;
        let changed = accounts.change_operator(operator, users_max, pool.as_ref());
        changed.await?;
        Ok(Outcome::Redirect)
    };
    posted.respond(show, PATH, FormName::UsersMax, attempt.await).await
}

pub async fn revoke_token(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path((operator, token)): Path<(String, String)>,
) -> Response {
    let attempt = async {
        let holder = TokenHolder::Operator(OperatorId(parse_id(&operator)?));
        let token = TokenId(parse_id(&token)?);
        state.accounts.revoke_token(holder, token).await?;
        Ok(Outcome::Redirect)
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(show, &state, signed_in, PATH, FormName::ServiceRevoke, &fields, outcome).await
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
