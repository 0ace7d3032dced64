//! Sessions over REST: each message once and in order, when a session is over, and
//! what the ledger says of it.

use keepsake::accounts::Scope;
use keepsake::sessions::model::{DueExtraction, ExtractionCounts, ExtractionEnd};
use keepsake::sessions::{ExtractionId, ExtractionOutcome, SessionExtraction, ledger};
use serde_json::{Value, json};
use time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{answer, code, fields, two_users};
use crate::support::{TestApp, TestUser, problem};

const MESSAGES: &str = "/api/v1/sessions/chat/messages";

fn said(id: &str, role: &str, content: &str) -> Value {
    json!({ "id": id, "role": role, "content": content })
}

async fn add(user: &TestUser, session: &str, messages: Value) -> Value {
    let path = format!("/api/v1/sessions/{session}/messages");
    answer(user.post(&path, &json!({ "messages": messages })).await).await
}

async fn read(user: &TestUser, path: &str) -> Value {
    answer(user.get(&format!("/api/v1/sessions/{path}")).await).await
}

async fn complete(user: &TestUser, session: &str) -> Value {
    answer(user.post(&format!("/api/v1/sessions/{session}/complete"), &json!({})).await).await
}

async fn contents(user: &TestUser, session: &str) -> Vec<String> {
    let page = read(user, &format!("{session}/messages?limit=500")).await;
    let messages = page["messages"].as_array().unwrap();
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(message["position"], at + 1, "{messages:?}");
    }
    messages.iter().map(|message: &Value| message["content"].as_str().unwrap().to_owned()).collect()
}

/// First and last position of each row, as the ledger has them.
async fn ledger_of(app: &TestApp, user: &TestUser) -> Vec<(i32, i32, String)> {
    app.sql("SELECT first_position, last_position, outcome FROM session_extractions WHERE user_id = $1 ORDER BY id").bind(user.id.0).rows().await
}

#[tokio::test(crate = "crate::support::shared")]
async fn messages_are_kept_once_and_in_the_order_in_which_they_were_sent() {
    let (_, anna) = TestApp::with_user().await;
    let took = |accepted: u64, duplicates: u64| -> Value {
        json!({ "accepted": accepted, "duplicates": duplicates, "flush_advised": false })
    };
    let first = json!([said("b", "user", "one"), said("a", "assistant", "two")]);
    assert_eq!(add(&anna, "chat-7", first.clone()).await, took(2, 0));
    assert_eq!(add(&anna, "chat-7", first).await, took(0, 2));
    // What is new stands after what was there, though it came mixed with it, and twice.
    let more = json!([
        said("c", "user", "three"),
        said("a", "user", "other words"),
        said("d", "user", "four"),
        said("c", "user", "again"),
    ]);
    assert_eq!(add(&anna, "chat-7", more).await, took(2, 2));
    assert_eq!(contents(&anna, "chat-7").await, ["one", "two", "three", "four"]);
    let session = read(&anna, "chat-7").await;
    assert_eq!(fields(&session, ["state", "message_count", "new_count"]), json!(["open", 4, 4]));
    assert_eq!(session["extraction"]["outcome"], Value::Null);
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_same_request_sent_by_many_at_once_stores_each_message_once() {
    let (_, anna) = TestApp::with_user().await;
    let messages: Vec<Value> =
        (0..40).map(|n| said(&format!("m{n}"), "user", &format!("words {n}"))).collect();
    let many = (0..8).map(|_| add(&anna, "busy", json!(messages)));
    let answers = futures_util::future::join_all(many).await;
    let accepted: u64 = answers.iter().map(|a| a["accepted"].as_u64().unwrap()).sum();
    assert_eq!(accepted, 40, "{answers:?}");
    let expected: Vec<String> = (0..40).map(|n| format!("words {n}")).collect();
    assert_eq!(contents(&anna, "busy").await, expected);

    // Of different requests each stays together, whoever comes first.
    let many = (0..8).map(|batch: i32| {
        let message = |n: i32| said(&format!("{batch}.{n}"), "user", &format!("{batch} {n}"));
        add(&anna, "mixed", (0..5).map(message).collect())
    });
    futures_util::future::join_all(many).await;
    let kept = contents(&anna, "mixed").await;
    assert_eq!(kept.len(), 40);
    for batch in kept.chunks(5) {
        let of = batch[0].split(' ').next().unwrap();
        let expected: Vec<String> = (0..5).map(|n| format!("{of} {n}")).collect();
        assert_eq!(batch, expected);
    }
}

#[tokio::test]
async fn a_completion_is_one_row_of_the_ledger_and_saying_it_twice_changes_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    add(&anna, "chat", json!([said("1", "user", "one"), said("2", "user", "two")])).await;
    let session = complete(&anna, "chat").await;
    assert_eq!(fields(&session, ["state", "completed_why"]), json!(["completed", "asked"]));
    assert_eq!(session["extraction"]["outcome"], "pending");
    app.clock.advance(Duration::minutes(1));
    assert_eq!(complete(&anna, "chat").await, session);
    let pending = "pending".to_owned();
    assert_eq!(ledger_of(&app, &anna).await, [(1, 2, pending.clone())]);

    // What is sent again opens nothing; what is new does, and it alone is read again.
    add(&anna, "chat", json!([said("2", "user", "two")])).await;
    assert_eq!(read(&anna, "chat").await, session);
    add(&anna, "chat", json!([said("2", "user", "two"), said("3", "user", "three")])).await;
    let session = read(&anna, "chat").await;
    assert_eq!(fields(&session, ["state", "completed_at", "new_count"]), json!(["open", null, 1]));
    complete(&anna, "chat").await;
    assert_eq!(ledger_of(&app, &anna).await, [(1, 2, pending.clone()), (3, 3, pending)]);
}

