//! The fields of an embedding endpoint that a chat endpoint has not: the prefixes of texts, and
//! how fast it is called.

use leptos::prelude::*;

use super::{Field, NumberField, SelectField};
use crate::forms::FormState;
use crate::providers::presets::PRESETS;

const PACE_FIELDS: [&str; 3] = ["batch_size", "concurrency", "pause_ms"];
const PREFIX_FIELDS: [&str; 3] = ["preset", "query_prefix", "document_prefix"];

#[component]
pub fn EmbeddingFields(form: FormState) -> impl IntoView {
    view! {
        <Prefixes form=form.clone() />
        <Pace form />
    }
    .into_any()
}

/// Folded, unless something in it is typed, chosen or wrong.
#[component]
fn Prefixes(form: FormState) -> impl IntoView {
    let is_open = PREFIX_FIELDS
        .iter()
        .any(|name| !form.value(name).is_empty() || form.error_of(name).is_some());
    let choices = PRESETS.map(|preset| (preset.slug, preset.name)).to_vec();
    let shown = PRESETS.into_iter().filter(|preset| preset.slug != "none");
    let rows = shown.map(|preset| {
        let prefixes = preset.prefixes();
        view! {
            <tr>
                <th scope="row">{preset.name}</th>
                <td>{prefix(prefixes.query)}</td>
                <td>{prefix(prefixes.document)}</td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <details class="fold" open=is_open>
            <summary>"Input prefixes"</summary>
            <div class="stack">
                <SelectField
                    form=form.clone()
                    name="preset"
                    label="Preset"
                    hint="Some models were trained with a prefix before each text, and find less without it. A prefix entered below takes precedence over the preset."
                    any="Automatic, by the model's name"
                    choices
                />
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
                            <tbody>{rows}</tbody>
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
                    <NumberField
                        form=form.clone()
                        name="batch_size"
                        label="Batch size"
                        hint="Texts per call, 1 to 256"
                        maxlength="4"
                    />
                    <NumberField
                        form=form.clone()
                        name="concurrency"
                        label="Concurrency"
                        hint="Calls at the same time, 1 to 8"
                        maxlength="2"
                    />
                    <NumberField
                        form
                        name="pause_ms"
                        label="Pause between calls"
                        hint="In milliseconds"
                        maxlength="6"
                    />
                </div>
            </div>
        </details>
    }
    .into_any()
}
