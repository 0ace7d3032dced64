use keepsake::accounts::admin_events::{AdminAction, AdminActor};
use serde_json::json;
use time::Duration;
use time::format_description::well_known::Rfc3339;

use super::Place;
use crate::support::TestApp;

const BY_AGENT: bool = true;
const BY_ANNA: bool = false;

fn history(events: &[(&str, bool)]) -> Vec<(String, bool)> {
    events.iter().map(|(event, by)| ((*event).to_owned(), *by)).collect()
}

#[tokio::test]
async fn what_is_archived_and_restored_leaves_and_comes_back_to_both_arms_of_the_search() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    let before = place.row(id).await;
    let page = place.page(id).await;
    let folds = page.split("<details").skip(1);
    let mut tags = folds.map(|fold| fold.split('>').next().unwrap());
    let manage = tags.find(|tag| tag.contains("id=\"manage\"")).unwrap();
    assert!(!manage.contains("open"), "{manage}");
    assert_eq!(place.is_found(id, "bees").await, (true, true));

    place.decide(id, "archive").await;
    assert_eq!(place.is_found(id, "bees").await, (false, false));
    place.tells(id, &["You archived this memory.", "Undo", "Restore", "archived"]).await;
    place.undo(id).await;
    assert_eq!(place.row(id).await, before);
    assert_eq!(place.is_found(id, "bees").await, (true, true));

    place.decide(id, "archive").await;
    place.app.clock.advance(Duration::minutes(1));
    assert!(!place.page(id).await.contains("You archived"));
    place.decide(id, "restore").await;
    assert_eq!(place.is_found(id, "bees").await, (true, true));
    place.tells(id, &["You restored this memory."]).await;
    place.undo(id).await;
    assert_eq!(place.is_found(id, "bees").await, (false, false));
    let expected = [
        ("added", BY_AGENT),
        ("archived", BY_ANNA),
        ("restored", BY_ANNA),
        ("archived", BY_ANNA),
        ("restored", BY_ANNA),
        ("archived", BY_ANNA),
    ];
    assert_eq!(place.events(id).await, history(&expected));
    // The same in words, and each in the activity, as hers.
    place.tells(id, &["restored", "by <bdi>you</bdi>"]).await;
    place.app.activity.flush().await.unwrap();
    let activity = place.browser.look("/activity?tool=memory_restore").await;
    assert!(activity.contains(">you</bdi>"), "{activity}");
    assert_eq!(activity.matches("data-row").count(), 1, "{activity}");
}

#[tokio::test]
async fn a_confirmation_is_taken_back_with_all_that_it_changed() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    let before = place.row(id).await;
    assert_eq!((&before["protected"], &before["confidence"]), (&json!(false), &json!(70)));
    place.decide(id, "confirm").await;
    let confirmed = place.row(id).await;
    assert_eq!((&confirmed["protected"], &confirmed["confidence"]), (&json!(true), &json!(100)));
    assert!(confirmed["verified"].is_string());
    place.undo(id).await;
    assert_eq!(place.row(id).await, before);

    // Later it is a decision of its own, and undone as well.
    place.decide(id, "confirm").await;
    place.app.clock.advance(Duration::days(1));
    let confirmed = place.row(id).await;
    place.tells(id, &["Remove confirmation"]).await;
    place.decide(id, "unconfirm").await;
    assert_eq!(place.row(id).await, before);
    place.tells(id, &["confirmation removed"]).await;
    place.undo(id).await;
    assert_eq!(place.row(id).await, confirmed);

    // What an agent confirmed, too; its confirming again renews the date alone.
    place.decide(id, "unconfirm").await;
    for _ in 0..2 {
        place.anna.call("memory_confirm", json!({ "item_id": id })).await;
        place.app.clock.advance(Duration::days(1));
    }
    place.decide(id, "unconfirm").await;
    let row = place.row(id).await;
    assert_eq!((&row["protected"], &row["confidence"]), (&json!(false), &json!(70)));
    assert!(row["verified"].is_string(), "it was said to hold again");
}

