//! What was embedded before is not embedded again: a model that is chosen again, a text that is known.

use keepsake::embedding::{COMPARED_FOR, Drained, RETIRED_FOR, SEARCHED_FOR, Saved};
use serde_json::json;
use time::Duration;

use super::{all_ready, with_provider};
use crate::support::{Provider, TestApp, TestUser};

const TEXTS: [&str; 3] = ["Anna keeps bees.", "She lives in Bern.", "Tea, not coffee."];

/// Anna's memories, embedded by the first of these models and then by each of the next.
async fn embedded_by(models: &[&str]) -> (TestApp, TestUser, Provider) {
    let (app, anna, provider) = with_provider(models[0]).await;
    for text in TEXTS {
        anna.add(text).await;
    }
    app.drain(&anna).await;
    for model in &models[1..] {
        app.use_provider(&anna, &provider, model).await;
        app.drain(&anna).await;
    }
    provider.forget_calls();
    (app, anna, provider)
}

async fn are_all_ready(app: &TestApp, anna: &TestUser) -> bool {
    all_ready(app, anna).await.is_some_and(|vectors| vectors > 0)
}

#[tokio::test]
async fn a_model_that_is_chosen_again_embeds_only_what_came_since() {
    let (app, anna, provider) = embedded_by(&["old", "new"]).await;
    let before = app.vectors(&anna, "retired").await;
    assert_eq!(before.len(), 3);
    anna.add("She rows on Sundays.").await;
    app.drain(&anna).await;
    provider.forget_calls();
    app.clock.advance(RETIRED_FOR - Duration::minutes(1));

    let asked = app.save_endpoint(&anna, &provider.url(), "old", "", false).await;
    let Saved::AskFirst { texts, kept, .. } = asked else { panic!("{asked:?}") };
    assert_eq!((texts.memories, kept), (4, 3));
    app.use_provider(&anna, &provider, "old").await;
    app.drain(&anna).await;
    assert_eq!(provider.texts(), ["She rows on Sundays."]);
    assert!(are_all_ready(&app, &anna).await);
    // Found as before, by the vectors of this model.
    let query = app.embed_query(&anna, "bees").await;
    assert!(query.vector.is_some() && query.degraded.is_none());
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert_eq!(overview.serving.unwrap().settings.endpoint.model, "old");
}

#[tokio::test]
async fn a_known_text_that_comes_again_is_not_sent_and_what_searches_see_is_told() {
    let (app, anna, provider) = embedded_by(&["old"]).await;
    let first = app.vectors(&anna, "active").await[0].0;
    anna.call("memory_archive", json!({ "item_id": first })).await;
    let again = anna.add(TEXTS[0]).await;
    assert_ne!(first, again);
    let told: i64 = app.sql("SELECT revision FROM memory_revisions").value().await;
    app.drain(&anna).await;
    assert!(provider.texts().is_empty());
    assert!(are_all_ready(&app, &anna).await);
    let changed = app.sql("SELECT source_id FROM memory_changes WHERE revision > $1");
    assert_eq!(changed.bind(told).values::<i64>().await, [again]);
    let vectors = app.sql(
        "SELECT count(DISTINCT embedding::text) FROM memory_embeddings WHERE source_id = ANY ($1)",
    );
    assert_eq!(vectors.bind([first, again]).value::<i64>().await, 1);
}

#[tokio::test]
async fn another_user_s_vectors_are_known_to_nobody_else() {
    let (app, _, provider) = embedded_by(&["old"]).await;
    let ben = app.user("ben").await;
    app.use_provider(&ben, &provider, "old").await;
    ben.add(TEXTS[0]).await;
    app.drain(&ben).await;
    assert_eq!(provider.texts(), [TEXTS[0]]);
}

#[tokio::test]
async fn a_rebuild_that_its_user_asks_for_makes_every_vector_anew_and_those_of_before_count_no_more()
 {
    // "old" is known from before, and serves again.
    let (app, anna, provider) = embedded_by(&["old", "new", "old"]).await;
    app.clock.advance(Duration::seconds(1));
    let rebuilt = app.embeddings.rebuild(anna.id).await.unwrap();
    assert_eq!(rebuilt, Saved::Rebuilding { texts: 3 });
    app.clock.advance(Duration::seconds(1));
    app.drain(&anna).await;
    assert_eq!(provider.texts().len(), 3);
    // Nor for what is pending from now on, though the vectors of before are still there.
    let first = app.vectors(&anna, "active").await[0].0;
    let forgotten = "UPDATE memory_embeddings SET state = 'pending', embedding = NULL
         WHERE source_id = $1 AND space_id = (SELECT id FROM embedding_spaces WHERE state = 'active')";
    app.sql(forgotten).bind(first).run().await;
    provider.forget_calls();
    app.drain(&anna).await;
    assert_eq!(app.vectors(&anna, "retired").await.len(), 6);
    assert_eq!(provider.texts(), [TEXTS[0]]);
}

#[tokio::test]
async fn where_the_model_answers_another_width_by_now_everything_is_made_anew() {
    let (app, anna, provider) = embedded_by(&["old", "new"]).await;
    provider.behave(|b| b.width *= 2);
    app.use_provider(&anna, &provider, "old").await;
    anna.add("She rows on Sundays.").await;
    assert!(matches!(app.drain(&anna).await, Drained::Later(_)));
    provider.forget_calls();
    app.clock.advance(Duration::minutes(1));
    app.drain(&anna).await;
    let texts = provider.texts();
    assert!(TEXTS.iter().all(|text| texts.contains(&(*text).to_owned())), "{texts:?}");
    assert!(are_all_ready(&app, &anna).await);
    let overview = app.embeddings.overview(anna.id).await.unwrap();
    assert_eq!(overview.serving.unwrap().settings.endpoint.model, "old");
}

