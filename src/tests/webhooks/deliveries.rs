//! Webhooks are told everything in order, at least once, signed, and nobody else's; one that fails is tried again and
//! switched off in the end, and keeps nobody waiting.

use keepsake::webhooks::{DeliveryProblem, FAILING_MAX, NewWebhook, WebhookError};
use serde_json::json;
use time::Duration;
use wiremock::matchers::any;
use wiremock::{Mock, ResponseTemplate};

use super::{ALL, Receiver, hook, last, with_hook};
use crate::embedding::workers::Worker;
use crate::support::{TestApp, TestUser, until};

/// Runs what is due now of webhooks. Returns how many messages were accepted.
async fn deliver(app: &TestApp) -> u32 {
    app.run_job("webhooks").await
}

/// Why the last delivery of the user's first webhook failed.
async fn assert_problem(app: &TestApp, user: &TestUser, told: &str) {
    let listed = app.webhooks.list(user.id).await.unwrap();
    let problem = listed[0].1[0].problem.clone().unwrap();
    assert!(problem.contains(told), "{problem}");
}

#[tokio::test]
async fn a_message_is_signed_and_tells_its_own_users_events_without_content() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    anna.add("Before there was a webhook.").await;
    let (annas, bens) = (Receiver::start().await, Receiver::start().await);
    let secret = hook(&app, &anna, &annas, ALL).await;
    hook(&app, &ben, &bens, ALL).await;
    assert_eq!(deliver(&app).await, 0);
    let tea = anna.add_to("drinks", "Anna drinks tea.").await;
    let bread = ben.add("Ben bakes bread.").await;
    assert_eq!(deliver(&app).await, 2);
    assert_eq!((annas.items(), bens.items()), (vec![tea], vec![bread]));
    let told = &annas.received()[0];
    assert!(told.is_signed_with(secret.reveal()), "{told:?}");
    assert!(!bens.received()[0].is_signed_with(secret.reveal()));
    assert_eq!(told.id, told.json["id"]);
    assert_eq!(told.timestamp, app.embeddings.now().unix_timestamp().to_string());
    assert_eq!(told.event_type(), "memory.stored");
    let item = json!({ "id": tea, "status": "active", "type": "fact", "theme": "drinks" });
    assert_eq!(told.json["item"], item);
    assert_eq!(told.json["url"], format!("http://127.0.0.1:3000/memory/{tea}"));
    assert!(!told.text.contains("Anna drinks"), "{}", told.text);
    // Nothing is told twice.
    assert_eq!(deliver(&app).await, 0);
    assert_eq!(app.jobs().await, []);
}

#[tokio::test]
async fn the_text_is_sent_where_it_is_wanted_and_only_events_that_were_chosen() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (whole, chosen) = (Receiver::start().await, Receiver::start().await);
    hook(&app, &anna, &chosen, "memory.archived memory.erased").await;
    whole.allow(&app).await;
    let new = NewWebhook::parse(&whole.url(), "memory.stored", true).unwrap();
    app.webhooks.create(anna.id, &new).await.unwrap();
    let tea = anna.add("Anna drinks tea.").await;
    anna.call("memory_archive", json!({ "item_id": tea })).await;
    deliver(&app).await;
    assert_eq!(whole.types(), ["memory.stored"]);
    assert_eq!(whole.received()[0].json["item"]["content"], "Anna drinks tea.");
    assert_eq!(chosen.types(), ["memory.archived"]);
    let browser = app.signed_in(&anna).await;
    app.delete_item(&browser, tea).await;
    deliver(&app).await;
    assert_eq!(chosen.types(), ["memory.archived", "memory.erased"]);
    assert!(!chosen.received()[1].text.contains("tea"));
    assert_eq!(whole.types(), ["memory.stored"]);
}

