//! What a page says when it could not be made, or when there is none.

use leptos::prelude::*;

use crate::backend::{PageError, backend};

/// Answers with the error's status, says why in one sentence and offers to try again.
#[component]
pub fn Trouble(heading: &'static str, error: PageError, href: String) -> impl IntoView {
    backend().failed(&error);
    view! {
        <div class="prose">
            <h1>{heading}</h1>
            <p role="alert">{error.sentence}</p>
            <p>
                <a class="button" href=href>
                    "Try again"
                </a>
            </p>
        </div>
    }
}

/// Answers with 404, and shows the way back.
#[component]
pub fn NoSuchPage() -> impl IntoView {
    backend().not_found();
    view! {
        <div class="prose">
            <h1>"Page not found"</h1>
            <p>"The address may be mistyped, or what it named was deleted."</p>
            <p>
                <a href="/memory">"Go to Memory"</a>
            </p>
        </div>
    }
}

/// A sentence of the server, whose commands stand between backticks.
pub fn with_code(sentence: &str) -> impl IntoView {
    let parts = sentence.split('`').map(str::to_owned).enumerate();
    parts
        .map(|(n, part)| match n % 2 {
            0 => part.into_any(),
            _ => view! { <code>{part}</code> }.into_any(),
        })
        .collect_view()
}
