//! What the server does to a memory by itself is told like a person's own changes: from the job that does it to the body
//! that arrives.

use serde_json::json;
use time::Duration;

use super::{ALL, Receiver, hook};
use crate::consolidation::dreaming::{Dreamer, PAIRS, QUIET, five, memories};
use crate::support::TestApp;

#[tokio::test]
async fn a_dream_that_proposes_is_told_without_what_it_proposes() {
    let app = TestApp::start().await;
    let model = Dreamer::new().await;
    model.names(&PAIRS);
    let anna = five(&app, &model).await;
    memories(&app, &anna).await;
    let (receiver, bens) = (Receiver::start().await, Receiver::start().await);
    let ben = app.user("ben").await;
    let secret = hook(&app, &anna, &receiver, "dream.proposed").await;
    hook(&app, &ben, &bens, ALL).await;
    app.clock.advance(QUIET);
    assert_eq!(app.run_job("dream").await, 1);
    assert_eq!(app.run_job("webhooks").await, 1);
    let dream: i64 = app.sql("SELECT id FROM dreams").value().await;
    let told = receiver.received();
    assert_eq!(told.len(), 1, "{told:?}");
    let told = &told[0];
    assert!(told.is_signed_with(secret.reveal()), "{told:?}");
    assert_eq!(told.event_type(), "dream.proposed");
    assert_eq!(told.json["dream"], json!({ "id": dream }));
    assert_eq!(told.json["url"], "http://127.0.0.1:3000/dreams");
    assert!(told.json.get("item").is_none() && told.json.get("job").is_none(), "{told:?}");
    for word in ["hives", "honey", "cellar"] {
        assert!(!told.text.contains(word), "{told:?}");
    }
    assert!(bens.received().is_empty());
    // Once.
    app.clock.advance(QUIET);
    app.run_job("dream").await;
    assert_eq!(app.run_job("webhooks").await, 0);
}

#[tokio::test]
async fn a_dream_that_proposes_nothing_is_not_told() {
    let app = TestApp::start().await;
    let model = Dreamer::new().await;
    let anna = five(&app, &model).await;
    let receiver = Receiver::start().await;
    hook(&app, &anna, &receiver, "dream.proposed").await;
    app.clock.advance(QUIET);
    assert_eq!(app.run_job("dream").await, 1);
    assert_eq!(app.run_job("webhooks").await, 0);
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn what_fades_at_night_is_told_as_faded() {
    let (app, anna) = TestApp::start_for("anna").await;
    let kettle = json!({ "type": "other", "theme": "kitchen", "content": "The kettle is blue." });
    let kettle = anna.added(kettle).await;
    anna.add("Anna rows.").await;
    let receiver = Receiver::start().await;
    hook(&app, &anna, &receiver, "memory.faded memory.archived").await;
    // Its half-life is shorter than that of a fact.
    app.clock.advance(Duration::days(300));
    assert_eq!(app.run_job("fade").await, 1);
    assert_eq!(app.run_job("webhooks").await, 1);
    let told = receiver.received();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].event_type(), "memory.faded");
    let item = json!({ "id": kettle, "status": "archived", "type": "other", "theme": "kitchen" });
    assert_eq!(told[0].json["item"], item);
    assert_eq!(told[0].json["url"], format!("http://127.0.0.1:3000/memory/{kettle}"));
    assert!(!told[0].text.contains("kettle"), "{told:?}");
}
