//! Entities, one entity and the graph, as plain HTML: found as memories are added, decided about by a person.

use keepsake::clock::{Clock as _, Zone};
use keepsake::entities::relations::{RelationTarget, StatedRelation, note};
use keepsake::entities::{EntityId, Predicate, RelationEvidence};
use keepsake::memories::mentions::EntityType;
use keepsake::memories::{ItemId, Period, Trust};

use super::{assert_has, assert_lacks};
use crate::support::{TestApp, TestUser};

/// The main part of a page, less what stands in every one.
fn main_of(page: &str) -> &str {
    page.split("<main").nth(1).unwrap()
}

async fn entity_named(app: &TestApp, user: &TestUser, name: &str) -> i64 {
    let first =
        "SELECT entity_id FROM entity_names WHERE user_id = $1 AND name = $2 ORDER BY id LIMIT 1";
    let found = app.sql(first).bind(user.id.0).bind(name).maybe_value().await;
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// One that no memory names.
async fn make(app: &TestApp, user: &TestUser, name: &str, entity_type: EntityType) -> i64 {
    let now = app.clock.now();
    let mut tx = app.db.as_writer(user.id).await.unwrap();
    let id = keepsake::entities::ensure(&mut tx, user.id, name, entity_type, now).await;
    tx.commit().await.unwrap();
    id.unwrap().unwrap().0
}

#[tokio::test(crate = "crate::support::shared")]
async fn before_the_first_name_the_page_says_what_will_be_here_and_its_switches_are_kept() {
    let (_, anna, browser) = TestApp::with_browser().await;
    let page = browser.look("/entities").await;
    assert_has(&page, &["No entities yet.", "Anna Berg lives in Lyon", "/api/v1/tools/memory_add"]);
    assert!(page.contains("Find names as memories are added"), "{page}");
    let page = browser.look("/graph").await;
    assert!(page.contains("Nothing is connected yet.") && page.contains("/settings/chat"));
    assert!(!page.contains("<svg id=\"graph-picture\""));
    // The switches are kept.
    let page = browser.answers(200, "/entities/settings", &[("in_search", "1")]).await;
    assert!(page.contains("Saved."));
    let of = |name: &str| {
        let input = page.split("<input").find(|tag| tag.contains(&format!("name=\"{name}\"")));
        input.unwrap().split('>').next().unwrap().contains("checked")
    };
    assert_eq!((of("by_rules"), of("by_model"), of("in_search")), (false, false, true));
    anna.add("Dr. Maria Keller works at Acme GmbH.").await;
    assert!(!browser.look("/entities").await.contains("Maria Keller"));
}

#[tokio::test]
async fn names_are_listed_with_their_types_and_narrowed_by_the_address() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let first = anna.add("Dr. Maria Keller works at Acme GmbH in Lyon, maria@acme.org.").await;
    anna.add("Dr. Maria Keller met Dr. Benedikt Huber on 2026-05-17.").await;
    let maria = entity_named(&app, &anna, "Maria Keller").await;
    let page = browser.look("/entities").await;
    assert_has(main_of(&page), &["Maria Keller", "Acme GmbH", "Benedikt Huber"]);
    assert!(!page.contains("maria@acme.org"), "addresses are folded");
    assert!(page.contains("href=\"/entities?type=email\""));
    let page = browser.look("/entities?type=email").await;
    assert!(page.contains("maria@acme.org") && !page.contains("Benedikt Huber"));
    let page = browser.look("/entities?q=huber&type=person").await;
    assert!(page.contains("Benedikt Huber") && !page.contains("Maria Keller"));
    assert!(page.contains("1 entity"));
    assert!(browser.look("/entities?q=nobody%25").await.contains("No entity matches."));
    let (status, page) = browser.get("/entities?q=%00").await;
    assert!(status < 500 && page.contains("NUL character"), "{status}");
    let page = browser.look("/entities?sort=name").await;
    let (benedikt, keller) = (page.find("Benedikt Huber"), page.find("Maria Keller"));
    assert!(benedikt < keller);
    let page = browser.look(&format!("/entities/{maria}")).await;
    assert!(page.contains("2 mentions") && page.contains(&format!("/memory/{first}")));
    let page = browser.look(&format!("/memory/{first}")).await;
    assert!(page.contains("Names: ") && page.contains(&format!("/entities/{maria}")));
    for n in 0..30 {
        make(&app, &anna, &format!("Place{n} Town"), EntityType::Location).await;
    }
    let page = browser.look("/entities?type=location").await;
    assert!(page.contains("href=\"/entities?type=location&amp;shown=50\""));
    let more = browser.look("/entities?type=location&shown=50").await;
    assert!(more.matches("data-row").count() >= 30);
}

