//! What a rebuild did to a user's own memory: measured where they ask for it, once, of both models
//! where both answer, whatever is killed meanwhile, with counts as all that stays.

use std::sync::Arc;

use keepsake::embedding::{COMPARED_FOR, Drained};
use keepsake::evaluation::asked::{MeasurementOffer, MeasurementState, RequestOutcome};
use keepsake::jobs;
use keepsake::providers::chat::ChatPurpose;
use keepsake::queue::{self, Slice};
use serde_json::Value;
use time::Duration;
use tokio::sync::watch;

use super::{evaluation, questioner, with_memories};
use crate::chat::{chat, use_server};
use crate::support::Sql as _;
use crate::support::{Provider, TestApp, TestUser, change_model, until};

/// Anna's memories with the vectors of the model `new`, and those of `old` beside them.
async fn rebuilt(app: &TestApp, provider: &Provider, count: usize) -> TestUser {
    let anna = with_memories(app, provider, count).await;
    change_model(app, &anna, provider, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    provider.forget_calls();
    anna
}

/// The job, as a server runs it, until nothing of it is due.
async fn run_job(app: &TestApp) {
    app.run_job(queue::EVALUATE).await;
}

async fn offered(app: &TestApp, user: &TestUser) -> MeasurementOffer {
    match evaluation(app).standing(user.id).await.unwrap() {
        MeasurementState::Offered(offer) => offer,
        other => panic!("{other:?}"),
    }
}

/// A slice that is over when it begins: it ends after one step.
async fn go_one_step(app: &TestApp, user: &TestUser) -> Drained {
    let (_stop, stopping) = watch::channel(true);
    let slice = Slice::begin(stopping);
    evaluation(app).continue_measurement(user.id, &slice).await.unwrap()
}

/// Goes on until it has ended, whatever it would wait for; returns the slices that took.
async fn go_on_to_the_end(app: &TestApp, user: &TestUser) -> usize {
    for slices in 0..1_000 {
        match go_one_step(app, user).await {
            Drained::Done => return slices,
            Drained::More(_) | Drained::Later(_) => {}
        }
    }
    panic!("it never ends");
}

#[tokio::test]
async fn after_a_rebuild_nothing_is_asked_of_a_model_until_somebody_wants_it() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 30).await;
    assert!(!app.jobs().await.iter().any(|(_, job)| job == "evaluate"));
    // Nor does the sweep find any.
    run_job(&app).await;
    assert!(provider.texts().is_empty(), "{:?}", provider.texts());
    assert_eq!(offered(&app, &anna).await.estimate.questions, 30);
    assert_eq!(evaluation(&app).latest(anna.id).await.unwrap(), None);
}

#[tokio::test]
async fn asked_for_the_same_questions_go_to_the_old_vectors_and_to_the_new() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 30).await;
    // Not there before the change: the old vectors could not have found it.
    anna.add("anna waters item31 thing31 garden monday").await;
    app.drain(&anna).await;
    provider.forget_calls();
    let MeasurementOffer { estimate, .. } = offered(&app, &anna).await;
    assert_eq!((estimate.questions, estimate.chat_tokens), (30, 0));
    let asked = evaluation(&app).ask_for(anna.id).await.unwrap();
    assert_eq!(asked, RequestOutcome::Begun);
    let annas = (anna.id.0, "evaluate".to_owned());
    assert!(app.jobs().await.contains(&annas));
    run_job(&app).await;
    let measured = evaluation(&app).latest(anna.id).await.unwrap().unwrap();
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
    // What was said before is near to what it came to.
    let each = measured.tokens.embedding as u64 / 2;
    assert!((each / 2..=each * 2).contains(&estimate.embedding_tokens), "{each} {estimate:?}");
    assert_eq!(measured.tokens.chat, 0);
    let standing = evaluation(&app).standing(anna.id).await.unwrap();
    assert_eq!(standing, MeasurementState::Measured);
    assert_eq!(app.count("evaluation_questions").await, 0);
}

