//! The database: its connections, migrations, and transactions bound to one user. Must never hand out a connection that can
//! see every user's rows.
//!
//! Requests run as `keepsake_app` and look-ups without a user as `keepsake_system`, whatever role the URL names. The role is
//! a startup parameter of the connection, so `RESET ROLE` returns to it.

pub mod actor;
pub mod citus;
mod functions;
mod labels;
mod migrate;
mod pool;
mod pulse;
mod store;
mod violation;
mod work;

pub(crate) use labels::labels;
pub use store::{
    draw_id, draw_ids, enter_scope, mark_all_changed, mark_everything_changed, note_changes,
    prune_changes, raise_revision, write_as,
};

use sqlx::migrate::MigrateError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use std::cmp::Ordering;
use std::time::{Duration, Instant};

use crate::metrics;
use actor::Authority;
pub use migrate::{has_migration, migrate_to, schema_of_this_version};
use pool::ConnectionPool;
pub use pool::{DbConnection, Lookup, Tx};
use pulse::Pulse;
pub use pulse::StatementTimeouts;
use violation::has_code;
pub use violation::{constraint_of, is_of_a_gone_user};

/// The user whose rows a transaction sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct UserId(pub i64);

impl From<i64> for UserId {
    fn from(id: i64) -> Self {
        Self(id)
    }
}

/// PostgreSQL 15.0, as in `server_version_num`.
const POSTGRES_VERSION_MIN: i32 = 150_000;
/// 0.8.2 to 0.8.4 fixed HNSW builds and vacuum (FACTS).
const PGVECTOR_VERSION_MIN: (u32, u32, u32) = (0, 8, 4);
const EXTENSIONS: [&str; 4] = ["vector", "hstore", "btree_gin", "btree_gist"];
/// PostgreSQL's names are cut there.
const NAME_MAX_BYTES: usize = 63;
const APP: &str = "app";
const SYSTEM: &str = "system";
const TOKENS: &str = "tokens";
const APP_CONNECTIONS_MAX: u32 = 14;
const TOKEN_CONNECTIONS_MAX: u32 = 2;
const SYSTEM_CONNECTIONS_MAX: u32 = 6;
/// JIT and replanning take longer than our statements run, and generic plans fit all parameters. But a generic plan that scans
/// a then empty table would be kept until autovacuum (bench/README.md, "Of a young database"). So sequential scans are off:
/// every table has an index by user.
const SESSION: [(&str, &str); 4] = [
    ("jit", "off"),
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    // In milliseconds: cancels a statement within half a second after its client disconnected.
    ("client_connection_check_interval", "500"),
];
/// A connection used within this time is reused without a ping, to save the round trip.
const TRUSTED_FOR: Duration = Duration::from_millis(500);
/// The same for pools whose work is retried if a connection was lost.
const TRUSTED_FOR_WHAT_IS_BEGUN_AGAIN: Duration = Duration::from_secs(60);
/// After this, a request fails because the database is busy.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// The same for a command that works for minutes ([`Db::patient`]).
const ACQUIRE_TIMEOUT_OF_COMMANDS: Duration = Duration::from_secs(60);

/// Why a database cannot be used. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("PostgreSQL {found} is too old; Keepsake needs 15 or newer")]
    PostgresTooOld { found: String },
    #[error("the database is encoded in {found}; create it anew with ENCODING 'UTF8'")]
    NotUtf8 { found: String },
    #[error(
        "the extension {name} is missing and may not be made by this role; as a superuser run: CREATE EXTENSION {name};"
    )]
    ExtensionMissing { name: &'static str },
    #[error(
        "pgvector {found} is too old; Keepsake needs 0.8.4 or newer: upgrade the package, then run: ALTER EXTENSION vector UPDATE;"
    )]
    PgvectorTooOld { found: String },
    #[error(
        "the database was made by a newer Keepsake (its schema has migration {version}); start that version, or restore an older backup"
    )]
    SchemaTooNew { version: i64 },
    #[error(
        "the database was made by a Keepsake between two versions (its schema has migration {version}, which was never part of one); restore a backup of a version"
    )]
    SchemaBetween { version: i64 },
    #[error(
        "this role may not make the roles keepsake_owner, keepsake_app and keepsake_system: connect once as a superuser, or give the role CREATEROLE"
    )]
    MayNotMakeRoles(#[source] sqlx::Error),
    #[error(
        "this role may not empty the database: connect as a superuser or as the database's owner"
    )]
    MayNotClear,
    #[error(transparent)]
    Migrate(MigrateError),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// Sets up the database for this program: roles, extensions, migrations.
pub async fn prepare(options: &PgConnectOptions) -> Result<(), DatabaseError> {
    prepare_for_schema(options).await?;
    migrate::migrate(options).await
}

