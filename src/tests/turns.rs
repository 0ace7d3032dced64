//! Turns: what was said in sessions is searched as the lowest tier, and is no memory
//! anywhere else.

use keepsake::embedding::EmbeddingError;
use keepsake::search::RawQuery;
use keepsake::sessions::turns;
use serde_json::{Value, json};

use crate::consolidation::told;
use crate::search_hybrid::{ask_with, at, embed, embedded, found};
use crate::support::{TestApp, TestUser, turns_due};

async fn say(user: &TestUser, session: &str, messages: &[Value]) {
    let path = format!("/api/v1/sessions/{session}/messages");
    let told = user.post(&path, &json!({ "messages": messages })).await;
    assert_eq!(told.status(), 200, "{}", told.text().await.unwrap());
}

pub fn message(id: &str, role: &str, content: &str) -> Value {
    json!({ "id": id, "role": role, "content": content })
}

fn numbered(from: usize, to: usize) -> Vec<Value> {
    let said =
        |n: usize| message(&n.to_string(), "user", &format!("Remark number{n} about the weather."));
    (from..to).map(said).collect()
}

/// All that is due, a step of each session in its turn.
async fn make(app: &TestApp) -> Result<(), EmbeddingError> {
    loop {
        let mut made = false;
        for one in turns_due(app).await {
            made |= turns::make_some(&app.db, &app.embeddings, one).await?;
        }
        if !made {
            return Ok(());
        }
    }
}

/// A session that has ended, with its turns.
pub async fn ended(app: &TestApp, user: &TestUser, session: &str, messages: &[Value]) {
    told(user, session, messages).await;
    make(app).await.unwrap();
}

async fn count_turns(app: &TestApp) -> i64 {
    app.count("memory_items WHERE type = 'turn'").await
}