#[tokio::test]
async fn what_is_restored_after_its_expiry_has_none() {
    let place = Place::start().await;
    let add = async |content: &str| {
        let short = json!({ "type": "fact", "content": content, "expires_in_days": 7 });
        place.add(short).await
    };
    let swept = add("On call this week.").await;
    let expired = add("On holiday next week.").await;
    let of_expiry = place.row(swept).await;
    place.decide(swept, "archive").await;
    place.undo(swept).await;
    assert_eq!(place.row(swept).await, of_expiry, "it is not past");
    place.app.clock.advance(Duration::days(8));
    for (id, word) in [(expired, "holiday"), (swept, "week")] {
        if id == swept {
            assert_eq!(place.app.run_job("expire").await, 1);
        }
        place.tells(id, &["Its expiry date is removed."]).await;
        let before = place.row(id).await;
        place.decide(id, "restore").await;
        assert_eq!(place.row(id).await["expires"], json!(null));
        assert_eq!(place.is_found(id, word).await, (true, true));
        place.undo(id).await;
        assert_eq!(place.row(id).await["expires"], before["expires"]);
        assert_eq!(place.is_found(id, word).await, (false, false));
        place.decide(id, "restore").await;
    }
}

#[tokio::test]
async fn undo_is_judged_by_the_servers_clock() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    let told = "The ten seconds for Undo are over; nothing was changed.";
    let last = Duration::seconds(12);
    for (waits, answer, told, status) in
        [(last, 303, "", "active"), (last + Duration::microseconds(1), 409, told, "archived")]
    {
        place.decide(id, "archive").await;
        let event = place.offered(id).await;
        place.app.clock.advance(waits);
        let page = place.page(id).await;
        assert!(!page.contains("name=\"event\""), "{page}");
        let fields = [("action", "undo"), ("event", event.as_str())];
        let page = place.answers(answer, id, &fields).await;
        assert_eq!(place.status(id).await, status);
        assert!(page.contains(told), "{page}");
    }
}

#[tokio::test]
async fn undo_takes_back_the_last_thing_alone_and_only_what_the_person_did() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    let other = place.fact("Anna rows.").await;
    let refused = async |id: i64, event: &str| {
        let page = place.answers(409, id, &[("action", "undo"), ("event", event)]).await;
        let told = "This memory has changed since; nothing was undone.";
        assert!(page.contains(told), "{page}");
    };
    place.decide(id, "confirm").await;
    let confirmed = place.offered(id).await;
    // Pressed twice, it is undone once.
    for _ in 0..2 {
        place.sent(id, &[("action", "undo"), ("event", &confirmed)]).await;
    }
    assert_eq!(place.events(id).await.len(), 3);
    // That can be undone as well: then the first event is not the last any more.
    place.undo(id).await;
    refused(id, &confirmed).await;
    for nonsense in ["", "x", "0", "-1", "99999999999999999999"] {
        refused(id, nonsense).await;
    }
    place.decide(other, "archive").await;
    let of_other = place.offered(other).await;
    refused(id, &of_other).await;
    // An agent's is none of hers.
    place.decide(id, "unconfirm").await;
    place.anna.call("memory_archive", json!({ "item_id": id })).await;
    let page = place.page(id).await;
    assert!(!page.contains("name=\"event\""), "{page}");
    let last = place.app.sql("SELECT max(id) FROM memory_item_events WHERE item_id = $1");
    let last: i64 = last.bind(id).value().await;
    refused(id, &last.to_string()).await;
    refused(id, &confirmed).await;
    assert_eq!(place.status(id).await, "archived");
}

