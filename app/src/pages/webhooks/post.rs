//! The forms of Settings › Webhooks: add one, send a test, pause, resume, make a new secret, delete.

use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::forms::{
    Attempt, Field, FormName, FormState, NewToken, Outcome, Posted, Submission, done, page,
};
use crate::input::sentence;
use crate::webhooks::{NewWebhook, WebhookSecret};
use keepsake_edge::error::Problem;

const PATH: &str = "/settings/webhooks";
const FORM: FormName = FormName::Webhooks;
const NEW_FORM: FormName = FormName::Webhook;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum WebhookForm {
    Add { url: Field, event: Field, include_text: Field },
    Test { webhook: Field<i64> },
    Pause { webhook: Field<i64> },
    Resume { webhook: Field<i64> },
    Rotate { webhook: Field<i64> },
    Delete { webhook: Field<i64> },
}

pub async fn change(Posted(posted, form): Posted<WebhookForm>) -> Response {
    let name = match form {
        Ok(WebhookForm::Add { .. }) => NEW_FORM,
        _ => FORM,
    };
    let outcome = obey(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn obey(posted: &Submission, form: Result<WebhookForm, Problem>) -> Attempt {
    let (webhooks, user) = (&posted.state.webhooks, posted.user());
    match form? {
        WebhookForm::Add { url, event, include_text } => {
            let new = NewWebhook::parse(&url, &event, include_text.is_checked())?;
            let secret = webhooks.create(user, &new).await?;
            Ok(new_secret(new.url.to_string(), &secret))
        }
        WebhookForm::Test { webhook } => {
            posted.state.throttles.check_test(user)?;
            Ok(match webhooks.test(user, *webhook).await? {
                Ok(status) => done(FORM, format!("The test was accepted with status {status}.")),
                Err(why) => Outcome::from(FormState {
                    error: Some(format!("The test failed: {}", sentence(&why.to_string()))),
                    ..page(FORM)
                }),
            })
        }
        WebhookForm::Pause { webhook } => {
            webhooks.pause(user, *webhook).await?;
            Ok(Outcome::Redirect)
        }
        WebhookForm::Resume { webhook } => {
            webhooks.resume(user, *webhook).await?;
            Ok(Outcome::Redirect)
        }
        WebhookForm::Rotate { webhook } => {
            let (url, secret) = webhooks.rotate(user, *webhook).await?;
            Ok(new_secret(url, &secret))
        }
        WebhookForm::Delete { webhook } => {
            webhooks.delete(user, *webhook).await?;
            Ok(done(FORM, "The webhook is deleted."))
        }
    }
}

/// The page shows the secret this once.
fn new_secret(url: String, secret: &WebhookSecret) -> Outcome {
    Outcome::from(FormState {
        new_token: Some(NewToken { agent_name: url, token: secret.reveal().to_owned() }),
        ..page(NEW_FORM)
    })
}
