//! Every limit of DESIGN §10 and every shape of wrong body: one clear sentence,
//! a stable code, the field named, 4xx.

use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::{code, with};
use crate::support::{TestApp, TestUser, problem};

fn fact(more: Value) -> Value {
    with(json!({ "type": "fact", "content": "ok" }), more)
}

#[tokio::test(crate = "crate::support::shared")]
async fn each_limit_is_named_with_its_field() {
    let (_, anna) = TestApp::with_user().await;
    let (long_theme, big) = (format!(" {}", "x".repeat(64)), "99999999999999999999.1");
    for (tool, input, code, field) in [
        ("memory_add", fact(json!({ "content": "x".repeat(20_001) })), "too_long", "content"),
        ("memory_add", fact(json!({ "content": "" })), "required", "content"),
        ("memory_add", fact(json!({ "content": " \n " })), "required", "content"),
        ("memory_add", fact(json!({ "content": "a\u{0}b" })), "invalid_text", "content"),
        ("memory_add", fact(json!({ "content": 5 })), "invalid_type", "content"),
        ("memory_add", fact(json!({ "type": "opinion" })), "invalid_type", "type"),
        ("memory_add", fact(json!({ "type": null })), "invalid_type", "type"),
        ("memory_add", json!({ "type": "fact" }), "required", "content"),
        ("memory_add", json!({ "content": "ok" }), "required", "type"),
        ("memory_add", fact(json!({ "colour": "red" })), "unknown_field", "colour"),
        ("memory_add", fact(json!({ "theme": "x".repeat(65) })), "too_long", "theme"),
        // Blanks count, as in the schema.
        ("memory_add", fact(json!({ "theme": long_theme })), "too_long", "theme"),
        ("memory_search", json!({ "theme": " ".repeat(65) }), "too_long", "theme"),
        ("memory_add", fact(json!({ "theme": "!!!" })), "invalid_theme", "theme"),
        ("memory_add", fact(json!({ "theme": "a\u{0}" })), "invalid_text", "theme"),
        ("memory_add", fact(json!({ "tags": vec!["t"; 33] })), "too_many", "tags"),
        ("memory_add", fact(json!({ "tags": ["x".repeat(65)] })), "too_long", "tags"),
        ("memory_add", fact(json!({ "tags": ["a\u{0}"] })), "invalid_text", "tags"),
        ("memory_add", fact(json!({ "tags": "work" })), "invalid_type", "tags"),
        ("memory_add", fact(json!({ "tags": [1] })), "invalid_type", "tags[0]"),
        ("memory_search", json!({ "query": "x".repeat(2_001) }), "too_long", "query"),
        ("memory_search", json!({ "query": "a\u{0}b" }), "invalid_text", "query"),
        ("memory_search", json!({ "query": ["tea"] }), "invalid_type", "query"),
        ("memory_search", json!({ "limit": 51 }), "out_of_range", "limit"),
        ("memory_search", json!({ "limit": 0 }), "out_of_range", "limit"),
        ("memory_search", json!({ "limit": -1 }), "out_of_range", "limit"),
        ("memory_search", json!({ "limit": 1.5 }), "invalid_type", "limit"),
        ("memory_search", json!({ "limit": 1e30 }), "invalid_type", "limit"),
        ("memory_search", json!({ "limit": "10" }), "invalid_type", "limit"),
        ("memory_search", json!({ "types": ["fact", "opinion"] }), "invalid_type", "types[1]"),
        ("memory_search", json!({ "status": "deleted" }), "invalid_status", "status"),
        ("memory_search", json!({ "recency_days": 0 }), "out_of_range", "recency_days"),
        ("memory_search", json!({ "recency_days": 36_501 }), "out_of_range", "recency_days"),
        ("memory_search", json!({ "cursor": "nonsense" }), "invalid_cursor", "cursor"),
        ("memory_search", json!({ "cursor": big }), "invalid_cursor", "cursor"),
        ("memory_search", json!({ "query": "tea", "cursor": "1.1" }), "invalid_cursor", "cursor"),
        ("memory_search", json!({ "user_id": 1 }), "unknown_field", "user_id"),
        ("memory_get", json!({}), "required", "item_id"),
        ("memory_get", json!({ "item_id": "1" }), "invalid_type", "item_id"),
        ("memory_get", json!({ "item_id": 1e300 }), "invalid_type", "item_id"),
        ("memory_archive", json!({ "item_id": null }), "invalid_type", "item_id"),
        ("memory_list_themes", json!({ "themes": 1 }), "unknown_field", "themes"),
    ] {
        let shown: String = input.to_string().chars().take(80).collect();
        let (status, problem) = anna.refused(tool, input).await;
        let told = (status, problem["code"].as_str(), problem["field"].as_str());
        assert_eq!(told, (422, Some(code), Some(field)), "{tool} {shown}");
    }
    // The limits themselves are inside.
    let tags: Vec<_> = (0..32).map(|n| format!("{n:064}")).collect();
    let query = json!({ "query": "x".repeat(2_000), "limit": 50, "recency_days": 36_500 });
    for (tool, input) in [
        ("memory_add", fact(json!({ "content": "é".repeat(20_000) }))),
        ("memory_add", fact(json!({ "tags": tags }))),
        ("memory_search", query),
    ] {
        anna.call(tool, input).await;
    }
}

