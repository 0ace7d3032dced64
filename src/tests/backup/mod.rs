//! Backups: what is restored is what was there, what was erased since stays erased, and a wrong file, target or
//! folder is refused in a sentence.

mod afterwards;
mod erasures;
mod forged;
mod job;
mod refusals;
mod revocations;
mod role;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use keepsake::backup::{self, BackupError, BackupFile, BackupOrder};
use keepsake::erasure;
use keepsake::seal::Sealer;
use keepsake::sessions::SessionId;
use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

use crate::server::Home;
use crate::support::Sql as _;
use crate::support::{
    Browser, PASSWORD, Provider, TestApp, TestUser, Wish, database_url, fresh_database,
};

/// As the sealer of [`TestApp`] has it.
const SECRET_KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";
/// The same, of the library.
pub fn sealer() -> Sealer {
    Sealer::new(&[7; 32])
}

/// Ended by a restore, so that they have fewer rows.
const ENDED: [&str; 4] = ["web_sessions", "team_invitations", "backups", "erasure_notes"];

/// `keepsake …` on this database.
fn run(options: &PgConnectOptions, args: &[&str]) -> Output {
    let home = Home::new();
    let mut command = home.command(args);
    command.env("KEEPSAKE_DATABASE_URL", database_url(options));
    command.env("KEEPSAKE_SECRET_KEY", SECRET_KEY).output().unwrap()
}

fn restore(options: &PgConnectOptions, file: &Path) -> Output {
    run(options, &["restore", file.to_str().unwrap()])
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A backup of the app's database, in a folder of its own.
async fn new_backup(app: &TestApp) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keepsake.tar");
    backed_up(app, &file).await;
    (folder, file)
}

/// A backup of the app's database, made beside it.
pub async fn backed_up(app: &TestApp, path: &Path) {
    let (data_dir, sealer) = (Path::new("data"), sealer());
    let order =
        BackupOrder { options: &app.options, sealer: &sealer, data_dir, path, replace: false };
    let made = backup::make(order, app.embeddings.now(), |_| true).await;
    let (manifest, bytes) = made.unwrap();
    assert_eq!(bytes, std::fs::metadata(path).unwrap().len());
    assert_eq!(BackupFile::open(path).unwrap().manifest, manifest);
}

pub async fn restored(
    app: &TestApp,
    path: &Path,
    into: &PgConnectOptions,
) -> Result<(), BackupError> {
    let file = BackupFile::open(path)?;
    file.check_signature(&sealer())?;
    backup::check(&file, |_| true).await?;
    let now = app.embeddings.now();
    let then = async || Ok(());
    backup::restore(&file, into, Path::new("data"), now, |_| true, then).await.map(drop)
}

/// Rows of every table.
async fn rows(options: &PgConnectOptions) -> BTreeMap<String, i64> {
    let mut conn = PgConnection::connect_with(options).await.unwrap();
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
    let tables: Vec<String> = conn.sql(tables).values().await;
    let mut rows = BTreeMap::new();
    for table in tables {
        let n = conn.count(&table).await;
        rows.insert(table, n);
    }
    conn.close().await.unwrap();
    rows
}

/// Another server, on the restored database.
pub async fn server_of(options: &PgConnectOptions) -> TestApp {
    TestApp::start_as(Wish { database: Some(options.clone()), ..Wish::default() }).await
}

/// Anna with memories, a session, a document, and a provider that wants her key.
async fn anna(app: &TestApp, provider: &Provider) -> (TestUser, Browser) {
    provider.behave(|behaviour| behaviour.key = Some("sk-annas"));
    let anna = app.user("anna").await;
    app.make_admin(&anna).await;
    app.allow(&provider.host_port()).await;
    app.save_endpoint(&anna, &provider.url(), "model", "sk-annas", true).await;
    for n in 0..5 {
        anna.add(&format!("Anna's boat number{n} is green.")).await;
    }
    talk(&anna, "talk", "I row at dawn.").await;
    let document = json!({ "content": "# Boats\n\nThe oar is of ash." });
    let path = "/api/v1/documents/notes/boats.md";
    let put = anna.request(reqwest::Method::PUT, path, Some(document)).await;
    assert!(put.0 < 300, "{put:?}");
    app.drain(&anna).await;
    let browser = app.signed_in(&anna).await;
    (anna, browser)
}

