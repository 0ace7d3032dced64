//! One of each kind of secret goes through everything that a server does, with the
//! log turned all the way up, and is then looked for in every log, every refusal,
//! every job and every column: in clear, in hex and in base64.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::mcp::{CURRENT, message};
use crate::server::{Home, Server, find};

const EMAIL: &str = "canary.mail.6aa0@example.com";
const PASSWORD: &str = "canary password 5b1e77";
const NEW_PASSWORD: &str = "canary new password c09d12";
const KEY: &str = "sk-canary-provider-key-81f3c2";
const OTHER_KEY: &str = "sk-canary-other-key-2d77e4";
const TEXT: &str = "canarytext9c41";
const QUERY: &str = "canaryquery77d0";
const KEPT_QUERY: &str = "canarykeptquery18b3";
const THEME: &str = "canarytheme33ab";
const TAG: &str = "canarytag4f19";
const CUSTOMER: &str = "canarycustomer2d5c";

/// Where each may stand, and nowhere else: what is remembered, and who somebody is.
const LIVES_IN: &[(&str, &[&str])] = &[
    (EMAIL, &["users.email"]),
    (TEXT, &["memory_items.content", "memory_items.content_tsv"]),
    (TAG, &["memory_items.tags", "memory_items.content_tsv"]),
    (
        THEME,
        &[
            "memory_themes.slug",
            "memory_themes.display_name",
            "memory_items.content_tsv",
        ],
    ),
    // Only while its user wants that.
    (KEPT_QUERY, &["activity.query"]),
    (CUSTOMER, &["users.external_id"]),
];

/// Every spelling under which a secret could be hiding.
fn spellings(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let hex = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let mut all = vec![secret.to_owned(), hex];
    let encoded: String = url::form_urlencoded::byte_serialize(bytes).collect();
    all.push(encoded.replace('+', "%20"));
    all.push(encoded);
    for shift in 0..3 {
        let shifted: Vec<u8> = std::iter::repeat_n(b'x', shift)
            .chain(bytes.iter().copied())
            .collect();
        for engine in [
            STANDARD_NO_PAD.encode(&shifted),
            URL_SAFE_NO_PAD.encode(&shifted),
        ] {
            // Less what the neighbours decide.
            let (from, to) = ((shift * 8).div_ceil(6), shifted.len() * 8 / 6);
            all.push(engine[from..to].to_owned());
        }
    }
    all.sort();
    all.dedup();
    all
}

fn holds(text: &str, secret: &str) -> bool {
    let spelled = spellings(secret);
    spelled.iter().any(|s| text.contains(s.as_str()))
        || text.to_lowercase().contains(&secret.to_lowercase())
}

/// An endpoint that repeats all it was sent, in ever new ways of failing.
struct Echo {
    calls: Mutex<usize>,
}

impl Respond for Echo {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let turn = {
            let mut calls = self.calls.lock().unwrap();
            *calls += 1;
            *calls
        };
        let key = request
            .headers
            .get("authorization")
            .map(|v| v.to_str().unwrap().to_owned());
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
            6 => ResponseTemplate::new(429)
                .insert_header("retry-after", "0")
                .set_body_string(echo),
            _ => ResponseTemplate::new(404).set_body_json(
                json!({ "error": { "message": format!("model {echo} not found") } }),
            ),
        }
    }
}

/// Everything that was answered, for the search.
#[derive(Default)]
struct Heard {
    /// What programs were refused with.
    problems: Vec<String>,
    /// What people were refused with; a form gives back what was typed.
    pages: Vec<String>,
    headers: Vec<String>,
    panics: usize,
}

struct Everything {
    home: Home,
    browser: Client,
    program: Client,
    agent: String,
    service: String,
    heard: Arc<Mutex<Heard>>,
    cookies: Mutex<BTreeSet<String>>,
}

impl Everything {
    async fn hear(&self, request: RequestBuilder) -> (u16, String) {
        let response = request.send().await.unwrap();
        self.note(response).await
    }

