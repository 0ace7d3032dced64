use keepsake::erasure::{self, ErasureStep};
use serde_json::{Value, json};
use time::Duration;

use super::Place;
use crate::embedding::workers::Worker;
use crate::pages::assert_has;
use crate::support::{ids, until};

impl Place {
    async fn deletes(&self, item: &str, action: &str) -> (u16, String) {
        self.browser.submit("/data/delete", &[("action", action), ("item", item)]).await
    }

    async fn asked(&self, id: i64, action: &str) {
        let fields = [("action", action), ("item", &id.to_string())];
        let answer = self.browser.post("/data/delete", &fields).await;
        assert_eq!(answer.status(), 303, "{action}");
        assert_eq!(answer.headers()["location"], format!("/memory/{id}"));
    }

    async fn receipts(&self) -> i64 {
        self.app.count("erasure_receipts WHERE kind = 'item'").await
    }
}

#[tokio::test]
async fn a_memory_is_deleted_ten_seconds_after_it_was_asked_for_unless_that_is_undone() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    place.tells(id, &["Delete permanently", "1 vector and 1 entry of its history"]).await;
    let before = place.row(id).await;
    place.asked(id, "delete").await;
    let page = place.page(id).await;
    assert_has(&page, &["This memory will be deleted permanently in ten seconds.", "Undo"]);
    assert!(!page.contains("id=\"manage\""), "{page}");
    // It is no event; agents find and read it no more, in any state.
    assert_eq!(place.events(id).await.len(), 1);
    assert_eq!(place.is_found(id, "bees").await, (false, false));
    let any = json!({ "query": "bees", "status": "any" });
    assert!(!ids(&place.anna.call("memory_search", any).await).contains(&id));
    assert_eq!(place.anna.refused("memory_get", json!({ "item_id": id })).await.0, 404);
    let recalled = json!({ "message": "What does Anna keep? Bees?", "min_relevance": 0.0 });
    let recalled = place.anna.call("memory_recall", recalled).await.to_string();
    assert!(!recalled.contains("bees."), "{recalled}");
    place.app.clock.advance(Duration::seconds(9));
    assert_eq!(place.app.run_job("delete").await, 0);
    // Asked for again, it is not put off; undone twice, it is undone.
    let until = place.row(id).await["delete_at"].clone();
    place.asked(id, "delete").await;
    assert_eq!(place.row(id).await["delete_at"], until);
    for _ in 0..2 {
        place.asked(id, "undo").await;
        assert_eq!(place.row(id).await, before);
    }
    assert_eq!(place.is_found(id, "bees").await, (true, true));
    place.app.clock.advance(Duration::minutes(1));
    assert_eq!(place.app.run_job("delete").await, 0);

    place.asked(id, "delete").await;
    place.app.clock.advance(Duration::seconds(10));
    place.app.run_due().await;
    assert_eq!(place.browser.get(&format!("/memory/{id}")).await.0, 404);
    assert_eq!(place.receipts().await, 1);
    assert_has(&place.browser.look("/data").await, &["One memory"]);
    for action in ["undo", "delete"] {
        let fields = [("action", action), ("item", &id.to_string())];
        place.browser.says(404, "/data/delete", &fields, "There is no such memory.").await;
    }
}

#[tokio::test]
async fn an_undo_that_comes_after_twelve_seconds_is_refused_though_nothing_has_run_yet() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    place.asked(id, "delete").await;
    place.app.clock.advance(Duration::seconds(12));
    place.asked(id, "undo").await;
    place.asked(id, "delete").await;
    place.app.clock.advance(Duration::seconds(12) + Duration::microseconds(1));
    let (status, page) = place.deletes(&id.to_string(), "undo").await;
    assert_eq!(status, 409);
    let told = "The ten seconds for Undo are over; nothing was changed.";
    assert_has(&page, &[told, "Anna keeps bees."]);
    assert_eq!(place.app.run_job("delete").await, 1);
}

#[tokio::test]
async fn it_is_found_by_number_and_by_address_and_nothing_else_is_taken() {
    let place = Place::start().await;
    let (one, two) = (place.fact("One.").await, place.fact("Two.").await);
    let address = format!("http://memory.example.com/memory/{two}?q=two");
    for named in [format!(" {one} "), address] {
        assert_eq!(place.deletes(&named, "delete").await.0, 303, "{named}");
    }
    for (named, action, status, told) in [
        ("", "delete", 422, "`item` names no memory; give its ID"),
        ("tea", "delete", 422, "`item` names no memory; give its ID"),
        ("999999", "delete", 404, "There is no such memory."),
        ("1", "erase", 422, "`action` is not known"),
    ] {
        let (answered, page) = place.deletes(named, action).await;
        assert_eq!(answered, status, "{named} {action}");
        assert_has(&page, &[told, "Delete one memory"]);
    }
    place.app.clock.advance(Duration::seconds(10));
    assert_eq!(place.app.run_job("delete").await, 2);
}

#[tokio::test]
async fn clicks_at_once_leave_one_receipt_and_undo_and_the_job_at_once_one_of_both() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    let clicks = (0..4).map(|_| place.asked(id, "delete"));
    futures_util::future::join_all(clicks).await;
    place.app.clock.advance(Duration::seconds(10));
    let jobs = (0..3).map(|_| async {
        let now = place.app.embeddings.now();
        let (db, activity) = (&place.app.db, &place.app.activity);
        erasure::step_of_due(db, activity, place.anna.id, now).await.unwrap().0
    });
    let steps = futures_util::future::join_all(jobs).await.into_iter();
    let deleted = steps.filter(|step| *step == ErasureStep::Finished).count();
    assert_eq!((deleted, place.receipts().await), (1, 1));

    let id = place.fact("Anna keeps bees.").await;
    place.asked(id, "delete").await;
    place.app.clock.advance(Duration::seconds(10));
    let named = id.to_string();
    let (undone, _) = tokio::join!(place.deletes(&named, "undo"), place.app.run_due());
    let is_there = place.browser.get(&format!("/memory/{id}")).await.0 == 200;
    assert_eq!(undone.0, if is_there { 303 } else { 404 });
    place.app.clock.advance(Duration::minutes(1));
    place.app.run_due().await;
    let (status, _) = place.browser.get(&format!("/memory/{id}")).await;
    assert_eq!(status == 200, is_there, "what was undone stays");
}

#[tokio::test]
async fn what_a_killed_server_has_not_deleted_the_next_one_deletes() {
    let place = Place::start().await;
    let app = &place.app;
    let kept = place.fact("Anna rows.").await;
    let ids = [place.fact("One.").await, place.fact("Two.").await];
    for id in ids {
        place.asked(id, "delete").await;
    }
    // The push is a hint: the sweep finds it.
    let lost = app.sql("DELETE FROM job_queue WHERE job = 'delete'").run().await;
    assert_eq!(lost, 1);
    app.clock.advance(Duration::hours(1));
    let next = app.twin().await;
    let worker = Worker::start(&next);
    until("both are deleted", async || place.receipts().await == 2).await;
    worker.stop().await;
    assert_eq!(place.row(kept).await["delete_at"], Value::Null);
    for id in ids {
        assert_eq!(place.anna.refused("memory_get", json!({ "item_id": id })).await.0, 404);
    }
}
