//! `keepsake eval`: measures how well search finds, with a data set or with an account's own memory. Only the
//! figures go to standard output, as a table or as JSON; the progress bar goes to standard error.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::accounts::Email;
use keepsake::config::Config;
use keepsake::evaluation::model::{AskedCounts, SideScores};
use keepsake::evaluation::score::{CUTOFFS, Scores};
use keepsake::evaluation::trial::{TrialProgress, TrialReport};
use keepsake::evaluation::{DataSet, Measurement};
use keepsake::jobs::{self, Runner};
use keepsake::queue;
use keepsake::search::query::Ingredients;
use keepsake::wiring::{self, Database};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

const STANDARD_INPUT: &str = "-";
/// Width of the first column.
const NAME_CHARS: usize = 20;

pub async fn data_set(
    config: &Config,
    file: &Path,
    without: &[String],
    as_json: bool,
) -> anyhow::Result<()> {
    let ingredients = Ingredients::without(without.iter().map(String::as_str))?;
    let data = DataSet::read(open(file)?)?;
    Database::run(config, async |database| {
        let db = database.db.patient();
        let accounts = wiring::accounts(config, &db);
        let services = wiring::services(config, &db, database.options())?;
        let (_stop, stopped) = watch::channel(false);
        let embed = jobs::find(queue::EMBED).context("there is no such job")?;
        let runner = Runner::new(services.for_jobs(), stopped).of(&[embed], None);
        let evaluation = services.evaluation;
        let is_wanted = until_interrupted();
        let bar = bar()?;
        let tell = |progress: TrialProgress| {
            bar.set_length(progress.of as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(progress.stage.as_str());
            is_wanted.load(Ordering::Relaxed)
        };
        let trying = evaluation.try_out(&accounts, &data, ingredients, tell);
        let report = tokio::select! {
            report = trying => report,
            () = jobs::work(runner) => anyhow::bail!("the worker stopped unexpectedly"),
        };
        bar.finish_and_clear();
        let report = report?;
        match as_json {
            true => println!("{}", json_of(&report)),
            false => print!("{}", table_of(&report)),
        }
        Ok(())
    })
    .await
}

fn open(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if file.as_os_str() == STANDARD_INPUT {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let opened = File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// Becomes false at Ctrl-C, so that the evaluation stops and still erases what it created.
fn until_interrupted() -> Arc<AtomicBool> {
    let is_wanted = Arc::new(AtomicBool::new(true));
    let flag = is_wanted.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            flag.store(false, Ordering::Relaxed);
        }
    });
    is_wanted
}

fn bar() -> anyhow::Result<ProgressBar> {
    let style =
        ProgressStyle::with_template("{wide_bar} {msg} {pos} of {len} · {per_sec} · {eta} left")?;
    Ok(ProgressBar::new(0).with_style(style))
}

fn table_of(report: &TrialReport) -> String {
    let mut table = format!("{:NAME_CHARS$} questions", "");
    for (name, _) in Scores::default().shares() {
        table += &format!(" {name:>8}");
    }
    table.push('\n');
    for (arm, scores) in &report.arms {
        table += &row_of(arm.as_str(), scores);
    }
    for (category, scores) in &report.categories {
        table += &row_of(category, scores);
    }
    table += &format!("{} items in {} groups; shares in percent", report.items, report.groups);
    if report.absent.questions > 0 {
        table += &format!(
            "\nsaid to be probably not in memory: {:.1} % of {} questions that nothing answers, {:.1} % of the others",
            100.0 * report.absent.share(),
            report.absent.questions,
            100.0 * report.present.share(),
        );
    }
    if report.without_vector > 0 {
        table += &format!("; {} items have no vector", report.without_vector);
    }
    if report.by_words_alone > 0 {
        table += &format!("; {} questions were answered by words alone", report.by_words_alone);
    }
    table.push('\n');
    table
}

fn row_of(name: &str, scores: &Scores) -> String {
    let name: String = name.chars().take(NAME_CHARS).collect();
    let mut row = format!("{name:NAME_CHARS$} {:9}", scores.questions);
    for (_, share) in scores.shares() {
        row += &format!(" {:8.1}", 100.0 * share);
    }
    row.push('\n');
    row
}

