//! Secrets in what comes in: warned of, replaced or refused at each door; what was replaced is stored nowhere; what a person
//! allows is nobody else's.

use keepsake::redaction::SecretPolicy;
use reqwest::Method;
use serde_json::{Value, json};

use crate::data::erasure::find_everywhere;
use crate::data::import;
use crate::mcp::Mcp;
use crate::support::{ChatServer, TestApp, TestUser, problem};

const PAGE: &str = "/settings/secrets";

/// Put together, so that no scanner of repositories takes it for a leak.
pub fn secret() -> String {
    ["ghp_", "1B4a9Zq7Lm2Xc8Vb5Nn0Kj3Hg6Fd1Sa4Qw7E"].concat()
}

pub async fn set(app: &TestApp, user: &TestUser, policy: SecretPolicy) {
    let redactor = app.embeddings.redactor();
    redactor.save(user.id, policy).await.unwrap();
}

/// Where the secret stands, in any column of any table.
async fn places_of(app: &TestApp, secret: &str) -> Vec<String> {
    app.activity.flush().await.unwrap();
    let hex: String = secret.bytes().map(|b| format!("{b:02x}")).collect();
    let needles = [format!("%{secret}%"), format!("%{hex}%")];
    find_everywhere(&mut app.superuser().await, &needles).await
}

fn fact(content: &str) -> Value {
    json!({ "type": "fact", "content": content })
}

fn messages(content: &str) -> Value {
    json!({ "messages": [
        { "id": "1", "role": "user", "content": content },
        { "id": "2", "role": "assistant", "tool_calls": [{ "id": "c", "name": content, "arguments": { "token": content } }] },
        { "id": "3", "role": "tool", "tool_call_id": "c", "content": content },
    ] })
}

/// An import: how many were added, and how many failed.
async fn imported(app: &TestApp, user: &TestUser, file: &str) -> (u64, u64) {
    let outcome = import(app, user, file).await;
    (outcome.added, outcome.failed)
}

/// An import of an export of this item alone.
async fn imported_item(app: &TestApp, user: &TestUser, mut item: Value) -> (u64, u64) {
    item["record"] = json!("item");
    let end = json!({ "record": "end", "counts": { "items": 1 } });
    imported(app, user, &format!("{{\"keepsake_export\":1}}\n{item}\n{end}\n")).await
}

/// Hands these messages over to a session.
async fn hand_over(user: &TestUser, session: &str, content: &str) -> Value {
    let path = format!("/api/v1/sessions/{session}/messages");
    let (status, answer) = user.request(Method::POST, &path, Some(messages(content))).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// What became of an item that was added.
async fn content_of(user: &TestUser, added: &Value) -> Value {
    user.call("memory_get", json!({ "item_id": added["id"] })).await["content"].take()
}

/// Status, code and field of a refusal.
fn why(status: u16, refusal: &Value) -> String {
    let [code, field] = ["code", "field"].map(|name| refusal[name].as_str().unwrap());
    format!("{status} {code} {field}")
}

/// One field of the first warning.
fn told<'a>(answer: &'a Value, field: &str) -> &'a Value {
    &answer["warnings"][0][field]
}