#[tokio::test]
async fn two_are_merged_and_it_is_undone() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let one = make(&app, &anna, "Katharina Vogel", EntityType::Person).await;
    let other = make(&app, &anna, "Kathi Vogel", EntityType::Person).await;
    let path = format!("/entities/{one}");
    let with_itself = one.to_string();
    for (with, sentence) in [
        (with_itself.as_str(), "cannot be merged with itself"),
        ("999999999", "There is no entity 999999999 in your memory."),
        ("Nobody Atall", "No entity of your memory is called that"),
        ("", "is empty; give a name"),
    ] {
        let (status, page) = browser.submit(&path, &[("action", "merge"), ("with", with)]).await;
        assert!((400..500).contains(&status), "{with}: {status}");
        assert!(page.contains(sentence), "{with}: {page}");
        assert!(page.contains("id=\"entity_merge-with-error\""), "{with}");
    }
    browser.answers(303, &path, &[("action", "merge"), ("with", "kathi vogel")]).await;
    let merged = browser.look(&format!("/entities/{other}")).await;
    assert_has(&merged, &["Katharina Vogel", "Also called"]);
    let history = merged.split("id=\"decisions\"").nth(1).unwrap();
    assert_has(history, &["Merged with", "<bdi>Kathi Vogel</bdi>", "value=\"undo\""]);
    let list = browser.look("/entities").await;
    assert!(!list.contains("Kathi Vogel"));
    let decision: i64 = app.sql("SELECT max(id) FROM entity_events").value().await;
    let undo = [("action", "undo"), ("decision", &decision.to_string())];
    browser.answers(303, &path, &undo).await;
    assert!(browser.look("/entities").await.contains("Kathi Vogel"));
    browser.says(409, &path, &undo, "This has changed since; nothing was undone.").await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_may_be_one_is_asked_about_once() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let mut ids = Vec::new();
    for name in ["Jon Smitt", "Jon Smith", "Eva Lang", "Eva Long"] {
        ids.push(make(app, &anna, name, EntityType::Person).await);
    }
    for pair in ids.chunks(2) {
        app.sql("INSERT INTO entity_pairs (user_id, one_id, other_id, why, found_at) VALUES ($1, $2, $3, 'spelling', now())").bind(anna.id.0).bind(pair[0]).bind(pair[1]).run().await;
    }
    let page = browser.look("/entities").await;
    assert!(page.contains("Possible duplicates") && page.matches("similar spelling").count() == 2);
    let text: Vec<String> = ids.iter().map(i64::to_string).collect();
    let of = |action, one: usize| {
        [("action", action), ("one", text[one].as_str()), ("other", text[one + 1].as_str())]
    };
    browser.answers(303, "/entities/pairs", &of("merge", 0)).await;
    browser.answers(303, "/entities/pairs", &of("apart", 2)).await;
    let page = browser.look("/entities").await;
    assert_lacks(&page, &["Possible duplicates", "Jon Smith<"]);
    assert_has(&page, &["Eva Lang", "Eva Long"]);
    let page = browser.look(&format!("/entities/{}", ids[2])).await;
    assert!(page.contains("Kept separate from"));
}

