use serde_json::{Value, json};
use time::Duration;

use super::{add, with};
use crate::support::{TestApp, TestUser, ids};

async fn finds(user: &TestUser, content: &str, queries: &[&str]) {
    let id = user.add(content).await;
    for query in queries {
        assert!(user.find(query).await.contains(&id), "{query:?} in {content:?}");
    }
}

async fn search(user: &TestUser, input: Value) -> Value {
    user.call("memory_search", input).await
}

#[tokio::test]
async fn star_and_empty_list_the_newest_first() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut added = Vec::new();
    for n in 0..3 {
        added.push(anna.add(&format!("item {n}")).await);
        app.clock.advance(Duration::seconds(1));
    }
    added.reverse();
    for input in
        [json!({ "query": "*" }), json!({ "query": "" }), json!({ "query": " " }), json!({})]
    {
        let answer = search(&anna, input).await;
        assert_eq!((ids(&answer), &answer["mode"]), (added.clone(), &json!("recent")));
        assert_eq!(answer["results"][0]["score"], 0.0);
        assert_eq!(answer["cursor"], json!(null));
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_cursor_reads_on_to_the_end_without_gaps_even_at_equal_times() {
    let (_, anna) = TestApp::with_user().await;
    let mut added = Vec::new();
    for n in 0..25 {
        added.push(anna.add(&format!("item {n}")).await);
    }
    added.reverse();
    let mut read = Vec::new();
    let mut input = json!({ "query": "*", "limit": 10 });
    while input.get("cursor") != Some(&json!(null)) {
        let answer = search(&anna, input.clone()).await;
        read.extend(ids(&answer));
        // What is added meanwhile is newer, and shifts nothing.
        anna.add(&format!("meanwhile {}", read.len())).await;
        input["cursor"] = answer["cursor"].clone();
    }
    assert_eq!(read, added);
}

#[tokio::test]
async fn a_cursor_reads_on_among_items_from_before_1970() {
    let (app, anna) = TestApp::start_for("anna").await;
    let added = [anna.add("one").await, anna.add("two").await];
    // 1969-07-20 20:17:40.5 UTC, and for each id a hundred years before.
    let before = "created_at = to_timestamp(-14182939.5 - id * 3155760000)";
    app.sql(format!("UPDATE memory_items SET {before}")).run().await;
    let list = |cursor: &Value| json!({ "query": "*", "limit": 1, "cursor": cursor });
    let first = search(&anna, list(&json!(null))).await;
    assert_eq!(ids(&first), added[..1]);
    assert_eq!(ids(&search(&anna, list(&first["cursor"])).await), added[1..]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_hit_says_what_an_agent_needs_to_judge_it() {
    let (_, anna) = TestApp::with_user().await;
    let input = json!({ "type": "preference", "content": "Prefers oolong tea.", "theme": "Food", "tags": ["drink"] });
    let id = add(&anna, input).await["id"].clone();
    let answer = search(&anna, json!({ "query": "oolong", "explain": true })).await;
    assert_eq!(answer["mode"], "fts");
    let by_words = "no embedding provider is set up, so this was found by words alone";
    assert_eq!(answer["degraded"], by_words);
    let hit = &answer["results"][0];
    for (field, value) in [
        ("id", id),
        ("theme", json!("food")),
        ("type", json!("preference")),
        ("content_snippet", json!("Prefers oolong tea.")),
        ("signals", json!({ "fts": true, "semantic": false })),
        // A lone signal counts 1.
        ("score", json!(1.0)),
        ("source", json!("agent")),
        ("status", json!("active")),
        ("tags", json!(["drink"])),
    ] {
        assert_eq!(hit[field], value, "{field}");
    }
    assert!(hit["created_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(hit["explain"]["words_matched"], 1);
    let plain = search(&anna, json!({ "query": "oolong" })).await;
    assert!(plain["results"][0].get("explain").is_none());
}

#[tokio::test]
async fn exact_tokens_are_found() {
    let (_app, anna) = TestApp::start_for("anna").await;
    let max_retry = ["max_retry_count", "MAX_RETRY_COUNT", "retry"];
    finds(&anna, "The env var is MAX_RETRY_COUNT, set to 3", &max_retry).await;
    finds(&anna, "Login fails with ERR_5021 on staging", &["ERR_5021", "err_5021", "5021"]).await;
    finds(&anna, "Import stops at ERR-6077.", &["ERR-6077", "6077"]).await;
    let address = ["192.168.1.168", "8443", "192.168.1.168:8443"];
    finds(&anna, "The NAS is at 192.168.1.168:8443", &address).await;
    finds(&anna, "Write to anna.m@example.com", &["anna.m@example.com", "example.com"]).await;
    finds(&anna, "Pinned to tokio 1.54.1-rc.2", &["1.54.1", "1.54.1-rc.2", "tokio"]).await;
    let file = ["db.rs", "src/db.rs", "/home/anna/keepsake/src/db.rs"];
    finds(&anna, "Bug is in /home/anna/keepsake/src/db.rs", &file).await;
    finds(&anna, "Written in C++ and C#", &["c++", "C#"]).await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_exact_token_does_not_match_its_neighbours() {
    let (_, anna) = TestApp::with_user().await;
    let right = anna.add("Login fails with ERR_5021").await;
    let wrong = anna.add("Login fails with ERR_5022").await;
    assert_eq!(anna.find("ERR_5021").await[0], right);
    assert!(!anna.find("5021").await.contains(&wrong));
}

#[tokio::test(crate = "crate::support::shared")]
async fn stems_are_found_after_the_exact_word_and_of_several_words_the_rarer_weighs_more() {
    let (_, anna) = TestApp::with_user().await;
    let stem = anna.add("The deployment runs on Fridays").await;
    let exact = anna.add("She deploys whenever she likes").await;
    anna.add("Unrelated").await;
    assert_eq!(anna.find("deploys").await, [exact, stem]);
    for n in 0..20 {
        anna.add(&format!("project note number {n}")).await;
    }
    let rare = anna.add("zeppelin in the shed").await;
    let found = anna.find("project zeppelin").await;
    assert_eq!(found[0], rare, "one rare word outweighs a common one");
    assert_eq!(found.len(), 10);
}

#[tokio::test(crate = "crate::support::shared")]
async fn stop_words_leave_unless_nothing_else_remains() {
    let (_, anna) = TestApp::with_user().await;
    let tea = anna.add("what she drinks is tea").await;
    let hamlet = anna.add("to be or not to be").await;
    assert_eq!(anna.find("what is the tea").await, [tea]);
    assert_eq!(anna.find("to be or not").await, [hamlet]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn other_scripts_and_accents_are_found() {
    let (_, anna) = TestApp::with_user().await;
    finds(&anna, "我喜欢喝乌龙茶，不喜欢咖啡", &["乌龙茶", "咖啡", "茶"]).await;
    finds(&anna, "東京タワーの近くに住んでいます", &["東京タワー", "住んで", "塔 東京"]).await;
    finds(&anna, "커피보다 차를 좋아한다", &["커피", "좋아"]).await;
    finds(&anna, "Café à Orléans, rendez-vous à midi", &["cafe", "CAFÉ", "orleans", "rendez-vous"])
        .await;
    finds(&anna, "Обожает чай с лимоном", &["чай", "ЧАЙ"]).await;
    finds(&anna, "Straße nach Zürich", &["strasse", "zurich"]).await;
    finds(&anna, "تفضل الشاي الأخضر", &["الشاي"]).await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn tags_are_found_by_their_words() {
    let (_, anna) = TestApp::with_user().await;
    let input = json!({ "type": "fact", "content": "Ordered a bow.", "tags": ["cello-practice"] });
    let id = add(&anna, input).await["id"].as_i64().unwrap();
    assert_eq!(anna.find("cello").await, [id]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn where_no_word_matches_a_substring_of_at_most_64_characters_does() {
    let (_, anna) = TestApp::with_user().await;
    let id = anna.add("Uses Kubernetes with 100% of nodes").await;
    let answer = search(&anna, json!({ "query": "bernet", "explain": true })).await;
    assert_eq!(ids(&answer), [id]);
    assert_eq!(answer["results"][0]["explain"]["substring"], true);
    assert!(anna.find("%_%").await.is_empty(), "wildcards are letters here");
    anna.add("bernet is a surname").await;
    assert!(!anna.find("bernet").await.contains(&id), "words come first");
    // A longer one is looked for by its first 64 characters.
    let shared = "abcdefgh".repeat(8);
    // Its words begin otherwise, so that none of them matches.
    let id = anna.add(&format!("The key is x{shared}tail")).await;
    assert_eq!(anna.find(&format!("{shared}another")).await, [id]);
    assert!(anna.find(&format!("{}x", &shared[..63])).await.is_empty());
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_substring_is_also_looked_for_in_the_key() {
    let (_, anna) = TestApp::with_user().await;
    let input =
        json!({ "type": "fact", "key": "wifi_passphrase", "content": "true", "theme": "home" });
    let id = add(&anna, input).await["id"].as_i64().unwrap();
    anna.add("Uses Kubernetes").await;
    for query in ["fi_pass", "FI_PASS", "ssphrase fi_p"] {
        assert_eq!(anna.find(query).await, [id], "{query}");
    }
    let answer = search(&anna, json!({ "query": "fi_pass", "theme": "home", "explain": true }));
    let answer = answer.await;
    assert_eq!(answer["results"][0]["explain"]["substring"], true);
    assert_eq!(answer["results"][0]["content_snippet"], "wifi_passphrase: true");
}

#[tokio::test(crate = "crate::support::shared")]
async fn archived_items_are_hidden_from_search_unless_asked_for() {
    let (_, anna) = TestApp::with_user().await;
    let old = anna.add("tea from the old shop").await;
    let new = anna.add("tea from the new shop").await;
    anna.call("memory_archive", json!({ "item_id": old })).await;
    for query in ["tea", "*"] {
        assert_eq!(anna.find(query).await, [new]);
        for (status, expected) in
            [("active", vec![new]), ("archived", vec![old]), ("any", vec![old, new])]
        {
            let mut found = ids(&search(&anna, json!({ "query": query, "status": status })).await);
            found.sort_unstable();
            assert_eq!(found, expected, "{query} {status}");
        }
    }
}

#[tokio::test]
async fn filters_by_theme_types_and_recency_work_with_and_without_words() {
    let (app, anna) = TestApp::start_for("anna").await;
    let old = anna.add_to("work", "tea break at ten").await;
    app.clock.advance(Duration::days(10));
    let work = anna.add_to("work", "tea break at four").await;
    let home = json!({ "type": "preference", "content": "green tea", "theme": "home" });
    let home = add(&anna, home).await["id"].as_i64().unwrap();
    for query in ["tea", "*"] {
        for (filter, expected) in [
            (json!({ "theme": "work" }), vec![old, work]),
            (json!({ "theme": " WORK " }), vec![old, work]),
            (json!({ "types": ["preference"] }), vec![home]),
            (json!({ "types": ["preference", "fact"], "recency_days": 5 }), vec![work, home]),
            (json!({ "types": [] }), vec![old, work, home]),
            // An unknown theme is empty, and no error.
            (json!({ "theme": "nowhere" }), vec![]),
        ] {
            let input = with(filter, json!({ "query": query }));
            let mut found = ids(&search(&anna, input.clone()).await);
            found.sort_unstable();
            assert_eq!(found, expected, "{input}");
        }
        let one = search(&anna, json!({ "query": query, "limit": 1 })).await;
        assert_eq!(ids(&one).len(), 1, "{query}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_filter_applies_before_the_fifty_candidates() {
    let (_, anna) = TestApp::with_user().await;
    let remark = "a long remark in which, after many other words, tea is named once";
    let rare = anna.add_to("quiet", remark).await;
    for n in 0..60 {
        anna.add_to("loud", &format!("tea tea tea {n}")).await;
    }
    let all = json!({ "query": "tea", "limit": 50 });
    let of_theme = with(all.clone(), json!({ "theme": "quiet" }));
    assert_eq!(ids(&search(&anna, of_theme).await), [rare]);
    assert_eq!(ids(&search(&anna, all).await).len(), 50);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_long_item_is_shown_around_the_word_that_matched() {
    let (_, anna) = TestApp::with_user().await;
    anna.add(&format!("{} the zeppelin {}", "hay ".repeat(300), "hay ".repeat(300))).await;
    let answer = search(&anna, json!({ "query": "zeppelin" })).await;
    let snippet = answer["results"][0]["content_snippet"].as_str().unwrap();
    assert!(snippet.contains("zeppelin") && snippet.chars().count() <= 282, "{snippet}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn odd_queries_find_nothing_and_break_nothing() {
    let (_, anna) = TestApp::with_user().await;
    anna.add("something").await;
    for query in ["'", "\\", "' | '", "!!!", "a & b | !c", "🦀", ":*", "--", "$1", "\u{202e}"] {
        assert!(anna.find(query).await.is_empty(), "{query:?}");
    }
    anna.find(&"word ".repeat(400)).await;
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_second_user_finds_nothing_and_rarity_is_counted_among_ones_own_items() {
    let (_, anna, ben) = TestApp::with_users().await;
    anna.add("tea at ten in the kitchen").await;
    for query in ["tea", "*", "", "kitche"] {
        for status in ["active", "archived", "any"] {
            let input = json!({ "query": query, "status": status, "explain": true });
            let answer = search(&ben, input).await;
            assert_eq!(answer["results"], json!([]), "{query:?} {status}");
            assert_eq!(answer["cursor"], json!(null));
        }
    }
    let find = async || {
        let answer = search(&anna, json!({ "query": "tea", "explain": true })).await;
        answer["results"][0]["explain"]["lexical"].as_f64().unwrap()
    };
    let before = find().await;
    for n in 0..50 {
        ben.add(&format!("tea {n}")).await;
    }
    assert_eq!(find().await, before);
}
