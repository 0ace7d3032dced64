//! Deletes everything about something: it is found first, wherever it stands, then its person chooses, here or by a program
//! with their web session, which is answered in JSON.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use keepsake_edge::AppState;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::SignedIn;
use leptos::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::receipt::to_receipt;
use crate::components::{Done, FormError, Pick, Section, When, count};
use crate::db::UserId;
use crate::erasure::about::{
    self, FOUND_MAX, FoundPlace, FoundPlaces, MESSAGES_SEARCHED, PlaceChoice, PlaceKind, SHOWN_MAX,
    Subject, SubjectKind,
};
use crate::erasure::{self, ErasureError, ReceiptId};
use crate::forms::{Field, FormName, FormState, Outcome, Posted, Submission, memory_problem};
use crate::input::{Invalid, sentence};
use crate::page::{Page, PageError, database};

const PATH: &str = "/data/about";

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = load(&page).await;
    page.render(Section::Data, "Delete everything about…", PATH, found, move |page| {
        view! { <AboutPage page form=form.clone() /> }.into_any()
    })
    .await
}

#[derive(Clone)]
struct SoughtPlaces {
    /// What was typed.
    words: String,
    /// Kind, id and name of what may be chosen.
    subjects: Vec<(SubjectKind, i64, String)>,
    /// `None`: nothing was asked for, or nothing could be.
    subject: Option<Subject>,
    /// `None`: nothing was looked for.
    found: Option<FoundPlaces>,
    /// Why nothing could be looked for, by field.
    problem: Option<(String, String)>,
}

async fn load(page: &Page) -> Result<SoughtPlaces, PageError> {
    let (db, user) = (&page.state.db, page.viewer.user_id);
    let asked = page.asked_for_all();
    let (subject, mut problem) = match Subject::parse(|name| value_of(&asked, name)) {
        Ok(subject) => (subject, None),
        Err(invalid) => (None, Some((invalid.field.into_owned(), invalid.sentence))),
    };
    let mut found = None;
    if let Some(subject) = &subject {
        let sentence = match about::find(db, user, subject).await {
            Err(ErasureError::Database(error)) => return Err(database(error)),
            Err(error) => Some(sentence(&error.to_string())),
            Ok(None) => Some("There is no such thing.".to_owned()),
            Ok(places) => {
                found = places;
                None
            }
        };
        problem = sentence.map(|sentence| (subject.field().0.to_owned(), sentence));
    }
    Ok(SoughtPlaces {
        words: value_of(&asked, "words").unwrap_or_default().to_owned(),
        subjects: about::list_subjects(db, user).await.map_err(database)?,
        subject,
        found,
        problem,
    })
}

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
        Ok(form) => apply(&posted, form).await,
        Err(problem) => Err(problem),
    };
    match (done, is_program) {
        (Ok(Some(receipt)), true) => {
            (StatusCode::ACCEPTED, Json(json!({ "receipt": receipt.as_str() }))).into_response()
        }
        (Ok(None), true) => Json(json!({ "receipt": null })).into_response(),
        (Err(problem), true) => problem.into_response(),
        (Ok(Some(receipt)), false) => to_receipt(&receipt),
        (Ok(None), false) => {
            posted.respond(show, PATH, FormName::About, Ok(Outcome::Redirect)).await
        }
        (Err(problem), false) => {
            let asked = subject_of(&posted.fields.0).map(|subject| subject.field());
            let path = asked.map_or(PATH.to_owned(), |(name, value)| {
                let query = form_urlencoded::Serializer::new(String::new())
                    .append_pair(name, &value)
                    .finish();
                format!("{PATH}?{query}")
            });
            posted.respond(show, &path, FormName::About, Err(problem)).await
        }
    }
}

/// The receipt of what is deleted; none of what was undone.
async fn apply(posted: &Submission, form: AboutForm) -> Result<Option<ReceiptId>, Problem> {
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
    Subject::parse(|name| value_of(fields, name))?.ok_or_else(|| {
        let sentence = "`words` is missing; give words, or the ID of a memory, an entity, a theme, an agent or a project.";
        Invalid::new("words", "required", sentence).into()
    })
}

