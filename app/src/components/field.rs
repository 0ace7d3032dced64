//! A labelled field whose error stands beside it, and what a form says as a
//! whole. What was typed comes back in place; passwords never do.

use crate::forms::FormState;
use leptos::prelude::*;

#[component]
pub fn Field(
    form: FormState,
    name: &'static str,
    label: &'static str,
    #[prop(default = "text")] kind: &'static str,
    #[prop(optional)] autocomplete: Option<&'static str>,
    #[prop(optional)] hint: Option<&'static str>,
    #[prop(optional)] maxlength: Option<&'static str>,
    #[prop(optional)] placeholder: Option<&'static str>,
    #[prop(optional)] inputmode: Option<&'static str>,
    /// The id of a `datalist`.
    #[prop(optional)]
    list: Option<&'static str>,
    #[prop(optional)] autofocus: bool,
    /// May stay empty.
    #[prop(optional)]
    optional: bool,
) -> impl IntoView {
    let id = form.id_of(name);
    let error = form.error_of(name);
    let failed = error.is_some();
    let value = (kind != "password").then(|| form.value(name));
    let hint_id = format!("{id}-hint");
    let error_id = format!("{id}-error");
    let mut described_by = Vec::new();
    if hint.is_some() {
        described_by.push(hint_id.clone());
    }
    if failed {
        described_by.push(error_id.clone());
    }
    let described_by = (!described_by.is_empty()).then(|| described_by.join(" "));
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            {hint
                .map(|hint| {
                    view! {
                        <p class="hint" id=hint_id>
                            {hint}
                        </p>
                    }
                })}
            <input
                id=id
                type=kind
                name=name
                value=value
                required=!optional
                autocomplete=autocomplete
                maxlength=maxlength
                placeholder=placeholder
                inputmode=inputmode
                list=list
                dir=(kind == "text").then_some("auto")
                autofocus=autofocus || failed
                aria-invalid=failed.then_some("true")
                aria-describedby=described_by
            />
            <FieldError id=error_id error />
        </div>
    }
    .into_any()
}

/// A number, or nothing.
#[component]
pub fn NumberField(
    form: FormState,
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    maxlength: &'static str,
) -> impl IntoView {
    view! {
        <Field
            form
            name
            label
            hint
            inputmode="numeric"
            autocomplete="off"
            maxlength
            optional=true
        />
    }
    .into_any()
}

/// A password field; `new` ones say what is asked of a password.
#[component]
pub fn Password(
    form: FormState,
    name: &'static str,
    label: &'static str,
    #[prop(optional)] new: bool,
) -> impl IntoView {
    if new {
        view! {
            <Field
                form
                name
                label
                kind="password"
                autocomplete="new-password"
                hint="At least 10 characters; a long sentence is better than a clever word."
            />
        }
        .into_any()
    } else {
        view! { <Field form name label kind="password" autocomplete="current-password" /> }
            .into_any()
    }
}

/// One of several values, each with its words.
#[component]
pub fn SelectField(
    form: FormState,
    name: &'static str,
    label: &'static str,
    choices: Vec<(&'static str, &'static str)>,
    /// Instead of the form's own id of the field.
    #[prop(optional)]
    id: Option<String>,
    #[prop(optional)] hint: Option<&'static str>,
    /// The words of the empty value, which comes first.
    #[prop(optional, into)]
    any: Option<String>,
) -> impl IntoView {
    let id = id.unwrap_or_else(|| form.id_of(name));
    let (chosen, error) = (form.value(name), form.error_of(name));
    let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
    let described = [(hint.is_some(), &hint_id), (error.is_some(), &error_id)];
    let described = described.into_iter().filter(|(is_there, _)| *is_there).map(|(_, id)| &**id);
    let described_by = Some(described.collect::<Vec<_>>().join(" ")).filter(|ids| !ids.is_empty());
    let options = choices.into_iter().map(|(value, words)| {
        view! {
            <option value=value selected=chosen == value>
                {words}
            </option>
        }
    });
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            {hint
                .map(|hint| {
                    view! {
                        <p class="hint" id=hint_id>
                            {hint}
                        </p>
                    }
                })}
            <select id=id name=name aria-describedby=described_by>
                {any.map(|words| view! { <option value="">{words}</option> })}
                {options.collect_view()}
            </select>
            <FieldError id=error_id error />
        </div>
    }
    .into_any()
}

/// The error that stands beside the field it is about.
#[component]
pub fn FieldError(id: String, error: Option<String>) -> impl IntoView {
    error.map(|error| {
        view! {
            <p class="error" id=id role="alert">
                {error}
            </p>
        }
    })
}

/// The error that stands beside none of the form's `fields`.
#[component]
pub fn FormError(form: FormState, fields: &'static [&'static str]) -> impl IntoView {
    form.error_beside_none_of(fields).map(|error| {
        view! {
            <p class="error" role="alert">
                {error}
            </p>
        }
    })
}

/// The sentence that says it went well.
#[component]
pub fn Done(form: FormState) -> impl IntoView {
    form.done.map(|done| {
        view! {
            <p class="done" role="status">
                {done}
            </p>
        }
    })
}
