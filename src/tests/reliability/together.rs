//! Adds of one user that come at once are written together, and each is answered for itself.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use keepsake::accounts::Viewer;
use keepsake::memories::{ItemType, NewItem};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::hurried;
use crate::support::{Provider, TestApp, TestUser, until};

/// One user may have 36 calls under way.
const ADDS: usize = 36;

/// Holds up whoever adds for the user, so that those who come meanwhile wait together.
async fn hold_up<'a>(
    conn: &'a mut PgConnection,
    user: &TestUser,
) -> sqlx::Transaction<'a, sqlx::Postgres> {
    let mut lock = conn.begin().await.unwrap();
    TestApp::hold_memory(&mut lock, user.id).await;
    lock
}

/// Until as many wait for the next transaction.
async fn until_queued(app: &TestApp, user: &TestUser, adds: usize) {
    until("adds wait in line", async || app.adding.queued(user.id) >= adds).await;
}

/// Holds up the first until some of the others wait in line: they are written together.
async fn added_together<T, F: Future<Output = T>>(
    app: &TestApp,
    user: &TestUser,
    mut adds: impl Iterator<Item = F>,
) -> Vec<T> {
    let mut conn = app.superuser().await;
    let lock = hold_up(&mut conn, user).await;
    let first = adds.next().unwrap();
    let others = async {
        app.until_blocked(1).await;
        join_all(adds).await
    };
    let release = async {
        until_queued(app, user, 3).await;
        lock.rollback().await.unwrap();
    };
    let (first, mut all, ()) = tokio::join!(first, others, release);
    all.insert(0, first);
    all
}

