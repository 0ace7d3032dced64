use keepsake::providers::chat::ChatPurpose;

use super::{KEY, ask, chat, form, use_server};
use crate::support::{ChatServer, TestApp, refused};

const PAGE: &str = "/settings/chat";

fn fields<'a>(action: &'a str, url: &'a str, key: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("action", action),
        ("own_enabled", "1"),
        ("provider_type", "openai"),
        ("url", url),
        ("model", "small"),
        ("key", key),
    ]
}

#[tokio::test]
async fn an_endpoint_is_tested_saved_used_and_removed_without_javascript() {
    let (app, anna) = TestApp::start_for("anna").await;
    let server = ChatServer::saying("{\"city\": \"Paris\"}").await;
    app.embeddings.allow_endpoint(&server.host_port()).await.unwrap();
    let browser = app.signed_in(&anna).await;
    let page = browser.look(PAGE).await;
    assert!(page.contains("No chat model is set") && page.contains("0 of 200,000 tokens today"));
    let url = server.url();
    let tested = browser.post(PAGE, &fields("test", &url, KEY)).await;
    assert_eq!(tested.status(), 200);
    let tested = tested.text().await.unwrap();
    assert!(tested.contains("Works: an answer in") && tested.contains("Supported"));
    assert!(tested.contains("40 input, 10 output") && tested.contains("scripted-1"));
    assert!(!tested.contains(KEY) && tested.contains("No chat model is set"), "nothing is kept");
    let saved = browser.post(PAGE, &fields("save", &url, KEY)).await;
    let saved = saved.text().await.unwrap();
    assert!(saved.contains("Saved.") && saved.contains("A key is saved"));
    assert!(saved.contains("Your endpoint") && saved.contains(&server.host_port()));
    assert!(!saved.contains(KEY));
    ask(&app, &anna).await.unwrap();
    let (_, page) = browser.get(PAGE).await;
    assert!(page.contains("50 of 200,000 tokens today"));
    assert!(page.contains("50 tokens in 1 call and 30 days"));
    let limits = [("action", "limits"), ("daily_token_cap", "19,000")];
    assert_eq!(browser.post(PAGE, &limits).await.status(), 200);
    let (_, page) = browser.get(PAGE).await;
    assert!(page.contains("50 of 19,000 tokens today"));
    let settings = chat(&app).overview(anna.id).await.unwrap().settings;
    assert!(!settings.purposes.of(ChatPurpose::Summary).is_on && settings.own_enabled);
    let removed = browser.post(PAGE, &[("action", "remove")]).await;
    assert!(removed.text().await.unwrap().contains("were deleted"));
    let (_, page) = browser.get(PAGE).await;
    assert!(page.contains("No chat model is set") && !page.contains(&server.host_port()));
    browser.post(PAGE, &[("action", "disable")]).await;
    let (_, page) = browser.get(PAGE).await;
    assert!(
        page.contains("You switched the chat model off") && !page.contains("Your own endpoint")
    );
    assert_eq!(browser.post(PAGE, &[("action", "enable")]).await.status(), 303);
}

#[tokio::test]
async fn a_test_says_which_kind_of_failure_it_was() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.make_admin(&anna).await;
    let browser = app.signed_in(&anna).await;
    for (status, message, headline) in [
        (401, "no", "The key was rejected"),
        (404, "model x not found", "The endpoint does not know this model"),
        (404, "nothing", "This is not a chat endpoint"),
        (429, "slow", "The endpoint limits our requests"),
        (503, "down", "The endpoint failed"),
    ] {
        let server = ChatServer::answering(move |_, _| refused(status, message)).await;
        let url = server.url();
        for path in [PAGE, "/admin/chat"].into_iter().take(1 + usize::from(status == 401)) {
            let answer = browser.post(path, &fields("test", &url, KEY)).await;
            let page = answer.text().await.unwrap();
            assert!(page.contains(headline), "{status} {message}");
            assert!(!page.contains(KEY));
        }
    }
    let nobody = browser.post(PAGE, &fields("test", "http://127.0.0.1:1", "")).await;
    assert!(nobody.text().await.unwrap().contains("The endpoint cannot be reached"));
    let metadata = browser.post(PAGE, &fields("test", "http://169.254.169.254", "")).await;
    assert!(metadata.text().await.unwrap().contains("This address is not allowed"));
    // Ten in a row are admitted, and no more.
    let mut last = 200;
    for _ in 0..10 {
        last =
            browser.post(PAGE, &fields("test", "http://127.0.0.1:1", "")).await.status().as_u16();
    }
    assert_eq!(last, 429);
}

