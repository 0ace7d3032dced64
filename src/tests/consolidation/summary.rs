use std::sync::{Arc, Mutex};

use keepsake::consolidation::summary::{ASKED_EVERY, BEGUN_EVERY, STILL_FOR, WAITS_MAX, WORDS_MAX};
use keepsake::providers::chat::Allowances;
use serde_json::{Value, json};
use time::Duration;
use wiremock::ResponseTemplate;

use super::{assert_has, with_model};
use crate::chat::{chat, set_limits, use_server};
use crate::support::{Browser, ChatServer, TestApp, TestUser, ids, refused, said};

/// A model that writes this, or refuses, as the test has it now.
pub(super) struct Writer {
    pub(super) server: ChatServer,
    says: Arc<Mutex<Option<String>>>,
}

impl Writer {
    pub(super) async fn saying(text: &str) -> Self {
        let says = Arc::new(Mutex::new(Some(text.to_owned())));
        let now = says.clone();
        let answer = move |_: &Value, _| -> ResponseTemplate {
            match now.lock().unwrap().as_deref() {
                Some(text) => said(text),
                None => refused(500, "out of order"),
            }
        };
        let server = ChatServer::answering(answer).await;
        Self { server, says }
    }

    pub(super) fn says(&self, text: &str) {
        *self.says.lock().unwrap() = Some(text.to_owned());
    }

    pub(super) fn fails(&self) {
        *self.says.lock().unwrap() = None;
    }

    /// What it was asked in its last call: system and user.
    pub(super) fn asked(&self) -> (String, String) {
        let asked = self.server.asked();
        let messages = &asked.last().unwrap().body["messages"];
        let of = |n: usize| messages[n]["content"].as_str().unwrap().to_owned();
        (of(0), of(1))
    }

    pub(super) fn calls(&self) -> usize {
        self.server.asked().len()
    }
}

/// Anna on a server of her own, whose chat model writes this.
pub(super) async fn writing(text: &str) -> (TestApp, Writer, TestUser) {
    let model = Writer::saying(text).await;
    let (app, anna) = with_model(&model.server).await;
    (app, model, anna)
}

/// As the sweep and the worker do at this moment: how many were written.
async fn work(app: &TestApp) -> usize {
    let consolidation = &app.consolidation;
    consolidation.sweep_summaries().await.unwrap();
    let due = consolidation.due_summaries().await.unwrap();
    for user in &due {
        consolidation.summarize(*user).await.unwrap();
    }
    due.len()
}

/// After the memory has been still for long enough.
async fn work_later(app: &TestApp) -> usize {
    app.clock.advance(BEGUN_EVERY.max(STILL_FOR));
    work(app).await
}

async fn summary(user: &TestUser) -> Value {
    let answer = user.get("/api/v1/summary").await;
    assert_eq!(answer.status(), 200);
    let told: Value = answer.json().await.unwrap();
    assert_eq!(told, user.call("memory_summary", json!({})).await);
    told
}

/// Between the tags.
fn text(told: &Value) -> &str {
    let text = told["summary"].as_str().unwrap();
    let text = text.split_once("\">\n").unwrap().1;
    text.strip_suffix("\n</keepsake-memory>").unwrap()
}

async fn page(browser: &Browser) -> String {
    browser.look("/summary").await
}

