//! The form of the chat model that an admin offers to all. An entered key is sealed or sent to the endpoint, and never part of a
//! response.

use axum::response::Response;
use serde::Deserialize;

use super::{PATH, show};
use crate::endpoint::{EndpointFields, fill, test};
use crate::forms::{Admin, Field, FormName, Posted, done};
use crate::providers::settings::EndpointKind;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SystemChatForm {
    Fill {
        vendor: Field,
    },
    Test(EndpointFields),
    Save {
        #[serde(flatten)]
        endpoint: EndpointFields,
        daily_token_cap: Field,
    },
}

pub async fn system(_: Admin, Posted(posted, form): Posted<SystemChatForm>) -> Response {
    let (chat, name) = (&posted.state.chat, FormName::ChatSystem);
    let attempt = async {
        match form? {
            SystemChatForm::Fill { vendor } => fill(name, EndpointKind::Chat, &vendor),
            SystemChatForm::Test(fields) => {
                test(&posted, name, chat.test_system(&fields.form())).await
            }
            SystemChatForm::Save { endpoint, daily_token_cap } => {
                chat.save_system(&endpoint.form(), &daily_token_cap).await?;
                Ok(done(name, "Saved."))
            }
        }
    };
    posted.respond(show, PATH, name, attempt.await).await
}
