//! What a rebuild did to a user's own memory: measured once, of both models where both answer,
//! with counts as all that stays.

use keepsake::evaluation::{Evaluation, EvaluationError, Measured};
use keepsake::queue::Slice;
use serde_json::{Value, json};
use time::Duration;

use crate::chat::use_server;
use crate::support::{ChatServer, Provider, TestApp, TestUser, change_model, said};

/// Each of two words alone, and of three that many have.
async fn with_memories(app: &TestApp, provider: &Provider, count: usize) -> TestUser {
    let anna = app.user("anna").await;
    app.use_provider(&anna, provider, "old").await;
    for n in 0..count {
        let place = ["garden", "harbour", "meadow", "orchard"][n % 4];
        let act = ["waters", "paints", "sweeps"][n % 3];
        let day = ["monday", "tuesday", "friday", "saturday", "sunday"][n % 5];
        anna.add(&format!("anna {act} item{n} thing{n} {place} {day}"))
            .await;
    }
    app.drain(&anna).await;
    anna
}

fn evaluation(app: &TestApp) -> Evaluation {
    Evaluation::new(app.db.clone(), app.embeddings.clone())
}

async fn rebuilt(app: &TestApp, anna: &TestUser, provider: &Provider) -> Measured {
    change_model(app, anna, provider, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(anna).await;
    assert!(evaluation(app).is_measuring(anna.id).await.unwrap());
    assert!(
        evaluation(app)
            .after_rebuild(anna.id, &Slice::whole())
            .await
            .unwrap()
    );
    evaluation(app).latest(anna.id).await.unwrap().unwrap()
}

#[tokio::test]
async fn the_same_questions_are_asked_of_the_old_vectors_and_of_the_new() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 30).await;
    provider.forget_calls();
    let measured = rebuilt(&app, &anna, &provider).await;
    let before = measured.before.clone().unwrap();
    assert_eq!(
        (before.model.as_str(), measured.now.model.as_str()),
        ("old", "new")
    );
    assert_eq!((measured.asked.items, measured.asked.questions), (30, 30));
    for side in [&before, &measured.now] {
        let [first, five, ten] = side.found;
        assert!(
            0 < first && first <= five && five <= ten && ten <= 30,
            "{side:?}"
        );
        assert!(side.found_by_meaning[2] > 0, "{side:?}");
    }
    // 30 memories embedded anew, and 30 questions asked of either model; no word that one memory alone has.
    let texts = provider.texts();
    assert_eq!(texts.len(), 30 + 60);
    let questions = texts
        .iter()
        .filter(|text| !text.contains(|c: char| c.is_ascii_digit()));
    assert_eq!(questions.count(), 60);
    assert!(!evaluation(&app).is_measuring(anna.id).await.unwrap());
    // Once.
    assert!(
        !evaluation(&app)
            .after_rebuild(anna.id, &Slice::whole())
            .await
            .unwrap()
    );
    let ben = app.user("ben").await;
    assert_eq!(evaluation(&app).latest(ben.id).await.unwrap(), None);
}

#[tokio::test]
async fn a_first_space_was_not_rebuilt_and_is_not_measured() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 12).await;
    assert!(
        !evaluation(&app)
            .after_rebuild(anna.id, &Slice::whole())
            .await
            .unwrap()
    );
    // Asked for, it is measured, and nothing is kept.
    let measured = evaluation(&app)
        .measure(anna.id, |_, _| true)
        .await
        .unwrap();
    assert_eq!((measured.asked.questions, measured.before), (12, None));
    assert_eq!(evaluation(&app).latest(anna.id).await.unwrap(), None);
}

#[tokio::test]
async fn where_the_old_model_answers_no_more_the_new_one_is_measured_alone() {
    let app = TestApp::start().await;
    let (old, new) = (Provider::start().await, Provider::start().await);
    let anna = with_memories(&app, &old, 12).await;
    app.use_provider(&anna, &new, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    old.behave(|b| b.status = Some(500));
    assert!(
        evaluation(&app)
            .after_rebuild(anna.id, &Slice::whole())
            .await
            .unwrap()
    );
    let measured = evaluation(&app).latest(anna.id).await.unwrap().unwrap();
    assert_eq!(measured.before, None);
    assert_eq!(measured.asked.questions, 12);
}

#[tokio::test]
async fn too_few_memories_are_said_to_be_too_few_and_tried_once() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 4).await;
    change_model(&app, &anna, &provider, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    assert!(evaluation(&app).is_measuring(anna.id).await.unwrap());
    assert!(
        !evaluation(&app)
            .after_rebuild(anna.id, &Slice::whole())
            .await
            .unwrap()
    );
    assert!(!evaluation(&app).is_measuring(anna.id).await.unwrap());
    assert_eq!(evaluation(&app).latest(anna.id).await.unwrap(), None);
    let error = evaluation(&app)
        .measure(anna.id, |_, _| true)
        .await
        .unwrap_err();
    assert!(
        matches!(error, EvaluationError::TooFew { questions: 4 }),
        "{error}"
    );
}

#[tokio::test]
async fn a_chat_model_puts_some_of_the_questions_and_its_nonsense_none() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 20).await;
    let chat = ChatServer::answering(|asked, _| {
        let told = asked["messages"][1]["content"].as_str().unwrap();
        let lines = told.lines().filter(|line| line.starts_with("anna")).count();
        let questions: Vec<String> = (0..lines)
            .map(|n| format!("what about number {n}?"))
            .collect();
        said(&json!({ "questions": questions }).to_string())
    })
    .await;
    use_server(&app, &anna, &chat).await;
    let measured = evaluation(&app)
        .measure(anna.id, |_, _| true)
        .await
        .unwrap();
    assert_eq!(
        (measured.asked.questions, measured.asked.by_model),
        (20, 20)
    );
    let nonsense = ChatServer::saying("I would rather not.").await;
    use_server(&app, &anna, &nonsense).await;
    let measured = evaluation(&app)
        .measure(anna.id, |_, _| true)
        .await
        .unwrap();
    assert_eq!((measured.asked.questions, measured.asked.by_model), (20, 0));
}

#[tokio::test]
async fn the_page_shows_both_sides_and_nothing_of_a_question() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = with_memories(&app, &provider, 20).await;
    rebuilt(&app, &anna, &provider).await;
    let browser = app.browser();
    browser.sign_in(&anna).await;
    let (status, page) = browser.get("/settings/embeddings").await;
    assert_eq!(status, 200);
    for told in [
        "What the rebuild changed",
        "Your endpoint · old",
        "Your endpoint · new",
        "By meaning alone",
        "20 questions",
    ] {
        assert!(page.contains(told), "{told}");
    }
    let kept: Value = sqlx::query_scalar("SELECT json_agg(e) FROM evaluations e")
        .fetch_one(&mut app.superuser().await)
        .await
        .unwrap();
    assert!(!kept.to_string().contains("garden"), "{kept}");
}
