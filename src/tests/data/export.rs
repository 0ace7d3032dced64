use std::io::{Read, Write};

use keepsake::clock::Zone;
use serde_json::json;

use super::{export, hand_over, import, records};
use crate::server::Home;
use crate::support::{ChatServer, TestApp, database_url};

#[tokio::test]
async fn an_export_holds_all_that_a_person_owns_and_no_secret() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    ben.add("Ben's own").await;
    let vienna = Zone::find("Europe/Vienna").unwrap();
    app.accounts.set_time_zone(anna.id, &vienna).await.unwrap();
    let input = json!({ "type": "preference", "content": "Anna likes tea.", "theme": "Food & Drink", "tags": ["tea"] });
    let id = anna.call("memory_add", input).await["id"].clone();
    let old = anna.add("Anna likes coffee.").await;
    anna.call("memory_archive", json!({ "item_id": old })).await;
    app.activity.keep_queries(anna.id, true).await.unwrap();
    anna.find("tea").await;
    app.activity.flush().await.unwrap();
    app.save_endpoint(&anna, "https://api.example.com/v1", "m", "sk-canary-key", true).await;
    let server = ChatServer::saying("Anna likes tea.").await;
    crate::chat::use_server(&app, &anna, &server).await;
    crate::chat::ask(&app, &anna).await.unwrap();

    let said = json!([
        { "id": "a", "role": "user", "content": "I like tea.", "created_at": "2026-11-21T10:00:00Z" },
        { "id": "b", "role": "assistant", "tool_calls": [{ "name": "kettle" }] },
    ]);
    let of_tea = json!({ "messages": [said[0]], "project": "tea shop" });
    anna.post("/api/v1/sessions/chat/messages", &of_tea).await;
    hand_over(&anna, "chat", &said).await;
    let consolidation = app.consolidation.clone();
    consolidation.ask_for_summary(anna.id).await.unwrap();
    consolidation.summarize(anna.id).await.unwrap();
    let file = export(&app, &anna).await;
    let first: serde_json::Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    assert_eq!(first["keepsake_export"], 1);
    let items = records(&file, "item");
    assert_eq!((items.len(), &items[0]["id"], &items[1]["status"]), (2, &id, &json!("archived")));
    let [theme, tags, agent] = ["theme", "tags", "agent"].map(|field| items[0][field].clone());
    assert_eq!((theme, tags, agent), (json!("food-drink"), json!(["tea"]), json!("agent")));
    let events = items[1]["events"].as_array().unwrap().iter().map(|e| e["event"].clone());
    assert_eq!(events.collect::<Vec<_>>(), ["added", "archived"]);
    for (record, n, field, value) in [
        ("theme", 0, "display_name", "Food & Drink"),
        ("theme", 1, "display_name", "general"),
        ("account", 0, "time_zone", "Europe/Vienna"),
        ("agent", 0, "name", "agent"),
        ("embedding_settings", 0, "endpoint", "https://api.example.com/v1"),
        ("chat_settings", 0, "model", "small"),
        ("session", 0, "external_id", "chat"),
        ("session", 0, "project", "tea shop"),
        ("project", 0, "name", "tea shop"),
        ("session", 0, "completed_why", "asked"),
        ("message", 0, "content", "I like tea."),
        ("message", 0, "sent_at", "2026-11-21T10:00:00Z"),
        ("extraction", 0, "outcome", "pending"),
        ("summary", 0, "text", "Anna likes tea."),
    ] {
        assert_eq!(records(&file, record)[n][field], value, "{record}");
    }
    assert_eq!(records(&file, "theme").len(), 2);
    let spent = &records(&file, "chat_spend")[0];
    assert_eq!((&spent["tokens_in"], &spent["calls"]), (&json!(80), &json!(2)));
    assert_eq!(spent["day"].as_str().unwrap().len(), 10);
    let calls = records(&file, "call");
    let search = calls.iter().find(|c| c["tool"] == "memory_search").unwrap();
    assert_eq!((search["query"].as_str(), search["item_ids"][0].clone()), (Some("tea"), id));
    let session = &records(&file, "session")[0];
    let messages = records(&file, "message");
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0]["session"], session["id"]);
    assert_eq!(messages[1]["tool_calls"][0]["name"], "kettle");
    let summary = &records(&file, "summary")[0];
    assert_eq!(summary["items"], json!([items[0]["id"]]));
    assert_eq!(summary["items_total"], 1);
    // Every kind of record that an export can hold, into another account.
    let kinds = keepsake::export::KINDS.map(|(_, name, _)| name);
    // Those are tested with the tools that make them.
    let missing = ["relation", "document", "revision", "episode", "origins", "unwanted"];
    for kind in kinds {
        let is_missing = records(&file, kind).is_empty();
        assert_eq!(is_missing, missing.contains(&kind), "{kind}");
    }
    let all = file.lines().count();
    assert_eq!(all, 1 + kinds.iter().map(|kind| records(&file, kind).len()).sum::<usize>());
    let carl = app.user("carl").await;
    let outcome = import(&app, &carl, &file).await;
    assert_eq!((outcome.added, outcome.failed), (2, 0), "{:?}", outcome.problems);
    let again = export(&app, &carl).await;
    for kind in ["theme", "item"] {
        let told = |file: &str| {
            let mut found = records(file, kind);
            for record in &mut found {
                for of_the_account in ["id", "events", "agent"] {
                    record.as_object_mut().unwrap().remove(of_the_account);
                }
            }
            found
        };
        assert_eq!(told(&again), told(&file), "{kind}");
    }
    let end: serde_json::Value = serde_json::from_str(file.lines().last().unwrap()).unwrap();
    for (record, count) in [("items", 2), ("messages", 2), ("calls", calls.len())] {
        assert_eq!(end["counts"][record], count, "{record}");
    }
    for secret in ["Ben", "sk-canary-key", crate::chat::KEY, "sealed", "password", &anna.token[3..]]
    {
        assert!(!file.contains(secret), "{secret}");
    }
}

