//! The forms of the page Admin about embeddings. An entered key is sealed or sent to the endpoint, and never part of a response.

use axum::response::Response;
use keepsake_edge::error::Problem;
use serde::Deserialize;

use super::{ask, in_words};
use crate::embedding::SystemSaved;
use crate::endpoint::host_port;
use crate::forms::endpoint::{EndpointFields, fill, test};
use crate::forms::{
    Admin, Attempt, Confirmation, Field, FormName, Outcome, Posted, Submission, done,
};
use crate::pages::admin;
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::{EndpointKind, EndpointPurpose};
use crate::words;

const ADMIN: &str = "/admin";

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SystemEmbeddingsForm {
    Fill { vendor: Field },
    Test(EndpointFields),
    Save(EndpointFields),
    Confirm(EndpointFields),
    BuiltinOn,
    BuiltinOff,
    BuiltinMultilingual,
    BuiltinEnglish,
    LateOn,
    LateOff,
}

pub async fn system(_: Admin, Posted(posted, form): Posted<SystemEmbeddingsForm>) -> Response {
    use SystemEmbeddingsForm::{
        BuiltinEnglish, BuiltinMultilingual, BuiltinOff, BuiltinOn, LateOff, LateOn,
    };
    let name = match form {
        Ok(BuiltinOn | BuiltinOff | BuiltinMultilingual | BuiltinEnglish) => FormName::Builtin,
        Ok(LateOn | LateOff) => FormName::Late,
        _ => FormName::System,
    };
    let outcome = change_system(&posted, name, form).await;
    posted.respond(admin::show, ADMIN, name, outcome).await
}

async fn change_system(
    posted: &Submission,
    name: FormName,
    form: Result<SystemEmbeddingsForm, Problem>,
) -> Attempt {
    let embeddings = posted.state.embeddings.for_jobs();
    let sentence = match form? {
        SystemEmbeddingsForm::Fill { vendor } => {
            return fill(name, EndpointKind::SystemEmbeddings, &vendor);
        }
        SystemEmbeddingsForm::Test(fields) => {
            return test(posted, name, embeddings.test_system(&fields.form())).await;
        }
        SystemEmbeddingsForm::Save(fields) => {
            let saved = embeddings.save_system(&fields.form(), false).await?;
            return Ok(show_system_saved(posted, fields.form().url, saved));
        }
        SystemEmbeddingsForm::Confirm(fields) => {
            let saved = embeddings.save_system(&fields.form(), true).await?;
            return Ok(show_system_saved(posted, fields.form().url, saved));
        }
        SystemEmbeddingsForm::BuiltinOn => {
            embeddings.set_builtin(true).await?;
            "The builtin model is on."
        }
        SystemEmbeddingsForm::BuiltinOff => {
            embeddings.set_builtin(false).await?;
            "The builtin model is off: users without another provider have keyword search only. Their embeddings are kept."
        }
        SystemEmbeddingsForm::BuiltinMultilingual => {
            embeddings.set_builtin_model(BuiltinModel::Multilingual).await?;
            "All memories are being embedded again with the multilingual model. The old embeddings serve meanwhile."
        }
        SystemEmbeddingsForm::BuiltinEnglish => {
            embeddings.set_builtin_model(BuiltinModel::English).await?;
            "The English model stays in use. You can change it here at any time."
        }
        SystemEmbeddingsForm::LateOn => {
            embeddings.set_late_interaction(true).await?;
            "Late interaction is on. It applies to each user as soon as their token vectors are ready."
        }
        SystemEmbeddingsForm::LateOff => {
            embeddings.set_late_interaction(false).await?;
            "Late interaction is off, and the token vectors are being removed."
        }
    };
    Ok(done(name, sentence))
}

fn show_system_saved(posted: &Submission, url: &str, saved: SystemSaved) -> Outcome {
    match saved {
        SystemSaved::InForce => done(FormName::System, "Saved."),
        SystemSaved::Rebuilding { users, texts } => {
            let (texts, users) = (in_words(texts), people(users));
            done(FormName::System, format!("{texts} of {users} are being rebuilt."))
        }
        SystemSaved::AskFirst { users, texts, staged } => {
            let with = match host_port(url).as_str() {
                "" => "with the provider that comes next for each".to_owned(),
                host => format!("with {host}"),
            };
            let sentence = format!(
                "{} of {} will be rebuilt {with}. Search uses the old embeddings until the new ones are complete.",
                in_words(texts),
                people(users),
            );
            let confirm =
                Confirmation { sentence, items: texts.total(), users: Some(users), staged };
            ask(posted, FormName::System, confirm)
        }
    }
}

fn people(users: i64) -> String {
    match users {
        1 => "1 user".to_owned(),
        users => format!("{} users", words::count(users)),
    }
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum AllowedForm {
    Add {
        endpoint: Field,
        #[serde(default)]
        purpose: Field,
    },
    Remove {
        endpoint: Field,
        #[serde(default)]
        purpose: Field,
    },
}

pub async fn allowed(_: Admin, Posted(posted, form): Posted<AllowedForm>) -> Response {
    let embeddings = &posted.state.embeddings;
    let attempt = async {
        match form? {
            AllowedForm::Add { endpoint, purpose } => {
                embeddings.allow_endpoint(&endpoint, EndpointPurpose::parse(&purpose)?).await?;
            }
            AllowedForm::Remove { endpoint, purpose } => {
                embeddings.disallow_endpoint(&endpoint, EndpointPurpose::parse(&purpose)?).await?;
            }
        }
        Ok(Outcome::Redirect)
    };
    posted.respond(admin::show, ADMIN, FormName::Endpoint, attempt.await).await
}
