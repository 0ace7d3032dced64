//! `/livez`: the process is alive. `/readyz`: it can serve, or which part cannot. It answers in bounded time,
//! and reveals nothing about users or endpoints.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Serialize;

use super::{AppState, Readiness, Workers};
use crate::db::Schema;
use crate::embedding::{BuiltinState, SystemProviderState};
use crate::queue;
use crate::quota::DiskState;

/// After this time the database counts as unavailable.
const ASK_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Workers renew their lease every 5 s.
const WORKER_SILENT_MAX: time::Duration = time::Duration::seconds(60);

/// State of each component. Components that are not needed to serve requests only cause warnings.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Readiness")]
pub struct ReadinessReport {
    /// `not_ready` is empty.
    ready: bool,
    /// `warnings` is not empty.
    degraded: bool,
    /// draining: the server is about to stop.
    #[schemars(extend("enum" = ["ready", "draining"]))]
    server: &'static str,
    /// unavailable: the database did not answer in time.
    #[schemars(extend("enum" = ["ready", "unavailable"]))]
    database: &'static str,
    /// ahead: a newer version has migrated the database.
    #[schemars(extend("enum" = ["ready", "missing", "behind", "ahead", UNKNOWN]))]
    schema: &'static str,
    /// unknown while the database is unavailable.
    #[schemars(extend("enum" = ["ready", "missing", UNKNOWN]))]
    vector_extension: &'static str,
    /// Background worker: here (in this process), elsewhere, starting, silent (no report for 60 s) or none.
    #[schemars(extend("enum" = ["here", "elsewhere", "starting", "silent", "none", UNKNOWN]))]
    worker: &'static str,
    /// unknown while the database is unavailable.
    #[schemars(extend("enum" = ["loaded", "present", "missing", "off", UNKNOWN]))]
    builtin_model: &'static str,
    /// unknown while the database is unavailable.
    #[schemars(extend("enum" = ["ready", "failing", "none", UNKNOWN]))]
    system_provider: &'static str,
    /// low: nothing is added until there is free space. Reading still works.
    #[schemars(extend("enum" = ["ready", "low", UNKNOWN]))]
    disk: &'static str,
    /// Components that prevent the server from serving requests.
    not_ready: Vec<&'static str>,
    /// Problems that do not prevent serving requests, as sentences.
    warnings: Vec<&'static str>,
}

const UNKNOWN: &str = "unknown";

impl ReadinessReport {
    fn of(readiness: &Readiness) -> Self {
        let is_draining = readiness.is_draining();
        Self {
            ready: false,
            degraded: false,
            server: if is_draining { "draining" } else { "ready" },
            database: "unavailable",
            schema: UNKNOWN,
            vector_extension: UNKNOWN,
            worker: UNKNOWN,
            builtin_model: UNKNOWN,
            system_provider: UNKNOWN,
            disk: UNKNOWN,
            not_ready: Vec::new(),
            warnings: Vec::new(),
        }
    }

    async fn ask_database(&mut self, state: &AppState) -> Result<(), sqlx::Error> {
        let mut conn = state.db.system_connection().await?;
        let fitness = state.db.fitness(&mut conn).await?;
        self.database = "ready";
        self.schema = match fitness.schema {
            Schema::Ours => "ready",
            Schema::Missing => "missing",
            Schema::Behind => "behind",
            Schema::Ahead => "ahead",
        };
        if fitness.schema == Schema::Ahead {
            self.warnings
                .push("a newer Keepsake has migrated the database; start that version here too");
        }
        self.vector_extension = if fitness.has_vector { "ready" } else { "missing" };
        if fitness.schema == Schema::Missing {
            return Ok(());
        }
        let last_seen = queue::store::worker_last_seen(&mut conn).await?;
        let silent_for = last_seen.map(|at| state.clock.now() - at);
        self.tell_worker(state.readiness.workers(), silent_for);
        let provider = state.embeddings.system_provider_state(&mut conn).await?;
        drop(conn);
        self.tell_provider(provider);
        self.tell_builtin(state.embeddings.builtin_state().await?);
        Ok(())
    }

    fn tell_worker(&mut self, workers: Option<Workers>, silent_for: Option<time::Duration>) {
        let lives = silent_for.is_some_and(|silent| silent < WORKER_SILENT_MAX);
        self.worker = match (workers, silent_for) {
            (None, None) => "none",
            (None, Some(_)) | (Some(Workers::Elsewhere), _) if lives => "elsewhere",
            (Some(Workers::Here), _) if lives => "here",
            (Some(Workers::Here), None) => "starting",
            _ => "silent",
        };
        if self.worker == "silent" {
            self.warnings.push("no worker has reported for a minute, so nothing is embedded: start `keepsake work`, or serve without --no-worker");
        }
    }

    fn tell_provider(&mut self, provider: SystemProviderState) {
        self.system_provider = match provider {
            SystemProviderState::None => "none",
            SystemProviderState::Ready => "ready",
            SystemProviderState::Failing => "failing",
        };
        if provider == SystemProviderState::Failing {
            self.warnings.push("the system llama.cpp has stopped embedding for some users; the page Admin shows why");
        }
    }

    fn tell_builtin(&mut self, builtin: BuiltinState) {
        self.builtin_model = match builtin {
            BuiltinState::Off => "off",
            BuiltinState::Missing => "missing",
            BuiltinState::Present => "present",
            BuiltinState::Loaded => "loaded",
        };
    }

    fn tell_disk(&mut self, disk: Option<DiskState>) {
        self.disk = match disk {
            None => UNKNOWN,
            Some(DiskState { is_full: false, .. }) => "ready",
            Some(_) => "low",
        };
        if self.disk == "low" {
            self.warnings.push("the disk is nearly full, and nothing is added: free disk space; the page Admin shows how much there is");
        }
    }

    fn judge(&mut self) {
        let needed = [
            ("server", self.server),
            ("database", self.database),
            ("schema", self.schema),
            ("vector_extension", self.vector_extension),
        ];
        let serves = |state: &str| matches!(state, "ready" | "ahead");
        let mut not_ready: Vec<_> =
            needed.into_iter().filter(|(_, state)| !serves(state)).map(|(name, _)| name).collect();
        if self.database == "unavailable" {
            // Parts that could not be checked do not count as failed.
            not_ready.retain(|name| matches!(*name, "server" | "database"));
        }
        self.ready = not_ready.is_empty();
        self.degraded = !self.warnings.is_empty();
        self.not_ready = not_ready;
    }
}

pub async fn livez() -> &'static str {
    "ok\n"
}

pub async fn readyz(State(state): State<AppState>) -> impl IntoResponse {
    let mut report = ReadinessReport::of(&state.readiness);
    let asked = tokio::time::timeout(ASK_TIMEOUT, report.ask_database(&state)).await;
    if !matches!(asked, Ok(Ok(()))) {
        report = ReadinessReport::of(&state.readiness);
    }
    report.tell_disk(state.embeddings.quota().disk().state());
    report.judge();
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(report))
}
