//! What was learned stands on a page until its person has looked at it; what is forgotten teaches the next reading.

use serde_json::{Value, json};

use super::Place;
use crate::chat::use_server;
use crate::consolidation::{fact, user_says};
use crate::data::{export, hand_over, import, records};
use crate::pages::{assert_has, assert_lacks};
use crate::support::{ChatServer, DueNow, TestApp, TestUser, said};

const PATH: &str = "/learned";

async fn look(place: &Place) -> String {
    place.browser.look(PATH).await
}

async fn press(place: &Place, fields: &[(&str, &str)]) -> (u16, String) {
    place.browser.submit(PATH, fields).await
}

/// Hands a conversation over and reads it. What the model was asked.
async fn read(app: &TestApp, anna: &TestUser, model: &ChatServer, session: &str) -> Value {
    let words = "I drink my tea at four, and it rains.";
    hand_over(anna, session, &json!([user_says("m1", words)])).await;
    let consolidation = &app.consolidation;
    for due in consolidation.due().await.unwrap() {
        consolidation.extract(due).await.unwrap();
    }
    model.asked().last().unwrap().body["messages"].clone()
}

#[tokio::test]
async fn what_agents_store_waits_to_be_looked_at_and_what_is_forgotten_teaches() {
    let place = Place::start().await;
    let (app, anna) = (&place.app, &place.anna);
    let facts = json!([
        fact("preferences", "tea", "Drinks tea at four", "user_explicit", "I drink my tea at four"),
        fact("other", "weather", "It rains today", "user_explicit", "it rains"),
    ]);
    // Of the first session alone.
    let model = ChatServer::answering(move |_, before| {
        let facts = if before == 0 { facts.clone() } else { json!([]) };
        said(&json!({ "facts": facts }).to_string())
    })
    .await;
    use_server(app, anna, &model).await;
    assert_has(&place.browser.look("/memory").await, &["New to review", ">1</span>"]);
    let asked = read(app, anna, &model, "s1").await;
    assert!(!asked.to_string().contains("unwanted"), "{asked}");
    let page = look(&place).await;
    assert_has(&page, &["3 memories to review, newest first.", "Berta lives in Bern."]);
    assert_has(&page, &["Drinks tea at four", "I drink my tea at four", "View conversation"]);
    let id_of = async |words: &str| -> String {
        let id = "SELECT id FROM memory_items WHERE content = $1 AND theme_id IS NOT NULL";
        app.sql(id).bind(words).value::<i64>().await.to_string()
    };
    let (rain, tea) = (id_of("It rains today").await, id_of("Drinks tea at four").await);
    let (status, page) = press(&place, &[("action", "forget"), ("item", &rain)]).await;
    assert_eq!(status, 200);
    assert_has(&page, &["similar ones are no longer stored", "2 memories to review"]);
    assert_eq!(place.status(rain.parse().unwrap()).await, "archived");
    press(&place, &[("action", "keep"), ("item", &tea)]).await;
    let berta = id_of("Berta lives in Bern.").await;
    let (_, page) = press(&place, &[("action", "confirm"), ("item", &berta)]).await;
    assert_has(&page, &["is confirmed", "Nothing new."]);
    assert_eq!(place.row(berta.parse().unwrap()).await["protected"], true);

    // The next reading is told, as data.
    press(&place, &[("action", "unwanted"), ("text", "  what a\tbuild printed ")]).await;
    let asked = read(app, anna, &model, "s2").await;
    let [system, user] = [0, 1].map(|n| asked[n]["content"].as_str().unwrap());
    assert!(system.contains("the person did not want such things to be kept"));
    assert_has(user, &["<unwanted>\n- what a build printed\n- weather: It rains today\n<"]);
    // It comes back with one click, and is off the list.
    let page = look(&place).await;
    let line = page.split("name=\"line\" value=\"").nth(2).unwrap().split('"').next().unwrap();
    let (_, page) = press(&place, &[("action", "restore"), ("item", &rain), ("line", line)]).await;
    assert!(page.contains(&format!("Memory {rain} is active again.")), "{page}");
    assert_eq!(place.status(rain.parse().unwrap()).await, "active");
    let asked = read(app, anna, &model, "s3").await;
    assert!(!asked.to_string().contains("printed\\n- weather"), "{asked}");

    // All at once; what comes later stands there again.
    press(&place, &[("action", "keep_all"), ("oldest", "1"), ("item", "999999999")]).await;
    assert!(look(&place).await.contains("Nothing new."));
    anna.add("Anna rows.").await;
    assert!(look(&place).await.contains("1 memory to review."));
}

