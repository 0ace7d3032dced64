//! Every job: what runs for one user touches no other's rows, and what waits in the queue tells of
//! nobody more than an id.

use keepsake::clock::SharedClock;
use keepsake::consolidation::Round;
use keepsake::erasure::{self, ErasureStep};
use keepsake::memories::ItemId;
use keepsake::queue::Slice;
use keepsake::sessions::turns::{self, SessionWithTurnsDue};
use keepsake::{jobs, memories, sessions};
use serde_json::json;
use time::Duration;

use super::scene::{Answer, Scene};
use super::walk;
use crate::chat::use_server;
use crate::support::Sql as _;
use crate::support::{ChatServer, DueNow, Provider, change_model, is_left_out, turns_due};
use crate::webhooks::{ALL, Receiver, hook};

/// Its test is below, under this name.
const CASES: &[&str] = &[
    "backup", "cleanup", "complete", "delete", "dream", "embed", "enrich", "entities", "erase",
    "evaluate", "expire", "extract", "fade", "feed", "passages", "reflect", "summary", "sweep",
    "turns", "webhooks",
];

#[test]
fn every_job_has_a_case() {
    for job in walk::jobs() {
        assert!(
            CASES.contains(&job.as_str()),
            "{job} (src/jobs) has no case: add a test to src/tests/isolation/jobs.rs \
             that runs it for Ben and sees Anna's rows untouched, and its name to CASES"
        );
    }
}

#[tokio::test]
async fn backup_notes_one_users_erasure_and_reads_all() {
    if is_left_out("backups") {
        return;
    }
    let mut scene = Scene::start().await;
    let folder = tempfile::tempdir().unwrap();
    scene.app.backup_dir = Some(folder.path().to_owned());
    let (app, ben) = (&scene.app, &scene.ben);
    let browser = app.signed_in(ben).await;
    let note = ben.add("Ben bakes.").await;
    app.delete_item(&browser, note).await;
    keepsake::backup::ask(&app.db, app.embeddings.now()).await.unwrap();
    assert_eq!(app.run_job("backup").await, 2);
    let lines = std::fs::read_to_string(folder.path().join("erasures.jsonl")).unwrap();
    let noted: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert_eq!((&noted["user"], &noted["id"]), (&json!(ben.id.0), &json!(note)));
    scene.assert_untouched("backup").await;
}

#[tokio::test]
async fn embed_works_on_one_users_rows_with_that_users_endpoint() {
    let scene = Scene::start().await;
    let (app, bens_provider) = (&scene.app, Provider::start().await);
    app.use_provider(&scene.ben, &bens_provider, "bens-model").await;
    scene.annas_provider.forget_calls();
    scene.ben.add("Ben bakes.").await;
    app.drain(&scene.ben).await;
    let mut sent = bens_provider.texts();
    sent.retain(|text| text.contains("Ben"));
    assert_eq!(sent, ["Ben rows.", "Ben bakes."]);
    assert!(scene.annas_provider.texts().is_empty());
    scene.assert_untouched("embed").await;
    // Somebody who never was: nothing is done, and nothing goes wrong.
    let nobody = keepsake::db::UserId(999_999_999);
    app.drain_once(nobody).await.unwrap();
    scene.assert_untouched("embed for nobody").await;
}

#[tokio::test]
async fn each_users_texts_go_to_their_own_endpoint_when_both_wait() {
    let scene = Scene::start().await;
    let (app, bens_provider) = (&scene.app, Provider::start().await);
    app.use_provider(&scene.ben, &bens_provider, "bens-model").await;
    scene.annas_provider.forget_calls();
    for n in 0..20 {
        scene.anna.add(&format!("quokka {n}")).await;
        scene.ben.add(&format!("Ben {n}")).await;
    }
    tokio::join!(app.drain(&scene.anna), app.drain(&scene.ben));
    let (annas, bens) = (scene.annas_provider.texts(), bens_provider.texts());
    assert_eq!((annas.len() >= 20, bens.len() >= 20), (true, true));
    assert!(annas.iter().all(|text| !text.contains("Ben")), "{annas:?}");
    assert!(bens.iter().all(|text| !text.contains("quokka")), "{bens:?}");
}

