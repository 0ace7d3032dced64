//! What the pages of links share: an invitation, a new password, a team. A link that cannot be used says so in the same words,
//! whatever the reason.

use std::net::IpAddr;

use keepsake_edge::AppState;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::de::DeserializeOwned;

use crate::accounts::{AccountError, LinkToken};
use crate::components::not_found;
use crate::forms::Form;

/// The address of the link's page, such as `/reset/…`.
pub fn path_of(page: &str, token: Option<&LinkToken>) -> String {
    match token {
        Some(token) => format!("{page}/{}", token.clone().reveal()),
        None => format!("{page}/unknown"),
    }
}

/// What a stranger posted on a link's page, if they may try its token now.
pub async fn by_link<'a, T: DeserializeOwned>(
    state: &AppState,
    address: IpAddr,
    fields: &Form,
    token: Option<&'a LinkToken>,
    over: AccountError,
) -> Result<(T, &'a LinkToken), Problem> {
    let form = fields.read()?;
    let token = token.ok_or(over)?;
    state.throttles.admit_sign_in(&token.clone().reveal(), address).await?;
    Ok((form, token))
}

/// Answers 404. `leads` is the address and the words of a link to what else there is.
pub fn unusable(
    (heading, why): (&'static str, &'static str),
    leads: (&'static str, &'static str),
) -> AnyView {
    not_found();
    view! {
        <h1>{heading}</h1>
        <p class="lead">{why}</p>
        <p>
            <a href=leads.0>{leads.1}</a>
        </p>
    }
    .into_any()
}

pub const INVITATION_OVER: (&str, &str) = (
    "This invitation cannot be used",
    "It was already used or revoked, is older than 7 days, or its address is incomplete. Ask the person who invited you for a new one.",
);
pub const SIGN_IN: (&str, &str) = ("/login", "Sign in");
