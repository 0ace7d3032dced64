//! Settings › Chat model: who answers in words and why, what that has cost, how much
//! it may cost a day, and the person's own endpoint.

pub mod load;
pub mod post;
mod spent;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Done, Effective, EndpointKind, FieldError, FoldedStep, FormError, NumberField, OwnEndpoint,
    Section, SwitchedOff, count,
};
use crate::forms::{FormName, FormState};
use crate::page::Page;
use crate::view::ChatPage;
use spent::Spent;

pub const PATH: &str = "/settings/chat";

pub static OWN: EndpointKind = EndpointKind {
    path: PATH,
    page: PATH,
    formats: &[
        ("openai", "OpenAI-compatible"),
        ("ollama", "Ollama"),
        ("llamacpp", "llama.cpp"),
        ("anthropic", "Anthropic"),
    ],
    has_thinking: true,
    url_example: "http://localhost:11434",
    model_example: "llama3.2",
    test_hint: "Test asks the model for the capital of France.",
};

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = page.chat_view().await;
    page.render(Section::Chat, "Chat model", PATH, found, move |page| {
        view! { <Whole page form=form.clone() /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: ChatPage, form: FormState) -> impl IntoView {
    let of_page = form.of(FormName::ChatSwitch);
    let state = if page.effective.model.is_some() { "on" } else { "off" };
    view! {
        <div class="page">
            <h1>"Chat model"</h1>
            <p class="lead">
                "The chat model reads your conversations with agents and extracts what is worth remembering. It creates no embeddings; those are under Embeddings."
            </p>
            <Done form=form.clone() />
            <FormError form=of_page fields=&[] />
            <div class="with-side parts">
                <div class="parts">
                    <section class="part status" aria-labelledby="effective">
                        <Effective effective=page.effective.clone() state />
                    </section>
                    {page
                        .is_enabled
                        .then(|| view! { <Endpoint page=page.clone() form=form.of(FormName::Chat) /> })}
                </div>
                <div class="parts">
                    <Spent page=page.clone() />
                    {page
                        .is_enabled
                        .then(|| {
                            view! { <Limits page=page.clone() form=form.of(FormName::ChatLimits) /> }
                        })} <Switch page />
                </div>
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn Endpoint(page: ChatPage, form: FormState) -> impl IntoView {
    let remove = page.own.is_set().then(|| {
        view! {
            <FoldedStep
                summary="Remove this endpoint"
                words="Its address, model and key are deleted."
                path=PATH
                action="remove"
                button="Remove"
            />
        }
        .into_any()
    });
    view! {
        <OwnEndpoint
            kind=&OWN
            endpoint=page.own
            form
            is_admin=page.is_admin
            lead="Your conversations are sent there and nowhere else. It takes precedence over the system chat model."
            before=None
            after=remove
        />
    }
    .into_any()
}

const LIMIT_FIELDS: &[&str] = &[
    "daily_token_cap",
    "share_facts",
    "share_enrichment",
    "share_summary",
    "share_reflection",
    "share_dreaming",
    "share_evaluation",
];

/// The names of a purpose's switch and of its share.
fn fields_of(purpose: &str) -> (&'static str, &'static str) {
    match purpose {
        "facts" => ("on_facts", "share_facts"),
        "enrichment" => ("on_enrichment", "share_enrichment"),
        "summary" => ("on_summary", "share_summary"),
        "reflection" => ("on_reflection", "share_reflection"),
        "dreaming" => ("on_dreaming", "share_dreaming"),
        _ => ("on_evaluation", "share_evaluation"),
    }
}

#[component]
fn Limits(page: ChatPage, form: FormState) -> impl IntoView {
    let mut saved = vec![("daily_token_cap", page.own_cap.map_or(String::new(), count))];
    for purpose in &page.purposes {
        let (on, share) = fields_of(purpose.name);
        saved.push((on, if purpose.is_on { "1" } else { "" }.to_owned()));
        saved.push((share, purpose.share.to_string()));
    }
    let form = form.or_saved(saved);
    let purposes = page.purposes.iter().map(|purpose| {
        let (on, share) = fields_of(purpose.name);
        let share_id = format!("limits-{share}");
        let error = form.error_of(share);
        view! {
            <tr>
                <th scope="row">
                    <label class="check">
                        <input type="checkbox" name=on value="1" checked=form.value(on) == "1" />
                        <span>{purpose.title}</span>
                    </label>
                </th>
                <td class="number">
                    <label class="visually-hidden" for=share_id.clone()>
                        {format!("{}: share of the day's tokens, in percent", purpose.title)}
                    </label>
                    <input
                        id=share_id
                        class="share"
                        type="text"
                        name=share
                        inputmode="numeric"
                        autocomplete="off"
                        maxlength="3"
                        value=form.value(share)
                        aria-invalid=error.is_some().then_some("true")
                    />
                    " %"
                    <FieldError id=format!("{share}-error") error />
                </td>
            </tr>
        }
    });
    let purposes = purposes.collect_view();
    let unset = format!("Default {}; resets at midnight UTC.", count(page.server_cap));
    view! {
        <section class="part" id="limits" aria-labelledby="limits-title">
            <h2 id="limits-title">"Limits"</h2>
            <form class="stack" method="post" action=PATH>
                <FormError form=form.clone() fields=LIMIT_FIELDS />
                <p class="hint">{unset}</p>
                <NumberField
                    form=form.clone()
                    name="daily_token_cap"
                    label="Tokens per day"
                    hint="10,000 to 1,000,000,000"
                    maxlength="14"
                />
                <table class="purposes">
                    <thead>
                        <tr>
                            <th scope="col">"Purpose"</th>
                            <th scope="col" class="number">
                                "Share of the day's tokens"
                            </th>
                        </tr>
                    </thead>
                    <tbody>{purposes}</tbody>
                </table>
                <div>
                    <button type="submit" name="action" value="limits">
                        "Save limits"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Switch(page: ChatPage) -> impl IntoView {
    if !page.is_enabled {
        return view! {
            <SwitchedOff
                words="No model reads your conversations, and nothing is sent to an endpoint. Your settings are kept."
                path=PATH
                button="Switch chat model on"
            />
        }
        .into_any();
    }
    view! {
        <section class="part" aria-labelledby="switch">
            <h2 id="switch">"Switch off"</h2>
            <FoldedStep
                summary="Switch chat model off"
                words="No model reads your conversations, whatever the server's default is. Your memories and their embeddings stay."
                path=PATH
                action="disable"
                button="Switch off"
            />
        </section>
    }
    .into_any()
}
