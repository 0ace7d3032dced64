//! What the process reports while it runs: log lines to standard error, and spans to an OpenTelemetry
//! collector if one is configured. Both carry ids, states and times, never content, queries, keys or people's
//! addresses.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use keepsake::config::{Config, LogFormat};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanEvents, SpanExporter as Export};
use reqwest::redirect;
use tokio::runtime::Handle;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// A batch is dropped if the collector does not accept it within this time.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit for the last batch at shutdown.
const LAST_EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends the remaining spans when the process ends.
pub struct Telemetry(Option<SdkTracerProvider>);

/// Logs to standard error: standard output is for results.
pub fn start(config: &Config) -> anyhow::Result<Telemetry> {
    // Not `EnvFilter`: its span filters are evaluated at each step of each request.
    let chosen: Targets = config.log.parse().map_err(|_| {
        anyhow::anyhow!(
            "KEEPSAKE_LOG cannot be read: `{}`; give a level (error, warn, info, debug, trace, off), or levels by target (info,keepsake=debug)",
            config.log
        )
    })?;
    // rmcp would log what it receives and what it answers.
    let quiet = filter_fn(|about| {
        !about.target().starts_with("rmcp") || *about.level() <= tracing::Level::ERROR
    });
    let traces = match &config.otlp_endpoint {
        Some(endpoint) => Some(exporting(endpoint.as_str())?),
        None => None,
    };
    // Global filters, not per-layer ones: sqlx checks what is enabled without emitting an event, after which
    // per-layer filters drop the next one. Our own spans are at the level ERROR, so that only `off` hides
    // them.
    let spans = traces.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("keepsake"))
            .with_context_activation(false)
            .with_tracked_inactivity(false)
            .with_location(false)
            .with_threads(false)
    });
    tracing_subscriber::registry()
        .with(lines(config.log_format))
        .with(spans)
        .with(chosen)
        .with(quiet)
        .init();
    Ok(Telemetry(traces))
}

fn lines(format: LogFormat) -> Box<dyn Layer<Registry> + Send + Sync> {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => {
            lines.with_ansi(std::io::stderr().is_terminal()).with_target(false).boxed()
        }
        LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(false).with_span_list(true).boxed()
        }
    }
}

fn exporting(endpoint: &str) -> anyhow::Result<SdkTracerProvider> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Client::new()?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .context("OTEL_EXPORTER_OTLP_ENDPOINT cannot be used")?;
    let resource = Resource::builder()
        .with_service_name("keepsake")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(OwnSpansOnly(exporter))
        .with_resource(resource)
        .build())
}

/// Exports only our own spans, whose fields are known. Spans of other crates and all events may hold
/// anything.
#[derive(Debug)]
struct OwnSpansOnly(SpanExporter);

impl OwnSpansOnly {
    fn keeps(span: &SpanData) -> bool {
        let mut targets = span.attributes.iter().filter(|a| a.key.as_str() == "target");
        targets.any(|target| target.value.as_str().starts_with("keepsake"))
    }
}

impl Export for OwnSpansOnly {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        batch.retain(Self::keeps);
        for span in &mut batch {
            span.events = SpanEvents::default();
        }
        match batch.is_empty() {
            true => Ok(()),
            false => self.0.export(batch).await,
        }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

impl Telemetry {
    pub async fn end(self) {
        if let Some(provider) = self.0 {
            let last = tokio::task::spawn_blocking(move || {
                provider.shutdown_with_timeout(LAST_EXPORT_TIMEOUT)
            });
            last.await.ok();
        }
    }
}

/// The exporter runs on its own thread outside tokio; the HTTP calls run on `runtime`.
#[derive(Debug)]
struct Client {
    http: reqwest::Client,
    runtime: Handle,
    is_failing: AtomicBool,
}

impl Client {
    fn new() -> anyhow::Result<Self> {
        // An error means that a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(EXPORT_TIMEOUT)
            .build()
            .context("no HTTP client for OTEL_EXPORTER_OTLP_ENDPOINT")?;
        Ok(Self { http, runtime: Handle::current(), is_failing: AtomicBool::new(false) })
    }

    /// Logs only the first failure, and the recovery.
    fn note(&self, has_failed: bool) {
        let was_failing = self.is_failing.swap(has_failed, Ordering::Relaxed);
        match (was_failing, has_failed) {
            (false, true) => {
                tracing::warn!("the collector accepts no traces; they are dropped until it does");
            }
            (true, false) => tracing::info!("the collector accepts traces again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let http = self.http.clone();
        let sending = self.runtime.spawn(async move {
            let response = http.execute(request).await?;
            let status = response.status();
            Ok::<_, reqwest::Error>((status, response.bytes().await?))
        });
        let sent = sending.await.map_err(HttpError::from);
        let sent = sent.and_then(|sent| sent.map_err(HttpError::from));
        self.note(!sent.as_ref().is_ok_and(|(status, _)| status.is_success()));
        let (status, body) = sent?;
        let mut response = Response::new(body);
        *response.status_mut() = status;
        Ok(response)
    }
}
