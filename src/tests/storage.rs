//! Bytes of a user, and free disk: past either nothing is added at any door; reading and whatever frees room go on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keepsake::accounts::Scope;
use keepsake::export::{FileOrigin, ImportSource, Importer};
use keepsake::quota::{Disk, DiskSpace};
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use time::Duration;

use crate::consolidation::user_says;
use crate::mcp::Mcp;
use crate::pages::{assert_has, assert_lacks};
use crate::support::{Browser, TestApp, TestUser, Wish};

const METRICS_TOKEN: &str = "a metrics token of some length";

/// Which PostgreSQL does not compress.
fn noise(bytes: usize) -> String {
    (0..bytes.div_ceil(32)).map(|_| format!("{:032x}", rand::random::<u128>())).collect()
}

async fn put(user: &TestUser, name: &str, bytes: usize) -> (u16, Value) {
    let body = json!({ "content": noise(bytes) });
    user.request(Method::PUT, &format!("/api/v1/documents/{name}"), Some(body)).await
}

/// An admin's browser.
async fn admin(app: &TestApp) -> Browser {
    let zoe = app.user("zoe").await;
    app.make_admin(&zoe).await;
    app.signed_in(&zoe).await
}

async fn set_limit(admin: &Browser, mib: &str) {
    admin.says(200, "/admin/storage", &[("mib", mib)], "storage is saved").await;
}

/// Counts whoever is due, when they may be counted again.
async fn count(app: &TestApp) -> u32 {
    app.clock.advance(Duration::minutes(30));
    app.run_job("storage").await
}

