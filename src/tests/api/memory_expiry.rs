//! What has expired leaves whatever agents find, to the microsecond of its time.

use keepsake::memories;
use serde_json::{Value, json};
use sqlx::Connection;
use time::Duration;

use super::{add, code, fields, get, two_users, with};
use crate::support::{Provider, Sql as _, TestApp, TestUser, ids};

async fn found(user: &TestUser, query: &str, status: &str) -> (Vec<i64>, Value) {
    let input = json!({ "query": query, "status": status, "limit": 50 });
    let answer = user.call("memory_search", input).await;
    (ids(&answer), answer)
}

#[tokio::test]
async fn an_item_leaves_both_arms_the_list_the_counts_and_the_guidance_at_its_time() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "m").await;
    let lasting = anna.add_to("trips", "Has a passport for travelling.").await;
    let short = json!({ "type": "fact", "content": "Is travelling through Norway.", "theme": "trips",
        "expires_in_days": 3 });
    let short = add(&anna, short).await["id"].as_i64().unwrap();
    app.confirm(&anna, lasting).await;
    app.drain(&anna).await;
    let count = async || {
        let themes = anna.call("memory_list_themes", json!({})).await;
        themes["themes"][0]["active_count"].clone()
    };
    let guidance = async || anna.get("/api/v1/prompt").await.text().await.unwrap();
    let queries = ["*", "norway", "travelling somewhere", "orwa"];
    // One microsecond before, and at it.
    app.clock.advance(Duration::days(3) - Duration::microseconds(1));
    for query in queries {
        assert!(found(&anna, query, "active").await.0.contains(&short), "{query}");
        assert!(!found(&anna, query, "archived").await.0.contains(&short), "{query}");
    }
    assert_eq!(count().await, 2);
    assert!(guidance().await.contains("trips (2)"));
    app.clock.advance(Duration::microseconds(1));
    for query in queries {
        assert!(!found(&anna, query, "active").await.0.contains(&short), "{query}");
        for status in ["archived", "any"] {
            let (with, answer) = found(&anna, query, status).await;
            assert!(with.contains(&short), "{query} {status}");
            let hits = answer["results"].as_array().unwrap();
            assert_eq!(hits.iter().find(|hit| hit["id"] == short).unwrap()["status"], "archived");
        }
    }
    // By meaning alone: no word of the query is in either.
    let (near, answer) = found(&anna, "zzz", "active").await;
    assert_eq!((near, &answer["mode"]), (vec![lasting], &json!("hybrid")));
    assert_eq!(count().await, 1);
    // The guidance may be a minute old.
    app.clock.advance(Duration::minutes(1));
    assert!(guidance().await.contains("trips (1)"));
    let item = fields(&get(&anna, short).await, ["status", "content"]);
    assert_eq!(item, json!(["archived", "Is travelling through Norway."]));
}

#[tokio::test]
async fn the_sweep_archives_what_has_expired_and_says_so_in_its_history() {
    let (app, anna, ben) = two_users().await;
    let brief = async |user: &TestUser, content: &str, days: i64| {
        let input = json!({ "type": "fact", "content": content, "expires_in_days": days });
        add(user, input).await["id"].as_i64().unwrap()
    };
    let first = brief(&anna, "One day.", 1).await;
    let longer = brief(&anna, "Two days.", 2).await;
    let bens = brief(&ben, "Ben's day.", 1).await;
    let lasting = anna.add("For ever.").await;
    let sweep = async || {
        let now = app.embeddings.now();
        let mut swept = 0;
        for user in memories::users_with_expired(&app.db, now).await.unwrap() {
            swept += memories::archive_expired(&app.db, user, now).await.unwrap();
        }
        swept
    };
    assert_eq!(sweep().await, 0);
    app.clock.advance(Duration::days(1));
    let swept = futures_util::future::join_all((0..3).map(|_| sweep())).await;
    assert_eq!(swept.into_iter().sum::<usize>(), 2);
    assert_eq!(sweep().await, 0);
    let events: Vec<(i64, String, Option<i64>)> = app.sql("SELECT item_id, event, agent_id FROM memory_item_events WHERE event <> 'added' ORDER BY item_id").rows().await;
    let expired = |id| (id, "expired".to_owned(), None);
    assert_eq!(events, [expired(first), expired(bens)]);
    let active = "SELECT id FROM memory_items WHERE user_id = $1 AND status = 'active' ORDER BY id";
    let active: Vec<i64> = app.sql(active).bind(anna.id.0).values().await;
    assert_eq!(active, [longer, lasting]);
}

