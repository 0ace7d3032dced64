//! Settings › Chat model: who answers in words and why, what that has cost, how much
//! it may cost a day, and the person's own endpoint.

mod endpoint;
mod spent;

use leptos::prelude::*;

use crate::backend::backend;
use crate::components::{
    Done, Facts, Field, FoldedStep, FormError, Frame, Section, StateBadge, Trouble, count,
};
use crate::view::{ChatPage, FormState};
use endpoint::Endpoint;
use spent::Spent;

pub const PATH: &str = "/settings/chat";

#[component]
pub fn Chat() -> impl IntoView {
    let backend = backend();
    let form = backend.form();
    let page = Suspend::new(async move {
        match backend.chat_page().await {
            Ok(page) => view! { <Whole page form /> }.into_any(),
            Err(error) => {
                view! { <Trouble heading="Chat model" error href=PATH.to_owned() /> }.into_any()
            }
        }
    });
    view! {
        <Frame section=Section::Chat title="Chat model".to_owned()>
            {page}
        </Frame>
    }
}

#[component]
fn Whole(page: ChatPage, form: FormState) -> impl IntoView {
    let of_page = form.of("chat_switch");
    view! {
        <div class="page">
            <h1>"Chat model"</h1>
            <p class="lead">
                "A model reads what you and your agents say to each other, and writes down what is worth remembering. It makes no vectors: those are under Embeddings."
            </p>
            <Done form=form.clone() />
            <FormError form=of_page fields=&[] />
            <div class="with-side parts">
                <div class="parts">
                    <Effective page=page.clone() />
                    {page
                        .is_enabled
                        .then(|| view! { <Endpoint page=page.clone() form=form.of("chat") /> })}
                </div>
                <div class="parts">
                    <Spent page=page.clone() />
                    {page
                        .is_enabled
                        .then(|| {
                            view! { <Limits page=page.clone() form=form.of("chat_limits") /> }
                        })} <Switch page />
                </div>
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn Effective(page: ChatPage) -> impl IntoView {
    let state = match page.model {
        Some(_) => "on",
        None => "off",
    };
    let facts = [("Model", page.model), ("Endpoint", page.endpoint)];
    let facts = facts
        .into_iter()
        .filter_map(|(term, fact)| Some((term, view! { <bdi>{fact?}</bdi> }.into_any())))
        .collect();
    view! {
        <section class="part status" aria-labelledby="effective">
            <p class="badges">
                <StateBadge state />
            </p>
            <h2 id="effective" class="provider">
                {page.name}
            </h2>
            <p class="lead">{page.reason}</p>
            <Facts facts inline=true />
        </section>
    }
    .into_any()
}

#[component]
fn Limits(page: ChatPage, form: FormState) -> impl IntoView {
    let wants_summary = if page.wants_summary { "1" } else { "" };
    let form = form.or_saved(vec![
        ("daily_token_cap", page.own_cap.map_or(String::new(), count)),
        ("summary_enabled", wants_summary.to_owned()),
    ]);
    let unset = format!(
        "Left empty, {} hold. A day begins at midnight, UTC.",
        count(page.server_cap)
    );
    view! {
        <section class="part" id="limits" aria-labelledby="limits-title">
            <h2 id="limits-title">"What it may do"</h2>
            <form class="stack" method="post" action=PATH>
                <FormError form=form.clone() fields=&["daily_token_cap"] />
                <p class="hint">{unset}</p>
                <Field
                    form=form.clone()
                    name="daily_token_cap"
                    label="Tokens a day"
                    hint="1,000 to 1,000,000,000"
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="14"
                    optional=true
                />
                <label class="check">
                    <input
                        type="checkbox"
                        name="summary_enabled"
                        value="1"
                        checked=form.value("summary_enabled") == "1"
                    />
                    <span>"Write a summary of what is remembered"</span>
                </label>
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
            <section class="part" aria-labelledby="switch">
                <h2 id="switch">"Switched off"</h2>
                <p>
                    "No model reads your conversations, and nothing is sent to any endpoint. What you had set is kept."
                </p>
                <form method="post" action=PATH>
                    <button class="primary" type="submit" name="action" value="enable">
                        "Switch chat on"
                    </button>
                </form>
            </section>
        }
        .into_any();
    }
    view! {
        <section class="part" aria-labelledby="switch">
            <h2 id="switch">"Switch off"</h2>
            <FoldedStep
                summary="Switch chat off"
                words="No model reads your conversations any more, whatever is set for everybody. Your memories and their vectors stay as they are."
                path=PATH
                action="disable"
                button="Switch off"
            />
        </section>
    }
    .into_any()
}
