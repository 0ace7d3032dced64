//! `/docs`: for everybody, without a database, with every operation of the document.

use serde_json::Value;

use super::assert_has;
use crate::support::TestApp;

#[tokio::test]
async fn a_stranger_reads_every_operation_and_every_error_and_each_pages_foot_leads_there() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.browser();
    let page = browser.look("/docs").await;
    let document = browser.look("/api/v1/openapi.json").await;
    let document: Value = serde_json::from_str(&document).unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
        for operation in methods.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert_has(&page, &[&format!("id=\"{id}\""), &format!("href=\"#{id}\"")]);
        }
    }
    for response in document["components"]["responses"].as_object().unwrap().values() {
        let examples =
            response["content"]["application/problem+json"]["examples"].as_object().unwrap();
        for code in examples.keys() {
            assert!(page.contains(&format!("<code>{code}</code>")), "{code}");
        }
    }
    let server = document["servers"][0]["url"].as_str().unwrap();
    assert!(page.contains(&format!("{server}/api/v1/tools/memory_add")));
    assert!(page.contains("$KEEPSAKE_TOKEN") && page.contains("href=\"/api/v1/openapi.json\""));
    assert!(!page.contains("https://cdn") && !page.contains("style="), "self-contained");
    assert!(browser.look("/login").await.contains("href=\"/docs\""));
    browser.sign_in(&anna).await;
    assert!(browser.look("/agents").await.contains("href=\"/docs\""));
    browser.look("/docs").await;
}
