//! Admin › Backups: the last and the next backup, the files that are kept, and the buttons that make and verify one.
//! It offers no download and no deletion: a backup is every user's memory.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Done, FormError, NoSuchPage, Section, StateBadge, When, count};
use crate::forms::{FormName, FormState};
use crate::islands::LiveProgress;
use crate::page::{Page, asked};
use crate::view::{BackupRow, BackupsPage, Verification};

const PATH: &str = "/admin/backups";
const LOOK_SECONDS: u32 = 2;

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = page.backups_page().await;
    page.render(Section::Backups, "Backups · Admin", PATH, found, move |page| match page {
        Some(page) => view! { <Whole page form=form.clone() /> }.into_any(),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}

#[component]
fn Whole(page: BackupsPage, form: FormState) -> impl IntoView {
    let form = form.of(FormName::Backups);
    let look_again = page.is_moving().then_some(LOOK_SECONDS);
    let body = match page.is_on() {
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
    let failed = page.problem.clone().map(|(problem, at)| {
        view! {
            <p role="alert">
                <StateBadge state="failed" /> " " <When at=at /> ": " {problem}
            </p>
        }
    });
    let next = page.next.clone().map(|moment| {
        view! {
            <p class="hint">
                "The next one is made " <When at=moment />
                ". Kept are the newest of each of the last 7 days with a backup and of 4 weeks, and the newest 3."
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
    let rows = page.backups.into_iter().map(|backup| view! { <Row backup /> });
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
            <Steps has_any is_making=page.is_making is_verifying=page.is_verifying />
            {next}
            {place}
        </section>
    }
    .into_any()
}

/// The whole in one sentence; it is what is read out.
fn line(page: &BackupsPage) -> String {
    let state = match (page.is_making, page.is_verifying) {
        (true, _) => " A backup is being made.",
        (false, true) => " The newest backup is being verified.",
        (false, false) => "",
    };
    match page.backups.first() {
        None => format!("There is no backup yet.{state}"),
        Some(last) => {
            format!("The last backup was made {}.{state}", asked().moment(last.made).relative)
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
fn Row(backup: BackupRow) -> impl IntoView {
    let verified = match backup.verification {
        Verification::Never => "never".into_any(),
        Verification::Passed(moment) => view! {
            <StateBadge state="done" />
            " "
            <When at=moment />
        }
        .into_any(),
        Verification::Failed { at, problem } => view! {
            <span class="job-last">
                <StateBadge state="failed" />
                " "
                <When at=at />
                <span class="job-about">{problem}</span>
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
                <When at=backup.made />
            </td>
            <td data-label="Verified">{verified}</td>
            <td data-label="Size" class="number">
                {backup.size}
            </td>
            <td data-label="Rows" class="number">
                {count(backup.rows)}
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
