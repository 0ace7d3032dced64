//! The two threads on which the built-in model runs, off the async threads: one
//! answers queries, and what jobs look up once no query waits; the other works off the batches of adds and
//! rebuilds. Somebody waits for a query; a batch gives way to queries and to all that serves requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::Embedded;
use super::builtin::{Loaded, is_present};
use super::error::{BuiltinFlaw, ProviderError};

/// So many queries and batches wait; who comes later waits to be let in.
const MAX_WAITING_QUERIES: usize = 256;
const MAX_WAITING_BATCHES: usize = 8;

/// Queries that wait together are answered in one go, up to this many.
const MAX_QUERIES_TOGETHER: usize = 16;

/// What the threads of batches add to their niceness: a third of the time of one
/// that serves, where there is not enough for all.
const BATCH_NICENESS: i32 = 5;

/// Files that could not be loaded are tried again after this long.
const RETRY_LOAD_AFTER: Duration = Duration::from_secs(10);

/// A handle to the model; clones share it. The threads and the 90 MB of weights
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
    lookups: mpsc::Sender<Job>,
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

    /// What nobody waits for: texts of memories.
    pub(super) async fn embed(&self, texts: &[String]) -> Result<Embedded, ProviderError> {
        self.ask(|queues| &queues.batches, texts).await
    }

    /// What somebody waits for.
    pub(super) async fn embed_query(&self, texts: &[String]) -> Result<Embedded, ProviderError> {
        self.ask(|queues| &queues.queries, texts).await
    }

    /// A query that nobody waits for: after those that somebody waits for.
    pub(super) async fn look_up(&self, texts: &[String]) -> Result<Embedded, ProviderError> {
        self.ask(|queues| &queues.lookups, texts).await
    }

    /// A caller that gives up drops the future; what is left of its work is not done.
    async fn ask(
        &self,
        queue: impl Fn(&Queues) -> &mpsc::Sender<Job>,
        texts: &[String],
    ) -> Result<Embedded, ProviderError> {
        let missing = ProviderError::BuiltinMissing;
        if !self.is_present() {
            return Err(missing(BuiltinFlaw::NoFiles));
        }
        let queues = self
            .shared
            .queues
            .get_or_init(|| Queues::start(&self.shared.folder));
        let (reply, answer) = oneshot::channel();
        let texts = texts.to_vec();
        let sent = queue(queues).send(Job { texts, reply }).await;
        sent.map_err(|_| missing(BuiltinFlaw::Failed))?;
        let answer = answer.await.map_err(|_| missing(BuiltinFlaw::Failed))?;
        answer.map_err(missing)
    }
}

impl Queues {
    fn start(folder: &Path) -> Self {
        let weights = Arc::new(Weights {
            folder: folder.to_owned(),
            kept: Mutex::default(),
        });
        let (queries, waiting) = mpsc::channel(MAX_WAITING_QUERIES);
        let (lookups, waiting_lookups) = mpsc::channel(MAX_WAITING_QUERIES);
        spawn("model-queries", &weights, |weights| {
            // Its products are small: a second thread would cost more than it brings, and
            // all would wait whenever that one has to.
            let alone = rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread();
            // Only its channels are waited for.
            let waits = tokio::runtime::Builder::new_current_thread().build();
            match (alone.build(), waits) {
                (Ok(_pool), Ok(waits)) => {
                    waits.block_on(answer_queries(&weights, waiting, waiting_lookups));
                }
                (Err(error), _) => {
                    tracing::error!(%error, "the built-in model has no threads");
                }
                (_, Err(error)) => tracing::error!(%error, "the built-in model has no threads"),
            }
        });
        let (batches, waiting) = mpsc::channel(MAX_WAITING_BATCHES);
        spawn("model-batches", &weights, |weights| {
            give_way();
            let pool = rayon::ThreadPoolBuilder::new()
                .thread_name(|n| format!("model-batch-{n}"))
                .start_handler(|_| give_way());
            match pool.build() {
                Ok(pool) => work_off_batches(&weights, &pool, waiting),
                Err(error) => tracing::error!(%error, "the built-in model has no threads"),
            }
        });
        Self {
            queries,
            lookups,
            batches,
        }
    }
}

