//! The form of the person's own endpoint: Test asks it, Save keeps it, and
//! where that would start a rebuild, Confirm stands between.

use leptos::prelude::*;

use super::PATH;
use crate::components::{
    Confirm, FieldError, FormError, PROVIDER_FIELDS, ProviderFields, TestReport,
};
use crate::view::{EmbeddingsPage, FormState};

const PROVIDER_TYPES: [(&str, &str); 3] = [
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
    let test = form.test.clone().map(|test| view! { <TestReport test /> });
    let confirm = form
        .confirm
        .clone()
        .map(|confirm| view! { <Confirm form=form.clone() confirm path=PATH back=PATH /> });
    let url_hint = if page.is_admin {
        "Of the server's own network too, as you are an admin."
    } else {
        "A public address, or one that an admin has allowed."
    };
    let enabled_error = form.error_of("own_enabled");
    view! {
        <section class="part" id="endpoint" aria-labelledby="endpoint-title">
            <h2 id="endpoint-title">"Your own endpoint"</h2>
            <p class="lead">
                "The text of your memories is sent there. Nothing is rebuilt before you have seen how much, and confirmed it."
            </p>
            {confirm}
            {test}
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
            <form class="stack wide-stack" method="post" action=PATH>
                <FormError form=form.clone() fields=PROVIDER_FIELDS />
                <div>
                    <label class="check">
                        <input
                            type="checkbox"
                            name="own_enabled"
                            value="1"
                            checked=form.value("own_enabled") == "1"
                        />
                        <span>"Use this endpoint"</span>
                    </label>
                    <FieldError id="own_enabled-error".to_owned() error=enabled_error />
                </div>
                <Kind form=form.clone() />
                <ProviderFields
                    form
                    has_key
                    url_example="http://localhost:11434"
                    url_hint
                    optional=true
                />
                <div class="actions">
                    <button class="primary" type="submit" name="action" value="save">
                        "Save"
                    </button>
                    <button type="submit" name="action" value="test">
                        "Test"
                    </button>
                    <span class="hint">"Test sends two short sentences, none of them yours."</span>
                </div>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Kind(form: FormState) -> impl IntoView {
    let chosen = form.value("provider_type");
    let error = form.error_of("provider_type");
    let error_id = "provider_type-error".to_owned();
    let described_by = error.is_some().then(|| error_id.clone());
    let options = PROVIDER_TYPES.map(|(slug, name)| {
        view! {
            <option value=slug selected=chosen == slug>
                {name}
            </option>
        }
    });
    view! {
        <div class="field">
            <label for="provider_type">"It speaks"</label>
            <select id="provider_type" name="provider_type" aria-describedby=described_by>
                {options.into_iter().collect_view()}
            </select>
            <FieldError id=error_id error />
        </div>
    }
    .into_any()
}
