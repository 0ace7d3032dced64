//! What is over and what has not begun stands beside what holds (docs/time.md).

use keepsake::clock::Clock;
use keepsake::memories;
use serde_json::{Value, json};
use time::Duration;

use super::{add, fields, get, with};
use crate::data::import;
use crate::support::{TestApp, TestUser, ids};

fn home(content: &str, dates: [&str; 2]) -> Value {
    let [from, until] = dates;
    json!({ "type": "fact", "content": content, "theme": "profile", "key": "home_city", "valid_from": from,
        "valid_until": until })
}

async fn active(user: &TestUser, items: &[&Value]) -> Vec<bool> {
    let mut found = Vec::new();
    for item in items {
        found.push(get(user, &item["id"]).await["status"] == "active");
    }
    found
}

#[tokio::test(crate = "crate::support::shared")]
async fn of_one_key_what_is_over_or_ahead_archives_nothing_that_holds() {
    for (older, newer, stays) in [
        (["", ""], ["2010", "2015"], true),
        (["2008", ""], ["2010", "2015"], true),
        (["", ""], ["2190", ""], true),
        (["2010", "2015"], ["", ""], true),
        (["2010", "2015"], ["2016", "2019"], true),
        (["2190", ""], ["", ""], true),
        (["2010", "2015"], ["2012", "2017"], false),
        (["2190", ""], ["2191", ""], false),
        (["", ""], ["", ""], false),
        (["", ""], ["2022", ""], false),
        (["2022", ""], ["", ""], false),
        (["", "2190"], ["", ""], false),
    ] {
        let (_, anna) = TestApp::with_user().await;
        let graz = add(&anna, home("Lives in Graz.", older)).await;
        let linz = add(&anna, home("Lives in Linz.", newer)).await;
        let superseded = if stays { json!(null) } else { graz["id"].clone() };
        assert_eq!(linz["superseded"], superseded, "{older:?} {newer:?}");
        assert_eq!(active(&anna, &[&graz, &linz]).await, [stays, true], "{older:?} {newer:?}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_same_text_of_another_time_is_another_memory_and_of_the_same_time_one() {
    for (older, newer, merged) in [
        (["", ""], ["2010", "2015"], None),
        (["2010", "2015"], ["", ""], None),
        (["2010", "2015"], ["2020", "2022"], None),
        (["", ""], ["2190", ""], None),
        (["2010", "2015"], ["2190", ""], None),
        (["", ""], ["2019", ""], Some(["2019-01-01", ""])),
        (["2019", ""], ["", "2025"], Some(["2019-01-01", "2026-01-01"])),
        (["", ""], ["", "2025"], Some(["", "2026-01-01"])),
        (["2010", "2015"], ["2012", "2017"], Some(["2012-01-01", "2018-01-01"])),
        (["2019", ""], ["", ""], Some(["2019-01-01", ""])),
    ] {
        for key in ["home_city", ""] {
            let (_, anna) = TestApp::with_user().await;
            let of = |dates| with(home("Lives in Graz.", dates), json!({ "key": key }));
            let first = add(&anna, of(older)).await;
            let again = add(&anna, of(newer)).await;
            let told = format!("{key} {older:?} {newer:?}");
            assert_eq!(again["duplicate"], merged.is_some(), "{told}");
            assert_eq!(active(&anna, &[&first, &again]).await, [true, true], "{told}");
            if let Some(dates) = merged {
                let item = get(&anna, &first["id"]).await;
                let is = ["valid_from", "valid_until"]
                    .map(|field| item[field].as_str().map_or("", |at| &at[..10]).to_owned());
                assert_eq!(is, dates, "{told}");
            }
        }
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_correction_takes_over_no_date_sets_and_removes_them_and_names_what_it_archives() {
    let (_, anna) = TestApp::with_user().await;
    let dated = with(home("Lives in Graz.", ["2019", ""]), json!({ "expires_in_days": 30 }));
    let graz = add(&anna, dated).await;
    let of = |item: &Value, more: Value| with(json!({ "item_id": item["id"] }), more);
    let dates = ["valid_from", "valid_until", "expires_at"];
    let linz = anna.call("memory_correct", of(&graz, json!({ "content": "Lives in Linz." }))).await;
    assert_eq!(fields(&get(&anna, &linz["id"]).await, dates), json!([null, null, null]));
    assert_eq!(linz["archived"], json!([graz["id"]]));

    let given = json!({ "content": "Lives in Wels.", "valid_from": "2020", "valid_until": "2190", "expires_in_days": 9 });
    let wels = anna.call("memory_correct", of(&linz, given)).await;
    let is = get(&anna, &wels["id"]).await;
    assert!(dates.iter().all(|field| is[field].is_string()), "{is}");
    // The same text keeps what is not given.
    let same =
        of(&wels, json!({ "content": "Lives in Wels.", "tags": ["home"], "valid_from": "" }));
    assert_eq!(anna.call("memory_correct", same).await["id"], wels["id"]);
    assert_eq!(fields(&get(&anna, &wels["id"]).await, dates), fields(&is, dates));
    let none = json!({ "content": "Lives in Wels.", "valid_from": "none", "valid_until": "none", "expires_in_days": 0 });
    anna.call("memory_correct", of(&wels, none)).await;
    assert_eq!(fields(&get(&anna, &wels["id"]).await, dates), json!([null, null, null]));

    // Under another key it may archive two.
    let job = add(
        &anna,
        json!({ "type": "fact", "content": "Nurse.", "theme": "profile", "key": "job" }),
    )
    .await;
    let both = of(&wels, json!({ "content": "Works as a doctor.", "key": "job" }));
    let both = anna.call("memory_correct", both).await;
    assert_eq!(
        (&both["superseded"], &both["archived"]),
        (&wels["id"], &json!([wels["id"], job["id"]]))
    );
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_restore_asks_only_about_what_tells_of_the_same_time() {
    let (_, anna) = TestApp::with_user().await;
    let vienna = add(&anna, home("Lived in Vienna.", ["2010", "2015"])).await;
    anna.call("memory_archive", json!({ "item_id": vienna["id"] })).await;
    let graz = add(&anna, home("Lives in Graz.", ["", ""])).await;
    let again = add(&anna, home("Lived in Vienna.", ["2010", "2015"])).await;
    assert_ne!(again["id"], vienna["id"]);
    assert_eq!(active(&anna, &[&vienna, &graz, &again]).await, [false, true, true]);
}

#[tokio::test]
async fn what_begins_takes_the_place_of_what_held_and_what_ends_stands_behind() {
    let (app, anna) = TestApp::start_for("anna").await;
    let in_days = |days: i64| (app.clock.now() + Duration::days(days)).date().to_string();
    let job = |content: &str, from: &str, until: &str| json!({ "type": "fact", "content": content, "key": "employer", "valid_from": from, "valid_until": until });
    let acme = add(&anna, job("Works at Acme.", "", "")).await;
    let beta = add(&anna, job("Works at Beta.", &in_days(10), "")).await;
    let gym = add(
        &anna,
        json!({ "type": "fact", "content": "Works out at a gym.", "valid_until": in_days(5) }),
    )
    .await;
    let turn = async || {
        let now = app.embeddings.now();
        let due = memories::users_with_expired(&app.db, now).await.unwrap();
        for user in &due {
            assert!(memories::turn(&app.db, *user, now).await.unwrap() > 0);
        }
        due.len()
    };
    let asked = async || {
        let found = anna.call("memory_search", json!({ "query": "works" })).await;
        let holds = found["results"].as_array().unwrap().iter().map(|hit| hit["holds"].clone());
        let holds: Vec<Value> = holds.collect();
        (ids(&found), holds)
    };
    let of = |items: [&Value; 3]| items.map(|item| item["id"].as_i64().unwrap()).to_vec();
    assert_eq!(turn().await, 0);
    let (found, holds) = asked().await;
    assert_eq!(found[2], of([&beta; 3])[0], "what has not begun stands behind");
    assert_eq!(holds, [json!(null), json!(null), json!("ahead")]);

    app.clock.advance(Duration::days(7));
    assert_eq!((turn().await, turn().await), (1, 0));
    let (found, holds) = asked().await;
    assert_eq!(found[0], of([&acme; 3])[0]);
    assert_eq!(holds.iter().filter(|holds| !holds.is_null()).count(), 2, "{holds:?}");
    app.clock.advance(Duration::days(7));
    assert_eq!((turn().await, turn().await), (1, 0));
    let (found, _) = asked().await;
    assert_eq!(found, [of([&beta; 3])[0], of([&gym; 3])[0]]);
    let told = fields(&get(&anna, &acme["id"]).await, ["status", "superseded_by"]);
    assert_eq!(told, json!(["archived", beta["id"]]));
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_imported_older_value_was_true_until_the_one_that_is_held() {
    let (app, anna) = TestApp::with_user().await;
    let linz = add(&anna, home("Lives in Linz.", ["", ""])).await;
    let file = json!({ "record": "item", "type": "fact", "theme": "profile", "key": "home_city",
        "content": "Lives in Graz.", "created_at": "2021-05-01T00:00:00Z" });
    let end = json!({ "record": "end", "counts": { "items": 1 } });
    let file = format!("{{\"keepsake_export\":1}}\n{file}\n{end}\n");
    assert_eq!(import(app, &anna, &file).await.added, 1);
    let at =
        async |day: Value| anna.call("memory_search", with(json!({ "query": "lives" }), day)).await;
    let content = |found: &Value| -> Vec<String> {
        let hits = found["results"].as_array().unwrap().iter();
        hits.map(|hit| hit["content_snippet"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&at(json!({})).await), [linz["id"].as_i64().unwrap()]);
    for day in [json!({ "at": "2022" }), json!({ "as_of": "2022" })] {
        assert_eq!(content(&at(day).await), ["home_city: Lives in Graz."]);
    }
}
