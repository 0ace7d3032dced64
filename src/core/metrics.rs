//! Counters and durations of this process, for Prometheus. Label values come from bounded sets: route
//! templates, tool names, kinds of failure. Never a user, an address, an endpoint's host or any text that a
//! user wrote.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use time::OffsetDateTime;

/// In seconds: from a cached search to a slice of a rebuild.
const BUCKETS_SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    /// The class alone, such as `2xx`.
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: &'static str,
    door: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    provider_type: &'static str,
    purpose: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    provider_type: &'static str,
    kind: &'static str,
    purpose: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    provider_type: &'static str,
    purpose: &'static str,
    /// `in` or `out`
    direction: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    job: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolLabels {
    pool: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SearchLabels {
    mode: &'static str,
    /// `true` if a signal was missing, such as the query's vector.
    degraded: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StorageLabels {
    /// The refusal's code.
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LoadLabels {
    /// `false` if the index is too large to be kept.
    kept: &'static str,
}

type Timed<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of this process; there is one instance.
struct Metrics {
    registry: Registry,
    requests: Timed<RequestLabels>,
    tools: Timed<ToolLabels>,
    provider_calls: Timed<CallLabels>,
    provider_failures: Family<FailureLabels, Counter>,
    texts_embedded: Family<CallLabels, Counter>,
    chat_tokens: Family<TokenLabels, Counter>,
    jobs: Timed<JobLabels>,
    pool_waits: Timed<PoolLabels>,
    pool_timeouts: Family<PoolLabels, Counter>,
    searches: Family<SearchLabels, Counter>,
    index_loads: Timed<LoadLabels>,
    index_refreshes: Counter,
    indexes_dropped: Counter,
    searches_large: Counter,
    activity_dropped: Counter,
    calls_refused: Counter,
    storage_refused: Family<StorageLabels, Counter>,
    began: Instant,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);
/// Unix time in seconds; 0 before the first sweep.
static LAST_SWEEP: AtomicI64 = AtomicI64::new(0);

impl Metrics {
    fn new() -> Self {
        fn timed<L: Clone + std::hash::Hash + Eq>() -> Timed<L> {
            Family::new_with_constructor(|| Histogram::new(BUCKETS_SECONDS))
        }
        let mut registry = Registry::with_prefix("keepsake");
        let (requests, tools, provider_calls, jobs) = (timed(), timed(), timed(), timed());
        let (pool_waits, pool_timeouts) = (timed(), Family::default());
        let (searches, activity_dropped) = (Family::default(), Counter::default());
        let (provider_failures, texts_embedded) = (Family::default(), Family::default());
        let (chat_tokens, calls_refused) = (Family::default(), Counter::default());
        let storage_refused = Family::default();
        let (index_loads, index_refreshes) = (timed(), Counter::default());
        let (indexes_dropped, searches_large) = (Counter::default(), Counter::default());
        registry.register(
            "http_request_duration_seconds",
            "From a request's head to its answer's head",
            requests.clone(),
        );
        registry.register(
            "tool_call_duration_seconds",
            "Calls of tools; the outcome is ok or a problem's code",
            tools.clone(),
        );
        registry.register(
            "provider_call_duration_seconds",
            "Calls of providers of vectors and of chat, those that failed included",
            provider_calls.clone(),
        );
        registry.register(
            "provider_failures",
            "Calls of providers that failed, by kind",
            provider_failures.clone(),
        );
        registry.register(
            "provider_texts",
            "Texts that embedding providers turned into vectors",
            texts_embedded.clone(),
        );
        registry.register(
            "provider_tokens",
            "Tokens that chat models read and wrote, as they say or as they were estimated",
            chat_tokens.clone(),
        );
        registry.register(
            "job_duration_seconds",
            "Runs of jobs in this process; of long work, its slices",
            jobs.clone(),
        );
        registry.register(
            "pool_wait_seconds",
            "Until a connection to the database was there and its transaction begun",
            pool_waits.clone(),
        );
        registry.register(
            "pool_timeouts",
            "Requests and jobs for which no connection became free in time",
            pool_timeouts.clone(),
        );
        registry.register(
            "searches",
            "Searches by how they found; degraded ones were less than they could have been",
            searches.clone(),
        );
        registry.register(
            "index_load_seconds",
            "Indexes of users read from the database; not kept: larger than all the room there is",
            index_loads.clone(),
        );
        registry.register(
            "index_refreshes",
            "Times that an index took in what had changed",
            index_refreshes.clone(),
        );
        registry.register(
            "indexes_dropped",
            "Indexes dropped to make room, or because nobody had asked for them in a while",
            indexes_dropped.clone(),
        );
        registry.register(
            "searches_large",
            "Searches that read all of a memory whose index is larger than all the room there is",
            searches_large.clone(),
        );
        registry.register(
            "activity_dropped",
            "Calls that were not recorded because too many waited",
            activity_dropped.clone(),
        );
        registry.register(
            "calls_refused",
            "Calls refused because too many of the same user or operator were running and waiting",
            calls_refused.clone(),
        );
        registry.register(
            "storage_refused",
            "Writes refused for want of room: a user's storage limit, or the server's disk",
            storage_refused.clone(),
        );
        Self {
            registry,
            requests,
            tools,
            provider_calls,
            provider_failures,
            texts_embedded,
            chat_tokens,
            jobs,
            pool_waits,
            pool_timeouts,
            searches,
            index_loads,
            index_refreshes,
            indexes_dropped,
            searches_large,
            activity_dropped,
            calls_refused,
            storage_refused,
            began: Instant::now(),
        }
    }
}

/// Starts the uptime.
pub fn begin() {
    LazyLock::force(&METRICS);
}

/// `route` is a template of the route table, never an actual path; `method` is a standard HTTP method.
pub fn answered(method: &'static str, route: &str, status: u16, took: Duration) {
    let labels = RequestLabels { method, route: route.to_owned(), status: class(status) };
    observe(&METRICS.requests, &labels, took);
}

/// `tool` is a name in the registry, or `unknown`.
pub fn tool_called(tool: &'static str, door: &'static str, outcome: &'static str, took: Duration) {
    let labels = ToolLabels { tool, door, outcome };
    observe(&METRICS.tools, &labels, took);
}

/// `purpose` is `embedding` or that of a chat call; `failure` is its kind.
pub fn provider_called(
    purpose: &'static str,
    provider_type: &'static str,
    failure: Option<&'static str>,
    took: Duration,
) {
    let labels = CallLabels { provider_type, purpose };
    observe(&METRICS.provider_calls, &labels, took);
    if let Some(kind) = failure {
        let labels = FailureLabels { provider_type, kind, purpose };
        METRICS.provider_failures.get_or_create(&labels).inc();
    }
}

pub fn texts_embedded(purpose: &'static str, provider_type: &'static str, texts: usize) {
    let texts = u64::try_from(texts).unwrap_or(u64::MAX);
    let labels = CallLabels { provider_type, purpose };
    METRICS.texts_embedded.get_or_create(&labels).inc_by(texts);
}

pub fn tokens_spent(
    purpose: &'static str,
    provider_type: &'static str,
    tokens_in: u64,
    tokens_out: u64,
) {
    for (direction, tokens) in [("in", tokens_in), ("out", tokens_out)] {
        let labels = TokenLabels { provider_type, purpose, direction };
        METRICS.chat_tokens.get_or_create(&labels).inc_by(tokens);
    }
}

pub fn job_ended(job: &'static str, outcome: &'static str, took: Duration) {
    observe(&METRICS.jobs, &JobLabels { job, outcome }, took);
}

/// `pool` is one of [`Db::pools`](crate::db::Db::pools).
pub fn connection_waited(pool: &'static str, took: Duration, timed_out: bool) {
    let labels = PoolLabels { pool };
    observe(&METRICS.pool_waits, &labels, took);
    if timed_out {
        METRICS.pool_timeouts.get_or_create(&labels).inc();
    }
}

/// `mode` is one of [`Mode`](crate::search::Mode).
pub fn searched(mode: &'static str, is_degraded: bool) {
    let degraded = if is_degraded { "true" } else { "false" };
    let labels = SearchLabels { mode, degraded };
    METRICS.searches.get_or_create(&labels).inc();
}

/// A user's index was rebuilt; `is_kept`: it fits into the memory limit.
pub fn index_loaded(is_kept: bool, took: Duration) {
    let kept = if is_kept { "true" } else { "false" };
    observe(&METRICS.index_loads, &LoadLabels { kept }, took);
}

/// An index took in the changes since its revision.
pub fn index_refreshed() {
    METRICS.index_refreshes.inc();
}

pub fn index_dropped() {
    METRICS.indexes_dropped.inc();
}

/// A search read the whole of a memory that is too large to be kept.
pub fn searched_large() {
    METRICS.searches_large.inc();
}

pub fn activity_dropped(calls: u64) {
    METRICS.activity_dropped.inc_by(calls);
}

pub fn call_refused() {
    METRICS.calls_refused.inc();
}

pub fn storage_refused(reason: &'static str) {
    METRICS.storage_refused.get_or_create(&StorageLabels { reason }).inc();
}

/// The sweep has run in this process.
pub fn swept(now: OffsetDateTime) {
    LAST_SWEEP.store(now.unix_timestamp(), Ordering::Relaxed);
}

/// When the sweep last ran here; `None` before the first time, and where workers run elsewhere.
pub fn last_sweep() -> Option<OffsetDateTime> {
    let at = LAST_SWEEP.load(Ordering::Relaxed);
    (at > 0).then(|| OffsetDateTime::from_unix_timestamp(at).ok())?
}

fn observe<L: Clone + std::hash::Hash + Eq>(family: &Timed<L>, labels: &L, took: Duration) {
    family.get_or_create(labels).observe(took.as_secs_f64());
}

fn class(status: u16) -> &'static str {
    match status {
        100..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    }
}

/// One value that is read when the metrics are scraped.
#[derive(Clone, Debug)]
pub struct Gauge {
    pub name: &'static str,
    pub help: &'static str,
    /// Names and values, both from bounded sets.
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

/// All metrics and these gauges, in the OpenMetrics text format.
pub fn render(gauges: &[Gauge]) -> String {
    let mut registry = Registry::with_prefix("keepsake");
    registry.register_collector(Box::new(GaugeCollector(gauges.to_vec())));
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = encode_registry(&mut text, &METRICS.registry);
    let _ = encode_registry(&mut text, &registry);
    write_process(&mut text);
    let _ = encode_eof(&mut text);
    text
}

/// Gauges to encode. Those of one name must be adjacent, as the text format requires.
#[derive(Debug)]
struct GaugeCollector(Vec<Gauge>);

impl Collector for GaugeCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut at = 0;
        while let Some(first) = self.0.get(at) {
            let same = self.0[at..].iter().take_while(|g| g.name == first.name);
            let mut family =
                encoder.encode_descriptor(first.name, first.help, None, MetricType::Gauge)?;
            for gauge in same {
                at += 1;
                match gauge.labels.as_slice() {
                    [] => family.encode_gauge(&gauge.value)?,
                    _ => family.encode_family(&gauge.labels)?.encode_gauge(&gauge.value)?,
                }
            }
        }
        Ok(())
    }
}

/// Metrics with the standard names that dashboards look for.
fn write_process(text: &mut String) {
    let version = env!("CARGO_PKG_VERSION");
    let uptime = METRICS.began.elapsed().as_secs_f64();
    let _ = write!(
        text,
        "# HELP keepsake_build_info The version that runs.\n# TYPE keepsake_build_info gauge\n\
         keepsake_build_info{{version=\"{version}\"}} 1\n\
         # HELP keepsake_uptime_seconds Since the process began.\n# TYPE keepsake_uptime_seconds gauge\n\
         keepsake_uptime_seconds {uptime:.3}\n"
    );
    if let Some(bytes) = resident_bytes() {
        let _ = write!(
            text,
            "# HELP process_resident_memory_bytes Memory that the process holds.\n\
             # TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {bytes}\n"
        );
    }
}

/// `None` if there is no `/proc`.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_and_what_is_asked_stand_in_the_text() {
        answered("GET", "/memory/{id}", 404, Duration::from_millis(3));
        let call = |failure, took| provider_called("facts", "openai", failure, took);
        call(None, Duration::from_millis(20));
        call(Some("timed_out"), Duration::from_secs(30));
        texts_embedded("embedding", "openai", 3);
        tokens_spent("facts", "openai", 120, 7);
        tokens_spent("evaluation", "openai", 50, 5);
        let pool = |pool, value| Gauge {
            name: "pool_connections",
            help: "Connections",
            labels: vec![("pool", String::from(pool))],
            value,
        };
        let text = render(&[pool("app", 3.0), pool("system", 1.0)]);
        for line in [
            r#"keepsake_http_request_duration_seconds_count{method="GET",route="/memory/{id}",status="4xx"} 1"#,
            r#"keepsake_http_request_duration_seconds_bucket{le="0.0025",method="GET",route="/memory/{id}",status="4xx"} 0"#,
            r#"keepsake_http_request_duration_seconds_bucket{le="0.005",method="GET",route="/memory/{id}",status="4xx"} 1"#,
            r#"keepsake_provider_failures_total{provider_type="openai",kind="timed_out",purpose="facts"} 1"#,
            r#"keepsake_provider_tokens_total{provider_type="openai",purpose="facts",direction="in"} 120"#,
            r#"keepsake_provider_tokens_total{provider_type="openai",purpose="evaluation",direction="in"} 50"#,
            r#"keepsake_provider_texts_total{provider_type="openai",purpose="embedding"} 3"#,
            r#"keepsake_pool_connections{pool="app"} 3.0"#,
            r#"keepsake_pool_connections{pool="system"} 1.0"#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert_eq!(text.matches("# TYPE keepsake_pool_connections").count(), 1);
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
