//! The forms of Settings › Embeddings and of the admin page: save, test, confirm, cancel, retry, off and on.
//! An entered key is sealed or sent to the endpoint, and never part of a response.

use app::view::{Confirmation, FormState, TestResult};
use app::words;
use axum::extract::{RawForm, State};
use axum::response::Response;

use super::endpoint_test::{failed, tried};
use super::{Form, Outcome, done, respond, unknown_action};
use crate::embedding::{EmbeddingError, EndpointChange, Saved, SystemSaved, Texts};
use crate::evaluation::Evaluation;
use crate::evaluation::asked::Answer;
use crate::providers::TestReport;
use crate::providers::settings::EndpointForm;
use crate::web::AppState;
use crate::web::auth::{Admin, SignedIn};
use crate::web::error::Problem;
use crate::web::ui::host_port;

const SETTINGS: &str = "/settings/embeddings";
const ADMIN: &str = "/admin";
/// The staged value of a confirmation that switches embeddings on.
const STAGED_ENABLE: &str = "enable";

fn endpoint_form(form: &Form) -> EndpointForm<'_> {
    EndpointForm {
        provider_type: form.get("provider_type"),
        url: form.get("url"),
        model: form.get("model"),
        dimensions: form.get("dimensions"),
        key: form.get("key"),
        clear_key: form.get("clear_key") == "1",
        preset: form.get("preset"),
        query_prefix: form.get("query_prefix"),
        document_prefix: form.get("document_prefix"),
        batch_size: form.get("batch_size"),
        concurrency: form.get("concurrency"),
        pause_ms: form.get("pause_ms"),
    }
}

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
    let change = |confirmed| EndpointChange {
        own_enabled: form.get("own_enabled") == "1",
        form: endpoint_form(form),
        staged: form.get("staged"),
        confirmed,
    };
    match form.get("action") {
        "test" => {
            state.throttles.check_test(user)?;
            let report = embeddings.test_own(user, change(false)).await;
            tested(form, "embeddings", report)
        }
        "save" => saved(form, embeddings.save(user, change(false)).await?),
        "confirm" if form.get("staged") == STAGED_ENABLE => {
            embeddings.set_enabled(user, true, true).await?;
            Ok(Outcome::Redirect)
        }
        "confirm" => saved(form, embeddings.save(user, change(true)).await?),
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
        "measure" => {
            let evaluation = Evaluation::new(state.search.for_jobs());
            Ok(match evaluation.ask_for(user).await? {
                Answer::Begun => Outcome::Redirect,
                answer => done("progress", answer.sentence()),
            })
        }
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

fn tested(
    form: &Form,
    name: &str,
    report: Result<TestReport, EmbeddingError>,
) -> Result<Outcome, Problem> {
    match report {
        Ok(report) => Ok(tried(form, name, passed(&report))),
        Err(EmbeddingError::Provider(error)) => Ok(tried(form, name, failed(form, &error))),
        Err(error) => Err(error.into()),
    }
}

fn passed(report: &TestReport) -> TestResult {
    let ms = report.latency.as_millis().max(1);
    let mut details = Vec::new();
    let mut tell = |what: &str, seen: String| details.push((what.to_owned(), seen));
    if let Some(model) = &report.model_found {
        tell("Model", model.clone());
    }
    tell(
        "Dimensions",
        match report.requested_dimensions_honoured {
            None => format!("{}; no number was requested", report.dimensions),
            Some(true) => format!("{}, as requested", report.dimensions),
            Some(false) => format!(
                "{}: the endpoint ignores the requested number; leave `dimensions` empty",
                report.dimensions
            ),
        },
    );
    tell(
        "Length",
        match (report.norm - 1.0).abs() < 0.01 {
            true => "1, so the endpoint normalises".to_owned(),
            false => format!("{:.3}; Keepsake normalises to 1", report.norm),
        },
    );
    tell(
        "Order",
        match report.order_kept {
            true => "Kept: each answer belongs to its text".to_owned(),
            false => "Not kept: a text sent alone gets a different embedding than in a batch; set the batch size to 1".to_owned(),
        },
    );
    tell(
        "Meaning",
        match report.similar_closer {
            true => "A question is closer to its answer than to another text".to_owned(),
            false => "A question is no closer to its answer than to another text. Is this an embedding model, and are the prefixes right?".to_owned(),
        },
    );
    // A width other than the requested one would be refused at the first memory.
    let is_ok = report.requested_dimensions_honoured != Some(false);
    let headline = match is_ok {
        true => format!("Works: {} dimensions in {ms} ms", report.dimensions),
        false => "It answers, but not with the requested dimensions".to_owned(),
    };
    TestResult {
        is_ok,
        headline,
        details,
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
    let (fields, staged) = (endpoint_form(form), form.get("staged"));
    match form.get("action") {
        "test" => {
            state.throttles.check_test(signed_in.0.id)?;
            tested(form, "system", embeddings.test_system(fields, staged).await)
        }
        action @ ("save" | "confirm") => {
            let is_confirmed = action == "confirm";
            Ok(
                match embeddings.save_system(fields, staged, is_confirmed).await? {
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
                },
            )
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
    let embeddings = &state.embeddings;
    let endpoint = form.get("endpoint");
    let changed = match form.get("action") {
        "add" => embeddings.allow_endpoint(endpoint).await,
        "remove" => embeddings.disallow_endpoint(endpoint).await,
        _ => {
            return respond(
                &state,
                signed_in,
                ADMIN,
                "endpoint",
                &form,
                Err(unknown_action()),
            )
            .await;
        }
    };
    let outcome = changed.map(|()| Outcome::Redirect).map_err(Problem::from);
    respond(&state, signed_in, ADMIN, "endpoint", &form, outcome).await
}
