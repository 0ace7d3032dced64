//! `/livez`: the process answers. `/readyz`: it can serve, or which part cannot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::json;

use crate::db::Db;

/// Turned once: from serving to draining.
#[derive(Clone, Default)]
pub struct Readiness {
    draining: Arc<AtomicBool>,
}

impl Readiness {
    /// From now on `/readyz` is 503, so that a balancer sends nobody here.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

pub async fn livez() -> &'static str {
    "ok\n"
}

pub async fn readyz(State(readiness): State<Readiness>, State(db): State<Db>) -> impl IntoResponse {
    let database = if db.is_ready().await {
        "ready"
    } else {
        "unavailable"
    };
    let server = if readiness.is_draining() {
        "draining"
    } else {
        "ready"
    };
    let is_ready = database == "ready" && server == "ready";
    let warning = match db.is_search_leakproof().await {
        Ok(false) => Some(
            "full-text search runs without its index; as a superuser run: ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF;",
        ),
        _ => None,
    };
    let status = if is_ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let warnings: Vec<&str> = warning.into_iter().collect();
    (
        status,
        Json(
            json!({ "ready": is_ready, "server": server, "database": database, "warnings": warnings }),
        ),
    )
}
