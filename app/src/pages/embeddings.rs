//! Settings › Embeddings: who makes the vectors and why, how far they are, and
//! the person's own endpoint. The parts marked `data-live` are those that the
//! island [`LiveProgress`] replaces while something is under way; the form is
//! none of them, so that nothing that is typed is lost.

pub mod load;
mod measured;
pub mod post;
mod status;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Done, EndpointKind, FormError, OwnEndpoint, Renewal, Section};
use crate::forms::{FormName, FormState};
use crate::islands::LiveProgress;
use crate::page::Page;
use crate::view::EmbeddingsPage;
use measured::MeasuredPart;
use status::{Failures, Serving, Status, Switches};

pub const PATH: &str = "/settings/embeddings";

static OWN: EndpointKind = EndpointKind {
    path: PATH,
    page: PATH,
    formats: &[
        ("openai", "OpenAI-compatible"),
        ("ollama", "Ollama"),
        ("custom_http", "llama.cpp or TEI, native"),
    ],
    has_thinking: false,
    url_example: "http://localhost:11434",
    model_example: "nomic-embed-text",
    test_hint: "Test sends two short sample sentences, none of your memories.",
};

pub async fn show(page: Page) -> Response {
    let is_held = page.asked_for("hold").is_some();
    let form = page.form.clone();
    let found = page.embeddings_page().await;
    page.render(Section::Embeddings, "Embeddings", PATH, found, move |page| {
        view! { <Whole page form=form.clone() is_held /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: EmbeddingsPage, form: FormState, is_held: bool) -> impl IntoView {
    let is_working = page.is_working();
    let is_untouched = form.form.is_none();
    let progress = form.of(FormName::Progress);
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Embeddings"</h1>
            <p class="lead">
                "An embedding model lets search find memories by meaning, not only by keywords."
            </p>
            <Done form=form.clone() />
            <FormError form=progress fields=&[] />
            <div class="with-side parts">
                <div id="status-place">
                    <Status page=page.clone() />
                </div>
                <Serving page=page.clone() />
            </div>
            {(is_working && is_untouched).then(|| view! { <Renewal path=PATH.to_owned() is_held /> })}
            <div class="with-side parts">
                {page
                    .is_enabled
                    .then(|| view! { <Endpoint page=page.clone() form=form.of(FormName::Embeddings) /> })}
                <div class="parts">
                    <MeasuredPart page=page.clone() />
                    <Failures page=page.clone() />
                    <Switches page />
                </div>
            </div>
        </div>
        <LiveProgress />
    }
    .into_any()
}

#[component]
fn Endpoint(page: EmbeddingsPage, form: FormState) -> impl IntoView {
    let from_chat = page.own.is_from_chat.then(|| {
        view! {
            <p class="aside">
                "Filled in from your " <a href="/settings/chat">"chat model"</a>
                ", whose server may support embeddings too. Enter an embedding model, test it, then save. Nothing changes before that."
            </p>
        }
        .into_any()
    });
    view! {
        <OwnEndpoint
            kind=&OWN
            endpoint=page.own
            form
            is_admin=page.is_admin
            lead="The text of your memories is sent there. Before anything is rebuilt, you see how much and confirm it."
            before=from_chat
            after=None
        />
    }
    .into_any()
}