#[tokio::test]
async fn consolidate_reads_one_users_session_with_that_users_model() {
    let scene = Scene::start().await;
    let (app, ben) = (&scene.app, &scene.ben);
    let facts = r#"{"facts":[{"category":"profile","key":"sport","value":"Ben rows at dawn","source":"conversation","source_context":""}]}"#;
    let bens_model = ChatServer::saying(facts).await;
    use_server(app, ben, &bens_model).await;
    let talk =
        json!({ "messages": [{ "id": "m1", "role": "user", "content": "Ben rows at dawn." }] });
    ben.post("/api/v1/sessions/talk/messages", &talk).await;
    ben.post("/api/v1/sessions/talk/complete", &json!({})).await;
    let consolidation = app.consolidation();
    let mut due = consolidation.due().await.unwrap();
    due.retain(|one| one.user == ben.id);
    assert_eq!(due.len(), 1);
    consolidation.extract(due[0]).await.unwrap();
    assert_eq!(bens_model.asked().len(), 1);
    let asked = bens_model.asked()[0].body.to_string();
    assert!(asked.contains("Ben rows at dawn") && !asked.contains("quokka"), "{asked}");
    // What is true of him, and what it was about.
    assert_eq!(ben.find("dawn").await.len(), 2);
    scene.assert_untouched("consolidate").await;
}

#[tokio::test]
async fn turns_are_made_of_their_own_users_sessions() {
    let scene = Scene::start().await;
    let (app, ben) = (&scene.app, &scene.ben);
    let said =
        json!({ "messages": [{ "id": "1", "role": "user", "content": "Ben rows at noon" }] });
    for (door, body) in [("messages", said), ("complete", json!({}))] {
        let path = format!("/api/v1/sessions/noon/{door}");
        assert_eq!(ben.post(&path, &body).await.status(), 200);
    }
    let due = turns_due(app).await;
    for one in due.into_iter().filter(|one| one.user == ben.id) {
        assert!(turns::make_some(&app.db, &app.embeddings, one).await.unwrap());
        // Under another's name there is nothing to be done.
        let crossed = SessionWithTurnsDue { user: scene.anna.id, ..one };
        assert!(!turns::make_some(&app.db, &app.embeddings, crossed).await.unwrap());
    }
    assert_eq!(ben.find("noon").await.len(), 1);
    turns::switch(&app.db, ben.id, false, app.embeddings.now()).await.unwrap();
    turns::remove_some(&app.db, ben.id, app.embeddings.now()).await.unwrap();
    scene.assert_untouched("turns").await;
}

#[tokio::test]
async fn summarize_tells_one_users_facts_to_that_users_model() {
    let scene = Scene::start().await;
    let (app, ben) = (&scene.app, &scene.ben);
    let bens_model = ChatServer::saying("Ben rows.").await;
    use_server(app, ben, &bens_model).await;
    let consolidation = app.consolidation();
    consolidation.ask_for_summary(ben.id).await.unwrap();
    assert_eq!(consolidation.due_summaries().await.unwrap(), [ben.id]);
    consolidation.summarize(ben.id).await.unwrap();
    let asked = bens_model.asked()[0].body.to_string();
    assert!(asked.contains("Ben rows.") && !asked.contains("quokka"), "{asked}");
    let told = ben.call("memory_summary", json!({})).await;
    assert!(told["summary"].as_str().unwrap().contains("Ben rows."), "{told}");
    scene.assert_untouched("summarize").await;
    // Somebody who never was: nothing is done, and nothing goes wrong.
    let nobody = keepsake::db::UserId(999_999_999);
    consolidation.summarize(nobody).await.unwrap();
    scene.assert_untouched("summarize for nobody").await;
}

#[tokio::test]
async fn evaluate_asks_one_users_questions_of_that_users_models() {
    let scene = Scene::start().await;
    let (app, ben, bens_provider) = (&scene.app, &scene.ben, Provider::start().await);
    app.use_provider(ben, &bens_provider, "old").await;
    for n in 0..12 {
        ben.add(&format!("ben rows item{n} thing{n} garden monday")).await;
    }
    app.drain(ben).await;
    change_model(app, ben, &bens_provider, "new").await;
    app.drain(ben).await;
    bens_provider.forget_calls();
    scene.annas_provider.forget_calls();
    let evaluation = app.evaluation();
    evaluation.ask_for(ben.id).await.unwrap();
    assert_eq!(evaluation.users_asked().await.unwrap(), [ben.id]);
    evaluation.continue_measurement(ben.id, &Slice::whole()).await.unwrap();
    let asked = bens_provider.texts();
    assert!(asked.len() > 20 && asked.iter().all(|text| !text.contains("quokka")), "{asked:?}");
    assert!(scene.annas_provider.texts().is_empty());
    scene.assert_untouched("evaluate").await;
}

#[tokio::test]
async fn erase_takes_the_account_that_asked_for_it_and_no_other() {
    let scene = Scene::start().await;
    let now = scene.app.embeddings.now();
    let db = &scene.app.db;
    erasure::begin(db, scene.ben.id, now).await.unwrap();
    while erasure::step(db, scene.ben.id, now).await.unwrap() == ErasureStep::More {}
    let bens: i64 = scene
        .app
        .sql("SELECT count(*) FROM users WHERE id = $1")
        .bind(scene.ben.id.0)
        .value()
        .await;
    assert_eq!(bens, 0);
    scene.assert_untouched("erase").await;
}

