//! The forms of Settings › Embeddings and of the admin page: save, test, confirm, cancel, retry, off and on.
//! An entered key is sealed or sent to the endpoint, and never part of a response.

use app::view::{Confirmation, FormState};
use app::words;
use axum::extract::{RawForm, State};
use axum::response::Response;

use super::endpoint::{endpoint_form, test};
use super::{Form, Outcome, done, respond, unknown_action};
use crate::embedding::{Saved, SystemSaved, Texts};
use crate::evaluation::asked::RequestOutcome;
use crate::web::AppState;
use crate::web::auth::{Admin, SignedIn};
use crate::web::error::Problem;
use crate::web::ui::host_port;

const SETTINGS: &str = "/settings/embeddings";
const ADMIN: &str = "/admin";
/// The staged value of a confirmation that switches embeddings on.
const STAGED_ENABLE: &str = "enable";

pub async fn settings(
    State(state): State<AppState>,
    signed_in: SignedIn,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let name = match form.get("action") {
        "save" | "test" | "confirm" => "embeddings",
        _ => "progress",
    };
    let outcome = change_settings(&state, &signed_in, &form).await;
    respond(&state, signed_in, SETTINGS, name, &form, outcome).await
}

async fn change_settings(
    state: &AppState,
    signed_in: &SignedIn,
    form: &Form,
) -> Result<Outcome, Problem> {
    // With the job timeout, since a rebuild inserts a row per memory.
    let embeddings = state.embeddings.for_jobs();
    let user = signed_in.0.id;
    let fields = endpoint_form(form);
    match form.get("action") {
        "test" => {
            let asked = embeddings.test_own(user, &fields);
            test(state, user, form, "embeddings", asked).await
        }
        "save" => saved(form, embeddings.save(user, &fields, false).await?),
        "confirm" if form.get("staged") == STAGED_ENABLE => {
            embeddings.set_enabled(user, true, true).await?;
            Ok(Outcome::Redirect)
        }
        "confirm" => saved(form, embeddings.save(user, &fields, true).await?),
        "enable" => match embeddings.set_enabled(user, true, false).await? {
            Saved::AskFirst { texts, kept, .. } => {
                let sentence = format!(
                    "Your embeddings were created with other settings: {} will be rebuilt. {}Search uses keywords only until then.",
                    in_words(texts),
                    known(kept),
                );
                Ok(ask(
                    "embeddings",
                    Form(Vec::new()),
                    sentence,
                    texts.total(),
                    None,
                    STAGED_ENABLE.to_owned(),
                ))
            }
            _ => Ok(Outcome::Redirect),
        },
        "disable" => {
            embeddings.set_enabled(user, false, true).await?;
            Ok(done(
                "progress",
                "Embeddings are off: search uses keywords only. Existing embeddings are kept.",
            ))
        }
        "cancel" => Ok(match embeddings.cancel_rebuild(user).await? {
            true => done(
                "progress",
                "The rebuild is cancelled. Search keeps the old embeddings.",
            ),
            false => done("progress", "No rebuild was under way."),
        }),
        "retry" => {
            let retried = embeddings.retry(user).await?;
            let again = match retried {
                1 => "1 text will be embedded again.".to_owned(),
                many => format!(
                    "{} texts will be embedded again.",
                    words::count(many as i64)
                ),
            };
            Ok(done("progress", again))
        }
        "measure" => Ok(match state.evaluation.for_jobs().ask_for(user).await? {
            RequestOutcome::Begun => Outcome::Redirect,
            answer => done("progress", answer.sentence()),
        }),
        "rebuild" => {
            embeddings.rebuild(user).await?;
            Ok(Outcome::Redirect)
        }
        _ => Err(unknown_action()),
    }
}

fn saved(form: &Form, saved: Saved) -> Result<Outcome, Problem> {
    Ok(match saved {
        Saved::InForce => done("embeddings", "Saved."),
        Saved::Rebuilding { .. } => Outcome::Redirect,
        Saved::AskFirst {
            texts,
            kept,
            staged,
        } => {
            let sentence = format!(
                "{} will be rebuilt with {}. {}Search uses the old embeddings until the new ones are complete.",
                in_words(texts),
                target(form),
                known(kept),
            );
            ask(
                "embeddings",
                form.clone(),
                sentence,
                texts.total(),
                None,
                staged,
            )
        }
    })
}

