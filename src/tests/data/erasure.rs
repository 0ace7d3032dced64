use std::time::Duration;

use keepsake::accounts::Scope;
use keepsake::erasure::{self, ErasureStep, Receipt};
use keepsake::jobs;
use keepsake::memories::{ItemType, NewItem};
use keepsake::queue::Slice;
use keepsake::tools::ToolError;
use reqwest::multipart::{Form, Part};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use super::{export, import};
use crate::support::Sql as _;
use crate::support::{Browser, ChatServer, PASSWORD, PATIENCE, Provider, TestApp, TestUser, until};

/// One word, as every part of a person's data holds it.
const CANARY: &str = "kanarienvogel4711";
const TEXT: &str = "Anna hat einen kanarienvogel4711.";

/// As text, as bytes, and by its hash.
fn traces() -> Vec<String> {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let hash = |text: &str| hex(&Sha256::digest(text.as_bytes()));
    [CANARY.to_owned(), hex(CANARY.as_bytes()), hash(CANARY), hash(TEXT)]
        .iter()
        .map(|needle| format!("%{needle}%"))
        .collect()
}

/// Every column of every table of every schema, PostgreSQL's own with its statistics
/// among them: where one of these is found.
pub async fn find_everywhere(conn: &mut PgConnection, needles: &[String]) -> Vec<String> {
    let columns: Vec<(String, String)> = conn
        .sql(
            "SELECT c.oid::regclass::text, quote_ident(a.attname) FROM pg_class c
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE c.relkind IN ('r', 'p', 'm') ORDER BY 1, a.attnum",
        )
        .rows()
        .await;
    assert!(columns.len() > 500, "only {} columns", columns.len());
    let mut found = Vec::new();
    for (table, column) in columns {
        let look = format!("SELECT count(*) FROM {table} WHERE {column}::text ILIKE ANY ($1)");
        let rows: i64 = conn.sql(look).bind(needles).value().await;
        if rows > 0 {
            found.push(format!("{table}.{column}"));
        }
    }
    found
}

/// Columns that name the user, in any table.
async fn find_user(conn: &mut PgConnection, user: i64) -> Vec<String> {
    let tables: Vec<String> = conn
        .sql(
            "SELECT c.oid::regclass::text FROM pg_class c
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id' AND NOT a.attisdropped
         WHERE c.relkind IN ('r', 'p') ORDER BY 1",
        )
        .values()
        .await;
    assert!(tables.len() >= 11, "{tables:?}");
    let mut looks: Vec<String> = tables
        .iter()
        .map(|table| format!("SELECT '{table}' FROM {table} WHERE user_id = {user}"))
        .collect();
    looks.push(format!("SELECT 'users' FROM users WHERE id = {user}"));
    let all = AssertSqlSafe(looks.join(" UNION "));
    let rows = sqlx::query(all).fetch_all(conn).await.unwrap();
    rows.into_iter().map(|row| row.get(0)).collect()
}

/// All rows of a user, as one hash.
pub async fn fingerprint(conn: &mut PgConnection, user: i64) -> String {
    const TABLES: [&str; 17] = [
        "agents",
        "agent_tokens",
        "memory_themes",
        "memory_items",
        "memory_item_events",
        "embedding_settings",
        "chat_settings",
        "chat_spend",
        "embedding_spaces",
        "memory_embeddings",
        "activity",
        "web_sessions",
        "sessions",
        "session_messages",
        "session_extractions",
        "memory_summaries",
        "memory_summary_items",
    ];
    let of = |table: &&str| {
        format!("SELECT '{table}' || t::text AS line FROM {table} t WHERE user_id = {user}")
    };
    let all: Vec<String> = TABLES.iter().map(of).collect();
    let hash = format!(
        "SELECT count(*) || ' ' || md5(string_agg(line, '|' ORDER BY line)) FROM ({} UNION ALL SELECT u::text FROM users u WHERE id = {user}) x",
        all.join(" UNION ALL ")
    );
    let hash = sqlx::query_scalar(AssertSqlSafe(hash));
    hash.fetch_one(conn).await.unwrap()
}

