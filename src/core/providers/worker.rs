//! The two threads of each built-in model, outside the async threads: one answers queries, and jobs' look-ups
//! while no query waits; the other processes batches of adds and rebuilds. Batches yield to queries and to
//! everything that serves requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::Embedded;
use super::builtin::{BuiltinModel, Loaded};
use super::error::{BuiltinFlaw, ProviderError};

/// Queue lengths; further callers wait for a place.
const MAX_WAITING_QUERIES: usize = 256;
const MAX_WAITING_BATCHES: usize = 8;

/// Waiting queries are answered together, up to this many.
const MAX_QUERIES_TOGETHER: usize = 16;

/// The niceness of batch threads: a third of a serving thread's share of a busy CPU.
const BATCH_NICENESS: i32 = 5;

/// How long to wait before retrying to load the files.
const RETRY_LOAD_AFTER: Duration = Duration::from_secs(10);

/// After this long without a query, the weights of the model of earlier versions are dropped.
const UNUSED_FOR: Duration = Duration::from_secs(600);

/// A handle to the models; clones share them. A model's threads and its 90 MB of weights are created at the first call, and
/// dropped with the last handle.
#[derive(Clone)]
pub struct BuiltinModels {
    /// In the order of [`BuiltinModel::ALL`].
    shared: Arc<[WorkerState; 2]>,
}

struct WorkerState {
    model: BuiltinModel,
    folder: PathBuf,
    queues: OnceLock<Queues>,
}

struct Queues {
    queries: mpsc::Sender<EmbedJob>,
    lookups: mpsc::Sender<EmbedJob>,
    batches: mpsc::Sender<EmbedJob>,
}

struct EmbedJob {
    texts: Vec<String>,
    reply: oneshot::Sender<Result<Embedded, BuiltinFlaw>>,
}

impl BuiltinModels {
    /// In the order of [`BuiltinModel::ALL`].
    pub fn in_folders(folders: [PathBuf; 2]) -> Self {
        let mut models = BuiltinModel::ALL.into_iter();
        let states = folders.map(|folder| WorkerState {
            model: models.next().unwrap_or_default(),
            folder,
            queues: OnceLock::new(),
        });
        Self { shared: Arc::new(states) }
    }

    fn of(&self, model: BuiltinModel) -> &WorkerState {
        let [multilingual, english] = &*self.shared;
        match model {
            BuiltinModel::Multilingual => multilingual,
            BuiltinModel::English => english,
        }
    }

    /// Whether its files exist; they are validated when they are loaded.
    pub fn has(&self, model: BuiltinModel) -> bool {
        model.is_in(&self.of(model).folder)
    }

    /// Whether it was called, and so is loaded or loading.
    pub fn is_loaded(&self, model: BuiltinModel) -> bool {
        self.of(model).queues.get().is_some()
    }

    /// Documents, which nobody waits for.
    pub(super) async fn embed(
        &self,
        model: BuiltinModel,
        texts: &[String],
    ) -> Result<Embedded, ProviderError> {
        self.ask(model, |queues| &queues.batches, texts).await
    }

    /// A query that a search waits for.
    pub(super) async fn embed_query(
        &self,
        model: BuiltinModel,
        texts: &[String],
    ) -> Result<Embedded, ProviderError> {
        self.ask(model, |queues| &queues.queries, texts).await
    }

    /// A query of a job: served after those of searches.
    pub(super) async fn look_up(
        &self,
        model: BuiltinModel,
        texts: &[String],
    ) -> Result<Embedded, ProviderError> {
        self.ask(model, |queues| &queues.lookups, texts).await
    }

    /// If the caller drops the future, the rest of its work is skipped.
    async fn ask(
        &self,
        model: BuiltinModel,
        queue: impl Fn(&Queues) -> &mpsc::Sender<EmbedJob>,
        texts: &[String],
    ) -> Result<Embedded, ProviderError> {
        let missing = ProviderError::BuiltinMissing;
        if !self.has(model) {
            return Err(missing(BuiltinFlaw::NoFiles(model)));
        }
        let state = self.of(model);
        let queues = state.queues.get_or_init(|| Queues::start(state.model, &state.folder));
        let (reply, answer) = oneshot::channel();
        let texts = texts.to_vec();
        let sent = queue(queues).send(EmbedJob { texts, reply }).await;
        sent.map_err(|_| missing(BuiltinFlaw::Failed))?;
        let answer = answer.await.map_err(|_| missing(BuiltinFlaw::Failed))?;
        answer.map_err(missing)
    }
}

