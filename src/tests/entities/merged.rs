//! Merged entities: what is erased of them, what their merge does to relations, and what its undo brings back.

use keepsake::entities::relations::EVIDENCE_MAX;
use keepsake::entities::{EntityError, EntityId, decide, profile};
use keepsake::memories::mentions::EntityType;
use keepsake::memories::{Period, Trust};
use sqlx::migrate::Migrator;
use time::{Duration, OffsetDateTime, Time};

use super::related::{JANUARY, MAY, Say, say, state};
use super::{assert_forgotten, id_of, ids_of, told, upkeep};
use crate::support::{TestApp, TestUser, citus_workers};

const THREE: [&str; 3] = ["Robert King", "Bobby Kingston", "Mary Queen"];

/// Anna, whose memories name these people.
async fn with_people<const N: usize>(names: [&str; N]) -> (TestApp, TestUser, [EntityId; N]) {
    let (app, anna) = TestApp::start_for("anna").await;
    for (n, name) in names.iter().enumerate() {
        let text = match n {
            0 => format!("We met {name} at the fair."),
            _ => format!("Then {name} came by again."),
        };
        anna.add(&text).await;
    }
    upkeep(&app).await;
    let ids = ids_of(&app, &anna, names).await;
    (app, anna, ids)
}

async fn merge(app: &TestApp, user: &TestUser, into: EntityId, from: EntityId) {
    let now = app.embeddings.now();
    decide::merge(&app.db, user.id, (into, from), now).await.unwrap();
}

/// The latest decision about it.
async fn decision(app: &TestApp, of: EntityId) -> i64 {
    let last = "SELECT max(id) FROM entity_events WHERE entity_id = $1 AND undone_at IS NULL";
    app.sql(last).bind(of.0).value().await
}

async fn undo(app: &TestApp, user: &TestUser, of: EntityId) -> Result<(), EntityError> {
    let decision = decision(app, of).await;
    decide::undo(&app.db, user.id, of, decision, app.embeddings.now()).await
}

async fn named(app: &TestApp, user: &TestUser, id: EntityId) -> String {
    let profile = profile(&app.db, user.id, id, 5, app.embeddings.now()).await;
    profile.unwrap().entity.name
}

#[tokio::test]
async fn an_erased_name_goes_from_merged_entities_and_from_their_history() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    anna.add("We met Robert King at the fair.").await;
    let gone = anna.add("Then Zacharias Plumbottom came by.").await;
    anna.add("Then Zack Plumtree came by again.").await;
    upkeep(&app).await;
    let names = ["Robert King", "Zack Plumtree", "Zacharias Plumbottom"];
    let [robert, zack, zacharias] = ids_of(&app, &anna, names).await;
    app.sql("UPDATE entities SET summary = 'Zacharias Plumbottom came by.', summary_vector = array_fill(1, ARRAY[3])::halfvec WHERE id = $1").bind(zacharias.0).run().await;
    let now = app.embeddings.now();
    // Its name is in its history, too.
    merge(&app, &anna, zacharias, zack).await;
    decide::rename(&app.db, anna.id, zacharias, "Old Zack", EntityType::Person, now).await.unwrap();
    undo(&app, &anna, zacharias).await.unwrap();
    merge(&app, &anna, robert, zacharias).await;
    let with_summary = "entities WHERE coalesce(summary, summary_vector::text) IS NOT NULL";
    assert_eq!(app.count(with_summary).await, 0);
    app.delete_item(&browser, gone).await;
    assert_forgotten(&app, "%plumbottom%").await;
    // What was merged into it before has kept a name: the undo gives that one back.
    undo(&app, &anna, robert).await.unwrap();
    assert_eq!(named(&app, &anna, zacharias).await, "Zack Plumtree");
    assert_eq!(told(&anna, "Zack Plumtree").await["id"], zacharias.0);
    assert_eq!(named(&app, &anna, robert).await, "Robert King");
}

#[tokio::test]
async fn a_merge_whose_names_are_erased_is_not_undone() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    anna.add("We met Robert King at the fair.").await;
    let gone = anna.add("Then Zacharias Plumbottom came by.").await;
    upkeep(&app).await;
    let names = ["Robert King", "Zacharias Plumbottom"];
    let [robert, zacharias] = ids_of(&app, &anna, names).await;
    merge(&app, &anna, robert, zacharias).await;
    app.delete_item(&browser, gone).await;
    let refused = undo(&app, &anna, robert).await;
    assert!(matches!(refused, Err(EntityError::Conflict(_))), "{refused:?}");
    assert_forgotten(&app, "%plumbottom%").await;
    assert_eq!(told(&anna, "Robert King").await["mentions"], 1);
}

