use std::time::Duration;

use futures_util::future::join_all;
use keepsake::clock::Clock;
use keepsake::providers::chat::spend::{self, ReservationRequest};
use keepsake::providers::chat::{
    Allowance, Allowances, CapReached, ChatError, ChatLimits, ChatPurpose, DaySpend, Spent,
};
use time::OffsetDateTime;
use wiremock::ResponseTemplate;

use super::{anna_with, ask, chat, set_limits, use_server, without};
use crate::support::{ChatServer, TestApp, TestUser, refused, said};

fn wish(tokens: i64, now: OffsetDateTime) -> ReservationRequest {
    ReservationRequest {
        tokens,
        purpose: ChatPurpose::Facts,
        cap: 1_000,
        purpose_cap: 1_000,
        now,
        until: now + Duration::from_secs(180),
    }
}

async fn reserve(
    app: &TestApp,
    user: &TestUser,
    wish: &ReservationRequest,
) -> Result<spend::Reservation, CapReached> {
    let mut tx = app.db.as_user(user.id).await.unwrap();
    let reserved = spend::reserve(&mut tx, user.id, wish).await.unwrap();
    tx.commit().await.unwrap();
    reserved
}

async fn settle(app: &TestApp, user: &TestUser, held: &spend::Reservation, tokens: i64) {
    let spent =
        Spent { tokens_in: tokens, tokens_out: 0, purpose: ChatPurpose::Facts, is_failed: false };
    let mut tx = app.db.as_user(user.id).await.unwrap();
    spend::settle(&mut tx, user.id, held, spent).await.unwrap();
    tx.commit().await.unwrap();
}

async fn today(app: &TestApp, user: &TestUser) -> DaySpend {
    chat(app).overview(user.id).await.unwrap().days.pop().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_at_once_on_two_servers_never_pass_the_cap_together() {
    let app = TestApp::start().await;
    let other = app.twin().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let now = app.clock.now();
    let all = (0..60).map(|n| {
        let (app, anna) = (if n % 2 == 0 { &app } else { &other }, &anna);
        async move {
            match reserve(app, anna, &wish(90, now)).await {
                Ok(held) => {
                    settle(app, anna, &held, 80).await;
                    1
                }
                Err(CapReached { cap, .. }) => {
                    assert_eq!(cap, 1_000);
                    0
                }
            }
        }
    });
    let made: i64 = join_all(all).await.into_iter().sum();
    let spent = today(&app, &anna).await;
    assert_eq!((spent.tokens_in, spent.calls), (made * 80, made));
    // Each holds 90 before it spends 80: the eleventh fits when ten are settled, and no twelfth does.
    assert!((10..=12).contains(&made) && spent.tokens() <= 1_000, "{made}");
    // Ben has a cap of his own.
    assert!(reserve(&app, &ben, &wish(1_000, now)).await.is_ok());
}

#[tokio::test]
async fn what_is_held_is_let_go_when_the_call_came_to_less() {
    let (app, anna) = TestApp::start_for("anna").await;
    let now = app.clock.now();
    let held = reserve(&app, &anna, &wish(900, now)).await.unwrap();
    assert!(reserve(&app, &anna, &wish(101, now)).await.is_err());
    assert!(reserve(&app, &anna, &wish(100, now)).await.is_ok());
    settle(&app, &anna, &held, 10).await;
    assert!(reserve(&app, &anna, &wish(890, now)).await.is_ok());
    assert!(reserve(&app, &anna, &wish(1, now)).await.is_err());
    // The next day (UTC) begins anew.
    let tomorrow = now + Duration::from_secs(24 * 3_600);
    assert!(reserve(&app, &anna, &wish(1_000, tomorrow)).await.is_ok());
}

#[tokio::test]
async fn what_a_killed_server_held_counts_no_more_after_its_time() {
    let (app, anna) = TestApp::start_for("anna").await;
    let noon = app.clock.now().replace_time(time::Time::MIDNIGHT);
    reserve(&app, &anna, &wish(900, noon)).await.unwrap();
    let soon = noon + Duration::from_secs(179);
    assert!(reserve(&app, &anna, &wish(200, soon)).await.is_err());
    let later = noon + Duration::from_secs(180);
    assert!(reserve(&app, &anna, &wish(1_000, later)).await.is_ok());
    assert_eq!(calls_by_day(&app).await, [(1, 1)], "the lost call is counted as failed");
}

/// Of all users: calls, and those that failed.
async fn calls_by_day(app: &TestApp) -> Vec<(i64, i64)> {
    app.sql("SELECT calls, failed_calls FROM chat_spend ORDER BY day").rows().await
}

#[tokio::test]
async fn a_call_that_was_lost_before_midnight_is_counted_on_its_day() {
    let (app, anna) = TestApp::start_for("anna").await;
    let midnight = app.clock.now().replace_time(time::Time::MIDNIGHT);
    let (late, early) = (time::Duration::minutes(1), time::Duration::hours(1));
    for (tokens, at) in [(100, -late), (100, -late), (1_000, early)] {
        reserve(&app, &anna, &wish(tokens, midnight + at)).await.unwrap();
    }
    assert_eq!(calls_by_day(&app).await, [(2, 2), (0, 0)]);
    assert_eq!(app.count("chat_reservations").await, 1);
}

#[tokio::test]
async fn each_purpose_has_a_switch_and_a_share_and_its_cost_is_told_apart() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let now = app.clock.now();
    // A share counts what is spent and what is held, of its own purpose alone.
    let of =
        |purpose, tokens| ReservationRequest { purpose, purpose_cap: 400, ..wish(tokens, now) };
    let held = reserve(&app, &anna, &of(ChatPurpose::Summary, 300)).await;
    let too_much = reserve(&app, &anna, &of(ChatPurpose::Summary, 101)).await;
    let refused = too_much.unwrap_err();
    assert_eq!((refused.cap, refused.purpose), (400, Some(ChatPurpose::Summary)));
    assert!(refused.to_string().contains("for summary"), "{refused}");
    assert!(reserve(&app, &anna, &of(ChatPurpose::Enrichment, 400)).await.is_ok());
    settle(&app, &anna, &held.unwrap(), 50).await;
    let enough = reserve(&app, &anna, &of(ChatPurpose::Facts, 351)).await;
    assert_eq!(enough.unwrap_err().purpose, Some(ChatPurpose::Facts), "50 were spent");
    assert!(reserve(&app, &anna, &of(ChatPurpose::Facts, 350)).await.is_ok());
    assert_eq!(today(&app, &anna).await.by_purpose, [(Some(ChatPurpose::Facts), 50)]);

    // What is switched off is not asked, whatever else is.
    let server = ChatServer::saying("Hi.").await;
    use_server(&app, &ben, &server).await;
    set_limits(&app, &ben, "20000", without(ChatPurpose::Facts)).await;
    assert!(matches!(ask(&app, &ben).await, Err(ChatError::NoProvider)));
    assert_eq!(server.asked().len(), 0);
    set_limits(&app, &ben, "20000", without(ChatPurpose::Summary)).await;
    assert!(ask(&app, &ben).await.is_ok());
    // A share too small for any call is refused; nothing of the form is kept.
    let small = Allowance { is_on: true, share: 40 };
    let purposes = Allowances::default().with(ChatPurpose::Facts, small);
    let limits = ChatLimits { daily_token_cap: "20000", purposes };
    let refused = chat(&app).save_limits(ben.id, limits).await.unwrap_err();
    assert!(matches!(refused, ChatError::Invalid(invalid) if invalid.field == "share_facts"));
    assert!(ask(&app, &ben).await.is_ok());
}

