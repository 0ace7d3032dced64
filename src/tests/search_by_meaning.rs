//! What the vectors are for: a paraphrase is found before a mere shared word
//! (Nova §6.4), and while a memory is rebuilt every answer is of one space.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keepsake::embedding::Drained;
use keepsake::memories::words;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Provider, TestApp, TestUser, WIDTH, change_model, ids, vector_of};

#[derive(Deserialize)]
struct Triple {
    query: String,
    /// Says what is asked for, in other words.
    paraphrase: String,
    /// Has a word of the query, and is about something else.
    distractor: String,
}

/// Of 40. Measured: 29 (24 of them first of all 92 items); by the vectors alone 36.
/// The pairs are as they were written before anything was measured.
const PARAPHRASES_FIRST_MIN: usize = 27;

/// What else is remembered.
const NOISE: [&str; 12] = [
    "The bins are emptied on Wednesdays.",
    "Chess evening is at Tom's on the last Friday of the month.",
    "The tomatoes on the roof want water every second day.",
    "Invoices are numbered by year and month.",
    "The heating is serviced in October.",
    "Grandmother's recipe for plum cake asks for rye flour.",
    "The choir sings in the cathedral at Easter.",
    "Unit tests stand beside what they test.",
    "A spare bicycle lock hangs behind the door.",
    "The neighbours feed the cat while they are away.",
    "Pull requests are reviewed within a day.",
    "The old camera takes 120 film.",
];

fn triples() -> Vec<Triple> {
    let triples: Vec<Triple> =
        serde_json::from_str(include_str!("search_by_meaning.json")).unwrap();
    assert_eq!(triples.len(), 40);
    for triple in &triples {
        let mut terms = words::query_terms(&triple.query);
        // "in" and the like stand in many of the sentences.
        terms.retain(|term| !term.is_weak);
        let shared = |text: &str| words::matches(text, &terms).len();
        assert_eq!(shared(&triple.paraphrase), 0, "{}", triple.paraphrase);
        assert_eq!(shared(&triple.distractor), 1, "{}", triple.distractor);
    }
    triples
}

#[tokio::test]
async fn a_paraphrase_outranks_a_mere_shared_word() {
    let triples = triples();
    let app = TestApp::start_with_builtin().await;
    let anna = app.user("anna").await;
    let mut pairs = Vec::new();
    for triple in &triples {
        // The distractor is the newer one: a tie would be its.
        let paraphrase = anna.add(&triple.paraphrase).await;
        pairs.push((paraphrase, anna.add(&triple.distractor).await));
    }
    for text in NOISE {
        anna.add(text).await;
    }
    assert_eq!(app.drain(&anna).await, Drained::Done);

    let (mut first, mut first_of_all, mut nearer) = (0, 0, 0);
    for (triple, (paraphrase, distractor)) in triples.iter().zip(pairs) {
        let input = json!({ "query": triple.query, "limit": 50, "explain": true });
        let mut answer = anna.call("memory_search", input.clone()).await;
        for _ in 0..5 {
            // On a busy machine the model may be late for a question.
            if answer["degraded"].is_null() {
                break;
            }
            app.clock.advance(time::Duration::minutes(2));
            answer = anna.call("memory_search", input.clone()).await;
        }
        assert_eq!(answer["mode"], "hybrid", "{answer}");
        let found = ids(&answer);
        let rank = |id| found.iter().position(|found| *found == id);
        let distance = |rank: usize| answer["results"][rank]["explain"]["distance"].as_f64();
        // By its word the distractor is among the candidates in any case.
        let distractor = rank(distractor).unwrap();
        let paraphrase = rank(paraphrase);
        let is_first = paraphrase.is_some_and(|rank| rank < distractor);
        if !is_first {
            println!("{paraphrase:?} after {distractor}: {}", triple.query);
        }
        first += usize::from(is_first);
        first_of_all += usize::from(paraphrase == Some(0));
        nearer += usize::from(paraphrase.is_some_and(|p| distance(p) < distance(distractor)));
    }
    println!(
        "{first} of 40 paraphrases outrank their distractor; {first_of_all} stand first of all; {nearer} are nearer"
    );
    assert!(first >= PARAPHRASES_FIRST_MIN, "{first} of 40");
}

