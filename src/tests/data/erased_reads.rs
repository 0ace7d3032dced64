//! Calls that found what is erased: they stay, and name it no more, whoever's they are and whenever they are recorded.

use keepsake::accounts::UserId;
use keepsake::activity::{ActivityFilter, ActivityRow};
use keepsake::erasure;
use serde_json::json;
use sqlx::PgConnection;

use crate::support::Sql as _;
use crate::support::{TestApp, TestUser, is_left_out};
use crate::teams::Scene;

/// Newest first.
async fn calls(app: &TestApp, user: UserId) -> Vec<ActivityRow> {
    app.activity.flush().await.unwrap();
    let filter = ActivityFilter { limit: 50, ..Default::default() };
    app.activity.list(user, &filter).await.unwrap()
}

fn search_of<'a>(calls: &'a [ActivityRow], query: &str) -> &'a ActivityRow {
    let found = calls.iter().find(|row| row.query.as_deref() == Some(query));
    found.unwrap_or_else(|| panic!("{query}: {calls:?}"))
}

async fn write_document(user: &TestUser, text: &str) {
    let create = json!({ "command": "create", "path": "/memories/plan.md", "file_text": text });
    user.call("memory_files", create).await;
}

async fn document_of(app: &TestApp, user: &TestUser) -> i64 {
    app.sql("SELECT id FROM documents WHERE user_id = $1").bind(user.id.0).value().await
}

async fn erase_document(app: &TestApp, user: &TestUser, id: i64) {
    let erased = erasure::document(&app.db, &app.activity, user.id, id, app.embeddings.now());
    erased.await.unwrap();
}

/// Which of these any row of the activity names.
async fn named(app: &TestApp, ids: &[i64]) -> Vec<i64> {
    app.sql("SELECT DISTINCT n.id FROM activity, unnest(item_ids || lent_ids) AS n (id) WHERE n.id = ANY ($1) ORDER BY n.id").bind(ids).values().await
}

async fn still_there(conn: &mut PgConnection, owner: &TestUser, ids: &[i64]) -> Vec<i64> {
    conn.sql("SELECT still_there($1, $2)").bind(owner.id.0).bind(ids).values().await
}

#[tokio::test]
async fn a_call_that_another_server_records_after_an_erasure_names_nothing_that_went() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.activity.keep_queries(anna.id, true).await.unwrap();
    let browser = app.signed_in(&anna).await;
    let gone = anna.add("Anna has a parrot.").await;
    let archived = anna.add("Anna had a turtle.").await;
    let tea = anna.add("Anna likes tea.").await;
    write_document(&anna, "The pier is the second one.").await;
    let document = document_of(&app, &anna).await;

    let twin = app.twin().await;
    let there = anna.at(&twin);
    for query in ["parrot", "pier", "turtle", "tea"] {
        assert!(!there.find(query).await.is_empty(), "{query}");
    }
    anna.call("memory_archive", json!({ "item_id": archived })).await;
    app.delete_item(&browser, gone).await;
    erase_document(&app, &anna, document).await;

    let recorded = calls(&twin, anna.id).await;
    assert_eq!(named(&app, &[gone, document]).await, [0; 0]);
    for (query, item) in [("turtle", archived), ("tea", tea)] {
        assert!(search_of(&recorded, query).items.contains(&item), "{query}");
    }
    let searches = recorded.iter().filter(|row| row.tool == "memory_search");
    let without = searches.filter(|row| row.query.is_none()).count();
    assert_eq!(without, 2, "they are there, without their words: {recorded:?}");
}

