//! Settings › Embeddings: who makes the vectors and why, how far they are, and
//! the person's own endpoint. The parts marked `data-live` are those that the
//! island [`LiveProgress`] replaces while something is under way; the form is
//! none of them, so that nothing that is typed is lost.

mod endpoint;
mod status;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::backend::backend;
use crate::components::{Done, FormError, Frame, Section, Trouble};
use crate::islands::LiveProgress;
use crate::shell::IslandsBuilt;
use crate::view::{EmbeddingsPage, FormState};
use endpoint::Endpoint;
use status::{Failures, Serving, Status, Switches};

pub const PATH: &str = "/settings/embeddings";

#[component]
pub fn Embeddings() -> impl IntoView {
    let backend = backend();
    let form = backend.form();
    let is_held = use_query_map().with_untracked(|query| query.get("hold").is_some());
    let page = Suspend::new(async move {
        match backend.embeddings_page().await {
            Ok(page) => view! { <Whole page form is_held /> }.into_any(),
            Err(error) => {
                view! { <Trouble heading="Embeddings" error href=PATH.to_owned() /> }.into_any()
            }
        }
    });
    view! {
        <Frame section=Section::Embeddings title="Embeddings".to_owned()>
            {page}
        </Frame>
    }
}

#[component]
fn Whole(page: EmbeddingsPage, form: FormState, is_held: bool) -> impl IntoView {
    let is_working = page.is_working();
    let is_untouched = form.form.is_empty();
    let progress = form.of("progress");
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Embeddings"</h1>
            <p class="lead">
                "A model turns each memory into a vector, so that it is found by what it means and not only by its words."
            </p>
            <Done form=form.clone() />
            <FormError form=progress fields=&[] />
            <div class="with-side parts">
                <div id="status-place">
                    <Status page=page.clone() />
                </div>
                <Serving page=page.clone() />
            </div>
            {(is_working && is_untouched).then(|| view! { <Renewal is_held /> })}
            <div class="with-side parts">
                {page
                    .is_enabled
                    .then(|| view! { <Endpoint page=page.clone() form=form.of("embeddings") /> })}
                <div class="parts">
                    <Failures page=page.clone() />
                    <Switches page />
                </div>
            </div>
        </div>
        <LiveProgress />
    }
    .into_any()
}

/// Where no island can look again, the page renews itself, but for somebody who
/// asks it to hold still: what is typed would be gone. Never right after a form.
#[component]
fn Renewal(is_held: bool) -> impl IntoView {
    let islands_built = use_context::<IslandsBuilt>().is_some_and(|built| built.0);
    let offer = if is_held {
        view! {
            <p class="hint renewal">
                "This page holds still. " <a href=PATH>"Follow the progress again"</a> "."
            </p>
        }
        .into_any()
    } else {
        view! {
            <meta http-equiv="refresh" content=format!("5; url={PATH}") />
            <p class="hint renewal">
                "This page renews itself while the work goes on. "
                <a href=format!("{PATH}?hold=1")>"Hold it still"</a> " to change something."
            </p>
        }
        .into_any()
    };
    if islands_built {
        view! { <noscript>{offer}</noscript> }.into_any()
    } else {
        offer
    }
}
