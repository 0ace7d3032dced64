//! The one thread on which the built-in model runs, off the async threads. A
//! single text (a query) goes before the batches of a rebuild: it waits for one
//! step of theirs at most, never for a queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::Embedded;
use super::builtin::{Loaded, Work, is_present};
use super::error::{BuiltinFlaw, ProviderError};

/// So many queries and batches wait; who comes later waits to be let in.
const MAX_WAITING_QUERIES: usize = 256;
const MAX_WAITING_BATCHES: usize = 8;

/// Queries that wait together are answered in one go, up to this many.
const MAX_QUERIES_TOGETHER: usize = 16;

/// Files that could not be loaded are tried again after this long.
const RETRY_LOAD_AFTER: Duration = Duration::from_secs(10);

/// A handle to the model; clones share it. The thread and the 90 MB of weights
/// come with the first call, and go with the last handle.
#[derive(Clone)]
pub struct Model {
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    queues: OnceLock<Queues>,
}

struct Queues {
    queries: mpsc::Sender<Job>,
    batches: mpsc::Sender<Job>,
}

struct Job {
    texts: Vec<String>,
    reply: oneshot::Sender<Result<Embedded, BuiltinFlaw>>,
}

impl Model {
    pub fn in_folder(folder: PathBuf) -> Self {
        Self {
            shared: Arc::new(Shared {
                folder,
                queues: OnceLock::new(),
            }),
        }
    }

    /// Whether its files are there; that they are whole shows when they are loaded.
    pub fn is_present(&self) -> bool {
        is_present(&self.shared.folder)
    }

    /// Whether it was called, and so is in memory or on its way there.
    pub fn is_loaded(&self) -> bool {
        self.shared.queues.get().is_some()
    }

    /// Loads it ahead of the first call, so that the first search need not wait.
    pub async fn warm_up(&self) -> Result<(), ProviderError> {
        self.embed(&[]).await.map(|_| ())
    }

    /// A caller that gives up drops the future; what is left of its work is not done.
    pub(super) async fn embed(&self, texts: &[String]) -> Result<Embedded, ProviderError> {
        let missing = ProviderError::BuiltinMissing;
        if !self.is_present() {
            return Err(missing(BuiltinFlaw::NoFiles));
        }
        let queues = self
            .shared
            .queues
            .get_or_init(|| Queues::start(&self.shared.folder));
        let queue = match texts.len() {
            0 | 1 => &queues.queries,
            _ => &queues.batches,
        };
        let (reply, answer) = oneshot::channel();
        let texts = texts.to_vec();
        let sent = queue.send(Job { texts, reply }).await;
        sent.map_err(|_| missing(BuiltinFlaw::Failed))?;
        let answer = answer.await.map_err(|_| missing(BuiltinFlaw::Failed))?;
        answer.map_err(missing)
    }
}

impl Queues {
    fn start(folder: &Path) -> Self {
        let (queries, waiting_queries) = mpsc::channel(MAX_WAITING_QUERIES);
        let (batches, waiting_batches) = mpsc::channel(MAX_WAITING_BATCHES);
        let worker = Worker {
            folder: folder.to_owned(),
            model: None,
            failed: None,
            queries: waiting_queries,
            batches: waiting_batches,
        };
        let thread = std::thread::Builder::new().name("builtin-model".into());
        // Without a thread the receivers are dropped, and every call says so.
        if let Err(error) = thread.spawn(|| worker.run()) {
            tracing::error!(%error, "the built-in model's thread did not start");
        }
        Self { queries, batches }
    }
}

struct Worker {
    folder: PathBuf,
    model: Option<Loaded>,
    failed: Option<(Instant, BuiltinFlaw)>,
    queries: mpsc::Receiver<Job>,
    batches: mpsc::Receiver<Job>,
}

/// A batch of which some steps are taken.
struct Open {
    work: Work,
    reply: oneshot::Sender<Result<Embedded, BuiltinFlaw>>,
}