#[tokio::test]
async fn by_default_a_secret_is_stored_and_warned_of() {
    let (app, anna) = TestApp::start_for("anna").await;
    let secret = secret();
    let text = format!("The token is {secret}.");
    let answer = anna.call("memory_add", fact(&text)).await;
    assert_eq!(told(&answer, "field"), "content");
    assert_eq!(told(&answer, "rule"), "github-pat");
    assert_eq!(told(&answer, "removed"), &json!(false));
    assert!(!answer.to_string().contains(&secret), "{answer}");
    assert_eq!(content_of(&anna, &answer).await, text);
    let places = places_of(&app, &secret).await;
    assert_eq!(places, ["memory_items.content"], "and nowhere else");
    // Every field counts, and what is no secret says nothing.
    let context =
        json!({ "type": "fact", "content": "x", "source_context": text, "tags": [secret] });
    let answer = anna.call("memory_add", context).await;
    let fields = answer["warnings"].as_array().unwrap().iter();
    let mut fields: Vec<_> = fields.map(|w| w["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["source_context", "tags[0]"]);
    let answer = anna.call("memory_add", fact("Anna keeps bees.")).await;
    assert!(answer.get("warnings").is_none(), "{answer}");
    assert_eq!(app.count("secret_findings WHERE count = 3").await, 1);
    assert_eq!(app.count("secret_counts WHERE count = 3").await, 1);
}

#[tokio::test]
async fn what_is_masked_is_stored_nowhere_at_any_door() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.activity.keep_queries(anna.id, true).await.unwrap();
    set(&app, &anna, SecretPolicy::Mask).await;
    let secret = secret();
    let text = format!("The token is {secret}.");
    let masked = "The token is [removed: github-pat].";

    let input = json!({ "type": "fact", "content": text, "key": "token", "source_context": secret, "tags": [secret] });
    let added = anna.call("memory_add", input).await;
    assert_eq!(told(&added, "removed"), &json!(true));
    assert_eq!(content_of(&anna, &added).await, masked);
    let correction = json!({ "item_id": added["id"], "content": format!("Not {text}") });
    let corrected = anna.call("memory_correct", correction).await;
    assert_eq!(told(&corrected, "rule"), "github-pat");

    let mcp = Mcp::of(&app, &anna);
    let answer = mcp.call("memory_add", fact(&format!("By MCP: {text}"))).await;
    assert_eq!(told(&answer, "removed"), &json!(true), "{answer}");

    let file = json!({ "command": "create", "path": "/memories/a.md", "file_text": text });
    let answer = anna.call("memory_files", file).await;
    assert_eq!(told(&answer, "field"), "file_text");
    let path = format!("/api/v1/documents/memory/{secret}.md");
    let (status, answer) = anna.request(Method::PUT, &path, Some(json!({ "content": text }))).await;
    assert_eq!((status, told(&answer, "field")), (201, &json!("content")));
    assert_eq!(answer["warnings"][1]["field"], "path");
    assert_eq!(answer["path"], "memory/[removed: github-pat].md");
    let path = path.replace(&secret, "[removed: github-pat]");
    let (_, read) = anna.request(Method::GET, &path, None).await;
    assert_eq!(read["content"], masked);

    let answer = hand_over(&anna, "s", &text).await;
    assert_eq!(answer["accepted"], 3);
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 4, "{answer}");
    let body = json!({ "summary": text });
    let completed = anna.post("/api/v1/sessions/s/complete", &body).await;
    assert_eq!(completed.status(), 200);
    app.run_due().await;

    let item = json!({ "type": "fact", "content": text, "attributes": { "a": secret } });
    assert_eq!(imported_item(&app, &anna, item).await, (1, 0));
    let mem0 = json!([{ "memory": format!("Of mem0: {text}"), "metadata": { "b": secret } }]);
    assert_eq!(imported(&app, &anna, &mem0.to_string()).await, (1, 0));

    anna.find(&format!("what is {secret}")).await;
    let browser = app.signed_in(&anna).await;
    let unwanted = [("action", "unwanted"), ("text", text.as_str())];
    assert_eq!(browser.post("/learned", &unwanted).await.status(), 303);

    assert_eq!(places_of(&app, &secret).await, Vec::<String>::new());
    assert!(app.count("activity WHERE query LIKE '%removed: github-pat%'").await == 1);
    assert!(app.count("memory_items WHERE content LIKE '%removed: github-pat%'").await >= 6);
    assert_eq!(app.count("secret_findings").await, 1);
}

