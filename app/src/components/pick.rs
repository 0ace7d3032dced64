//! One of several values, or any: a part of a form that narrows a list.

use leptos::prelude::*;

/// Value, words, and whether it is chosen.
pub type Choice = (String, String, bool);

#[component]
pub fn Pick(
    name: &'static str,
    label: &'static str,
    any: &'static str,
    choices: Vec<Choice>,
) -> impl IntoView {
    let is_chosen = choices.iter().any(|(.., chosen)| *chosen).then_some("");
    let options = choices.into_iter().map(|(value, words, chosen)| {
        view! {
            <option value=value selected=chosen>
                {words}
            </option>
        }
    });
    view! {
        <label class="pick">
            <span class="visually-hidden">{label}</span>
            <select id=format!("filter-{name}") name=name data-chosen=is_chosen>
                <option value="">{any}</option>
                {options.collect_view()}
            </select>
        </label>
    }
    .into_any()
}
