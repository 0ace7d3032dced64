//! The built-in model, with its real weights: `tools/fetch_model.py` puts them
//! into the data folder, and without them these tests fail.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keepsake::providers::{
    BuiltinFlaw, Embedder, Endpoint, ProviderError, ProviderType, QueryPriority,
    builtin::{self, BuiltinModel},
};
use serde::Deserialize;

use super::{Table, texts};
use crate::support::PATIENCE;
use keepsake::clock::WallClock;

/// Debug builds on a busy machine: nothing here measures speed.
fn embedder_in(data_dir: &Path) -> Embedder {
    let model = builtin::find(data_dir);
    Embedder::new(Some(model), Table::of(&[]), Arc::new(WallClock))
}

fn multilingual() -> Endpoint {
    Endpoint::builtin(BuiltinModel::Multilingual.name())
}

fn real() -> Embedder {
    let data_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let embedder = embedder_in(&data_dir);
    assert!(
        embedder.builtin(BuiltinModel::Multilingual).is_some(),
        "no weights: run python3 tools/fetch_model.py"
    );
    embedder
}

#[derive(Deserialize)]
struct Reference {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    text: String,
    vector: Vec<f32>,
}

fn reference() -> Vec<Row> {
    let file = include_str!("minilm_reference.json");
    let reference: Reference = serde_json::from_str(file).unwrap();
    assert_eq!(reference.rows.len(), 10);
    reference.rows
}

fn furthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[tokio::test]
async fn texts_of_memories_have_no_deadline_and_a_query_that_is_late_is_told_that_the_model_is_busy()
 {
    let (embedder, endpoint) = (real(), multilingual());
    let bees = texts(&["bees"]);
    let embedded = embedder.embed(&endpoint, &bees, Duration::ZERO).await;
    assert_eq!(embedded.unwrap().vectors.len(), 1);
    let asked = |by| embedder.embed_query(by, &endpoint, "bees".to_owned(), Duration::ZERO);
    // Now and then the answer is there before anybody looks whether it is late.
    let late = loop {
        if let Err(late) = asked(QueryPriority::Search).await {
            break late;
        }
    };
    assert_eq!(late, ProviderError::Busy);
    // A job's waits its turn.
    for by in [QueryPriority::Job, QueryPriority::Evaluation] {
        assert_eq!(asked(by).await.unwrap().vectors.len(), 1);
    }
}

#[tokio::test]
async fn vectors_agree_with_the_reference_implementation_to_a_thousandth() {
    let embedder = real();
    let rows = reference();
    let all: Vec<String> = rows.iter().map(|row| row.text.clone()).collect();
    let together = embedder.embed(&multilingual(), &all, PATIENCE).await.unwrap();
    for (row, vector) in rows.iter().zip(&together.vectors) {
        assert_eq!(vector.len(), builtin::MODEL_DIMENSIONS);
        let shown: String = row.text.chars().take(30).collect();
        assert!(furthest(vector, &row.vector) < 1e-3, "{shown}");
        let one = std::slice::from_ref(&row.text);
        let alone = embedder.embed(&multilingual(), one, PATIENCE).await.unwrap();
        assert!(furthest(&alone.vectors[0], &row.vector) < 1e-3, "{shown}");
    }
    // The last has over 256 tokens; the reference reads as many of them as we do.
    let truncated = [vec![false; 9], vec![true]].concat();
    assert_eq!(together.truncated, truncated);
}

#[tokio::test]
async fn texts_as_long_as_an_item_may_be_are_cut_and_said_to_be() {
    let long = "heron ".repeat(3_333);
    let texts = vec![long, "heron".to_owned(), "一".repeat(20_000)];
    let answer = real().embed(&multilingual(), &texts, PATIENCE).await;
    assert_eq!(answer.unwrap().truncated, [true, false, true]);
}

