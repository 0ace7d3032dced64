//! There is no such page: says so with a 404, and shows the way back.

use leptos::prelude::*;

use crate::backend::backend;
use crate::components::{Frame, Section};

#[component]
pub fn NotFound() -> impl IntoView {
    backend().not_found();
    view! {
        <Frame section=Section::Elsewhere title="Not found".to_owned()>
            <div class="prose">
                <h1>"There is no such page"</h1>
                <p>"The address may be mistyped, or what it named is gone."</p>
                <p>
                    <a href="/memory">"Go to your memory"</a>
                </p>
            </div>
        </Frame>
    }
}