/// Of every item: its text, its events, its pending vectors, the calls that touched it.
async fn written(app: &TestApp) -> Vec<(String, i64, i64, i64)> {
    app.sql("SELECT content,
                (SELECT count(*) FROM memory_item_events e WHERE e.user_id = i.user_id AND e.item_id = i.id AND e.event = 'added'),
                (SELECT count(*) FROM memory_embeddings e WHERE e.user_id = i.user_id AND e.source_id = i.id AND e.state = 'pending'
                   AND e.passage = 0 AND e.is_turn = i.is_turn),
                (SELECT count(*) FROM activity a WHERE a.user_id = i.user_id AND i.id = ANY (a.item_ids) AND a.outcome = 'ok')
         FROM memory_items i ORDER BY i.content").rows().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adds_that_come_at_once_share_transactions_and_each_is_kept_as_it_was_sent() {
    let app = TestApp::start().await;
    let (anna, provider) = (app.user("anna").await, Provider::start().await);
    app.use_provider(&anna, &provider, "model").await;
    for theme in ["a", "b"] {
        anna.add_to(theme, theme).await;
    }
    let item = |n: usize| {
        json!({ "type": (["fact", "preference"][n % 2]), "content": format!("Number {n:02}."),
                "theme": (["a", "b", "new"][n % 3]), "tags": (0..n % 4).map(|t| format!("{n} {t}, \"{{")).collect::<Vec<_>>(),
                "source": (["web", "tool_call"][n % 2]), "source_context": (if n.is_multiple_of(5) { json!(format!("said {n}")) } else { Value::Null }),
                "expires_in_days": (if n.is_multiple_of(7) { json!(n + 1) } else { Value::Null }) })
    };
    let adds = (0..ADDS).map(|n| anna.call("memory_add", item(n)));
    let answers = added_together(&app, &anna, adds).await;

    for (n, answer) in answers.iter().enumerate() {
        let found = anna.call("memory_get", json!({ "item_id": answer["id"] })).await;
        let sent = item(n);
        for field in ["type", "content", "theme", "tags", "source_context"] {
            assert_eq!(found[field], sent[field], "{field} of {n}");
        }
        // By its source: a page, a tool.
        assert_eq!(found["confidence"], [50, 95][n % 2]);
        assert_eq!(found["expires_at"].is_null(), n % 7 != 0, "{found}");
        assert_eq!(answer["duplicate"], false);
        assert_eq!(answer["embedding"], "pending");
        assert_eq!(anna.find(&format!("{n:02}")).await.first(), answer["id"].as_i64().as_ref());
    }
    let written = written(&app).await;
    assert_eq!(written.len(), ADDS + 2);
    for (content, events, pending, calls) in written {
        assert_eq!((events, pending, calls), (1, 1, 1), "{content}");
    }
    // A third of them were the first of their theme, or came with those that were.
    let transactions = "SELECT count(DISTINCT xmin::text) FROM memory_items";
    let transactions: i64 = app.sql(transactions).value().await;
    assert!(transactions < ADDS as i64, "{transactions}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_database_refuses_of_one_does_not_touch_those_beside_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("first").await;
    app.refuse_unless("memory_items", "content <> 'poison'").await;
    let texts: Vec<String> = (0..ADDS)
        .map(|n| match n % 20 {
            7 => "poison".to_owned(),
            8 => "the same".to_owned(),
            9 => "first".to_owned(),
            _ => format!("good {n:02}"),
        })
        .collect();
    let agent = &anna;
    let send = |text| async move {
        let input = json!({ "type": "fact", "content": text });
        let response = agent.send("memory_add", &input).await;
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let answers = added_together(&app, &anna, texts.iter().map(send)).await;

    let mut new_ids = BTreeSet::new();
    for (text, (status, answer)) in texts.iter().zip(&answers) {
        match text.as_str() {
            "poison" => assert_eq!(*status, 503),
            "first" => assert_eq!((*status, &answer["duplicate"]), (200, &json!(true))),
            "the same" => assert_eq!(*status, 200),
            _ => {
                assert_eq!((*status, &answer["duplicate"]), (200, &json!(false)));
                assert!(new_ids.insert(answer["id"].as_i64().unwrap()));
            }
        }
    }
    let same = texts.iter().zip(&answers).filter(|(text, _)| *text == "the same");
    let is_new = |(_, (_, answer)): &(_, &(u16, Value))| answer["duplicate"] == false;
    assert_eq!(same.filter(is_new).count(), 1, "one of them made it");
    let written = written(&app).await;
    assert_eq!(written.len(), new_ids.len() + 2);
    for (content, events, _, calls) in written {
        let asked = texts.iter().filter(|text| **text == content).count() as i64;
        let before = i64::from(content == "first");
        assert_eq!((events, calls), (1, asked + before), "{content}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_statement_runs_into_its_timeout_all_are_refused_and_nothing_is_written() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("first").await;
    let hurried = hurried(&app, Duration::from_millis(500)).await;
    let at_hurried = anna.at(&hurried);
    let mut conn = app.superuser().await;
    let lock = hold_up(&mut conn, &anna).await;
    let texts: Vec<String> = (0..6).map(|n| format!("number {n}")).collect();
    let send = async |text: &String| {
        let input = json!({ "type": "fact", "content": text });
        at_hurried.send("memory_add", &input).await.status()
    };
    let statuses = join_all(texts.iter().map(send)).await;
    assert!(statuses.iter().all(|status| *status == 503), "{statuses:?}");
    lock.rollback().await.unwrap();
    assert_eq!(written(&app).await.len(), 1);
    let added = anna.add("after").await;
    assert_eq!(anna.find("after").await, [added]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_gives_up_while_waiting_takes_nobody_with_them() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("first").await;
    let viewer = Viewer::person(anna.id);
    let mut conn = app.superuser().await;
    let lock = hold_up(&mut conn, &anna).await;
    let add = |n: usize| {
        let (adding, activity, viewer) = (app.adding.clone(), app.activity.clone(), viewer.clone());
        tokio::spawn(async move {
            let text = format!("number {n}");
            let item = NewItem::parse(ItemType::Fact, &text, None, &[]).unwrap();
            let call = activity.begin(&viewer, "memory_add");
            adding.add(&call, &item).await.map(|added| added.duplicate)
        })
    };
    // The first is in a transaction already, the others wait for its end.
    let mut adds = Vec::new();
    for n in 0..6 {
        adds.push(add(n));
        app.until_blocked(1).await;
        until_queued(&app, &anna, n).await;
    }
    for n in [0, 3] {
        adds[n].abort();
    }
    until("both are given up", async || adds[0].is_finished() && adds[3].is_finished()).await;
    lock.rollback().await.unwrap();
    for (n, added) in adds.into_iter().enumerate() {
        match added.await {
            Ok(added) => assert!(!added.unwrap()),
            Err(error) => assert!(error.is_cancelled() && [0, 3].contains(&n)),
        }
    }
    app.activity.flush().await.unwrap();
    let texts: Vec<String> = written(&app).await.into_iter().map(|row| row.0).collect();
    assert_eq!(texts, ["first", "number 1", "number 2", "number 4", "number 5"]);
    let calls: Vec<(String, i64)> =
        app.sql("SELECT outcome, count(*) FROM activity GROUP BY 1 ORDER BY 1").rows().await;
    assert_eq!(calls, [("cancelled".to_owned(), 2), ("ok".to_owned(), 5)]);
}
