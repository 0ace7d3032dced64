//! One document: what it says, now or at a revision, what changed, and which calls found it. What a person decides about it
//! stands apart (`manage.rs`). Another user's document is not found.

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;

use super::diff::{DiffView, compare};
use super::manage::{self, DocumentForm, EraseDocumentForm, Manage};
use super::markdown::{self, Block};
use super::other_word;
use super::rendered::blocks;
use super::revisions::{Changes, Revisions, author};
use crate::activity::KEPT_DAYS;
use crate::address::{ActivityFilters, DocumentFilters, document_path};
use crate::components::{
    Fact, Facts, Marked, OwnerBadge, Section, StateBadge, When, WordBadge, count, did, not_found,
    size,
};
use crate::db::actor;
use crate::documents::{Document, DocumentError, DocumentRevision, FullDocument, Revision};
use crate::forms::{FormName, Posted, Submission};
use crate::kinds::whose;
use crate::limits::{FOUND_SHOWN, LINES_SHOWN};
use crate::memories::manage::is_browser_read_only;
use crate::page::{Page, PageError, database};
use crate::pages::activity::readings::Reading;
use crate::pages::data::receipt::to_receipt;
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
    let read_only = is_browser_read_only(&page.state.db).await.map_err(database)?;
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

/// Restores it or an older revision, which a read-only browser refuses.
pub async fn decide(Posted(posted, form): Posted<DocumentForm>) -> Response {
    actor::require_open_browser();
    let outcome = manage::apply(&posted, form).await;
    posted.respond_if_found(show, &path_of(&posted), FormName::Document, outcome).await
}

/// An admin cannot disable this.
pub async fn erase(Posted(posted, form): Posted<EraseDocumentForm>) -> Response {
    match manage::erase(&posted, form).await {
        Ok(receipt) => {
            posted.state.search.reader().forget(posted.user());
            to_receipt(&receipt)
        }
        Err(problem) => {
            let path = path_of(&posted);
            posted.respond_if_found(show, &path, FormName::DocumentErase, Err(problem)).await
        }
    }
}

fn path_of(posted: &Submission) -> String {
    format!("/documents/{}", posted.id)
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
