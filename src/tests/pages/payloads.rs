//! One suite of hostile text through every field that is ever shown, and a look
//! at every page: nothing of it becomes an element, an attribute or an address,
//! and what is refused is refused with one sentence.

use html5gum::{Token, Tokenizer};
use keepsake::accounts::{AgentName, Email, Password, Role, Scope};
use keepsake::config::SignUp;
use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::endpoint_form;
use super::every_route::plain_pages;
use crate::support::{Browser, ChatServer, PASSWORD, Provider, TestApp, TestUser};

/// Each would call `pwn`, or turn what stands beside it about.
const PAYLOADS: [&str; 9] = [
    "<script>pwn()</script>",
    "\"><img src=x onerror=pwn()>",
    "'><svg/onload=pwn()>",
    "</title></textarea></script><script>pwn()</script>",
    "javascript:pwn()",
    "</q><a href=javascript:pwn()>pwn</a>",
    "<!--><template><iframe srcdoc=pwn>",
    "&lt;script&gt;pwn()&lt;/script&gt;",
    "\u{202e}pwn\u{2066}\u{2067}\u{200b}\u{feff}pwn",
];

/// Nothing of a page is made of the payload; returns how often its text is shown.
fn check(what: &str, page: &str) -> usize {
    let mut shown = 0;
    let mut in_script = false;
    for Ok(token) in Tokenizer::new(page) {
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                in_script = name == "script";
                assert!(!name.contains("pwn"), "{what}: <{name}>");
                let is_embedded =
                    ["iframe", "object", "embed", "base", "img"].contains(&name.as_str());
                assert!(!is_embedded, "{what}: <{name}>");
                for (attribute, value) in &tag.attributes {
                    let attribute = String::from_utf8_lossy(attribute).into_owned();
                    let value = String::from_utf8_lossy(&value.value).into_owned();
                    let is_code = attribute.starts_with("on")
                        || ["style", "srcdoc"].contains(&attribute.as_str());
                    assert!(!is_code && !attribute.contains("pwn"), "{what}: <{name} {attribute}>");
                    let is_address =
                        ["href", "src", "action", "formaction"].contains(&attribute.as_str());
                    let is_ours = value.starts_with('/') && !value.starts_with("//")
                        || value.starts_with('#');
                    assert!(!is_address || is_ours, "{what}: <{name} {attribute}={value}>");
                    assert!(!is_address || !value.contains(['<', '\u{202e}']), "{what}: {value}");
                    shown += usize::from(!is_address && value.contains("pwn"));
                }
            }
            Token::String(text) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                assert!(!in_script || !text.contains("pwn"), "{what}: in a script: {text}");
                shown += usize::from(text.contains("pwn"));
            }
            Token::EndTag(_) => in_script = false,
            Token::Comment(comment) => {
                let comment = String::from_utf8_lossy(&comment).into_owned();
                assert!(!comment.contains("pwn"), "{what}: <!--{comment}-->");
            }
            _ => {}
        }
    }
    shown
}

