//! The page that a reset link opens: choose a new password, with JavaScript or without. A link that
//! cannot be used says so in the same words, whatever the reason.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::backend::backend;
use crate::components::{FormError, Frame, Password, Section, Trouble, When};
use crate::view::{FormState, ResetPage};

#[component]
pub fn Reset() -> impl IntoView {
    let token = use_params_map().with_untracked(|params| params.get("token")).unwrap_or_default();
    let backend = backend();
    let form = backend.form().of("reset");
    let page = Suspend::new(async move {
        let path = format!("/reset/{token}");
        match backend.reset_page(&token).await {
            Ok(Some(page)) => open(page, form, path).into_any(),
            Ok(None) => {
                backend.not_found();
                over().into_any()
            }
            Err(error) => view! { <Trouble heading="New password" error href=path /> }.into_any(),
        }
    });
    view! {
        <Frame section=Section::Elsewhere title="New password".to_owned()>
            <div class="door">{page}</div>
        </Frame>
    }
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
        <p class="hint">"The link works once, and expires " <When moment=page.expires /> "."</p>
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
