//! Every door that reads falls back to what is lent, and none writes to it.

use keepsake::clock::Clock as _;
use reqwest::Method;
use serde_json::{Value, json};
use time::Duration;
use time::format_description::well_known::Rfc3339;

use super::{REFUSAL, Scene, agent, agent_id, file, found, hits, join, lent, read, status};
use crate::support::{Provider, Sql as _, TestUser, ids, turns_due};

#[tokio::test]
async fn a_member_finds_and_reads_what_its_leader_keeps_for_itself_and_nothing_else() {
    let scene = Scene::start().await;
    let Scene { ben, of_lead, not_lent, of_ben, .. } = &scene;
    scene.app.sql("UPDATE memory_items SET trust = 'user' WHERE id = $1").bind(of_lead).run().await;
    scene.assert_alone().await;
    scene.join().await;
    let both = [lent(*of_lead, "lead"), (*of_ben, None)];
    assert_eq!(hits(ben, "boat").await, both);
    assert_eq!(hits(ben, "*").await, both, "by date");
    assert_eq!(hits(ben, "erge").await, [lent(*of_lead, "lead")], "inside of words");
    let lent_item = read(ben, *of_lead).await;
    assert_eq!(lent_item["content"], "The boat to Bergen leaves at nine.");
    assert_eq!(lent_item["memory_of"], "lead");
    assert_eq!(lent_item["trust"], "external", "it is no word of Ben's: {lent_item}");
    assert!(read(ben, *of_ben).await["memory_of"].is_null());
    for id in not_lent {
        assert_eq!(status(ben, "memory_get", json!({ "item_id": id })).await, 404);
    }
    // What the leader's person said is nobody's own word here.
    let explained = json!({ "query": "boat", "explain": true });
    let explained = ben.call("memory_search", explained).await;
    for hit in explained["results"].as_array().unwrap() {
        assert_eq!(hit["explain"]["trust"], 0.0, "{hit}");
    }
    // One page after another, each memory once.
    let mut paged = Vec::new();
    let mut input = json!({ "query": "*", "limit": 1 });
    loop {
        let page = ben.call("memory_search", input.clone()).await;
        paged.extend(ids(&page));
        match page["cursor"].as_str() {
            Some(cursor) => input["cursor"] = json!(cursor),
            None => break,
        }
    }
    paged.sort_unstable();
    let mut all = vec![*of_lead, *of_ben];
    all.sort_unstable();
    assert_eq!(paged, all);
    // By theme, though the theme is another's.
    assert_eq!(found(ben, json!({ "query": "boat", "theme": "boats" })).await.len(), 2);
    // Also by the name that it has here.
    let named = json!({ "theme": "boats", "display_name": "Vessels" });
    ben.call("memory_describe_theme", named).await;
    for query in ["boat", "*"] {
        let input = json!({ "query": query, "theme": "vessels" });
        assert_eq!(found(ben, input).await.len(), 2, "{query}");
    }
    let listed = ben.call("memory", json!({ "action": "search", "text": "boat to Bergen" })).await;
    assert!(listed["output"].as_str().unwrap().contains("leaves at nine"), "{listed}");
    // What is not lent: themes, figures, names, the summary.
    let stats = ben.call("memory_stats", json!({})).await;
    assert_eq!(stats["active"], 1, "{stats}");
    for (tool, input) in [("memory_list_themes", json!({})), ("memory_summary", json!({}))] {
        let text = ben.call(tool, input).await.to_string();
        assert!(!text.contains("Bergen"), "{tool}: {text}");
    }
    // A leader reads nothing of its members.
    assert_eq!(hits(&scene.lead, "paper").await, []);
}

