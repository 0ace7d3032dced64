//! What a person decides about entities, and undoes.

use keepsake::entities::{EntityError, decide, profile};
use keepsake::memories::mentions::EntityType;

use super::related::{JANUARY, MAY, say, state};
use super::{id_of, ids_of, told, upkeep};
use crate::support::TestApp;

#[tokio::test]
async fn two_that_are_one_are_merged_and_undone() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("We met Robert King at the fair.").await;
    anna.add("Then Bobby Kingston came by again.").await;
    let place = |name| (name, EntityType::Location);
    state(&app, anna.id, say("Robert King", "lives_in", place("Oslo"), JANUARY), None).await;
    state(&app, anna.id, say("Bobby Kingston", "lives_in", place("Rome"), MAY), None).await;
    upkeep(&app).await;
    let [robert, bobby] = ids_of(&app, &anna, ["Robert King", "Bobby Kingston"]).await;
    let now = app.embeddings.now();
    decide::merge(&app.db, anna.id, (robert, bobby), now).await.unwrap();
    let one = told(&anna, "Bobby Kingston").await;
    assert_eq!((one["id"].as_i64(), one["mentions"].as_i64()), (Some(robert.0), Some(2)));
    // The later home ends the earlier one.
    assert_eq!(one["relations"][0]["object"], "Rome", "{one}");
    assert_eq!(one["relations"].as_array().unwrap().len(), 1);
    // By its own number it is found where it went.
    let merged = profile(&app.db, anna.id, bobby, 5, now).await.unwrap();
    assert_eq!(merged.entity.id, robert);
    for again in [(robert, bobby), (robert, robert)] {
        let refused = decide::merge(&app.db, anna.id, again, now).await;
        assert!(matches!(refused, Err(EntityError::Conflict(_))), "{refused:?}");
    }
    let decision = merged.decisions[0].id;
    decide::undo(&app.db, anna.id, robert, decision, now).await.unwrap();
    let (one, other) = (told(&anna, "Robert King").await, told(&anna, "Bobby Kingston").await);
    assert_eq!(
        (one["relations"][0]["object"].as_str(), other["relations"][0]["object"].as_str()),
        (Some("Oslo"), Some("Rome"))
    );
    assert_eq!((one["mentions"].as_i64(), other["mentions"].as_i64()), (Some(1), Some(1)));
    let twice = decide::undo(&app.db, anna.id, robert, decision, now).await;
    assert!(matches!(twice, Err(EntityError::Conflict(_))), "{twice:?}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn one_that_is_two_is_split_renamed_and_undone() {
    let (app, anna) = TestApp::with_user().await;
    for text in [
        "We hired Northwind Traders Inc. again.",
        "We hired Northwind-Traders again and again.",
        "They met Contoso Foods Inc. too.",
    ] {
        anna.add(text).await;
    }
    let now = app.embeddings.now();
    let [north, contoso] = ids_of(app, &anna, ["Northwind Traders", "Contoso Foods"]).await;
    decide::merge(&app.db, anna.id, (north, contoso), now).await.unwrap();
    let names = profile(&app.db, anna.id, north, 5, now).await.unwrap().names;
    let going: Vec<i64> =
        names.iter().filter(|n| n.name.starts_with("Contoso")).map(|n| n.id).collect();
    let made = decide::split(&app.db, anna.id, north, &going, now).await.unwrap();
    assert_eq!(told(&anna, "Contoso Foods").await["id"], made.0);
    let all: Vec<i64> = names.iter().map(|n| n.id).collect();
    for none in [vec![], all] {
        let refused = decide::split(&app.db, anna.id, north, &none, now).await;
        assert!(matches!(refused, Err(EntityError::Conflict(_))));
    }
    let split = profile(&app.db, anna.id, north, 5, now).await.unwrap().decisions[0].id;
    decide::undo(&app.db, anna.id, north, split, now).await.unwrap();
    assert_eq!(told(&anna, "Contoso Foods").await["id"], north.0);
    decide::rename(&app.db, anna.id, north, "Our suppliers", EntityType::Other, now).await.unwrap();
    assert_eq!(told(&anna, "our suppliers").await["name"], "Our suppliers");
    let long = "x".repeat(1_000);
    let refused = decide::rename(&app.db, anna.id, north, &long, EntityType::Other, now).await;
    assert!(matches!(refused, Err(EntityError::Invalid(_))));
    let renamed = profile(&app.db, anna.id, north, 5, now).await.unwrap().decisions[0].id;
    decide::undo(&app.db, anna.id, north, renamed, now).await.unwrap();
    assert_ne!(told(&anna, "Northwind Traders").await["name"], "Our suppliers");
    // Nobody decides about another's.
    let ben = app.user("ben").await;
    let other = decide::protect(&app.db, ben.id, north, true, now).await;
    assert!(matches!(other, Err(EntityError::NotFound(_))));
    decide::protect(&app.db, anna.id, north, true, now).await.unwrap();
    assert!(profile(&app.db, anna.id, north, 5, now).await.unwrap().entity.is_protected);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_merge_takes_the_type_that_is_known_and_its_undo_gives_it_back() {
    let (app, anna) = TestApp::with_user().await;
    let now = app.embeddings.now();
    let mut tx = app.db.as_writer(anna.id).await.unwrap();
    let mut made = Vec::new();
    for (name, entity_type) in [("Ottilie", EntityType::Other), ("Otti", EntityType::Person)] {
        let id = keepsake::entities::ensure(&mut tx, anna.id, name, entity_type, now).await;
        made.push(id.unwrap().unwrap());
    }
    tx.commit().await.unwrap();
    decide::merge(&app.db, anna.id, (made[0], made[1]), now).await.unwrap();
    let one = profile(&app.db, anna.id, made[1], 5, now).await.unwrap();
    assert_eq!((one.entity.name.as_str(), one.entity.entity_type), ("Ottilie", EntityType::Person));
    let decision = one.decisions[0].id;
    decide::undo(&app.db, anna.id, made[0], decision, now).await.unwrap();
    let back = profile(&app.db, anna.id, made[0], 5, now).await.unwrap();
    assert_eq!(back.entity.entity_type, EntityType::Other);
}

/// What the person is called besides goes out and comes in again.
#[tokio::test(crate = "crate::support::shared")]
async fn names_of_the_user_are_taken_in() {
    let (app, anna) = TestApp::with_user().await;
    let line = r#"{"record":"entity","id":1,"name":"You","type":"person","is_user":true,"names":["You","Mika"]}"#;
    crate::data::import(app, &anna, &format!("{{\"keepsake_export\":1}}\n{line}\n")).await;
    assert_eq!(id_of(app, &anna, "Mika").await, id_of(app, &anna, "me").await);
}

#[tokio::test]
async fn a_known_name_that_is_found_with_another_type_stays_one_entity_of_its_type() {
    use EntityType::{Location, Organization, Person, Product, Project};
    let (app, anna) = TestApp::start_for("anna").await;
    let now = app.embeddings.now();
    let ensure = async |name, entity_type| {
        let mut tx = app.db.as_writer(anna.id).await.unwrap();
        let id = keepsake::entities::ensure(&mut tx, anna.id, name, entity_type, now).await;
        tx.commit().await.unwrap();
        id.unwrap().unwrap()
    };
    let type_of = async |id| {
        let profile = profile(&app.db, anna.id, id, 5, now).await.unwrap();
        profile.entity.entity_type
    };
    // A project, an organization and a product of one name are one.
    let atlas = ensure("Atlas", Project).await;
    for found in [Product, Organization] {
        assert_eq!(ensure("Atlas", found).await, atlas);
    }
    assert_eq!(type_of(atlas).await, Project);
    // A person and a place are not,
    let florence = ensure("Florence", Person).await;
    assert_ne!(ensure("Florence", Location).await, florence);
    // unless a person has said what it is.
    let georgia = ensure("Georgia", Person).await;
    decide::rename(&app.db, anna.id, georgia, "Georgia", Organization, now).await.unwrap();
    assert_eq!(ensure("Georgia", Location).await, georgia);
    // The same where a text names it.
    anna.add("Anna Lindqvist moved to Bergen.").await;
    let bergen = id_of(&app, &anna, "Bergen").await;
    assert_eq!(type_of(bergen).await, Location);
    decide::rename(&app.db, anna.id, bergen, "Bergen", Product, now).await.unwrap();
    anna.add("Quentin Okonkwo lives in Bergen.").await;
    upkeep(&app).await;
    let told = told(&anna, "Bergen").await;
    assert_eq!(told["id"], bergen.0, "{told}");
    assert_eq!((&told["type"], &told["mentions"]), (&"product".into(), &2.into()), "{told}");
}
