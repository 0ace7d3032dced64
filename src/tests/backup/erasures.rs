//! `erasures.jsonl`: which lines a restore accepts, and what the job writes.

use std::fs;
use std::path::Path;

use keepsake::backup::{self, BackupError, BackupFile, ErasuresFile};
use keepsake::seal::Sealer;

use super::{backed_up, sealer, taken_out, written, written_by};
use crate::support::{TestApp, Wish};

/// Lines as the server writes them, by the key of the tests.
pub fn signed(lines: &[&str]) -> String {
    signed_after("", lines, &sealer())
}

fn signed_after(before: &str, lines: &[&str], sealer: &Sealer) -> String {
    let (mut before, mut text) = (before.to_owned(), String::new());
    for line in lines {
        before = sealer.mac("keepsake erasures.jsonl", format!("{before}\n{line}").as_bytes());
        text += &format!("{},\"mac\":\"{before}\"}}\n", line.strip_suffix('}').unwrap());
    }
    text
}

fn line(id: i64) -> String {
    format!(r#"{{"what":"memory","user":1,"id":{id},"at":"2999-12-31T00:00:00Z"}}"#)
}

/// The ids that a restore of this backup repeats by this file.
fn repeated(folder: &Path, text: &str, of: &Path) -> Result<Vec<i64>, BackupError> {
    let path = folder.join("erasures.jsonl");
    fs::write(&path, text).unwrap();
    let since = ErasuresFile::read(&path)?.since(&BackupFile::open(of)?, &sealer())?;
    Ok(since.notes.iter().map(|note| note.id.unwrap()).collect())
}

#[tokio::test]
async fn a_line_that_was_changed_added_or_cut_out_is_named() {
    let (app, _) = TestApp::start_for("anna").await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = folder.join("first.tar");
    backed_up(&app, &first).await;
    let ids: Vec<String> = (1..=4).map(line).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let whole = signed(&ids);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let [one, two, three, four] = lines[..] else { panic!("{whole}") };
    // A backup that knows the first two.
    let (mut manifest, dump) = taken_out(&first);
    let mac = two.rsplit('"').nth(1).unwrap();
    manifest["erasures"] = mac.into();
    let later = folder.join("later.tar");
    written(&later, &manifest, &dump);
    let of_020 = format!("{}\n", line(9).replace("2999", "2001"));
    let foreign = signed_after("", &ids[..1], &Sealer::new(&[8; 32]));
    let fork = signed_after(mac, &ids[..1], &sealer());

    for (text, of, expected) in [
        (whole.clone(), &first, &[1, 2, 3, 4][..]),
        (whole.clone(), &later, &[3, 4]),
        (String::new(), &first, &[]),
        // What is older than the backup may be missing: its lines were pruned.
        (format!("{two}{three}{four}"), &later, &[3, 4]),
        // Written again after a crash, and cut off by it.
        (format!("{one}{two}{three}{three}{four}"), &later, &[3, 4]),
        (format!("{one}{two}{one}{two}{three}"), &first, &[1, 2, 3]),
        (format!("{one}{two}{}", &three[..9]), &first, &[1, 2]),
        // Version 0.2.0 signed nothing, and wrote before this backup.
        (format!("{of_020}{whole}"), &first, &[1, 2, 3, 4]),
        (format!("{of_020}{two}{three}"), &later, &[3]),
    ] {
        assert_eq!(repeated(folder, &text, of).unwrap(), expected, "{text}");
    }
    for (text, of, sentence) in [
        (whole.replace("\"id\":3", "\"id\":5"), &first, "line 3 of"),
        (whole.replace("\"id\":3", "\"id\":5"), &later, "line 3 of"),
        (format!("{one}{three}{four}"), &first, "line 2 of"),
        (format!("{two}{three}"), &first, "line 1 of"),
        (format!("{one}{two}{four}"), &later, "lines before it are missing"),
        (format!("{one}{two}{four}{three}"), &later, "line 3 of"),
        (format!("{whole}{}\n", line(9)), &later, "line 5 of"),
        (format!("{}\n{whole}", line(9)), &first, "line 1 of"),
        (format!("{whole}{of_020}"), &first, "is not signed"),
        (foreign, &first, "line 1 of"),
        (format!("{whole}{fork}"), &later, "line 5 of"),
        // The file is another one, or none.
        (one.to_owned(), &later, "lacks lines"),
        (String::new(), &later, "lacks lines"),
        (format!("{one}{{}}\n{two}"), &first, "line 2 of"),
    ] {
        let said = repeated(folder, &text, of).unwrap_err().to_string();
        assert!(said.contains(sentence), "{said}: {text}");
    }
    // The end is cut off, and a newer backup beside it knows more; one that is not ours knows nothing.
    let newest = folder.join("newest.tar");
    manifest["made_at"] = "2999-12-31T00:00:00Z".into();
    manifest["erasures"] = four.rsplit('"').nth(1).unwrap().into();
    for (by, is_refused) in
        [(Some(sealer()), true), (Some(Sealer::new(&[8; 32])), false), (None, false)]
    {
        written_by(by.as_ref(), &newest, &manifest, &dump);
        let cut = repeated(folder, &format!("{one}{two}{three}"), &later);
        assert_eq!(cut.is_err(), is_refused, "{cut:?}");
        assert_eq!(repeated(folder, &whole, &later).unwrap(), [3, 4]);
    }
}

#[tokio::test]
async fn an_older_server_on_the_same_database_makes_no_erased_account_of_what_it_does_not_know() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.accounts.switch_user_memory(anna.id, false).await.unwrap();
    let mut conn = app.db.system_connection().await.unwrap();
    let notes = keepsake::replay::store::list(&mut conn, 10).await.unwrap();
    let as_read = keepsake::replay::Note {
        what: keepsake::replay::NotedAct::Account,
        ..notes[0].note.clone()
    };
    let since = backup::ErasuresSince { notes: vec![as_read], last_mac: None };
    let (db, now) = (&app.db, app.embeddings.now());
    backup::repeat(db, &app.accounts, &app.activity, &since, now, || ()).await.unwrap();
    assert_eq!(app.count("users").await, 1);
}

