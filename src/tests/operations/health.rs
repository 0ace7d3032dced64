//! `/readyz` names the part that is not ready, and answers in time whatever the
//! database does.

use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;

use crate::support::{Provider, TestApp, Wish};

async fn readyz(base: &str) -> (u16, Value) {
    ask(&reqwest::Client::new(), base).await
}

async fn ask(client: &reqwest::Client, base: &str) -> (u16, Value) {
    let request = client.get(format!("{base}/readyz"));
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn every_part_is_named_and_a_schema_that_is_behind_or_ahead_is_told() {
    let app = TestApp::start_with_builtin().await;
    let (status, told) = readyz(&app.base).await;
    assert_eq!(status, 200, "{told}");
    for (part, state) in [
        ("server", "ready"),
        ("database", "ready"),
        ("schema", "ready"),
        ("vector_extension", "ready"),
        ("worker", "none"),
        ("builtin_model", "present"),
        ("system_provider", "none"),
    ] {
        assert_eq!(told[part], state, "{part} in {told}");
    }
    assert_eq!(told["degraded"], false);
    app.sql("INSERT INTO _sqlx_migrations SELECT 20991231000000, description, installed_on, success, checksum, execution_time FROM _sqlx_migrations LIMIT 1").run().await;
    let (status, told) = readyz(&app.base).await;
    assert_eq!((status, &told["schema"]), (200, &json!("ahead")));
    app.sql("DELETE FROM _sqlx_migrations WHERE version >= (SELECT min(version) FROM (SELECT version FROM _sqlx_migrations ORDER BY version DESC LIMIT 2) newest)").run().await;
    let (status, told) = readyz(&app.base).await;
    assert_eq!((status, &told["schema"]), (503, &json!("behind")));
    assert_eq!(told["not_ready"], json!(["schema"]));
}

#[tokio::test]
async fn a_failing_system_provider_degrades_and_does_not_take_the_server_away() {
    let provider = Provider::start().await;
    let url = keepsake::providers::EndpointUrl::parse("url", &provider.url()).unwrap();
    let app = TestApp::start_as(Wish { offered: Some(url), ..Wish::default() }).await;
    app.embeddings.take_offered().await.unwrap();
    let anna = app.user("anna").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    assert_eq!(readyz(&app.base).await.1["system_provider"], "ready");
    provider.behave(|b| b.status = Some(503));
    anna.add("Anna rows.").await;
    app.drain(&anna).await;
    let (status, told) = readyz(&app.base).await;
    assert_eq!((status, &told["system_provider"]), (200, &json!("failing")));
    assert_eq!(told["degraded"], true);
    assert!(!told.to_string().contains(&provider.host_port()), "{told}");
}

/// What connects and then says nothing at all: a host that hangs, a partitioned network.
#[tokio::test]
async fn a_database_that_hangs_is_named() {
    let hole = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = hole.local_addr().unwrap().port();
    let _held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok(connection) = hole.accept().await {
            held.push(connection);
        }
    });
    let options = PgConnectOptions::new()
        .host("127.0.0.1")
        .port(port)
        .ssl_mode(sqlx::postgres::PgSslMode::Disable);
    let app = TestApp::start_as(Wish { database: Some(options), ..Wish::default() }).await;
    // More than there are connections, and none waits for another.
    let client = reqwest::Client::new();
    let asked = (0..12).map(|_| ask(&client, &app.base));
    for (status, told) in futures_util::future::join_all(asked).await {
        assert_eq!(status, 503);
        assert_eq!(told["database"], "unavailable");
        assert_eq!(told["not_ready"], json!(["database"]));
    }
}
