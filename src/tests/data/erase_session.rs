use keepsake::erasure::ErasureKind;
use keepsake::sessions::turns;
use serde_json::json;

use super::erasure::{find_everywhere, fingerprint, receipt_of};
use super::hand_over;
use crate::chat::use_server;
use crate::pages::assert_has;
use crate::support::Sql as _;
use crate::support::{Browser, ChatServer, DueNow, TestApp, TestUser, said, turns_due};

/// What was said, as every part of the session holds it; and what was remembered of it.
const SAID: &str = "kanarienvogel4711";
const KEPT: &str = "papagei0815";

fn traces(word: &str) -> Vec<String> {
    let hex: String = word.bytes().map(|b| format!("{b:02x}")).collect();
    vec![format!("%{word}%"), format!("%{hex}%")]
}

/// Two sessions of Anna's and one of Ben's, each read, with two memories each.
async fn scene() -> (TestApp, TestUser, TestUser, Browser) {
    let (app, anna, ben) = TestApp::start_for_two().await;
    let facts = json!({ "facts": [
        { "category": "profile", "key": "bird", "value": format!("Has a bird, {KEPT}"), "source": "user_explicit", "source_context": format!("I have a {SAID}") },
        { "category": "preferences", "key": "seed", "value": format!("Likes {KEPT} seed"), "source": "conversation", "source_context": SAID },
    ], "entities": [{ "name": SAID, "type": "product" }] });
    let other = json!({ "facts": [{ "category": "profile", "key": "boat", "value": "Rows", "source": "user_explicit", "source_context": "I row" }] });
    let model = ChatServer::answering(move |body, _| match body.to_string().contains(SAID) {
        true => said(&facts.to_string()),
        false => said(&other.to_string()),
    })
    .await;
    for user in [&anna, &ben] {
        use_server(&app, user, &model).await;
    }
    let bird = json!([
        { "id": SAID, "role": "user", "content": format!("I have a {SAID}.") },
        { "id": "2", "role": "assistant", "tool_calls": [{ "id": SAID, "name": "look", "arguments": SAID }] },
        { "id": "3", "role": "tool", "tool_call_id": SAID, "content": SAID },
    ]);
    let boat = json!([{ "id": "1", "role": "user", "content": "I row." }]);
    hand_over(&anna, SAID, &bird).await;
    hand_over(&anna, "boat", &boat).await;
    hand_over(&ben, "boat", &boat).await;
    let consolidation = &app.consolidation;
    for _ in 0..2 {
        for due in consolidation.due().await.unwrap() {
            consolidation.extract(due).await.unwrap();
        }
    }
    for due in turns_due(&app).await {
        let made = turns::make_some(&app.db, &app.embeddings, due).await;
        assert!(made.unwrap());
    }
    // A call that found the turn.
    app.activity.keep_queries(anna.id, true).await.unwrap();
    anna.find(SAID).await;
    let browser = app.signed_in(&anna).await;
    (app, anna, ben, browser)
}

async fn id_of(app: &TestApp, user: &TestUser, session: &str) -> i64 {
    let id = "SELECT id FROM sessions WHERE user_id = $1 AND external_id = $2";
    app.sql(id).bind(user.id.0).bind(session).value().await
}

