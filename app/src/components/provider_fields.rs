//! The fields that say where vectors come from: the same for a person's own
//! endpoint and for the system's. A key is typed here and never shown again.

use leptos::prelude::*;

use super::{Field, FieldError};
use crate::view::FormState;

/// All that [`ProviderFields`] asks for, for the error that is of none of them.
pub const PROVIDER_FIELDS: &[&str] = &[
    "own_enabled",
    "provider_type",
    "url",
    "model",
    "dimensions",
    "key",
    "preset",
    "query_prefix",
    "document_prefix",
    "batch_size",
    "concurrency",
    "pause_ms",
];

const PACE_FIELDS: [&str; 3] = ["batch_size", "concurrency", "pause_ms"];
const PREFIX_FIELDS: [&str; 3] = ["preset", "query_prefix", "document_prefix"];

/// What a model wants before its texts: slug, name, before a query, before a memory.
const PRESETS: [(&str, &str, &str, &str); 5] = [
    ("minilm", "MiniLM", "", ""),
    ("e5", "E5", "query: ", "passage: "),
    (
        "nomic",
        "nomic-embed",
        "search_query: ",
        "search_document: ",
    ),
    (
        "bge",
        "BGE",
        "Represent this sentence for searching relevant passages: ",
        "",
    ),
    (
        "qwen3",
        "Qwen3-Embedding",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
        "",
    ),
];

#[component]
pub fn ProviderFields(
    form: FormState,
    has_key: bool,
    url_example: &'static str,
    url_hint: &'static str,
    #[prop(optional)] optional: bool,
) -> impl IntoView {
    view! {
        <Field
            form=form.clone()
            name="url"
            label="URL"
            kind="url"
            hint=url_hint
            placeholder=url_example
            autocomplete="off"
            maxlength="2000"
            optional
        />
        <div class="field-row">
            <Field
                form=form.clone()
                name="model"
                label="Model"
                hint="The model's name at the endpoint."
                placeholder="nomic-embed-text"
                autocomplete="off"
                maxlength="200"
                optional
            />
            <Field
                form=form.clone()
                name="dimensions"
                label="Dimensions"
                hint="Leave blank for the model's own. At most 1,024."
                inputmode="numeric"
                autocomplete="off"
                maxlength="5"
                optional=true
            />
        </div>
        <KeyField form=form.clone() has_key />
        <Prefixes form=form.clone() />
        <Pace form />
    }
    .into_any()
}

/// Typed here and never shown again.
#[component]
pub fn KeyField(form: FormState, has_key: bool) -> impl IntoView {
    let hint = match has_key {
        true => "Leave blank to keep the saved key. Enter it again when you change the URL.",
        false => "Only if the endpoint requires one. It is stored encrypted and never shown again.",
    };
    let clear = has_key.then(|| {
        view! {
            <label class="check">
                <input
                    type="checkbox"
                    name="clear_key"
                    value="1"
                    checked=form.value("clear_key") == "1"
                />
                <span>"Delete the saved key"</span>
            </label>
        }
    });
    view! {
        <div class="field">
            <Field
                form=form.clone()
                name="key"
                label="API key"
                kind="password"
                hint
                placeholder=if has_key { "A key is saved" } else { "" }
                autocomplete="off"
                maxlength="4000"
                optional=true
            />
            {clear}
        </div>
    }
    .into_any()
}

/// Folded, unless something in it is typed, chosen or wrong.
#[component]
fn Prefixes(form: FormState) -> impl IntoView {
    let is_open = PREFIX_FIELDS
        .iter()
        .any(|name| !form.value(name).is_empty() || form.error_of(name).is_some());
    let chosen = form.value("preset");
    let options = PRESETS.map(|(slug, name, ..)| {
        view! {
            <option value=slug selected=chosen == slug>
                {name}
            </option>
        }
    });
    let rows = PRESETS.map(|(_, name, query, document)| {
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td>{prefix(query)}</td>
                <td>{prefix(document)}</td>
            </tr>
        }
    });
    let id = format!("{}-preset", form.form);
    let hint_id = format!("{id}-hint");
    let error_id = format!("{id}-error");
    let error = form.error_of("preset");
    let described_by = match error {
        Some(_) => format!("{hint_id} {error_id}"),
        None => hint_id.clone(),
    };
    view! {
        <details class="fold" open=is_open>
            <summary>"Input prefixes"</summary>
            <div class="stack">
                <div class="field">
                    <label for=id.clone()>"Preset"</label>
                    <p class="hint" id=hint_id>
                        "Some models were trained with a prefix before each text, and find less without it. A prefix entered below takes precedence over the preset."
                    </p>
                    <select id=id name="preset" aria-describedby=described_by>
                        <option value="">"Automatic, by the model's name"</option>
                        {options.into_iter().collect_view()}
                        <option value="none" selected=chosen == "none">
                            "No prefixes"
                        </option>
                    </select>
                    <FieldError id=error_id error />
                </div>
                <div class="field-row">
                    <Field
                        form=form.clone()
                        name="query_prefix"
                        label="Query prefix"
                        autocomplete="off"
                        maxlength="500"
                        optional=true
                    />
                    <Field
                        form
                        name="document_prefix"
                        label="Memory prefix"
                        autocomplete="off"
                        maxlength="500"
                        optional=true
                    />
                </div>
                <details class="fold">
                    <summary>"Prefixes of the presets"</summary>
                    <div class="table" tabindex="0" role="group" aria-label="Presets">
                        <table>
                            <thead>
                                <tr>
                                    <th scope="col">"Model"</th>
                                    <th scope="col">"Query prefix"</th>
                                    <th scope="col">"Memory prefix"</th>
                                </tr>
                            </thead>
                            <tbody>{rows.into_iter().collect_view()}</tbody>
                        </table>
                    </div>
                </details>
            </div>
        </details>
    }
    .into_any()
}

fn prefix(text: &'static str) -> AnyView {
    if text.is_empty() {
        view! { <span class="hint">"none"</span> }.into_any()
    } else {
        view! { <code class="prefix">{text}</code> }.into_any()
    }
}

#[component]
fn Pace(form: FormState) -> impl IntoView {
    let is_open = PACE_FIELDS.iter().any(|name| form.error_of(name).is_some());
    view! {
        <details class="fold" open=is_open>
            <summary>"Request limits"</summary>
            <div class="stack">
                <p class="hint">
                    "For an endpoint with rate limits: smaller batches, and a pause between them. Changes take effect at once; nothing is rebuilt."
                </p>
                <div class="field-row">
                    <Field
                        form=form.clone()
                        name="batch_size"
                        label="Batch size"
                        hint="Texts per call, 1 to 256"
                        inputmode="numeric"
                        autocomplete="off"
                        maxlength="4"
                        optional=true
                    />
                    <Field
                        form=form.clone()
                        name="concurrency"
                        label="Concurrency"
                        hint="Calls at the same time, 1 to 8"
                        inputmode="numeric"
                        autocomplete="off"
                        maxlength="2"
                        optional=true
                    />
                    <Field
                        form
                        name="pause_ms"
                        label="Pause between calls"
                        hint="In milliseconds"
                        inputmode="numeric"
                        autocomplete="off"
                        maxlength="6"
                        optional=true
                    />
                </div>
            </div>
        </details>
    }
    .into_any()
}
