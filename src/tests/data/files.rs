//! Files of other programs, written by hand: OpenMemory's and the MCP reference server's after the code that writes them,
//! Claude's and ChatGPT's after programs that read them, basic-memory's after its documentation, the others as their clients
//! answer. None is a recording.

use std::io::{Seek, Write};

use flate2::{Compression, write::DeflateEncoder, write::GzEncoder};
use keepsake::export::{FileOrigin, ImportOutcome, ImportSource, Importer};
use rawzip::{CompressionMethod, ZipArchiveWriter, path::EntryPath};
use serde_json::{Value, json};

use super::{export, records};
use crate::support::{TestApp, TestUser};

/// What came of an import, and the rows of its report.
pub async fn bring_as(
    app: &TestApp,
    user: &TestUser,
    source: ImportSource,
    origin: FileOrigin,
) -> (ImportOutcome, Vec<Value>) {
    let importer = Importer::new(&app.db, &app.embeddings, user.id, origin);
    let report = importer.report();
    let outcome = importer.run(source, |_| std::future::ready(())).await.unwrap();
    let lines = report.lines(&outcome, None);
    let rows = lines.lines().skip(1).map(|line| serde_json::from_str(line).unwrap());
    (outcome, rows.collect())
}

fn file(name: &str, bytes: impl AsRef<[u8]>) -> ImportSource {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes.as_ref()).unwrap();
    file.rewind().unwrap();
    ImportSource::File { file, name: Some(name.to_owned()).filter(|name| !name.is_empty()) }
}

pub async fn bring(
    app: &TestApp,
    user: &TestUser,
    name: &str,
    bytes: impl AsRef<[u8]>,
) -> (ImportOutcome, Vec<Value>) {
    bring_as(app, user, file(name, bytes), FileOrigin::Unknown).await
}

/// Places and sentences of the rows with this outcome.
pub fn told(rows: &[Value], outcome: &str) -> Vec<String> {
    let of = rows.iter().filter(|row| row["outcome"] == outcome);
    of.map(|row| {
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", text("place"), text("sentence")).trim_end_matches([':', ' ']).to_owned()
    })
    .collect()
}

pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (path, bytes) in files {
        let path = EntryPath::verbatim(path.as_bytes());
        let file = archive.new_file(path).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().unwrap();
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
        writer.write_all(bytes).unwrap();
        let (encoder, output) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(output).unwrap();
    }
    archive.finish().unwrap()
}

/// Contents of the user's memories, with these fields.
async fn items(app: &TestApp, user: &TestUser, fields: &[&str]) -> Vec<Vec<Value>> {
    let items = records(&export(app, user).await, "item");
    items.iter().map(|item| fields.iter().map(|field| item[*field].clone()).collect()).collect()
}