#[tokio::test]
async fn a_wrong_setting_stands_beside_its_field_and_changes_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.make_admin(&anna).await;
    let browser = app.signed_in(&anna).await;
    for (path, field, value, sentence) in [
        (PAGE, "url", "localhost", "`url`"),
        (PAGE, "model", "", "`model` is empty"),
        (PAGE, "provider_type", "custom_http", "give openai, ollama or llamacpp"),
        (PAGE, "action", "explode", "`action` is not known"),
        ("/admin/chat", "url", "ftp://x", "`url`"),
        ("/admin/chat", "daily_token_cap", "12", "`daily_token_cap` is out of range"),
    ] {
        let mut sent = fields("save", "https://api.example.com/v1", KEY);
        sent.retain(|(name, _)| *name != field);
        sent.push((field, value));
        let answer = browser.post(path, &sent).await;
        assert_eq!(answer.status(), 422, "{path} {field}");
        let page = answer.text().await.unwrap();
        assert!(page.contains(sentence) && !page.contains(KEY), "{path} {field}");
    }
    // One window of a conversation must fit.
    for refused in ["lots", "9,999"] {
        let cap = [("action", "limits"), ("daily_token_cap", refused)];
        let answer = browser.post(PAGE, &cap).await;
        assert_eq!(answer.status(), 422, "{refused}");
        let page = answer.text().await.unwrap();
        assert!(page.contains("`daily_token_cap` is out of range; give 10000 to"), "{refused}");
    }
    assert!(chat(&app).effective(anna.id, ChatPurpose::Facts).await.unwrap().is_none());
}

#[tokio::test]
async fn an_admin_sets_the_model_and_the_cap_for_everybody() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.make_admin(&anna).await;
    let server = ChatServer::saying("Hi.").await;
    let url = server.url();
    let browser = app.signed_in(&anna).await;
    let mut sent = fields("save", &url, KEY);
    sent.push(("daily_token_cap", "17000"));
    let saved = browser.post("/admin/chat", &sent).await;
    assert_eq!(saved.status(), 200);
    let page = saved.text().await.unwrap();
    assert!(page.contains("Saved.") && page.contains("17,000") && !page.contains(KEY));
    let bens = app.signed_in(&ben).await;
    let (_, page) = bens.get(PAGE).await;
    assert!(page.contains("System chat model") || page.contains("The server&#x27;s model"));
    assert!(page.contains("0 of 17,000 tokens today"));
    assert_eq!(ask(&app, &ben).await.unwrap().text, "Hi.");
}

#[tokio::test]
async fn where_nothing_makes_vectors_the_form_begins_with_the_chat_models_host() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.make_admin(&anna).await;
    let server = ChatServer::saying("Hi.").await;
    use_server(&app, &anna, &server).await;
    chat(&app).save_system(&form(&server.url(), KEY), "").await.unwrap();
    let browser = app.signed_in(&anna).await;
    for path in ["/settings/embeddings", "/admin"] {
        let (_, page) = browser.get(path).await;
        assert!(page.contains("Filled in from"), "{path}");
        assert!(page.contains(&format!("value=\"{}\"", server.url())), "{path}");
    }
    // It is offered, and nothing is in force.
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert!(overview.effective.settings().is_none());
    let builtin = TestApp::start_with_builtin().await;
    let ben = builtin.user("ben").await;
    use_server(&builtin, &ben, &server).await;
    let browser = builtin.signed_in(&ben).await;
    let (_, page) = browser.get("/settings/embeddings").await;
    assert!(!page.contains("Filled in from"), "the builtin model serves");
}
