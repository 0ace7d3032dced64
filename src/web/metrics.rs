//! `/metrics`, for Prometheus. It answers scrapers on this machine where no proxy can be in front, and others with the token
//! `KEEPSAKE_METRICS_TOKEN`; everybody else gets a 404. Values from the database are queried rarely and with
//! a short timeout, and left out while it is unavailable.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::{ConnectInfo, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use time::OffsetDateTime;

use super::AppState;
use super::error::Problem;
use crate::backup;
use crate::metrics::{self, Gauge};
use crate::queue;

/// Timeout for all database values.
const ASK_TIMEOUT: Duration = Duration::from_secs(1);
/// Minimum time between two queries, however many scrapers there are.
const KEPT_FOR: Duration = Duration::from_secs(5);
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub async fn show(
    State(state): State<AppState>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
) -> Response {
    let peer = peer.map(|Extension(ConnectInfo(address))| address);
    if !may_see(&state, peer, &headers) {
        return Problem::new(StatusCode::NOT_FOUND, "not_found", "There is no such page here.")
            .into_response();
    }
    let mut gauges = of_process(&state);
    gauges.extend(of_database(&state).await);
    let text = metrics::render(&gauges);
    ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response()
}

/// A forwarded request is not local, even if the proxy runs on this machine. A proxy need not say so: where the server has a
/// public https address or trusts proxies, one is in front.
fn may_see(state: &AppState, peer: Option<SocketAddr>, headers: &HeaderMap) -> bool {
    let was_forwarded = headers.keys().any(|name| {
        let name = name.as_str();
        ["forwarded", "via", "x-real-ip", "x-client-ip"].contains(&name)
            || name.starts_with("x-forwarded")
    });
    let host =
        headers.get(header::HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let is_named_local = host.is_some_and(|host| is_loopback_name(host.host()));
    let is_behind_a_proxy = state.public_url.is_https() || !state.trusted_proxies.is_empty();
    let is_direct = peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback());
    if is_direct && is_named_local && !was_forwarded && !is_behind_a_proxy {
        return true;
    }
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    match (&state.metrics_token, given) {
        (Some(token), Some((_, given))) => token.matches(given.trim()),
        _ => false,
    }
}