const SIZES: [&str; 4] = ["small", "large", "tall", "narrow"];
const COLOURS: [&str; 5] = ["red", "green", "blue", "yellow", "white"];
const THINGS: [&str; 2] = ["house", "boat"];
const REBUILDS: usize = 8;
/// Vectors are compared by a byte a dimension.
/// Those of this provider have a few high values, which a byte holds least exactly.
const TOLERANCE: f64 = 0.02;

fn cosine_distance(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Anna's memory of a few dozen notes, and what two models would say of it.
struct Memory {
    app: TestApp,
    anna: TestUser,
    provider: Provider,
    /// By id.
    notes: BTreeMap<i64, String>,
}

impl Memory {
    async fn of_model(model: &str) -> Self {
        let (app, anna) = TestApp::start_for("anna").await;
        let provider = Provider::start().await;
        app.use_provider(&anna, &provider, model).await;
        let mut notes = BTreeMap::new();
        for size in SIZES {
            for (colour, thing) in COLOURS.iter().flat_map(|c| THINGS.map(|t| (c, t))) {
                let note = format!("a {size} {colour} {thing}");
                notes.insert(anna.add(&note).await, note);
            }
        }
        assert_eq!(app.drain(&anna).await, Drained::Done);
        Self { app, anna, provider, notes }
    }

    /// Searches, and tells by the distances of all hits whose vectors they were:
    /// the one of `models` that explains every one of them.
    async fn model_that_answers<'a>(&self, models: &'a [String; 2], nth: usize) -> &'a str {
        // Some are asked for the first time and some are kept from before.
        let query = format!("{} {}", SIZES[nth % 4], COLOURS[nth % 5]);
        let input = json!({ "query": query, "limit": 50, "explain": true });
        let answer = self.anna.call("memory_search", input).await;
        assert_eq!(answer["mode"], "hybrid", "{answer}");
        assert_eq!(answer["degraded"], Value::Null);
        let hits = answer["results"].as_array().unwrap();
        assert_eq!(hits.len(), self.notes.len());
        let explains = |model: &String| {
            let asked = vector_of(model, &query, WIDTH);
            hits.iter().all(|hit| {
                let note = &self.notes[&hit["id"].as_i64().unwrap()];
                let expected = cosine_distance(&asked, &vector_of(model, note, WIDTH));
                let distance = hit["explain"]["distance"].as_f64().unwrap();
                (distance - expected).abs() < TOLERANCE
            })
        };
        match models.each_ref().map(explains) {
            [true, false] => &models[0],
            [false, true] => &models[1],
            of => panic!("{models:?} explain all of the answer to {query:?}: {of:?}"),
        }
    }
}

#[tokio::test]
async fn a_search_before_during_and_after_a_rebuild_is_of_one_space() {
    let model = |n: usize| format!("model-{n}");
    let memory = Memory::of_model(&model(0)).await;
    memory.provider.behave(|b| b.delay = Duration::from_millis(15));
    let (mut old, mut new) = (0, 0);
    for rebuild in 1..=REBUILDS {
        let models = [model(rebuild - 1), model(rebuild)];
        assert_eq!(memory.model_that_answers(&models, rebuild).await, models[0]);
        let is_built = AtomicBool::new(false);
        let rebuilding = async {
            change_model(&memory.app, &memory.anna, &memory.provider, &models[1]).await;
            assert_eq!(memory.app.drain(&memory.anna).await, Drained::Done);
            is_built.store(true, Ordering::Relaxed);
        };
        let searching = async {
            let mut answered = Vec::new();
            while !is_built.load(Ordering::Relaxed) {
                answered.push(memory.model_that_answers(&models, answered.len()).await);
            }
            answered
        };
        let ((), answered) = tokio::join!(rebuilding, searching);
        assert!(
            answered.is_sorted_by_key(|model| *model == models[1]),
            "once the new space serves, the old one does not: {answered:?}"
        );
        let of_old = answered.iter().filter(|m| **m == models[0]).count();
        (old, new) = (old + of_old, new + answered.len() - of_old);
        assert_eq!(memory.model_that_answers(&models, rebuild).await, models[1]);
    }
    println!("during {REBUILDS} rebuilds {old} answers were of the old space, {new} of the new");
    assert!(old >= REBUILDS, "too few searches met a rebuild: {old}");
}
