//! When what a memory says is true in the world, apart from when it was recorded.

use serde_json::{Value, json};
use time::Duration;

use crate::data::{export, import};
use crate::support::{TestApp, TestUser};

fn job(content: &str, from: Value, until: Value) -> Value {
    json!({ "type": "fact", "content": content, "theme": "profile", "key": "job", "valid_from": from, "valid_until": until })
}

/// Its period, as the tools give it.
async fn period(user: &TestUser, id: &Value) -> [Value; 2] {
    let item = user.call("memory_get", json!({ "item_id": id })).await;
    ["valid_from", "valid_until"].map(|side| item[side].clone())
}

#[tokio::test(crate = "crate::support::shared")]
async fn since_when_and_until_when_it_is_true_is_kept_told_and_changed() {
    let (app, anna) = TestApp::with_user().await;
    let first = job("Works at Aurora.", json!("2015-03"), json!("2019"));
    let added = anna.call("memory_add", first).await;
    let told = ["2015-03-01T00:00:00Z", "2020-01-01T00:00:00Z"].map(Value::from);
    assert_eq!(period(&anna, &added["id"]).await, told);
    let found = anna.call("memory_search", json!({ "query": "aurora" })).await;
    let hit = &found["results"][0];
    assert_eq!([&hit["valid_from"], &hit["valid_until"]], [&told[0], &told[1]]);
    let browser = app.signed_in(&anna).await;
    let (_, page) = browser.get(&format!("/memory/{}", added["id"])).await;
    assert!(page.contains("March 2015 to 2019"), "{page}");

    // A correction changes the side that it names, in the same item or in a new one.
    let until = json!({ "item_id": added["id"], "content": "Works at Aurora.", "valid_until": "2019-06-30" });
    let same = anna.call("memory_correct", until).await;
    assert_eq!(same["id"], added["id"]);
    let told = ["2015-03-01T00:00:00Z", "2019-07-01T00:00:00Z"].map(Value::from);
    assert_eq!(period(&anna, &added["id"]).await, told);
    let text = json!({ "item_id": added["id"], "content": "Worked at Aurora in Graz." });
    let other = anna.call("memory_correct", text).await;
    assert_eq!(period(&anna, &other["id"]).await, told);
    let before =
        json!({ "item_id": other["id"], "content": "Worked at Aurora.", "valid_until": "2014" });
    let (status, refused) = anna.refused("memory_correct", before).await;
    assert_eq!((status, &refused["field"]), (422, &json!("valid_until")));

    // Saying it again without a date leaves it; with one, the newer statement counts.
    let again = job("Worked at Aurora in Graz.", json!(null), json!(""));
    assert_eq!(anna.call("memory_add", again).await["duplicate"], true);
    assert_eq!(period(&anna, &other["id"]).await, told);
    let again = job("Worked at Aurora in Graz.", json!("2016"), json!(null));
    assert_eq!(anna.call("memory_add", again).await["duplicate"], true);
    let told = [json!("2016-01-01T00:00:00Z"), json!(null)];
    assert_eq!(period(&anna, &other["id"]).await, told);
}

#[tokio::test]
async fn the_history_keeps_what_was_before_a_change() {
    let (app, anna) = TestApp::start_for("anna").await;
    let said = |more: Value| {
        let mut input = json!({ "type": "fact", "content": "Is in Norway." });
        let more = more.as_object().unwrap().clone();
        input.as_object_mut().unwrap().extend(more);
        input
    };
    let first =
        said(json!({ "tags": ["north"], "source": "web", "confidence": 40, "expires_in_days": 9 }));
    let added = anna.call("memory_add", first).await;
    // By default it is surer than that.
    anna.call("memory_add", said(json!({ "source": "web", "expires_in_days": 9 }))).await;
    // Agents make an event that keeps the state once an hour: what changes in between is part of it.
    let second = said(json!({ "tags": ["travel"], "valid_from": "2026", "confidence": 90 }));
    app.clock.advance(Duration::hours(2));
    anna.call("memory_add", second).await;
    anna.call("memory_add", said(json!({ "tags": ["cold"] }))).await;
    app.clock.advance(Duration::hours(2));
    anna.call("memory_add", said(json!({ "valid_from": "2025" }))).await;
    // What archives it keeps its confidence alone, which is none that it had before.
    let key = json!({ "item_id": added["id"], "content": "Is in Sweden." });
    anna.call("memory_correct", key).await;
    let browser = app.signed_in(&anna).await;
    let (_, page) = browser.get(&format!("/memory/{}", added["id"])).await;
    assert_eq!(page.matches(">changed<").count(), 4, "{page}");
    for told in [
        "its tags were north; it expired ",
        "; it had no dates; its confidence was 50; it was from outside",
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
    let found = anna.call("memory_search", json!({ "query": "*" })).await;
    assert_eq!(found["results"], json!([]));
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_export_has_the_dates_and_an_import_takes_them_in() {
    let (app, anna, ben) = TestApp::with_users().await;
    let input = job("Works at Aurora.", json!("0850-03"), json!("2019-05-17T15:04:05.123456Z"));
    anna.call("memory_add", input).await;
    let file = export(app, &anna).await;
    assert_eq!(import(app, &ben, &file).await.added, 1);
    let found = ben.call("memory_search", json!({ "query": "aurora" })).await;
    let told = ["0850-03-01T00:00:00Z", "2019-05-17T15:04:05.123456Z"].map(Value::from);
    assert_eq!(period(&ben, &found["results"][0]["id"]).await, told);
    let line = r#"{"keepsake_export":1}
{"record":"item","type":"fact","content":"x","valid_from":"2020-01-01T00:00:00Z","valid_until":"2019-01-01T00:00:00Z"}"#;
    let refused = import(app, &ben, line).await;
    assert_eq!(refused.added, 0);
    let problem = &refused.problems[0];
    assert!(problem.sentence.contains("`valid_until` is before"), "{problem:?}");
}
