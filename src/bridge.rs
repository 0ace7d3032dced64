//! `keepsake mcp`: a bridge for MCP clients that speak only standard input and output. It posts each input
//! line to the server's /mcp and writes each answer as one line; diagnostics go to standard error. It
//! connects to the configured server only.

use std::io::{BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, redirect};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::config::BridgeConfig;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time between two chunks of a response.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const OPEN_REQUESTS_MAX: usize = 64;
/// Far above the server's own limit, so that the server's error explains what is too large.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const VERSION_META: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

const PARSE_ERROR: i32 = -32_700;
const INTERNAL_ERROR: i32 = -32_603;

struct Bridge {
    config: BridgeConfig,
    client: Client,
    /// The protocol version that `initialize` negotiated; later requests send it.
    agreed_version: Mutex<Option<String>>,
}

/// A JSON-RPC error that the client receives instead of an answer.
struct BridgeFailure {
    code: i32,
    message: String,
    data: Value,
}

pub async fn run(config: BridgeConfig) -> anyhow::Result<()> {
    eprintln!("keepsake mcp: forwarding messages to {}", config.server);
    if config.token.is_none() {
        eprintln!("keepsake mcp: {}", no_token(&config));
    }
    let bridge = Arc::new(Bridge::new(config)?);
    let mut lines = read_lines();
    let open = Arc::new(Semaphore::new(OPEN_REQUESTS_MAX));
    let mut requests = JoinSet::new();
    loop {
        tokio::select! {
            Some(done) = requests.join_next() => done??,
            line = lines.recv() => {
                let Some(line) = line else { break };
                let permit = open.clone().acquire_owned().await?;
                let bridge = bridge.clone();
                requests.spawn(async move {
                    bridge.pass_on(line).await?;
                    drop(permit);
                    anyhow::Ok(())
                });
            }
        }
    }
    while let Some(done) = requests.join_next().await {
        done??;
    }
    Ok(())
}

/// The lines of standard input, or why a line cannot be read. Uses its own thread, since reads from standard
/// input block and cannot be cancelled.
fn read_lines() -> mpsc::Receiver<Result<String, &'static str>> {
    let (send, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Ok(Some(line)) = read_line(&mut input) {
            let is_blank = line.as_ref().is_ok_and(|line| line.trim().is_empty());
            if !is_blank && send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// `None` at the end of input. A line that is too long is skipped to its end.
fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Result<String, &'static str>>> {
    let mut line = Vec::new();
    if input.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Some(Err("This line is over 8 MiB, which is the most.")));
    }
    let line = String::from_utf8(line).map_err(|_| "This line is not valid UTF-8.");
    Ok(Some(line))
}

fn write_line(message: &Value) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    let written = writeln!(output, "{message}").and_then(|()| output.flush());
    written.context("standard output is closed")
}

impl Bridge {
    fn new(config: BridgeConfig) -> anyhow::Result<Self> {
        // An error means that a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .user_agent(concat!("keepsake-mcp/", env!("CARGO_PKG_VERSION")))
            .build()
            .context("the HTTP client could not be created; are CA certificates installed?")?;
        Ok(Self { config, client, agreed_version: Mutex::new(None) })
    }

    /// Forwards one line. A request always gets an answer, even when it fails.
    async fn pass_on(&self, line: Result<String, &'static str>) -> anyhow::Result<()> {
        let not_json = "This line is not JSON; send one JSON-RPC message per line.";
        let parsed = line.as_deref().map(|line| line.trim_start_matches('\u{feff}'));
        let parsed = parsed.map_err(|why| *why).and_then(|line| match serde_json::from_str(line) {
            Ok(message) => Ok((line.to_owned(), message)),
            Err(_) => Err(not_json),
        });
        let (line, message): (String, Value) = match parsed {
            Ok(parsed) => parsed,
            Err(why) => {
                let failure = BridgeFailure { code: PARSE_ERROR, ..BridgeFailure::saying(why) };
                return write_line(&failure.answer(&Value::Null));
            }
        };
        let id = message.get("id").filter(|_| message.get("method").is_some());
        let is_notification = id.is_none() && message.is_object();
        match self.ask(&message, &line).await {
            Ok(answers) => answers.iter().try_for_each(write_line),
            Err(failure) if is_notification => {
                eprintln!("keepsake mcp: {}", failure.message);
                Ok(())
            }
            Err(failure) => write_line(&failure.answer(id.unwrap_or(&Value::Null))),
        }
    }

