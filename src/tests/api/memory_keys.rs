//! Keys that supersede, provenance, and the tools correct, confirm, forget and stats.

use keepsake::accounts::Viewer;
use keepsake::memories::{
    self, ConflictPolicy, Expiry, ItemKey, ItemSource, ItemType, NewItem, Provenance, Trust,
};
use serde_json::{Value, json};
use time::Duration;

use super::{add, code, fields, get, refused_field, two_users};
use crate::support::{Provider, TestApp, TestUser, ids};

fn city(content: &str) -> Value {
    city_in("profile", content)
}

fn city_in(theme: &str, content: &str) -> Value {
    json!({ "type": "fact", "content": content, "theme": theme, "key": "Home City" })
}

/// What happened to an item, oldest first.
async fn history(app: &TestApp, user: &TestUser, id: &Value) -> Vec<String> {
    app.sql("SELECT event FROM memory_item_events WHERE user_id = $1 AND item_id = $2 ORDER BY id")
        .bind(user.id.0)
        .bind(id.as_i64().unwrap())
        .values()
        .await
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_same_key_with_another_value_takes_the_place_of_the_older_item() {
    let (app, anna) = TestApp::with_user().await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "m").await;
    let porto = add(&anna, city("Lives in Porto.")).await;
    app.drain(&anna).await;
    let lisbon = add(&anna, city("Lives in Lisbon.")).await;
    let told = fields(&lisbon, ["status", "duplicate", "superseded"]);
    assert_eq!(told, json!(["active", false, porto["id"]]));
    app.drain(&anna).await;
    // Neither arm finds the older one; whoever asks for what is archived does.
    let found = anna.call("memory_search", json!({ "query": "lives in Porto" })).await;
    assert_eq!(ids(&found), [lisbon["id"].as_i64().unwrap()]);
    assert_eq!(found["results"][0]["key"], "home_city");
    let archived = json!({ "query": "lives in Porto", "status": "archived" });
    let archived = anna.call("memory_search", archived).await;
    assert_eq!(ids(&archived), [porto["id"].as_i64().unwrap()]);
    assert_eq!(archived["mode"], "hybrid");

    let older = get(&anna, &porto["id"]).await;
    let told = fields(&older, ["status", "confidence", "superseded_by", "key"]);
    assert_eq!(told, json!(["archived", 30, lisbon["id"], "home_city"]));
    assert_eq!(history(app, &anna, &porto["id"]).await, ["added", "superseded"]);
    // Said again, it is the duplicate; and the first value again is a new item.
    let again = add(&anna, city("Lives in Lisbon.")).await;
    let told = fields(&again, ["id", "duplicate", "superseded"]);
    assert_eq!(told, json!([lisbon["id"], true, null]));
    let back = add(&anna, city("Lives in Porto.")).await;
    assert_eq!(back["superseded"], lisbon["id"]);
    assert_ne!(back["id"], porto["id"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn keys_are_of_their_theme_and_user_and_one_value_under_two_keys_is_two_items() {
    let (_, anna, ben) = TestApp::with_users().await;
    let profile = add(&anna, city("Lives in Porto.")).await;
    let travel = city_in("travel", "Lives in Rome for a while.");
    assert_eq!(add(&anna, travel).await["superseded"], json!(null));
    assert_eq!(add(&ben, city("Lives in Oslo.")).await["superseded"], json!(null));
    assert_eq!(get(&anna, &profile["id"]).await["status"], "active");

    let of =
        |key: &str| json!({ "type": "preference", "content": "true", "theme": "ui", "key": key });
    let dark = add(&anna, of("prefers_dark")).await;
    let dense = add(&anna, of("prefers_dense")).await;
    assert_eq!(dense["duplicate"], false);
    // Text without a key meets either.
    let plain = add(&anna, json!({ "type": "preference", "content": "true", "theme": "ui" })).await;
    assert_eq!(plain["duplicate"], true);
    assert!(plain["id"] == dark["id"] || plain["id"] == dense["id"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_text_that_is_there_without_a_key_is_given_it_and_supersedes_by_it() {
    let (app, anna) = TestApp::with_user().await;
    let porto = add(&anna, city("Lives in Porto.")).await;
    let plain = json!({ "type": "fact", "content": "Lives in Rome.", "theme": "profile" });
    let plain = add(&anna, plain).await;
    let named = add(&anna, city("Lives in Rome.")).await;
    let told = fields(&named, ["id", "duplicate", "superseded"]);
    assert_eq!(told, json!([plain["id"], true, porto["id"]]));
    assert_eq!(get(&anna, &plain["id"]).await["key"], "home_city");
    assert_eq!(get(&anna, &porto["id"]).await["superseded_by"], plain["id"]);
    assert_eq!(history(app, &anna, &plain["id"]).await, ["added", "named"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_item_is_found_by_the_words_of_its_key_whenever_it_was_given() {
    let (_, anna) = TestApp::with_user().await;
    let porto = add(&anna, city("Porto")).await;
    assert_eq!(anna.find("Which city?").await, [porto["id"].as_i64().unwrap()]);
    let plain = anna.add_to("profile", "Helix").await;
    assert!(anna.find("favourite editors").await.is_empty());
    let named = json!({ "type": "fact", "content": "Helix", "theme": "profile", "key": "favourite_editor" });
    add(&anna, named).await;
    assert_eq!(anna.find("favourite editors").await, [plain]);
    assert_eq!(anna.find("helix").await, [plain]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn of_many_who_supersede_one_key_at_once_all_succeed_one_stays_active_and_none_is_lost() {
    let (app, anna) = TestApp::with_user().await;
    for round in 0..4 {
        let adds = (0..12).map(|n| add(&anna, city(&format!("Lives in city {round}.{n}."))));
        let added = futures_util::future::join_all(adds).await;
        let mut ids: Vec<i64> = added.iter().map(|a| a["id"].as_i64().unwrap()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 12);
        let rows: Vec<(i64, String, Option<i64>)> = app
            .sql(
                "SELECT id, status, superseded_by FROM memory_items WHERE user_id = $1 ORDER BY id",
            )
            .bind(anna.id.0)
            .rows()
            .await;
        assert_eq!(rows.len(), 12 * (round + 1));
        let active: Vec<_> = rows.iter().filter(|row| row.1 == "active").collect();
        assert_eq!(active.len(), 1, "{rows:?}");
        // From each a chain leads to the one that is active.
        for row in &rows {
            let (mut at, mut steps) = (row, 0);
            while let Some(newer) = at.2 {
                at = rows.iter().find(|r| r.0 == newer).unwrap();
                steps += 1;
                assert!(steps <= rows.len(), "a circle: {rows:?}");
            }
            assert_eq!(at.0, active[0].0, "{rows:?}");
        }
    }
}

#[tokio::test]
async fn keys_given_and_taken_at_once_in_every_way_leave_one_active_item_each() {
    let (app, anna) = TestApp::start_for("anna").await;
    let one = async |n: usize| {
        let plain = json!({ "type": "fact", "content": format!("Value {}.", n % 3), "theme": "t" });
        let mut keyed = plain.clone();
        keyed["key"] = json!(format!("k{}", n % 2));
        add(&anna, plain).await;
        add(&anna, keyed).await;
        anna.call("memory_forget", json!({ "key": format!("k{}", (n + 1) % 2) })).await;
    };
    futures_util::future::join_all((0..16).map(one)).await;
    let twice: i64 = app.sql("SELECT count(*) FROM (SELECT 1 FROM memory_items WHERE status = 'active' AND key IS NOT NULL
                               GROUP BY theme_id, key HAVING count(*) > 1) d").value().await;
    assert_eq!(twice, 0);
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_item_says_how_it_is_known_and_how_sure_that_is() {
    let (_, anna) = TestApp::with_user().await;
    for (n, (source, confidence)) in [
        (json!(null), 70),
        (json!("conversation"), 70),
        (json!("tool_call"), 95),
        (json!("auto_discovery"), 95),
        (json!("user_explicit"), 80),
        (json!("web"), 50),
        (json!("guess"), 30),
    ]
    .into_iter()
    .enumerate()
    {
        let mut input = json!({ "type": "fact", "content": format!("Fact {n}."), "source": source,
            "source_context": " the words " });
        let item = get(&anna, &add(&anna, input.clone()).await["id"]).await;
        assert_eq!(item["confidence"], confidence, "{source}");
        assert_eq!(item["source_context"], "the words");
        input["content"] = json!(format!("Another fact {n}."));
        input["confidence"] = json!(12);
        assert_eq!(get(&anna, &add(&anna, input).await["id"]).await["confidence"], 12, "{source}");
    }
    for (field, value) in [
        ("source", json!("hearsay")),
        ("confidence", json!(101)),
        ("confidence", json!(-1)),
        ("expires_in_days", json!(0)),
        ("expires_in_days", json!(36_501)),
        ("key", json!("!!!")),
        ("key", json!("k".repeat(129))),
        ("key", json!("a\u{0}b")),
        ("source_context", json!("x".repeat(2_001))),
    ] {
        let input = json!({ "type": "fact", "content": "x", field: value });
        assert_eq!(refused_field(&anna, "memory_add", input).await, format!("422 {field}"));
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_the_person_confirmed_yields_to_their_own_word_alone() {
    let (app, anna) = TestApp::with_user().await;
    let porto = add(&anna, city("Lives in Porto.")).await;
    app.confirm(&anna, porto["id"].as_i64().unwrap()).await;
    let item = get(&anna, &porto["id"]).await;
    assert_eq!(fields(&item, ["confidence", "protected", "locked"]), json!([100, true, true]));
    assert!(item["last_verified_at"].is_string());

    let (status, refused) = anna.refused("memory_add", city("Lives in Rome.")).await;
    assert_eq!((status, refused["code"].as_str()), (409, Some("confirmed")));
    assert!(refused["detail"].as_str().unwrap().contains(&porto["id"].to_string()));
    assert!(!refused["detail"].as_str().unwrap().contains("city"), "no key in an error");
    assert_eq!(get(&anna, &porto["id"]).await["status"], "active");

    // That the user said so is looked up.
    let mut said = city("Lives in Rome.");
    said["source"] = json!("user_explicit");
    said["source_context"] = json!("I live in Rome now");
    assert_eq!(code(anna.send("memory_add", &said).await).await, "409 confirmed");
    let messages = json!({ "messages": [
        { "id": "m1", "role": "assistant", "content": "So I live in Rome now, she says." },
        { "id": "m2", "role": "user", "content": "By the way, I live in\nROME now." },
    ] });
    assert_eq!(anna.post("/api/v1/sessions/talk/messages", &messages).await.status(), 200);
    let rome = add(&anna, said).await;
    assert_eq!(rome["superseded"], porto["id"]);
    assert_eq!((&rome["trust"], &rome["note"]), (&json!("user"), &json!(null)));
    // What takes the place of a confirmed item is not confirmed by that.
    assert_eq!(get(&anna, &rome["id"]).await["protected"], false);
    let corrected = json!({ "key": "home city", "content": "Lives in Oslo." });
    assert_eq!(anna.call("memory_correct", corrected).await["superseded"], rome["id"]);
    assert_eq!(history(app, &anna, &porto["id"]).await, ["added", "confirmed", "superseded"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_correction_keeps_what_it_does_not_change() {
    let (_, anna) = TestApp::with_user().await;
    let wrong = json!({ "type": "preference", "content": "Takes tea.", "theme": "food", "key": "drink",
        "tags": ["morning"], "expires_in_days": 30 });
    let wrong = add(&anna, wrong).await;
    let was = get(&anna, &wrong["id"]).await;
    let input = json!({ "item_id": wrong["id"], "content": "Takes coffee.", "source": "user_explicit",
        "source_context": "No, coffee." });
    let right = anna.call("memory_correct", input.clone()).await;
    assert_eq!(right["superseded"], wrong["id"]);
    let is = get(&anna, &right["id"]).await;
    for kept in ["theme", "key", "type", "tags"] {
        assert_eq!(is[kept], was[kept], "{kept}");
    }
    assert_eq!(is["expires_at"], json!(null), "it was of the old text");
    assert_eq!(fields(&is, ["content", "confidence"]), json!(["Takes coffee.", 80]));
    let older = fields(&get(&anna, &wrong["id"]).await, ["status", "superseded_by"]);
    assert_eq!(older, json!(["archived", right["id"]]));

    // Asked again, it says which item is in force; by the key it is done already.
    let (status, refused) = anna.refused("memory_correct", input).await;
    assert_eq!((status, refused["code"].as_str()), (409, Some("not_active")));
    assert!(refused["detail"].as_str().unwrap().contains(&right["id"].to_string()));
    let same = json!({ "key": "drink", "content": "Takes coffee." });
    let same = anna.call("memory_correct", same).await;
    assert_eq!(fields(&same, ["id", "duplicate"]), json!([right["id"], true]));

    let moved = json!({ "item_id": right["id"], "content": "Takes coffee.", "theme": "habits", "key": "morning drink" });
    let moved = anna.call("memory_correct", moved).await;
    let item = fields(&get(&anna, &moved["id"]).await, ["theme", "key"]);
    assert_eq!(item, json!(["habits", "morning_drink"]));
    assert_eq!(get(&anna, &right["id"]).await["superseded_by"], moved["id"]);
}

#[tokio::test]
async fn a_correction_with_the_same_words_changes_tags_expiry_and_confidence() {
    let (app, anna) = TestApp::start_for("anna").await;
    let item = json!({ "type": "fact", "content": "Is in Norway.", "key": "trip", "tags": ["travel", "north"] });
    let id = add(&anna, item).await["id"].clone();
    let input = json!({ "item_id": id, "content": "Is in Norway.", "tags": ["fjord"], "expires_in_days": 7, "confidence": 55 });
    let changed = anna.call("memory_correct", input).await;
    assert_eq!((&changed["id"], &changed["duplicate"]), (&id, &json!(true)));
    let is = get(&anna, &id).await;
    assert_eq!((&is["tags"], &is["confidence"]), (&json!(["fjord"]), &json!(55)));
    assert!(is["expires_at"].is_string() && is["last_verified_at"].is_string(), "{is}");
    assert_eq!((anna.find("fjord").await.len(), anna.find("north").await.len()), (1, 0));
    app.clock.advance(Duration::days(8));
    assert!(anna.find("fjord").await.is_empty());
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_correction_must_name_one_item() {
    let (_, anna) = TestApp::with_user().await;
    add(&anna, city("Lives in Porto.")).await;
    let rome = add(&anna, city_in("travel", "Lives in Rome for a while.")).await;
    let content = "Lives in Oslo.";
    for (input, expected) in [
        (json!({ "content": content }), "422 required"),
        (json!({ "key": "home city", "content": content }), "409 ambiguous_key"),
        (json!({ "key": "nothing", "content": content }), "404 not_found"),
        (json!({ "item_id": 999_999, "content": content }), "404 not_found"),
        (json!({ "item_id": rome["id"], "content": " " }), "422 required"),
    ] {
        assert_eq!(code(anna.send("memory_correct", &input).await).await, expected, "{input}");
    }
    let input = json!({ "key": "home city", "theme": "travel", "content": content });
    assert_eq!(anna.call("memory_correct", input).await["superseded"], rome["id"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn two_who_correct_one_item_at_once_leave_one_active() {
    let (_, anna) = TestApp::with_user().await;
    let item = add(&anna, city("Lives in Porto.")).await;
    let corrections = (0..8).map(|n| {
        let input = json!({ "key": "home_city", "content": format!("Lives in city {n}.") });
        let anna = &anna;
        async move { anna.send("memory_correct", &input).await.status() }
    });
    let statuses = futures_util::future::join_all(corrections).await;
    // Whoever came late is told so, or corrected what the other said.
    assert!(statuses.iter().all(|s| [200, 409].contains(&s.as_u16())), "{statuses:?}");
    let themes = anna.call("memory_list_themes", json!({})).await;
    assert_eq!(themes["themes"][0]["active_count"], 1);
    assert_eq!(get(&anna, &item["id"]).await["status"], "archived");
}

#[tokio::test(crate = "crate::support::shared")]
async fn forgetting_a_key_archives_it_in_one_theme_or_in_all() {
    let (_, anna) = TestApp::with_user().await;
    let mut ids = Vec::new();
    for theme in ["a", "b", "c"] {
        let input = city_in(theme, &format!("Lives in {theme}."));
        ids.push(add(&anna, input).await["id"].clone());
    }
    anna.call("memory_confirm", json!({ "item_id": ids[1] })).await;
    for (input, archived) in [
        (json!({ "key": "home city", "theme": "a" }), &ids[..1]),
        (json!({ "key": "home_city" }), &ids[1..]),
        (json!({ "key": "home_city" }), &ids[..0]),
    ] {
        let forgotten = anna.call("memory_forget", input).await;
        assert_eq!(forgotten, json!({ "count": archived.len(), "archived": archived }));
    }
    assert_eq!(get(&anna, &ids[1]).await["status"], "archived");
    assert_eq!(refused_field(&anna, "memory_forget", json!({ "key": " " })).await, "422 key");
}

#[tokio::test]
async fn stats_count_what_is_there_and_nothing_of_anothers() {
    let (app, anna, ben) = two_users().await;
    let empty = anna.call("memory_stats", json!({})).await;
    assert_eq!(fields(&empty, ["active", "oldest"]), json!([0, null]));
    add(&anna, city("Lives in Porto.")).await;
    let lisbon = add(&anna, city("Lives in Lisbon.")).await;
    anna.call("memory_confirm", json!({ "item_id": lisbon["id"] })).await;
    for (kind, content, days) in [
        ("instruction", "Be short.", 3),
        ("instruction", "Be clear.", 30),
        ("fact", "Over tomorrow.", 1),
    ] {
        add(&anna, json!({ "type": kind, "content": content, "expires_in_days": days })).await;
    }
    ben.add("Ben's.").await;
    app.clock.advance(Duration::days(1));
    let stats = anna.call("memory_stats", json!({})).await;
    let counts = ["active", "archived", "confirmed", "with_key", "expiring_soon"];
    assert_eq!(fields(&stats, counts), json!([3, 2, 1, 1, 1]));
    let by_type = json!([{ "type": "instruction", "count": 2 }, { "type": "fact", "count": 1 }]);
    assert_eq!(stats["by_type"], by_type);
    assert_eq!(stats["by_theme"][0], json!({ "theme": "general", "count": 2 }));
    assert_eq!(stats["vectors"], json!({ "pending": 0, "failed": 0 }));
}

/// What reads conversations adds by the same function, in a transaction of its own.
#[tokio::test]
async fn what_was_said_before_and_what_may_not_replace_is_kept_aside_once() {
    let (app, anna) = TestApp::start_for("anna").await;
    let viewer = Viewer::person(anna.id);
    let talk = json!({ "messages": [{ "id": "m1", "role": "user", "content": "I moved." }] });
    anna.post("/api/v1/sessions/talk/messages", &talk).await;
    let session: i64 = app.sql("SELECT id FROM sessions").value().await;
    let now = app.embeddings.now();
    let item = |content: &str, provenance: Provenance| {
        NewItem::parse(ItemType::Fact, content, Some("profile"), &[])
            .unwrap()
            .with_key(ItemKey::parse("home city").unwrap())
            .with_provenance(provenance)
            .yielding(ConflictPolicy::PutAside)
    };
    let keep = async |item: &NewItem| {
        let mut tx = app.db.as_writer(anna.id).await.unwrap();
        let added = memories::add_in(&mut tx, &app.embeddings, &viewer, item, now).await;
        tx.commit().await.unwrap();
        added.unwrap()
    };
    let said = |source, ago: i64| Provenance {
        source,
        trust: (source == ItemSource::UserExplicit).then_some(Trust::User),
        context: Some("I moved.".to_owned()),
        confidence: Some(90),
        session_id: Some(session),
        message_id: Some(1),
        said_at: Some(now - Duration::hours(ago)),
    };
    let holder = keep(&item("Lives in Porto.", said(ItemSource::UserExplicit, 2))).await;
    // A conversation of the day before, read late.
    let older = item("Lives in Rome.", said(ItemSource::Conversation, 26));
    let first = keep(&older).await;
    assert_eq!(first.put_aside_for, Some(holder.id));
    let second = keep(&older).await;
    assert_eq!((second.id, second.duplicate), (first.id, true));
    let told = fields(&get(&anna, first.id.0).await, ["status", "superseded_by", "confidence"]);
    assert_eq!(told, json!(["archived", holder.id.0, 90]));
    assert_eq!(history(&app, &anna, &json!(first.id.0)).await, ["added", "put_aside"]);

    app.confirm(&anna, holder.id.0).await;
    let newer = keep(&item("Lives in Oslo.", said(ItemSource::ToolCall, 1))).await;
    assert_eq!(newer.put_aside_for, Some(holder.id));
    let user = keep(&item("Lives in Bern.", said(ItemSource::UserExplicit, 0))).await;
    assert_eq!(user.superseded, Some(holder.id));

    let until = item("Lives in Paris.", said(ItemSource::UserExplicit, 0))
        .with_expiry(Some(Expiry::At(now + Duration::hours(1))));
    assert_eq!(keep(&until).await.superseded, Some(user.id));
    let row: (Option<i64>, Option<i64>) = app
        .sql("SELECT session_id, message_id FROM memory_items WHERE id = $1")
        .bind(user.id.0)
        .row()
        .await;
    assert_eq!(row, (Some(session), Some(1)));
}
