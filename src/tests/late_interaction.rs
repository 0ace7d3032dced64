//! Late interaction: token vectors are made with the vectors, compared by searches, and kept as the admin's switch says.

use keepsake::embedding::Drained;
use keepsake::queue::Slice;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{Browser, Provider, TestApp, TestUser, ids};

async fn asked(user: &TestUser, query: &str) -> Value {
    let input = json!({ "query": query, "explain": true });
    user.call("memory_search", input).await
}

/// What explains this hit.
fn why(answer: &Value, id: i64) -> &Value {
    let rows = answer["results"].as_array().unwrap();
    &rows.iter().find(|row| row["id"] == id).unwrap()["explain"]
}

/// Of this hit; null where it was not compared token by token.
fn late(answer: &Value, id: i64) -> Option<f64> {
    why(answer, id)["late"].as_f64()
}

/// First passages with the signs of their tokens, of how many; and how the space has it.
async fn signed(app: &TestApp, user: &TestUser) -> (i64, i64, String) {
    app.sql("SELECT count(e.token_signs), count(*), max(s.token_signs)
         FROM memory_embeddings e JOIN embedding_spaces s ON s.user_id = e.user_id AND s.id = e.space_id
         WHERE e.user_id = $1 AND e.passage = 0 AND s.state = 'active'").bind(user.id.0).row().await
}

#[tokio::test]
async fn a_query_is_compared_token_by_token_also_with_what_stands_beside_and_signs_are_kept() {
    let app = TestApp::start_with_builtin().await;
    let (anna, peter) = (app.user("anna").await, app.user("peter").await);
    let reply = "Ben: We went to Bled, it was lovely there.";
    let alone = peter.add(reply).await;
    peter.add("Ben: The invoice is due on Friday.").await;
    anna.add("Anna: Where did you spend your summer holiday?").await;
    let answered = anna.add(reply).await;
    let long = anna.add(&"The lake is deep and cold and clear. ".repeat(60)).await;
    assert_eq!(app.drain(&anna).await, Drained::Done);
    assert_eq!(app.drain(&peter).await, Drained::Done);
    // Nothing compares the long one's.
    assert_eq!(signed(&app, &anna).await, (2, 3, "all".to_owned()));

    let question = "summer holiday at the lake";
    let (of_anna, of_peter) = (asked(&anna, question).await, asked(&peter, question).await);
    let (beside, alone) = (late(&of_anna, answered), late(&of_peter, alone));
    assert!(beside > alone && alone > Some(0.0), "{beside:?}, {alone:?}");
    // The tokens beside it count in place of a share of its neighbour's sum.
    let of_answered = why(&of_anna, answered);
    assert_eq!(of_answered["late_share"], 0.7);
    assert_eq!(of_answered["neighbours"], 0.0);
    assert_eq!(late(&of_anna, long), None, "of several passages the vectors count alone");

    // The same words have nearly all in common.
    let same = asked(&anna, "We went to Bled, it was lovely there.").await;
    assert_eq!(ids(&same)[0], answered);
    assert!(late(&same, answered) > Some(0.6), "{same}");

    // A text that is known has its own signs, which are the same.
    let text = "She grows tomatoes on the roof.";
    let first = anna.add(text).await;
    app.drain(&anna).await;
    let again = anna.add_to("garden", text).await;
    app.drain(&anna).await;
    assert_ne!(first, again);
    let signs =
        "SELECT token_signs FROM memory_embeddings WHERE source_id IN ($1, $2) AND passage = 0";
    let signs: Vec<Vec<u8>> = app.sql(signs).bind(first).bind(again).values().await;
    assert_eq!((signs.len(), &signs[0]), (2, &signs[1]));
    // 48 bytes a token.
    assert_eq!(signs[0].len() % 48, 0);
    assert!((6..12).contains(&(signs[0].len() / 48)));
}

#[tokio::test]
async fn of_a_text_with_several_passages_no_signs_are_kept() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    let text = "The lake is deep and cold and clear. ".repeat(60);
    let length = "SELECT length FROM memory_passages WHERE source_id = $1 AND n = 0";
    let long = anna.add(&text).await;
    app.drain(&anna).await;
    assert_eq!(signed(&app, &anna).await.0, 0);
    // Its first passage on its own gets its own, which are not copied to the next long text that begins with it.
    let length: i32 = app.sql(length).bind(long).value().await;
    let first = &text[..length as usize];
    let short = anna.add(first).await;
    app.drain(&anna).await;
    anna.add(&format!("{first} {}", "The boats are blue. ".repeat(60))).await;
    app.drain(&anna).await;
    assert_eq!(signed(&app, &anna).await, (1, 3, "all".to_owned()));
    assert!(late(&asked(&anna, "lake").await, short).is_some());
}