#[tokio::test]
async fn it_is_written_once_the_memory_is_still_and_tells_what_it_stands_on() {
    let (app, model, anna) = writing("Anna lives in Graz.\n\nShe prefers tea.").await;
    let graz = anna.add("Anna lives in Graz").await;
    let tea = anna.add_to("food", "Prefers tea over coffee").await;
    let gone = anna.add("Has a parrot").await;
    anna.call("memory_archive", json!({ "item_id": gone })).await;
    let expiring = json!({ "type": "fact", "content": "Is in Rome", "expires_in_days": 1 });
    anna.call("memory_add", expiring).await;
    assert_eq!(work(&app).await, 0, "the memory is not still yet");
    assert_has(&summary(&anna).await, json!({ "summary": null, "state": "waiting" }));

    app.clock.advance(Duration::days(2));
    assert_eq!(work(&app).await, 1);
    let (system, user) = model.asked();
    for told in ["- Prefers tea over coffee", "- Anna lives in Graz"] {
        assert!(user.contains(told), "{user}");
    }
    assert!(!user.contains("parrot") && !user.contains("Rome"), "{user}");
    assert!(!system.contains("Graz"), "{system}");
    let told = summary(&anna).await;
    assert_eq!(text(&told), "Anna lives in Graz.\n\nShe prefers tea.");
    let day = app.embeddings.now().date().to_string();
    let begins = format!("\" kind=\"summary\" date=\"{day}\">\n");
    assert!(told["summary"].as_str().unwrap().contains(&begins), "{told}");
    let items = json!([graz, tea]);
    let current = json!({ "items": items, "items_total": 2, "stale": false, "state": "current" });
    assert_has(&told, current);
    assert!(told["made_at"].is_string() && told["reason"].is_null());

    // With nothing new nothing is asked.
    assert_eq!(work_later(&app).await, 0);
    assert_eq!(model.calls(), 1);
    let browser = app.signed_in(&anna).await;
    let shown = page(&browser).await;
    for words in [
        "Anna lives in Graz.",
        "She prefers tea.",
        "Based on 2 memories.",
        "scripted-1",
        &format!("href=\"/memory/{tea}\""),
    ] {
        assert!(shown.contains(words), "{words}");
    }
    // What it cost stands where all chat does.
    let spent = chat(&app).overview(anna.id).await.unwrap().days;
    assert_eq!(spent.iter().map(|day| day.tokens()).sum::<i64>(), 50);
}

#[tokio::test]
async fn a_change_makes_it_stale_and_then_new() {
    let (app, model, anna) = writing("Anna lives in Graz. Anna rows.").await;
    let graz = anna.add("Anna lives in Graz").await;
    anna.add("Anna rows").await;
    work_later(&app).await;
    anna.call("memory_correct", json!({ "item_id": graz, "content": "Anna lives in Linz" })).await;
    // What holds is told of the old text.
    let told = summary(&anna).await;
    assert_eq!(text(&told), "Anna rows.");
    assert_has(&told, json!({ "stale": true, "state": "waiting" }));
    let browser = app.signed_in(&anna).await;
    assert!(page(&browser).await.contains("Your memories have changed since."));

    model.says("Anna lives in Linz.");
    app.clock.advance(STILL_FOR);
    assert_eq!(work(&app).await, 0, "not twice within a quarter of an hour");
    app.clock.advance(BEGUN_EVERY);
    assert_eq!(work(&app).await, 1);
    let told = summary(&anna).await;
    assert_eq!((text(&told), &told["state"]), ("Anna lives in Linz.", &json!("current")));

    // What comes and goes again changes no fact: it is looked at, and no model is asked.
    let short = anna.add("Is in Rome").await;
    anna.call("memory_archive", json!({ "item_id": short })).await;
    assert_eq!(summary(&anna).await["stale"], true);
    assert_eq!(work_later(&app).await, 1);
    assert_eq!((model.calls(), &summary(&anna).await["stale"]), (2, &json!(false)));

    // A memory that is never still is not waited for without end.
    model.says("Anna lives in Linz and rows.");
    for n in 0..WAITS_MAX.whole_minutes() / 4 {
        assert_eq!(work(&app).await, 0, "{n}");
        anna.add(&format!("Anna rows {n}")).await;
        app.clock.advance(Duration::minutes(4));
    }
    assert_eq!(work(&app).await, 1);

    // Where nothing is left there is nothing to tell.
    let all = json!({ "query": "*", "limit": 50 });
    for id in ids(&anna.call("memory_search", all).await) {
        anna.call("memory_archive", json!({ "item_id": id })).await;
    }
    work_later(&app).await;
    assert_has(&summary(&anna).await, json!({ "summary": null, "state": "empty" }));
    assert_eq!(model.calls(), 3);
}

