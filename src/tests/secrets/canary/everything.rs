//! A server at work, those who ask it, and all that they were answered; and an
//! endpoint that repeats what it is sent.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use wiremock::{Request, Respond, ResponseTemplate};

use crate::mcp::{CURRENT, message};
use crate::server::Home;
use crate::support::tells_once;

/// An endpoint that repeats all it was sent, in ever new ways of failing.
#[derive(Default)]
pub(super) struct Echo {
    pub(super) calls: AtomicUsize,
}

impl Respond for Echo {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let turn = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let key = request.headers.get("authorization").map(|v| v.to_str().unwrap().to_owned());
        let sent = String::from_utf8_lossy(&request.body).into_owned();
        let echo = format!("{} {key:?} {sent}", request.url);
        match turn % 8 {
            0 => ResponseTemplate::new(500).set_body_string(echo),
            1 => ResponseTemplate::new(401).set_body_json(json!({ "error": { "message": echo } })),
            2 => ResponseTemplate::new(400).set_body_json(json!({ "error": echo, "code": echo })),
            3 => {
                ResponseTemplate::new(200).set_body_json(json!({ "data": [{ "embedding": echo }] }))
            }
            4 => ResponseTemplate::new(200).set_body_string(format!("{{\"data\": [{echo}")),
            5 => ResponseTemplate::new(307)
                .insert_header("location", format!("http://127.0.0.1:1/?{}", echo.len())),
            6 => ResponseTemplate::new(429).insert_header("retry-after", "0").set_body_string(echo),
            _ => ResponseTemplate::new(404).set_body_json(
                json!({ "error": { "message": format!("model {echo} not found") } }),
            ),
        }
    }
}

/// Everything that was answered, for the search.
#[derive(Default)]
pub(super) struct Heard {
    /// What programs were refused with.
    pub(super) problems: Vec<String>,
    /// What people were refused with; a form gives back what was typed.
    pub(super) pages: Vec<String>,
    pub(super) headers: Vec<String>,
    pub(super) panics: usize,
}

pub(super) struct Everything {
    pub(super) home: Home,
    pub(super) browser: Client,
    pub(super) program: Client,
    pub(super) agent: String,
    pub(super) service: String,
    pub(super) heard: Arc<Mutex<Heard>>,
    pub(super) cookies: Mutex<BTreeSet<String>>,
}

impl Everything {
    pub(super) async fn hear(&self, request: RequestBuilder) -> (u16, String) {
        let response = request.send().await.unwrap();
        self.note(response).await
    }

    pub(super) async fn note(&self, response: Response) -> (u16, String) {
        let status = response.status().as_u16();
        let is_html = header(&response, "content-type").starts_with("text/html");
        let cookie = header(&response, "set-cookie");
        if let Some(value) = cookie.split(['=', ';']).nth(1).filter(|v| v.len() > 8) {
            self.cookies.lock().unwrap().insert(value.to_owned());
        }
        let headers: Vec<String> = response
            .headers()
            .iter()
            .filter(|(name, _)| *name != "set-cookie" && *name != "location")
            .map(|(n, v)| format!("{n}: {v:?}"))
            .collect();
        let body = response.text().await.unwrap();
        let mut heard = self.heard.lock().unwrap();
        heard.headers.push(headers.join("\n"));
        if status >= 500 && status != 503 {
            heard.panics += 1;
        }
        if status >= 400 {
            match is_html {
                true => heard.pages.push(body.clone()),
                false => heard.problems.push(body.clone()),
            }
        }
        (status, body)
    }

    pub(super) async fn tool(&self, tool: &str, input: &str) -> (u16, Value) {
        let url = self.home.url(&format!("/api/v1/tools/{tool}"));
        let request = self.program.post(url).bearer_auth(&self.agent);
        let request = request.header("content-type", "application/json").body(input.to_owned());
        let (status, body) = self.hear(request).await;
        (status, serde_json::from_str(&body).unwrap_or_default())
    }

    pub(super) async fn mcp(&self, method: &str, params: Value) -> u16 {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let request = self
            .program
            .post(self.home.url("/mcp"))
            .bearer_auth(&self.agent)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", CURRENT)
            .header("mcp-method", method)
            .header("mcp-name", name)
            .json(&message(method, params));
        let (status, body) = self.hear(request).await;
        if body.contains("\"isError\":true") || body.contains("\"error\":{") {
            self.heard.lock().unwrap().problems.push(body);
        }
        status
    }

    /// A tool by both doors.
    pub(super) async fn both(&self, tool: &str, input: Value) {
        self.tool(tool, &input.to_string()).await;
        self.mcp("tools/call", json!({ "name": tool, "arguments": input })).await;
    }

    /// A form as a browser on one of our pages sends it, whose answer nobody looks at yet.
    pub(super) async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let request = self.browser.post(self.home.url(path));
        let request = request.header("sec-fetch-site", "same-origin").form(fields);
        request.send().await.unwrap()
    }

    pub(super) async fn form(&self, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let answer = self.send(path, fields).await;
        match tells_once(&answer) {
            true => self.page(&header(&answer, "location")).await,
            false => self.note(answer).await,
        }
    }

    /// Read by the agent.
    pub(super) async fn read(&self, path: &str) -> (u16, String) {
        self.hear(self.program.get(self.home.url(path)).bearer_auth(&self.agent)).await
    }

    pub(super) async fn page(&self, path: &str) -> (u16, String) {
        self.hear(self.browser.get(self.home.url(path))).await
    }
}

pub(super) fn header(response: &Response, name: &str) -> String {
    let value = response.headers().get(name);
    value.map_or(String::new(), |v| String::from_utf8_lossy(v.as_bytes()).into_owned())
}