#[tokio::test]
async fn a_query_does_not_wait_for_a_batch() {
    let embedder = real();
    // Minutes of work, which nobody waits for.
    let sentence = "A long sentence about herons that cross rivers at dawn. ".repeat(12);
    let batch: Vec<String> = (0..2_000).map(|n| format!("{n} {sentence}")).collect();
    let endpoint = multilingual();
    let warm = texts(&["warm"]);
    embedder.embed(&endpoint, &warm, PATIENCE).await.unwrap();
    let rebuild = tokio::spawn({
        let embedder = embedder.clone();
        async move { embedder.embed(&multilingual(), &batch, PATIENCE).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    for by in [QueryPriority::Search, QueryPriority::Job, QueryPriority::Evaluation] {
        let query = "Where do herons go?".to_owned();
        let answer = embedder.embed_query(by, &endpoint, query, PATIENCE).await;
        assert_eq!(answer.unwrap().vectors.len(), 1);
    }
    assert!(!rebuild.is_finished(), "the query waited for the batch");
    rebuild.abort();
}

#[tokio::test]
async fn a_caller_that_gives_up_leaves_the_model_to_others() {
    let embedder = real();
    let sentence = "A long sentence about herons that cross rivers at dawn. ".repeat(20);
    // Minutes of work.
    let batch = vec![sentence; 2_000];
    let endpoint = multilingual();
    let given_up = embedder.embed(&endpoint, &batch, PATIENCE);
    tokio::time::timeout(Duration::from_millis(300), given_up).await.unwrap_err();
    let two = texts(&["one", "two"]);
    let answer = tokio::time::timeout(PATIENCE, embedder.embed(&endpoint, &two, PATIENCE)).await;
    let embedded = answer.expect("the model goes on with what nobody waits for");
    assert_eq!(embedded.unwrap().vectors.len(), 2);
}

#[tokio::test]
async fn meaning_is_nearer_than_words() {
    let report = real().test(&multilingual(), "", "").await.unwrap();
    assert_eq!(report.dimensions, builtin::MODEL_DIMENSIONS);
    assert!((report.norm - 1.0).abs() < 1e-3);
    assert!(report.order_kept && report.similar_closer);
    assert_eq!(report.model_found.as_deref(), Some(BuiltinModel::Multilingual.name()));
}

async fn flaw_of(embedder: &Embedder) -> ProviderError {
    let endpoint = multilingual();
    assert_eq!(endpoint.provider_type, ProviderType::Builtin);
    let answer = embedder.embed(&endpoint, &texts(&["one"]), PATIENCE).await;
    answer.unwrap_err()
}

#[tokio::test]
async fn without_files_the_model_is_missing_and_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = embedder_in(folder.path());
    assert!(!embedder.builtin(BuiltinModel::Multilingual).is_some());
    let error = flaw_of(&embedder).await;
    assert_eq!(error, ProviderError::BuiltinMissing(BuiltinFlaw::NoFiles));
    assert!(error.to_string().contains("`make build`"));
    let off = Embedder::new(None, Table::of(&[]), Arc::new(WallClock));
    assert!(!off.builtin(BuiltinModel::Multilingual).is_some());
    let error = flaw_of(&off).await;
    assert_eq!(error, ProviderError::BuiltinMissing(BuiltinFlaw::Off));
}

#[tokio::test]
async fn damaged_files_are_said_to_be_and_bring_nothing_down() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/runtime/model-all-minilm-l6-v2");
    let read = |name: &str| fs::read(source.join(name)).unwrap();
    let weights = read("model.safetensors");
    let mut scrambled = weights.clone();
    scrambled[..64].fill(b'x');
    let (config, tokenizer) = (read("config.json"), read("tokenizer.json"));
    let other_shape = String::from_utf8(config.clone()).unwrap().replace("384", "768");
    for (weights, tokenizer, config) in [
        (&weights[..weights.len() / 2], &tokenizer[..], &config[..]),
        (&scrambled, &tokenizer, &config),
        (b"", &tokenizer, &config),
        (&weights, b"{}", &config),
        (&weights, &tokenizer, b"{}"),
        (&weights, &tokenizer, other_shape.as_bytes()),
    ] {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("runtime/model-all-minilm-l6-v2");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("model.safetensors"), weights).unwrap();
        fs::write(folder.join("tokenizer.json"), tokenizer).unwrap();
        fs::write(folder.join("config.json"), config).unwrap();
        let embedder = embedder_in(data.path());
        assert!(embedder.builtin(BuiltinModel::Multilingual).is_some());
        let error = flaw_of(&embedder).await;
        assert_eq!(error, ProviderError::BuiltinMissing(BuiltinFlaw::Damaged));
        assert!(!error.is_about_the_input());
    }
}
