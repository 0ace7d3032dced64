//! What the scan costs a whole add (docs/secrets.md). It measures, and fails at nothing.

use std::time::{Duration, Instant};

use keepsake::accounts::Viewer;
use keepsake::memories::{ItemType, NewItem};
use keepsake::redaction::TextDoor;

use crate::support::TestApp;

const ROUNDS: usize = 20;
const ADDS_A_ROUND: usize = 50;
/// 240 characters, with words that begin rules.
const TEXT: &str = "The user keeps two hives of bees behind the house in Lisbon and wants to hear about the weather in the morning. \
    Uses the API of the weather service; the key points of the talk are in the notes, the access code of the gate is not.";

/// Adds in rounds, in turn with the scan and without it. Prints the medians of the rounds, an add.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn what_the_scan_costs_an_add() {
    let (app, anna) = TestApp::start_for("anna").await;
    let viewer = Viewer::person(anna.id);
    let redactor = app.embeddings.redactor();
    let mut took: [Vec<Duration>; 2] = Default::default();
    for round in 0..2 * ROUNDS {
        let is_scanned = round % 2 == 0;
        let began = Instant::now();
        for n in 0..ADDS_A_ROUND {
            let mut text = format!("{round} {n} {TEXT}");
            let call = app.activity.begin(&viewer, "memory_add");
            if is_scanned {
                let field = ("content", &mut text);
                let warnings = redactor.screen_text(anna.id, None, TextDoor::Call, field);
                assert!(warnings.await.unwrap().is_empty());
            }
            let item = NewItem::parse(ItemType::Fact, &text, None, &[]).unwrap();
            app.adding.add(&call, &item).await.unwrap();
        }
        took[usize::from(is_scanned)].push(began.elapsed() / ADDS_A_ROUND as u32);
    }
    let [without, with] = took.map(|mut rounds| {
        rounds.sort_unstable();
        rounds[ROUNDS / 2]
    });
    let ratio = with.as_secs_f64() / without.as_secs_f64();
    println!("an add without the scan {without:?}, with it {with:?}: {ratio:.3}");
    let mut scans: Vec<Duration> = Vec::new();
    for n in 0..ROUNDS * ADDS_A_ROUND {
        let mut text = format!("{n} {TEXT}");
        let began = Instant::now();
        let field = ("content", &mut text);
        let screened = redactor.screen_text(anna.id, None, TextDoor::Call, field);
        screened.await.unwrap();
        scans.push(began.elapsed());
    }
    scans.sort_unstable();
    let (half, most) = (scans[scans.len() / 2], scans[scans.len() * 99 / 100]);
    println!("the scan alone {half:?}, p99 {most:?}");
}