/// A person whose every field holds the canary, after a life of searches, archiving,
/// a rebuild and an upload.
async fn planted(app: &TestApp, provider: &Provider) -> (TestUser, Browser) {
    let anna = app.user(CANARY).await;
    let anna = anna.with_token(&app.token(anna.id, CANARY, &Scope::ALL, None).await);
    app.use_provider(&anna, provider, &format!("first-{CANARY}")).await;
    let chat = ChatServer::saying(CANARY).await;
    crate::chat::use_server(app, &anna, &chat).await;
    crate::chat::ask(app, &anna).await.unwrap();
    app.activity.keep_queries(anna.id, true).await.unwrap();
    let input = json!({ "type": "fact", "content": TEXT, "theme": CANARY, "tags": [CANARY] });
    let id = anna.call("memory_add", input).await["id"].as_i64().unwrap();
    for n in 0..20 {
        anna.add_to(&format!("{CANARY} {}", n % 3), &format!("{CANARY} {n}")).await;
    }
    let old = anna.add(&format!("old {CANARY}")).await;
    anna.call("memory_archive", json!({ "item_id": old })).await;
    anna.find(CANARY).await;
    app.drain(&anna).await;
    let said = json!({ "messages": [
        { "id": CANARY, "role": "user", "content": TEXT },
        { "id": "2", "role": "assistant", "tool_calls": [{ "id": CANARY, "name": CANARY, "arguments": CANARY }] },
        { "id": "3", "role": "tool", "tool_call_id": CANARY, "content": CANARY },
    ] });
    for (path, body) in [("messages", said), ("complete", json!({}))] {
        let path = format!("/api/v1/sessions/{CANARY}/{path}");
        assert_eq!(anna.post(&path, &body).await.status(), 200);
    }
    crate::support::change_model(app, &anna, provider, &format!("second-{CANARY}")).await;
    app.drain(&anna).await;
    anna.find(CANARY).await;
    app.embeddings.rebuild(anna.id).await.unwrap();
    app.activity.flush().await.unwrap();
    app.sql("WITH item AS (UPDATE memory_items SET key = $2, source = $2, source_context = $2, superseded_by = $4,
                           attributes = jsonb_build_object($2, $2) WHERE id = $3 RETURNING user_id),
              theme AS (UPDATE memory_themes SET description = $2 WHERE user_id = $1),
              summary AS (INSERT INTO memory_summaries (user_id, body, made_at, model, facts_hash, failure)
                          VALUES ($1, $2, now(), $2, $2::bytea, $2)),
              session AS (UPDATE session_extractions SET reason = $2, model = $2 WHERE user_id = $1),
              row AS (UPDATE memory_embeddings SET error = $2 WHERE user_id = $1),
              chat AS (UPDATE chat_settings SET model = $2, endpoint = $2 WHERE user_id = $1),
              settings AS (UPDATE embedding_settings SET declined = $2, query_prefix = $2, document_prefix = $2 WHERE user_id = $1)
         UPDATE embedding_spaces SET problem = $2, query_prefix = $2, endpoint = $2 WHERE user_id = $1 AND state <> 'active'").bind(anna.id.0).bind(CANARY).bind(old).bind(id).run().await;
    app.sql("WITH hook AS (INSERT INTO webhooks (user_id, url, sealed_secret, events, includes_text, state, position, created_at)
                       VALUES ($1, $2, '\\x01', '{memory.stored}', true, 'paused', 0, now()) RETURNING id),
              event AS (INSERT INTO feed_events (user_id, id, event, at, job)
                        VALUES ($1, nextval('memory_item_events_id_seq'), 'job_failed', now(), 'extract'))
         INSERT INTO webhook_deliveries (user_id, webhook_id, event, at, took_ms, problem)
         SELECT $1, id, 'memory.stored', now(), 1, 'It answered with status 500.' FROM hook").bind(anna.id.0).bind(CANARY).run().await;
    app.sql("INSERT INTO oauth_grants (user_id, token_id, client_id, client_name, redirect_uri, resource, code_hash,
                                   code_challenge, code_expires_at)
         SELECT user_id, max(id), $2, $2, $2, $2, $2::bytea, $2, now() FROM agent_tokens WHERE user_id = $1 GROUP BY user_id").bind(anna.id.0).bind(CANARY).run().await;
    app.sql("WITH settings AS (INSERT INTO secret_settings (user_id, sealed_key) VALUES ($1, $2::bytea)),
              counts AS (INSERT INTO secret_counts (user_id, day, rule, count) VALUES ($1, '2026-11-21', $2, 1))
         INSERT INTO secret_findings (user_id, fingerprint, rule, field, agent_id, last_at, count)
         SELECT $1, decode(md5($2), 'hex'), $2, $2, id, now(), 1 FROM agents WHERE user_id = $1 LIMIT 1").bind(anna.id.0).bind(CANARY).run().await;
    app.sql("INSERT INTO memory_summary_items VALUES ($1, $2)")
        .bind(anna.id.0)
        .bind(id)
        .run()
        .await;
    let browser = app.signed_in(&anna).await;
    upload(&browser, format!("{{\"keepsake_export\":1}}\n{{\"record\":\"item\",\"type\":\"fact\",\"content\":\"up {CANARY}\"}}\n")).await;
    while app.jobs().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    app.sql("ANALYZE").run_all().await;
    (anna, browser)
}

pub async fn upload(browser: &Browser, file: String) {
    let part = Part::bytes(file.into_bytes()).file_name("memory.jsonl");
    let response = browser
        .client
        .post(format!("{}/data/import", browser.base))
        .header("sec-fetch-site", "same-origin")
        .multipart(Form::new().part("file", part))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 303, "{}", response.text().await.unwrap());
    until("the import ends", async || browser.get("/data").await.1.contains("The last import"))
        .await;
}

