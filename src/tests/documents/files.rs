//! The commands of Anthropic's memory tool, in its words.

use serde_json::json;

use super::{create, delete, done, edit, refused, rename, view};
use crate::support::TestApp;

const HEAD: &str = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:";

#[tokio::test(crate = "crate::support::shared")]
async fn files_are_listed_two_levels_deep_with_their_sizes() {
    let (_, anna) = TestApp::with_user().await;
    assert_eq!(view(&anna, "/memories").await, format!("{HEAD}\n0B\t/memories"));
    let files = [("b.md", 1536), ("a/x.md", 10), ("a/deep/er/y.md", 2048)];
    for (path, bytes) in files.into_iter().chain([(".hidden", 5), ("node_modules/z", 7)]) {
        create(&anna, path, &"x".repeat(bytes)).await;
    }
    let listed = view(&anna, "/memories/").await;
    let expected = [
        HEAD,
        "3.5K\t/memories",
        "2.0K\t/memories/a/",
        "2K\t/memories/a/deep/",
        "10B\t/memories/a/x.md",
        "1.5K\t/memories/b.md",
    ];
    assert_eq!(listed, expected.join("\n"));
    let inside = view(&anna, "/memories/a").await;
    assert!(inside.contains("2K\t/memories/a/deep/er/\n10B\t/memories/a/x.md"), "{inside}");
    let nowhere = json!({ "command": "view", "path": "/memories/none" });
    let words = "The path /memories/none does not exist. Please provide a valid path.";
    assert_eq!(refused(&anna, nowhere).await, (404, words.to_owned()));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_file_is_created_once_and_read_by_its_lines() {
    let (_, anna) = TestApp::with_user().await;
    create(&anna, "notes.md", "one\ntwo\nthree\n").await;
    let told = view(&anna, "/memories/notes.md").await;
    let head = "Here's the content of /memories/notes.md with line numbers:";
    assert_eq!(told, format!("{head}\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t"));
    let some =
        |range| json!({ "command": "view", "path": "/memories/notes.md", "view_range": range });
    for (range, lines) in
        [(json!([2, 3]), "     2\ttwo\n     3\tthree"), (json!([3, -1]), "     3\tthree\n     4\t")]
    {
        assert_eq!(done(&anna, some(range)).await, format!("{head}\n{lines}"));
    }
    for range in [json!([0, 2]), json!([3, 2]), json!([9, 10]), json!([1]), json!([1, -2])] {
        let (status, words) = refused(&anna, some(range.clone())).await;
        assert!(status == 422 && words.contains("4 lines"), "{range}: {words}");
    }
    // A file where a folder stands, and the reverse.
    create(&anna, "folder/a.md", "a").await;
    let big = "x".repeat(1_048_577);
    let in_file = "Error: A file stands where a directory of /memories/notes.md/a.md would";
    for (path, text, status, words) in [
        ("/notes.md", "", 409, "Error: File /memories/notes.md already exists"),
        ("/folder", "", 409, "Error: File /memories/folder already exists"),
        ("", "", 409, "Error: File /memories already exists"),
        ("/notes.md/a.md", "", 409, in_file),
        ("/big.md", &big, 422, "`file_text` has 1048577 bytes; a document has at most 1048576."),
    ] {
        let path = format!("/memories{path}");
        let input = json!({ "command": "create", "path": path, "file_text": text });
        assert_eq!(refused(&anna, input).await, (status, words.to_owned()));
    }
    create(&anna, "lines.txt", &"\n".repeat(1_000_000)).await;
    let words = "File /memories/lines.txt exceeds maximum line limit of 999,999 lines.".to_owned();
    let input = json!({ "command": "view", "path": "/memories/lines.txt" });
    assert_eq!(refused(&anna, input).await, (409, words));
}

#[tokio::test(crate = "crate::support::shared")]
async fn text_is_replaced_where_it_stands_once() {
    let (_, anna) = TestApp::with_user().await;
    create(&anna, "n.md", "a\nb tea\nc\nd tea\ne\n").await;
    let edited = "The memory file has been edited.\n     1\ta\n     2\tb tea\n     3\tC\n     4\tCC\n     5\td tea";
    assert_eq!(done(&anna, edit("n.md", "c\n", "C\nCC\n")).await, edited);
    let missing =
        "No replacement was performed, old_str `coffee` did not appear verbatim in /memories/n.md.";
    let twice = "No replacement was performed. Multiple occurrences of old_str `tea` in lines: 2, 5. Please ensure it is unique";
    let nowhere = "Error: The path /memories/x.md does not exist. Please provide a valid path.";
    for (path, old, status, words) in
        [("n.md", "coffee", 409, missing), ("n.md", "tea", 409, twice), ("x.md", "a", 404, nowhere)]
    {
        assert_eq!(refused(&anna, edit(path, old, "b")).await, (status, words.to_owned()));
    }
    create(&anna, "f/x.md", "a").await;
    assert_eq!(refused(&anna, edit("f", "a", "b")).await.0, 404);
    assert_eq!(refused(&anna, edit("n.md", "", "b")).await.0, 422);
    // What is left out is nothing.
    let input = json!({ "command": "str_replace", "path": "/memories/n.md", "old_str": "CC\n" });
    done(&anna, input).await;
    let told = view(&anna, "/memories/n.md").await;
    assert!(told.ends_with("     3\tC\n     4\td tea\n     5\te\n     6\t"), "{told}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn lines_are_inserted_after_a_line() {
    let (_, anna) = TestApp::with_user().await;
    create(&anna, "n.md", "a\nb").await;
    let insert = |line: i64, text: &str| json!({ "command": "insert", "path": "/memories/n.md", "insert_line": line, "insert_text": text });
    for (line, text) in [(0, "first\n"), (3, "last"), (1, "second")] {
        let said = done(&anna, insert(line, text)).await;
        assert_eq!(said, "The file /memories/n.md has been edited.");
    }
    let told = view(&anna, "/memories/n.md").await;
    let lines = "1\tfirst\n     2\tsecond\n     3\ta\n     4\tb\n     5\tlast\n     6\t";
    assert!(told.ends_with(lines), "{told}");
    for line in [-1, 6, i64::MAX] {
        let words = format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, 5]"
        );
        assert_eq!(refused(&anna, insert(line, "x")).await, (409, words));
    }
    let nowhere = json!({ "command": "insert", "path": "/memories/x.md", "insert_line": 0, "insert_text": "x" });
    let words = "Error: The path /memories/x.md does not exist".to_owned();
    assert_eq!(refused(&anna, nowhere).await, (404, words));
}

