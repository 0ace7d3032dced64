//! Documents: the files that agents write, as a tree of folders; those that were deleted are folded below it.

mod diff;
mod manage;
mod markdown;
pub mod one;
mod rendered;
mod revisions;
mod tree;

use std::cmp::Reverse;

use axum::response::Response;
use leptos::prelude::*;

use crate::address::{document_path, folder_of, folder_path};
use crate::components::{
    Marked, OwnerBadge, Paste, Section, TOKEN_PLACE, When, WordBadge, count, documents, size,
};
use crate::documents::{Document, DocumentPath};
use crate::kinds::whose;
use crate::limits::DELETED_SHOWN;
use crate::memories::Trust;
use crate::page::{Page, PageError, asked, database, invalid};
use tree::{DocumentFolder, DocumentTree, tree_of};

const CALL: &str = r##"{"command": "create", "path": "/memories/MEMORY.md", "file_text": "# What matters\n\n- Prefers short answers.\n"}"##;

const PUT: &str = r##"curl -sS -X PUT {url}/api/v1/documents/MEMORY.md \
  -H 'Authorization: Bearer {token}' \
  -H 'Content-Type: application/json' \
  -d '{"content":"# What matters\n\n- Prefers short answers.\n"}'"##;

pub async fn show(page: Page) -> Response {
    let found = load(&page).await;
    page.render(Section::Documents, "Documents", "/documents", found, |page| {
        match page.folder.is_none() && page.total == 0 && page.deleted_total == 0 {
            true => view! { <Beginning /> }.into_any(),
            false => view! { <DocumentsPage page /> }.into_any(),
        }
    })
    .await
}

#[derive(Clone)]
struct ListedDocuments {
    /// Of which this is the tree; `None`: of all.
    folder: Option<DocumentPath>,
    tree: DocumentTree,
    total: usize,
    /// Newest first, at most [`DELETED_SHOWN`].
    deleted: Vec<Document>,
    deleted_total: usize,
}

async fn load(page: &Page) -> Result<ListedDocuments, PageError> {
    let folder = folder_of(page.query());
    let folder = folder.map(|folder| DocumentPath::parse("folder", &folder));
    let folder = folder.transpose().map_err(invalid)?;
    let listed = page.state.documents.list(page.viewer.user_id, folder.as_ref(), true).await;
    let (mut deleted, there): (Vec<Document>, Vec<Document>) =
        listed.map_err(database)?.into_iter().partition(|document| document.archived_at.is_some());
    deleted.sort_by_key(|document| Reverse(document.archived_at));
    let deleted_total = deleted.len();
    deleted.truncate(DELETED_SHOWN);
    Ok(ListedDocuments {
        tree: tree_of(&there, folder.as_ref()),
        total: there.len(),
        folder,
        deleted,
        deleted_total,
    })
}

#[component]
fn DocumentsPage(page: ListedDocuments) -> impl IntoView {
    let heading = match (page.total, &page.folder) {
        (0, None) => "No documents now".to_owned(),
        (0, Some(_)) => "No documents in this folder".to_owned(),
        (n, _) => documents(n as i64),
    };
    let folder = page.folder.map(|folder| {
        view! {
            <p class="back">
                <a href="/documents">
                    <span aria-hidden="true">"← "</span>
                    "All documents"
                </a>
            </p>
            <p class="lead">
                "In the folder "
                <bdi>
                    <Marked text=folder.as_str().to_owned() />
                </bdi>
            </p>
        }
    });
    let lead = folder.is_none().then(|| {
        view! {
            <p class="lead">
                "Text files that your agents write for themselves. Every change is kept as a revision, and search covers the Markdown files."
            </p>
        }
    });
    view! {
        <div class="page documents">
            <h1>"Documents"</h1>
            {lead}
            {folder}
            <section class="results" aria-labelledby="count">
                <h2 id="count" class="count">
                    {heading}
                </h2>
                {tree(page.tree)}
            </section>
            <Deleted rows=page.deleted total=page.deleted_total />
        </div>
    }
    .into_any()
}

