//! Who called which tool, when, how it ended, and which items were returned or
//! touched. Append-only. A write is recorded in its own transaction ([`Call::write`]),
//! everything else in batches a moment later (`writer.rs`), so that a search pays no
//! commit. Content never comes here, and a query's words only where their user asks.

mod model;
mod store;
mod writer;

pub use model::{DAYS_COUNTED, DayCount, Filter, KEPT_DAYS, KEPT_ROWS_MAX, OK, Page, Row};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::accounts::{UserId, Viewer};
use crate::clock::SharedClock;
use crate::db::Db;
use crate::memories::ItemId;
use model::{Entry, ITEMS_MAX, KEPT_QUERY_CHARS_MAX};
use writer::Queue;

/// A tool call under way, and on whose behalf.
pub struct Call {
    pub viewer: Viewer,
    tool: &'static str,
    at: OffsetDateTime,
    started: Instant,
    is_written: AtomicBool,
}

impl Call {
    pub fn begin(viewer: &Viewer, tool: &'static str, clock: &SharedClock) -> Self {
        Self {
            viewer: viewer.clone(),
            tool,
            at: clock.now(),
            started: Instant::now(),
            is_written: AtomicBool::new(false),
        }
    }

    /// Records that it went well, in the transaction of what it changed: both are
    /// committed or neither. Its duration is that up to here.
    pub async fn write(&self, conn: &mut PgConnection, item: ItemId) -> Result<(), sqlx::Error> {
        let entry = self.entry(OK, vec![item.0], None);
        store::insert(conn, self.viewer.user_id, &[entry]).await?;
        self.is_written.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn entry(&self, outcome: &'static str, mut items: Vec<i64>, query: Option<String>) -> Entry {
        items.truncate(ITEMS_MAX);
        let duration_us = self.started.elapsed().as_micros();
        Entry {
            user: self.viewer.user_id,
            agent: self.viewer.agent_id,
            at: self.at,
            tool: self.tool,
            outcome,
            duration_us: i32::try_from(duration_us).unwrap_or(i32::MAX),
            items,
            query,
        }
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

    /// A call that went well; nothing is done where it has recorded itself. `query`
    /// reaches the database only while its user wants queries kept.
    pub fn succeeded(&self, call: &Call, items: Vec<i64>, query: Option<&str>) {
        if !call.is_written.load(Ordering::Relaxed) {
            let query = query.map(|words| words.chars().take(KEPT_QUERY_CHARS_MAX).collect());
            self.0.queue.push(call.entry(OK, items, query));
        }
    }

    /// A call that ended in an error, by its stable code.
    pub fn failed(&self, call: &Call, code: &'static str) {
        self.0.queue.push(call.entry(code, Vec::new(), None));
    }

    /// Newest first.
    pub async fn page(&self, user: UserId, filter: &Filter) -> Result<Page, sqlx::Error> {
        let mut tx = self.0.db.as_user(user).await?;
        let rows = store::list(&mut tx, user, filter).await?;
        let days = store::count_by_day(&mut tx, user, filter, self.first_day()).await?;
        let page = Page {
            beginnings: store::beginnings(&mut tx, user, &rows).await?,
            rows,
            days,
            agents: store::list_agents(&mut tx, user).await?,
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
        let mut conn = self.0.db.system_connection().await?;
        store::set_keeps_queries(&mut conn, user, keep, self.0.clock.now()).await
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

    /// Removes what is past [`KEPT_DAYS`] and [`KEPT_ROWS_MAX`]; called now and then.
    pub async fn prune(&self) -> Result<i64, sqlx::Error> {
        store::prune(&mut *self.0.db.system_connection().await?).await
    }
}
