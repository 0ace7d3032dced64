//! Admin › Backups: the last and the next backup, the files that are kept, and the buttons that make and verify one.
//! It offers no download and no deletion: a backup is every user's memory.

use axum::http::StatusCode;
use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;
use time::OffsetDateTime;

use crate::backup::{self, BackupState, ListedBackup};
use crate::components::{Done, FormError, NoSuchPage, Section, StateBadge, When, count};
use crate::forms::{Admin, Attempt, FormName, FormState, Posted, Submission, done};
use crate::input::sentence;
use crate::islands::LiveProgress;
use crate::page::{Page, asked, database};
use crate::words::size;

const PATH: &str = "/admin/backups";
const LOOK_SECONDS: u32 = 2;

#[derive(Clone)]
struct BackupsPage {
    /// Of this server; `None`: it makes none.
    folder: Option<String>,
    /// Newest first; of the folder of any server.
    backups: Vec<ListedBackup>,
    state: BackupState,
    now: OffsetDateTime,
}

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = match page.is_admin() {
        true => load(&page).await.map(Some).map_err(database),
        false => Ok(None),
    };
    page.render(Section::Backups, "Backups · Admin", PATH, found, move |found| match found {
        Some(found) => backups_page(found, form.of(FormName::Backups)),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}

async fn load(page: &Page) -> Result<BackupsPage, sqlx::Error> {
    let mut conn = page.state.db.system_connection().await?;
    Ok(BackupsPage {
        folder: page.state.backups.as_ref().map(|made| made.folder().display().to_string()),
        state: backup::state(&mut conn).await?,
        backups: backup::list(&mut conn).await?,
        now: page.state.clock.now(),
    })
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum BackupForm {
    BackUp,
    Verify,
}

pub async fn change(_: Admin, Posted(posted, form): Posted<BackupForm>) -> Response {
    let outcome = apply(&posted, form).await;
    posted.respond(show, PATH, FormName::Backups, outcome).await
}

async fn apply(posted: &Submission, form: Result<BackupForm, Problem>) -> Attempt {
    let (db, _, now) = posted.context();
    let form = form?;
    // Checks again that the person is an admin.
    let mut tx = db.as_system().await?;
    let has_any = !backup::list(&mut tx).await?.is_empty();
    tx.commit().await?;
    if posted.state.backups.is_none() && !has_any {
        let sentence = "This server has no backup folder; set KEEPSAKE_BACKUP_DIR and restart it.";
        return Err(refused("no_backup_folder", sentence));
    }
    let sentence = match form {
        BackupForm::BackUp => {
            backup::ask(db, now).await?;
            "A backup is made now."
        }
        BackupForm::Verify if !has_any => {
            let sentence = "There is no backup to verify; make one first.";
            return Err(refused("no_backup", sentence));
        }
        BackupForm::Verify => {
            backup::ask_to_verify(db, now).await?;
            "The newest backup is verified now."
        }
    };
    Ok(done(FormName::Backups, sentence))
}

fn refused(code: &'static str, sentence: &'static str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, sentence)
}

fn backups_page(page: BackupsPage, form: FormState) -> AnyView {
    let is_moving = page.state.asked_at.is_some() || page.state.verify_asked_at.is_some();
    // Whether any server has a backup folder, as far as this one knows.
    let is_on = page.folder.is_some() || !page.backups.is_empty();
    let look_again = (is_on && is_moving).then_some(LOOK_SECONDS);
    let body = match is_on {
        true => view! { <Files page /> }.into_any(),
        false => beginning(),
    };
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Backups"</h1>
            <p class="lead">
                "A backup is one file with the memories, accounts and settings of all users, of one moment."
            </p>
            <Done form=form.clone() />
            <FormError form fields=&[] />
            <div class="parts" data-live="backups" data-look-again=look_again>
                {body}
                <Missing />
            </div>
        </div>
        <LiveProgress />
    }
    .into_any()
}

fn beginning() -> AnyView {
    view! {
        <section class="part" aria-labelledby="begin">
            <h2 id="begin">"No backup folder"</h2>
            <p>
                "This server makes no nightly backups. Set a folder on another disk, and restart the server:"
            </p>
            <pre>
                <code>"KEEPSAKE_BACKUP_DIR=/mnt/backups/keepsake"</code>
            </pre>
            <p>"To make one backup now, run this on the server:"</p>
            <pre>
                <code>"keepsake backup keepsake.tar"</code>
            </pre>
        </section>
    }
    .into_any()
}

