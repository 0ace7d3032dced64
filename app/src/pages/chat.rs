//! Settings › Chat model: who answers in words and why, what that has cost, how much it may cost a day, and the person's own
//! endpoint. An entered key is sealed or sent to the endpoint, and never part of a response.

mod spent;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::components::{
    Done, EffectiveModel, EndpointKind, FieldError, FoldedStep, FormError, NumberField,
    OwnEndpoint, Section, SwitchedOff, count,
};
use crate::endpoint::{chat_endpoint_view, own, paused_reason};
use crate::forms::endpoint::{EndpointFields, fill, test};
use crate::forms::{Attempt, Field, FormName, FormState, Outcome, Posted, Submission, done};
use crate::page::{Page, chat_error};
use crate::providers::chat::{Allowances, ChatLimits, ChatOverview, ChatPurpose};
use crate::providers::settings::{self, Effective};
use crate::sessions::ledger;
use spent::{Spent, title_of};

const PATH: &str = "/settings/chat";

pub const OWN: EndpointKind = EndpointKind {
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
    let overview = page.state.chat.overview(page.viewer.user_id).await;
    let overview = overview.map(Arc::new).map_err(chat_error);
    let form = page.form.clone();
    page.render(Section::Chat, "Chat model", PATH, overview, move |overview| {
        view! { <ChatPage overview form=form.clone() /> }.into_any()
    })
    .await
}

/// The limits are a number, and a switch and a share for each purpose.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ChatForm {
    Fill { vendor: Field },
    Test(EndpointFields),
    Save(EndpointFields),
    Remove,
    Limits(BTreeMap<String, String>),
    Enable,
    Disable,
}

pub async fn change(Posted(posted, form): Posted<ChatForm>) -> Response {
    let name = match form {
        Ok(ChatForm::Fill { .. } | ChatForm::Test(_) | ChatForm::Save(_)) => FormName::Chat,
        Ok(ChatForm::Limits(_)) => FormName::ChatLimits,
        _ => FormName::ChatSwitch,
    };
    let outcome = apply(&posted, name, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn apply(posted: &Submission, name: FormName, form: Result<ChatForm, Problem>) -> Attempt {
    let (chat, user) = (&posted.state.chat, posted.user());
    let sentence = match form? {
        ChatForm::Fill { vendor } => return fill(name, settings::EndpointKind::Chat, &vendor),
        ChatForm::Test(fields) => {
            return test(posted, name, chat.test_own(user, &fields.form())).await;
        }
        ChatForm::Save(fields) => {
            chat.save(user, &fields.form()).await?;
            read_guesses_again(posted).await?;
            "Saved."
        }
        ChatForm::Remove => {
            chat.remove(user).await?;
            "Your endpoint and its key were deleted."
        }
        ChatForm::Limits(fields) => {
            let text = |name: &str| fields.get(name).map_or("", String::as_str);
            let limits = ChatLimits {
                daily_token_cap: text("daily_token_cap"),
                purposes: Allowances::parse(text)?,
            };
            chat.save_limits(user, limits).await?;
            "Saved."
        }
        ChatForm::Enable => {
            chat.set_enabled(user, true).await?;
            read_guesses_again(posted).await?;
            return Ok(Outcome::Redirect);
        }
        ChatForm::Disable => {
            chat.set_enabled(user, false).await?;
            "The chat model is off: no model reads your conversations."
        }
    };
    Ok(done(name, sentence))
}

/// What was kept without a model, for the model that there is now.
async fn read_guesses_again(posted: &Submission) -> Result<(), sqlx::Error> {
    let (db, user, now) = posted.context();
    db.for_user(user, async |conn, user| ledger::read_guesses_again(conn, user, now).await).await
}

#[component]
fn ChatPage(overview: Arc<ChatOverview>, form: FormState) -> impl IntoView {
    let of_page = form.of(FormName::ChatSwitch);
    let is_enabled = overview.settings.enabled;
    let (name, reason) = name_and_reason(&overview);
    let endpoint = overview.effective.settings().cloned();
    let own = is_enabled
        .then(|| view! { <Endpoint overview=overview.clone() form=form.of(FormName::Chat) /> });
    let limits = is_enabled
        .then(|| view! { <Limits overview=overview.clone() form=form.of(FormName::ChatLimits) /> });
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
                        <EffectiveModel
                            state=if endpoint.is_some() { "on" } else { "off" }
                            name
                            reason
                            endpoint
                            learned=overview.learned.join("; ")
                        />
                    </section>
                    {own}
                </div>
                <div class="parts">
                    <Spent overview /> {limits} <Switch is_enabled />
                </div>
            </div>
        </div>
    }
    .into_any()
}

/// Which model serves, and why.
fn name_and_reason(overview: &ChatOverview) -> (&'static str, String) {
    let settings = &overview.settings;
    let (name, reason) = match overview.effective {
        Effective::Off => {
            let paused = paused_reason(&settings.own, "the chat model");
            if let Some(reason) = paused.filter(|_| settings.is_paused) {
                return ("None", reason);
            }
            ("None", "You switched the chat model off: no model reads your conversations.")
        }
        Effective::Own(_) => {
            ("Your endpoint", "Your own endpoint takes precedence over the system chat model.")
        }
        Effective::System(_) => (
            "System chat model",
            "An admin set a system chat model, and you use no endpoint of your own.",
        ),
        Effective::Nothing => (
            "None",
            "No chat model is set, neither by an admin nor by you: conversations are stored, and no model reads them.",
        ),
    };
    (name, reason.to_owned())
}

#[component]
fn Endpoint(overview: Arc<ChatOverview>, form: FormState) -> impl IntoView {
    let settings = &overview.settings;
    let remove = settings.own.is_set().then(|| {
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
            endpoint=own(chat_endpoint_view(&settings.own), settings.own_enabled)
            form
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

#[component]
fn Limits(overview: Arc<ChatOverview>, form: FormState) -> impl IntoView {
    let settings = &overview.settings;
    let mut saved =
        vec![("daily_token_cap", settings.daily_token_cap.map_or(String::new(), count))];
    for purpose in ChatPurpose::ALL {
        let ((on, share), allowance) = (purpose.fields(), settings.purposes.of(purpose));
        saved.push((on, if allowance.is_on { "1" } else { "" }.to_owned()));
        saved.push((share, allowance.share.to_string()));
    }
    let form = form.or_saved(saved);
    let purposes = ChatPurpose::ALL.map(|purpose| {
        let ((on, share), title) = (purpose.fields(), title_of(purpose));
        let share_id = format!("limits-{share}");
        let error = form.error_of(share);
        view! {
            <tr>
                <th scope="row">
                    <label class="check">
                        <input type="checkbox" name=on value="1" checked=form.value(on) == "1" />
                        <span>{title}</span>
                    </label>
                </th>
                <td class="number">
                    <label class="visually-hidden" for=share_id.clone()>
                        {format!("{}: share of the day's tokens, in percent", title)}
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
    let purposes = purposes.into_iter().collect_view();
    let unset = format!("Default {}; resets at midnight UTC.", count(overview.server_cap));
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
fn Switch(is_enabled: bool) -> impl IntoView {
    if !is_enabled {
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
