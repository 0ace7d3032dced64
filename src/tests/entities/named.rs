//! Names are found as sources are written, through the doors that write them.

use keepsake::entities::settings;
use serde_json::json;

use super::{told, upkeep};
use crate::consolidation::{self, user_says};
use crate::support::TestApp;

#[tokio::test(crate = "crate::support::shared")]
async fn an_added_memory_names_its_entities_and_the_tool_tells_of_them() {
    let (_, anna) = TestApp::with_user().await;
    let moved = anna.add("Anna Lindqvist moved to Bergen for Project Aurora.").await;
    let works = anna.add("Mail anna@aurora.example about OPS-142.").await;
    let entity = told(&anna, "anna lindqvist").await;
    assert_eq!((&entity["name"], &entity["type"]), (&json!("Anna Lindqvist"), &json!("person")));
    assert_eq!((&entity["mentions"], &entity["items"][0]["id"]), (&json!(1), &json!(moved)));
    assert_eq!(told(&anna, "Bergen").await["type"], "location");
    assert_eq!(told(&anna, "project aurora").await["type"], "project");
    assert_eq!(told(&anna, "anna@aurora.example").await["items"][0]["id"], works);
    let stats = anna.call("memory_stats", json!({})).await;
    assert_eq!(stats["entities"]["total"], 5, "{stats}");
    // The same name again is the same entity.
    anna.add("Yesterday ANNA LINDQVIST called.").await;
    assert_eq!(told(&anna, "Anna Lindqvist").await["mentions"], 2);
}

#[tokio::test]
async fn turns_name_too_and_others_see_nothing_of_it() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let said = user_says("1", "I met Quentin Okonkwo in Lagos.");
    consolidation::told(&anna, "chat", &[said]).await;
    app.run_job("turns").await;
    let entity = told(&anna, "Quentin Okonkwo").await;
    assert_eq!(entity["items"][0]["type"], "turn", "{entity}");
    let id = entity["id"].clone();
    for input in [json!({ "name": "Quentin Okonkwo" }), json!({ "id": id })] {
        let (status, problem) = ben.refused("memory_entity", input).await;
        assert_eq!((status, &problem["code"]), (404, &json!("not_found")), "{problem}");
        assert!(!problem.to_string().contains("Lagos"));
    }
    let (status, _) = ben.refused("memory_graph", json!({ "entity": "Lagos" })).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn of_ten_thousand_names_in_a_text_a_source_keeps_the_first() {
    let (app, anna) = TestApp::start_for("anna").await;
    let many: String = (0..2_000).map(|n| format!("we met Ka{n}Lo and ")).collect();
    anna.add(&many[..20_000]).await;
    assert_eq!(app.count("entity_mentions").await, 64);
    assert_eq!(told(&anna, "Ka0Lo").await["mentions"], 1);
}

