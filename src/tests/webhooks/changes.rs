//! `GET /api/v1/changes`: everything once and in order, and nothing of what the caller does not see.

use keepsake::accounts::Scope;
use serde_json::{Value, json};
use time::Duration;
use time::format_description::well_known::Rfc3339;

use crate::scopes::agent;
use crate::support::{TestApp, TestUser, problem};

async fn changes(user: &TestUser, query: &str) -> Value {
    let response = user.get(&format!("/api/v1/changes?{query}")).await;
    let status = response.status();
    let body: Value = response.json().await.unwrap();
    assert_eq!(status, 200, "{query}: {body}");
    body
}

fn events(answer: &Value) -> Vec<(String, i64)> {
    let events = answer["events"].as_array().unwrap().iter();
    let of = |event: &Value| {
        let kind = event["type"].as_str().unwrap().to_owned();
        (kind, event["item"]["id"].as_i64().unwrap_or(0))
    };
    events.map(of).collect()
}

/// All that there is after this, in pages of so many.
async fn follow(user: &TestUser, mut since: String, limit: usize) -> (Vec<Value>, String) {
    let mut all = Vec::new();
    loop {
        let page = changes(user, &format!("limit={limit}{since}")).await;
        all.extend(page["events"].as_array().unwrap().clone());
        since = format!("&since={}", page["next"].as_str().unwrap());
        if page["more"] == false {
            return (all, since);
        }
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_poller_sees_what_many_writers_do_once_and_in_order() {
    const WRITERS: usize = 6;
    const EACH: usize = 12;
    let (_, anna, ben) = TestApp::with_users().await;
    let writers = (0..WRITERS).map(|writer| {
        let anna = anna.with_token(&anna.token);
        tokio::spawn(async move {
            let mut stored = Vec::new();
            for n in 0..EACH {
                let id = anna.add(&format!("writer{writer} thing{n}")).await;
                // More within a minute would wait for the person.
                if n % 4 == 0 {
                    anna.call("memory_archive", json!({ "item_id": id })).await;
                }
                stored.push(id);
            }
            stored
        })
    });
    let writers: Vec<_> = writers.collect();
    // A neighbour, whose ids come from the same sequence.
    let neighbour = tokio::spawn(async move {
        for n in 0..30 {
            ben.add(&format!("ben thing{n}")).await;
        }
    });
    let mut seen = Vec::new();
    let mut since = String::new();
    while !writers.iter().all(|writer| writer.is_finished()) {
        let (new, next) = follow(&anna, since, 3).await;
        seen.extend(new);
        since = next;
    }
    neighbour.await.unwrap();
    seen.extend(follow(&anna, since, 3).await.0);
    let mut stored = Vec::new();
    for writer in writers {
        stored.extend(writer.await.unwrap());
    }
    let number = |event: &Value| {
        let id = event["id"].as_str().unwrap().strip_prefix("evt_").unwrap();
        id.parse::<i64>().unwrap()
    };
    let ids: Vec<i64> = seen.iter().map(number).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    let of_type = |kind: &str| {
        let found = seen.iter().filter(|event| event["type"] == kind);
        let mut items: Vec<i64> =
            found.map(|event| event["item"]["id"].as_i64().unwrap()).collect();
        items.sort_unstable();
        items
    };
    stored.sort_unstable();
    assert_eq!(of_type("memory.stored"), stored);
    assert_eq!(of_type("memory.archived").len(), WRITERS * EACH.div_ceil(4));
    // From the beginning again, it is the same.
    let (again, _) = follow(&anna, String::new(), 500).await;
    assert_eq!(again.iter().map(number).collect::<Vec<_>>(), ids);
}

#[tokio::test]
async fn each_kind_of_change_is_told_without_content() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let start = changes(&anna, "since=now").await;
    assert_eq!((events(&start), &start["more"]), (vec![], &json!(false)));
    let tea = anna.add_to("drinks", "Anna drinks tea.").await;
    let coffee = json!({ "item_id": tea, "content": "Anna drinks coffee." });
    let coffee = anna.call("memory_correct", coffee).await["id"].as_i64().unwrap();
    anna.call("memory_confirm", json!({ "item_id": coffee })).await;
    let bees = anna.add("Anna keeps bees.").await;
    anna.call("memory_archive", json!({ "item_id": bees })).await;
    browser.post(&format!("/memory/{bees}"), &[("action", "restore")]).await;
    let since = start["next"].as_str().unwrap();
    let told = changes(&anna, &format!("since={since}")).await;
    let expected = [
        ("memory.stored", tea),
        ("memory.stored", coffee),
        ("memory.superseded", tea),
        ("memory.changed", coffee),
        ("memory.stored", bees),
        ("memory.archived", bees),
        ("memory.restored", bees),
    ];
    let mut expected: Vec<(String, i64)> =
        expected.into_iter().map(|(kind, id)| (kind.to_owned(), id)).collect();
    let mut found = events(&told);
    // Of one correction, what comes first does not matter.
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "{told}");
    assert!(!told.to_string().contains("Anna"), "{told}");
    let mut all = told["events"].as_array().unwrap().iter();
    let superseded = all.find(|event| event["type"] == "memory.superseded").unwrap();
    let expected = json!({ "id": tea, "status": "archived", "type": "fact", "theme": "drinks", "superseded_by": coffee });
    assert_eq!(superseded["item"], expected);
    // What is erased takes its events along, and leaves that it is gone.
    app.delete_item(&browser, bees).await;
    let told = changes(&anna, &format!("since={since}&types=memory.stored,memory.erased")).await;
    let of_bees: Vec<_> = events(&told).into_iter().filter(|(_, id)| *id == bees).collect();
    assert_eq!(of_bees, [("memory.erased".to_owned(), bees)]);
    let erased = told["events"].as_array().unwrap().last().unwrap();
    assert_eq!(erased["item"], json!({ "id": bees, "status": "erased" }));
    // By the server's clock.
    let at = time::OffsetDateTime::parse(erased["at"].as_str().unwrap(), &Rfc3339);
    assert_eq!(at.unwrap(), app.embeddings.now());
}

