//! One document: what it says, now or at a revision, what changed, which calls found it, and what a person decides
//! about it. Another user's document is not found.

use axum::http::StatusCode;
use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use super::diff::{DiffView, compare};
use super::markdown::{self, Block};
use super::other_word;
use super::rendered::blocks;
use super::revisions::{Changes, Revisions, author};
use crate::activity::KEPT_DAYS;
use crate::address::{ActivityFilters, DocumentFilters, document_path};
use crate::components::{
    Fact, Facts, FormError, Marked, OwnerBadge, Section, StateBadge, When, WordBadge, count, did,
    not_found, size,
};
use crate::db::actor;
use crate::documents::{
    ChangeAuthor, Document, DocumentError, DocumentRevision, FullDocument, Revision,
};
use crate::erasure::{self, ErasureError};
use crate::forms::{Field, FormName, FormState, Outcome, Posted, Submission};
use crate::input::Invalid;
use crate::kinds::whose;
use crate::limits::{FOUND_SHOWN, LINES_SHOWN};
use crate::memories::manage;
use crate::page::{Page, PageError, asked, database};
use crate::pages::activity::readings::Reading;
use crate::pages::data::receipt::to_receipt;
use crate::quota::estimate;
use crate::search::reader::on_a_thread;
use crate::tools::ToolError;

pub async fn show(page: Page) -> Response {
    let filters = DocumentFilters::from_query(page.query());
    // What is not a number names nothing.
    let found = match page.id().parse() {
        Ok(id) => load(&page, id, &filters).await,
        Err(_) => Ok(None),
    };
    let href = format!("/documents/{}", page.id());
    page.render(Section::Documents, "A document", href, found, move |page| {
        let body = match page {
            Some(page) => view! { <DocumentPage page filters=filters.clone() /> }.into_any(),
            None => {
                not_found();
                view! { <Missing /> }.into_any()
            }
        };
        view! {
            <div class="page">
                <p class="back">
                    <a href="/documents">
                        <span aria-hidden="true">"← "</span>
                        "All documents"
                    </a>
                </p>
                {body}
            </div>
        }
        .into_any()
    })
    .await
}

#[derive(Clone)]
struct ShownDocument {
    document: Document,
    /// Newest first.
    revisions: Vec<Revision>,
    /// Of the revision that is shown.
    body: DocumentBody,
    /// Of the revision that the address names.
    diff: Option<DiffView>,
    /// Calls that found or touched it, newest first.
    found: Vec<Reading>,
    is_manageable: bool,
}

#[derive(Clone)]
enum DocumentBody {
    Markdown {
        blocks: Vec<Block>,
        /// The rest is not rendered.
        is_cut: bool,
    },
    Text {
        lines: Vec<String>,
        lines_total: usize,
    },
}

