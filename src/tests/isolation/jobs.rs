//! Every job: what runs for one user touches no other's rows, and what waits in the queue tells of
//! nobody more than an id.

use std::fmt::Debug;

use keepsake::clock::SharedClock;
use keepsake::consolidation::{ComparedItems, Round};
use keepsake::db::UserId;
use keepsake::erasure::{self, ErasureStep};
use keepsake::memories::ItemId;
use keepsake::queue::Slice;
use keepsake::quota::Counted;
use keepsake::sessions::turns::{self, SessionWithTurnsDue};
use keepsake::{entities, jobs, memories, sessions};
use serde_json::json;
use time::Duration;

use super::scene::{Answer, Scene};
use super::walk;
use crate::chat::use_server;
use crate::consolidation::{told, user_says};
use crate::support::{ChatServer, DueNow, Provider, is_left_out, turns_due};
use crate::webhooks::{ALL, Receiver, hook};

/// A test below runs it, and says its name where it fails.
const CASES: &[&str] = &[
    "backup", "cleanup", "compare", "complete", "delete", "dream", "embed", "enrich", "entities",
    "erase", "expire", "extract", "fade", "feed", "passages", "reflect", "storage", "summary",
    "sweep", "turns", "webhooks",
];

/// Somebody who never was: nothing is done, and nothing goes wrong.
const NOBODY: UserId = UserId(999_999_999);

/// Runs it for each of these: how much it does, and that it touches nobody's rows but Ben's.
async fn assert_done<T: PartialEq + Debug>(
    scene: &Scene,
    job: &str,
    expected: impl IntoIterator<Item = (UserId, T)>,
    run: impl AsyncFn(UserId) -> T,
) {
    for (user, done) in expected {
        assert_eq!(run(user).await, done, "{job} {user:?}");
        scene.assert_untouched(job).await;
    }
}

/// Ben's own model from now on, which says this.
async fn bens_model(scene: &Scene, says: &'static str) -> ChatServer {
    let model = ChatServer::saying(says).await;
    use_server(&scene.app, &scene.ben, &model).await;
    model
}

/// The model was told these words of Ben's, and none of Anna's.
fn assert_asked(model: &ChatServer, words: &str) {
    let asked = format!("{:?}", model.asked());
    assert!(asked.contains(words) && !asked.contains("quokka"), "{asked}");
}