/// Such as "nomic-embed-text at localhost:11434".
fn target(form: &Form) -> String {
    let host = host_port(form.get("url"));
    match (form.get("own_enabled"), form.get("model").trim()) {
        ("1", "") => host,
        ("1", model) => format!("{model} at {host}"),
        _ => "the provider that comes next".to_owned(),
    }
}

fn ask(
    name: &str,
    form: Form,
    sentence: String,
    items: i64,
    users: Option<i64>,
    staged: String,
) -> Outcome {
    Outcome::Page(Box::new(FormState {
        form: name.to_owned(),
        values: form.values(),
        confirm: Some(Confirmation {
            sentence,
            items,
            users,
            staged,
        }),
        ..FormState::default()
    }))
}

fn in_words(texts: Texts) -> String {
    words::texts(texts.memories, texts.from_messages)
}

/// A sentence about embeddings that still exist, or nothing.
fn known(kept: i64) -> String {
    match kept {
        0 => String::new(),
        1 => "The embedding of 1 still exists and is used again. ".to_owned(),
        many => format!(
            "The embeddings of {} still exist and are used again. ",
            words::count(many)
        ),
    }
}

pub async fn system(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let name = match form.get("action") {
        "builtin_on" | "builtin_off" => "builtin",
        "late_on" | "late_off" => "late",
        _ => "system",
    };
    let outcome = change_system(&state, &signed_in, &form).await;
    respond(&state, signed_in, ADMIN, name, &form, outcome).await
}

async fn change_system(
    state: &AppState,
    signed_in: &SignedIn,
    form: &Form,
) -> Result<Outcome, Problem> {
    let embeddings = state.embeddings.for_jobs();
    let fields = endpoint_form(form);
    match form.get("action") {
        "test" => {
            let (user, asked) = (signed_in.0.id, embeddings.test_system(&fields));
            test(state, user, form, "system", asked).await
        }
        action @ ("save" | "confirm") => {
            let is_confirmed = action == "confirm";
            Ok(match embeddings.save_system(&fields, is_confirmed).await? {
                SystemSaved::InForce => done("system", "Saved."),
                SystemSaved::Rebuilding { users, texts } => done(
                    "system",
                    format!(
                        "{} of {} are being rebuilt.",
                        in_words(texts),
                        people(users)
                    ),
                ),
                SystemSaved::AskFirst {
                    users,
                    texts,
                    staged,
                } => {
                    let with = match host_port(form.get("url")).as_str() {
                        "" => "with the provider that comes next for each".to_owned(),
                        host => format!("with {host}"),
                    };
                    let sentence = format!(
                        "{} of {} will be rebuilt {with}. Search uses the old embeddings until the new ones are complete.",
                        in_words(texts),
                        people(users),
                    );
                    ask(
                        "system",
                        form.clone(),
                        sentence,
                        texts.total(),
                        Some(users),
                        staged,
                    )
                }
            })
        }
        "builtin_on" => {
            embeddings.set_builtin(true).await?;
            Ok(done("builtin", "The builtin model is on."))
        }
        "builtin_off" => {
            embeddings.set_builtin(false).await?;
            Ok(done(
                "builtin",
                "The builtin model is off: users without another provider have keyword search only. Their embeddings are kept.",
            ))
        }
        "late_on" => {
            embeddings.set_late_interaction(true).await?;
            Ok(done(
                "late",
                "Late interaction is on. It applies to each user as soon as their token vectors are ready.",
            ))
        }
        "late_off" => {
            embeddings.set_late_interaction(false).await?;
            Ok(done(
                "late",
                "Late interaction is off, and the token vectors are being removed.",
            ))
        }
        _ => Err(unknown_action()),
    }
}

fn people(users: i64) -> String {
    match users {
        1 => "1 user".to_owned(),
        users => format!("{} users", words::count(users)),
    }
}

pub async fn allowed(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let endpoint = form.get("endpoint");
    let changed = match form.get("action") {
        "add" => state.embeddings.allow_endpoint(endpoint).await,
        "remove" => state.embeddings.disallow_endpoint(endpoint).await,
        _ => {
            let outcome = Err(unknown_action());
            return respond(&state, signed_in, ADMIN, "endpoint", &form, outcome).await;
        }
    };
    let outcome = changed.map(|()| Outcome::Redirect).map_err(Problem::from);
    respond(&state, signed_in, ADMIN, "endpoint", &form, outcome).await
}
