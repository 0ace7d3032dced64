//! `keepsake export` and `keepsake import`: a person's data through standard output and input. Standard
//! output carries the data only; everything else goes to standard error.

use std::io::{BufReader, IsTerminal, Write};
use std::os::fd::AsFd;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::accounts::Email;
use keepsake::clock::Zone;
use keepsake::config::Config;
use keepsake::export::{Export, ImportOutcome, Importer};
use keepsake::memories::Day;
use keepsake::wiring::{self, Database};

pub async fn export(config: &Config, email: &str, as_of: Option<&str>) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    let day = Day::parse(&Zone::utc(), as_of, None, wiring::now())?;
    Database::run(config, async |database| {
        let user = super::find_user(config, database, &email).await?;
        let overview = Export::overview(&database.db, user).await?;
        let bar = ProgressBar::new((overview.items + overview.calls).unsigned_abs());
        bar.set_style(ProgressStyle::with_template(
            "{wide_bar} {pos} of {len} · {per_sec} · {eta} left",
        )?);
        let export = Export::new(&database.db, user, wiring::now()).as_of(&day);
        write_all(export, &bar).await
    })
    .await
}

async fn write_all(mut export: Export, bar: &ProgressBar) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let mut written = 0;
    while let Some(lines) = export.next().await? {
        out.write_all(&lines).context("standard output could not be written")?;
        written += lines.iter().filter(|b| **b == b'\n').count();
        bar.set_position(export.written());
    }
    out.flush()?;
    bar.finish_and_clear();
    eprintln!("{written} lines written");
    Ok(())
}

pub async fn import(config: &Config, email: &str) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    if std::io::stdin().is_terminal() {
        bail!("pass the file on standard input: keepsake import --email E < memory.jsonl");
    }
    Database::run(config, async |database| {
        let user = super::find_user(config, database, &email).await?;
        let core = wiring::core(config, &database.db)?;
        let bar = bar_of_input()?;
        let tell = |outcome: ImportOutcome| {
            bar.set_position(outcome.bytes);
            bar.set_message(said(&outcome));
            std::future::ready(())
        };
        let importer = Importer::new(&database.db, core.embeddings(), user);
        let outcome = importer.run(BufReader::new(std::io::stdin()), tell).await;
        bar.finish_and_clear();
        let outcome = outcome?;
        for problem in &outcome.problems {
            eprintln!("{}: {}", problem.place, problem.sentence);
        }
        println!("{}", said(&outcome));
        match outcome.failed {
            0 => Ok(()),
            failed => bail!("{failed} were not imported"),
        }
    })
    .await
}

/// A file's size is known; a pipe's is not.
fn bar_of_input() -> anyhow::Result<ProgressBar> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let about = std::fs::File::from(input).metadata()?;
    let (bar, template) = match about.is_file() {
        true => (
            ProgressBar::new(about.len()),
            "{wide_bar} {bytes} of {total_bytes} · {msg} · {eta} left",
        ),
        false => (ProgressBar::new_spinner(), "{spinner} {bytes} · {msg}"),
    };
    Ok(bar.with_style(ProgressStyle::with_template(template)?))
}

fn said(outcome: &ImportOutcome) -> String {
    format!("{} added, {} known already, {} failed", outcome.added, outcome.known, outcome.failed)
}
