//! Your data: all of it out as a file, a file in, and all of it gone for good; and
//! the receipts of what was erased. What cannot be undone is told in numbers first.

pub mod about;
mod import;
pub mod load;
pub mod post;
pub mod receipt;
pub mod storage;
pub mod upload;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Done, Field, FormError, Password, Renewal, Section, count, memories, size,
};
use crate::forms::{FormName, FormState};
use crate::islands::LiveProgress;
use crate::page::Page;
use crate::view::{DataPage, ImportState, RowCount};
use about::Ask;
use import::Import;
use receipt::Receipts;
use storage::Storage;

pub const PATH: &str = "/data";

pub async fn show(page: Page) -> Response {
    let is_held = page.asked_for("hold").is_some();
    let form = page.form.clone();
    let found = page.data_view(&page.viewer).await;
    page.render(Section::Data, "Your data", PATH, found, move |page| {
        view! { <Whole page form=form.clone() is_held /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: DataPage, form: FormState, is_held: bool) -> impl IntoView {
    let is_running =
        page.import.as_ref().is_some_and(|import| import.state == ImportState::Running);
    let renewal = (is_running && form.form.is_none()).then(|| {
        view! { <Renewal path=PATH.to_owned() is_held /> }
    });
    view! {
        <div class="column page" data-renewed-from=PATH>
            <h1>"Your data"</h1>
            <p class="lead">
                "Your memories belong to you: export them, import them, or delete them permanently."
            </p>
            <Done form=form.clone() />
            <Export page=page.clone() />
            <Import page=page.clone() form=form.of(FormName::Import) />
            {renewal}
            <Storage storage=page.storage.clone() />
            <DeleteAbout />
            <Delete form=form.of(FormName::Delete) />
            <Receipts receipts=page.receipts.clone() />
            <Erase rows=page.rows form=form.of(FormName::Erase) />
        </div>
        <LiveProgress />
    }
    .into_any()
}

#[component]
fn Export(page: DataPage) -> impl IntoView {
    let what = match (page.items, page.calls) {
        (0, 0) => "There are no memories yet; the file would contain only your account.".to_owned(),
        (items, 0) => {
            format!("{}, in a file of about {}.", memories(items), size(page.export_bytes))
        }
        (items, calls) => format!(
            "{} and {}, in a file of about {}.",
            memories(items),
            if calls == 1 {
                "1 recorded call".to_owned()
            } else {
                format!("{} recorded calls", count(calls))
            },
            size(page.export_bytes)
        ),
    };
    view! {
        <section class="part" aria-labelledby="export-title">
            <h2 id="export-title">"Export"</h2>
            <p>{what}</p>
            <p class="hint">
                "JSON Lines: themes, memories with their history, sessions with their messages, agents, settings and calls. It contains no passwords, tokens, keys or embeddings; embeddings are created again from the text."
            </p>
            <p>
                <a class="button" href="/data/export" download="">
                    "Export everything"
                </a>
            </p>
        </section>
    }
    .into_any()
}

#[component]
fn DeleteAbout() -> impl IntoView {
    view! {
        <section class="part" aria-labelledby="about-title">
            <h2 id="about-title">"Delete everything about…"</h2>
            <p class="hint">
                "A person, a place, a theme, an agent, a project: you see where it stands, and choose what is deleted permanently."
            </p>
            <Ask words=String::new() subjects=Vec::new() />
        </section>
    }
    .into_any()
}

#[component]
fn Delete(form: FormState) -> impl IntoView {
    view! {
        <section class="part" aria-labelledby="delete-title">
            <h2 id="delete-title">"Delete one memory"</h2>
            <p class="hint">
                "It is deleted permanently after ten seconds. Its page says what will be deleted, and offers Undo until then."
            </p>
            <form class="stack" method="post" action="/data/delete">
                <FormError form=form.clone() fields=&["item"] />
                <Field
                    form
                    name="item"
                    label="Its ID, or the address of its page"
                    autocomplete="off"
                    maxlength="300"
                />
                <div>
                    <button class="danger" type="submit" name="action" value="delete">
                        "Delete permanently"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Erase(rows: Vec<RowCount>, form: FormState) -> impl IntoView {
    let is_open = form.error.is_some();
    let list = rows
        .into_iter()
        .filter(|row| row.found > 0)
        .map(|row| {
            view! {
                <div>
                    <dt>{row.label}</dt>
                    <dd class="number">{count(row.found)}</dd>
                </div>
            }
        })
        .collect_view();
    view! {
        <section class="part" aria-labelledby="erase-title">
            <h2 id="erase-title">"Delete your account"</h2>
            <p>
                "Your account and everything in it are deleted from this server's database and cannot be restored. You are signed out everywhere and every token stops working at once. The data is deleted within moments, and a receipt says how much was deleted."
            </p>
            <p class="hint">"The server's backups are kept by its operator, for as long as they decide."</p>
            <details class="confirm" open=is_open>
                <summary>"Delete my account and everything in it"</summary>
                <div>
                    <p>"This will be deleted permanently:"</p>
                    <dl class="facts">{list}</dl>
                    <form class="stack" method="post" action="/data/erase">
                        <FormError form=form.clone() fields=&["email", "password"] />
                        <Field
                            form=form.clone()
                            name="email"
                            label="Your e-mail address, to confirm"
                            kind="email"
                            autocomplete="off"
                        />
                        <Password form name="password" label="Your password" />
                        <div>
                            <button class="danger" type="submit">
                                "Delete everything"
                            </button>
                        </div>
                    </form>
                </div>
            </details>
        </section>
    }
    .into_any()
}