#[tokio::test]
async fn an_erasure_waits_for_a_call_that_is_being_recorded_and_none_waits_for_an_erasure() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.activity.keep_queries(anna.id, true).await.unwrap();
    write_document(&anna, "The pier is the second one.").await;
    let document = document_of(&app, &anna).await;
    let part: i64 =
        app.sql("SELECT id FROM memory_items WHERE document_id = $1").bind(document).value().await;
    for id in [document, part] {
        let mut recording = app.db.as_user(anna.id).await.unwrap();
        assert_eq!(still_there(&mut recording, &anna, &[id]).await, [id]);
        let mut erasing = app.db.as_writer(anna.id).await.unwrap();
        let of = format!("of {id}");
        let erase = erasing.sql("SELECT erase_document($1, $2, now())").bind(document).bind(of);
        let insert = async {
            app.until_blocked(1).await;
            recording.sql("INSERT INTO activity (user_id, at, tool, outcome, duration_us, item_ids) VALUES ($1, now(), 'x', 'ok', 1, ARRAY[$2])").bind(anna.id.0).bind(id).run().await;
            recording.commit().await.unwrap();
        };
        tokio::join!(erase.run(), insert);
        let left = format!("activity WHERE {id} = ANY (item_ids)");
        assert_eq!(erasing.count(&left).await, 0, "{id} of {document}");
        erasing.rollback().await.unwrap();
    }
    // Of what an erasure holds nothing is recorded, and nobody waits.
    let found = anna.find("pier").await;
    assert!(!found.is_empty());
    app.activity.flush().await.unwrap();
    assert_eq!(named(&app, &[document]).await, [document]);
    anna.find("pier").await;
    let mut erasing = app.superuser().await;
    erasing.sql("BEGIN").run().await;
    for table in ["documents", "memory_items"] {
        let hold = format!("SELECT FROM {table} WHERE user_id = $1 FOR UPDATE");
        erasing.sql(hold).bind(anna.id.0).run().await;
    }
    let recorded = calls(&app, anna.id).await;
    let searches = recorded.iter().filter(|row| row.tool == "memory_search");
    let searches: Vec<_> = searches.map(|row| (&row.items[..], row.query.as_deref())).collect();
    assert_eq!(searches, [(&[][..], None), (&[document][..], Some("pier"))]);
}

#[tokio::test]
async fn calls_that_found_what_was_lent_name_it_no_more_once_it_is_erased() {
    if is_left_out("a team") {
        return;
    }
    let scene = Scene::start().await;
    let Scene { app, anna, lead, ben, of_lead, not_lent, of_ben } = &scene;
    write_document(lead, "The pier is the second one.").await;
    let document = document_of(app, anna).await;
    let carla = app.user("carla").await;
    let tie = scene.join().await;
    app.activity.keep_queries(ben.id, true).await.unwrap();
    let browser = app.signed_in(anna).await;
    let twin = app.twin().await;
    let view = json!({ "command": "view", "path": "/memories/plan.md" });
    for (server, at) in [(app, "here"), (&twin, "there")] {
        let ben = ben.at(server);
        for words in ["boat Bergen", "pier", "paper"] {
            ben.find(&format!("{words} {at}")).await;
        }
        ben.call("memory_get", json!({ "item_id": of_lead })).await;
        ben.call("memory_files", view.clone()).await;
    }
    let before = calls(app, ben.id).await;
    assert_eq!(search_of(&before, "boat Bergen here").lent, [*of_lead]);
    assert_eq!(search_of(&before, "pier here").lent, [document]);
    assert_eq!(named(app, &[*of_lead, document]).await, [*of_lead, document]);

    // To whom it is lent it is there, and to nobody else.
    let all = [*of_lead, document, *of_ben];
    let mut tx = app.db.as_user(ben.id).await.unwrap();
    assert_eq!(still_there(&mut tx, anna, &all).await, [*of_lead, document]);
    assert_eq!(still_there(&mut tx, ben, &all).await, [*of_ben]);
    tx.rollback().await.unwrap();
    for (user, owner) in [(&carla, anna), (&carla, ben), (anna, ben)] {
        let mut tx = app.db.as_user(user.id).await.unwrap();
        assert_eq!(still_there(&mut tx, owner, &all).await, [0; 0]);
    }

    app.delete_item(&browser, *of_lead).await;
    erase_document(app, anna, document).await;
    for server in [app, &twin] {
        let recorded = calls(server, ben.id).await;
        for row in &recorded {
            let gone = |id: &i64| *id == *of_lead || *id == document;
            assert!(!row.items.iter().any(gone) && row.lent.is_empty(), "{row:?}");
            let words = row.query.as_deref().unwrap_or("paper");
            assert!(words.contains("paper"), "{row:?}");
        }
        assert_eq!(search_of(&recorded, "paper here").items, [*of_ben]);
    }
    let recorded = calls(app, ben.id).await;
    assert_eq!(search_of(&recorded, "paper there").items, [*of_ben]);
    assert_eq!(recorded.len(), 2 * 5 + 1, "the first added a memory");
    assert_eq!(named(app, &[*of_lead, document]).await, [0; 0]);
    assert_eq!(named(app, not_lent).await, not_lent.as_slice(), "as added");
    scene.leave(tie).await;
}