#[tokio::test(crate = "crate::support::shared")]
async fn files_with_other_line_ends_and_letters_are_edited_and_stay_as_they_are() {
    let (_, anna) = TestApp::with_user().await;
    let read = async |path: &str| {
        let path = format!("/api/v1/documents/{path}");
        let (_, document) = anna.request(reqwest::Method::GET, &path, None).await;
        document["content"].as_str().unwrap().to_owned()
    };
    create(&anna, "w.md", "a\r\nCafe\u{301}\r\nc\r\n\r\n\r\n").await;
    let edited = done(&anna, edit("w.md", "a\nCafé\n", "A\nTea\nB\n")).await;
    assert_eq!(edited, "The memory file has been edited.\n     1\tA\n     2\tTea\n     3\tB");
    assert_eq!(read("w.md").await, "A\r\nTea\r\nB\r\nc\r\n\r\n\r\n");
    let insert = |line: i64, text: &str| json!({ "command": "insert", "path": "/memories/w.md", "insert_line": line, "insert_text": text });
    done(&anna, insert(4, "d\ne\n\n")).await;
    assert_eq!(read("w.md").await, "A\r\nTea\r\nB\r\nc\r\nd\r\ne\r\n\r\n\r\n\r\n");
    let told = view(&anna, "/memories/w.md").await;
    assert!(!told.contains('\r') && told.contains("     2\tTea\n"), "{told}");
    create(&anna, "o.md", "aaa\n").await;
    let (status, words) = refused(&anna, edit("o.md", "aa", "b")).await;
    assert_eq!(status, 409);
    assert!(words.contains("Multiple occurrences of old_str `aa` in lines: 1, 1."), "{words}");
    assert_eq!(refused(&anna, edit("o.md", "\u{200b}", "b")).await.0, 422);
    assert_eq!(read("o.md").await, "aaa\n");
}