#[tokio::test]
async fn days_of_long_ago_go() {
    let (app, anna) = TestApp::start_for("anna").await;
    let now = app.clock.now();
    for ago in [401, 399, 0] {
        let then = now - time::Duration::days(ago);
        let held = reserve(&app, &anna, &wish(10, then)).await.unwrap();
        settle(&app, &anna, &held, 10).await;
    }
    assert_eq!(app.count("chat_spend").await, 2);
}

#[tokio::test]
async fn a_call_is_counted_as_the_server_says_and_a_failed_one_too() {
    let (app, anna) = TestApp::start_for("anna").await;
    let server = ChatServer::answering(|_, before| match before {
        0 => said("Hi."),
        1 => refused(401, "no"),
        // Nothing in it, although the model has read it all.
        _ => ResponseTemplate::new(200)
            .set_body_json(serde_json::json!({ "choices": [{ "message": {} }] })),
    })
    .await;
    use_server(&app, &anna, &server).await;
    assert_eq!(ask(&app, &anna).await.unwrap().text, "Hi.");
    let after_one = today(&app, &anna).await;
    assert_eq!((after_one.tokens_in, after_one.tokens_out), (40, 10));
    assert!(matches!(ask(&app, &anna).await, Err(ChatError::Provider(_))));
    let after_two = today(&app, &anna).await;
    assert_eq!((after_two.tokens(), after_two.calls, after_two.failed_calls), (50, 2, 1));
    assert!(matches!(ask(&app, &anna).await, Err(ChatError::Provider(_))));
    // It may have been charged: all that it could come to counts.
    let after_three = today(&app, &anna).await;
    assert_eq!((after_three.tokens_in, after_three.tokens_out), (42, 108));
    assert_eq!((after_three.calls, after_three.failed_calls), (3, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn past_the_cap_nothing_is_sent() {
    let (app, anna, server) = anna_with("Hi.").await;
    set_limits(&app, &anna, "10,000", Allowances::default()).await;
    let spent = "INSERT INTO chat_spend (user_id, day, tokens_in) VALUES ($1, $2, 9000)";
    app.sql(spent).bind(anna.id.0).bind(app.embeddings.now().date()).run().await;
    let answers = join_all((0..25).map(|_| ask(&app, &anna))).await;
    let made = answers.iter().filter(|a| a.is_ok()).count();
    let is_capped = |error: &ChatError| {
        matches!(error, ChatError::CapReached(CapReached { cap: 10_000, purpose: None }))
    };
    let capped = answers.iter().filter(|a| a.as_ref().is_err_and(is_capped)).count();
    assert_eq!((made + capped, server.asked().len()), (25, made));
    assert!(capped > 0, "{made} were made");
    while ask(&app, &anna).await.is_ok() {}
    let spent = today(&app, &anna).await;
    assert!((9_901..=10_000).contains(&spent.tokens()), "{spent:?}");
    assert_eq!(spent.calls as usize, server.asked().len());
    assert_eq!(app.count("chat_reservations").await, 0);
}
