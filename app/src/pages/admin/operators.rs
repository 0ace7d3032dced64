//! Operators, whose service tokens act for users of their own: who they are, how
//! many users of how many, their tokens, and the forms that make and revoke them.

use axum::extract::{Path, State};
use axum::response::Response;
use keepsake_edge::AppState;
use leptos::prelude::*;
use serde::Deserialize;

use super::{PATH, show};
use crate::accounts::operators::Operator;
use crate::accounts::{AgentName, ExternalId, OperatorId, TokenHolder, TokenId, UsersMax};
use crate::components::{
    self, FormError, Paste, TOKEN_FIELDS, TokenChoices, TokenEntry, When, count,
};
use crate::forms::{
    Admin, Field, Form, FormName, FormState, NewToken, Outcome, Posted, TokenFields, new_token,
    parse_id, respond,
};
use crate::input::Invalid;

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

#[component]
pub fn Operators(operators: Vec<Operator>, form: FormState, public_url: String) -> impl IntoView {
    let fresh = form.new_token.clone().map(|new| view! { <Fresh new public_url /> });
    let unplaced = is_unplaced(&form, &operators)
        .then(|| view! { <FormError form=form.clone() fields=&[] /> });
    let rows = operators
        .into_iter()
        .map(|operator| view! { <OperatorEntry operator form=form.clone() /> })
        .collect_view();
    view! {
        <section class="part" aria-labelledby="operators">
            <h2 id="operators">"Operators"</h2>
            <p>
                "An operator is a product with its own users. Its service token, with the header "
                <code>"Keepsake-User"</code>
                ", acts for the user that the header names, and never for people who sign in here."
            </p>
            {unplaced}
            {fresh}
            <ul class="agents">{rows}</ul>
            <NewOperator form=form.of(FormName::Operator) />
        </section>
    }
    .into_any()
}

/// Whether the form was about an operator or a token that is not on the page (any more).
fn is_unplaced(form: &FormState, operators: &[Operator]) -> bool {
    let is_of = |operator: &Operator| form.value("operator") == operator.id.0.to_string();
    match form.form {
        Some(FormName::ServiceRevoke) => true,
        Some(FormName::ServiceToken | FormName::UsersMax) => !operators.iter().any(is_of),
        _ => false,
    }
}

/// The token in clear, this once, with a line that uses it.
#[component]
fn Fresh(new: NewToken, public_url: String) -> impl IntoView {
    let line = format!(
        "curl -sS {}/api/v1/tools/memory_add \\\n  \
         -H 'Authorization: Bearer {}' \\\n  \
         -H 'Keepsake-User: customer-42' \\\n  \
         -H 'Content-Type: application/json' \\\n  \
         -d '{{\"type\":\"preference\",\"content\":\"Prefers short answers.\"}}'",
        public_url.trim_end_matches('/'),
        new.token
    );
    view! {
        <section class="fresh" aria-labelledby="fresh-title" tabindex="-1" autofocus>
            <h3 id="fresh-title">"The service token of " <bdi>{new.agent_name}</bdi></h3>
            <p>
                <strong>"Copy it now."</strong>
                " It is shown only once; only a hash of it is stored."
            </p>
            <Paste caption="Service token" text=new.token />
            <Paste caption="Add a memory for one user" text=line />
            <p>
                "Replace " <code>"customer-42"</code>
                " with your own ID of a user; the user is created on first use."
            </p>
        </section>
    }
    .into_any()
}