impl Worker {
    fn run(mut self) {
        // Nothing but the two queues is waited for: no timers, no sockets.
        let Ok(waiting) = tokio::runtime::Builder::new_current_thread().build() else {
            return;
        };
        let mut open = None;
        loop {
            let queries = self.waiting_queries();
            if !queries.is_empty() {
                self.answer(queries);
                continue;
            }
            if let Some(batch) = open.take() {
                open = self.advance(batch);
                continue;
            }
            let next = waiting.block_on(async {
                tokio::select! {
                    biased;
                    Some(query) = self.queries.recv() => Next::Query(query),
                    Some(batch) = self.batches.recv() => Next::Batch(batch),
                    else => Next::End,
                }
            });
            match next {
                Next::Query(query) => self.answer(vec![query]),
                Next::Batch(batch) => open = self.begin(batch),
                Next::End => return,
            }
        }
    }

    fn waiting_queries(&mut self) -> Vec<Job> {
        let waiting = std::iter::from_fn(|| self.queries.try_recv().ok());
        let wanted = waiting.filter(|job| !job.reply.is_closed());
        wanted.take(MAX_QUERIES_TOGETHER).collect()
    }

    /// Several queries in one go; each gets its own part.
    fn answer(&mut self, jobs: Vec<Job>) {
        let texts: Vec<String> = jobs.iter().flat_map(|job| job.texts.clone()).collect();
        let answer = self.guarded(|model| {
            let mut work = model.begin(&texts)?;
            while model.advance(&mut work)? {}
            Ok(work.finish())
        });
        match answer {
            Ok(mut embedded) => {
                for job in jobs {
                    let count = job.texts.len();
                    let part = Embedded {
                        vectors: embedded.vectors.drain(..count).collect(),
                        truncated: embedded.truncated.drain(..count).collect(),
                    };
                    let _ = job.reply.send(Ok(part));
                }
            }
            Err(flaw) => {
                for job in jobs {
                    let _ = job.reply.send(Err(flaw));
                }
            }
        }
    }

    fn begin(&mut self, job: Job) -> Option<Open> {
        match self.guarded(|model| model.begin(&job.texts)) {
            Ok(work) => Some(Open {
                work,
                reply: job.reply,
            }),
            Err(flaw) => {
                let _ = job.reply.send(Err(flaw));
                None
            }
        }
    }

    /// Takes one step and gives the batch back, unless it is done or nobody waits for it.
    fn advance(&mut self, mut open: Open) -> Option<Open> {
        if open.reply.is_closed() {
            return None;
        }
        match self.guarded(|model| model.advance(&mut open.work)) {
            Ok(true) => Some(open),
            Ok(false) => {
                let _ = open.reply.send(Ok(open.work.finish()));
                None
            }
            Err(flaw) => {
                let _ = open.reply.send(Err(flaw));
                None
            }
        }
    }

    /// Runs something on the model, loaded where it is not yet. A panic in a
    /// library is an error of this call and does not end the thread.
    fn guarded<T>(
        &mut self,
        run: impl FnOnce(&Loaded) -> Result<T, BuiltinFlaw>,
    ) -> Result<T, BuiltinFlaw> {
        let model = self.loaded()?;
        catch_unwind(AssertUnwindSafe(|| run(model))).unwrap_or(Err(BuiltinFlaw::Failed))
    }

    fn loaded(&mut self) -> Result<&Loaded, BuiltinFlaw> {
        if self.model.is_none() {
            if let Some((at, flaw)) = self.failed
                && at.elapsed() < RETRY_LOAD_AFTER
            {
                return Err(flaw);
            }
            let folder = &self.folder;
            let loaded = catch_unwind(|| Loaded::from_folder(folder));
            match loaded.unwrap_or(Err(BuiltinFlaw::Damaged)) {
                Ok(model) => self.model = Some(model),
                Err(flaw) => {
                    tracing::warn!("the built-in model is not available: {flaw}");
                    self.failed = Some((Instant::now(), flaw));
                }
            }
        }
        let flaw = self.failed.map_or(BuiltinFlaw::Failed, |(_, flaw)| flaw);
        self.model.as_ref().ok_or(flaw)
    }
}

enum Next {
    Query(Job),
    Batch(Job),
    End,
}
