//! The job of backups: nightly and when asked, once over all servers; rotation; verification; its page.

use std::fs;
use std::path::Path;

use keepsake::jobs;
use reqwest::StatusCode;
use serde_json::json;
use time::Duration;

use super::{backed_up, taken_out, written};
use crate::support::{Browser, TestApp, TestUser, Wish};

const PATH: &str = "/admin/backups";

/// An app with this folder, an admin who remembers something, and her browser.
async fn with_folder(folder: &Path) -> (TestApp, TestUser, Browser) {
    let backup_dir = Some(folder.to_owned());
    let app = TestApp::start_as(Wish { backup_dir, ..Wish::default() }).await;
    let anna = app.user("anna").await;
    app.make_admin(&anna).await;
    anna.add("Anna rows.").await;
    let browser = app.signed_in(&anna).await;
    (app, anna, browser)
}

fn backups(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".tar")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_night_makes_one_backup_over_all_servers_whatever_the_folder_and_the_clock_do() {
    let folder = tempfile::tempdir().unwrap();
    let (app, ..) = with_folder(folder.path()).await;
    assert_eq!(app.run_job("backup").await, 0);
    assert_eq!(backups(folder.path()), Vec::<String>::new());
    // A night comes, and two servers see it.
    let mut other = app.twin().await;
    other.back_up_into(folder.path().to_owned());
    app.clock.advance(Duration::days(1));
    other.clock.advance(Duration::days(1));
    let (one, two) = tokio::join!(app.run_job("backup"), other.run_job("backup"));
    assert_eq!((one + two, backups(folder.path()).len()), (1, 1));
    assert_eq!(app.run_job("backup").await, 0);
    // Two missed nights are made up for once.
    app.clock.advance(Duration::days(2));
    assert_eq!(app.run_job("backup").await, 1);
    assert_eq!(backups(folder.path()).len(), 2);
    // The list follows the folder: what is there counts, whoever removed or put it there.
    let first = backups(folder.path()).remove(0);
    fs::remove_file(folder.path().join(&first)).unwrap();
    fs::write(folder.path().join("keepsake-9999-12-31T000000Z.tar"), b"no backup").unwrap();
    assert_eq!(app.run_job("backup").await, 0);
    let listed: Vec<String> = app.sql("SELECT name FROM backups").values().await;
    assert_eq!(listed, backups(folder.path())[..1], "{listed:?}");
    // A backup of a clock that was ahead stops no later one.
    app.sql("UPDATE backups SET made_at = made_at + interval '1 year'").run().await;
    app.clock.advance(Duration::days(1));
    assert_eq!(app.run_job("backup").await, 1);
    assert_eq!(app.run_job("backup").await, 0);
}

#[tokio::test]
async fn old_backups_are_removed_and_other_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (app, ..) = with_folder(folder.path()).await;
    let others = ["keepsake-9999-12-31T000000Z.tar", "keepsake-before-0.3.tar", "keepsake-old.tar"];
    let [unreadable, by_hand @ ..] = others.map(|name| folder.path().join(name));
    fs::write(&unreadable, b"no backup").unwrap();
    for path in by_hand {
        backed_up(&app, &path).await;
    }
    app.run_job("backup").await;
    for _ in 0..10 {
        app.clock.advance(Duration::days(1));
        assert_eq!(app.run_job("backup").await, 1);
    }
    // Those of seven days; what remains of a week before them depends on the day on which this runs.
    let kept = backups(folder.path());
    assert!((7..=9).contains(&(kept.len() - others.len())), "{kept:?}");
    for other in others {
        assert!(kept.iter().any(|name| name == other), "{kept:?}");
    }
}

#[tokio::test]
async fn an_erasure_waits_for_the_folder_however_long() {
    let folder = tempfile::tempdir().unwrap();
    let (app, anna, browser) = with_folder(folder.path()).await;
    let (without, ben) = TestApp::start_for("ben").await;
    let bens = without.signed_in(&ben).await;
    for (app, user, browser) in [(&app, &anna, &browser), (&without, &ben, &bens)] {
        let gone = user.add("Nobody is to know.").await;
        app.delete_item(browser, gone).await;
    }
    // Nothing ran, or the folder could not be written.
    app.clock.advance(Duration::days(30));
    app.run_job("backup").await;
    let lines = fs::read_to_string(folder.path().join("erasures.jsonl")).unwrap();
    assert_eq!((lines.lines().count(), app.count("erasure_notes").await), (1, 0));
    for (days, left) in [(6, 1), (2, 0)] {
        without.clock.advance(Duration::days(days));
        without.run_job("backup").await;
        assert_eq!(without.count("erasure_notes").await, left);
    }
}

