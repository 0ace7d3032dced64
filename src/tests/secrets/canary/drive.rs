//! Everything that can be asked of a server, well and badly.

use serde_json::{Value, json};

use super::everything::Everything;
use super::holds::holds;
use super::oauth;
use super::{
    CUSTOMER, EMAIL, KEPT_QUERY, KEY, NEW_PASSWORD, OTHER_KEY, PASSWORD, QUERY, SESSION, TAG, TEXT,
    THEME,
};
use crate::pages::every_route::plain_pages;

/// Everything that can be done. Returns the secrets that came of it: of an invitation, where there are invitations, and of a
/// client that was connected.
pub(super) async fn drive(all: &Everything, endpoint: &str) -> Vec<String> {
    let other = "nobody@example.com";
    all.form("/login", &[("email", other), ("password", PASSWORD)]).await;
    // What was typed into a field that is no secret's stands in it again, for whoever typed
    // it: these two are looked for in the logs alone.
    for typed in [
        [("email", PASSWORD), ("password", EMAIL), ("next", "")],
        [("email", EMAIL), ("password", NEW_PASSWORD), ("next", KEY)],
    ] {
        all.form("/login", &typed).await;
        all.heard.lock().unwrap().pages.pop();
    }
    let signed_in = all.form("/login", &[("email", EMAIL), ("password", PASSWORD)]).await;
    assert_eq!(signed_in.0, 303, "{}", signed_in.1);
    all.form("/signup", &[("email", EMAIL), ("password", PASSWORD)]).await;

    // Remembered, found, archived, and refused in every way.
    let text = format!("{TEXT} is remembered");
    let fact = json!({ "type": "fact", "content": text, "theme": THEME, "tags": [TAG] });
    let (status, added) = all.tool("memory_add", &fact.to_string()).await;
    assert_eq!(status, 200, "{added}");
    let item = added["id"].clone();
    let searches = [
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
    ];
    let adds = [
        json!({ "type": TEXT, "content": TEXT }),
        json!({ "type": "fact", "content": TEXT.repeat(2_000) }),
        json!({ "type": "fact", "content": TEXT, "theme": "!", "tags": [TAG] }),
        json!({ "type": "fact", "content": TEXT, "tags": TAG }),
        json!({ "type": "fact", "content": TEXT, "tags": [TAG.repeat(9)] }),
        json!({ "type": "fact", "content": format!("{TEXT}\0") }),
        json!({ "type": "fact", "content": TEXT, "key": TEXT.repeat(9) }),
        json!({ "type": "fact", "content": TEXT, "source": TEXT }),
        json!({ "type": "fact", "content": TEXT, "source_context": TEXT.repeat(200) }),
        json!({ "type": "fact", "content": TEXT, "confidence": 101, "key": TEXT }),
        json!({ "content": TEXT }),
        json!(TEXT),
        json!([TEXT]),
    ];
    let gets = [item.clone(), json!(TEXT), json!(999_999)].map(|id| json!({ "item_id": id }));
    for (tool, inputs) in
        [("memory_search", &searches[..]), ("memory_add", &adds), ("memory_get", &gets)]
    {
        for input in inputs {
            all.both(tool, input.clone()).await;
        }
    }
    for broken in [
        format!("{{\"content\": \"{TEXT}"),
        TEXT.to_owned(),
        format!("{{\"content\": \"{TEXT}\\ud800\", \"type\": \"fact\"}}"),
        format!("{{\"type\": \"fact\", \"content\": \"{TEXT}\"}} {TEXT}"),
    ] {
        all.tool("memory_add", &broken).await;
        let request = all.program.post(all.home.url("/mcp")).bearer_auth(&all.agent);
        all.hear(request.header("content-type", "application/json").body(broken)).await;
    }
    for (value, source) in [("once", "web"), ("twice", "user_explicit"), ("thrice", "web")] {
        let keyed = json!({
            "type": "fact", "content": format!("{TEXT} {value}"), "theme": THEME, "tags": [TAG],
            "key": TEXT, "source": source, "source_context": format!("{TEXT} was said"),
            "expires_in_days": 9,
        });
        let (_, added) = all.tool("memory_add", &keyed.to_string()).await;
        all.tool("memory_confirm", &json!({ "item_id": added["id"] }).to_string()).await;
    }
    for (tool, input) in [
        ("memory_correct", json!({ "key": TEXT, "content": TEXT.repeat(2_000) })),
        ("memory_correct", json!({ "key": format!("{TEXT} none"), "content": TEXT })),
        (
            "memory_correct",
            json!({ "key": TEXT, "theme": THEME, "content": format!("{TEXT} is right") }),
        ),
        ("memory_correct", json!({ "item_id": item, "key": TEXT.repeat(9), "content": TEXT })),
        ("memory_confirm", json!({ "item_id": TEXT })),
        (
            "memory_describe_theme",
            json!({ "theme": THEME, "display_name": TEXT, "description": TEXT.repeat(99) }),
        ),
        ("memory_describe_theme", json!({ "theme": THEME, "description": TEXT })),
        ("memory_stats", json!({ "limit": TEXT })),
        ("memory_stats", json!({})),
        ("memory_summary", json!({})),
        ("memory_summary", json!({ "text": TEXT })),
        ("memory_forget", json!({ "key": TEXT.repeat(9), "theme": THEME })),
        ("memory_forget", json!({ "key": TEXT, "theme": THEME.repeat(9) })),
        ("memory_forget", json!({ "key": TEXT, "theme": THEME })),
    ] {
        all.both(tool, input).await;
    }
    all.tool(TEXT, "{}").await;
    all.mcp("tools/call", json!({ "name": TEXT, "arguments": { TEXT: TEXT } })).await;
    for method in [TEXT, "resources/read", "prompts/get", "logging/setLevel", "server/discover"] {
        all.mcp(method, json!({ "uri": TEXT, "level": TEXT })).await;
    }
    let hello = json!({ "jsonrpc": "2.0", "id": TEXT, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": TEXT, "version": QUERY } } });
    let request = all.program.post(all.home.url("/mcp")).bearer_auth(&all.agent);
    let request = request.header("accept", "application/json, text/event-stream");
    // Its answer repeats the id, as JSON-RPC has it.
    request.json(&hello).send().await.unwrap();

    sessions(all).await;
    all.read("/api/v1/summary").await;
    tokens_in_wrong_places(all).await;
    settings(all, endpoint).await;
    pages(all, &item).await;
    let mut secrets = oauth::connect(all).await;
    secrets.extend(invite(all).await);
    let (status, page) = all.form("/activity/queries", &[("action", "keep")]).await;
    assert_eq!(status, 200, "{page:.3000}");
    let kept = json!({ "query": KEPT_QUERY }).to_string();
    let (status, found) = all.tool("memory_search", &kept).await;
    assert_eq!(status, 200, "{found}");
    all.tool("memory_archive", &json!({ "item_id": item }).to_string()).await;
    for (current, new, is_wrong) in
        [(KEY, NEW_PASSWORD, true), (PASSWORD, "short", true), (PASSWORD, NEW_PASSWORD, false)]
    {
        let fields = [("current_password", current), ("new_password", new)];
        let (status, page) = all.form("/account/password", &fields).await;
        assert!(is_wrong || status == 200, "{page:.3000}");
    }
    // Once more, so that the vector of what is remembered is asked for.
    let more = json!({ "type": "fact", "content": format!("{TEXT} again"), "theme": THEME });
    assert_eq!(all.tool("memory_add", &more.to_string()).await.0, 200);
    secrets
}

/// Handed over well and badly, read again, and completed.
async fn sessions(all: &Everything) {
    let send = async |path: &str, body: String| {
        let request = all
            .program
            .post(all.home.url(&format!("/api/v1/sessions/{path}")))
            .bearer_auth(&all.agent)
            .header("content-type", "application/json");
        all.hear(request.body(body)).await.0
    };
    let said = |message: Value| json!({ "messages": [message] }).to_string();
    let call = json!({ "id": SESSION, "name": "look", "arguments": { "for": TEXT } });
    for good in [
        json!({ "id": SESSION, "role": "user", "content": TEXT }),
        json!({ "id": "2", "role": "assistant", "content": null, "tool_calls": [call] }),
        json!({ "id": "3", "role": "tool", "content": TEXT }),
    ] {
        let status = send(&format!("{SESSION}/messages"), said(good)).await;
        assert_eq!(status, 200);
    }
    // Some are kept, some skipped, some refused.
    let bad = [
        json!({ "id": SESSION.repeat(20), "role": "user", "content": TEXT }),
        json!({ "id": "5", "role": TEXT, "content": TEXT }),
        json!({ "id": "6", "role": "user", "content": [TEXT] }),
        json!({ "id": "7", "role": "user", "content": format!("{TEXT}\0") }),
        json!({ "id": "8", "role": "user", "content": TEXT, "created_at": TEXT }),
        json!({ "id": "9", "role": "user", "content": TEXT, "tool_calls": [{ "name": TEXT }] }),
        json!(TEXT),
    ];
    for bad in bad.map(said).into_iter().chain([format!("{{\"messages\": \"{TEXT}")]) {
        send(&format!("{SESSION}/messages"), bad.clone()).await;
        send(&format!("{}/messages", SESSION.repeat(20)), bad).await;
    }
    let completed = send(&format!("{SESSION}/complete"), "{}".to_owned()).await;
    assert_eq!(completed, 200);
    send(&format!("{SESSION}x/complete"), TEXT.to_owned()).await;
    for path in [
        SESSION.to_owned(),
        format!("{SESSION}x"),
        format!("{SESSION}/messages?after={TEXT}"),
        format!("{SESSION}/messages?limit=10"),
    ] {
        all.read(&format!("/api/v1/sessions/{path}")).await;
    }
    for path in [
        "/summary".to_owned(),
        "/sessions".to_owned(),
        "/sessions/1".to_owned(),
        format!("/sessions/{TEXT}?from={TEXT}"),
        format!("/sessions?agent={TEXT}&state={TEXT}"),
    ] {
        all.page(&path).await;
    }
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
    all.hear(as_customer(CUSTOMER).header("keepsake-user", CUSTOMER)).await;
    let own = all.program.get(all.home.url("/api/v1/prompt")).bearer_auth(&all.agent);
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
    // First, since tests are counted and soon refused.
    for path in ["/settings/chat", "/admin/chat"] {
        for key in [OTHER_KEY, KEY, ""] {
            all.form(path, &with("test", key)).await;
        }
        let mut bad = with("save", OTHER_KEY);
        bad.push(("daily_token_cap", KEY));
        bad.retain(|(name, _)| *name != "model");
        all.send(path, &bad).await;
        let saved = all.form(path, &with("save", KEY)).await;
        assert_eq!(saved.0, 200, "{:.3000}", saved.1);
    }
    for _ in 0..8 {
        all.form("/settings/embeddings", &with("test", OTHER_KEY)).await;
        all.form("/admin/embeddings", &with("test", OTHER_KEY)).await;
    }
    let (_, page) = all.form("/settings/embeddings", &with("save", KEY)).await;
    let staged =
        page.split("name=\"staged\"").nth(1).and_then(|rest| rest.split("value=\"").nth(1));
    let staged = staged.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
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
        all.send("/settings/embeddings", &bad).await;
    }
    let headers = all.browser.post(all.home.url("/settings/embeddings"));
    all.hear(headers.header("sec-fetch-site", "cross-site").form(&with("save", KEY))).await;
}

async fn pages(all: &Everything, item: &Value) {
    for path in [
        format!("/memory?q={QUERY}&theme={THEME}"),
        format!("/memory/{item}?q={QUERY}"),
        format!("/memory/{TEXT}"),
        format!("/activity?tool={TEXT}&agent={TEXT}&day={TEXT}&theme={THEME}"),
        format!("/login?next=/{TEXT}"),
        format!("/docs?{TEXT}"),
        format!("/no/such/{TEXT}"),
        format!("/pkg/{TEXT}"),
        format!("/api/v1/{TEXT}?{QUERY}"),
        format!("/.well-known/{TEXT}"),
        "/data/export".into(),
    ]
    .into_iter()
    .chain(plain_pages())
    {
        let (status, page) = all.page(&path).await;
        for secret in [KEY, OTHER_KEY, PASSWORD] {
            assert!(!holds(&page, secret), "{secret} at {path} ({status})");
        }
    }
    // Not there on every server: what it says of everybody, it says to everybody.
    let metrics = all.program.get(all.home.url("/metrics")).send().await.unwrap();
    if metrics.status() == 200 {
        let said = metrics.text().await.unwrap();
        for secret in [KEY, EMAIL, TEXT, QUERY, THEME, TAG, CUSTOMER, PASSWORD, &all.agent[3..67]] {
            assert!(!holds(&said, secret), "{secret} in /metrics");
        }
    }
    for (path, fields) in [
        ("/agents", [("name", KEY), ("scope", "x")]),
        ("/agents/1/tokens", [("scope", TEXT), ("expires_days", TEXT)]),
        ("/admin/endpoints", [("action", "add"), ("endpoint", TEXT)]),
        ("/account/memory", [("action", TEXT), ("x", TEXT)]),
        ("/sessions", [("action", TEXT), ("x", TEXT)]),
    ] {
        all.send(path, &fields).await;
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