fn json_of(report: &TrialReport) -> Value {
    let of = |scores: &Scores| {
        let mut object = Map::from_iter([("questions".to_owned(), json!(scores.questions))]);
        object.extend(scores.shares().map(|(name, share)| (name.to_owned(), json!(share))));
        Value::Object(object)
    };
    let arms: Map<String, Value> =
        report.arms.iter().map(|(arm, scores)| (arm.as_str().to_owned(), of(scores))).collect();
    let categories: Map<String, Value> =
        report.categories.iter().map(|(category, scores)| (category.clone(), of(scores))).collect();
    json!({
        "items": report.items,
        "groups": report.groups,
        "items_without_vector": report.without_vector,
        "questions_by_words_alone": report.by_words_alone,
        "said_absent": { "of_unanswerable": report.absent.share(), "of_others": report.present.share() },
        "arms": arms,
        "categories": categories,
    })
}

pub async fn own(config: &Config, email: &str, as_json: bool) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    Database::run(config, async |database| {
        let user = super::find_user(config, database, &email).await?;
        let db = database.db.patient();
        let evaluation = wiring::services(config, &db, database.options())?.evaluation;
        let bar = bar()?.with_message("asking");
        let tell = |done: usize, of: usize| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        };
        let now = evaluation.measure(user, tell).await;
        bar.finish_and_clear();
        let now = now?;
        // Both are what was measured now; without the old embeddings nothing is known of the rebuild.
        let rebuilt = now.before.as_ref().map(|_| measurement(&now));
        match as_json {
            true => println!("{}", json!({ "now": measurement(&now), "last_rebuild": rebuilt })),
            false => print!("{}", own_table(&now)),
        }
        Ok(())
    })
    .await
}

fn own_table(now: &Measurement) -> String {
    let mut table = format!("{:34} questions", "");
    for cutoff in CUTOFFS {
        table += &format!(" {:>9}", format!("found@{cutoff}"));
    }
    table += "   by meaning alone\n";
    table += &own_row("now", now.asked, &now.now);
    match &now.before {
        Some(before) => table + &own_row("before the last rebuild", now.asked, before),
        None => table + "The old embeddings of a rebuild are measured for a day after it.\n",
    }
}

fn own_row(when: &str, asked: AskedCounts, scores: &SideScores) -> String {
    let name: String = format!("{when} ({})", named(scores)).chars().take(34).collect();
    let percent = |n: &i32| 100.0 * f64::from(*n) / f64::from(asked.questions.max(1));
    let mut row = format!("{name:34} {:9}", asked.questions);
    for n in &scores.found {
        row += &format!(" {:9.1}", percent(n));
    }
    row += "  ";
    for n in &scores.found_by_meaning {
        row += &format!(" {:6.1}", percent(n));
    }
    row.push('\n');
    row
}

fn named(scores: &SideScores) -> &str {
    match scores.model.as_str() {
        "" => scores.provider_type.as_str(),
        model => model,
    }
}

fn measurement(measured: &Measurement) -> Value {
    let side = |scores: &SideScores| {
        json!({
            "provider_type": scores.provider_type.as_str(),
            "model": scores.model,
            "found": by_cutoff(&scores.found),
            "found_by_meaning": by_cutoff(&scores.found_by_meaning),
        })
    };
    json!({
        "measured_at": measured.at.unix_timestamp(),
        "items": measured.asked.items,
        "questions": measured.asked.questions,
        "questions_by_model": measured.asked.by_model,
        "embedding_tokens": measured.tokens.embedding,
        "chat_tokens": measured.tokens.chat,
        "now": side(&measured.now),
        "before": measured.before.as_ref().map(side),
    })
}

/// How many questions found their item, by cutoff.
fn by_cutoff(counts: &[i32]) -> Map<String, Value> {
    let named = CUTOFFS.iter().zip(counts);
    named.map(|(cutoff, n)| (format!("at_{cutoff}"), json!(n))).collect()
}
