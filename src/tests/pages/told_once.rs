//! After a form that changed something its page tells how it ended once, behind a redirect.

use time::Duration;

use super::{TestApp, token_in};

#[tokio::test]
async fn a_new_token_waits_sealed_for_one_view_of_its_page_by_its_person_within_a_minute() {
    let (app, _, browser) = TestApp::start_with_browser().await;
    let ben = app.user("ben").await;
    let mut agents = 0;
    let mut make = async || {
        agents += 1;
        let name = format!("laptop {agents}");
        let fields = [("name", name.as_str()), ("scope", "memory:read")];
        let made = browser.post_alone("/agents", &fields).await;
        assert_eq!(made.status(), 303);
        assert_eq!(made.headers()["location"], "/agents");
        made.headers()["set-cookie"].to_str().unwrap().to_owned()
    };
    let cookie = make().await;
    for part in ["keepsake-flash=", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=60"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    let is_told = async || browser.look("/agents").await.contains("Copy it now");
    assert!(!browser.look("/account").await.contains("Copy it now"), "it waits for its page");
    let page = browser.look("/agents").await;
    assert!(page.contains("Copy it now") && !cookie.contains(&token_in(&page)));
    assert!(!is_told().await, "once");
    make().await;
    app.clock.advance(Duration::seconds(61));
    assert!(!is_told().await, "a minute is over");
    make().await;
    browser.answers(303, "/logout", &[]).await;
    browser.sign_in(&ben).await;
    assert!(!is_told().await, "in the same browser, but another person");
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_form_that_is_refused_tells_nothing_later_and_keeps_what_was_typed() {
    let (_, _, browser) = TestApp::with_browser().await;
    let refused = browser.post_alone("/agents", &[("name", "my own name for it")]).await;
    assert_eq!(refused.status(), 422);
    assert!(!refused.headers().contains_key("set-cookie"));
    assert!(refused.text().await.unwrap().contains("my own name for it"));
}
