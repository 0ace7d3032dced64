use keepsake::embedding::{Saved, SystemSaved};
use keepsake::providers::EndpointUrl;
use keepsake::providers::ProviderError;
use keepsake::providers::settings::{Effective, EndpointForm, EndpointPurpose};
use serde_json::{Value, json};

use super::{all_ready, memories, with_provider};
use crate::support::{Provider, TestApp, TestUser, Wish};

fn form(url: &str) -> EndpointForm<'_> {
    EndpointForm { url, model: "system-model", ..EndpointForm::default() }
}

/// Anna on a server of her own, and a provider, which is not the system's yet.
async fn with_system() -> (TestApp, TestUser, Provider) {
    let (app, anna) = TestApp::start_for("anna").await;
    (app, anna, Provider::start().await)
}

/// Saves the system's provider, or that there is none: whoever is asked first must confirm.
async fn save(app: &TestApp, form: &EndpointForm<'_>, confirmed: bool) -> SystemSaved {
    app.embeddings.save_system(form, confirmed).await.unwrap()
}

/// How a search for bees finds.
async fn mode(user: &TestUser) -> Value {
    user.call("memory_search", json!({ "query": "bees" })).await["mode"].clone()
}

#[tokio::test]
async fn a_change_by_an_admin_is_asked_once_as_users_and_items_and_then_serves_everybody() {
    let (app, anna, own) = with_provider("own").await;
    let (system, ben) = (Provider::start().await, app.user("ben").await);
    anna.add("Anna keeps bees.").await;
    ben.add("Ben rows.").await;
    ben.add("Ben bakes.").await;
    app.drain(&anna).await;
    own.forget_calls();
    let url = system.url();
    let first = SystemSaved::AskFirst { users: 2, texts: memories(3), staged: String::new() };
    assert_eq!(save(&app, &form(&url), false).await, first);
    assert!(app.embeddings.system_overview().await.unwrap().settings.provider.is_none());
    let confirmed = save(&app, &form(&url), true).await;
    assert_eq!(confirmed, SystemSaved::Rebuilding { users: 2, texts: memories(3) });
    // Both have a job, and their old vectors until it is done.
    assert_eq!(app.jobs().await.len(), 2);
    assert_eq!(app.vectors(&anna, "active").await.len(), 1);
    app.drain(&anna).await;
    app.drain(&ben).await;
    assert_eq!(system.texts().len(), 3);
    assert!(own.texts().is_empty());
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert!(matches!(overview.effective, Effective::System(_)));
    assert_eq!(overview.serving.unwrap().settings.endpoint.model, "system-model");
    // What Anna sets of her own is kept, and not in force.
    let saved = app.save_endpoint(&anna, &own.url(), "other", "", false).await;
    assert_eq!(saved, Saved::InForce);
    assert!(app.vectors(&anna, "building").await.is_empty());
    // Taken away again, what she set comes into force.
    assert_eq!(save(&app, &EndpointForm::default(), false).await, first);
    save(&app, &EndpointForm::default(), true).await;
    app.drain(&anna).await;
    assert_eq!(own.texts(), ["Anna keeps bees."]);
    // Ben has nothing else: his vectors stay, and are not used.
    let query = app.embed_query(&ben, "rows").await;
    assert!(query.vector.is_none() && query.degraded.unwrap().contains("no embedding provider"));
}

#[tokio::test]
async fn a_query_asked_again_goes_by_what_serves_now_and_not_by_what_served_last() {
    let (app, anna, system) = with_system().await;
    anna.add("Anna keeps bees.").await;
    let asked = || system.texts().iter().filter(|text| *text == "bees").count();
    let url = system.url();
    let serve = async |model| {
        save(&app, &EndpointForm { model, ..form(&url) }, true).await;
        app.drain(&anna).await;
    };
    serve("system-model").await;
    for _ in 0..2 {
        assert_eq!((mode(&anna).await, asked()), (json!("hybrid"), 1));
    }
    let first = app.embed_query(&anna, "bees").await.vector.unwrap();
    // Another model: the vector that is remembered is of a space that serves no more.
    serve("other-model").await;
    assert_eq!((mode(&anna).await, asked()), (json!("hybrid"), 2));
    let second = app.embed_query(&anna, "bees").await.vector.unwrap();
    assert_ne!(first.space_id, second.space_id);
    // Switched off: it is remembered, and not asked by.
    app.embeddings.set_enabled(anna.id, false, false).await.unwrap();
    let answer = anna.call("memory_search", json!({ "query": "bees" })).await;
    assert_eq!(answer["mode"], "fts");
    assert!(answer["degraded"].as_str().unwrap().contains("switched off"), "{answer}");
    assert_eq!(asked(), 2);
}

