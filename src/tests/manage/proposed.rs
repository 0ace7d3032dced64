//! What a person has confirmed agents change by proposal only, and so what comes too fast; an agent's confirmation is no lock.

use serde_json::{Value, json};
use time::Duration;

use super::Place;
use crate::pages::{assert_has, assert_lacks};

const PATH: &str = "/learned";

/// The proposal that a refused call made, and its code.
fn proposed((status, problem): (u16, Value)) -> (i64, String) {
    assert_eq!(status, 409, "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    let id = problem["current"]["proposal_id"].as_i64().unwrap();
    assert!(detail.contains(&format!("proposal {id} waits for the user")), "{detail}");
    (id, problem["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn what_the_person_confirmed_agents_change_by_proposal_alone() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let home =
        json!({ "type": "fact", "content": "Wohnt in Graz.", "key": "home", "theme": "profile" });
    let id = place.add(home).await;
    place.decide(id, "confirm").await;
    let before = place.row(id).await;
    assert_eq!((&before["protected"], &before["locked"]), (&json!(true), &json!(true)));

    let correct = json!({ "item_id": id, "content": "Wohnt in Linz.", "source": "user_explicit" });
    let (corrected, code) = proposed(anna.refused("memory_correct", correct.clone()).await);
    assert_eq!(code, "confirmed");
    let (archived, code) = proposed(anna.refused("memory_archive", json!({ "item_id": id })).await);
    assert_eq!(code, "confirmed");
    let (forgotten, _) = proposed(anna.refused("memory_forget", json!({ "key": "home" })).await);
    // Asked again, they are the same proposals.
    assert_eq!(forgotten, archived);
    assert_eq!(proposed(anna.refused("memory_correct", correct).await).0, corrected);
    // Nor may it be cut short; that it is so may be said again.
    let ends = json!({ "item_id": id, "content": "Wohnt in Graz.", "valid_until": "2020" });
    let (ended, _) = proposed(anna.refused("memory_correct", ends).await);
    let again = json!({ "item_id": id, "content": "Wohnt in Graz." });
    assert_eq!(anna.call("memory_correct", again).await["id"], id);
    let (status, add) = anna
        .refused("memory_add", json!({ "type": "fact", "content": "Wohnt in Wien.", "key": "home", "theme": "profile" }))
        .await;
    assert_eq!((status, &add["code"]), (409, &json!("confirmed")));
    let unverified = |row: Value| {
        ["status", "confidence", "protected", "locked", "expires"].map(|f| row[f].clone())
    };
    assert_eq!(unverified(place.row(id).await), unverified(before));
    let linz: i64 =
        app.sql("SELECT id FROM memory_items WHERE content = 'Wohnt in Linz.'").value().await;
    assert!(!anna.find("Linz").await.contains(&linz), "what waits is not found");

    // The person is told on three pages, and decides on one.
    assert_has(&place.browser.look("/memory").await, &["Proposed by agents", ">3</span>"]);
    place.tells(id, &["proposes to ", "archive this", "replace this by", "Decide"]).await;
    let page = place.browser.look(PATH).await;
    assert_has(
        &page,
        &["Proposed by agents", "Wohnt in Linz.", "you confirmed it", "Accept these 3"],
    );
    // Nobody else's page knows of them, and nobody else decides.
    let ben = app.user("ben").await;
    let bens = app.signed_in(&ben).await;
    assert_lacks(&bens.look(PATH).await, &["Wohnt in Linz.", "Proposed by agents"]);
    let accept = corrected.to_string();
    let (_, page) = bens.submit(PATH, &[("action", "accept"), ("proposal", &accept)]).await;
    assert!(page.contains("Nothing was changed."), "{page}");
    let away = ended.to_string();
    place.browser.post(PATH, &[("action", "dismiss"), ("proposal", &away)]).await;

    let (_, page) =
        place.browser.submit(PATH, &[("action", "accept"), ("proposal", &accept)]).await;
    assert_has(&page, &["1 proposed change was made"]);
    assert_lacks(&page, &["Proposed by agents"]);
    assert_eq!(place.status(id).await, "archived");
    let row = place.row(linz).await;
    // What the person accepts is theirs.
    assert_eq!((&row["status"], &row["locked"]), (&json!("active"), &json!(true)));
    // The other one no longer applies.
    let late = archived.to_string();
    let (_, page) = place.browser.submit(PATH, &[("action", "accept"), ("proposal", &late)]).await;
    assert_has(&page, &["Nothing was changed. 1 no longer applies"]);
    let states: Vec<String> = app.sql("SELECT state FROM proposals ORDER BY id").values().await;
    assert_eq!(states, ["applied", "void", "dismissed"]);
}

#[tokio::test]
async fn no_other_door_replaces_renames_or_ends_what_the_person_confirmed() {
    let place = Place::start().await;
    let anna = &place.anna;
    let fact = |content: &str, key: Option<&str>| json!({ "type": "fact", "content": content, "key": key, "theme": "profile" });
    let home = place.add(fact("Wohnt in Graz.", Some("home"))).await;
    let nameless = place.add(fact("Anna mag Tee.", None)).await;
    for id in [home, nameless] {
        place.decide(id, "confirm").await;
    }
    let before = [place.row(home).await, place.row(nameless).await];
    // Another memory is corrected into its key, or into its time.
    let other = place.add(fact("Irgendwas.", None)).await;
    let into = json!({ "item_id": other, "content": "Wohnt in X.", "key": "home" });
    assert_eq!(anna.refused("memory_correct", into).await.1["code"], "confirmed");
    assert_eq!(place.status(other).await, "active", "nothing was changed");
    let ahead = json!({ "type": "fact", "content": "Wohnt in Y.", "key": "home", "theme": "profile", "valid_from": "2100" });
    let ahead = place.add(ahead).await;
    let begins = json!({ "item_id": ahead, "content": "Wohnt in Y.", "valid_from": "none" });
    assert_eq!(anna.refused("memory_correct", begins).await.1["code"], "confirmed");
    // The same text with a key, a date or a tag more.
    let named = anna.call("memory_add", fact("Anna mag Tee.", Some("drink"))).await;
    assert_eq!((&named["id"], &named["duplicate"]), (&json!(nameless), &json!(true)));
    assert_eq!(anna.call("memory_get", json!({ "item_id": nameless })).await["key"], Value::Null);
    // Of a key with several, none is archived, and each proposal says why.
    let own =
        json!({ "type": "fact", "content": "Wohnt im Zelt.", "key": "home", "theme": "holidays" });
    let own = place.add(own).await;
    let (_, code) = proposed(anna.refused("memory_forget", json!({ "key": "home" })).await);
    assert_eq!((code.as_str(), place.status(own).await), ("confirmed", json!("active")));
    let page = place.browser.look(PATH).await;
    assert_has(&page, &["you confirmed it", "you confirmed another one of its key"]);
    let unverified =
        |row: Value| ["status", "confidence", "locked", "expires"].map(|f| row[f].clone());
    for (id, was) in [home, nameless].into_iter().zip(before) {
        assert_eq!(unverified(place.row(id).await), unverified(was));
    }
    // Another tag is another proposal, and each brings what it says.
    let tagged =
        |tag: &str| json!({ "item_id": nameless, "content": "Anna mag Tee.", "tags": [tag] });
    let (first, _) = proposed(anna.refused("memory_correct", tagged("a")).await);
    let (second, _) = proposed(anna.refused("memory_correct", tagged("b")).await);
    assert_ne!(first, second);
    let accept = second.to_string();
    place.browser.submit(PATH, &[("action", "accept"), ("proposal", &accept)]).await;
    let tags: Vec<String> =
        place.app.sql("SELECT unnest(tags) FROM memory_items WHERE content = 'Anna mag Tee.' AND status = 'active'").values().await;
    assert_eq!(tags, ["b"]);
}

#[tokio::test]
async fn an_agents_confirmation_keeps_from_fading_stays_under_review_and_locks_nothing() {
    let place = Place::start().await;
    let (anna, id) = (&place.anna, place.fact("Anna mag Tee.").await);
    anna.call("memory_confirm", json!({ "item_id": id })).await;
    let row = place.row(id).await;
    let of = ["protected", "locked", "confidence"].map(|field| row[field].clone());
    assert_eq!(of, [json!(true), json!(false), json!(100)]);
    assert_has(&place.browser.look(PATH).await, &["Anna mag Tee."]);
    place.tells(id, &["confirmed by an agent", "Remove confirmation", "value=\"confirm\""]).await;
    // A person's takes it over, and taking that away takes both.
    place.decide(id, "confirm").await;
    assert_lacks(&place.browser.look(PATH).await, &["Anna mag Tee."]);
    assert_eq!(place.row(id).await["locked"], json!(true));
    place.undo(id).await;
    assert_eq!(place.row(id).await, row);
    let coffee = json!({ "item_id": id, "content": "Anna mag Kaffee." });
    assert_eq!(anna.call("memory_correct", coffee).await["superseded"], id);
}

#[tokio::test]
async fn more_than_twenty_changes_a_minute_wait_for_the_person() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let mut ids = Vec::new();
    for n in 0..23 {
        ids.push(anna.add(&format!("Number {n}")).await);
    }
    for id in &ids[..20] {
        anna.call("memory_archive", json!({ "item_id": id })).await;
    }
    let (first, code) =
        proposed(anna.refused("memory_archive", json!({ "item_id": ids[20] })).await);
    assert_eq!(code, "too_many_changes");
    let other = json!({ "item_id": ids[21], "content": "Another number" });
    proposed(anna.refused("memory_correct", other).await);
    assert_has(&place.browser.look(PATH).await, &["too many changes within a minute"]);
    // A person is not slowed down, and an agent is not for long.
    place.decide(ids[22], "archive").await;
    let fields = [("action", "accept"), ("proposal", &*first.to_string())];
    place.browser.submit(PATH, &fields).await;
    assert_eq!(place.status(ids[20]).await, "archived");
    app.clock.advance(Duration::minutes(1));
    anna.call("memory_archive", json!({ "item_id": ids[21] })).await;
}

#[tokio::test]
async fn an_agents_proposals_are_bounded() {
    let place = Place::start().await;
    let (anna, id) = (&place.anna, place.fact("Anna mag Tee.").await);
    place.decide(id, "confirm").await;
    for n in 0..100 {
        let input = json!({ "item_id": id, "content": format!("Anna mag {n}.") });
        proposed(anna.refused("memory_correct", input).await);
    }
    let (status, problem) = anna.refused("memory_archive", json!({ "item_id": id })).await;
    assert_eq!((status, &problem["code"]), (409, &json!("too_many_proposals")));
    assert_has(&place.browser.look(PATH).await, &["Accept these 50", "And more."]);
    // Once it is archived by its person nothing waits any more.
    place.decide(id, "archive").await;
    assert_lacks(&place.browser.look(PATH).await, &["Proposed by agents"]);
}
