//! Settings › Webhooks, as a browser without JavaScript uses it.

use std::time::Duration;

use super::{ALL, Receiver, last};
use crate::pages::assert_has;
use crate::support::TestApp;

const PATH: &str = "/settings/webhooks";

fn adding<'a>(url: &'a str, events: &'a str) -> Vec<(&'a str, &'a str)> {
    let events = events.split(' ').map(|event| ("event", event));
    events.chain([("action", "add"), ("url", url)]).collect()
}

/// The secret on a page, if there is one.
fn secret(page: &str) -> Option<&str> {
    let after = page.split("<code>whsec_").nth(1)?;
    after.split('<').next()
}

#[tokio::test]
async fn a_webhook_is_added_tested_paused_rotated_and_deleted() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let receiver = Receiver::start().await;
    assert_has(&browser.look(PATH).await, &["No webhooks yet", "hmac.digest"]);
    let url = receiver.url();
    let refused = browser.answers(422, PATH, &adding(&url, "memory.stored")).await;
    // What was typed is there.
    assert_has(&refused, &["private network", &url]);
    receiver.allow(&app).await;
    let without = [("action", "add"), ("url", &*url)];
    browser.says(422, PATH, &without, "choose at least one event").await;
    let added = browser.answers(200, PATH, &adding(&url, ALL)).await;
    let shown = secret(&added).unwrap();
    let page = browser.look(PATH).await;
    assert!(page.contains(&url) && secret(&page).is_none(), "{page}");
    let id = last(&app, &anna).await.0.to_string();
    let act = |action| [("webhook", id.as_str()), ("action", action)].to_vec();
    browser.says(200, PATH, &act("test"), "accepted with status 200").await;
    let told = &receiver.received()[0];
    assert_eq!(told.event_type(), "webhook.test");
    assert!(told.is_signed_with(&format!("whsec_{shown}")), "{told:?}");
    receiver.answer(wiremock::ResponseTemplate::new(404).set_delay(Duration::from_millis(1)));
    let (_, tested) = browser.submit(PATH, &act("test")).await;
    assert_has(&tested, &["The test failed: It answered with status 404."]);
    for (action, state) in [("pause", "paused"), ("resume", "on")] {
        browser.answers(303, PATH, &act(action)).await;
        assert_eq!(last(&app, &anna).await.1, state);
    }
    let (_, rotated) = browser.submit(PATH, &act("rotate")).await;
    assert_ne!(secret(&rotated).unwrap(), shown);
    assert_has(&browser.look(PATH).await, &["The old secret signs too"]);
    browser.says(200, PATH, &act("delete"), "No webhooks yet").await;
    browser.answers(404, PATH, &act("test")).await;
    browser.answers(422, PATH, &act("explode")).await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_user_has_ten_webhooks_however_many_are_added_at_once() {
    let (_, _, browser) = TestApp::with_browser().await;
    let adds = (0..14).map(|n| {
        let browser = &browser;
        async move {
            let url = format!("https://example.com/{n}");
            browser.submit(PATH, &adding(&url, "memory.stored")).await.0
        }
    });
    let statuses = futures_util::future::join_all(adds).await;
    let [added, refused] = [200, 422].map(|s| statuses.iter().filter(|one| **one == s).count());
    assert_eq!((added, refused), (10, 4), "{statuses:?}");
    assert_has(&browser.look(PATH).await, &["which is the most"]);
}
