//! Admin › Jobs: the queue, past runs and all users' embeddings, as numbers and sentences.

use crate::page::PageError;
use crate::view::{
    DayRuns, FailedRun, JobFailures, JobRow, JobsLine, JobsPage, LastRun, NextRun, ScheduleView,
    TroubleRow, VectorsView,
};
use crate::words::lasted;
use sqlx::PgConnection;
use time::macros::format_description;
use time::{Date, Duration};

use crate::clock::Schedule;
use crate::embedding::ProviderTrouble;
use crate::jobs::{self, DAYS_COUNTED, JobState};
use crate::page::{Page, database};
use crate::providers::ProviderType;
use crate::queue::SERVER;
use crate::queue::runs::store::DayRuns as CountedDay;
use crate::queue::store::FailedJob;

impl Page {
    /// `None`: no admin asks.
    pub async fn jobs_page(&self) -> Result<Option<JobsPage>, PageError> {
        match self.is_admin() {
            true => self.jobs_view().await.map(Some),
            false => Ok(None),
        }
    }

    pub(crate) async fn jobs_line(&self) -> Result<JobsLine, PageError> {
        let look = async {
            let mut conn = self.state.db.system_connection().await?;
            jobs::states(&mut conn, self.state.clock.now()).await
        };
        let states = look.await.map_err(database)?;
        Ok(JobsLine {
            failed: states.iter().map(JobState::failed).sum(),
            paused: states.iter().filter(|job| job.paused_at.is_some()).count() as i64,
        })
    }

    pub(crate) async fn jobs_view(&self) -> Result<JobsPage, PageError> {
        self.look_at_jobs().await.map_err(database)
    }

    async fn look_at_jobs(&self) -> Result<JobsPage, sqlx::Error> {
        let now = self.state.clock.now();
        let mut conn = self.state.db.system_connection().await?;
        let overview = jobs::overview(&mut conn, now).await?;
        let vectors = self.vectors_view(&mut conn).await?;
        drop(conn);
        let failures = overview.jobs.iter().filter(|state| state.failed() > 0);
        Ok(JobsPage {
            failures: failures.map(|state| self.failures_of(state, &overview.failed)).collect(),
            jobs: overview.jobs.iter().map(|job| self.job_row(job)).collect(),
            vectors,
            days: every_day(now.date(), &overview.days),
        })
    }

    fn job_row(&self, state: &JobState) -> JobRow {
        let counts = state.counts.as_ref();
        let (waiting, running) = counts.map_or((0, 0), |counts| (counts.waiting, counts.running));
        let next = match (counts.and_then(|counts| counts.next_at), waiting) {
            _ if state.paused_at.is_some() => NextRun::None,
            (_, 1..) => NextRun::Now,
            (Some(at), _) => NextRun::At(at),
            (None, _) => NextRun::None,
        };
        JobRow {
            name: state.job.name,
            title: state.job.title,
            about: state.job.about,
            when: state.when(),
            schedule: state.job.schedule.map(|default| schedule_view(state, default)),
            last: state.last.as_ref().map(|run| LastRun {
                ended: run.ended_at,
                took: lasted(run.took_ms),
                has_failed: run.has_failed,
                done: run.done,
                failed: run.failed,
            }),
            next,
            waiting,
            running,
            can_pause: state.job.can_pause(),
            paused: state.paused_at,
        }
    }

    fn failures_of(&self, state: &JobState, failed: &[FailedJob]) -> JobFailures {
        let of_job = failed.iter().filter(|run| run.job == state.job.name);
        JobFailures {
            name: state.job.name,
            title: state.job.title,
            total: state.failed(),
            runs: of_job
                .map(|run| FailedRun {
                    user: (run.user != SERVER).then_some(run.user.0),
                    attempts: run.attempts.into(),
                    problem: run.problem.clone(),
                    next_try: run.run_at,
                })
                .collect(),
        }
    }

    async fn vectors_view(&self, conn: &mut PgConnection) -> Result<VectorsView, sqlx::Error> {
        let embeddings = &self.state.embeddings;
        let open = embeddings.open_embeddings(conn).await?;
        let troubles = embeddings.troubles(conn).await?;
        Ok(VectorsView {
            failed_items: open.failed,
            failed_users: open.failed_users,
            pending: open.pending,
            pending_since: open.pending_since,
            open_breakers: i64::try_from(embeddings.count_open_breakers()).unwrap_or(i64::MAX),
            troubles: troubles.into_iter().map(|t| self.trouble_row(t)).collect(),
        })
    }

    fn trouble_row(&self, trouble: ProviderTrouble) -> TroubleRow {
        let provider = match trouble.provider_type {
            ProviderType::Llamacpp => "System llama.cpp",
            ProviderType::Ollama => "Ollama endpoints of users",
            ProviderType::Openai => "OpenAI-compatible endpoints of users",
            ProviderType::Anthropic | ProviderType::CustomHttp => "Custom endpoints of users",
            ProviderType::Builtin => "Builtin model",
        };
        TroubleRow {
            provider: provider.to_owned(),
            problem: trouble.problem,
            users: trouble.users,
            next_try: trouble.next_try,
        }
    }
}

fn schedule_view(state: &JobState, default: Schedule) -> ScheduleView {
    let in_force = state.set_schedule.unwrap_or(default);
    let time = format_description!("[hour]:[minute]");
    ScheduleView {
        at: in_force.at.format(time).unwrap_or_default(),
        weekday: in_force.weekday.map(|day| day.to_string()),
        default: state.set_schedule.map(|_| default.to_string()),
    }
}

fn every_day(today: Date, counted: &[CountedDay]) -> Vec<DayRuns> {
    let format = format_description!("[day padding:none] [month repr:long]");
    let days = (0..DAYS_COUNTED).rev().map(|ago| today - Duration::days(ago));
    days.map(|day| {
        let runs = counted.iter().find(|count| count.day == day);
        DayRuns {
            day: day.format(format).unwrap_or_default(),
            done: runs.map_or(0, |count| count.done),
            failed: runs.map_or(0, |count| count.failed),
        }
    })
    .collect()
}
