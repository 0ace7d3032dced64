//! Documents out and in again, restored, and gone for good.

use keepsake::documents::{
    ChangeAuthor, DocumentError, DocumentPath, ExpectedRevision, REVISIONS_KEPT, REVISIONS_SHOWN,
};
use keepsake::erasure;
use serde_json::{Value, json};

use super::{create, done, view};
use crate::data::{export, import};
use crate::support::Sql as _;
use crate::support::TestApp;

#[tokio::test]
async fn an_export_taken_in_elsewhere_has_the_same_documents_and_revisions() {
    let (app, anna) = TestApp::start_for("anna").await;
    create(&anna, "MEMORY.md", "# Tea\n\nLikes sencha.\n").await;
    done(&anna, json!({ "command": "str_replace", "path": "/memories/MEMORY.md", "old_str": "sencha", "new_str": "gyokuro" })).await;
    done(&anna, json!({ "command": "rename", "old_path": "/memories/MEMORY.md", "new_path": "/memories/memory/tea.md" })).await;
    create(&anna, "gone.md", "Deleted.").await;
    done(&anna, json!({ "command": "delete", "path": "/memories/gone.md" })).await;
    create(&anna, "data.json", "{}").await;
    let file = export(&app, &anna).await;
    let ben = app.user("ben").await;
    let outcome = import(&app, &ben, &file).await;
    assert_eq!(outcome.failed, 0, "{:?}", outcome.problems);
    assert!(view(&ben, "/memories/memory/tea.md").await.ends_with("3\tLikes gyokuro.\n     4\t"));
    assert_eq!(ben.find("gyokuro").await.len(), 1);
    let told = |file: &str| -> Vec<Value> {
        let lines = file.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of = lines.filter(|line| {
            ["document", "revision"].contains(&line["record"].as_str().unwrap_or_default())
        });
        let bare = of.map(|mut line| {
            for own in ["id", "document"] {
                line.as_object_mut().unwrap().remove(own);
            }
            line
        });
        bare.collect()
    };
    let again = export(&app, &ben).await;
    assert_eq!(told(&file), told(&again));
    assert_eq!(told(&file).len(), 3 + 3 + 2 + 1);
    // Once more, nothing changes; where another has the path, what is there stays.
    import(&app, &ben, &file).await;
    assert_eq!(told(&export(&app, &ben).await), told(&file));
    app.clock.advance(time::Duration::hours(1));
    let cleo = app.user("cleo").await;
    create(&cleo, "data.json", "mine").await;
    import(&app, &cleo, &file).await;
    assert!(view(&cleo, "/memories/data.json").await.ends_with("1\tmine"));
    let all = app.documents().list(cleo.id, None, true).await.unwrap();
    assert_eq!(all.iter().filter(|d| d.path.as_str() == "data.json").count(), 2);
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_was_deleted_is_restored_by_its_person() {
    let (app, anna) = TestApp::with_user().await;
    let documents = app.documents();
    create(&anna, "a.md", "Likes sencha.").await;
    done(&anna, json!({ "command": "delete", "path": "/memories/a.md" })).await;
    let gone = documents.list(anna.id, None, true).await.unwrap().pop().unwrap();
    assert!(gone.archived_at.is_some() && anna.find("sencha").await.is_empty());
    let back = documents.restore(anna.id, ChangeAuthor::person(), gone.id).await.unwrap();
    assert_eq!((back.archived_at, back.revision), (None, 3));
    assert_eq!(anna.find("sencha").await.len(), 1);
    let events: Vec<String> =
        documents.revisions(anna.id, gone.id).await.unwrap().into_iter().map(|r| r.event).collect();
    assert_eq!(events, ["restored", "archived", "created"]);
    // Where another has its path meanwhile, it stays where it is.
    done(&anna, json!({ "command": "delete", "path": "/memories/a.md" })).await;
    create(&anna, "a.md", "Another.").await;
    let refused = documents.restore(anna.id, ChangeAuthor::person(), gone.id).await;
    assert!(matches!(refused, Err(DocumentError::Exists)), "{refused:?}");
}

#[tokio::test]
async fn the_oldest_revisions_go_and_the_rest_can_be_read() {
    let (app, anna) = TestApp::start_for("anna").await;
    let documents = app.documents();
    let path = DocumentPath::parse("path", "a.md").unwrap();
    let texts = REVISIONS_KEPT + 5;
    for n in 1..=texts {
        documents
            .put(
                anna.id,
                ChangeAuthor::person(),
                &path,
                &format!("Text {n}."),
                ExpectedRevision::Any,
            )
            .await
            .unwrap();
    }
    let id = documents.read(anna.id, &path).await.unwrap().document.id;
    let at = async |revision| {
        documents.read_revision(anna.id, id, Some(revision)).await.map(|w| w.content)
    };
    assert_eq!(at(texts).await.unwrap(), format!("Text {texts}."));
    assert_eq!(at(6).await.unwrap(), "Text 6.");
    assert!(matches!(at(5).await, Err(DocumentError::NotFound)));
    let kept: i64 = app.sql("SELECT d.kept_bytes - sum(octet_length(r.content)) FROM documents d JOIN document_revisions r ON r.user_id = d.user_id AND r.document_id = d.id GROUP BY d.user_id, d.id, d.kept_bytes").value().await;
    assert_eq!(kept, 0);
}

#[tokio::test]
async fn revisions_without_a_text_go_too() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (documents, person) = (app.documents(), ChangeAuthor::person());
    let paths = ["a.md", "b.md"].map(|path| DocumentPath::parse("path", path).unwrap());
    let created = documents
        .put(anna.id, person, &paths[0], "Likes sencha.", ExpectedRevision::Any)
        .await
        .unwrap();
    // Changed by three paths, each of which ends what is too much.
    let kept = i64::from(REVISIONS_SHOWN) + 1;
    let count =
        async || -> i64 { app.sql("SELECT count(*) FROM document_revisions").value().await };
    for n in 0..REVISIONS_SHOWN as usize {
        let (from, to) = (&paths[n % 2], &paths[(n + 1) % 2]);
        documents.rename(anna.id, person, from, to).await.unwrap();
    }
    assert_eq!(count().await, kept);
    for _ in 0..2 {
        let (from, to) = (&paths[0], &paths[1]);
        documents.rename(anna.id, person, from, to).await.unwrap();
        assert_eq!(count().await, kept);
        documents.archive(anna.id, person, to).await.unwrap();
        assert_eq!(count().await, kept);
        let back = documents.restore(anna.id, person, created.id).await;
        assert_eq!((count().await, back.unwrap().archived_at), (kept, None));
        documents.rename(anna.id, person, to, from).await.unwrap();
    }
    let listed = documents.revisions(anna.id, created.id).await.unwrap();
    assert_eq!(listed.len() as i64, kept - 1, "the first is not listed");
    let read = documents.read(anna.id, &paths[0]).await.unwrap();
    assert_eq!(read.content, "Likes sencha.");
    let first = documents.read_revision(anna.id, created.id, Some(1)).await;
    assert_eq!(first.unwrap().content, "Likes sencha.");

    let mut file = export(&app, &anna).await;
    let line = |line: Value| line.to_string() + "\n";
    let (at, last) = ("2026-01-01T00:00:00Z", REVISIONS_SHOWN + 50);
    file += &line(
        json!({ "record": "document", "id": 7_000, "path": "c.md", "revision": last, "created_at": at }),
    );
    for n in 1..=last {
        let (event, content) = match n {
            1 => ("created", json!("Likes gyokuro.")),
            _ => ("renamed", json!(null)),
        };
        file += &line(
            json!({ "record": "revision", "document": 7_000, "revision": n, "event": event, "path": "c.md",
                    "content": content, "trust": "user", "at": at }),
        );
    }
    let ben = app.user("ben").await;
    let before = count().await;
    let outcome = import(&app, &ben, &file).await;
    assert_eq!(outcome.failed, 0, "{:?}", outcome.problems);
    assert_eq!(count().await - before, 2 * kept);
    for (path, text) in [("a.md", "Likes sencha."), ("c.md", "Likes gyokuro.")] {
        let shown = view(&ben, &format!("/memories/{path}")).await;
        assert!(shown.ends_with(text), "{shown}");
    }
}