#[tokio::test]
async fn each_change_of_an_agent_is_told_also_within_the_hour() {
    let (app, anna) = TestApp::start_for("anna").await;
    let bees = anna.add("Anna keeps bees.").await;
    app.clock.advance(Duration::days(1));
    let before = app.embeddings.now().format(&Rfc3339).unwrap();
    app.clock.advance(Duration::days(1));
    let mut since = changes(&anna, "since=now").await["next"].clone();
    let mut told = async || {
        let page = changes(&anna, &format!("since={}", since.as_str().unwrap())).await;
        since = page["next"].clone();
        events(&page)
    };
    let changed = [("memory.changed".to_owned(), bees)];
    for year in ["2019", "2020", "2021"] {
        let fix = json!({ "item_id": bees, "content": "Anna keeps bees.", "tags": [year], "valid_from": year });
        anna.call("memory_correct", fix).await;
        assert_eq!(told().await, changed, "{year}");
        app.clock.advance(Duration::minutes(20));
    }
    // Said again, nothing is another.
    for expected in [&changed[..], &[]] {
        anna.call("memory_confirm", json!({ "item_id": bees })).await;
        assert_eq!(told().await, expected);
    }
    // The state before them is kept once an hour.
    let states: Vec<bool> = app.sql("SELECT was_protected IS NOT NULL FROM memory_item_events WHERE item_id = $1 AND event = 'changed' ORDER BY id").bind(bees).values().await;
    assert_eq!(states, [true, false, false]);
    let past = anna.call("memory_get", json!({ "item_id": bees, "as_of": before })).await;
    let past = ["tags", "valid_from", "protected"].map(|field| past[field].clone());
    assert_eq!(past, [json!([]), Value::Null, json!(false)]);
}

#[tokio::test]
async fn what_an_agent_only_renews_is_told_once_an_hour() {
    let (app, anna) = TestApp::start_for("anna").await;
    let bees = |days: u8| json!({ "type": "fact", "content": "Anna keeps bees.", "expires_in_days": days });
    let id = anna.call("memory_add", bees(7)).await["id"].clone();
    let mut since = changes(&anna, "since=now").await["next"].clone();
    let mut told = async |days: u8| {
        app.clock.advance(Duration::minutes(5));
        anna.call("memory_add", bees(days)).await;
        let page = changes(&anna, &format!("since={}", since.as_str().unwrap())).await;
        since = page["next"].clone();
        events(&page)
    };
    let changed = [("memory.changed".to_owned(), id.as_i64().unwrap())];
    for n in 0..=12 {
        let expected = if n % 12 == 0 { &changed[..] } else { &[] };
        assert_eq!(told(7).await, expected, "{n}");
    }
    // Another expiry is no renewal.
    assert_eq!(told(30).await, changed);
    assert_eq!(told(30).await, []);
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_imported_memory_is_stored_once_whatever_it_went_through_elsewhere() {
    let (app, anna, ben) = TestApp::with_users().await;
    let tea = anna.add("Anna drinks tea.").await;
    anna.call("memory_correct", json!({ "item_id": tea, "content": "Anna drinks coffee." })).await;
    let (_, export) = app.signed_in(&anna).await.get("/data/export").await;
    crate::data::erasure::upload(&app.signed_in(&ben).await, export).await;
    let told = events(&changes(&ben, "").await);
    let kinds: Vec<&str> = told.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["memory.stored", "memory.stored"], "{told:?}");
}