/// An agent's change soon after another of its own, with a decision of the person between them.
#[tokio::test]
async fn what_an_agent_changes_after_a_decision_is_kept_by_its_undo_and_told_of_its_day() {
    let place = Place::start().await;
    let tagged =
        |tag: &str| json!({ "type": "fact", "content": "Anna keeps bees.", "tags": [tag] });
    let id = place.add(tagged("first")).await;
    let change = async |tag: &str| {
        let fix = json!({ "item_id": id, "content": "Anna keeps bees.", "tags": [tag] });
        let fixed = place.anna.call("memory_correct", fix).await;
        assert_eq!(fixed["id"], id, "{fixed}");
    };
    change("second").await;
    place.decide(id, "confirm").await;
    let confirmed = place.offered(id).await;
    let then = place.app.embeddings.now().format(&Rfc3339).unwrap();
    place.app.clock.advance(Duration::seconds(1));
    place.anna.call("memory_add", tagged("third")).await;
    let expected =
        [("added", BY_AGENT), ("changed", BY_AGENT), ("confirmed", BY_ANNA), ("changed", BY_AGENT)];
    assert_eq!(place.events(id).await, history(&expected));
    place.answers(409, id, &[("action", "undo"), ("event", &*confirmed)]).await;
    let get = async |input| place.anna.call("memory_get", input).await["tags"].clone();
    assert_eq!(get(json!({ "item_id": id })).await, json!(["second", "third"]));
    let past = json!({ "item_id": id, "as_of": then });
    assert_eq!(get(past).await, json!(["second"]));
}

#[tokio::test]
async fn two_clicks_at_once_do_one_thing() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    for (n, action) in ["confirm", "unconfirm", "archive", "restore"].into_iter().enumerate() {
        let clicks = (0..4).map(|_| place.decide(id, action));
        futures_util::future::join_all(clicks).await;
        assert_eq!(place.events(id).await.len(), n + 2, "{action}");
    }
    let event = place.offered(id).await;
    let fields = [("action", "undo"), ("event", event.as_str())];
    let clicks = (0..4).map(|_| place.sent(id, &fields));
    futures_util::future::join_all(clicks).await;
    assert_eq!(place.status(id).await, "archived");
    assert_eq!(place.events(id).await.len(), 6);
}

#[tokio::test]
async fn what_does_not_go_is_said_in_a_sentence() {
    let place = Place::start().await;
    let id = place.fact("Anna keeps bees.").await;
    for fields in [&[("action", "")][..], &[("action", "erase")], &[]] {
        let page = place.answers(422, id, fields).await;
        assert!(page.contains("`action` is not known"), "{page}");
    }
    for path in ["/memory/x", "/memory/999999", "/memory/99999999999999999999"] {
        place.browser.answers(404, path, &[("action", "archive")]).await;
    }
    // From a page that is out of date.
    place.decide(id, "archive").await;
    for action in ["confirm", "unconfirm"] {
        let page = place.answers(409, id, &[("action", action)]).await;
        assert!(page.contains("is archived or has expired"), "{page}");
    }
    assert_eq!(place.events(id).await.len(), 2);
    // Nothing of that is an act.
    place.app.activity.flush().await.unwrap();
    assert_eq!(place.app.count("activity WHERE agent_id IS NULL").await, 1);
}

#[tokio::test]
async fn who_is_shut_out_decides_nothing_and_agents_have_no_such_tools() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let id = anna.add("Anna keeps bees.").await;
    for tool in ["memory_restore", "memory_unconfirm", "memory_undo", "memory_delete"] {
        let (status, refused) = anna.refused(tool, json!({ "item_id": id })).await;
        assert_eq!((status, &refused["code"]), (404, &json!("unknown_tool")));
    }
    let by_token = reqwest::Client::new()
        .post(format!("{}/memory/{id}", app.base))
        .header("sec-fetch-site", "same-origin")
        .bearer_auth(&anna.token)
        .form(&[("action", "archive")]);
    let answer = by_token.send().await.unwrap();
    assert!(answer.url().path() == "/login" || answer.status() == 303);
    let disabled = app.accounts.change_person(AdminActor::Command, anna.id, AdminAction::Disable);
    disabled.await.unwrap();
    let answer = browser.post(&format!("/memory/{id}"), &[("action", "archive")]).await;
    assert_eq!(answer.status(), 303);
    assert_eq!(answer.headers()["location"], "/login");
    let active: bool = app.sql("SELECT status = 'active' FROM memory_items").value().await;
    assert!(active);
}
