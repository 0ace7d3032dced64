//! There is no such page, or what was sent is refused and no page can show why: says so, and shows the way back.

use leptos::prelude::*;

use crate::backend::backend;
use crate::components::{Frame, NoSuchPage, Section};

#[component]
pub fn NotFound() -> impl IntoView {
    let (title, body) = match backend().form().error {
        Some(sentence) => (
            "Refused",
            view! {
                <div class="prose">
                    <h1>"That did not work"</h1>
                    <p role="alert">{sentence}</p>
                    <p>
                        <a href="/memory">"Go to Memory"</a>
                    </p>
                </div>
            }
            .into_any(),
        ),
        None => ("Not found", view! { <NoSuchPage /> }.into_any()),
    };
    view! {
        <Frame section=Section::Elsewhere title=title.to_owned()>
            {body}
        </Frame>
    }
}