async fn post(
    app: &TestApp,
    user: &TestUser,
    content_type: &str,
    body: impl Into<reqwest::Body>,
) -> Response {
    Client::new()
        .post(format!("{}/api/v1/tools/memory_add", app.base))
        .bearer_auth(&user.token)
        .header("content-type", content_type)
        .body(body)
        .send()
        .await
        .unwrap()
}

#[tokio::test(crate = "crate::support::shared")]
async fn wrong_bodies_are_told_apart() {
    let (app, anna) = TestApp::with_user().await;
    let ok = r#"{"type":"fact","content":"ok"}"#;
    for (body, expected) in [
        ("{", "400 invalid_json"),
        ("", "422 required"),
        ("[]", "400 invalid_json"),
        (r#"["fact", "ok"]"#, "400 invalid_json"),
        ("null", "400 invalid_json"),
        (r#""text""#, "400 invalid_json"),
        (r#"{"type":"fact","content":"ok"} {}"#, "400 invalid_json"),
        (r#"{"type":"fact","content":"ok","content":"again"}"#, "422 duplicate_field"),
        (r#"{"type":"fact","content":"\ud800"}"#, "422 invalid_text"),
        (r#"{"type":"fact","content":"a\udc00b"}"#, "422 invalid_text"),
        (r#"{"type":"fact","content":"ok","tags":["\ud800"]}"#, "422 invalid_text"),
    ] {
        let response = post(app, &anna, "application/json", body).await;
        assert_eq!(code(response).await, expected, "{body}");
    }
    let no_utf8 = b"{\"type\":\"fact\",\"content\":\"\xff\"}".to_vec();
    assert_eq!(problem(post(app, &anna, "application/json", no_utf8).await).await.0, 400);
    assert_eq!(code(post(app, &anna, "text/plain", ok).await).await, "415 unsupported_media_type");
    assert_eq!(post(app, &anna, "application/json; charset=utf-8", ok).await.status(), 200);
}

#[tokio::test(crate = "crate::support::shared")]
async fn deep_json_and_a_body_over_one_mebibyte_are_refused() {
    let (app, anna) = TestApp::with_user().await;
    // The stack does not overflow.
    let deep = format!(r#"{{"type":"fact","content":"ok","tags":{}"#, "[".repeat(200_000));
    let (status, _) = problem(post(app, &anna, "application/json", deep).await).await;
    assert!(status == 400 || status == 422, "deep: {status}");
    for size in [1024 * 1024 + 1, 10 * 1024 * 1024] {
        let response = post(app, &anna, "application/json", vec![b' '; size]).await;
        assert_eq!(code(response).await, "413 body_too_large", "{size}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn unknown_tools_endpoints_and_methods_are_problems_too() {
    let (app, anna) = TestApp::with_user().await;
    assert_eq!(code(anna.send("memory_delete", &json!({})).await).await, "404 unknown_tool");
    let client = Client::new();
    let nowhere = client.get(format!("{}/api/v1/nowhere", app.base)).send().await.unwrap();
    assert_eq!(problem(nowhere).await.0, 404);
    let get = client.get(format!("{}/api/v1/tools/memory_add", app.base)).send().await.unwrap();
    assert_eq!(problem(get).await.0, 405);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_sentence_never_repeats_what_was_sent() {
    let (_, anna) = TestApp::with_user().await;
    for input in [
        json!({ "type": "canary-7", "content": "x" }),
        json!({ "type": "fact", "content": { "canary-7": 1 } }),
        json!({ "type": "fact", "content": "canary-7\u{0}" }),
        json!({ "type": "fact", "content": "x", "tags": "canary-7" }),
    ] {
        let (_, problem) = anna.refused("memory_add", input).await;
        assert!(!problem.to_string().contains("canary"), "{problem}");
    }
}
