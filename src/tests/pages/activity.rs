use serde_json::{Value, json};

use super::{assert_has, assert_lacks};
use crate::support::{Browser, TestApp};
use keepsake::accounts::Scope;

/// The page, with all that has happened so far.
async fn look(app: &TestApp, browser: &Browser, path: &str) -> String {
    app.activity.flush().await.unwrap();
    browser.look(path).await
}

fn calls(page: &str) -> usize {
    page.matches("data-row").count()
}

#[tokio::test(crate = "crate::support::shared")]
async fn calls_are_listed_with_agent_outcome_and_links_to_their_memories() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let id = anna.add("<b>green</b> tea").await;
    anna.call("memory_get", json!({ "item_id": id })).await;
    anna.refused("memory_get", json!({ "item_id": id + 99 })).await;
    anna.call("memory_list_themes", json!({})).await;
    let page = look(app, &browser, "/activity").await;
    assert_eq!(calls(&page), 4);
    assert_has(&page, &["added", "read", "listed themes", "agent", "not_found", " ms"]);
    assert_has(&page, &["No such memory.", "&lt;b&gt;green&lt;/b&gt; tea"]);
    assert!(page.contains("4 calls in 30 days, 1 failed"), "{page}");
    assert_eq!(page.matches(&format!("href=\"/memory/{id}\"")).count(), 2);
    assert!(!page.contains("<b>green"));
}

