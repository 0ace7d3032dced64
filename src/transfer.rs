//! `keepsake export` and `keepsake import`: a person's data through standard output and input. Standard
//! output carries the data only; everything else goes to standard error.

use std::fs::File;
use std::io::{BufReader, IsTerminal, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::accounts::Email;
use keepsake::clock::Zone;
use keepsake::config::Config;
use keepsake::embedding::Embeddings;
use keepsake::export::{Export, FileOrigin, ImportOutcome, ImportSource, Importer, is_signed};
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
        let services = database.services(config)?;
        let sealer = services.embeddings.sealer();
        let export = Export::new(&database.db, sealer, user, wiring::now()).as_of(&day);
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

/// What is imported, and where the report goes.
pub struct ImportFile {
    pub is_vouched: bool,
    /// `None`: standard input.
    pub folder: Option<PathBuf>,
    pub report: Option<PathBuf>,
}

impl ImportFile {
    /// # Errors
    /// There is no file, or no such folder.
    fn source(&self) -> anyhow::Result<ImportSource> {
        if let Some(folder) = &self.folder {
            if !folder.is_dir() {
                bail!("there is no folder {}", folder.display());
            }
            return Ok(ImportSource::Folder(folder.clone()));
        }
        let input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        match input.metadata()?.is_file() {
            true => Ok(ImportSource::File { file: input, name: None }),
            false => Ok(ImportSource::stream(input)),
        }
    }
}

pub async fn import(config: &Config, email: &str, file: ImportFile) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    if file.folder.is_none() && std::io::stdin().is_terminal() {
        bail!("pass the file on standard input: keepsake import --email E < memory.jsonl");
    }
    let source = file.source()?;
    let mut report_file = match &file.report {
        Some(path) => Some(File::create(path).context("the report cannot be written")?),
        None => None,
    };
    Database::run(config, async |database| {
        let user = super::find_user(config, database, &email).await?;
        let services = database.services(config)?;
        wiring::watch_disk(&services);
        let bar = match &file.folder {
            Some(_) => ProgressBar::new_spinner(),
            None => bar_of_input()?,
        };
        let is_signed = file.folder.is_none() && is_signed_input(&services.embeddings, email.as_str())?;
        let origin = match is_signed {
            true => FileOrigin::Signed,
            false if file.is_vouched => FileOrigin::Vouched,
            false => FileOrigin::Unknown,
        };
        let last = Mutex::new(ImportOutcome::default());
        let tell = |outcome: ImportOutcome| {
            bar.set_position(outcome.bytes);
            bar.set_message(said(&outcome));
            *last.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
            std::future::ready(())
        };
        let importer = Importer::new(&database.db, &services.embeddings, user, origin);
        let report = importer.report();
        let outcome = importer.run(source, tell).await;
        bar.finish_and_clear();
        if let Some(report_file) = &mut report_file {
            let lines = match &outcome {
                Ok(outcome) => report.lines(outcome, None),
                Err(error) => {
                    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
                    report.lines(&last, Some(&error.to_string()))
                }
            };
            report_file.write_all(lines.as_bytes()).context("the report cannot be written")?;
        }
        let outcome = outcome?;
        for problem in &outcome.problems {
            eprintln!("{}: {}", problem.place, problem.sentence);
        }
        println!("{}", said(&outcome));
        if origin == FileOrigin::Unknown {
            eprintln!(
                "its memories are external: this server has not written the file for this person; --vouch keeps whose word they are"
            );
        }
        match outcome.failed {
            0 => Ok(()),
            failed => bail!("{failed} were not imported"),
        }
    })
    .await
}

/// Whether standard input is a file that this server has written for this person. A pipe cannot be read twice: it counts as
/// unsigned.
fn is_signed_input(embeddings: &Embeddings, email: &str) -> anyhow::Result<bool> {
    let mut input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    if !input.metadata()?.is_file() {
        return Ok(false);
    }
    let begin = input.stream_position()?;
    let is_signed = is_signed(BufReader::new(&input), embeddings.sealer(), email)?;
    input.seek(SeekFrom::Start(begin))?;
    Ok(is_signed)
}

/// A file's size is known; a pipe's is not.
fn bar_of_input() -> anyhow::Result<ProgressBar> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let about = File::from(input).metadata()?;
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
    let mut said = format!(
        "{} added, {} known already, {} failed",
        outcome.added, outcome.known, outcome.failed
    );
    let more = [
        (outcome.documents, if outcome.documents == 1 { "document" } else { "documents" }),
        (outcome.changed, "changed"),
        (outcome.skipped, "not imported"),
    ];
    for (count, what) in more.into_iter().filter(|(count, _)| *count > 0) {
        said += &format!(", {count} {what}");
    }
    said
}
