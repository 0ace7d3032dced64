//! Every call is recorded once, with the items it was about and nothing of
//! their words; writes in their own transaction, the rest a moment later.

use keepsake::accounts::Scope;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::two_users;
use crate::server::{Home, Server, call as call_server, is_ready};
use crate::support::{Sql as _, TestApp, TestUser, database_url, server_options, until};

/// Tool, outcome, items and the words kept, in the order of their coming.
type Recorded = (String, String, Vec<i64>, Option<String>);

/// What stands in the database right now, whatever waits.
async fn written(app: &TestApp, user: &TestUser) -> Vec<Recorded> {
    app.sql(
        "SELECT tool, outcome, item_ids, query FROM activity WHERE user_id = $1 ORDER BY at, id",
    )
    .bind(user.id.0)
    .rows()
    .await
}

async fn recorded(app: &TestApp, user: &TestUser) -> Vec<Recorded> {
    app.activity.flush().await.unwrap();
    written(app, user).await
}

fn call(tool: &str, outcome: &str, items: &[i64]) -> Recorded {
    (tool.to_owned(), outcome.to_owned(), items.to_vec(), None)
}

#[tokio::test]
async fn every_tool_and_every_outcome_is_recorded_once_with_its_items() {
    let (app, anna) = TestApp::start_for("anna").await;
    let tick = || app.clock.advance(time::Duration::seconds(1));
    let tea = anna.add("green tea").await;
    tick();
    let coffee = anna.add("black coffee, green beans").await;
    tick();
    assert_eq!(anna.add("green tea").await, tea, "a duplicate");
    tick();
    let found = anna.find("green").await;
    assert_eq!(found.len(), 2);
    tick();
    let mut expected = vec![
        call("memory_add", "ok", &[tea]),
        call("memory_add", "ok", &[coffee]),
        call("memory_add", "ok", &[tea]),
        call("memory_search", "ok", &found),
    ];
    for (tool, input, item) in [
        ("memory_get", json!({ "item_id": coffee }), Some(coffee)),
        ("memory_archive", json!({ "item_id": coffee }), Some(coffee)),
        ("memory_list_themes", json!({}), None),
        ("memory_search", json!({ "query": "zeppelin" }), None),
    ] {
        anna.call(tool, input).await;
        expected.push(call(tool, "ok", item.as_slice()));
        tick();
    }
    let refusals = [
        ("memory_get", json!({ "item_id": coffee + 1_000 }), "not_found"),
        ("memory_archive", json!({ "item_id": 0 }), "not_found"),
        ("memory_add", json!({ "type": "fact" }), "required"),
        ("memory_search", json!({ "query": "x", "limit": "many" }), "invalid_type"),
        ("memory_list_themes", json!({ "limit": "x" }), "invalid_type"),
        ("memory_search", json!([]), "invalid_json"),
    ];
    for (tool, input, code) in refusals {
        let (_, problem) = anna.refused(tool, input).await;
        assert_eq!(problem["code"], code);
        expected.push(call(tool, code, &[]));
        tick();
    }
    let (_, problem) = anna.refused("memory_dream-of-tea", json!({})).await;
    assert_eq!(problem["code"], "unknown_tool");
    expected.push(call("unknown", "unknown_tool", &[]));
    assert_eq!(recorded(&app, &anna).await, expected);
    assert_eq!(recorded(&app, &anna).await, expected, "nothing is written twice");
}

