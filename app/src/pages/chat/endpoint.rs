//! The form of the person's own chat endpoint: Test asks it one question, Save keeps
//! it and puts it in force, Remove forgets it.

use leptos::prelude::*;

use super::PATH;
use crate::components::{CHAT_FIELDS, ChatFields, EndpointForm, FoldedStep};
use crate::view::{ChatPage, FormState};

#[component]
pub fn Endpoint(page: ChatPage, form: FormState) -> impl IntoView {
    let has_key = page.own.has_key;
    let is_set = !page.own.url.is_empty();
    let is_enabled = if page.own_enabled { "1" } else { "" };
    let mut saved = page.own.values();
    saved.push(("own_enabled", is_enabled.to_owned()));
    let form = form.or_saved(saved);
    let url_hint = if page.is_admin {
        "As an admin you can also use addresses in the server's network."
    } else {
        "A public address, or one that an admin allowed."
    };
    let remove = is_set.then(|| {
        view! {
            <FoldedStep
                summary="Remove this endpoint"
                words="Its address, model and key are deleted."
                path=PATH
                action="remove"
                button="Remove"
            />
        }
    });
    view! {
        <section class="part" id="endpoint" aria-labelledby="endpoint-title">
            <h2 id="endpoint-title">"Your own endpoint"</h2>
            <p class="lead">
                "Your conversations are sent there and nowhere else. It takes precedence over the system chat model."
            </p>
            <EndpointForm
                form=form.clone()
                path=PATH
                fields=CHAT_FIELDS
                is_own=true
                hint="Test asks the model for the capital of France."
            >
                <ChatFields form has_key url_example="http://localhost:11434" url_hint />
            </EndpointForm>
            {remove}
        </section>
    }
    .into_any()
}
