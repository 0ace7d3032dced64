//! Connection pool. Hands out the most recently used connection first, to keep few open and their caches warm. Unlike sqlx 0.9's
//! pool, it reuses a connection after a commit without a ping, and closes one whose `BEGIN` was cancelled: there, the next
//! work would join a transaction that is never committed.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool::managed::{
    Manager, Metrics, Object, Pool, PoolError, QueueMode, RecycleError, RecycleResult,
};
use sqlx::postgres::{PgConnectOptions, PgTransactionManager};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqlSafeStr};
use sqlx_core::transaction::TransactionManager;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::pulse::{DatabaseWait, Pulse};
use super::{ACQUIRE_TIMEOUT, ACQUIRE_TIMEOUT_OF_COMMANDS, PoolUse, citus, store};

/// Connections are closed at this age, because PostgreSQL's memory for each grows.
const AGE_MAX: Duration = Duration::from_secs(30 * 60);
/// Connections unused for this long are closed.
const IDLE_MAX: Duration = Duration::from_secs(10 * 60);
/// A returned connection must answer within this time. Closing one too early only costs a new one.
const RELEASE_MAX: Duration = Duration::from_millis(250);
const TIDIED_EVERY: Duration = Duration::from_secs(60);
/// First and last pause between attempts to connect while PostgreSQL starts; doubled each time.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(300));

/// A connection of the pool, while it is used.
struct PooledConnection {
    conn: Object<Connector>,
    pulse: Pulse,
    _wait: DatabaseWait,
}

impl PooledConnection {
    /// Closes it: whatever PostgreSQL still runs ends.
    fn close(self) {
        drop(Object::take(self.conn));
    }
}

impl Deref for PooledConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.conn
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.conn
    }
}

#[derive(Clone)]
pub(super) struct ConnectionPool {
    name: &'static str,
    pool: Pool<Connector>,
    /// How long a connection is waited for.
    patience: Duration,
    /// Waits while the database is frozen: what has begun goes on.
    outlasts: bool,
    tidied: Arc<Mutex<Instant>>,
    pulse: Pulse,
}

pub(super) struct Connector {
    options: PgConnectOptions,
    /// A connection used within this time is reused without a ping.
    trusted_for: Duration,
    /// When a connection was last found lost: those used before are pinged first.
    lost: Mutex<Option<Instant>>,
    pulse: Pulse,
}

impl ConnectionPool {
    /// Connects lazily.
    pub fn new(
        name: &'static str,
        options: PgConnectOptions,
        max: u32,
        trusted_for: Duration,
        pulse: &Pulse,
    ) -> Self {
        let connector =
            Connector { options, trusted_for, lost: Mutex::default(), pulse: pulse.clone() };
        let pool =
            Pool::builder(connector).max_size(max as usize).queue_mode(QueueMode::Lifo).build();
        Self {
            name,
            pool: pool.expect("without time limits of its own a pool needs no runtime"),
            patience: ACQUIRE_TIMEOUT,
            outlasts: false,
            tidied: Arc::new(Mutex::new(Instant::now())),
            pulse: pulse.clone(),
        }
    }

    pub fn patient(&self) -> Self {
        Self { patience: ACQUIRE_TIMEOUT_OF_COMMANDS, outlasts: true, ..self.clone() }
    }

    /// For jobs, and for responses that are streamed.
    pub fn outlasting(&self) -> Self {
        Self { outlasts: true, ..self.clone() }
    }

    async fn acquire(&self) -> Result<PooledConnection, sqlx::Error> {
        self.close_unused();
        let _wait = self.pulse.wait();
        let asked_at = Instant::now();
        let got = loop {
            if self.outlasts {
                timeout(ACQUIRE_TIMEOUT_OF_COMMANDS, self.pulse.thawed()).await.ok();
            }
            let got = tokio::select! {
                got = timeout(self.patience, self.pool.get()) => got.ok(),
                () = self.pulse.frozen(), if !self.outlasts => None,
            };
            // Nobody was answered meanwhile: the database is about to count as frozen, or was just now.
            let may_thaw = self.pulse.is_frozen() || self.pulse.is_silent_for(self.patience);
            let waits_on = self.outlasts && asked_at.elapsed() < ACQUIRE_TIMEOUT_OF_COMMANDS;
            if got.is_some() || !(may_thaw && waits_on) {
                break got;
            }
        };
        match got {
            Some(Ok(conn)) => Ok(PooledConnection { conn, pulse: self.pulse.clone(), _wait }),
            Some(Err(PoolError::Backend(error))) => Err(error),
            Some(Err(PoolError::Closed)) => Err(sqlx::Error::PoolClosed),
            Some(Err(_)) | None => Err(sqlx::Error::PoolTimedOut),
        }
    }

