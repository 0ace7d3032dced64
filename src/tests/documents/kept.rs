//! Documents out and in again, restored, and gone for good.

use keepsake::documents::{
    ChangeAuthor, DocumentError, DocumentPath, ExpectedRevision, REVISIONS_KEPT, REVISIONS_SHOWN,
};
use keepsake::erasure;
use serde_json::{Value, json};

use super::{create, delete, done, edit, rename, view};
use crate::data::{export, import};
use crate::support::TestApp;

#[tokio::test]
async fn an_export_taken_in_elsewhere_has_the_same_documents_and_revisions() {
    let (app, anna) = TestApp::start_for("anna").await;
    create(&anna, "MEMORY.md", "# Tea\n\nLikes sencha.\n").await;
    done(&anna, edit("MEMORY.md", "sencha", "gyokuro")).await;
    done(&anna, rename("MEMORY.md", "memory/tea.md")).await;
    create(&anna, "gone.md", "Deleted.").await;
    done(&anna, delete("gone.md")).await;
    create(&anna, "data.json", "{}").await;
    let file = export(&app, &anna).await;
    let ben = app.user("ben").await;
    let outcome = import(&app, &ben, &file).await;
    assert_eq!(outcome.failed, 0, "{:?}", outcome.problems);
    assert!(view(&ben, "/memories/memory/tea.md").await.ends_with("3\tLikes gyokuro.\n     4\t"));
    assert_eq!(ben.find("gyokuro").await.len(), 1);
    let told = |file: &str| -> Vec<Value> {
        let lines = file.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of = lines.filter(|line| line["record"] == "document" || line["record"] == "revision");
        let bare = of.map(|mut line| {
            for own in ["id", "document"] {
                line.as_object_mut().unwrap().remove(own);
            }
            line
        });
        bare.collect()
    };
    assert_eq!(told(&file), told(&export(&app, &ben).await));
    assert_eq!(told(&file).len(), 3 + 3 + 2 + 1);
    // Once more, nothing changes; where another has the path, what is there stays.
    import(&app, &ben, &file).await;
    assert_eq!(told(&export(&app, &ben).await), told(&file));
    app.clock.advance(time::Duration::hours(1));
    let cleo = app.user("cleo").await;
    create(&cleo, "data.json", "mine").await;
    import(&app, &cleo, &file).await;
    assert!(view(&cleo, "/memories/data.json").await.ends_with("1\tmine"));
    let all = app.documents.list(cleo.id, None, true).await.unwrap();
    assert_eq!(all.iter().filter(|d| d.path.as_str() == "data.json").count(), 2);
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_was_deleted_is_restored_by_its_person() {
    let (app, anna) = TestApp::with_user().await;
    let documents = app.documents.clone();
    create(&anna, "a.md", "Likes sencha.").await;
    done(&anna, delete("a.md")).await;
    let gone = documents.list(anna.id, None, true).await.unwrap().pop().unwrap();
    assert!(gone.archived_at.is_some() && anna.find("sencha").await.is_empty());
    let back = documents.restore(anna.id, ChangeAuthor::person(), gone.id).await.unwrap();
    assert_eq!((back.archived_at, back.revision), (None, 3));
    assert_eq!(anna.find("sencha").await.len(), 1);
    let revisions = documents.revisions(anna.id, gone.id).await.unwrap();
    let events: Vec<_> = revisions.iter().map(|revision| revision.event.as_str()).collect();
    assert_eq!(events, ["restored", "archived", "created"]);
    // Where another has its path meanwhile, it stays where it is.
    done(&anna, delete("a.md")).await;
    create(&anna, "a.md", "Another.").await;
    let refused = documents.restore(anna.id, ChangeAuthor::person(), gone.id).await;
    assert!(matches!(refused, Err(DocumentError::Exists)), "{refused:?}");
}

#[tokio::test]
async fn the_oldest_revisions_go_and_the_rest_can_be_read() {
    let (app, anna) = TestApp::start_for("anna").await;
    let documents = app.documents.clone();
    let path = DocumentPath::parse("path", "a.md").unwrap();
    let texts = REVISIONS_KEPT + 5;
    for n in 1..=texts {
        let (person, text) = (ChangeAuthor::person(), format!("Text {n}."));
        documents.put(anna.id, person, &path, &text, ExpectedRevision::Any).await.unwrap();
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
    let (documents, person) = (&app.documents, ChangeAuthor::person());
    let paths = ["a.md", "b.md"].map(|path| DocumentPath::parse("path", path).unwrap());
    let text = "Likes sencha.";
    let created = documents.put(anna.id, person, &paths[0], text, ExpectedRevision::Any);
    let created = created.await.unwrap();
    // Changed by three paths, each of which ends what is too much.
    let kept = i64::from(REVISIONS_SHOWN) + 1;
    let count = || app.count("document_revisions");
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
    assert_eq!(documents.read(anna.id, &paths[0]).await.unwrap().content, text);
    assert_eq!(documents.read_revision(anna.id, created.id, Some(1)).await.unwrap().content, text);

    let mut file = export(&app, &anna).await;
    let (at, last) = ("2026-01-01T00:00:00Z", REVISIONS_SHOWN + 50);
    let mut lines = vec![
        json!({ "record": "document", "id": 7_000, "path": "c.md", "revision": last, "created_at": at }),
    ];
    for n in 1..=last {
        let (event, content) = match n {
            1 => ("created", json!("Likes gyokuro.")),
            _ => ("renamed", json!(null)),
        };
        lines.push(json!({ "record": "revision", "document": 7_000, "revision": n, "event": event, "path": "c.md",
                           "content": content, "trust": "user", "at": at }));
    }
    file.extend(lines.iter().map(|line| format!("{line}\n")));
    let ben = app.user("ben").await;
    let before = count().await;
    let outcome = import(&app, &ben, &file).await;
    assert_eq!(outcome.failed, 0, "{:?}", outcome.problems);
    assert_eq!(count().await - before, 2 * kept);
    for (path, text) in [("a.md", text), ("c.md", "Likes gyokuro.")] {
        let shown = view(&ben, &format!("/memories/{path}")).await;
        assert!(shown.ends_with(text), "{shown}");
    }
}

#[tokio::test]
async fn an_erased_document_leaves_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    create(&anna, "secret.md", "The zanzibar password of Marta Helgesen.").await;
    done(&anna, edit("secret.md", "zanzibar", "quetzal")).await;
    anna.find("quetzal").await;
    app.activity.flush().await.unwrap();
    let id = app.documents.list(anna.id, None, true).await.unwrap()[0].id;
    let erase = || erasure::document(&app.db, &app.activity, anna.id, id, app.embeddings.now());
    let receipt = erase().await.unwrap();
    assert!(anna.find("quetzal").await.is_empty());
    let tables: Vec<String> = app.sql("SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'").values().await;
    for table in tables {
        for word in ["zanzibar", "quetzal", "Helgesen", "secret.md"] {
            let n = app.count(&format!("{table} t WHERE t::text ILIKE '%{word}%'")).await;
            assert_eq!(n, 0, "{table}: {word}");
        }
    }
    let of_receipt = "SELECT kind, erased FROM erasure_receipts WHERE public_id = $1";
    let (kind, erased): (String, Value) = app.sql(of_receipt).bind(receipt.as_str()).row().await;
    assert_eq!(kind, "document");
    for (what, number) in [("documents", 1), ("document_revisions", 2), ("parts", 1)] {
        assert_eq!(erased[what], number, "{what}: {erased}");
    }
    assert!(erase().await.is_err());
}
