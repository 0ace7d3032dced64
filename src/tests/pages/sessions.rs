use serde_json::{Value, json};

use super::{assert_has, between};
use crate::support::{TestApp, TestUser};
use keepsake::accounts::Scope;

async fn hand_over(user: &TestUser, session: &str, messages: Value) {
    let path = format!("/api/v1/sessions/{session}/messages");
    let response = user.post(&path, &json!({ "messages": messages })).await;
    assert_eq!(response.status(), 200);
}

async fn complete(user: &TestUser, session: &str) {
    let path = format!("/api/v1/sessions/{session}/complete");
    assert_eq!(user.post(&path, &json!({})).await.status(), 200);
}

fn said(id: impl ToString, role: &str, content: &str) -> Value {
    json!({ "id": id.to_string(), "role": role, "content": content })
}

/// Writes how the newest row of the session's ledger ended.
async fn end_as(app: &TestApp, session: &str, set: &str) {
    let update = format!(
        "UPDATE session_extractions SET {set}, attempts = 1, ended_at = created_at
         WHERE id = (SELECT max(e.id) FROM session_extractions e JOIN sessions s ON s.user_id = e.user_id AND s.id = e.session_id
                     WHERE s.external_id = '{session}')"
    );
    assert_eq!(app.sql(update).run().await, 1);
}

fn sessions(page: &str) -> usize {
    page.matches("class=\"row\"").count()
}

async fn id_of(app: &TestApp, session: &str) -> i64 {
    app.sql("SELECT id FROM sessions WHERE external_id = $1").bind(session).value().await
}

#[tokio::test(crate = "crate::support::shared")]
async fn before_the_first_session_the_page_shows_how_to_hand_one_over_and_retention_is_saved() {
    let (_, anna, browser) = TestApp::with_browser().await;
    let page = browser.look("/sessions").await;
    assert_has(&page, &["No agent has handed over a session yet.", "href=\"/agents\""]);
    assert!(page.contains("/api/v1/sessions/chat-1/messages"), "{page}");
    // The line does what it says.
    hand_over(&anna, "chat-1", json!([said(1, "user", "I moved to Lisbon last week.")])).await;
    let page = browser.look("/sessions").await;
    assert_has(&page, &["chat-1", "1 message<", "Not read yet."]);
    // A saved retention says so.
    let fields = [("action", "lifetimes"), ("episode_days", "30"), ("turn_days", "")];
    let page = browser.answers(200, "/sessions", &fields).await;
    let part = page.split("id=\"lifetimes\"").nth(1).unwrap();
    assert!(part.contains("Saved.") && part.contains("value=\"30\""), "{part}");
}

#[tokio::test]
async fn the_list_says_what_came_of_each_and_is_narrowed_by_its_address() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let other = anna.with_token(&app.token(anna.id, "other", &Scope::ALL, None).await);
    for name in ["waits", "kept", "bare", "broke", "left-out"] {
        hand_over(&anna, name, json!([said(1, "user", "one")])).await;
        complete(&anna, name).await;
    }
    hand_over(&other, "goes-on", json!([said(1, "user", "one")])).await;
    end_as(&app, "kept", "outcome = 'stored', stored_count = 2, merged_count = 1").await;
    end_as(&app, "bare", "outcome = 'nothing'").await;
    end_as(
        &app,
        "broke",
        "outcome = 'failed', reason = 'the model did not answer in time', next_try_at = '2100-01-01Z'",
    )
    .await;
    end_as(&app, "left-out", "outcome = 'skipped', reason = 'memory is off'").await;
    let page = browser.look("/sessions").await;
    assert_eq!(sessions(&page), 6);
    assert_has(&page, &["Waiting to be read.", "Stored 2, 1 already known."]);
    assert_has(&page, &["Nothing worth storing.", "Failed: the model did not answer in time."]);
    assert_has(&page, &["Skipped: memory is off.", "6 sessions, newest first"]);
    let agent: i64 = app.sql("SELECT id FROM agents WHERE name = 'other'").value().await;
    for (query, names) in [
        ("state=open", vec!["goes-on"]),
        ("outcome=stored", vec!["kept"]),
        ("outcome=pending", vec!["waits"]),
        ("state=completed&outcome=failed", vec!["broke"]),
        (&format!("agent={agent}"), vec!["goes-on"]),
        ("state=open&outcome=failed", vec![]),
    ] {
        let page = browser.look(&format!("/sessions?{query}")).await;
        assert_eq!(sessions(&page), names.len(), "{query}");
        assert!(names.iter().all(|name| page.contains(name)), "{query}");
        assert_eq!(names.is_empty(), page.contains("No matching sessions."), "{query}");
    }
    for n in 0..30 {
        hand_over(&anna, &format!("more-{n}"), json!([said(1, "user", "one")])).await;
    }
    let page = browser.look("/sessions?state=open").await;
    assert_eq!(sessions(&page), 25);
    assert!(page.contains("href=\"/sessions?state=open&amp;shown=50\""));
    assert_eq!(sessions(&browser.look("/sessions?state=open&shown=50").await), 31);
}