    pub async fn given_up(&self) {
        self.pulse.given_up().await;
    }

    pub async fn look_up(&self) -> Result<Lookup, sqlx::Error> {
        Ok(Lookup { pool: self.clone(), conn: self.acquire().await? })
    }

    /// A connection, with another statement timeout if given.
    pub async fn connection(
        &self,
        own_timeout: Option<Duration>,
    ) -> Result<DbConnection, sqlx::Error> {
        let mut conn = DbConnection {
            conn: Some(self.acquire().await?),
            has_own_timeout: own_timeout.is_some(),
        };
        if let Some(limit) = own_timeout {
            store::set_statement_timeout(&mut conn, limit).await?;
        }
        Ok(conn)
    }

    /// Begins a transaction with these statements. If the connection turns out to be lost, retries once on another: nothing
    /// has been executed yet.
    pub async fn begin(&self, statements: &str) -> Result<Tx, sqlx::Error> {
        match self.begin_once(statements).await {
            Err(error) if self.has_lost(&error) => self.begin_once(statements).await,
            begun => begun,
        }
    }

    async fn begin_once(&self, statements: &str) -> Result<Tx, sqlx::Error> {
        let mut tx = Tx(Some(self.acquire().await?));
        let begin = AssertSqlSafe(statements.to_owned()).into_sql_str();
        PgTransactionManager::begin(&mut tx, Some(begin)).await?;
        self.pulse.note_answer();
        Ok(tx)
    }

    /// Whether the connection was lost. If so, the others must be pinged before use, because they probably are too.
    fn has_lost(&self, error: &sqlx::Error) -> bool {
        let is_lost = is_lost(error);
        if is_lost {
            self.pool.manager().note_loss();
        }
        is_lost
    }

    pub fn in_use(&self) -> PoolUse {
        let status = self.pool.status();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        PoolUse {
            name: self.name,
            open: count(status.size),
            idle: count(status.available),
            max: count(status.max_size),
        }
    }

    pub async fn close(&self) {
        let idle = self.pool.retain(|_, _| false).removed;
        self.pool.close();
        for conn in idle {
            conn.close().await.ok();
        }
    }

    fn close_unused(&self) {
        let mut tidied = held(&self.tidied);
        if tidied.elapsed() > TIDIED_EVERY {
            *tidied = Instant::now();
            self.pool.retain(|_, used| used.last_used() < IDLE_MAX);
        }
    }
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConnectionPool").field(&self.in_use()).finish()
    }
}

/// A connection for idempotent look-ups, which can be retried on another connection.
pub struct Lookup {
    pool: ConnectionPool,
    conn: PooledConnection,
}

impl Lookup {
    /// Another connection to retry on, if this one was lost. Releases this one's slot before waiting, because all connections
    /// may be lost at once.
    pub async fn another_after(self, error: &sqlx::Error) -> Result<Option<Self>, sqlx::Error> {
        if !self.pool.has_lost(error) {
            return Ok(None);
        }
        self.conn.close();
        Ok(Some(self.pool.look_up().await?))
    }
}

impl Deref for Lookup {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.conn
    }
}

impl DerefMut for Lookup {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.conn
    }
}

impl Connector {
    fn note_loss(&self) {
        *held(&self.lost) = Some(Instant::now());
    }

    fn has_lost_one_within(&self, past: Duration) -> bool {
        held(&self.lost).is_some_and(|at| at.elapsed() < past)
    }
}

