//! A request's body can come long after its head. What the caller was allowed when the head
//! came does not count: rights are read again in the transaction that acts.

use keepsake::accounts::admin_events::{AdminAction, AdminActor};
use keepsake::accounts::{AgentId, TokenHolder, TokenId};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::assert_has;
use super::every_route::{Filled, Route, routes};
use crate::support::Sql as _;
use crate::support::{PASSWORD, TestApp, TestUser};

/// A request whose head is sent and whose body is not.
pub struct Held {
    stream: TcpStream,
    body: String,
}

impl Held {
    /// By now the caller was let in: "100 Continue" is sent when a handler begins to read.
    async fn start(app: &TestApp, path: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let host = app.base.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await.unwrap();
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"\r\n\r\n") {
            said.push(stream.read_u8().await.unwrap());
        }
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("HTTP/1.1 100 "), "{path}: {said}");
        let body = body.to_owned();
        Self { stream, body }
    }

    /// Status and body of the answer, once the rest is sent.
    pub async fn finish(mut self) -> (u16, String) {
        self.stream.write_all(self.body.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        self.stream.read_to_end(&mut said).await.unwrap();
        let said = String::from_utf8_lossy(&said).into_owned();
        let status = said.split(' ').nth(1).unwrap().parse().unwrap();
        (status, said)
    }
}

/// The cookie of a new web session.
pub async fn sign_in(app: &TestApp, user: &TestUser) -> String {
    let fields = [("email", user.email.as_str()), ("password", PASSWORD)];
    let response = app.browser().post("/login", &fields).await;
    assert_eq!(response.status(), 303);
    let cookie = response.headers()["set-cookie"].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// A file to import, as a form posts it.
pub const UPLOAD: &str = "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n{\"keepsake_export\":1}\n{\"record\":\"item\",\"type\":\"fact\",\"content\":\"Anna keeps bees.\"}\n\r\n--x--\r\n";

pub async fn held_form(app: &TestApp, cookie: &str, path: &str, body: &str) -> Held {
    let content_type = match body {
        UPLOAD => "multipart/form-data; boundary=x",
        _ => "application/x-www-form-urlencoded",
    };
    let headers =
        [("cookie", cookie), ("sec-fetch-site", "same-origin"), ("content-type", content_type)];
    Held::start(app, path, &headers, body).await
}

/// What makes the form act; the rest read an action or fail.
fn fields_of(path: &str) -> &'static str {
    match path {
        "/admin/users/{user_id}" => "action=promote",
        "/admin/invitations" => "email=&role=admin",
        "/admin/embeddings" => "action=builtin_off",
        "/admin/chat" => "action=save&provider_type=openai&url=http://127.0.0.1:9/v1&model=m",
        "/admin/browser" => "action=close",
        "/admin/storage" => "mib=1",
        "/admin/endpoints" => "action=add&endpoint=127.0.0.1:9",
        "/account/time-zone" => "time_zone=Asia/Tokyo",
        "/admin/jobs" => "action=pause&job=embed",
        "/admin/backups" => "action=back_up",
        "/admin/operators" => "name=new&users_max=5&scope=act_as&scope=memory:read",
        "/admin/operators/{operator_id}" => "users_max=7",
        "/admin/operators/{operator_id}/tokens" => "scope=act_as&scope=memory:read",
        "/agents" => "name=new&scope=memory:read",
        "/agents/{agent_id}/tokens" => "scope=memory:read",
        "/agents/{agent_id}/memory" | "/sessions" | "/account/memory" => "action=off",
        "/agents/{agent_id}/tools" => "action=full",
        "/agents/{agent_id}/undo" => "action=undo&since=2026",
        "/account/tokens" => "action=end_all",
        "/activity/queries" => "action=on",
        "/settings/embeddings" | "/settings/chat" => "action=disable",
        "/account/password" => {
            "current_password=correct horse battery&new_password=another long one"
        }
        "/data/import" => UPLOAD,
        "/memory/{id}" => "action=archive",
        "/data/delete" => "action=delete&item=1",
        "/data/erase" => "email=anna@example.com&password=correct horse battery",
        _ => "action=none",
    }
}

/// Forms whose address says all: they act before their body comes, and cannot be held.
const WITHOUT_A_BODY: [&str; 4] = [
    "/admin/users/{user_id}/reset",
    "/agents/{agent_id}/tokens/{token_id}/revoke",
    "/admin/invitations/{invitation_id}/revoke",
    "/admin/operators/{operator_id}/tokens/{token_id}/revoke",
];

/// Forms that nobody has to be signed in for, or that only end something.
const FOR_STRANGERS: [&str; 5] =
    ["/login", "/signup", "/logout", "/invitation/{token}", "/reset/{token}"];

fn is_held(route: &Route) -> bool {
    route.caller == "people"
        && route.methods.contains(&"post")
        && !WITHOUT_A_BODY.contains(&route.path.as_str())
}

