//! What is found of a conversation: by who speaks, and by what stands beside it.

use keepsake::accounts::Viewer;
use keepsake::embedding::{Drained, QueryVector, SpaceId};
use keepsake::search::{RawQuery, ResultPage, SearchQuery};
use serde_json::json;
use time::Duration;

use crate::search_hybrid::{ask_with, at, embedded, found};
use crate::support::{Provider, TestApp, TestUser};

/// As `ask_with`, for a query whose vector was made without this speaker's name.
async fn ask_of(app: &TestApp, user: &TestUser, space: SpaceId, speaker: &str) -> ResultPage {
    let raw = RawQuery { query: "caroline kettle", limit: Some(50), ..RawQuery::default() };
    let query = SearchQuery::parse(raw).unwrap();
    let viewer = Viewer::person(user.id);
    let vector = QueryVector {
        space_id: space,
        is_fitted: true,
        vector: at(0.0),
        tokens: None,
        speakers: vec![speaker.to_owned()],
    };
    app.search.find_with(&viewer, &query, Some(&vector)).await.unwrap()
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_vector_of_a_question_is_made_without_the_names_of_who_speaks() {
    let (app, provider) = (TestApp::shared().await, Provider::start().await);
    let (anna, peter) = (app.user("anna").await, app.user("peter").await);
    for user in [&anna, &peter] {
        app.use_provider(user, &provider, "m").await;
        for n in 0..12 {
            // Paris is named before a colon too, but says nothing of all the rest.
            let who = ["Caroline", "Melanie Fox"][n % 2];
            let is_annas = user.id == anna.id;
            let text = match n {
                0 if is_annas => "Paris: the city".to_owned(),
                _ if is_annas => format!("{who}: remark {n}"),
                _ => format!("remark {n} by {who}"),
            };
            user.add(&text).await;
        }
        assert_eq!(app.drain(user).await, Drained::Done);
    }
    let asked = [
        ("What did Caroline’s sister paint?", "What did sister paint?"),
        ("did MELANIE see Peter?", "did see Peter?"),
        ("Caroline", "Caroline"),
    ];
    for (query, embedded) in asked {
        for _ in 0..2 {
            provider.forget_calls();
            let answer = anna.call("memory_search", json!({ "query": query })).await;
            assert_eq!(answer["mode"], "hybrid");
            let once_asked = provider.texts();
            assert!(once_asked.is_empty() || once_asked == [embedded], "{once_asked:?}");
        }
        provider.forget_calls();
        peter.call("memory_search", json!({ "query": query })).await;
        assert_eq!(provider.texts(), [query]);
    }
    for n in 0..12 {
        anna.add(&format!("Caroline: more {n}")).await;
    }
    // One in 24 is no speaker of this memory.
    provider.forget_calls();
    anna.call("memory_search", json!({ "query": "a week in Paris" })).await;
    assert_eq!(provider.texts(), ["a week in Paris"]);
}

#[tokio::test]
async fn two_speakers_in_one_word_are_no_possessive() {
    let (app, provider) = (TestApp::start().await, Provider::start().await);
    let anna = app.user("anna").await;
    app.use_provider(&anna, &provider, "m").await;
    for text in ["Anna: tea", "Sam: tea", "S: tea"] {
        anna.add(text).await;
    }
    assert_eq!(app.drain(&anna).await, Drained::Done);
    for (query, embedded) in
        [("anna'sam and tea", "' and tea"), ("anna's tea", "tea"), ("anna'sam", "anna'sam")]
    {
        provider.forget_calls();
        let answer = anna.call("memory_search", json!({ "query": query })).await;
        assert_eq!(answer["mode"], "hybrid");
        assert_eq!(provider.texts(), [embedded], "{query}");
    }
}

#[tokio::test]
async fn what_the_named_one_said_comes_before_what_others_said_of_them() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut items = Vec::new();
    for text in [
        "Melanie: Caroline has a kettle",
        "Caroline: I have a kettle",
        "Caroline was given a kettle",
        "A kettle",
    ] {
        let theme = format!("theme-{}", items.len());
        items.push((anna.add_to(&theme, text).await, 20.0));
    }
    let space = embedded(&app, &anna, &items).await;
    let page = ask_of(&app, &anna, space, "caroline").await;
    let speaker = |n: usize| {
        let hit = page.hits.iter().find(|hit| hit.item.id.0 == items[n].0);
        hit.unwrap().explanation.speaker
    };
    assert_eq!([0, 1, 2, 3].map(speaker), [0.0, 0.4, 0.4, 0.0]);
    let mut first = found(&page)[..2].to_vec();
    first.sort();
    assert_eq!(first, [items[1].0, items[2].0]);
    assert_eq!(page.hits[0].score, 1.0);
}

