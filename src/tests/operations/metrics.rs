//! `/metrics`: what it says, to whom, and what never stands in it.

use std::time::Duration;

use serde_json::json;

use super::with_provider;
use crate::support::{PATIENCE, TestApp, Wish};

const TOKEN: &str = "a metrics token of some length";

async fn scrape(app: &TestApp, headers: &[(&str, &str)]) -> (u16, String) {
    let mut request = reqwest::Client::new().get(format!("{}/metrics", app.base));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// With the database's own figures: on a busy machine it may not give them within
/// their second, and then it is asked again after some.
async fn scrape_all(app: &TestApp) -> String {
    for _ in 0..PATIENCE.as_secs() {
        let (status, text) = scrape(app, &[]).await;
        assert_eq!(status, 200);
        if value(&text, "keepsake_database_up ") == 1.0 {
            return text;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("the database gave no figures");
}

/// The value of the series whose line begins so.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(series));
    let line = line.unwrap_or_else(|| panic!("no {series} in\n{text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn requests_tools_vectors_and_jobs_are_counted_and_nobody_is_named() {
    let (app, anna, provider) = with_provider().await;
    anna.add("Xylophonist from Quebec").await;
    let text = scrape_all(&app).await;
    assert_eq!(value(&text, "keepsake_vectors_pending "), 1.0);
    assert_eq!(value(&text, r#"keepsake_jobs{job="embed",status="waiting"}"#), 1.0);
    app.drain(&anna).await;
    anna.find("xylophonist").await;
    anna.refused("no_such_tool_qqq", json!({})).await;
    for path in ["/nowhere/zanzibar", "/memory/7?q=zanzibar"] {
        app.browser().get(path).await;
    }
    let made_up = reqwest::Method::from_bytes(b"ZANZIBAR").unwrap();
    let made_up = reqwest::Client::new().request(made_up, format!("{}/memory", app.base));
    made_up.send().await.unwrap();
    let text = scrape_all(&app).await;
    for series in [
        r#"keepsake_http_request_duration_seconds_count{method="POST",route="/api/v1/tools/{name}",status="2xx"}"#,
        r#"keepsake_http_request_duration_seconds_count{method="GET",route="/memory/{id}",status="3xx"}"#,
        r#"keepsake_http_request_duration_seconds_count{method="GET",route="unmatched",status="4xx"}"#,
        r#"keepsake_http_request_duration_seconds_count{method="other","#,
        r#"keepsake_tool_call_duration_seconds_count{tool="memory_add",door="rest",outcome="ok"}"#,
        r#"keepsake_tool_call_duration_seconds_count{tool="unknown",door="rest",outcome="unknown_tool"}"#,
        r#"keepsake_provider_call_duration_seconds_count{provider_type="openai",purpose="embedding"}"#,
        r#"keepsake_pool_connections{pool="app",state="max"}"#,
        r#"keepsake_pool_wait_seconds_count{pool="app"}"#,
        r#"keepsake_pool_wait_seconds_count{pool="system"}"#,
        r#"keepsake_searches_total{mode="hybrid",degraded="false"}"#,
        "keepsake_database_bytes",
        "keepsake_uptime_seconds",
        "process_resident_memory_bytes",
        "keepsake_build_info{version=",
    ] {
        assert!(value(&text, series) > 0.0, "{series}");
    }
    assert_eq!(value(&text, "keepsake_passwords_waiting "), 0.0);
    app.activity.flush().await.unwrap();
    let (_, text) = scrape(&app, &[]).await;
    assert_eq!(value(&text, "keepsake_activity_waiting "), 0.0);
    assert!(text.contains("keepsake_activity_dropped_total "), "{text}");
    // A route's template says `{user_id}` and names nobody.
    let lower = text.to_lowercase().replace("{user_id}", "");
    let host = provider.host_port();
    for secret in ["xylophonist", "zanzibar", "anna", "no_such_tool_qqq", "user=", "user_id", &host]
    {
        assert!(!lower.contains(secret), "{secret} stands in\n{text}");
    }
}

#[tokio::test]
async fn a_failing_provider_is_counted_by_kind_and_its_breaker_shown() {
    let (app, anna, provider) = with_provider().await;
    anna.add("first").await;
    app.drain(&anna).await;
    provider.behave(|b| b.status = Some(503));
    for n in 0..4 {
        anna.find(&format!("word{n}")).await;
    }
    let (_, text) = scrape(&app, &[]).await;
    let failures = r#"keepsake_provider_failures_total{provider_type="openai",kind="server_error",purpose="embedding"}"#;
    assert!(value(&text, failures) >= 3.0);
    assert_eq!(value(&text, "keepsake_breakers_open "), 1.0);
    assert!(value(&text, "keepsake_activity_waiting ") > 0.0);
    assert!(value(&text, r#"keepsake_searches_total{mode="fts",degraded="true"}"#) >= 4.0);
}

#[tokio::test]
async fn whoever_waits_for_a_connection_in_vain_is_counted() {
    let (app, anna) = TestApp::start_for("anna").await;
    let [of_requests, ..] = app.db.pools();
    let mut held = Vec::new();
    for _ in 0..of_requests.max {
        held.push(app.db.as_user(anna.id).await.unwrap());
    }
    let (status, _) = anna.refused("memory_list_themes", json!({})).await;
    assert_eq!(status, 503);
    let (_, text) = scrape(&app, &[]).await;
    assert!(value(&text, r#"keepsake_pool_timeouts_total{pool="app"}"#) >= 1.0, "in vain");
    assert!(value(&text, r#"keepsake_pool_wait_seconds_sum{pool="app"}"#) >= 3.0, "the longest");
    drop(held);
}

#[tokio::test]
async fn a_scraper_elsewhere_needs_the_token_and_without_one_there_is_no_such_page() {
    let app = TestApp::start_as(Wish { metrics_token: Some(TOKEN), ..Wish::default() }).await;
    assert_eq!(scrape(&app, &[]).await.0, 200);
    // What a proxy on this machine passes on is somebody else's.
    for forwarded in ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip", "via"] {
        let by_proxy = (forwarded, "203.0.113.9");
        let (status, text) = scrape(&app, &[by_proxy]).await;
        assert_eq!(status, 404, "{forwarded}");
        assert!(!text.contains("keepsake_"), "{text}");
        for (authorization, expected) in [
            (format!("Bearer {TOKEN}"), 200),
            (format!("bearer {TOKEN}"), 200),
            (format!("Bearer {TOKEN}x"), 404),
            (format!("Basic {TOKEN}"), 404),
            ("Bearer".to_owned(), 404),
        ] {
            let sent = [by_proxy, ("authorization", authorization.as_str())];
            assert_eq!(scrape(&app, &sent).await.0, expected, "{authorization}");
        }
    }
    // One that says nothing is in front of a server with a public address, or passes its own name on.
    assert_eq!(scrape(&app, &[("host", "memory.example.com")]).await.0, 404);
    let public_url = Some("https://memory.example.com");
    let public = Wish { metrics_token: Some(TOKEN), public_url, ..Wish::default() };
    let public = TestApp::start_as(public).await;
    assert_eq!(scrape(&public, &[]).await.0, 404);
    let by_token = format!("Bearer {TOKEN}");
    assert_eq!(scrape(&public, &[("authorization", &by_token)]).await.0, 200);
    let without = TestApp::start().await;
    let sent = [("x-forwarded-for", "203.0.113.9"), ("authorization", "Bearer ")];
    assert_eq!(scrape(&without, &sent).await.0, 404);
    // Without the database the figures of the process remain.
    without.db.close().await;
    let (status, text) = scrape(&without, &[]).await;
    assert_eq!(status, 200);
    assert_eq!(value(&text, "keepsake_database_up "), 0.0);
    assert!(value(&text, "keepsake_uptime_seconds ") > 0.0);
    assert!(!text.contains("keepsake_jobs{"), "{text}");
}
