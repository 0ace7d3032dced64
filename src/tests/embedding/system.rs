use keepsake::embedding::{Saved, SystemSaved, Texts};
use keepsake::providers::EndpointUrl;
use keepsake::providers::ProviderError;
use keepsake::providers::settings::{Effective, EndpointForm};
use serde_json::json;

use crate::support::{Provider, TestApp, Wish};

fn form(url: &str) -> EndpointForm<'_> {
    EndpointForm { url, model: "system-model", ..EndpointForm::default() }
}

fn memories(memories: i64) -> Texts {
    Texts { memories, from_messages: 0 }
}

#[tokio::test]
async fn a_change_by_an_admin_is_asked_once_as_users_and_items_and_then_serves_everybody() {
    let app = TestApp::start().await;
    let (own, system) = (Provider::start().await, Provider::start().await);
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.use_provider(&anna, &own, "own").await;
    anna.add("Anna keeps bees.").await;
    ben.add("Ben rows.").await;
    ben.add("Ben bakes.").await;
    app.drain(&anna).await;
    own.forget_calls();
    let url = system.url();
    let asked = app.embeddings.save_system(&form(&url), false).await.unwrap();
    assert_eq!(
        asked,
        SystemSaved::AskFirst { users: 2, texts: memories(3), staged: String::new() }
    );
    assert!(app.embeddings.system_overview().await.unwrap().settings.provider.is_none());
    let confirmed = app.embeddings.save_system(&form(&url), true).await.unwrap();
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
    let asked = app.embeddings.save_system(&EndpointForm::default(), false).await.unwrap();
    assert_eq!(
        asked,
        SystemSaved::AskFirst { users: 2, texts: memories(3), staged: String::new() }
    );
    app.embeddings.save_system(&EndpointForm::default(), true).await.unwrap();
    app.drain(&anna).await;
    assert_eq!(own.texts(), ["Anna keeps bees."]);
    // Ben has nothing else: his vectors stay, and are not used.
    let query = app.embed_query(&ben, "rows").await;
    assert!(query.vector.is_none() && query.degraded.unwrap().contains("no embedding provider"));
}

#[tokio::test]
async fn a_query_asked_again_goes_by_what_serves_now_and_not_by_what_served_last() {
    let app = TestApp::start().await;
    let system = Provider::start().await;
    let anna = app.user("anna").await;
    anna.add("Anna keeps bees.").await;
    let search = async || anna.call("memory_search", json!({ "query": "bees" })).await;
    let asked = || system.texts().iter().filter(|text| *text == "bees").count();
    let url = system.url();
    let save = async |model| {
        let form = EndpointForm { model, ..form(&url) };
        app.embeddings.save_system(&form, true).await.unwrap();
        app.drain(&anna).await;
    };
    save("system-model").await;
    for _ in 0..2 {
        let answer = search().await;
        assert_eq!((&answer["mode"], asked()), (&json!("hybrid"), 1), "{answer}");
    }
    let first = app.embed_query(&anna, "bees").await.vector.unwrap();
    // Another model: the vector that is remembered is of a space that serves no more.
    save("other-model").await;
    let answer = search().await;
    assert_eq!((&answer["mode"], asked()), (&json!("hybrid"), 2), "{answer}");
    let second = app.embed_query(&anna, "bees").await.vector.unwrap();
    assert_ne!(first.space_id, second.space_id);
    // Switched off: it is remembered, and not asked by.
    app.embeddings.set_enabled(anna.id, false, false).await.unwrap();
    let answer = search().await;
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
    let app = TestApp::start().await;
    let system = Provider::start().await;
    let anna = app.user("anna").await;
    let url = system.url();
    app.embeddings.save_system(&form(&url), true).await.unwrap();
    let id = anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    system.behave(|b| b.key = Some("sk-system"));
    anna.add("She lives in Bern.").await;
    let keyed = EndpointForm { key: "sk-system", ..form(&url) };
    let saved = app.embeddings.save_system(&keyed, false).await.unwrap();
    assert_eq!(saved, SystemSaved::InForce);
    app.drain(&anna).await;
    let rows = app.vectors(&anna, "active").await;
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|(_, state)| state == "ready"), "{id} {rows:?}");
    // Sealed: no row, job or setting holds it in clear.
    let (settings,): (Vec<u8>,) = app.sql("SELECT sealed_key FROM system_providers").row().await;
    assert!(!settings.windows(9).any(|w| w == b"sk-system"));
}

#[tokio::test]
async fn loopback_is_for_admins_and_for_what_an_admin_allowed() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = app.user("anna").await;
    let url = provider.url();
    // Saving is not calling; it is at the call that nothing goes out.
    app.save_endpoint(&anna, &url, "model", "", true).await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    assert!(provider.texts().is_empty());
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert!(overview.serving.unwrap().problem.unwrap().contains("not allowed"));
    let test = |app: &TestApp| {
        let (embeddings, user, url) = (app.embeddings.clone(), anna.id, url.clone());
        async move {
            let form = EndpointForm { provider_type: "openai", ..form(&url) };
            embeddings.test_own(user, &form).await.unwrap()
        }
    };
    assert_eq!(test(&app).await, Err(ProviderError::Forbidden));
    app.embeddings.allow_endpoint(&provider.host_port()).await.unwrap();
    assert_eq!(test(&app).await.unwrap().dimensions, 64);
    app.embeddings.disallow_endpoint(&provider.host_port()).await.unwrap();
    assert!(test(&app).await.is_err());
    app.sql("UPDATE users SET role = 'admin'").run().await;
    assert!(test(&app).await.is_ok());
}