#[tokio::test]
async fn delete_takes_what_one_user_asked_for() {
    let scene = Scene::start().await;
    let (app, ben) = (&scene.app, &scene.ben);
    let clock: SharedClock = app.clock.clone();
    let bread = ItemId(ben.add("Ben bakes.").await);
    memories::manage::delete_soon(&app.db, &clock, ben.id, bread).await.unwrap();
    let due = memories::manage::users_with_deletions(&app.db).await;
    assert_eq!(due.unwrap()[0].0, ben.id);
    let later = app.embeddings.now() + Duration::seconds(10);
    let nobody = keepsake::db::UserId(999_999_999);
    // Under another's name there is nothing to be done.
    for (user, gone) in [(scene.anna.id, 0), (nobody, 0), (ben.id, 1), (ben.id, 0)] {
        let done = erasure::items_due(&app.db, &app.activity, user, later).await;
        assert_eq!(done.unwrap(), (gone, None), "{user:?}");
        scene.assert_untouched("delete").await;
    }
}

#[tokio::test]
async fn complete_ends_one_users_sessions_by_that_users_night() {
    let scene = Scene::start().await;
    let (db, ben) = (&scene.app.db, &scene.ben);
    let said = json!({ "messages": [{ "id": "1", "role": "user", "content": "Ben rows" }] });
    let added = ben.post("/api/v1/sessions/open/messages", &said).await;
    assert_eq!(added.status(), 200);
    let night = jobs::find("complete").unwrap().schedule.unwrap();
    let later = scene.app.embeddings.now() + Duration::hours(1);
    let nobody = keepsake::db::UserId(999_999_999);
    for (user, completed) in [(ben.id, 1), (ben.id, 0), (nobody, 0)] {
        let done = sessions::complete_still(db, user, night, later).await;
        assert_eq!(done.unwrap(), completed, "{user:?}");
        scene.assert_untouched("complete").await;
    }
}

#[tokio::test]
async fn expire_archives_one_users_memories() {
    let scene = Scene::start().await;
    let (db, ben) = (&scene.app.db, &scene.ben);
    let short = json!({ "type": "fact", "content": "Ben bakes.", "expires_in_days": 1 });
    ben.call("memory_add", short).await;
    let later = scene.app.embeddings.now() + Duration::days(2);
    let nobody = keepsake::db::UserId(999_999_999);
    for (user, archived) in [(ben.id, 1), (ben.id, 0), (nobody, 0)] {
        let done = memories::archive_expired(db, user, later).await;
        assert_eq!(done.unwrap(), archived, "{user:?}");
        scene.assert_untouched("expire").await;
    }
}

