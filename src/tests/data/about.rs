//! All about something is found wherever it stands, chosen, and deleted in one act that can be undone.

use serde_json::{Value, json};
use time::Duration;

use super::erasure::{find_everywhere, fingerprint, receipt_of};
use super::hand_over;
use crate::pages::{assert_has, assert_lacks};
use crate::support::Sql as _;
use crate::support::{Browser, Provider, TestApp, TestUser};
use crate::turns::message;

async fn found(browser: &Browser, query: &str) -> Value {
    let (status, body) = browser.get(&format!("/data/about.json?{query}")).await;
    assert_eq!(status, 200, "{query}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn counts(found: &Value) -> Vec<(String, usize)> {
    let kinds = found["found"].as_object().unwrap().iter();
    kinds.map(|(kind, rows)| (kind.clone(), rows.as_array().unwrap().len())).collect()
}

fn parts<'f>(found: &'f Value, kinds: &[&str]) -> Vec<&'f str> {
    let rows = kinds.iter().flat_map(|kind| found["found"][kind].as_array().into_iter().flatten());
    rows.map(|row| row["part"].as_str().unwrap()).collect()
}

/// The address of the receipt.
async fn delete(browser: &Browser, subject: (&str, &str), parts: &[&str]) -> String {
    let mut fields = vec![subject, ("action", "delete")];
    fields.extend(parts.iter().map(|part| ("part", *part)));
    let response = browser.post("/data/about", &fields).await;
    assert_eq!(response.status(), 303, "{}", response.text().await.unwrap());
    response.headers()["location"].to_str().unwrap().to_owned()
}

async fn is_undone(browser: &Browser, receipt: &str) -> u16 {
    let id = receipt.strip_prefix("/erased/").unwrap();
    let fields = [("action", "undo"), ("receipt", id)];
    browser.post("/data/about", &fields).await.status().as_u16()
}

/// A name in memories, a conversation, a document, a search query, the summary and an entity.
async fn planted(app: &TestApp, user: &TestUser, name: &str) -> i64 {
    app.activity.keep_queries(user.id, true).await.unwrap();
    let lives = user.add_to("people", &format!("{name} lives in Graz.")).await;
    let older = user.add(&format!("{name} plays the cello.")).await;
    user.call("memory_archive", json!({ "item_id": older })).await;
    user.add("Anna rows.").await;
    let calls = json!([{ "id": "c", "name": "fetch_page", "arguments": format!("{{\"content\":\"{name}\"}}") }]);
    let said = json!([
        message("m1", "user", &format!("My sister {name} called today.")),
        { "id": "m2", "role": "assistant", "content": "Noted.", "tool_calls": calls },
        { "id": "m3", "role": "tool", "tool_call_id": "c", "content": format!("a page about {name}") },
        message("m4", "user", "I row on Mondays."),
    ]);
    hand_over(user, "talk", &said).await;
    let note = json!({ "command": "create", "path": "/memories/family.md", "file_text": format!("- {name}\n") });
    user.call("memory_files", note).await;
    user.find(name).await;
    app.activity.flush().await.unwrap();
    app.sql(
        "INSERT INTO memory_summaries (user_id, body, made_at) VALUES ($1, $2, now())
             ON CONFLICT (user_id) DO UPDATE SET body = excluded.body, made_at = excluded.made_at",
    )
    .bind(user.id.0)
    .bind(format!("Anna has a sister, {name}."))
    .run()
    .await;
    lives
}