/// Roles and extensions, without the schema.
pub async fn prepare_for_schema(options: &PgConnectOptions) -> Result<(), DatabaseError> {
    let mut setup = PgConnection::connect_with(options).await?;
    store::lock_preparation(&mut setup).await?;
    check_server(&mut setup).await?;
    make_roles(&mut setup).await?;
    for name in EXTENSIONS {
        let made = store::make_extension(&mut setup, name).await;
        made.map_err(|error| match lacks_privilege(&error) {
            true => DatabaseError::ExtensionMissing { name },
            false => error.into(),
        })?;
    }
    check_pgvector(&mut setup).await?;
    setup.close().await?;
    Ok(())
}

async fn make_roles(setup: &mut PgConnection) -> Result<(), DatabaseError> {
    let made = store::make_roles(setup).await;
    made.map_err(|error| match lacks_privilege(&error) {
        true => DatabaseError::MayNotMakeRoles(error),
        false => error.into(),
    })
}

async fn check_server(setup: &mut PgConnection) -> Result<(), DatabaseError> {
    let server = store::server(setup).await?;
    if server.version_num < POSTGRES_VERSION_MIN {
        return Err(DatabaseError::PostgresTooOld { found: server.version });
    }
    if server.encoding != "UTF8" {
        return Err(DatabaseError::NotUtf8 { found: server.encoding });
    }
    Ok(())
}

async fn check_pgvector(setup: &mut PgConnection) -> Result<(), DatabaseError> {
    let found = store::pgvector_version(setup).await?;
    let mut numbers = found.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    if (next(), next(), next()) < PGVECTOR_VERSION_MIN {
        return Err(DatabaseError::PgvectorTooOld { found });
    }
    Ok(())
}

/// A database's name with this ending, as long as PostgreSQL's names may be.
pub fn name_ending(database: &str, ending: &str) -> String {
    let mut kept = database.len().min(NAME_MAX_BYTES - ending.len());
    while !database.is_char_boundary(kept) {
        kept -= 1;
    }
    format!("{}{ending}", &database[..kept])
}

/// Drops all of Keepsake's tables and functions, for a restore into a database that holds no account. Roles and
/// extensions stay.
pub async fn clear(options: &PgConnectOptions) -> Result<(), DatabaseError> {
    let mut setup = PgConnection::connect_with(options).await?;
    let mut tx = setup.begin().await?;
    store::drop_owned(&mut tx).await?;
    make_roles(&mut tx).await?;
    if !store::owner_may_create(&mut tx).await? {
        return Err(DatabaseError::MayNotClear);
    }
    tx.commit().await?;
    setup.close().await?;
    Ok(())
}

/// A connection for schema changes.
pub(crate) async fn connect_as_owner(
    options: &PgConnectOptions,
) -> Result<PgConnection, sqlx::Error> {
    PgConnection::connect_with(&as_role(options, "keepsake_owner")).await
}

fn as_role(options: &PgConnectOptions, role: &str) -> PgConnectOptions {
    options.clone().options([("role", role)])
}

/// In milliseconds.
fn statement_timeout(limit: Duration) -> (&'static str, String) {
    ("statement_timeout", limit.as_millis().to_string())
}

/// Not `SET LOCAL`, of which Citus tells its workers the whole message that it is in.
fn set_local_timeout(limit: Duration) -> String {
    format!("SELECT set_config('statement_timeout', '{}', true)", limit.as_millis())
}

/// The version of a database's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    Ours,
    Missing,
    Behind,
    /// Migrated by a newer Keepsake while this one runs.
    Ahead,
}

/// Whether the database is ready to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fitness {
    pub schema: Schema,
    pub has_vector: bool,
}

/// Connection counts of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUse {
    pub name: &'static str,
    pub open: u32,
    pub idle: u32,
    pub max: u32,
}

