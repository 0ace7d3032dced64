//! Documents as plain HTML: the tree, one document rendered, its revisions, and what a person decides about it.

use keepsake::documents::{ChangeAuthor, DocumentPath, ExpectedRevision};
use serde_json::json;

use super::{assert_has, assert_lacks, between};
use crate::support::{TestApp, TestUser};

/// By the person's agent.
async fn write(user: &TestUser, path: &str, text: &str) -> i64 {
    let address = format!("/api/v1/documents/{path}");
    let body = json!({ "content": text });
    let (status, made) = user.request(reqwest::Method::PUT, &address, Some(body)).await;
    assert!(status < 300, "{path}: {made}");
    made["id"].as_i64().unwrap()
}

async fn delete(user: &TestUser, path: &str) {
    let address = format!("/api/v1/documents/{path}");
    let (status, _) = user.request(reqwest::Method::DELETE, &address, None).await;
    assert_eq!(status, 200);
}

/// The part of a page between this id and the end of its section.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    between(page, &format!("id=\"{id}\""), "</section>")
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_page_says_how_to_begin_and_has_documents_in_a_tree_and_deleted_ones_apart() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let page = browser.look("/documents").await;
    assert_has(&page, &["No agent has written a document yet.", "memory_files", "Anthropic"]);
    assert_has(&page, &["/api/v1/documents/MEMORY.md", "href=\"/agents\""]);
    assert!(page.contains("aria-current=\"page\">Documents"), "{page}");
    let memory = write(&anna, "MEMORY.md", "# Tea\n").await;
    write(&anna, "memory/2026-03-23.md", &"x".repeat(2_000)).await;
    write(&anna, "memory/deep/a.txt", "a").await;
    let gone = write(&anna, "memory/gone.md", "old").await;
    delete(&anna, "memory/gone.md").await;
    let path = DocumentPath::parse("path", "mine.md").unwrap();
    let own = app.documents.clone();
    own.put(anna.id, ChangeAuthor::person(), &path, "me", ExpectedRevision::Any).await.unwrap();
    let page = browser.look("/documents").await;
    let tree = section(&page, "count");
    assert!(tree.contains("4 documents"), "{tree}");
    assert_eq!(tree.matches("<details open").count(), 2);
    assert!(tree.contains(&format!("href=\"/documents/{memory}\"")));
    assert!(tree.contains("2 kB") && !tree.contains("gone.md"));
    assert_eq!(tree.matches("stated by you").count(), 1);
    assert!(tree.find("deep").unwrap() < tree.find("2026-03-23.md").unwrap());
    let deleted = page.split("id=\"deleted\"").nth(1).unwrap();
    assert!(deleted.contains("memory/gone.md") && deleted.contains(&format!("/documents/{gone}")));
    let page = browser.look("/documents?folder=memory").await;
    assert!(page.contains("In the folder") && !page.contains("MEMORY.md"));
    assert!(page.contains("2 documents"));
    let (status, page) = browser.get("/documents?folder=../x").await;
    assert_eq!(status, 422);
    assert!(page.contains("`folder` has a name that is empty or of dots alone"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn hostile_markdown_is_text() {
    let (_, anna, browser) = TestApp::with_browser().await;
    let text = "# Plan <img src=x onerror=alert(1)>\n\n<script>alert(1)</script>\n\n\
        <iframe src=\"http://evil.example\"></iframe>\n\n\
        ![pixel](http://evil.example/p.gif) [go](javascript:alert(1)) [web](https://ok.example/a)\n\n\
        `<b>code</b>` a\u{202e}b **bold**\n\n- [x] task\n";
    let id = write(&anna, "a.md", text).await;
    let page = browser.look(&format!("/documents/{id}")).await;
    let body = section(&page, "text-title");
    assert_lacks(body, &["<script", "<iframe", "<img", "<b>", "onerror=alert(1)>"]);
    assert!(!page.contains("href=\"javascript"));
    assert_has(body, &["&lt;script&gt;alert(1)&lt;/script&gt;", "<h3", "Image: ", "<strong>"]);
    assert_has(body, &["http://evil.example/p.gif", "(javascript:alert(1))", "done: "]);
    assert_has(body, &["href=\"https://ok.example/a\" rel=\"nofollow noreferrer noopener\""]);
    assert!(body.contains("class=\"unseen\""), "{body}");
    let page = browser.look(&format!("/documents/{id}?as=text")).await;
    let body = section(&page, "text-title");
    assert!(body.contains("id=\"L1\"") && body.contains("# Plan &lt;img"));
    assert!(body.contains("Show rendered") && !body.contains("<strong>"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_bomb_is_cut_and_its_text_can_be_had() {
    let (app, anna, browser) = TestApp::with_browser().await;
    for (n, bomb) in
        ["- x\n".repeat(100_000), "> ".repeat(200_000), "*_".repeat(200_000), "a ".repeat(300_000)]
            .iter()
            .enumerate()
    {
        let id = write(&anna, &format!("bomb{n}.md"), bomb).await;
        let page = browser.look(&format!("/documents/{id}")).await;
        assert!(page.len() < 1_500_000, "{n}: {}", page.len());
        assert!(page.contains("The rest is not rendered: "), "{n}");
        let text = browser.look(&format!("/documents/{id}?as=text")).await;
        assert!(text.contains(&format!("href=\"/documents/{id}/raw\"")));
        let is_long = bomb.lines().count() > 5_000;
        assert_eq!(text.contains("The first 5,000 of 100,000 lines"), is_long);
        let raw = browser.client.get(format!("{}/documents/{id}/raw", app.base));
        let raw = raw.send().await.unwrap();
        let header = |name| raw.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(header("x-content-type-options"), "nosniff");
        let named = format!("attachment; filename=\"bomb{n}.md\"; filename*=UTF-8''bomb{n}.md");
        assert_eq!(header("content-disposition"), named);
        assert_eq!(&raw.text().await.unwrap(), bomb);
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn each_revision_shows_what_it_changed_and_can_be_restored() {
    let (_, anna, browser) = TestApp::with_browser().await;
    let id = write(&anna, "a.md", "one\ntwo\n<i>three</i>\n").await;
    write(&anna, "a.md", "one\n2\n<i>three</i>\n").await;
    let rename =
        json!({ "command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md" });
    anna.call("memory_files", rename).await;
    let path = format!("/documents/{id}");
    let page = browser.look(&path).await;
    let list = section(&page, "revisions-title");
    assert_has(list, &["created", "edited", "renamed from a.md to b.md", "by <bdi>agent</bdi>"]);
    assert!(list.contains("?revision=2#changes-title"), "{list}");
    assert!(!page.contains("id=\"changes-title\""));
    let page = browser.look(&format!("{path}?revision=2")).await;
    let diff = section(&page, "changes-title");
    assert!(diff.contains("1 line added, 1 line removed"), "{diff}");
    assert!(diff.contains("removed: ") && diff.contains("&lt;i&gt;three&lt;/i&gt;"));
    assert!(page.contains("Text at revision 2") && page.contains("Restore revision 2"));
    let page = browser.look(&format!("{path}?revision=1")).await;
    assert!(section(&page, "changes-title").contains("3 lines added, 0 lines removed"));
    assert!(section(&page, "text-title").contains("two"));
    let page = browser.look(&format!("{path}?revision=3")).await;
    assert!(page.contains("The text is the same as in the previous revision."));
    assert_eq!(browser.get(&format!("{path}?revision=9")).await.0, 404);
    let restore = [("action", "restore_revision"), ("revision", "1")];
    let restored = browser.post(&path, &restore).await;
    assert_eq!(restored.status(), 303);
    assert_eq!(restored.headers()["location"], path);
    let page = browser.look(&path).await;
    assert!(section(&page, "text-title").contains("two"));
    let list = section(&page, "revisions-title");
    assert!(list.contains("Revision 4") && list.contains("<bdi>you</bdi>"), "{list}");
    // Whose word it is stays: the agent's.
    assert!(!list.contains("stated by you"));
    // Once more changes nothing.
    browser.answers(303, &path, &restore).await;
    assert!(!browser.look(&path).await.contains("Revision 5"));
    write(&anna, "b.md", &"x\n".repeat(3_000)).await;
    let page = browser.look(&format!("{path}?revision=5")).await;
    assert!(page.contains("too long to compare"));
    let unknown = [("action", "restore_revision"), ("revision", "x")];
    browser.answers(404, &path, &unknown).await;
    browser.says(422, &path, &[("action", "explode")], "use the page").await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_deleted_one_is_restored_unless_another_has_its_path() {
    let (_, anna, browser) = TestApp::with_browser().await;
    let id = write(&anna, "a.md", "Anna likes tea.").await;
    delete(&anna, "a.md").await;
    let path = format!("/documents/{id}");
    let page = browser.look(&path).await;
    assert!(page.contains("It was deleted") && page.contains("value=\"restore\""));
    let older = [("action", "restore_revision"), ("revision", "1")];
    let told = "This document is deleted; restore it first.";
    browser.says(409, &path, &older, told).await;
    let other = write(&anna, "a.md", "other").await;
    let restore = [("action", "restore")];
    let told = "Not restored: another document has its path now.";
    browser.says(409, &path, &restore, told).await;
    delete(&anna, "a.md").await;
    write(&anna, "a.md/b.md", "folder").await;
    browser.says(409, &path, &restore, "a folder has its path now").await;
    delete(&anna, "a.md").await;
    browser.answers(303, &path, &restore).await;
    assert!(!browser.look(&path).await.contains("It was deleted"));
    assert!(browser.look("/memory?q=tea&type=document").await.contains("Anna likes "));
    assert!(browser.look(&format!("/documents/{other}")).await.contains("It was deleted"));
}

#[tokio::test]
async fn a_permanent_deletion_is_confirmed_and_leads_to_its_receipt() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let id = write(&anna, "a.md", "Anna likes tea.").await;
    write(&anna, "a.md", "Anna likes green tea.").await;
    let (path, erase) = (format!("/documents/{id}"), format!("/documents/{id}/erase"));
    assert!(browser.look(&path).await.contains("All 2 revisions"));
    let page = browser.answers(422, &erase, &[]).await;
    assert!(page.contains("Check the box to confirm; nothing was deleted."));
    assert!(page.contains("id=\"manage\" open"));
    let erased = browser.post(&erase, &[("confirm", "1")]).await;
    assert_eq!(erased.status(), 303);
    let receipt = browser.look(erased.headers()["location"].to_str().unwrap()).await;
    assert!(receipt.contains("One document"), "{receipt}");
    assert_eq!(browser.get(&path).await.0, 404);
    browser.answers(404, &erase, &[("confirm", "1")]).await;
    assert!(!browser.look("/memory?q=tea").await.contains("green"));
    assert!(!browser.look("/documents").await.contains("a.md<"));
    assert_eq!(app.count("document_revisions").await, 0);
}

#[tokio::test(crate = "crate::support::shared")]
async fn calls_that_found_it_are_told_and_lead_back_to_it() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let id = write(&anna, "notes/a.md", "Anna likes bergamot.").await;
    anna.add("Unrelated.").await;
    let search = json!({ "query": "bergamot", "types": ["document"] });
    anna.call("memory_search", search).await;
    app.activity.flush().await.unwrap();
    let page = browser.look(&format!("/documents/{id}")).await;
    let found = section(&page, "found-title");
    let calls = format!("href=\"/activity?item={id}\"");
    assert_has(found, &["used as a file", "memory_files", "found by search", &calls]);
    let page = browser.look(&format!("/activity?item={id}")).await;
    let link = format!("href=\"/documents/{id}\"");
    assert_has(&page, &["notes/a.md", &link, &format!("with document {id}")]);
    assert_lacks(&page, &[&format!("\"/memory/{id}\""), "unknown tool"]);
}

#[tokio::test]
async fn a_part_in_the_memory_list_leads_to_its_document() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    anna.add("A memory of bergamot.").await;
    let id = write(&anna, "notes/a.md", "\nAnna likes bergamot\nvery much.\n").await;
    let page = browser.look("/memory?q=bergamot&type=document").await;
    assert_eq!(page.matches("data-row").count(), 1);
    assert_has(&page, &["id=\"type-document\"", "notes/a.md", "lines 2 to 3"]);
    assert!(page.contains(&format!("href=\"/documents/{id}\"")));
    let part: i64 = app.sql("SELECT id FROM memory_items WHERE type = 'document'").value().await;
    let page = browser.look(&format!("/memory/{part}")).await;
    assert!(page.contains("A part of a document") && page.contains(&format!("/documents/{id}")));
    assert!(!page.contains("id=\"manage\""));
}

#[tokio::test(crate = "crate::support::shared")]
async fn anothers_document_is_as_if_it_were_not_there() {
    let (app, anna, ben) = TestApp::with_users().await;
    let annas = write(&anna, "quirin.md", "hidden").await;
    let browser = app.signed_in(&ben).await;
    for id in [annas.to_string(), "999999999".to_owned(), "x".to_owned()] {
        for path in ["", "?revision=1", "?as=text", "/raw", "/raw?revision=1"] {
            let (status, page) = browser.get(&format!("/documents/{id}{path}")).await;
            assert_eq!(status, 404, "{id}{path}");
            assert!(!page.contains("quirin") && !page.contains("hidden.md"));
        }
        for (path, fields) in [
            ("", vec![("action", "restore")]),
            ("", vec![("action", "restore_revision"), ("revision", "1")]),
            ("", vec![("action", "nonsense")]),
            ("/erase", vec![("confirm", "1")]),
            ("/erase", vec![]),
        ] {
            browser.answers(404, &format!("/documents/{id}{path}"), &fields).await;
        }
    }
    assert!(!browser.look("/documents").await.contains("quirin"));
}

#[tokio::test]
async fn where_an_admin_has_closed_the_browser_nothing_is_restored_and_deletion_stays() {
    let app = TestApp::start().await;
    let (anna, admin) = (app.user("anna").await, app.user("root").await);
    app.make_admin(&admin).await;
    let id = write(&anna, "a.md", "one").await;
    write(&anna, "a.md", "two").await;
    let browser = app.signed_in(&anna).await;
    let path = format!("/documents/{id}");
    let admin = app.signed_in(&admin).await;
    admin.answers(200, "/admin/browser", &[("action", "close")]).await;
    let page = browser.look(&format!("{path}?revision=1")).await;
    assert_lacks(&page, &["Restore revision", "<summary>Manage"]);
    assert!(page.contains("Delete permanently"));
    let older = [("action", "restore_revision"), ("revision", "1")];
    for fields in [&older[..], &[("action", "restore")]] {
        browser.says(403, &path, fields, "read-only; nothing was changed").await;
    }
    assert!(browser.look(&path).await.contains("two"));
    browser.answers(303, &format!("{path}/erase"), &[("confirm", "1")]).await;
}
