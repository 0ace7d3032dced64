use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::message;
use crate::support::{Provider, TestApp, until};

const TIMES: usize = 30;

/// However soon a client goes: the item is there whole, with its words, its
/// pending vector and a job, or not at all.
#[tokio::test]
async fn a_client_that_vanishes_in_mid_call_leaves_nothing_half_written() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "tiny").await;
    let address = app.base.strip_prefix("http://").unwrap();
    for n in 0..TIMES {
        let arguments = json!({ "type": "fact", "content": format!("Fact number {n}"), "theme": format!("theme-{n}") });
        let body = message("tools/call", json!({ "name": "memory_add", "arguments": arguments }))
            .to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: memory_add\r\n\
             content-length: {}\r\n\r\n",
            anna.token,
            body.len()
        );
        let mut socket = TcpStream::connect(address).await.unwrap();
        let whole = [head.as_bytes(), body.as_bytes()].concat();
        // Some go before they have said everything, some a moment after, some once they are answered.
        let said = if n % 5 == 0 { whole.len() - 10 } else { whole.len() };
        socket.write_all(&whole[..said]).await.unwrap();
        tokio::time::sleep(Duration::from_micros(400 * (n as u64 % 10))).await;
        if n % 5 == 1 {
            socket.read_u8().await.unwrap();
        }
        drop(socket);
    }
    let busy = "pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()";
    until("no connection is busy", async || app.count(busy).await == 0).await;
    let items = app.count("memory_items").await;
    assert!(items > 0 && items <= TIMES as i64, "{items} of {TIMES}");
    assert_eq!(app.count("memory_embeddings WHERE state = 'pending'").await, items);
    assert_eq!(app.count("memory_themes WHERE slug LIKE 'theme-%'").await, items);
    assert!(!app.jobs().await.is_empty());
    assert_eq!(anna.find("number").await.len(), 10.min(items as usize));
    app.drain(&anna).await;
    assert_eq!(app.count("memory_embeddings WHERE state = 'ready'").await, items);
}
