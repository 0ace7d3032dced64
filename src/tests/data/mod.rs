//! A person's data: out, in again, and gone for good.

mod about;
mod archives;
mod erase_session;
mod erased_reads;
pub mod erasure;
mod export;
mod files;
mod import;
mod pages;
mod uploads;

use keepsake::export::{Export, FileOrigin, ImportOutcome, ImportSource, Importer};
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser};

/// The whole export, as text.
pub async fn export(app: &TestApp, user: &TestUser) -> String {
    let mut export = Export::new(&app.db, app.embeddings.sealer(), user.id, app.embeddings.now());
    let mut file = Vec::new();
    while let Some(lines) = export.next().await.unwrap() {
        file.extend(lines);
    }
    String::from_utf8(file).unwrap()
}

/// Its lines of this kind.
pub fn records(file: &str, record: &str) -> Vec<Value> {
    file.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["record"] == record)
        .collect()
}

/// A file that its person vouches for.
pub async fn import(app: &TestApp, user: &TestUser, file: &str) -> ImportOutcome {
    import_as(app, user, file, FileOrigin::Vouched).await
}

pub async fn import_as(
    app: &TestApp,
    user: &TestUser,
    file: &str,
    origin: FileOrigin,
) -> ImportOutcome {
    let file = ImportSource::stream(std::io::Cursor::new(file.as_bytes().to_vec()));
    let importer = Importer::new(&app.db, &app.embeddings, user.id, origin);
    importer.run(file, |_| std::future::ready(())).await.unwrap()
}

/// Hands these messages over, and ends the session.
pub async fn hand_over(user: &TestUser, session: &str, messages: &Value) {
    for (door, body) in [("messages", json!({ "messages": messages })), ("complete", json!({}))] {
        let answer = user.post(&format!("/api/v1/sessions/{session}/{door}"), &body).await;
        assert_eq!(answer.status(), 200, "{session} {door}");
    }
}
