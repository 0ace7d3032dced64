//! Another day than today on the pages, and the timeline: in the time zone of the person, without JavaScript.

use keepsake::clock::{Clock, Zone};
use serde_json::{Value, json};
use time::Duration;

use super::{assert_has, assert_lacks};
use crate::support::{TestApp, TestUser};

async fn add(user: &TestUser, content: &str, key: Value) -> i64 {
    let item = json!({ "type": "fact", "content": content, "theme": "profile", "key": key });
    user.added(item).await
}

fn iso(app: &TestApp, zone: &Zone) -> String {
    zone.local(app.clock.now()).date().to_string()
}

/// Lyon, then Freiburg four days later; today is four days after that.
async fn moved(app: &TestApp, user: &TestUser) -> (i64, i64, String) {
    let lyon = add(user, "Lives in Lyon.", json!("home")).await;
    app.clock.advance(Duration::days(2));
    let day = iso(app, &Zone::from_column("UTC"));
    app.clock.advance(Duration::days(2));
    let freiburg = add(user, "Lives in Freiburg.", json!("home")).await;
    app.clock.advance(Duration::days(4));
    (lyon, freiburg, day)
}

#[tokio::test]
async fn the_whole_memory_as_of_a_day_has_a_banner_and_the_way_back() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let (lyon, freiburg, day) = moved(&app, &anna).await;
    for path in ["/memory?", "/memory?q=lives&"] {
        let then = browser.look(&format!("{path}as_of={day}")).await;
        let link = format!("/memory/{lyon}?as_of={day}");
        assert_has(&then, &["The memory as of ", "back to today", "Lyon", &link]);
        assert!(!then.contains("Freiburg"), "{then}");
        let now = browser.look(path).await;
        // This week's changes stand above the list.
        let now = now.split("id=\"results\"").nth(1).unwrap();
        assert_lacks(now, &["The memory as of ", "Lyon"]);
        assert!(now.contains("Freiburg"), "{now}");
    }
    let was_true = browser.look(&format!("/memory?at={day}")).await;
    assert_has(&was_true, &["What was true on ", "Lyon"]);
    assert!(!was_true.contains("Freiburg"), "{was_true}");
    let empty = browser.look("/memory?as_of=2020-01-01").await;
    assert!(empty.contains("go back to today"), "{empty}");

    let item = browser.look(&format!("/memory/{lyon}?as_of={day}")).await;
    assert!(item.contains("The memory as of ") && !item.contains("Replaced by"), "{item}");
    assert!(!item.contains("name=\"action\""), "the past is not decided about: {item}");
    let item = browser.look(&format!("/memory/{lyon}")).await;
    assert!(item.contains("Replaced by") && !item.contains("back to today"), "{item}");
    for (path, told) in [
        (&*format!("/memory/{freiburg}?as_of={day}"), "was not known then"),
        ("/memory?as_of=2999-01-01", "in the future"),
        ("/memory?at=soon", "is no date"),
        ("/timeline?day=soon", "not a date"),
        ("/timeline?before=1", "is not valid"),
    ] {
        let (status, page) = browser.get(path).await;
        assert!(status == 422 && page.contains(told), "{path}: {status} {page}");
    }
}

#[tokio::test]
async fn a_day_ends_where_the_person_is() {
    let (app, anna) = TestApp::start_for("anna").await;
    let zone = Zone::find("Pacific/Kiritimati").unwrap();
    app.accounts.set_time_zone(anna.id, &zone).await.unwrap();
    let browser = app.signed_in(&anna).await;
    // To an hour before midnight there: what is added two hours later is of the next day.
    let local = zone.local(app.clock.now());
    let midnight = local.replace_time(time::Time::MIDNIGHT) + Duration::days(1);
    app.clock.advance(midnight - Duration::HOUR - local);
    let day = iso(&app, &zone);
    add(&anna, "Lives in Lyon.", json!(null)).await;
    app.clock.advance(Duration::hours(2));
    add(&anna, "Lives in Freiburg.", json!(null)).await;
    app.clock.advance(Duration::days(1));
    for path in [format!("/memory?as_of={day}"), format!("/timeline?day={day}")] {
        let then = browser.look(&path).await;
        assert!(then.contains("Lyon") && !then.contains("Freiburg"), "{path}: {then}");
    }
    let all = browser.look("/timeline").await;
    assert_eq!(all.matches(": 1 memory learned\"").count(), 2, "two days: {all}");
}

#[tokio::test]
async fn the_timeline_tells_by_day_what_changed_and_why() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    let browser = app.signed_in(&anna).await;
    let empty = browser.look("/timeline").await;
    assert!(empty.contains("No changes."), "{empty}");
    add(&ben, "Ben sails.", json!(null)).await;
    let (lyon, freiburg, day) = moved(&app, &anna).await;
    let short = json!({ "type": "fact", "content": "It rains.", "expires_in_days": 1 });
    anna.call("memory_add", short).await;
    app.clock.advance(Duration::days(3));
    app.run_job("expire").await;
    let page = browser.look("/timeline").await;
    let learned = "3 memories were learned in the last year.";
    assert_has(&page, &["replaced by another memory", "it expired", learned]);
    for id in [lyon, freiburg] {
        assert!(page.contains(&format!("href=\"/memory/{id}\"")), "{id}: {page}");
    }
    assert!(!page.contains("Ben sails"), "{page}");
    // Newest first.
    let at = |text: &str| page.find(text).unwrap();
    assert!(at("it expired") < at("replaced by another memory"), "{page}");
    let other = browser.look(&format!("/timeline?day={day}")).await;
    assert_has(&other, &["No changes.", &format!("/memory?as_of={day}")]);
}

#[tokio::test]
async fn the_stream_is_read_on_page_by_page_each_once() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    for n in 0..60 {
        add(&anna, &format!("Remark number{n}."), json!(null)).await;
        app.clock.advance(Duration::hours(1));
    }
    let first = browser.look("/timeline").await;
    let older = first.split("href=\"/timeline?before=").nth(1).unwrap();
    let older = older.split('"').next().unwrap();
    let second = browser.look(&format!("/timeline?before={older}")).await;
    for n in 0..60 {
        let told = format!("number{n}.");
        let found = [first.contains(&told), second.contains(&told)];
        assert_eq!(found, [n >= 10, n < 10], "{n}");
    }
    assert!(!second.contains("Show older"), "{second}");
}