/// The first of this name.
fn value_of<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
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

#[component]
fn AboutPage(page: SoughtPlaces, form: FormState) -> impl IntoView {
    let form = match page.problem {
        Some((field, error)) => FormState {
            form: Some(FormName::About),
            field: Some(field),
            error: Some(error),
            ..FormState::default()
        },
        None => form,
    };
    let found = page
        .found
        .zip(page.subject.clone())
        .map(|(found, subject)| view! { <Found found subject /> });
    view! {
        <div class="column page">
            <h1>"Delete everything about…"</h1>
            <p class="lead">
                "Look for a name, or for words. You see where it stands (memories, conversations, documents), and choose what is deleted."
            </p>
            <Done form=form.clone() />
            <FormError form=form.clone() fields=&[] />
            <Ask words=page.words subjects=page.subjects asked=page.subject />
            {found}
        </div>
    }
    .into_any()
}

#[component]
pub fn Ask(
    words: String,
    subjects: Vec<(SubjectKind, i64, String)>,
    asked: Option<Subject>,
) -> impl IntoView {
    let pick = |kind: SubjectKind, label: &'static str, any: &'static str| {
        let of_kind = subjects.iter().filter(|(of, ..)| *of == kind);
        let choice = |(_, id, name): &(SubjectKind, i64, String)| {
            (id.to_string(), name.clone(), asked == Some(Subject::Of(kind, *id)))
        };
        let choices: Vec<_> = of_kind.map(choice).collect();
        (!choices.is_empty()).then(|| view! { <Pick name=kind.as_str() label any choices /> })
    };
    view! {
        <form class="stack" method="get" action=PATH role="search">
            <div class="field">
                <label for="about-words">"Words that the texts have"</label>
                <input
                    id="about-words"
                    type="search"
                    name="words"
                    value=words
                    maxlength="200"
                    dir="auto"
                    autocomplete="off"
                />
            </div>
            <div class="actions">
                {pick(SubjectKind::Theme, "Theme", "or a theme")} {pick(SubjectKind::Agent, "Agent", "or an agent")}
                {pick(SubjectKind::Project, "Project", "or a project")} <button type="submit">"Look"</button>
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Found(found: FoundPlaces, subject: Subject) -> impl IntoView {
    let (field, value) = subject.field();
    if found.places.is_empty() {
        return view! {
            <section class="part" aria-labelledby="found-title">
                <h2 id="found-title">"Nothing found"</h2>
                <p>"Nothing of " <q dir="auto">{found.name}</q> " stands in your memory."</p>
            </section>
        }
        .into_any();
    }
    let has_messages = found.places.iter().any(|(kind, _)| *kind == PlaceKind::Messages);
    let total: usize = found.places.iter().map(|(_, places)| places.len()).sum();
    let kinds = found
        .places
        .into_iter()
        .map(|(kind, places)| {
            let is_chosen = is_chosen(&subject, kind);
            view! { <Kind kind places is_chosen /> }
        })
        .collect_view();
    let names = (found.names > 0).then(|| {
        view! {
            <p class="hint">
                "Names of themes, agents and projects stay (" {count(found.names)} "): other memories may belong to them."
            </p>
        }
    });
    view! {
        <section class="part" aria-labelledby="found-title">
            <h2 id="found-title">{count(total as i64)} " places"</h2>
            <p>"About " <q dir="auto">{found.name}</q> ":"</p>
            <form class="stack" method="post" action=PATH>
                <input type="hidden" name=field value=value />
                {kinds}
                {names}
                {has_messages
                    .then(|| {
                        view! {
                            <p class="hint">
                                "The newest " {count(MESSAGES_SEARCHED)} " messages were looked through."
                            </p>
                        }
                    })}
                <p>
                    "What you chose is deleted permanently after ten seconds, and a receipt says how much it was. Until then you can undo it."
                </p>
                <div>
                    <button class="danger" type="submit" name="action" value="delete">
                        "Delete what is chosen"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

/// Where all rows are listed each is chosen by itself, else all together.
#[component]
fn Kind(kind: PlaceKind, places: Vec<FoundPlace>, is_chosen: bool) -> impl IntoView {
    let total = places.len();
    let is_each = total <= SHOWN_MAX;
    let (label, hint) = words_of(kind);
    let all = (!is_each).then(|| {
        let value = format!("{}:{total}", kind.as_str());
        let more = match total == FOUND_MAX {
            true => " There are more: they are found when these are gone.",
            false => "",
        };
        view! {
            <p>
                <label class="check">
                    <input type="checkbox" name="whole" value=value checked=is_chosen />
                    "All " {count(total as i64)} "; the newest are listed." {more}
                </label>
            </p>
        }
    });
    let rows = places
        .into_iter()
        .take(SHOWN_MAX)
        .map(|place| {
            let value = is_each.then(|| place.part(kind));
            let href = href_of(kind, &place);
            view! { <Row place href value is_chosen /> }
        })
        .collect_view();
    view! {
        <details class="found" open=true>
            <summary>{label} " (" {count(total as i64)} ")"</summary>
            <p class="hint">{hint}</p>
            {all}
            <ul class="found-rows">{rows}</ul>
        </details>
    }
    .into_any()
}

#[component]
fn Row(
    place: FoundPlace,
    href: Option<String>,
    value: Option<String>,
    is_chosen: bool,
) -> impl IntoView {
    let text = view! { <bdi dir="auto">{place.text}</bdi> };
    let said = match value {
        Some(value) => view! {
            <label class="check">
                <input type="checkbox" name="part" value=value checked=is_chosen />
                {text}
            </label>
        }
        .into_any(),
        None => view! { <p>{text}</p> }.into_any(),
    };
    let link = href.map(|href| view! { <a href=href>"Look at it"</a> });
    view! {
        <li>
            {said} <p class="hint">
                <When at=place.at /> " " {link}
            </p>
        </li>
    }
    .into_any()
}

fn href_of(kind: PlaceKind, place: &FoundPlace) -> Option<String> {
    let (id, position) = (place.id, place.position);
    match kind {
        PlaceKind::Memories | PlaceKind::Episodes => Some(format!("/memory/{id}")),
        PlaceKind::Messages => Some(format!("/sessions/{id}?from={position}")),
        PlaceKind::Sessions => Some(format!("/sessions/{id}")),
        PlaceKind::Documents => Some(format!("/documents/{id}")),
        PlaceKind::Entities => Some(format!("/entities/{id}")),
        PlaceKind::Summary => Some("/summary".to_owned()),
        PlaceKind::Calls => None,
    }
}

/// A document says much else, and so do the other memories with most of one's words.
fn is_chosen(subject: &Subject, kind: PlaceKind) -> bool {
    let is_memory = matches!(subject, Subject::Of(SubjectKind::Memory, _));
    match kind {
        PlaceKind::Documents => matches!(subject, Subject::Of(SubjectKind::Project, _)),
        PlaceKind::Entities => !is_memory,
        _ => true,
    }
}

fn words_of(kind: PlaceKind) -> (&'static str, &'static str) {
    match kind {
        PlaceKind::Memories => {
            ("Memories", "Deleted with their history, embeddings, and what was derived from them.")
        }
        PlaceKind::Episodes => ("Episodes", "Summaries of sessions; each is deleted whole."),
        PlaceKind::Messages => {
            ("Messages", "Each stays in its session without its text, and is not found any more.")
        }
        PlaceKind::Sessions => ("Sessions", "Deleted with all their messages."),
        PlaceKind::Documents => ("Documents", "Deleted whole, with all revisions."),
        PlaceKind::Entities => ("Entities", "Deleted with their names and relations."),
        PlaceKind::Calls => {
            ("Search queries", "The calls stay in the activity, without the query.")
        }
        PlaceKind::Summary => ("Summary", "Its text is deleted, and written again."),
    }
}