#[tokio::test]
async fn what_is_refused_is_named_by_field_and_rule_and_stored_nowhere() {
    let (app, anna) = TestApp::start_for("anna").await;
    set(&app, &anna, SecretPolicy::Refuse).await;
    let secret = secret();
    let text = format!("The token is {secret}.");
    let (status, refusal) = anna.refused("memory_add", fact(&text)).await;
    assert_eq!(why(status, &refusal), "422 secret_found content");
    let detail = refusal["detail"].as_str().unwrap();
    assert!(detail.contains("github-pat") && detail.contains("Settings › Secrets"));
    let mcp = Mcp::of(&app, &anna);
    let result = mcp.result("memory_add", fact(&text)).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(!result.to_string().contains(&secret));
    let path = "/api/v1/documents/b.md";
    let put = anna.request(Method::PUT, path, Some(json!({ "content": text })));
    let (status, refusal) = put.await;
    assert_eq!((status, &refusal["code"]), (422, &json!("secret_found")));
    assert_eq!(anna.request(Method::GET, path, None).await.0, 404);
    // Nobody can say it again: it is replaced.
    let answer = hand_over(&anna, "s", &text).await;
    assert_eq!((&answer["accepted"], told(&answer, "removed")), (&json!(3), &json!(true)));
    assert_eq!(imported_item(&app, &anna, fact(&text)).await, (1, 0));
    assert_eq!(app.count("memory_items WHERE theme_id IS NOT NULL").await, 1);
    assert_eq!(places_of(&app, &secret).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_is_private_is_removed_whatever_is_set() {
    let (app, anna) = TestApp::start_for("anna").await;
    let text = "Anna keeps bees. <private>kanarienvogel4711</private>";
    let added = anna.call("memory_add", fact(text)).await;
    assert!(added.get("warnings").is_none(), "{added}");
    assert_eq!(content_of(&anna, &added).await, "Anna keeps bees.");
    let all = "<private>kanarienvogel4711</private> ";
    let (status, refusal) = anna.refused("memory_add", fact(all)).await;
    assert_eq!(why(status, &refusal), "422 private content");
    // A session keeps its order, and each message is still known by its id.
    for (accepted, duplicates) in [(3, 0), (0, 3)] {
        let answer = hand_over(&anna, "s", all).await;
        assert_eq!(answer["accepted"], accepted, "{answer}");
        assert_eq!(answer["duplicates"], duplicates, "{answer}");
    }
    let (_, page) = anna.request(Method::GET, "/api/v1/sessions/s/messages", None).await;
    assert_eq!(page["messages"][0]["content"], "[removed: private]");
    // As Go writes JSON.
    let escaped = r#"{"note": "Bees. \u003cprivate\u003ekanarienvogel4711\u003c/private\u003e"}"#;
    hand_over(&anna, "t", escaped).await;
    let (_, page) = anna.request(Method::GET, "/api/v1/sessions/t/messages", None).await;
    assert_eq!(page["messages"][2]["content"], r#"{"note": "Bees. "}"#);
    let open = "Told: <private>kanarienvogel4711";
    let file = json!({ "command": "create", "path": "/memories/a.md", "file_text": open });
    anna.call("memory_files", file).await;
    assert_eq!(imported_item(&app, &anna, fact(all)).await, (0, 1));
    assert_eq!(places_of(&app, "kanarienvogel4711").await, Vec::<String>::new());
    // The marker itself is a text like any other.
    assert_eq!(imported_item(&app, &anna, fact("[removed: private]")).await, (1, 0));
    anna.add("[removed: private]").await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_person_allows_on_the_page_is_allowed_for_nobody_else() {
    let (app, anna, ben) = TestApp::with_users().await;
    let secret = secret();
    let text = format!("The token is {secret}.");
    let browser = app.signed_in(&anna).await;
    let page = browser.look(PAGE).await;
    assert!(page.contains("Nothing was found"), "{page}");
    for user in [&anna, &ben] {
        set(app, user, SecretPolicy::Refuse).await;
        user.refused("memory_add", fact(&text)).await;
    }
    let page = browser.look(PAGE).await;
    assert!(page.contains("github-pat") && page.contains("1 secret found"), "{page}");
    assert!(!page.contains(&secret));
    let id_of = async |user: &TestUser| -> String {
        let id = "SELECT encode(fingerprint, 'hex') FROM secret_findings WHERE user_id = $1";
        app.sql(id).bind(user.id.0).value().await
    };
    let (of_anna, of_ben) = (id_of(&anna).await, id_of(&ben).await);
    assert_ne!(of_anna, of_ben, "each user has a key");

    // Another's finding is as one that never was.
    let allow = [("action", "allow"), ("id", of_ben.as_str())];
    assert_eq!(browser.post(PAGE, &allow).await.status(), 422);
    ben.refused("memory_add", fact(&text)).await;
    for (action, is_allowed) in [("allow", true), ("disallow", false), ("allow", true)] {
        let fields = [("action", action), ("id", of_anna.as_str())];
        assert_eq!(browser.post(PAGE, &fields).await.status(), 200);
        let status = anna.send("memory_add", &fact(&text)).await.status();
        assert_eq!(status == 200, is_allowed, "{action}: {status}");
    }
    assert_eq!(ben.send("memory_add", &fact(&text)).await.status(), 422);
    // Anna's other secrets are refused as before.
    let other = text.replace("1B4a", "2C5b");
    assert_eq!(anna.send("memory_add", &fact(&other)).await.status(), 422);

    let fields = [("action", "save"), ("policy", "mask")];
    assert_eq!(browser.post(PAGE, &fields).await.status(), 200);
    let answer = anna.call("memory_add", fact(&other)).await;
    assert_eq!(told(&answer, "removed"), &json!(true));
    let fields = [("action", "save"), ("policy", "sometimes")];
    let refused = browser.post(PAGE, &fields).await;
    assert_eq!(refused.status(), 422);
    assert!(refused.text().await.unwrap().contains("give warn, mask or refuse"));
}

#[tokio::test]
async fn findings_are_bounded_and_what_is_allowed_stays() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add(&format!("The token is {}.", secret())).await;
    app.sql("UPDATE secret_findings SET is_allowed = true, last_at = '2020-01-01'").run_all().await;
    for n in 0..3 {
        let tokens = (0..100).map(|at| secret().replace("1B4a", &format!("{:04}", n * 100 + at)));
        let text = tokens.collect::<Vec<_>>().join(" ");
        let answer = anna.call("memory_add", fact(&text)).await;
        assert_eq!(answer["warnings"].as_array().unwrap().len(), 20);
    }
    assert_eq!(app.count("secret_findings WHERE NOT is_allowed").await, 200);
    assert_eq!(app.count("secret_findings WHERE is_allowed").await, 1);
}

#[tokio::test]
async fn what_a_model_repeats_is_masked_too() {
    let (app, anna) = TestApp::start_for("anna").await;
    let said: &'static str = Box::leak(format!("It is {}.", secret()).into_boxed_str());
    let server = ChatServer::saying(said).await;
    crate::chat::use_server(&app, &anna, &server).await;
    let answer = crate::chat::ask(&app, &anna).await.unwrap();
    assert_eq!(answer.text, said);
    assert_eq!(app.count("secret_findings").await, 0);
    set(&app, &anna, SecretPolicy::Mask).await;
    let answer = crate::chat::ask(&app, &anna).await.unwrap();
    assert_eq!(answer.text, "It is [removed: github-pat].");
}

/// gitleaks' rule of private keys has no end: what stands between the two lines is one secret.
#[tokio::test]
async fn a_secret_as_long_as_a_document_is_masked_and_a_longer_text_is_not_looked_at() {
    let (app, anna) = TestApp::start_for("anna").await;
    set(&app, &anna, SecretPolicy::Mask).await;
    let key_of = |bytes: usize| {
        let ends = ["-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----"];
        ends.join(&"MIIEv ".repeat(bytes / 6))
    };
    let (path, put) = ("/api/v1/documents/a.md", Method::PUT);
    let content = json!({ "content": key_of(2 << 20) });
    let (status, refusal) = anna.request(put.clone(), path, Some(content)).await;
    assert_eq!((status, &refusal["code"]), (422, &json!("too_long")));
    let files = "/api/v1/tools/memory_files";
    for (command, field) in
        [("create", "file_text"), ("str_replace", "new_str"), ("insert", "insert_text")]
    {
        let file = json!({ "command": command, "path": "/memories/b.md", field: key_of(2 << 20) });
        let (status, refusal) = anna.request(Method::POST, files, Some(file)).await;
        assert_eq!(why(status, &refusal), format!("422 too_long {field}"));
    }
    let long = format!("/memories/{}.md", key_of(2 << 20));
    for file in [
        json!({ "command": "create", "path": &long, "file_text": "a" }),
        json!({ "command": "rename", "old_path": "/memories/b.md", "new_path": &long }),
    ] {
        let (status, _) = anna.request(Method::POST, files, Some(file)).await;
        assert_eq!(status, 422);
    }
    assert_eq!(app.count("secret_counts").await, 0);
    let content = json!({ "content": key_of(1_000_000) });
    let (status, answer) = anna.request(put, path, Some(content)).await;
    assert_eq!((status, told(&answer, "rule")), (201, &json!("private-key")));
    // By the tool it stands twice.
    let file = json!({ "command": "create", "path": "/memories/b.md", "file_text": key_of(1_000_000), "new_str": key_of(1_000_000) });
    let answer = anna.call("memory_files", file).await;
    assert_eq!(answer["warnings"][1]["removed"], true, "{answer}");
    let shown = json!({ "command": "view", "path": "/memories/b.md" });
    let shown = anna.call("memory_files", shown).await;
    let shown = shown["output"].as_str().unwrap();
    assert!(shown.ends_with("[removed: private-key]"), "{}", shown.len());
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_finds_something_is_not_changed() {
    let (app, anna) = TestApp::with_user().await;
    let secret = secret();
    let file = json!({ "command": "create", "path": "/memories/a.md", "file_text": format!("Token {secret} here.\n") });
    anna.call("memory_files", file).await;
    let named = |name: &str| format!("/memories/{secret}/{name}.md");
    for name in ["a", "b", "c"] {
        let file = json!({ "command": "create", "path": named(name), "file_text": "Bees.\n" });
        anna.call("memory_files", file).await;
    }
    for theme in ["a", "b", "c"] {
        let item = json!({ "type": "fact", "content": theme, "theme": theme, "key": secret });
        anna.call("memory_add", item).await;
    }
    set(app, &anna, SecretPolicy::Refuse).await;
    let edit = json!({ "command": "str_replace", "path": "/memories/a.md", "old_str": secret, "new_str": "gone" });
    let response = anna.send("memory_files", &edit).await;
    assert_eq!(response.status(), 200);
    let edit = json!({ "command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": secret });
    let (status, refusal) = problem(anna.send("memory_files", &edit).await).await;
    assert_eq!((status, &refusal["field"]), (422, &json!("insert_text")));
    // So is what a file or a fact is called, where it only finds it.
    let new = "/memories/new.md";
    for edit in [
        json!({ "command": "str_replace", "path": named("a"), "old_str": "Bees", "new_str": "Wasps" }),
        json!({ "command": "insert", "path": named("a"), "insert_line": 0, "insert_text": "Herons" }),
        json!({ "command": "rename", "old_path": named("b"), "new_path": new }),
        json!({ "command": "delete", "path": named("a") }),
    ] {
        anna.call("memory_files", edit).await;
    }
    for (field, edit) in [
        ("path", json!({ "command": "create", "path": named("d"), "file_text": "x" })),
        ("new_path", json!({ "command": "rename", "old_path": new, "new_path": named("d") })),
    ] {
        let (status, refusal) = problem(anna.send("memory_files", &edit).await).await;
        assert_eq!((status, &refusal["field"]), (422, &json!(field)));
    }
    let path = format!("/api/v1/documents/{secret}/c.md");
    for (body, status) in
        [(json!({ "content": "x", "revision": 1 }), 200), (json!({ "content": "x" }), 422)]
    {
        let (answered, answer) = anna.request(Method::PUT, &path, Some(body)).await;
        assert_eq!(answered, status, "{answer}");
    }
    let right = json!({ "key": secret, "theme": "a", "content": "Right." });
    anna.call("memory_correct", right).await;
    let gone = anna.call("memory_forget", json!({ "key": secret, "theme": "a" })).await;
    assert_eq!(gone["count"], 1);
    let gone = anna.call("memory", json!({ "action": "forget", "key": secret })).await;
    assert_eq!(gone["output"], "Forgotten: 2 memories are archived.");
    let item = json!({ "item_id": 1, "key": secret, "content": "Right." });
    let (status, refusal) = anna.refused("memory_correct", item).await;
    assert_eq!((status, &refusal["field"]), (422, &json!("key")));
}
