//! Once a week what was remembered and told is read together: written once, of what is there alone, as sure as the least sure
//! of it, and gone with any of it.

use keepsake::providers::chat::{Allowances, ChatPurpose};
use serde_json::{Value, json};
use time::{Duration, Time, Weekday};

use super::summary::{Writer, writing};
use super::{assert_has, erase_session, fact, read_due, told, user_says, with_model};
use crate::chat::{set_limits, use_server, without};
use crate::data::{export, import, records};
use crate::support::{ChatServer, TestApp, TestUser, said};

const WEEK: &str = "Anna took up beekeeping and bought two hives.";

/// The next Sunday, a minute past three in the morning.
pub fn to_sunday(app: &TestApp) {
    let now = app.embeddings.now();
    let mut day = now.replace_time(Time::from_hms(3, 1, 0).unwrap());
    while day <= now || day.weekday() != Weekday::Sunday {
        day += Duration::days(1);
    }
    app.clock.advance(day - now);
}

/// How many reflections are written on the next Sunday.
async fn on_sunday(app: &TestApp) -> u32 {
    to_sunday(app);
    app.run_job("reflect").await
}

const TOLD: [&str; 3] =
    ["Anna took up beekeeping", "Anna bought two hives", "Prefers linden honey"];

async fn a_week(app: &TestApp, anna: &TestUser) -> [i64; 3] {
    on_sunday(app).await;
    app.clock.advance(Duration::days(4));
    let mut ids = [0; 3];
    for (id, text) in ids.iter_mut().zip(TOLD) {
        *id = anna.add(text).await;
    }
    ids
}

async fn reflections(anna: &TestUser) -> Vec<Value> {
    let input = json!({ "query": "Anna", "types": ["reflection"], "status": "any" });
    let found = anna.call("memory_search", input).await;
    let mut all = Vec::new();
    for one in found["results"].as_array().unwrap() {
        all.push(anna.call("memory_get", json!({ "item_id": one["id"] })).await);
    }
    all
}

/// Of all users: item, and source where it is there.
async fn origins(app: &TestApp) -> Vec<(i64, Option<i64>)> {
    app.sql("SELECT o.item_id, i.id FROM memory_origins o LEFT JOIN memory_items i ON i.user_id = o.user_id AND i.id = o.source_id ORDER BY 1, 2").rows().await
}

#[tokio::test]
async fn on_sunday_a_week_is_written_as_one_memory_and_the_next_takes_its_place() {
    let (app, model, anna) = writing(&format!("{WEEK} She moved to Paris in 2031.")).await;
    let ids = a_week(&app, &anna).await;
    assert_eq!(app.run_job("reflect").await, 0, "it is Thursday");
    assert_eq!(on_sunday(&app).await, 1);
    let (system, asked) = model.asked();
    assert!(system.contains("one week of a person") && asked.contains("Anna bought two hives"));
    let all = reflections(&anna).await;
    let [first] = all.as_slice() else { panic!("{all:?}") };
    let expected = json!({
        "type": "reflection", "theme": "reflections", "tags": ["weekly"], "content": WEEK, "source": "derived",
        "trust": "agent", "agent": null, "status": "active",
    });
    assert_has(first, expected);
    let first_id = first["id"].as_i64().unwrap();
    assert_eq!(origins(&app).await, ids.map(|id| (first_id, Some(id))).to_vec());
    assert_eq!(app.run_job("reflect").await, 0, "once a week");
    app.clock.advance(Duration::days(3));
    assert_eq!(app.run_job("reflect").await, 0);
    // Its page says what it stands on, and theirs that it was written from them.
    let browser = app.signed_in(&anna).await;
    let page = browser.look(&format!("/memory/{first_id}")).await;
    assert!(page.contains("Sources") && page.contains("Prefers linden honey"));
    let source = browser.look(&format!("/memory/{}", ids[0])).await;
    for told in ["Derived from it:", &format!("/memory/{first_id}\"")] {
        assert!(source.contains(told), "{told}");
    }
    // At the beginning of a session it is told, once.
    let recall = async || {
        let asked = json!({ "messages": ["What did Berta bake?"], "session": "s1" });
        let told: Value = anna.post("/api/v1/recall", &asked).await.json().await.unwrap();
        told["section"].as_str().unwrap().to_owned()
    };
    let section = recall().await;
    assert!(section.contains("The week to") && section.contains("took up beekeeping"), "{section}");
    assert!(!recall().await.contains("The week to"));
    // A year without any use fades nothing of it.
    let strength = &reflections(&anna).await[0]["strength"];
    app.clock.advance(Duration::days(365));
    assert_eq!(&reflections(&anna).await[0]["strength"], strength);

    a_week(&app, &anna).await;
    anna.add("Anna sold one of two hives").await;
    model.says("Anna sold one of two hives.");
    assert_eq!(on_sunday(&app).await, 1);
    let mut all = reflections(&anna).await;
    all.sort_by_key(|one| one["id"].as_i64());
    assert_has(&all[0], json!({ "status": "archived", "superseded_by": all[1]["id"] }));
    assert_eq!(all[1]["status"], "active");
}