async fn upload(browser: &Browser) -> (u16, String) {
    let request = browser.client.post(format!("{}/data/import", browser.base));
    let file = "{\"keepsake_export\":1}\n{\"record\":\"item\",\"type\":\"fact\",\"content\":\"Anna rows.\"}\n";
    let form = Form::new().part("file", Part::bytes(file.as_bytes()));
    let sent = request.header("sec-fetch-site", "same-origin").multipart(form).send().await;
    let response = sent.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Every door through which something is added answers 507 with this code and sentence; whatever frees room works.
async fn assert_nothing_is_added(
    app: &TestApp,
    (anna, bees, wax): (&TestUser, i64, i64),
    code: &str,
    says: &str,
) {
    let one_more = json!({ "type": "fact", "content": "Anna rows." });
    let file = json!({ "command": "create", "path": "/memories/a.md", "file_text": "Rows." });
    let said = json!({ "messages": [user_says("1", "I row.")] });
    for (method, path, body) in [
        (Method::POST, "/api/v1/tools/memory_add", &one_more),
        (Method::POST, "/api/v1/tools/memory", &json!({ "action": "save", "text": "Anna rows." })),
        (
            Method::POST,
            "/api/v1/tools/memory_correct",
            &json!({ "item_id": bees, "content": "No." }),
        ),
        (Method::POST, "/api/v1/tools/memory_files", &file),
        (Method::PUT, "/api/v1/documents/b.md", &json!({ "content": "Rows." })),
        (Method::POST, "/api/v1/sessions/talk/messages", &said),
    ] {
        let (status, refused) = anna.request(method, path, Some(body.clone())).await;
        assert_eq!((status, &refused["code"]), (507, &json!(code)), "{path}: {refused}");
        let sentence = refused["detail"].as_str().unwrap();
        assert!(sentence.contains(says) && sentence.contains("nothing"), "{path}: {sentence}");
    }
    let told = Mcp::of(app, anna).result("memory_add", one_more.clone()).await;
    assert_eq!(told["isError"], true);
    assert!(told["content"][0]["text"].as_str().unwrap().contains(says), "{told}");
    // Signing in works, and so does the page that frees room.
    let browser = app.signed_in(anna).await;
    let (status, page) = upload(&browser).await;
    assert_eq!(status, 507);
    assert_has(&page, &[says, "Your data"]);
    let lines = io::Cursor::new(
        "{\"keepsake_export\":1}\n{\"record\":\"item\",\"type\":\"fact\",\"content\":\"Anna rows.\"}\n",
    );
    let importer = Importer::new(&app.db, &app.embeddings, anna.id, FileOrigin::Unknown);
    let imported = importer.run(ImportSource::stream(lines), |_| std::future::ready(())).await;
    assert!(imported.unwrap_err().to_string().contains(says));
    assert_eq!(app.count("memory_items WHERE content LIKE '%rows%'").await, 0);
    assert_eq!(app.count("session_messages WHERE content = 'I row.'").await, 0);

    assert_eq!(anna.call("memory_get", json!({ "item_id": bees })).await["id"], bees);
    let recalled = json!({ "message": "What do I know of bees?" });
    assert_eq!(anna.post("/api/v1/recall", &recalled).await.status(), 200);
    assert!(browser.look("/data/export").await.contains("keepsake_export"));
    anna.call("memory_archive", json!({ "item_id": wax })).await;
    anna.call("memory", json!({ "action": "forget", "key": "hives" })).await;
    app.delete_item(&browser, wax).await;
}

/// With the ids of two memories.
async fn with_memories(app: &TestApp, name: &str) -> (TestUser, i64, i64) {
    let user = app.user(name).await;
    let (bees, wax) = (user.add("Anna keeps bees.").await, user.add("Anna sells honey.").await);
    let hives = json!({ "type": "fact", "content": "Two hives.", "key": "hives" });
    user.call("memory_add", hives).await;
    (user, bees, wax)
}

#[tokio::test]
async fn past_the_storage_limit_nothing_is_added_and_what_frees_room_goes_on() {
    let app = TestApp::start().await;
    let ((anna, bees, wax), admin) = (with_memories(&app, "anna").await, admin(&app).await);
    let (ben, ..) = with_memories(&app, "ben").await;
    for name in ["one.txt", "two.txt"] {
        assert_eq!(put(&anna, name, 740_000).await.0, 201);
    }
    let said = json!({ "messages": [user_says("1", "I keep bees.")] });
    assert_eq!(anna.post("/api/v1/sessions/old/messages", &said).await.status(), 200);
    anna.post("/api/v1/sessions/old/complete", &json!({})).await;
    app.activity.flush().await.unwrap();

    // All tables are counted, of those that the role of requests reads.
    assert_eq!(count(&app).await, 2);
    let parts: Value =
        app.sql("SELECT parts FROM user_storage WHERE user_id = $1").bind(anna.id.0).value().await;
    let tables: Vec<String> = app
        .sql("SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id'
              WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
                AND has_column_privilege('keepsake_app', c.oid, a.attnum, 'SELECT')
                AND EXISTS (SELECT FROM pg_policies p WHERE p.tablename = c.relname AND 'keepsake_app' = ANY (p.roles)
                            AND p.cmd IN ('ALL', 'SELECT'))")
        .values()
        .await;
    assert!(tables.len() > 40, "{tables:?}");
    for table in tables {
        let rows = app.count(&format!("{table} WHERE user_id = {}", anna.id.0)).await;
        let counted = parts[&table].as_i64().unwrap_or_default();
        let is_like = rows > 0 && counted >= 28 || rows == 0 && counted == 0;
        // The count itself has changed these.
        let has_changed = ["job_queue", "job_runs", "user_storage"].contains(&&*table);
        assert!(is_like || has_changed, "{table}: {rows} rows, {counted} bytes");
    }
    let revisions = parts["document_revisions"].as_i64().unwrap();
    assert!((1_480_000..1_490_000).contains(&revisions), "{revisions}");

    // An admin's limit acts at once, on each user by themselves.
    for (mib, says) in [("0", "from 1 to"), ("many", "from 1 to")] {
        admin.says(422, "/admin/storage", &[("mib", mib)], says).await;
    }
    set_limit(&admin, "1").await;
    assert_nothing_is_added(&app, (&anna, bees, wax), "storage_full", "at most 1.0 MiB").await;
    assert_eq!(ben.add("Ben keeps goats.").await, ben.find("goats").await[0]);

    // Jobs that add wait, and say why.
    for job in ["extract", "turns"] {
        app.sql("INSERT INTO job_queue (user_id, job, run_at, waiting_since) VALUES ($1, $2, 'epoch', 'epoch')
                 ON CONFLICT (user_id, job) DO UPDATE SET run_at = 'epoch', attempts = 0")
            .bind(anna.id.0).bind(job).run().await;
        assert_eq!(app.run_job(job).await, 0);
        let said = "SELECT problem FROM job_runs WHERE user_id = $1 AND job = $2";
        let said: String = app.sql(said).bind(anna.id.0).bind(job).value().await;
        assert!(said.contains("storage limit is reached"), "{said}");
        let is_later =
            "SELECT run_at > $3 AND problem IS NULL FROM job_queue WHERE user_id = $1 AND job = $2";
        let is_later = app.sql(is_later).bind(anna.id.0).bind(job).bind(app.embeddings.now());
        assert!(is_later.value::<bool>().await, "{job}");
    }

    // Who stores how much is for its person, and for admins.
    let annas = app.signed_in(&anna).await;
    assert_has(&annas.look("/data").await, &["Storage", "1.4 MiB of 1.0 MiB", "Documents"]);
    let due = "INSERT INTO memory_passages_due (user_id, sources) VALUES ($1, 1)";
    app.sql(due).bind(anna.id.0).run().await;
    assert_has(&annas.look("/settings/work").await, &["at most 1.0 MiB"]);
    assert_eq!(annas.get("/admin/users").await.0, 404);
    let page = admin.look("/admin/users").await;
    assert_has(&page, &["stores 1.4 MiB", "each may store 1.0 MiB", "anna@example.com"]);
    assert_has(&page, &["changed the storage limit of each user"]);
    assert_has(&admin.look("/admin").await, &["value=\"1\"", "/admin/storage"]);
    assert_lacks(&app.signed_in(&ben).await.look("/data").await, &["1.4 MiB"]);

    // What is erased makes room as soon as it is counted; a raised limit at once.
    let refused = json!({ "type": "fact", "content": "Anna rows." });
    set_limit(&admin, "2").await;
    anna.call("memory_add", refused.clone()).await;
    set_limit(&admin, "1").await;
    assert_eq!(
        anna.refused("memory_add", json!({ "type": "fact", "content": "No." })).await.0,
        507
    );
    let documents: Vec<i64> = app.sql("SELECT id FROM documents").values().await;
    for document in documents {
        let path = format!("/documents/{document}/erase");
        annas.answers(303, &path, &[("confirm", "1")]).await;
    }
    assert!(app.jobs().await.contains(&(anna.id.0, "storage".to_owned())));
    assert!(count(&app).await > 0);
    anna.add("Anna rows again.").await;
}

#[tokio::test]
async fn what_is_not_counted_yet_is_estimated_for_all_servers_together() {
    let app = TestApp::start().await;
    let (admin, twin) = (admin(&app).await, app.twin().await);
    set_limit(&admin, "2").await;
    let anna = app.user("anna").await;
    let there = anna.at(&twin);
    let mut accepted = 0;
    let refused = loop {
        let server = if accepted % 2 == 0 { &anna } else { &there };
        match put(server, &format!("{accepted}.txt"), 50_000).await {
            (201, _) => accepted += 1,
            refused => break refused,
        }
    };
    // Four times 50 kB each of 2 MiB, and no count by a request.
    assert_eq!((accepted, refused.0), (9, 507));
    let never = "SELECT counted_at IS NULL FROM user_storage WHERE user_id = $1";
    assert!(app.sql(never).bind(anna.id.0).value::<bool>().await);
    assert_eq!(put(&there, "again.txt", 50_000).await.0, 507);
    // The count says that there is room; it is not made again a moment later.
    assert_eq!((count(&app).await, app.run_job("storage").await), (1, 0));
    assert_eq!(put(&anna, "more.txt", 50_000).await.0, 201);
    let storage: (i64, bool) = app
        .sql("SELECT bytes, recount_at > counted_at FROM user_storage WHERE user_id = $1")
        .bind(anna.id.0)
        .row()
        .await;
    assert!((450_000..600_000).contains(&storage.0) && storage.1, "{storage:?}");
    // A user of an operator has room of their own, and is counted too.
    let token = app.service_token("shop", &Scope::ALL).await;
    let request = admin.client.put(format!("{}/api/v1/documents/a.txt", app.base));
    let request = request.bearer_auth(token).header("Keepsake-User", "customer-42");
    let response = request.json(&json!({ "content": noise(600_000) })).send().await.unwrap();
    assert_eq!(response.status(), 507);
    let refused: Value = response.json().await.unwrap();
    assert_eq!(refused["code"], "storage_full");
    let page = admin.look("/admin/users").await;
    assert_has(&page, &["anna@example.com", "each may store 2.0 MiB"]);
}

/// A disk whose free space a test sets.
struct TestDisk(AtomicU64);

impl Disk for TestDisk {
    fn space(&self) -> io::Result<DiskSpace> {
        match self.0.load(Ordering::Relaxed) {
            u64::MAX => Err(io::ErrorKind::NotFound.into()),
            free => Ok(DiskSpace { free, total: 100 << 30 }),
        }
    }
}

#[tokio::test]
async fn below_the_floor_of_free_disk_nothing_is_added_and_reading_goes_on() {
    const MIB: u64 = 1 << 20;
    let disk = Arc::new(TestDisk(AtomicU64::new(50 << 30)));
    let metrics_token = Some(METRICS_TOKEN);
    let app = TestApp::start_as(Wish { metrics_token, ..Wish::default() }).await;
    let watch = app.embeddings.quota().disk();
    watch.watch(vec![disk.clone()], None);
    let ((anna, bees, wax), admin) = (with_memories(&app, "anna").await, admin(&app).await);
    let set = |free| {
        disk.0.store(free, Ordering::Relaxed);
        watch.look();
    };
    let ready = async || -> Value { anna.get("/readyz").await.json().await.unwrap() };
    let adds = async |said: &str| {
        let response = anna.send("memory_add", &json!({ "type": "fact", "content": said })).await;
        let wait =
            response.headers().get("retry-after").map(|wait| wait.to_str().unwrap().to_owned());
        (response.status().as_u16(), wait)
    };
    assert_eq!(ready().await["disk"], "ready");
    set(1023 * MIB);
    assert_nothing_is_added(
        &app,
        (&anna, bees, wax),
        "disk_full",
        "1023.0 MiB left, and below 1.0 GiB",
    )
    .await;
    assert_eq!(adds("Anna rows.").await, (507, Some("60".to_owned())));
    let report = ready().await;
    assert_eq!([&report["ready"], &report["disk"]], [&json!(true), &json!("low")]);
    let metrics = admin.client.get(format!("{}/metrics", app.base)).bearer_auth(METRICS_TOKEN);
    let metrics = metrics.send().await.unwrap().text().await.unwrap();
    assert_has(
        &metrics,
        &["keepsake_disk_full 1", "keepsake_storage_refused_total{reason=\"disk_full\"}"],
    );
    assert_has(&admin.look("/admin").await, &["1023.0 MiB of the disk's 100.0 GiB are free"]);
    app.sql("INSERT INTO job_queue (user_id, job, run_at, waiting_since) VALUES ($1, 'extract', 'epoch', 'epoch')")
        .bind(anna.id.0).run().await;
    assert_eq!(app.run_job("extract").await, 0);
    let said: String = app.sql("SELECT problem FROM job_runs WHERE job = 'extract'").value().await;
    assert!(said.contains("disk is nearly full"), "{said}");
    // It goes on by itself, a quarter above the floor; a disk that does not answer is not full.
    for (free, status) in
        [(1025 * MIB, 507), (1280 * MIB, 200), (1024 * MIB, 200), (0, 507), (u64::MAX, 200)]
    {
        set(free);
        assert_eq!(adds(&format!("Free: {free}.")).await.0, status, "{free}");
    }
}