#[tokio::test]
async fn what_was_written_stays_when_the_model_fails_and_it_is_tried_again() {
    let (app, model, anna) = writing("Anna lives in Graz.").await;
    anna.add("Anna lives in Graz").await;
    work_later(&app).await;
    anna.add("Anna rows").await;
    let browser = app.signed_in(&anna).await;
    let nonsense = [
        "{\"summary\": \"Anna rows.\"}",
        "I'm sorry, I cannot do that.",
        "Anna moved to Paris in 2020.",
    ];
    let mut waits = Vec::new();
    app.clock.advance(BEGUN_EVERY.max(STILL_FOR));
    for round in 0..5 {
        match nonsense.get(round) {
            Some(text) => model.says(text),
            None => model.fails(),
        }
        assert_eq!(work(&app).await, 1, "{round}");
        let told = summary(&anna).await;
        assert_eq!((text(&told), &told["state"]), ("Anna lives in Graz.", &json!("failed")));
        assert!(told["reason"].as_str().unwrap().ends_with('.'));
        assert!(page(&browser).await.contains("Anna lives in Graz."));
        let again = time::OffsetDateTime::parse(
            told["next_try_at"].as_str().unwrap(),
            &time::format_description::well_known::Rfc3339,
        )
        .unwrap();
        waits.push((again - app.embeddings.now()).whole_minutes());
        assert_eq!(work(&app).await, 0, "before its time nothing is tried");
        app.clock.advance(again - app.embeddings.now());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16]);
    model.says("Anna lives in Graz and rows.");
    assert_eq!(work(&app).await, 1);
    let told = summary(&anna).await;
    assert_eq!((text(&told), &told["state"]), ("Anna lives in Graz and rows.", &json!("current")));
}

#[tokio::test]
async fn after_eight_failures_it_waits_for_a_change_or_for_somebody_to_ask() {
    let (app, model, anna) = writing("{}").await;
    anna.add("Anna lives in Graz").await;
    app.clock.advance(STILL_FOR);
    for round in 0..8 {
        assert_eq!(work(&app).await, 1, "{round}");
        app.clock.advance(Duration::hours(6));
    }
    assert_eq!(work(&app).await, 0);
    assert_has(&summary(&anna).await, json!({ "state": "failed", "next_try_at": null }));
    model.says("Anna lives in Graz.");
    let browser = app.signed_in(&anna).await;
    assert!(page(&browser).await.contains("Write now"));
    let pressed = browser.post("/summary", &[("action", "write")]).await;
    assert_eq!(pressed.status(), 303);
    assert_eq!(pressed.headers()["location"], "/summary");
    assert!(page(&browser).await.contains("in a moment"));
    assert_eq!(work(&app).await, 1);
    assert_eq!(summary(&anna).await["state"], "current");
    // It is written anew for who asks, also where nothing has changed.
    model.says("The user lives in Graz.");
    assert!(page(&browser).await.contains("Write again"));
    browser.post("/summary", &[("action", "write")]).await;
    app.clock.advance(ASKED_EVERY);
    assert_eq!(work(&app).await, 1);
    assert_eq!(text(&summary(&anna).await), "The user lives in Graz.");
    // Again and again is not at once.
    anna.add("Anna rows").await;
    model.says("Anna rows.");
    browser.post("/summary", &[("action", "write")]).await;
    assert_eq!(work(&app).await, 0);
    app.clock.advance(ASKED_EVERY);
    assert_eq!(work(&app).await, 1);
    assert_eq!(browser.post("/summary", &[("action", "else")]).await.status(), 422);
}

#[tokio::test]
async fn without_a_model_or_when_it_is_not_wanted_none_is_written_and_the_page_says_why() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    anna.add("Anna lives in Graz").await;
    let is_off = async |words: &str, has_text: bool| {
        assert_eq!(work_later(&app).await, 0, "{words}");
        let shown = page(&browser).await;
        assert!(shown.contains(words), "{words}");
        assert_eq!(shown.contains("Anna lives in Graz."), has_text, "{words}");
        assert!(!shown.contains("Write it"), "{words}");
    };
    is_off("No chat model is set", false).await;
    assert_eq!(summary(&anna).await["state"], "off");

    let model = Writer::saying("Anna lives in Graz.").await;
    use_server(&app, &anna, &model.server).await;
    assert_eq!(work(&app).await, 1);
    anna.add("Anna rows").await;
    chat(&app).set_enabled(anna.id, false).await.unwrap();
    is_off("Chat is switched off", true).await;
    chat(&app).set_enabled(anna.id, true).await.unwrap();
    browser.post("/account/memory", &[("action", "off")]).await;
    is_off("Memory is switched off", true).await;
    let (_, refused) = anna.refused("memory_summary", json!({})).await;
    assert_has(&refused, json!({ "status": 403, "code": "memory_off" }));
    assert_eq!(anna.get("/api/v1/summary").await.status(), 403);
    browser.post("/account/memory", &[("action", "on")]).await;

    // The switch on the page of the chat model.
    let limits = [("action", "limits"), ("daily_token_cap", "")];
    assert_eq!(browser.post("/settings/chat", &limits).await.status(), 200);
    is_off("The summary is switched off", false).await;
    assert!(summary(&anna).await["summary"].is_null());
    browser.post("/summary", &[("action", "write")]).await;
    assert_eq!(work(&app).await, 1, "it is looked at");
    assert_eq!(model.calls(), 1, "and no model is asked");
    set_limits(&app, &anna, "", Allowances::default()).await;
    model.says("Anna lives in Graz and rows.");
    assert_eq!(text(&summary(&anna).await), "Anna lives in Graz.");
    assert_eq!(work_later(&app).await, 1);
    assert_eq!(text(&summary(&anna).await), "Anna lives in Graz and rows.");
}