async fn admins(app: &TestApp) -> Browser {
    let admin = app.user("admin").await;
    app.make_admin(&admin).await;
    app.signed_in(&admin).await
}

async fn switch(browser: &Browser, action: &str) {
    let sent = browser.post("/admin/embeddings", &[("action", action)]).await;
    assert_eq!(sent.status(), 200);
}

#[tokio::test]
async fn the_switch_makes_and_removes_them() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    let browser = admins(&app).await;
    let id = anna.add("Anna keeps bees.").await;
    anna.add(&"The honey is sold at the market. ".repeat(60)).await;
    app.drain(&anna).await;
    // Nothing is made or removed for these, and nobody waits for it.
    let (ben, carl) = (app.user("ben").await, app.user("carl").await);
    for user in [&ben, &carl] {
        user.add("The hive is empty.").await;
        app.drain(user).await;
    }
    let disable = "UPDATE users SET disabled_at = now() WHERE id = $1";
    app.sql(disable).bind(ben.id.0).run().await;
    let decline =
        "INSERT INTO embedding_settings (user_id, enabled, updated_at) VALUES ($1, false, now())";
    app.sql(decline).bind(carl.id.0).run().await;
    assert!(late(&asked(&anna, "bees").await, id).is_some());

    switch(&browser, "late_off").await;
    assert_eq!(late(&asked(&anna, "bees").await, id), None);
    assert_eq!(app.embeddings.users_with_work().await.unwrap(), [anna.id]);
    let page = browser.look("/admin").await;
    assert!(page.contains("Removing token vectors: 0 of 1 users done"), "{page}");
    anna.add("A hive has one queen.").await;
    app.drain(&anna).await;
    assert_eq!(signed(&app, &anna).await, (0, 3, "none".to_owned()));
    assert_eq!(app.embeddings.users_with_work().await.unwrap(), []);

    switch(&browser, "late_on").await;
    assert_eq!(app.embeddings.users_with_work().await.unwrap(), [anna.id]);
    // While some are missing it is ranked as without.
    assert_eq!(late(&asked(&anna, "bees").await, id), None);
    let page = app.signed_in(&anna).await.look("/settings/embeddings").await;
    assert!(page.contains("being made, 0 of 3"), "{page}");
    app.drain(&anna).await;
    assert_eq!(signed(&app, &anna).await, (2, 3, "all".to_owned()));
    assert!(late(&asked(&anna, "bees").await, id).is_some());
    assert!(browser.get("/admin/users").await.1.contains("switched late interaction on"));
}

#[tokio::test]
async fn what_is_left_when_a_slice_ends_is_said_and_done_in_the_next() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    let text = "Anna's bees made forty jars of honey this year.";
    for n in 0..4 {
        anna.add(&format!("{n}: {text}")).await;
    }
    // Gets none.
    anna.add(&text.repeat(40)).await;
    app.drain(&anna).await;
    let (browser, own) = (admins(&app).await, app.signed_in(&anna).await);
    let (_stop, stopped) = watch::channel(true);
    let over = Slice::begin(stopped);

    // Off, in memories at a time; on, in tokens, of all four.
    for (action, left, signs) in [
        ("late_off", 1..2, (0, 5, "none".to_owned())),
        ("late_on", 40..80, (4, 5, "all".to_owned())),
    ] {
        switch(&browser, action).await;
        let ended = app.embeddings.drain(anna.id, &over).await.unwrap();
        assert!(matches!(ended, Drained::More(n) if left.contains(&n)), "{action}: {ended:?}");
        assert_eq!(signed(&app, &anna).await, (0, 5, "some".to_owned()), "{action}");
        let page = own.look("/settings/embeddings").await;
        assert_eq!(page.contains("being made, 1 of 5"), action == "late_on", "{page}");
        assert_eq!(app.drain(&anna).await, Drained::Done, "{action}");
        assert_eq!(signed(&app, &anna).await, signs, "{action}");
    }
}

#[tokio::test]
async fn another_providers_vectors_are_ranked_as_they_were() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "m").await;
    let id = anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    let answer = asked(&anna, "bees").await;
    assert_eq!((late(&answer, id), &answer["mode"]), (None, &json!("hybrid")));
    assert_eq!(signed(&app, &anna).await, (0, 1, "none".to_owned()));
}
