//! Relations: which of two holds when, and what the tools tell of them.

use keepsake::db::UserId;
use keepsake::entities::relations::{RelationTarget, StatedRelation, note};
use keepsake::entities::{EntityId, Predicate, RelationEvidence, ensure};
use keepsake::memories::mentions::EntityType;
use keepsake::memories::{Period, Trust};
use serde_json::json;
use time::macros::datetime;
use time::{Duration, OffsetDateTime, Time};

use super::told;
use crate::support::{TestApp, TestUser};

pub const JANUARY: OffsetDateTime = datetime!(2024-01-10 12:00 UTC);
pub const MAY: OffsetDateTime = datetime!(2024-05-10 12:00 UTC);

pub struct Say<'a> {
    pub subject: &'a str,
    pub predicate: &'a str,
    pub object: (&'a str, EntityType),
    pub trust: Trust,
    pub at: OffsetDateTime,
    pub period: Period,
}

pub fn say<'a>(
    subject: &'a str,
    predicate: &'a str,
    object: (&'a str, EntityType),
    at: OffsetDateTime,
) -> Say<'a> {
    Say { subject, predicate, object, trust: Trust::User, at, period: Period::default() }
}

pub async fn state(app: &TestApp, user: UserId, said: Say<'_>, item: Option<i64>) -> i64 {
    let now = app.embeddings.now();
    let mut tx = app.db.as_writer(user).await.unwrap();
    let made = ensure(&mut tx, user, said.subject, EntityType::Person, now).await.unwrap();
    let object = ensure(&mut tx, user, said.object.0, said.object.1, now).await.unwrap();
    let stated = StatedRelation {
        subject: made.unwrap(),
        predicate: Predicate::parse(said.predicate).unwrap(),
        words: None,
        object: RelationTarget::Entity(object.unwrap()),
        period: said.period,
        confidence: 80,
        evidence: RelationEvidence {
            sentence: Some(format!("{} {} {}", said.subject, said.predicate, said.object.0)),
            item: item.map(keepsake::memories::ItemId),
            session: None,
            position: None,
            trust: said.trust,
            at: said.at,
        },
    };
    let id = note(&mut tx, user, &stated, now).await.unwrap();
    tx.commit().await.unwrap();
    id.unwrap()
}

fn words(entity: &serde_json::Value, list: &str) -> Vec<String> {
    let all = entity[list].as_array().unwrap().iter();
    all.map(|r| {
        let words = ["subject", "relation", "object", "when"]
            .map(|name| r[name].as_str().unwrap_or_default());
        words.join(" ").trim().to_owned()
    })
    .collect()
}