/// The most memory that a process has held until now, in MiB.
fn most_mib(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

#[tokio::test]
async fn a_hundred_thousand_memories_go_out_in_bounded_memory() {
    const ITEMS: i64 = 100_000;
    const GROWTH_MIB_MAX: f64 = 96.0;
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("The first of many.").await;
    app.sql("INSERT INTO memory_items (user_id, theme_id, type, content, content_hash, source, created_at, updated_at)
         SELECT user_id, theme_id, type, 'note ' || n || repeat(' and what it says', 40), sha256(n::text::bytea), source,
                created_at, updated_at
         FROM memory_items, generate_series(2, $1) n").bind(ITEMS).run().await;
    // A process of its own: what other tests take in this one says nothing.
    let home = Home::new();
    let mut child = home
        .command(&["export", "--email", &anna.email])
        .env("KEEPSAKE_DATABASE_URL", database_url(&app.options))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let began = std::time::Instant::now();
    let mut file = child.stdout.take().unwrap();
    let (mut bytes, mut lines) = (0, 0);
    let (mut before, mut most) = (None, 0.0);
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut piece).unwrap();
        if read == 0 {
            break;
        }
        bytes += read;
        lines += piece[..read].iter().filter(|b| **b == b'\n').count();
        if let Some(now) = most_mib(child.id()) {
            before.get_or_insert(now);
            most = now;
        }
    }
    assert!(child.wait().unwrap().success());
    let before: f64 = before.unwrap();
    let (mib, took, grew) = (bytes >> 20, began.elapsed(), most - before);
    println!("{lines} lines, {mib} MiB in {took:?}; memory grew by {grew:.1} MiB");
    assert!(lines as i64 > ITEMS && bytes > 60 * 1024 * 1024);
    assert!(grew < GROWTH_MIB_MAX, "{before} → {most} MiB");
}

#[tokio::test]
async fn the_command_line_exports_and_imports_and_says_what_was_not_taken_in() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    anna.add("Anna keeps bees.").await;
    let home = Home::new();
    let run = |command: &str, email: &str, input: &str| {
        let mut child = home
            .command(&[command, "--email", email])
            .env("KEEPSAKE_DATABASE_URL", database_url(&app.options))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, file, said) = run("export", &anna.email, "");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(records(&file, "item").len(), 1);
    let (code, said, _) = run("import", &ben.email, &file);
    assert_eq!((code, said.as_str()), (Some(0), "1 added, 0 known already, 0 failed\n"));
    let broken = file.replace("\"fact\"", "\"nonsense\"");
    let (code, said, problems) = run("import", &ben.email, &broken);
    assert_eq!((code, said.as_str()), (Some(1), "0 added, 0 known already, 1 failed\n"));
    assert!(problems.contains("Line 5: `type` is not known"), "{problems}");
    let (code, _, said) = run("export", "nobody@example.com", "");
    assert!(code == Some(1) && said.contains("there is no account"), "{said}");
}
