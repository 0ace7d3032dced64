//! Who called which tool, when, how it ended, and which items were returned or
//! touched. Append-only. A write is recorded in its own transaction ([`Call::write`]),
//! everything else in batches a moment later (`writer.rs`), so that a search pays no
//! commit. Content never comes here, and a query's words only where their user asks.

mod model;
mod store;
mod writer;

pub use model::{DAYS_COUNTED, DayCount, Filter, KEPT_DAYS, KEPT_ROWS_MAX, OK, Page, Row};
pub use store::count_uses;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde::Serialize;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::accounts::{AgentId, UserId, Viewer, list_agent_names};
use crate::clock::SharedClock;
use crate::db::Db;
use model::{CANCELLED, Entry, ITEMS_MAX, KEPT_QUERY_CHARS_MAX, OfTeam};
use writer::Queue;

/// A tool call under way, and on whose behalf. It is recorded once, however it ends:
/// dropped before, because its client went away, as `cancelled`.
pub struct Call {
    pub viewer: Viewer,
    tool: &'static str,
    at: OffsetDateTime,
    started: Instant,
    activity: Activity,
    /// Nothing more is to be recorded.
    is_settled: Arc<AtomicBool>,
    /// Of what is lent to the agent, what was read.
    lent: OnceLock<Vec<i64>>,
}

