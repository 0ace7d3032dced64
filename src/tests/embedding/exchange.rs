//! From the English builtin model of earlier versions to the multilingual one.

use std::path::{Path, PathBuf};

use keepsake::providers::builtin::{BuiltinModel, BuiltinModels};
use serde_json::{Value, json};

use crate::support::{TestApp, TestUser, Wish};

/// The models and states of the user's spaces.
async fn spaces(app: &TestApp, user: &TestUser) -> Vec<String> {
    let query = format!(
        "SELECT model || ' ' || state FROM embedding_spaces WHERE user_id = {} AND state <> 'retired' ORDER BY state",
        user.id.0
    );
    app.sql(&query).values().await
}

async fn ask(user: &TestUser, query: &str) -> Value {
    user.call("memory_search", json!({ "query": query })).await
}

#[tokio::test]
async fn the_english_models_vectors_serve_until_the_multilingual_ones_are_made_and_an_admin_may_postpone()
 {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    app.embeddings.set_builtin_model(BuiltinModel::English).await.unwrap();
    let tea = anna.add("The user drinks green tea in the morning.").await;
    anna.add("The garage roof is leaking.").await;
    app.drain(&anna).await;
    assert_eq!(spaces(&app, &anna).await, ["all-MiniLM-L6-v2 active"]);
    assert!(app.embeddings.users_with_work().await.unwrap().is_empty());

    app.embeddings.set_builtin_model(BuiltinModel::Multilingual).await.unwrap();
    // Nobody presses anything: the sweep finds her.
    assert_eq!(app.embeddings.users_with_work().await.unwrap(), [anna.id]);
    let found = ask(&anna, "morning drink").await;
    assert_eq!((&found["mode"], &found["degraded"]), (&json!("hybrid"), &Value::Null));

    // Postponed before anything was made, and taken up again.
    app.embeddings.set_builtin_model(BuiltinModel::English).await.unwrap();
    app.drain(&anna).await;
    assert_eq!(spaces(&app, &anna).await, ["all-MiniLM-L6-v2 active"]);
    app.embeddings.set_builtin_model(BuiltinModel::Multilingual).await.unwrap();
    app.drain(&anna).await;
    assert_eq!(spaces(&app, &anna).await, ["multilingual-e5-small active"]);
    assert!(app.embeddings.users_with_work().await.unwrap().is_empty());
    let found = ask(&anna, "Was trinkt sie am Morgen?").await;
    assert_eq!(found["results"][0]["id"], json!(tea));
}

#[tokio::test]
async fn without_the_english_models_files_words_serve_until_the_multilingual_vectors_are_made() {
    let folder = Path::new("data/runtime").join(BuiltinModel::Multilingual.folder());
    let models = BuiltinModels::in_folders([folder, PathBuf::from("nowhere")]);
    let app = TestApp::start_as(Wish { builtin: Some(models), ..Wish::default() }).await;
    let anna = app.user("anna").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    let english = "UPDATE embedding_spaces SET model = 'all-MiniLM-L6-v2', document_prefix = ''";
    app.sql(english).run().await;
    let found = ask(&anna, "bees").await;
    assert_eq!(found["mode"], "fts");
    let why = found["degraded"].as_str().unwrap();
    assert!(why.contains("its files are not in the data folder"), "{why}");
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    app.drain(&anna).await;
    assert_eq!(spaces(&app, &anna).await, ["multilingual-e5-small active"]);
    assert_eq!(ask(&anna, "bees").await["mode"], "hybrid");
}

#[tokio::test]
async fn a_text_of_which_the_model_knows_nothing_has_no_vector_and_is_found_by_its_words() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    anna.add("Anna keeps bees.").await;
    // Phoenician, which no model of ours has seen.
    let unknown = anna.add("𐤀𐤍𐤊 𐤌𐤔𐤏 𐤁𐤍 𐤊𐤌𐤔").await;
    app.drain(&anna).await;
    let item = anna.call("memory_get", json!({ "item_id": unknown })).await;
    assert_eq!(item["embedding"]["state"], "error");
    let found = ask(&anna, "𐤌𐤔𐤏").await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    assert_eq!(found["results"][0]["id"], json!(unknown));
}
