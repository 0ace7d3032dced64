//! Refused before the body was read: the answer arrives, and the connection is either good
//! for the next request or said to close.

use std::time::Duration;

use keepsake::web::BodyTime;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::mcp::CURRENT;
use crate::support::{HANG_GUARD, TestApp, Wish};

const REFUSING: [&str; 5] =
    ["/register", "/mcp", "/api/v1/tools/memory_add", "/api/v1/nowhere", "/login"];
/// In this time the server has read the head and answered it.
const MOMENT: Duration = Duration::from_millis(50);

struct Connection {
    socket: TcpStream,
    host: String,
}

impl Connection {
    async fn open(app: &TestApp) -> Self {
        let host = app.base.strip_prefix("http://").unwrap().to_owned();
        let socket = TcpStream::connect(&host).await.unwrap();
        Self { socket, host }
    }

    /// With further headers, each of which ends its line.
    async fn begin(&mut self, request: &str, headers: &str) {
        let host = &self.host;
        let head = format!("{request} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n");
        self.socket.write_all(head.as_bytes()).await.unwrap();
    }

    async fn begin_post(&mut self, path: &str, body_bytes: usize) {
        let length = format!("content-length: {body_bytes}\r\n");
        let headers = format!("content-type: application/json\r\n{length}");
        self.begin(&format!("POST {path}"), &headers).await;
    }

    /// The head of an answer, read to the end of its body.
    async fn answer(&mut self) -> String {
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n") {
            read.push(self.socket.read_u8().await.unwrap());
        }
        let head = String::from_utf8(read).unwrap();
        let length = head.lines().find_map(|l| l.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        self.socket.read_exact(&mut body).await.unwrap();
        head
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_body_that_comes_late_spoils_no_connection_and_one_that_never_ends_closes_it() {
    let app = TestApp::shared().await;
    for path in REFUSING {
        let mut connection = Connection::open(app).await;
        for _ in 0..2 {
            connection.begin_post(path, 2).await;
            tokio::time::sleep(MOMENT).await;
            connection.socket.write_all(b"{}").await.unwrap();
            let refused = connection.answer().await;
            assert!(refused.starts_with("HTTP/1.1 4"), "{path}: {refused}");
            assert!(!refused.contains("connection: close"), "{path}: {refused}");
        }
        connection.begin("GET /livez", "").await;
        let next = connection.answer().await;
        assert!(next.starts_with("HTTP/1.1 200"), "{path}: {next}");

        let mut connection = Connection::open(app).await;
        connection.begin_post(path, 100).await;
        let refused = connection.answer().await;
        assert!(refused.starts_with("HTTP/1.1 4"), "never ends: {path}: {refused}");
        assert!(refused.contains("connection: close"), "never ends: {path}: {refused}");
    }
}

#[tokio::test]
async fn a_body_that_is_withheld_is_refused_at_its_deadline_and_the_connection_closed() {
    let app = TestApp::start_as(Wish {
        body_time: BodyTime { first: Duration::from_millis(200), ..BodyTime::default() },
        ..Wish::default()
    })
    .await;
    let anna = app.user("anna").await;
    let bearer =
        format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", anna.token);
    let of_mcp = format!(
        "{bearer}accept: application/json, text/event-stream\r\nmcp-protocol-version: {CURRENT}\r\n"
    );
    let of_form =
        "sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\n";
    for (path, headers) in [
        ("/api/v1/tools/memory_add", bearer.as_str()),
        ("/api/v1/sessions/a/messages", &bearer),
        ("/mcp", &of_mcp),
        ("/login", of_form),
    ] {
        let mut connection = Connection::open(&app).await;
        let headers = format!("{headers}content-length: 100\r\n");
        connection.begin(&format!("POST {path}"), &headers).await;
        connection.socket.write_all(b"{\"type\":").await.unwrap();
        let mut read = String::new();
        let answered = timeout(HANG_GUARD, connection.socket.read_to_string(&mut read)).await;
        answered.expect("an answer, and the end").unwrap();
        let (head, body) = read.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 408"), "{path}: {head}");
        assert!(head.contains("connection: close"), "{path}: {head}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["code"], "body_timeout", "{path}");
    }
}
