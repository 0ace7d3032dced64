use keepsake::providers::chat::ChatPurpose;
use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request};

use super::{KEY, anna_with, ask, chat, form, use_server};
use crate::support::{Browser, ChatServer, TestApp, TestUser, refused, said};

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

/// The same, with the other settings of an endpoint.
fn sent<'a>(action: &'a str, url: &'a str, key: &'a str) -> Vec<(&'a str, &'a str)> {
    [fields(action, url, key), vec![("key_header", "Api-Key"), ("thinking_off", "1")]].concat()
}

/// A server of its own, and its admin's browser.
async fn with_admin() -> (TestApp, TestUser, Browser) {
    let (app, anna) = TestApp::start_for("anna").await;
    app.make_admin(&anna).await;
    let browser = app.signed_in(&anna).await;
    (app, anna, browser)
}

/// Posts this, and asserts that the page which answers has all of `told` and the key nowhere.
async fn assert_tells(
    browser: &Browser,
    path: &str,
    sent: &[(&str, &str)],
    status: u16,
    told: &[&str],
) {
    let answer = browser.post(path, sent).await;
    assert_eq!(answer.status(), status, "{path} {sent:?}");
    let page = answer.text().await.unwrap();
    assert!(!page.contains(KEY), "{path} {sent:?}");
    for words in told {
        assert!(page.contains(words), "{words}: {path} {sent:?}");
    }
}

#[tokio::test]
async fn an_endpoint_is_tested_saved_used_and_removed_without_javascript() {
    let (app, anna) = TestApp::start_for("anna").await;
    let server = ChatServer::saying("{\"city\": \"Paris\"}").await;
    app.allow(&server.host_port()).await;
    let browser = app.signed_in(&anna).await;
    let page = browser.look(PAGE).await;
    assert!(page.contains("No chat model is set") && page.contains("0 of 200,000 tokens today"));
    let (url, host) = (server.url(), server.host_port());
    let works = ["Works: an answer in", "Supported", "40 input, 10 output", "scripted-1"];
    // Nothing of it is kept.
    let told = [&works[..], &["No chat model is set"]].concat();
    assert_tells(&browser, PAGE, &fields("test", &url, KEY), 200, &told).await;
    let told = ["Saved.", "A key is saved", "Your endpoint", &host];
    assert_tells(&browser, PAGE, &fields("save", &url, KEY), 200, &told).await;
    ask(&app, &anna).await.unwrap();
    let page = browser.look(PAGE).await;
    assert!(page.contains("50 of 200,000 tokens today"));
    assert!(page.contains("50 tokens in 1 call and 30 days"));
    let limits = [("action", "limits"), ("daily_token_cap", "19,000")];
    assert_eq!(browser.post(PAGE, &limits).await.status(), 200);
    assert!(browser.look(PAGE).await.contains("50 of 19,000 tokens today"));
    let settings = chat(&app).overview(anna.id).await.unwrap().settings;
    assert!(!settings.purposes.of(ChatPurpose::Summary).is_on && settings.own_enabled);
    let removed = browser.post(PAGE, &[("action", "remove")]).await;
    assert!(removed.text().await.unwrap().contains("were deleted"));
    let page = browser.look(PAGE).await;
    assert!(page.contains("No chat model is set") && !page.contains(&host));
    browser.post(PAGE, &[("action", "disable")]).await;
    let page = browser.look(PAGE).await;
    assert!(page.contains("You switched the chat model off"));
    assert!(!page.contains("Your own endpoint"));
    assert_eq!(browser.post(PAGE, &[("action", "enable")]).await.status(), 303);
}