#[tokio::test]
async fn a_call_says_which_agent_made_it_when_and_how_long_it_took() {
    let app = TestApp::start().await;
    let mut anna = app.user("anna").await;
    anna.token = app.token(anna.id, "reader", &[Scope::MemoryRead], None).await;
    let (status, _) = anna.refused("memory_add", json!({ "type": "fact", "content": "x" })).await;
    assert_eq!(status, 403);
    app.activity.flush().await.unwrap();
    let of_all = "SELECT c.at, a.name, c.outcome, c.duration_us FROM activity c
                  JOIN agents a ON a.user_id = c.user_id AND a.id = c.agent_id";
    let (at, agent, outcome, took): (time::OffsetDateTime, String, String, i32) =
        app.sql(of_all).row().await;
    assert_eq!((agent.as_str(), outcome.as_str()), ("reader", "missing_scope"));
    assert_eq!(at, keepsake::clock::Clock::now(&*app.clock));
    assert!((1..5_000_000).contains(&took), "{took}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn writes_are_recorded_with_what_they_change_and_reads_a_moment_later() {
    let (app, anna) = TestApp::with_user().await;
    let id = anna.add("green tea").await;
    anna.find("tea").await;
    anna.call("memory_archive", json!({ "item_id": id })).await;
    let writes = [call("memory_add", "ok", &[id]), call("memory_archive", "ok", &[id])];
    assert_eq!(written(app, &anna).await, writes, "nobody has flushed");
    let writer = tokio::spawn(app.activity.clone().keep_writing());
    until("the read is recorded", async || written(app, &anna).await.len() == 3).await;
    writer.abort();
}

#[tokio::test]
async fn a_change_and_its_record_are_committed_together_or_not_at_all() {
    let (app, anna) = TestApp::start_for("anna").await;
    let old = anna.add("old").await;
    let before = written(&app, &anna).await;
    let counts = || async {
        app.sql("SELECT count(*), count(*) FILTER (WHERE status = 'archived') FROM memory_items")
            .row::<(i64, i64)>()
            .await
    };
    // The record fails; then everything went well but the commit: there is no such session.
    let no_session = "FOREIGN KEY (user_id, item_id) REFERENCES sessions (user_id, id)
                      DEFERRABLE INITIALLY DEFERRED NOT VALID";
    for (table, refuse) in
        [("activity", "CHECK (false) NOT VALID"), ("memory_item_events", no_session)]
    {
        let refuse = format!("ALTER TABLE {table} ADD CONSTRAINT refuse {refuse}");
        app.sql(refuse).run_all().await;
        let new = json!({ "type": "fact", "content": "new" });
        for (tool, input) in [("memory_add", new), ("memory_archive", json!({ "item_id": old }))] {
            assert_eq!(anna.refused(tool, input).await.0, 503, "{tool}");
        }
        app.refuse_no_more(table).await;
        assert_eq!(counts().await, (1, 0));
        assert_eq!(recorded(&app, &anna).await, before);
    }
}

#[tokio::test]
async fn nobody_sees_anothers_calls() {
    let (app, anna, ben) = two_users().await;
    let id = anna.add("mine").await;
    let (_, _) = ben.refused("memory_get", json!({ "item_id": id })).await;
    app.activity.flush().await.unwrap();
    // No filter by user: row security alone decides.
    let mut as_ben = app.db.as_user(ben.id).await.unwrap();
    let seen: Vec<(i64, String, Vec<i64>)> =
        as_ben.sql("SELECT user_id, outcome, item_ids FROM activity").rows().await;
    assert_eq!(seen, [(ben.id.0, "not_found".to_owned(), vec![])]);
    let plant = "INSERT INTO activity (user_id, at, tool, outcome, duration_us, item_ids)
                 VALUES ($1, '2026-01-01', 'memory_get', 'ok', 1, '{}')";
    let refused = sqlx::query(plant).bind(anna.id.0).execute(&mut *as_ben).await;
    assert!(refused.unwrap_err().to_string().contains("row-level security"));
}

const CANARY: &str = "canary-7d1f";

/// Every row, every column, as text.
async fn all_columns(app: &TestApp) -> String {
    app.sql("SELECT coalesce(string_agg(a::text, E'\\n'), '') FROM activity a").value().await
}

async fn call_with_canaries(user: &TestUser) {
    let id = user.add_to(CANARY, &format!("content {CANARY}")).await;
    user.find(CANARY).await;
    user.call("memory_search", json!({ "query": "x", "theme": CANARY })).await;
    user.call("memory_get", json!({ "item_id": id })).await;
    user.refused("memory_search", json!({ "query": CANARY, "limit": 0 })).await;
    user.refused("memory_search", json!({ "query": CANARY, "limit": 0, CANARY: 0 })).await;
    user.refused(CANARY, json!({})).await;
    user.refused("memory_add", json!({ "type": CANARY, "content": CANARY })).await;
    user.call("memory_archive", json!({ "item_id": id })).await;
}

#[tokio::test]
async fn no_word_is_recorded_but_of_searches_while_their_user_wants_that_and_can_be_forgotten() {
    let (app, anna, ben) = two_users().await;
    call_with_canaries(&ben).await;
    assert_eq!(recorded(&app, &ben).await.len(), 9);
    assert!(!all_columns(&app).await.contains(CANARY), "nobody has asked for that");
    let words = |calls: Vec<Recorded>| calls.into_iter().filter_map(|c| c.3).collect::<Vec<_>>();
    app.activity.keep_queries(anna.id, true).await.unwrap();
    call_with_canaries(&anna).await;
    anna.find(&format!("ä{}", "x".repeat(1_999))).await;
    call_with_canaries(&ben).await;
    let cut = format!("ä{}", "x".repeat(499));
    let kept = words(recorded(&app, &anna).await);
    assert_eq!(kept, [CANARY, "x", &cut], "of searches that went well, their first 500 characters");
    assert!(words(recorded(&app, &ben).await).is_empty());
    // What was asked before and not yet written is not kept either.
    anna.find("in the last moment").await;
    app.activity.keep_queries(anna.id, false).await.unwrap();
    anna.find("afterwards").await;
    assert_eq!(words(recorded(&app, &anna).await), kept);
    // Words that nobody wants do not even wait in memory.
    anna.find("before").await;
    app.activity.keep_queries(anna.id, true).await.unwrap();
    assert_eq!(words(recorded(&app, &anna).await), kept);
    let calls = recorded(&app, &anna).await.len();
    assert_eq!(app.activity.forget_queries(ben.id).await.unwrap(), 0);
    assert_eq!(app.activity.forget_queries(anna.id).await.unwrap(), 3);
    assert_eq!(recorded(&app, &anna).await.len(), calls, "the calls stay");
    assert!(!all_columns(&app).await.contains(CANARY));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_search_of_fifty_names_its_fifty_items() {
    let (app, anna) = TestApp::with_user().await;
    for n in 0..52 {
        anna.add(&format!("entry {n}")).await;
    }
    anna.call("memory_search", json!({ "query": "*", "limit": 50 })).await;
    assert_eq!(recorded(app, &anna).await.last().unwrap().2.len(), 50);
}

/// Ends every connection to this database and runs a statement about it.
async fn alter_database(is_called: &str, statement: String) {
    let mut conn = PgConnection::connect_with(&server_options()).await.unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
    conn.sql(format!("{end} = '{is_called}'")).run_all().await;
    conn.sql(statement).run_all().await;
}

#[tokio::test]
async fn while_the_database_is_away_calls_wait_and_are_recorded_when_it_is_back() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.find("before").await;
    let name = app.options.get_database().unwrap();
    let away = format!("{name}_away");
    alter_database(name, format!("ALTER DATABASE {name} RENAME TO {away}")).await;
    assert!(app.activity.flush().await.is_err());
    assert!(app.activity.flush().await.is_err());
    alter_database(&away, format!("ALTER DATABASE {away} RENAME TO {name}")).await;
    assert_eq!(recorded(&app, &anna).await, [call("memory_search", "ok", &[])]);
}

#[tokio::test]
async fn while_the_database_reads_only_calls_wait() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.find("before").await;
    let name = app.options.get_database().unwrap();
    let setting = "default_transaction_read_only";
    alter_database(name, format!("ALTER DATABASE {name} SET {setting} = on")).await;
    // First it notices that its connections were ended.
    loop {
        let error = app.activity.flush().await.unwrap_err();
        let code = error.as_database_error().and_then(|e| e.code());
        if code.as_deref() == Some("25006") {
            break;
        }
    }
    alter_database(name, format!("ALTER DATABASE {name} RESET {setting}")).await;
    while app.activity.flush().await.is_err() {}
    assert_eq!(recorded(&app, &anna).await, [call("memory_search", "ok", &[])]);
}