#[tokio::test]
async fn one_is_split_renamed_and_protected() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let one = make(&app, &anna, "Robert Stein", EntityType::Person).await;
    make(&app, &anna, "Roberta Stein", EntityType::Person).await;
    let path = format!("/entities/{one}");
    browser.answers(303, &path, &[("action", "merge"), ("with", "Roberta Stein")]).await;
    let told = "Choose some of its names, and not all of them";
    browser.says(409, &path, &[("action", "split")], told).await;
    let name: i64 =
        app.sql("SELECT id FROM entity_names WHERE name = 'Roberta Stein'").value().await;
    let split = [("action", "split"), ("names", &name.to_string())];
    browser.answers(303, &path, &split).await;
    let list = browser.look("/entities").await;
    assert!(list.contains("Robert Stein") && list.contains("Roberta Stein"));

    let long = "x".repeat(1_000);
    let rename = [("action", "rename"), ("name", &*long), ("type", "person")];
    let page = browser.answers(422, &path, &rename).await;
    assert!(page.contains("has 1000 characters; at most"), "{page}");
    assert!(page.contains("id=\"entity_rename-name-error\""));
    assert!(browser.look(&path).await.contains("Robert Stein"));

    let evil = "<script>alert(1)</script>";
    let rename = [("action", "rename"), ("name", evil), ("type", "project")];
    browser.answers(303, &path, &rename).await;
    for path in [path.as_str(), "/entities", &format!("/graph?around={one}")] {
        let page = browser.look(path).await;
        assert!(!page.contains("<script>alert"), "{path}");
        assert!(page.contains("&lt;script&gt;alert(1)"), "{path}");
    }
    assert!(browser.look(&path).await.contains("Renamed from Robert Stein"));

    browser.answers(303, &path, &[("action", "protect")]).await;
    assert!(browser.look(&path).await.contains("Remove protection"));
    browser.answers(422, &path, &[("action", "explode")]).await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn anothers_entity_is_as_if_it_were_not_there() {
    let (app, anna, ben) = TestApp::with_users().await;
    let annas = make(app, &anna, "Quirin Hidden", EntityType::Person).await;
    let bens = make(app, &ben, "Ben Own", EntityType::Person).await;
    let browser = app.signed_in(&ben).await;
    for id in [annas, 999_999_999] {
        for path in [format!("/entities/{id}"), format!("/graph?around={id}")] {
            let (status, page) = browser.get(&path).await;
            assert_eq!(status, 404, "{path}");
            assert!(!page.contains("Quirin"));
        }
        let (own, path) = (bens.to_string(), format!("/entities/{id}"));
        for fields in [
            vec![("action", "rename"), ("name", "Mine"), ("type", "person")],
            vec![("action", "merge"), ("with", &own)],
            vec![("action", "split"), ("names", "1")],
            vec![("action", "protect")],
            vec![("action", "undo"), ("decision", "1")],
            vec![("action", "nonsense")],
        ] {
            browser.answers(404, &path, &fields).await;
        }
        let id = id.to_string();
        for action in ["merge", "apart"] {
            let fields = [("action", action), ("one", &own), ("other", &id)];
            browser.answers(404, "/entities/pairs", &fields).await;
        }
    }
    assert!(!browser.look("/entities").await.contains("Quirin"));
    assert_eq!(browser.get("/entities/x").await.0, 404);
}

#[tokio::test]
async fn where_an_admin_has_closed_the_browser_nothing_is_decided() {
    let app = TestApp::start().await;
    let (anna, admin) = (app.user("anna").await, app.user("root").await);
    app.make_admin(&admin).await;
    let one = make(&app, &anna, "Anton Offen", EntityType::Person).await;
    let browser = app.signed_in(&anna).await;
    let path = format!("/entities/{one}");
    assert!(browser.look(&path).await.contains("id=\"manage\""));
    let admin = app.signed_in(&admin).await;
    admin.answers(200, "/admin/browser", &[("action", "close")]).await;
    assert!(!browser.look(&path).await.contains("id=\"manage\""));
    let rename = [("action", "rename"), ("name", "Other"), ("type", "person")];
    browser.says(403, &path, &rename, "read-only; nothing was changed").await;
    let pair = [("action", "apart"), ("one", "1"), ("other", "2")];
    browser.answers(403, "/entities/pairs", &pair).await;
    assert!(browser.look(&path).await.contains("Anton Offen"));
}

