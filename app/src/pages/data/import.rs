//! A file comes in: its upload, the form, how far it is, and what it came to.

use std::sync::Arc;

use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{FromRequest, Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use keepsake_edge::AppState;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::SignedIn;
use leptos::prelude::*;

use super::upload::{Preamble, bounded};
use super::{PATH, show};
use crate::components::{FormError, Progress, When, count, documents, memories, size};
use crate::export::{
    FORM_BYTES_MAX, FileOrigin, ImportState, ImportStatus, UPLOAD_BYTES_MAX, Upload, UploadError,
};
use crate::forms::{Form, FormName, FormState, Outcome, respond};
use crate::input::{Invalid, sentence};

const LOOK_SECONDS: u32 = 1;
/// Limit on an upload's body.
pub const BODY_BYTES_MAX: usize = (UPLOAD_BYTES_MAX + FORM_BYTES_MAX) as usize;

pub async fn post(
    State(state): State<AppState>,
    signed_in: SignedIn,
    request: Request,
) -> Response {
    let user = signed_in.0.id;
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    let preamble = Arc::<Preamble>::default();
    let request = request.map(|body| bounded(body, preamble.clone()));
    let attempt = async {
        let form = Multipart::from_request(request, &state).await;
        let form = form.map_err(|_| no_file())?;
        let admitted = state.imports.admit(user, declared).await;
        let received = receive(form, &preamble, admitted.map_err(upload_problem)?);
        let (upload, is_vouched) = received.await?;
        let begun = state.imports.begin(upload, is_vouched).await;
        begun.map_err(upload_problem)?;
        Ok(Outcome::Redirect)
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(show, &state, signed_in, PATH, FormName::Import, &fields, outcome).await
}

/// The file, and whether its person vouches for it.
async fn receive(
    mut form: Multipart,
    preamble: &Preamble,
    mut upload: Upload,
) -> Result<(Upload, bool), Problem> {
    let cut_off = |error| body_problem(&error, preamble);
    let mut is_vouched = false;
    while let Some(mut field) = form.next_field().await.map_err(cut_off)? {
        match field.name() {
            Some("file") => {
                preamble.end();
                if let Some(name) = field.file_name() {
                    upload.set_name(name);
                }
            }
            Some("vouch") => {
                is_vouched = field.bytes().await.map_err(cut_off)? == "1";
                continue;
            }
            _ => continue,
        }
        while let Some(chunk) = field.chunk().await.map_err(cut_off)? {
            upload.write(&chunk).await.map_err(upload_problem)?;
        }
        upload.flush().await.map_err(upload_problem)?;
        if upload.is_empty() {
            return Err(no_file());
        }
        return Ok((upload, is_vouched));
    }
    Err(no_file())
}

fn body_problem(error: &MultipartError, preamble: &Preamble) -> Problem {
    if preamble.is_too_long() {
        let kib = FORM_BYTES_MAX / 1024;
        let sentence = format!(
            "The form has over {kib} KiB before its file; nothing was imported. Choose the file on this page."
        );
        return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", sentence);
    }
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return upload_problem(UploadError::TooLarge);
    }
    Problem::new(
        StatusCode::BAD_REQUEST,
        "incomplete_body",
        "The upload was interrupted; nothing was imported. Try again.",
    )
}

fn no_file() -> Problem {
    Invalid::new("file", "required", "Choose a file first.").into()
}

fn upload_problem(error: UploadError) -> Problem {
    let (status, code) = match error {
        UploadError::Database(error) => return error.into(),
        UploadError::Quota(error) => return error.into(),
        UploadError::UnderWay => (StatusCode::CONFLICT, "under_way"),
        UploadError::Uploading | UploadError::TooManyUploads | UploadError::TooMany => {
            (StatusCode::TOO_MANY_REQUESTS, "too_many")
        }
        UploadError::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        UploadError::NoRoom(ref error) => {
            tracing::error!(%error, "an upload could not be put aside");
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
        }
        UploadError::File(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    Problem::new(status, code, sentence(&error.to_string()))
}

#[component]
pub fn Import(last: Option<ImportStatus>, form: FormState) -> impl IntoView {
    let is_running = last.as_ref().is_some_and(|import| import.state == ImportState::Running);
    let hint = format!(
        "An export of Keepsake, mem0, OpenMemory, ChatGPT or Claude (what they saved as memories, not the conversations), payloads of a vector store, the memory.jsonl of the MCP memory server, a list of texts, CSV, or Markdown notes, which become documents. A zip as you downloaded it will do. At most {} MiB.",
        UPLOAD_BYTES_MAX / 1024 / 1024
    );
    view! {
        <section class="part" aria-labelledby="import-title">
            <h2 id="import-title">"Import"</h2>
            <p>
                "Memories keep their dates, status, tags and source. Memories that already exist stay unchanged: importing the same file twice changes nothing."
            </p>
            <div
                class="column"
                data-live="import"
                data-look-again=is_running.then_some(LOOK_SECONDS)
            >
                {last.map(|import| view! { <LastImport import /> })}
            </div>
            <form class="stack" method="post" action="/data/import" enctype="multipart/form-data">
                <FormError form fields=&[] />
                <label class="check">
                    <input type="checkbox" name="vouch" value="1" />
                    <span>
                        "I vouch for this file: keep whose word its memories are, and what is confirmed"
                    </span>
                </label>
                <p class="hint">
                    "Not needed for an export of this server for your address. Without it, what another file brings is external: agents read it as somebody else's words. Either way you can review it on "
                    <a href="/learned">"Learned"</a> "."
                </p>
                <div class="field">
                    <label for="import-file">"File"</label>
                    <p class="hint" id="import-file-hint">
                        {hint}
                    </p>
                    <input
                        id="import-file"
                        type="file"
                        name="file"
                        required=true
                        accept=".zip,.jsonl,.json,.gz,.csv,.tsv,.txt,.md,application/json,application/x-ndjson,application/zip"
                        aria-describedby="import-file-hint"
                    />
                </div>
                <div>
                    <button type="submit">"Import"</button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn LastImport(import: ImportStatus) -> impl IntoView {
    let outcome = import.outcome;
    let mut line = format!("{} added", memories(outcome.added as i64));
    if outcome.documents > 0 {
        line += &format!(" · {}", documents(outcome.documents as i64));
    }
    let counts = [
        (outcome.changed, "changed"),
        (outcome.known, "already known"),
        (outcome.failed, "rejected"),
        (outcome.skipped, "not imported"),
    ];
    for (n, words) in counts.into_iter().filter(|(n, _)| *n > 0) {
        line += &format!(" · {} {words}", count(n as i64));
    }
    let origin = match import.origin {
        Some(FileOrigin::Signed) => "This server has written the file for you.",
        Some(FileOrigin::Vouched) => "You vouched for the file.",
        Some(FileOrigin::Unknown) => {
            "Its memories are external: this server has not written the file for you, and you did not vouch for it."
        }
        None => "",
    };
    let body = match import.state {
        ImportState::Running => {
            let (read, total) = (outcome.bytes as i64, import.bytes_total as i64);
            let line = format!("{} of {} · {line}", size(read), size(total));
            view! {
                <Progress
                    label="Import".to_owned()
                    done=read
                    failed=0
                    total
                    line
                />
            }
            .into_any()
        }
        ImportState::Done => view! {
            <p>
                "The last import, " <When at=import.started_at /> ": "
                <span data-progress-line="">{line}</span> ". " {origin}
            </p>
        }
        .into_any(),
        ImportState::Interrupted | ImportState::Failed => {
            let why = import.error.unwrap_or_else(|| {
                "The import was interrupted because the server stopped. Import the file again; nothing is duplicated.".to_owned()
            });
            view! {
                <p class="problem">
                    {why} " Until then: " <span data-progress-line="">{line}</span> "."
                </p>
            }
            .into_any()
        }
    };
    let report = import.has_report.then(|| {
        let href = format!("/data/imports/{}/report.jsonl", import.id);
        view! {
            <p>
                <a href=href download="">
                    "Download the report"
                </a>
                ": what was taken, changed and rejected, entry by entry."
            </p>
        }
    });
    let beyond = outcome.failed as i64 - outcome.problems.len() as i64;
    let problems = (!outcome.problems.is_empty()).then(|| {
        let rows = outcome.problems.into_iter().map(|problem| {
            view! {
                <div>
                    <dt>{problem.place}</dt>
                    <dd>{problem.sentence}</dd>
                </div>
            }
        });
        view! {
            <h3>"Rejected"</h3>
            <dl class="facts">{rows.collect_view()}</dl>
            {(beyond > 0).then(|| view! { <p class="hint">{format!("And {} more.", count(beyond))}</p> })}
        }
    });
    view! {
        {body}
        {report}
        {problems}
    }
    .into_any()
}