#[test]
fn every_job_has_a_case() {
    for job in walk::jobs() {
        assert!(
            CASES.contains(&job.as_str()),
            "{job} (src/core/jobs) has no case: add a test to src/tests/isolation/jobs.rs \
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
    scene.app.back_up_into(folder.path().to_owned());
    let (app, ben) = (&scene.app, &scene.ben);
    let browser = app.signed_in(ben).await;
    let note = ben.add("Ben bakes.").await;
    app.delete_item(&browser, note).await;
    keepsake::backup::ask(&app.db, app.embeddings.now()).await.unwrap();
    let worked = app.run_job("backup").await as usize;
    let lines = std::fs::read_to_string(folder.path().join("erasures.jsonl")).unwrap();
    assert_eq!(worked, lines.lines().count() + 1);
    let noted: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((&noted["user"], &noted["id"]), (&json!(ben.id.0), &json!(note)));
    scene.assert_untouched("backup").await;
}

#[tokio::test]
async fn embed_works_on_one_users_rows_with_that_users_endpoint_also_when_both_wait() {
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
    app.drain_once(NOBODY).await.unwrap();
    scene.assert_untouched("embed for nobody").await;

    bens_provider.forget_calls();
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
async fn consolidate_and_turns_read_one_users_sessions_with_that_users_model() {
    let scene = Scene::start().await;
    let (app, ben) = (&scene.app, &scene.ben);
    let facts = r#"{"facts":[{"category":"profile","key":"sport","value":"Ben rows at dawn","source":"conversation","source_context":""}]}"#;
    let model = bens_model(&scene, facts).await;
    told(ben, "talk", &[user_says("m1", "Ben rows at dawn.")]).await;
    let consolidation = app.consolidation.clone();
    let mut due = consolidation.due().await.unwrap();
    due.retain(|one| one.user == ben.id);
    assert_eq!(due.len(), 1);
    consolidation.extract(due[0]).await.unwrap();
    assert_eq!(model.asked().len(), 1);
    assert_asked(&model, "Ben rows at dawn");
    // What is true of him, what it was about, and what he said.
    assert_eq!(ben.find("dawn").await.len(), 3);
    scene.assert_untouched("consolidate").await;

    // The last is left to the job.
    let mut said = (0..100).map(|n| user_says(&n.to_string(), "Ben rows")).collect::<Vec<_>>();
    said.push(user_says("last", "Ben rows at noon"));
    told(ben, "noon", &said).await;
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
async fn summarize_and_entities_tell_one_users_facts_to_that_users_model() {
    let scene = Scene::start().await;
    let ben = &scene.ben;
    let model = bens_model(&scene, "Ben rows.").await;
    let consolidation = scene.app.consolidation.clone();
    consolidation.ask_for_summary(ben.id).await.unwrap();
    assert_eq!(consolidation.due_summaries().await.unwrap(), [ben.id]);
    consolidation.summarize(ben.id).await.unwrap();
    assert_asked(&model, "Ben rows.");
    let told = ben.call("memory_summary", json!({})).await;
    assert!(told["summary"].as_str().unwrap().contains("Ben rows."), "{told}");
    scene.assert_untouched("summarize").await;
    consolidation.summarize(NOBODY).await.unwrap();
    scene.assert_untouched("summarize for nobody").await;

    ben.add("Ben met Quentin Okonkwo in Lagos.").await;
    let app = &scene.app;
    let step = async || entities::upkeep::step(&app.search, ben.id, app.embeddings.now()).await;
    while step().await.unwrap().is_some() {}
    scene.assert_untouched("entities").await;
    let model = bens_model(&scene, "{\"entities\": [], \"connections\": []}").await;
    consolidation.enrich(ben.id, &Slice::whole()).await.unwrap();
    assert_asked(&model, "Ben");
    scene.assert_untouched("enrich").await;
    while consolidation.compare_some(ben.id).await.unwrap() != ComparedItems::Some(0) {}
    scene.assert_untouched("compare").await;
    assert_eq!(consolidation.compare_some(NOBODY).await.unwrap(), ComparedItems::Some(0));
    scene.assert_untouched("compare for nobody").await;
}

/// Webhooks, sweep, passages, delete, complete, expire, fade and erase, one after the other; what
/// fails names its job.
#[tokio::test]
async fn jobs_that_ask_no_model_work_on_one_users_rows() {
    let scene = Scene::start().await;
    let (app, db, ben) = (&scene.app, &scene.app.db, &scene.ben);
    let now = app.embeddings.now();
    let once_and_never_for_nobody = |done| [(ben.id, done), (ben.id, 0), (NOBODY, 0)];

    let bens = Receiver::start().await;
    hook(app, ben, &bens, ALL).await;
    let bread = ben.add("Ben bakes.").await;
    // `feed` finds whose are behind, as ids alone.
    assert_eq!(app.webhooks.users_due().await.unwrap(), [(ben.id, now)]);
    for user in [scene.anna.id, NOBODY, ben.id, ben.id] {
        app.webhooks.deliver(user, &Slice::whole()).await.unwrap();
        scene.assert_untouched("webhooks").await;
    }
    assert_eq!(bens.items(), [bread]);

    // The queue tells of nobody more than an id.
    app.embeddings.sweep().await.unwrap();
    app.run_job("complete").await;
    scene.assert_untouched("sweep").await;
    let all = "SELECT coalesce(string_agg(q::text, ' '), '') FROM job_queue q WHERE user_id <> $1";
    let all: String = app.sql(all).bind(scene.anna.id.0).value().await;
    let others = Answer { status: 0, headers: Vec::new(), body: all };
    scene.assert_tells_nothing(&others, "the queue");

    let due = "INSERT INTO memory_passages_due (user_id, sources) SELECT id, 2 FROM users";
    app.sql(due).run().await;
    app.sql("DELETE FROM memory_passages WHERE user_id = $1").bind(ben.id.0).run().await;
    for (user, made) in [(ben.id, Some(2)), (ben.id, None), (NOBODY, None)] {
        let done = memories::passages::make_some(db, &app.embeddings, user).await;
        assert_eq!(done.unwrap(), made, "passages {user:?}");
    }
    app.sql("DELETE FROM memory_passages_due").run().await;
    scene.assert_untouched("passages").await;
    assert_eq!(ben.find("bakes").await.len(), 1);

    let clock: SharedClock = app.clock.clone();
    erasure::delete_item_soon(db, &clock, ben.id, ItemId(bread)).await.unwrap();
    let due = erasure::users_with_deletions(db).await;
    assert_eq!(due.unwrap()[0].0, ben.id);
    // Under another's name there is nothing to be done.
    let (none, done) = (ErasureStep::Nothing, ErasureStep::Finished);
    let gone = [(scene.anna.id, none), (NOBODY, none), (ben.id, done), (ben.id, none)];
    assert_done(&scene, "delete", gone, async |user| {
        let later = now + Duration::seconds(10);
        erasure::step_of_due(db, &app.activity, user, later).await.unwrap().0
    })
    .await;

    let said = json!({ "messages": [user_says("1", "Ben rows")] });
    let added = ben.post("/api/v1/sessions/open/messages", &said).await;
    assert_eq!(added.status(), 200);
    // By that user's night.
    let night = jobs::find("complete").unwrap().schedule.unwrap();
    assert_done(&scene, "complete", once_and_never_for_nobody(1), async |user| {
        sessions::complete_still(db, user, night, now + Duration::hours(1)).await.unwrap()
    })
    .await;

    let short = json!({ "type": "fact", "content": "Ben naps.", "expires_in_days": 1 });
    ben.call("memory_add", short).await;
    assert_done(&scene, "expire", once_and_never_for_nobody(1), async |user| {
        memories::archive_expired(db, user, now + Duration::days(2)).await.unwrap()
    })
    .await;

    let own: i64 = app.sql("SELECT count(*) FROM memory_items WHERE user_id = $1 AND status = 'active' AND NOT protected
           AND theme_id IS NOT NULL AND type <> 'instruction'").bind(ben.id.0).value().await;
    assert!(own > 0);
    assert_done(&scene, "fade", once_and_never_for_nobody(own as usize), async |user| {
        memories::fading::fade(db, user, now + Duration::days(3_000)).await.unwrap()
    })
    .await;

    let counted = [(ben.id, Some(Counted::Done)), (NOBODY, None)];
    assert_done(&scene, "storage", counted, async |user| {
        app.embeddings.quota().count(db, user).await.ok()
    })
    .await;

    erasure::begin(db, ben.id, now).await.unwrap();
    while erasure::step(db, ben.id, now).await.unwrap() == ErasureStep::More {}
    assert_eq!(app.count(&format!("users WHERE id = {}", ben.id.0)).await, 0);
    scene.assert_untouched("erase").await;
}

#[tokio::test]
async fn reflect_reads_one_users_week_with_that_users_model() {
    let scene = Scene::start().await;
    for text in ["Ben rows at dawn.", "Ben bakes bread.", "Ben keeps bees."] {
        scene.ben.add(text).await;
    }
    let model = bens_model(&scene, "Ben bakes bread and keeps bees.").await;
    let consolidation = scene.app.consolidation.clone();
    assert_eq!(consolidation.reflect(scene.ben.id).await.unwrap(), Round::Written);
    assert_asked(&model, "Ben");
    scene.assert_untouched("reflect").await;
    let reflected = consolidation.reflect(NOBODY).await.unwrap();
    assert!(matches!(reflected, Round::Nothing(_)), "{reflected:?}");
}

#[tokio::test]
async fn dream_reads_one_users_sessions_with_that_users_model() {
    let scene = Scene::start().await;
    let (app, ben) = (&scene.app, &scene.ben);
    let consolidation = app.consolidation.clone();
    for n in 0..5 {
        let words = format!("Ben rows with {n} friends on the lake before the sun is up.");
        told(ben, &format!("row{n}"), &[user_says("1", &words)]).await;
        let due = consolidation.due().await.unwrap();
        for due in due.into_iter().filter(|due| due.user == ben.id) {
            consolidation.extract(due).await.unwrap();
        }
    }
    let model = bens_model(&scene, "## Recurring patterns\n- Ben rows on the lake.").await;
    app.clock.advance(Duration::minutes(11));
    assert_eq!(app.run_job("dream").await, 1);
    assert_asked(&model, "Ben rows with 4");
    scene.assert_untouched("dream").await;
    let dreamt = consolidation.dream(NOBODY).await.unwrap();
    assert!(matches!(dreamt, Round::Nothing(_)), "{dreamt:?}");
}