#[tokio::test]
async fn what_agents_of_earlier_versions_said_was_the_persons_word_is_looked_at_once() {
    let place = Place::start().await;
    let app = &place.app;
    let words = ["Deploys need no review.", "Ich wohne in Graz.", "我喜欢茶。"];
    let mut ids = Vec::new();
    for content in words {
        let said = json!({ "type": "fact", "content": content, "source": "user_explicit", "source_context": "so she said" });
        ids.push(place.add(said).await);
    }
    press(&place, &[("action", "keep_all"), ("oldest", "1"), ("item", "999999999")]).await;
    assert_lacks(&look(&place).await, &["Said to be your words"]);
    // As an upgrade finds them.
    app.sql("UPDATE memory_items SET trust = 'user' WHERE id = ANY ($1)")
        .bind(ids.clone())
        .run()
        .await;
    app.sql("UPDATE learned_seen SET claims_until = $1").bind(ids[2]).run().await;
    assert_has(&look(&place).await, &["Said to be your words", words[0], words[1], words[2]]);
    let item = ids[0].to_string();
    let (_, page) = press(&place, &[("action", "disown"), ("item", &item)]).await;
    assert_has(&page, &["word now, and not yours.", words[1]]);
    assert_lacks(&page, &[words[0]]);
    assert_eq!(place.anna.call("memory_get", json!({ "item_id": ids[0] })).await["trust"], "agent");
    press(&place, &[("action", "keep"), ("item", &ids[1].to_string())]).await;
    let (oldest, newest) = (ids[0].to_string(), ids[2].to_string());
    let all = [("action", "keep_claimed"), ("oldest", oldest.as_str()), ("item", newest.as_str())];
    press(&place, &all).await;
    press(&place, &[("action", "keep_all"), ("oldest", "1"), ("item", "999999999")]).await;
    assert_lacks(&look(&place).await, &["Said to be your words"]);
    assert_eq!(place.anna.call("memory_get", json!({ "item_id": ids[2] })).await["trust"], "user");
}

