//! The page that a reset link opens: choose a new password, with JavaScript or without. A link that
//! cannot be used says so in the same words, whatever the reason.

use axum::response::Response;
use leptos::prelude::*;

use crate::components::not_found;
use crate::components::{FormError, Password, Section, When};
use crate::forms::{FormName, FormState};
use crate::page::{Asked, account_error};
use crate::view::ResetPage;

pub async fn show(page: Asked) -> Response {
    let form = page.form.of(FormName::Reset);
    let path = format!("/reset/{}", page.id());
    let found = page.reset_view(page.id()).await.map_err(account_error);
    page.render(Section::Elsewhere, "New password", path.clone(), found, move |page| {
        let body = match page {
            Some(page) => open(page, form.clone(), path.clone()).into_any(),
            None => {
                not_found();
                over().into_any()
            }
        };
        view! { <div class="door">{body}</div> }.into_any()
    })
    .await
}

fn open(page: ResetPage, form: FormState, path: String) -> impl IntoView {
    view! {
        <h1>"Choose a new password"</h1>
        <p class="lead">
            "For " <bdi><strong>{page.email}</strong></bdi>
            ". Every browser is signed out of this account. Your agents and memories stay unchanged."
        </p>
        <form class="stack" method="post" action=path>
            <FormError form=form.clone() fields=&["password"] />
            <Password form name="password" label="New password" new=true />
            <button class="primary wide" type="submit">
                "Set the password"
            </button>
        </form>
        <p class="hint">"The link works once, and expires " <When at=page.expires /> "."</p>
    }
    .into_any()
}

fn over() -> impl IntoView {
    view! {
        <h1>"This link cannot be used"</h1>
        <p class="lead">
            "It was already used or revoked, is older than 24 hours, or its address is incomplete. Ask an admin of this server for a new one."
        </p>
        <p>
            <a href="/login">"Sign in"</a>
        </p>
    }
    .into_any()
}