/// As a version before 20261220000100 left it.
#[tokio::test]
async fn names_erased_before_an_upgrade_go_with_it() {
    let names = ["Robert King", "Zacharias Plumbottom", "Mary Queen"];
    let (app, anna, [robert, zacharias, mary]) = with_people(names).await;
    merge(&app, &anna, robert, zacharias).await;
    merge(&app, &anna, robert, mary).await;
    for left in [
        "DELETE FROM entity_mentions WHERE name_id IN (SELECT id FROM entity_names WHERE name = 'Zacharias Plumbottom')",
        "DELETE FROM entity_names WHERE name = 'Zacharias Plumbottom'",
        "UPDATE entities SET summary = 'A Plumbottom.' WHERE name = 'Mary Queen'",
        "INSERT INTO entity_events (user_id, entity_id, event, by_person, detail, at)
         SELECT user_id, id, 'renamed', true, jsonb_build_object('name', x.name, 'type', 'person', 'by_person', x.by_person), now()
         FROM entities, (VALUES ('Zacharias Plumbottom', false), ('Mary Queen', false), ('Queen Mary', true)) AS x (name, by_person)
         WHERE entities.name = 'Robert King'",
        "DROP FUNCTION forget_names(bigint, text[])",
    ] {
        app.sql(left).run().await;
    }
    static MIGRATIONS: Migrator = sqlx::migrate!();
    let this = MIGRATIONS.iter().find(|m| m.version == 20_261_220_000_100);
    app.sql(this.unwrap().sql.as_str()).run_all().await;
    let names: Vec<String> = app.sql("SELECT name FROM entities ORDER BY name").values().await;
    assert_eq!(names, ["Mary Queen", "Robert King"]);
    let of_events: Vec<Option<String>> = app.sql(
        "SELECT detail ->> 'name' FROM entity_events WHERE event = 'renamed' ORDER BY 1 NULLS FIRST",
    ).values().await;
    let kept = |name: &str| Some(name.to_owned());
    assert_eq!(of_events, [None, kept("Mary Queen"), kept("Queen Mary")]);
    assert_eq!(app.count("entities WHERE summary IS NOT NULL").await, 0);
}