#[tokio::test]
async fn an_erased_document_leaves_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    create(&anna, "secret.md", "The zanzibar password of Marta Helgesen.").await;
    done(&anna, json!({ "command": "str_replace", "path": "/memories/secret.md", "old_str": "zanzibar", "new_str": "quetzal" })).await;
    anna.find("quetzal").await;
    app.activity.flush().await.unwrap();
    let id = app.documents().list(anna.id, None, true).await.unwrap()[0].id;
    let receipt =
        erasure::document(&app.db, &app.activity, anna.id, id, app.embeddings.now()).await.unwrap();
    assert!(anna.find("quetzal").await.is_empty());
    let mut conn = app.superuser().await;
    let tables: Vec<String> = conn.sql("SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'").values().await;
    for table in tables {
        for word in ["zanzibar", "quetzal", "Helgesen", "secret.md"] {
            let query = format!("SELECT count(*) FROM {table} t WHERE t::text ILIKE '%{word}%'");
            let n: i64 = conn.sql(query).value().await;
            assert_eq!(n, 0, "{table}: {word}");
        }
    }
    let (kind, erased): (String, Value) = conn
        .sql("SELECT kind, erased FROM erasure_receipts WHERE public_id = $1")
        .bind(receipt.as_str())
        .row()
        .await;
    assert_eq!(kind, "document");
    assert_eq!(
        (&erased["documents"], &erased["document_revisions"], &erased["parts"]),
        (&json!(1), &json!(2), &json!(1)),
        "{erased}"
    );
    assert!(
        erasure::document(&app.db, &app.activity, anna.id, id, app.embeddings.now()).await.is_err()
    );
}
