//! `keepsake jobs`: lists background jobs and their runs, and runs one job now.

use std::time::Duration;

use anyhow::{Context, bail};
use keepsake::accounts::Email;
use keepsake::config::Config;
use keepsake::jobs::{self, JobWork, Runner};
use keepsake::queue::{self, runs::store::RunSums};
use keepsake::wiring::{self, Database};
use time::format_description::well_known::Rfc3339;
use tokio::sync::watch;

use super::terminal::print_lines;

const RUNS_SHOWN: i64 = 100;
/// Runs are added to a row of the last minutes: what ended within this time is compared.
const RUNS_COMPARED: Duration = Duration::from_secs(3_600);
/// While another process runs the job.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Prints one line per job: name, schedule, waiting, later, running, failed; tab-separated.
pub async fn list(config: &Config) -> anyhow::Result<()> {
    Database::run(config, async |database| {
        let mut conn = database.db.system_connection().await?;
        let states = jobs::states(&mut conn, wiring::now()).await?;
        print_lines(states.iter().map(|state| {
            let counts = state.counts.as_ref();
            let [waiting, delayed, running, failed] =
                counts.map_or([0; 4], |c| [c.waiting, c.delayed, c.running, c.failed]);
            format!(
                "{}\t{}\t{waiting}\t{delayed}\t{running}\t{failed}",
                state.job.name,
                state.when()
            )
        }))
    })
    .await
}

/// Prints one line per run, newest first: end, job, user (0: the server), outcome, done, failed,
/// milliseconds, reason.
pub async fn runs(config: &Config) -> anyhow::Result<()> {
    Database::run(config, async |database| {
        let mut conn = database.db.system_connection().await?;
        let found = queue::runs::store::list_latest(&mut conn, RUNS_SHOWN).await?;
        print_lines(found.into_iter().map(|run| {
            format!(
                "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                run.ended_at.format(&Rfc3339).unwrap_or_default(),
                run.job,
                run.user.0,
                run.outcome,
                run.done,
                run.failed,
                run.took_ms,
                run.problem.unwrap_or_default()
            )
        }))
    })
    .await
}

/// Runs a job until none of its work is due, for one account or for all that have work. Waits for runs in other processes, and
/// reports what all of them have done.
pub async fn run(config: &Config, name: &str, email: Option<&str>) -> anyhow::Result<()> {
    let job = jobs::find(name).with_context(|| {
        let names: Vec<&str> = jobs::JOBS.iter().map(|job| job.name).collect();
        format!("there is no job {name}; there are: {}", names.join(", "))
    })?;
    if email.is_some() && matches!(job.work, JobWork::OfServer(_)) {
        bail!("{name} is a job of the server, not of an account: leave --email out");
    }
    let email = email.map(Email::parse).transpose()?;
    Database::run(config, async |database| {
        if email.is_none() {
            let mut conn = database.db.system_connection().await?;
            let paused = queue::store::list_paused(&mut conn).await?;
            if paused.iter().any(|(paused, _)| paused == name) {
                bail!("{name} is paused; resume it on Admin › Jobs");
            }
        }
        let user = match &email {
            Some(email) => Some(super::find_user(config, database, email).await?),
            None => None,
        };
        let context = database.services(config)?.for_jobs();
        let since = wiring::now() - RUNS_COMPARED;
        let sum = async || -> anyhow::Result<RunSums> {
            let mut conn = database.db.system_connection().await?;
            Ok(queue::runs::store::sum(&mut conn, name, user, since).await?)
        };
        let before = sum().await?;
        jobs::ask_for(job, &context, user).await?;
        let (_stop, stopped) = watch::channel(false);
        let runner = Runner::new(context, stopped).of(&[job], user);
        let (mut ran, mut told) = (runner.run_due().await?, None);
        loop {
            let mut conn = database.db.system_connection().await?;
            let now = wiring::now();
            let others = queue::store::count_in_progress(&mut conn, name, user, now).await?;
            drop(conn);
            if others.runs == 0 {
                break;
            }
            if told.as_ref() != Some(&others) {
                eprintln!(
                    "{name} runs in another process (rows left: {}); waiting for it. Ctrl-C ends the waiting, not the run",
                    others.size
                );
                told = Some(others);
            }
            tokio::time::sleep(LOOK_EVERY).await;
            ran.add(runner.run_due().await?);
        }
        // Of every process: a server may have taken the work first.
        let after = sum().await?;
        let (done, failed) = (after.done - before.done, after.failed - before.failed);
        println!("{name}\t{done} done\t{failed} failed");
        if after == before {
            let last = before.ended_at.map_or_else(String::new, |at| {
                format!(
                    "; runs of the last hour, the last until {}: {} done, {} failed",
                    at.format(&Rfc3339).unwrap_or_default(),
                    before.done,
                    before.failed
                )
            });
            eprintln!("nothing of {name} was due{last}");
        }
        let of_others = after.problem.filter(|_| after.failures > before.failures);
        match ran.problem.or(of_others) {
            Some(problem) => bail!("{name} failed: {problem}"),
            None => Ok(()),
        }
    })
    .await
}