#[tokio::test]
async fn what_is_imported_or_erased_stands_there_no_more() {
    let place = Place::start().await;
    let app = &place.app;
    let file = r#"{"keepsake_export":1,"exported_at":"2026-11-01T00:00:00Z"}
{"record":"agent","name":"old-agent"}
{"record":"item","id":1,"type":"fact","theme":"home","content":"The roof is red.","agent":"old-agent","created_at":"2026-10-01T00:00:00Z"}
{"record":"end","counts":{"items":1}}"#;
    assert_eq!(import(app, &place.anna, file).await.added, 1);
    // What an import brings stands in a list of its own, and goes on its own.
    assert_has(&place.browser.look("/memory").await, &["Imported, to review", ">1</span>"]);
    let page = look(&place).await;
    assert_has(&page, &["1 memory to review", "id=\"imported\"", "The roof is red.", "Berta"]);
    let all = [("action", "keep_all"), ("oldest", "1"), ("item", "999999999")];
    press(&place, &all).await;
    assert!(look(&place).await.contains("The roof is red."));
    press(&place, &[("action", "keep_imported"), ("oldest", "1"), ("item", "999999999")]).await;
    assert!(!look(&place).await.contains("The roof is red."));
    let lines: Vec<String> = (0..60)
        .map(|n| format!(r#"{{"record":"item","type":"fact","content":"Tile {n} is red."}}"#))
        .collect();
    let file = format!("{}\n{}\n", r#"{"keepsake_export":1}"#, lines.join("\n"));
    import(app, &place.anna, &file).await;
    assert_has(&look(&place).await, &["Keep these 50", "Keep all 60, unseen", "And 10 more."]);
    let newest: i64 = app.sql("SELECT max(id) FROM memory_items").value().await;
    let newest = newest.to_string();
    press(&place, &[("action", "keep_all_imported"), ("item", &newest)]).await;
    assert!(!look(&place).await.contains("Tile"));
    let canary = place.fact("The canary is called Zebedee.").await;
    press(&place, &[("action", "forget"), ("item", &canary.to_string())]).await;
    assert!(look(&place).await.contains("Zebedee"), "on the list");
    // An export takes the list along.
    let file = export(app, &place.anna).await;
    let lines = records(&file, "unwanted");
    assert_eq!((lines.len(), &lines[0]["item"]), (1, &json!(canary)));
    let ben = app.user("ben").await;
    for _ in 0..2 {
        assert_eq!(import(app, &ben, &file).await.failed, 0);
    }
    let of_ben: Vec<Option<i64>> =
        app.sql("SELECT item_id FROM unwanted WHERE user_id = $1").bind(ben.id.0).values().await;
    assert!(matches!(of_ben.as_slice(), [Some(item)] if *item != canary), "{of_ben:?}");
    app.delete_item(&place.browser, canary).await;
    assert!(!look(&place).await.contains("Zebedee"), "what is erased goes from the list, too");
    assert_eq!(app.count("unwanted").await, 1, "Ben's");
}

#[tokio::test]
async fn the_list_is_bounded_and_bad_input_gets_one_sentence() {
    let place = Place::start().await;
    for n in 0..25 {
        press(&place, &[("action", "unwanted"), ("text", &format!("kind {n}"))]).await;
    }
    let page = look(&place).await;
    assert!(page.contains("kind 24") && page.contains("kind 5<") && !page.contains("kind 4<"));
    for (text, sentence) in [("", "`text` is empty"), (&*"x".repeat(121), "`text`")] {
        let fields = [("action", "unwanted"), ("text", text)];
        place.browser.says(422, PATH, &fields, sentence).await;
    }
    for fields in [
        [("action", "forget"), ("item", "x")],
        [("action", "keep"), ("item", "-1")],
        [("action", "confirm"), ("item", "99999999999999999999")],
    ] {
        place.browser.answers(404, PATH, &fields).await;
    }
    place.browser.answers(422, PATH, &[("action", "dance")]).await;
}

#[tokio::test]
async fn a_stranger_and_a_closed_browser_change_nothing() {
    let place = Place::start().await;
    let app = &place.app;
    let bees = place.fact("Anna keeps bees.").await.to_string();
    let ben = app.user("ben").await;
    let his = app.signed_in(&ben).await;
    assert!(!his.get(PATH).await.1.contains("bees"));
    for action in ["keep", "forget", "confirm", "restore"] {
        his.answers(404, PATH, &[("action", action), ("item", &bees)]).await;
    }
    his.post(PATH, &[("action", "keep_all"), ("oldest", "1"), ("item", &bees)]).await;
    let clock = app.shared_clock();
    keepsake::memories::manage::set_browser_read_only(&app.db, &clock, true).await.unwrap();
    let page = look(&place).await;
    assert!(page.contains("Anna keeps bees.") && !page.contains("value=\"forget\""));
    for action in ["keep", "forget", "confirm", "keep_all", "unwanted"] {
        let fields = [("action", action), ("item", &*bees), ("text", "x")];
        place.browser.answers(403, PATH, &fields).await;
    }
    assert_eq!(place.status(bees.parse().unwrap()).await, "active");
}

#[tokio::test]
async fn what_is_not_counted_is_called_more() {
    let place = Place::start().await;
    for n in 1..100 {
        place.anna.add(&format!("note {n}")).await;
    }
    assert_has(&look(&place).await, &["100 memories to review", "And 50 more."]);
    place.anna.add("note 100").await;
    let page = look(&place).await;
    assert_has(&page, &["More than 100 memories to review", "And more.", "Keep these 50"]);
    // What was not shown is not reviewed by that, nor what is stored meanwhile.
    let [oldest, newest] = ["oldest", "item"].map(|name| {
        let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
        field.split('"').next().unwrap().to_owned()
    });
    place.anna.add("note 101").await;
    press(&place, &[("action", "keep_all"), ("oldest", &oldest), ("item", &newest)]).await;
    assert_has(&look(&place).await, &["52 memories to review", "note 101"]);
}
