//! `keepsake rebuild`: computes a user's vectors anew and waits, with a progress
//! bar. Beside a running server it shares the work with the server's workers.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Context, bail};
use app::words;
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::accounts::{Email, UserId};
use keepsake::config::Config;
use keepsake::embedding::{Embeddings, Saved, Texts};
use keepsake::evaluation::Evaluation;
use keepsake::jobs::{self, JobContext, Runner};
use keepsake::queue::{self, Slice};
use keepsake::wiring::{self, Database};
use tokio::sync::watch;

const LOOK_EVERY: Duration = Duration::from_millis(250);
const SHOWN_EVERY: Duration = Duration::from_millis(500);

pub async fn rebuild(config: &Config, email: &str) -> anyhow::Result<()> {
    let email = Email::parse(email)?;
    let database = Database::of_command(config).await?;
    let rebuilt = async {
        let user = super::find_user(config, &database, &email).await?;
        let embeddings = wiring::embeddings(config, &database.db)?;
        let is_rebuilt = start_and_wait(&database, &embeddings, user).await?;
        if is_rebuilt {
            let evaluation = Evaluation::new(database.db.clone(), embeddings);
            tell_what_changed(&evaluation, user).await?;
        }
        Ok(())
    }
    .await;
    database.close().await?;
    rebuilt
}

/// False where there was nothing to do.
async fn start_and_wait(
    database: &Database,
    embeddings: &Embeddings,
    user: UserId,
) -> anyhow::Result<bool> {
    let overview = embeddings.overview(user).await?;
    if overview.effective.settings().is_none() {
        bail!(
            "no embedding provider is in force for this account; set one up in Settings › Embeddings"
        );
    }
    let Saved::Rebuilding { texts } = embeddings.rebuild(user).await? else {
        println!("There are no memories yet; nothing was to be done.");
        return Ok(false);
    };
    let bar = ProgressBar::new(texts);
    bar.set_style(ProgressStyle::with_template(
        "{wide_bar} {pos} of {len} texts{msg} · {per_sec} · {eta} left",
    )?);
    tokio::select! {
        worked = work_off(database, embeddings, user) => worked?,
        Err(error) = show(&bar, embeddings, user) => return Err(error),
    }
    bar.finish_and_clear();
    let ended = embeddings.overview(user).await?;
    if ended.settings.declined.is_some() {
        bail!("the rebuild was cancelled; the old vectors serve on");
    }
    let Texts {
        memories,
        from_messages,
    } = ended.texts;
    let failed = ended.counts.failed;
    println!(
        "{} rebuilt, {failed} failed: {}",
        ended.counts.ready,
        words::texts(memories, from_messages)
    );
    Ok(true)
}

/// Until nothing is being rebuilt, whatever else may wait. Whoever has the job, a server or we, the
/// other only looks.
async fn work_off(
    database: &Database,
    embeddings: &Embeddings,
    user: UserId,
) -> anyhow::Result<()> {
    let context = JobContext {
        db: database.db.clone(),
        embeddings: embeddings.clone(),
    };
    let (_stop, stopped) = watch::channel(false);
    let job = jobs::find(queue::EMBED).context("there is no such job")?;
    let runner = Runner::new(context, stopped).of(&[job], Some(user));
    tokio::select! {
        () = jobs::work(runner) => bail!("the work ended before its time"),
        rebuilt = until_rebuilt(embeddings, user) => rebuilt,
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
                "none of the memories could be embedded, and the old vectors serve on; Settings › Embeddings says why"
            );
        }
    }
}

/// Beside the work: a turn of it takes seconds.
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

/// A worker of a running server may be measuring already, and its figures are as good.
async fn tell_what_changed(evaluation: &Evaluation, user: UserId) -> anyhow::Result<()> {
    evaluation.after_rebuild(user, &Slice::whole()).await?;
    let Some(measured) = evaluation.latest(user).await? else {
        return Ok(());
    };
    let [.., found] = measured.now.found;
    let of = measured.asked.questions;
    let before = measured.before.map_or(String::new(), |before| {
        let [.., found] = before.found;
        format!(", before the rebuild {found}")
    });
    println!(
        "of {of} questions about these memories, {found} find theirs among the first 10{before}"
    );
    Ok(())
}
