//! What is like a memory, which memories are used and by whom, themes of a day, and the day that a bar leads to.

use keepsake::accounts::Scope;
use keepsake::clock::Clock;
use keepsake::embedding::Drained;
use serde_json::json;
use time::Duration;

use super::{assert_has, assert_lacks, between};
use crate::support::{Browser, TestApp};

async fn look(app: &TestApp, browser: &Browser, path: &str) -> String {
    app.activity.flush().await.unwrap();
    browser.look(path).await
}

fn related(page: &str) -> &str {
    between(page, "id=\"related-title\"", "</section>")
}

#[tokio::test]
async fn the_nearest_memories_are_told_by_their_embeddings_and_without_them_by_words() {
    let app = TestApp::start_with_builtin().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let tea = anna.add("Drinks green tea in the morning.").await;
    let coffee = anna.add("Likes a coffee after lunch.").await;
    anna.add("The car is due for its service in May.").await;
    let gone = anna.add("Drinks black tea in the morning.").await;
    anna.call("memory_archive", json!({ "item_id": gone })).await;
    ben.add("Drinks green tea in the morning, too.").await;
    let browser = app.signed_in(&anna).await;
    let path = format!("/memory/{tea}");
    let by_words = look(&app, &browser, &format!("/memory/{coffee}")).await;
    let told = related(&by_words);
    assert!(told.contains("By words:") || told.contains("No other memory"), "{by_words}");
    assert_eq!(app.drain(&anna).await, Drained::Done);
    let page = look(&app, &browser, &path).await;
    let found = related(&page);
    assert_eq!(found.matches("similar (0.").count(), 1, "{found}");
    assert!(found.contains("coffee"), "{found}");
    assert_lacks(found, &["service", "black tea", "too.", "By words"]);
    // Nothing of it is another's.
    let theirs = app.signed_in(&ben).await;
    assert_eq!(theirs.get(&path).await.0, 404);
    let alone = ben.find("tea").await[0];
    let page = look(&app, &theirs, &format!("/memory/{alone}")).await;
    assert!(related(&page).contains("No other memory is like it."), "{page}");
}

#[tokio::test]
async fn what_is_used_by_whom_is_counted_and_what_never_was_is_listed() {
    let (app, mut anna, ben) = TestApp::start_for_two().await;
    let browser = app.signed_in(&anna).await;
    let empty = look(&app, &browser, "/used").await;
    assert_has(&empty, &["No memories yet.", "No agent has found or read"]);
    let long = format!("Porridge with plums. {}", "plums ".repeat(20));
    let food = anna.add_to("food", &long).await;
    anna.add_to("food", "Cheese from the market.").await;
    let work = anna.add_to("work", "Invoices are numbered by year.").await;
    app.clock.advance(Duration::days(2));
    anna.find("porridge cheese").await;
    anna.call("memory_get", json!({ "item_id": food })).await;
    anna.call("memory_get", json!({ "item_id": work })).await;
    ben.add_to("secret", "Mine alone.").await;
    ben.find("mine").await;
    anna.token = app.token(anna.id, "other", &Scope::ALL, None).await;
    anna.call("memory_get", json!({ "item_id": food })).await;
    let never = anna.add_to("work", "Never asked for.").await;
    let page = look(&app, &browser, "/used").await;
    assert!(page.contains("Of 4 memories, 1 was never used"), "{page}");
    // One call that found two of a theme counts once.
    assert_has(&page, &["2 calls: agent, food", "1 call: agent, work", "1 call: other, food"]);
    assert_has(&page, &["<td>0</td>", "used 3 times", "plums…"]);
    let unused = between(&page, "Never used", "</section>");
    assert!(unused.contains(&format!("/memory/{never}\"")), "{unused}");
    assert!(!unused.contains("Cheese"), "{unused}");
    assert_lacks(&page, &["secret", "Mine alone"]);
    // A cell leads to these calls; the one that added is among them.
    let cell = between(&page, "<td data-level=\"3\"><a href=\"", "\"");
    let calls = look(&app, &browser, &cell.replace("&amp;", "&")).await;
    assert_eq!(calls.matches("data-row").count(), 4, "{cell}");
    assert!(calls.contains("theme: food"), "{calls}");
    let theirs = app.signed_in(&ben).await;
    let theirs = look(&app, &theirs, "/used").await;
    assert!(theirs.contains("1 call: agent, secret"), "{theirs}");
    assert_lacks(&theirs, &["food", "Porridge"]);
}

#[tokio::test]
async fn a_bar_leads_to_the_calls_of_its_day() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    anna.add("green tea").await;
    let first = app.clock.now().date();
    app.clock.advance(Duration::days(2));
    anna.find("tea").await;
    anna.find("coffee").await;
    let page = look(&app, &browser, "/activity?tool=&days=7").await;
    let address = format!("/activity?day={first}");
    assert!(page.contains(&format!("href=\"{address}\"")), "{page}");
    assert!(page.contains("aria-label=\"") && page.contains(": 2 calls\""), "{page}");
    let of_day = look(&app, &browser, &address).await;
    assert_eq!(of_day.matches("data-row").count(), 1, "{of_day}");
    assert!(of_day.contains("name=\"day\"") && of_day.contains(": 2 calls"), "{of_day}");
    let before = first.previous_day().unwrap();
    let none = look(&app, &browser, &format!("/activity?day={before}")).await;
    assert!(none.contains("No matching calls"), "{none}");
    for refused in ["day=soon", "day=2026-02-30", "theme=%2F"] {
        let (status, _) = browser.get(&format!("/activity?{refused}")).await;
        assert_eq!(status, 422, "{refused}");
    }
}

#[tokio::test]
async fn themes_have_the_counts_of_the_day() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    anna.add_to("food", "Porridge.").await;
    app.clock.advance(Duration::days(40));
    let day = app.clock.now().date();
    app.clock.advance(Duration::days(2));
    browser.sign_in(&anna).await;
    anna.add_to("food", "Cheese.").await;
    anna.add_to("work", "Invoices.").await;
    let page = look(&app, &browser, "/memory").await;
    let themes = between(&page, "aria-label=\"Themes\"", "</nav>");
    assert_has(themes, &["href=\"/memory?theme=food\"", "number\">2<", "number\">3<"]);
    let then = look(&app, &browser, &format!("/memory?as_of={day}")).await;
    let themes = between(&then, "aria-label=\"Themes\"", "</nav>");
    assert!(themes.contains("food") && !themes.contains("work"), "{themes}");
    assert_eq!(themes.matches("number\">1<").count(), 2, "of all, and of food: {themes}");
    // Another sees none of it.
    let ben = app.user("ben").await;
    ben.add_to("garden", "Roses.").await;
    let theirs = app.signed_in(&ben).await;
    let theirs = look(&app, &theirs, "/memory").await;
    assert_lacks(&theirs, &["theme=food"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_session_has_the_time_at_which_its_last_message_was_sent() {
    let (app, anna, browser) = TestApp::with_browser().await;
    for (name, sent) in [("imported", json!("2020-05-17T10:00:00Z")), ("live", json!(null))] {
        let said = json!({ "messages": [{ "id": "1", "role": "user", "content": "Hi.", "created_at": sent }] });
        let path = format!("/api/v1/sessions/{name}/messages");
        assert_eq!(anna.post(&path, &said).await.status(), 200);
    }
    let page = look(app, &browser, "/sessions").await;
    assert_eq!(page.matches("datetime=\"2020-05-17T10:00:00").count(), 1, "{page}");
    assert_eq!(page.matches("<time").count(), 2, "{page}");
}