/// To the end, as the job does: how many steps it took.
async fn work_off(app: &TestApp) -> usize {
    let mut refused = None;
    for steps in 1..1_000 {
        for account in erasure::users_due(&app.db).await.unwrap() {
            match erasure::step(&app.db, account, app.embeddings.now()).await {
                Ok(ErasureStep::Finished) => return steps,
                Ok(ErasureStep::More) => {}
                // Somebody was adding to what goes.
                Err(error) => refused = Some(error),
                // The row of one that failed may still be held.
                Ok(ErasureStep::Waiting | ErasureStep::Nothing) => {}
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it does not end: {refused:?}");
}

async fn erase_by_page(browser: &Browser, user: &TestUser) -> String {
    let fields = [("email", user.email.as_str()), ("password", PASSWORD)];
    let response = browser.post("/data/erase", &fields).await;
    assert_eq!(response.status(), 303);
    response.headers()["location"].to_str().unwrap().to_owned()
}

pub async fn receipt_of(app: &TestApp, path: &str) -> Receipt {
    let id = path.strip_prefix("/erased/").unwrap();
    erasure::find_receipt(&app.db, id).await.unwrap().unwrap()
}

#[tokio::test]
async fn an_erasure_waits_for_whoever_changes_who_is_an_admin() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut conn = app.superuser().await;
    conn.sql("BEGIN; SELECT pg_advisory_xact_lock(hashtext('keepsake admins'))").run_all().await;
    let now = time::OffsetDateTime::now_utc();
    tokio::select! {
        begun = erasure::begin(&app.db, anna.id, now) => panic!("it did not wait: {begun:?}"),
        () = app.until_blocked(1) => {}
    }
    conn.sql("COMMIT").run_all().await;
    erasure::begin(&app.db, anna.id, now).await.unwrap();
}

#[tokio::test]
async fn an_erased_account_leaves_no_trace_in_any_column_of_any_table() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let ben = app.user("ben").await;
    ben.add("Ben has a parrot.").await;
    let service = app.service_token("bot", &Scope::ALL).await;
    let of_operator = async |user: &str, tool: &str, input: serde_json::Value| {
        let request = reqwest::Client::new().post(format!("{}/api/v1/tools/{tool}", app.base));
        let request = request.bearer_auth(&service).header("keepsake-user", user);
        request.json(&input).send().await.unwrap().status().as_u16()
    };
    let add = json!({ "type": "fact", "content": "The customer has a parrot." });
    assert_eq!(of_operator("customer-1", "memory_add", add).await, 200);
    let (anna, browser) = planted(&app, &provider).await;
    let mut conn = app.superuser().await;
    let customer: i64 =
        conn.sql("SELECT id FROM users WHERE external_id = 'customer-1'").value().await;
    let others = [ben.id.0, customer];
    let before = [fingerprint(&mut conn, others[0]).await, fingerprint(&mut conn, others[1]).await];

    // The search itself is seen to find what is there.
    let planted_in = find_everywhere(&mut conn, &traces()).await;
    for place in [
        "users.email",
        "agents.name",
        "memory_themes.slug",
        "memory_themes.display_name",
        "memory_themes.description",
        "memory_items.key",
        "memory_items.content",
        "memory_items.content_hash",
        "memory_items.tags",
        "memory_items.source",
        "memory_items.source_context",
        "memory_items.attributes",
        "memory_embeddings.error",
        "chat_settings.endpoint",
        "chat_settings.model",
        "embedding_settings.model",
        "embedding_settings.declined",
        "embedding_settings.query_prefix",
        "embedding_spaces.model",
        "activity.query",
        "sessions.external_id",
        "session_messages.external_id",
        "session_messages.content",
        "session_messages.tool_calls",
        "session_messages.tool_call_id",
        "session_extractions.reason",
        "session_extractions.model",
        "memory_summaries.body",
        "memory_summaries.model",
        "memory_summaries.facts_hash",
        "memory_summaries.failure",
    ] {
        assert!(planted_in.iter().any(|p| p == place), "{place} is not in {planted_in:?}");
    }
    // Samples of ANALYZE hold none of it even now.
    assert!(!planted_in.iter().any(|p| p.starts_with("pg_statistic")), "{planted_in:?}");
    let named_in = find_user(&mut conn, anna.id.0).await;
    assert!(named_in.len() >= 11, "{named_in:?}");

    let wrong = [("email", anna.email.as_str()), ("password", "not the password")];
    let refused = browser.post("/data/erase", &wrong).await;
    assert_eq!(refused.status(), 422);
    assert!(refused.text().await.unwrap().contains("not your password"));
    let path = erase_by_page(&browser, &anna).await;
    // At once, whatever the workers do.
    assert_eq!(anna.send("memory_list_themes", &json!({})).await.status(), 401);
    assert!(browser.get("/memory").await.0 == 303);
    let (status, page) = app.browser().get(&path).await;
    assert_eq!(status, 200);
    assert!(page.contains("The account is being deleted") && page.contains("progressbar"));
    work_off(&app).await;

    assert_eq!(find_everywhere(&mut conn, &traces()).await, Vec::<String>::new());
    assert_eq!(find_user(&mut conn, anna.id.0).await, Vec::<String>::new());
    let after = [fingerprint(&mut conn, others[0]).await, fingerprint(&mut conn, others[1]).await];
    assert_eq!(after, before);
    let receipt = receipt_of(&app, &path).await;
    assert_eq!(receipt.erased["memory_items"], 23);
    assert_eq!(receipt.erased["session_messages"], 3);
    assert_eq!(receipt.erased["memory_summary_items"], 1);
    assert_eq!(receipt.found["memory_summaries"], 1);
    assert_eq!(receipt.erased["users"], 1);
    for (table, rows) in &receipt.found {
        assert!(receipt.erased.get(table).unwrap_or(&0) >= rows, "{table}: {receipt:?}");
    }
    let (_, page) = app.browser().get(&path).await;
    assert!(page.contains("The account is deleted") && !page.contains(CANARY));
    let (status, document) = app.browser().get(&format!("{path}/receipt.json")).await;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!((status, &document["rows"]["memory_items"]), (200, &json!(23)));
    assert_eq!(app.browser().get("/erased/00000000000000000000000000000000").await.0, 404);

    // The same of an operator's user, who signs in nowhere.
    let begun = erasure::begin(&app.db, keepsake::accounts::UserId(customer), app.embeddings.now());
    begun.await.unwrap();
    let search = json!({ "query": "*" });
    assert_eq!(of_operator("customer-1", "memory_search", search).await, 401);
    work_off(&app).await;
    assert_eq!(find_user(&mut conn, customer).await, Vec::<String>::new());
    let left: i32 = conn.sql("SELECT users_count FROM operators").value().await;
    assert_eq!(left, 0);
    assert_eq!(fingerprint(&mut conn, ben.id.0).await, before[0]);
}

#[tokio::test]
async fn an_erased_item_takes_all_that_derives_from_it_and_nothing_else() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    for user in [&anna, &ben] {
        app.use_provider(user, &provider, "first").await;
        app.activity.keep_queries(user.id, true).await.unwrap();
        user.add("A parrot talks.").await;
    }
    let kept = anna.add("Anna likes tea.").await;
    let input = json!({ "type": "fact", "content": TEXT, "theme": CANARY, "tags": [CANARY] });
    let id = anna.call("memory_add", input).await["id"].as_i64().unwrap();
    app.drain(&anna).await;
    anna.call("memory_get", json!({ "item_id": id })).await;
    assert!(anna.find(CANARY).await.contains(&id));
    app.activity.flush().await.unwrap();
    let mut conn = app.superuser().await;
    conn.sql("UPDATE memory_items SET superseded_by = $1 WHERE id = $2")
        .bind(id)
        .bind(kept)
        .run()
        .await;
    let bens = fingerprint(&mut conn, ben.id.0).await;
    assert!(find_everywhere(&mut conn, &traces()).await.len() >= 6);

    let (browser, other) = (app.browser(), app.browser());
    other.sign_in(&ben).await;
    let named = id.to_string();
    let delete = [("action", "delete"), ("item", named.as_str())];
    assert_eq!(other.post("/data/delete", &delete).await.status(), 404);
    browser.sign_in(&anna).await;
    let (_, page) = browser.get(&format!("/memory/{id}")).await;
    assert!(page.contains("1 vector and 1 entry of its history"), "{page}");
    // Not before Anna does it.
    let path = app.delete_item(&browser, id).await;
    assert_eq!(browser.get(&path).await.0, 200);

    assert_eq!(find_everywhere(&mut conn, &traces()).await, Vec::<String>::new());
    let receipt = receipt_of(&app, &path).await;
    let expected = [
        ("entity_mentions", 1),
        ("links", 1),
        ("memory_embeddings", 1),
        ("memory_item_events", 1),
        ("memory_items", 1),
        ("memory_passages", 1),
        ("memory_summary_items", 0),
        ("memory_themes", 1),
        ("mentions", 3),
    ];
    let erased: Vec<(&str, i64)> = receipt.erased.iter().map(|(n, c)| (n.as_str(), *c)).collect();
    assert_eq!(erased, expected);
    assert!(receipt.finished_at.is_some());
    let (status, _) = anna.refused("memory_get", json!({ "item_id": id })).await;
    assert_eq!(status, 404);
    let mentions: i64 =
        conn.sql("SELECT count(*) FROM activity WHERE $1 = ANY (item_ids)").bind(id).value().await;
    assert_eq!(mentions, 0);
    assert!(anna.find("tea").await.contains(&kept));
    app.activity.flush().await.unwrap();
    let (_, data) = browser.get("/data").await;
    assert!(data.contains(&path), "the receipt is listed");
    // Twice is not there any more.
    assert_eq!(browser.post("/data/delete", &delete).await.status(), 404);
    // Ben signed in meanwhile, and that is all.
    for undo in [
        "DELETE FROM web_sessions WHERE user_id = $1",
        "UPDATE users SET last_sign_in_at = NULL WHERE id = $1",
    ] {
        let undone = sqlx::query(undo).bind(ben.id.0).execute(&mut conn).await;
        assert_eq!(undone.unwrap().rows_affected(), 1);
    }
    assert_eq!(fingerprint(&mut conn, ben.id.0).await, bens);
}

