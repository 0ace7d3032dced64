//! Work in progress for one person: what is waiting in their rows, and what blocks it.

use crate::page::PageError;
use crate::view::{Scheduled, Standing, Task, WorkPage};
use crate::words::{count, texts};

use crate::accounts::Viewer;
use crate::consolidation::summary::SummaryProgress;
use crate::embedding::EmbeddingOverview;
use crate::entities;
use crate::evaluation::asked;
use crate::export::ImportState;
use crate::input::sentence;
use crate::jobs;
use crate::memories::{fading, passages};
use crate::page::{Page, chat_error, database, embedding_error};
use crate::pages::summary;
use crate::providers::chat::ChatPurpose;
use crate::queue;
use crate::sessions::{ledger, turns};

impl Page {
    pub(crate) async fn work_view(&self, viewer: &Viewer) -> Result<WorkPage, PageError> {
        let tasks = [
            self.import_task(viewer).await?,
            self.passages_task(viewer).await?,
            self.vectors_task(viewer).await?,
            self.turns_task(viewer).await?,
            self.sessions_task(viewer).await?,
            self.summary_task().await?,
            self.evaluation_task(viewer).await?,
        ];
        let mut tasks: Vec<Task> = tasks.into_iter().flatten().collect();
        let mut conn = self.state.db.system_connection().await.map_err(database)?;
        let paused = queue::store::list_paused(&mut conn).await.map_err(database)?;
        drop(conn);
        for task in &mut tasks {
            if paused.iter().any(|(job, _)| job == task.name) {
                task.problem = Some("An admin paused this work.".to_owned());
                task.next = None;
            }
        }
        // All of them add to the memory.
        if let Some(why) = self.want_of_room(viewer.user_id).await.map_err(database)? {
            tasks.iter_mut().for_each(|task| task.problem = Some(why.clone()));
        }
        let scheduled = self.scheduled(viewer).await?;
        Ok(WorkPage { tasks, scheduled })
    }

    async fn scheduled(&self, viewer: &Viewer) -> Result<Vec<Scheduled>, PageError> {
        let (user, db) = (viewer.user_id, &self.state.db);
        let (chat, model) = self.state.chat.chosen(user).await.map_err(chat_error)?;
        let by_model = |purpose| match (chat.purposes.of(purpose).is_on, model.settings()) {
            (false, _) => Standing::Off,
            (true, None) => Standing::NoModel,
            (true, Some(_)) => Standing::On,
        };
        let switched = |is_on| if is_on { Standing::On } else { Standing::Off };
        let entities = entities::settings::of(db, user).await.map_err(database)?;
        let fading = fading::settings(db, user).await.map_err(database)?;
        let enrich = match entities.by_model {
            true => by_model(ChatPurpose::Enrichment),
            false => Standing::Off,
        };
        let all = [
            (
                "enrich",
                "Reads memories for people, projects and places.",
                enrich,
                ("/entities", "Entities"),
            ),
            (
                "complete",
                "Completes inactive sessions; the chat model then extracts memories.",
                Standing::On,
                ("/settings/chat", "Chat model"),
            ),
            (
                "reflect",
                "Writes what the week was about as a memory.",
                by_model(ChatPurpose::Reflection),
                ("/settings/chat", "Chat model"),
            ),
            (
                "dream",
                "Writes what lasts of several sessions, and proposes changes to memories.",
                by_model(ChatPurpose::Dreaming),
                ("/dreams", "Dreams"),
            ),
            (
                "fade",
                "Archives memories that were not used for a long time.",
                switched(fading.is_on),
                ("/settings/fading", "Fading"),
            ),
        ];
        let mut tx = db.as_user(user).await.map_err(database)?;
        let rounds = queue::list_rounds(&mut tx, user).await.map_err(database)?;
        tx.commit().await.map_err(database)?;
        let mut scheduled = Vec::new();
        for (name, about, standing, switch) in all {
            let last = rounds.iter().find(|(job, _)| job == name);
            scheduled.push(Scheduled {
                title: jobs::find(name).map_or(name, |job| job.title),
                about,
                when: match name {
                    "dream" => "after sessions have ended".to_owned(),
                    _ => self.schedule_of(name).await?,
                },
                last: last.map(|(_, at)| *at),
                standing,
                switch,
            });
        }
        Ok(scheduled)
    }

    async fn import_task(&self, viewer: &Viewer) -> Result<Option<Task>, PageError> {
        let last = self.state.imports.last(viewer.user_id).await.map_err(database)?;
        let running = last.filter(|import| import.state == ImportState::Running);
        Ok(running.map(|import| {
            let total = (import.bytes_total as i64).max(1);
            let read = import.outcome.bytes as i64;
            Task {
                name: "import",
                title: "Import",
                href: "/data",
                progress: Some((read, total)),
                line: format!(
                    "{} % of the file, {} added",
                    100 * read.min(total) / total,
                    count(import.outcome.added as i64)
                ),
                problem: None,
                next: None,
            }
        }))
    }

