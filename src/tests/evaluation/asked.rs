//! What a rebuild did to a user's own memory: measured where they ask for it, once, of both models
//! where both answer, whatever is killed meanwhile, with counts as all that stays.

use keepsake::embedding::{COMPARED_FOR, Drained};
use keepsake::evaluation::Measurement;
use keepsake::evaluation::asked::{MeasurementOffer, MeasurementState, RequestOutcome};
use keepsake::jobs;
use keepsake::providers::chat::ChatPurpose;
use keepsake::queue::{self, Slice};
use serde_json::Value;
use time::Duration;
use tokio::sync::watch;

use super::{questioner, remembering};
use crate::chat::{chat, use_server};
use crate::support::Sql as _;
use crate::support::{Provider, TestApp, TestUser, change_model, until};

/// Anna's memories with the vectors of the model `new`, and those of `old` beside them.
async fn rebuilt(count: usize) -> (TestApp, TestUser, Provider) {
    let (app, anna, provider) = remembering(count).await;
    change_model(&app, &anna, &provider, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    provider.forget_calls();
    (app, anna, provider)
}

/// The job, as a server runs it, until nothing of it is due.
async fn run_job(app: &TestApp) {
    app.run_job(queue::EVALUATE).await;
}

async fn offered(app: &TestApp, user: &TestUser) -> MeasurementOffer {
    match standing(app, user).await {
        MeasurementState::Offered(offer) => offer,
        other => panic!("{other:?}"),
    }
}

async fn standing(app: &TestApp, user: &TestUser) -> MeasurementState {
    app.evaluation.standing(user.id).await.unwrap()
}

/// What was measured last.
async fn latest(app: &TestApp, user: &TestUser) -> Measurement {
    app.evaluation.latest(user.id).await.unwrap().unwrap()
}

/// Asks for the measurement, and makes it.
async fn measure(app: &TestApp, user: &TestUser) -> Measurement {
    app.evaluation.ask_for(user.id).await.unwrap();
    run_job(app).await;
    latest(app, user).await
}

/// A slice that is over when it begins: it ends after one step.
async fn go_one_step(app: &TestApp, user: &TestUser) -> Drained {
    let (_stop, stopping) = watch::channel(true);
    let slice = Slice::begin(stopping);
    app.evaluation.continue_measurement(user.id, &slice).await.unwrap()
}

/// Goes on until it has ended, whatever it would wait for.
async fn go_on_to_the_end(app: &TestApp, user: &TestUser) {
    for _ in 0..1_000 {
        if matches!(go_one_step(app, user).await, Drained::Done) {
            return;
        }
    }
    panic!("it never ends");
}

#[tokio::test]
async fn after_a_rebuild_no_model_is_asked_until_it_is_wanted_and_then_both_the_same_questions() {
    let (app, anna, provider) = rebuilt(30).await;
    assert!(!app.jobs().await.iter().any(|(_, job)| job == "evaluate"));
    // Nor does the sweep find any.
    run_job(&app).await;
    assert!(provider.texts().is_empty(), "{:?}", provider.texts());
    assert_eq!(offered(&app, &anna).await.estimate.questions, 30);
    assert_eq!(app.evaluation.latest(anna.id).await.unwrap(), None);
    // Not there before the change: the old vectors could not have found it.
    anna.add("anna waters item31 thing31 garden monday").await;
    app.drain(&anna).await;
    provider.forget_calls();
    let MeasurementOffer { estimate, .. } = offered(&app, &anna).await;
    assert_eq!((estimate.questions, estimate.chat_tokens), (30, 0));
    let asked = app.evaluation.ask_for(anna.id).await.unwrap();
    assert_eq!(asked, RequestOutcome::Begun);
    assert!(app.jobs().await.contains(&(anna.id.0, "evaluate".to_owned())));
    run_job(&app).await;
    let measured = latest(&app, &anna).await;
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
    assert_eq!(standing(&app, &anna).await, MeasurementState::Measured);
    assert_eq!(app.count("evaluation_questions").await, 0);
}

#[tokio::test]
async fn the_chat_models_share_is_told_before_and_counted_under_its_own_name() {
    let (app, anna, _provider) = rebuilt(40).await;
    let server = questioner().await;
    use_server(&app, &anna, &server).await;
    crate::chat::ask(&app, &anna).await.unwrap();
    let MeasurementOffer { estimate, .. } = offered(&app, &anna).await;
    let measured = measure(&app, &anna).await;
    assert_eq!((estimate.questions, estimate.by_model), (40, measured.asked.by_model as u64));
    assert!(measured.asked.by_model > 0);
    let overview = chat(&app).overview(anna.id).await.unwrap();
    let today = overview.days.last().unwrap();
    let measuring = (Some(ChatPurpose::Evaluation), measured.tokens.chat);
    assert!(today.by_purpose.contains(&measuring), "{:?}", today.by_purpose);
    // What else was asked is no part of it.
    assert!(today.tokens() > measured.tokens.chat);
    let page = app.signed_in(&anna).await.look("/settings/chat").await;
    for told in ["Measuring a rebuild", "Everything except this purpose"] {
        assert!(page.contains(told), "{told}");
    }
}

#[tokio::test]
async fn past_the_cap_of_the_day_the_chat_model_is_not_asked_and_words_do() {
    let (app, anna, _provider) = rebuilt(20).await;
    let server = questioner().await;
    use_server(&app, &anna, &server).await;
    let spent = app.sql("INSERT INTO chat_spend (user_id, day, tokens_in) VALUES ($1, $2, 200000)");
    spent.bind(anna.id.0).bind(app.embeddings.now().date()).run().await;
    let measured = measure(&app, &anna).await;
    assert!(server.asked().is_empty());
    assert_eq!((measured.asked.questions, measured.asked.by_model), (20, 0));
}

#[tokio::test]
async fn a_lost_job_and_a_kill_in_the_middle_lose_nothing_that_was_asked() {
    let (app, anna, provider) = rebuilt(20).await;
    app.evaluation.ask_for(anna.id).await.unwrap();
    for _ in 0..11 {
        assert_eq!(go_one_step(&app, &anna).await, Drained::More(1));
    }
    // The questions were made, and ten were asked.
    assert_eq!(provider.texts().len(), 10);
    let under_way = MeasurementState::UnderWay { answers: 10, total: 40 };
    assert_eq!(standing(&app, &anna).await, under_way);
    // Killed while a model is asked.
    let held = provider.hold();
    let (evaluation, user) = (app.evaluation.clone(), anna.id);
    let worker =
        tokio::spawn(async move { evaluation.continue_measurement(user, &Slice::whole()).await });
    until("the next question is asked", async || provider.texts().len() == 11).await;
    worker.abort();
    drop(held);
    app.sql("DELETE FROM job_queue WHERE job = 'evaluate'").run().await;
    assert_eq!(app.evaluation.users_asked().await.unwrap(), [anna.id]);
    let job = jobs::find("evaluate").unwrap();
    jobs::ask_for(job, &app.services.clone(), None).await.unwrap();
    run_job(&app).await;
    // One more than there are answers.
    assert_eq!(provider.texts().len(), 41);
    assert_eq!(latest(&app, &anna).await.asked.questions, 20);
    assert_eq!(app.evaluation.users_asked().await.unwrap(), []);
}

#[tokio::test]
async fn asked_again_and_again_it_is_measured_once() {
    let (app, anna, provider) = rebuilt(12).await;
    let evaluation = app.evaluation.clone();
    let asking = (0..20).map(|_| evaluation.ask_for(anna.id));
    let answers: Vec<RequestOutcome> =
        futures_util::future::join_all(asking).await.into_iter().map(Result::unwrap).collect();
    let begun = answers.iter().filter(|a| **a == RequestOutcome::Begun).count();
    assert_eq!(begun, 1, "{answers:?}");
    for outcome in [RequestOutcome::UnderWay, RequestOutcome::Over] {
        assert_eq!(evaluation.ask_for(anna.id).await.unwrap(), outcome);
        run_job(&app).await;
        assert_eq!(provider.texts().len(), 24);
    }
    assert_eq!(app.count("evaluation_requests").await, 1);
}

#[tokio::test]
async fn nobody_asks_for_anothers_or_sees_any_of_it() {
    let (app, anna, _provider) = rebuilt(12).await;
    let ben = app.user("ben").await;
    let browser = app.signed_in(&ben).await;
    let page = browser.look("/settings/embeddings").await;
    assert!(!page.contains("Measure the effect of this change?"));
    let annas = anna.id.0.to_string();
    let fields = [("action", "measure"), ("user_id", annas.as_str())];
    let refused = browser.post("/settings/embeddings", &fields).await.text().await.unwrap();
    let told = "There is nothing to compare with: a change can be measured for a day";
    assert!(refused.contains(told), "{refused}");
    assert_eq!(app.count("evaluation_requests").await, 0);
    app.evaluation.ask_for(anna.id).await.unwrap();
    go_one_step(&app, &anna).await;
    for table in ["evaluation_requests", "evaluation_questions"] {
        assert!(app.count(table).await > 0, "{table}");
        let mut as_ben = app.db.as_user(ben.id).await.unwrap();
        assert_eq!(as_ben.count(table).await, 0, "{table}");
    }
    assert_eq!(standing(&app, &ben).await, MeasurementState::Nothing);
    let bens = app.evaluation.continue_measurement(ben.id, &Slice::whole()).await;
    assert_eq!(bens.unwrap(), Drained::Done);
}

#[tokio::test]
async fn where_the_vectors_of_before_are_gone_or_too_little_is_remembered_it_says_so() {
    let (app, anna, _provider) = rebuilt(12).await;
    let until = offered(&app, &anna).await.until;
    let left = until - app.embeddings.now();
    assert!(left <= COMPARED_FOR && left > COMPARED_FOR - Duration::minutes(1));
    app.clock.advance(left);
    let (other, few, _few_provider) = rebuilt(9).await;
    for (app, user, outcome) in
        [(&app, &anna, RequestOutcome::Gone), (&other, &few, RequestOutcome::TooFew)]
    {
        assert_eq!(app.evaluation.ask_for(user.id).await.unwrap(), outcome);
        assert_eq!(standing(app, user).await, MeasurementState::Nothing);
    }
}

#[tokio::test]
async fn what_cannot_be_finished_is_given_up_once_with_a_sentence() {
    let (app, anna, provider) = rebuilt(12).await;
    app.evaluation.ask_for(anna.id).await.unwrap();
    go_one_step(&app, &anna).await;
    assert_eq!(app.count("evaluation_questions").await, 12);
    change_model(&app, &anna, &provider, "newer").await;
    provider.forget_calls();
    run_job(&app).await;
    assert!(provider.texts().is_empty());
    assert_eq!(app.count("evaluation_questions").await, 0);
    assert_eq!(app.evaluation.users_asked().await.unwrap(), []);
    let told: String = app.sql("SELECT problem FROM evaluation_requests").value().await;
    let sentence = "The day was over, or another rebuild began, before all questions were asked.";
    assert_eq!(told, sentence);
    // The rebuild that was begun can be measured when it has ended.
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    offered(&app, &anna).await;
}

#[tokio::test]
async fn where_the_old_model_answers_no_more_the_new_one_is_measured_alone() {
    let (app, anna, old) = remembering(12).await;
    let new = Provider::start().await;
    app.use_provider(&anna, &new, "new").await;
    app.clock.advance(Duration::seconds(5));
    app.drain(&anna).await;
    old.forget_calls();
    old.behave(|b| b.status = Some(500));
    app.evaluation.ask_for(anna.id).await.unwrap();
    go_on_to_the_end(&app, &anna).await;
    let measured = latest(&app, &anna).await;
    assert_eq!((measured.asked.questions, measured.before), (12, None));
    assert_eq!(old.texts().len(), 8);
}

#[tokio::test]
async fn where_the_model_that_serves_does_not_answer_the_page_says_why() {
    let (app, anna, provider) = rebuilt(12).await;
    let browser = app.signed_in(&anna).await;
    app.evaluation.ask_for(anna.id).await.unwrap();
    provider.behave(|b| b.status = Some(500));
    // The old one is left out first.
    go_on_to_the_end(&app, &anna).await;
    assert_eq!(provider.texts().len(), 16);
    let page = browser.look("/settings/embeddings").await;
    assert!(page.contains("It was not measured."));
    assert!(page.contains("The model that serves does not answer: "));
    // Searches were not told to leave the endpoint alone.
    provider.behave(|b| b.status = None);
    assert!(app.embed_query(&anna, "garden").await.vector.is_some());
}

#[tokio::test]
async fn a_question_goes_with_its_memory() {
    let (app, anna, _provider) = rebuilt(12).await;
    app.evaluation.ask_for(anna.id).await.unwrap();
    go_one_step(&app, &anna).await;
    let one: i64 = app.sql("SELECT item_id FROM evaluation_questions LIMIT 1").value().await;
    let browser = app.signed_in(&anna).await;
    app.delete_item(&browser, one).await;
    assert_eq!(app.count("evaluation_questions").await, 11);
    run_job(&app).await;
    assert_eq!(latest(&app, &anna).await.asked.questions, 11);
}

#[tokio::test]
async fn the_page_offers_it_with_its_cost_and_shows_how_far_it_is_and_what_was_found() {
    let (app, anna, _provider) = rebuilt(20).await;
    let browser = app.signed_in(&anna).await;
    let path = "/settings/embeddings";
    let page = browser.look(path).await;
    for told in [
        "Measure the effect of this change?",
        "About 20 questions, and about ",
        " tokens at each of the two embedding models",
    ] {
        assert!(page.contains(told), "{told}");
    }
    let ask = || browser.post(path, &[("action", "measure")]);
    assert_eq!(ask().await.status(), 303);
    let page = browser.look(path).await;
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