#[tokio::test]
async fn a_held_form_of_somebody_who_was_demoted_or_disabled_changes_nothing() {
    let filled = Filled::start().await;
    let app = &filled.app;
    let zoe = app.user("zoe").await;
    app.make_admin(&zoe).await;
    let cookie = sign_in(app, &filled.anna).await;
    let mut conn = app.superuser().await;
    conn.sql("CREATE TEMP TABLE kept AS SELECT * FROM web_sessions").run_all().await;
    let change = |act| app.accounts.change_person(AdminActor::Command, filled.anna.id, act);
    for (end, back, refusal, held_min) in [
        (AdminAction::Demote, AdminAction::Promote, 403, 8),
        (AdminAction::Disable, AdminAction::Enable, 401, 18),
    ] {
        let mut held_count = 0;
        for route in routes().iter().filter(|route| is_held(route)) {
            let is_meant = match end {
                AdminAction::Demote => route.path.starts_with("/admin"),
                // Refused before anything else without a client's request in its address.
                _ => {
                    route.path != "/oauth/authorize"
                        && !FOR_STRANGERS.contains(&route.path.as_str())
                }
            };
            if !is_meant {
                continue;
            }
            let path = filled.url(route).replace(&app.base, "");
            let held = held_form(app, &cookie, &path, fields_of(&route.path)).await;
            held_count += 1;
            change(end).await.unwrap();
            let before = filled.fingerprint().await;
            let (status, said) = held.finish().await;
            assert_eq!(status, refusal, "{}: {said}", route.path);
            if end == AdminAction::Demote {
                assert_has(&said, &["no longer an admin", "</html>"]);
                assert!(!said.contains("href=\"/admin\""), "{}: {said}", route.path);
            }
            assert_eq!(filled.fingerprint().await, before, "{}", route.path);
            change(back).await.unwrap();
            let again = "INSERT INTO web_sessions SELECT * FROM kept ON CONFLICT DO NOTHING";
            conn.sql(again).run_all().await;
        }
        assert!(held_count >= held_min, "{held_count}");
    }
}

/// What is sent at each door of programs, and where.
fn calls() -> [(&'static str, Value); 3] {
    let add = json!({ "type": "fact", "content": "too late" });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                       "params": { "name": "memory_add", "arguments": add } });
    let said = json!({ "messages": [{ "id": "1", "role": "user", "content": "too late" }] });
    [("/api/v1/tools/memory_add", add), ("/mcp", call), ("/api/v1/sessions/late/messages", said)]
}

async fn held_call(
    app: &TestApp,
    token: &str,
    user: Option<&str>,
    path: &str,
    body: &Value,
) -> Held {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    headers.extend(user.map(|user| ("keepsake-user", user)));
    Held::start(app, path, &headers, &body.to_string()).await
}

async fn written(app: &TestApp) -> i64 {
    let users = app.count("users WHERE operator_id IS NOT NULL").await;
    app.count("memory_items").await + app.count("session_messages").await + users
}

#[tokio::test]
async fn a_held_call_of_a_token_that_ended_meanwhile_writes_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    for (path, body) in calls() {
        for (end, code) in [
            ("revoke", "revoked_token"),
            ("expire", "expired_token"),
            ("switch off", "memory_off"),
            ("disable", "disabled_user"),
        ] {
            let lifetime = Some(time::Duration::hours(1));
            let token = app.token(anna.id, end, &keepsake::accounts::Scope::ALL, lifetime).await;
            let held = held_call(&app, &token, None, path, &body).await;
            let change = |act| app.accounts.change_person(AdminActor::Command, anna.id, act);
            match end {
                "revoke" => {
                    let newest = "SELECT agent_id, id FROM agent_tokens ORDER BY id DESC LIMIT 1";
                    let (agent, token) = app.sql(newest).row::<(i64, i64)>().await;
                    let of_agent = TokenHolder::Agent(anna.id, AgentId(agent));
                    app.accounts.revoke_token(of_agent, TokenId(token)).await.unwrap();
                }
                "expire" => app.clock.advance(time::Duration::hours(2)),
                "switch off" => app.accounts.switch_user_memory(anna.id, false).await.unwrap(),
                _ => drop(change(AdminAction::Disable).await.unwrap()),
            }
            let (status, said) = held.finish().await;
            assert!(said.contains(code), "{path} {end}: {said}");
            // A tool's error is an answer at the door of MCP.
            let is_refused = matches!(status, 401 | 403) || path == "/mcp";
            assert!(is_refused, "{path} {end}: {said}");
            assert_eq!(written(&app).await, 0, "{path} {end}");
            app.accounts.switch_user_memory(anna.id, true).await.unwrap();
            change(AdminAction::Enable).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_held_call_of_a_revoked_service_token_writes_nothing_and_makes_no_user() {
    let app = TestApp::start().await;
    for (path, body) in calls() {
        let token = app.service_token("support", &keepsake::accounts::Scope::ALL).await;
        let held = held_call(&app, &token, Some("customer"), path, &body).await;
        let operators = app.accounts.list_operators().await.unwrap();
        let (operator, newest) = (operators[0].id, operators[0].tokens[0].id);
        app.accounts.revoke_token(TokenHolder::Operator(operator), newest).await.unwrap();
        let (status, said) = held.finish().await;
        assert!(said.contains("revoked_token"), "{path}: {said}");
        assert!(matches!(status, 401) || path == "/mcp", "{path}: {said}");
        assert_eq!(written(&app).await, 0, "{path}");
    }
}
