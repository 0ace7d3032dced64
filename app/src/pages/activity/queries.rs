//! Whether the words of searches are kept, and the step that forgets those
//! that were: by plain forms, each of which says what it does.

use leptos::prelude::*;

use crate::components::{FormError, count};
use crate::view::FormState;

/// `kept_for` says how long calls are kept; empty where there are none yet.
#[component]
pub fn Queries(is_on: bool, kept: i64, form: FormState, kept_for: String) -> impl IntoView {
    let (state, action, button) = match is_on {
        true => (
            "The words of searches are kept beside each call, so that you can see what an agent looked for.",
            "stop",
            "Stop keeping them",
        ),
        false => (
            "The words of searches are not kept: a call says which memories it found, not what was asked. You can have the words of later searches kept too, their first 500 characters; only you see them.",
            "keep",
            "Keep the words of searches",
        ),
    };
    let forget = (kept > 0).then(|| forget(kept));
    view! {
        <section class="part" aria-labelledby="queries">
            <h2 id="queries">"What is kept"</h2>
            {(!kept_for.is_empty()).then(|| view! { <p>{kept_for}</p> })}
            <p>{state}</p>
            <FormError form fields=&[] />
            <form method="post" action="/activity/queries">
                <button type="submit" name="action" value=action>
                    {button}
                </button>
            </form>
            {forget}
        </section>
    }
    .into_any()
}

fn forget(kept: i64) -> impl IntoView {
    let searches = match kept {
        1 => "1 search".to_owned(),
        n => format!("{} searches", count(n)),
    };
    view! {
        <details class="confirm">
            <summary>{format!("Forget the words of {searches}")}</summary>
            <div>
                <p>
                    {format!("The words of {searches} are removed. This cannot be undone; the calls stay.")}
                </p>
                <form method="post" action="/activity/queries">
                    <button class="danger" type="submit" name="action" value="forget">
                        "Forget them"
                    </button>
                </form>
            </div>
        </details>
    }
    .into_any()
}