/// Folders within folders; a path has at most 16 names.
fn tree(tree: DocumentTree) -> AnyView {
    let left_out = (tree.left_out > 0).then(|| {
        let more = documents(tree.left_out as i64);
        view! { <li class="hint">{format!("{more} more in this folder are not shown. Use search to find them.")}</li> }
    });
    let in_tree = |document: Document| file(last_name(document.path.as_str()), document);
    view! {
        <ul class="tree">
            {tree.folders.into_iter().map(folder).collect_view()}
            {tree.files.into_iter().map(in_tree).collect_view()} {left_out}
        </ul>
    }
    .into_any()
}

fn folder(folder: DocumentFolder) -> AnyView {
    let name = last_name(&folder.path);
    let is_shown = !folder.inside.files.is_empty() || !folder.inside.folders.is_empty();
    let number = count(folder.documents as i64);
    if !is_shown {
        return view! {
            <li class="tree-folder tree-file" data-row="">
                <a href=folder_path(&folder.path) dir="auto">
                    <Marked text=name />
                    "/"
                </a>
                <span class="hint number">{documents(folder.documents as i64)}</span>
            </li>
        }
        .into_any();
    }
    view! {
        <li class="tree-folder">
            <details open>
                <summary>
                    <bdi>
                        <Marked text=name />
                    </bdi>
                    "/" <span class="hint number">{number}</span>
                    <span class="visually-hidden">" documents"</span>
                </summary>
                {tree(folder.inside)}
            </details>
        </li>
    }
    .into_any()
}

fn last_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// `name`: the last of its path, or all of it where it stands in no tree.
fn file(name: String, document: Document) -> AnyView {
    let when = match document.archived_at {
        Some(moment) => view! {
            <span>
                "deleted "
                <When at=moment />
            </span>
        }
        .into_any(),
        None => view! { <When at=document.updated_at /> }.into_any(),
    };
    view! {
        <li class="tree-file" data-row="">
            <a href=document_path(document.id) dir="auto">
                <Marked text=name />
            </a>
            {other_word(document.trust).map(|whose| view! { <WordBadge whose /> })}
            <OwnerBadge owner=document.owner />
            <span class="tree-facts">
                <span class="number">{size(document.bytes.into())}</span>
                {when}
            </span>
        </li>
    }
    .into_any()
}

#[component]
fn Deleted(rows: Vec<Document>, total: usize) -> impl IntoView {
    if rows.is_empty() {
        return ().into_any();
    }
    let cut = (total > rows.len()).then(|| {
        view! { <p class="hint">{format!("The {DELETED_SHOWN} most recently deleted are shown.")}</p> }
    });
    let by_path = |document: Document| file(document.path.as_str().to_owned(), document);
    view! {
        <details class="manage" id="deleted">
            <summary>"Deleted " <span class="number">{count(total as i64)}</span></summary>
            <div class="manage-body">
                <p class="hint">
                    "Agents no longer see these. You can restore each, or delete it permanently."
                </p>
                <ul class="tree">{rows.into_iter().map(by_path).collect_view()}</ul>
                {cut}
            </div>
        </details>
    }
    .into_any()
}

#[component]
fn Beginning() -> impl IntoView {
    let url = asked().state.public_url.as_str().to_owned();
    let put = PUT.replace("{url}", url.trim_end_matches('/')).replace("{token}", TOKEN_PLACE);
    view! {
        <div class="column">
            <h1>"Documents"</h1>
            <div class="begin">
                <p class="first-words">"No agent has written a document yet."</p>
                <p class="lead">
                    "Documents are text files that agents keep for themselves, such as MEMORY.md or memory/2026-03-23.md. Each change is a revision that you can read, compare and restore, and search covers the Markdown files."
                </p>
                <ol class="steps">
                    <li>
                        <p>
                            "Create an agent and copy its token: "
                            <a href="/agents">"Agents & tokens"</a> "."
                        </p>
                    </li>
                    <li>
                        <p>
                            "Over MCP the tool " <code>"memory_files"</code>
                            " has the commands of Anthropic's memory tool (view, create, str_replace, insert, delete, rename). You can tell an agent with this tool:"
                        </p>
                        <Paste caption="A call of memory_files" text=CALL.to_owned() />
                    </li>
                    <li>
                        <p>"Or write a document by hand:"</p>
                        <Paste caption="Write a document" text=put />
                    </li>
                </ol>
            </div>
        </div>
    }
    .into_any()
}

/// Only if it is not an agent's, which is the usual case.
fn other_word(trust: Trust) -> Option<&'static str> {
    (trust != Trust::Agent).then(|| whose(trust))
}