#[tokio::test]
async fn a_session_shows_its_ledger_and_every_word_that_was_said() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let long = format!("{}the end of it", "snow ".repeat(200));
    hand_over(
        &anna,
        "chat",
        json!([
            said(1, "user", "How is <b>Oslo</b>?"),
            { "id": "2", "role": "assistant", "tool_calls": [{ "id": "c", "name": "weather", "arguments": { "city": "Oslo" } }] },
            { "id": "3", "role": "tool", "tool_call_id": "c", "content": long },
            said(4, "assistant", "It snows."),
        ]),
    )
    .await;
    complete(&anna, "chat").await;
    end_as(
        &app,
        "chat",
        "outcome = 'stored', stored_count = 1, is_fallback = true, skipped_chars = 1200, malformed_count = 2,
         model = 'tiny', tokens_in = 1234, tokens_out = 56, duration_ms = 2500,
         next_try_at = '2100-01-01Z'",
    )
    .await;
    hand_over(&anna, "chat", json!([said(5, "user", "Thanks.")])).await;
    let id = id_of(&app, "chat").await;
    let page = browser.look(&format!("/sessions/{id}")).await;
    let page = page.replace("&#x27;", "'");
    assert_has(&page, &["How is &lt;b&gt;Oslo&lt;/b&gt;?", "It snows.", "the end of it"]);
    assert_has(&page, &["{\"city\":\"Oslo\"}", "Messages 1 to 4", "Stored 1.", "Next attempt "]);
    assert_has(
        &page,
        &[
            "No chat model has read this",
            "by their words alone: 1.",
            "1,234 tokens in, 56 out, 2.5 s",
        ],
    );
    assert_has(&page, &["1,200 characters in its middle were not read."]);
    assert_has(&page, &["2 parts of the model's answer could not be read."]);
    assert_has(&page, &["1 message is not read yet: the session is open."]);
    assert_has(&page, &["id=\"m3\"", "href=\"#m5\""]);
    // The call and its long result are folded; the result says whose it is.
    assert_eq!(page.matches("<details>").count(), 2);
    assert_eq!(page.matches("<bdi>weather</bdi>").count(), 2);
    assert!(page.contains("1,013 characters"));
}

#[tokio::test]
async fn a_long_session_is_read_in_pages_and_from_any_message() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    let browser = app.signed_in(&anna).await;
    let messages: Vec<Value> = (1..=250).map(|n| said(n, "user", &format!("words {n}."))).collect();
    hand_over(&anna, "long", json!(messages)).await;
    let id = id_of(&app, "long").await;
    let shown = |page: &str| page.matches("class=\"said\"").count();
    let first = browser.look(&format!("/sessions/{id}")).await;
    assert_eq!(shown(&first), 100);
    assert!(first.contains("Messages 1 to 100 of 250") && !first.contains(">Earlier<"));
    assert!(first.contains(&format!("href=\"/sessions/{id}?from=101\"")));
    let last = browser.look(&format!("/sessions/{id}?from=201")).await;
    assert_eq!(shown(&last), 50);
    assert!(last.contains("words 250.") && !last.contains(">Later<"));
    assert!(last.contains(&format!("href=\"/sessions/{id}?from=101\"")));
    let middle = browser.look(&format!("/sessions/{id}?from=173")).await;
    assert!(middle.contains("id=\"m173\"") && !middle.contains("id=\"m172\""));
    let past = browser.look(&format!("/sessions/{id}?from=999")).await;
    assert!(past.contains("There are no messages after that."));
    for nowhere in [format!("/sessions/{}", id + 1), "/sessions/chat".to_owned()] {
        assert_eq!(browser.get(&nowhere).await.0, 404);
    }
    let bens = app.signed_in(&ben).await;
    assert_eq!(bens.get(&format!("/sessions/{id}")).await.0, 404);
}