#[tokio::test]
async fn a_session_that_its_agent_has_left_for_another_is_completed_when_it_is_still() {
    let (app, anna) = TestApp::start_for("anna").await;
    let other = anna.with_token(&app.token(anna.id, "other", &Scope::ALL, None).await);
    add(&anna, "left", json!([said("1", "user", "one")])).await;
    add(&other, "left", json!([said("1", "user", "one")])).await;
    app.clock.advance(Duration::seconds(90));
    // Parallel sessions are normal.
    add(&anna, "beside", json!([said("1", "user", "one")])).await;
    assert_eq!(read(&anna, "left").await["state"], "open");
    app.clock.advance(Duration::seconds(31));
    // Nothing new is no going on.
    add(&anna, "beside", json!([said("1", "user", "one")])).await;
    assert_eq!(read(&anna, "left").await["state"], "open");
    add(&anna, "beside", json!([said("2", "user", "two")])).await;
    let left = read(&anna, "left").await;
    assert_eq!((&left["state"], &left["completed_why"]), (&json!("completed"), &json!("another")));
    assert_eq!(read(&anna, "beside").await["state"], "open");
    assert_eq!(read(&other, "left").await["state"], "open", "another agent's");
    assert_eq!(ledger_of(&app, &anna).await, [(1, 1, "pending".to_owned())]);
}

