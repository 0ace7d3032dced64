//! Your data: all of it out as a file, a file in, and all of it gone for good; and
//! the receipts of what was erased. Before an irreversible step the page says in numbers what it deletes; deleting the
//! account needs its e-mail address and password.

pub mod about;
pub mod import;
pub mod receipt;
pub mod storage;
mod upload;

use axum::http::StatusCode;
use axum::response::Response;
use keepsake_edge::AppState;
use keepsake_edge::client::ClientAddress;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;
use tower_sessions::Session;

use crate::accounts::{self, Email, UserId};
use crate::components::{
    Done, Field, FormError, Password, Renewal, Section, count, memories, size,
};
use crate::erasure::{self, ErasedRows, ErasureError, Receipt, ReceiptId};
use crate::export::{Export, ExportOverview, ImportState, ImportStatus};
use crate::forms::{self, FormName, FormState, Outcome, Posted, Submission, memory_problem};
use crate::input::{Invalid, sentence};
use crate::islands::LiveProgress;
use crate::memories::{ItemId, MemoryError};
use crate::page::{Page, database};
use crate::pages::item;
use crate::pages::item::manage::{FORM as MANAGE_FORM, path_of};
use crate::quota::StorageUse;
use about::Ask;
use import::Import;
use receipt::{Receipts, row_counts, to_receipt};
use storage::Storage;

const PATH: &str = "/data";

pub async fn show(page: Page) -> Response {
    let is_held = page.asked_for("hold").is_some();
    let form = page.form.clone();
    let found = load(&page).await.map_err(database);
    page.render(Section::Data, "Your data", PATH, found, move |page| {
        view! { <YourData page form=form.clone() is_held /> }.into_any()
    })
    .await
}

#[derive(Clone)]
struct DataPage {
    export: ExportOverview,
    /// The last one.
    import: Option<ImportStatus>,
    used: Option<StorageUse>,
    storage_limit: i64,
    /// Newest first.
    receipts: Vec<Receipt>,
    /// What an erasure of the account would remove.
    rows: ErasedRows,
}

