use std::io::Cursor;
use std::sync::Mutex;

use keepsake::export::{FileOrigin, ImportOutcome, ImportSource, Importer};
use serde_json::{Value, json};

use super::{export, import, records};
use crate::support::{Provider, TestApp, TestUser};

/// All that is in a user's memory, less ids.
async fn memory(app: &TestApp, user: &TestUser) -> Vec<String> {
    let mut rows: Vec<String> = records(&export(app, user).await, "item")
        .into_iter()
        .map(|mut item| {
            item["id"] = Value::Null;
            item["superseded_by"] = (!item["superseded_by"].is_null()).into();
            let events = item["events"].as_array_mut().unwrap();
            events.retain(|event| event["event"] != "imported");
            item.to_string()
        })
        .collect();
    rows.sort();
    rows
}

/// With every column that an item has, set by hand where no tool sets it yet.
async fn filled(app: &TestApp, user: &TestUser) {
    let old = user.add("Anna lives in Ulm.").await;
    let new = user.add("Anna lives in Bonn.").await;
    let gone = user.add_to("work stuff", "Anna works at night.").await;
    user.call("memory_archive", json!({ "item_id": gone })).await;
    user.add_to("work stuff", "Anna works at night.").await;
    app.sql("UPDATE memory_items SET superseded_by = $2, key = 'home', status = 'archived', confidence = 70,
             source = 'session', source_context = 'said so', attributes = '{\"a\": [1]}', protected = true, locked = true,
             trust = 'external', valid_from = '2019-05-01', expires_at = '2030-01-01', last_verified_at = '2026-01-01', tags = '{place}'
         WHERE id = $1").bind(old).bind(new).run().await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_relation_that_cannot_be_kept_is_reported_and_what_follows_is_taken_in() {
    let (app, anna) = TestApp::with_user().await;
    let relation = r#"{"record":"relation","id":1,"subject":1,"predicate":"lives_in","value":"a\u0000b","trust":"user","confidence":90,"stated_at":"2026-01-01T00:00:00Z","sources":[]}"#;
    let lines = [
        r#"{"keepsake_export":1}"#,
        r#"{"record":"entity","id":1,"name":"Maria Keller","type":"person","names":[]}"#,
        relation,
        r#"{"record":"item","type":"fact","content":"Maria rows."}"#,
        r#"{"record":"end","counts":{"items":1}}"#,
    ];
    let outcome = import(app, &anna, &(lines.join("\n") + "\n")).await;
    assert_eq!((outcome.added, outcome.failed), (1, 1), "{outcome:?}");
    assert!(outcome.problems[0].sentence.contains("cannot keep it"), "{outcome:?}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_was_exported_is_imported_as_it_was_and_twice_changes_nothing() {
    let (app, anna, ben) = TestApp::with_users().await;
    filled(app, &anna).await;
    let file = export(app, &anna).await;
    let counts = async |user: &TestUser, file: &str| {
        let outcome = import(app, user, file).await;
        (outcome.added, outcome.known, outcome.failed)
    };
    assert_eq!(counts(&ben, &file).await, (4, 0, 0));
    assert_eq!(memory(app, &ben).await, memory(app, &anna).await);
    let once = export(app, &ben).await;
    for item in records(&once, "item") {
        let events = item["events"].as_array().unwrap();
        assert_eq!(events.last().unwrap()["event"], "imported");
        assert_eq!(events[0]["event"], "added");
    }
    assert_eq!(counts(&ben, &file).await, (0, 4, 0));
    let twice = export(app, &ben).await;
    assert_eq!(records(&twice, "item"), records(&once, "item"));
    // Into its own account, too.
    assert_eq!(counts(&anna, &file).await, (0, 4, 0));
    assert_eq!(ben.find("Bonn").await.len(), 1);
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_was_archived_since_does_not_come_back() {
    let (app, anna) = TestApp::with_user().await;
    let id = anna.add("Anna keeps bees.").await;
    let file = export(app, &anna).await;
    anna.call("memory_archive", json!({ "item_id": id })).await;
    assert_eq!(import(app, &anna, &file).await.known, 1);
    assert_eq!(anna.find("bees").await, Vec::<i64>::new());
}

#[tokio::test(crate = "crate::support::shared")]
async fn imported_memories_get_their_vectors() {
    let (app, anna, ben) = TestApp::with_users().await;
    let provider = Provider::start().await;
    for n in 0..450 {
        anna.add(&format!("note {n}")).await;
    }
    app.use_provider(&ben, &provider, "first").await;
    assert_eq!(import(app, &ben, &export(app, &anna).await).await.added, 450);
    app.drain(&ben).await;
    let vectors = app.vectors(&ben, "active").await;
    assert_eq!(vectors.len(), 450);
    assert!(vectors.iter().all(|(_, state)| state == "ready"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_bad_line_is_told_by_its_number_and_the_others_go_on() {
    let (app, anna) = TestApp::with_user().await;
    let long = "x".repeat(20_001);
    let file = format!(
        "{{\"keepsake_export\":1}}\n\
         {{\"record\":\"item\",\"type\":\"fact\",\"content\":\"one\"}}\n\
         not json\n\
         {{\"record\":\"item\",\"type\":\"fact\",\"content\":\"{long}\"}}\n\
         {}\n\
         {{\"record\":\"item\",\"type\":\"fact\",\"content\":\"two\",\"superseded_by\":99}}\n",
        "y".repeat(9 * 1024 * 1024),
    );
    let outcome = import(app, &anna, &file).await;
    let problems: Vec<_> =
        outcome.problems.iter().map(|p| (p.place.as_str(), p.sentence.as_str())).collect();
    assert_eq!(
        problems,
        [
            ("Line 3", "It is not a whole line of JSON."),
            ("Line 4", "`content` has 20001 characters; at most 20000 are accepted."),
            ("Line 5", "It has over 8388608 bytes, which is the most."),
            (
                "The file",
                "It has no last line: it was cut off when it was written. What was in it is taken in; export again and import that, too."
            ),
        ]
    );
    assert_eq!((outcome.added, outcome.failed), (2, 4));
    assert_eq!(outcome.bytes, file.len() as u64);
}

#[tokio::test(crate = "crate::support::shared")]
async fn mem0_and_chatgpt_are_known_by_their_shape() {
    let (app, anna) = TestApp::with_user().await;
    let mem0 = json!({ "results": [
        { "id": "a", "memory": "Loves hiking", "hash": "x", "metadata": { "trip": 1 }, "categories": ["hobbies"],
          "created_at": "2025-02-13T01:12:04-08:00", "updated_at": null, "user_id": "anna" },
        { "id": "b", "hash": "y" },
    ] });
    let outcome = import(app, &anna, &mem0.to_string()).await;
    assert_eq!((outcome.added, outcome.failed), (1, 1));
    assert_eq!(outcome.problems[0].place, "Entry 2");
    assert_eq!(import(app, &anna, &mem0.to_string()).await.known, 1);
    let said = |recipient: &str, text: &str| {
        json!({ "message": { "author": { "role": "assistant" },
        "recipient": recipient, "create_time": 1715000000.25, "content": { "content_type": "text", "parts": [text] } } })
    };
    let chatgpt = json!([{ "title": "t", "mapping": { "a": said("all", "hello"), "b": said("bio", "User has a dog.") } }]);
    assert_eq!(import(app, &anna, &chatgpt.to_string()).await.added, 1);
    let items = records(&export(app, &anna).await, "item");
    let told = items.iter().map(|i| ["content", "source", "created_at"].map(|field| &i[field]));
    let expected = [
        ["Loves hiking", "mem0", "2025-02-13T09:12:04Z"],
        ["User has a dog.", "chatgpt", "2024-05-06T12:53:20.25Z"],
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let zip = "PK\u{3}\u{4}";
    for (file, code) in [(zip, "zip"), ("", "empty"), ("{\"a\":1}", "in no form that is known")] {
        let outcome = import(app, &anna, file).await;
        assert_eq!(outcome.added, 0);
        assert!(outcome.problems[0].sentence.contains(code), "{outcome:?}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn of_a_key_one_memory_stays_active_and_what_is_here_keeps_it() {
    let (app, anna) = TestApp::with_user().await;
    let here = json!({ "type": "fact", "content": "Lives in Porto.", "key": "home city" });
    let here = anna.call("memory_add", here).await["id"].clone();
    let item = |content: &str, key: &str| {
        format!(
            "{{\"record\":\"item\",\"type\":\"fact\",\"content\":\"{content}\",\"key\":\"{key}\",\"created_at\":\"2025-01-01T00:00:00Z\"}}\n"
        )
    };
    let file = format!(
        "{{\"keepsake_export\":1}}\n{}{}{}{}{{\"record\":\"end\",\"counts\":{{\"items\":4}}}}\n",
        item("Lives in Rome.", "Home City"),
        item("Vim.", "editor"),
        item("Emacs.", "editor"),
        item("Vim.", "second editor"),
    );
    let outcome = import(app, &anna, &file).await;
    assert_eq!((outcome.added, outcome.known, outcome.failed), (4, 0, 0), "{outcome:?}");
    let again = import(app, &anna, &file).await;
    assert_eq!((again.added, again.known, again.failed), (0, 4, 0), "{again:?}");
    let items = records(&export(app, &anna).await, "item");
    let of = |content: &str, key: &str| {
        let found = items.iter().find(|i| i["content"] == content && i["key"] == key);
        found.unwrap_or_else(|| panic!("{content} {key}: {items:?}"))
    };
    assert_eq!(items.len(), 5);
    let rome = of("Lives in Rome.", "home_city");
    assert_eq!((&rome["status"], &rome["superseded_by"]), (&json!("archived"), &here));
    assert_eq!(of("Lives in Porto.", "home_city")["status"], "active");
    let (vim, emacs) = (of("Vim.", "editor"), of("Emacs.", "editor"));
    assert_eq!((&vim["status"], &emacs["status"]), (&json!("active"), &json!("archived")));
    assert_eq!(emacs["superseded_by"], vim["id"]);
    assert_eq!(of("Vim.", "second_editor")["status"], "active");
}

#[tokio::test]
async fn links_wait_for_their_newer_item_also_if_its_batch_is_refused() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.refuse_unless("memory_items", "content <> 'refused'").await;
    // Batches have 200; every second line is a duplicate.
    let content = |n: usize| match n {
        300 => "refused".to_owned(),
        400 => "new".to_owned(),
        n if n % 2 == 1 => "again".to_owned(),
        n => format!("note {n}"),
    };
    let lines: String = (1..=450)
        .map(|n| {
            let content = content(n);
            format!(
                "{{\"record\":\"item\",\"id\":{n},\"type\":\"fact\",\"content\":\"{content}\",\"superseded_by\":400}}\n"
            )
        })
        .collect();
    let file = format!(
        "{{\"keepsake_export\":1}}\n{lines}{{\"record\":\"end\",\"counts\":{{\"items\":450}}}}\n"
    );
    let outcome = import(&app, &anna, &file).await;
    assert_eq!((outcome.added, outcome.known, outcome.failed), (225, 224, 1), "{outcome:?}");
    let items = records(&export(&app, &anna).await, "item");
    let new = items.iter().find(|item| item["content"] == "new").unwrap();
    assert!(new["superseded_by"].is_null());
    let mut older = items.iter().filter(|item| item["content"] != "new");
    assert!(older.all(|item| item["superseded_by"] == new["id"]));
}

#[tokio::test(crate = "crate::support::shared")]
async fn progress_is_told_where_no_batch_fills() {
    let (app, anna) = TestApp::with_user().await;
    let told = async |lines: String| -> Vec<ImportOutcome> {
        let told = Mutex::new(Vec::new());
        let file = Cursor::new(format!("{{\"keepsake_export\":1}}\n{lines}"));
        Importer::new(&app.db, &app.embeddings, anna.id, FileOrigin::Vouched)
            .run(ImportSource::stream(file), |outcome| {
                told.lock().unwrap().push(outcome);
                std::future::ready(())
            })
            .await
            .unwrap();
        told.into_inner().unwrap()
    };
    let refused = told("nonsense\n".repeat(25_000)).await;
    assert_eq!(refused.len(), 2);
    assert!(refused[0].failed > 9_000 && refused[1].failed > 19_000);
    let theme =
        r#"{"record":"theme","slug":"work","created_at":"2026-01-01T00:00:00Z"}"#.to_owned() + "\n";
    assert_eq!(told(theme.repeat(450)).await.len(), 2);
    let long = told("x".repeat(9 * 1024 * 1024) + "\nnonsense\n").await;
    assert_eq!((long.len(), long[0].failed), (1, 1));
}

#[tokio::test]
async fn every_event_of_a_history_is_taken_in() {
    let app = TestApp::start().await;
    let check: String = app.sql("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'memory_item_events_event_check'").value().await;
    let events: Vec<&str> = check.split('\'').skip(1).step_by(2).collect();
    assert!(events.len() > 10, "{check}");
    for event in events {
        let is_read = keepsake::export::read::EVENTS.contains(&event);
        assert!(is_read, "{event}: add it to EVENTS in src/core/export/read.rs");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn of_a_long_history_the_newest_events_go_out_and_come_in() {
    let (app, anna, ben) = TestApp::with_users().await;
    let cleo = app.user("cleo").await;
    let id = anna.add("Anna keeps bees.").await;
    app.sql("INSERT INTO memory_item_events (user_id, item_id, event, at)
         SELECT user_id, id, 'changed', '2030-01-01T00:00:00Z'::timestamptz + n * interval '1 second'
         FROM memory_items CROSS JOIN generate_series(1, 1500) AS n WHERE id = $1 RETURNING user_id").bind(id).run().await;
    let last_of = |file: &str| -> (usize, Vec<String>) {
        let item = records(file, "item").remove(0);
        let events = item["events"].as_array().unwrap();
        let mut said = events.iter().map(|event| event["at"].to_string());
        let (first, last) = (said.next().unwrap(), said.rfind(|at| at.contains("2030")));
        (events.len(), vec![first, last.unwrap()])
    };
    let at = |time: &str| format!("\"2030-01-01T00:{time}Z\"");
    let file = export(app, &anna).await;
    let newest = vec![at("08:21"), at("25:00")];
    assert_eq!(last_of(&file), (1_000, newest.clone()));
    assert_eq!(import(app, &ben, &file).await.failed, 0);
    // That it was imported is an event, too.
    let newest_but_one = vec![at("08:22"), at("25:00")];
    let again = export(app, &ben).await;
    assert_eq!(last_of(&again), (1_000, newest_but_one.clone()));
    // A file that has all of them.
    let mut item = records(&file, "item").remove(0);
    let events = item["events"].as_array_mut().unwrap();
    let before = json!({ "event": "changed", "agent": null, "at": "2029-01-01T00:00:00Z" });
    events.splice(0..0, vec![before; 500]);
    let end = json!({ "record": "end", "counts": { "items": 1 } });
    let file = format!("{{\"keepsake_export\":1}}\n{item}\n{end}\n");
    assert_eq!(import(app, &cleo, &file).await.failed, 0);
    assert_eq!(last_of(&export(app, &cleo).await), (1_000, newest_but_one));
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_agent_keeps_the_date_of_the_file_and_one_that_is_here_its_own() {
    let (app, anna) = TestApp::with_user().await;
    let here = records(&export(app, &anna).await, "agent");
    let agent = |name: &str, date: &str| {
        format!(r#"{{"record":"agent","name":"{name}","created_at":"{date}"}}"#)
    };
    let file = [
        r#"{"keepsake_export":1}"#.to_owned(),
        agent("agent", "2024-01-01T10:00:00Z"),
        agent("old", "2024-01-01T10:00:00Z"),
        agent("ahead", "2999-01-01T10:00:00Z"),
        r#"{"record":"agent","name":"undated"}"#.to_owned(),
    ];
    assert_eq!(import(app, &anna, &file.join("\n")).await.failed, 1, "no last line");
    let agents = records(&export(app, &anna).await, "agent");
    assert_eq!(agents[0], here[0]);
    let dates: Vec<&str> =
        agents[1..].iter().map(|agent| &agent["created_at"].as_str().unwrap()[..4]).collect();
    let now = app.embeddings.now().year().to_string();
    assert_eq!(dates, ["2024", &now, &now]);
}
