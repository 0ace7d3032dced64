//! The forms of Settings › Embeddings and of the admin page: save, test, confirm, cancel, retry, off and on.
//! An entered key is sealed or sent to the endpoint, and never part of a response.

use crate::words;
use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::embedding::{Saved, SystemSaved, Texts};
use crate::endpoint::load::host_port;
use crate::endpoint::post::{EndpointFields, fill, test};
use crate::evaluation::asked::RequestOutcome;
use crate::forms::{Admin, Confirmation, FormName, FormState};
use crate::forms::{Attempt, Field, Outcome, Posted, Submission, done, page};
use crate::pages::admin;
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::{EndpointForm, EndpointKind, EndpointPurpose};
use keepsake_edge::error::Problem;

const SETTINGS: &str = "/settings/embeddings";
const ADMIN: &str = "/admin";
/// The staged value of a confirmation that switches embeddings on.
const STAGED_ENABLE: &str = "enable";

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EmbeddingsForm {
    Fill { vendor: Field },
    Test(EndpointFields),
    Save(EndpointFields),
    Confirm(EndpointFields),
    Enable,
    Disable,
    Cancel,
    Retry,
    Measure,
    Rebuild,
    EmbedKeys,
}

pub async fn settings(Posted(posted, form): Posted<EmbeddingsForm>) -> Response {
    use EmbeddingsForm::{Confirm, Fill, Save, Test};
    let name = match form {
        Ok(Fill { .. } | Test(_) | Save(_) | Confirm(_)) => FormName::Embeddings,
        _ => FormName::Progress,
    };
    let outcome = change_settings(&posted, form).await;
    posted.respond(show, SETTINGS, name, outcome).await
}

async fn change_settings(posted: &Submission, form: Result<EmbeddingsForm, Problem>) -> Attempt {
    // With the job timeout, since a rebuild inserts a row per memory.
    let embeddings = posted.state.embeddings.for_jobs();
    let user = posted.user();
    let sentence = match form? {
        EmbeddingsForm::Fill { vendor } => {
            return fill(FormName::Embeddings, EndpointKind::OwnEmbeddings, &vendor);
        }
        EmbeddingsForm::Test(fields) => {
            return test(posted, FormName::Embeddings, embeddings.test_own(user, &fields.form()))
                .await;
        }
        EmbeddingsForm::Save(fields) => {
            let saved = embeddings.save(user, &fields.form(), false).await?;
            return Ok(show_saved(posted, &fields.form(), saved));
        }
        EmbeddingsForm::Confirm(fields) if fields.form().staged == STAGED_ENABLE => {
            embeddings.set_enabled(user, true, true).await?;
            return Ok(Outcome::Redirect);
        }
        EmbeddingsForm::Confirm(fields) => {
            let saved = embeddings.save(user, &fields.form(), true).await?;
            return Ok(show_saved(posted, &fields.form(), saved));
        }
        EmbeddingsForm::Enable => {
            let enabled = embeddings.set_enabled(user, true, false).await?;
            return Ok(show_enabled(enabled));
        }
        EmbeddingsForm::Disable => {
            embeddings.set_enabled(user, false, true).await?;
            "Embeddings are off: search uses keywords only. Existing embeddings are kept."
                .to_owned()
        }
        EmbeddingsForm::Cancel => match embeddings.cancel_rebuild(user).await? {
            true => "The rebuild is cancelled. Search keeps the old embeddings.".to_owned(),
            false => "No rebuild was under way.".to_owned(),
        },
        EmbeddingsForm::Retry => match embeddings.retry(user).await? {
            1 => "1 text will be embedded again.".to_owned(),
            many => format!("{} texts will be embedded again.", words::count(many as i64)),
        },
        EmbeddingsForm::Measure => {
            let evaluation = posted.state.for_jobs().evaluation;
            match evaluation.ask_for(user).await? {
                RequestOutcome::Begun => return Ok(Outcome::Redirect),
                answer => answer.sentence().to_owned(),
            }
        }
        EmbeddingsForm::Rebuild => {
            embeddings.rebuild(user).await?;
            return Ok(Outcome::Redirect);
        }
        EmbeddingsForm::EmbedKeys => {
            let again = embeddings.embed_keys(user).await?;
            format!("{} will be embedded again, with key.", words::memories(again as i64))
        }
    };
    Ok(done(FormName::Progress, sentence))
}

fn show_enabled(enabled: Saved) -> Outcome {
    let Saved::AskFirst { texts, kept, .. } = enabled else {
        return Outcome::Redirect;
    };
    let sentence = format!(
        "Your embeddings were created with other settings: {} will be rebuilt. {}Search uses keywords only until then.",
        in_words(texts),
        known(kept),
    );
    Outcome::from(FormState {
        confirm: Some(Confirmation {
            sentence,
            items: texts.total(),
            users: None,
            staged: STAGED_ENABLE.to_owned(),
        }),
        ..page(FormName::Embeddings)
    })
}

fn show_saved(posted: &Submission, form: &EndpointForm<'_>, saved: Saved) -> Outcome {
    match saved {
        Saved::InForce => done(FormName::Embeddings, "Saved."),
        Saved::Rebuilding { .. } => Outcome::Redirect,
        Saved::AskFirst { texts, kept, staged } => {
            let sentence = format!(
                "{} will be rebuilt with {}. {}Search uses the old embeddings until the new ones are complete.",
                in_words(texts),
                target(form),
                known(kept),
            );
            let confirm = Confirmation { sentence, items: texts.total(), users: None, staged };
            ask(posted, FormName::Embeddings, confirm)
        }
    }
}

/// Such as "nomic-embed-text at localhost:11434".
fn target(form: &EndpointForm<'_>) -> String {
    let host = host_port(form.url);
    match (form.own_enabled, form.model.trim()) {
        (true, "") => host,
        (true, model) => format!("{model} at {host}"),
        _ => "the provider that comes next".to_owned(),
    }
}

/// The form again, with what has to be confirmed.
fn ask(posted: &Submission, name: FormName, confirm: Confirmation) -> Outcome {
    Outcome::from(FormState {
        values: posted.fields.values(),
        confirm: Some(confirm),
        ..page(name)
    })
}

fn in_words(texts: Texts) -> String {
    words::texts(texts.memories, texts.from_messages)
}

/// A sentence about embeddings that still exist, or nothing.
fn known(kept: i64) -> String {
    match kept {
        0 => String::new(),
        1 => "The embedding of 1 still exists and is used again. ".to_owned(),
        many => {
            format!("The embeddings of {} still exist and are used again. ", words::count(many))
        }
    }
}

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