#[tokio::test]
async fn while_the_disk_of_the_backups_is_not_mounted_nothing_is_written_in_its_place() {
    let place = tempfile::tempdir().unwrap();
    let (folder, away) = (place.path().join("backups"), place.path().join("away"));
    let (app, anna, browser) = with_folder(&folder).await;
    let job = jobs::find("backup").unwrap();
    browser.post(PATH, &[("action", "back_up")]).await;
    assert_eq!(app.run_job("backup").await, 1);
    let gone = anna.add("Nobody is to know.").await;
    app.delete_item(&browser, gone).await;
    app.clock.advance(Duration::days(2));
    for is_mount_point_there in [false, true] {
        fs::rename(&folder, &away).unwrap();
        if is_mount_point_there {
            fs::create_dir(&folder).unwrap();
        }
        jobs::ask_for(job, &app.services.clone(), None).await.unwrap();
        let (_keep, runner) = app.runner();
        let ran = runner.of(&[job], None).run_due().await.unwrap();
        assert!(ran.problem.is_some());
        let (_, page) = browser.get(PATH).await;
        assert!(page.contains("none of the 1 backups that were there"), "{page}");
        assert_eq!(app.count("erasure_notes").await, 1);
        assert!(!folder.join("erasures.jsonl").exists());
        if is_mount_point_there {
            fs::remove_dir(&folder).unwrap();
        }
        fs::rename(&away, &folder).unwrap();
    }
    app.run_job("backup").await;
    assert_eq!((app.count("erasure_notes").await, backups(&folder).len()), (0, 2));
    // A new folder is one as soon as it has the file.
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("erasures.jsonl"), "").unwrap();
    app.clock.advance(Duration::days(1));
    app.run_job("backup").await;
    assert_eq!(backups(&folder).len(), 1);
}

#[tokio::test]
async fn an_admin_makes_and_verifies_a_backup_on_its_page_beside_a_database_that_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let (app, _, browser) = with_folder(folder.path()).await;
    let page = browser.look(PATH).await;
    assert!(page.contains("There is no backup yet.") && page.contains("Back up now"), "{page}");
    let refused = browser.post(PATH, &[("action", "verify")]).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let asked = browser.post(PATH, &[("action", "back_up")]).await;
    assert!(asked.text().await.unwrap().contains("A backup is made now."));
    assert_eq!(app.run_job("backup").await, 1);
    let name = backups(folder.path()).remove(0);
    let (_, page) = browser.get(PATH).await;
    assert!(page.contains(&name) && page.contains("never"), "{page}");
    // Whose it is stands in the log of what admins did.
    let (_, users) = browser.get("/admin/users").await;
    assert!(users.contains("ran the job"), "{users}");

    browser.post(PATH, &[("action", "verify")]).await;
    assert_eq!(app.run_job("backup").await, 1);
    assert_eq!(verification(&app).await, (true, None));

    // A database that is not ours is not dropped to verify.
    let check = format!("{}_backup_check", app.options.get_database().unwrap());
    app.sql(format!("CREATE DATABASE {check}")).run_all().await;
    browser.post(PATH, &[("action", "verify")]).await;
    app.run_job("backup").await;
    let (_, problem) = verification(&app).await;
    assert!(problem.unwrap().contains("Keepsake did not make it"));
    app.sql(format!("DROP DATABASE {check}")).run_all().await;

    // One row less than the manifest says.
    let path = folder.path().join(&name);
    let (mut manifest, dump) = taken_out(&path);
    manifest["rows"]["public.memory_items"] = json!(2);
    written(&path, &manifest, &dump);
    browser.post(PATH, &[("action", "verify")]).await;
    assert_eq!(app.run_job("backup").await, 1);
    let (_, problem) = verification(&app).await;
    let problem = problem.unwrap();
    assert!(problem.contains("public.memory_items has 1 rows and had 2"), "{problem}");
    let (_, page) = browser.get(PATH).await;
    assert!(page.contains("The table public.memory_items has 1 rows"), "{page}");
    let left = app.count("pg_database WHERE datname = current_database() || '_backup_check'").await;
    assert_eq!(left, 0, "the throwaway database is left");
    // No files over the web.
    assert_eq!(browser.get(&format!("{PATH}/{name}")).await.0, 404);
}

/// Of the newest backup: whether it was tried, and why it failed.
async fn verification(app: &TestApp) -> (bool, Option<String>) {
    let newest =
        "SELECT verified_at IS NOT NULL, verify_problem FROM backups ORDER BY made_at DESC LIMIT 1";
    app.sql(newest).row().await
}

#[tokio::test]
async fn a_failed_backup_is_named_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    fs::write(&blocked, b"").unwrap();
    let (app, _, browser) = with_folder(&blocked.join("backups")).await;
    browser.post(PATH, &[("action", "back_up")]).await;
    app.run_due().await;
    let (_, page) = browser.get(PATH).await;
    assert!(page.contains("Cannot make the folder") || page.contains("Cannot look into"), "{page}");
    assert!(page.contains("A backup is being made."), "{page}");
    let attempts: i32 =
        app.sql("SELECT attempts FROM job_queue WHERE job = 'backup'").value().await;
    assert_eq!(attempts, 1);
}

#[tokio::test]
async fn without_a_folder_the_page_says_how_to_begin_and_members_have_none() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.make_admin(&anna).await;
    let browser = app.signed_in(&anna).await;
    let (_, page) = browser.get(PATH).await;
    assert!(page.contains("KEEPSAKE_BACKUP_DIR="), "{page}");
    assert!(!page.contains("Back up now"), "{page}");
    let refused = browser.post(PATH, &[("action", "back_up")]).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text().await.unwrap().contains("no backup folder"));
    assert_eq!(app.run_job("backup").await, 0);
    let member = app.signed_in(&ben).await;
    assert_eq!(member.get(PATH).await.0, 404);
    let asked = member.post(PATH, &[("action", "back_up")]).await;
    assert_eq!(asked.status(), StatusCode::NOT_FOUND);
}