/// The entity of the graph, and what is around it.
async fn nodes(user: &TestUser, input: serde_json::Value) -> Vec<String> {
    let graph = user.call("memory_graph", input).await;
    let nodes = graph["nodes"].as_array().unwrap().iter();
    nodes.map(|node| node["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn who_moves_lived_somewhere_before() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (lyon, freiburg) = (("Lyon", EntityType::Location), ("Freiburg", EntityType::Location));
    state(&app, anna.id, say("Anna Berg", "lives_in", lyon, JANUARY), None).await;
    state(&app, anna.id, say("Anna Berg", "lives_in", freiburg, MAY), None).await;
    let entity = told(&anna, "Anna Berg").await;
    assert_eq!(words(&entity, "relations"), ["Anna Berg lives in Freiburg since 10 May 2024"]);
    assert_eq!(words(&entity, "changed"), ["Anna Berg lives in Lyon until 9 May 2024"]);
    for (at, home) in [("2024-02-01", "Lyon"), ("2024-06-01", "Freiburg")] {
        let around = nodes(&anna, json!({ "entity": "Anna Berg", "at": at })).await;
        assert_eq!(around[1..], [home], "{at}");
    }
    // Said again it is the same.
    state(&app, anna.id, say("Anna Berg", "lives_in", freiburg, MAY), None).await;
    assert_eq!(app.count("entity_relations").await, 2);
}

#[tokio::test]
async fn who_moves_again_has_lived_in_two_places_before() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (june, hours) = (MAY + Duration::days(30), Duration::hours(3));
    for (place, at) in
        [("Lyon", JANUARY), ("Freiburg", MAY), ("Bonn", june), ("Graz", june + hours)]
    {
        let said = say("Anna Berg", "lives_in", (place, EntityType::Location), at);
        state(&app, anna.id, said, None).await;
    }
    let day = |at: OffsetDateTime| Some(at.replace_time(Time::MIDNIGHT));
    let expected = [
        (None, day(MAY)),
        (day(MAY), day(june)),
        (day(june), Some(june + hours)),
        (Some(june + hours), None),
    ];
    let periods: Vec<(Option<OffsetDateTime>, Option<OffsetDateTime>)> = app.sql("SELECT valid_from, valid_until FROM entity_relations WHERE retired_at IS NULL ORDER BY id").rows().await;
    assert_eq!(periods, expected);
}

/// What is said again after something else holds from then on: also on one day, of what has several values, and what had ended.
#[tokio::test(crate = "crate::support::shared")]
async fn who_comes_back_lives_there_again() {
    let (app, anna) = TestApp::with_user().await;
    let place = |name| (name, EntityType::Location);
    let hours = |n: i64| MAY + Duration::hours(n);
    let periods = async |subject: &str,
                         predicate: &str|
           -> Vec<(String, Option<OffsetDateTime>, Option<OffsetDateTime>)> {
        let all = "SELECT o.name, r.valid_from, r.valid_until FROM entity_relations r JOIN entities s ON s.user_id = $1 AND s.id = r.subject_id
                   JOIN entities o ON o.user_id = $1 AND o.id = r.object_id
                   WHERE r.user_id = $1 AND s.name = $2 AND r.predicate = $3 AND r.retired_at IS NULL ORDER BY r.id";
        app.sql(all).bind(anna.id.0).bind(subject).bind(predicate).rows().await
    };
    let of = |name: &str, from: Option<OffsetDateTime>, until: Option<OffsetDateTime>| {
        (name.to_owned(), from, until)
    };
    let day = |at: OffsetDateTime| Some(at.replace_time(Time::MIDNIGHT));
    for (name, at) in [("Graz", JANUARY), ("Linz", MAY), ("Graz", MAY + Duration::days(60))] {
        state(app, anna.id, say("Ada Lund", "lives_in", place(name), at), None).await;
    }
    let back = day(MAY + Duration::days(60));
    let expected = [of("Graz", None, day(MAY)), of("Linz", day(MAY), back), of("Graz", back, None)];
    assert_eq!(periods("Ada Lund", "lives_in").await, expected);
    // Said again it is the last one.
    state(app, anna.id, say("Ada Lund", "lives_in", place("Graz"), MAY + Duration::days(90)), None)
        .await;
    assert_eq!(periods("Ada Lund", "lives_in").await, expected);
    for (name, at) in [("Graz", JANUARY), ("Linz", MAY), ("Graz", hours(3)), ("Linz", hours(5))] {
        state(app, anna.id, say("Ben Lund", "lives_in", place(name), at), None).await;
    }
    let same_day = [
        of("Graz", None, day(MAY)),
        of("Linz", day(MAY), Some(hours(3))),
        of("Graz", Some(hours(3)), Some(hours(5))),
        of("Linz", Some(hours(5)), None),
    ];
    assert_eq!(periods("Ben Lund", "lives_in").await, same_day);
    // "Worked at Acme until January", then "works at Acme again"; and who married once more.
    let until = Period { from: None, until: Some(JANUARY) };
    for (subject, predicate, object) in [
        ("Cleo Lund", "works_at", ("Acme", EntityType::Organization)),
        ("Dora Lund", "married_to", ("Emil Berg", EntityType::Person)),
    ] {
        let over = Say { period: until, ..say(subject, predicate, object, JANUARY) };
        state(app, anna.id, over, None).await;
        state(app, anna.id, say(subject, predicate, object, MAY), None).await;
        let again = [of(object.0, None, Some(JANUARY)), of(object.0, day(MAY), None)];
        assert_eq!(periods(subject, predicate).await, again);
        // Dates say which one is meant.
        let over = Say { period: until, ..say(subject, predicate, object, MAY) };
        state(app, anna.id, over, None).await;
        assert_eq!(periods(subject, predicate).await, again);
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_page_says_does_not_end_what_the_user_said() {
    let (app, anna) = TestApp::with_user().await;
    let (oslo, rome) = (("Oslo", EntityType::Location), ("Rome", EntityType::Location));
    state(app, anna.id, say("Anna Berg", "lives_in", oslo, JANUARY), None).await;
    let claim = Say { trust: Trust::External, ..say("Anna Berg", "lives_in", rome, MAY) };
    state(app, anna.id, claim, None).await;
    let entity = told(&anna, "Anna Berg").await;
    assert_eq!(words(&entity, "relations"), ["Anna Berg lives in Oslo"]);
    assert_eq!(entity["changed"][0]["retired"], true);
}

#[tokio::test]
async fn the_database_refuses_two_homes_at_once() {
    let (app, anna) = TestApp::start_for("anna").await;
    let oslo = ("Oslo", EntityType::Location);
    let first = state(&app, anna.id, say("Anna Berg", "lives_in", oslo, JANUARY), None).await;
    let again = app.sql(
        "INSERT INTO entity_relations (user_id, subject_id, predicate, value, is_single, confidence, trust, stated_at, recorded_at)
         SELECT user_id, subject_id, predicate, 'Rome', true, 50, 'user', now(), now() FROM entity_relations WHERE id = $1",
    );
    let refused = again.bind(first).try_run().await.unwrap_err();
    assert!(refused.to_string().contains("entity_relations_single_excl"), "{refused}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn cycles_and_steps_are_walked_once() {
    let (app, anna) = TestApp::with_user().await;
    let person = |name| (name, EntityType::Person);
    for (one, other) in
        [("Ada", "Ben"), ("Ben", "Cleo"), ("Cleo", "Ada"), ("Cleo", "Dora"), ("Dora", "Emil")]
    {
        state(app, anna.id, say(one, "knows", person(other), JANUARY), None).await;
    }
    let of = async |depth: i64| {
        let mut names = nodes(&anna, json!({ "entity": "Ada", "depth": depth })).await;
        names.sort();
        names.join(" ")
    };
    assert_eq!(of(1).await, "Ada Ben Cleo");
    assert_eq!(of(2).await, "Ada Ben Cleo Dora");
    assert_eq!(of(3).await, "Ada Ben Cleo Dora Emil");
    let graph = anna.call("memory_graph", json!({ "entity": "Ada", "relation": "lives_in" })).await;
    assert_eq!(graph["edges"], json!([]));
    assert!(EntityId(1) < EntityId(2));
}
