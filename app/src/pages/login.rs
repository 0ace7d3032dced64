//! The door: sign in, make an account, or make the very first one. Which of
//! these is offered is the server's to say; where to go afterwards travels in
//! a hidden field.

pub mod load;
pub mod post;

use axum::response::{IntoResponse, Redirect, Response};
use keepsake_edge::visitor::Visitor;
use leptos::prelude::*;

use crate::components::{Done, Field, FormError, Password, Section};
use crate::forms::{FormName, FormState};
use crate::page::Asked;
use crate::view::SignInOffer;

const PATH: &str = "/login";

/// Who is signed in already goes on to the memory page.
pub async fn show(page: Asked) -> Response {
    if let Visitor::SignedIn(_) = page.visitor {
        return Redirect::to("/memory").into_response();
    }
    // After a failed post the address is that of the post: the field remembers.
    let next = page.asked_for("next").unwrap_or_else(|| page.form.value("next"));
    let form = page.form.clone();
    let found = page.sign_in_offer().await;
    page.render(Section::Elsewhere, "Sign in", PATH, found, move |offer| {
        let body = offered(offer, form.clone(), next.clone());
        view! { <div class="door">{body}</div> }.into_any()
    })
    .await
}

fn offered(offer: SignInOffer, form: FormState, next: String) -> impl IntoView {
    let sign_in = form.of(FormName::Login);
    let sign_up = form.of(FormName::SignUp);
    match offer {
        SignInOffer::FirstAccount => view! {
            <h1>"Welcome to Keepsake"</h1>
            <p class="lead">
                "This server stores what your agents learn about you, and shows you all of it. Nobody has an account yet. The first account is the admin."
            </p>
            {account_form(sign_up, next, "Create the admin account", true)}
        }
        .into_any(),
        SignInOffer::SignIn => view! {
            <h1>"Sign in"</h1>
            <p class="lead">"To read what your agents remember about you."</p>
            {sign_in_form(sign_in, next)}
            <p class="hint">
                "No account? The server's operator creates one with " <code>"keepsake user create"</code>
                ". Forgot your password? An admin can create a link that sets a new one."
            </p>
        }
        .into_any(),
        SignInOffer::SignInOrFirstAdmin | SignInOffer::SignInOrSignUp => {
            let is_signing_up = form.form == Some(FormName::SignUp);
            let (question, action) = match offer {
                SignInOffer::SignInOrFirstAdmin => {
                    ("No admin yet?", "Create the admin account")
                }
                _ => ("New here?", "Create an account"),
            };
            view! {
                <h1>"Sign in"</h1>
                <p class="lead">"To read what your agents remember about you."</p>
                {sign_in_form(sign_in, next.clone())}
                <details class="fold" open=is_signing_up>
                    <summary>{question} " " {action}</summary>
                    {account_form(sign_up, next, action, false)}
                </details>
            }
            .into_any()
        }
    }
}

fn sign_in_form(form: FormState, next: String) -> impl IntoView {
    view! {
        <Done form=form.clone() />
        <form class="stack" method="post" action="/login">
            <FormError form=form.clone() fields=&["email", "password"] />
            <input type="hidden" name="next" value=next />
            <Field
                form=form.clone()
                name="email"
                label="E-mail address"
                kind="email"
                autocomplete="username"
                autofocus=form.error.is_none()
            />
            <Password form name="password" label="Password" />
            <button class="primary wide" type="submit">
                "Sign in"
            </button>
        </form>
    }
    .into_any()
}

fn account_form(
    form: FormState,
    next: String,
    action: &'static str,
    autofocus: bool,
) -> impl IntoView {
    view! {
        <form class="stack" method="post" action="/signup">
            <FormError form=form.clone() fields=&["email", "password"] />
            <input type="hidden" name="next" value=next />
            <Field
                form=form.clone()
                name="email"
                label="E-mail address"
                kind="email"
                autocomplete="username"
                autofocus=autofocus && form.error.is_none()
            />
            <Password form name="password" label="Password" new=true />
            <button class="primary wide" type="submit">
                {action}
            </button>
        </form>
    }
    .into_any()
}
