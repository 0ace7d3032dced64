//! Tokens: one in the list, with the step that revokes it, and the choices that
//! a new one asks for. The token itself is never here: only its last characters.

use leptos::prelude::*;

use super::{FieldError, SelectField, StateBadge, When};
use crate::accounts::model::{ConnectedClient, TokenRecord};
use crate::accounts::oauth::RedirectUri;
use crate::forms::FormState;
use crate::page::asked;

/// What a token can be allowed, and what that means.
pub const SCOPES: [(&str, &str); 3] = [
    ("memory:read", "Search and read memory"),
    ("memory:write", "Add and archive memory"),
    ("sessions:write", "Hand over sessions"),
];

/// A service token's own, which is not given by default.
const POOL_SCOPE: (&str, &str) =
    ("pool:write", "Write to the global pool, which all its users read");

const LIFETIMES: [(&str, &str); 4] =
    [("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year")];

#[component]
pub fn TokenEntry(
    /// Where its owner's tokens are: "/agents/7/tokens".
    path: String,
    token: TokenRecord,
) -> impl IntoView {
    let is_over = !token.is_valid(asked().state.clock.now());
    let state = match token.revoked_at {
        Some(_) => "revoked",
        None if is_over => "expired",
        None => "valid",
    };
    if let Some(client) = token.client.clone() {
        return connection(path, token, client, state, is_over).into_any();
    }
    let hint = format!("ks_…{}", token.hint);
    let revoke = (!is_over).then(|| revocation(path, token.id.0, hint.clone()));
    view! {
        <li class="token" data-over=is_over.then_some("")>
            <div class="token-name">
                <code>{hint}</code>
                <StateBadge state />
            </div>
            <p class="token-facts">
                <span>{token.scopes.join(", ")}</span>
                <span>"created " <When at=token.created_at /></span>
                <span>
                    {match token.last_used_at {
                        Some(moment) => view! { "used " <When at=moment /> }.into_any(),
                        None => "never used".into_any(),
                    }}
                </span>
                <span>
                    {match token.expires_at {
                        Some(moment) => view! { "expires " <When at=moment /> }.into_any(),
                        None => "never expires".into_any(),
                    }}
                </span>
            </p>
            {revoke}
        </li>
    }
    .into_any()
}

/// A program that its person allowed in the browser (OAuth). Its token changes by itself, so none is shown.
fn connection(
    path: String,
    token: TokenRecord,
    client: ConnectedClient,
    state: &'static str,
    is_over: bool,
) -> impl IntoView {
    // Where its access was handed to: `claude.ai`.
    let host = RedirectUri::parse(&client.redirect_uri).map(|uri| uri.shown()).unwrap_or_default();
    let revoke = (!is_over).then(|| {
        let name = client.name.clone();
        view! {
            <details class="confirm">
                <summary>
                    "Revoke" <span class="visually-hidden">" the connection of " {name.clone()}</span>
                </summary>
                <div>
                    <p>
                        <bdi>{name}</bdi>
                        " loses access at once, and has to ask you again. The memories it added stay."
                    </p>
                    <form method="post" action=format!("{path}/{}/revoke", token.id.0)>
                        <button class="danger" type="submit">"Revoke this connection"</button>
                    </form>
                </div>
            </details>
        }
    });
    view! {
        <li class="token" data-over=is_over.then_some("")>
            <div class="token-name">
                <span><bdi>{client.name}</bdi> " at " <bdi>{host}</bdi></span>
                <StateBadge state />
            </div>
            <p class="token-facts">
                <span>{token.scopes.join(", ")}</span>
                <span>"connected " <When at=client.since /></span>
                <span>
                    {match token.last_used_at {
                        Some(moment) => view! { "used " <When at=moment /> }.into_any(),
                        None => "never used".into_any(),
                    }}
                </span>
                <span>{client.refresh_expires_at.map(|moment| view! { "ends unless used, " <When at=moment /> })}</span>
            </p>
            {revoke}
        </li>
    }
    .into_any()
}

/// Without JavaScript too, a step that says what it will do stands before it.
fn revocation(path: String, token_id: i64, hint: String) -> impl IntoView {
    view! {
        <details class="confirm">
            <summary>
                "Revoke" <span class="visually-hidden">" the token " {hint.clone()}</span>
            </summary>
            <div>
                <p>
                    "Programs that use " <code>{hint}</code>
                    " lose access at once. This cannot be undone; the memories they added stay."
                </p>
                <form
                    method="post"
                    action=format!("{path}/{token_id}/revoke")
                >
                    <button class="danger" type="submit">
                        "Revoke this token"
                    </button>
                </form>
            </div>
        </details>
    }
    .into_any()
}

/// The fields of [`TokenChoices`], for the error that is of none of them.
pub const TOKEN_FIELDS: &[&str] = &["scope", "expires_days"];

/// Scopes and lifetime, inside the form that makes a token. `prefix` keeps the
/// ids of several such forms on one page apart.
#[component]
pub fn TokenChoices(
    form: FormState,
    prefix: String,
    #[prop(optional)] is_service: bool,
) -> impl IntoView {
    let is_untouched = form.values.is_empty();
    let chosen = form.value("scope");
    let is_chosen = |scope: &str| {
        is_untouched && scope != POOL_SCOPE.0 || chosen.split(' ').any(|one| one == scope)
    };
    let error = form.error_of("scope");
    let error_id = format!("{prefix}-scope-error");
    let offered = SCOPES.into_iter().chain(is_service.then_some(POOL_SCOPE));
    let scopes = offered.map(|(scope, meaning)| {
        view! {
            <label class="check">
                <input type="checkbox" name="scope" value=scope checked=is_chosen(scope) />
                <span>{meaning} " " <code>{scope}</code></span>
            </label>
        }
    });
    let described_by = error.is_some().then(|| error_id.clone());
    view! {
        <fieldset class="field" aria-describedby=described_by>
            <legend>"Permissions"</legend>
            {scopes.collect_view()}
            <FieldError id=error_id error />
        </fieldset>
        <SelectField
            form
            id=format!("{prefix}-expires")
            name="expires_days"
            label="Expires"
            choices=LIFETIMES.to_vec()
        />
    }
    .into_any()
}