#[tokio::test]
async fn a_name_is_found_wherever_it_stands_and_leaves_no_trace() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let mut lives = Vec::new();
    for (user, name) in [(&anna, "Kanarienvogel"), (&ben, "Rohrdommel")] {
        app.use_provider(user, &provider, "model").await;
        lives.push(planted(&app, user, name).await);
        app.drain(user).await;
    }
    app.run_due().await;
    let browser = app.signed_in(&anna).await;
    let all = found(&browser, "words=kanarienvogel").await;
    let kinds: Vec<String> = counts(&all).into_iter().map(|(kind, _)| kind).collect();
    for kind in ["memories", "messages", "documents", "calls", "summary"] {
        assert!(kinds.iter().any(|found| found == kind), "{kind}: {all}");
    }
    assert_eq!(parts(&all, &["memories"]).len(), 2, "{all}");
    assert_eq!(parts(&all, &["messages"]).len(), 3, "{all}");
    let page = browser.look("/data/about?words=kanarienvogel").await;
    assert_has(
        &page,
        &[
            "Kanarienvogel lives in Graz.",
            "My sister Kanarienvogel called today.",
            "family.md",
            "Delete what is chosen",
        ],
    );
    assert_lacks(&page, &["Anna rows."]);

    // What is undone is as before.
    let kinds = ["memories", "episodes", "messages", "documents", "entities", "calls", "summary"];
    let chosen = parts(&all, &kinds);
    let receipt = delete(&browser, ("words", "kanarienvogel"), &chosen).await;
    assert_has(&browser.look(&receipt).await, &["What is deleted", "Undo"]);
    let hidden = anna.refused("memory_get", json!({ "item_id": lives[0] })).await;
    assert_eq!(hidden.0, 404, "hidden at once");
    assert_eq!(is_undone(&browser, &receipt).await, 303);
    assert_eq!(is_undone(&browser, &receipt).await, 404);
    assert_eq!(app.run_job("delete").await, 0);
    assert_eq!(found(&browser, "words=kanarienvogel").await, all);

    let receipt = delete(&browser, ("words", "kanarienvogel"), &chosen).await;
    let of_ben = app.signed_in(&ben).await;
    assert_eq!(is_undone(&of_ben, &receipt).await, 404, "another's");
    let mut conn = app.superuser().await;
    let bens = fingerprint(&mut conn, ben.id.0).await;
    app.clock.advance(Duration::seconds(10));
    app.run_job("delete").await;
    assert_eq!(fingerprint(&mut conn, ben.id.0).await, bens);
    assert_eq!(is_undone(&browser, &receipt).await, 404);
    app.sql("VACUUM ANALYZE").run_all().await;
    let needles = ["%kanarienvogel%".to_owned()];
    assert_eq!(find_everywhere(&mut conn, &needles).await, [""; 0]);
    let shown = browser.look(&receipt).await;
    assert_has(&shown, &["What was deleted", "What stays, and why"]);
    let erased = receipt_of(&app, &receipt).await;
    let of = |name: &str| erased.erased.get(name).copied();
    assert!(of("memory_items") >= Some(2) && of("session_messages") == Some(3), "{erased:?}");
    assert!(!anna.find("Anna rows").await.is_empty(), "what is not about it stays");
}

#[tokio::test]
async fn of_one_memory_a_person_chooses_what_else_goes_and_the_receipt_says_what_stays() {
    let (app, anna) = TestApp::start_for("anna").await;
    let said = json!([
        message("m1", "user", "我姐姐李娜住在格拉茨，她喜欢喝绿茶。"),
        message("m2", "user", "今天天气很好。")
    ]);
    hand_over(&anna, "talk", &said).await;
    let id = anna.add("李娜住在格拉茨，喜欢喝绿茶。").await;
    let browser = app.signed_in(&anna).await;
    assert_has(
        &browser.look(&format!("/memory/{id}")).await,
        &[&format!("/data/about?memory={id}")],
    );
    let all = found(&browser, &format!("memory={id}")).await;
    assert_eq!(counts(&all), [("memories".to_owned(), 1), ("messages".to_owned(), 1)], "{all}");
    let receipt = delete(&browser, ("memory", &id.to_string()), &parts(&all, &["memories"])).await;
    app.clock.advance(Duration::seconds(10));
    app.run_job("delete").await;
    let erased = receipt_of(&app, &receipt).await;
    assert_eq!(erased.stays["session_messages"], 1, "{erased:?}");
    assert_has(&browser.look(&receipt).await, &["messages of sessions", "not chosen"]);
    assert_eq!(app.count("session_messages WHERE content LIKE '%李娜%'").await, 1);
    // By the words, what stayed.
    let left = found(&browser, "words=李娜").await;
    delete(&browser, ("words", "李娜"), &parts(&left, &["messages"])).await;
    app.clock.advance(Duration::seconds(10));
    app.run_job("delete").await;
    assert_eq!(app.count("session_messages WHERE content LIKE '%李娜%'").await, 0);
    assert_eq!(app.count("memory_items WHERE content LIKE '%李娜%'").await, 0);
    assert_eq!(app.count("session_messages WHERE content LIKE '%天气%'").await, 1);
    let session: Value = anna.get("/api/v1/sessions/talk/messages").await.json().await.unwrap();
    assert_has(&session.to_string(), &["(deleted by its person)"]);
}

#[tokio::test]
async fn what_is_being_read_of_a_deleted_message_is_read_again_without_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let said =
        [("m1", "The zaunkoenig nests in the hedge of the school."), ("m2", "I row on Mondays.")];
    let said: Vec<Value> = said.iter().map(|(id, text)| message(id, "user", text)).collect();
    hand_over(&anna, "talk", &json!(said)).await;
    app.sql("UPDATE session_extractions SET attempts = 1, reading_since = now()").run().await;
    let browser = app.signed_in(&anna).await;
    let all = found(&browser, "words=zaunkoenig").await;
    delete(&browser, ("words", "zaunkoenig"), &parts(&all, &["messages"])).await;
    app.clock.advance(Duration::seconds(10));
    app.run_job("delete").await;
    // The reader's attempt is not the last one any more, so that it keeps nothing.
    assert_eq!(
        app.count("session_extractions WHERE attempts = 2 AND reading_since IS NULL").await,
        1
    );
    app.run_job("extract").await;
    assert_eq!(app.count("episodes").await, 1);
    assert_eq!(app.count("memory_items WHERE content ILIKE '%zaunkoenig%'").await, 0);
}

