//! There is no such page: says so with a 404, and shows the way back.

use leptos::prelude::*;

use crate::components::{Frame, NoSuchPage, Section};

#[component]
pub fn NotFound() -> impl IntoView {
    view! {
        <Frame section=Section::Elsewhere title="Not found".to_owned()>
            <NoSuchPage />
        </Frame>
    }
}