async fn load(
    page: &Page,
    id: i64,
    filters: &DocumentFilters,
) -> Result<Option<ShownDocument>, PageError> {
    let (documents, user) = (&page.state.documents, page.viewer.user_id);
    let read = match filters.revision {
        Some(revision) => documents.compare_revision(user, id, revision).await,
        None => documents.read_revision(user, id, None).await.map(
            |FullDocument { document, content }| DocumentRevision {
                document,
                content,
                before: None,
            },
        ),
    };
    let DocumentRevision { document, content, before } = match read {
        Ok(read) => read,
        Err(DocumentError::NotFound) => return Ok(None),
        Err(DocumentError::Database(error)) => return Err(database(error)),
        Err(error) => {
            let problem = Problem::from(ToolError::from(error));
            let is_invalid = problem.status.is_client_error();
            return Err(PageError { is_invalid, sentence: problem.detail });
        }
    };
    let revisions = documents.revisions(user, id).await.map_err(database)?;
    let read_only = manage::is_browser_read_only(&page.state.db).await.map_err(database)?;
    let compares = filters.revision.is_some();
    let is_rendered = document.path.is_searched() && !filters.as_text;
    let made = on_a_thread(move || {
        let diff = compares.then(|| match before {
            Some(before) => compare(&before, &content),
            None => DiffView::NothingBefore,
        });
        let body = match is_rendered {
            true => {
                let (blocks, is_cut) = markdown::parse(&content);
                DocumentBody::Markdown { blocks, is_cut }
            }
            false => DocumentBody::Text {
                lines_total: content.lines().count(),
                lines: content.lines().take(LINES_SHOWN).map(str::to_owned).collect(),
            },
        };
        (body, diff)
    });
    let (body, diff) = made.await.map_err(database)?;
    let found = page.calls_with(&page.viewer, id).await?;
    let is_manageable = !read_only;
    Ok(Some(ShownDocument { document, revisions, body, diff, found, is_manageable }))
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DocumentForm {
    Restore,
    RestoreRevision { revision: Field<i32> },
}

/// Restores it or an older revision, which a read-only browser refuses.
pub async fn decide(Posted(posted, form): Posted<DocumentForm>) -> Response {
    actor::require_open_browser();
    let (documents, user, by) = (&posted.state.documents, posted.user(), ChangeAuthor::person());
    let attempt = async {
        let document = posted.id()?;
        let restored = match form {
            Ok(DocumentForm::Restore) => documents.restore(user, by, document).await,
            Ok(DocumentForm::RestoreRevision { revision }) => {
                posted.state.embeddings.quota().take(user, estimate(0, 1)).await?;
                let restored = documents.restore_revision(user, by, document, *revision);
                restored.await
            }
            Err(unknown) => {
                let there = documents.read_revision(user, document, None).await;
                there.map_err(document_problem)?;
                return Err(unknown);
            }
        };
        restored.map_err(document_problem)?;
        Ok(Outcome::Redirect)
    };
    posted.respond_if_found(show, &path_of(&posted), FormName::Document, attempt.await).await
}

fn path_of(posted: &Submission) -> String {
    format!("/documents/{}", posted.id)
}

fn document_problem(error: DocumentError) -> Problem {
    let conflict = |code, sentence: &str| Problem::new(StatusCode::CONFLICT, code, sentence);
    match error {
        DocumentError::Exists => conflict(
            "exists",
            "Not restored: another document has its path now. Delete that one first, or let an agent rename it.",
        ),
        DocumentError::IsFolder => conflict(
            "exists",
            "Not restored: a folder has its path now. Delete that one first, or let an agent rename it.",
        ),
        DocumentError::IsDocument => conflict(
            "exists",
            "Not restored: a document has the path of one of its folders now. Delete that one first, or let an agent rename it.",
        ),
        DocumentError::Refused(sentence) => conflict("deleted", &sentence),
        error => ToolError::from(error).into(),
    }
}

#[derive(Deserialize)]
pub struct EraseDocumentForm {
    confirm: Field,
}

/// An admin cannot disable this.
pub async fn erase(Posted(posted, form): Posted<EraseDocumentForm>) -> Response {
    let (state, user) = (&posted.state, posted.user());
    let attempt = async {
        let document = posted.id()?;
        if !form?.confirm.is_checked() {
            let there = posted.state.documents.read_revision(user, document, None).await;
            there.map_err(document_problem)?;
            return Err(unconfirmed());
        }
        // Deletes all revisions in one statement, which may take long.
        let (db, now) = (state.db.with_job_timeout(), state.clock.now());
        let erased = erasure::document(&db, &state.activity, user, document, now).await;
        erased.map_err(|error| match error {
            ErasureError::Database(error) => error.into(),
            _ => document_problem(DocumentError::NotFound),
        })
    };
    match attempt.await {
        Ok(receipt) => {
            state.search.reader().forget(user);
            to_receipt(&receipt)
        }
        Err(problem) => {
            let path = path_of(&posted);
            posted.respond_if_found(show, &path, FormName::DocumentErase, Err(problem)).await
        }
    }
}

fn unconfirmed() -> Problem {
    let sentence = "Check the box to confirm; nothing was deleted. Deleting cannot be undone.";
    Invalid::new("confirm", "required", sentence).into()
}

#[component]
fn Missing() -> impl IntoView {
    view! {
        <h1>"No such document"</h1>
        <p>
            "It or its revision may have been deleted permanently, or it was never yours."
        </p>
        <p>
            <a href="/data#receipts-title">"Receipts of what was deleted"</a>
        </p>
    }
}

#[component]
fn DocumentPage(page: ShownDocument, filters: DocumentFilters) -> impl IntoView {
    let (document, revisions) = (page.document, page.revisions);
    let deleted = document.archived_at.map(|at| {
        view! {
            <p class="aside">"It was deleted " <When at /> ": agents no longer see it."</p>
        }
    });
    let changes =
        page.diff.zip(filters.revision).map(|(diff, revision)| view! { <Changes revision diff /> });
    view! {
        <article class="document">
            <header class="item-head">
                <h1 dir="auto">
                    <Marked text=document.path.as_str().to_owned() />
                </h1>
                <p class="badges">
                    {document.archived_at.is_some().then(|| view! { <StateBadge state="deleted" /> })}
                    {other_word(document.trust).map(|whose| view! { <WordBadge whose /> })}
                    <OwnerBadge owner=document.owner.clone() />
                </p>
            </header>
            <About document=document.clone() last=revisions.first().cloned() />
            {deleted}
            {changes}
            <Text document=document.clone() body=page.body filters=filters.clone() />
            <Revisions id=document.id revisions=revisions.clone() shown=filters.revision />
            <Found id=document.id found=page.found />
            <Manage
                document
                revisions=revisions.len()
                shown=filters.revision
                is_manageable=page.is_manageable
            />
        </article>
    }
    .into_any()
}

#[component]
fn About(document: Document, last: Option<Revision>) -> impl IntoView {
    let (created, changed) = (document.created_at, document.updated_at);
    let by = view! {
        <When at=changed />
        " by "
        <bdi>{last.as_ref().map_or_else(|| "you".to_owned(), author)}</bdi>
    };
    let mut facts: Vec<Fact> = vec![
        ("Revision", view! { <span class="number">{document.revision}</span> }.into_any()),
        ("Changed", by.into_any()),
        ("Trust", whose(document.trust).into_any()),
        ("Size", size(document.bytes.into()).into_any()),
    ];
    if created != changed {
        facts.push(("Created", view! { <When at=created /> }.into_any()));
    }
    view! { <Facts facts inline=true /> }.into_any()
}

#[component]
fn Text(document: Document, body: DocumentBody, filters: DocumentFilters) -> impl IntoView {
    let id = document.id;
    let heading = match filters.revision {
        Some(revision) if revision != document.revision => {
            format!("Text at revision {revision}")
        }
        _ => "Text".to_owned(),
    };
    let now = filters.revision.map(|_| view! { <a href=document_path(id)>"Newest revision"</a> });
    let other = document.path.is_searched().then(|| match filters.as_text {
        true => view! { <a href=filters.rendered().href(id)>"Show rendered"</a> },
        false => view! { <a href=filters.as_text().href(id)>"Show source"</a> },
    });
    let body = match body {
        DocumentBody::Markdown { blocks: all, is_cut: false } if all.is_empty() => nothing(),
        DocumentBody::Markdown { blocks: all, is_cut } => {
            let rest = is_cut.then(|| {
                view! {
                    <p class="hint">
                        "The rest is not rendered: "
                        <a href=filters.as_text().href(id)>"show source"</a> "."
                    </p>
                }
            });
            view! {
                <div class="markdown">{blocks(all)}</div>
                {rest}
            }
            .into_any()
        }
        DocumentBody::Text { lines, .. } if lines.is_empty() => nothing(),
        DocumentBody::Text { lines, lines_total } => {
            let shown = lines.len();
            let rest = (lines_total > shown).then(|| {
                let words = format!(
                    "The first {} of {} lines are shown. ",
                    count(shown as i64),
                    count(lines_total as i64)
                );
                view! {
                    <p class="hint">
                        {words} <a href=filters.raw_href(id)>"Download the whole text"</a> "."
                    </p>
                }
            });
            view! {
                <Numbered lines />
                {rest}
            }
            .into_any()
        }
    };
    view! {
        <section class="part" aria-labelledby="text-title">
            <div class="title-row">
                <h2 id="text-title">{heading}</h2>
                <p class="row-from">
                    {now} {other}
                    <a href=filters.raw_href(id) download="">
                        "Download"
                    </a>
                </p>
            </div>
            {body}
        </section>
    }
    .into_any()
}

fn nothing() -> AnyView {
    view! { <p class="hint">"It is empty."</p> }.into_any()
}

#[component]
fn Numbered(lines: Vec<String>) -> impl IntoView {
    let lines = lines.into_iter().enumerate().map(|(n, text)| {
        let n = n + 1;
        view! {
            <li id=format!("L{n}")>
                <span dir="auto">
                    <Marked text />
                </span>
            </li>
        }
    });
    view! { <ol class="numbered">{lines.collect_view()}</ol> }.into_any()
}

/// Who got it by search or by its path, and when; the rest is on the page of activity.
#[component]
fn Found(id: i64, found: Vec<Reading>) -> impl IntoView {
    let list = if found.is_empty() {
        let none = format!("No call in the last {KEPT_DAYS} days found, read or changed it.");
        view! { <p class="hint">{none}</p> }.into_any()
    } else {
        let is_full = found.len() == FOUND_SHOWN;
        let entries = found.into_iter().map(|reading| {
            let event = match reading.tool.as_str() {
                "memory_search" => "found by search",
                "memory_files" => "used as a file",
                tool => did(tool),
            };
            view! {
                <li>
                    <span class="event">{event}</span>
                    <span class="actor">"by " <bdi>{reading.agent}</bdi></span>
                    <code class="hint">{reading.tool}</code>
                    <When at=reading.at />
                </li>
            }
        });
        view! {
            <ol class="timeline">{entries.collect_view()}</ol>
            {is_full
                .then(|| {
                    view! { <p class="hint">{format!("The newest {FOUND_SHOWN} are shown.")}</p> }
                })}
        }
        .into_any()
    };
    view! {
        <section class="part" aria-labelledby="found-title">
            <h2 id="found-title">"Found"</h2>
            {list}
            <p>
                <a href=ActivityFilters::of_item(id).href()>"View activity"</a>
            </p>
        </section>
    }
    .into_any()
}

/// What a person decides about it, folded at first. Where the browser is read-only the deletion alone is left: nobody takes that
/// away. `shown`: the revision that the address names.
#[component]
fn Manage(
    document: Document,
    revisions: usize,
    shown: Option<i32>,
    is_manageable: bool,
) -> impl IntoView {
    let form = asked().form;
    let (of_document, of_erase) = (form.of(FormName::Document), form.of(FormName::DocumentErase));
    let is_open = of_document.error.is_some() || of_erase.error.is_some();
    let id = document.id;
    let is_deleted = document.archived_at.is_some();
    let restore = (is_manageable && is_deleted).then(|| {
        view! {
            <form class="decision" method="post" action=document_path(id)>
                <div>
                    <button type="submit" name="action" value="restore">
                        "Restore"
                    </button>
                </div>
                <p class="hint">"Agents see it again, and search covers it."</p>
            </form>
        }
    });
    let older = shown.filter(|shown| *shown != document.revision);
    let older = older.filter(|_| is_manageable && !is_deleted);
    let has_older = revisions > 1;
    let revision = older.map(|revision| {
        view! {
            <form class="decision" method="post" action=document_path(id)>
                <input type="hidden" name="revision" value=revision />
                <div>
                    <button type="submit" name="action" value="restore_revision">
                        {format!("Restore revision {revision}")}
                    </button>
                </div>
                <p class="hint">
                    "Its text becomes the newest revision. All revisions are kept."
                </p>
            </form>
        }
    });
    let how = (is_manageable && !is_deleted && has_older && older.is_none()).then(|| {
        view! { <p class="hint">"To restore an older text, open its revision first."</p> }
    });
    let label = match is_manageable {
        true => "Manage",
        false => "Delete permanently",
    };
    view! {
        <details class="manage" id="manage" open=is_open>
            <summary>{label}</summary>
            <div class="manage-body">
                <FormError form=of_document fields=&[] />
                {restore}
                {revision}
                {how}
                <Erase id revisions form=of_erase />
            </div>
        </details>
    }
    .into_any()
}

#[component]
fn Erase(id: i64, revisions: usize, form: FormState) -> impl IntoView {
    let goes = match revisions {
        1 => "Its text and its search entries are deleted. This cannot be undone.".to_owned(),
        n => format!(
            "All {} revisions and their search entries are deleted. This cannot be undone.",
            count(n as i64)
        ),
    };
    view! {
        <form class="decision" method="post" action=format!("/documents/{id}/erase")>
            <FormError form fields=&[] />
            <label class="check">
                <input type="checkbox" name="confirm" value="1" required />
                <span>"I want to delete this document permanently"</span>
            </label>
            <div>
                <button class="danger" type="submit">
                    "Delete permanently"
                </button>
            </div>
            <p class="hint">{goes}</p>
        </form>
    }
    .into_any()
}