#[tokio::test(crate = "crate::support::shared")]
async fn files_and_folders_are_renamed_and_deleted() {
    let (_, anna) = TestApp::with_user().await;
    for path in ["a/x.md", "a/b/y.md", "z.md"] {
        create(&anna, path, path).await;
    }
    let said = done(&anna, rename("a", "c/d")).await;
    assert_eq!(said, "Successfully renamed /memories/a to /memories/c/d");
    assert!(view(&anna, "/memories/c/d/b/y.md").await.ends_with("1\ta/b/y.md"));
    let in_file = "Error: A file stands where a directory of /memories/c/d/x.md/z.md would";
    for (from, to, status, words) in [
        ("a", "e", 404, "Error: The path /memories/a does not exist"),
        ("z.md", "c", 409, "Error: The destination /memories/c already exists"),
        ("z.md", "c/d/x.md", 409, "Error: The destination /memories/c/d/x.md already exists"),
        ("z.md", "c/d/x.md/z.md", 409, in_file),
        ("c", "c/inside", 409, "Error: /memories/c/inside is inside /memories/c"),
    ] {
        assert_eq!(refused(&anna, rename(from, to)).await, (status, words.to_owned()));
    }
    let to_root =
        json!({ "command": "rename", "old_path": "/memories/z.md", "new_path": "/memories" });
    let words = "Error: The destination /memories already exists".to_owned();
    assert_eq!(refused(&anna, to_root).await, (409, words));
    assert_eq!(done(&anna, delete("c")).await, "Successfully deleted /memories/c");
    let words = "Error: The path /memories/c does not exist".to_owned();
    assert_eq!(refused(&anna, delete("c")).await, (404, words));
    assert_eq!(refused(&anna, json!({ "command": "delete", "path": "/memories" })).await.0, 409);
    assert!(view(&anna, "/memories").await.ends_with("4B\t/memories\n4B\t/memories/z.md"));
    // What was deleted makes room for another of its name.
    create(&anna, "c/d/x.md", "anew").await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn no_path_leads_outside() {
    let (_, anna) = TestApp::with_user().await;
    for path in [
        "/etc/passwd",
        "memories/a.md",
        "/memoriesa.md",
        "/memories/../etc",
        "/memories/..\\a",
        "/memories/%2e%2e%2fa",
        "/memories/a%00.md",
        "/memories/a\u{2215}b.md",
        "/memories//a.md",
        "/memories/./a.md",
        "",
        "/",
    ] {
        for command in ["view", "create", "delete"] {
            let mut input = json!({ "command": command, "path": path });
            if command == "create" {
                input["file_text"] = "x".into();
            }
            let (status, problem) = anna.refused("memory_files", input).await;
            let told = (status, problem["code"].as_str(), problem["field"].as_str());
            assert_eq!(told, (422, Some("invalid_path"), Some("path")), "{path}");
        }
    }
    for input in [
        json!({ "command": "create", "path": "/memories/a.md" }),
        json!({ "command": "view" }),
        json!({ "command": "rename" }),
    ] {
        let (status, problem) = anna.refused("memory_files", input).await;
        assert_eq!((status, &problem["code"]), (422, &json!("required")));
    }
    assert_eq!(anna.refused("memory_files", json!({ "command": "format" })).await.0, 422);
}
