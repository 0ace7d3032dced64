//! What searches read lies in memory: it is never behind the rows, bounded, and of one user alone.

use std::collections::BTreeSet;
use std::time::Duration;

use keepsake::embedding::Drained;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::support::Sql as _;
use crate::support::{Provider, TestApp, TestUser, Wish, ids};

const WORDS: [&str; 5] = ["kettle", "zeppelin", "orchard", "violin", "harbour"];

/// All that this finds.
async fn found(user: &TestUser, query: &str) -> BTreeSet<i64> {
    let found = ids(&user.call("memory_search", json!({ "query": query, "limit": 50 })).await);
    let once: BTreeSet<i64> = found.iter().copied().collect();
    assert_eq!(once.len(), found.len(), "{query}: {found:?}");
    once
}

/// From now on no memory is loaded; until this is dropped, or sent a `ROLLBACK`.
async fn hold_loads(app: &TestApp) -> PgConnection {
    let mut holding = app.superuser().await;
    let lock = "BEGIN; LOCK TABLE memory_passages IN ACCESS EXCLUSIVE MODE";
    holding.sql(lock).run_all().await;
    holding
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_server_writes_each_finds_at_once_however_many_write_and_nothing_that_is_gone() {
    let (app, anna) = TestApp::start_for("anna").await;
    let twin = app.twin().await;
    let servers = [anna.with_token(&anna.token), anna.at(&twin)];
    let mut live: Vec<(i64, &str)> = Vec::new();
    for step in 0..60 {
        let (writer, word) = (&servers[step % 2], WORDS[step % WORDS.len()]);
        match step % 6 {
            3 => {
                let (id, _) = live.remove(step % live.len());
                writer.call("memory_archive", json!({ "item_id": id })).await;
            }
            4 => {
                let at = step % live.len();
                let content = format!("{word} again, {step}");
                let input = json!({ "item_id": live[at].0, "content": content });
                let id = writer.call("memory_correct", input).await["id"].as_i64().unwrap();
                live[at] = (id, word);
            }
            5 if step % 12 == 5 => {
                // Behind both: neither was told, and still neither shows what is not there.
                let (id, _) = live.remove(0);
                let delete = "DELETE FROM memory_items WHERE $1 IN (id, superseded_by)";
                app.sql(delete).bind(id).run().await;
            }
            _ => live.push((writer.add(&format!("{word} number {step}")).await, word)),
        }
        let all: BTreeSet<i64> = live.iter().map(|(id, _)| *id).collect();
        let of_word = live.iter().filter(|(_, w)| *w == word);
        let of_word: BTreeSet<i64> = of_word.map(|(id, _)| *id).collect();
        for server in &servers {
            assert_eq!(found(server, "*").await, all, "step {step}");
            assert_eq!(found(server, word).await, of_word, "step {step}");
        }
    }
    let work = (0..4_usize).map(|n| {
        let servers = [anna.with_token(&anna.token), anna.at(&twin)];
        async move {
            for step in 0..20 {
                // No word is the stem of another.
                let letter = |n: usize| char::from(b'a' + n as u8);
                let word = format!("zq{}{}x", letter(n), letter(step));
                let id = servers[(n + step) % 2].add(&format!("the {word}")).await;
                for server in &servers {
                    assert_eq!(server.find(&word).await, [id], "{word}");
                }
            }
        }
    });
    futures_util::future::join_all(work).await;
}

#[tokio::test]
async fn a_memory_of_another_time_is_read_anew() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (bees, tea) = (anna.add("bees").await, anna.add("tea").await);
    assert_eq!(anna.find("bees tea").await.len(), 2);
    // As where a backup took the place of the database: its revision runs backwards.
    app.sql(format!("UPDATE memory_items SET status = 'archived' WHERE id = {tea}")).run().await;
    app.sql("UPDATE memory_revisions SET revision = 1, told_from = 0").run().await;
    let any = json!({ "query": "bees tea", "status": "any" });
    assert_eq!(ids(&anna.call("memory_search", any).await).len(), 2);
    assert_eq!(anna.find("bees tea").await, [bees]);
}

