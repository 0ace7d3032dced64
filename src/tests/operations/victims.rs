//! `kill -9` while every kind of job runs: the next server does all of it, and nothing twice.

use keepsake::clock::SharedClock;
use keepsake::consolidation::dreaming::{self, DreamSettings};
use keepsake::memories::ItemId;
use keepsake::{erasure, jobs};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::Connection;
use time::Duration;

use crate::chat::use_server;
use crate::consolidation::{told, user_says};
use crate::embedding::workers::Worker;
use crate::evaluation::with_memories;
use crate::support::Sql as _;
use crate::support::{ChatServer, DueNow, Provider, TestApp, TestUser, until};
use crate::webhooks::{Receiver, hook};

const FACT: &str = r#"{"facts":[{"category":"profile","key":"sport","value":"Anna rows at dawn","source":"conversation","source_context":""}]}"#;
/// What no job comes past.
const LOCKED: &str =
    "LOCK TABLE users, sessions, memory_items, memory_summaries, web_sessions, job_runs, erasure_notes
                      IN ACCESS EXCLUSIVE MODE";

async fn session(user: &TestUser, name: &str) -> Value {
    user.request(Method::GET, &format!("/api/v1/sessions/{name}"), None).await.1
}

#[tokio::test]
async fn every_kind_of_job_that_is_killed_is_done_by_the_next_server_and_nothing_twice() {
    let app = TestApp::start().await;
    let (ben, carl, zoe) = (app.user("ben").await, app.user("carl").await, app.user("zoe").await);
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 12).await;
    app.use_provider(&ben, &provider, "model").await;
    let (reader, writer) = (ChatServer::saying(FACT).await, ChatServer::saying("Zoe rows.").await);
    // Two sessions to dream of, read without a model.
    let dora = app.user("dora").await;
    let consolidation = app.consolidation.clone();
    for session in ["one", "two"] {
        let words = user_says("1", "I row on the lake with Zoe every Friday at dawn.");
        told(&dora, session, &[words]).await;
        for due in consolidation.due().await.unwrap() {
            consolidation.extract(due).await.unwrap();
        }
    }
    let settings = DreamSettings { applies: false, episodes_min: 2 };
    dreaming::save(&app.db, dora.id, settings).await.unwrap();
    use_server(&app, &dora, &reader).await;
    use_server(&app, &anna, &reader).await;
    use_server(&app, &zoe, &writer).await;
    // Expiry, completion, cleaning up and a Sunday come within nine days.
    let short = json!({ "type": "fact", "content": "The tea is hot.", "expires_in_days": 1 });
    anna.call("memory_add", short).await;
    let said = json!({ "messages": [user_says("1", "One moment.")] });
    assert_eq!(ben.post("/api/v1/sessions/open/messages", &said).await.status(), 200);
    let mut conn = app.superuser().await;
    let old_run = "INSERT INTO job_runs (user_id, job, started_at, ended_at, took_ms, outcome)
         VALUES (0, 'sweep', '2020-01-01', '2020-01-01', 1, 'done')";
    conn.sql(old_run).run().await;
    app.clock.advance(Duration::days(9));
    // Sessions, turns, vectors.
    let said = (0..101).map(|n| user_says(&n.to_string(), "I row at dawn.")).collect::<Vec<_>>();
    told(&anna, "talk", &said).await;
    anna.add("Anna sings.").await;
    zoe.add("Zoe rows.").await;
    let now = app.embeddings.now();
    consolidation.ask_for_summary(zoe.id).await.unwrap();
    erasure::begin(&app.db, carl.id, now).await.unwrap();
    let clock: SharedClock = app.clock.clone();
    let receiver = Receiver::start().await;
    hook(&app, &ben, &receiver, "memory.stored").await;
    let note = ItemId(ben.add("A note to delete.").await);
    erasure::delete_item_soon(&app.db, &clock, ben.id, note).await.unwrap();
    app.clock.advance(Duration::seconds(10));
    for job in jobs::JOBS {
        jobs::ask_for(job, &app.services.clone(), None).await.unwrap();
    }
    // What an older version has kept.
    conn.sql("DELETE FROM memory_passages WHERE user_id = (SELECT user_id FROM memory_items WHERE content = 'Zoe rows.');
         INSERT INTO memory_passages_due (user_id, sources) SELECT user_id, 1 FROM memory_items WHERE content = 'Zoe rows.'").run_all().await;
    let passages = jobs::find("passages").unwrap();
    jobs::ask_for(passages, &app.services.clone(), None).await.unwrap();
    // Only the sweep knows of Ben's.
    let bread = ben.add("Ben bakes.").await;
    let forget = "DELETE FROM job_queue WHERE user_id = $1 AND job = 'embed'";
    conn.sql(forget).bind(ben.id.0).run().await;

    let mut lock = conn.begin().await.unwrap();
    lock.sql(LOCKED).run().await;
    let victim = Worker::start(&app);
    until("every kind of job runs", async || {
        let running = "SELECT DISTINCT job FROM job_queue WHERE lease IS NOT NULL";
        let running: Vec<String> = app.sql(running).values().await;
        jobs::JOBS.iter().all(|job| running.iter().any(|name| name == job.name))
    })
    .await;
    victim.kill().await;
    lock.rollback().await.unwrap();

    let next = app.twin().await;
    // Its clock has moved on like the one on the wall: the dead server's leases have run out.
    next.clock.advance(Duration::seconds(20));
    let worker = Worker::start(&next);
    until("all of it is done", async || {
        let are_ready = async |user: &TestUser| {
            let rows = app.vectors(user, "active").await;
            !rows.is_empty() && rows.iter().all(|(_, state)| state == "ready")
        };
        are_ready(&anna).await
            && are_ready(&ben).await
            && session(&anna, "talk").await["extraction"]["outcome"] == "stored"
            && session(&ben, "open").await["state"] == "completed"
            && zoe.call("memory_summary", json!({})).await["summary"].is_string()
            && app.count("memory_items WHERE turn_position = 101").await == 1
            && app.count("users WHERE erasing_at IS NOT NULL").await == 0
            && app.count("job_runs WHERE ended_at < '2021-01-01'").await == 0
            && app.count("memory_items WHERE delete_at IS NOT NULL").await == 0
            && app.count("memory_passages_due").await == 0
            && receiver.items().contains(&bread)
            && app.count("dreams").await == 1
            && app
                .count("memory_items WHERE content = 'The tea is hot.' AND status = 'active'")
                .await
                == 0
    })
    .await;
    worker.stop().await;
    assert_eq!(app.count("memory_items WHERE content = 'Anna rows at dawn'").await, 1);
    assert_eq!(app.count("erasure_receipts WHERE kind = 'item'").await, 1);
    // Nothing had been sent when the server was killed; of the note, its events are gone with it, unless they were first.
    let items = receiver.items();
    assert_eq!(items.iter().filter(|id| **id == bread).count(), 1, "{items:?}");
    let texts = provider.texts();
    let sent = texts.iter().filter(|text| *text == "Ben bakes.").count();
    assert_eq!(sent, 1);
    assert_eq!(session(&anna, "talk").await["extraction"]["attempts"], 1);
    let asked = writer.asked();
    // What is read for entities at night is another question.
    let others = asked.iter().filter(|asked| !asked.body.to_string().contains("<text n="));
    assert_eq!(others.count(), 1);
}