    async fn ask(&self, message: &Value, line: &str) -> Result<Vec<Value>, BridgeFailure> {
        let token = self.config.token.as_deref();
        let token = token.ok_or_else(|| BridgeFailure::saying(no_token(&self.config)))?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| BridgeFailure::saying("KEEPSAKE_TOKEN holds what no token holds."))?;
        bearer.set_sensitive(true);
        let request = self
            .client
            .post(self.config.server.clone())
            .headers(self.headers(message))
            .header(AUTHORIZATION, bearer)
            .body(line.to_owned());
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let answers = self.read(response).await?;
        if !status.is_success() {
            return Err(BridgeFailure::of_answer(status.as_u16(), answers.first()));
        }
        if message["method"] == "initialize" {
            let version = answers.iter().find_map(|a| a["result"]["protocolVersion"].as_str());
            *self.agreed_version.lock().unwrap_or_else(PoisonError::into_inner) =
                version.map(str::to_owned);
        }
        let is_request = message.get("id").is_some() && message.get("method").is_some();
        if is_request && answers.is_empty() {
            return Err(BridgeFailure::saying("The server's answer was empty."));
        }
        Ok(answers)
    }

    /// The headers that let proxies and servers route a message without parsing its body.
    fn headers(&self, message: &Value) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let agreed = self.agreed_version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let own = message.pointer(VERSION_META).and_then(Value::as_str).map(str::to_owned);
        let is_initialize = message["method"] == "initialize";
        let version = own.or(agreed).filter(|_| !is_initialize);
        let params = &message["params"];
        let name = ["name", "uri", "taskId"].iter().find_map(|key| params[key].as_str());
        for (header, text) in [
            (PROTOCOL_VERSION, version.as_deref()),
            (METHOD, message["method"].as_str()),
            (NAME, name),
        ] {
            if let Some(value) = text.and_then(header_value) {
                headers.insert(header, value);
            }
        }
        headers
    }

    /// The messages of a response: a JSON body is one, an event stream has any number.
    async fn read(&self, mut response: Response) -> Result<Vec<Value>, BridgeFailure> {
        let content_type = response.headers().get(CONTENT_TYPE);
        let is_events =
            content_type.is_some_and(|v| v.as_bytes().starts_with(b"text/event-stream"));
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            body.extend_from_slice(&part);
        }
        if body.is_empty() {
            return Ok(Vec::new());
        }
        let text = String::from_utf8_lossy(&body);
        let messages = if is_events { events(&text) } else { vec![text.into_owned()] };
        let parsed: Result<Vec<Value>, _> =
            messages.iter().map(|m| serde_json::from_str(m)).collect();
        parsed.or_else(|_| match response.status().is_success() {
            true => Err(BridgeFailure::saying(
                "The server's answer is not JSON; does KEEPSAKE_URL name a Keepsake?",
            )),
            false => Ok(Vec::new()),
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> BridgeFailure {
        let why = if error.is_timeout() { "did not answer in time" } else { "cannot be reached" };
        let server = &self.config.server;
        BridgeFailure::saying(format!(
            "Keepsake at {server} {why}. Is it running, and does KEEPSAKE_URL name its address?"
        ))
    }
}

fn no_token(config: &BridgeConfig) -> String {
    let server = config.server.as_str();
    let server = server.strip_suffix("mcp").unwrap_or(server);
    format!(
        "KEEPSAKE_TOKEN is not set: make a token at {server}agents and give it to this program in that variable."
    )
}

/// Encodes text that cannot stand in a header as the MCP specification requires.
fn header_value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|b| (0x20..0x7f).contains(&b))
        && text.trim() == text
        && !text.starts_with("=?base64?");
    let text = match is_plain {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    };
    HeaderValue::from_str(&text).ok()
}

/// The data of each event, without keep-alives.
fn events(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let data = text.split("\n\n").map(|event| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    });
    data.filter(|data| !data.trim().is_empty()).collect()
}

impl BridgeFailure {
    fn saying(message: impl Into<String>) -> Self {
        Self { code: INTERNAL_ERROR, message: message.into(), data: Value::Null }
    }

    /// Uses the server's own error message, if there is one.
    fn of_answer(status: u16, answer: Option<&Value>) -> Self {
        let nothing = Value::Null;
        let answer = answer.unwrap_or(&nothing);
        let error = &answer["error"];
        let said = error["message"].as_str().or(answer["detail"].as_str());
        let message =
            said.map_or_else(|| format!("The server answered HTTP {status}."), str::to_owned);
        Self {
            code: error["code"]
                .as_i64()
                .and_then(|code| code.try_into().ok())
                .unwrap_or(INTERNAL_ERROR),
            message,
            data: error["data"].clone(),
        }
    }

    fn answer(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if !self.data.is_null() {
            error["data"] = self.data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_whole_and_keep_alives_are_passed_over() {
        let text = ": ping\n\nid: 1\ndata:\n\ndata: {\"a\":\r\ndata: 1}\r\n\r\nevent: message\ndata:{\"b\":2}\n\n";
        assert_eq!(events(text), ["{\"a\":\n1}", "{\"b\":2}"]);
    }

    #[test]
    fn a_line_that_is_too_long_or_no_text_is_said_to_be_and_the_next_is_read() {
        let long = vec![b'a'; LINE_BYTES_MAX as usize + 5];
        let input = [&long, &b"\n\xff\n{}\n"[..]].concat();
        let mut input = input.as_slice();
        let mut next = || read_line(&mut input).unwrap();
        assert!(next().is_some_and(|line| line.unwrap_err().contains("8 MiB")));
        assert!(next().is_some_and(|line| line.unwrap_err().contains("UTF-8")));
        assert_eq!(next().unwrap().unwrap(), "{}\n");
        assert!(next().is_none());
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_encoded() {
        assert_eq!(header_value("memory_add").unwrap(), "memory_add");
        assert_eq!(header_value("é").unwrap(), "=?base64?w6k=?=");
        assert_eq!(header_value(" x").unwrap(), "=?base64?IHg=?=");
    }
}