#[tokio::test]
async fn out_of_the_box_the_builtin_model_finds_by_meaning_and_can_be_switched_off() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    let added = anna
        .call("memory_add", json!({ "type": "preference", "content": "At breakfast she takes a cup of black coffee." }))
        .await;
    assert_eq!(added["embedding"], "pending");
    anna.add("The invoice for the garage roof is due on Friday.").await;
    app.drain(&anna).await;
    let item = anna.call("memory_get", json!({ "item_id": added["id"] })).await;
    assert_eq!(item["embedding"]["provider_type"], "builtin");
    assert_eq!(
        (&item["embedding"]["state"], &item["embedding"]["dimensions"]),
        (&json!("ready"), &json!(384))
    );
    assert!(app.embed_query(&anna, "morning drink").await.vector.is_some());
    // Twenty thousand characters against a model of 256 tokens: all of it is read.
    let long = anna.add(&"word ".repeat(4_000)).await;
    app.drain(&anna).await;
    let item = anna.call("memory_get", json!({ "item_id": long })).await;
    assert_eq!(item["embedding"]["state"], "ready");
    let passages: i64 = app
        .sql("SELECT count(*) FROM memory_embeddings WHERE source_id = $1 AND state = 'ready'")
        .bind(long)
        .value()
        .await;
    assert!(passages > 10, "{passages}");
    app.embeddings.set_builtin(false).await.unwrap();
    let query = app.embed_query(&anna, "morning drink").await;
    assert!(query.vector.is_none() && query.degraded.is_some());
    app.embeddings.set_builtin(true).await.unwrap();
    assert!(app.embed_query(&anna, "morning drink").await.vector.is_some());
}

#[tokio::test]
async fn who_cancelled_a_rebuild_of_their_own_still_follows_the_admin() {
    let app = TestApp::start().await;
    let (own, system) = (Provider::start().await, Provider::start().await);
    let anna = app.user("anna").await;
    app.use_provider(&anna, &own, "own").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    app.use_provider(&anna, &own, "another").await;
    assert!(app.embeddings.cancel_rebuild(anna.id).await.unwrap());
    app.drain(&anna).await;
    app.sql("DELETE FROM job_queue").run().await;
    let url = system.url();
    app.embeddings.save_system(&form(&url), true).await.unwrap();
    // It is the sweep that tells her, not something that she does.
    assert_eq!(app.jobs().await.len(), 1);
    app.drain(&anna).await;
    assert_eq!(system.texts(), ["Anna keeps bees."]);
}

#[tokio::test]
async fn another_prefix_of_queries_of_the_systems_provider_is_in_force_at_once() {
    let app = TestApp::start().await;
    let system = Provider::start().await;
    let anna = app.user("anna").await;
    let url = system.url();
    let save = async |query_prefix| {
        let form = EndpointForm { query_prefix, document_prefix: "doc: ", ..form(&url) };
        app.embeddings.save_system(&form, true).await.unwrap()
    };
    save("one: ").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    system.forget_calls();
    for prefix in ["one: ", "two: "] {
        assert_eq!(save(prefix).await, SystemSaved::InForce);
        // The second time it is remembered, with this prefix.
        for _ in 0..2 {
            let answer = anna.call("memory_search", json!({ "query": "bees" })).await;
            assert_eq!(answer["mode"], "hybrid");
        }
    }
    assert_eq!(system.texts(), ["one: bees", "two: bees"]);
}

#[tokio::test]
async fn another_prefix_of_queries_of_ones_own_provider_is_in_force_at_once_on_every_server() {
    let app = TestApp::start_with_builtin().await;
    let own = Provider::start().await;
    let (anna, twin) = (app.user("anna").await, app.twin().await);
    app.embeddings.allow_endpoint(&own.host_port()).await.unwrap();
    let url = own.url();
    let save = async |query_prefix| {
        let form = EndpointForm {
            provider_type: "openai",
            query_prefix,
            document_prefix: "doc: ",
            ..form(&url)
        };
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
    let app = TestApp::start().await;
    let system = Provider::start().await;
    let anna = app.user("anna").await;
    let url = system.url();
    let save = async |form: EndpointForm<'_>| {
        app.embeddings.save_system(&form, true).await.unwrap();
    };
    save(form(&url)).await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    save(EndpointForm::default()).await;
    system.behave(|b| b.key = Some("sk-new"));
    let key = "sk-new";
    save(EndpointForm { key, ..form(&url) }).await;
    app.drain(&anna).await;
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0, "users with work");
    let answer = anna.call("memory_search", json!({ "query": "bees" })).await;
    assert_eq!(answer["mode"], "hybrid", "{answer}");
}