#[tokio::test]
async fn the_chat_models_share_is_told_before_and_counted_under_its_own_name() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 40).await;
    let server = questioner().await;
    use_server(&app, &anna, &server).await;
    crate::chat::ask(&app, &anna).await.unwrap();
    let MeasurementOffer { estimate, .. } = offered(&app, &anna).await;
    evaluation(&app).ask_for(anna.id).await.unwrap();
    run_job(&app).await;
    let measured = evaluation(&app).latest(anna.id).await.unwrap().unwrap();
    assert_eq!((estimate.questions, estimate.by_model), (40, measured.asked.by_model as u64));
    assert!(measured.asked.by_model > 0);
    let overview = chat(&app).overview(anna.id).await.unwrap();
    let today = overview.days.last().unwrap();
    let mut measuring = today.by_purpose.iter();
    let measuring = measuring.find(|(purpose, _)| *purpose == Some(ChatPurpose::Evaluation));
    let evaluation_tokens = measuring.unwrap().1;
    assert_eq!(evaluation_tokens, measured.tokens.chat);
    // What else was asked is no part of it.
    assert!(today.tokens() > evaluation_tokens);
    let page = {
        let browser = app.signed_in(&anna).await;
        browser.get("/settings/chat").await.1
    };
    assert!(
        page.contains("Measuring a rebuild") && page.contains("Everything except this purpose")
    );
}

#[tokio::test]
async fn past_the_cap_of_the_day_the_chat_model_is_not_asked_and_words_do() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 20).await;
    let server = questioner().await;
    use_server(&app, &anna, &server).await;
    app.sql("INSERT INTO chat_spend (user_id, day, tokens_in) VALUES ($1, $2, 200000)")
        .bind(anna.id.0)
        .bind(app.embeddings.now().date())
        .run()
        .await;
    evaluation(&app).ask_for(anna.id).await.unwrap();
    run_job(&app).await;
    assert!(server.asked().is_empty());
    let measured = evaluation(&app).latest(anna.id).await.unwrap().unwrap();
    assert_eq!((measured.asked.questions, measured.asked.by_model), (20, 0));
}

#[tokio::test]
async fn a_lost_job_and_a_kill_in_the_middle_lose_nothing_that_was_asked() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 20).await;
    evaluation(&app).ask_for(anna.id).await.unwrap();
    for _ in 0..11 {
        assert_eq!(go_one_step(&app, &anna).await, Drained::More(1));
    }
    // The questions were made, and ten were asked.
    assert_eq!(provider.texts().len(), 10);
    let standing = evaluation(&app).standing(anna.id).await.unwrap();
    let (answers, total) = (10, 40);
    assert_eq!(standing, MeasurementState::UnderWay { answers, total });
    // Killed while a model is asked.
    let held = provider.hold();
    let worker = {
        let (evaluation, user) = (evaluation(&app), anna.id);
        tokio::spawn(async move {
            evaluation.continue_measurement(user, &Arc::new(Slice::whole())).await
        })
    };
    until("the next question is asked", async || provider.texts().len() == 11).await;
    worker.abort();
    drop(held);
    app.sql("DELETE FROM job_queue WHERE job = 'evaluate'").run().await;
    assert_eq!(evaluation(&app).users_asked().await.unwrap(), [anna.id]);
    let job = jobs::find("evaluate").unwrap();
    jobs::ask_for(job, &app.job_context(), None).await.unwrap();
    run_job(&app).await;
    // One more than there are answers.
    assert_eq!(provider.texts().len(), 41);
    let measured = evaluation(&app).latest(anna.id).await.unwrap().unwrap();
    assert_eq!(measured.asked.questions, 20);
    assert_eq!(evaluation(&app).users_asked().await.unwrap(), []);
}

