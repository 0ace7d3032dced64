//! Connections for the look-up that every call of an agent begins with. Beside it a pool is
//! dear: it asks a connection whether it lives before it lends it and again when it comes
//! back, two round trips for one. Here the one used last is lent first and put back as it
//! is; what turns out to be lost is opened anew, and the look-up made once more.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sqlx::{Connection, PgConnection, PgPool};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::{ACQUIRE_TIMEOUT, PoolUse, TRUSTED_FOR};

#[derive(Debug)]
pub(super) struct Lookups {
    name: &'static str,
    /// Where new ones come from, for good.
    pool: PgPool,
    /// The one used last is the last.
    idle: Mutex<Vec<(PgConnection, Instant)>>,
    free: Semaphore,
    max: u32,
}

/// One connection of them. Whoever drops it in the middle of a look-up closes it.
pub struct Lookup<'a> {
    of: &'a Lookups,
    conn: PgConnection,
    _turn: SemaphorePermit<'a>,
}

impl Lookups {
    /// Connects when first used.
    pub fn new(name: &'static str, pool: PgPool, max: u32) -> Self {
        Self {
            name,
            pool,
            idle: Mutex::default(),
            free: Semaphore::new(max as usize),
            max,
        }
    }

    pub async fn begin(&self) -> Result<Lookup<'_>, sqlx::Error> {
        let turn = async {
            self.free
                .acquire()
                .await
                .map_err(|_| sqlx::Error::PoolClosed)
        };
        let turn = in_time(turn).await?;
        let kept = self.idle().pop();
        let conn = match kept {
            Some((conn, used)) if used.elapsed() < TRUSTED_FOR => conn,
            Some((mut conn, _)) => match in_time(conn.ping()).await {
                Ok(()) => conn,
                Err(_) => self.connect().await?,
            },
            None => self.connect().await?,
        };
        Ok(Lookup {
            of: self,
            conn,
            _turn: turn,
        })
    }

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        Ok(self.pool.acquire().await?.detach())
    }

    pub fn in_use(&self) -> PoolUse {
        let count = |n: usize| u32::try_from(n).unwrap_or(self.max).min(self.max);
        let idle = count(self.idle().len());
        let lent = self.max - count(self.free.available_permits());
        PoolUse {
            name: self.name,
            open: (idle + lent).min(self.max),
            idle,
            max: self.max,
        }
    }

    pub async fn close(&self) {
        self.free.close();
        let idle = std::mem::take(&mut *self.idle());
        for (conn, _) in idle {
            conn.close().await.ok();
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(PgConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lookup<'_> {
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.conn
    }

    /// Another connection, where this one failed with `error` because it is gone, and most
    /// likely the others with it: what was looked up changes nothing by being looked up again.
    pub async fn renewed_after(&mut self, error: &sqlx::Error) -> Result<bool, sqlx::Error> {
        if !is_lost(error) {
            return Ok(false);
        }
        self.of.idle().clear();
        self.conn = self.of.connect().await?;
        Ok(true)
    }

    /// Kept for the next look-up, unless this one failed.
    pub fn end<T>(self, found: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        if found.is_ok() {
            self.of.idle().push((self.conn, Instant::now()));
        }
        found
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    match timeout(ACQUIRE_TIMEOUT, work).await {
        Ok(done) => done,
        Err(_late) => Err(sqlx::Error::PoolTimedOut),
    }
}

/// The connection is gone, whatever was asked: PostgreSQL was restarted, or somebody between cut it.
pub(super) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        // 57P01 and its like: it is being shut down, has crashed, or found the connection idle too long.
        sqlx::Error::Database(said) => said.code().is_some_and(|code| code.starts_with("57P")),
        _ => false,
    }
}