    async fn vectors_task(&self, viewer: &Viewer) -> Result<Option<Task>, PageError> {
        let overview = self.state.embeddings.overview(viewer.user_id).await;
        let overview = overview.map_err(embedding_error)?;
        let EmbeddingOverview { counts, rebuild, serving, texts: all, .. } = overview;
        let (counts, space) = match rebuild {
            Some(rebuild) => (rebuild.counts, Some(rebuild.space)),
            None => (counts, serving),
        };
        if counts.pending == 0 {
            return Ok(None);
        }
        let ended = counts.ready + counts.failed;
        let problem = space.as_ref().and_then(|space| space.problem.clone());
        // A pause between batches is not shown as a retry.
        let next = space.filter(|_| problem.is_some()).and_then(|s| s.retry_at);
        Ok(Some(Task {
            name: queue::EMBED,
            title: "Vectors",
            href: "/settings/embeddings",
            progress: Some((ended, ended + counts.pending)),
            line: format!(
                "{} of {} embedded",
                count(ended),
                texts(all.memories, all.from_messages)
            ),
            problem,
            next: next,
        }))
    }

    async fn passages_task(&self, viewer: &Viewer) -> Result<Option<Task>, PageError> {
        let due = passages::due_of(&self.state.db, viewer.user_id).await;
        Ok(due.map_err(database)?.map(|due| Task {
            name: "passages",
            title: "Passages",
            href: "/memory",
            progress: Some((due.done.min(due.sources), due.sources.max(1))),
            line: format!(
                "{} of {} memories and messages are prepared for this version's search.",
                count(due.done.min(due.sources)),
                count(due.sources)
            ),
            problem: None,
            next: None,
        }))
    }

    async fn turns_task(&self, viewer: &Viewer) -> Result<Option<Task>, PageError> {
        let due = turns::due_of(&self.state.db, viewer.user_id).await;
        let due = due.map_err(database)?.len() as i64;
        Ok((due > 0).then(|| Task {
            name: queue::TURNS,
            title: "Messages",
            href: "/sessions",
            progress: None,
            line: format!("Making the messages of {} searchable.", sessions(due)),
            problem: None,
            next: None,
        }))
    }

    async fn sessions_task(&self, viewer: &Viewer) -> Result<Option<Task>, PageError> {
        let now = self.state.clock.now();
        let unread = ledger::unread_of(&self.state.db, viewer.user_id, now).await;
        let unread = unread.map_err(database)?;
        Ok((unread.stretches > 0).then(|| Task {
            name: queue::EXTRACT,
            title: "Session reading",
            href: "/sessions",
            progress: None,
            line: match (unread.stretches, unread.is_read) {
                (1, true) => "A session is being read.".to_owned(),
                (n, true) => format!("Reading one of {} waiting sessions.", count(n)),
                (1, false) => "1 session is waiting to be read.".to_owned(),
                (n, false) => format!("{} are waiting to be read.", sessions(n)),
            },
            problem: unread.reason.map(|why| sentence(&why)),
            next: unread.next_at,
        }))
    }

    async fn summary_task(&self) -> Result<Option<Task>, PageError> {
        let now = self.state.clock.now();
        let (line, problem, next) = match summary::status(self).await?.state {
            SummaryProgress::Writing => ("It is being written.", None, None),
            SummaryProgress::Waiting(Some(at)) if at <= now => {
                ("It will be written in a moment.", None, None)
            }
            SummaryProgress::Waiting(at) => ("It is written after a few quiet minutes.", None, at),
            SummaryProgress::Failed(why, at) => {
                ("It could not be written.", Some(sentence(&why)), at.filter(|at| *at > now))
            }
            SummaryProgress::Current | SummaryProgress::Empty | SummaryProgress::Off(_) => {
                return Ok(None);
            }
        };
        Ok(Some(Task {
            name: queue::SUMMARY,
            title: "Summary",
            href: "/summary",
            progress: None,
            line: line.to_owned(),
            problem,
            next,
        }))
    }

    async fn evaluation_task(&self, viewer: &Viewer) -> Result<Option<Task>, PageError> {
        let standing = self.state.evaluation.standing(viewer.user_id).await;
        let asked::MeasurementState::UnderWay { answers, total } = standing.map_err(chat_error)?
        else {
            return Ok(None);
        };
        Ok(Some(Task {
            name: queue::EVALUATE,
            title: "Effect of the rebuild",
            href: "/settings/embeddings",
            progress: (total > 0).then_some((answers, total)),
            line: match total {
                0 => "Generating the questions.".to_owned(),
                total => format!("{} of {} answers", count(answers), count(total)),
            },
            problem: None,
            next: None,
        }))
    }
}

fn sessions(n: i64) -> String {
    match n {
        1 => "1 session".to_owned(),
        n => format!("{} sessions", count(n)),
    }
}
