use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{CURRENT, message};
use crate::support::TestApp;

/// `keepsake mcp` as a client starts it.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Bridge {
    fn start(url: &str, token: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_keepsake"))
            .arg("mcp")
            .env_clear()
            .env("KEEPSAKE_URL", url)
            .env("KEEPSAKE_TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Closes its input: what is still said, and whether it ended well; what people were told.
    fn finish(mut self) -> (Vec<Value>, bool, String) {
        self.input.take();
        let lines = (&mut self.output).lines().map(Result::unwrap);
        let rest = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
        let mut told = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut told).unwrap();
        (rest, self.child.wait().unwrap().success(), told)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_and_notifications_are_not() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut bridge = Bridge::start(&app.base, &anna.token);
    let hello = json!({ "jsonrpc": "2.0", "id": "hi", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    bridge.send(&format!("\u{feff}{hello}"));
    assert_eq!(bridge.receive()["result"]["protocolVersion"], "2025-06-18");
    bridge.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    bridge.send("");
    bridge.send("not json");
    assert_eq!(bridge.receive()["error"]["code"], -32_700);
    for n in 0..20 {
        let arguments = json!({ "type": "fact", "content": format!("line {n}\nand a second") });
        let params = json!({ "name": "memory_add", "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params });
        bridge.send(&call.to_string());
    }
    // Its input ends while requests are open: they are answered first.
    let (answers, ended_well, told) = bridge.finish();
    let mut ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..20).collect::<Vec<_>>());
    assert!(answers.iter().all(|answer| answer["result"]["isError"] == false), "{answers:?}");
    assert!(ended_well && !told.contains(&anna.token[3..]), "{told}");
    let found = anna.call("memory_search", json!({ "limit": 50 })).await;
    assert_eq!(crate::support::ids(&found).len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_headers_say_what_the_message_says_and_events_are_read() {
    let server = MockServer::start().await;
    let events = ": ping\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n\
                  event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\ndata: \"result\":{}}\n\n";
    Mock::given(method("POST"))
        .and(path("/mcp"))
        .and(header("authorization", "Bearer ks_given"))
        .and(header("mcp-protocol-version", CURRENT))
        .and(header("mcp-method", "tools/call"))
        .and(header("mcp-name", "=?base64?bWVtb3J5X8Op?="))
        .and(body_partial_json(json!({ "id": 7 })))
        .respond_with(ResponseTemplate::new(200).set_body_raw(events, "text/event-stream"))
        .expect(1)
        .mount(&server)
        .await;
    let mut bridge = Bridge::start(&server.uri(), "ks_given");
    bridge.send(&message("tools/call", json!({ "name": "memory_é" })).to_string());
    assert_eq!(bridge.receive()["method"], "notifications/progress");
    assert_eq!(bridge.receive(), json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
    assert!(bridge.finish().1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_told_in_the_answer_to_each_request() {
    let app = TestApp::start().await;
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
    let said = |url: &str, token: &str| {
        let mut bridge = Bridge::start(url, token);
        bridge.send(list);
        let answer = bridge.receive();
        assert_eq!(answer["id"], 3);
        assert!(bridge.finish().1);
        answer["error"]["message"].as_str().unwrap().to_owned()
    };
    let wrong = said(&app.base, "ks_mistyped");
    assert!(wrong.starts_with("This is not a whole token."), "{wrong}");
    assert!(wrong.contains("/agents"), "{wrong}");
    let none = said(&app.base, "");
    assert!(none.contains("KEEPSAKE_TOKEN is not set"), "{none}");
    assert!(none.contains(&format!("{}/agents", app.base)), "{none}");
    let down = said("http://127.0.0.1:9", "ks_any");
    assert!(down.contains("http://127.0.0.1:9/mcp cannot be reached"), "{down}");

    let other = MockServer::start().await;
    let page = ResponseTemplate::new(200).set_body_string("<html>");
    Mock::given(method("POST")).respond_with(page).up_to_n_times(1).mount(&other).await;
    assert!(said(&other.uri(), "ks_any").contains("is not JSON"));
    let gateway = ResponseTemplate::new(502).set_body_string("<html>");
    Mock::given(method("POST")).respond_with(gateway).mount(&other).await;
    assert_eq!(said(&other.uri(), "ks_any"), "The server answered HTTP 502.");
}

#[test]
fn a_wrong_address_is_refused_and_help_says_where_the_token_goes() {
    let run = |args: &[&str], url: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keepsake"));
        command.args(args).env_clear().env("KEEPSAKE_URL", url).stdin(Stdio::null());
        command.output().unwrap()
    };
    for url in ["ftp://host", "host:3000", "https://host/agents", "https://host/?token=x"] {
        let refused = run(&["mcp"], url);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success(), "{url}: {told}");
        assert!(
            told.contains("KEEPSAKE_URL is ") && told.contains("give https://name"),
            "{url}: {told}"
        );
    }
    let help = String::from_utf8(run(&["mcp", "--help"], "").stdout).unwrap();
    assert!(help.contains("KEEPSAKE_TOKEN") && help.contains("KEEPSAKE_URL"), "{help}");
}