#[tokio::test(crate = "crate::support::shared")]
async fn odd_names_are_text_and_bad_input_is_one_sentence() {
    let (_, anna) = TestApp::with_user().await;
    anna.add("She greeted O'\u{200B}Neill and <script>alert('Zed')</script> at “The Long Dark”.")
        .await;
    anna.add("We saw \u{202E}Arthur Dent\u{202C} and Аrthur Dent with a Cyrillic letter.").await;
    assert_eq!(told(&anna, "Arthur Dent").await["name"], "Arthur Dent");
    let long = "x".repeat(1_000);
    for (tool, input, field) in [
        ("memory_entity", json!({ "name": long }), "name"),
        ("memory_entity", json!({ "name": " \u{200B} " }), "name"),
        ("memory_entity", json!({}), "name"),
        ("memory_graph", json!({ "entity": "Arthur Dent", "depth": 99 }), "depth"),
        ("memory_graph", json!({ "entity": "Arthur Dent", "limit": 0 }), "limit"),
        ("memory_graph", json!({ "entity": "Arthur Dent", "relation": "eats" }), "relation"),
        ("memory_graph", json!({ "entity": "Arthur Dent", "at": "gestern" }), "at"),
    ] {
        let (status, problem) = anna.refused(tool, input).await;
        assert_eq!((status, problem["field"].as_str()), (422, Some(field)), "{problem}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn whoever_wants_none_has_none() {
    let (app, anna) = TestApp::with_user().await;
    let none = settings::EntitySettings { by_rules: false, ..Default::default() };
    settings::save(&app.db, anna.id, none).await.unwrap();
    anna.add("Anna Lindqvist moved to Bergen.").await;
    let (status, _) = anna.refused("memory_entity", json!({ "name": "Anna Lindqvist" })).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_name_is_found_in_what_was_said_before_in_small_letters() {
    let (app, anna) = TestApp::start_for("anna").await;
    let before = anna.add("talked to quentin okonkwo about the roof").await;
    anna.add("Quentin Okonkwo repairs roofs.").await;
    upkeep(&app).await;
    let entity = told(&anna, "Quentin Okonkwo").await;
    assert_eq!(entity["mentions"], 2, "{entity}");
    let items = entity["items"].as_array().unwrap();
    assert!(items.iter().any(|item| item["id"] == before));
}

#[tokio::test]
async fn names_of_one_are_joined_and_of_what_may_be_one_a_person_is_asked() {
    let (app, anna) = TestApp::start_for("anna").await;
    for text in [
        "We hired Northwind Traders Inc. as a supplier.",
        "The invoice of NorthWind-Traders came.",
        "She met Alexander Novak at the fair.",
        "She called Alexander about the car.",
        "He uses an iPhone 14 and she an iPhone 15.",
    ] {
        anna.add(text).await;
    }
    upkeep(&app).await;
    assert_eq!(told(&anna, "northwind traders").await["mentions"], 2);
    let phones = [told(&anna, "iPhone 14").await, told(&anna, "iPhone 15").await];
    assert_ne!(phones[0]["id"], phones[1]["id"]);
    let filter = keepsake::entities::EntityFilter { limit: 50, ..Default::default() };
    let asked = async || keepsake::entities::page(&app.db, anna.id, &filter).await.unwrap().pairs;
    // That one name contains the other says little: there are many called Alexander.
    assert!(asked().await.is_empty());
    anna.add("She bought the car of Alexander at Kepler Motors.").await;
    assert!(asked().await.is_empty());
    anna.add("The seller at Kepler Motors is Alexander Novak.").await;
    let pairs = asked().await;
    let [pair] = pairs.as_slice() else { panic!("{} pairs", pairs.len()) };
    let pair = (pair.one.name.as_str(), pair.other.name.as_str(), pair.why.as_str());
    assert_eq!(pair, ("Alexander Novak", "Alexander", "part"));
}

#[tokio::test]
async fn what_todays_rules_do_not_find_is_withdrawn_unless_somebody_confirmed_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let lunch = anna.add("Lunch with Anna Lindqvist in Bergen.").await;
    upkeep(&app).await;
    // As earlier rules found them; the second one a person has protected.
    for (name, protected) in [("Lunch", false), ("With", true)] {
        app.sql(
            "WITH e AS (INSERT INTO entities (user_id, name, type, protected, created_at, compared_at)
                        VALUES ($1, $2, 'other', $3, now(), now()) RETURNING id),
                  n AS (INSERT INTO entity_names (user_id, entity_id, name, normal, mentions, filled_at)
                        SELECT $1, id, $2, lower($2), 1, now() FROM e RETURNING id)
             INSERT INTO entity_mentions (user_id, source_id, name_id, start, length, found_by, confidence)
             SELECT $1, $4, id, 0, 5, 'rules', 60 FROM n",
        )
        .bind(anna.id.0)
        .bind(name)
        .bind(protected)
        .bind(lunch)
        .run()
        .await;
    }
    app.sql("UPDATE entity_names SET is_unchecked = true WHERE user_id = $1")
        .bind(anna.id.0)
        .run()
        .await;
    assert_eq!(told(&anna, "Lunch").await["mentions"], 1);
    upkeep(&app).await;
    let (status, _) = anna.refused("memory_entity", json!({ "name": "Lunch" })).await;
    assert_eq!(status, 404);
    for name in ["With", "Anna Lindqvist", "Bergen"] {
        assert_eq!(told(&anna, name).await["mentions"], 1, "{name}");
    }
    let you = told(&anna, "the user").await["id"].as_i64().unwrap();
    let (_, page) = app.signed_in(&anna).await.get(&format!("/entities/{you}")).await;
    assert!(page.contains("Withdrew a name that today's rules do not find"), "{page}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn where_searches_go_by_entities_what_is_named_comes_first() {
    let (app, anna) = TestApp::with_user().await;
    for n in 0..5 {
        anna.add(&format!("The roof of house {n} leaks badly again.")).await;
    }
    let named = anna.add("Quentin Okonkwo came by in the morning.").await;
    let part = async |query: &str| {
        let answer = anna.call("memory_search", json!({ "query": query, "explain": true })).await;
        let results = answer["results"].as_array().unwrap();
        let hit = results.iter().find(|hit| hit["id"] == named).unwrap();
        hit["explain"]["entities"].as_f64().unwrap()
    };
    assert_eq!(part("okonkwo roof").await, 0.0);
    // Of its whole name, since nobody is called Okonkwo alone.
    let wanted = settings::EntitySettings { in_search: true, ..Default::default() };
    settings::save(&app.db, anna.id, wanted).await.unwrap();
    assert!(part("Quentin Okonkwo roof").await > 0.0);
}
