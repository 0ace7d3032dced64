//! The form of the person's own endpoint: Test asks it, Save keeps it, and
//! where that would start a rebuild, Confirm stands between.

use leptos::prelude::*;

use super::PATH;
use crate::components::{Confirm, EndpointForm, PROVIDER_FIELDS, ProviderFields, WireFormat};
use crate::view::{EmbeddingsPage, FormState};

const FORMATS: &[(&str, &str)] = &[
    ("openai", "OpenAI-compatible"),
    ("ollama", "Ollama"),
    ("custom_http", "llama.cpp or TEI, native"),
];

#[component]
pub fn Endpoint(page: EmbeddingsPage, form: FormState) -> impl IntoView {
    let own = page.own;
    let has_key = own.settings.has_key;
    let is_enabled = if own.is_enabled { "1" } else { "" };
    let mut saved = own.settings.values();
    saved.push(("own_enabled", is_enabled.to_owned()));
    saved.push(("provider_type", own.provider_type));
    let form = form.or_saved(saved);
    let confirm = form
        .confirm
        .clone()
        .map(|confirm| view! { <Confirm form=form.clone() confirm path=PATH back=PATH /> });
    let url_hint = if page.is_admin {
        "As an admin you can also use addresses in the server's network."
    } else {
        "A public address, or one that an admin allowed."
    };
    view! {
        <section class="part" id="endpoint" aria-labelledby="endpoint-title">
            <h2 id="endpoint-title">"Your own endpoint"</h2>
            <p class="lead">
                "The text of your memories is sent there. Before anything is rebuilt, you see how much and confirm it."
            </p>
            {confirm}
            {own
                .is_from_chat
                .then(|| {
                    view! {
                        <p class="aside">
                            "Filled in from your " <a href="/settings/chat">"chat model"</a>
                            ", whose server may support embeddings too. Enter an embedding model, test it, then save. Nothing changes before that."
                        </p>
                    }
                })}
            <EndpointForm
                form=form.clone()
                path=PATH
                fields=PROVIDER_FIELDS
                is_own=true
                hint="Test sends two short sample sentences, none of your memories."
            >
                <WireFormat form=form.clone() formats=FORMATS />
                <ProviderFields
                    form
                    has_key
                    url_example="http://localhost:11434"
                    url_hint
                    optional=true
                />
            </EndpointForm>
        </section>
    }
    .into_any()
}