async fn search(user: &TestUser, input: Value) -> Vec<Value> {
    let answer = user.call("memory_search", input).await;
    answer["results"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_was_said_is_found_at_once_and_what_the_user_said_first() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let said = [
        message("m1", "user", "My zeppelin is parked in Friedrichshafen."),
        json!({ "id": "m2", "role": "assistant", "content": "Noted: a zeppelin.",
                "tool_calls": [{ "id": "c", "name": "memory_search", "arguments": "{}" }] }),
        json!({ "id": "m3", "role": "tool", "tool_call_id": "c", "content": "the zeppelin of a tool" }),
    ];
    say(&anna, "chat", &said).await;
    let hits = search(&anna, json!({ "query": "zeppelin Friedrichshafen", "explain": true })).await;
    assert_eq!(hits.len(), 2, "{hits:?}");
    let hit = &hits[0];
    assert_eq!((&hit["type"], &hit["theme"]), (&json!("turn"), &Value::Null));
    assert_eq!(hit["content_snippet"], "My zeppelin is parked in Friedrichshafen.");
    let place = &hit["said_in"];
    for (name, value) in [("session", "chat"), ("message", "m1"), ("role", "user")] {
        assert_eq!(place[name], value);
    }
    assert_eq!(place["position"], 1);
    assert_eq!(hit["explain"]["tier"], 0.6);
    assert_eq!(hit["score"], 0.6, "the best of them, by the tier");
    let whole = anna.call("memory_get", json!({ "item_id": hit["id"] })).await;
    assert_eq!((&whole["type"], &whole["said_in"]), (&json!("turn"), place));
    assert!(ben.find("zeppelin").await.is_empty());
    assert_eq!(ben.refused("memory_get", json!({ "item_id": hit["id"] })).await.0, 404);
    // Said again, and over: no more of it.
    ended(&app, &anna, "chat", &said).await;
    assert_eq!((anna.find("zeppelin").await.len(), count_turns(&app).await), (2, 2));
    // However long it is.
    let long = format!("{} zeppelin", "a longish story ".repeat(3_000));
    ended(&app, &ben, "chat", &[message("1", "user", &long)]).await;
    let hits = search(&ben, json!({ "query": "zeppelin", "explain": true })).await;
    assert_eq!((hits.len(), &hits[0]["said_in"]["message"]), (1, &json!("1")));
    // Where all of an answer is the user's, nothing is told apart by it.
    assert_eq!(hits[0]["explain"]["trust"], 0.0);
    // The user's words come before the same from others.
    let carl = app.user("carl").await;
    let text = "The zeppelin is parked in Friedrichshafen.";
    let said = |id: &str, role: &str| message(id, role, text);
    ended(&app, &carl, "first", &[said("m1", "user"), said("m2", "assistant")]).await;
    ended(&app, &carl, "second", &[said("m3", "assistant")]).await;
    let found = search(&carl, json!({ "query": "zeppelin", "explain": true })).await;
    let trusts: Vec<&Value> = found.iter().map(|hit| &hit["trust"]).collect();
    assert_eq!(trusts, ["user", "agent", "agent"]);
    let added: Vec<&Value> = found.iter().map(|hit| &hit["explain"]["trust"]).collect();
    assert_eq!(added, [&json!(0.15), &json!(0.0), &json!(0.0)]);
}

#[tokio::test]
async fn filters_choose_turns_or_leave_them_out() {
    let (app, anna) = TestApp::start_for("anna").await;
    let item = anna.add("A zeppelin of hers").await;
    ended(&app, &anna, "chat", &[message("1", "user", "The zeppelin again")]).await;
    let find = async |filter: Value| {
        let mut input = json!({ "query": "zeppelin" });
        input.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        let hits = search(&anna, input).await;
        hits.iter().map(|hit| hit["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(find(json!({})).await, ["fact", "turn"]);
    assert_eq!(find(json!({ "recency_days": 1, "status": "any" })).await, ["fact", "turn"]);
    assert_eq!(find(json!({ "types": ["turn"] })).await, ["turn"]);
    assert_eq!(find(json!({ "types": ["turn", "fact"] })).await, ["fact", "turn"]);
    assert_eq!(find(json!({ "types": ["fact", "preference"] })).await, ["fact"]);
    assert_eq!(find(json!({ "types": ["preference"] })).await, [""; 0]);
    assert_eq!(find(json!({ "theme": "general" })).await, ["fact"]);
    assert_eq!(find(json!({ "status": "archived" })).await, [""; 0]);
    assert_eq!(find(json!({ "query": "*" })).await, ["fact"]);
    assert_eq!(find(json!({ "query": "*", "types": ["turn"] })).await, [""; 0]);
    assert_eq!(find(json!({ "query": "eppeli", "types": ["turn"] })).await, ["turn"]);
    assert_eq!(anna.find("zeppelin").await[0], item);
}

#[tokio::test]
async fn turns_are_no_memories() {
    let (app, anna) = TestApp::start_for("anna").await;
    let item = anna.add("Keeps bees").await;
    // The same words twice, and a memory's words: none of it is a duplicate.
    let said = [
        message("1", "user", "Keeps bees"),
        message("2", "assistant", "Keeps bees"),
        message("3", "user", "Keeps bees"),
    ];
    let seen = async || {
        let mut stats = anna.call("memory_stats", json!({})).await;
        // Counted apart.
        let turns = stats["turns"].take();
        let themes = anna.call("memory_list_themes", json!({})).await;
        let prompt = anna.get("/api/v1/prompt").await.text().await.unwrap();
        (turns, [stats, themes, json!(prompt)])
    };
    let (_, before) = seen().await;
    ended(&app, &anna, "chat", &said).await;
    let hits = search(&anna, json!({ "query": "bees" })).await;
    let types: Vec<&str> = hits.iter().map(|hit| hit["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["fact", "turn", "turn", "turn"]);
    assert_eq!(seen().await, (json!(3), before));
    let again = anna.call("memory_add", json!({ "type": "fact", "content": "Keeps bees" })).await;
    assert_eq!((&again["id"], &again["duplicate"]), (&json!(item), &json!(true)));
    let turn = hits[1]["id"].as_i64().unwrap();
    for (tool, input) in [
        ("memory_archive", json!({ "item_id": turn })),
        ("memory_confirm", json!({ "item_id": turn })),
        ("memory_correct", json!({ "item_id": turn, "content": "Keeps wasps" })),
    ] {
        assert_eq!(anna.refused(tool, input).await.0, 404, "{tool}");
    }
    let added = json!({ "type": "turn", "content": "said" });
    assert_eq!(anna.refused("memory_add", added).await.0, 422);
    let browser = app.signed_in(&anna).await;
    let (id, path) = (turn.to_string(), format!("/memory/{turn}"));
    for (path, action) in [("/data/delete", "delete"), (path.as_str(), "archive")] {
        let fields = [("action", action), ("item", id.as_str())];
        assert_eq!(browser.post(path, &fields).await.status(), 404, "{path}");
    }
    let page = browser.look(&path).await;
    assert!(!page.contains("id=\"manage\""), "{page}");
    let export = browser.get("/data/export").await.1;
    assert_eq!(export.matches("\"Keeps bees\"").count(), 4, "an item and three messages: {export}");
    assert!(!export.contains("\"turn\""));
    assert_eq!(app.accounts.list_agents(anna.id).await.unwrap()[0].0.item_count, 1);
    let page = browser.look("/memory").await;
    assert!(page.contains("1 memory"), "{page}");
    assert_eq!(count_turns(&app).await, 3);
}

#[tokio::test]
async fn none_is_made_twice_and_none_is_lost_also_by_two_workers() {
    let (app, anna) = TestApp::start_for("anna").await;
    say(&anna, "chat", &numbered(0, 250)).await;
    assert_eq!(count_turns(&app).await, 100, "a step is bounded");
    assert!(app.jobs().await.contains(&(anna.id.0, "turns".to_owned())));
    let due = turns_due(&app).await;
    assert_eq!(due.len(), 1);
    // The next step dies in its middle.
    app.refuse_unless("memory_items", "turn_position <> 150").await;
    turns::make_some(&app.db, &app.embeddings, due[0]).await.unwrap_err();
    assert_eq!(count_turns(&app).await, 100);
    app.refuse_no_more("memory_items").await;
    make(&app).await.unwrap();
    assert_eq!(count_turns(&app).await, 250);
    let hits = search(&anna, json!({ "query": "number150", "limit": 50 })).await;
    let is_it = |hit: &&Value| hit["content_snippet"].as_str().unwrap().contains("number150 ");
    assert_eq!(hits.iter().filter(is_it).count(), 1);
    // What was forgotten of how far it was costs nothing.
    app.sql("UPDATE sessions SET turns_position = 0").run_all().await;
    make(&app).await.unwrap();
    assert_eq!(count_turns(&app).await, 250);
    // Only what is new of a session that goes on. What hinders its turns does not hinder its messages.
    app.refuse_unless("memory_items", "turn_position <> 255").await;
    say(&anna, "chat", &numbered(240, 260)).await;
    assert_eq!(count_turns(&app).await, 250);
    app.refuse_no_more("memory_items").await;
    make(&app).await.unwrap();
    ended(&app, &anna, "chat", &numbered(250, 260)).await;
    assert_eq!(count_turns(&app).await, 260);
    let positions = "(SELECT DISTINCT turn_position FROM memory_items WHERE type = 'turn') t";
    assert_eq!(app.count(positions).await, 260);
    assert_eq!(app.count("memory_item_events").await, 0);

    for n in 0..6 {
        told(&anna, &format!("chat{n}"), &numbered(0, 120)).await;
    }
    let other = app.twin().await;
    let (one, two) = tokio::join!(make(&app), make(&other));
    one.and(two).unwrap();
    make(&app).await.unwrap();
    assert_eq!(count_turns(&app).await, 260 + 720);
}

#[tokio::test]
async fn switched_off_they_leave_search_at_once_and_come_back_when_switched_on() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    embedded(&app, &anna, &[]).await;
    anna.add("A zeppelin").await;
    for user in [&anna, &ben] {
        ended(&app, user, "chat", &numbered(0, 1_100)).await;
    }
    assert_eq!(count_turns(&app).await, 2_200);
    let turn = search(&anna, json!({ "query": "number1000" })).await[0]["id"].clone();
    let browser = app.signed_in(&anna).await;
    assert!(browser.look("/sessions").await.contains("Stop searching messages"));
    let off = browser.post("/sessions", &[("action", "off")]).await;
    let location = off.headers()["location"].to_str().unwrap();
    assert_eq!((off.status().as_u16(), location), (303, "/sessions"));
    // Not all of so many are removed by then.
    assert_eq!(count_turns(&app).await, 1_200);
    assert!(search(&anna, json!({ "query": "number1000 weather" })).await.is_empty());
    assert_eq!(anna.refused("memory_get", json!({ "item_id": turn })).await.0, 404);
    assert!(turns::remove_some(&app.db, anna.id, app.embeddings.now()).await.unwrap());
    assert!(!turns::remove_some(&app.db, anna.id, app.embeddings.now()).await.unwrap());
    assert_eq!(count_turns(&app).await, 1_100, "Ben's stay");
    assert_eq!(app.count("memory_embeddings WHERE is_turn").await, 0);
    assert_eq!(anna.find("zeppelin").await.len(), 1, "memories stay");
    ended(&app, &anna, "later", &[message("1", "user", "weather later")]).await;
    assert!(search(&anna, json!({ "query": "weather" })).await.is_empty());
    assert!(turns_due(&app).await.is_empty());
    assert!(browser.get("/sessions").await.1.contains("Search messages"));
    for _ in 0..2 {
        browser.post("/sessions", &[("action", "on")]).await;
    }
    make(&app).await.unwrap();
    assert_eq!(count_turns(&app).await, 2_201);
    assert_eq!(search(&anna, json!({ "query": "later" })).await.len(), 1);
    assert_eq!(browser.post("/sessions", &[("action", "maybe")]).await.status(), 422);
}

#[tokio::test]
async fn they_go_with_their_messages_and_where_memory_is_off_none_are_made() {
    let (app, anna) = TestApp::start_for("anna").await;
    embedded(&app, &anna, &[]).await;
    ended(&app, &anna, "one", &numbered(0, 3)).await;
    ended(&app, &anna, "two", &numbered(0, 2)).await;
    let vectors = async || app.count("memory_embeddings WHERE is_turn").await;
    assert_eq!(vectors().await, 5);
    app.sql("DELETE FROM session_messages WHERE external_id = '1'").run_all().await;
    assert_eq!(vectors().await, 3);
    app.sql("DELETE FROM sessions WHERE external_id = 'one'").run_all().await;
    assert_eq!(vectors().await, 1);
    assert_eq!(app.count("memory_items").await, 1);

    told(&anna, "three", &numbered(0, 103)).await;
    app.accounts.switch_user_memory(anna.id, false).await.unwrap();
    make(&app).await.unwrap();
    assert_eq!(app.count("memory_items").await, 101);
}

#[tokio::test]
async fn a_memory_stands_before_the_turns_it_came_from_however_many_they_are() {
    let (app, anna) = TestApp::start_for("anna").await;
    let said: Vec<Value> =
        (0..70).map(|n| message(&n.to_string(), "user", "I drink oolong from a kettle")).collect();
    ended(&app, &anna, "chat", &said).await;
    let same = anna.add("I drink oolong from a kettle").await;
    let alike = anna.add("A kettle for oolong").await;
    let turns = "SELECT id FROM memory_items WHERE type = 'turn' ORDER BY turn_position";
    let turns: Vec<i64> = app.sql(turns).values().await;
    let mut items = vec![(same, 20.0), (alike, 35.0)];
    items.extend(turns.iter().map(|turn| (*turn, 20.0)));
    // Irrelevant ones, so that relevance is stated by something.
    for n in 0..20 {
        items.push((anna.add(&format!("note {n}")).await, 90.0));
    }
    let space = embedded(&app, &anna, &items).await;
    let raw = RawQuery { query: "oolong kettle", limit: Some(10), ..RawQuery::default() };
    for with_vector in [Some(space), None] {
        let page = ask_with(&app, &anna, with_vector, raw).await;
        let mut first = found(&page)[..2].to_vec();
        first.sort();
        assert_eq!(first, [same, alike], "{with_vector:?}");
        assert_eq!(page.hits.len(), 10);
        // What is not relevant does not stand before what was said.
        assert!(page.hits[2..].iter().all(|hit| turns.contains(&hit.item.id.0)));
        let item = page.hits.iter().find(|hit| hit.item.id.0 == same).unwrap();
        let turn = &page.hits[2];
        assert_eq!(turn.explanation.lexical, item.explanation.lexical);
        assert!((turn.score - item.score * 0.6).abs() < 1e-9);
    }
    // Without memories turns stand in their own order.
    embed(&mut app.superuser().await, space, turns[40], &at(1.0)).await;
    let only = RawQuery { types: &[keepsake::memories::ItemType::Turn], ..raw };
    assert_eq!(found(&ask_with(&app, &anna, Some(space), only).await)[0], turns[40]);
}

#[tokio::test]
async fn what_turns_repeat_is_no_commoner_among_memories() {
    let (app, anna) = TestApp::start_for("anna").await;
    let rare = anna.add("a zeppelin").await;
    anna.add("a kettle").await;
    // Of 3,000 memories a quarter hold the common word; of 3,000 turns all hold the rare one.
    app.sql("INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source, created_at, updated_at)
         SELECT $1, (SELECT theme_id FROM memory_items WHERE id = $2), 'fact',
                'x' || n || CASE n % 4 WHEN 0 THEN ' kettle' ELSE '' END, sha256(('f' || n)::bytea),
                'agent', now() - interval '1 day', now()
         FROM generate_series(1, 3000) n").bind(anna.id.0).bind(rare).run().await;
    app.tell_changed(&anna).await;
    let said: Vec<Value> =
        (0..3_000).map(|n| message(&n.to_string(), "user", &format!("zeppelin y{n}"))).collect();
    ended(&app, &anna, "chat", &said).await;
    let raw = RawQuery { query: "kettle zeppelin", limit: Some(50), ..RawQuery::default() };
    let page = ask_with(&app, &anna, None, raw).await;
    assert_eq!(found(&page)[0], rare);
}

#[tokio::test]
async fn a_hit_leads_to_its_place_in_the_conversation() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut said = numbered(0, 20);
    said.push(message("z", "assistant", "A <b>zeppelin</b> then."));
    ended(&app, &anna, "chat", &said).await;
    let id = anna.find("zeppelin").await[0];
    let browser = app.signed_in(&anna).await;
    let session: i64 = app.sql("SELECT id FROM sessions").value().await;
    let href = format!("href=\"/sessions/{session}?from=17#m21\"");
    // No memories yet: it is found all the same.
    for path in ["/memory?q=zeppelin".to_owned(), "/memory?q=zeppelin&type=turn".to_owned()] {
        let page = browser.look(&path).await;
        assert!(page.contains(&href) && page.contains("said by the assistant"), "{path}: {page}");
        assert!(page.contains("× 0.6"), "the penalty is shown");
    }
    let page = browser.look(&format!("/memory/{id}?q=zeppelin")).await;
    assert!(page.contains(&href) && page.contains("A message, not a memory"), "{page}");
    assert!(page.contains("× 0.6") && !page.contains("Delete permanently"));
    assert!(browser.get(&format!("/sessions/{session}?from=17")).await.1.contains("id=\"m21\""));
    assert!(browser.get("/memory?type=turn").await.1.contains("No matching memories"));
}
