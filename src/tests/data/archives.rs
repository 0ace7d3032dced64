//! Folders and archives: vaults of notes, hostile zips, the command line.

use keepsake::export::{FileOrigin, ImportSource};
use serde_json::{Value, json};

use super::files::{bring, bring_as, told, zip};
use super::{export, records};
use crate::server::Home;
use crate::support::{TestApp, database_url};

#[tokio::test(crate = "crate::support::shared")]
async fn a_vault_becomes_documents_and_its_links_relations() {
    let (app, anna) = TestApp::with_user().await;
    let person = "---\ntitle: Anna Berg\ntype: person\ncreated: 2024-05-01\n---\n# Anna Berg\n\n- [job] Leads things #work\n- works_at [[Acme GmbH]] (since 2024)\n\nSee [[Tee|tea]], [[Nowhere]] and ![[photo.png]].\n";
    let long = "x".repeat(1024 * 1024 + 1);
    let archive = zip(&[
        ("Vault/people/Anna.md", person.as_bytes()),
        ("Vault/Tee.md", "# Tee\r\n\r\nGrün, 绿茶, شاي أخضر.".as_bytes()),
        ("Vault/2024-05-01.md", b"[[Tee]]"),
        ("Vault/big.md", long.as_bytes()),
        ("Vault/photo.png", b"\x89PNG\0\0"),
        ("Vault/.obsidian/app.json", b"{\"text\":\"no memory\"}"),
        ("Vault/words.json", b"[\"a\",\"b\"]"),
    ]);
    let (outcome, rows) = bring(app, &anna, "Vault.zip", &archive).await;
    assert_eq!((outcome.documents, outcome.added, outcome.failed), (3, 0, 1), "{rows:?}");
    assert_eq!(told(&rows, "refused"), ["big.md: It has over 1 MiB, which is the most."]);
    let skipped = told(&rows, "skipped");
    assert!(
        skipped.contains(&"photo.png: Files of this kind are not imported.".to_owned()),
        "{skipped:?}"
    );
    assert!(
        skipped.contains(&"The file: 1 hidden files or folders are not imported.".to_owned()),
        "{skipped:?}"
    );
    let exported = export(app, &anna).await;
    let revisions = records(&exported, "revision");
    let of = |path: &str| revisions.iter().find(|r| r["path"] == path).unwrap().clone();
    assert_eq!(of("people/Anna.md")["content"], person);
    assert_eq!(
        (&of("Tee.md")["trust"], &of("people/Anna.md")["at"]),
        (&json!("external"), &json!("2024-05-01T00:00:00Z"))
    );
    let entities = records(&exported, "entity");
    let name = |id: &Value| {
        entities.iter().find(|e| e["id"] == *id).unwrap()["name"].as_str().unwrap().to_owned()
    };
    let relations = records(&exported, "relation");
    let said = relations.iter().map(|r| {
        format!(
            "{} {} {}",
            name(&r["subject"]),
            r["words"].as_str().unwrap_or(r["predicate"].as_str().unwrap()),
            name(&r["object"])
        )
    });
    assert_eq!(
        said.collect::<Vec<_>>(),
        ["Anna Berg works_at Acme GmbH", "Anna Berg links to Tee"]
    );
    assert_eq!(relations[0]["sources"][0]["sentence"], "- works_at [[Acme GmbH]] (since 2024)");
    // The same again changes nothing; another text does not replace what is here.
    let (again, _) = bring(app, &anna, "", &archive).await;
    assert_eq!((again.documents, again.known), (0, 3));
    for _ in 0..2 {
        bring(app, &anna, "", zip(&[("Tee.md", b"# Tee\n\nBlack."), ("b.md", b"# B")])).await;
    }
    let documents = records(&export(app, &anna).await, "document");
    let tea = documents.iter().filter(|d| d["path"] == "Tee.md");
    assert_eq!(tea.map(|d| d["archived_at"].is_null()).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn hostile_archives_cost_only_their_entries() {
    let (app, anna) = TestApp::with_user().await;
    let zeros = vec![b' '; 70 * 1024 * 1024];
    let mut archive = zip(&[
        ("../../etc/a.md", b"# A"),
        ("/b.md", b"# B"),
        ("C:\\c.md", b"# C"),
        ("d\\..\\..\\e.md", b"# E"),
        ("f.md", b"# F"),
        ("f.md", b"# F again"),
        ("_system/g.md", b"# G"),
        ("bomb.json", &zeros),
        ("notes.zip", b"PK\x03\x04"),
        ("h.md", b"Text of h"),
        ("i.md", b"# I"),
    ]);
    let (outcome, rows) = bring(app, &anna, "", &archive).await;
    assert_eq!(outcome.documents, 3, "{rows:?}");
    let out = "Its path leads out of the archive.";
    assert_eq!(
        told(&rows, "refused"),
        [
            format!("../../etc/a.md: {out}"),
            format!("/b.md: {out}"),
            format!("C:/c.md: {out}"),
            format!("d/../../e.md: {out}"),
            "f.md: Another file of the archive has its name.".to_owned(),
            "_system/g.md: The folder _system is the server's own.".to_owned(),
            "bomb.json: It has over 64 MiB, which is the most.".to_owned(),
        ]
    );
    // Every entry encrypted, as the directory says; then the archive cut off.
    for at in 0..archive.len() - 4 {
        if archive[at..].starts_with(b"PK\x01\x02") {
            archive[at + 8] |= 1;
        }
    }
    let (outcome, rows) = bring(app, &anna, "", &archive).await;
    assert_eq!((outcome.documents, outcome.known), (0, 0), "{rows:?}");
    assert!(
        told(&rows, "refused").iter().any(|row| row.starts_with("i.md: It is encrypted")),
        "{rows:?}"
    );
    let (outcome, rows) = bring(app, &anna, "", &archive[..archive.len() / 2]).await;
    assert!(outcome.failed == 1 && told(&rows, "refused")[0].contains("damaged"), "{rows:?}");
    let many: Vec<String> = (0..20_010).map(|n| format!("{n}.png")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let (_, rows) = bring(app, &anna, "", zip(&many)).await;
    assert!(
        told(&rows, "refused")[0].starts_with("The file: 10 more files are not read"),
        "{rows:?}"
    );
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_export_of_keepsake_is_read_in_utf16_and_from_a_stream_of_a_zip() {
    let (app, anna, ben) = TestApp::with_users().await;
    anna.add("Änne trinkt 绿茶.").await;
    let file = export(app, &anna).await;
    let bytes: Vec<u8> =
        "\u{feff}".encode_utf16().chain(file.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let stream = ImportSource::stream(std::io::Cursor::new(bytes));
    let (outcome, rows) = bring_as(app, &ben, stream, FileOrigin::Vouched).await;
    assert_eq!((outcome.added, outcome.failed), (1, 0), "{rows:?}");
    assert_eq!(told(&rows, "changed"), ["The file: It was UTF-16LE, and is read as such."]);
    let stream =
        ImportSource::stream(std::io::Cursor::new(zip(&[("list.txt", b"Ben rows.\nBen sings.")])));
    assert_eq!(bring_as(app, &ben, stream, FileOrigin::Vouched).await.0.added, 2);
}

#[tokio::test]
async fn a_folder_is_imported_from_the_command_line_with_a_report() {
    let (app, anna, _) = TestApp::start_for_two().await;
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("vault/Tee.md", "# Tee\n\nGrün.");
    put("vault/.obsidian/x.json", "{\"text\":\"no\"}");
    put("vault/bad /x.md", "# X");
    put("outside.md", "# Outside");
    std::os::unix::fs::symlink("../outside.md", folder.path().join("vault/link.md")).unwrap();
    let (vault, report) = (folder.path().join("vault"), folder.path().join("report.jsonl"));
    let (vault, report) = (vault.to_str().unwrap(), report.to_str().unwrap());
    let run = |folder: &str| {
        let args = ["import", "--email", &anna.email, "--folder", folder, "--report", report];
        let output = home
            .command(&args)
            .env("KEEPSAKE_DATABASE_URL", database_url(&app.options))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said, problems) = run(vault);
    assert_eq!(
        said, "0 added, 0 known already, 1 failed, 1 document, 1 not imported\n",
        "{problems}"
    );
    assert!(
        code == Some(1)
            && problems.contains("bad /x.md: `path` has a name that begins or ends with a blank"),
        "{problems}"
    );
    let lines = std::fs::read_to_string(report).unwrap();
    assert!(lines.contains("{\"place\":\"Tee.md\",\"outcome\":\"taken\"}"), "{lines}");
    let documents = records(&export(&app, &anna).await, "document");
    assert_eq!(
        documents.iter().map(|d| d["path"].as_str().unwrap()).collect::<Vec<_>>(),
        ["Tee.md"]
    );
    let (code, _, problems) = run("/nowhere/at/all");
    assert!(code == Some(1) && problems.contains("there is no folder"), "{problems}");
}