#[tokio::test]
async fn a_provider_fills_the_form_in_and_what_test_finds_is_saved_without_javascript() {
    let (app, anna, browser) = with_admin().await;
    for (path, vendor, told) in [
        (PAGE, "azure", &["https://RESOURCE.openai.azure.com/openai/v1", "value=\"api-key\""][..]),
        (PAGE, "anthropic", &["https://api.anthropic.com/v1", "value=\"anthropic\" selected"]),
        ("/admin/chat", "gemini", &["https://generativelanguage.googleapis.com/v1beta/openai"]),
        ("/settings/embeddings", "tei", &["http://localhost:8080", "\"custom_http\" selected"]),
        ("/admin/embeddings", "zhipu", &["https://open.bigmodel.cn/api/paas/v4"]),
    ] {
        let sent = [("action", "fill"), ("vendor", vendor)];
        assert_tells(&browser, path, &sent, 200, told).await;
        let sent = [("action", "fill"), ("vendor", "nobody")];
        assert_tells(&browser, path, &sent, 422, &["`vendor` is not known; give one of"]).await;
    }
    let server = MockServer::start().await;
    let answer = |request: &Request| match request.url.path() {
        "/x/v1/chat/completions" if request.headers["api-key"] != KEY => refused(401, "no"),
        "/x/v1/chat/completions"
            if request.body_json::<Value>().unwrap()["temperature"].is_null() =>
        {
            said("{\"city\": \"Paris\"}")
        }
        "/x/v1/chat/completions" => refused(400, "no temperature"),
        _ => refused(404, "nothing"),
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let (given, works) =
        (format!("{}/x", server.uri()), format!("{}/x/v1/chat/completions", server.uri()));
    assert_tells(&browser, PAGE, &sent("save", &given, KEY), 200, &["Saved."]).await;
    let asked = format!("{}/x/chat/completions, then {works}", server.uri());
    let field = format!("value=\"{works}\"");
    let told = [&asked, &field, "no temperature", "Press Save to keep it."];
    assert_tells(&browser, PAGE, &sent("test", &given, ""), 200, &told).await;
    // The key is for the host; another one does not get it.
    assert_tells(&browser, PAGE, &sent("save", &works, ""), 200, &["Saved."]).await;
    let elsewhere = sent("test", "http://localhost:1/x", "");
    assert_tells(&browser, PAGE, &elsewhere, 422, &["`key` must be given again"]).await;
    ask(&app, &anna).await.unwrap();
    let paths = server.received_requests().await.unwrap();
    assert_eq!(paths.last().unwrap().url.path(), "/x/v1/chat/completions");
    let page = browser.look(PAGE).await;
    for words in ["Adjustments", "no temperature", "value=\"api-key\"", "A key is saved"] {
        assert!(page.contains(words), "{words}");
    }
    let kept = chat(&app).overview(anna.id).await.unwrap().settings.own;
    assert!(kept.is_thinking_off && kept.key_header == "api-key" && kept.url == works);
}

#[tokio::test]
async fn a_test_says_which_kind_of_failure_it_was() {
    let (_app, _, browser) = with_admin().await;
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
            assert_tells(&browser, path, &fields("test", &url, KEY), 200, &[headline]).await;
        }
    }
    let nobody = fields("test", "http://127.0.0.1:1", "");
    let metadata = fields("test", "http://169.254.169.254", "");
    for (sent, told) in
        [(&nobody, "The endpoint cannot be reached"), (&metadata, "This address is not allowed")]
    {
        let page = browser.post(PAGE, sent).await.text().await.unwrap();
        assert!(page.contains(told), "{told}: {page}");
    }
    // Ten in a row are admitted, and no more.
    for _ in 0..9 {
        browser.post(PAGE, &nobody).await;
    }
    assert_eq!(browser.post(PAGE, &nobody).await.status(), 429);
}

#[tokio::test]
async fn a_wrong_setting_stands_beside_its_field_and_changes_nothing() {
    let (app, anna, browser) = with_admin().await;
    for (path, field, value, sentence) in [
        (PAGE, "url", "localhost", "`url`"),
        (PAGE, "model", "", "`model` is empty"),
        (PAGE, "provider_type", "custom_http", "give one of openai, ollama, llamacpp, anthropic"),
        (PAGE, "action", "explode", "`action` is not known"),
        ("/admin/chat", "url", "ftp://x", "`url`"),
        ("/admin/chat", "daily_token_cap", "12", "`daily_token_cap` is out of range"),
    ] {
        let mut sent = fields("save", "https://api.example.com/v1", KEY);
        sent.retain(|(name, _)| *name != field);
        sent.push((field, value));
        assert_tells(&browser, path, &sent, 422, &[sentence]).await;
    }
    // One window of a conversation must fit.
    for refused in ["lots", "9,999"] {
        let cap = [("action", "limits"), ("daily_token_cap", refused)];
        let told = "`daily_token_cap` is out of range; give 10000 to";
        assert_tells(&browser, PAGE, &cap, 422, &[told]).await;
    }
    assert!(chat(&app).effective(anna.id, ChatPurpose::Facts).await.unwrap().is_none());
}

#[tokio::test]
async fn an_admin_sets_the_model_and_the_cap_for_everybody() {
    let (app, _, browser) = with_admin().await;
    let ben = app.user("ben").await;
    let server = ChatServer::saying("Hi.").await;
    let url = server.url();
    let mut sent = fields("save", &url, KEY);
    sent.push(("daily_token_cap", "17000"));
    assert_tells(&browser, "/admin/chat", &sent, 200, &["Saved.", "17,000"]).await;
    let page = app.signed_in(&ben).await.look(PAGE).await;
    assert!(page.contains("System chat model") || page.contains("The server&#x27;s model"));
    assert!(page.contains("0 of 17,000 tokens today"));
    assert_eq!(ask(&app, &ben).await.unwrap().text, "Hi.");
}

#[tokio::test]
async fn where_nothing_makes_vectors_the_form_begins_with_the_chat_models_host() {
    let (app, anna, server) = anna_with("Hi.").await;
    app.make_admin(&anna).await;
    chat(&app).save_system(&form(&server.url(), KEY), "").await.unwrap();
    let browser = app.signed_in(&anna).await;
    for path in ["/settings/embeddings", "/admin"] {
        let page = browser.look(path).await;
        assert!(page.contains("Filled in from"), "{path}");
        assert!(page.contains(&format!("value=\"{}\"", server.url())), "{path}");
    }
    // It is offered, and nothing is in force.
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert!(overview.effective.settings().is_none());
    let builtin = TestApp::start_with_builtin().await;
    let ben = builtin.user("ben").await;
    use_server(&builtin, &ben, &server).await;
    let page = builtin.signed_in(&ben).await.look("/settings/embeddings").await;
    assert!(!page.contains("Filled in from"), "the builtin model serves");
}