impl Queues {
    fn start(model: BuiltinModel, folder: &Path) -> Self {
        let kept = Mutex::default();
        let weights = Arc::new(SharedWeights { model, folder: folder.to_owned(), kept });
        let (queries, waiting) = mpsc::channel(MAX_WAITING_QUERIES);
        let (lookups, waiting_lookups) = mpsc::channel(MAX_WAITING_QUERIES);
        spawn("model-queries", &weights, |weights| {
            // Its products are small: a second thread would cost more than it saves, and a pool would wait
            // for its slowest thread.
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            // Only waits for channels and time.
            let waits = tokio::runtime::Builder::new_current_thread().enable_time().build();
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
        Self { queries, lookups, batches }
    }
}

/// Without a thread the receiver is dropped, so that every call returns an error.
fn spawn(
    name: &str,
    weights: &Arc<SharedWeights>,
    run: impl FnOnce(Arc<SharedWeights>) + Send + 'static,
) {
    let weights = weights.clone();
    let thread = std::thread::Builder::new().name(name.into());
    if let Err(error) = thread.spawn(|| run(weights)) {
        tracing::error!(%error, "a thread of the built-in model did not start");
    }
}

/// On Linux niceness is per thread; elsewhere it would slow down the whole server.
fn give_way() {
    if cfg!(target_os = "linux")
        && let Err(error) = rustix::process::nice(BATCH_NICENESS)
    {
        tracing::debug!(%error, "a thread keeps its priority");
    }
}

/// Answers look-ups one at a time, so that a query waits for at most one.
async fn answer_queries(
    weights: &SharedWeights,
    mut waiting: mpsc::Receiver<EmbedJob>,
    mut lookups: mpsc::Receiver<EmbedJob>,
) {
    loop {
        let jobs: Vec<EmbedJob> = tokio::select! {
            biased;
            first = waiting.recv() => {
                let Some(first) = first else { return };
                let others = std::iter::from_fn(|| waiting.try_recv().ok());
                std::iter::once(first).chain(others.take(MAX_QUERIES_TOGETHER - 1)).collect()
            }
            Some(lookup) = lookups.recv() => vec![lookup],
            () = tokio::time::sleep(UNUSED_FOR), if weights.model != BuiltinModel::default() => {
                weights.kept().model = None;
                continue;
            }
        };
        let wanted = jobs.into_iter().filter(|job| !job.reply.is_closed());
        answer_together(weights, wanted.collect());
    }
}

/// Answers several queries in one batch, and distributes the results.
fn answer_together(weights: &SharedWeights, jobs: Vec<EmbedJob>) {
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

fn work_off_batches(
    weights: &SharedWeights,
    pool: &rayon::ThreadPool,
    mut waiting: mpsc::Receiver<EmbedJob>,
) {
    while let Some(EmbedJob { texts, reply }) = waiting.blocking_recv() {
        let answer = weights.guarded(|model| {
            pool.install(|| {
                let mut work = model.begin(&texts)?;
                // A dropped caller is noticed after each layer.
                while !reply.is_closed() && model.advance(&mut work)? {}
                Ok(work.finish())
            })
        });
        let _ = reply.send(answer);
    }
}

/// The model in memory, shared by both threads.
struct SharedWeights {
    model: BuiltinModel,
    folder: PathBuf,
    kept: Mutex<LoadedWeights>,
}

#[derive(Default)]
struct LoadedWeights {
    model: Option<Arc<Loaded>>,
    failed: Option<(Instant, BuiltinFlaw)>,
}

impl SharedWeights {
    /// Runs `run` with the model, and loads it first if necessary. A panic in a library becomes an error of
    /// this call, so that the thread survives.
    fn guarded<T>(
        &self,
        run: impl FnOnce(&Loaded) -> Result<T, BuiltinFlaw>,
    ) -> Result<T, BuiltinFlaw> {
        let model = self.loaded()?;
        catch_unwind(AssertUnwindSafe(|| run(&model))).unwrap_or(Err(BuiltinFlaw::Failed))
    }

    fn kept(&self) -> MutexGuard<'_, LoadedWeights> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loaded(&self) -> Result<Arc<Loaded>, BuiltinFlaw> {
        let mut kept = self.kept();
        if let Some(model) = &kept.model {
            return Ok(model.clone());
        }
        if let Some((at, flaw)) = kept.failed
            && at.elapsed() < RETRY_LOAD_AFTER
        {
            return Err(flaw);
        }
        let loaded = catch_unwind(|| Loaded::from_folder(self.model, &self.folder));
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