#[tokio::test]
async fn indexes_keep_to_their_room_and_every_user_is_answered() {
    const ROOM: usize = 10_000;
    let app = TestApp::start_as(Wish { reader_bytes: ROOM, ..Wish::default() }).await;
    let mut users = Vec::new();
    for name in ["anna", "ben", "carl", "dora", "emil"] {
        let user = app.user(name).await;
        for n in 0..10 {
            user.add(&format!("a kettle of {name}, {n}")).await;
        }
        users.push(user);
    }
    for round in 0..3 {
        for user in &users {
            let name = user.email.split('@').next().unwrap();
            let input = json!({ "query": "kettle", "limit": 50 });
            let answer = user.call("memory_search", input).await;
            let hits = answer["results"].as_array().unwrap();
            assert_eq!(hits.len(), 10, "round {round}");
            assert!(hits.iter().all(|hit| hit["content_snippet"].as_str().unwrap().contains(name)));
            let (residents, bytes) = app.search.reader().held();
            assert!(bytes <= ROOM && bytes > 0, "{residents} take {bytes}");
        }
    }
    let (residents, _) = app.search.reader().held();
    assert!(residents < users.len(), "nobody was dropped: {residents}");
}

/// The hits of a search with all that explains them, but for their distances, which are exact or by a byte a dimension.
async fn ranked(user: &TestUser, input: Value) -> Vec<(i64, bool, f64)> {
    let answer = user.call("memory_search", input).await;
    let hits = answer["results"].as_array().unwrap().iter().map(|hit| {
        let (id, why) = (hit["id"].as_i64().unwrap(), &hit["explain"]);
        (id, why["distance"].is_number(), why["lexical"].as_f64().unwrap_or(0.0))
    });
    let mut hits: Vec<_> = hits.collect();
    // Of vectors that are as far as makes no difference either may come first.
    hits.sort_by_key(|(id, ..)| *id);
    hits
}

#[tokio::test]
async fn a_memory_larger_than_all_the_room_is_answered_alike_and_never_kept() {
    let app = TestApp::start().await;
    let database = Some(app.options.clone());
    let small = TestApp::start_as(Wish { reader_bytes: 4_000, database, ..Wish::default() }).await;
    let (anna, provider) = (app.user("anna").await, Provider::start().await);
    app.use_provider(&anna, &provider, "model").await;
    for n in 0..40 {
        let who = ["Caroline", "Melanie"][n % 2];
        let theme = ["general", "travel"][n % 3 % 2];
        anna.add_to(theme, &format!("{who}: the {} and the {n}th cup", WORDS[n % 5])).await;
    }
    assert_eq!(app.drain(&anna).await, Drained::Done);
    let there = anna.at(&small);
    for query in [
        json!({ "query": "*", "limit": 50 }),
        json!({ "query": "what did Caroline say of the violin", "explain": true, "limit": 50 }),
        json!({ "query": "orchard", "explain": true, "theme": "travel", "limit": 50 }),
        json!({ "query": "rchar", "explain": true, "limit": 50 }),
    ] {
        let here = ranked(&anna, query.clone()).await;
        assert_eq!(here, ranked(&there, query.clone()).await, "{query}");
        assert!(!here.is_empty());
        assert_eq!(small.search.reader().held().1, 0);
    }
    let metrics = small.browser().look("/metrics").await;
    let large = metrics.lines().find(|line| line.starts_with("keepsake_searches_large_total "));
    assert!(large.unwrap().split(' ').nth(1).unwrap().parse::<u64>().unwrap() >= 4);
    for name in [
        "keepsake_indexes 1",
        "keepsake_index_bytes 0",
        "keepsake_index_load_seconds_count{kept=\"false\"}",
    ] {
        assert!(metrics.contains(name), "{name}");
    }
}

