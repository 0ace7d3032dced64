//! What a person decides about one document: an older revision's text again, the document again, and its permanent
//! deletion. Folded at first. Where the browser is read-only the deletion alone is left: nobody takes that away.

use leptos::prelude::*;

use crate::address::document_path;
use crate::components::{FormError, count};
use crate::forms::{FormName, FormState};
use crate::page::asked;
use crate::view::DocumentPage;

/// `shown`: the revision that the address names.
#[component]
pub fn Manage(page: DocumentPage, shown: Option<i32>) -> impl IntoView {
    let form = asked().form;
    let (of_document, of_erase) = (form.of(FormName::Document), form.of(FormName::DocumentErase));
    let is_open = of_document.error.is_some() || of_erase.error.is_some();
    let id = page.id;
    let is_deleted = page.deleted.is_some();
    let restore = (page.is_manageable && is_deleted).then(|| {
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
    let older = shown.filter(|shown| *shown != page.revision);
    let older = older.filter(|_| page.is_manageable && !is_deleted);
    let has_older = page.revisions.len() > 1;
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
    let how = (page.is_manageable && !is_deleted && has_older && older.is_none()).then(|| {
        view! { <p class="hint">"To restore an older text, open its revision first."</p> }
    });
    let label = match page.is_manageable {
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
                <Erase id revisions=page.revisions.len() form=of_erase />
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
