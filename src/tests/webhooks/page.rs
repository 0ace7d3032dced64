//! Settings › Webhooks, as a browser without JavaScript uses it.

use std::time::Duration;

use super::{ALL, Receiver, last};
use crate::support::{Browser, TestApp};

const PATH: &str = "/settings/webhooks";

fn adding<'a>(url: &'a str, events: &'a str) -> Vec<(&'a str, &'a str)> {
    let events = events.split(' ').map(|event| ("event", event));
    events.chain([("action", "add"), ("url", url)]).collect()
}

async fn post(browser: &Browser, fields: &[(&str, &str)]) -> (u16, String) {
    let response = browser.post(PATH, fields).await;
    (response.status().as_u16(), response.text().await.unwrap())
}

/// The secret on a page, if there is one.
fn secret(page: &str) -> Option<&str> {
    let after = page.split("<code>whsec_").nth(1)?;
    after.split('<').next()
}

#[tokio::test]
async fn a_webhook_is_added_tested_paused_rotated_and_deleted() {
    let (app, anna) = TestApp::start_for("anna").await;
    let receiver = Receiver::start().await;
    let allowed = receiver.server.address().to_string();
    let browser = app.signed_in(&anna).await;
    let empty = browser.look(PATH).await;
    assert!(empty.contains("No webhooks yet") && empty.contains("hmac.digest"), "{empty}");
    let url = receiver.url();
    let (status, refused) = post(&browser, &adding(&url, "memory.stored")).await;
    assert_eq!(status, 422);
    assert!(refused.contains("private network"), "{refused}");
    assert!(refused.contains(&url), "what was typed is there");
    app.embeddings.allow_endpoint(&allowed).await.unwrap();
    let (status, refused) = post(&browser, &[("action", "add"), ("url", &url)]).await;
    assert_eq!(status, 422);
    assert!(refused.contains("choose at least one event"), "{refused}");
    let (status, added) = post(&browser, &adding(&url, ALL)).await;
    assert_eq!(status, 200);
    let shown = secret(&added).unwrap().to_owned();
    let (_, page) = browser.get(PATH).await;
    assert!(page.contains(&url) && secret(&page).is_none(), "{page}");
    let id = last(&app, &anna).await.0.to_string();
    let act = |action| [("webhook", id.as_str()), ("action", action)].to_vec();
    let (status, tested) = post(&browser, &act("test")).await;
    assert_eq!(status, 200);
    assert!(tested.contains("accepted with status 200"), "{tested}");
    let told = &receiver.received()[0];
    assert_eq!(told.event_type(), "webhook.test");
    assert!(told.is_signed_with(&format!("whsec_{shown}")), "{told:?}");
    receiver.answer(wiremock::ResponseTemplate::new(404).set_delay(Duration::from_millis(1)));
    let (_, tested) = post(&browser, &act("test")).await;
    assert!(tested.contains("The test failed: It answered with status 404."), "{tested}");
    for (action, state) in [("pause", "paused"), ("resume", "on")] {
        assert_eq!(post(&browser, &act(action)).await.0, 303, "{action}");
        assert_eq!(last(&app, &anna).await.1, state);
    }
    let (_, rotated) = post(&browser, &act("rotate")).await;
    assert_ne!(secret(&rotated).unwrap(), shown);
    let (_, page) = browser.get(PATH).await;
    assert!(page.contains("The old secret signs too"), "{page}");
    let (status, deleted) = post(&browser, &act("delete")).await;
    assert_eq!(status, 200);
    assert!(deleted.contains("No webhooks yet"), "{deleted}");
    assert_eq!(post(&browser, &act("test")).await.0, 404);
    assert_eq!(post(&browser, &act("explode")).await.0, 422);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_user_has_ten_webhooks_however_many_are_added_at_once() {
    let (app, anna) = TestApp::with_user().await;
    let browser = app.signed_in(&anna).await;
    let adds = (0..14).map(|n| {
        let browser = &browser;
        async move {
            let url = format!("https://example.com/{n}");
            post(browser, &adding(&url, "memory.stored")).await.0
        }
    });
    let statuses = futures_util::future::join_all(adds).await;
    let added = statuses.iter().filter(|status| **status == 200).count();
    let refused = statuses.iter().filter(|status| **status == 422).count();
    assert_eq!((added, refused), (10, 4), "{statuses:?}");
    let (_, page) = browser.get(PATH).await;
    assert!(page.contains("which is the most"), "{page}");
}
