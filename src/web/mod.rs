//! The edge: routes, authentication, mapping of errors to responses. Logic that more than one interface needs
//! belongs elsewhere.

mod address;
mod api;
mod auth;
mod calls;
mod client;
mod connection;
mod cors;
mod downloads;
mod error;
mod forms;
mod frozen;
mod gate;
mod headers;
mod health;
mod held;
mod host;
mod mcp;
mod metrics;
mod oauth;
mod observe;
mod pages;
mod routes;
mod server;
mod session;
mod subpath;
mod throttle;
mod ui;
mod unread;
mod visitor;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::FromRef;
use leptos::config::LeptosOptions;

use crate::config::{MetricsToken, PublicUrl, TrustedProxies};
use crate::export::Imports;
use crate::services::Services;
use crate::tools::Registry;

pub use connection::ConnectionLimits;
pub use gate::Gate;
pub use health::{ProcessInfo, Readiness, Workers};
pub use routes::router;
pub use server::serve;
pub use unread::BodyTime;

/// What handlers share: the services, and what only the server has. Every part is cheap to clone.
#[derive(Clone, FromRef)]
pub struct AppState {
    pub services: Services,
    pub imports: Imports,
    pub registry: Arc<Registry>,
    pub readiness: Readiness,
    pub site: SiteFiles,
    pub published: Arc<api::openapi::Published>,
    pub asked: Arc<metrics::DatabaseGauges>,
    pub metrics_token: Option<MetricsToken>,
    pub throttles: Arc<throttle::Throttles>,
    pub client_documents: Arc<oauth::ClientDocuments>,
    pub calls: calls::Calls,
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
        let registry = Registry::new(services.clone());
        let published = api::openapi::Published::new(&registry, &services.public_url);
        let for_jobs = services.for_jobs();
        Self {
            imports: Imports::new(&for_jobs.db, &for_jobs.embeddings, parts.data_dir),
            registry: Arc::new(registry),
            readiness: parts.readiness,
            site: parts.site,
            published: Arc::new(published),
            asked: Arc::new(metrics::DatabaseGauges::default()),
            metrics_token: parts.metrics_token,
            throttles: Arc::new(throttle::Throttles::new()),
            client_documents: Arc::new(oauth::ClientDocuments::new(
                services.document_fetcher.clone(),
            )),
            calls: calls::Calls::default(),
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
