//! A team that is strictly read-only: its members write nothing through any door, and read as before.

use reqwest::Method;
use serde_json::{Value, json};

use super::{REFUSAL, Scene, agent_id, file, hits, lent, read};
use crate::mcp::Mcp;
use crate::support::{TestApp, until};

async fn make_read_only(scene: &Scene, read_only: bool) {
    let lead = agent_id(&scene.app, &scene.anna, "lead").await;
    scene.app.accounts.make_team_read_only(scene.anna.id, lead, read_only).await.unwrap();
}

#[tokio::test]
async fn members_of_a_read_only_team_write_through_no_door() {
    let scene = Scene::start().await;
    let Scene { app, lead, ben, of_lead, of_ben, .. } = &scene;
    let note =
        json!({ "command": "create", "path": "/memories/own.md", "file_text": "Ben's own note." });
    file(ben, note).await;
    make_read_only(&scene, true).await;
    ben.add("Not in the team yet.").await;
    let tie = scene.join().await;
    let tables =
        ["memory_items", "memory_themes", "documents", "sessions", "session_messages", "projects"];
    let counts = async || {
        let mut all = Vec::new();
        for table in tables {
            all.push(app.count(&format!("{table} WHERE user_id = {}", ben.id.0)).await);
        }
        all
    };
    let before = (counts().await, read(ben, *of_ben).await);
    let writes: [(&str, Value); 14] = [
        ("memory_add", json!({ "type": "fact", "content": "x", "theme": "new", "project": "new" })),
        ("memory_archive", json!({ "item_id": of_ben })),
        ("memory_archive", json!({ "item_id": of_lead })),
        ("memory_confirm", json!({ "item_id": of_ben })),
        ("memory_correct", json!({ "item_id": of_ben, "content": "y" })),
        ("memory_forget", json!({ "key": "departure" })),
        ("memory_describe_theme", json!({ "theme": "boats", "display_name": "Vessels" })),
        (
            "memory_files",
            json!({ "command": "create", "path": "/memories/x.md", "file_text": "x" }),
        ),
        (
            "memory_files",
            json!({ "command": "str_replace", "path": "/memories/own.md", "old_str": "own", "new_str": "new" }),
        ),
        (
            "memory_files",
            json!({ "command": "insert", "path": "/memories/own.md", "insert_line": 0, "insert_text": "x" }),
        ),
        ("memory_files", json!({ "command": "delete", "path": "/memories/own.md" })),
        (
            "memory_files",
            json!({ "command": "rename", "old_path": "/memories/own.md", "new_path": "/memories/x.md" }),
        ),
        ("memory", json!({ "action": "save", "text": "x" })),
        ("memory", json!({ "action": "forget", "key": "departure" })),
    ];
    let mcp = Mcp::of(app, ben);
    for (tool, input) in &writes {
        let (status, problem) = ben.refused(tool, input.clone()).await;
        let told = (status, problem["code"].as_str(), problem["detail"].as_str());
        assert_eq!(told, (403, Some("read_only_memory"), Some(REFUSAL)), "{tool} {input}");
        let result = mcp.result(tool, input.clone()).await;
        assert_eq!(result["isError"], true, "{tool} {input}: {result}");
        assert_eq!(result["content"], json!([{ "type": "text", "text": REFUSAL }]), "{tool}");
    }
    let messages = json!({ "messages": [{ "id": "1", "role": "user", "content": "x" }] });
    for (method, path, body) in [
        (Method::POST, "/api/v1/sessions/s/messages", Some(messages)),
        (Method::POST, "/api/v1/sessions/s/complete", Some(json!({}))),
        (Method::POST, "/api/v1/sessions/s/flush", Some(json!({}))),
        (Method::PUT, "/api/v1/documents/new.md", Some(json!({ "content": "x" }))),
        (Method::DELETE, "/api/v1/documents/own.md", None),
    ] {
        let (status, problem) = ben.request(method.clone(), path, body).await;
        let told = (status, problem["code"].as_str(), problem["detail"].as_str());
        assert_eq!(told, (403, Some("read_only_memory"), Some(REFUSAL)), "{method} {path}");
    }
    assert_eq!((counts().await, read(ben, *of_ben).await), before);
    // It reads its own and its leader's, its leader writes, and so does everybody once it has ended.
    assert!(hits(ben, "boat").await.contains(&lent(*of_lead, "lead")));
    let view = json!({ "command": "view", "path": "/memories/own.md" });
    assert!(file(ben, view).await.contains("Ben's own note."));
    ben.call("memory_recall", json!({ "message": "When does the boat to Bergen leave?" })).await;
    lead.add("The leader writes.").await;
    make_read_only(&scene, false).await;
    ben.add("Written again.").await;
    make_read_only(&scene, true).await;
    scene.leave(tie).await;
    ben.add("Out of the team.").await;
}

#[tokio::test]
async fn a_call_that_waits_while_the_team_becomes_read_only_writes_nothing() {
    let scene = Scene::start().await;
    let Scene { app, ben, .. } = &scene;
    scene.join().await;
    let mut holding = app.db.as_user(ben.id).await.unwrap();
    TestApp::hold_memory(&mut holding, ben.id).await;
    let input = json!({ "type": "fact", "content": "Too late." });
    let adding = tokio::spawn({
        let ben = ben.with_token(&ben.token);
        async move { ben.refused("memory_add", input).await }
    });
    until("the add waits for the lock", async || app.waiting_for_locks().await > 0).await;
    make_read_only(&scene, true).await;
    holding.rollback().await.unwrap();
    let (status, problem) = adding.await.unwrap();
    assert_eq!((status, &problem["detail"]), (403, &json!(REFUSAL)), "{problem}");
    assert!(ben.find("late").await.is_empty());
}

#[tokio::test]
async fn the_page_switches_it_and_both_sides_see_it() {
    let scene = Scene::start().await;
    let (app, anna, ben) = (&scene.app, &scene.anna, &scene.ben);
    let (annas, bens) = (app.signed_in(anna).await, app.signed_in(ben).await);
    let lead = agent_id(app, anna, "lead").await;
    let path = format!("/agents/{}/team", lead.0);
    assert!(!annas.look("/agents").await.contains("Make members read-only"), "nobody is in it");
    let link = app.accounts.invite_to_team(anna.id, lead).await.unwrap().reveal();
    assert!(annas.look("/agents").await.contains("Make members read-only"));
    assert!(!bens.look(&format!("/team/{link}")).await.contains("This team is read-only"));
    assert_eq!(annas.post(&path, &[("action", "read_only")]).await.status(), 200);
    let page = bens.look(&format!("/team/{link}")).await;
    assert!(page.contains("This team is read-only"), "{page}");
    scene.join().await;
    let page = annas.look("/agents").await;
    assert!(page.contains("Members cannot write") && page.contains("Let members write"), "{page}");
    assert!(bens.look("/agents").await.contains("The team is read-only"));
    // Who is a member, or nobody in it, switches nothing.
    let cleos = app.signed_in(&app.user("cleo").await).await;
    for browser in [&bens, &cleos] {
        assert_eq!(browser.post(&path, &[("action", "writable")]).await.status(), 404);
    }
    let input = json!({ "type": "fact", "content": "x" });
    assert_eq!(ben.refused("memory_add", input).await.0, 403);
    assert_eq!(annas.post(&path, &[("action", "writable")]).await.status(), 200);
    ben.add("x").await;
    assert!(!bens.look("/agents").await.contains("The team is read-only"));
}
