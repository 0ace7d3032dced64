//! What a person deletes in one act: chosen on a page, or by a program with their web session, which is answered in JSON.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::show;
use crate::db::UserId;
use crate::erasure::ReceiptId;
use crate::erasure::about::{self, FoundPlaces, PlaceChoice, Subject};
use crate::erasure::{self, ErasureError};
use crate::forms::{Field, FormName, Outcome, Posted, Submission, memory_problem};
use crate::input::{Invalid, sentence};
use crate::pages::data::post::to_receipt;
use keepsake_edge::AppState;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::SignedIn;

const PATH: &str = "/data/about";
const FORM: FormName = FormName::About;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum AboutForm {
    Delete { part: Field, whole: Field },
    Undo { receipt: Field },
}

/// Finds what the query asks for: the same as the page shows.
pub async fn list(
    State(state): State<AppState>,
    signed_in: SignedIn,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let found = async {
        let subject = subject_of(&query)?;
        let found = find(&state, signed_in.0.id, &subject).await?;
        let kinds = found.places.iter().map(|(kind, places)| {
            let listed =
                places.iter().map(|place| json!({ "part": place.part(*kind), "text": place.text }));
            let listed: Vec<Value> = listed.collect();
            (kind.as_str().to_owned(), Value::from(listed))
        });
        Ok::<_, Problem>(json!({
            "about": found.name,
            "found": kinds.collect::<serde_json::Map<_, _>>(),
            "names": found.names,
        }))
    };
    match found.await {
        Ok(found) => Json(found).into_response(),
        Err(problem) => problem.into_response(),
    }
}

pub async fn change(headers: HeaderMap, Posted(posted, form): Posted<AboutForm>) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let is_program = accept.is_some_and(|accept| accept.contains("application/json"));
    let done = match form {
        Ok(form) => obey(&posted, form).await,
        Err(problem) => Err(problem),
    };
    match (done, is_program) {
        (Ok(Some(receipt)), true) => {
            (StatusCode::ACCEPTED, Json(json!({ "receipt": receipt.as_str() }))).into_response()
        }
        (Ok(None), true) => Json(json!({ "receipt": null })).into_response(),
        (Err(problem), true) => problem.into_response(),
        (Ok(Some(receipt)), false) => to_receipt(&receipt),
        (Ok(None), false) => posted.respond(show, PATH, FORM, Ok(Outcome::Redirect)).await,
        (Err(problem), false) => {
            let asked = subject_of(&posted.fields.0).map(|subject| subject.field());
            let path = asked.map_or(PATH.to_owned(), |(name, value)| {
                let query = form_urlencoded::Serializer::new(String::new())
                    .append_pair(name, &value)
                    .finish();
                format!("{PATH}?{query}")
            });
            posted.respond(show, &path, FORM, Err(problem)).await
        }
    }
}

/// The receipt of what is deleted; none of what was undone.
async fn obey(posted: &Submission, form: AboutForm) -> Result<Option<ReceiptId>, Problem> {
    let (state, user) = (&posted.state, posted.user());
    let (db, clock) = (&state.db, &state.clock);
    match form {
        AboutForm::Undo { receipt } => {
            let kept = erasure::keep(db, clock, user, &receipt).await.map_err(memory_problem)?;
            kept.map(|()| None).ok_or_else(no_such_deletion)
        }
        AboutForm::Delete { part, whole } => {
            let subject = subject_of(&posted.fields.0)?;
            let choice = PlaceChoice::parse(&part, &whole);
            let found = find(state, user, &subject).await?;
            if !found.are_as_shown(&choice) {
                let sentence = "Something was added or deleted since you looked; nothing was deleted. Look at it again.";
                return Err(Problem::new(StatusCode::CONFLICT, "changed_since", sentence));
            }
            let (chosen, stays) = (found.choose(&choice), found.stays(&choice));
            let receipt = erasure::delete_soon(db, clock, user, &chosen, &stays).await?;
            state.search.reader().forget(user);
            receipt.map(Some).ok_or_else(|| {
                let sentence = "Nothing of this is there to delete; choose at least one.";
                Invalid::new("part", "required", sentence).into()
            })
        }
    }
}

fn subject_of(fields: &[(String, String)]) -> Result<Subject, Problem> {
    let field = |name: &str| {
        let found = fields.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str())
    };
    Subject::parse(field)?.ok_or_else(|| {
        let sentence = "`words` is missing; give words, or the ID of a memory, an entity, a theme, an agent or a project.";
        Invalid::new("words", "required", sentence).into()
    })
}

async fn find(state: &AppState, user: UserId, subject: &Subject) -> Result<FoundPlaces, Problem> {
    let found = about::find(&state.db, user, subject).await.map_err(|error| match error {
        ErasureError::Database(error) => error.into(),
        error => {
            let sentence = sentence(&error.to_string());
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "looks_already", sentence)
        }
    })?;
    found.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "not_found", "There is no such thing."))
}

fn no_such_deletion() -> Problem {
    let sentence = "There is no such deletion to undo.";
    Problem::new(StatusCode::NOT_FOUND, "not_found", sentence)
}