#[tokio::test]
async fn conversations_quotes_and_providers_are_not_lent() {
    let scene = Scene::start().await;
    let Scene { app, anna, lead, ben, .. } = &scene;
    scene.join().await;
    keepsake::sessions::turns::switch(&app.db, anna.id, true, app.embeddings.now()).await.unwrap();
    let body = json!({ "messages": [{ "id": "m1", "role": "user", "content": "I keep the walrus in harbour four." }] });
    for (path, body) in [("messages", body), ("complete", json!({}))] {
        let answer = lead.post(&format!("/api/v1/sessions/dock/{path}"), &body).await;
        assert_eq!(answer.status(), 200, "{path}");
    }
    while !turns_due(app).await.is_empty() {
        app.run_job("turns").await;
    }
    let turn = lead.find("walrus").await;
    assert_eq!(turn.len(), 1);
    assert_eq!(hits(ben, "walrus").await, []);
    assert!(!hits(ben, "*").await.iter().any(|(id, _)| *id == turn[0]));
    assert!(found(ben, json!({ "query": "walrus", "types": ["turn"] })).await.is_empty());
    assert_eq!(status(ben, "memory_get", json!({ "item_id": turn[0] })).await, 404);
    let ask = json!({ "message": "Where is the walrus in harbour four?", "min_relevance": 0.0 });
    let told = ben.call("memory_recall", ask).await;
    assert!(!told.to_string().contains("I keep the walrus"), "{told}");

    let quoted = json!({ "type": "fact", "content": "Anna feeds the walrus at noon.", "source_context": "I feed it at noon, said Anna." });
    let id = lead.added(quoted).await;
    let own = read(lead, id).await;
    assert_eq!(own["source_context"], "I feed it at noon, said Anna.");
    let lent = read(ben, id).await;
    assert_eq!(lent["content"], own["content"]);
    for field in ["source_context", "source_thread", "source_message"] {
        assert!(lent[field].is_null(), "{field}: {lent}");
    }
    for field in ["error", "provider_type", "model", "dimensions"] {
        assert!(lent["embedding"][field].is_null(), "{field}: {lent}");
    }
}

#[tokio::test]
async fn what_is_lent_is_recalled_with_whose_it_is_and_once_a_session() {
    let scene = Scene::start().await;
    scene.join().await;
    let ask = json!({ "message": "When does the boat to Bergen leave?", "session": "chat", "min_relevance": 0.0 });
    let told = scene.ben.call("memory_recall", ask.clone()).await;
    let of_lead = told["items"].as_array().unwrap().iter().find(|item| item["id"] == scene.of_lead);
    assert_eq!(of_lead.unwrap()["memory_of"], "lead", "{told}");
    let section = told["section"].as_str().unwrap();
    assert!(section.contains(", lent by lead) The boat to Bergen leaves at nine."), "{section}");
    assert!(!section.contains("red") && !section.contains("Rolf"), "{section}");
    let again = scene.ben.call("memory_recall", ask).await;
    assert_eq!(again["reason"], "told", "{again}");
}

#[tokio::test]
async fn what_a_member_would_change_of_its_leaders_is_refused_in_one_sentence() {
    let scene = Scene::start().await;
    let Scene { app, anna, lead, ben, of_lead, .. } = &scene;
    scene.join().await;
    let before = read(lead, *of_lead).await;
    for (tool, input) in [
        ("memory_archive", json!({ "item_id": of_lead })),
        ("memory_confirm", json!({ "item_id": of_lead })),
        ("memory_correct", json!({ "item_id": of_lead, "content": "It leaves at ten." })),
    ] {
        let (status, problem) = ben.refused(tool, input).await;
        let told = (status, problem["code"].as_str(), problem["detail"].as_str());
        assert_eq!(told, (403, Some("read_only_memory"), Some(REFUSAL)), "{tool}");
    }
    assert_eq!(read(lead, *of_lead).await, before);
    // What they write is their own, of the same key too.
    let keyed = |text: &str| json!({ "type": "fact", "content": text, "theme": "boats", "key": "departure" });
    let of_leads = lead.added(keyed("Departure is at nine.")).await;
    let own = ben.call("memory_add", keyed("Departure is at ten.")).await;
    assert!(own["superseded"].is_null(), "{own}");
    let forgotten = ben.call("memory_forget", json!({ "key": "departure" })).await;
    assert_eq!(forgotten["archived"], json!([own["id"]]), "{forgotten}");
    assert_eq!(read(lead, of_leads).await["status"], "active");
    // Of one text the own copy is found.
    let copy = ben.add_to("boats", "The boat to Bergen leaves at nine.").await;
    let found = hits(ben, "boat Bergen").await;
    assert!(found.contains(&(copy, None)) && !found.contains(&lent(*of_lead, "lead")));
    assert_eq!(app.accounts.teams(anna.id).await.unwrap().own[0].1, 2);
}

