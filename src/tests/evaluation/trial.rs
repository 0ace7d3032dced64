//! A data set: scored by the search that agents use, in scratch accounts that are gone afterwards.

use keepsake::evaluation::trial::{TrialProgress, TrialReport, TrialStage};
use keepsake::evaluation::{Arm, DataSet, EvaluationError};
use keepsake::providers::settings::EndpointForm;
use keepsake::search::query::Ingredients;
use time::Duration;

use crate::embedding::workers::Worker;
use crate::support::{Provider, TestApp};

const TEA: &str = r#"
{"group":"a","id":"1","content":"Anna drinks green tea in the morning."}
{"group":"a","id":"2","content":"Anna keeps bees behind the house."}
{"group":"a","id":"2b","content":"Anna keeps bees behind the house."}
{"group":"a","question":"green tea","evidence":["1"],"category":"drinks"}
{"group":"a","question":"bees","evidence":["2b"]}
{"group":"b","id":"1","content":"Ben drinks mate."}
{"group":"b","question":"green tea","evidence":["1"],"category":"drinks"}
"#;

/// Tries the data set out, while a worker embeds.
async fn try_out(
    app: &TestApp,
    data: &str,
    ingredients: Ingredients,
    tell: impl FnMut(TrialProgress) -> bool,
) -> Result<TrialReport, EvaluationError> {
    let data = DataSet::read(data.as_bytes()).unwrap();
    let worker = Worker::start(app);
    let ended = app.evaluation.try_out(&app.accounts, &data, ingredients, tell).await;
    worker.stop().await;
    ended
}

#[tokio::test]
async fn groups_are_asked_apart_and_nothing_of_them_stays() {
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    anna.add("Anna's own green tea.").await;
    let mut stages = Vec::new();
    let tell = |progress: TrialProgress| {
        assert!(progress.done <= progress.of, "{progress:?}");
        stages.push(progress.stage);
        true
    };
    let report = try_out(&app, TEA, Ingredients::default(), tell).await.unwrap();
    stages.dedup();
    let all = [TrialStage::Adding, TrialStage::Embedding, TrialStage::Asking, TrialStage::Erasing];
    assert_eq!(stages, all);
    assert_eq!((report.groups, report.items, report.without_vector), (2, 4, 0));
    let scores = report.arms[&Arm::Both];
    // Of two items with one text there is one, and either id names it.
    assert_eq!((scores.questions, scores.any), (3, [3, 3, 3]));
    // Ben's mate has no word of the question: by words alone it is not found.
    assert_eq!(report.arms[&Arm::Words].any, [2, 2, 2]);
    assert_eq!(report.arms[&Arm::Meaning].any[2], 3);
    assert_eq!(report.categories["drinks"].questions, 2);
    assert_eq!((app.count("users").await, app.count("memory_items").await), (1, 1));
}

#[tokio::test]
async fn what_an_ingredient_is_worth_is_seen_without_it() {
    let app = TestApp::start_with_builtin().await;
    let mut lines = String::new();
    for n in 0_u8..12 {
        let (year, plate) = (2010 + u32::from(n), char::from(b'A' + n));
        lines += &format!(
            "{{\"id\":\"{n}\",\"content\":\"Lunch with Tom, plate {plate}\",\"at\":\"{year}-06-05\"}}\n"
        );
        lines += &format!(
            "{{\"question\":\"lunch with Tom {} years ago\",\"evidence\":[\"{n}\"],\"at\":\"2024-01-10\"}}\n",
            2024 - year
        );
    }
    lines += "{\"question\":\"which submarine sank the seventh ferry\",\"evidence\":[]}\n";
    let mut among_five = Vec::new();
    for without in [&[][..], &["time"]] {
        let ingredients = Ingredients::without(without.iter().copied()).unwrap();
        let report = try_out(&app, &lines, ingredients, |_| true).await.unwrap();
        let scores = report.arms[&Arm::Both];
        assert_eq!(scores.questions, 12);
        assert_eq!((report.absent.questions, report.present.questions), (1, 12));
        assert_eq!(report.absent.said, 1);
        among_five.push(scores.any[1]);
    }
    assert!(among_five[0] >= 11 && among_five[1] < 9, "{among_five:?}");
    assert!(Ingredients::without(["salt"]).is_err());
}

#[tokio::test]
async fn what_is_broken_off_leaves_nothing_either() {
    let app = TestApp::start_with_builtin().await;
    let until_asking = |progress: TrialProgress| progress.stage != TrialStage::Asking;
    let ended = try_out(&app, TEA, Ingredients::default(), until_asking).await;
    assert!(matches!(ended, Err(EvaluationError::BrokenOff)), "{ended:?}");
    assert_eq!(app.count("users").await, 0);
}

#[tokio::test]
async fn scratch_accounts_of_a_run_that_was_killed_go_with_the_next_and_others_stay() {
    let app = TestApp::start().await;
    app.user("anna").await;
    app.sql(
        "INSERT INTO users (email, password_hash, role, created_at, updated_at) VALUES
            ('old@evaluation.invalid', 'x', 'member', now() - interval '2 days', now()),
            ('running@evaluation.invalid', 'x', 'member', now(), now())",
    )
    .run_all()
    .await;
    let report = try_out(&app, TEA, Ingredients::default(), |_| true).await.unwrap();
    // No model is there: words answer, and that is told.
    assert_eq!((report.without_vector, report.by_words_alone), (3, 3));
    let left: Vec<String> = app.sql("SELECT email FROM users ORDER BY email").values().await;
    assert_eq!(left, ["anna@example.com", "running@evaluation.invalid"]);
}

#[tokio::test]
async fn an_endpoint_that_is_dead_ends_it_with_its_reason() {
    let app = TestApp::start().await;
    let provider = Provider::start().await;
    provider.behave(|b| b.status = Some(500));
    let url = provider.url();
    let form = EndpointForm { url: &url, model: "dead", ..EndpointForm::default() };
    app.embeddings.save_system(&form, true).await.unwrap();
    // Each look is made when the next try is due.
    let tell = |progress: TrialProgress| {
        if progress.stage == TrialStage::Embedding {
            app.clock.advance(Duration::minutes(10));
        }
        true
    };
    let error = try_out(&app, TEA, Ingredients::default(), tell).await.unwrap_err();
    assert!(matches!(error, EvaluationError::NoVectors { .. }), "{error}");
    assert!(error.to_string().contains("500"), "{error}");
    assert_eq!(app.count("users").await, 0);
}