impl Call {
    /// Records that it went well, in the transaction of what it changed: both are
    /// committed or neither, and nothing else is recorded of it, since whether a
    /// commit that was not answered happened, nobody knows. Its duration is that up to here.
    pub async fn write(&self, conn: &mut PgConnection, items: Vec<i64>) -> Result<(), sqlx::Error> {
        let entry = self.entry(OK, items, None);
        store::insert(conn, self.viewer.user_id, &[entry]).await?;
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// For whoever writes what it changes together with others' changes.
    pub fn record(&self) -> Record {
        Record {
            agent_id: self.viewer.agent_id,
            at: self.at,
            tool: self.tool,
            started: self.started,
            is_settled: self.is_settled.clone(),
        }
    }

    /// Its [`Record`] was not written after all.
    pub fn take_back(&self) {
        self.is_settled.store(false, Ordering::Relaxed);
    }

    /// It went well; nothing is done where it has recorded itself. `query` only where
    /// its user wants queries kept: it waits in memory, and is kept if that is still so.
    pub fn succeeded(self, items: Vec<i64>, query: Option<&str>) {
        let query = query.map(|words| words.chars().take(KEPT_QUERY_CHARS_MAX).collect());
        self.settle(OK, items, query);
    }

    /// It ended in an error, by its stable code.
    pub fn failed(self, code: &'static str) {
        self.settle(code, Vec::new(), None);
    }

    /// It may have changed something or not: then nothing is said of it.
    pub fn ended_unknown(self) {
        self.is_settled.store(true, Ordering::Relaxed);
    }

    /// What is lent to the agent that calls was read, and these of its items are in the answer: the leader's activity has it
    /// too. An operator's pool has none: of whom it is read the activity of its users tells.
    pub fn read_lent(&self, items: Vec<i64>) {
        let lent = self.viewer.lent.as_ref();
        let leader = lent.and_then(|lent| Some((lent.user_id, lent.leader?)));
        if let (Some((user, leader)), Some(agent)) = (leader, self.viewer.agent_id) {
            self.activity.0.queue.push(Entry {
                user,
                agent: Some(leader),
                of_team: Some(Box::new(OfTeam::Member(self.viewer.user_id, agent))),
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
    ) -> Entry {
        // It may wait: no more room than it needs.
        items.truncate(ITEMS_MAX);
        items.shrink_to_fit();
        query.iter_mut().for_each(String::shrink_to_fit);
        let lent = self.lent.get().filter(|lent| !lent.is_empty());
        Entry {
            user: self.viewer.user_id,
            agent: self.viewer.agent_id,
            at: self.at,
            tool: self.tool,
            outcome,
            duration_us: duration_us(self.started),
            items,
            query,
            of_team: lent.map(|lent| Box::new(OfTeam::Lent(lent.clone()))),
        }
    }
}

/// What is written of a call that went well ([`OK`]), in the transaction of what it changed.
pub struct Record {
    agent_id: Option<AgentId>,
    /// When the call came in.
    at: OffsetDateTime,
    tool: &'static str,
    started: Instant,
    is_settled: Arc<AtomicBool>,
}

/// Of calls of one user, each with the items that it touched.
pub async fn write_records(
    conn: &mut PgConnection,
    user: UserId,
    records: Vec<(&Record, Vec<i64>)>,
) -> Result<(), sqlx::Error> {
    let entry = |(record, items): (&Record, Vec<i64>)| Entry {
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
    let entries: Vec<Entry> = records.into_iter().map(entry).collect();
    store::insert(conn, user, &entries).await
}

/// A call that went well, as it is written beside what it changed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Recorded {
    #[serde(with = "time::serde::rfc3339")]
    at: OffsetDateTime,
    tool: &'static str,
    duration_us: i32,
}

impl Record {
    pub fn recorded(&self) -> Recorded {
        Recorded {
            at: self.at,
            tool: self.tool,
            duration_us: duration_us(self.started),
        }
    }

    /// Asked right before the commit: from here on nothing else is recorded of the call.
    /// False where something is already: its client has gone, and nothing is to be changed.
    pub fn settle(&self) -> bool {
        !self.is_settled.swap(true, Ordering::Relaxed)
    }
}

fn duration_us(started: Instant) -> i32 {
    i32::try_from(started.elapsed().as_micros()).unwrap_or(i32::MAX)
}

impl Drop for Call {
    fn drop(&mut self) {
        self.settle(CANCELLED, Vec::new(), None);
    }
}

/// Cheap to clone; one is made at the start.
#[derive(Clone)]
pub struct Activity(Arc<Inner>);

struct Inner {
    db: Db,
    clock: SharedClock,
    queue: Queue,
}

impl Activity {
    pub fn new(db: Db, clock: SharedClock) -> Self {
        let queue = Queue::default();
        Self(Arc::new(Inner { db, clock, queue }))
    }

    pub fn begin(&self, viewer: &Viewer, tool: &'static str) -> Call {
        Call {
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
    pub async fn page(&self, user: UserId, filter: &Filter) -> Result<Page, sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        let rows = store::list(&mut tx, user, filter).await?;
        let days = store::count_by_day(&mut tx, user, filter, self.first_day()).await?;
        let page = Page {
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

    /// The rows alone.
    pub async fn list(&self, user: UserId, filter: &Filter) -> Result<Vec<Row>, sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        let rows = store::list(&mut tx, user, filter).await?;
        tx.commit().await?;
        Ok(rows)
    }

    fn first_day(&self) -> OffsetDateTime {
        let days = Duration::days(DAYS_COUNTED - 1);
        (self.0.clock.now() - days).replace_time(time::Time::MIDNIGHT)
    }

    /// Whether the words of this user's searches are kept from now on.
    pub async fn keep_queries(&self, user: UserId, keep: bool) -> Result<(), sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        store::set_keeps_queries(&mut tx, user, keep, self.0.clock.now()).await?;
        tx.commit().await
    }

    /// Removes the words that were kept; the calls stay. Returns how many had any.
    pub async fn forget_queries(&self, user: UserId) -> Result<i64, sqlx::Error> {
        // What waits in this process may hold words, too.
        self.flush().await?;
        let mut tx = self.0.db.as_user(user).await?;
        let forgotten = store::forget_queries(&mut tx).await?;
        tx.commit().await?;
        Ok(forgotten)
    }

    /// Removes what is past [`KEPT_DAYS`] and [`KEPT_ROWS_MAX`], in small steps; called
    /// now and then, by every server: while one is at it another stops.
    pub async fn prune(&self) -> Result<i64, sqlx::Error> {
        let (mut pruned, mut next) = (0, Some(0));
        while let Some(after_user) = next {
            // Not held between the steps: there are few of them.
            let mut conn = self.0.db.system_connection().await?;
            let step = store::prune(&mut conn, after_user, self.0.clock.now()).await?;
            (pruned, next) = (pruned + step.rows, step.after_user);
        }
        Ok(pruned)
    }
}
