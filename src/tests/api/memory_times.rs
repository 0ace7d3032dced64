//! When what a memory says is true in the world, apart from when it was recorded.

use keepsake::clock::Zone;
use serde_json::{Value, json};
use time::Duration;

use super::{add, fields, get, refused_field, with};
use crate::data::{export, import};
use crate::support::{TestApp, TestUser};

fn job(content: &str, from: Value, until: Value) -> Value {
    json!({ "type": "fact", "content": content, "theme": "profile", "key": "job", "valid_from": from, "valid_until": until })
}

/// Its period, as the tools give it.
async fn period(user: &TestUser, id: &Value) -> Value {
    fields(&get(user, id).await, ["valid_from", "valid_until"])
}

#[tokio::test(crate = "crate::support::shared")]
async fn since_when_and_until_when_it_is_true_is_kept_told_and_changed() {
    let (app, anna) = TestApp::with_user().await;
    let added = add(&anna, job("Works at Aurora.", json!("2015-03"), json!("2019"))).await;
    let told = json!(["2015-03-01T00:00:00Z", "2020-01-01T00:00:00Z"]);
    assert_eq!(period(&anna, &added["id"]).await, told);
    let found = anna.call("memory_search", json!({ "query": "aurora" })).await;
    assert_eq!(fields(&found["results"][0], ["valid_from", "valid_until"]), told);
    let page = app.signed_in(&anna).await.look(&format!("/memory/{}", added["id"])).await;
    assert!(page.contains("March 2015 to 2019"), "{page}");

    // A correction changes the side that it names, of the same text; another text has the dates that it is given.
    let until = json!({ "item_id": added["id"], "content": "Works at Aurora.", "valid_until": "2019-06-30" });
    assert_eq!(anna.call("memory_correct", until).await["id"], added["id"]);
    let told = json!(["2015-03-01T00:00:00Z", "2019-07-01T00:00:00Z"]);
    assert_eq!(period(&anna, &added["id"]).await, told);
    let text = json!({ "item_id": added["id"], "content": "Worked at Aurora in Graz.", "valid_from": "2015-03",
        "valid_until": "2019-06-30" });
    let other = anna.call("memory_correct", text).await;
    assert_eq!(period(&anna, &other["id"]).await, told);
    let before = json!({ "item_id": other["id"], "content": "Worked at Aurora in Graz.", "valid_until": "2014" });
    assert_eq!(refused_field(&anna, "memory_correct", before).await, "422 valid_until");

    // Said again of the same time, the dates that are given count.
    let again =
        add(&anna, job("Worked at Aurora in Graz.", json!("2016"), json!("2019-06-30"))).await;
    assert_eq!((&again["id"], &again["duplicate"]), (&other["id"], &json!(true)));
    let told = json!(["2016-01-01T00:00:00Z", "2019-07-01T00:00:00Z"]);
    assert_eq!(period(&anna, &other["id"]).await, told);
}

#[tokio::test]
async fn the_history_keeps_what_was_before_a_change() {
    let (app, anna) = TestApp::start_for("anna").await;
    let say =
        |more: Value| add(&anna, with(json!({ "type": "fact", "content": "Is in Norway." }), more));
    let first = json!({ "tags": ["north"], "confidence": 40, "expires_in_days": 9 });
    let added = say(first).await;
    // By default it is surer than that.
    say(json!({ "expires_in_days": 9 })).await;
    // Agents make an event that keeps the state once an hour: what changes in between is part of it.
    app.clock.advance(Duration::hours(2));
    say(json!({ "tags": ["travel"], "valid_from": "2026", "confidence": 90 })).await;
    say(json!({ "tags": ["cold"] })).await;
    app.clock.advance(Duration::hours(2));
    say(json!({ "valid_from": "2025" })).await;
    // What archives it keeps its confidence alone, which is none that it had before.
    let key = json!({ "item_id": added["id"], "content": "Is in Sweden." });
    anna.call("memory_correct", key).await;
    let page = app.signed_in(&anna).await.look(&format!("/memory/{}", added["id"])).await;
    assert_eq!(page.matches(">changed<").count(), 4, "{page}");
    for told in [
        "its tags were north; it expired ",
        "; it had no dates; its confidence was 70",
        "it was valid since 2026",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(!page.contains("its confidence was 90"), "{page}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_is_no_date_or_ends_before_it_begins_is_refused_by_its_field() {
    let (_, anna) = TestApp::with_user().await;
    for (from, until, field, code) in [
        ("2019", "2018", "valid_until", "invalid_period"),
        ("2019-05-17T15:04:05Z", "2019-05-17T15:04:05Z", "valid_until", "invalid_period"),
        ("last year", "", "valid_from", "invalid_date"),
        ("", "2019-02-30", "valid_until", "invalid_date"),
        ("0000", "", "valid_from", "out_of_range"),
        ("", "9999", "valid_until", "out_of_range"),
        ("0001-01-01T00:00:00+14:00", "", "valid_from", "out_of_range"),
        ("\u{0}", "", "valid_from", "invalid_date"),
    ] {
        let input = job("Works at Aurora.", json!(from), json!(until));
        let (status, refused) = anna.refused("memory_add", input).await;
        let told = (status, refused["field"].as_str(), refused["code"].as_str());
        assert_eq!(told, (422, Some(field), Some(code)), "{refused}");
    }
    assert_eq!(anna.call("memory_search", json!({ "query": "*" })).await["results"], json!([]));
}

#[tokio::test(crate = "crate::support::shared")]
async fn dates_are_taken_as_people_write_them_in_their_time_zone() {
    let (app, anna) = TestApp::with_user().await;
    app.accounts.set_time_zone(anna.id, &Zone::from_column("Europe/Vienna")).await.unwrap();
    let added = add(&anna, job("Works at Aurora.", json!("2019-5-7"), json!(2021))).await;
    assert_eq!(period(&anna, &added["id"]).await[0], "2019-05-06T22:00:00Z");
    let page = app.signed_in(&anna).await.look(&format!("/memory/{}", added["id"])).await;
    assert!(page.contains("7 May 2019 to 31 December 2021"), "{page}");
    let before = json!({ "query": "aurora", "at": "2019/05/06 23:59" });
    assert_eq!(anna.call("memory_search", before).await["results"], json!([]));
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_export_has_the_dates_and_an_import_takes_them_in() {
    let (app, anna, ben) = TestApp::with_users().await;
    let input = job("Works at Aurora.", json!("0850-03"), json!("2019-05-17T15:04:05.123456Z"));
    add(&anna, input).await;
    assert_eq!(import(app, &ben, &export(app, &anna).await).await.added, 1);
    let found = ben.call("memory_search", json!({ "query": "aurora" })).await;
    let told = json!(["0850-03-01T00:00:00Z", "2019-05-17T15:04:05.123456Z"]);
    assert_eq!(period(&ben, &found["results"][0]["id"]).await, told);
    let line = r#"{"keepsake_export":1}
{"record":"item","type":"fact","content":"x","valid_from":"2020-01-01T00:00:00Z","valid_until":"2019-01-01T00:00:00Z"}"#;
    let refused = import(app, &ben, line).await;
    assert_eq!(refused.added, 0);
    let problem = &refused.problems[0];
    assert!(problem.sentence.contains("`valid_until` is before"), "{problem:?}");
}
