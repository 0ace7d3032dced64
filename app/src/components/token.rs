//! Tokens: one in the list, with the step that revokes it, and the choices that
//! a new one asks for. The token itself is never here: only its last characters.

use leptos::prelude::*;

use super::When;
use crate::view::{FormState, TokenRow, TokenState};

/// What a token can be allowed, and what that means.
const SCOPES: [(&str, &str); 2] = [
    ("memory:read", "Search and read memory"),
    ("memory:write", "Add and archive memory"),
];

const LIFETIMES: [(&str, &str); 4] = [
    ("", "Never"),
    ("30", "In 30 days"),
    ("90", "In 90 days"),
    ("365", "In a year"),
];

#[component]
pub fn TokenEntry(agent_id: i64, token: TokenRow) -> impl IntoView {
    let (state, word) = match token.state {
        TokenState::Valid => ("valid", "valid"),
        TokenState::Expired => ("ended", "expired"),
        TokenState::Revoked => ("ended", "revoked"),
    };
    let hint = token.hint.clone();
    let revoke = (token.state == TokenState::Valid)
        .then(|| revocation(agent_id, token.id, token.hint.clone()));
    view! {
        <li class="token" data-state=state>
            <div class="token-name">
                <code>{hint}</code>
                <span class="badge badge-outline">
                    <svg class="shape" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
                        {if token.state == TokenState::Valid {
                            view! { <path d="M4.6 10 1 6.4l1.3-1.3 2.3 2.3L9.7 2 11 3.3z" /> }
                        } else {
                            view! { <path d="M2.3 1 6 4.7 9.7 1 11 2.3 7.3 6 11 9.7 9.7 11 6 7.3 2.3 11 1 9.7 4.7 6 1 2.3z" /> }
                        }}
                    </svg>
                    {word}
                </span>
            </div>
            <p class="token-facts">
                <span>{token.scopes.join(", ")}</span>
                <span>"made " <When moment=token.created /></span>
                <span>
                    {match token.last_used {
                        Some(moment) => view! { "used " <When moment /> }.into_any(),
                        None => "never used".into_any(),
                    }}
                </span>
                <span>
                    {match token.expires {
                        Some(moment) => view! { "ends " <When moment /> }.into_any(),
                        None => "does not end by itself".into_any(),
                    }}
                </span>
            </p>
            {revoke}
        </li>
    }
    .into_any()
}

/// Without JavaScript too, a step that says what it will do stands before it.
fn revocation(agent_id: i64, token_id: i64, hint: String) -> impl IntoView {
    view! {
        <details class="confirm">
            <summary>
                "Revoke" <span class="visually-hidden">" the token " {hint.clone()}</span>
            </summary>
            <div>
                <p>
                    "Whatever uses " <code>{hint}</code>
                    " is shut out at once. This cannot be undone; the memories it added stay."
                </p>
                <form
                    method="post"
                    action=format!("/agents/{agent_id}/tokens/{token_id}/revoke")
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

/// Scopes and lifetime, inside the form that makes a token. `prefix` keeps the
/// ids of several such forms on one page apart.
#[component]
pub fn TokenChoices(form: FormState, prefix: String) -> impl IntoView {
    let chosen = form.values.get("scope").cloned();
    let is_chosen = |scope: &str| match &chosen {
        Some(chosen) => chosen.split(' ').any(|one| one == scope),
        None => true,
    };
    let error = form.error_of("scope");
    let error_id = format!("{prefix}-scope-error");
    let scopes = SCOPES.map(|(scope, meaning)| {
        view! {
            <label class="check">
                <input type="checkbox" name="scope" value=scope checked=is_chosen(scope) />
                <span>{meaning} " " <code>{scope}</code></span>
            </label>
        }
    });
    let described_by = error.is_some().then(|| error_id.clone());
    let lifetime = form.value("expires_days");
    let lifetimes = LIFETIMES.map(|(days, words)| {
        view! {
            <option value=days selected=lifetime == days>
                {words}
            </option>
        }
    });
    let select_id = format!("{prefix}-expires");
    view! {
        <fieldset class="field" aria-describedby=described_by>
            <legend>"It may"</legend>
            {scopes.into_iter().collect_view()}
            {error
                .map(|error| {
                    view! {
                        <p class="error" id=error_id role="alert">
                            {error}
                        </p>
                    }
                })}
        </fieldset>
        <div class="field">
            <label for=select_id.clone()>"Its token ends"</label>
            <select id=select_id name="expires_days">
                {lifetimes.into_iter().collect_view()}
            </select>
        </div>
    }
    .into_any()
}