impl Manager for Connector {
    type Type = PgConnection;
    type Error = sqlx::Error;

    /// Waits while PostgreSQL starts; the caller limits how long. Boxed, because the large future of connecting would become
    /// part of every future that waits for a connection.
    async fn create(&self) -> Result<PgConnection, sqlx::Error> {
        let (mut pause, pause_max) = RETRY_PAUSES;
        loop {
            match Box::pin(PgConnection::connect_with(&self.options)).await {
                Err(error) if is_starting(&error) => {}
                connected => {
                    let mut conn = connected?;
                    citus::skip_generic_plans(&mut conn).await?;
                    self.pulse.note_answer();
                    return Ok(conn);
                }
            }
            sleep(pause).await;
            pause = (2 * pause).min(pause_max);
        }
    }

    async fn recycle(&self, conn: &mut PgConnection, used: &Metrics) -> RecycleResult<sqlx::Error> {
        if used.age() > AGE_MAX {
            return Err(RecycleError::message("it is too old"));
        }
        let unused = used.last_used();
        if unused > self.trusted_for || self.has_lost_one_within(unused) {
            Box::pin(conn.ping()).await?;
            self.pulse.note_answer();
        }
        Ok(())
    }
}

/// A connection for independent statements.
pub struct DbConnection {
    conn: Option<PooledConnection>,
    has_own_timeout: bool,
}

impl Deref for DbConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.conn.as_ref().expect(UNENDED)
    }
}

impl DerefMut for DbConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.conn.as_mut().expect(UNENDED)
    }
}

impl Drop for DbConnection {
    fn drop(&mut self) {
        if let Some(conn) = self.conn.take() {
            release_if_alive(conn, self.has_own_timeout);
        }
    }
}

/// Returns a connection in the background, so that nobody waits for a rollback. One that does not answer soon is still busy
/// with an abandoned statement: it is closed, and PostgreSQL cancels the statement.
fn release_if_alive(mut conn: PooledConnection, has_own_timeout: bool) {
    let Ok(runtime) = Handle::try_current() else {
        return conn.close();
    };
    runtime.spawn(async move {
        let answered = async {
            match has_own_timeout {
                true => store::reset_statement_timeout(&mut conn).await.is_ok(),
                false => conn.ping().await.is_ok(),
            }
        };
        match timeout(RELEASE_MAX, answered).await {
            Ok(true) => conn.pulse.note_answer(),
            _ => conn.close(),
        }
    });
}

/// A transaction. Rolls back unless committed.
pub struct Tx(Option<PooledConnection>);

const UNENDED: &str = "it has its connection until it has ended";

impl Tx {
    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        PgTransactionManager::commit(&mut self).await?;
        self.release();
        Ok(())
    }

    pub async fn rollback(mut self) -> Result<(), sqlx::Error> {
        PgTransactionManager::rollback(&mut self).await?;
        self.release();
        Ok(())
    }

    fn release(&mut self) {
        if let Some(conn) = self.0.take() {
            conn.pulse.note_answer();
        }
    }
}

impl Deref for Tx {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.0.as_ref().expect(UNENDED)
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.0.as_mut().expect(UNENDED)
    }
}

impl Drop for Tx {
    /// Rolls back in the background, so that nobody waits for it.
    fn drop(&mut self) {
        let Some(mut conn) = self.0.take() else {
            return;
        };
        // `BEGIN` was cancelled: closing the connection ends whatever PostgreSQL still runs and the locks it holds.
        if PgTransactionManager::get_transaction_depth(&conn) == 0 {
            return conn.close();
        }
        PgTransactionManager::start_rollback(&mut conn);
        release_if_alive(conn, false);
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the connection was lost: PostgreSQL was restarted, or the network was interrupted.
fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        // Class 57P: admin shutdown, crash shutdown, or idle timeout.
        sqlx::Error::Database(said) => said.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    }
}

/// Whether PostgreSQL is still starting, or has no free connection slot at the moment.
fn is_starting(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        sqlx::Error::Database(said) => {
            said.code().is_some_and(|code| matches!(&*code, "57P03" | "53300"))
        }
        _ => false,
    }
}