#[tokio::test]
async fn asked_again_and_again_it_is_measured_once() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 12).await;
    let evaluation = evaluation(&app);
    let asking = (0..20).map(|_| evaluation.ask_for(anna.id));
    let answers: Vec<RequestOutcome> =
        futures_util::future::join_all(asking).await.into_iter().map(Result::unwrap).collect();
    let begun = answers.iter().filter(|a| **a == RequestOutcome::Begun).count();
    assert_eq!(begun, 1, "{answers:?}");
    let again = evaluation.ask_for(anna.id).await.unwrap();
    assert_eq!(again, RequestOutcome::UnderWay);
    run_job(&app).await;
    assert_eq!(provider.texts().len(), 24);
    assert_eq!(evaluation.ask_for(anna.id).await.unwrap(), RequestOutcome::Over);
    run_job(&app).await;
    assert_eq!(provider.texts().len(), 24);
    assert_eq!(app.count("evaluation_requests").await, 1);
}

#[tokio::test]
async fn nobody_asks_for_anothers_or_sees_any_of_it() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 12).await;
    let ben = app.user("ben").await;
    let browser = app.signed_in(&ben).await;
    let (_, page) = browser.get("/settings/embeddings").await;
    assert!(!page.contains("Measure the effect of this change?"));
    let annas = anna.id.0.to_string();
    let fields = [("action", "measure"), ("user_id", annas.as_str())];
    let refused = browser.post("/settings/embeddings", &fields).await;
    let refused = refused.text().await.unwrap();
    assert!(
        refused.contains("There is nothing to compare with: a change can be measured for a day"),
        "{refused}"
    );
    assert_eq!(app.count("evaluation_requests").await, 0);
    evaluation(&app).ask_for(anna.id).await.unwrap();
    go_one_step(&app, &anna).await;
    for table in ["evaluation_requests", "evaluation_questions"] {
        assert!(app.count(table).await > 0, "{table}");
        let mut as_ben = app.db.as_user(ben.id).await.unwrap();
        let all = format!("SELECT count(*) FROM {table}");
        let seen: i64 = as_ben.sql(all).value().await;
        assert_eq!(seen, 0, "{table}");
    }
    let standing = evaluation(&app).standing(ben.id).await.unwrap();
    assert_eq!(standing, MeasurementState::Nothing);
    assert_eq!(
        evaluation(&app).continue_measurement(ben.id, &Slice::whole()).await.unwrap(),
        Drained::Done
    );
}

#[tokio::test]
async fn where_the_vectors_of_before_are_gone_or_too_little_is_remembered_it_says_so() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 12).await;
    let until = offered(&app, &anna).await.until;
    let left = until - app.embeddings.now();
    assert!(left <= COMPARED_FOR && left > COMPARED_FOR - Duration::minutes(1));
    app.clock.advance(left);
    let evaluation = evaluation(&app);
    assert_eq!(evaluation.ask_for(anna.id).await.unwrap(), RequestOutcome::Gone);
    let standing = evaluation.standing(anna.id).await.unwrap();
    assert_eq!(standing, MeasurementState::Nothing);

    let other = TestApp::start().await;
    let few = rebuilt(&other, &provider, 9).await;
    let evaluation = super::evaluation(&other);
    assert_eq!(evaluation.ask_for(few.id).await.unwrap(), RequestOutcome::TooFew);
    let standing = evaluation.standing(few.id).await.unwrap();
    assert_eq!(standing, MeasurementState::Nothing);
}

#[tokio::test]
async fn what_cannot_be_finished_is_given_up_once_with_a_sentence() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 12).await;
    evaluation(&app).ask_for(anna.id).await.unwrap();
    go_one_step(&app, &anna).await;
    assert_eq!(app.count("evaluation_questions").await, 12);
    change_model(&app, &anna, &provider, "newer").await;
    provider.forget_calls();
    run_job(&app).await;
    assert!(provider.texts().is_empty());
    assert_eq!(app.count("evaluation_questions").await, 0);
    assert_eq!(evaluation(&app).users_asked().await.unwrap(), []);
    let told: String = app.sql("SELECT problem FROM evaluation_requests").value().await;
    assert_eq!(
        told,
        "The day was over, or another rebuild began, before all questions were asked."
    );
    // The rebuild that was begun can be measured when it has ended.
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    offered(&app, &anna).await;
}

