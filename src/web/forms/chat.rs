//! The forms of Settings › Chat model, and the admin's. An entered key is sealed or sent to the endpoint, and
//! never part of a response.

use app::view::TestResult;
use axum::extract::{RawForm, State};
use axum::response::Response;

use super::endpoint_test::{failed, tried};
use super::{Form, Outcome, done, respond, unknown_action};
use crate::providers::chat::{Allowances, ChatChange, ChatError, ChatForm, ChatLimits, ChatReport};
use crate::web::AppState;
use crate::web::auth::{Admin, SignedIn};
use crate::web::error::Problem;

const SETTINGS: &str = "/settings/chat";
const ADMIN: &str = "/admin";

fn chat_form(form: &Form) -> ChatForm<'_> {
    ChatForm {
        provider_type: form.get("provider_type"),
        url: form.get("url"),
        model: form.get("model"),
        key: form.get("key"),
        clear_key: form.get("clear_key") == "1",
    }
}

pub async fn settings(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let name = match form.get("action") {
        "save" | "test" => "chat",
        "limits" => "chat_limits",
        _ => "chat_switch",
    };
    let outcome = change_settings(&state, &signed_in, &form).await;
    respond(&state, signed_in, SETTINGS, name, &form, outcome).await
}

async fn change_settings(
    state: &AppState,
    signed_in: &SignedIn,
    form: &Form,
) -> Result<Outcome, Problem> {
    let chat = state.embeddings.chat();
    let user = signed_in.0.id;
    match form.get("action") {
        "test" => {
            state.throttles.check_test(user)?;
            tested(form, "chat", chat.test_own(user, &chat_form(form)).await)
        }
        "save" => {
            let change = ChatChange {
                own_enabled: form.get("own_enabled") == "1",
                form: chat_form(form),
            };
            chat.save(user, change).await?;
            Ok(done("chat", "Saved."))
        }
        "remove" => {
            chat.remove(user).await?;
            Ok(done(
                "chat_switch",
                "Your endpoint and its key were deleted.",
            ))
        }
        "limits" => {
            let limits = ChatLimits {
                daily_token_cap: form.get("daily_token_cap"),
                purposes: Allowances::parse(|name| form.get(name))?,
            };
            chat.save_limits(user, limits).await?;
            Ok(done("chat_limits", "Saved."))
        }
        "enable" => {
            chat.set_enabled(user, true).await?;
            Ok(Outcome::Redirect)
        }
        "disable" => {
            chat.set_enabled(user, false).await?;
            Ok(done(
                "chat_switch",
                "The chat model is off: no model reads your conversations.",
            ))
        }
        _ => Err(unknown_action()),
    }
}

pub async fn system(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let outcome = change_system(&state, &signed_in, &form).await;
    respond(&state, signed_in, ADMIN, "chat_system", &form, outcome).await
}

async fn change_system(
    state: &AppState,
    signed_in: &SignedIn,
    form: &Form,
) -> Result<Outcome, Problem> {
    let chat = state.embeddings.chat();
    let fields = chat_form(form);
    match form.get("action") {
        "test" => {
            state.throttles.check_test(signed_in.0.id)?;
            tested(form, "chat_system", chat.test_system(&fields).await)
        }
        "save" => {
            chat.save_system(&fields, form.get("daily_token_cap"))
                .await?;
            Ok(done("chat_system", "Saved."))
        }
        _ => Err(unknown_action()),
    }
}

fn tested(
    form: &Form,
    name: &str,
    report: Result<ChatReport, ChatError>,
) -> Result<Outcome, Problem> {
    match report {
        Ok(report) => Ok(tried(form, name, passed(&report))),
        Err(ChatError::Provider(error)) => Ok(tried(form, name, failed(form, &error))),
        Err(error) => Err(error.into()),
    }
}

fn passed(report: &ChatReport) -> TestResult {
    let mut details = Vec::new();
    let mut tell = |what: &str, seen: String| details.push((what.to_owned(), seen));
    if let Some(model) = &report.model {
        tell("Model", model.clone());
    }
    tell(
        "JSON schema output",
        match (report.is_schema_honoured, report.is_cut_off) {
            (true, _) => "Supported".to_owned(),
            (false, true) => {
                "Unknown: its tokens were used up before it answered; a reasoning model needs more"
                    .to_owned()
            }
            (false, false) => {
                "Not supported: its answers are parsed leniently, and more of them may be lost"
                    .to_owned()
            }
        },
    );
    tell(
        "Tokens",
        match report.are_tokens_estimated {
            false => format!(
                "{} input, {} output, counted by the endpoint",
                report.tokens_in, report.tokens_out
            ),
            true => format!(
                "about {} input and {} output, estimated at four characters per token, because the endpoint does not count them",
                report.tokens_in, report.tokens_out
            ),
        },
    );
    TestResult {
        is_ok: true,
        headline: format!(
            "Works: an answer in {} ms",
            report.latency.as_millis().max(1)
        ),
        details,
    }
}