#[tokio::test]
async fn one_that_an_erasure_took_while_nobody_could_write_is_written_when_somebody_can() {
    let (app, model, anna) = writing("Anna lives in Graz.").await;
    anna.add("Anna lives in Graz").await;
    let tea = anna.add("Prefers tea").await;
    assert_eq!(work_later(&app).await, 1);
    assert_eq!(summary(&anna).await["state"], "current");
    let temperature = model.server.asked()[0].body["temperature"].as_f64();
    assert_eq!(temperature.map(|t| (t * 100.0).round()), Some(30.0));

    let browser = app.signed_in(&anna).await;
    chat(&app).set_enabled(anna.id, false).await.unwrap();
    app.delete_item(&browser, tea).await;
    assert_eq!(work(&app).await, 1, "it is looked at");
    assert_eq!(model.calls(), 1, "and no model is asked");
    chat(&app).set_enabled(anna.id, true).await.unwrap();
    assert_eq!(summary(&anna).await["state"], "waiting");
    assert_eq!(work_later(&app).await, 1, "nothing else has changed");
    assert_eq!(summary(&anna).await["state"], "current");
    assert_eq!(text(&summary(&anna).await), "Anna lives in Graz.");
}

#[tokio::test]
async fn a_cap_that_is_reached_is_said_and_it_is_written_the_next_day() {
    let (app, model, anna) = writing("Anna lives in Graz.").await;
    anna.add("Anna lives in Graz").await;
    set_limits(&app, &anna, "10000", Allowances::default()).await;
    app.clock.advance(BEGUN_EVERY);
    let spent = "INSERT INTO chat_spend (user_id, day, tokens_in) SELECT id, $1, 9000 FROM users WHERE email LIKE 'anna%'";
    app.sql(spent).bind(app.embeddings.now().date()).run().await;
    work(&app).await;
    let told = summary(&anna).await;
    assert_eq!((&told["state"], model.calls()), (&json!("failed"), 0));
    assert!(told["reason"].as_str().unwrap().contains("10000 tokens of today"), "{told}");
    assert!(told["next_try_at"].as_str().unwrap().ends_with("T00:00:00Z"), "{told}");
    set_limits(&app, &anna, "", Allowances::default()).await;
    app.clock.advance(Duration::days(1));
    assert_eq!(work(&app).await, 1);
    assert_eq!(text(&summary(&anna).await), "Anna lives in Graz.");
}