#[tokio::test]
async fn fade_archives_one_users_memories() {
    let scene = Scene::start().await;
    let (db, ben) = (&scene.app.db, &scene.ben);
    let much_later = scene.app.embeddings.now() + Duration::days(3_000);
    let nobody = keepsake::db::UserId(999_999_999);
    let own: i64 = scene.app.sql("SELECT count(*) FROM memory_items WHERE user_id = $1 AND status = 'active' AND NOT protected
           AND theme_id IS NOT NULL AND type <> 'instruction'").bind(ben.id.0).value().await;
    assert!(own > 0);
    for (user, faded) in [(ben.id, own), (ben.id, 0), (nobody, 0)] {
        let done = memories::fading::fade(db, user, much_later).await;
        assert_eq!(done.unwrap() as i64, faded, "{user:?}");
        scene.assert_untouched("fade").await;
    }
}

#[tokio::test]
async fn passages_makes_one_users() {
    let scene = Scene::start().await;
    let (app, ben) = (&scene.app, &scene.ben);
    ben.add("Ben bakes.").await;
    let mut conn = app.superuser().await;
    conn.sql("INSERT INTO memory_passages_due (user_id, sources) SELECT id, 2 FROM users")
        .run()
        .await;
    conn.sql("DELETE FROM memory_passages WHERE user_id = $1").bind(ben.id.0).run().await;
    let nobody = keepsake::db::UserId(999_999_999);
    for (user, made) in [(ben.id, Some(2)), (ben.id, None), (nobody, None)] {
        let done = memories::passages::make_some(&app.db, &app.embeddings, user).await;
        assert_eq!(done.unwrap(), made, "{user:?}");
    }
    conn.sql("DELETE FROM memory_passages_due").run().await;
    scene.assert_untouched("passages").await;
    assert_eq!(ben.find("bakes").await.len(), 1);
}

#[tokio::test]
async fn sweep_changes_nobodys_rows_and_queues_ids_alone() {
    let scene = Scene::start().await;
    scene.ben.add("Ben bakes.").await;
    scene.app.embeddings.sweep().await.unwrap();
    scene.app.run_job("complete").await;
    scene.assert_untouched("sweep").await;
    let all: String = scene
        .app
        .sql("SELECT coalesce(string_agg(q::text, ' '), '') FROM job_queue q WHERE user_id <> $1")
        .bind(scene.anna.id.0)
        .value()
        .await;
    let others = Answer { status: 0, headers: Vec::new(), body: all };
    scene.assert_tells_nothing(&others, "the queue");
}

#[tokio::test]
async fn entities_are_kept_and_read_for_one_user_alone() {
    let scene = Scene::start().await;
    let app = &scene.app;
    scene.ben.add("Ben met Quentin Okonkwo in Lagos.").await;
    while keepsake::entities::upkeep::step(&app.search, scene.ben.id, app.embeddings.now())
        .await
        .unwrap()
        .is_some()
    {}
    scene.assert_untouched("entities").await;
    let chat = ChatServer::saying("{\"entities\": [], \"connections\": []}").await;
    use_server(app, &scene.ben, &chat).await;
    let night = app.consolidation();
    night.enrich(scene.ben.id, &Slice::whole()).await.unwrap();
    assert!(!chat.asked().is_empty());
    let asked = format!("{:?}", chat.asked());
    assert!(!asked.contains("quokka") && asked.contains("Ben"), "{asked}");
    scene.assert_untouched("enrich").await;
}

#[tokio::test]
async fn reflect_reads_one_users_week_with_that_users_model() {
    let scene = Scene::start().await;
    let app = &scene.app;
    for text in ["Ben rows at dawn.", "Ben bakes bread.", "Ben keeps bees."] {
        scene.ben.add(text).await;
    }
    let chat = ChatServer::saying("Ben bakes bread and keeps bees.").await;
    use_server(app, &scene.ben, &chat).await;
    let consolidation = app.consolidation();
    let reflected = consolidation.reflect(scene.ben.id).await.unwrap();
    assert_eq!(reflected, Round::Written);
    let asked = format!("{:?}", chat.asked());
    assert!(!asked.contains("quokka") && asked.contains("Ben"), "{asked}");
    scene.assert_untouched("reflect").await;
    let nobody = keepsake::db::UserId(999_999_999);
    let reflected = consolidation.reflect(nobody).await.unwrap();
    assert!(matches!(reflected, Round::Nothing(_)), "{reflected:?}");
}

#[tokio::test]
async fn dream_reads_one_users_sessions_with_that_users_model() {
    let scene = Scene::start().await;
    let app = &scene.app;
    let consolidation = app.consolidation();
    for n in 0..5 {
        let path = format!("/api/v1/sessions/row{n}");
        let words = format!("Ben rows with {n} friends on the lake before the sun is up.");
        let said = json!({ "messages": [{ "id": "1", "role": "user", "content": words }] });
        scene.ben.post(&format!("{path}/messages"), &said).await;
        scene.ben.post(&format!("{path}/complete"), &json!({})).await;
        let due = consolidation.due().await.unwrap();
        for due in due.into_iter().filter(|due| due.user == scene.ben.id) {
            consolidation.extract(due).await.unwrap();
        }
    }
    let chat = ChatServer::saying("## Recurring patterns\n- Ben rows on the lake.").await;
    use_server(app, &scene.ben, &chat).await;
    app.clock.advance(Duration::minutes(11));
    assert_eq!(app.run_job("dream").await, 1);
    let asked = format!("{:?}", chat.asked());
    assert!(!asked.contains("quokka") && asked.contains("Ben rows with 4"), "{asked}");
    scene.assert_untouched("dream").await;
    let nobody = keepsake::db::UserId(999_999_999);
    let dreamt = consolidation.dream(nobody).await.unwrap();
    assert!(matches!(dreamt, Round::Nothing(_)), "{dreamt:?}");
}

#[tokio::test]
async fn webhooks_tell_one_users_events_to_that_users_addresses() {
    let scene = Scene::start().await;
    let (app, ben) = (&scene.app, &scene.ben);
    let bens = Receiver::start().await;
    hook(app, ben, &bens, ALL).await;
    let bread = ben.add("Ben bakes.").await;
    let nobody = keepsake::db::UserId(999_999_999);
    // `feed` finds whose are behind, as ids alone.
    assert_eq!(app.webhooks.users_due().await.unwrap(), [(ben.id, app.embeddings.now())]);
    for user in [scene.anna.id, nobody, ben.id, ben.id] {
        app.webhooks.deliver(user, &Slice::whole()).await.unwrap();
        scene.assert_untouched("webhooks").await;
    }
    assert_eq!(bens.items(), [bread]);
}
