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
mod throttle;
mod ui;
mod unread;
mod visitor;

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::FromRef;
use leptos::config::LeptosOptions;

use crate::accounts::Accounts;
use crate::activity::Activity;
use crate::clock::SharedClock;
use crate::config::{MetricsToken, PublicUrl, TrustedProxies};
use crate::consolidation::Consolidation;
use crate::db::Db;
use crate::embedding::Embeddings;
use crate::evaluation::Evaluation;
use crate::export::Imports;
use crate::providers::DocumentFetcher;
use crate::providers::chat::Chat;
use crate::search::Search;
use crate::tools::Registry;
use crate::webhooks::Webhooks;

pub use connection::ConnectionLimits;
pub use gate::Gate;
pub use health::{ProcessInfo, Readiness, Workers};
pub use routes::router;
pub use server::serve;
pub use unread::BodyTime;

/// What handlers share. Every part is cheap to clone.
#[derive(Clone, FromRef)]
pub struct AppState {
    pub accounts: Accounts,
    pub db: Db,
    pub clock: SharedClock,
    pub embeddings: Embeddings,
    pub search: Search,
    pub chat: Chat,
    pub consolidation: Consolidation,
    pub evaluation: Evaluation,
    pub activity: Activity,
    pub webhooks: Webhooks,
    pub imports: Imports,
    pub registry: Arc<Registry>,
    pub readiness: Readiness,
    pub public_url: PublicUrl,
    pub site: SiteFiles,
    pub published: Arc<api::openapi::Published>,
    pub asked: Arc<metrics::DatabaseGauges>,
    pub metrics_token: Option<MetricsToken>,
    pub throttles: Arc<throttle::Throttles>,
    pub client_documents: Arc<oauth::ClientDocuments>,
    pub calls: calls::Calls,
    pub body_time: BodyTime,
    pub trusted_proxies: TrustedProxies,
    pub backup_dir: BackupDir,
}

impl AppState {
    pub fn new(parts: AppParts) -> Self {
        let published = api::openapi::Published::new(&parts.registry, &parts.public_url);
        Self {
            imports: Imports::new(
                &parts.db.with_job_timeout(),
                &parts.search.embeddings().for_jobs(),
                parts.data_dir,
            ),
            accounts: parts.accounts,
            db: parts.db,
            clock: parts.clock,
            embeddings: parts.search.embeddings().clone(),
            search: parts.search,
            chat: parts.chat,
            consolidation: parts.consolidation,
            evaluation: parts.evaluation,
            activity: parts.activity,
            webhooks: parts.webhooks,
            registry: Arc::new(parts.registry),
            readiness: parts.readiness,
            public_url: parts.public_url,
            site: parts.site,
            published: Arc::new(published),
            asked: Arc::new(metrics::DatabaseGauges::default()),
            metrics_token: parts.metrics_token,
            throttles: Arc::new(throttle::Throttles::new()),
            client_documents: Arc::new(oauth::ClientDocuments::new(parts.document_fetcher)),
            calls: calls::Calls::default(),
            body_time: BodyTime::default(),
            trusted_proxies: parts.trusted_proxies,
            backup_dir: BackupDir(parts.backup_dir),
        }
    }
}

/// The parts of the state; `wiring.rs` builds them.
pub struct AppParts {
    pub accounts: Accounts,
    pub db: Db,
    pub clock: SharedClock,
    pub search: Search,
    pub chat: Chat,
    pub consolidation: Consolidation,
    pub evaluation: Evaluation,
    pub activity: Activity,
    pub webhooks: Webhooks,
    pub registry: Registry,
    pub readiness: Readiness,
    pub public_url: PublicUrl,
    pub trusted_proxies: TrustedProxies,
    pub metrics_token: Option<MetricsToken>,
    /// For the descriptions of OAuth clients.
    pub document_fetcher: DocumentFetcher,
    pub site: SiteFiles,
    /// Where uploads are stored temporarily.
    pub data_dir: PathBuf,
    /// Of this server's jobs; `None`: it makes no backups.
    pub backup_dir: Option<PathBuf>,
}

/// The backup folder, for its page.
#[derive(Clone)]
pub struct BackupDir(pub Option<PathBuf>);

/// The folder of the stylesheet, icons and islands, and Leptos' options for it.
#[derive(Clone)]
pub struct SiteFiles {
    pub root: PathBuf,
    /// Without islands, pages are plain HTML.
    pub islands_built: bool,
    pub leptos: LeptosOptions,
}

impl SiteFiles {
    pub fn at(root: PathBuf) -> Self {
        let leptos = LeptosOptions::builder()
            .output_name("keepsake")
            .site_root(root.to_string_lossy().into_owned())
            .site_pkg_dir("pkg")
            .build();
        let islands_built = root.join("pkg/keepsake.wasm").is_file();
        Self { root, islands_built, leptos }
    }
}