#[tokio::test]
async fn a_person_of_another_time_zone_has_another_sunday() {
    let (app, _model, anna) = writing(WEEK).await;
    let browser = app.signed_in(&anna).await;
    browser.post("/account/time-zone", &[("time_zone", "Asia/Tokyo")]).await;
    a_week(&app, &anna).await;
    to_sunday(&app);
    // Nine hours before it is three o'clock in UTC.
    app.clock.advance(Duration::hours(-10));
    assert_eq!(app.run_job("reflect").await, 0, "Sunday 02:01 in Tokyo");
    app.clock.advance(Duration::hours(1));
    assert_eq!(app.run_job("reflect").await, 1, "Sunday 03:01 in Tokyo");
}

#[tokio::test]
async fn without_enough_or_without_leave_none_is_written() {
    let (app, model, anna) = writing(WEEK).await;
    let ben = app.user("ben").await;
    let ids = a_week(&app, &anna).await;
    for text in ["Ben rows", "Ben bakes", "Ben sings"] {
        ben.add(text).await;
    }
    anna.call("memory_archive", json!({ "item_id": ids[0] })).await;
    assert_eq!(on_sunday(&app).await, 0, "Ben has no model");
    assert_eq!(model.calls(), 0, "two memories are no week");
    // Not wanted.
    set_limits(&app, &anna, "", without(ChatPurpose::Reflection)).await;
    a_week(&app, &anna).await;
    assert_eq!(on_sunday(&app).await, 0);
    assert_eq!(model.calls(), 0);
    set_limits(&app, &anna, "", Allowances::default()).await;
    a_week(&app, &anna).await;
    assert_eq!(on_sunday(&app).await, 1);
}

#[tokio::test]
async fn a_model_that_fails_is_asked_again_in_an_hour_and_one_that_invents_in_a_week() {
    let (app, model, anna) = writing(WEEK).await;
    a_week(&app, &anna).await;
    model.fails();
    assert_eq!(on_sunday(&app).await, 0);
    let calls = model.calls();
    app.clock.advance(Duration::minutes(50));
    assert_eq!(app.run_job("reflect").await, 0);
    assert_eq!(model.calls(), calls, "not yet");
    app.clock.advance(Duration::minutes(11));
    model.says("Then she moved to Paris in 2031 with Zoltan.");
    assert_eq!(app.run_job("reflect").await, 0);
    app.clock.advance(Duration::hours(5));
    model.says(WEEK);
    assert_eq!(app.run_job("reflect").await, 0, "what it said is not believed, nor asked again");
    assert!(reflections(&anna).await.is_empty() && origins(&app).await.is_empty());
}

#[tokio::test]
async fn what_is_erased_takes_what_was_written_from_it_along() {
    let (app, model, anna) = writing(WEEK).await;
    let browser = app.signed_in(&anna).await;
    let ids = a_week(&app, &anna).await;
    to_sunday(&app);
    browser.sign_in(&anna).await;
    // While it is written.
    let held = model.server.hold();
    let erase = async {
        model.server.until_asked().await;
        app.delete_item(&browser, ids[2]).await;
        drop(held);
    };
    let (written, ()) = tokio::join!(app.run_job("reflect"), erase);
    assert_eq!((written, reflections(&anna).await.len()), (0, 0), "it is thrown away");
    let other = anna.add("Anna likes clover honey").await;
    app.clock.advance(Duration::minutes(61));
    assert_eq!(app.run_job("reflect").await, 1, "and written anew");
    // After it was.
    browser.sign_in(&anna).await;
    let (_, page) = browser.get(&format!("/memory/{other}")).await;
    assert!(page.contains("1 memory that was derived from it is deleted, too."), "{page}");
    app.delete_item(&browser, other).await;
    let reflection = "memory_items WHERE type = 'reflection' OR content LIKE '%two hives.%'";
    assert_eq!((app.count(reflection).await, origins(&app).await), (0, vec![]));
}

#[tokio::test]
async fn a_memory_that_says_the_same_word_for_word_is_left_as_it_is() {
    let (app, _model, anna) = writing(WEEK).await;
    let own = anna.add_to("reflections", WEEK).await;
    let ids = a_week(&app, &anna).await;
    assert_eq!(on_sunday(&app).await, 0);
    assert_eq!(origins(&app).await, vec![]);
    // So that what is erased does not take it along.
    let browser = app.signed_in(&anna).await;
    app.delete_item(&browser, ids[0]).await;
    let left = anna.call("memory_get", json!({ "item_id": own })).await;
    assert_has(&left, json!({ "content": WEEK, "status": "active" }));
}