#[tokio::test]
async fn a_load_that_is_given_up_or_fails_leaves_nothing_behind() {
    let (app, anna) = TestApp::start_for("anna").await;
    let bees = anna.add("bees").await;
    let mut holding = hold_loads(&app).await;
    // Given up by whoever asked.
    let asking = tokio::time::timeout(Duration::from_millis(300), anna.find("bees"));
    assert!(asking.await.is_err());
    app.until_blocked(1).await;
    // The connection of the load is cut off.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0";
    app.sql(cut).run_all().await;
    app.until_blocked(0).await;
    assert_eq!(app.search.reader().held().1, 0);
    holding.sql("ROLLBACK").run_all().await;
    assert_eq!(anna.find("bees").await, [bees]);
    assert!(app.search.reader().held().1 > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_memory_is_loaded_others_are_answered_and_the_load_is_shared() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    let (bees, tea) = (anna.add("bees").await, ben.add("tea").await);
    assert_eq!(ben.find("tea").await, [tea]);
    let mut holding = hold_loads(&app).await;
    // More than there are connections: who waits holds none.
    let searches = futures_util::future::join_all((0..4).map(|_| anna.find("bees")));
    let meanwhile = async {
        app.until_blocked(1).await;
        for _ in 0..5 {
            assert_eq!(ben.find("tea").await, [tea]);
        }
        holding.sql("ROLLBACK").run_all().await;
    };
    let (answers, ()) = tokio::join!(searches, meanwhile);
    assert!(answers.iter().all(|found| *found == [bees]));
}

#[tokio::test]
async fn of_a_user_who_is_disabled_or_erased_nothing_stays_in_memory() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.make_admin(&anna).await;
    ben.add("tea").await;
    assert_eq!(ben.find("tea").await.len(), 1);
    assert_eq!(app.search.reader().held().0, 1);
    let browser = app.signed_in(&anna).await;
    let path = format!("/admin/users/{}", ben.id.0);
    for act in ["disable", "enable"] {
        let answer = browser.post(&path, &[("action", act)]).await;
        assert!(answer.status().is_success(), "{act}: {}", answer.status());
        assert_eq!(app.search.reader().held(), (0, 0));
    }
    // A word that is erased for good is in no index of this server any more.
    let gone = anna.add("a secret").await;
    assert_eq!(anna.find("secret").await, [gone]);
    assert_eq!(app.search.reader().held().0, 1);
    app.delete_item(&browser, gone).await;
    assert_eq!(app.search.reader().held(), (0, 0));
}

#[tokio::test]
async fn a_memory_that_grows_past_the_room_is_let_go_and_answered() {
    const ROOM: usize = 6_000;
    let app = TestApp::start_as(Wish { reader_bytes: ROOM, ..Wish::default() }).await;
    let anna = app.user("anna").await;
    let mut largest = 0;
    for n in 0..40_usize {
        anna.add(&format!("a kettle, {n}")).await;
        let input = json!({ "query": "kettle", "limit": 50 });
        assert_eq!(ids(&anna.call("memory_search", input).await).len(), n + 1);
        let (_, bytes) = app.search.reader().held();
        largest = largest.max(bytes);
        assert!(bytes <= ROOM, "{bytes}");
    }
    assert!(largest > 0, "it never was in memory");
    assert_eq!(app.search.reader().held().1, 0, "it still is");
}

#[tokio::test]
async fn what_is_embedded_again_is_listed_as_pending_at_once() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    provider.behave(|b| b.poison = Some("poison"));
    anna.add("the poison one").await;
    app.drain(&anna).await;
    let browser = app.signed_in(&anna).await;
    let rows = async |state: &str| {
        let page = browser.look(&format!("/memory?embedding={state}")).await;
        page.matches("data-row=").count()
    };
    assert_eq!((rows("error").await, rows("pending").await), (1, 0));
    app.embeddings.retry(anna.id).await.unwrap();
    assert_eq!((rows("error").await, rows("pending").await), (0, 1));
}
