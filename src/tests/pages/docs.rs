//! `/docs`: for everybody, without a database, with every operation of the document.

use serde_json::Value;

use super::assert_has;
use crate::support::TestApp;

#[tokio::test]
async fn a_stranger_reads_every_operation_and_every_error() {
    let app = TestApp::start().await;
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
}

#[tokio::test]
async fn the_foot_of_every_page_leads_to_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let browser = app.browser();
    assert!(browser.get("/login").await.1.contains("href=\"/docs\""));
    browser.sign_in(&anna).await;
    assert!(browser.get("/agents").await.1.contains("href=\"/docs\""));
    assert_eq!(browser.get("/docs").await.0, 200);
}