#[tokio::test]
async fn a_variable_that_appears_at_a_start_is_taken_only_where_nothing_is_rebuilt() {
    let system = Provider::start().await;
    let offered = EndpointUrl::parse("url", &system.url()).unwrap();
    let app = TestApp::start_as(Wish { offered: Some(offered.clone()), ..Wish::default() }).await;
    app.embeddings.take_offered().await.unwrap();
    let overview = app.embeddings.system_overview().await.unwrap();
    assert!(overview.settings.provider.is_some() && overview.offered.is_none());
    let anna = app.user("anna").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    assert_eq!(system.texts(), ["Anna keeps bees."]);

    // On a server where memories exist, it is offered to the admin.
    let app = TestApp::start_as(Wish { offered: Some(offered), ..Wish::default() }).await;
    let ben = app.user("ben").await;
    ben.add("Ben rows.").await;
    app.embeddings.take_offered().await.unwrap();
    let overview = app.embeddings.system_overview().await.unwrap();
    assert!(overview.settings.provider.is_none());
    assert_eq!(overview.offered, Some(system.url()));
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn a_new_key_of_the_systems_provider_is_in_force_at_once_for_everybody() {
    let (app, anna, system) = with_system().await;
    let url = system.url();
    save(&app, &form(&url), true).await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    system.behave(|b| b.key = Some("sk-system"));
    anna.add("She lives in Bern.").await;
    let keyed = EndpointForm { key: "sk-system", ..form(&url) };
    assert_eq!(save(&app, &keyed, false).await, SystemSaved::InForce);
    app.drain(&anna).await;
    assert_eq!(all_ready(&app, &anna).await, Some(2));
    // Sealed: no row, job or setting holds it in clear.
    let (settings,): (Vec<u8>,) = app.sql("SELECT sealed_key FROM system_providers").row().await;
    assert!(!settings.windows(9).any(|w| w == b"sk-system"));
}

#[tokio::test]
async fn loopback_is_for_admins_and_for_what_an_admin_allowed() {
    let (app, anna, provider) = with_system().await;
    let url = provider.url();
    // Saving is not calling; it is at the call that nothing goes out.
    app.save_endpoint(&anna, &url, "model", "", true).await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    assert!(provider.texts().is_empty());
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert!(overview.serving.unwrap().problem.unwrap().contains("not allowed"));
    let test = async || {
        let form = EndpointForm { provider_type: "openai", ..form(&url) };
        app.embeddings.test_own(anna.id, &form).await.unwrap().report
    };
    assert_eq!(test().await, Err(ProviderError::Forbidden));
    app.allow(&provider.host_port()).await;
    assert_eq!(test().await.unwrap().dimensions, 64);
    let models = EndpointPurpose::Models;
    app.embeddings.disallow_endpoint(&provider.host_port(), models).await.unwrap();
    // For anything else is not for models.
    for purpose in [EndpointPurpose::Webhooks, EndpointPurpose::Clients] {
        app.allow_for(&provider.host_port(), purpose).await;
    }
    assert_eq!(test().await, Err(ProviderError::Forbidden));
    app.make_admin(&anna).await;
    assert!(test().await.is_ok());
}

#[tokio::test]
async fn out_of_the_box_the_builtin_model_finds_by_meaning_and_can_be_switched_off() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    let coffee = "At breakfast she takes a cup of black coffee.";
    let coffee = json!({ "type": "preference", "content": coffee });
    let added = anna.call("memory_add", coffee).await;
    assert_eq!(added["embedding"], "pending");
    anna.add("The invoice for the garage roof is due on Friday.").await;
    app.drain(&anna).await;
    let item = anna.call("memory_get", json!({ "item_id": added["id"] })).await;
    for (name, value) in
        [("provider_type", json!("builtin")), ("state", json!("ready")), ("dimensions", json!(384))]
    {
        assert_eq!(item["embedding"][name], value, "{name}");
    }
    assert!(app.embed_query(&anna, "morning drink").await.vector.is_some());
    // Twenty thousand characters against a model of 256 tokens: all of it is read.
    let long = anna.add(&"word ".repeat(4_000)).await;
    app.drain(&anna).await;
    let item = anna.call("memory_get", json!({ "item_id": long })).await;
    assert_eq!(item["embedding"]["state"], "ready");
    let ready = format!("memory_embeddings WHERE source_id = {long} AND state = 'ready'");
    let passages = app.count(&ready).await;
    assert!(passages > 10, "{passages}");
    app.embeddings.set_builtin(false).await.unwrap();
    let query = app.embed_query(&anna, "morning drink").await;
    assert!(query.vector.is_none() && query.degraded.is_some());
    app.embeddings.set_builtin(true).await.unwrap();
    assert!(app.embed_query(&anna, "morning drink").await.vector.is_some());
}