#[tokio::test]
async fn vectors_that_are_taken_over_stay_until_they_are() {
    let (app, anna, provider) = embedded_by(&["a", "b"]).await;
    app.use_provider(&anna, &provider, "a").await;
    // Its time is over before the job comes to it.
    app.clock.advance(RETIRED_FOR + Duration::days(1));
    app.drain(&anna).await;
    assert!(provider.texts().is_empty());
    assert!(are_all_ready(&app, &anna).await);
}

#[tokio::test]
async fn the_key_of_what_served_before_is_kept_for_a_day() {
    let (app, anna, provider) = embedded_by(&["old"]).await;
    provider.behave(|b| b.key = Some("sk-old"));
    app.save_endpoint(&anna, &provider.url(), "old", "sk-old", true).await;
    provider.behave(|b| b.key = Some("sk-new"));
    app.save_endpoint(&anna, &provider.url(), "new", "sk-new", true).await;
    app.drain(&anna).await;
    let keys = async || {
        app.count("embedding_spaces WHERE state = 'retired' AND sealed_key IS NOT NULL").await
    };
    assert_eq!(keys().await, 1);
    app.clock.advance(COMPARED_FOR + Duration::seconds(1));
    assert_eq!(app.embeddings.sweep().await.unwrap(), 1);
    app.drain(&anna).await;
    assert_eq!(keys().await, 0);
    assert_eq!(app.vectors(&anna, "retired").await.len(), 3);
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn two_retired_spaces_are_kept_and_what_was_replaced_while_it_is_compared() {
    let (app, anna, provider) = embedded_by(&["a", "b", "c", "d"]).await;
    app.clock.advance(SEARCHED_FOR + Duration::seconds(1));
    app.drain(&anna).await;
    assert_eq!(retired(&app).await, ["c", "b"]);
    app.use_provider(&anna, &provider, "c").await;
    app.drain(&anna).await;
    assert!(provider.texts().is_empty());
    // "c" serves again, and has what it had before.
    assert_eq!(retired(&app).await, ["d", "b"]);
    // Rebuilt by itself, it can be compared with what it was for a day.
    app.clock.advance(SEARCHED_FOR + Duration::seconds(1));
    app.embeddings.rebuild(anna.id).await.unwrap();
    app.drain(&anna).await;
    assert_eq!(retired(&app).await, ["c", "d", "b"]);
    app.clock.advance(COMPARED_FOR + Duration::seconds(1));
    assert_eq!(app.embeddings.sweep().await.unwrap(), 1);
    app.drain(&anna).await;
    assert_eq!(retired(&app).await, ["d", "b"]);
    assert_eq!(app.embeddings.sweep().await.unwrap(), 0);
}

/// Models of retired spaces, the last first.
async fn retired(app: &TestApp) -> Vec<String> {
    app.sql("SELECT model FROM embedding_spaces WHERE state = 'retired' ORDER BY retired_at DESC, id DESC").values().await
}

#[tokio::test]
async fn a_key_is_embedded_and_where_it_was_not_the_builtin_model_does_and_others_once_asked() {
    let (app, anna, provider) = with_provider("old").await;
    let dark = json!({ "type": "fact", "content": "true", "key": "dark_ui" });
    let id = anna.added(dark).await;
    app.drain(&anna).await;
    assert_eq!(provider.texts(), ["dark_ui: true"]);
    let upgraded = async || {
        app.sql("UPDATE memory_passages SET key_chars = NULL, content_hash = '\\x01';
             INSERT INTO memory_passages_due (user_id, sources) SELECT user_id, 1 FROM memory_items").run_all().await;
        provider.forget_calls();
        app.run_job("passages").await;
    };
    upgraded().await;
    app.drain(&anna).await;
    assert!(provider.texts().is_empty() && are_all_ready(&app, &anna).await);
    let (browser, path) = (app.signed_in(&anna).await, "/settings/embeddings");
    assert!(browser.look(path).await.contains("Embed 1 memory again, with key"));
    browser.says(200, path, &[("action", "embed_keys")], "1 memory will be embedded again").await;
    app.drain(&anna).await;
    assert_eq!(provider.texts(), ["dark_ui: true"]);
    assert!(!browser.look(path).await.contains("again, with key"));
    app.sql("UPDATE embedding_spaces SET provider_type = 'builtin'").run().await;
    upgraded().await;
    assert_eq!(app.vectors(&anna, "active").await, [(id, "pending".to_owned())]);
}

#[tokio::test]
async fn terms_are_made_again_and_nothing_is_embedded_again_for_them() {
    let (app, anna, provider) = with_provider("old").await;
    anna.add("Die Häuser gegenüber weichen einem Park.").await;
    app.drain(&anna).await;
    provider.forget_calls();
    app.sql("UPDATE memory_passages SET terms = ''").run().await;
    app.sql(include_str!("../../../migrations/20261222000100_words_of_languages.sql")).run().await;
    app.run_job("passages").await;
    app.drain(&anna).await;
    assert!(provider.texts().is_empty() && are_all_ready(&app, &anna).await);
    assert_eq!(app.count("memory_passages WHERE terms = ''").await, 0);
}
