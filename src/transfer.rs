//! `keepsake export` and `keepsake import`: a person's data by standard output and
//! input. What others may read goes to standard output alone, and all else beside it.

use std::io::{BufReader, IsTerminal, Write};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::accounts::{Email, UserId};
use keepsake::config::Config;
use keepsake::export::{Export, Importer, Outcome};
use keepsake::wiring::{self, Database};

pub async fn export(config: &Config, email: &str) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    let database = Database::of_command(config).await?;
    let exported = async {
        let user = find_user(config, &database, &email).await?;
        write_all(Export::new(&database.db, user, wiring::now())).await
    }
    .await;
    database.close().await?;
    exported
}

async fn write_all(mut export: Export) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let mut written = 0;
    while let Some(lines) = export.next().await? {
        out.write_all(&lines)
            .context("standard output does not take any more")?;
        written += lines.iter().filter(|b| **b == b'\n').count();
    }
    out.flush()?;
    eprintln!("{written} lines written");
    Ok(())
}

pub async fn import(config: &Config, email: &str) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    if std::io::stdin().is_terminal() {
        bail!("give the file on standard input: keepsake import --email E < memory.jsonl");
    }
    let database = Database::of_command(config).await?;
    let imported = async {
        let user = find_user(config, &database, &email).await?;
        let embeddings = wiring::embeddings(config, &database.db)?;
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}")?);
        let tell = |outcome: Outcome| {
            bar.set_message(said(&outcome));
            bar.tick();
            std::future::ready(())
        };
        let importer = Importer::new(&database.db, &embeddings, user);
        let outcome = importer.run(BufReader::new(std::io::stdin()), tell).await;
        bar.finish_and_clear();
        Ok::<_, anyhow::Error>(outcome?)
    }
    .await;
    database.close().await?;
    let outcome = imported?;
    for problem in &outcome.problems {
        eprintln!("{}: {}", problem.place, problem.sentence);
    }
    println!("{}", said(&outcome));
    match outcome.failed {
        0 => Ok(()),
        failed => bail!("{failed} were not taken in"),
    }
}

fn said(outcome: &Outcome) -> String {
    format!(
        "{} added, {} known already, {} failed",
        outcome.added, outcome.known, outcome.failed
    )
}

async fn find_user(config: &Config, database: &Database, email: &Email) -> anyhow::Result<UserId> {
    let accounts = wiring::accounts(config, &database.db);
    let user = accounts.find_user_by_email(email).await?;
    user.with_context(|| format!("there is no account {}", email.as_str()))
}