async fn talk(user: &TestUser, session: &str, text: &str) {
    let said = json!({ "messages": [{ "id": "1", "role": "user", "content": text }] });
    let path = format!("/api/v1/sessions/{session}/messages");
    assert_eq!(user.post(&path, &said).await.status(), 200);
}

async fn find(user: &TestUser, query: &str) -> Value {
    let input = json!({ "query": query, "limit": 20 });
    let mut answer = user.call("memory_search", input).await;
    for hit in answer["results"].as_array_mut().unwrap() {
        // The age of a memory is part of its score.
        hit.as_object_mut().unwrap().remove("score");
    }
    answer["results"].take()
}

#[tokio::test]
async fn what_is_restored_is_what_was_backed_up_while_the_server_ran() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let (anna, browser) = anna(&app, &provider).await;
    let ben = app.user("ben").await;
    ben.add("Ben bakes rye bread.").await;
    let made = browser.post(&format!("/admin/users/{}/reset", ben.id.0), &[]).await;
    let page = made.text().await.unwrap();
    let link = page.split("/reset/").nth(1).unwrap();
    let link = format!("/reset/{}", link.split(['"', '<', '&']).next().unwrap());
    app.activity.flush().await.unwrap();
    let found = find(&anna, "green boat").await;
    app.activity.flush().await.unwrap();
    let before = rows(&app.options).await;
    let (_folder, file) = new_backup(&app).await;
    assert_eq!(rows(&app.options).await, before);

    let there = fresh_database().await;
    restored(&app, &file, &there).await.unwrap();
    let after = rows(&there).await;
    for (table, n) in &before {
        let n = if ENDED.contains(&table.as_str()) { &0 } else { n };
        assert_eq!(after.get(table), Some(n), "{table}");
    }
    assert!(before["web_sessions"] > 0 && before["session_messages"] > 0, "{before:?}");
    assert!(before["documents"] > 0 && before["memory_embeddings"] > 4, "{before:?}");

    let next = server_of(&there).await;
    let (anna, ben) = (anna.at(&next), ben.at(&next));
    next.embeddings.set_enabled(anna.id, true, true).await.unwrap();
    assert_eq!(find(&anna, "green boat").await, found);
    assert_eq!(ben.find("rye").await.len(), 1);
    // Her key is sealed in the file, and opens.
    let text = std::fs::read(&file).unwrap();
    assert!(!text.windows(8).any(|bytes| bytes == b"sk-annas"));
    provider.forget_calls();
    anna.add("Anna's new oar is of ash.").await;
    next.drain(&anna).await;
    assert_eq!(provider.texts(), ["Anna's new oar is of ash."]);
    // Whoever was signed in signs in again, and the link sets no password.
    let old = Browser { base: next.base.clone(), client: browser.client.clone() };
    assert!(!old.get("/memory").await.1.contains("number3"));
    let fields = [("password", "another long one"), ("repeat", "another long one")];
    old.post(&link, &fields).await;
    let fresh = next.signed_in(&ben).await;
    assert!(fresh.get("/memory").await.1.contains("rye"), "{PASSWORD} works");
}