#[tokio::test(crate = "crate::support::shared")]
async fn mem0_is_read_in_its_four_forms_and_what_is_odd_costs_only_itself() {
    let app = TestApp::shared().await;
    let one = |text: &str| {
        json!({ "id": "3c90", "memory": text, "hash": "x", "user_id": "anna", "categories": ["food", 7],
                "metadata": { "k": 1 }, "created_at": "yesterdayish", "updated_at": "2025-02-13T01:12:04.123-08:00" })
    };
    let entries = [
        one("Mag grünen Tee"),
        json!({ "id": "b", "memory": { "odd": true } }),
        json!(17),
        one("喜欢绿茶"),
        one("تحب الشاي"),
    ];
    let lines = entries.iter().map(|entry| format!("{entry}\n")).collect::<String>()
        + "{\"memory\": \"cut o";
    for (form, text) in [
        ("list", json!(entries).to_string()),
        ("results", json!({ "results": entries, "relations": [] }).to_string()),
        ("memories", json!({ "count": 5, "next": null, "memories": entries }).to_string()),
        ("lines", lines),
    ] {
        let user = app.user(form).await;
        let (outcome, rows) = bring(app, &user, "", text).await;
        let refused = if form == "lines" { 3 } else { 2 };
        assert_eq!(
            (outcome.added, outcome.failed, outcome.changed),
            (3, refused, 3),
            "{form}: {rows:?}"
        );
        let changed = told(&rows, "changed");
        assert!(
            changed[0].contains("`created_at` could not be read as a date: left out."),
            "{changed:?}"
        );
        assert!(changed[0].contains("Of `categories`, what is no tag is left out"), "{changed:?}");
        let texts = items(app, &user, &["content", "tags", "source", "trust", "attributes"]).await;
        assert_eq!(
            texts[0],
            [
                json!("Mag grünen Tee"),
                json!(["food"]),
                json!("mem0"),
                json!("external"),
                json!({ "mem0": { "k": 1 } })
            ]
        );
        assert_eq!([&texts[1][0], &texts[2][0]], ["喜欢绿茶", "تحب الشاي"]);
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_zip_of_openmemory_is_read_as_it_was_downloaded() {
    let (app, anna) = TestApp::with_user().await;
    let memory = |n: u32, text: &str, state: &str| {
        json!({ "id": format!("m{n}"), "user_id": "u", "app_id": "a1", "content": text, "metadata": { "n": n }, "state": state,
                "created_at": "2025-05-01T10:00:00+00:00", "updated_at": null, "archived_at": null, "deleted_at": null,
                "category_ids": ["c1"] })
    };
    let whole = json!({
        "user": { "id": "u", "user_id": "anna" }, "apps": [{ "id": "a1", "name": "cursor" }],
        "categories": [{ "id": "c1", "name": "work" }],
        "memories": [memory(1, "Builds bridges", "active"), memory(2, "Was forgotten", "deleted"), memory(3, "Plays chess", "archived"),
                     json!({ "id": "m4", "content": null })],
        "memory_categories": [{ "memory_id": "m1", "category_id": "c1" }], "export_meta": { "version": "1" } });
    let line = json!({ "id": "m1", "content": "Builds bridges", "metadata": {}, "created_at": "2025-05-01T10:00:00+00:00",
                       "state": "active", "app": "cursor", "categories": ["work"] });
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(format!("{line}\n").as_bytes()).unwrap();
    let archive = zip(&[
        ("memories.json", whole.to_string().as_bytes()),
        ("memories.jsonl.gz", &gz.finish().unwrap()),
    ]);
    let (outcome, rows) = bring(app, &anna, "memories_export_anna.zip", &archive).await;
    assert_eq!(
        (outcome.added, outcome.known, outcome.skipped, outcome.failed),
        (2, 1, 1, 1),
        "{rows:?}"
    );
    assert_eq!(told(&rows, "skipped"), ["memories.json: Entry 2: It was deleted there."]);
    assert_eq!(told(&rows, "known"), ["memories.jsonl.gz: Entry 1"]);
    let found =
        items(app, &anna, &["content", "status", "tags", "agent", "created_at", "source"]).await;
    let row = |text, status| {
        [
            json!(text),
            json!(status),
            json!(["work"]),
            json!("cursor"),
            json!("2025-05-01T10:00:00Z"),
            json!("openmemory"),
        ]
    };
    assert_eq!(found, [row("Builds bridges", "active"), row("Plays chess", "archived")]);
    assert_eq!(bring(app, &anna, "", &archive).await.0.known, 3);
}

#[tokio::test(crate = "crate::support::shared")]
async fn payloads_of_vector_stores_are_memories() {
    let (app, anna) = TestApp::with_user().await;
    let payload = json!({ "data": "Lives in Köln", "user_id": "anna", "hash": "x", "created_at": "2025-03-01T08:00:00Z", "room": 5 });
    let qdrant = json!({ "result": { "points": [{ "id": 1, "payload": payload, "vector": [0.1, 0.2] }, { "id": 2, "payload": null }],
                                     "next_page_offset": null }, "status": "ok", "time": 0.1 });
    let (outcome, rows) = bring(app, &anna, "", qdrant.to_string()).await;
    assert_eq!((outcome.added, outcome.failed), (1, 1), "{rows:?}");
    let chroma = json!({ "ids": ["a", "b", "c"], "embeddings": null, "documents": ["养了一只猫", null, "Rows"],
                         "metadatas": [{ "created_at": 1715000000 }, { "data": "Sings" }, null] });
    assert_eq!(bring(app, &anna, "", chroma.to_string()).await.0.added, 3);
    let pgvector = "id,vector,payload\n7,\"[0.1,0.2]\",\"{\"\"data\"\": \"\"Keeps bees\"\", \"\"created_at\"\": \"\"2025-03-02\"\"}\"\n8,[],\"{\"\n";
    let (outcome, rows) = bring(app, &anna, "rows.csv", pgvector).await;
    assert_eq!((outcome.added, outcome.failed), (1, 1), "{rows:?}");
    let langchain = json!([{ "page_content": "Reads Rilke", "metadata": { "source": "a.txt" } }]);
    assert_eq!(bring(app, &anna, "", langchain.to_string()).await.0.added, 1);
    let found = items(app, &anna, &["content", "created_at", "source", "attributes"]).await;
    assert_eq!(
        found[0],
        [
            json!("Lives in Köln"),
            json!("2025-03-01T08:00:00Z"),
            json!("vector_store"),
            json!({ "vector_store": { "room": 5 } })
        ]
    );
    assert_eq!(found[1][..2], [json!("养了一只猫"), json!("2024-05-06T12:53:20Z")]);
    assert_eq!(found[4][..2], [json!("Keeps bees"), json!("2025-03-02T00:00:00Z")]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_graph_of_the_mcp_server_becomes_entities_relations_and_memories() {
    let (app, anna) = TestApp::with_user().await;
    let lines = [
        json!({ "type": "entity", "name": "Jürgen Müller", "entityType": "person", "observations": ["Spricht Spanisch", 5, "Jürgen Müller likes tea"] }),
        json!({ "type": "entity", "name": "彩虹公司", "entityType": "company", "observations": "odd" }),
        json!({ "type": "entity", "entityType": "person", "observations": [] }),
        json!({ "type": "relation", "from": "Jürgen Müller", "to": "彩虹公司", "relationType": "works_at" }),
        json!({ "type": "relation", "from": "Jürgen Müller", "to": "彩虹公司", "relationType": "complains about" }),
        json!({ "type": "relation", "from": "Jürgen Müller", "relationType": "knows" }),
    ];
    let text = lines.map(|line| line.to_string()).join("\n") + "\nnot json\n";
    let (outcome, rows) = bring(app, &anna, "memory.jsonl", &text).await;
    assert_eq!(outcome.added, 2, "{rows:?}");
    assert_eq!(
        told(&rows, "refused"),
        [
            "Line 1, observation 2: It is not a text.",
            "Line 3: `name` is missing; it names the entity.",
            "Line 6: `from`, `to` and `relationType` are texts, and one of them is missing.",
            "Line 7: It is not a whole line of JSON.",
        ]
    );
    let file = export(app, &anna).await;
    let texts = items(app, &anna, &["content", "tags", "source"]).await;
    assert_eq!(
        texts[0],
        [json!("Jürgen Müller: Spricht Spanisch"), json!(["person"]), json!("mcp_memory")]
    );
    assert_eq!(texts[1][0], "Jürgen Müller likes tea");
    let relations = records(&file, "relation");
    let said: Vec<_> =
        relations.iter().map(|r| [&r["predicate"], &r["words"], &r["trust"]]).collect();
    let (works, complains) = (json!("works_at"), json!("complains about"));
    assert_eq!(
        said,
        [
            [&works, &Value::Null, &json!("external")],
            [&json!("related_to"), &complains, &json!("external")]
        ]
    );
    let types = |name: &str| {
        records(&file, "entity").iter().find(|e| e["name"] == name).map(|e| e["type"].clone())
    };
    assert_eq!(
        [types("Jürgen Müller"), types("彩虹公司")],
        [Some(json!("person")), Some(json!("organization"))]
    );
    let (again, _) = bring(app, &anna, "memory.jsonl", &text).await;
    assert_eq!((again.added, again.known), (0, 2));
    assert_eq!(records(&export(app, &anna).await, "relation").len(), 2);
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_export_of_claude_brings_what_it_remembers_and_no_conversation() {
    let (app, anna) = TestApp::with_user().await;
    let project = "0198c1f0-1111-7000-8000-000000000001";
    let memories = json!([{ "conversations_memory": "**Work context**\n\nAnna builds bridges in Köln.\n\n**Persönliches**\n\n- Mag Tee\n- 喜欢猫",
                            "project_memories": { project: "The bridge opens in May.", "x": 5 }, "account_uuid": "a" }]);
    let projects = json!([{ "uuid": project, "name": "Rheinbrücke", "description": "", "prompt_template": "", "docs": [] }]);
    let conversations = json!([{ "uuid": "c", "name": "Hi", "chat_messages": [{ "sender": "human", "text": "Secret talk" }] }]);
    let archive = zip(&[
        ("data-2026/conversations.json", conversations.to_string().as_bytes()),
        ("data-2026/memories.json", memories.to_string().as_bytes()),
        ("data-2026/projects.json", projects.to_string().as_bytes()),
        ("data-2026/users.json", b"[{\"uuid\":\"a\",\"full_name\":\"Anna\"}]"),
        ("__MACOSX/data-2026/._memories.json", b"\0\x05\x16\x07"),
    ]);
    let (outcome, rows) = bring(app, &anna, "data.zip", archive).await;
    assert_eq!((outcome.added, outcome.failed), (4, 0), "{rows:?}");
    let found = items(app, &anna, &["content", "tags", "project", "source"]).await;
    let row = |text, tags: Value, project: Value| [json!(text), tags, project, json!("claude")];
    assert!(
        found.contains(
            &row("Anna builds bridges in Köln.", json!(["Work context"]), Value::Null).to_vec()
        ),
        "{found:?}"
    );
    assert!(
        found.contains(&row("喜欢猫", json!(["Persönliches"]), Value::Null).to_vec()),
        "{found:?}"
    );
    assert!(
        found.contains(&row("The bridge opens in May.", json!([]), json!("Rheinbrücke")).to_vec()),
        "{found:?}"
    );
    let skipped = told(&rows, "skipped");
    assert!(skipped.contains(&"conversations.json: Of conversations (it has 1) only what was saved as a memory is imported.".to_owned()), "{skipped:?}");
    assert!(
        skipped.contains(
            &"memories.json: Entry 1: A text of `project_memories` is none: left out.".to_owned()
        ),
        "{skipped:?}"
    );
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_odd_node_of_a_conversation_costs_no_memory_of_it() {
    let (app, anna) = TestApp::with_user().await;
    let saved = |text: &str, at: Value| json!({ "message": { "recipient": "bio", "create_time": at, "content": { "content_type": "text", "parts": [text] } } });
    let code = json!({ "message": { "recipient": "bio", "create_time": null, "content": { "content_type": "code", "text": "User rows." } } });
    let conversation = json!([{ "title": "t", "mapping": { "a": 0, "b": ["odd"], "c": { "message": "odd" }, "d": saved("User has a dog.", json!(1715000000.25)),
                                "e": saved("User 喝茶.", json!("then")), "f": code, "g": { "message": { "recipient": 7, "create_time": {} } } } }]);
    let archive = zip(&[
        ("conversations.json", conversation.to_string().as_bytes()),
        ("chat.html", b"<html>"),
        ("user.json", b"{}"),
    ]);
    let (outcome, rows) = bring(app, &anna, "", archive).await;
    assert_eq!((outcome.added, outcome.failed, outcome.changed), (3, 0, 1), "{rows:?}");
    assert!(
        told(&rows, "changed")[0].contains("`create_time` could not be read as a date"),
        "{rows:?}"
    );
}

#[tokio::test(crate = "crate::support::shared")]
async fn lists_of_texts_and_tables_are_read_in_every_language_and_encoding() {
    let (app, anna) = TestApp::with_user().await;
    let utf16 = |text: &str| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode("Inhalt;Datum;Schlagworte;Farbe\n\"Mag Bären;\nsehr\";13.02.2025;tiere,wald;rot\nSingt gerne über Flüsse;irgendwann;;blau\n");
    for (name, bytes, added, failed, texts) in [
        (
            "a.json",
            json!(["Anna mag Köln", 7, "安娜喝茶", ""]).to_string().into_bytes(),
            2,
            2,
            ["Anna mag Köln", "安娜喝茶"],
        ),
        (
            "b.txt",
            utf16("Eins mit Umlaut ö\r\n\r\nتحب آنا الشاي\r\n"),
            2,
            0,
            ["Eins mit Umlaut ö", "تحب آنا الشاي"],
        ),
        (
            "",
            b"# Facts\n\n- [2025-03-01] - Keeps bees, ants and cats\n- two\n  lines\n".to_vec(),
            2,
            0,
            ["Keeps bees, ants and cats", "two\nlines"],
        ),
        ("c.csv", latin.into_owned(), 2, 0, ["Mag Bären;\nsehr", "Singt gerne über Flüsse"]),
        (
            "",
            "\u{feff}记忆,日期\n住在上海,2025年2月13日\n骑自行车,2025/02/14\n".into(),
            2,
            0,
            ["住在上海", "骑自行车"],
        ),
        (
            "d.tsv",
            b"2025-01-01\tBakes bread on Sundays\tx\n2025-01-02\tReads on trains\ty\n".to_vec(),
            2,
            0,
            ["Bakes bread on Sundays", "Reads on trains"],
        ),
        (
            "e.csv",
            b"content,tags\nSails,\"a, b\"\n\"Never closed,x\nSkis,c\n,d\n".to_vec(),
            2,
            2,
            ["Sails", "Skis"],
        ),
    ] {
        let before = app.count("memory_items").await;
        let (outcome, rows) = bring(app, &anna, name, bytes).await;
        assert_eq!((outcome.added, outcome.failed), (added, failed), "{name}: {rows:?}");
        let found = items(app, &anna, &["content"]).await.concat();
        for text in texts {
            assert!(found.contains(&json!(text)), "{name} {before}: {text:?} is not in {found:?}");
        }
    }
    let dates = items(app, &anna, &["content", "created_at"]).await;
    let date_of = |text: &str| {
        dates.iter().find(|row| row[0] == text).unwrap()[1].as_str().unwrap()[..10].to_owned()
    };
    assert_eq!(
        [date_of("Keeps bees, ants and cats"), date_of("住在上海"), date_of("Mag Bären;\nsehr")],
        ["2025-03-01", "2025-02-13", "2025-02-13"]
    );
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_comes_before_the_place_where_a_file_was_cut_is_imported_and_other_forms_are_refused()
{
    let (app, anna) = TestApp::with_user().await;
    let cut = "{\"count\": 3, \"results\": [\n {\"memory\": \"Anna rows\", \"user_id\": \"anna\"},\n {\"memory\": \"Anna sings\", \"user_id\": \"ben\"},\n {\"memory\": \"An";
    let (outcome, rows) = bring(app, &anna, "export.json", cut).await;
    assert_eq!((outcome.added, outcome.failed), (2, 1), "{rows:?}");
    assert!(told(&rows, "refused")[0].starts_with("The file: It is not whole JSON"), "{rows:?}");
    assert_eq!(
        told(&rows, "changed"),
        ["The file: It has memories of more than one `user_id`: all are imported here."]
    );
    let long =
        json!([{ "text": "ä".repeat(30_000), "date": "02/03/2025", "tags": "a, b" }, "half \u{0}"]);
    let long = long.to_string().replace("half ", "half \\ud83d");
    let (outcome, rows) = bring(app, &anna, "", long).await;
    assert_eq!((outcome.added, outcome.changed), (2, 2), "{rows:?}");
    assert!(told(&rows, "changed")[0].contains("30000 characters: cut after 20000"), "{rows:?}");
    for (name, bytes) in [
        ("a.png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..]),
        ("a.html", b"<!DOCTYPE html><p>Anna</p>"),
        ("a.json", b"{\"name\": \"anna\", \"version\": 1}"),
        ("a.json", b"not json"),
        ("", b"   \n\n"),
        ("", b""),
    ] {
        let (outcome, rows) = bring(app, &anna, name, bytes).await;
        assert_eq!(
            (outcome.added, outcome.documents, outcome.failed),
            (0, 0, 1),
            "{name}: {rows:?}"
        );
    }
}
