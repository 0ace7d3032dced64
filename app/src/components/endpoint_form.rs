//! The form that says which endpoint to ask: the same for vectors and for answers, for
//! a person's own and for everybody's. What is asked for in it is its caller's.

use leptos::prelude::*;

use super::{FieldError, FormError, TestReport};
use crate::view::FormState;

/// What *Test* found, then the form: its children between what is wrong with none of its
/// `fields`, and Save and Test. `hint` says what Test sends.
#[component]
pub fn EndpointForm(
    form: FormState,
    path: &'static str,
    fields: &'static [&'static str],
    /// A person's own, which may be kept and not used.
    #[prop(optional)]
    is_own: bool,
    #[prop(optional)] hint: &'static str,
    children: Children,
) -> impl IntoView {
    let test = form.test.clone().map(|test| view! { <TestReport test /> });
    let own = is_own.then(|| view! { <InUse form=form.clone() /> });
    let hint = (!hint.is_empty()).then(|| view! { <span class="hint">{hint}</span> });
    view! {
        {test}
        <form class="stack wide-stack" method="post" action=path>
            <FormError form fields />
            {own}
            {children()}
            <div class="actions">
                <button class="primary" type="submit" name="action" value="save">
                    "Save"
                </button>
                <button type="submit" name="action" value="test">
                    "Test"
                </button>
                {hint}
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn InUse(form: FormState) -> impl IntoView {
    let error = form.error_of("own_enabled");
    view! {
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
            <FieldError id="own_enabled-error".to_owned() error />
        </div>
    }
    .into_any()
}

/// The wire formats to choose from: slug and name.
#[component]
pub fn WireFormat(
    form: FormState,
    formats: &'static [(&'static str, &'static str)],
) -> impl IntoView {
    let chosen = form.value("provider_type");
    let error = form.error_of("provider_type");
    let id = format!("{}-provider_type", form.form);
    let error_id = format!("{id}-error");
    let described_by = error.is_some().then(|| error_id.clone());
    let options = formats.iter().map(|(slug, name)| {
        view! {
            <option value=*slug selected=chosen == *slug>
                {*name}
            </option>
        }
    });
    view! {
        <div class="field">
            <label for=id.clone()>"API format"</label>
            <select id=id name="provider_type" aria-describedby=described_by>
                {options.collect_view()}
            </select>
            <FieldError id=error_id error />
        </div>
    }
    .into_any()
}

/// A step that is folded away until it is asked for, and says what it will do.
#[component]
pub fn FoldedStep(
    summary: &'static str,
    #[prop(into)] words: String,
    path: &'static str,
    action: &'static str,
    button: &'static str,
) -> impl IntoView {
    view! {
        <details class="confirm calm">
            <summary>{summary}</summary>
            <div>
                <p>{words}</p>
                <form method="post" action=path>
                    <button type="submit" name="action" value=action>
                        {button}
                    </button>
                </form>
            </div>
        </details>
    }
    .into_any()
}
