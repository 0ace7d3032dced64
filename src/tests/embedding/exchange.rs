//! From the English builtin model of earlier versions to the multilingual one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

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

/// That the query was answered by words alone, and says which command fetches the files.
async fn by_words(user: &TestUser, query: &str, command: &str) {
    let found = ask(user, query).await;
    let why = found["degraded"].as_str().unwrap();
    assert!(found["mode"] == "fts" && why.contains(&format!("`{command}`")), "{why}");
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn files_that_are_lost_start_no_rebuild_and_what_is_not_embedded_waits_for_them() {
    let data = tempfile::tempdir().unwrap();
    let folders = BuiltinModel::ALL.map(|model| data.path().join(model.folder()));
    let lose = |model: BuiltinModel| fs::remove_file(data.path().join(model.folder())).unwrap();
    let put = |model: BuiltinModel| {
        let files = Path::new("data/runtime").canonicalize().unwrap().join(model.folder());
        symlink(files, data.path().join(model.folder())).unwrap();
    };
    let builtin = Some(BuiltinModels::in_folders(folders));
    let app = TestApp::start_as(Wish { builtin, ..Wish::default() }).await;
    let (fetches, [new, old]) = ("python3 tools/fetch_model.py", BuiltinModel::ALL);
    let due = async || app.embeddings.users_with_work().await.unwrap();
    put(old);
    app.embeddings.set_builtin_model(old).await.unwrap();
    let anna = app.user("anna").await;
    anna.add("The user drinks green tea in the morning.").await;
    app.drain(&anna).await;

    // The English vectors serve, and take in what is added; who has none waits.
    app.embeddings.set_builtin_model(new).await.unwrap();
    anna.add("The garage roof is leaking.").await;
    app.drain(&anna).await;
    assert_eq!(spaces(&app, &anna).await, ["all-MiniLM-L6-v2 active"]);
    assert!(due().await.is_empty());
    let found = ask(&anna, "damage to the building").await;
    assert_eq!((&found["mode"], &found["degraded"]), (&json!("hybrid"), &Value::Null));
    let page = app.signed_in(&anna).await.look("/settings/embeddings").await;
    assert!(page.contains("The files of multilingual-e5-small are not in the data folder"));
    let ben = app.user("ben").await;
    let bees = json!({ "type": "fact", "content": "Ben keeps bees." });
    assert_eq!(ben.call("memory_add", bees).await["embedding"], "pending");
    app.drain(&ben).await;
    by_words(&ben, "bees", fetches).await;
    lose(old);
    by_words(&anna, "roof", &format!("{fetches} --english")).await;

    put(new);
    app.embeddings.retry_all().await.unwrap();
    assert_eq!(due().await, [anna.id, ben.id]);
    for user in [&anna, &ben] {
        app.drain(user).await;
        assert_eq!(ask(user, "insects").await["mode"], "hybrid");
        assert_eq!(spaces(&app, user).await, ["multilingual-e5-small active"]);
    }
    lose(new);
    put(old);
    anna.add("The cellar is damp.").await;
    app.drain(&anna).await;
    by_words(&anna, "roof", fetches).await;
    put(new);
    app.embeddings.retry_all().await.unwrap();
    app.drain(&anna).await;
    assert_eq!(spaces(&app, &anna).await, ["multilingual-e5-small active"]);
    assert_eq!(app.count("memory_embeddings WHERE state = 'pending'").await, 0);
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