#[tokio::test]
async fn an_agent_is_told_of_what_it_sees_and_of_nothing_else() {
    let (app, shared) = TestApp::start_for("anna").await;
    let first = agent(&app, &shared, "first", "own_first").await;
    let only = agent(&app, &shared, "only", "own_only").await;
    let ben = app.user("ben").await;
    let of_shared = shared.add("The boat is red.").await;
    let of_first = first.add("The trip is in May.").await;
    let of_only = only.add("The key is under the mat.").await;
    let sees = || {
        let of_agents = [(&first, vec![of_shared, of_first]), (&only, vec![of_only])];
        of_agents.into_iter().chain([(&shared, vec![of_shared]), (&ben, vec![])])
    };
    let told = async |user: &TestUser, query: &str| {
        let told = changes(user, query).await;
        events(&told).into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    for (user, sees) in sees() {
        assert_eq!(told(user, "types=memory.stored").await, sees);
    }
    // A cursor is its user's alone.
    let annas = changes(&shared, "since=now").await;
    let path = format!("/api/v1/changes?since={}", annas["next"].as_str().unwrap());
    assert_eq!(ben.get(&path).await.status(), 422);
    // Nor do they learn that what they did not see is gone.
    let browser = app.signed_in(&shared).await;
    for id in [of_shared, of_first, of_only] {
        app.delete_item(&browser, id).await;
    }
    for (user, sees) in sees() {
        assert_eq!(told(user, "").await, sees, "gone");
    }
    // Jobs and dreams are their person's.
    let of_jobs = "INSERT INTO feed_events (user_id, id, event, at, job, dream_id) VALUES
             ($1, nextval('memory_item_events_id_seq'), 'job_failed', now(), 'extract', NULL),
             ($1, nextval('memory_item_events_id_seq'), 'dream_proposed', now(), NULL, 1)";
    app.sql(of_jobs).bind(shared.id.0).run().await;
    for user in [&shared, &first, &only] {
        assert_eq!(told(user, "types=job.failed,dream.proposed").await, [0; 0]);
    }
}

#[tokio::test]
async fn what_cannot_be_answered_is_refused_in_one_sentence() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("Anna rows.").await;
    let start = changes(&anna, "").await;
    let cursor = start["next"].as_str().unwrap();
    let long = "A".repeat(4_000);
    for (query, code) in [
        ("limit=0", "out_of_range"),
        ("limit=501", "out_of_range"),
        ("limit=-1", "out_of_range"),
        ("limit=many", "out_of_range"),
        ("limit=1&limit=2", "out_of_range"),
        ("types=", "unknown_event"),
        ("types=memory.read", "unknown_event"),
        ("types=memory.stored,", "unknown_event"),
        ("since=", "invalid_cursor"),
        ("since=812", "invalid_cursor"),
        ("since=%00", "invalid_cursor"),
        (&format!("since={long}"), "invalid_cursor"),
        (&format!("since={cursor}A"), "invalid_cursor"),
    ] {
        let answer = anna.get(&format!("/api/v1/changes?{query}")).await;
        let (status, body) = problem(answer).await;
        assert_eq!((status, &body["code"]), (422, &json!(code)), "{query:.60}");
        assert_eq!(body["field"], query.split('=').next().unwrap(), "{body}");
    }
    let writer = app.token(anna.id, "writer", &[Scope::MemoryWrite], None).await;
    let answer = anna.with_token(&writer).get("/api/v1/changes").await;
    assert_eq!(problem(answer).await.0, 403);
    app.clock.advance(Duration::days(30));
    changes(&anna, &format!("since={cursor}")).await;
    app.clock.advance(Duration::seconds(1));
    let answer = anna.get(&format!("/api/v1/changes?since={cursor}")).await;
    let (status, body) = problem(answer).await;
    assert_eq!((status, &body["code"]), (410, &json!("cursor_expired")));
}

#[tokio::test]
async fn events_that_are_no_memorys_go_after_a_month() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let kept = anna.add("Anna rows.").await;
    let gone = anna.add("Anna bakes.").await;
    app.delete_item(&browser, gone).await;
    app.clock.advance(Duration::days(30));
    app.run_job("cleanup").await;
    assert_eq!(events(&changes(&anna, "").await).len(), 2);
    app.clock.advance(Duration::days(2));
    app.run_job("cleanup").await;
    assert_eq!(events(&changes(&anna, "").await), [("memory.stored".to_owned(), kept)]);
}