#[tokio::test]
async fn a_call_that_is_refused_for_good_costs_no_other_of_its_user() {
    let (app, anna) = TestApp::start_for("anna").await;
    let other = app.token(anna.id, "other", &Scope::ALL, None).await;
    anna.find("before").await;
    anna.with_token(&other).call("memory_list_themes", json!({})).await;
    anna.find("after").await;
    for table in ["agent_tokens WHERE agent_id =", "agents WHERE id ="] {
        let delete = format!("DELETE FROM {table} (SELECT id FROM agents WHERE name = 'other')");
        app.sql(delete).run_all().await;
    }
    let search = call("memory_search", "ok", &[]);
    assert_eq!(recorded(&app, &anna).await, [search.clone(), search]);
}

#[tokio::test]
async fn who_asks_for_a_flush_and_goes_away_loses_no_call() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.find("x").await;
    let mut conn = app.superuser().await;
    let mut lock = conn.begin().await.unwrap();
    lock.sql("LOCK TABLE activity IN ACCESS EXCLUSIVE MODE").run_all().await;
    let activity = app.activity.clone();
    let asked = tokio::spawn(async move { activity.flush().await });
    app.until_blocked(1).await;
    asked.abort();
    lock.rollback().await.unwrap();
    assert_eq!(recorded(&app, &anna).await, [call("memory_search", "ok", &[])]);
}