/// Without a thread the receiver is dropped, and every call says so.
fn spawn(name: &str, weights: &Arc<Weights>, run: impl FnOnce(Arc<Weights>) + Send + 'static) {
    let weights = weights.clone();
    let thread = std::thread::Builder::new().name(name.into());
    if let Err(error) = thread.spawn(|| run(weights)) {
        tracing::error!(%error, "a thread of the built-in model did not start");
    }
}

/// On Linux this is of the thread that calls; elsewhere it would be of the whole server.
fn give_way() {
    if cfg!(target_os = "linux")
        && let Err(error) = rustix::process::nice(BATCH_NICENESS)
    {
        tracing::debug!(%error, "a thread keeps its priority");
    }
}

/// Look-ups one by one, so that a query waits for one at most.
async fn answer_queries(
    weights: &Weights,
    mut waiting: mpsc::Receiver<Job>,
    mut lookups: mpsc::Receiver<Job>,
) {
    loop {
        let jobs: Vec<Job> = tokio::select! {
            biased;
            Some(first) = waiting.recv() => {
                let others = std::iter::from_fn(|| waiting.try_recv().ok());
                std::iter::once(first).chain(others.take(MAX_QUERIES_TOGETHER - 1)).collect()
            }
            Some(lookup) = lookups.recv() => vec![lookup],
            else => return,
        };
        let wanted = jobs.into_iter().filter(|job| !job.reply.is_closed());
        answer_together(weights, wanted.collect());
    }
}

/// Several queries in one go; each gets its own part.
fn answer_together(weights: &Weights, jobs: Vec<Job>) {
    let texts: Vec<String> = jobs.iter().flat_map(|job| job.texts.clone()).collect();
    let mut answer = weights.guarded(|model| {
        let mut work = model.begin(&texts)?;
        while model.advance(&mut work)? {}
        Ok(work.finish())
    });
    for job in jobs {
        let count = job.texts.len();
        let part = answer.as_mut().map(|embedded| Embedded {
            vectors: embedded.vectors.drain(..count).collect(),
            tokens: embedded.tokens.drain(..count).collect(),
            truncated: embedded.truncated.drain(..count).collect(),
        });
        let _ = job.reply.send(part.map_err(|flaw| *flaw));
    }
}

fn work_off_batches(weights: &Weights, pool: &rayon::ThreadPool, mut waiting: mpsc::Receiver<Job>) {
    while let Some(Job { texts, reply }) = waiting.blocking_recv() {
        let answer = weights.guarded(|model| {
            pool.install(|| {
                let mut work = model.begin(&texts)?;
                // Whoever has given up is noticed after a layer of a pass.
                while !reply.is_closed() && model.advance(&mut work)? {}
                Ok(work.finish())
            })
        });
        let _ = reply.send(answer);
    }
}

/// The model in memory, once for both threads.
struct Weights {
    folder: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    model: Option<Arc<Loaded>>,
    failed: Option<(Instant, BuiltinFlaw)>,
}

impl Weights {
    /// Runs something on the model, loaded where it is not yet. A panic in a
    /// library is an error of this call and does not end the thread.
    fn guarded<T>(
        &self,
        run: impl FnOnce(&Loaded) -> Result<T, BuiltinFlaw>,
    ) -> Result<T, BuiltinFlaw> {
        let model = self.loaded()?;
        catch_unwind(AssertUnwindSafe(|| run(&model))).unwrap_or(Err(BuiltinFlaw::Failed))
    }

    fn loaded(&self) -> Result<Arc<Loaded>, BuiltinFlaw> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &kept.model {
            return Ok(model.clone());
        }
        if let Some((at, flaw)) = kept.failed
            && at.elapsed() < RETRY_LOAD_AFTER
        {
            return Err(flaw);
        }
        let folder = &self.folder;
        let loaded = catch_unwind(|| Loaded::from_folder(folder));
        match loaded.unwrap_or(Err(BuiltinFlaw::Damaged)) {
            Ok(model) => Ok(kept.model.insert(Arc::new(model)).clone()),
            Err(flaw) => {
                tracing::warn!("the built-in model is not available: {flaw}");
                kept.failed = Some((Instant::now(), flaw));
                Err(flaw)
            }
        }
    }
}
