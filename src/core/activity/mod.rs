//! The log of tool calls: who, when, outcome, and the items returned or changed. Append-only. A write is recorded in its own
//! transaction ([`RunningCall::write`]), other calls in batches a moment later (`writer.rs`), so that a search pays no commit. Never
//! stores content, and queries only if the user enables it.

mod model;
mod store;
mod writer;

pub use model::{
    ActivityFilter, ActivityRow, BEGINNING_CHARS, CallsPage, DAYS_COUNTED, DayCount, KEPT_DAYS,
    KEPT_ROWS_MAX, MemoryUsage, OK, READS_COUNTED_MAX, ThemeReads, UsedItem,
};
pub use store::{count_calls, count_uses};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde::Serialize;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::accounts::{AgentId, UserId, Viewer, list_agent_names};
use crate::clock::SharedClock;
use crate::db::Db;
use crate::redaction;
use model::{ActivityEntry, CANCELLED, ITEMS_MAX, KEPT_QUERY_CHARS_MAX, TeamRead};
use writer::ActivityQueue;

/// A running tool call. Recorded exactly once: as `cancelled` if dropped early, because its client disconnected.
pub struct RunningCall {
    pub viewer: Viewer,
    tool: &'static str,
    at: OffsetDateTime,
    started: Instant,
    activity: Activity,
    /// The call needs no more recording.
    is_settled: Arc<AtomicBool>,
    /// The lent items that were read.
    lent: OnceLock<Vec<i64>>,
}

impl RunningCall {
    /// Records success in the transaction of the change, so that both are committed or neither. Nothing else is recorded
    /// afterwards, because the outcome of an unanswered commit is unknown. The duration ends here.
    pub async fn write(&self, conn: &mut PgConnection, items: Vec<i64>) -> Result<(), sqlx::Error> {
        let entry = self.entry(OK, items, None);
        store::insert(conn, self.viewer.user_id, &[entry]).await?;
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// For a caller that writes this change together with others.
    pub fn record(&self) -> CallRecord {
        CallRecord {
            agent_id: self.viewer.agent_id,
            at: self.at,
            tool: self.tool,
            started: self.started,
            is_settled: self.is_settled.clone(),
        }
    }

    /// The [`CallRecord`] was not written after all.
    pub fn take_back(&self) {
        self.is_settled.store(false, Ordering::Relaxed);
    }

    /// Records success, unless the call has recorded itself. Pass `query` only if the user stores queries; the setting is
    /// checked again when it is written.
    pub fn succeeded(self, items: Vec<i64>, query: Option<&str>) {
        let query = query.map(|words| {
            let words = redaction::without_secrets(words);
            words.chars().take(KEPT_QUERY_CHARS_MAX).collect()
        });
        self.settle(OK, items, query);
    }

    /// Records an error by its stable code.
    pub fn failed(self, code: &'static str) {
        self.settle(code, Vec::new(), None);
    }

    /// The outcome of its change is unknown: records nothing.
    pub fn ended_unknown(self) {
        self.is_settled.store(true, Ordering::Relaxed);
    }

    /// Records that these lent items are in the answer, also in the leader's activity. An operator's pool has no activity of
    /// its own.
    pub fn read_lent(&self, items: Vec<i64>) {
        let lent = self.viewer.lent.as_ref();
        let leader = lent.and_then(|lent| Some((lent.user_id, lent.leader?)));
        if let (Some((user, leader)), Some(agent)) = (leader, self.viewer.agent_id) {
            self.activity.0.queue.push(ActivityEntry {
                user,
                agent: Some(leader),
                of_team: Some(Box::new(TeamRead::Member(self.viewer.user_id, agent))),
                ..self.entry(OK, items.clone(), None)
            });
        }
        self.lent.get_or_init(|| {
            let mut items = items;
            items.truncate(ITEMS_MAX);
            items.shrink_to_fit();
            items
        });
    }

    fn settle(&self, outcome: &'static str, items: Vec<i64>, query: Option<String>) {
        if !self.is_settled.swap(true, Ordering::Relaxed) {
            let entry = self.entry(outcome, items, query);
            self.activity.0.queue.push(entry);
        }
    }

    fn entry(
        &self,
        outcome: &'static str,
        mut items: Vec<i64>,
        mut query: Option<String>,
    ) -> ActivityEntry {
        // Entries wait in memory, so keep them small.
        items.truncate(ITEMS_MAX);
        items.shrink_to_fit();
        query.iter_mut().for_each(String::shrink_to_fit);
        let lent = self.lent.get().filter(|lent| !lent.is_empty());
        let lent = self.viewer.lent.as_ref().zip(lent);
        ActivityEntry {
            user: self.viewer.user_id,
            agent: self.viewer.agent_id,
            at: self.at,
            tool: self.tool,
            outcome,
            duration_us: duration_us(self.started),
            items,
            query,
            of_team: lent.map(|(of, items)| Box::new(TeamRead::Lent(of.user_id, items.clone()))),
        }
    }
}

/// A successful call ([`OK`]), to be recorded in the transaction of its change.
pub struct CallRecord {
    agent_id: Option<AgentId>,
    /// When the call arrived.
    at: OffsetDateTime,
    tool: &'static str,
    started: Instant,
    is_settled: Arc<AtomicBool>,
}

/// Records calls of one user, each with the items it changed.
pub async fn write_records(
    conn: &mut PgConnection,
    user: UserId,
    records: Vec<(&CallRecord, Vec<i64>)>,
) -> Result<(), sqlx::Error> {
    let entry = |(record, items): (&CallRecord, Vec<i64>)| ActivityEntry {
        user,
        agent: record.agent_id,
        at: record.at,
        tool: record.tool,
        outcome: OK,
        duration_us: duration_us(record.started),
        items,
        query: None,
        of_team: None,
    };
    let entries: Vec<ActivityEntry> = records.into_iter().map(entry).collect();
    store::insert(conn, user, &entries).await
}

/// A successful call, as JSON for the statement that writes its change.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CallJson {
    #[serde(with = "time::serde::rfc3339")]
    at: OffsetDateTime,
    tool: &'static str,
    duration_us: i32,
}