#[tokio::test]
async fn a_theme_an_agent_a_project_and_an_entity_go_as_a_whole_and_nothing_else_does() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let token = app.token(anna.id, "other", &keepsake::accounts::Scope::ALL, None).await;
    let other = anna.with_token(&token);
    for user in [&anna, &ben] {
        user.add_to("garden", "The pear tree bears in September.").await;
        user.call(
            "memory_add",
            json!({ "type": "fact", "content": "Uses pnpm.", "project": "boat" }),
        )
        .await;
    }
    other.add("The other agent was here.").await;
    hand_over(&other, "theirs", &json!([message("m1", "user", "Hello, other agent.")])).await;
    let browser = app.signed_in(&anna).await;
    let of_anna = async |sql: &str| app.sql(sql).bind(anna.id.0).value::<i64>().await;
    let theme =
        of_anna("SELECT id FROM memory_themes WHERE user_id = $1 AND slug = 'garden'").await;
    let agent = of_anna("SELECT id FROM agents WHERE user_id = $1 AND name = 'other'").await;
    let project = of_anna("SELECT id FROM projects WHERE user_id = $1").await;
    assert_has(&browser.look("/data/about").await, &["or a theme", "or an agent", "or a project"]);
    for (kind, id, memories, sessions) in
        [("theme", theme, 1, 0), ("agent", agent, 1, 1), ("project", project, 1, 0)]
    {
        let all = found(&browser, &format!("{kind}={id}")).await;
        assert_eq!(parts(&all, &["memories"]).len(), memories, "{kind}: {all}");
        assert_eq!(parts(&all, &["sessions"]).len(), sessions, "{kind}: {all}");
        assert_eq!(all["names"], 1, "its own name stays");
        // All of a kind, as many as were shown.
        let id = id.to_string();
        for (shown, status) in [(memories + 1, 409), (memories, 303)] {
            let whole = format!("memories:{shown} sessions:{sessions}");
            let fields = [("action", "delete"), (kind, &id), ("whole", &whole)];
            let answer = browser.post("/data/about", &fields).await;
            assert_eq!(answer.status(), status, "{kind}");
        }
    }
    app.clock.advance(Duration::seconds(10));
    app.run_job("delete").await;
    assert_eq!(
        app.count(&format!("memory_items WHERE user_id = {} AND theme_id IS NOT NULL", anna.id.0))
            .await,
        0
    );
    assert_eq!(
        app.count(&format!("memory_items WHERE user_id = {} AND theme_id IS NOT NULL", ben.id.0))
            .await,
        2
    );
    assert_eq!(app.count("sessions").await, 0);
    assert_eq!(app.count("erasure_receipts").await, 3);
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_cannot_be_looked_for_or_deleted_is_told_in_a_sentence() {
    let (app, anna) = TestApp::with_user().await;
    let (_, ben) = TestApp::with_user().await;
    let bens = ben.add("Ben bakes.").await;
    let browser = app.signed_in(&anna).await;
    for (query, status, said) in [
        ("", 422, "`words` is missing"),
        ("words=%20..%20", 422, "`words` has no word"),
        ("memory=x", 422, "`memory` is no ID"),
        (&format!("memory={bens}"), 404, "There is no such thing"),
        ("agent=999999999", 404, "There is no such thing"),
    ] {
        let (answered, body) = browser.get(&format!("/data/about.json?{query}")).await;
        assert_eq!(answered, status, "{query}: {body}");
        assert!(body.contains(said), "{query}: {body}");
    }
    assert_has(&browser.look("/data/about?words=..").await, &["`words` has no word"]);
    let refused = browser.post("/data/about", &[("action", "delete"), ("words", "tea")]).await;
    assert_eq!(refused.status(), 422);
    // A part that is not found about this, and another's.
    let part = format!("memories:{bens}");
    let fields = [("action", "delete"), ("words", "bakes"), ("part", part.as_str())];
    assert_eq!(browser.post("/data/about", &fields).await.status(), 422);
    assert_eq!(ben.find("bakes").await.len(), 1);
    // An agent's token is no web session.
    let by_token = anna.get("/data/about.json?words=tea").await;
    assert_eq!(by_token.url().path(), "/login");
    // One search at a time, since it reads all.
    let mut other = app.superuser().await;
    let held = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('keepsake about', {}))",
        anna.id.0
    );
    other.sql(held).run_all().await;
    assert_eq!(browser.get("/data/about.json?words=tea").await.0, 429);
    let page = browser.look("/data/about?words=tea").await;
    assert_has(&page, &["Your memory is being looked through already"]);
    other.sql("COMMIT").run_all().await;
    // For a program of the person.
    anna.add("Anna likes tea.").await;
    let all = found(&browser, "words=tea").await;
    let part = parts(&all, &["memories"])[0].to_owned();
    let fields = [("action", "delete"), ("words", "tea"), ("part", part.as_str())];
    let request = browser.client.post(format!("{}/data/about", browser.base)).form(&fields);
    let request =
        request.header("sec-fetch-site", "same-origin").header("accept", "application/json");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 202);
    assert_eq!(answer.json::<Value>().await.unwrap()["receipt"].as_str().unwrap().len(), 32);
}
