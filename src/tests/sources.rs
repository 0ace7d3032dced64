//! What every memory and turn has beside its text: passages, the periods in which it lived, and a change
//! at a revision of its user for whatever search may see of it.

use keepsake::clock::Clock;
use keepsake::db::UserId;
use keepsake::erasure::{self, ExtractedMemories};
use keepsake::memories::passages;
use keepsake::sessions::model::SessionId;
use serde_json::json;
use time::{Duration, OffsetDateTime};

use crate::data::{export, import};
use crate::manage::Place;
use crate::support::{TestApp, TestUser};
use crate::turns::{ended, message};

/// Follows what changes of a user.
struct Changes<'a> {
    app: &'a TestApp,
    user: UserId,
    revision: i64,
}

impl Changes<'_> {
    /// Since the last time this was asked.
    async fn are(&mut self, what: &str, sources: &[i64]) {
        let (seen, revision) = self.seen().await;
        assert_eq!(seen, sources, "{what}");
        assert!(sources.is_empty() || revision > self.revision, "{what}");
        self.revision = revision;
    }

    /// What changed after the revision, and the revision it is now.
    async fn seen(&self) -> (Vec<i64>, i64) {
        self.app.sql("SELECT ARRAY (SELECT DISTINCT source_id FROM memory_changes WHERE user_id = $1 AND revision > $2 ORDER BY 1),
                revision
         FROM memory_revisions WHERE user_id = $1").bind(self.user.0).bind(self.revision).row().await
    }

    async fn newest(&self) -> i64 {
        let newest = "SELECT max(id) FROM memory_items WHERE user_id = $1";
        self.app.sql(newest).bind(self.user.0).value().await
    }
}

#[tokio::test]
async fn whatever_changes_what_search_may_see_is_a_change_at_a_new_revision() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    app.drain(anna).await;
    let home = |content: &str| json!({ "type": "fact", "content": content, "key": "home" });
    let porto = anna.added(home("Lives in Porto.")).await;
    let mut changes = Changes { app, user: anna.id, revision: 0 };
    changes.revision = changes.seen().await.1;

    app.drain(anna).await;
    changes.are("a vector", &[porto]).await;
    let bern = anna.added(home("Lives in Bern.")).await;
    changes.are("an add that supersedes", &[porto, bern]).await;
    anna.find("Bern").await;
    anna.call("memory_get", json!({ "item_id": bern })).await;
    changes.are("reading", &[]).await;
    let mut again = home("Lives in Bern.");
    again["tags"] = json!(["city"]);
    anna.call("memory_add", again).await;
    changes.are("it was said again", &[bern]).await;
    anna.call("memory_confirm", json!({ "item_id": bern })).await;
    changes.are("confirmed", &[bern]).await;
    let right = json!({ "item_id": bern, "content": "Lives in Basel." });
    let basel = anna.call("memory_correct", right).await["id"].as_i64().unwrap();
    changes.are("corrected", &[bern, basel]).await;
    anna.call("memory_archive", json!({ "item_id": basel })).await;
    changes.are("archived", &[basel]).await;
    app.clock.advance(Duration::seconds(1));
    place.decide(basel, "restore").await;
    changes.are("restored", &[basel]).await;
    place.undo(basel).await;
    changes.are("undone", &[basel]).await;
    let short = json!({ "type": "fact", "content": "It rains.", "expires_in_days": 1 });
    let rain = anna.added(short).await;
    changes.are("added", &[rain]).await;
    app.clock.advance(Duration::days(2));
    app.run_job("expire").await;
    changes.are("expired", &[rain]).await;

    ended(app, anna, "talk", &[message("1", "user", "I keep bees.")]).await;
    let turn = changes.newest().await;
    changes.are("a turn", &[turn]).await;
    let session: i64 = app.sql("SELECT id FROM sessions").value().await;
    let (stay, now) = (ExtractedMemories::Stay, app.clock.now());
    erasure::session(&app.db, &app.activity, anna.id, SessionId(session), stay, now).await.unwrap();
    changes.are("a session is gone", &[turn]).await;
    let file = export(app, anna).await;
    app.delete_item(&place.browser, rain).await;
    changes.are("deleted", &[rain]).await;
    import(app, anna, &file).await;
    let back = changes.newest().await;
    changes.are("imported", &[back]).await;
}

#[tokio::test]
async fn changes_are_told_for_a_day_at_least_and_removed_within_two() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let told = async |user: &TestUser| -> (i64, i64) {
        let told = "SELECT (SELECT count(*) FROM memory_changes WHERE user_id = $1),
                           revision - told_from FROM memory_revisions WHERE user_id = $1";
        app.sql(told).bind(user.id.0).row().await
    };
    anna.add("Rows at dawn.").await;
    ben.add("Ben bakes.").await;
    let clean = async |hours: i64| {
        app.clock.advance(Duration::hours(hours));
        app.run_job("cleanup").await;
    };
    clean(1).await;
    assert_eq!(told(&anna).await, (1, 1));
    anna.add("Sings at dusk.").await;
    clean(23).await;
    assert_eq!(told(&anna).await, (2, 2));
    clean(2).await;
    // What was there a day before is told no more, and who has seen it has missed nothing.
    assert_eq!((told(&anna).await, told(&ben).await), ((1, 1), (0, 0)));
    clean(25).await;
    assert_eq!(told(&anna).await, (0, 0));
    anna.add("Keeps bees.").await;
    assert_eq!(told(&anna).await, (1, 1));
}

