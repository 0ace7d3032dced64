//! The forms of Settings › Chat model. An entered key is sealed or sent to the endpoint, and never part of a response.

use std::collections::BTreeMap;

use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::endpoint::post::{EndpointFields, fill, test};
use crate::forms::{Attempt, Field, FormName, Outcome, Posted, Submission, done};
use crate::providers::chat::{Allowances, ChatLimits};
use crate::providers::settings::EndpointKind;
use crate::sessions::ledger;
use keepsake_edge::error::Problem;

const SETTINGS: &str = "/settings/chat";

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

pub async fn settings(Posted(posted, form): Posted<ChatForm>) -> Response {
    let name = match form {
        Ok(ChatForm::Fill { .. } | ChatForm::Test(_) | ChatForm::Save(_)) => FormName::Chat,
        Ok(ChatForm::Limits(_)) => FormName::ChatLimits,
        _ => FormName::ChatSwitch,
    };
    let outcome = change_settings(&posted, name, form).await;
    posted.respond(show, SETTINGS, name, outcome).await
}

async fn change_settings(
    posted: &Submission,
    name: FormName,
    form: Result<ChatForm, Problem>,
) -> Attempt {
    let (chat, user) = (&posted.state.chat, posted.user());
    let sentence = match form? {
        ChatForm::Fill { vendor } => return fill(name, EndpointKind::Chat, &vendor),
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
    let mut tx = db.as_user(user).await?;
    ledger::read_guesses_again(&mut tx, user, now).await?;
    tx.commit().await
}