/// For work on many users: logs an error that PostgreSQL reports for one user and returns `None`, so that the others are
/// processed.
///
/// # Errors
/// If the database cannot be reached, which affects all users.
pub fn log_user_error<T>(
    step: &'static str,
    user: UserId,
    done: Result<T, sqlx::Error>,
) -> Result<Option<T>, sqlx::Error> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(sqlx::Error::Database(error)) => {
            let sqlstate = error.code();
            tracing::warn!(
                user = user.0,
                step,
                sqlstate = sqlstate.as_deref(),
                "a step failed for one user; going on"
            );
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether PostgreSQL cancelled the statement at its timeout (query_canceled).
pub fn is_statement_timeout(error: &sqlx::Error) -> bool {
    has_code(error, "57014")
}

/// PostgreSQL has no disk left (disk_full).
pub fn is_disk_full(error: &sqlx::Error) -> bool {
    has_code(error, "53100")
}

/// insufficient_privilege
fn lacks_privilege(error: &sqlx::Error) -> bool {
    has_code(error, "42501")
}

/// What a command says of an error. The pool's own, which many of ours pass on, does not say what to do.
pub fn in_words(error: String) -> String {
    match error.contains(&sqlx::Error::PoolTimedOut.to_string()) {
        true => "no database connection became free in time: other processes hold all of PostgreSQL's (max_connections), or it is too busy; try again when less runs".to_owned(),
        false => error,
    }
}

/// Whether nothing is lent, or not any more ([`Db::lent_to`]).
pub fn is_not_lent(error: &sqlx::Error) -> bool {
    has_code(error, "KS002")
}

/// Access to the database.
#[derive(Clone, Debug)]
pub struct Db {
    app: ConnectionPool,
    tokens: ConnectionPool,
    system: ConnectionPool,
    job_timeout: Duration,
    /// Overrides the connections' default, which is the request timeout.
    own_timeout: Option<Duration>,
    /// The user whose agent reads memory lent by another user.
    lent_to: Option<UserId>,
}

/// Records how long a connection was waited for.
async fn waited<T>(
    pool: &'static str,
    connection: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let began = Instant::now();
    let got = connection.await;
    let timed_out = matches!(got, Err(sqlx::Error::PoolTimedOut));
    metrics::connection_waited(pool, began.elapsed(), timed_out);
    got
}

/// Records in the current scope if its actor was refused.
fn checked(begun: Result<Tx, sqlx::Error>) -> Result<Tx, sqlx::Error> {
    begun.inspect_err(actor::note_refusal_in)
}

impl Db {
    /// Connects lazily, so that a server can start before its database.
    pub fn new(options: &PgConnectOptions) -> Self {
        Self::with_timeouts(options, StatementTimeouts::default())
    }

    pub fn with_timeouts(options: &PgConnectOptions, timeouts: StatementTimeouts) -> Self {
        let of_role = |role: &str| {
            as_role(options, role)
                .application_name(role)
                .options(SESSION)
                .options([statement_timeout(timeouts.request)])
        };
        let of_app = of_role("keepsake_app");
        let of_system = of_role("keepsake_system");
        let pulse = Pulse::new(of_system.clone(), timeouts.silence);
        let pool = |name, options: &PgConnectOptions, max, trusted_for| {
            ConnectionPool::new(name, options.clone(), max, trusted_for, &pulse)
        };
        let again = TRUSTED_FOR_WHAT_IS_BEGUN_AGAIN;
        Self {
            app: pool(APP, &of_app, APP_CONNECTIONS_MAX, again),
            tokens: pool(TOKENS, &of_system, TOKEN_CONNECTIONS_MAX, again),
            system: pool(SYSTEM, &of_system, SYSTEM_CONNECTIONS_MAX, TRUSTED_FOR),
            job_timeout: timeouts.job,
            own_timeout: None,
            lent_to: None,
        }
    }

    /// Ends once the database has not answered for some seconds ([`pulse`]).
    pub async fn given_up(&self) {
        self.app.given_up().await;
    }

    /// With the statement timeout of background jobs and commands; shares the connections.
    pub fn with_job_timeout(&self) -> Self {
        Self {
            app: self.app.outlasting(),
            system: self.system.outlasting(),
            own_timeout: Some(self.job_timeout),
            ..self.clone()
        }
    }

    /// Waits longer for a connection, for a command whose work would be lost; shares the connections.
    pub fn patient(&self) -> Self {
        Self {
            app: self.app.patient(),
            tokens: self.tokens.patient(),
            system: self.system.patient(),
            ..self.clone()
        }
    }

    /// For memory lent to the agent of `member` that the current task acts for: a transaction as another user is read-only and
    /// sees only what is lent. Fails with [`is_not_lent`] if nothing is lent. Shares the connections.
    pub fn lent_to(&self, member: UserId) -> Self {
        Self { lent_to: Some(member), ..self.clone() }
    }

    /// Undoes [`Self::lent_to`]; shares the connections.
    pub fn of_owner(&self) -> Self {
        Self { lent_to: None, ..self.clone() }
    }

    /// `BEGIN`, with a statement timeout unless it is the connection's default.
    fn begin(&self) -> String {
        let begin = match self.lent_to {
            Some(_) => "BEGIN READ ONLY",
            None => "BEGIN",
        };
        match self.own_timeout {
            Some(limit) => format!("{begin}; {}", set_local_timeout(limit)),
            None => begin.to_owned(),
        }
    }

    /// A transaction that sees only this user's rows.
    pub async fn as_user(&self, user: UserId) -> Result<Tx, sqlx::Error> {
        self.as_user_and(user, "").await
    }

    /// [`Self::as_user`] with asynchronous commit: for work that is simply repeated if a crash of PostgreSQL loses it.
    pub async fn as_user_async_commit(&self, user: UserId) -> Result<Tx, sqlx::Error> {
        self.as_user_and(user, store::ASYNC_COMMIT).await
    }

    /// [`Self::as_user`] for changes of the user's memory. Holds the lock of the user's revision, so writers are serialized
    /// and all its changes get one revision. Take it before any other lock of the user. Commits synchronously: a revision that
    /// was seen must never be lost and reused.
    pub async fn as_writer(&self, user: UserId) -> Result<Tx, sqlx::Error> {
        let by = Authority::current();
        self.as_writer_by(user, by.as_slice()).await
    }

    /// [`Self::as_writer`] on behalf of all of these.
    pub async fn as_writer_by(&self, user: UserId, by: &[Authority]) -> Result<Tx, sqlx::Error> {
        let raising = store::raising_revision(user);
        self.begin_for(user, &raising, by, "").await
    }

    /// [`Self::as_user`], after a first statement without parameters.
    pub async fn as_user_and(&self, user: UserId, first: &str) -> Result<Tx, sqlx::Error> {
        let by = Authority::current();
        self.begin_for(user, "", by.as_slice(), first).await
    }

    /// `lock` comes before the checks, which lock account rows: one lock order everywhere, to avoid deadlocks.
    async fn begin_for(
        &self,
        user: UserId,
        lock: &str,
        by: &[Authority],
        first: &str,
    ) -> Result<Tx, sqlx::Error> {
        let actor = self.lent_to.unwrap_or(user);
        let mut checks: String = by.iter().map(|by| by.check(Some(actor))).collect();
        if self.lent_to.is_some() {
            checks += &store::entering_lent(user);
        }
        // One simple query saves a round trip. It has no parameters, but an integer needs no escaping.
        let (begin, UserId(id)) = (self.begin(), actor);
        let begin = format!("{begin}; SELECT for_user({id}); {lock}; {checks}{first}");
        checked(waited(APP, self.app.begin(&begin)).await)
    }

    /// For looking up a token: usually one statement, and all of them idempotent.
    pub async fn look_up(&self) -> Result<Lookup, sqlx::Error> {
        waited(TOKENS, self.tokens.look_up()).await
    }

    /// For a single look-up before a user is known: by address or web session. Cannot see any memory.
    pub async fn system_connection(&self) -> Result<DbConnection, sqlx::Error> {
        waited(SYSTEM, self.system.connection(self.own_timeout)).await
    }

    /// A transaction of the system role, for several statements.
    pub async fn as_system(&self) -> Result<Tx, sqlx::Error> {
        self.as_system_after("").await
    }

    /// [`Self::as_system`] with asynchronous commit: for hints that a crash of PostgreSQL may lose.
    pub async fn as_system_async_commit(&self) -> Result<Tx, sqlx::Error> {
        self.as_system_after(store::ASYNC_COMMIT).await
    }

    /// [`Self::as_system`] that takes a lock before it locks the actor's own row.
    pub async fn as_system_after(&self, lock: &str) -> Result<Tx, sqlx::Error> {
        let check = Authority::current().map(|by| by.check(None));
        let begin = self.begin();
        let begin = format!("{begin}; {lock}{}", check.unwrap_or_default());
        checked(waited(SYSTEM, self.system.begin(&begin)).await)
    }

    /// A read-only transaction for health checks; PostgreSQL cancels statements after `limit`.
    pub async fn as_system_within(&self, limit: Duration) -> Result<Tx, sqlx::Error> {
        let begin = format!("BEGIN READ ONLY; {}", set_local_timeout(limit));
        waited(SYSTEM, self.system.begin(&begin)).await
    }

    /// Connection counts of this process's pools.
    pub fn pools(&self) -> [PoolUse; 3] {
        [self.app.in_use(), self.tokens.in_use(), self.system.in_use()]
    }

    /// Whether the database is ready to serve.
    pub async fn fitness(&self, conn: &mut PgConnection) -> Result<Fitness, sqlx::Error> {
        let found = store::fitness(&mut *conn).await?;
        let schema = match found.is_migrated {
            false => Schema::Missing,
            true => match store::schema_version(conn).await?.cmp(&schema_of_this_version()) {
                Ordering::Less => Schema::Behind,
                Ordering::Equal => Schema::Ours,
                Ordering::Greater => Schema::Ahead,
            },
        };
        Ok(Fitness { schema, has_vector: found.has_vector })
    }

    /// Size of the database on disk, in bytes; `None` without the privilege to read it.
    pub async fn size(&self, conn: &mut PgConnection) -> Result<Option<i64>, sqlx::Error> {
        store::size(conn).await
    }

    pub async fn close(&self) {
        self.app.close().await;
        self.tokens.close().await;
        self.system.close().await;
    }
}