async fn load(page: &Page) -> Result<DataPage, sqlx::Error> {
    let (state, user) = (&page.state, page.viewer.user_id);
    // Both count everything the user has, which may take long.
    let db = state.db.with_job_timeout();
    let export = Export::overview(&db, user).await?;
    let rows = erasure::weigh_account(&db, user).await?;
    let (used, storage_limit) = state.embeddings.quota().of(user).await?;
    Ok(DataPage {
        export,
        import: state.imports.last(user).await?,
        used,
        storage_limit,
        receipts: erasure::list_receipts(&state.db, user).await?,
        rows,
    })
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DeleteItemForm {
    Delete { item: forms::Field },
    Undo { item: forms::Field },
}

/// Deletes one memory permanently after its undo period, or undoes that. Another user's memory is not found.
/// An admin cannot disable this.
pub async fn delete_item(Posted(posted, form): Posted<DeleteItemForm>) -> Response {
    let (db, clock, user) = (&posted.state.db, &posted.state.clock, posted.user());
    let attempt = async {
        let (item, done) = match form? {
            DeleteItemForm::Delete { item } => {
                let item = parse_item(&item)?;
                (item, erasure::delete_item_soon(db, clock, user, item).await)
            }
            DeleteItemForm::Undo { item } => {
                let item = parse_item(&item)?;
                (item, erasure::keep_item(db, clock, user, item).await)
            }
        };
        match done {
            Ok(()) => Ok((item, Ok(Outcome::Redirect))),
            // Shown on the memory's page, which still exists.
            Err(error @ MemoryError::TooLate) => Ok((item, Err(memory_problem(error)))),
            Err(MemoryError::NotFound(_)) => Err(no_such_item()),
            Err(error) => Err(memory_problem(error)),
        }
    };
    match attempt.await {
        Ok((at, outcome)) => posted.respond(item::show, &path_of(at), MANAGE_FORM, outcome).await,
        Err(problem) => posted.respond(show, PATH, FormName::Delete, Err(problem)).await,
    }
}

fn no_such_item() -> Problem {
    let sentence = "There is no such memory. If it was deleted, its receipt is listed below.";
    Problem {
        field: Some("item".to_owned()),
        ..Problem::new(StatusCode::NOT_FOUND, "not_found", sentence)
    }
}

/// Accepts an id, or the URL of its page.
fn parse_item(text: &str) -> Result<ItemId, Invalid> {
    let text = text.trim();
    let path = text.split(['?', '#']).next().unwrap_or(text);
    let number = path.rsplit_once("/memory/").map_or(path, |(_, rest)| rest);
    let number = number.trim_end_matches('/').parse();
    number.map(ItemId).map_err(|_| {
        let sentence = "`item` names no memory; give its ID, or the address of its page.";
        Invalid::new("item", "invalid_item", sentence)
    })
}

#[derive(Deserialize)]
pub struct EraseAccountForm {
    email: forms::Field,
    password: forms::Field,
}

pub async fn erase_account(
    ClientAddress(address): ClientAddress,
    session: Session,
    Posted(posted, form): Posted<EraseAccountForm>,
) -> Response {
    let (state, email) = (&posted.state, &posted.signed_in.0.email);
    let attempt = async {
        state.throttles.admit_sign_in(email, address).await?;
        check_person(&posted, &form?).await?;
        begin(state, posted.user()).await
    };
    match attempt.await {
        Ok(receipt) => {
            // The session's row is deleted already; this deletes the cookie.
            session.flush().await.ok();
            to_receipt(&receipt)
        }
        Err(problem) => posted.respond(show, PATH, FormName::Erase, Err(problem)).await,
    }
}

async fn check_person(posted: &Submission, form: &EraseAccountForm) -> Result<(), Problem> {
    let email = Email::parse(&form.email)?;
    if email.as_str() != posted.signed_in.0.email {
        let sentence = "This is not the e-mail address of your account; nothing was deleted.";
        return Err(Invalid::new("email", "wrong_email", sentence).into());
    }
    let (accounts, password) =
        (&posted.state.accounts, accounts::Password::to_compare(&form.password));
    if !accounts.is_password_of(posted.user(), password).await? {
        let sentence = "This is not your password; nothing was deleted.";
        return Err(Invalid::new("password", "wrong_password", sentence).into());
    }
    Ok(())
}

async fn begin(state: &AppState, user: UserId) -> Result<ReceiptId, Problem> {
    let begun = erasure::begin(&state.db, user, state.clock.now()).await;
    if begun.is_ok() {
        state.registry.forget(user);
        state.search.reader().forget(user);
    }
    begun.map_err(|error| match error {
        ErasureError::Database(error) => error.into(),
        other => Problem::new(StatusCode::CONFLICT, "not_erased", sentence(&other.to_string())),
    })
}

#[component]
fn YourData(page: DataPage, form: FormState, is_held: bool) -> impl IntoView {
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
            <ExportAll overview=page.export />
            <Import last=page.import form=form.of(FormName::Import) />
            {renewal}
            <Storage used=page.used limit=page.storage_limit />
            <DeleteAbout />
            <Delete form=form.of(FormName::Delete) />
            <Receipts receipts=page.receipts />
            <Erase rows=page.rows form=form.of(FormName::Erase) />
        </div>
        <LiveProgress />
    }
    .into_any()
}

#[component]
fn ExportAll(overview: ExportOverview) -> impl IntoView {
    let bytes = size(overview.bytes);
    let what = match (overview.items, overview.calls) {
        (0, 0) => "There are no memories yet; the file would contain only your account.".to_owned(),
        (items, 0) => format!("{}, in a file of about {bytes}.", memories(items)),
        (items, 1) => {
            format!("{} and 1 recorded call, in a file of about {bytes}.", memories(items))
        }
        (items, calls) => format!(
            "{} and {} recorded calls, in a file of about {bytes}.",
            memories(items),
            count(calls)
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
            <Ask words=String::new() subjects=Vec::new() asked=None />
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
fn Erase(rows: ErasedRows, form: FormState) -> impl IntoView {
    let is_open = form.error.is_some();
    let list = row_counts(&rows, &ErasedRows::new())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_named_by_its_number_or_its_address() {
        for named in [
            "42",
            " 42 ",
            "/memory/42",
            "https://memory.example.com/memory/42",
            "http://127.0.0.1:3000/memory/42/?q=tea#manage",
        ] {
            assert_eq!(parse_item(named), Ok(ItemId(42)), "{named:?}");
        }
        for none in ["", "tea", "/memory/", "/sessions/42", "4 2", "42e", "99999999999999999999"] {
            assert_eq!(parse_item(none).expect_err("none").field, "item", "{none:?}");
        }
    }
}
