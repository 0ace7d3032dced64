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
                hint="As the endpoint calls it."
                placeholder="nomic-embed-text"
                autocomplete="off"
                maxlength="200"
                optional
            />
            <Field
                form=form.clone()
                name="dimensions"
                label="Dimensions"
                hint="Empty: as the model gives. At most 1,024."
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
        true => "Empty: the kept key stays. Give it again when the URL changes.",
        false => "Only if the endpoint asks for one. It is kept sealed and never shown again.",
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
                <span>"Forget the kept key"</span>
            </label>
        }
    });
    view! {
        <div class="field">
            <Field
                form=form.clone()
                name="key"
                label="Key"
                kind="password"
                hint
                placeholder=if has_key { "A key is kept" } else { "" }
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
            <summary>"Words before the texts"</summary>
            <div class="stack">
                <div class="field">
                    <label for=id.clone()>"Preset"</label>
                    <p class="hint" id=hint_id>
                        "Some models were trained with a word before each text, and find less without it. What is typed below goes before the preset."
                    </p>
                    <select id=id name="preset" aria-describedby=described_by>
                        <option value="">"By the model's name"</option>
                        {options.into_iter().collect_view()}
                        <option value="none" selected=chosen == "none">
                            "Nothing before either"
                        </option>
                    </select>
                    <FieldError id=error_id error />
                </div>
                <div class="field-row">
                    <Field
                        form=form.clone()
                        name="query_prefix"
                        label="Before a query"
                        autocomplete="off"
                        maxlength="500"
                        optional=true
                    />
                    <Field
                        form
                        name="document_prefix"
                        label="Before a memory"
                        autocomplete="off"
                        maxlength="500"
                        optional=true
                    />
                </div>
                <details class="fold">
                    <summary>"What the presets put there"</summary>
                    <div class="table" tabindex="0" role="group" aria-label="The presets">
                        <table>
                            <thead>
                                <tr>
                                    <th scope="col">"Model"</th>
                                    <th scope="col">"Before a query"</th>
                                    <th scope="col">"Before a memory"</th>
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
        view! { <span class="hint">"nothing"</span> }.into_any()
    } else {
        view! { <code class="prefix">{text}</code> }.into_any()
    }
}

#[component]
fn Pace(form: FormState) -> impl IntoView {
    let is_open = PACE_FIELDS.iter().any(|name| form.error_of(name).is_some());
    view! {
        <details class="fold" open=is_open>
            <summary>"Pace"</summary>
            <div class="stack">
                <p class="hint">
                    "For an endpoint that limits how much it may be asked: smaller batches, and a pause between them. They are in force at once; nothing is rebuilt."
                </p>
                <div class="field-row">
                    <Field
                        form=form.clone()
                        name="batch_size"
                        label="Texts a call"
                        hint="1 to 256"
                        inputmode="numeric"
                        autocomplete="off"
                        maxlength="4"
                        optional=true
                    />
                    <Field
                        form=form.clone()
                        name="concurrency"
                        label="Calls at once"
                        hint="1 to 8"
                        inputmode="numeric"
                        autocomplete="off"
                        maxlength="2"
                        optional=true
                    />
                    <Field
                        form
                        name="pause_ms"
                        label="Pause between"
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
