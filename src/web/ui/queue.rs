//! The admin page's section Queue: what the queue and everybody's vectors say, as
//! numbers and sentences.

use app::backend::PageError;
use app::view::{FailedJob, QueueRow, QueueView, TroubleRow};

use super::{Ui, embedding_error};
use crate::embedding::{EmbeddingError, Trouble};
use crate::providers::ProviderType;
use crate::queue;

/// Those that come next.
const FAILED_JOBS_SHOWN: i64 = 20;

impl Ui {
    pub(super) async fn queue_view(&self) -> Result<QueueView, PageError> {
        self.look_at_queue().await.map_err(embedding_error)
    }

    async fn look_at_queue(&self) -> Result<QueueView, EmbeddingError> {
        let embeddings = &self.state.embeddings;
        let mut conn = self.state.db.system_connection().await?;
        let queues = queue::store::count_jobs(&mut conn, self.state.clock.now()).await?;
        let jobs = queue::store::list_failed(&mut conn, FAILED_JOBS_SHOWN).await?;
        let open = embeddings.open_vectors(&mut conn).await?;
        let troubles = embeddings.troubles(&mut conn).await?;
        drop(conn);
        Ok(QueueView {
            queues: queues
                .into_iter()
                .map(|queue| QueueRow {
                    name: queue.job,
                    waiting: queue.waiting,
                    delayed: queue.delayed,
                    running: queue.running,
                    failed: queue.failed,
                    waiting_since: queue.waiting_since.map(|at| self.moment(at)),
                })
                .collect(),
            failed_items: open.failed,
            failed_users: open.failed_users,
            pending: open.pending,
            pending_since: open.pending_since.map(|at| self.moment(at)),
            open_breakers: i64::try_from(embeddings.count_open_breakers()).unwrap_or(i64::MAX),
            troubles: troubles.into_iter().map(|t| self.trouble_row(t)).collect(),
            failed_jobs: jobs
                .into_iter()
                .map(|job| FailedJob {
                    attempts: job.attempts.into(),
                    next_try: job.run_at.map(|at| self.moment(at)),
                    job: job.job,
                    problem: job.problem,
                })
                .collect(),
        })
    }

    fn trouble_row(&self, trouble: Trouble) -> TroubleRow {
        let provider = match trouble.provider_type {
            ProviderType::Llamacpp => "The system's llama.cpp",
            ProviderType::Ollama => "Ollama endpoints of users",
            ProviderType::Openai => "OpenAI-compatible endpoints of users",
            ProviderType::CustomHttp => "Custom endpoints of users",
            ProviderType::Builtin => "The builtin model",
        };
        TroubleRow {
            provider: provider.to_owned(),
            problem: trouble.problem,
            users: trouble.users,
            next_try: trouble.next_try.map(|at| self.moment(at)),
        }
    }
}