#[tokio::test]
async fn who_cancelled_a_rebuild_of_their_own_still_follows_the_admin() {
    let (app, anna, own) = with_provider("own").await;
    let system = Provider::start().await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    app.use_provider(&anna, &own, "another").await;
    assert!(app.embeddings.cancel_rebuild(anna.id).await.unwrap());
    app.drain(&anna).await;
    app.sql("DELETE FROM job_queue").run().await;
    save(&app, &form(&system.url()), true).await;
    // It is the sweep that tells her, not something that she does.
    assert_eq!(app.jobs().await.len(), 1);
    app.drain(&anna).await;
    assert_eq!(system.texts(), ["Anna keeps bees."]);
}

#[tokio::test]
async fn another_prefix_of_queries_of_the_systems_provider_is_in_force_at_once() {
    let (app, anna, system) = with_system().await;
    let url = system.url();
    let serve = async |query_prefix| {
        let form = EndpointForm { query_prefix, document_prefix: "doc: ", ..form(&url) };
        save(&app, &form, true).await
    };
    serve("one: ").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    system.forget_calls();
    for prefix in ["one: ", "two: "] {
        assert_eq!(serve(prefix).await, SystemSaved::InForce);
        // The second time it is remembered, with this prefix.
        for _ in 0..2 {
            assert_eq!(mode(&anna).await, "hybrid");
        }
    }
    assert_eq!(system.texts(), ["one: bees", "two: bees"]);
}

#[tokio::test]
async fn another_prefix_of_queries_of_ones_own_provider_is_in_force_at_once_on_every_server() {
    let app = TestApp::start_with_builtin().await;
    let own = Provider::start().await;
    let (anna, twin) = (app.user("anna").await, app.twin().await);
    app.allow(&own.host_port()).await;
    let url = own.url();
    let save = async |query_prefix| {
        let own = EndpointForm { provider_type: "openai", ..form(&url) };
        let form = EndpointForm { query_prefix, document_prefix: "doc: ", ..own };
        twin.confirm_endpoint(&anna, form).await
    };
    save("one: ").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    own.forget_calls();
    for prefix in ["one: ", "two: "] {
        assert_eq!(save(prefix).await, Saved::InForce);
        for _ in 0..2 {
            anna.call("memory_search", json!({ "query": "bees" })).await;
        }
    }
    assert_eq!(own.texts(), ["one: bees", "two: bees"]);
}

#[tokio::test]
async fn the_same_provider_put_in_force_again_serves_with_its_new_key_and_leaves_no_work() {
    let (app, anna, system) = with_system().await;
    let url = system.url();
    save(&app, &form(&url), true).await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    save(&app, &EndpointForm::default(), true).await;
    let key = "sk-new";
    system.behave(|b| b.key = Some(key));
    save(&app, &EndpointForm { key, ..form(&url) }, true).await;
    app.drain(&anna).await;
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0, "users with work");
    assert_eq!(mode(&anna).await, "hybrid");
}
