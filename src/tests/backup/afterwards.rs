//! What a restore leaves: programs and webhooks go on as they should, and one that fails leaves nothing.

use std::fs;

use serde_json::{Value, json};

use super::erasures::signed;
use super::{backed_up, new_backup, restore, restored, rows, server_of, words};
use crate::support::{TestApp, TestUser, fresh_database};
use crate::webhooks::{ALL, Receiver, hook};

async fn changes(user: &TestUser, query: &str) -> Value {
    let answer = user.get(&format!("/api/v1/changes?{query}")).await;
    assert_eq!(answer.status(), 200);
    answer.json().await.unwrap()
}

#[tokio::test]
async fn a_program_that_read_further_hears_what_is_new_and_a_webhook_nothing_before_it_is_resumed()
{
    let (app, anna) = TestApp::start_for("anna").await;
    let receiver = Receiver::start().await;
    for _ in 0..2 {
        hook(&app, &anna, &receiver, ALL).await;
    }
    let listed = app.webhooks.list(anna.id).await.unwrap();
    app.webhooks.pause(anna.id, listed[1].0.id).await.unwrap();
    let rows = anna.add("Anna rows.").await;
    let (_folder, file) = new_backup(&app).await;
    anna.add("Anna bakes.").await;
    anna.add("Anna keeps bees.").await;
    let lost = changes(&anna, "").await;
    let there = fresh_database().await;
    restored(&app, &file, &there).await.unwrap();
    let next = server_of(&there).await;
    let anna = anna.at(&next);
    let tea = anna.add("Anna drinks tea.").await;

    let since = lost["next"].as_str().unwrap();
    let told = changes(&anna, &format!("since={since}")).await;
    let [new] = &told["events"].as_array().unwrap()[..] else { panic!("{told}") };
    assert_eq!(new["item"]["id"], tea);
    let of_lost = lost["events"].as_array().unwrap();
    assert!(of_lost.iter().all(|one| one["id"] != new["id"]));

    assert_eq!(next.run_job("webhooks").await, 0);
    assert!(receiver.received().is_empty());
    let browser = next.signed_in(&anna).await;
    let (_, page) = browser.get("/settings/webhooks").await;
    assert_eq!(page.matches("value=\"resume\"").count(), 2, "{page}");
    next.webhooks.resume(anna.id, listed[0].0.id).await.unwrap();
    assert_eq!(next.run_job("webhooks").await, 2);
    assert_eq!(receiver.items(), [rows, tea]);
}

#[tokio::test]
async fn a_restore_that_fails_after_loading_leaves_an_empty_database() {
    let (app, anna) = TestApp::start_for("anna").await;
    let memory = anna.add("Anna rows.").await;
    let (folder, good) = new_backup(&app).await;
    let erasures = folder.path().join("erasures.jsonl");
    let erased = json!({
        "what": "memory", "user": anna.id.0, "id": memory, "at": "2999-12-31T00:00:00Z",
    });
    fs::write(&erasures, signed(&[&erased.to_string()])).unwrap();
    let there = fresh_database().await;
    let empty = rows(&there).await;
    // A revision that cannot be raised, or not by more than the restore raises it; a row of nobody.
    for (step, statement, sentence) in [
        ("doors", "UPDATE memory_revisions SET revision = 9223372036854775807", "out of range"),
        (
            "erasures",
            "UPDATE memory_revisions SET revision = 9223372036854775807 - 1000000000",
            "could not be erased again",
        ),
        (
            "constraints",
            "UPDATE memory_revisions SET revision = 1; SET session_replication_role = replica;
             INSERT INTO memory_revisions (user_id, revision) VALUES (999, 1); RESET session_replication_role",
            "pg_restore failed: could not execute query: ERROR:  insert or update on table",
        ),
    ] {
        app.sql(statement).run_all().await;
        let file = folder.path().join(format!("{step}.tar"));
        backed_up(&app, &file).await;
        let done = restore(&there, &file);
        assert_eq!(done.status.code(), Some(1), "{step}");
        assert!(words(&done).contains(sentence), "{step}: {}", words(&done));
        assert_eq!(rows(&there).await, empty, "{step}");
    }
    // The same database takes a good one.
    let done = restore(&there, &good);
    assert!(done.status.success(), "{}", words(&done));
    assert!(words(&done).contains("Webhooks and users' own endpoints are paused"));
    assert_eq!(rows(&there).await["memory_items"], 0);
}
