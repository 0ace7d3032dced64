//! What a page says when it could not be made, or when there is none.

use axum::http::StatusCode;
use leptos::prelude::*;
use leptos_axum::ResponseOptions;

/// Says in one sentence why a page could not be made, and offers to try again.
#[component]
pub fn Trouble(title: String, sentence: String, href: String) -> impl IntoView {
    let heading = title.split(" · ").next().unwrap_or_default().to_owned();
    view! {
        <div class="prose">
            <h1>{heading}</h1>
            <p role="alert">{sentence}</p>
            <p>
                <a class="button" href=href>
                    "Try again"
                </a>
            </p>
        </div>
    }
}

/// Answers 404 with the page that is being rendered.
pub fn not_found() {
    if let Some(options) = use_context::<ResponseOptions>() {
        options.set_status(StatusCode::NOT_FOUND);
    }
}

/// Answers with 404, and shows the way back.
#[component]
pub fn NoSuchPage() -> impl IntoView {
    not_found();
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
