//! The form of the person's own endpoint: Test asks it, Save keeps it, and
//! where that would start a rebuild, Confirm stands between.

use leptos::prelude::*;

use super::PATH;
use crate::components::{Confirm, EndpointForm, PROVIDER_FIELDS, ProviderFields, WireFormat};
use crate::view::{EmbeddingsPage, FormState};

const FORMATS: &[(&str, &str)] = &[
    ("openai", "OpenAI's form, as vLLM and most do"),
    ("ollama", "Ollama"),
    ("custom_http", "The own form of llama.cpp or TEI"),
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
        "Of the server's own network too, as you are an admin."
    } else {
        "A public address, or one that an admin has allowed."
    };
    view! {
        <section class="part" id="endpoint" aria-labelledby="endpoint-title">
            <h2 id="endpoint-title">"Your own endpoint"</h2>
            <p class="lead">
                "The text of your memories is sent there. Nothing is rebuilt before you have seen how much, and confirmed it."
            </p>
            {confirm}
            {own
                .is_from_chat
                .then(|| {
                    view! {
                        <p class="aside">
                            "Filled in from your " <a href="/settings/chat">"chat model"</a>
                            ", whose server may make vectors too: name an embedding model of it, test it, and save. Nothing is in force before that."
                        </p>
                    }
                })}
            <EndpointForm
                form=form.clone()
                path=PATH
                fields=PROVIDER_FIELDS
                is_own=true
                hint="Test sends two short sentences, none of them yours."
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
