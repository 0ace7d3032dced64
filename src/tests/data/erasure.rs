use std::time::Duration;

use keepsake::accounts::Scope;
use keepsake::clock::Clock as _;
use keepsake::erasure::{self, ErasureStep, Receipt};
use keepsake::jobs;
use keepsake::memories::{ItemType, NewItem};
use keepsake::queue::Slice;
use keepsake::tools::ToolError;
use reqwest::multipart::{Form, Part};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::{export, hand_over, import};
use crate::support::Sql as _;
use crate::support::{Browser, ChatServer, PASSWORD, Provider, TestApp, TestUser, until};

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
    let columns = "SELECT c.oid::regclass::text, quote_ident(a.attname) FROM pg_class c
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE c.relkind IN ('r', 'p', 'm') ORDER BY 1, a.attnum";
    let columns: Vec<(String, String)> = conn.sql(columns).rows().await;
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
    let tables = "SELECT c.oid::regclass::text FROM pg_class c
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id' AND NOT a.attisdropped
         WHERE c.relkind IN ('r', 'p') ORDER BY 1";
    let tables: Vec<String> = conn.sql(tables).values().await;
    assert!(tables.len() >= 11, "{tables:?}");
    let looks = tables
        .iter()
        .map(|table| format!("SELECT '{table}' FROM {table} WHERE user_id = {user}"))
        .chain([format!("SELECT 'users' FROM users WHERE id = {user}")]);
    conn.sql(looks.collect::<Vec<_>>().join(" UNION ")).values().await
}

/// All rows of a user, as one hash.
pub async fn fingerprint(conn: &mut PgConnection, user: i64) -> String {
    const TABLES: &str = "agents agent_tokens memory_themes memory_items memory_item_events \
        embedding_settings chat_settings chat_spend embedding_spaces memory_embeddings activity \
        web_sessions sessions session_messages session_extractions memory_summaries \
        memory_summary_items";
    let of = |table: &str| {
        format!("SELECT '{table}' || t::text AS line FROM {table} t WHERE user_id = {user}")
    };
    let all: Vec<String> = TABLES.split(' ').map(of).collect();
    let hash = format!(
        "SELECT count(*) || ' ' || md5(string_agg(line, '|' ORDER BY line)) FROM ({} UNION ALL SELECT u::text FROM users u WHERE id = {user}) x",
        all.join(" UNION ALL ")
    );
    conn.sql(hash).value().await
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
    let id = anna.added(input).await;
    for n in 0..20 {
        anna.add_to(&format!("{CANARY} {}", n % 3), &format!("{CANARY} {n}")).await;
    }
    let old = anna.add(&format!("old {CANARY}")).await;
    anna.call("memory_archive", json!({ "item_id": old })).await;
    anna.find(CANARY).await;
    app.drain(&anna).await;
    let said = json!([
        { "id": CANARY, "role": "user", "content": TEXT },
        { "id": "2", "role": "assistant", "tool_calls": [{ "id": CANARY, "name": CANARY, "arguments": CANARY }] },
        { "id": "3", "role": "tool", "tool_call_id": CANARY, "content": CANARY },
    ]);
    hand_over(&anna, CANARY, &said).await;
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
    let stands_on = "INSERT INTO memory_summary_items VALUES ($1, $2)";
    app.sql(stands_on).bind(anna.id.0).bind(id).run().await;
    let said_again =
        "INSERT INTO memory_repeats SELECT $1, $2, id, 1 FROM sessions WHERE user_id = $1";
    app.sql(said_again).bind(anna.id.0).bind(id).run().await;
    let browser = app.signed_in(&anna).await;
    upload(&browser, format!("{{\"keepsake_export\":1}}\n{{\"record\":\"item\",\"type\":\"fact\",\"content\":\"up {CANARY}\"}}\n")).await;
    while app.jobs().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    app.sql("ANALYZE").run_all().await;
    (anna, browser)
}

pub async fn upload(browser: &Browser, file: String) {
    upload_as(browser, file, false).await;
}

/// With the box ticked that its person vouches for it, or without.
pub async fn upload_as(browser: &Browser, file: String, is_vouched: bool) {
    let send = async || {
        let part = Part::bytes(file.clone().into_bytes()).file_name("memory.jsonl");
        let request = browser.client.post(format!("{}/data/import", browser.base));
        let request = request.header("sec-fetch-site", "same-origin");
        let form = match is_vouched {
            true => Form::new().text("vouch", "1"),
            false => Form::new(),
        };
        request.multipart(form.part("file", part)).send().await.unwrap()
    };
    let mut response = send().await;
    // The server may not have noticed yet that an upload before this one was broken off.
    while response.status() == 429 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        response = send().await;
    }
    assert_eq!(response.status(), 303, "{}", response.text().await.unwrap());
    until("the import ends", async || browser.get("/data").await.1.contains("The last import"))
        .await;
}

