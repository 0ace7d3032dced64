//! Where a memory comes from and what came of it, on its page: what was said, in which session, what is told of that, what took
//! its place, and what a dream and a week's reflection made of it.

use serde_json::json;
use time::Duration;

use super::reflection::to_sunday;
use super::{erase_session, told, user_says, with_model};
use crate::support::{Browser, TestApp};
use crate::year::model;

async fn id_of(app: &TestApp, what: &str) -> i64 {
    app.sql(format!("SELECT {what}")).value().await
}

/// The graph of a memory's page.
async fn graph(browser: &Browser, id: i64) -> String {
    let page = browser.look(&format!("/memory/{id}")).await;
    let from = page.find("lineage-title").unwrap_or(page.len());
    let until = page[from..].find("</section>").map_or(from, |at| from + at);
    page[from..until].to_owned()
}

#[tokio::test]
async fn a_memory_shows_what_it_was_read_from_and_what_was_made_of_it() {
    let model = model::server().await;
    let (app, anna) = with_model(&model).await;
    for (n, said) in [
        "I live in Graz now.",
        "I live in Linz now.",
        "We are working on the garden shed these weeks.",
        "I have 4 hives at the moment.",
        "I prefer linden tea over black tea.",
    ]
    .into_iter()
    .enumerate()
    {
        let answer = json!({ "id": "m0", "role": "assistant", "content": "Good morning! What is it that we do today?" });
        told(&anna, &format!("talk {n}"), &[answer, user_says("m1", said)]).await;
        app.clock.advance(Duration::minutes(5));
        app.run_due().await;
    }
    app.clock.advance(Duration::minutes(15));
    app.run_due().await;
    to_sunday(&app);
    app.run_due().await;

    let graz = id_of(&app, "id FROM memory_items WHERE content = 'Lives in Graz'").await;
    let linz = id_of(&app, "id FROM memory_items WHERE content = 'Lives in Linz'").await;
    let session = id_of(&app, "id FROM sessions WHERE external_id = 'talk 1'").await;
    let of_session = format!("source_id FROM episodes WHERE session_id = {session}");
    let episode = id_of(&app, &of_session).await;
    let dream = id_of(&app, "document_id FROM dreams").await;
    let week = id_of(&app, "id FROM memory_items WHERE type = 'reflection'").await;
    let browser = app.signed_in(&anna).await;
    let of_linz = graph(&browser, linz).await;
    for told in [
        &*format!("href=\"/sessions/{session}"),
        "#m2\"",
        "session: talk 1",
        "turn · stated by you: I live in Linz now.",
        "this · stated by you: home_city: Lives in Linz",
        "session has turn",
        "turn was read for this",
        &format!("href=\"/memory/{graz}\""),
        "replaced memory was replaced by this",
        &format!("href=\"/memory/{episode}\""),
        "session is stated by episode",
        &format!("href=\"/documents/{dream}\""),
        "episode was read for dream",
        "dream · stated by an agent",
        &format!("href=\"/memory/{week}\""),
        "this was read for reflection",
    ] {
        assert!(of_linz.contains(told), "{told}: {of_linz}");
    }
    for (id, told) in [
        (graz, "this was replaced by newer memory"),
        (graz, "newer memory · stated by you: home_city: Lives in Linz"),
        (week, "memory was read for this"),
        (episode, "this was read for dream"),
    ] {
        let graph = graph(&browser, id).await;
        assert!(graph.contains(told), "{told}: {graph}");
    }
    // A memory that nothing led to has none.
    let alone = anna.add("Keeps a diary.").await;
    assert_eq!(graph(&browser, alone).await, "");
    // Of two boxes no picture is drawn.
    for pet in ["Has a cat.", "Has a dog."] {
        let pet = json!({ "type": "fact", "content": pet, "key": "pet" });
        anna.call("memory_add", pet).await;
    }
    let dog = id_of(&app, "id FROM memory_items WHERE content = 'Has a dog.'").await;
    let of_dog = graph(&browser, dog).await;
    assert!(of_dog.contains("was replaced by") && of_dog.contains("Has a cat."), "{of_dog}");
    assert!(!of_dog.contains("<svg"), "{of_dog}");

    // What is erased is not in it, nor in what stood on it.
    erase_session(&app, &anna, "talk 1").await;
    let of_linz = graph(&browser, linz).await;
    for gone in ["talk 1", "episode", "dream"] {
        assert!(!of_linz.contains(gone), "{gone}: {of_linz}");
    }
    assert!(of_linz.contains(&format!("href=\"/memory/{graz}\"")));
}
