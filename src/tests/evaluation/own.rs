//! A user's own memory, measured now, by the embeddings of before a rebuild too: nothing of it is kept.

use keepsake::embedding::COMPARED_FOR;
use keepsake::evaluation::{EvaluationError, Measurement};
use keepsake::providers::chat::ChatPurpose;
use time::Duration;

use super::{questioner, remembering};
use crate::chat::{chat, use_server};
use crate::support::{ChatServer, Provider, TestApp, TestUser, change_model};

/// Anna's memories with the vectors of the model `new`, and those of `old` beside them.
async fn rebuilt(count: usize) -> (TestApp, TestUser, Provider) {
    let (app, anna, provider) = remembering(count).await;
    change_model(&app, &anna, &provider, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    provider.forget_calls();
    (app, anna, provider)
}

async fn measure(app: &TestApp, user: &TestUser) -> Measurement {
    app.evaluation.measure(user.id, |_, _| {}).await.unwrap()
}

#[tokio::test]
async fn too_few_memories_are_said_to_be_too_few() {
    let (app, anna, _provider) = remembering(4).await;
    let error = app.evaluation.measure(anna.id, |_, _| {}).await.unwrap_err();
    assert!(matches!(error, EvaluationError::TooFew { questions: 4 }), "{error}");
}

#[tokio::test]
async fn what_serves_is_measured_by_questions_of_a_chat_model_too_counted_under_its_own_name() {
    let (app, anna, _provider) = remembering(20).await;
    let measured = measure(&app, &anna).await;
    assert_eq!((measured.asked.questions, measured.before), (20, None));
    assert!(measured.now.found[2] > 0);
    // Of a chat model's nonsense no question is made.
    let (questioner, nonsense) =
        (questioner().await, ChatServer::saying("I would rather not.").await);
    for (chat, by_model) in [(&nonsense, 0), (&questioner, 20)] {
        use_server(&app, &anna, chat).await;
        let measured = measure(&app, &anna).await;
        assert_eq!((measured.asked.questions, measured.asked.by_model), (20, by_model));
    }
    let overview = chat(&app).overview(anna.id).await.unwrap();
    let by_purpose = &overview.days.last().unwrap().by_purpose;
    assert!(by_purpose.iter().any(|(of, n)| *of == Some(ChatPurpose::Evaluation) && *n > 0));
    let page = app.signed_in(&anna).await.look("/settings/chat").await;
    for told in ["Measuring search", "Everything except this purpose"] {
        assert!(page.contains(told), "{told}");
    }
    // Past the cap of the day words do.
    let spent = app.sql("UPDATE chat_spend SET tokens_in = 200000 WHERE user_id = $1");
    spent.bind(anna.id.0).run().await;
    let asked = questioner.asked().len();
    assert_eq!(measure(&app, &anna).await.asked.by_model, 0);
    assert_eq!(questioner.asked().len(), asked);
}

#[tokio::test]
async fn after_a_rebuild_both_models_are_asked_the_same_questions_about_one_users_memory() {
    let (app, anna, provider) = rebuilt(30).await;
    // Not there before the change: the old vectors could not have found it.
    anna.add("anna waters item31 thing31 garden monday").await;
    let (ben, bens_provider) = (app.user("ben").await, Provider::start().await);
    app.use_provider(&ben, &bens_provider, "bens").await;
    ben.add("ben rows with the quokka on sunday morning").await;
    app.drain(&anna).await;
    app.drain(&ben).await;
    provider.forget_calls();
    bens_provider.forget_calls();
    let measured = measure(&app, &anna).await;
    let before = measured.before.clone().unwrap();
    assert_eq!((before.model.as_str(), measured.now.model.as_str()), ("old", "new"));
    assert_eq!((measured.asked.items, measured.asked.questions), (30, 30));
    for side in [&before, &measured.now] {
        let [first, five, ten] = side.found;
        assert!(0 < first && first <= five && five <= ten && ten <= 30, "{side:?}");
        assert!(side.found_by_meaning[2] > 0, "{side:?}");
    }
    // All of one model, then all of the other; no word that one memory alone has.
    let texts = provider.texts();
    assert_eq!(texts.len(), 60);
    assert_eq!(texts[..30], texts[30..]);
    assert!(texts.iter().all(|text| !text.contains(|c: char| c.is_ascii_digit())), "{texts:?}");
    assert!(measured.tokens.embedding > 0 && measured.tokens.chat == 0);
    assert!(bens_provider.texts().is_empty() && !texts.concat().contains("quokka"));
    app.clock.advance(COMPARED_FOR);
    assert_eq!(measure(&app, &anna).await.before, None);
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_left_out_and_one_that_serves_ends_it() {
    let (app, anna, old) = remembering(12).await;
    let new = Provider::start().await;
    app.use_provider(&anna, &new, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    old.behave(|b| b.status = Some(500));
    let measured = measure(&app, &anna).await;
    assert_eq!((measured.asked.questions, measured.before), (12, None));
    new.behave(|b| b.status = Some(500));
    let error = app.evaluation.measure(anna.id, |_, _| {}).await.unwrap_err();
    assert!(matches!(error, EvaluationError::NothingServes), "{error}");
    // Searches were not told to leave the endpoint alone.
    new.behave(|b| b.status = None);
    assert!(app.embed_query(&anna, "garden").await.vector.is_some());
}