#[tokio::test]
async fn an_episode_that_expires_leaves_it_and_its_session_takes_it_along() {
    let app = TestApp::start().await;
    let model = Writer::saying(WEEK).await;
    let anna = app.user("anna").await;
    to_sunday(&app);
    app.clock.advance(Duration::days(4));
    let words = "I took up beekeeping and bought two hives from a farmer in the village today.";
    told(&anna, "talk", &[user_says("m1", words)]).await;
    read_due(&app).await;
    use_server(&app, &anna, &model.server).await;
    for text in TOLD {
        anna.add(text).await;
    }
    assert_eq!(on_sunday(&app).await, 1);
    assert_eq!(origins(&app).await.len(), 4, "three memories and an episode");
    assert!(model.asked().1.contains("[sessions]"));
    app.clock.advance(Duration::days(100));
    app.run_job("expire").await;
    let gone = origins(&app).await.iter().filter(|(_, s)| s.is_none()).count();
    assert_eq!((gone, reflections(&anna).await.len()), (1, 1));
    erase_session(&app, &anna, "talk").await;
    assert_eq!(reflections(&anna).await.len(), 0);
    assert_eq!(origins(&app).await, vec![]);
}

#[tokio::test]
async fn what_is_said_later_is_kept_beside_it_and_never_within_it() {
    let words = "Anna took up beekeeping and bought two hives";
    let facts = json!([fact("projects", "hives", words, "user_explicit", words)]);
    let model = ChatServer::answering(move |body, _| {
        let asked = body["messages"][0]["content"].as_str().unwrap();
        match asked.contains("one week of a person") {
            true => said(WEEK),
            false => said(&json!({ "facts": facts }).to_string()),
        }
    })
    .await;
    let (app, anna) = with_model(&model).await;
    on_sunday(&app).await;
    app.clock.advance(Duration::days(4));
    for text in [TOLD[0], "Anna buys hives", TOLD[2], "Has two hives of linden"] {
        anna.add(text).await;
    }
    assert_eq!(on_sunday(&app).await, 1);
    told(&anna, "talk", &[user_says("m1", words)]).await;
    read_due(&app).await;
    let input = json!({ "query": words, "types": ["preference", "fact", "other"] });
    let found = anna.call("memory_search", input).await;
    let is_kept = |one: &Value| {
        let text = one["content_snippet"].as_str().unwrap_or_default();
        text.contains("beekeeping and bought two hives")
    };
    assert!(found["results"].as_array().unwrap().iter().any(is_kept), "{found}");
    // Nor does the summary stand on it.
    app.clock.advance(Duration::hours(2));
    let consolidation = app.consolidation.clone();
    consolidation.sweep_summaries().await.unwrap();
    consolidation.summarize(anna.id).await.unwrap();
    let asked = model.asked();
    let of_summary = asked
        .iter()
        .filter(|one| one.body.to_string().contains("what an assistant knows of its user"));
    assert!(of_summary.clone().count() > 0);
    assert!(of_summary.clone().all(|one| !one.body.to_string().contains(WEEK)));
}

#[tokio::test]
async fn an_export_takes_along_what_it_stands_on() {
    let (app, _model, anna) = writing(WEEK).await;
    a_week(&app, &anna).await;
    assert_eq!(on_sunday(&app).await, 1);
    let file = export(&app, &anna).await;
    let items = records(&file, "item");
    assert_eq!((items.len(), records(&file, "origins").len()), (4, 1));
    let ben = app.user("ben").await;
    for _ in 0..2 {
        let taken = import(&app, &ben, &file).await;
        assert_eq!(taken.failed, 0, "{taken:?}");
    }
    let bens = format!("memory_origins WHERE user_id = {}", ben.id.0);
    assert_eq!((app.count(&bens).await, reflections(&ben).await.len()), (3, 1));
    // A file that makes memories stand on each other, and on what is nobody's, is no way to more.
    let reflection = items.iter().find(|line| line["type"] == "reflection");
    let own = reflection.unwrap()["id"].as_i64().unwrap();
    let bad = json!({ "record": "origins", "item": own, "sources": [own, 999_999] });
    let (lines, end) = file.trim_end().rsplit_once('\n').unwrap();
    let forged = format!("{lines}\n{bad}\n{end}\n");
    import(&app, &ben, &forged).await;
    assert_eq!(app.count(&bens).await, 3);
}
