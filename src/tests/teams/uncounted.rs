//! What is not seen is not counted either: no score and no confidence tells of it. And what comes of
//! two memories side by side.

use serde_json::{Value, json};
use time::Duration;

use super::{Scene, agent, found};
use crate::search_hybrid::{at, embed, space};
use crate::support::{Provider, Sql as _, TestUser};
use crate::turns::{ended, message};

/// The confidence of an answer, and all that explains its hits.
async fn told(user: &TestUser) -> (Value, Vec<Value>) {
    let query = json!({ "query": "Is Rolf's boat to Bergen blue?", "explain": true });
    let answer = user.call("memory_search", query).await;
    assert_eq!(answer["mode"], "hybrid", "{answer}");
    assert!(answer["degraded"].is_null(), "{answer}");
    let hits = answer["results"].as_array().unwrap().iter();
    let hits = hits.map(|hit| json!([hit["id"], hit["score"], hit["explain"]]));
    (answer["confidence"].clone(), hits.collect())
}

#[tokio::test]
async fn no_answer_tells_which_words_stand_in_what_is_not_seen() {
    let scene = Scene::start().await;
    let Scene { app, anna, lead, ben, .. } = &scene;
    scene.join().await;
    let quiet = agent(app, anna, "quiet", "own_only").await;
    quiet.add("Rolf: The boat to Bergen is white.").await;
    quiet.add("Tea comes from China.").await;
    lead.add("Rolf: The sail is white.").await;
    keepsake::sessions::turns::switch(&app.db, anna.id, true, app.embeddings.now()).await.unwrap();
    let provider = Provider::start().await;
    for user in [anna, ben] {
        app.use_provider(user, &provider, "m").await;
        app.drain(user).await;
    }
    let before = (told(ben).await, told(&quiet).await);
    for n in 0..12 {
        anna.add(&format!("Bergen: A blue boat, number {n}")).await;
    }
    ended(app, lead, "dock", &[message("m1", "user", "Rolf has a blue boat in Bergen.")]).await;
    app.drain(anna).await;
    assert_eq!((told(ben).await, told(&quiet).await), before);
    // What they see counts.
    for who in [lead, &quiet] {
        who.add("A blue boat").await;
    }
    app.drain(anna).await;
    let after = (told(ben).await, told(&quiet).await);
    assert_ne!(after.0.0, before.0.0);
    assert_ne!(after.1.0, before.1.0);
}

#[tokio::test]
async fn directions_of_two_models_make_nothing_alike() {
    let scene = Scene::start().await;
    let Scene { app, anna, lead, ben, .. } = &scene;
    scene.join().await;
    let mut conn = app.superuser().await;
    let own = ben.add("harbour").await;
    let spaces = [space(&mut conn, ben, "active").await, space(&mut conn, anna, "active").await];
    let other = "UPDATE embedding_spaces SET model = 'other' WHERE user_id = $1";
    conn.sql(other).bind(anna.id.0).run().await;
    let far = lead.add("harbour of stone").await;
    app.clock.advance(Duration::minutes(1));
    let near = lead.add("harbour of wood").await;
    for (space, item, degrees) in
        [(spaces[0], own, 0.0), (spaces[1], far, 90.0), (spaces[1], near, 0.0)]
    {
        embed(&mut conn, space, item, &at(degrees)).await;
    }
    assert_eq!(found(ben, json!({ "query": "all of the harbour" })).await, [own, near, far]);
}

#[tokio::test]
async fn of_two_copies_the_members_own_is_returned_at_its_own_place() {
    let scene = Scene::start().await;
    let Scene { app, lead, ben, .. } = &scene;
    scene.join().await;
    let text = "The anchor weighs nine tons.";
    let own = ben.add(text).await;
    let other = ben.add("An anchor of paper lies beside it.").await;
    app.clock.advance(Duration::days(100));
    let lent = lead.add(text).await;
    for (query, limit, expected) in
        [("anchor today", 1, vec![other]), ("anchor today", 9, vec![other, own])]
    {
        let input = json!({ "query": query, "limit": limit });
        assert_eq!(found(ben, input).await, expected, "at most {limit}");
    }
    // What is not among the member's own that are asked for is lent.
    assert_eq!(found(ben, json!({ "query": "anchor today", "recency_days": 5 })).await, [lent]);
    let listed = found(ben, json!({ "query": "*", "limit": 50 })).await;
    assert!(listed.contains(&own) && !listed.contains(&lent), "{listed:?}");
}