#[tokio::test]
async fn a_merge_is_undone_after_the_later_merge_that_took_it_along() {
    let (app, anna, [robert, bobby, mary]) = with_people(THREE).await;
    let rome = ("Rome", EntityType::Location);
    state(&app, anna.id, say("Bobby Kingston", "lives_in", rome, MAY), None).await;
    merge(&app, &anna, robert, bobby).await;
    merge(&app, &anna, mary, robert).await;
    let refused = undo(&app, &anna, robert).await;
    let Err(EntityError::Conflict(sentence)) = refused else {
        panic!("{refused:?}");
    };
    assert!(sentence.contains("undo that merge first"), "{sentence}");
    for name in THREE {
        assert_eq!(told(&anna, name).await["id"], mary.0);
    }
    undo(&app, &anna, mary).await.unwrap();
    assert_eq!(told(&anna, "Bobby Kingston").await["id"], robert.0);
    undo(&app, &anna, robert).await.unwrap();
    let bobby_now = told(&anna, "Bobby Kingston").await;
    assert_eq!(bobby_now["id"], bobby.0);
    assert_eq!(bobby_now["relations"][0]["object"], "Rome");
    assert_eq!(told(&anna, "Robert King").await["relations"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn an_undone_merge_leaves_what_has_changed_since() {
    let (app, anna) = TestApp::start_for("anna").await;
    let place = |name| (name, EntityType::Location);
    state(&app, anna.id, say("Robert King", "visited", place("Oslo"), JANUARY), None).await;
    let lives = say("Bobby Kingston", "lives_in", place("Rome"), JANUARY);
    let moved = state(&app, anna.id, lives, None).await;
    let visited = say("Bobby Kingston", "visited", place("Bergen"), JANUARY);
    let kept = state(&app, anna.id, visited, None).await;
    let [robert, bobby] = ids_of(&app, &anna, ["Robert King", "Bobby Kingston"]).await;
    merge(&app, &anna, robert, bobby).await;
    // It ends the home that came with the other.
    state(&app, anna.id, say("Robert King", "lives_in", place("Paris"), MAY), None).await;
    // Said again, nothing of this one changes but the date.
    state(&app, anna.id, say("Robert King", "visited", place("Bergen"), MAY), None).await;
    undo(&app, &anna, robert).await.unwrap();
    let row = async |id: i64| -> (i64, bool, OffsetDateTime) {
        let row = "SELECT subject_id, valid_until IS NOT NULL, stated_at FROM entity_relations WHERE id = $1";
        app.sql(row).bind(id).row().await
    };
    let (subject, has_ended, _) = row(moved).await;
    assert_eq!((subject, has_ended), (robert.0, true));
    let (subject, _, stated_at) = row(kept).await;
    assert_eq!((subject, stated_at), (bobby.0, MAY));
}

#[tokio::test]
async fn an_undone_merge_leaves_what_another_took_the_place_of_since() {
    let (app, anna) = TestApp::start_for("anna").await;
    let lives = async |who: &str, place: &str, at: OffsetDateTime| {
        let said = say(who, "lives_in", (place, EntityType::Location), at);
        state(&app, anna.id, said, None).await
    };
    let rome = lives("Robert King", "Rome", JANUARY).await;
    let paris = lives("Bobby Kingston", "Paris", MAY).await;
    let [robert, bobby] = ids_of(&app, &anna, ["Robert King", "Bobby Kingston"]).await;
    merge(&app, &anna, robert, bobby).await;
    let june = MAY + Duration::days(30);
    let since = Period { from: Some(june), until: None };
    let home = ("Berlin", EntityType::Location);
    let said = Say { period: since, ..say("Robert King", "lives_in", home, june) };
    let berlin = state(&app, anna.id, said, None).await;
    let rows = async || -> Vec<(i64, i64, Option<OffsetDateTime>, bool)> {
        app.sql("SELECT id, subject_id, valid_until, retired_at IS NULL FROM entity_relations ORDER BY id").rows().await
    };
    let day = |at: OffsetDateTime| Some(at.replace_time(Time::MIDNIGHT));
    let expected = [
        (rome, robert.0, day(MAY), true),
        (paris, robert.0, Some(june), true),
        (berlin, robert.0, None, true),
    ];
    assert_eq!(rows().await, expected);
    undo(&app, &anna, robert).await.unwrap();
    assert_eq!(rows().await, expected);
    assert_eq!(id_of(&app, &anna, "Bobby Kingston").await, bobby);
}

/// Of five sources two have room, and one is there already.
#[tokio::test]
async fn sources_of_a_relation_of_both_are_copied_at_once_up_to_the_limit() {
    let (app, anna) = TestApp::start_for("anna").await;
    let acme = ("Acme", EntityType::Organization);
    let mut relations = Vec::new();
    for (who, sources) in [("Robert King", 1..=EVIDENCE_MAX - 3), ("Bobby Kingston", 101..=104)] {
        let said = say(who, "works_at", acme, JANUARY);
        let relation = state(&app, anna.id, said, None).await;
        app.sql("INSERT INTO entity_relation_sources (user_id, relation_id, position, trust, at)
             SELECT $1, $2, n, 'user', $3 FROM generate_series($4::integer, $5::integer) AS n RETURNING user_id").bind(anna.id.0).bind(relation).bind(JANUARY).bind(*sources.start() as i32).bind(*sources.end() as i32).run().await;
        relations.push(relation);
    }
    let [robert, bobby] = ids_of(&app, &anna, ["Robert King", "Bobby Kingston"]).await;
    merge(&app, &anna, robert, bobby).await;
    let positions = async |of: usize| -> Vec<i32> {
        let positions = "SELECT coalesce(position, 0) FROM entity_relation_sources WHERE relation_id = $1 ORDER BY 1 DESC";
        app.sql(positions).bind(relations[of]).values().await
    };
    let both = positions(0).await;
    assert_eq!((both.len() as i64, &both[..3]), (EVIDENCE_MAX, &[102, 101, 47][..]));
    if citus_workers().is_empty() {
        let statements = "SELECT count(DISTINCT cmin::text) FROM entity_relation_sources WHERE relation_id = $1 AND position > 100";
        let statements: i64 = app.sql(statements).bind(relations[0]).value().await;
        assert_eq!(statements, 1);
    }
    undo(&app, &anna, robert).await.unwrap();
    assert_eq!(positions(0).await, (0..=47).rev().collect::<Vec<i32>>());
    assert_eq!(positions(1).await, [104, 103, 102, 101, 0]);
}

#[tokio::test]
async fn a_relation_of_both_stands_on_the_sources_of_both() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    let of_robert = anna.add("Robert King works at Acme.").await;
    let of_bobby = anna.add("Bobby Kingston works at Acme.").await;
    let acme = ("Acme", EntityType::Organization);
    let claim = Say { trust: Trust::External, ..say("Robert King", "works_at", acme, JANUARY) };
    let survives = state(&app, anna.id, claim, Some(of_robert)).await;
    let said = say("Bobby Kingston", "works_at", acme, MAY);
    let goes = state(&app, anna.id, said, Some(of_bobby)).await;
    upkeep(&app).await;
    let [robert, bobby] = ids_of(&app, &anna, ["Robert King", "Bobby Kingston"]).await;
    let rows = async || -> Vec<(i64, String, OffsetDateTime, bool, i64)> {
        app.sql("SELECT r.subject_id, r.trust, r.stated_at, r.retired_at IS NULL,
                    (SELECT count(*) FROM entity_relation_sources s WHERE s.user_id = r.user_id AND s.relation_id = r.id)
             FROM entity_relations r ORDER BY r.id").rows().await
    };
    assert!(survives < goes);
    let before = rows().await;
    merge(&app, &anna, robert, bobby).await;
    assert_eq!(rows().await[0], (robert.0, "user".to_owned(), MAY, true, 2));
    // Undone, each has its own again.
    undo(&app, &anna, robert).await.unwrap();
    assert_eq!(rows().await, before);
    // The relation outlives each of its sources, and goes with the last.
    merge(&app, &anna, robert, bobby).await;
    app.delete_item(&browser, of_robert).await;
    assert_eq!(rows().await[0], (robert.0, "user".to_owned(), MAY, true, 1));
    assert_eq!(told(&anna, "Bobby Kingston").await["relations"][0]["object"], "Acme");
    app.delete_item(&browser, of_bobby).await;
    assert_eq!(rows().await, []);
}