#[tokio::test]
async fn what_was_erased_after_the_backup_is_erased_again() {
    let folder = tempfile::tempdir().unwrap();
    let backup_dir = Some(folder.path().to_owned());
    let app = TestApp::start_as(Wish { backup_dir, ..Wish::default() }).await;
    let provider = Provider::start().await;
    let (anna, browser) = anna(&app, &provider).await;
    let (ben, carl) = (app.user("ben").await, app.user("carl").await);
    let kept = ben.add("Ben bakes rye bread.").await;
    carl.add("Carl collects clocks.").await;
    let memory = anna.add("Anna's secret quokka.").await;
    talk(&anna, "gone", "The quokka is called Zoe.").await;
    // Erased before: no concern of the backup.
    let early = anna.add("An early quokka.").await;
    app.delete_item(&browser, early).await;
    app.clock.advance(time::Duration::seconds(5));
    let before = app.embeddings.now();
    app.clock.advance(time::Duration::minutes(1));
    let file = folder.path().join("keepsake-by-hand.tar");
    backed_up(&app, &file).await;
    app.clock.advance(time::Duration::seconds(5));

    app.delete_item(&browser, memory).await;
    let (session, document): (i64, i64) = app.sql("SELECT (SELECT id FROM sessions WHERE external_id = 'gone'), (SELECT id FROM documents)").row().await;
    let (db, now) = (&app.db, app.embeddings.now());
    let go_too = erasure::ExtractedMemories::GoToo;
    let (id, activity) = (SessionId(session), &app.activity);
    erasure::session(db, activity, anna.id, id, go_too, now).await.unwrap();
    // It began before the backup and ended after it.
    erasure::document(db, activity, anna.id, document, before).await.unwrap();
    erasure::begin(db, carl.id, now).await.unwrap();
    app.run_job("erase").await;
    app.run_job("backup").await;
    let erasures = folder.path().join("erasures.jsonl");
    let lines = std::fs::read_to_string(&erasures).unwrap();
    assert_eq!(lines.lines().count(), 6, "{lines}");
    assert!(!lines.contains("quokka") && !lines.contains("boats"), "{lines}");
    assert_eq!(app.count("erasure_notes").await, 0);

    let there = fresh_database().await;
    let done = restore(&there, &file);
    assert!(done.status.success(), "{}", words(&done));
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("4 erasures and 0 revocations repeated"), "{said}");
    let next = server_of(&there).await;
    let (anna, ben) = (anna.at(&next), ben.at(&next));
    assert_eq!(next.count("memory_items WHERE content ILIKE '%quokka%'").await, 0);
    assert!(!anna.find("quokka").await.contains(&memory));
    assert_eq!(ben.find("rye").await, [kept]);
    let gone: (i64, i64, i64) = next.sql("SELECT (SELECT count(*) FROM sessions WHERE external_id = 'gone'), (SELECT count(*) FROM documents),
                (SELECT count(*) FROM users WHERE id = $1)").bind(carl.id.0).row().await;
    assert_eq!(gone, (0, 0, 0));
    // What the lost server numbered after the backup is no row of this one.
    assert!(anna.add("A new boat.").await > memory + 100_000);
}

/// By hand, with the checksums of what it holds, signed.
fn written(path: &Path, manifest: &Value, dump: &[u8]) {
    written_by(Some(&sealer()), path, manifest, dump);
}

/// The same, without a signature as version 0.2.0, or with another server's.
fn written_by(sealer: Option<&Sealer>, path: &Path, manifest: &Value, dump: &[u8]) {
    use sha2::Digest;
    let text = serde_json::to_vec(manifest).unwrap();
    let sum = |bytes: &[u8]| -> String {
        let digest = sha2::Sha256::digest(bytes);
        digest.iter().map(|b| format!("{b:02x}")).collect()
    };
    let sums = format!("{}  manifest.json\n{}  database.dump\n", sum(&text), sum(dump));
    let mut archive = tar::Builder::new(std::fs::File::create(path).unwrap());
    let mac = sealer.map(|sealer| sealer.mac("keepsake backup file", sums.as_bytes()));
    let mut parts = vec![
        ("manifest.json", &text[..]),
        ("database.dump", dump),
        ("SHA256SUMS", sums.as_bytes()),
    ];
    parts.extend(mac.as_ref().map(|mac| ("HMAC", mac.as_bytes())));
    for (name, bytes) in parts {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, bytes).unwrap();
    }
    archive.finish().unwrap();
}

/// The manifest and the dump, as `tar` takes them out.
fn taken_out(path: &Path) -> (Value, Vec<u8>) {
    let mut archive = tar::Archive::new(std::fs::File::open(path).unwrap());
    let mut parts: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        parts.insert(entry.path().unwrap().into_owned(), bytes);
    }
    let manifest = serde_json::from_slice(&parts[Path::new("manifest.json")]).unwrap();
    (manifest, parts.remove(Path::new("database.dump")).unwrap())
}