#[tokio::test]
async fn what_was_erased_is_told_no_more_at_once() {
    let (app, model, anna) = writing("Anna lives in Graz and has a parrot.").await;
    anna.add("Anna lives in Graz").await;
    let parrot = anna.add("Has a parrot").await;
    let later = anna.add("Anna rows").await;
    work_later(&app).await;
    let browser = app.signed_in(&anna).await;
    let (_, item) = browser.get(&format!("/memory/{parrot}")).await;
    assert!(item.contains("The summary uses it"), "{item}");
    // Archived first, as people do: the text is there, and what it says of that is not told.
    anna.call("memory_archive", json!({ "item_id": parrot })).await;
    assert_eq!(summary(&anna).await["summary"], Value::Null);
    assert_eq!(app.count("memory_summaries s WHERE s::text LIKE '%parrot%'").await, 1);
    let receipt = app.delete_item(&browser, parrot).await;
    let waiting = json!({ "summary": null, "items": [], "state": "waiting" });
    assert_has(&summary(&anna).await, waiting);
    assert_eq!(app.count("memory_summaries s WHERE s::text LIKE '%parrot%'").await, 0);
    let (_, receipt) = browser.get(&format!("{receipt}/receipt.json")).await;
    let receipt: Value = serde_json::from_str(&receipt).unwrap();
    assert_eq!(receipt["rows"]["memory_summary_items"], 1, "{receipt}");
    model.says("Anna lives in Graz.");
    assert_eq!(work(&app).await, 1, "at once, without waiting for stillness");
    assert!(!model.asked().1.contains("parrot"));
    assert_eq!(text(&summary(&anna).await), "Anna lives in Graz.");

    // While it is written anew.
    let consolidation = app.consolidation.clone();
    let answering = ChatServer::answering(|_, _| said("Anna rows.")).await;
    use_server(&app, &anna, &answering).await;
    browser.post("/summary", &[("action", "write")]).await;
    anna.add("Anna swims").await;
    app.clock.advance(ASKED_EVERY);
    let held = answering.hold();
    let writing = consolidation.summarize(anna.id);
    let erasing = async {
        answering.until_asked().await;
        app.delete_item(&browser, later).await;
        drop(held);
    };
    let (written, ()) = tokio::join!(writing, erasing);
    written.unwrap();
    assert_eq!(summary(&anna).await["summary"], Value::Null);
    assert_eq!(work(&app).await, 1, "and due again");
}

#[tokio::test]
async fn paths_and_what_no_fact_names_are_left_out_and_it_stays_within_400_words() {
    let answer = format!(
        "<think>Who is Anna?</think>Anna lives in Graz. Her notes are in /home/anna/notes. She moved there in 2019. \
         Her brother Tom lives in Linz. The server is 10.0.0.7. {}",
        "Anna prefers tea over coffee at any time. ".repeat(100)
    );
    let (app, _model, anna) = writing(&answer).await;
    for fact in [
        "Anna lives in Graz",
        "Prefers tea over coffee",
        "Notes are in /home/anna/notes on 10.0.0.7",
    ] {
        anna.add(fact).await;
    }
    work_later(&app).await;
    let told = summary(&anna).await;
    let told = text(&told);
    assert!(told.starts_with("Anna lives in Graz. Anna prefers tea"), "{told}");
    let words = told.split_whitespace().count();
    assert!(words <= WORDS_MAX && words > WORDS_MAX - 10, "{words}");
    for foreign in ["/home", "2019", "Tom", "10.0.0.7", "think"] {
        assert!(!told.contains(foreign), "{foreign}");
    }
}

#[tokio::test]
async fn no_other_user_is_told_a_word_and_two_workers_write_it_once() {
    let (app, model, anna) = writing("Anna lives in Graz.").await;
    let ben = app.user("ben").await;
    anna.add("Anna lives in Graz").await;
    ben.add("Ben rows").await;
    app.clock.advance(STILL_FOR);
    assert_eq!(app.consolidation.sweep_summaries().await.unwrap(), 1);
    let twin = app.twin().await;
    tokio::join!(app.run_due(), twin.run_due());
    assert_eq!(model.calls(), 1);
    let off = json!({ "summary": null, "items": [], "state": "off" });
    assert_has(&summary(&ben).await, off);
    assert!(!page(&app.signed_in(&ben).await).await.contains("Graz"));
}

#[tokio::test]
async fn of_very_many_memories_the_surest_are_told_and_the_page_says_so() {
    let (app, _model, anna) = writing("Anna likes fruit.").await;
    let sure = anna.add("Anna surely likes fruit").await;
    anna.call("memory_confirm", json!({ "item_id": sure })).await;
    for n in 0..230 {
        anna.add(&format!("Likes fruit {n}")).await;
    }
    work_later(&app).await;
    let told = summary(&anna).await;
    let items = told["items"].as_array().unwrap();
    assert_eq!((items.len(), &told["items_total"]), (200, &json!(231)));
    assert!(items.contains(&json!(sure)));
    let browser = app.signed_in(&anna).await;
    assert!(page(&browser).await.contains("Based on 200 of 231 memories"));
}