#[tokio::test]
async fn what_is_added_and_searched_meanwhile_leaves_no_row_behind() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = app.user(CANARY).await;
    app.use_provider(&anna, &provider, "first").await;
    for n in 0..50 {
        anna.add(&format!("{CANARY} {n}")).await;
    }
    // Its calls have been let in before the erasure begins: the domain itself, not its doors.
    let viewer = keepsake::accounts::Viewer::person(anna.id);
    let mut busy = Vec::new();
    for task in 0..4 {
        let (adding, embeddings, search, activity) =
            (app.adding.clone(), app.embeddings.clone(), app.search.clone(), app.activity.clone());
        let viewer = viewer.clone();
        busy.push(tokio::spawn(async move {
            let (mut added, mut unclear) = (0, Vec::new());
            for n in 0..100_000 {
                let text = format!("{CANARY} {task} {n}");
                let item = NewItem::parse(ItemType::Fact, &text, Some(CANARY), &[]).unwrap();
                let call = activity.begin(&viewer, "memory_add");
                match adding.add(&call, &item).await {
                    Ok(_) => added += 1,
                    Err(error) => match ToolError::from(error).code() {
                        "erased_user" => break,
                        code => unclear.push(code),
                    },
                }
                search.embed_query(viewer.user_id, &text).await.ok();
                if n % 20 == 19 {
                    embeddings.rebuild(viewer.user_id).await.ok();
                    embeddings.drain(viewer.user_id, &Slice::whole()).await.ok();
                }
            }
            (added, unclear)
        }));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    erasure::begin(&app.db, anna.id, app.embeddings.now()).await.unwrap();
    work_off(&app).await;
    let mut ended = Vec::new();
    for task in busy {
        ended.push(task.await.unwrap());
    }
    println!("added, and refused in other words, by task: {ended:?}");
    for (added, unclear) in ended {
        assert!(added < 100_000, "it never heard that the account is gone");
        assert_eq!(unclear, [""; 0], "some were told nothing clear");
    }
    app.activity.flush().await.unwrap();
    // A push that came last of all is a row of the queue, until the next sweep.
    app.run_job("sweep").await;
    let mut conn = app.superuser().await;
    assert_eq!(find_user(&mut conn, anna.id.0).await, Vec::<String>::new());
    assert_eq!(find_everywhere(&mut conn, &traces()).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_erasure_that_was_killed_in_the_middle_goes_on_with_the_next_worker() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    ben.add("Ben's own").await;
    anna.add("The first of many.").await;
    app.sql("INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source, created_at, updated_at)
         SELECT user_id, theme_id, type, 'note ' || n, sha256(n::text::bytea), source, created_at, updated_at
         FROM memory_items, generate_series(1, 9000) n WHERE user_id = $1").bind(anna.id.0).run().await;
    let receipt = erasure::begin(&app.db, anna.id, app.embeddings.now()).await.unwrap();
    let again = erasure::begin(&app.db, anna.id, app.embeddings.now()).await;
    assert!(matches!(again, Err(erasure::ErasureError::Gone)));
    for _ in 0..3 {
        assert_eq!(
            erasure::step(&app.db, anna.id, app.embeddings.now()).await.unwrap(),
            ErasureStep::More
        );
    }
    let halfway = erasure::find_receipt(&app.db, receipt.as_str()).await.unwrap().unwrap();
    let gone = halfway.erased.get("memory_items").copied().unwrap_or_default();
    assert!((1..9_000).contains(&gone), "{halfway:?}");
    // The server is gone; another one starts its workers.
    let twin = app.twin().await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let workers = tokio::spawn(jobs::run(twin.job_context(), stopped));
    let patience = std::time::Instant::now();
    loop {
        let now = erasure::find_receipt(&app.db, receipt.as_str()).await.unwrap().unwrap();
        if now.finished_at.is_some() {
            assert_eq!(now.erased["memory_items"], 9_001);
            break;
        }
        assert!(patience.elapsed() < PATIENCE, "{now:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stop.send(true).ok();
    workers.await.unwrap();
    assert_eq!(find_user(&mut app.superuser().await, anna.id.0).await, Vec::<String>::new());
    assert_eq!(ben.find("own").await.len(), 1);
}

#[tokio::test]
async fn the_last_admin_stays_while_there_are_others() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.make_admin(&anna).await;
    let browser = app.signed_in(&anna).await;
    let fields = [("email", anna.email.as_str()), ("password", PASSWORD)];
    let refused = browser.post("/data/erase", &fields).await;
    assert_eq!(refused.status(), 409);
    assert!(refused.text().await.unwrap().contains("You are the last admin of this server"));
    let other = app.signed_in(&ben).await;
    erase_by_page(&other, &ben).await;
    erase_by_page(&browser, &anna).await;
    work_off(&app).await;
    work_off(&app).await;
    let users: i64 = app.sql("SELECT count(*) FROM users").value().await;
    assert_eq!(users, 0);
}

#[tokio::test]
async fn an_export_taken_before_brings_everything_back_into_a_new_account() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("Anna keeps bees.").await;
    let file = export(&app, &anna).await;
    erasure::begin(&app.db, anna.id, app.embeddings.now()).await.unwrap();
    work_off(&app).await;
    let anna = app.user("anna").await;
    assert_eq!(import(&app, &anna, &file).await.added, 1);
    assert_eq!(anna.find("bees").await.len(), 1);
}

#[tokio::test]
async fn with_an_account_its_links_invitations_and_all_copies_of_its_keys_go_at_once() {
    let (app, zoe) = TestApp::start_for("zoe").await;
    app.make_admin(&zoe).await;
    let address = keepsake::accounts::Email::parse("anna@example.com").unwrap();
    let member = keepsake::accounts::Role::Member;
    // Bound to her address, and never used: she got her account another way.
    app.accounts.invite(zoe.id, Some(&address), member).await.unwrap();
    let anna = app.user("anna").await;
    app.make_admin(&anna).await;
    let open = app.accounts.invite(anna.id, None, member).await.unwrap();
    let (_, of_zoe) = app.accounts.make_reset_link(anna.id, zoe.id).await.unwrap();
    let (_, of_anna) = app.accounts.make_reset_link(zoe.id, anna.id).await.unwrap();
    let chat = ChatServer::saying("x").await;
    crate::chat::use_server(&app, &anna, &chat).await;
    app.save_endpoint(&anna, "https://api.example.com/v1", "m", "sk-key", true).await;
    anna.add("so that there is a space").await;
    app.save_endpoint(&anna, "https://api.example.com/v1", "n", "sk-key", true).await;
    let keys = "SELECT (SELECT count(*) FROM embedding_spaces WHERE sealed_key IS NOT NULL)
                     + (SELECT count(*) FROM embedding_settings WHERE sealed_key IS NOT NULL)
                     + (SELECT count(*) FROM chat_settings WHERE sealed_key IS NOT NULL)";
    let count = async |sql: &'static str| -> i64 {
        let mut conn = app.superuser().await;
        conn.sql(sql).value().await
    };
    assert!(count(keys).await >= 3, "copies to be removed");

    erasure::begin(&app.db, anna.id, app.embeddings.now()).await.unwrap();
    assert_eq!(count(keys).await, 0);
    assert!(app.accounts.find_invitation(&open).await.unwrap().is_none());
    assert!(app.accounts.find_reset(&of_zoe).await.unwrap().is_none());
    assert!(app.accounts.find_reset(&of_anna).await.unwrap().is_none());
    let address = "SELECT count(*) FROM invitations WHERE email = 'anna@example.com'";
    assert_eq!(count(address).await, 0);
}
