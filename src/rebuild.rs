//! `keepsake rebuild`: recomputes a user's embeddings and waits, with a progress bar. If a server is running,
//! its workers share the work.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Context, bail};
use app::words;
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::accounts::{Email, UserId};
use keepsake::config::Config;
use keepsake::embedding::{Embeddings, Saved, Texts};
use keepsake::evaluation::EvaluationError;
use keepsake::evaluation::model::MeasurementTokens;
use keepsake::input::sentence;
use keepsake::jobs::{self, Runner};
use keepsake::queue;
use keepsake::services::Services;
use keepsake::wiring::Database;
use tokio::sync::watch;

const LOOK_EVERY: Duration = Duration::from_millis(250);
const SHOWN_EVERY: Duration = Duration::from_millis(500);

pub async fn rebuild(config: &Config, email: &str, is_measured: bool) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    Database::run(config, async |database| {
        let user = super::find_user(config, database, &email).await?;
        let services = database.services(config)?;
        let is_rebuilt = start_and_wait(&services, user).await?;
        if is_rebuilt && is_measured {
            measure(&services, user).await?;
        }
        Ok(())
    })
    .await
}

/// False if there was nothing to do.
async fn start_and_wait(services: &Services, user: UserId) -> anyhow::Result<bool> {
    let embeddings = &services.embeddings;
    let overview = embeddings.overview(user).await?;
    if overview.effective.settings().is_none() {
        bail!(
            "no embedding provider is active for this account; set one up in Settings › Embeddings"
        );
    }
    let Saved::Rebuilding { texts } = embeddings.rebuild(user).await? else {
        println!("There are no memories yet; nothing to rebuild.");
        return Ok(false);
    };
    let bar = ProgressBar::new(texts);
    bar.set_style(ProgressStyle::with_template(
        "{wide_bar} {pos} of {len} texts{msg} · {per_sec} · {eta} left",
    )?);
    tokio::select! {
        worked = embed(services, user) => worked?,
        Err(error) = show(&bar, embeddings, user) => return Err(error),
    }
    bar.finish_and_clear();
    let ended = embeddings.overview(user).await?;
    if ended.settings.declined.is_some() {
        bail!("the rebuild was cancelled; search keeps the old embeddings");
    }
    let Texts { memories, from_messages } = ended.texts;
    let failed = ended.counts.failed;
    println!(
        "{} rebuilt, {failed} failed: {}",
        ended.counts.ready,
        words::texts(memories, from_messages)
    );
    Ok(true)
}

/// Runs the user's embedding job until the rebuild ends. If a server holds the job's lease, this process only
/// waits.
async fn embed(services: &Services, user: UserId) -> anyhow::Result<()> {
    let (_stop, stopped) = watch::channel(false);
    let job = jobs::find(queue::EMBED).context("there is no such job")?;
    let runner = Runner::new(services.for_jobs(), stopped).of(&[job], Some(user));
    tokio::select! {
        () = jobs::work(runner) => bail!("the worker stopped unexpectedly"),
        ended = until_rebuilt(&services.embeddings, user) => ended,
    }
}

async fn until_rebuilt(embeddings: &Embeddings, user: UserId) -> anyhow::Result<()> {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(rebuild) = embeddings.overview(user).await?.rebuild else {
            return Ok(());
        };
        if rebuild.counts.are_all_failed() {
            bail!(
                "no memory could be embedded; search keeps the old embeddings; Settings › Embeddings shows the reason"
            );
        }
    }
}

/// Updates the bar independently of the work, since one slice takes seconds.
async fn show(
    bar: &ProgressBar,
    embeddings: &Embeddings,
    user: UserId,
) -> anyhow::Result<Infallible> {
    loop {
        if let Some(rebuild) = embeddings.overview(user).await?.rebuild {
            let counts = rebuild.counts;
            bar.set_length(counts.total().unsigned_abs());
            bar.set_position((counts.ready + counts.failed).unsigned_abs());
            bar.set_message(match (counts.failed, rebuild.space.problem) {
                (_, Some(problem)) => format!(" · {problem}"),
                (0, None) => String::new(),
                (failed, None) => format!(" · {failed} failed"),
            });
        }
        tokio::time::sleep(SHOWN_EVERY).await;
    }
}

/// With the old embeddings, if they are still there, and the new ones.
async fn measure(services: &Services, user: UserId) -> anyhow::Result<()> {
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos} of {len} answers")?);
    let tell = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let measured = services.for_jobs().evaluation.measure(user, tell).await;
    bar.finish_and_clear();
    let measured = match measured {
        Err(few @ EvaluationError::TooFew { .. }) => {
            println!("{}", sentence(&few.to_string()));
            return Ok(());
        }
        measured => measured?,
    };
    let [.., found] = measured.now.found;
    let of = measured.asked.questions;
    let before = measured.before.map_or(String::new(), |before| {
        let [.., found] = before.found;
        format!(", before the rebuild {found}")
    });
    let MeasurementTokens { embedding, chat } = measured.tokens;
    println!(
        "{found} of {of} questions about these memories found theirs in the top 10{before}; used about {embedding} embedding tokens and {chat} chat tokens"
    );
    Ok(())
}