/// The job has listed it, and waits for whoever restores it.
#[tokio::test]
async fn what_is_restored_while_the_sweep_waits_stays() {
    let (app, anna) = TestApp::start_for("anna").await;
    let input = json!({ "type": "fact", "content": "One day.", "expires_in_days": 1 });
    let id = add(&anna, input).await["id"].clone();
    app.clock.advance(Duration::days(1));
    let mut person = app.superuser().await;
    let mut restoring = person.begin().await.unwrap();
    TestApp::hold_memory(&mut restoring, anna.id).await;
    let (db, user, now) = (app.db.clone(), anna.id, app.embeddings.now());
    let sweep = tokio::spawn(async move { memories::archive_expired(&db, user, now).await });
    app.until_blocked(1).await;
    let restored =
        "UPDATE memory_items SET expires_at = NULL, live_until = 'infinity' WHERE id = $1";
    restoring.sql(restored).bind(id.as_i64()).run().await;
    restoring.commit().await.unwrap();
    assert_eq!(sweep.await.unwrap().unwrap(), 0);
    assert_eq!(get(&anna, &id).await["status"], "active");
}

#[tokio::test]
async fn what_has_expired_holds_neither_its_text_nor_its_key() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mood =
        json!({ "type": "fact", "content": "On call.", "key": "duty", "expires_in_days": 1 });
    let plain = json!({ "type": "fact", "content": "In Rome.", "expires_in_days": 1 });
    let first = add(&anna, mood.clone()).await;
    let rome = add(&anna, plain.clone()).await;
    anna.call("memory_confirm", json!({ "item_id": first["id"] })).await;
    app.clock.advance(Duration::days(1));
    for (input, before) in [(mood, &first), (plain, &rome)] {
        let again = add(&anna, input).await;
        assert_eq!(fields(&again, ["duplicate", "superseded"]), json!([false, null]));
        assert_ne!(again["id"], before["id"]);
    }
    for (tool, input) in [
        ("memory_confirm", json!({ "item_id": first["id"] })),
        ("memory_correct", json!({ "item_id": first["id"], "content": "Off." })),
    ] {
        assert_eq!(code(anna.send(tool, &input).await).await, "409 not_active", "{tool}");
    }
}

#[tokio::test]
async fn saying_it_again_renews_tags_expiry_and_confidence() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    let say =
        |more: Value| add(&anna, with(json!({ "type": "fact", "content": "Is in Norway." }), more));
    let first = json!({ "tags": ["travel"], "expires_in_days": 10, "confidence": 40 });
    let id = say(first).await["id"].as_i64().unwrap();
    app.drain(&anna).await;
    app.clock.advance(Duration::days(5));
    let again = json!({ "tags": ["north"], "expires_in_days": 20, "source": "user_explicit" });
    assert_eq!(fields(&say(again).await, ["id", "duplicate"]), json!([id, true]));
    let item = get(&anna, id).await;
    let told = fields(&item, ["tags", "confidence", "protected"]);
    assert_eq!(told, json!([["travel", "north"], 80, false]));
    assert!(item["last_verified_at"].is_string(), "{item}");
    // It is found by its new tag, and by meaning, past the first expiry; less sure it is never.
    assert_eq!(found(&anna, "north", "active").await.0, [id]);
    say(json!({ "source": "guess", "expires_in_days": 20 })).await;
    app.clock.advance(Duration::days(6));
    let (ids, answer) = found(&anna, "zzz", "active").await;
    assert_eq!((ids, &answer["mode"]), (vec![id], &json!("hybrid")));
    assert_eq!(get(&anna, id).await["confidence"], 80);
    // Said without an expiry, it lasts.
    say(json!({})).await;
    app.clock.advance(Duration::days(60));
    assert_eq!(found(&anna, "Norway", "active").await.0, [id]);
    // What a person has confirmed no agent cuts short.
    app.confirm(&anna, id).await;
    say(json!({ "expires_in_days": 1 })).await;
    app.clock.advance(Duration::days(2));
    assert_eq!(found(&anna, "Norway", "active").await.0, [id]);
}