/// To the end, as the job does.
async fn work_off(app: &TestApp) {
    let mut refused = None;
    for _ in 1..1_000 {
        for account in erasure::users_due(&app.db).await.unwrap() {
            match erasure::step(&app.db, account, app.embeddings.now()).await {
                Ok(ErasureStep::Finished) => return,
                // There is more, or the row of one that failed may still be held.
                Ok(_) => {}
                // Somebody was adding to what goes.
                Err(error) => refused = Some(error),
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
    let now = app.clock.now();
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
    let before = [fingerprint(&mut conn, ben.id.0).await, fingerprint(&mut conn, customer).await];

    // The search itself is seen to find what is there.
    let planted_in = find_everywhere(&mut conn, &traces()).await;
    for (table, columns) in [
        ("users", "email"),
        ("agents", "name"),
        ("memory_themes", "slug display_name description"),
        ("memory_items", "key content content_hash tags source source_context attributes"),
        ("memory_embeddings", "error"),
        ("chat_settings", "endpoint model"),
        ("embedding_settings", "model declined query_prefix"),
        ("embedding_spaces", "model"),
        ("activity", "query"),
        ("sessions", "external_id"),
        ("session_messages", "external_id content tool_calls tool_call_id"),
        ("session_extractions", "reason model"),
        ("memory_summaries", "body model facts_hash failure"),
    ] {
        for column in columns.split(' ') {
            let place = format!("{table}.{column}");
            assert!(planted_in.contains(&place), "{place} is not in {planted_in:?}");
        }
    }
    // Samples of ANALYZE hold none of it even now.
    assert!(!planted_in.iter().any(|p| p.starts_with("pg_statistic")), "{planted_in:?}");
    let named_in = find_user(&mut conn, anna.id.0).await;
    assert!(named_in.len() >= 11, "{named_in:?}");

    let wrong = [("email", anna.email.as_str()), ("password", "not the password")];
    browser.says(422, "/data/erase", &wrong, "not your password").await;
    let path = erase_by_page(&browser, &anna).await;
    // At once, whatever the workers do.
    assert_eq!(anna.send("memory_list_themes", &json!({})).await.status(), 401);
    assert!(browser.get("/memory").await.0 == 303);
    let page = app.browser().look(&path).await;
    assert!(page.contains("The account is being deleted") && page.contains("progressbar"));
    work_off(&app).await;

    assert_eq!(find_everywhere(&mut conn, &traces()).await, Vec::<String>::new());
    assert_eq!(find_user(&mut conn, anna.id.0).await, Vec::<String>::new());
    let after = [fingerprint(&mut conn, ben.id.0).await, fingerprint(&mut conn, customer).await];
    assert_eq!(after, before);
    let receipt = receipt_of(&app, &path).await;
    for (table, rows) in
        [("memory_items", 24), ("session_messages", 3), ("memory_summary_items", 1), ("users", 1)]
    {
        assert_eq!(receipt.erased[table], rows, "{table}");
    }
    assert_eq!(receipt.found["memory_summaries"], 1);
    for (table, rows) in &receipt.found {
        assert!(receipt.erased.get(table).unwrap_or(&0) >= rows, "{table}: {receipt:?}");
    }
    let (_, page) = app.browser().get(&path).await;
    assert!(page.contains("The account is deleted") && !page.contains(CANARY));
    let document = app.browser().look(&format!("{path}/receipt.json")).await;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["rows"]["memory_items"], 24);
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
    let (app, anna, ben) = TestApp::start_for_two().await;
    let provider = Provider::start().await;
    for user in [&anna, &ben] {
        app.use_provider(user, &provider, "first").await;
        app.activity.keep_queries(user.id, true).await.unwrap();
        user.add("A parrot talks.").await;
    }
    let kept = anna.add("Anna likes tea.").await;
    let input = json!({ "type": "fact", "content": TEXT, "theme": CANARY, "tags": [CANARY] });
    let id = anna.added(input).await;
    app.drain(&anna).await;
    anna.call("memory_get", json!({ "item_id": id })).await;
    assert!(anna.find(CANARY).await.contains(&id));
    app.activity.flush().await.unwrap();
    let mut conn = app.superuser().await;
    let superseded = "UPDATE memory_items SET superseded_by = $1 WHERE id = $2";
    conn.sql(superseded).bind(id).bind(kept).run().await;
    let bens = fingerprint(&mut conn, ben.id.0).await;
    assert!(find_everywhere(&mut conn, &traces()).await.len() >= 6);

    let other = app.signed_in(&ben).await;
    let named = id.to_string();
    let delete = [("action", "delete"), ("item", named.as_str())];
    other.answers(404, "/data/delete", &delete).await;
    let browser = app.signed_in(&anna).await;
    let page = browser.look(&format!("/memory/{id}")).await;
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
    assert_eq!(anna.refused("memory_get", json!({ "item_id": id })).await.0, 404);
    assert_eq!(conn.count(&format!("activity WHERE {id} = ANY (item_ids)")).await, 0);
    assert!(anna.find("tea").await.contains(&kept));
    app.activity.flush().await.unwrap();
    assert!(browser.look("/data").await.contains(&path), "the receipt is listed");
    // Twice is not there any more.
    browser.answers(404, "/data/delete", &delete).await;
    // Ben signed in meanwhile, and that is all.
    for undo in [
        "DELETE FROM web_sessions WHERE user_id = $1",
        "UPDATE users SET last_sign_in_at = NULL WHERE id = $1",
    ] {
        assert_eq!(conn.sql(undo).bind(ben.id.0).run().await, 1);
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
    for task in busy {
        let (added, unclear) = task.await.unwrap();
        println!("added, and refused in other words: {added} {unclear:?}");
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
    let (app, anna, ben) = TestApp::start_for_two().await;
    ben.add("Ben's own").await;
    anna.add("The first of many.").await;
    app.sql("INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source, created_at, updated_at)
         SELECT user_id, theme_id, type, 'note ' || n, sha256(n::text::bytea), source, created_at, updated_at
         FROM memory_items, generate_series(1, 9000) n WHERE user_id = $1").bind(anna.id.0).run().await;
    let receipt = erasure::begin(&app.db, anna.id, app.embeddings.now()).await.unwrap();
    let now = async || erasure::find_receipt(&app.db, receipt.as_str()).await.unwrap().unwrap();
    let again = erasure::begin(&app.db, anna.id, app.embeddings.now()).await;
    assert!(matches!(again, Err(erasure::ErasureError::Gone)));
    for _ in 0..3 {
        let step = erasure::step(&app.db, anna.id, app.embeddings.now()).await;
        assert_eq!(step.unwrap(), ErasureStep::More);
    }
    let halfway = now().await;
    let gone = halfway.erased.get("memory_items").copied().unwrap_or_default();
    assert!((1..9_000).contains(&gone), "{halfway:?}");
    // The server is gone; another one starts its workers.
    let twin = app.twin().await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let workers = tokio::spawn(jobs::run(twin.services.clone(), stopped));
    until("it is finished", async || now().await.finished_at.is_some()).await;
    assert_eq!(now().await.erased["memory_items"], 9_001);
    stop.send(true).ok();
    workers.await.unwrap();
    assert_eq!(find_user(&mut app.superuser().await, anna.id.0).await, Vec::<String>::new());
    assert_eq!(ben.find("own").await.len(), 1);
}

#[tokio::test]
async fn the_last_admin_stays_while_there_are_others() {
    let (app, anna, browser) = TestApp::start_with_admin().await;
    let ben = app.user("ben").await;
    let fields = [("email", anna.email.as_str()), ("password", PASSWORD)];
    browser.says(409, "/data/erase", &fields, "You are the last admin of this server").await;
    erase_by_page(&app.signed_in(&ben).await, &ben).await;
    erase_by_page(&browser, &anna).await;
    work_off(&app).await;
    work_off(&app).await;
    assert_eq!(app.count("users").await, 0);
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
    assert!(app.sql(keys).value::<i64>().await >= 3, "copies to be removed");

    erasure::begin(&app.db, anna.id, app.embeddings.now()).await.unwrap();
    assert_eq!(app.sql(keys).value::<i64>().await, 0);
    assert!(app.accounts.find_invitation(&open).await.unwrap().is_none());
    for link in [of_zoe, of_anna] {
        assert!(app.accounts.find_reset(&link).await.unwrap().is_none());
    }
    assert_eq!(app.count("invitations WHERE email = 'anna@example.com'").await, 0);
}