#[tokio::test]
async fn the_sweep_completes_what_is_still_and_at_night_what_pauses() {
    let (app, anna, ben) = two_users().await;
    // Noon, so that no night comes by chance.
    let now = app.embeddings.now();
    let noon = now.replace_time(time::macros::time!(12:00)) + Duration::days(1);
    app.clock.advance(noon - now);
    let sweep = async || app.run_job("complete").await;
    add(&anna, "still", json!([said("1", "user", "one")])).await;
    add(&ben, "still", json!([said("1", "user", "one")])).await;
    app.clock.advance(Duration::minutes(29));
    add(&ben, "still", json!([said("2", "user", "two")])).await;
    assert_eq!(sweep().await, 0);
    app.clock.advance(Duration::minutes(1));
    assert_eq!((sweep().await, sweep().await), (1, 0));
    let still = fields(&read(&anna, "still").await, ["state", "completed_why"]);
    assert_eq!(still, json!(["completed", "still"]));
    assert_eq!(read(&ben, "still").await["state"], "open");
    app.clock.advance(Duration::minutes(30));
    assert_eq!(sweep().await, 1);

    // Somebody who talks through the night is read at the first pause after it.
    let midnight = noon.replace_time(time::Time::MIDNIGHT) + Duration::days(1);
    app.clock.advance(midnight - app.embeddings.now());
    let mut night_came = None;
    for n in 0..40 {
        add(&anna, "long", json!([said(&format!("n{n}"), "user", "one")])).await;
        app.clock.advance(Duration::minutes(10));
        if sweep().await > 0 {
            night_came = Some(app.embeddings.now().hour());
            break;
        }
    }
    assert_eq!(night_came, Some(3));
    assert_eq!(read(&anna, "long").await["completed_why"], "nightly");
    // It goes on, and is no longer one of the day before.
    add(&anna, "long", json!([said("after", "user", "one")])).await;
    app.clock.advance(Duration::minutes(10));
    assert_eq!(sweep().await, 0);
    assert_eq!(read(&anna, "long").await["state"], "open");
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_same_id_of_another_user_or_agent_is_another_session() {
    let (app, anna, ben) = TestApp::with_users().await;
    let other = anna.with_token(&app.token(anna.id, "other", &Scope::ALL, None).await);
    let all = [(&anna, "Anna's"), (&ben, "Ben's"), (&other, "the other's")];
    for (whose, words) in all {
        assert_eq!(add(whose, "chat%2F1", json!([said("1", "user", words)])).await["accepted"], 1);
    }
    for (whose, words) in all {
        assert_eq!(contents(whose, "chat%2F1").await, [words]);
        assert_eq!(read(whose, "chat%2F1").await["external_id"], "chat/1");
    }
}

#[tokio::test]
async fn tool_calls_are_taken_as_openai_has_them_and_plain() {
    let (_app, anna) = TestApp::start_for("anna").await;
    let messages = json!([
        { "id": "1", "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "index": 0, "function": { "name": "weather", "arguments": "{\"city\":\"Oslo\"}" } },
            { "id": "c2", "name": "clock", "arguments": { "zone": "CET" } },
            { "name": "bare" },
        ] },
        { "id": "2", "role": "tool", "tool_call_id": "c1", "content": "snow", "created_at": "2026-11-21T10:00:00+01:00" },
        { "id": "3", "role": "tool", "tool_call_id": "c2", "content": "", "tool_calls": null },
    ]);
    assert_eq!(add(&anna, "chat", messages).await["accepted"], 3);
    let page = read(&anna, "chat/messages").await;
    assert_eq!(
        page["messages"][0]["tool_calls"],
        json!([
            { "id": "c1", "name": "weather", "arguments": "{\"city\":\"Oslo\"}" },
            { "id": "c2", "name": "clock", "arguments": "{\"zone\":\"CET\"}" },
            { "id": null, "name": "bare", "arguments": "" },
        ])
    );
    assert_eq!(page["messages"][0]["content"], "");
    assert_eq!(page["messages"][1]["created_at"], "2026-11-21T09:00:00Z");
    assert_eq!(page["messages"][1]["tool_call_id"], "c1");
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_session_is_read_in_pages() {
    let (_, anna) = TestApp::with_user().await;
    let messages: Vec<Value> = (1..=7).map(|n| said(&n.to_string(), "user", "words")).collect();
    add(&anna, "chat", json!(messages)).await;
    let (mut after, mut seen) = (json!(0), Vec::new());
    while !after.is_null() {
        let page = read(&anna, &format!("chat/messages?limit=3&after={after}")).await;
        let ids = page["messages"].as_array().unwrap().iter();
        seen.extend(ids.map(|m| m["id"].as_str().unwrap().to_owned()));
        after = page["next_after"].clone();
    }
    assert_eq!(seen, ["1", "2", "3", "4", "5", "6", "7"]);
    // Long ones make a page short, and never empty.
    for n in 0..30 {
        let long = said(&format!("l{n}"), "user", &"x".repeat(100_000));
        add(&anna, "long", json!([long])).await;
    }
    let page = read(&anna, "long/messages?limit=500").await;
    let n = page["messages"].as_array().unwrap().len();
    assert!((15..30).contains(&n) && page["next_after"] == n, "{n}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_is_past_a_limit_is_refused_in_one_sentence_and_nothing_is_kept() {
    let (_, anna) = TestApp::with_user().await;
    let good = said("good", "user", "good");
    let many: Vec<Value> = (0..501).map(|n| said(&n.to_string(), "user", "x")).collect();
    for (body, status, code, field) in [
        (json!({}), 422, "required", "messages"),
        (json!({ "messages": [] }), 422, "required", "messages"),
        (json!({ "messages": many }), 422, "too_many", "messages"),
        (json!({ "messages": 7 }), 422, "invalid_type", "messages"),
        (json!({ "messages": "[" }), 422, "invalid_type", "messages"),
        (json!([good]), 400, "invalid_json", ""),
    ] {
        let (came, problem) = problem(anna.post(MESSAGES, &body).await).await;
        let named = problem["field"].as_str().unwrap_or_default();
        let told = (came, problem["code"].as_str().unwrap(), named);
        assert_eq!(told, (status, code, field), "{problem}");
    }
    // Without one that can be kept, no session begins.
    let none =
        json!({ "messages": [{ "role": "user", "content": "x" }, said("s", "system", "x")] });
    let answer: Value = anna.post(MESSAGES, &none).await.json().await.unwrap();
    assert_eq!(
        (&answer["accepted"], &answer["skipped"][1]["index"]),
        (&json!(0), &json!(1)),
        "{answer}"
    );
    for session in ["%20%0A", "%FF", &"x".repeat(129)] {
        let path = format!("/api/v1/sessions/{session}/messages");
        let response = anna.post(&path, &json!({ "messages": [good] })).await;
        assert_eq!(code(response).await, "422 invalid_id", "{session}");
    }
    let big = json!({ "messages": [said("1", "user", &"x".repeat(1024 * 1024))] });
    assert_eq!(problem(anna.post(MESSAGES, &big).await).await.0, 413);
    for path in ["chat", "chat/messages", "other/messages"] {
        let response = anna.get(&format!("/api/v1/sessions/{path}")).await;
        assert_eq!(problem(response).await.0, 404, "{path}");
    }
    for query in ["limit=0", "limit=501", "after=-1", "after=x", "limit=1&limit=2"] {
        assert_eq!(problem(anna.get(&format!("{MESSAGES}?{query}")).await).await.0, 422, "{query}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn one_odd_message_holds_up_no_other_and_is_told() {
    let (_, anna) = TestApp::with_user().await;
    // As a program writes it that cuts a text in the middle of a character.
    let body = r#"{ "session": 1, "messages": [
        { "id": 1, "role": "user", "content": [{ "type": "text", "text": "Half \ud83d of it, whole \ud83d\ude00, \\ud83d" }], "created_at": 1795251600 },
        { "id": "2", "role": "system", "content": "Be kind." },
        { "role": "user", "content": "No id." },
        { "id": "4", "role": "assistant", "content": "", "created_at": "yesterday" },
        { "id": "5", "role": "assistant", "content": "Done.", "created_at": "yesterday" }] }"#;
    let post = async |body: String| -> Value {
        let answer = anna.post_text(MESSAGES, body).await;
        assert_eq!(answer.status(), 200);
        answer.json().await.unwrap()
    };
    let answer = post(body.to_owned()).await;
    assert_eq!((&answer["accepted"], &answer["duplicates"]), (&json!(2), &json!(0)), "{answer}");
    let skipped = answer["skipped"].as_array().unwrap().iter();
    let skipped: Vec<u64> = skipped.map(|one| one["index"].as_u64().unwrap()).collect();
    assert_eq!(skipped, [1, 2, 3]);
    let page = read(&anna, "chat/messages").await;
    assert_eq!(page["messages"][0]["content"], "Half \u{fffd} of it, whole 😀, \\ud83d");
    assert_eq!(page["messages"][0]["created_at"], "2026-11-21T09:00:00Z");
    assert_eq!(page["messages"][1]["id"], "5");
    // One alone, and as text.
    let again = json!({ "messages": said("6", "user", "One.") });
    assert_eq!(post(again.to_string()).await["accepted"], 1);
    let text = json!({ "messages": json!([said("6", "user", "One.")]).to_string() });
    assert_eq!(post(text.to_string()).await["duplicates"], 1);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_session_of_more_calls_than_are_read_is_refused_by_name() {
    let (_, anna) = TestApp::with_user().await;
    let messages = |ids: std::ops::Range<usize>| -> Value {
        let calls = vec![json!({ "name": "t" }); 64];
        let each =
            ids.map(|n| json!({ "id": n.to_string(), "role": "assistant", "tool_calls": calls }));
        json!({ "messages": each.collect::<Vec<_>>() })
    };
    // 20,032 at once, and 16,064 in two requests.
    let (status, problem) = problem(anna.post(MESSAGES, &messages(0..313)).await).await;
    assert_eq!((status, &problem["code"]), (422, &json!("session_full")));
    assert!(problem["detail"].as_str().unwrap().contains("16000 tool calls"), "{problem}");
    // Sending again what is there is no more; nor is a message without calls.
    for (ids, status) in [(0..250, 200), (250..251, 422), (0..250, 200)] {
        assert_eq!(anna.post(MESSAGES, &messages(ids)).await.status(), status);
    }
    add(&anna, "chat", json!([said("2", "user", "two"), said("x", "user", "x")])).await;
}

#[tokio::test]
async fn a_full_session_takes_no_more_and_says_so() {
    let (app, anna) = TestApp::start_for("anna").await;
    add(&anna, "chat", json!([said("1", "user", "one")])).await;
    app.sql("UPDATE sessions SET message_count = 49999").run().await;
    let two = json!({ "messages": [said("2", "user", "two"), said("3", "user", "three")] });
    assert_eq!(code(anna.post(MESSAGES, &two).await).await, "422 session_full");
    // Sending again what is there is no more.
    add(&anna, "chat", json!([said("1", "user", "one"), said("2", "user", "two")])).await;
}

#[tokio::test]
async fn without_the_scope_or_with_memory_off_nothing_is_read_or_written() {
    let (app, anna) = TestApp::start_for("anna").await;
    add(&anna, "chat", json!([said("1", "user", "one")])).await;
    let memory = [Scope::MemoryRead, Scope::MemoryWrite];
    let without = anna.with_token(&app.token(anna.id, "agent", &memory, None).await);
    let tried = async |whose: &TestUser, expected: &str| {
        let more = json!({ "messages": [said("2", "user", "two")] });
        for response in [
            whose.post(MESSAGES, &more).await,
            whose.post("/api/v1/sessions/chat/complete", &json!({})).await,
            whose.get("/api/v1/sessions/chat").await,
            whose.get(MESSAGES).await,
        ] {
            let url = response.url().clone();
            assert_eq!(code(response).await, expected, "{url}");
        }
    };
    tried(&without, "403 missing_scope").await;
    app.accounts.switch_user_memory(anna.id, false).await.unwrap();
    tried(&anna, "403 memory_off").await;
    app.accounts.switch_user_memory(anna.id, true).await.unwrap();
    assert_eq!(contents(&anna, "chat").await, ["one"]);
    let alone = app.token(anna.id, "agent", &[Scope::SessionsWrite], None).await;
    assert_eq!(contents(&anna.with_token(&alone), "chat").await, ["one"]);
}

#[tokio::test]
async fn an_operators_user_is_made_by_the_first_message_and_not_by_a_look() {
    let app = TestApp::start().await;
    let token = app.service_token("bot", &Scope::ALL).await;
    let client = reqwest::Client::new();
    let users = || app.count("users WHERE external_id = 'customer-1'");
    let ask = |request: reqwest::RequestBuilder| {
        let request = request.bearer_auth(&token).header("keepsake-user", "customer-1");
        async move { request.send().await.unwrap() }
    };
    let base = format!("{}/api/v1/sessions/chat", app.base);
    assert_eq!(problem(ask(client.get(&base)).await).await.0, 404);
    let bad = client.post(format!("{base}/messages")).json(&json!({ "messages": [] }));
    assert_eq!(problem(ask(bad).await).await.0, 422);
    assert_eq!(users().await, 0);
    let good = json!({ "messages": [said("1", "user", "one")] });
    assert_eq!(ask(client.post(format!("{base}/messages")).json(&good)).await.status(), 200);
    assert_eq!(users().await, 1);
    assert_eq!(ask(client.get(&base)).await.status(), 200);
}

#[tokio::test]
async fn a_row_of_the_ledger_is_in_one_hand_and_a_late_hand_writes_nothing() {
    let (app, anna) = TestApp::start_for("anna").await;
    add(&anna, "chat", json!([said("1", "user", "one")])).await;
    complete(&anna, "chat").await;
    add(&anna, "chat", json!([said("2", "user", "two")])).await;
    complete(&anna, "chat").await;
    let due = async || {
        let now = app.embeddings.now();
        let next = ledger::next_due(&app.db, anna.id, now).await.unwrap();
        next.filter(|(_, at)| *at <= now).map(|(due, _)| due)
    };
    let ids: Vec<i64> =
        app.sql("SELECT id FROM session_extractions ORDER BY first_position").values().await;
    let row = |id: &i64| DueExtraction { user: anna.id, extraction: ExtractionId(*id) };
    let both: Vec<_> = ids.iter().map(row).collect();
    assert_eq!(both.len(), 2);
    assert_eq!(due().await, Some(both[0]), "what was said earlier comes first");
    let claim = async |at: usize| {
        let now = app.embeddings.now();
        let mut tx = app.db.as_user(anna.id).await.unwrap();
        let claimed = ledger::claim(&mut tx, anna.id, both[at].extraction, now).await;
        tx.commit().await.unwrap();
        claimed.unwrap()
    };
    let finish =
        async |row: &SessionExtraction, outcome: ExtractionOutcome, next: Option<Duration>| {
            let now = app.embeddings.now();
            let mut tx = app.db.as_user(anna.id).await.unwrap();
            let ending = ExtractionEnd {
                outcome,
                reason: Some("the model did not answer"),
                counts: ExtractionCounts { stored: 1, ..ExtractionCounts::default() },
                is_fallback: false,
                model: Some("tiny"),
                next_try_at: next.map(|next| now + next),
                windows_read: 0,
            };
            let done = ledger::finish(&mut tx, anna.id, row, &ending, now).await.unwrap();
            tx.commit().await.unwrap();
            done
        };
    assert!(claim(1).await.is_none(), "what was said earlier is read first");
    let first = claim(0).await.expect("due");
    assert_eq!(due().await, Some(both[0]), "what was said later waits for it");
    let mut tx = app.db.as_user(anna.id).await.unwrap();
    let of_first = first.first_position..=first.last_position;
    let messages =
        ledger::messages_of(&mut tx, anna.id, first.session_id, of_first.clone(), 0).await.unwrap();
    let texts: Vec<_> = messages.iter().map(|m| (m.position, m.content.as_str())).collect();
    assert_eq!(texts, [(1, "one")]);
    let rest = ledger::messages_of(&mut tx, anna.id, first.session_id, of_first, 1).await.unwrap();
    assert!(rest.is_empty(), "what was said later is not of this row");
    drop(tx);

    // Another takes it, and the first comes too late.
    let again = claim(0).await.expect("due again");
    assert_eq!((first.attempts, again.attempts), (1, 2));
    assert!(!finish(&first, ExtractionOutcome::Stored, None).await);
    assert!(finish(&again, ExtractionOutcome::Failed, Some(Duration::hours(1))).await);
    assert!(!finish(&again, ExtractionOutcome::Stored, None).await, "twice");
    assert_eq!(due().await, Some(both[1]));
    let second = claim(1).await.expect("the first has had its turn");
    assert!(finish(&second, ExtractionOutcome::Nothing, None).await);
    app.clock.advance(Duration::hours(2));
    assert!(due().await.is_some(), "the failed one is tried again");
    let told = fields(&read(&anna, "chat").await["extraction"], ["outcome", "model"]);
    assert_eq!(told, json!(["nothing", "tiny"]));
}

/// Sends the path as it is: HTTP clients drop dots from an address, escaped ones too.
async fn raw(app: &TestApp, user: &TestUser, (method, path): (&str, &str), body: &Value) -> String {
    let host = app.base.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(host).await.unwrap();
    let body = body.to_string();
    let request = format!(
        "{method} /api/v1/sessions/{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        user.token,
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_session_is_not_named_by_dots_which_addresses_lose_and_an_old_one_can_be_reached() {
    let (app, anna) = TestApp::start_for("anna").await;
    let body = json!({ "messages": [said("1", "user", "hello")] });
    for name in [".", "..", "%2E", "%2e%2E"] {
        let refused = raw(&app, &anna, ("POST", &format!("{name}/messages")), &body).await;
        assert!(refused.starts_with("HTTP/1.1 422"), "{name}: {refused}");
        assert!(refused.contains("cannot be `.` or `..`"), "{name}: {refused}");
    }
    add(&anna, "...", body["messages"].clone()).await;
    // As an earlier version wrote it.
    app.sql("UPDATE sessions SET external_id = '..'").run().await;
    for (method, path) in [("POST", "../messages"), ("GET", ".."), ("POST", "../complete")] {
        let body = if path == "../messages" { body.clone() } else { json!({}) };
        let answer = raw(&app, &anna, (method, path), &body).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{method} {path}: {answer}");
    }
}
