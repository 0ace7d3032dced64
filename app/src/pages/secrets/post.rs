//! The forms of Settings › Secrets: what happens to secrets, and what is allowed although it looks like one.

use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::forms::{Attempt, Field, FormName, Posted, Submission, done};
use crate::input::Invalid;
use crate::redaction::SecretPolicy;
use keepsake_edge::error::Problem;

const PATH: &str = "/settings/secrets";
const FORM: FormName = FormName::Secrets;
const SETTINGS_FORM: FormName = FormName::SecretSettings;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SecretForm {
    Save { policy: Field },
    Allow { id: Field },
    Disallow { id: Field },
}

pub async fn change(Posted(posted, form): Posted<SecretForm>) -> Response {
    let name = match form {
        Ok(SecretForm::Save { .. }) => SETTINGS_FORM,
        _ => FORM,
    };
    let outcome = obey(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn obey(posted: &Submission, form: Result<SecretForm, Problem>) -> Attempt {
    let (redactor, user) = (posted.state.embeddings.redactor(), posted.user());
    let (id, is_allowed) = match form? {
        SecretForm::Save { policy } => {
            redactor.save(user, SecretPolicy::parse(&policy)?).await?;
            return Ok(done(SETTINGS_FORM, "Saved. It applies to what comes in from now on."));
        }
        SecretForm::Allow { id } => (id, true),
        SecretForm::Disallow { id } => (id, false),
    };
    if !redactor.allow(user, &id, is_allowed).await?? {
        let sentence =
            "This finding is not in the list any more; it is listed again when it comes in again.";
        return Err(Invalid::new("id", "unknown_finding", sentence).into());
    }
    let sentence = match is_allowed {
        true => "Allowed: it is stored from now on, without a warning.",
        false => "Not allowed any more: it is treated as a secret from now on.",
    };
    Ok(done(FORM, sentence))
}