#[component]
fn Files(page: BackupsPage) -> impl IntoView {
    let line = line(&page);
    let (is_making, is_verifying) =
        (page.state.asked_at.is_some(), page.state.verify_asked_at.is_some());
    let failed = page.state.problem.zip(page.state.problem_at).map(|(problem, at)| {
        view! {
            <p role="alert">
                <StateBadge state="failed" /> " " <When at /> ": " {sentence(&problem)}
            </p>
        }
    });
    let place = match page.folder {
        Some(folder) => view! {
            <p class="hint">"Folder: " <code>{folder}</code></p>
        }
        .into_any(),
        None => view! { <p class="hint">"The folder is on another server."</p> }.into_any(),
    };
    let has_any = !page.backups.is_empty();
    let rows = page.backups.into_iter().map(|backup| view! { <BackupFileRow backup /> });
    let table = has_any.then(|| {
        view! {
            <table class="jobs">
                <thead>
                    <tr>
                        <th scope="col">"File"</th>
                        <th scope="col">"Made"</th>
                        <th scope="col">"Verified"</th>
                        <th scope="col" class="number">
                            "Size"
                        </th>
                        <th scope="col" class="number">
                            "Rows"
                        </th>
                        <th scope="col">"Version"</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        }
    });
    view! {
        <section class="part" aria-labelledby="files">
            <h2 id="files">"Files"</h2>
            <p class="lead" data-progress-line="">
                {line}
            </p>
            {failed}
            {table}
            <Steps has_any is_making is_verifying />
            <p class="hint">
                "The next one is made " <When at=backup::next_night(page.now) />
                ". Kept are the newest of each of the last 7 days with a backup and of 4 weeks, and the newest 3."
            </p>
            {place}
        </section>
    }
    .into_any()
}

/// The whole in one sentence; it is what is read out.
fn line(page: &BackupsPage) -> String {
    let state = match (page.state.asked_at, page.state.verify_asked_at) {
        (Some(_), _) => " A backup is being made.",
        (None, Some(_)) => " The newest backup is being verified.",
        (None, None) => "",
    };
    match page.backups.first() {
        None => format!("There is no backup yet.{state}"),
        Some(last) => {
            format!("The last backup was made {}.{state}", asked().moment(last.made_at).relative)
        }
    }
}

#[component]
fn Steps(has_any: bool, is_making: bool, is_verifying: bool) -> impl IntoView {
    let step = |action: &'static str, label: &'static str| {
        view! {
            <button id=action class="quiet" type="submit" name="action" value=action>
                {label}
            </button>
        }
    };
    view! {
        <form method="post" action=PATH class="job-steps">
            {(!is_making).then(|| step("back_up", "Back up now"))}
            {(has_any && !is_verifying).then(|| step("verify", "Verify now"))}
        </form>
        {has_any
            .then(|| {
                view! {
                    <p class="hint">
                        "Verifying restores the newest backup into a throwaway database on the same PostgreSQL, counts the rows of every table, and drops it. It needs as much disk there as the database."
                    </p>
                }
            })}
    }
    .into_any()
}

#[component]
fn BackupFileRow(backup: ListedBackup) -> impl IntoView {
    let verified = match (backup.verified_at, backup.verify_problem) {
        (None, _) => "never".into_any(),
        (Some(at), None) => view! {
            <StateBadge state="done" />
            " "
            <When at />
        }
        .into_any(),
        (Some(at), Some(problem)) => view! {
            <span class="job-last">
                <StateBadge state="failed" />
                " "
                <When at />
                <span class="job-about">{sentence(&problem)}</span>
            </span>
        }
        .into_any(),
    };
    view! {
        <tr>
            <th scope="row">
                <span class="job-title">{backup.name}</span>
            </th>
            <td data-label="Made">
                <When at=backup.made_at />
            </td>
            <td data-label="Verified">{verified}</td>
            <td data-label="Size" class="number">
                {size(backup.bytes)}
            </td>
            <td data-label="Rows" class="number">
                {count(backup.rows_total)}
            </td>
            <td data-label="Version">{backup.version}</td>
        </tr>
    }
    .into_any()
}

#[component]
fn Missing() -> impl IntoView {
    view! {
        <section class="part" aria-labelledby="missing">
            <h2 id="missing">"What is not in it"</h2>
            <p>
                "The secret key, which encrypts the keys of providers and the secrets of webhooks, is not in a backup. Keep "
                <code>"secret-key"</code>
                " of the data folder, or KEEPSAKE_SECRET_KEY, in another place. Without it everything is restored but these: keys must be entered again, and each webhook needs a new secret."
            </p>
            <p>
                "Restore on the command line, into a new data folder or an empty database: "
                <code>"keepsake restore FILE"</code>
                ". Webhooks are then paused until they are resumed. What was erased after the backup is erased again, from "
                <code>"erasures.jsonl"</code> " in the same folder: copy it with the backups."
            </p>
        </section>
    }
    .into_any()
}