async fn look(browser: &Browser, path: &str) -> usize {
    let (status, page) = browser.get(path).await;
    assert!([200, 400, 404, 422].contains(&status), "{path}: {status}");
    check(path, &page)
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// A page's first sentences of error.
fn has_error(page: &str) -> bool {
    page.contains("class=\"error\"") || page.contains("role=\"alert\"")
}

async fn filled(app: &TestApp) -> (TestUser, Browser) {
    let anna = app.user("anna").await;
    app.make_admin(&anna).await;
    let browser = app.signed_in(&anna).await;
    browser.post("/activity/queries", &[("action", "keep")]).await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, PAYLOADS[0]).await;
    let url = provider.url();
    for payload in PAYLOADS {
        // The provider says its model's name, which is the payload.
        let test = endpoint_form("test", &url, payload);
        let report = browser.post("/settings/embeddings", &test).await;
        let report = report.text().await.unwrap();
        assert!(report.contains("Works:") && check("a test's report", &report) >= 2);
        let item = json!({ "type": "fact", "content": payload, "theme": payload, "tags": [payload],
                "key": payload, "source_context": payload });
        let id = anna.added(item).await;
        anna.call("memory_search", json!({ "query": payload })).await;
        anna.call("memory_get", json!({ "item_id": id })).await;
        let asks = crate::oauth::asking(app, payload).await;
        assert!(look(&browser, &asks).await >= 1, "{payload}");
        let allow = [("action", "allow"), ("agent", "new"), ("scope", "memory:read")];
        // A new agent has a name.
        browser.answers(422, &asks, &allow).await;
        let name = format!("client of {payload}");
        let allow = allow.into_iter().chain([("name", name.as_str())]);
        browser.answers(303, &asks, &allow.collect::<Vec<_>>()).await;
        let service = app.service_token(payload, &Scope::ALL).await;
        let token = app.token(anna.id, payload, &Scope::ALL, None).await;
        let agent = anna.with_token(&token);
        agent.add(&format!("by an agent: {payload}")).await;
        hand_over(&agent, payload).await;
        let visible = payload.trim_start_matches('\u{202e}');
        let external = Client::new()
            .post(format!("{}/api/v1/tools/memory_list_themes", app.base))
            .bearer_auth(service)
            .header("keepsake-user", visible.as_bytes())
            .json(&json!({}));
        let is_visible = visible.is_ascii();
        assert_eq!(external.send().await.unwrap().status() == 200, is_visible, "{payload}");
        let address = format!("{}@example.com", payload.replace([' ', '@'], ""));
        match Email::parse(&address) {
            Ok(email) => {
                let password = Password::parse_new("password", PASSWORD).unwrap();
                let made = app.accounts.create_user(&email, password, Role::Member).await;
                assert!(is_visible, "{address:?}");
                made.unwrap();
                let bound = Email::parse(&format!("i{}", email.as_str())).unwrap();
                app.accounts.invite(anna.id, Some(&bound), Role::Member).await.unwrap();
            }
            Err(_) => assert!(!is_visible, "{address}"),
        }
    }
    let server = ChatServer::answering(|body, _| {
        wiremock::ResponseTemplate::new(200).set_body_json(json!({
            "model": body["model"], "choices": [{ "message": { "content": PAYLOADS[0] } }],
        }))
    })
    .await;
    let url = server.url();
    for (path, payload) in ["/settings/chat", "/admin/chat"]
        .into_iter()
        .flat_map(|path| PAYLOADS.map(|payload| (path, payload)))
    {
        // The endpoint says its model's name, which is the payload; past ten it is
        // enough that what was typed comes back as text.
        let report = browser.post(path, &endpoint_form("test", &url, payload)).await;
        assert!(check("a chat test's report", &report.text().await.unwrap()) >= 1);
        browser.post(path, &endpoint_form("save", &url, payload)).await;
    }
    provider.behave(|b| b.poison = Some("pwn"));
    app.drain(&anna).await;
    app.activity.flush().await.unwrap();
    (anna, browser)
}

/// A session with the payload in each of its fields.
async fn hand_over(agent: &TestUser, payload: &str) {
    let said = json!([
        { "id": payload, "role": "user", "content": payload },
        { "id": "2", "role": "assistant", "tool_calls": [{ "id": payload, "name": payload, "arguments": payload }] },
        { "id": "3", "role": "tool", "tool_call_id": payload, "content": payload.repeat(60) },
    ]);
    crate::data::hand_over(agent, &encoded(payload), &said).await;
}

