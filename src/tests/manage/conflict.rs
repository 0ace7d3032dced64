use serde_json::{Value, json};
use time::Duration;

use super::Place;
use crate::pages::assert_has;

fn keyed(content: &str, key: &str) -> Value {
    json!({ "type": "fact", "content": content, "theme": "home", "key": key })
}

impl Place {
    /// Restoring asks first. Returns the page that asks.
    async fn asks(&self, id: i64, names: &[i64]) -> String {
        let before = (self.row(id).await, self.events(id).await);
        let page = self.answers(200, id, &[("action", "restore")]).await;
        for name in names {
            let field = format!("name=\"newer\" value=\"{name}\"");
            assert_has(&page, &[&format!("href=\"/memory/{name}\""), &field]);
        }
        assert_eq!(page.matches("name=\"newer\"").count(), names.len(), "{page}");
        assert_eq!((self.row(id).await, self.events(id).await), before);
        page
    }

    /// What was agreed to is to be archived for it.
    async fn restore_instead_of(&self, id: i64, newer: &[i64], status: u16) {
        let ids: Vec<String> = newer.iter().map(i64::to_string).collect();
        let mut fields = vec![("action", "restore")];
        fields.extend(ids.iter().map(|id| ("newer", id.as_str())));
        self.answers(status, id, &fields).await;
    }
}

#[tokio::test]
async fn what_a_newer_fact_of_its_key_replaced_is_restored_in_its_place_or_not_and_undone() {
    let place = Place::start().await;
    let older = place.add(keyed("Anna lives in Lyon.", "home_city")).await;
    let before_all = place.row(older).await;
    let newer = place.add(keyed("Anna lives in Freiburg.", "home_city")).await;
    place.decide(newer, "confirm").await;
    let (old_row, new_row) = (place.row(older).await, place.row(newer).await);
    assert_eq!(old_row["superseded_by"], newer);
    assert_eq!(old_row["confidence"], 30);

    let page = place.asks(older, &[newer]).await;
    assert_has(&page, &["Anna lives in Freiburg.", "Restore this and archive the newer one"]);
    assert_has(&page, &["Keep the newer one"]);
    assert_eq!(place.row(newer).await, new_row, "nothing was changed");

    // What was agreed to is another.
    place.restore_instead_of(older, &[older], 200).await;
    place.restore_instead_of(older, &[newer], 303).await;
    let (restored, replaced) = (place.row(older).await, place.row(newer).await);
    assert_eq!((&restored["status"], &restored["superseded_by"]), (&json!("active"), &Value::Null));
    assert_eq!(restored["confidence"], before_all["confidence"]);
    // What takes the place of a confirmed item is not confirmed by that.
    assert_eq!(restored["protected"], before_all["protected"]);
    assert_eq!(replaced["status"], "archived");
    assert_eq!(replaced["superseded_by"], older);
    let last = place.events(newer).await.pop().unwrap();
    assert_eq!(last, ("superseded".to_owned(), false), "by Anna");
    assert_eq!(place.is_found(older, "Lyon").await, (true, true));
    assert_eq!(place.is_found(newer, "Freiburg").await, (false, false));

    place.undo(older).await;
    assert_eq!(place.row(older).await, old_row);
    assert_eq!(place.row(newer).await, new_row);
    assert_eq!(place.is_found(newer, "Freiburg").await, (true, true));
}

#[tokio::test]
async fn its_text_elsewhere_and_what_took_its_place_without_a_key_are_in_the_way_too() {
    let place = Place::start().await;
    // The same text.
    let first = place.fact("Anna rows.").await;
    place.decide(first, "archive").await;
    place.app.clock.advance(Duration::minutes(1));
    let again = place.fact("Anna rows.").await;
    assert_ne!(first, again);
    place.asks(first, &[again]).await;
    // In another theme it is none.
    let elsewhere = json!({ "type": "fact", "content": "Anna sings.", "theme": "music" });
    let sings = place.fact("Anna sings.").await;
    place.decide(sings, "archive").await;
    place.add(elsewhere).await;
    place.decide(sings, "restore").await;
    // A correction.
    let wrong = place.fact("Anna has a cat.").await;
    let right = json!({ "item_id": wrong, "content": "Anna has a dog." });
    let right = place.anna.call("memory_correct", right).await["id"].as_i64().unwrap();
    place.asks(wrong, &[right]).await;
    // Once that is archived, nothing is in the way.
    place.decide(right, "archive").await;
    place.decide(wrong, "restore").await;
    assert_eq!(place.row(wrong).await["superseded_by"], Value::Null);
    place.undo(wrong).await;
    assert_eq!(place.row(wrong).await["superseded_by"], right);
    // What was erased leaves no number behind in the history of others.
    place.decide(wrong, "restore").await;
    place.app.delete_item(&place.browser, right).await;
    let named = place.app.count("memory_item_events WHERE was_superseded_by IS NOT NULL");
    assert_eq!(named.await, 0);
}

#[tokio::test]
async fn several_in_its_place_are_named_and_archived_together() {
    let place = Place::start().await;
    let first = place.add(keyed("Anna drives a Volvo.", "car")).await;
    let second = place.add(keyed("Anna drives a Saab.", "car")).await;
    place.decide(second, "archive").await;
    place.app.clock.advance(Duration::minutes(1));
    let third = place.add(keyed("Anna cycles.", "car")).await;
    place.decide(third, "archive").await;
    place.app.clock.advance(Duration::minutes(1));
    place.decide(second, "restore").await;
    // Its text without a key.
    let text = json!({ "type": "fact", "content": "Anna drives a Volvo.", "theme": "home" });
    let nameless = place.add(text).await;
    place.asks(first, &[second, nameless]).await;
    place.restore_instead_of(first, &[second], 200).await;
    place.restore_instead_of(first, &[second, nameless], 303).await;
    for gone in [second, nameless] {
        assert_eq!(place.row(gone).await["superseded_by"], first);
    }
    place.undo(first).await;
    for back in [second, nameless] {
        assert_eq!(place.status(back).await, "active");
    }
    assert_eq!(place.row(first).await["superseded_by"], second);
}

#[tokio::test]
async fn what_has_expired_in_its_place_gives_way_by_itself() {
    let place = Place::start().await;
    let older = place.add(keyed("Anna is in Rome.", "where")).await;
    let mut short = keyed("Anna is in Oslo.", "where");
    short["expires_in_days"] = json!(1);
    let newer = place.add(short).await;
    place.app.clock.advance(Duration::days(2));
    place.decide(older, "restore").await;
    assert_eq!(place.status(older).await, "active");
    let last = place.events(newer).await.pop().unwrap();
    assert_eq!(last.0, "expired");
}

#[tokio::test]
async fn an_agent_that_adds_the_key_meanwhile_and_a_restore_leave_one_of_them_active() {
    let place = Place::start().await;
    let older = place.add(keyed("Anna lives in Lyon.", "home_city")).await;
    place.decide(older, "archive").await;
    for n in 0..6 {
        let add = place.anna.call("memory_add", keyed(&format!("City {n}"), "home_city"));
        let restore = place.post(older, &[("action", "restore")]);
        let (_, restored) = tokio::join!(add, restore);
        assert!(matches!(restored.status().as_u16(), 200 | 303), "{n}");
        let active = "memory_items WHERE key = 'home_city' AND status = 'active'";
        assert_eq!(place.app.count(active).await, 1, "{n}");
        place.anna.call("memory_forget", json!({ "key": "home_city" })).await;
    }
}