#[tokio::test]
async fn a_call_whose_client_hangs_up_is_recorded_as_cancelled() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut conn = app.superuser().await;
    let mut lock = conn.begin().await.unwrap();
    lock.sql("LOCK TABLE memory_items IN ACCESS EXCLUSIVE MODE").run_all().await;
    let calls = [
        ("memory_search", json!({ "query": "x" })),
        ("memory_add", json!({ "type": "fact", "content": "x" })),
    ];
    let mut expected = Vec::new();
    for (tool, input) in calls {
        tokio::select! {
            answer = anna.call(tool, input) => panic!("it waits for the lock: {answer}"),
            () = app.until_blocked(1) => {}
        }
        expected.push(call(tool, "cancelled", &[]));
        until("it is recorded", async || recorded(&app, &anna).await == expected).await;
        app.until_blocked(0).await;
        app.clock.advance(time::Duration::seconds(1));
    }
    lock.rollback().await.unwrap();
    assert!(anna.find("x").await.is_empty(), "nor was anything added");
}

#[tokio::test]
async fn a_read_that_the_database_refused_is_recorded_and_a_write_is_not() {
    let (app, anna) = TestApp::start_for("anna").await;
    app.sql("ALTER TABLE memory_items RENAME TO gone").run_all().await;
    for (tool, input) in [
        ("memory_get", json!({ "item_id": 1 })),
        ("memory_add", json!({ "type": "fact", "content": "x" })),
        ("memory_archive", json!({ "item_id": 1 })),
    ] {
        assert_eq!(anna.refused(tool, input).await.0, 503, "{tool}");
    }
    assert_eq!(recorded(&app, &anna).await, [call("memory_get", "database_unavailable", &[])]);
}

#[tokio::test]
async fn what_is_old_or_too_much_is_removed_and_nothing_else() {
    let (app, anna, ben) = two_users().await;
    let fill = "INSERT INTO activity (user_id, at, tool, outcome, duration_us, item_ids)
                SELECT $1, now() - make_interval(secs => n), 'memory_search', 'ok', 1, '{}'
                FROM generate_series(1, $2) n";
    // More are too many than one step removes.
    for (user, rows) in [(&anna, 112_003), (&ben, 10)] {
        app.sql(fill).bind(user.id.0).bind(rows).run().await;
    }
    for days in [89, 91] {
        let old = "INSERT INTO activity (user_id, at, tool, outcome, duration_us, item_ids)
                   VALUES ($1, now() - make_interval(days => $2), 'memory_get', 'ok', 1, '{}')";
        app.sql(old).bind(ben.id.0).bind(days).run().await;
    }
    // The last of more users than one step looks at.
    let many = "INSERT INTO users (email, password_hash, role, created_at, updated_at)
                SELECT n || '@example.com', 'x', 'member', now(), now() FROM generate_series(1, 250) n";
    app.sql(many).run_all().await;
    let last = "INSERT INTO activity (user_id, at, tool, outcome, duration_us, item_ids)
                SELECT max(id), now() - interval '91 days', 'memory_get', 'ok', 1, '{}' FROM users";
    app.sql(last).run_all().await;
    let mut other = app.superuser().await;
    let mut lock = other.begin().await.unwrap();
    let taken = "SELECT pg_advisory_xact_lock(hashtextextended('keepsake prune_activity', 0))";
    lock.sql(taken).run_all().await;
    assert_eq!(app.activity.prune().await.unwrap(), 0, "another server is at it");
    lock.rollback().await.unwrap();
    assert_eq!(app.activity.prune().await.unwrap(), 12_003 + 1 + 1);
    assert_eq!(app.activity.prune().await.unwrap(), 0);
    let left: Vec<(i64, i64, bool)> = app.sql("SELECT user_id, count(*), min(at) < now() - interval '88 days' FROM activity GROUP BY 1 ORDER BY 1").rows().await;
    assert_eq!(left, [(anna.id.0, 100_000, false), (ben.id.0, 11, true)]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_call_of_a_user_who_is_gone_keeps_nobody_elses_from_being_recorded() {
    let (app, anna, ben) = TestApp::with_users().await;
    anna.find("x").await;
    ben.find("y").await;
    app.sql("DELETE FROM users WHERE id = $1").bind(anna.id.0).run().await;
    assert_eq!(recorded(app, &ben).await, [call("memory_search", "ok", &[])]);
}

#[tokio::test]
async fn what_waits_is_recorded_before_a_server_that_is_told_to_stop_ends() {
    let (app, anna) = TestApp::start_for("anna").await;
    let home = Home::new();
    let mut serve = home.command(&["serve"]);
    let server = Server::spawn(serve.env("KEEPSAKE_DATABASE_URL", database_url(&app.options)));
    until("it is ready", async || is_ready(&home).await == Some(true)).await;
    for _ in 0..3 {
        let input = json!({ "query": "tea" });
        assert_eq!(call_server(&home, &anna.token, "memory_search", input).await.0, 200);
    }
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(written(&app, &anna).await.len(), 3);
}