#[tokio::test]
async fn where_the_old_model_answers_no_more_the_new_one_is_measured_alone() {
    let app = TestApp::start().await;
    let (old, new) = (Provider::start().await, Provider::start().await);
    let anna = with_memories(&app, &old, 12).await;
    app.use_provider(&anna, &new, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    old.forget_calls();
    old.behave(|b| b.status = Some(500));
    evaluation(&app).ask_for(anna.id).await.unwrap();
    go_on_to_the_end(&app, &anna).await;
    let measured = evaluation(&app).latest(anna.id).await.unwrap().unwrap();
    assert_eq!((measured.asked.questions, measured.before), (12, None));
    assert_eq!(old.texts().len(), 8);
}

#[tokio::test]
async fn where_the_model_that_serves_does_not_answer_the_page_says_why() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 12).await;
    let browser = app.signed_in(&anna).await;
    evaluation(&app).ask_for(anna.id).await.unwrap();
    provider.behave(|b| b.status = Some(500));
    // The old one is left out first.
    go_on_to_the_end(&app, &anna).await;
    assert_eq!(provider.texts().len(), 16);
    let (_, page) = browser.get("/settings/embeddings").await;
    assert!(page.contains("It was not measured."));
    assert!(page.contains("The model that serves does not answer: "));
    // Searches were not told to leave the endpoint alone.
    provider.behave(|b| b.status = None);
    assert!(app.embed_query(&anna, "garden").await.vector.is_some());
}

#[tokio::test]
async fn a_question_goes_with_its_memory() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 12).await;
    evaluation(&app).ask_for(anna.id).await.unwrap();
    go_one_step(&app, &anna).await;
    let one: i64 = app.sql("SELECT item_id FROM evaluation_questions LIMIT 1").value().await;
    let browser = app.signed_in(&anna).await;
    app.delete_item(&browser, one).await;
    assert_eq!(app.count("evaluation_questions").await, 11);
    run_job(&app).await;
    let measured = evaluation(&app).latest(anna.id).await.unwrap().unwrap();
    assert_eq!(measured.asked.questions, 11);
}

#[tokio::test]
async fn the_page_offers_it_with_its_cost_and_shows_how_far_it_is_and_what_was_found() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    let anna = rebuilt(&app, &provider, 20).await;
    let browser = app.signed_in(&anna).await;
    let path = "/settings/embeddings";
    let (_, page) = browser.get(path).await;
    for told in [
        "Measure the effect of this change?",
        "About 20 questions, and about ",
        " tokens at each of the two embedding models",
    ] {
        assert!(page.contains(told), "{told}");
    }
    let ask = || browser.post(path, &[("action", "measure")]);
    assert_eq!(ask().await.status(), 303);
    let (_, page) = browser.get(path).await;
    assert!(page.contains("Measuring: each question"));
    assert!(!page.contains("Measure the effect of this change?"));
    let again = ask().await.text().await.unwrap();
    assert!(again.contains("It is being measured already."));
    run_job(&app).await;
    let page = browser.look(path).await;
    for told in [
        "Effect of the rebuild",
        "Your endpoint · old",
        "Your endpoint · new",
        "Semantic only",
        "20 questions",
        "It used about ",
    ] {
        assert!(page.contains(told), "{told}");
    }
    let again = ask().await.text().await.unwrap();
    assert!(again.contains("This change was measured already"));
    let kept: Value = app.sql("SELECT json_agg(e) FROM evaluations e").value().await;
    assert!(!kept.to_string().contains("garden"), "{kept}");
}