#[tokio::test]
async fn what_was_refused_is_sent_again_before_anything_later() {
    let (app, anna, receiver) = with_hook().await;
    let stored = [anna.add("thing 0").await, anna.add("thing 1").await, anna.add("thing 2").await];
    receiver.answer(ResponseTemplate::new(500));
    for seconds in [0, 6, 12] {
        app.clock.advance(Duration::seconds(seconds));
        assert_eq!(deliver(&app).await, 0);
        // Not before its time.
        assert_eq!(deliver(&app).await, 0);
    }
    assert_eq!(receiver.items(), [stored[0]; 3]);
    let sent = receiver.received();
    assert!(sent.iter().all(|one| one.id == sent[0].id), "{sent:?}");
    assert!(last(&app, &anna).await.2);
    receiver.answer(ResponseTemplate::new(204));
    app.clock.advance(Duration::seconds(25));
    assert_eq!(deliver(&app).await, 3);
    assert_eq!(receiver.items()[3..], stored);
    assert!(!last(&app, &anna).await.2);
    let listed = app.webhooks.list(anna.id).await.unwrap();
    let statuses: Vec<Option<i16>> = listed[0].1.iter().map(|one| one.status).collect();
    assert_eq!(statuses, [204, 204, 204, 500, 500, 500].map(Some), "newest first");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_retry_after_is_heeded() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
    hook(&app, &anna, &receiver, ALL).await;
    receiver.answer(ResponseTemplate::new(307).insert_header("location", elsewhere.url()));
    anna.add("Anna rows.").await;
    assert_eq!(deliver(&app).await, 0);
    assert_eq!((receiver.items().len(), elsewhere.items().len()), (1, 0));
    assert_problem(&app, &anna, "redirects").await;
    receiver.answer(ResponseTemplate::new(503).insert_header("retry-after", "600"));
    app.clock.advance(Duration::seconds(20));
    deliver(&app).await;
    receiver.answer(ResponseTemplate::new(200));
    app.clock.advance(Duration::seconds(599));
    assert_eq!(deliver(&app).await, 0);
    app.clock.advance(Duration::seconds(1));
    assert_eq!(deliver(&app).await, 1);
}

#[tokio::test]
async fn a_private_address_is_called_only_while_an_admin_allows_it() {
    let (app, anna) = TestApp::start_for("anna").await;
    let receiver = Receiver::start().await;
    let metadata = "http://169.254.169.254/latest";
    for url in ["http://localhost:1/", metadata, "http://[::1]:80/", &receiver.url()] {
        let new = NewWebhook::parse(url, ALL, false).unwrap();
        match app.webhooks.create(anna.id, &new).await.err() {
            Some(WebhookError::Invalid(invalid)) => assert_eq!(invalid.field, "url", "{url}"),
            other => panic!("{url}: {other:?}"),
        }
    }
    hook(&app, &anna, &receiver, ALL).await;
    anna.add("Anna rows.").await;
    assert_eq!(deliver(&app).await, 1);
    app.sql("DELETE FROM allowed_endpoints").run().await;
    // For models is not for webhooks.
    app.allow(&receiver.server.address().to_string()).await;
    anna.add("Anna bakes.").await;
    assert_eq!(deliver(&app).await, 0);
    assert_eq!(receiver.items().len(), 1);
    let id = last(&app, &anna).await.0;
    let test = app.webhooks.test(anna.id, id).await.unwrap();
    assert_eq!(test, Err(DeliveryProblem::Forbidden));
    assert_eq!(receiver.items().len(), 1);
}

#[tokio::test]
async fn an_address_that_does_not_answer_keeps_nobody_else_waiting() {
    let (app, anna, slow) = with_hook().await;
    let (ben, annas, bens) =
        (app.user("ben").await, Receiver::start().await, Receiver::start().await);
    hook(&app, &anna, &annas, ALL).await;
    hook(&app, &ben, &bens, ALL).await;
    let held = slow.hold();
    anna.add("Anna rows.").await;
    let worker = Worker::start(&app);
    slow.until_called(1).await;
    ben.add("Ben bakes.").await;
    app.clock.advance(Duration::seconds(6));
    // While the slow one is waited for.
    annas.until_called(1).await;
    bens.until_called(1).await;
    until("the slow one is given up", async || {
        let listed = app.webhooks.list(anna.id).await.unwrap();
        listed[0].1.first().is_some_and(|one| one.status.is_none())
    })
    .await;
    assert_problem(&app, &anna, "no answer").await;
    let listed = app.webhooks.list(anna.id).await.unwrap();
    assert!(listed[1].0.failing_since.is_none());
    drop(held);
    worker.stop().await;
}