fn is_loopback_name(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> Gauge {
    Gauge { name, help, labels: Vec::new(), value }
}

fn of_process(state: &AppState) -> Vec<Gauge> {
    let mut gauges = Vec::new();
    for pool in state.db.pools() {
        let in_use = pool.open.saturating_sub(pool.idle);
        for (kind, n) in [("in_use", in_use), ("idle", pool.idle), ("max", pool.max)] {
            gauges.push(Gauge {
                labels: vec![("pool", pool.name.to_owned()), ("state", kind.to_owned())],
                ..gauge(
                    "pool_connections",
                    "Connections to the database, by what they are for; max is how many there may be",
                    f64::from(n),
                )
            });
        }
    }
    let (residents, bytes) = state.search.reader().held();
    gauges.push(gauge("indexes", "Indexes of users in memory", residents as f64));
    gauges.push(gauge("index_bytes", "What these take, about", bytes as f64));
    gauges.push(gauge(
        "breakers_open",
        "Spaces whose provider searches leave alone just now",
        state.embeddings.count_open_breakers() as f64,
    ));
    gauges.push(gauge(
        "draining",
        "1 while the server is about to stop",
        f64::from(u8::from(state.readiness.is_draining())),
    ));
    gauges.push(gauge(
        "activity_waiting",
        "Calls that are still to be recorded",
        state.activity.count_waiting() as f64,
    ));
    gauges.push(gauge(
        "passwords_waiting",
        "Sign-ins and sign-ups whose password waits to be checked",
        state.accounts.count_waiting_passwords() as f64,
    ));
    if let Some(disk) = state.embeddings.quota().disk().state() {
        gauges.extend([
            gauge("disk_free_bytes", "What is free on the fullest disk", disk.space.free as f64),
            gauge("disk_floor_bytes", "With less free, nothing is added", disk.floor as f64),
            gauge(
                "disk_full",
                "1 while nothing is added for want of disk",
                f64::from(u8::from(disk.is_full)),
            ),
        ]);
    }
    if let Some(at) = metrics::last_sweep() {
        gauges.push(gauge(
            "last_sweep_age_seconds",
            "Since this process last looked for work that nobody was told of",
            age_seconds(state.clock.now(), Some(at)),
        ));
    }
    gauges
}

/// The database's values, and whether it answered.
async fn of_database(state: &AppState) -> Vec<Gauge> {
    let mut kept = state.gauges.0.lock().await;
    if let Some((asked_at, gauges)) = &*kept
        && asked_at.elapsed() < KEPT_FOR
    {
        return gauges.clone();
    }
    let answered = tokio::time::timeout(ASK_TIMEOUT, ask(state)).await;
    let up = |n| gauge("database_up", "1 when the database gave its figures in time", n);
    let gauges = match answered {
        Ok(Ok(mut gauges)) => {
            gauges.push(up(1.0));
            gauges
        }
        _ => vec![up(0.0)],
    };
    *kept = Some((Instant::now(), gauges.clone()));
    gauges
}

async fn ask(state: &AppState) -> Result<Vec<Gauge>, sqlx::Error> {
    let now = state.clock.now();
    let mut tx = state.db.as_system_within(ASK_TIMEOUT).await?;
    let queues = queue::store::count_jobs(&mut tx, now).await?;
    let open = state.embeddings.open_embeddings(&mut tx).await?;
    let last_seen = queue::store::worker_last_seen(&mut tx).await?;
    let size = state.db.size(&mut tx).await?;
    let backups = backup::list(&mut tx).await?;
    tx.commit().await?;
    let mut gauges = Vec::new();
    for queue in &queues {
        for (status, n) in [
            ("waiting", queue.waiting),
            ("delayed", queue.delayed),
            ("running", queue.running),
            ("failed", queue.failed),
        ] {
            gauges.push(Gauge {
                labels: vec![("job", queue.job.clone()), ("status", status.to_owned())],
                ..gauge("jobs", "Users whose job waits, runs or has failed", n as f64)
            });
        }
    }
    for queue in queues {
        gauges.push(Gauge {
            value: age_seconds(now, queue.waiting_since),
            labels: vec![("job", queue.job)],
            ..gauge(
                "job_oldest_age_seconds",
                "Since the first of the waiting jobs could have begun",
                0.0,
            )
        });
    }
    gauges.extend([
        gauge("vectors_pending", "Vectors that are still to be made", open.pending as f64),
        gauge(
            "vectors_failed",
            "Vectors that were given up until somebody retries them",
            open.failed as f64,
        ),
        gauge(
            "vectors_pending_oldest_age_seconds",
            "Since the first of the pending vectors waits",
            age_seconds(now, open.pending_since),
        ),
    ]);
    if let Some(last) = backups.first() {
        gauges.extend([
            gauge(
                "backup_last_success_timestamp_seconds",
                "When the last backup in the backup folder was made",
                last.made_at.unix_timestamp() as f64,
            ),
            gauge(
                "backup_last_bytes",
                "Size of the last backup in the backup folder",
                last.bytes as f64,
            ),
        ]);
    }
    if let Some(bytes) = size {
        gauges.push(gauge(
            "database_bytes",
            "What the database takes on its disk, indexes included",
            bytes as f64,
        ));
    }
    if let Some(at) = last_seen {
        gauges.push(gauge(
            "worker_last_seen_age_seconds",
            "Since a worker of any process last said that it lives",
            age_seconds(now, Some(at)),
        ));
    }
    Ok(gauges)
}

fn age_seconds(now: OffsetDateTime, since: Option<OffsetDateTime>) -> f64 {
    since.map_or(0.0, |since| (now - since).as_seconds_f64().max(0.0))
}