#[tokio::test]
async fn when_a_memory_lives_is_kept_also_of_the_times_before_it_was_restored() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    // When it lives, and how often it lived before, as far as that is not endless.
    let lives = async |id: i64| -> (OffsetDateTime, Option<OffsetDateTime>, i64) {
        let lives = "SELECT live_from, nullif(live_until, 'infinity'),
                            (SELECT count(*) FROM unnest(lived) p WHERE lower(p) < upper(p))
                     FROM memory_items WHERE id = $1";
        app.sql(lives).bind(id).row().await
    };
    let first = app.clock.now();
    let id = place.fact("Rows at dawn.").await;
    assert_eq!(lives(id).await, (first, None, 0));
    app.clock.advance(Duration::days(3));
    let archived = app.clock.now();
    anna.call("memory_archive", json!({ "item_id": id })).await;
    assert_eq!(lives(id).await, (first, Some(archived), 0));
    app.clock.advance(Duration::days(3));
    let restored = app.clock.now();
    place.decide(id, "restore").await;
    assert_eq!(lives(id).await, (restored, None, 1));
    let was_live = "SELECT lived @> $2 OR (live_from <= $2 AND $2 < live_until) FROM memory_items WHERE id = $1";
    for (days, lived) in [(-1, false), (0, true), (2, true), (4, false), (6, true), (60, true)] {
        let asked = app.sql(was_live).bind(id).bind(first + Duration::days(days));
        assert_eq!(asked.value::<bool>().await, lived, "{days}");
    }
    let short = json!({ "type": "fact", "content": "It rains.", "expires_in_days": 1 });
    let rain = place.add(short).await;
    assert_eq!(lives(rain).await, (restored, Some(restored + Duration::days(1)), 0));
    // What is put aside never lived.
    let said = |content: &str, source: &str| json!({ "type": "fact", "content": content, "key": "home", "source": source });
    place.add(said("Lives in Porto.", "conversation")).await;
    let aside = anna.call("memory_add", said("Lives in Rome.", "web")).await["id"].clone();
    assert_eq!(lives(aside.as_i64().unwrap()).await, (restored, Some(restored), 0));
}

#[tokio::test]
async fn what_was_kept_before_there_were_passages_gets_them_while_searches_answer() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let short = place.fact("Rows at dawn.").await;
    let words: Vec<String> = (0..1_000).map(|n| format!("word{n}")).collect();
    let long = place.fact(&words.join(" ")).await;
    ended(app, anna, "talk", &[message("1", "user", "I keep bees.")]).await;
    app.drain(anna).await;
    // As the migration finds it.
    app.sql("DELETE FROM memory_embeddings WHERE passage > 0;
         CREATE TABLE before AS SELECT * FROM memory_passages; DELETE FROM memory_passages;
         INSERT INTO memory_passages_due (user_id, sources) SELECT user_id, count(*) FROM memory_items GROUP BY user_id").run_all().await;
    assert!(anna.find("dawn").await.contains(&short));
    let work = place.browser.look("/settings/work").await;
    assert!(work.contains("0 of 4 memories and messages are prepared"), "{work}");
    // An add at this time has its own already.
    let new = place.fact("Sings at dusk.").await;
    let state = async |id: i64| {
        anna.call("memory_get", json!({ "item_id": id })).await["embedding"]["state"].clone()
    };
    assert_eq!(state(long).await, "ready");
    assert_eq!(app.run_job("passages").await, 5);
    // What it had stays ready, and what it lacked is waited for.
    assert_eq!((state(short).await, state(long).await), (json!("ready"), json!("pending")));
    let differ: i64 = app.sql("SELECT count(*) FROM (SELECT * FROM before FULL JOIN memory_passages p USING (user_id, source_id, n, start, length, content_hash, terms)
                               WHERE source_id <> $1 AND (before.user_id IS NULL OR p.user_id IS NULL)) d").bind(new).value().await;
    assert_eq!(differ, 0, "others than an add makes");
    app.drain(anna).await;
    assert_eq!(state(long).await, "ready");
    assert_eq!(passages::due_of(&app.db, anna.id).await.unwrap().map(|due| due.done), None);
    assert!(anna.find("dusk").await.contains(&new));
    let work = place.browser.look("/settings/work").await;
    assert!(!work.contains("are prepared"), "{work}");
}