#[component]
fn OperatorEntry(operator: Operator, form: FormState) -> impl IntoView {
    let OperatorId(id) = operator.id;
    let posted = match form.value("operator") == id.to_string() {
        true => form,
        false => FormState::default(),
    };
    let of_row = |name| FormState { row: Some(id), ..posted.of(name) };
    let token_form = posted.of(FormName::ServiceToken);
    let has_failed = token_form.error.is_some();
    let cap_form = of_row(FormName::UsersMax);
    let is_cap_refused = cap_form.error.is_some();
    let find_form = of_row(FormName::FindUser);
    let pool = operator.pool.clone().unwrap_or_default();
    let saved = vec![("users_max", operator.users_max.to_string()), ("pool", pool)];
    let cap_form = cap_form.or_saved(saved);
    let pool = operator.pool.map(|pool| {
        view! { <span>"all also read the memory of " <bdi>{pool}</bdi></span> }
    });
    let tokens = operator
        .tokens
        .into_iter()
        .map(|token| view! { <TokenEntry path=format!("{PATH}/operators/{id}/tokens") token /> })
        .collect_view();
    view! {
        <li class="agent">
            <h3>
                <bdi>{operator.name.clone()}</bdi>
            </h3>
            <p class="agent-facts">
                <span>
                    {count(operator.users.into())} " of " {count(operator.users_max.into())} " users"
                </span>
                {pool}
                <span>"created " <When at=operator.created_at /></span>
            </p>
            <ul class="tokens">{tokens}</ul>
            <details class="fold" open=has_failed>
                <summary>
                    "New token" <span class="visually-hidden">" for " {operator.name.clone()}</span>
                </summary>
                <form class="stack" method="post" action=format!("{PATH}/operators/{id}/tokens")>
                    <FormError form=token_form.clone() fields=TOKEN_FIELDS />
                    <TokenChoices form=token_form prefix=format!("service-{id}") is_service=true />
                    <div>
                        <button type="submit">"Create token"</button>
                    </div>
                </form>
            </details>
            <details class="fold">
                <summary>
                    "Find a user" <span class="visually-hidden">" of " {operator.name.clone()}</span>
                </summary>
                <form class="stack" method="get" action="/admin/users">
                    <input type="hidden" name="operator" value=id />
                    <components::Field
                        form=find_form
                        name="external_id"
                        label="User ID at the operator"
                        hint="To disable or enable one user."
                        autocomplete="off"
                        maxlength="200"
                    />
                    <div>
                        <button type="submit">"Find"</button>
                    </div>
                </form>
            </details>
            <details class="fold" open=is_cap_refused>
                <summary>
                    "User limit and global pool" <span class="visually-hidden">" of " {operator.name}</span>
                </summary>
                <form class="stack" method="post" action=format!("{PATH}/operators/{id}")>
                    <FormError form=cap_form.clone() fields=&["users_max", "pool"] />
                    <components::Field
                        form=cap_form.clone()
                        name="users_max"
                        label="User limit"
                        hint="Existing users stay, even above the limit."
                        inputmode="numeric"
                        autocomplete="off"
                        maxlength="8"
                    />
                    <components::Field
                        form=cap_form
                        name="pool"
                        label="Global pool"
                        hint="The operator's ID of the user whose memory all its other users can read, after their own. They cannot change it; a token with pool:write can. Take an ID that no user can choose. Leave blank for none."
                        autocomplete="off"
                        maxlength="200"
                        optional=true
                    />
                    <div>
                        <button type="submit">"Save"</button>
                    </div>
                </form>
            </details>
        </li>
    }
    .into_any()
}

#[component]
fn NewOperator(form: FormState) -> impl IntoView {
    let has_failed = form.error.is_some();
    view! {
        <details class="fold" open=has_failed>
            <summary>"New operator"</summary>
            <form class="stack" method="post" action=format!("{PATH}/operators")>
                <FormError form=form.clone() fields=&["name", "users_max", "scope", "expires_days"] />
                <components::Field
                    form=form.clone()
                    name="name"
                    label="Name"
                    hint="The product, such as support-bot."
                    autocomplete="off"
                    maxlength="64"
                />
                <components::Field
                    form=form.clone()
                    name="users_max"
                    label="User limit"
                    placeholder="10000"
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="8"
                    optional=true
                />
                <TokenChoices form prefix="operator".to_owned() is_service=true />
                <div>
                    <button type="submit">"Create operator"</button>
                </div>
            </form>
        </details>
    }
    .into_any()
}
