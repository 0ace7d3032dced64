//! A file comes in: the form, how far it is, and what it came to.

use leptos::prelude::*;

use crate::components::{FormError, Progress, When, count, memories, size};
use crate::forms::FormState;
use crate::view::{DataPage, ImportProgress, ImportState};

const LOOK_SECONDS: u32 = 1;

#[component]
pub fn Import(page: DataPage, form: FormState) -> impl IntoView {
    let is_running =
        page.import.as_ref().is_some_and(|import| import.state == ImportState::Running);
    let hint = format!(
        "An export of Keepsake, mem0, OpenMemory, ChatGPT or Claude (what they saved as memories, not the conversations), payloads of a vector store, the memory.jsonl of the MCP memory server, a list of texts, CSV, or Markdown notes, which become documents. A zip as you downloaded it will do. At most {} MiB.",
        page.upload_bytes_max / 1024 / 1024
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
                {page.import.map(|import| view! { <Last import /> })}
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
fn Last(import: ImportProgress) -> impl IntoView {
    let mut line = format!("{} added", memories(import.added));
    if import.documents > 0 {
        let noun = if import.documents == 1 { "document" } else { "documents" };
        line += &format!(" · {} {noun}", count(import.documents));
    }
    if import.changed > 0 {
        line += &format!(" · {} changed", count(import.changed));
    }
    if import.known > 0 {
        line += &format!(" · {} already known", count(import.known));
    }
    if import.failed > 0 {
        line += &format!(" · {} rejected", count(import.failed));
    }
    if import.skipped > 0 {
        line += &format!(" · {} not imported", count(import.skipped));
    }
    let body = match import.state {
        ImportState::Running => {
            let read =
                format!("{} of {} · {line}", size(import.bytes_done), size(import.bytes_total));
            view! {
                <Progress
                    label="Import".to_owned()
                    done=import.bytes_done
                    failed=0
                    total=import.bytes_total
                    line=read
                />
            }
            .into_any()
        }
        ImportState::Done => view! {
            <p>
                "The last import, " <When at=import.started.clone() /> ": "
                <span data-progress-line="">{line}</span> ". " {import.whose}
            </p>
        }
        .into_any(),
        ImportState::Interrupted | ImportState::Failed => {
            let why = import.error.clone().unwrap_or_else(|| {
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
    let problems = (!import.problems.is_empty()).then(|| problems(&import));
    let report = import.report.clone().map(|href| {
        view! {
            <p>
                <a href=href download="">
                    "Download the report"
                </a>
                ": what was taken, changed and rejected, entry by entry."
            </p>
        }
    });
    view! {
        {body}
        {report}
        {problems}
    }
    .into_any()
}

fn problems(import: &ImportProgress) -> AnyView {
    let beyond = import.failed - import.problems.len() as i64;
    let rows = import
        .problems
        .iter()
        .map(|(place, sentence)| {
            view! {
                <div>
                    <dt>{place.clone()}</dt>
                    <dd>{sentence.clone()}</dd>
                </div>
            }
        })
        .collect_view();
    view! {
        <h3>"Rejected"</h3>
        <dl class="facts">{rows}</dl>
        {(beyond > 0).then(|| view! { <p class="hint">{format!("And {} more.", count(beyond))}</p> })}
    }
    .into_any()
}