    async fn note(&self, response: Response) -> (u16, String) {
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

    async fn tool(&self, tool: &str, input: &str) -> (u16, Value) {
        let request = self
            .program
            .post(self.home.url(&format!("/api/v1/tools/{tool}")))
            .bearer_auth(&self.agent)
            .header("content-type", "application/json")
            .body(input.to_owned());
        let (status, body) = self.hear(request).await;
        (status, serde_json::from_str(&body).unwrap_or_default())
    }

    async fn mcp(&self, method: &str, params: Value) -> u16 {
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

    async fn form(&self, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let request = self
            .browser
            .post(self.home.url(path))
            .header("sec-fetch-site", "same-origin")
            .form(fields);
        self.hear(request).await
    }

    async fn page(&self, path: &str) -> (u16, String) {
        self.hear(self.browser.get(self.home.url(path))).await
    }
}

fn header(response: &Response, name: &str) -> String {
    let value = response.headers().get(name);
    value.map_or(String::new(), |v| {
        String::from_utf8_lossy(v.as_bytes()).into_owned()
    })
}

fn say(home: &Home, args: &[&str], input: &str) -> String {
    use std::io::Write;
    let mut child = home
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_found_where_it_does_not_live() {
    let home = Home::new();
    let create = [
        "user",
        "create",
        "--email",
        EMAIL,
        "--admin",
        "--password-stdin",
    ];
    say(&home, &create, PASSWORD);
    let agent = say(
        &home,
        &["token", "create", "--email", EMAIL, "--agent", "canary"],
        "",
    );
    let service = say(&home, &["token", "create", "--service", "operator"], "");
    let mut command = home.command(&["serve"]);
    command.env("KEEPSAKE_LOG", "trace");
    let server = Server::start_command(&home, &mut command).await;
    let provider = MockServer::start().await;
    let calls = Mutex::new(0);
    Mock::given(any())
        .respond_with(Echo { calls })
        .mount(&provider)
        .await;
    let all = Everything {
        home,
        browser: Client::builder()
            .cookie_store(true)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap(),
        program: Client::new(),
        agent,
        service,
        heard: Arc::default(),
        cookies: Mutex::default(),
    };
    let invitation = drive(&all, &format!("{}/v1", provider.uri())).await;
    let items = wait_for_failed_vectors(&all).await;
    assert!(items >= 1, "the endpoint was called and failed");

    let Everything {
        home,
        agent,
        service,
        heard,
        cookies,
        ..
    } = all;
    let cookies = cookies.into_inner().unwrap();
    assert!(!cookies.is_empty());
    let mut secrets: Vec<String> = [PASSWORD, NEW_PASSWORD, KEY, OTHER_KEY]
        .map(str::to_owned)
        .to_vec();
    // A token's beginning and end are told; what is between is the secret.
    secrets.extend([&agent, &service].map(|token| token[3..67].to_owned()));
    secrets.extend(cookies);
    secrets.extend(invitation);
    let words = [EMAIL, TEXT, QUERY, KEPT_QUERY, THEME, TAG, CUSTOMER].map(str::to_owned);

    // What was called last is recorded within a second.
    tokio::time::sleep(Duration::from_secs(1)).await;
    search_the_database(&home, &secrets, &words).await;
    let postgres_log =
        std::fs::read_to_string(find(home.folder.path(), "postgres.log").unwrap()).unwrap();
    let (code, log) = server.stop();
    assert_eq!(code, Some(0));
    assert!(
        log.contains("TRACE") && log.contains("answered"),
        "the log is on"
    );
    for secret in secrets.iter().chain(&words) {
        for (name, log) in [("the log", &log), ("PostgreSQL's log", &postgres_log)] {
            let line = log.lines().find(|line| holds(line, secret));
            assert_eq!(line, None, "{secret} in {name}");
        }
    }
    let heard = heard.lock().unwrap();
    assert!(heard.problems.len() > 20 && heard.pages.len() > 5);
    assert_eq!(heard.panics, 0, "{:?}", heard.problems.last());
    for secret in secrets.iter().chain(&words) {
        for body in heard.problems.iter().chain(&heard.headers) {
            assert!(!holds(body, secret), "{secret} in an answer: {body:.2000}");
        }
    }
    for secret in &secrets {
        for body in &heard.pages {
            assert!(!holds(body, secret), "{secret} on a page: {body:.2000}");
        }
    }
}

/// Everything that can be done. Returns an invitation's token, where there are invitations.
async fn drive(all: &Everything, endpoint: &str) -> Option<String> {
    let other = "nobody@example.com";
    all.form("/login", &[("email", other), ("password", PASSWORD)])
        .await;
    // What was typed into a field that is no secret's stands in it again, for whoever typed
    // it: these two are looked for in the logs alone.
    for typed in [
        [("email", PASSWORD), ("password", EMAIL), ("next", "")],
        [("email", EMAIL), ("password", NEW_PASSWORD), ("next", KEY)],
    ] {
        all.form("/login", &typed).await;
        all.heard.lock().unwrap().pages.pop();
    }
    let signed_in = all
        .form("/login", &[("email", EMAIL), ("password", PASSWORD)])
        .await;
    assert_eq!(signed_in.0, 303, "{}", signed_in.1);
    all.form("/signup", &[("email", EMAIL), ("password", PASSWORD)])
        .await;

    // Remembered, found, archived, and refused in every way.
    let text = format!("{TEXT} is remembered");
    let fact = json!({ "type": "fact", "content": text, "theme": THEME, "tags": [TAG] });
    let (status, added) = all.tool("memory_add", &fact.to_string()).await;
    assert_eq!(status, 200, "{added}");
    let item = added["id"].clone();
    for input in [
        json!({ "query": QUERY }),
        json!({ "query": QUERY, "theme": THEME, "explain": true }),
        json!({ "query": QUERY, "cursor": QUERY }),
        json!({ "query": "*", "cursor": KEY }),
        json!({ "query": QUERY, "status": QUERY }),
        json!({ "query": QUERY, "types": [QUERY] }),
        json!({ "query": QUERY, "theme": format!("{THEME}{}", "x".repeat(99)) }),
        json!({ "query": QUERY.repeat(200) }),
        json!({ "query": format!("{QUERY}\0") }),
        json!({ "query": [QUERY], "limit": KEY }),
        json!({ "query": QUERY, "recency_days": QUERY }),
    ] {
        all.tool("memory_search", &input.to_string()).await;
        all.mcp(
            "tools/call",
            json!({ "name": "memory_search", "arguments": input }),
        )
        .await;
    }
    for input in [
        json!({ "type": TEXT, "content": TEXT }),
        json!({ "type": "fact", "content": TEXT.repeat(2_000) }),
        json!({ "type": "fact", "content": TEXT, "theme": "!", "tags": [TAG] }),
        json!({ "type": "fact", "content": TEXT, "tags": TAG }),
        json!({ "type": "fact", "content": TEXT, "tags": [TAG.repeat(9)] }),
        json!({ "type": "fact", "content": format!("{TEXT}\0") }),
        json!({ "content": TEXT }),
        json!(TEXT),
        json!([TEXT]),
    ] {
        all.tool("memory_add", &input.to_string()).await;
        all.mcp(
            "tools/call",
            json!({ "name": "memory_add", "arguments": input }),
        )
        .await;
    }
    for broken in [
        format!("{{\"content\": \"{TEXT}"),
        TEXT.to_owned(),
        format!("{{\"content\": \"{TEXT}\\ud800\", \"type\": \"fact\"}}"),
        format!("{{\"type\": \"fact\", \"content\": \"{TEXT}\"}} {TEXT}"),
    ] {
        all.tool("memory_add", &broken).await;
        let request = all
            .program
            .post(all.home.url("/mcp"))
            .bearer_auth(&all.agent);
        all.hear(
            request
                .header("content-type", "application/json")
                .body(broken),
        )
        .await;
    }
    for input in [
        json!({ "item_id": item }),
        json!({ "item_id": TEXT }),
        json!({ "item_id": 999_999 }),
    ] {
        all.tool("memory_get", &input.to_string()).await;
        all.mcp(
            "tools/call",
            json!({ "name": "memory_get", "arguments": input }),
        )
        .await;
    }
    all.tool(TEXT, "{}").await;
    all.mcp(
        "tools/call",
        json!({ "name": TEXT, "arguments": { TEXT: TEXT } }),
    )
    .await;
    for method in [
        TEXT,
        "resources/read",
        "prompts/get",
        "logging/setLevel",
        "server/discover",
    ] {
        all.mcp(method, json!({ "uri": TEXT, "level": TEXT })).await;
    }
    let hello = json!({ "jsonrpc": "2.0", "id": TEXT, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": TEXT, "version": QUERY } } });
    let request = all
        .program
        .post(all.home.url("/mcp"))
        .bearer_auth(&all.agent);
    let request = request.header("accept", "application/json, text/event-stream");
    // Its answer repeats the id, as JSON-RPC has it.
    request.json(&hello).send().await.unwrap();

    tokens_in_wrong_places(all).await;
    settings(all, endpoint).await;
    pages(all, &item).await;
    let invitation = invite(all).await;
    let keep = [("action", "keep")];
    let (status, page) = all.form("/activity/queries", &keep).await;
    assert_eq!(status, 200, "{page:.3000}");
    let kept = json!({ "query": KEPT_QUERY }).to_string();
    let (status, found) = all.tool("memory_search", &kept).await;
    assert_eq!(status, 200, "{found}");
    all.tool("memory_archive", &json!({ "item_id": item }).to_string())
        .await;
    let changed = [
        ("current_password", PASSWORD),
        ("new_password", NEW_PASSWORD),
    ];
    all.form(
        "/account/password",
        &[("current_password", KEY), ("new_password", NEW_PASSWORD)],
    )
    .await;
    all.form(
        "/account/password",
        &[("current_password", PASSWORD), ("new_password", "short")],
    )
    .await;
    assert_eq!(all.form("/account/password", &changed).await.0, 200);
    // Once more, so that the vector of what is remembered is asked for.
    let more = json!({ "type": "fact", "content": format!("{TEXT} again"), "theme": THEME });
    assert_eq!(all.tool("memory_add", &more.to_string()).await.0, 200);
    invitation
}

async fn tokens_in_wrong_places(all: &Everything) {
    for token in [&all.agent, &all.service] {
        for path in [
            format!("/mcp?token={token}"),
            format!("/api/v1/prompt?token={token}"),
            format!("/api/v1/{token}"),
            format!("/{token}"),
            format!("/memory?q={token}"),
        ] {
            all.hear(all.program.get(all.home.url(&path))).await;
        }
        for header in [
            format!("Basic {token}"),
            token.to_string(),
            format!("Bearer {token}x"),
            format!("Bearer {}", &token[..70]),
        ] {
            let request = all.program.get(all.home.url("/api/v1/prompt"));
            all.hear(request.header("authorization", header)).await;
        }
    }
    let as_customer = |user: &str| {
        all.program
            .post(all.home.url("/api/v1/tools/memory_add"))
            .bearer_auth(&all.service)
            .header("keepsake-user", user)
            .json(&json!({ "type": "fact", "content": TEXT }))
    };
    assert_eq!(all.hear(as_customer(CUSTOMER)).await.0, 200);
    all.hear(as_customer(&CUSTOMER.repeat(20))).await;
    all.hear(as_customer(CUSTOMER).header("keepsake-user", CUSTOMER))
        .await;
    let own = all
        .program
        .get(all.home.url("/api/v1/prompt"))
        .bearer_auth(&all.agent);
    all.hear(own.header("keepsake-user", CUSTOMER)).await;
}

/// A provider with a key, for oneself and for all; it fails and repeats everything.
async fn settings(all: &Everything, endpoint: &str) {
    let with = |action: &'static str, key: &'static str| {
        vec![
            ("action", action),
            ("own_enabled", "1"),
            ("provider_type", "openai"),
            ("url", endpoint),
            ("model", "echo"),
            ("key", key),
        ]
    };
    for _ in 0..8 {
        all.form("/settings/embeddings", &with("test", OTHER_KEY))
            .await;
        all.form("/admin/embeddings", &with("test", OTHER_KEY))
            .await;
    }
    let (_, page) = all.form("/settings/embeddings", &with("save", KEY)).await;
    let staged = page
        .split("name=\"staged\"")
        .nth(1)
        .and_then(|rest| rest.split("value=\"").nth(1));
    let staged = staged
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
        .to_owned();
    let mut confirm = with("confirm", "");
    confirm.push(("staged", staged.as_str()));
    let confirmed = all.form("/settings/embeddings", &confirm).await;
    assert_eq!(confirmed.0, 303, "{:.3000}", confirmed.1);
    // A key in another field than its own is given back like all that is typed, and is
    // looked for in the logs alone.
    for field in ["url", "dimensions", "batch_size", "provider_type", "staged"] {
        let mut bad = with("save", OTHER_KEY);
        bad.retain(|(name, _)| *name != field && (field != "staged" || *name != "key"));
        bad.push((field, KEY));
        let request = all.browser.post(all.home.url("/settings/embeddings"));
        let request = request.header("sec-fetch-site", "same-origin").form(&bad);
        request.send().await.unwrap();
    }
    let headers = all.browser.post(all.home.url("/settings/embeddings"));
    all.hear(
        headers
            .header("sec-fetch-site", "cross-site")
            .form(&with("save", KEY)),
    )
    .await;
}

async fn pages(all: &Everything, item: &Value) {
    for path in [
        format!("/memory?q={QUERY}&theme={THEME}"),
        format!("/memory/{item}?q={QUERY}"),
        format!("/memory/{TEXT}"),
        format!("/activity?tool={TEXT}&agent={TEXT}"),
        format!("/login?next=/{TEXT}"),
        format!("/docs?{TEXT}"),
        format!("/no/such/{TEXT}"),
        format!("/pkg/{TEXT}"),
        format!("/api/v1/{TEXT}?{QUERY}"),
        format!("/.well-known/{TEXT}"),
        "/memory".into(),
        "/agents".into(),
        "/activity".into(),
        "/account".into(),
        "/admin".into(),
        "/settings/embeddings".into(),
    ] {
        let (status, page) = all.page(&path).await;
        for secret in [KEY, OTHER_KEY, PASSWORD] {
            assert!(!holds(&page, secret), "{secret} at {path} ({status})");
        }
    }
    // Not there on every server: what it says of everybody, it says to everybody.
    let metrics = all
        .program
        .get(all.home.url("/metrics"))
        .send()
        .await
        .unwrap();
    if metrics.status() == 200 {
        let said = metrics.text().await.unwrap();
        for secret in [
            KEY,
            EMAIL,
            TEXT,
            QUERY,
            THEME,
            TAG,
            CUSTOMER,
            PASSWORD,
            &all.agent[3..67],
        ] {
            assert!(!holds(&said, secret), "{secret} in /metrics");
        }
    }
    for (path, fields) in [
        ("/agents", [("name", KEY), ("scope", "x")]),
        (
            "/agents/1/tokens",
            [("scope", TEXT), ("expires_days", TEXT)],
        ),
        ("/admin/endpoints", [("action", "add"), ("endpoint", TEXT)]),
        ("/account/memory", [("action", TEXT), ("x", TEXT)]),
    ] {
        let request = all.browser.post(all.home.url(path)).form(&fields);
        request
            .header("sec-fetch-site", "same-origin")
            .send()
            .await
            .unwrap();
    }
}

/// Where admins can invite: the token, which is shown once.
async fn invite(all: &Everything) -> Option<String> {
    let fields = [("email", "invited@example.com"), ("role", "member")];
    let (status, page) = all.form("/admin/invitations", &fields).await;
    if status != 200 {
        assert_eq!(status, 404, "{page:.3000}");
        return None;
    }
    let token: String = page
        .split("/invitation/")
        .nth(1)
        .expect("an address to send")
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c))
        .collect();
    all.page(&format!("/invitation/{token}")).await;
    all.page(&format!("/invitation/{token}x")).await;
    Some(token)
}

/// Until the worker has been at it: how many items stand as failed or wait for the next try.
async fn wait_for_failed_vectors(all: &Everything) -> i64 {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        let mut conn = superuser(&all.home).await;
        let tried: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM embedding_spaces WHERE failures > 0 OR problem IS NOT NULL",
        )
        .fetch_one(&mut conn)
        .await
        .unwrap();
        if tried > 0 {
            return tried;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    0
}

async fn superuser(home: &Home) -> PgConnection {
    let options = keepsake::postgres::of_running_server(home.folder.path())
        .unwrap()
        .unwrap();
    PgConnection::connect_with(&options).await.unwrap()
}

/// Every column of every table of every schema of ours and of the queue's.
async fn search_the_database(home: &Home, secrets: &[String], words: &[String]) {
    let mut conn = superuser(home).await;
    let columns = sqlx::query(
        "SELECT c.oid::regclass::text AS table, quote_ident(a.attname) AS column
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
         ORDER BY 1, 2",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    assert!(columns.len() > 100, "only {} columns", columns.len());
    let mut lived_in: BTreeSet<(String, String)> = BTreeSet::new();
    for column in columns {
        let (table, column): (String, String) = (column.get("table"), column.get("column"));
        let place = format!("{table}.{column}");
        let all = AssertSqlSafe(format!(
            "SELECT {column}::text FROM {table} WHERE {column} IS NOT NULL"
        ));
        let values: Vec<String> = sqlx::query_scalar(all).fetch_all(&mut conn).await.unwrap();
        let values = values.join("\n");
        for secret in secrets {
            assert!(!holds(&values, secret), "{secret} in {place}");
        }
        for word in words {
            if !holds(&values, word) {
                continue;
            }
            let may = LIVES_IN.iter().find(|(known, _)| known == word);
            let is_home = may.is_some_and(|(_, places)| places.contains(&place.as_str()));
            assert!(is_home, "{word} in {place}");
            lived_in.insert((word.clone(), place.clone()));
        }
    }
    // What is listed is true, and the search does find things.
    for (word, places) in LIVES_IN {
        let found = places
            .iter()
            .any(|p| lived_in.contains(&((*word).to_owned(), (*p).to_owned())));
        assert!(found, "{word} was found in none of {places:?}");
    }
}

const PANICS: &str = "KEEPSAKE_TEST_PANICS";

/// The standard library quotes the text that it could not cut.
#[test]
fn a_panic_tells_where_and_never_what() {
    if std::env::var_os(PANICS).is_some() {
        tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .init();
        keepsake::panics::tell_only_where();
        let text = format!("é{TEXT}");
        let cut = std::thread::spawn(move || text[..1].len());
        assert!(cut.join().is_err());
        return;
    }
    let test = "secrets::canary::a_panic_tells_where_and_never_what";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(PANICS, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("the program panicked"),
        "{said}"
    );
    assert!(
        said.contains("canary.rs:") && !said.contains(TEXT),
        "{said}"
    );
}

#[test]
fn the_search_knows_each_spelling() {
    let hidden = |text: &str| holds(text, KEY);
    assert!(hidden(&format!("x{KEY}y")));
    assert!(hidden(&format!(
        "\\x{}",
        KEY.bytes().map(|b| format!("{b:02x}")).collect::<String>()
    )));
    for before in ["", "a", "ab", "abc", "{\"key\":\""] {
        assert!(
            hidden(&STANDARD_NO_PAD.encode(format!("{before}{KEY}\"}}"))),
            "{before}"
        );
        assert!(
            hidden(&URL_SAFE_NO_PAD.encode(format!("{before}{KEY}"))),
            "{before}"
        );
    }
    assert!(hidden(&KEY.to_uppercase()) && !hidden("sk-canary"));
}
