//! What was known on a day (`as_of`), and what was true on a day (`at`), through the tools.

use keepsake::accounts::Scope;
use keepsake::clock::{Clock, Zone};
use keepsake::export::Export;
use keepsake::memories::mentions::EntityType;
use keepsake::memories::{Day, Period};
use serde_json::{Value, json};
use time::Duration;
use time::format_description::well_known::Rfc3339;

use super::{fields, refused_field, two_users, with};
use crate::data::{import, records};
use crate::documents::create;
use crate::entities::related::{say, state};
use crate::support::{TestApp, TestUser, ids, is_left_out};
use crate::teams::{agent, join};
use crate::turns::{ended, message};

/// The moment that the clock shows.
fn now(app: &TestApp) -> String {
    app.clock.now().format(&Rfc3339).unwrap()
}

async fn found(user: &TestUser, query: &str, more: Value) -> Vec<i64> {
    let input = with(json!({ "query": query, "limit": 50 }), more);
    let mut ids = ids(&user.call("memory_search", input).await);
    ids.sort_unstable();
    ids
}

async fn get(user: &TestUser, id: i64, more: Value) -> (u16, Value) {
    let answer = user.send("memory_get", &with(json!({ "item_id": id }), more)).await;
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn add(user: &TestUser, input: Value) -> i64 {
    let item = with(json!({ "type": "fact", "theme": "profile" }), input);
    super::add(user, item).await["id"].as_i64().unwrap()
}

fn days(app: &TestApp, n: i64) {
    app.clock.advance(Duration::days(n));
}

/// The moment in so many days, after which as many pass.
fn between(app: &TestApp, n: i64) -> String {
    days(app, n);
    let moment = now(app);
    days(app, n);
    moment
}

#[tokio::test]
async fn what_was_known_comes_back_and_what_came_later_is_absent() {
    let (app, anna) = TestApp::start_for("anna").await;
    let lyon = add(&anna, json!({ "content": "Lives in the city of Lyon.", "key": "home" })).await;
    let old = add(&anna, json!({ "content": "Works in the city hall." })).await;
    let first = between(&app, 2);
    let home = json!({ "content": "Lives in the city of Freiburg.", "key": "home" });
    let freiburg = add(&anna, home).await;
    anna.call("memory_archive", json!({ "item_id": old })).await;
    let second = between(&app, 2);
    let later = add(&anna, json!({ "content": "Likes the city of Basel." })).await;

    for query in ["city", "*", "ities OR ity"] {
        let of = |as_of: &String| json!({ "as_of": as_of });
        assert_eq!(found(&anna, query, of(&first)).await, [lyon, old], "{query}");
        assert_eq!(found(&anna, query, of(&second)).await, [freiburg], "{query}");
        assert_eq!(found(&anna, query, json!({})).await, [freiburg, later], "{query}");
        // Blank and today are now.
        assert_eq!(found(&anna, query, json!({ "as_of": "" })).await, [freiburg, later]);
    }
    let today = app.clock.now().date().to_string();
    assert_eq!(found(&anna, "city", json!({ "as_of": today })).await, [freiburg, later]);
    assert_eq!(found(&anna, "city", json!({ "as_of": first, "status": "any" })).await, [lyon, old]);
    let recent = json!({ "as_of": first, "recency_days": 1 });
    assert_eq!(found(&anna, "*", recent).await, [0_i64; 0], "recent counts from that day");

    // It is told as it was, page by page.
    let page = json!({ "query": "*", "limit": 1, "as_of": first });
    let told = anna.call("memory_search", page.clone()).await;
    assert_eq!((ids(&told), &told["results"][0]["status"]), (vec![old], &json!("active")));
    let next = with(page, json!({ "cursor": told["cursor"] }));
    assert_eq!(ids(&anna.call("memory_search", next).await), [lyon]);
    let (_, was) = get(&anna, lyon, json!({ "as_of": first })).await;
    assert_eq!(fields(&was, ["status", "superseded_by"]), json!(["active", null]));
    let (_, is) = get(&anna, lyon, json!({})).await;
    assert_eq!(fields(&is, ["status", "superseded_by"]), json!(["archived", freiburg]));
    assert!(was["confidence"].as_i64() > is["confidence"].as_i64(), "{was} {is}");
    assert!(was["updated_at"].as_str() < is["updated_at"].as_str(), "{was} {is}");
    for (id, as_of) in [(freiburg, &first), (lyon, &second)] {
        let input = json!({ "item_id": id, "as_of": as_of });
        assert_eq!(refused_field(&anna, "memory_get", input).await, "422 as_of");
    }
    // What was restored was live twice.
    days(&app, 2);
    let lyon_again = json!({ "item_id": freiburg, "content": "Lives in the city of Lyon." });
    let restored = anna.call("memory_correct", lyon_again).await;
    assert_eq!(found(&anna, "Lyon", json!({ "as_of": first })).await, [lyon]);
    assert_ne!(restored["id"], lyon);
}

#[tokio::test]
async fn what_was_restored_was_true_before_what_had_taken_its_place() {
    let (app, anna) = TestApp::start_for("anna").await;
    let graz = add(&anna, json!({ "content": "Lives in the city of Graz.", "key": "home" })).await;
    days(&app, 10);
    let linz = add(&anna, json!({ "content": "Lives in the city of Linz.", "key": "home" })).await;
    let between_both = now(&app);
    days(&app, 10);
    let form = [("action", "restore"), ("newer", &*linz.to_string())];
    let answer = app.signed_in(&anna).await.post(&format!("/memory/{graz}"), &form).await;
    assert_eq!(answer.status(), 303);
    days(&app, 1);
    assert_eq!(found(&anna, "city", json!({ "at": "2020" })).await, [graz]);
    assert!(found(&anna, "city", json!({ "at": between_both })).await.contains(&linz));
    assert_eq!(found(&anna, "city", json!({})).await, [graz]);
}

#[tokio::test]
async fn what_was_true_follows_its_dates_and_who_took_its_place() {
    let (app, anna) = TestApp::start_for("anna").await;
    let lyon = add(&anna, json!({ "content": "Lives in the city of Lyon.", "key": "home" })).await;
    let job = json!({ "content": "Works in the city hall.", "valid_from": "2015", "valid_until": "2019-05" });
    let job = add(&anna, job).await;
    let wrong = add(&anna, json!({ "content": "Hates every city." })).await;
    let before = between(&app, 10);
    let graz =
        json!({ "content": "Lives in the city of Graz.", "key": "home", "valid_from": "2022-03" });
    let graz = add(&anna, graz).await;
    days(&app, 10);
    let bern = add(&anna, json!({ "content": "Lives in the city of Bern.", "key": "home" })).await;
    anna.call("memory_archive", json!({ "item_id": wrong })).await;
    ended(&app, &anna, "talk", &[message("1", "user", "I saw the city.")]).await;
    days(&app, 1);
    let today = now(&app);

    for (at, true_then) in [
        ("2014", vec![lyon]),
        ("2019-05", vec![lyon, job]),
        ("2019-06", vec![lyon]),
        ("2022-02", vec![lyon]),
        ("2022-03-01", vec![graz]),
        (before.as_str(), vec![graz]),
        (today.as_str(), vec![bern]),
        ("2190", vec![bern]),
    ] {
        for query in ["city", "*"] {
            assert_eq!(found(&anna, query, json!({ "at": at })).await, true_then, "{query} {at}");
        }
    }
    // What was believed then: nobody had said yet that it is Graz.
    assert_eq!(found(&anna, "city", json!({ "as_of": before, "at": "2025" })).await, [lyon, wrong]);
    let input = json!({ "item_id": lyon, "at": today });
    assert_eq!(refused_field(&anna, "memory_get", input).await, "422 at");
    assert_eq!(get(&anna, lyon, json!({ "at": "2020" })).await.0, 200);
}

#[tokio::test]
async fn dates_tags_and_trust_are_told_as_they_were() {
    let (app, anna) = TestApp::start_for("anna").await;
    let was = json!({ "content": "Is in Norway.", "tags": ["north"], "valid_from": "2020", "source": "web", "confidence": 40 });
    let id = add(&anna, was).await;
    let first = between(&app, 1);
    let is = json!({ "content": "Is in Norway.", "tags": ["travel"], "valid_from": "2023", "confidence": 90 });
    assert_eq!(add(&anna, is).await, id);
    days(&app, 1);
    let told = anna.call("memory_search", json!({ "query": "Norway", "as_of": first })).await;
    let hit = fields(&told["results"][0], ["tags", "trust", "valid_from"]);
    assert_eq!(hit, json!([["north"], "external", "2020-01-01T00:00:00Z"]));
    let (_, item) = get(&anna, id, json!({ "as_of": first })).await;
    assert_eq!(fields(&item, ["confidence", "tags"]), json!([40, ["north"]]), "{item}");
    let both = |at: &str| json!({ "as_of": first, "at": at });
    assert_eq!(found(&anna, "Norway", both("2021")).await, [id]);
    assert_eq!(found(&anna, "Norway", json!({ "at": "2021" })).await, [0_i64; 0]);
    assert_eq!(found(&anna, "Norway", both("2019")).await, [0_i64; 0]);
}

#[tokio::test]
async fn turns_go_by_when_they_were_said_and_documents_by_when_they_were_written() {
    let (app, anna) = TestApp::start_for("anna").await;
    ended(&app, &anna, "one", &[message("1", "user", "The walrus is grey.")]).await;
    create(&anna, "memory/sea.md", "# Sea\n\nThe walrus sleeps.\n").await;
    let first = between(&app, 1);
    ended(&app, &anna, "two", &[message("1", "user", "The walrus is brown.")]).await;
    create(&anna, "memory/land.md", "# Land\n\nThe walrus walks.\n").await;
    days(&app, 1);
    let then = found(&anna, "walrus", json!({ "as_of": first })).await;
    let all = found(&anna, "walrus", json!({})).await;
    assert_eq!((then.len(), all.len()), (2, 4));
    for id in all {
        let (status, _) = get(&anna, id, json!({ "as_of": first })).await;
        assert_eq!(status == 200, then.contains(&id), "{id}");
    }
    // Nobody says when they are true.
    assert_eq!(found(&anna, "walrus", json!({ "at": first })).await, [0_i64; 0]);
}

#[tokio::test]
async fn what_an_agent_does_not_see_stays_unseen_on_any_day() {
    if is_left_out("an agent with a memory of its own, and a team") {
        return;
    }
    let (app, shared) = TestApp::start_for("anna").await;
    let only = agent(&app, &shared, "only", "own_only").await;
    let ben = app.user("ben").await;
    let ben = ben.with_token(&app.token(ben.id, "crew", &Scope::ALL, None).await);
    let of_shared = add(&shared, json!({ "content": "The boat is red.", "key": "boat" })).await;
    let of_only = add(&only, json!({ "content": "The boat is sold." })).await;
    let first = between(&app, 1);
    let newer = add(&shared, json!({ "content": "The boat is blue.", "key": "boat" })).await;
    days(&app, 1);
    for more in
        [json!({ "as_of": first }), json!({ "at": first }), json!({ "as_of": first, "at": first })]
    {
        for query in ["boat", "*"] {
            assert_eq!(found(&only, query, more.clone()).await, [of_only], "{query} {more}");
        }
        assert_eq!(found(&ben, "boat", more.clone()).await, [0_i64; 0], "{more}");
        for id in [of_shared, newer] {
            assert_eq!(get(&only, id, more.clone()).await.0, 404, "{more}");
        }
    }
    assert_eq!(found(&shared, "boat", json!({ "as_of": first })).await, [of_shared]);

    // What is lent is what holds today, and no other day.
    let lead = agent(&app, &shared, "lead", "own_first").await;
    let lent = add(&lead, json!({ "content": "The boat leaves at nine.", "key": "leaves" })).await;
    let second = between(&app, 1);
    let moved = add(&lead, json!({ "content": "The boat leaves at ten.", "key": "leaves" })).await;
    days(&app, 1);
    join(&app, (&shared, "lead"), (&ben, "crew")).await;
    for query in ["boat", "*"] {
        for day in [&first, &second] {
            let of_day = json!({ "as_of": day });
            assert_eq!(found(&ben, query, of_day).await, [0_i64; 0], "{query}");
        }
        assert_eq!(found(&ben, query, json!({})).await, [moved], "{query}");
    }
    for id in [lent, moved, of_shared] {
        assert_eq!(get(&ben, id, json!({ "as_of": second })).await.0, 404);
    }
    assert_eq!(get(&ben, lent, json!({})).await.0, 404, "it was replaced");
}

#[tokio::test]
async fn what_is_no_day_or_not_past_is_refused_by_its_field() {
    let (app, anna) = TestApp::start_for("anna").await;
    let id = anna.add("Anna Berg lives in Lyon.").await;
    let tomorrow = (app.clock.now() + Duration::days(1)).date().to_string();
    for (tool, input) in [
        ("memory_search", json!({ "query": "tea" })),
        ("memory_search", json!({ "query": "*" })),
        ("memory_get", json!({ "item_id": id })),
        ("memory_entity", json!({ "name": "Anna Berg" })),
        ("memory_graph", json!({ "entity": "Anna Berg" })),
    ] {
        for (field, value, code) in [
            ("as_of", tomorrow.as_str(), "in_the_future"),
            ("as_of", "yesterday", "invalid_date"),
            ("as_of", "\u{0}", "invalid_date"),
            ("as_of", "9999", "out_of_range"),
            ("at", "2019-02-30", "invalid_date"),
            ("at", "0000", "out_of_range"),
        ] {
            let bad = with(input.clone(), json!({ field: value }));
            let (status, refused) = anna.refused(tool, bad).await;
            let told = (status, refused["field"].as_str(), refused["code"].as_str());
            assert_eq!(told, (422, Some(field), Some(code)), "{tool}: {refused}");
        }
    }
    let archived = json!({ "query": "tea", "as_of": "2020", "status": "archived" });
    assert_eq!(refused_field(&anna, "memory_search", archived).await, "422 status");
}

#[tokio::test]
async fn entities_are_told_as_they_were_known_and_as_it_was() {
    let (app, anna) = TestApp::start_for("anna").await;
    let said = |object, at| say("Marta Weber", "lives_in", (object, EntityType::Location), at);
    let first = anna.add("Marta Weber lives in Lyon.").await;
    state(&app, anna.id, said("Lyon", app.clock.now()), Some(first)).await;
    let day = between(&app, 10);
    let second = anna.add("Marta Weber lives in Freiburg.").await;
    let mut moved = said("Freiburg", app.clock.now());
    // She had moved before that was said.
    moved.period = Period { from: Some(app.clock.now() - Duration::days(15)), until: None };
    state(&app, anna.id, moved, Some(second)).await;
    days(&app, 1);

    let entity = async |more: Value| {
        let told = anna.call("memory_entity", with(json!({ "name": "Marta Weber" }), more)).await;
        let of = |list: &str, field: &str| -> Value {
            told[list].as_array().unwrap().iter().map(|entry| entry[field].clone()).collect()
        };
        let (relations, changed) = (of("relations", "object"), of("changed", "object"));
        json!([relations, changed, of("items", "id"), told["mentions"]])
    };
    let now_known = json!([["Freiburg"], ["Lyon"], [second, first], 2]);
    assert_eq!(entity(json!({})).await, now_known);
    assert_eq!(entity(json!({ "as_of": day })).await, json!([["Lyon"], [], [first], 1]));
    let at = entity(json!({ "at": day })).await;
    assert_eq!((&at[0], &at[1]), (&now_known[0], &now_known[1]), "she had moved, as is known now");
    let input = json!({ "name": "Freiburg", "as_of": day });
    assert_eq!(refused_field(&anna, "memory_entity", input).await, "422 as_of");

    for (more, there, item) in [
        (json!({}), Some("Freiburg"), Some(second)),
        (json!({ "at": day }), Some("Freiburg"), Some(second)),
        (json!({ "as_of": day }), Some("Lyon"), Some(first)),
        (json!({ "as_of": "2020" }), None, None),
    ] {
        let input = with(json!({ "entity": "Marta Weber", "relation": "lives_in" }), more);
        let told = anna.call("memory_graph", input.clone()).await;
        let nodes = told["nodes"].as_array().unwrap().iter().skip(1);
        let names: Vec<&str> = nodes.map(|node| node["name"].as_str().unwrap()).collect();
        assert_eq!(names, there.as_slice(), "{input}");
        assert_eq!(told["edges"][0]["item_id"], json!(item), "{input}");
    }
}

#[tokio::test]
async fn an_export_as_of_a_day_has_what_was_known_and_is_imported() {
    let (app, anna, ben) = two_users().await;
    let home = json!({ "content": "Lives in the city of Lyon.", "key": "home", "tags": ["home"] });
    let lyon = add(&anna, home).await;
    let gone = add(&anna, json!({ "content": "Works in the city hall." })).await;
    anna.call("memory_archive", json!({ "item_id": gone })).await;
    ended(&app, &anna, "one", &[message("1", "user", "I saw Lyon.")]).await;
    create(&anna, "memory/sea.md", "The walrus sleeps.\n").await;
    days(&app, 1);
    let day = Day::parse(&Zone::utc(), Some(&now(&app)), None, app.clock.now()).unwrap();
    days(&app, 1);
    add(&anna, json!({ "content": "Lives in the city of Freiburg.", "key": "home" })).await;
    anna.add_to("later", "Swims.").await;
    ended(&app, &anna, "two", &[message("1", "user", "I saw Basel.")]).await;
    let changed = json!({ "command": "insert", "path": "/memories/memory/sea.md", "insert_line": 1, "insert_text": "It woke.\n" });
    anna.call("memory_files", changed).await;

    let mut export =
        Export::new(&app.db, app.embeddings.sealer(), anna.id, app.clock.now()).as_of(&day);
    let mut file = Vec::new();
    while let Some(lines) = export.next().await.unwrap() {
        file.extend(lines);
    }
    let file = String::from_utf8(file).unwrap();
    for later in ["Freiburg", "Swims", "Basel", "woke", "later", "superseded\""] {
        assert!(!file.contains(later), "{later}: {file}");
    }
    let items = records(&file, "item");
    assert_eq!(items.len(), 2);
    assert_eq!((&items[0]["id"], &items[0]["status"]), (&json!(lyon), &json!("active")));
    assert_eq!(items[1]["status"], "archived");
    assert_eq!(records(&file, "document")[0]["revision"], 1);
    assert!(file.lines().next().unwrap().contains("\"as_of\""), "{file}");
    let taken = import(&app, &ben, &file).await;
    assert_eq!((taken.failed, taken.problems.len()), (0, 0));
    let told = ben.call("memory_search", json!({ "query": "city" })).await;
    let told = told["results"].as_array().unwrap();
    assert_eq!(told.len(), 1);
    assert!(told[0]["content_snippet"].as_str().unwrap().ends_with("Lives in the city of Lyon."));
}
