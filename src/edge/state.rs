//! What handlers share.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::extract::FromRef;
use leptos::config::LeptosOptions;
use tokio::sync::Mutex;

use super::calls::Calls;
use super::client_documents::ClientDocuments;
use super::throttle::Throttles;
use super::unread::BodyTime;
use crate::config::{MetricsToken, PublicUrl, TrustedProxies};
use crate::export::Imports;
use crate::metrics::Gauge;
use crate::services::Services;
use crate::tools::Registry;

/// The services, and what only the server has. Every part is cheap to clone.
#[derive(Clone, FromRef)]
pub struct AppState {
    pub services: Services,
    pub imports: Imports,
    pub registry: Arc<Registry>,
    pub readiness: Readiness,
    pub site: SiteFiles,
    pub gauges: Arc<DatabaseGauges>,
    pub metrics_token: Option<MetricsToken>,
    pub throttles: Arc<Throttles>,
    pub client_documents: Arc<ClientDocuments>,
    pub calls: Calls,
    pub body_time: BodyTime,
    pub trusted_proxies: TrustedProxies,
}

/// What the server needs beside the services; `wiring.rs` reads it.
pub struct ServerParts {
    pub readiness: Readiness,
    pub trusted_proxies: TrustedProxies,
    pub metrics_token: Option<MetricsToken>,
    pub site: SiteFiles,
    /// Where uploads are stored temporarily.
    pub data_dir: PathBuf,
}

impl AppState {
    pub fn new(services: Services, parts: ServerParts) -> Self {
        let for_jobs = services.for_jobs();
        Self {
            imports: Imports::new(&for_jobs.db, &for_jobs.embeddings, parts.data_dir),
            registry: Arc::new(Registry::new(services.clone())),
            readiness: parts.readiness,
            site: parts.site,
            gauges: Arc::default(),
            metrics_token: parts.metrics_token,
            throttles: Arc::default(),
            client_documents: Arc::new(ClientDocuments::new(services.outbound.clone())),
            calls: Calls::default(),
            body_time: BodyTime::default(),
            trusted_proxies: parts.trusted_proxies,
            services,
        }
    }
}

impl Deref for AppState {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

/// The latest values that `/metrics` read from the database.
#[derive(Default)]
pub struct DatabaseGauges(pub Mutex<Option<(Instant, Vec<Gauge>)>>);

/// Where jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    Here,
    /// In `keepsake work`.
    Elsewhere,
}

/// The state of this process, for monitoring.
#[derive(Clone, Default)]
pub struct Readiness(Arc<ReadinessState>);

#[derive(Default)]
struct ReadinessState {
    /// Changes once, from serving to draining.
    draining: AtomicBool,
    about: ProcessInfo,
}

/// What a process knows from its start.
#[derive(Default)]
pub struct ProcessInfo {
    /// `None`: no workers are expected.
    pub workers: Option<Workers>,
}

impl Readiness {
    pub fn new(about: ProcessInfo) -> Self {
        Self(Arc::new(ReadinessState { draining: AtomicBool::new(false), about }))
    }

    /// Makes `/readyz` return 503, so that load balancers send no more requests.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
    }

    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Relaxed)
    }

    pub fn workers(&self) -> Option<Workers> {
        self.0.about.workers
    }
}

/// The folder of the stylesheet, icons and islands, and Leptos' options for it.
#[derive(Clone)]
pub struct SiteFiles {
    pub root: PathBuf,
    /// Without islands, pages are plain HTML.
    pub islands_built: bool,
    pub leptos: LeptosOptions,
}

impl SiteFiles {
    pub fn at(root: PathBuf, public_url: &PublicUrl) -> Self {
        let leptos = LeptosOptions::builder()
            .output_name("keepsake")
            .site_root(root.to_string_lossy().into_owned())
            // Where browsers find it; its islands are imported by this address.
            .site_pkg_dir(format!("{}/pkg", public_url.path()).trim_start_matches('/').to_owned())
            .build();
        let islands_built = root.join("pkg/keepsake.wasm").is_file();
        Self { root, islands_built, leptos }
    }
}
