use reqwest::StatusCode;

use crate::support::TestApp;

#[tokio::test]
async fn a_person_switches_memory_off_and_on_and_still_sees_everything() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("Anna keeps bees.").await;
    let browser = app.signed_in(&anna).await;
    let agent = app.accounts.list_agents(anna.id).await.unwrap()[0].0.id.0;
    let of_agent = format!("/agents/{agent}/memory");
    for (page, action) in [("/account", "/account/memory"), ("/agents", of_agent.as_str())] {
        let (_, before) = browser.get(page).await;
        assert!(
            before.contains("Switch memory off") && !before.contains("Switch memory on"),
            "{page}"
        );
        assert!(before.contains(&format!("action=\"{action}\"")), "{page}");
        let off = browser.post(action, &[("action", "off")]).await;
        assert_eq!(off.status(), StatusCode::SEE_OTHER);
        assert_eq!(off.headers()["location"], page);
        assert!(browser.get(page).await.1.contains("Switch memory on"), "{page}");
        assert_eq!(
            anna.send("memory_search", &serde_json::json!({})).await.status(),
            403,
            "{page}"
        );
        assert!(browser.get("/memory?q=bees").await.1.contains("Anna keeps"), "{page}");
        browser.post(action, &[("action", "on")]).await;
        assert_eq!(anna.find("bees").await.len(), 1, "{page}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_agents_page_says_when_all_of_them_are_switched_off() {
    let (app, anna) = TestApp::with_user().await;
    let browser = app.signed_in(&anna).await;
    let said = "switched off for all of your agents";
    assert!(!browser.get("/agents").await.1.contains(said));
    browser.post("/account/memory", &[("action", "off")]).await;
    assert!(browser.get("/agents").await.1.contains(said));
}

#[tokio::test]
async fn nonsense_strangers_and_other_sites_switch_nothing() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let agent = app.accounts.list_agents(anna.id).await.unwrap()[0].0.id.0;
    let of_agent = format!("/agents/{agent}/memory");
    let browser = app.signed_in(&anna).await;
    for path in ["/account/memory", of_agent.as_str()] {
        let page = browser.post(path, &[("action", "perhaps")]).await;
        assert_eq!(page.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert!(page.text().await.unwrap().contains("is not known"), "{path}");
        let elsewhere = browser
            .client
            .post(format!("{}{path}", app.base))
            .header("sec-fetch-site", "cross-site")
            .form(&[("action", "off")]);
        assert_eq!(elsewhere.send().await.unwrap().status(), StatusCode::FORBIDDEN);
        let stranger = app.browser().post(path, &[("action", "off")]).await;
        assert_eq!(stranger.headers()["location"], "/login");
    }
    let bens = app.signed_in(&ben).await;
    for path in [of_agent.as_str(), "/agents/x/memory"] {
        let refused = bens.post(path, &[("action", "off")]).await;
        assert_eq!(refused.status(), StatusCode::NOT_FOUND, "{path}");
    }
    anna.add("Nothing is off.").await;
}
