//! A user's own memory, measured now: nothing of it is kept.

use keepsake::evaluation::EvaluationError;

use super::{questioner, remembering};
use crate::chat::use_server;
use crate::support::ChatServer;

#[tokio::test]
async fn too_few_memories_are_said_to_be_too_few() {
    let (app, anna, _provider) = remembering(4).await;
    let error = app.evaluation.measure(anna.id, |_, _| {}).await.unwrap_err();
    assert!(matches!(error, EvaluationError::TooFew { questions: 4 }), "{error}");
}

#[tokio::test]
async fn what_serves_is_measured_by_questions_of_a_chat_model_too_and_nothing_is_kept() {
    let (app, anna, _provider) = remembering(20).await;
    let measured = app.evaluation.measure(anna.id, |_, _| {}).await.unwrap();
    assert_eq!((measured.asked.questions, measured.before), (20, None));
    assert!(measured.now.found[2] > 0);
    // Of a chat model's nonsense no question is made.
    let nonsense = ChatServer::saying("I would rather not.").await;
    for (chat, by_model) in [(questioner().await, 20), (nonsense, 0)] {
        use_server(&app, &anna, &chat).await;
        let measured = app.evaluation.measure(anna.id, |_, _| {}).await.unwrap();
        assert_eq!((measured.asked.questions, measured.asked.by_model), (20, by_model));
    }
    assert_eq!(app.evaluation.latest(anna.id).await.unwrap(), None);
}