impl CallRecord {
    pub fn recorded(&self) -> CallJson {
        CallJson { at: self.at, tool: self.tool, duration_us: duration_us(self.started) }
    }

    /// Called right before the commit: claims the recording of the call. Returns false if its client has disconnected; then
    /// nothing may be changed.
    pub fn settle(&self) -> bool {
        !self.is_settled.swap(true, Ordering::Relaxed)
    }
}

fn duration_us(started: Instant) -> i32 {
    i32::try_from(started.elapsed().as_micros()).unwrap_or(i32::MAX)
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.settle(CANCELLED, Vec::new(), None);
    }
}

/// Cheap to clone; one is created at startup.
#[derive(Clone)]
pub struct Activity(Arc<ActivityInner>);

struct ActivityInner {
    db: Db,
    clock: SharedClock,
    queue: ActivityQueue,
}

impl Activity {
    pub fn new(db: Db, clock: SharedClock) -> Self {
        let queue = ActivityQueue::default();
        Self(Arc::new(ActivityInner { db, clock, queue }))
    }

    pub fn begin(&self, viewer: &Viewer, tool: &'static str) -> RunningCall {
        RunningCall {
            viewer: viewer.clone(),
            tool,
            at: self.0.clock.now(),
            started: Instant::now(),
            activity: self.clone(),
            is_settled: Arc::default(),
            lent: OnceLock::new(),
        }
    }

    /// Newest first.
    pub async fn page(
        &self,
        user: UserId,
        filter: &ActivityFilter,
    ) -> Result<CallsPage, sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        let rows = store::list(&mut tx, user, filter).await?;
        let days = store::count_by_day(&mut tx, user, filter, self.first_day()).await?;
        let page = CallsPage {
            beginnings: store::beginnings(&mut tx, user, &rows).await?,
            documents: store::documents(&mut tx, user, &rows).await?,
            rows,
            days,
            agents: list_agent_names(&mut tx, user).await?,
            keeps_queries: store::keeps_queries(&mut tx, user).await?,
            kept_queries: store::count_queries(&mut tx, user).await?,
            is_empty: !store::any(&mut tx, user).await?,
        };
        tx.commit().await?;
        Ok(page)
    }

    /// Only the rows.
    pub async fn list(
        &self,
        user: UserId,
        filter: &ActivityFilter,
    ) -> Result<Vec<ActivityRow>, sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        let rows = store::list(&mut tx, user, filter).await?;
        tx.commit().await?;
        Ok(rows)
    }

    /// What is used, and by whom: `tools` are those that read.
    pub async fn usage(&self, user: UserId, tools: &[String]) -> Result<MemoryUsage, sqlx::Error> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_user(user).await?;
        let since = now - Duration::days(KEPT_DAYS);
        let (active, unused) = store::count_unused(&mut tx, user, now).await?;
        let usage = MemoryUsage {
            reads: store::count_reads(&mut tx, user, tools, since).await?,
            most_used: store::list_most_used(&mut tx, user, now).await?,
            never_used: store::list_never_used(&mut tx, user, now).await?,
            active,
            unused,
        };
        tx.commit().await?;
        Ok(usage)
    }

    fn first_day(&self) -> OffsetDateTime {
        let days = Duration::days(DAYS_COUNTED - 1);
        (self.0.clock.now() - days).replace_time(time::Time::MIDNIGHT)
    }

    /// Sets whether this user's search queries are stored.
    pub async fn keep_queries(&self, user: UserId, keep: bool) -> Result<(), sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        store::set_keeps_queries(&mut tx, user, keep, self.0.clock.now()).await?;
        tx.commit().await
    }

    /// Deletes the stored queries; the calls stay. Returns how many had one.
    pub async fn forget_queries(&self, user: UserId) -> Result<i64, sqlx::Error> {
        // Pending entries may contain queries too.
        self.flush().await?;
        let mut tx = self.0.db.as_user(user).await?;
        let forgotten = store::forget_queries(&mut tx).await?;
        tx.commit().await?;
        Ok(forgotten)
    }

    /// Deletes entries beyond [`KEPT_DAYS`] and [`KEPT_ROWS_MAX`], in small steps. Called periodically on every server; stops
    /// if another server is doing it.
    pub async fn prune(&self) -> Result<i64, sqlx::Error> {
        let (mut pruned, mut next) = (0, Some(0));
        while let Some(after_user) = next {
            // Released between the steps, because connections are few.
            let mut conn = self.0.db.system_connection().await?;
            let step = store::prune(&mut conn, after_user, self.0.clock.now()).await?;
            (pruned, next) = (pruned + step.rows, step.after_user);
        }
        Ok(pruned)
    }
}
