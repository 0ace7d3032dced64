//! What a released version had is restored by this one and goes on: its words, vectors, tokens, passwords and pages.

use std::fs;
use std::path::{Path, PathBuf};

use keepsake::backup::{self, BackupFile};
use keepsake::clock::{Clock, WallClock};
use keepsake::providers::builtin::{self, BuiltinModel};
use serde_json::{Value, json};

use super::upgrade::{finds_what_is_meant, found, tool, vectors};
use crate::support::{Browser, TestApp, Wish, fresh_database};

/// Where `end2end/dist/keep.py` puts a backup of each version, and the tokens of its users.
const RELEASED: &str = "src/tests/reliability/released";
/// Of keep.py.
const PASSWORD: &str = "a long password";
const PENDING: &str = "memory_embeddings WHERE state = 'pending'";
const PAGES: &str = "/memory /sessions /entities /documents /graph /timeline /activity /used \
     /agents /account /data /settings/work /admin /admin/users";

fn kept() -> Vec<PathBuf> {
    let files = fs::read_dir(RELEASED).unwrap().map(|file| file.unwrap().path());
    let mut kept: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "tar")).collect();
    kept.sort();
    kept
}

/// The backup in a database of its own, and this version on it.
async fn restored(path: &Path) -> TestApp {
    let options = fresh_database().await;
    let file = BackupFile::open(path).unwrap();
    backup::check(&file, |_| true).await.unwrap();
    let (data, now) = (Path::new("data"), WallClock.now());
    backup::restore(&file, &options, data, now, |_| true, async || Ok(())).await.unwrap();
    TestApp::start_as(Wish {
        builtin: Some(builtin::find(data)),
        database: Some(options),
        ..Wish::default()
    })
    .await
}

async fn signed_in(app: &TestApp, name: &str) -> Browser {
    let browser = app.browser();
    let email = format!("{name}@example.com");
    let fields = [("email", email.as_str()), ("password", PASSWORD)];
    assert_eq!(browser.post("/login", &fields).await.status(), 303);
    browser
}

#[tokio::test]
async fn what_a_released_version_had_is_restored_and_goes_on() {
    let kept = kept();
    assert!(!kept.is_empty());
    for path in kept {
        let tokens = fs::read(path.with_extension("json")).unwrap();
        let tokens: Value = serde_json::from_slice(&tokens).unwrap();
        let [anna, ben] = ["anna", "ben"].map(|name| tokens[name].as_str().unwrap());
        let app = restored(&path).await;
        // The English model's vectors stay as they are as long as an admin keeps it.
        app.embeddings.set_builtin_model(BuiltinModel::English).await.unwrap();

        let of_before = vectors(&app).await;
        let all = finds_what_is_meant(&app, [anna, ben]).await;
        // A successor and an archived one are not beside what is current.
        let gone = ["Graz", "Traunstein"];
        assert!(!all.iter().any(|text| gone.iter().any(|word| text.contains(word))));
        app.run_due().await;
        assert_eq!(app.count(PENDING).await, 0, "{path:?}");
        assert_eq!(vectors(&app).await, of_before, "{path:?}");

        let again = json!({
            "type": "fact", "theme": "home", "key": "residence", "valid_from": "2026-02-01", "content": "Anna lives in Linz."
        });
        let known = tool(&app, anna, "memory_add", again).await;
        assert_eq!(known["duplicate"], true, "{path:?}");
        let new = json!({ "type": "fact", "content": "Ben sells honey on Saturdays." });
        tool(&app, ben, "memory_add", new).await;
        app.run_due().await;
        assert_eq!(app.count(PENDING).await, 0, "{path:?}");
        let found = found(&app, ben, "What does he offer at the weekend?").await;
        assert_eq!(found.first().map(String::as_str), Some("Ben sells honey on Saturdays."));

        app.embeddings.set_builtin_model(BuiltinModel::Multilingual).await.unwrap();
        app.run_due().await;
        let made = "embedding_spaces WHERE state = 'active' AND model = 'multilingual-e5-small'";
        assert!(app.count(made).await >= 2 && app.count(PENDING).await == 0, "{path:?}");
        finds_what_is_meant(&app, [anna, ben]).await;

        let browser = signed_in(&app, "anna").await;
        for page in PAGES.split(' ') {
            let (status, text) = browser.get(page).await;
            assert!(status == 200 && !text.contains("beehives"), "{path:?}: {page}: {status}");
        }
        let (_, memory) = browser.get("/memory").await;
        assert!(memory.contains("green tea"), "{path:?}");
        let document = "/api/v1/documents/notes/bridge.md";
        let read = reqwest::Client::new().get(format!("{}{document}", app.base)).bearer_auth(anna);
        let read = read.send().await.unwrap().text().await.unwrap();
        assert!(read.contains("one to fifty"), "{path:?}: {read}");
    }
}