#[tokio::test]
async fn documents_are_lent_after_the_members_own_and_written_by_nobody_else() {
    let scene = Scene::start().await;
    let Scene { lead, ben, anna, .. } = &scene;
    for (who, path, text) in [
        (lead, "plan.md", "Nine o'clock, pier two."),
        (lead, "boats/list.md", "Two boats."),
        (lead, "MEMORY.md", "The pier is the second one."),
        (anna, "shared.md", "Not lent."),
    ] {
        let path = format!("/memories/{path}");
        file(who, json!({ "command": "create", "path": path, "file_text": text })).await;
    }
    let view = |path: &str| json!({ "command": "view", "path": path });
    assert_eq!(status(ben, "memory_files", view("/memories/plan.md")).await, 404);
    scene.join().await;
    assert!(file(ben, view("/memories/plan.md")).await.contains("pier two"));
    let folder = file(ben, view("/memories")).await;
    assert!(folder.contains("plan.md") && folder.contains("boats/list.md"), "{folder}");
    assert!(!folder.contains("shared.md"), "{folder}");
    assert_eq!(status(ben, "memory_files", view("/memories/shared.md")).await, 404);
    for command in [
        json!({ "command": "str_replace", "path": "/memories/plan.md", "old_str": "Nine", "new_str": "Ten" }),
        json!({ "command": "insert", "path": "/memories/plan.md", "insert_line": 0, "insert_text": "Ten" }),
        json!({ "command": "delete", "path": "/memories/plan.md" }),
        json!({ "command": "delete", "path": "/memories/boats" }),
        json!({ "command": "rename", "old_path": "/memories/plan.md", "new_path": "/memories/x.md" }),
    ] {
        let (status, problem) = ben.refused("memory_files", command.clone()).await;
        assert_eq!((status, &problem["detail"]), (403, &json!(REFUSAL)), "{command}: {problem}");
    }
    // The REST door says the same.
    let (code, listed) = ben.request(Method::GET, "/api/v1/documents", None).await;
    let documents = listed["documents"].as_array().unwrap();
    assert_eq!((code, documents.len()), (200, 3), "{listed}");
    assert!(documents.iter().all(|document| document["memory_of"] == "lead"), "{listed}");
    let read = ben.request(Method::GET, "/api/v1/documents/plan.md?revision=1", None).await;
    assert_eq!((read.0, &read.1["memory_of"]), (200, &json!("lead")), "{read:?}");
    let change = json!({ "content": "Ten.", "revision": 1 });
    for (method, body) in [(Method::PUT, Some(change)), (Method::DELETE, None)] {
        let (code, problem) = ben.request(method, "/api/v1/documents/plan.md", body).await;
        assert_eq!((code, &problem["detail"]), (403, &json!(REFUSAL)), "{problem}");
    }
    let prompt = ben.get("/api/v1/prompt?with=memory_file").await.text().await.unwrap();
    assert!(prompt.contains("The pier is the second one."), "{prompt}");
    // Parts of it are found, and a search names the document.
    assert!(hits(ben, "pier two").await.iter().any(|(_, of)| of.as_deref() == Some("lead")));
    // One of their own of the same path is theirs, and comes first.
    let own =
        json!({ "command": "create", "path": "/memories/plan.md", "file_text": "Ten, by foot." });
    file(ben, own).await;
    let plan = file(ben, view("/memories/plan.md")).await;
    assert!(plan.contains("by foot") && !plan.contains("pier"), "{plan}");
    assert!(file(lead, view("/memories/plan.md")).await.contains("pier two"));
}

async fn activity(user: &TestUser, scene: &Scene) -> Vec<(String, Option<String>, Vec<i64>)> {
    scene.app.activity.flush().await.unwrap();
    let filter = keepsake::activity::ActivityFilter { limit: 50, ..Default::default() };
    let rows = scene.app.activity.list(user.id, &filter).await.unwrap();
    rows.into_iter().map(|row| (row.tool, row.member, row.items)).collect()
}

#[tokio::test]
async fn every_reading_of_what_is_lent_is_in_both_activities_without_the_words() {
    let scene = Scene::start().await;
    let Scene { app, anna, ben, of_lead, .. } = &scene;
    let tie = scene.join().await;
    app.activity.keep_queries(anna.id, true).await.unwrap();
    let before = activity(anna, &scene).await.len();
    ben.find("boat Bergen secretly").await;
    ben.find("nothing of that kind").await;
    ben.call("memory_get", json!({ "item_id": of_lead })).await;
    ben.call("memory_recall", json!({ "message": "When does the boat to Bergen leave?" })).await;
    let rows = activity(anna, &scene).await;
    let read: Vec<_> = rows[..rows.len() - before].iter().rev().collect();
    let tools: Vec<&str> = read.iter().map(|(tool, ..)| tool.as_str()).collect();
    assert_eq!(tools, ["memory_search", "memory_search", "memory_get", "memory_recall"]);
    for (tool, member, items) in &read {
        assert_eq!(member.as_deref(), Some("crew (ben@example.com)"), "{tool}");
        assert!(items.iter().all(|id| id == of_lead), "{tool} {items:?}");
    }
    assert_eq!(read[0].2, [*of_lead]);
    let words = format!("activity WHERE user_id = {} AND query IS NOT NULL", anna.id.0);
    assert_eq!(app.count(&words).await, 0, "what a member searches for is its own");
    let own = activity(ben, &scene).await;
    assert!(own.iter().any(|(tool, _, items)| tool == "memory_get" && items == &[*of_lead]));
    let page = app.signed_in(anna).await.look("/activity").await;
    assert!(page.contains("crew (ben@example.com), of the team of lead"), "{page}");
    // No more once it has ended; what was stays told.
    scene.leave(tie).await;
    let before = activity(anna, &scene).await.len();
    ben.find("boat").await;
    assert_eq!(activity(anna, &scene).await.len(), before);
}