#[tokio::test]
async fn no_text_that_is_kept_becomes_markup_on_any_page() {
    let app = TestApp::start().await;
    let (anna, browser) = filled(&app).await;
    for (path, at_least) in [
        ("/memory?status=all", 40),
        ("/agents", 8),
        ("/activity", 20),
        ("/sessions", 18),
        ("/settings/embeddings", 2),
        ("/settings/chat", 2),
        ("/admin", 10),
        ("/admin/backups", 0),
        ("/admin/jobs", 0),
        ("/admin/users", 14),
    ] {
        let shown = look(&browser, path).await;
        assert!(shown >= at_least, "{path} shows {shown}");
    }
    for id in anna.find("*").await {
        assert!(look(&browser, &format!("/memory/{id}?q=pwn")).await >= 2);
        look(&browser, &format!("/activity?item={id}")).await;
    }
    // Every memory came of some session.
    app.sql("UPDATE memory_items i SET message_id = 1, session_id =
                (SELECT s.id FROM sessions s WHERE s.user_id = i.user_id ORDER BY s.id OFFSET i.id % 3 LIMIT 1)
             WHERE NOT is_turn").run().await;
    let failed = "UPDATE session_extractions SET outcome = 'failed', reason = $1, model = $1, ended_at = now(),
                  next_try_at = now() RETURNING session_id";
    let sessions: Vec<i64> = app.sql(failed).bind(PAYLOADS[0]).values().await;
    assert_eq!(sessions.len(), PAYLOADS.len());
    for id in sessions {
        assert!(look(&browser, &format!("/sessions/{id}")).await >= 9);
    }
    // What a model wrote: as hostile as the memories that it stands on.
    let summary = "INSERT INTO memory_summaries (user_id, body, made_at, model, failure) VALUES ($1, $2, now(), $3, $3)";
    app.sql(summary).bind(anna.id.0).bind(PAYLOADS.join("\n\n")).bind(PAYLOADS[0]).run().await;
    let stands_on =
        "INSERT INTO memory_summary_items SELECT user_id, id FROM memory_items WHERE user_id = $1";
    app.sql(stands_on).bind(anna.id.0).run().await;
    assert!(look(&browser, "/summary").await >= PAYLOADS.len() * 2 + 2);
    // As who has such an address.
    let users = app.accounts.list_users().await.unwrap();
    let hostile = users.into_iter().find(|u| u.email.contains("<script>")).unwrap();
    let theirs = app.browser();
    let fields = [("email", hostile.email.as_str()), ("password", PASSWORD)];
    theirs.answers(303, "/login", &fields).await;
    for path in plain_pages().filter(|path| path != "/login" && !path.starts_with("/admin")) {
        assert!(look(&theirs, &path).await >= 1, "{path} says who is signed in");
    }
    let bound = Email::parse("\"><svg/onload=pwn()>@example.com").unwrap();
    let link = app.accounts.invite(anna.id, Some(&bound), Role::Admin).await.unwrap();
    assert!(look(&browser, &format!("/invitation/{}", link.reveal())).await >= 1);
}

#[tokio::test]
async fn nothing_in_an_address_becomes_markup_and_none_breaks_a_page() {
    let (app, anna, browser) = TestApp::start_with_admin().await;
    let id = anna.add("tea").await;
    let stranger = app.browser();
    let asks = crate::oauth::asking(&app, "Claude").await;
    for payload in PAYLOADS.into_iter().chain(["\0pwn", "pwn\u{fffd}"]) {
        let text = encoded(payload);
        let mut echoed = 0;
        for path in [
            format!("/memory?q={text}"),
            format!("/memory?theme={text}"),
            format!(
                "/memory?q={text}&theme={text}&type={text}&status={text}&embedding={text}&archived={text}&shown={text}"
            ),
            format!("/memory/{id}?q={text}"),
            format!("/memory/{text}"),
            format!(
                "/activity?agent={text}&tool={text}&outcome={text}&days={text}&item={text}&shown={text}"
            ),
            format!("/activity?day={text}&theme={text}"),
            format!("/sessions?agent={text}&state={text}&outcome={text}&shown={text}"),
            format!("/sessions/{text}?from={text}"),
            format!("/admin/users?q={text}"),
            format!("/admin/users?before={text}&operator=1&external_id={text}"),
            format!("/invitation/{text}"),
            format!("/oauth/authorize?client_id={text}&redirect_uri={text}&state={text}"),
            format!("{asks}&{text}={text}"),
            format!("/{text}"),
        ] {
            echoed += look(&browser, &path).await;
        }
        echoed += look(&stranger, &format!("/login?next={text}")).await;
        assert!(echoed >= 4, "{payload:?} is seen {echoed} times");
    }
    for byte in ["%ff", "%c3%28", "%ed%a0%80"] {
        let queries = ["/memory?q=", "/memory?theme=", "/admin/users?q=", "/login?next="];
        for path in queries.into_iter().chain(["/memory/", "/invitation/"]) {
            let (status, _) = browser.get(&format!("{path}{byte}")).await;
            assert!(status < 500, "{path}{byte}: {status}");
        }
    }
}

/// Every form there is, with its fields.
pub(super) const FORMS: [(&str, &[&str]); 18] = [
    ("/login", &["email", "password", "next"]),
    ("/signup", &["email", "password", "next"]),
    ("/agents", &["name", "scope", "expires_days"]),
    ("/agents/1/tokens", &["scope", "expires_days"]),
    ("/account/time-zone", &["time_zone"]),
    ("/account/password", &["current_password", "new_password"]),
    (
        "/settings/embeddings",
        &[
            "provider_type",
            "url",
            "model",
            "dimensions",
            "key",
            "preset",
            "query_prefix",
            "document_prefix",
            "batch_size",
            "concurrency",
            "pause_ms",
            "staged",
        ],
    ),
    (
        "/admin/embeddings",
        &["url", "model", "dimensions", "key", "query_prefix", "document_prefix"],
    ),
    ("/settings/chat", &["provider_type", "url", "model", "key"]),
    ("/admin/chat", &["provider_type", "url", "model", "key", "daily_token_cap"]),
    ("/settings/webhooks", &["url", "event"]),
    ("/admin/endpoints", &["endpoint", "purpose"]),
    ("/admin/storage", &["mib"]),
    ("/admin/operators", &["name", "users_max", "scope", "expires_days"]),
    ("/admin/operators/1", &["users_max"]),
    ("/admin/invitations", &["email", "role"]),
    ("/admin/users/1", &["action"]),
    ("/admin/jobs", &["action", "job", "at", "weekday"]),
];

#[tokio::test]
async fn what_a_form_echoes_is_text_and_what_it_refuses_is_refused_in_a_sentence() {
    let app = TestApp::start_with(SignUp::Open).await;
    let anna = app.user("anna").await;
    app.make_admin(&anna).await;
    app.service_token("bot", &Scope::ALL).await;
    let browser = app.signed_in(&anna).await;
    let invitation = app.accounts.invite(anna.id, None, Role::Member).await.unwrap();
    let invitation = format!("/invitation/{}", invitation.reveal());
    let accepting: (&str, &[&str]) = (&invitation, &["email", "password"]);
    let asks = crate::oauth::asking(&app, "Claude").await;
    let consent: (&str, &[&str]) = (&asks, &["agent", "name", "scope", "tools"]);
    let long = format!("<script>pwn()</script>{}", "x".repeat(1 << 20));
    let hostile = PAYLOADS.into_iter().chain(["\0pwn", long.as_str()]);
    let mut echoed = 0;
    for payload in hostile {
        let label: String = payload.chars().take(40).collect();
        for (path, fields) in FORMS.into_iter().chain([accepting, consent]) {
            for field in fields {
                let is_secret = field.contains("password") || *field == "key";
                let secret = format!("s3cr3t{payload}");
                let mut sent = vec![(*field, if is_secret { &secret } else { payload })];
                let is_of_endpoint = path.ends_with("embeddings") || path.ends_with("/chat");
                for action in ["save", "add"] {
                    if is_of_endpoint == (action == "save") && *field != "action" {
                        sent.push(("action", action));
                    }
                }
                if path.starts_with("/oauth/") {
                    let allow = [("agent", "new"), ("name", "x"), ("scope", "memory:read")];
                    sent.retain(|(name, _)| *name != "action");
                    sent.push(("action", "allow"));
                    sent.extend(allow.into_iter().filter(|(name, _)| name != field));
                }
                if is_of_endpoint {
                    let form = endpoint_form("", "https://models.example.com", "m");
                    let endpoint = form.into_iter().filter(|(name, _)| *name != "action");
                    sent.extend(endpoint.filter(|(name, _)| name != field));
                }
                let response = browser.post(path, &sent).await;
                let status = response.status().as_u16();
                let what = format!("{path} {field}={label:?}");
                assert!([200, 303, 404, 422, 429].contains(&status), "{what}: {status}");
                let page = response.text().await.unwrap();
                let shown = check(&what, &page);
                assert!(!page.contains("s3cr3t"), "{what} is sent back");
                assert!(status != 422 || has_error(&page), "{what}: no sentence");
                let is_refused = payload.starts_with('\0') || payload.len() > 1000;
                let is_text = !["next", "staged", "current_password", "key"].contains(field);
                assert!(!is_refused || !is_text || status >= 400, "{what}: {status} is taken");
                echoed += shown;
            }
        }
    }
    assert!(echoed > 50, "{echoed}");
}

async fn raw(app: &TestApp, user: &TestUser, tool: &str, body: String) -> Response {
    Client::new()
        .post(format!("{}/api/v1/tools/{tool}", app.base))
        .bearer_auth(&user.token)
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await
        .unwrap()
}

#[tokio::test(crate = "crate::support::shared")]
async fn nul_lone_surrogates_and_a_megabyte_are_refused_in_every_field_of_every_tool() {
    let (app, anna) = TestApp::with_user().await;
    let id = anna.add("tea").await;
    let whole = [
        ("memory_add", json!({ "type": "fact", "content": "c", "theme": "t", "tags": ["g"] })),
        (
            "memory_search",
            json!({ "query": "q", "theme": "t", "types": ["fact"], "status": "any", "cursor": "c" }),
        ),
        ("memory_get", json!({ "item_id": id.to_string() })),
        ("memory_archive", json!({ "item_id": id.to_string() })),
    ];
    let long = format!("\"{}\"", "x".repeat(1 << 20));
    for (tool, input) in whole {
        for (field, value) in input.as_object().unwrap() {
            for hostile in [r#""a\u0000b""#, r#""\ud800""#, r#""a\udc00b""#, long.as_str()] {
                let hostile_value = match value {
                    Value::Array(_) => format!("[{hostile}]"),
                    _ => hostile.to_owned(),
                };
                let mut rest = input.clone();
                // Any cursor but one of ours is refused, whatever stands beside it.
                for left_out in [field.as_str(), "cursor"] {
                    rest.as_object_mut().unwrap().remove(left_out);
                }
                let rest = rest.to_string();
                let rest = rest.trim_start_matches('{');
                let comma = if rest == "}" { "" } else { "," };
                let body = format!("{{\"{field}\":{hostile_value}{comma}{rest}");
                let response = raw(app, &anna, tool, body).await;
                let status = response.status().as_u16();
                let what = format!("{tool} {field}={:.12}", hostile);
                assert!([400, 413, 422].contains(&status), "{what}: {status}");
                let said: Value = response.json().await.unwrap();
                let detail = said["detail"].as_str().unwrap();
                assert!(detail.ends_with(['.', '}']) && detail.len() < 400, "{what}: {detail}");
                if status == 422 {
                    let named = said["field"].as_str().unwrap_or_default();
                    assert!(
                        named.starts_with(field.as_str()) && detail.contains(field.as_str()),
                        "{what}: {said}"
                    );
                }
            }
        }
    }
    assert_eq!(anna.find("*").await.len(), 1);
    assert!(AgentName::parse("a\0b").is_err());
}
