//! What is erased takes with it what it named.

use keepsake::memories::mentions::EntityType;
use serde_json::json;

use super::related::{JANUARY, say, state};
use super::{assert_forgotten, told, upkeep};
use crate::data::{export, import};
use crate::support::TestApp;

#[tokio::test]
async fn an_erased_item_takes_its_mentions_and_what_stood_on_it_alone() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.signed_in(&anna).await;
    let gone = anna.add("We met Zacharias Plumbottom in Oslo.").await;
    let stays = anna.add("Oslo has a fjord, said Marta Helgesen.").await;
    let oslo = ("Oslo", EntityType::Location);
    for (who, item) in [("Zacharias Plumbottom", gone), ("Marta Helgesen", stays)] {
        state(&app, anna.id, say(who, "lives_in", oslo, JANUARY), Some(item)).await;
    }
    upkeep(&app).await;
    assert_eq!(told(&anna, "Oslo").await["mentions"], 2);
    app.delete_item(&browser, gone).await;
    let (status, _) =
        anna.refused("memory_entity", json!({ "name": "Zacharias Plumbottom" })).await;
    assert_eq!(status, 404);
    let oslo = told(&anna, "Oslo").await;
    assert_eq!(oslo["mentions"], 1);
    assert_eq!(oslo["relations"].as_array().unwrap().len(), 1, "{oslo}");
    assert_forgotten(&app, "%plumbottom%").await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_export_brings_entities_and_relations_back_once() {
    let (app, anna, ben) = TestApp::with_users().await;
    let item = anna.add("Marta Helgesen moved to Oslo.").await;
    let oslo = ("Oslo", EntityType::Location);
    state(app, anna.id, say("Marta Helgesen", "lives_in", oslo, JANUARY), Some(item)).await;
    let file = export(app, &anna).await;
    assert!(file.contains("\"record\":\"relation\""), "{file}");
    for _ in 0..2 {
        let outcome = import(app, &ben, &file).await;
        assert_eq!(outcome.failed, 0, "{:?}", outcome.problems);
        let entity = told(&ben, "Marta Helgesen").await;
        assert_eq!(entity["mentions"], 1, "{entity}");
        let relations = entity["relations"].as_array().unwrap();
        assert_eq!(relations.len(), 1);
        assert_eq!(relations[0]["sentence"], "Marta Helgesen lives_in Oslo");
        assert_ne!(relations[0]["item_id"], item);
    }
    let bad = "{\"keepsake_export\":1}\n{\"record\":\"entity\",\"id\":1,\"name\":\"\",\"type\":\"person\"}\n{\"record\":\"entity\",\"id\":2,\"name\":\"Zed\",\"type\":\"dragon\"}\n{\"record\":\"end\",\"counts\":{\"items\":0}}\n";
    let outcome = import(app, &ben, bad).await;
    assert_eq!(outcome.failed, 2, "{:?}", outcome.problems);
}