#[tokio::test]
async fn the_answer_is_found_beside_the_question() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut notes = Vec::new();
    for n in 0..60 {
        notes.push((anna.add(&format!("note {n}")).await, 85.0));
    }
    let said = [
        ("an-hour-before", "Tom: Morning", 61),
        ("chat", "Anna: I moved", 0),
        ("chat", "Anna: Where do you live?", 0),
        ("chat", "Tom: In Graz", 0),
        ("chat", "no one says this", 0),
        ("chat", "Tom: Since May", 61),
        ("chat", "Tom: Good evening", 0),
    ];
    let mut items = Vec::new();
    for (theme, text, minutes_after) in said {
        let degrees = if items.len() == 2 { 0.0 } else { 89.0 };
        items.push((anna.add_to(theme, text).await, degrees));
        app.clock.advance(Duration::minutes(minutes_after));
    }
    let space = embedded(&app, &anna, &[&notes[..], &items].concat()).await;
    let raw = RawQuery { query: "xyzzy", limit: Some(50), ..RawQuery::default() };
    let page = ask_with(&app, &anna, Some(space), raw).await;
    let scores = |page: &ResultPage, n: usize| {
        let hit = page.hits.iter().find(|hit| hit.item.id.0 == items[n].0);
        hit.map(|hit| (hit.score * 1e6).round() / 1e6)
    };
    assert_eq!(found(&page)[0], items[2].0);
    // One step before and one after: 0.3 of the question's, which states nothing; what does not belong to it is not brought.
    let expected = [false, true, true, true, false, false, false];
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|n| scores(&page, n).is_some()), expected);
    let why = page.hits[1].explanation;
    assert!(!page.hits[1].is_near);
    assert!((why.neighbours - 0.3 * page.hits[0].explanation.semantic_normalised).abs() < 1e-9);
    // Filters hold for neighbours, too.
    anna.call("memory_archive", json!({ "item_id": items[3].0 })).await;
    let page = ask_with(&app, &anna, Some(space), raw).await;
    assert_eq!(scores(&page, 3), None);
}

#[tokio::test]
async fn whoever_asks_may_set_the_balance_of_meaning_and_words() {
    let (app, anna) = TestApp::start_for("anna").await;
    let (near, word) = (anna.add("green leaves").await, anna.add("the kettle").await);
    let space = embedded(&app, &anna, &[(near, 5.0), (word, 70.0)]).await;
    for (balance, first, weights) in [
        (None, Some(near), (0.65, 0.35)),
        (Some("meaning"), Some(near), (0.65, 0.35)),
        (Some("even"), None, (0.5, 0.5)),
        (Some("words"), Some(word), (0.3, 0.7)),
    ] {
        // A sentence, in which a rare word does not decide.
        let query = "a kettle or a samovar";
        let raw = RawQuery { query, balance, ..RawQuery::default() };
        let page = ask_with(&app, &anna, Some(space), raw).await;
        let why = page.hits[0].explanation;
        let round = |weight: f64| (weight * 100.0).round() / 100.0;
        assert!(first.is_none_or(|first| found(&page)[0] == first), "{balance:?}");
        assert_eq!((round(why.weights.semantic), round(why.weights.lexical)), weights);
    }
    let refused = anna.refused("memory_search", json!({ "query": "x", "balance": "sums" })).await;
    assert_eq!((refused.0, &refused.1["code"]), (422, &json!("invalid_balance")));
    let input = json!({ "query": "x", "balance": "words", "explain": true });
    anna.call("memory_search", input).await;
}
