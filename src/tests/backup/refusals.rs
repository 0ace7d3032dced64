//! What cannot be backed up or restored, each said in one sentence, with nothing changed.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{new_backup, restore, rows, run, taken_out, words, written};
use crate::support::{TestApp, fresh_database};

#[tokio::test]
async fn a_wrong_file_or_target_is_refused_before_anything_is_changed() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("Anna rows.").await;
    let (folder, good) = new_backup(&app).await;
    let bytes = fs::read(&good).unwrap();
    let (manifest, dump) = taken_out(&good);
    let file = |name: &str| folder.path().join(name);
    let mut flipped = bytes.clone();
    let middle = bytes.len() / 2;
    flipped[middle] ^= 1;
    fs::write(file("flipped"), flipped).unwrap();
    fs::write(file("truncated"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(file("without-hmac"), &bytes[..bytes.len() - 2_048]).unwrap();
    fs::write(file("without-sums"), &bytes[..bytes.len() - 3_584]).unwrap();
    fs::write(file("empty"), b"").unwrap();
    fs::write(file("text"), b"no archive").unwrap();
    let mut newer = manifest.clone();
    newer["schema"] = json!(99_991_231_235_959_i64);
    newer["keepsake"] = json!("9.0.0");
    written(&file("newer"), &newer, &dump);
    let mut format = manifest.clone();
    format["format"] = json!(3);
    written(&file("format"), &format, &dump);
    written(&file("no-dump"), &manifest, b"no dump");
    let mut other = manifest.clone();
    other["rows"]["public.users"] = json!(7);
    written(&file("other-rows"), &other, &dump);
    let mut between = manifest.clone();
    between["schema"] = json!(20_261_121_000_150_i64);
    written(&file("between"), &between, &dump);

    let there = fresh_database().await;
    let empty = rows(&there).await;
    for (name, sentence) in [
        ("flipped", "is damaged or incomplete (its checksum differs)"),
        ("truncated", "is damaged or incomplete (its end is missing)"),
        ("without-hmac", "is damaged or incomplete (its end is missing)"),
        ("without-sums", "is damaged or incomplete (its end is missing)"),
        ("between", "is of the schema 20261121000150, which no version of Keepsake has"),
        ("empty", "is not a backup of Keepsake"),
        ("text", "is not a backup of Keepsake"),
        ("missing", "cannot read"),
        ("newer", "was made by Keepsake 9.0.0, which is newer than this program"),
        ("format", "which is newer than this program"),
        ("no-dump", "pg_restore failed: "),
        ("other-rows", "public.users has 1 rows and had 7"),
    ] {
        let done = restore(&there, &file(name));
        let said = words(&done);
        assert_eq!(done.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(sentence), "{name}: {said}");
        assert_eq!(rows(&there).await, empty, "{name}");
    }

    // Its connections are the app's own, but accounts are asked for first.
    let before = rows(&app.options).await;
    let said = words(&restore(&app.options, &good));
    assert!(said.contains("this server has accounts already"), "{said}");
    assert_eq!(rows(&app.options).await, before);
    // An empty one that a server runs on.
    let served = TestApp::start().await;
    served.db.look_up().await.map(drop).unwrap();
    let connected = served.superuser().await;
    let said = words(&restore(&served.options, &good));
    assert!(said.contains("other processes use this database"), "{said}");
    drop(connected);
    // Erasures that cannot be read.
    let erasures = folder.path().join("bad.jsonl");
    fs::write(&erasures, "{\"what\":\"mood\"}\n{}\n").unwrap();
    for (erasures, sentence) in [
        (erasures.to_str().unwrap(), "line 1 of"),
        ("nowhere.jsonl", "there is no file nowhere.jsonl"),
    ] {
        let args = ["restore", good.to_str().unwrap(), "--erasures", erasures];
        let said = words(&run(&there, &args));
        assert!(said.contains(sentence), "{said}");
        assert_eq!(rows(&there).await, empty, "{sentence}");
    }
    // The same database takes a good one.
    let done = restore(&there, &good);
    assert!(done.status.success(), "{}", words(&done));
    assert_eq!(rows(&there).await["memory_items"], 1);
}

#[tokio::test]
async fn a_file_is_replaced_only_by_force_and_an_unwritable_folder_is_named() {
    let app = TestApp::start().await;
    app.user("anna").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keepsake.tar");
    let path = file.to_str().unwrap();
    fs::write(&file, b"mine").unwrap();
    let said = words(&run(&app.options, &["backup", path]));
    assert!(said.contains("exists already: give another name, or --force"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    let done = run(&app.options, &["backup", path, "--force"]);
    assert!(done.status.success(), "{}", words(&done));
    assert!(words(&done).contains("The secret key is not in it"), "{}", words(&done));
    assert!(!words(&done).contains(super::SECRET_KEY));
    assert_eq!(taken_out(&file).0["rows"]["public.users"], 1);
    let mode = fs::metadata(&file).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
    // Under a file, and in a folder that is not there.
    for bad in [file.join("x.tar"), Path::new("/no/such/folder/x.tar").to_owned()] {
        let said = words(&run(&app.options, &["backup", bad.to_str().unwrap()]));
        assert!(said.contains("cannot write"), "{said}");
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "an unfinished file is left");
}
