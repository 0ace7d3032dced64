//! The forms of Settings › Chat model, and the admin's. An entered key is sealed or sent to the endpoint, and
//! never part of a response.

use axum::extract::{RawForm, State};
use axum::response::Response;

use super::endpoint::{endpoint_form, test};
use super::{Form, Outcome, done, respond, unknown_action};
use crate::providers::chat::{Allowances, ChatLimits};
use crate::web::AppState;
use crate::web::auth::{Admin, SignedIn};
use crate::web::error::Problem;

const SETTINGS: &str = "/settings/chat";
const ADMIN: &str = "/admin";

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
    let (chat, user, fields) = (&state.chat, signed_in.0.id, endpoint_form(form));
    match form.get("action") {
        "test" => test(state, user, form, "chat", chat.test_own(user, &fields)).await,
        "save" => {
            chat.save(user, &fields).await?;
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
    let (chat, user, fields) = (&state.chat, signed_in.0.id, endpoint_form(form));
    match form.get("action") {
        "test" => test(state, user, form, "chat_system", chat.test_system(&fields)).await,
        "save" => {
            chat.save_system(&fields, form.get("daily_token_cap"))
                .await?;
            Ok(done("chat_system", "Saved."))
        }
        _ => Err(unknown_action()),
    }
}