/// Anna lived in Lyon, lives in Graz, and works with Benedikt at Acme.
async fn connected(app: &TestApp, anna: &TestUser) -> [i64; 5] {
    let sentence = "I moved to Graz in 2024.";
    let (item, now) = (anna.add(sentence).await, app.clock.now());
    let names = [
        ("Anna Berger", EntityType::Person),
        ("Lyon", EntityType::Location),
        ("Graz", EntityType::Location),
        ("Acme GmbH", EntityType::Organization),
        ("Benedikt Huber", EntityType::Person),
    ];
    let mut ids = [0; 5];
    for (id, (name, entity_type)) in ids.iter_mut().zip(names) {
        *id = make(app, anna, name, entity_type).await;
    }
    let [berger, lyon, graz, acme, huber] = ids;
    for (subject, predicate, object, since, until) in [
        (berger, "lives_in", lyon, Some("2015"), Some("2023")),
        (berger, "lives_in", graz, Some("2024"), None),
        (berger, "works_at", acme, Some("2020"), None),
        (huber, "works_at", acme, None, None),
    ] {
        let stated = StatedRelation {
            subject: EntityId(subject),
            predicate: Predicate::parse(predicate).unwrap(),
            words: None,
            object: RelationTarget::Entity(EntityId(object)),
            period: Period::parse(&Zone::utc(), since, until).unwrap(),
            confidence: 80,
            evidence: RelationEvidence {
                sentence: Some(sentence.to_owned()),
                item: Some(ItemId(item)),
                session: None,
                position: None,
                trust: Trust::User,
                at: now,
            },
        };
        let mut tx = app.db.as_writer(anna.id).await.unwrap();
        assert!(note(&mut tx, anna.id, &stated, now).await.unwrap().is_some());
        tx.commit().await.unwrap();
    }
    ids
}

#[tokio::test(crate = "crate::support::shared")]
async fn relations_stand_along_time_with_their_sources() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let [berger, lyon, graz, ..] = connected(app, &anna).await;
    let page = browser.look(&format!("/entities/{berger}")).await;
    let linked = [lyon, graz].map(|place| format!("href=\"/entities/{place}\""));
    assert_has(&page, &["lives in ", &linked[0], &linked[1], "class=\"span span-past\""]);
    assert_has(&page, &["I moved to Graz in 2024.", "stated by you", "href=\"/memory/"]);
    let around = format!("href=\"/graph?around={berger}\"");
    assert_has(&page, &["1 Jan 2015", "since 2024", &around]);
    let page = browser.look(&format!("/entities/{graz}")).await;
    assert!(page.contains("home of ") && page.contains("Anna Berger"));
}

/// Names that the picture and the table lead to.
fn led_to(part: &str) -> Vec<&str> {
    let links = part.split("href=\"/entities/").skip(1);
    let mut ids: Vec<&str> = links.map(|link| link.split('"').next().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_graph_of_a_day_is_the_same_as_picture_and_as_table() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let [berger, lyon, graz, ..] = connected(app, &anna).await;
    let parts = |page: &str| {
        let main = main_of(page).to_owned();
        let (picture, rest) = main.split_once("</figure>").unwrap();
        let picture = picture.split("id=\"graph-picture\"").nth(1).unwrap();
        (picture.to_owned(), rest.to_owned())
    };
    for (path, has_lyon, has_graz) in [
        ("/graph", false, true),
        ("/graph?at=2016-06-01", true, false),
        ("/graph?at=2016-06-01&relation=lives_in", true, false),
        (&format!("/graph?around={berger}"), false, true),
        (&format!("/graph?around={berger}&depth=2&together=0"), false, true),
    ] {
        let page = browser.look(path).await;
        let (picture, table) = parts(&page);
        assert_eq!(led_to(&picture), led_to(&table), "{path}");
        let ids = led_to(&table);
        assert_eq!(ids.contains(&lyon.to_string().as_str()), has_lyon, "{path}");
        assert_eq!(ids.contains(&graz.to_string().as_str()), has_graz, "{path}");
        let lines = picture.matches("<line").count();
        let rows = table.matches("<tr>").count() - 1;
        assert_eq!(lines, rows, "{path}");
    }
    let page = browser.look("/graph").await;
    assert!(page.contains("4 entities, 1 part."), "{page}");
    let page = browser.look(&format!("/graph?around={berger}")).await;
    assert!(page.contains("Graph around") || page.contains(" around "));
    assert_eq!(page.matches("node-center").count(), 1);
    let page = browser.look("/graph?relation=speaks").await;
    assert!(page.contains("Nothing is connected here."));
    // Benedikt's work has no dates, so it holds on every day.
    let page = browser.look("/graph?at=1990-01-01").await;
    assert!(page.contains("Benedikt Huber") && !page.contains("Anna Berger"));
    let nonsense = ["at=yesterday", "at=-9000-01-01", "at=9999-12-31", "depth=0&relation=x"];
    for nonsense in nonsense {
        browser.look(&format!("/graph?{nonsense}")).await;
    }
}