#[tokio::test]
async fn a_server_that_is_killed_while_it_sends_leaves_it_to_the_next_one() {
    let (app, anna, receiver) = with_hook().await;
    let held = receiver.hold();
    let stored = [anna.add("thing 1").await, anna.add("thing 2").await];
    let victim = Worker::start(&app);
    receiver.until_called(1).await;
    victim.kill().await;
    drop(held);
    let next = app.twin().await;
    next.clock.advance(Duration::seconds(20));
    let worker = Worker::start(&next);
    receiver.until_called(3).await;
    worker.stop().await;
    // The first twice, since nobody knows whether it arrived; then the rest, once.
    assert_eq!(receiver.items(), [stored[0], stored[0], stored[1]]);
    let sent = receiver.received();
    assert_eq!(sent[0].id, sent[1].id);
}

#[tokio::test]
async fn one_that_fails_for_three_days_is_switched_off_and_continues_when_it_is_resumed() {
    let (app, anna, receiver) = with_hook().await;
    receiver.answer(ResponseTemplate::new(502));
    let mut stored = vec![anna.add("thing 1").await];
    let mut hours = 0;
    while last(&app, &anna).await.1 == "on" {
        deliver(&app).await;
        app.clock.advance(Duration::hours(6));
        hours += 6;
        assert!(hours <= 100, "it is never switched off");
    }
    assert!(hours > 72, "{hours}");
    let tries = receiver.items().len();
    stored.push(anna.add("thing 2").await);
    receiver.answer(ResponseTemplate::new(200));
    assert_eq!(deliver(&app).await, 0);
    assert_eq!(receiver.items().len(), tries);
    let (id, ..) = last(&app, &anna).await;
    app.webhooks.resume(anna.id, id).await.unwrap();
    assert_eq!(deliver(&app).await, 2);
    assert_eq!(receiver.items()[tries..], stored);
    // Who says that it is gone is asked no more.
    receiver.answer(ResponseTemplate::new(410));
    anna.add("thing 3").await;
    deliver(&app).await;
    assert_eq!(last(&app, &anna).await.1, "off");
}

#[tokio::test]
async fn a_failure_after_a_success_is_the_first_of_its_kind() {
    let (app, anna, receiver) = with_hook().await;
    anna.add("thing 0").await;
    anna.add("thing 1").await;
    receiver.answer(ResponseTemplate::new(500));
    assert_eq!(deliver(&app).await, 0);
    app.clock.advance(FAILING_MAX);
    // The first is accepted, and the second fails.
    let once = Mock::given(any()).respond_with(ResponseTemplate::new(200)).up_to_n_times(1);
    once.with_priority(1).mount(&receiver.server).await;
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(receiver.items().len(), 2);
    let (_, state, is_failing) = last(&app, &anna).await;
    assert_eq!((state.as_str(), is_failing), ("on", true));
    receiver.answer(ResponseTemplate::new(200));
    app.clock.advance(Duration::seconds(6));
    assert_eq!(deliver(&app).await, 1);
}

#[tokio::test]
async fn a_new_secret_helps_where_the_one_before_cannot_be_read() {
    let (app, anna, receiver) = with_hook().await;
    app.sql("UPDATE webhooks SET sealed_secret = sealed_secret || '\\x00'").run().await;
    anna.add("Anna rows.").await;
    assert_eq!(deliver(&app).await, 0);
    assert_problem(&app, &anna, "make a new one").await;
    let (_, new) = app.webhooks.rotate(anna.id, last(&app, &anna).await.0).await.unwrap();
    app.clock.advance(Duration::seconds(6));
    assert_eq!(deliver(&app).await, 1);
    let told = receiver.received().pop().unwrap();
    assert!(told.is_signed_with(new.reveal()), "{told:?}");
}