#[tokio::test]
async fn a_busy_member_pushes_nothing_else_out_of_its_leaders_activity() {
    let scene = Scene::start().await;
    let (app, anna) = (&scene.app, &scene.anna);
    app.activity.flush().await.unwrap();
    app.sql("INSERT INTO activity (user_id, at, agent_id, tool, outcome, duration_us, item_ids, member_user, member_agent)
         SELECT $1, now() - n * interval '1 millisecond', NULL, 'memory_search', 'ok', 1, '{}', $2, 1
         FROM generate_series(1, 10003) n").bind(anna.id.0).bind(scene.ben.id.0).run().await;
    let own = format!("activity WHERE user_id = {} AND member_user IS NULL", anna.id.0);
    let before = app.count(&own).await;
    assert_eq!(app.activity.prune().await.unwrap(), 3);
    assert_eq!((app.activity.prune().await.unwrap(), app.count(&own).await), (0, before));
}

#[tokio::test]
async fn agents_of_one_user_are_a_team_too() {
    let scene = Scene::start().await;
    let Scene { app, anna, of_lead, not_lent, .. } = &scene;
    let helper = agent(app, anna, "helper", "own_only").await;
    let own = helper.add_to("boats", "The helper has a boat.").await;
    assert_eq!(hits(&helper, "boat").await, [(own, None)]);
    let (lead, id) = (agent_id(app, anna, "lead").await, agent_id(app, anna, "helper").await);
    app.accounts.add_to_team(anna.id, lead, id).await.unwrap();
    let mut both = [lent(*of_lead, "lead"), (own, None)];
    both.sort();
    assert_eq!(hits(&helper, "boat").await, both);
    assert_eq!(status(&helper, "memory_get", json!({ "item_id": not_lent[0] })).await, 404);
    let (code, problem) = helper.refused("memory_archive", json!({ "item_id": of_lead })).await;
    assert_eq!((code, &problem["detail"]), (403, &json!(REFUSAL)));
    // A chain is none: who joins the helper reads what is the helper's.
    let third = agent(app, anna, "third", "own_only").await;
    join(app, (anna, "helper"), (anna, "third")).await;
    assert_eq!(hits(&third, "boat").await, [lent(own, "helper")]);
}

#[tokio::test]
async fn what_the_leader_archived_is_lent_no_more_in_any_state_or_time() {
    let scene = Scene::start().await;
    let Scene { app, lead, ben, of_lead, .. } = &scene;
    scene.join().await;
    let then = app.clock.now().format(&Rfc3339).unwrap();
    app.clock.advance(Duration::hours(1));
    assert_eq!(status(ben, "memory_get", json!({ "item_id": of_lead })).await, 200);
    lead.call("memory_archive", json!({ "item_id": of_lead })).await;
    for input in [
        json!({ "query": "Bergen" }),
        json!({ "query": "Bergen", "status": "any" }),
        json!({ "query": "*", "status": "archived" }),
        json!({ "query": "*", "status": "any" }),
        json!({ "query": "Bergen", "as_of": then }),
        json!({ "query": "*", "as_of": then }),
    ] {
        let found = ids(&ben.call("memory_search", input.clone()).await);
        assert!(!found.contains(of_lead), "{input}: {found:?}");
    }
    for input in [json!({ "item_id": of_lead }), json!({ "item_id": of_lead, "as_of": then })] {
        assert_eq!(status(ben, "memory_get", input).await, 404);
    }
    assert_eq!(status(ben, "fetch", json!({ "id": of_lead.to_string() })).await, 404);
    // Its own agent still reads it.
    assert_eq!(status(lead, "memory_get", json!({ "item_id": of_lead })).await, 200);
}

#[tokio::test]
async fn with_another_model_what_is_lent_is_found_by_words_and_the_answer_says_so() {
    let scene = Scene::start().await;
    let Scene { app, anna, ben, of_lead, .. } = &scene;
    scene.join().await;
    let provider = Provider::start().await;
    app.use_provider(ben, &provider, "model-of-ben").await;
    app.drain(ben).await;
    let search = json!({ "query": "boat Bergen" });
    let found = ben.call("memory_search", search.clone()).await;
    assert_eq!(found["mode"], "hybrid", "{found}");
    let by_words =
        "what the team's leader lends has vectors of another model, so it was found by words alone";
    assert_eq!(found["degraded"], by_words);
    let of_leads = |found: &Value| {
        let mut results = found["results"].as_array().unwrap().iter();
        results.find(|hit| hit["id"] == *of_lead).unwrap()["signals"].clone()
    };
    assert_eq!(of_leads(&found), json!({ "fts": true, "semantic": false }));
    // With the same one it is one search.
    app.use_provider(anna, &provider, "model-of-ben").await;
    app.drain(anna).await;
    let asked = provider.texts().len();
    let found = ben.call("memory_search", search).await;
    assert!(found["degraded"].is_null(), "{found}");
    assert_eq!(of_leads(&found), json!({ "fts": true, "semantic": true }));
    assert_eq!(provider.texts().len(), asked, "the query's vector is known");
}

#[tokio::test]
async fn a_transaction_that_reads_what_is_lent_writes_nothing_and_begins_for_members_alone() {
    let scene = Scene::start().await;
    let Scene { app, anna, ben, .. } = &scene;
    let lent = app.db.lent_to(ben.id);
    let tie = scene.join().await;
    // Nobody acts: nobody is lent anything.
    let error = lent.as_user(anna.id).await.err().unwrap();
    assert!(keepsake::db::is_not_lent(&error), "{error}");
    let token = "SELECT id FROM agent_tokens WHERE user_id = $1 ORDER BY id DESC LIMIT 1";
    let token_id: i64 = app.sql(token).bind(ben.id.0).value().await;
    let actor = keepsake::db::actor::Actor::Agent { user: ben.id, token_id, writes: false };
    let clock: keepsake::clock::SharedClock = app.clock.clone();
    let within = keepsake::db::actor::scope(Some(actor), &clock, async {
        let mut tx = lent.as_user(anna.id).await.unwrap();
        let seen: Vec<i64> = tx.sql("SELECT id FROM memory_items").values().await;
        assert_eq!(seen, [scene.of_lead]);
        for statement in [
            "UPDATE memory_items SET content = 'taken over'",
            "DELETE FROM team_members",
            "INSERT INTO memory_themes (user_id, slug, created_at) VALUES (current_user_id(), 'x', now())",
        ] {
            let mut tx = lent.as_user(anna.id).await.unwrap();
            let refused = tx.sql(statement).try_run().await.err().unwrap();
            assert!(refused.to_string().contains("read-only transaction"), "{refused}");
        }
        assert!(lent.as_writer(anna.id).await.is_err());
        // Only at a transaction's begin, and only in one that reads.
        let mut own = app.db.as_user(ben.id).await.unwrap();
        let entered = own.sql("SELECT enter_lent($1)").bind(anna.id.0).try_run().await;
        assert!(keepsake::db::is_not_lent(&entered.err().unwrap()));
        // What was found while they were a member is read no more afterwards.
        let viewer = keepsake::accounts::Viewer {
            lent: Some(keepsake::accounts::LentMemory {
                user_id: anna.id,
                leader: Some(agent_id(app, anna, "lead").await),
                name: "lead".into(),
            }),
            ..keepsake::accounts::Viewer::agent(ben.id, agent_id(app, ben, "crew").await)
        };
        let filters = keepsake::search::Filters::default();
        let found = app.search.gather(&viewer, &filters, "boat").await.unwrap().lent.unwrap();
        assert!(found.has(scene.of_lead) && found.begin().await.unwrap().is_some());
        scene.leave(tie).await;
        assert!(found.begin().await.unwrap().is_none());
        let query = keepsake::search::RawQuery { query: "boat", ..Default::default() };
        let query = keepsake::search::SearchQuery::parse(query).unwrap();
        let page = app.search.find(&viewer, &query).await.unwrap();
        let found: Vec<i64> = page.hits.iter().map(|hit| hit.item.id.0).collect();
        assert_eq!((found, page.has_lent), (vec![scene.of_ben], false));
    });
    assert_eq!(within.await.1, None, "a member that was removed is refused nothing of its own");
}