#[tokio::test]
async fn every_filter_is_in_the_address_and_they_add_up() {
    let (app, mut anna, browser) = TestApp::start_with_browser().await;
    let tea = anna.add("green tea").await;
    app.clock.advance(time::Duration::days(3));
    anna.find("tea").await;
    anna.refused("memory_get", json!({ "item_id": 0 })).await;
    anna.token = app.token(anna.id, "other", &Scope::ALL, None).await;
    anna.add("coffee").await;
    let other: i64 = app.sql("SELECT id FROM agents WHERE name = 'other'").value().await;
    for (query, expected) in [
        ("", 4),
        ("tool=memory_add", 2),
        ("outcome=ok", 3),
        ("outcome=failed", 1),
        (&format!("agent={other}"), 1),
        ("days=1", 3),
        ("days=7", 4),
        (&format!("item={tea}"), 2),
        (&format!("item={tea}&tool=memory_search"), 1),
        (&format!("item={tea}&agent={other}"), 0),
        ("tool=&outcome=&agent=&days=", 4),
        ("tool=nonsense&outcome=maybe&agent=x&days=-1&item=%ff&shown=x", 4),
        ("agent=99999999999999999999&item=-9223372036854775808", 0),
    ] {
        let page = look(&app, &browser, &format!("/activity?{query}")).await;
        assert_eq!(calls(&page), expected, "{query}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_empty_page_says_how_to_begin_and_load_more_shows_older_calls_and_keeps_the_filters() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let page = look(app, &browser, "/activity").await;
    assert!(page.contains("href=\"/agents\"") && page.contains("memory_search"));
    for _ in 0..30 {
        anna.find("x").await;
    }
    let first = look(app, &browser, "/activity?tool=memory_search").await;
    assert_eq!(calls(&first), 25);
    assert!(first.contains("/activity?tool=memory_search&amp;shown=50"));
    let second = look(app, &browser, "/activity?tool=memory_search&shown=50").await;
    assert_eq!(calls(&second), 30);
    assert!(!second.contains("shown=75"));
    let page = look(app, &browser, "/activity?tool=memory_add").await;
    assert!(page.contains("No matching calls") && !page.contains("YOUR_TOKEN"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn nobody_sees_anothers_calls_on_a_page() {
    let (app, anna, ben) = TestApp::with_users().await;
    let id = anna.add("mine alone").await;
    ben.find("x").await;
    let browser = app.signed_in(&ben).await;
    let page = look(app, &browser, "/activity").await;
    assert_eq!(calls(&page), 1);
    assert!(!page.contains("mine alone"));
    assert_eq!(calls(&look(app, &browser, &format!("/activity?item={id}")).await), 0);
    assert_eq!(app.browser().get("/activity").await.0, 303);
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_words_of_searches_are_kept_shown_and_forgotten_by_plain_forms() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let submit =
        async |action: &str| browser.submit("/activity/queries", &[("action", action)]).await;
    anna.find("zeppelin").await;
    assert!(!look(app, &browser, "/activity").await.contains("zeppelin"));
    assert_eq!(submit("keep").await.0, 200);
    anna.find("<i>oolong").await;
    let page = look(app, &browser, "/activity").await;
    assert!(page.contains("&lt;i&gt;oolong</q>") && !page.contains("zeppelin"));
    let (status, page) = submit("stop").await;
    assert!(status == 200 && page.contains("Delete the queries of 1 search"));
    anna.find("sencha").await;
    let (_, page) = submit("forget").await;
    assert_lacks(&page, &["oolong", "sencha", "Delete queries"]);
    assert_eq!(calls(&page), 3);
    let (status, page) = submit("burn").await;
    assert!(status == 422 && page.contains("use the page"));
}

#[tokio::test]
async fn an_item_says_who_has_read_it() {
    let (app, mut anna, ben) = TestApp::start_for_two().await;
    let browser = app.signed_in(&anna).await;
    let id = anna.add("green tea").await;
    let address = format!("/memory/{id}");
    let page = look(&app, &browser, &address).await;
    assert!(page.contains("No agent found or read it in the last 90 days."));
    anna.token = app.token(anna.id, "the reader", &Scope::ALL, None).await;
    anna.find("tea").await;
    app.clock.advance(time::Duration::hours(2));
    anna.call("memory_get", json!({ "item_id": id })).await;
    ben.refused("memory_get", json!({ "item_id": id })).await;
    let page = look(&app, &browser, &address).await;
    let read = page.split("Read by").nth(1).unwrap();
    assert_eq!(read.matches("the reader").count(), 2, "adding it is no reading");
    assert!(read.contains("found") && read.contains("2 hours ago"));
    assert!(read.contains(&format!("href=\"/activity?item={id}\"")));
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_calls_of_every_tool_can_be_filtered() {
    let (app, anna, browser) = TestApp::with_browser().await;
    anna.add("green tea").await;
    let page = look(app, &browser, "/activity").await;
    let document = app.browser().look("/api/v1/openapi.json").await;
    let document: Value = serde_json::from_str(&document).unwrap();
    let paths = document["paths"].as_object().unwrap().keys();
    for name in paths.filter_map(|path| path.strip_prefix("/api/v1/tools/")) {
        let option = format!("value=\"{name}\"");
        assert!(page.contains(&option), "{name}: add it to TOOLS in app/src/kinds.rs");
    }
}

#[tokio::test]
async fn calls_stand_by_day_and_those_that_are_alike_are_folded() {
    let (app, anna) = TestApp::start_for("anna").await;
    anna.add("green tea").await;
    app.activity.flush().await.unwrap();
    app.clock.advance(time::Duration::days(1));
    for _ in 0..5 {
        anna.find("tea").await;
    }
    anna.call("memory_stats", json!({})).await;
    for _ in 0..3 {
        anna.find("tea").await;
    }
    let browser = app.signed_in(&anna).await;
    let page = look(&app, &browser, "/activity").await;
    assert_eq!(calls(&page), 10);
    let (today, yesterday) = (page.find(">Today<").unwrap(), page.find(">Yesterday<").unwrap());
    assert!(today < yesterday && page[yesterday..].contains("added"));
    // Five are a run, three are not.
    assert_eq!(page.matches("class=\"run\"").count(), 1);
    assert!(page.contains("5 times"), "{page}");
}

#[tokio::test]
async fn an_agent_is_shown_at_work_for_five_minutes_and_never_by_a_revoked_token() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    anna.add("green tea").await;
    let is_at_work = async || {
        let page = look(&app, &browser, "/agents").await;
        assert!(page.contains("Last used "), "{page}");
        page.contains("data-now")
    };
    assert!(is_at_work().await);
    app.clock.advance(time::Duration::minutes(6));
    assert!(!is_at_work().await);
    anna.find("tea").await;
    assert!(is_at_work().await);
    app.sql("UPDATE agent_tokens SET revoked_at = $1").bind(app.embeddings.now()).run().await;
    assert!(!is_at_work().await);
}