#[tokio::test]
async fn each_batch_of_lines_follows_the_last_one_and_a_crash_writes_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let backup_dir = Some(folder.path().to_owned());
    let app = TestApp::start_as(Wish { backup_dir, ..Wish::default() }).await;
    let anna = app.user("anna").await;
    let before = folder.path().join("before.tar");
    backed_up(&app, &before).await;
    let erasures = folder.path().join("erasures.jsonl");
    let switch = async |on: bool| app.accounts.switch_user_memory(anna.id, on).await.unwrap();
    switch(false).await;
    app.run_job("backup").await;
    let first = fs::read_to_string(&erasures).unwrap();
    // The folder cannot be written: the MAC is kept, and what comes later waits for it.
    fs::remove_file(&erasures).unwrap();
    fs::create_dir(&erasures).unwrap();
    switch(true).await;
    let (_keep, runner) = app.runner();
    let job = keepsake::jobs::find("backup").unwrap();
    keepsake::jobs::ask_for(job, &app.services.clone(), None).await.unwrap();
    assert!(runner.of(&[job], None).run_due().await.unwrap().problem.is_some());
    assert_eq!(app.count("erasure_notes WHERE mac IS NOT NULL").await, 1);
    switch(false).await;
    let between = folder.path().join("between.tar");
    backed_up(&app, &between).await;
    fs::remove_dir(&erasures).unwrap();
    fs::write(&erasures, &first).unwrap();
    for written in [2, 3] {
        app.run_job("backup").await;
        let text = fs::read_to_string(&erasures).unwrap();
        assert_eq!(text.lines().count(), written, "{text}");
    }
    let text = fs::read_to_string(&erasures).unwrap();
    assert!(text.starts_with(&first) && app.count("erasure_notes").await == 0, "{text}");
    let file = ErasuresFile::read(&erasures).unwrap();
    for (of, notes) in [(before, 3), (between, 2)] {
        let since = file.since(&BackupFile::open(&of).unwrap(), &sealer()).unwrap();
        assert_eq!(since.notes.len(), notes, "{of:?}");
    }
}