#[tokio::test]
async fn for_a_day_after_a_rotation_both_secrets_sign() {
    let (app, anna) = TestApp::start_for("anna").await;
    let receiver = Receiver::start().await;
    let old = hook(&app, &anna, &receiver, ALL).await;
    let (id, ..) = last(&app, &anna).await;
    let (url, new) = app.webhooks.rotate(anna.id, id).await.unwrap();
    assert_eq!(url, receiver.url());
    for (hours, by_old) in [(0, true), (23, true), (1, false)] {
        app.clock.advance(Duration::hours(hours));
        anna.add(&format!("thing {hours}")).await;
        assert_eq!(deliver(&app).await, 1);
        let told = receiver.received().pop().unwrap();
        assert!(told.is_signed_with(new.reveal()), "{told:?}");
        assert_eq!(told.is_signed_with(old.reveal()), by_old, "{told:?}");
    }
}

#[tokio::test]
async fn a_webhook_hears_nothing_while_it_is_paused_or_its_person_is_disabled() {
    let (app, anna, receiver) = with_hook().await;
    let ben = app.user("ben").await;
    let (id, ..) = last(&app, &anna).await;
    for refused in [
        app.webhooks.pause(ben.id, id).await,
        app.webhooks.resume(ben.id, id).await,
        app.webhooks.delete(ben.id, id).await,
        app.webhooks.rotate(ben.id, id).await.map(|_| ()),
        app.webhooks.test(ben.id, id).await.map(|_| ()),
    ] {
        assert!(matches!(refused, Err(WebhookError::NotFound)), "{refused:?}");
    }
    app.webhooks.pause(anna.id, id).await.unwrap();
    let first = anna.add("thing 1").await;
    assert_eq!(deliver(&app).await, 0);
    app.webhooks.resume(anna.id, id).await.unwrap();
    let disable = "UPDATE users SET disabled_at = CASE WHEN disabled_at IS NULL THEN created_at END WHERE id = $1";
    for delivered in [0, 1] {
        app.sql(disable).bind(anna.id.0).run().await;
        assert_eq!(deliver(&app).await, delivered);
    }
    assert_eq!(receiver.items(), [first]);
    app.webhooks.delete(anna.id, id).await.unwrap();
    anna.add("thing 2").await;
    assert_eq!(deliver(&app).await, 0);
    assert!(receiver.received().len() == 1);
}

#[tokio::test]
async fn a_job_that_begins_to_fail_is_told_once() {
    let (app, anna) = TestApp::start_for("anna").await;
    let receiver = Receiver::start().await;
    hook(&app, &anna, &receiver, "job.failed").await;
    anna.add("Anna rows.").await;
    // What the job `expire` cannot do.
    let short = json!({ "type": "fact", "content": "The tea is hot.", "expires_in_days": 1 });
    anna.call("memory_add", short).await;
    app.clock.advance(Duration::days(2));
    app.refuse_unless("memory_items", "false").await;
    for _ in 0..3 {
        app.run_due().await;
        app.clock.advance(Duration::hours(2));
    }
    let attempts = app.sql("SELECT attempts FROM job_queue WHERE user_id = $1 AND job = 'expire'");
    let attempts: i32 = attempts.bind(anna.id.0).value().await;
    assert!(attempts >= 2, "{attempts}");
    let told = receiver.received();
    let of_job: Vec<_> = told.iter().filter(|one| one.json["job"]["name"] == "expire").collect();
    assert_eq!(of_job.len(), 1, "{told:?}");
    assert_eq!(of_job[0].event_type(), "job.failed");
    assert_eq!(of_job[0].json["job"], json!({ "name": "expire" }));
    assert_eq!(of_job[0].json["url"], "http://127.0.0.1:3000/settings/work");
    assert!(!told.iter().any(|one| one.text.contains("tea")), "{told:?}");
}
