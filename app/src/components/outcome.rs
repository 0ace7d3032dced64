//! What stands between a form and its effect: what Test found, and what a save
//! would set in motion, in numbers, before it does.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::StateBadge;

use crate::forms::{Confirmation, FormState, TestResult};

/// Takes the focus, so that the answer is in sight and is read out.
#[component]
pub fn TestReport(test: TestResult) -> impl IntoView {
    let (class, state) = match test.is_ok {
        true => ("report", "works"),
        false => ("report report-failed", "failed"),
    };
    view! {
        <section class=class aria-labelledby="report-title" tabindex="-1" autofocus>
            <p class="badges">
                <StateBadge state />
            </p>
            <h3 id="report-title">{test.headline}</h3>
            {(!test.details.is_empty())
                .then(|| {
                    view! {
                        <dl class="facts">
                            {test
                                .details
                                .into_iter()
                                .map(|(term, fact)| {
                                    view! {
                                        <div>
                                            <dt>{term}</dt>
                                            <dd dir="auto">{fact}</dd>
                                        </div>
                                    }
                                })
                                .collect_view()}
                        </dl>
                    }
                })}
        </section>
    }
    .into_any()
}

/// Sends all that was typed again; in the place of the key goes what the server
/// calls the change it put aside. `path` is where the form is posted, `back` the page.
#[component]
pub fn Confirm(
    form: FormState,
    confirm: Confirmation,
    path: &'static str,
    back: &'static str,
) -> impl IntoView {
    let kept = hidden_fields(form.values)
        .into_iter()
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view();
    view! {
        <section class="ask" aria-labelledby="ask-title" tabindex="-1" autofocus>
            <h3 id="ask-title">"Save this change?"</h3>
            <p>{confirm.sentence}</p>
            <form method="post" action=path class="actions">
                {kept}
                <input type="hidden" name="staged" value=confirm.staged />
                <button class="primary" type="submit" name="action" value="confirm">
                    "Confirm"
                </button>
                <a class="button" href=back>
                    "Cancel"
                </a>
            </form>
        </section>
    }
    .into_any()
}

/// What the confirming form carries: never a key, and no second `action`.
fn hidden_fields(mut values: BTreeMap<String, String>) -> BTreeMap<String, String> {
    for name in ["action", "key", "staged"] {
        values.remove(name);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confirming_form_carries_what_was_typed_but_no_key() {
        let typed = ["action", "key", "staged", "url", "clear_key"];
        let values = typed.map(|name| (name.to_owned(), "x".to_owned())).into();
        let carried: Vec<String> = hidden_fields(values).into_keys().collect();
        assert_eq!(carried, ["clear_key", "url"]);
    }
}
