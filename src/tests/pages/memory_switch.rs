use super::assert_has;
use crate::support::TestApp;

#[tokio::test]
async fn a_person_switches_memory_off_and_on_and_still_sees_everything() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    anna.add("Anna keeps bees.").await;
    let agent = app.accounts.list_agents(anna.id).await.unwrap()[0].0.id.0;
    let of_agent = format!("/agents/{agent}/memory");
    for (page, action) in [("/account", "/account/memory"), ("/agents", of_agent.as_str())] {
        let before = browser.look(page).await;
        assert_has(&before, &["Switch memory off", &format!("action=\"{action}\"")]);
        assert!(!before.contains("Switch memory on"), "{page}");
        let of_all =
            async || browser.look("/agents").await.contains("switched off for all of your agents");
        assert!(!of_all().await, "{page}");
        let off = browser.post(action, &[("action", "off")]).await;
        assert_eq!(off.status(), 303);
        assert_eq!(off.headers()["location"], page);
        assert!(browser.look(page).await.contains("Switch memory on"), "{page}");
        assert_eq!(of_all().await, page == "/account", "{page}");
        let search = anna.send("memory_search", &serde_json::json!({})).await;
        assert_eq!(search.status(), 403, "{page}");
        assert!(browser.get("/memory?q=bees").await.1.contains("Anna keeps"), "{page}");
        browser.post(action, &[("action", "on")]).await;
        assert_eq!(anna.find("bees").await.len(), 1, "{page}");
    }
}

#[tokio::test]
async fn nonsense_and_strangers_switch_nothing() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    let agent = app.accounts.list_agents(anna.id).await.unwrap()[0].0.id.0;
    let of_agent = format!("/agents/{agent}/memory");
    let browser = app.signed_in(&anna).await;
    for path in ["/account/memory", of_agent.as_str()] {
        browser.says(422, path, &[("action", "perhaps")], "is not known").await;
        let stranger = app.browser().post(path, &[("action", "off")]).await;
        assert_eq!(stranger.headers()["location"], "/login");
    }
    let bens = app.signed_in(&ben).await;
    for path in [of_agent.as_str(), "/agents/x/memory"] {
        bens.answers(404, path, &[("action", "off")]).await;
    }
    anna.add("Nothing is off.").await;
}
