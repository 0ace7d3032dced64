//! A user's own memory, measured now: nothing of it is kept.

use keepsake::evaluation::EvaluationError;

use super::{evaluation, questioner, with_memories};

use crate::chat::use_server;
use crate::support::{ChatServer, Provider, TestApp};

#[tokio::test]
async fn what_serves_is_measured_and_nothing_is_kept() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 12).await;
    let measured = evaluation(&app).measure(anna.id, |_, _| {}).await.unwrap();
    assert_eq!((measured.asked.questions, measured.before), (12, None));
    assert!(measured.now.found[2] > 0);
    assert_eq!(evaluation(&app).latest(anna.id).await.unwrap(), None);
}

#[tokio::test]
async fn too_few_memories_are_said_to_be_too_few() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 4).await;
    let error = evaluation(&app).measure(anna.id, |_, _| {}).await.unwrap_err();
    assert!(matches!(error, EvaluationError::TooFew { questions: 4 }), "{error}");
}

#[tokio::test]
async fn a_chat_model_puts_some_of_the_questions_and_its_nonsense_none() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 20).await;
    let chat = questioner().await;
    use_server(&app, &anna, &chat).await;
    let measured = evaluation(&app).measure(anna.id, |_, _| {}).await.unwrap();
    assert_eq!((measured.asked.questions, measured.asked.by_model), (20, 20));
    let nonsense = ChatServer::saying("I would rather not.").await;
    use_server(&app, &anna, &nonsense).await;
    let measured = evaluation(&app).measure(anna.id, |_, _| {}).await.unwrap();
    assert_eq!((measured.asked.questions, measured.asked.by_model), (20, 0));
}