async fn erase(browser: &Browser, session: i64, fields: &[(&str, &str)]) -> String {
    let response = browser.post(&format!("/sessions/{session}/erase"), fields).await;
    assert_eq!(response.status(), 303);
    response.headers()["location"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_erased_session_takes_every_word_that_was_said_and_the_memories_stay() {
    let (app, anna, ben, browser) = scene().await;
    let mut conn = app.superuser().await;
    let bens = fingerprint(&mut conn, ben.id.0).await;
    let session = id_of(&app, &anna, SAID).await;
    let said_in = find_everywhere(&mut conn, &traces(SAID)).await;
    assert!(said_in.len() >= 5 && said_in.contains(&"entity_names.name".to_owned()), "{said_in:?}");
    let page = browser.look(&format!("/sessions/{session}")).await;
    assert_has(&page, &["2 memories extracted", "3 messages and their extraction records"]);
    assert_has(&page, &["Delete permanently", "name=\"memories\""]);

    // Another such call, which its server records afterwards.
    let twin = app.twin().await;
    assert!(!anna.at(&twin).find(SAID).await.is_empty());
    let path = erase(&browser, session, &[]).await;
    twin.activity.flush().await.unwrap();
    assert_eq!(find_everywhere(&mut conn, &traces(SAID)).await, Vec::<String>::new());
    let receipt = receipt_of(&app, &path).await;
    assert_eq!(receipt.kind, ErasureKind::Session);
    let counts: Vec<String> =
        receipt.erased.iter().map(|(name, n)| format!("{n} {name}")).collect();
    let expected = ["1 episodes", "2 quotes", "1 session_extractions", "3 session_messages"];
    assert_eq!(counts, [&expected[..], &["1 sessions", "1 turns"]].concat());
    let page = browser.look(&path).await;
    assert_has(&page, &["One session", "memories that stay, without their source messages"]);
    let document = browser.look(&format!("{path}/receipt.json")).await;
    assert!(document.contains("\"erased\":\"session\""), "{document}");

    // The memories are found as before, and lead nowhere.
    let found = anna.find(KEPT).await;
    assert_eq!(found.len(), 2);
    let page = browser.look(&format!("/memory/{}", found[0])).await;
    assert!(!page.contains("View conversation"));
    assert_eq!(browser.get(&format!("/sessions/{session}")).await.0, 404);
    assert_eq!(anna.get(&format!("/api/v1/sessions/{SAID}")).await.status(), 404);
    assert_eq!(anna.get("/api/v1/sessions/boat").await.status(), 200);
    assert_eq!(fingerprint(&mut conn, ben.id.0).await, bens);
    // The list of receipts says what it was.
    assert!(browser.look("/data").await.contains("One session"));
    // The agent may use its name for another.
    hand_over(&anna, SAID, &json!([{ "id": "1", "role": "user", "content": "Hello." }])).await;
}

#[tokio::test]
async fn its_memories_go_with_it_when_the_person_says_so() {
    let (app, anna, ben, browser) = scene().await;
    let mut conn = app.superuser().await;
    let bens = fingerprint(&mut conn, ben.id.0).await;
    let session = id_of(&app, &anna, SAID).await;
    let path = erase(&browser, session, &[("memories", "1")]).await;
    for word in [SAID, KEPT] {
        assert_eq!(find_everywhere(&mut conn, &traces(word)).await, Vec::<String>::new());
    }
    let receipt = receipt_of(&app, &path).await;
    let of = |name: &str| receipt.erased.get(name).copied();
    assert_eq!(
        (of("memory_items"), of("memory_item_events"), of("memory_themes")),
        (Some(2), Some(2), Some(1))
    );
    assert_eq!((of("sessions"), of("session_messages"), of("quotes")), (Some(1), Some(3), None));
    let items = format!("memory_items WHERE user_id = {} AND NOT is_turn", anna.id.0);
    assert_eq!(app.count(&items).await, 1, "of the other session");
    assert_eq!(fingerprint(&mut conn, ben.id.0).await, bens);
}

#[tokio::test]
async fn of_names_that_nothing_mentions_those_go_that_the_session_alone_told() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("The espresso machine is descaled in May.").await;
    let said = "Zéppelin, Anna Lund: a kite and an espresso machine, in May.";
    let message = json!([{ "id": "1", "role": "user", "content": said }]);
    hand_over(&anna, "talk", &message).await;
    let mut conn = app.superuser().await;
    conn.sql("DELETE FROM entities WHERE user_id = $1").bind(anna.id.0).run().await;
    for (name, by_person, is_filled) in [
        ("Bob", false, true),
        ("espresso machine", false, false),
        ("kite", true, true),
        ("Lund, Anna", false, false),
        ("May", false, true),
        ("Zeppelin", false, true),
        ("Zeppelin Works", false, true),
    ] {
        let made = "WITH made AS (INSERT INTO entities (user_id, name, type, by_person, created_at)
                           VALUES ($1, $2, 'other', $3, now()) RETURNING id)
             INSERT INTO entity_names (user_id, entity_id, name, normal, filled_at)
             SELECT $1, id, $2, $2, CASE WHEN $4 THEN now() END FROM made";
        let made = conn.sql(made).bind(anna.id.0).bind(name).bind(by_person).bind(is_filled);
        made.run().await;
    }
    let session = id_of(&app, &anna, "talk").await;
    // Where rules do not look, memories mention nothing.
    for (by_rules, expected) in [
        (false, &["Bob", "espresso machine", "kite", "May", "Zeppelin Works"][..]),
        (true, &["Bob", "espresso machine", "kite", "Zeppelin Works"]),
    ] {
        let mut tx = app.db.as_writer(anna.id).await.unwrap();
        let settings = "INSERT INTO entity_settings (user_id, by_rules) VALUES ($1, $2)";
        tx.sql(settings).bind(anna.id.0).bind(by_rules).run().await;
        tx.sql("SELECT erase_session($1, false, 'ers_x', now())").bind(session).run().await;
        let left = tx.sql("SELECT name FROM entities WHERE user_id = $1 ORDER BY id");
        assert_eq!(left.bind(anna.id.0).values::<String>().await, expected);
        tx.rollback().await.unwrap();
    }
}

#[tokio::test]
async fn nobody_erases_anothers_session_or_one_that_is_gone() {
    let (app, anna, ben, browser) = scene().await;
    let theirs = id_of(&app, &ben, "boat").await;
    let mut conn = app.superuser().await;
    let before = fingerprint(&mut conn, ben.id.0).await;
    let own = id_of(&app, &anna, "boat").await;
    erase(&browser, own, &[]).await;
    for session in
        [theirs.to_string(), own.to_string(), "x".to_owned(), "99999999999999999999".to_owned()]
    {
        for door in ["erase", "again"] {
            let path = format!("/sessions/{session}/{door}");
            browser.answers(404, &path, &[("first", "1"), ("memories", "1")]).await;
        }
    }
    assert_eq!(fingerprint(&mut conn, ben.id.0).await, before);
}

#[tokio::test]
async fn what_is_read_while_it_is_erased_is_not_kept() {
    let (app, anna, _, browser) = scene().await;
    let slow = ChatServer::answering(|_, _| {
        let facts = json!([{ "category": "profile", "key": "late", "value": "Comes late", "source": "conversation" }]);
        said(&facts.to_string())
    })
    .await;
    use_server(&app, &anna, &slow).await;
    hand_over(&anna, "late", &json!([{ "id": "1", "role": "user", "content": "Hello." }])).await;
    let session = id_of(&app, &anna, "late").await;
    let consolidation = app.consolidation.clone();
    let due = consolidation.due().await.unwrap()[0];
    let held = slow.hold();
    let reading = tokio::spawn(async move { consolidation.extract(due).await });
    slow.until_asked().await;
    erase(&browser, session, &[]).await;
    drop(held);
    reading.await.unwrap().unwrap();
    assert_eq!(app.count("memory_items WHERE content = 'Comes late'").await, 0);
    assert_eq!(app.count("session_extractions WHERE outcome = 'pending'").await, 0);
}
