use serde_json::json;

use super::{assert_has, assert_lacks, between};
use crate::support::{Browser, TestApp, TestUser};

#[tokio::test(crate = "crate::support::shared")]
async fn items_are_listed_found_filtered_and_hidden_when_archived() {
    let (_, anna, browser) = TestApp::with_browser().await;
    let old = anna.add_to("kitchen", "oolong from the old shop").await;
    let green = json!({ "type": "preference", "content": "green tea", "theme": "home" });
    anna.call("memory_add", green).await;
    let all = browser.look("/memory").await;
    assert_has(&all, &["oolong from", "green tea", "kitchen"]);
    let found = browser.look("/memory?q=oolong").await;
    assert!(found.contains("<mark>oolong</mark>") && !found.contains("green tea"));
    let listed = async |query: &str| {
        let page = browser.look(&format!("/memory?{query}")).await;
        ["oolong from", "green tea"].map(|content| page.contains(content))
    };
    assert_eq!(listed("theme=home").await, [false, true]);
    assert_eq!(listed("type=fact&type=summary").await, [true, false]);
    anna.call("memory_archive", json!({ "item_id": old })).await;
    assert_eq!(listed("").await, [false, true]);
    assert_eq!(listed("status=all").await, [true, true]);
    assert_eq!(listed("status=archived").await, [true, false]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn load_more_shows_the_next_rows_and_keeps_the_filters() {
    let (_, anna, browser) = TestApp::with_browser().await;
    for n in 0..30 {
        anna.add_to("work", &format!("entry-number-{n:02}")).await;
    }
    let rows = |page: &str| page.matches("entry-number-").count();
    let first = browser.look("/memory?theme=work").await;
    assert_eq!(rows(&first), 25);
    let more = first
        .split("href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"))
        .find(|href| href.contains("shown=50"))
        .expect("a link to more");
    assert!(more.contains("theme=work"), "{more}");
    let second = browser.look(&more).await;
    assert_eq!(rows(&second), 30);
    assert!(!second.contains("shown=75"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_page_says_how_to_begin_or_what_to_loosen_and_answers_odd_addresses() {
    let (_, anna, browser) = TestApp::with_browser().await;
    let empty = browser.look("/memory").await;
    assert!(empty.contains("href=\"/agents\"") && empty.contains("memory_add"));
    anna.add("something").await;
    let nothing = browser.look("/memory?q=zeppelin&theme=nowhere").await;
    assert!(!nothing.contains("something") && !nothing.contains("memory_add"));
    // Odd addresses are answered with a page.
    let long = format!("q={}", "x".repeat(3_000));
    let words = ["q=%00", "q=%ff", "q=%E2%80%AE", long.as_str(), "theme=!!!", "type=nonsense"];
    let others = ["shown=-1", "shown=99999999999", "archived=maybe&status=gone"];
    for odd in words.into_iter().chain(others) {
        let (status, page) = browser.get(&format!("/memory?{odd}")).await;
        assert!(status < 500 && page.contains("<main"), "{odd}: {status}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn who_has_only_conversations_sees_what_is_searched_and_how_memories_begin() {
    let (_, anna, browser) = TestApp::with_browser().await;
    for (session, words) in [("a", "Wo liegt Freiburg?"), ("b", "茶在哪里？")] {
        let reply = json!({ "id": "2", "role": "assistant", "content": words });
        let messages = json!([{ "id": "1", "role": "user", "content": words }, reply]);
        let path = format!("/api/v1/sessions/{session}/messages");
        assert_eq!(anna.post(&path, &json!({ "messages": messages })).await.status(), 200);
    }
    let page = browser.look("/memory").await;
    assert_has(&page, &["type=\"search\"", "No memories yet.", "2 conversations", "4 messages"]);
    assert_has(&page, &["href=\"/sessions\"", "Remember that", "memory_add"]);
    assert_has(&browser.look("/memory?q=Freiburg").await, &["<mark>Freiburg</mark>"]);
    let nothing = browser.look("/memory?q=zeppelin&type=fact").await;
    assert_has(&nothing, &["type=\"search\"", "No matching memories.", "start over"]);
    // What is not searched is not promised.
    browser.submit("/sessions", &[("action", "off")]).await;
    let page = browser.look("/memory").await;
    assert_has(&page, &["2 conversations", "if that is switched on there"]);
    assert_lacks(&page, &["can be searched above"]);
    anna.add("something").await;
    assert_lacks(&browser.look("/memory").await, &["2 conversations", "memory_add"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_item_is_shown_whole_with_provenance_and_history() {
    let (_, anna, browser) = TestApp::with_browser().await;
    let content = "first line\n<script>alert(1)</script> & \u{202e}bidi";
    let input = json!({ "type": "instruction", "content": content, "theme": "Work", "tags": ["<b>tag</b>"] });
    let id = anna.added(input).await;
    anna.call("memory_archive", json!({ "item_id": id })).await;
    let page = browser.look(&format!("/memory/{id}")).await;
    assert!(page.contains("first line\n&lt;script&gt;alert(1)&lt;/script&gt; &amp; "), "{page}");
    assert_lacks(&page, &["<script>alert", "<b>tag</b>"]);
    assert_has(&page, &["agent", "rchived", "nstruction", "<time"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn anothers_item_is_not_found_like_one_that_does_not_exist() {
    let (app, anna, ben) = TestApp::with_users().await;
    let id = anna.add("mine alone").await;
    let browser = app.signed_in(&ben).await;
    let (status, theirs) = browser.get(&format!("/memory/{id}")).await;
    assert_eq!(status, 404);
    assert!(!theirs.contains("mine alone"));
    for none in ["999999", "x", "-1", "99999999999999999999"] {
        assert_eq!(browser.get(&format!("/memory/{none}")).await.0, 404, "{none}");
    }
    assert_eq!(browser.get("/nowhere").await.0, 404);
    assert!(!browser.get("/memory?q=mine").await.1.contains("mine alone"));
    assert!(!browser.get("/memory").await.1.contains("mine alone"));
}

#[tokio::test]
async fn a_page_says_how_a_memory_is_known_what_it_replaced_and_until_when_it_holds() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    let browser = app.signed_in(&anna).await;
    let add = async |content: &str| {
        let input = json!({ "type": "fact", "content": content, "theme": "profile", "key": "home city",
            "source": "user_explicit", "source_context": "I moved there <last> week.", "expires_in_days": 10 });
        anna.added(input).await
    };
    let porto = add("Lives in Porto.").await;
    let lisbon = add("Lives in Lisbon.").await;
    anna.call("memory_confirm", json!({ "item_id": lisbon })).await;
    let page = async |id: i64| browser.look(&format!("/memory/{id}")).await;
    let newer = page(lisbon).await;
    assert_has(&newer, &["<code>home_city</code>", "an agent reports your words", "<blockquote"]);
    assert_has(&newer, &["I moved there &lt;last&gt; week.", "100 %", "Expires", "confirmed"]);
    assert!(newer.contains(&format!("href=\"/memory/{porto}\"")), "{newer}");
    let older = page(porto).await;
    assert_has(&older, &["superseded", "30 %", "replaced by another memory"]);
    assert!(older.contains(&format!("href=\"/memory/{lisbon}\"")), "{older}");
    let list = browser.look("/memory?status=all").await;
    assert!(list.contains("superseded") && !list.contains("expired"));
    app.clock.advance(time::Duration::days(10));
    assert!(!browser.get("/memory").await.1.contains("Lives in Lisbon."));
    assert_has(&browser.look("/memory?status=all").await, &["Lives in Lisbon.", "expired"]);
    assert!(page(lisbon).await.contains("It has expired"));
    assert_eq!(app.run_job("expire").await, 1);
    let swept = page(lisbon).await;
    assert!(swept.contains("It has expired") && swept.contains("class=\"event\">expired"));
    // Nobody did it.
    assert!(!swept.contains("<bdi>you</bdi>"), "{swept}");
    let bens = app.signed_in(&ben).await;
    assert_eq!(bens.get(&format!("/memory/{lisbon}")).await.0, 404);
}

#[tokio::test]
async fn a_tag_and_a_date_narrow_the_list_and_each_filter_has_a_link_that_removes_it() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    let browser = app.signed_in(&anna).await;
    let add = async |who: &TestUser, content: &str, tags: &[&str]| {
        let input = json!({ "type": "fact", "content": content, "theme": "drinks", "tags": tags });
        who.call("memory_add", input).await;
    };
    add(&anna, "Anna drinks sencha.", &["tea", "green"]).await;
    add(&ben, "Ben drinks rooibos.", &["tea"]).await;
    app.clock.advance(time::Duration::days(10));
    add(&anna, "Anna drinks espresso.", &["coffee"]).await;
    add(&anna, "Anna drinks matcha.", &["tea"]).await;
    let list = async |query: &str| {
        let page = browser.look(&format!("/memory?{query}")).await;
        page.split("id=\"results\"").nth(1).unwrap().to_owned()
    };
    for (query, shown) in [
        ("tag=tea", [true, false, true]),
        ("tag=tea&q=drinks", [true, false, true]),
        ("tag=tea&days=7", [false, false, true]),
        ("days=7&q=drinks", [false, true, true]),
        ("tag=te", [false, false, false]),
    ] {
        let list = list(query).await;
        let found = ["sencha", "espresso", "matcha"].map(|word| list.contains(word));
        assert_eq!(found, shown, "{query}");
        assert!(!list.contains("rooibos"), "{query}");
    }
    let path = "/memory?q=drinks&theme=drinks&type=fact&tag=tea&status=all&days=7";
    let page = browser.look(path).await;
    let filters = ["&amp;theme=drinks", "&amp;type=fact", "&amp;tag=tea", "&amp;status=all"];
    let all = format!("href=\"/memory?q=drinks{}&amp;days=7\"", filters.concat());
    for filter in filters.into_iter().chain(["&amp;days=7"]) {
        assert!(page.contains(&all.replace(filter, "")), "{filter}");
    }
    assert!(page.contains("(5)"), "as many filters are in use");
    for (query, told) in [
        ("tag=%00", "`tag` contains a NUL character"),
        (&format!("tag={}", "x".repeat(65)), "`tag` has 65 characters; at most 64 are accepted."),
    ] {
        let (status, page) = browser.get(&format!("/memory?{query}")).await;
        assert!(status == 422 && page.contains(told), "{status} {told}");
    }
    for passed_over in ["days=0", "days=36501", "days=9999999999999999999", "days=x", "status=x"] {
        assert!(list(passed_over).await.contains("sencha"), "{passed_over}");
    }
    // In the rows, themes and tags are links.
    assert!(list("").await.contains("href=\"/memory?tag=coffee\""));
}

#[tokio::test]
async fn this_week_counts_what_was_learned_changed_and_expires_of_its_person_alone() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    let (hers, his) = (app.signed_in(&anna).await, app.signed_in(&ben).await);
    let week = async |browser: &Browser, path: &str| {
        between(&browser.look(path).await, "data-live=\"week\"", "data-live=").to_owned()
    };
    let city = async |content: &str| {
        let input =
            json!({ "type": "fact", "content": content, "theme": "profile", "key": "city" });
        anna.call("memory_add", input).await;
    };
    anna.add("An old one.").await;
    app.clock.advance(time::Duration::days(8));
    city("Lives in Lyon.").await;
    city("Lives in Freiburg.").await;
    let short = json!({ "type": "fact", "content": "It rains.", "expires_in_days": 3 });
    anna.call("memory_add", short).await;
    anna.find("rains").await;
    app.activity.flush().await.unwrap();
    ben.add("Ben sails.").await;
    let told = week(&hers, "/memory").await;
    assert!(told.contains("3 learned, 1 changed, 0 expired or faded"), "{told}");
    let (old, new) = (told.find("Lyon").unwrap(), told.find("Freiburg").unwrap());
    assert!(old < new && told.contains("Expiring soon") && told.contains("in 3 days"));
    assert!(told.contains("used once") && !told.contains("An old one."), "{told}");
    let told = week(&his, "/memory").await;
    assert!(told.contains("1 learned, 0 changed") && !told.contains("Lyon"), "{told}");
    assert!(!week(&hers, "/memory?q=Lyon").await.contains("This week"));
    app.clock.advance(time::Duration::days(5));
    assert_eq!(app.run_job("expire").await, 1);
    let told = week(&app.signed_in(&anna).await, "/memory").await;
    assert!(told.contains("1 expired or faded"), "{told}");
}

#[tokio::test]
async fn the_count_of_all_themes_is_only_there_while_all_are_listed() {
    let (app, anna, browser) = TestApp::start_with_browser().await;
    let all_themes = |page: &str| between(page, "<bdi>All themes</bdi>", "</a>").to_owned();
    for n in 0..200 {
        anna.add_to(&format!("theme-{n}"), &format!("note {n}")).await;
    }
    let page = browser.look("/memory").await;
    assert!(all_themes(&page).contains("200"), "{}", all_themes(&page));
    assert!(page.contains(">190 more<"));
    anna.add_to("one-more", "note 200").await;
    app.clock.advance(time::Duration::days(2));
    let day = app.embeddings.now().date();
    app.clock.advance(time::Duration::days(2));
    for path in ["/memory".to_owned(), format!("/memory?as_of={day}")] {
        let page = browser.look(&path).await;
        let entry = all_themes(&page);
        assert!(!entry.contains("number"), "{path}: {entry}");
        assert!(page.contains(">More themes<"), "{path}");
    }
}
