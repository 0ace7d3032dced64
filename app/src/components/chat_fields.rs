//! The fields that say where answers in words come from: the same for a person's
//! own endpoint and for the server's. A key is typed here and never shown again.

use leptos::prelude::*;

use super::{Field, KeyField, WireFormat};
use crate::view::FormState;

/// All that [`ChatFields`] asks for, for the error that is of none of them.
pub const CHAT_FIELDS: &[&str] = &[
    "own_enabled",
    "provider_type",
    "url",
    "model",
    "key",
    "daily_token_cap",
];

const FORMATS: &[(&str, &str)] = &[
    ("openai", "OpenAI-compatible"),
    ("ollama", "Ollama"),
    ("llamacpp", "llama.cpp"),
];

#[component]
pub fn ChatFields(
    form: FormState,
    has_key: bool,
    url_example: &'static str,
    url_hint: &'static str,
) -> impl IntoView {
    view! {
        <WireFormat form=form.clone() formats=FORMATS />
        <div class="field-row">
            <Field
                form=form.clone()
                name="url"
                label="URL"
                kind="url"
                hint=url_hint
                placeholder=url_example
                autocomplete="off"
                maxlength="2000"
                optional=true
            />
            <Field
                form=form.clone()
                name="model"
                label="Model"
                hint="The model's name at the endpoint."
                placeholder="llama3.2"
                autocomplete="off"
                maxlength="200"
                optional=true
            />
        </div>
        <KeyField form has_key />
    }
    .into_any()
}