#[tokio::test]
async fn a_session_lists_the_memories_that_came_of_it_and_each_message_leads_to_its_own() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let messages: Vec<Value> = (1..=150).map(|n| said(n, "user", &format!("word {n}"))).collect();
    hand_over(&anna, "talk", json!(messages)).await;
    complete(&anna, "talk").await;
    let session = id_of(&app, "talk").await;
    let page = browser.look(&format!("/sessions/{session}")).await;
    assert!(!page.contains("that came of it"));
    let superseded = "status = 'archived', superseded_by = (SELECT max(id) FROM memory_items)";
    let mut ids = Vec::new();
    for (words, position, set) in [
        ("Lives in Graz", 2, superseded),
        ("Rows on Sundays", 2, "status = 'archived'"),
        ("Likes tea", 140, "expires_at = created_at"),
        ("Lives in Linz", 3, "confidence = 90"),
    ] {
        let id = anna.add(words).await;
        ids.push(id);
        let said = format!("session_id = {session}, message_id = {position}");
        app.sql(format!("UPDATE memory_items SET {said}, {set} WHERE id = {id}")).run().await;
    }
    let newest = "UPDATE memory_items SET superseded_by = $1 WHERE id = $2";
    app.sql(newest).bind(ids[3]).bind(ids[0]).run().await;

    let page = browser.look(&format!("/sessions/{session}")).await;
    assert!(page.contains("4 memories extracted"));
    let list = between(&page, "id=\"memories-title\"", "</section>");
    let mut at = 0;
    for (id, state) in
        [(ids[0], "superseded"), (ids[1], "archived"), (ids[3], "active"), (ids[2], "expired")]
    {
        let row = list.find(&format!("href=\"/memory/{id}\"")).unwrap();
        assert!(row > at, "in the order of what was said");
        at = row;
        let rest = list[row..].split("</li>").next().unwrap();
        assert!(rest.contains(state), "{id}: {rest}");
    }
    let later = format!("href=\"/sessions/{session}?from=140#m140\"");
    assert_has(list, &["href=\"#m2\"", &later]);
    // Back from the words to what was kept of them.
    let [graz, rows] = [ids[0], ids[1]].map(|id| format!("href=\"/memory/{id}\""));
    assert_has(between(&page, "id=\"m2\"", "</li>"), &[&graz, &rows]);
    assert!(!between(&page, "id=\"m4\"", "</li>").contains("/memory/"));
}

#[tokio::test]
async fn what_failed_or_was_skipped_is_read_again_when_its_person_says_so() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    for (name, set, may) in [
        ("broke", "outcome = 'failed', reason = 'it was away', next_try_at = '2100-01-01Z'", true),
        ("given-up", "outcome = 'failed', reason = 'it was away', next_try_at = NULL", true),
        ("left-out", "outcome = 'skipped', reason = 'memory is switched off'", true),
        ("kept", "outcome = 'stored', stored_count = 1", false),
        ("bare", "outcome = 'nothing'", false),
        ("held", "outcome = 'failed', reading_since = created_at, next_try_at = created_at", false),
    ] {
        hand_over(&anna, name, json!([said(1, "user", "one")])).await;
        complete(&anna, name).await;
        end_as(&app, name, set).await;
        let path = format!("/sessions/{}", id_of(&app, name).await);
        let page = browser.look(&path).await;
        assert_eq!(page.contains("Read again"), may, "{name}");
        let answer = browser.post(&format!("{path}/again"), &[("first", "1")]).await;
        assert_eq!(answer.status(), 303);
        assert_eq!(answer.headers()["location"], path);
        let is_due: bool = app.sql("SELECT coalesce(next_try_at <= $2 AND reading_since IS NULL, false) FROM session_extractions e
             JOIN sessions s ON s.user_id = e.user_id AND s.id = e.session_id WHERE s.external_id = $1").bind(name).bind(app.embeddings.now()).value().await;
        assert_eq!(is_due, may, "{name}");
        let page = browser.look(&path).await;
        assert_eq!(page.contains("It is being read again."), may || name == "held", "{name}");
        assert!(!page.contains("Read again"), "{name}");
        // Without saying which, nothing happens.
        browser.answers(303, &format!("{path}/again"), &[]).await;
    }
}
