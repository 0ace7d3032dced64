//! The statements of backups: of the list, as the system role; of a database that is dumped or restored, as the
//! role of the URL.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, PgConnection};
use time::OffsetDateTime;

pub(super) struct DatabaseServer {
    pub(super) major: u32,
    pub(super) is_superuser: bool,
}

pub(super) async fn server(conn: &mut PgConnection) -> Result<DatabaseServer, sqlx::Error> {
    let (number, is_superuser): (i32, bool) = sqlx::query_as(
        "SELECT current_setting('server_version_num')::int,
                (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)",
    )
    .fetch_one(conn)
    .await?;
    Ok(DatabaseServer { major: u32::try_from(number / 10_000).unwrap_or(0), is_superuser })
}

/// Begins the transaction whose snapshot is dumped and counted; it ends with the connection. Returns the
/// snapshot's name and the schema's version.
pub(super) async fn begin_snapshot(
    conn: &mut PgConnection,
    is_superuser: bool,
) -> Result<(String, i64), sqlx::Error> {
    act_as_owner(conn, is_superuser).await?;
    sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").execute(&mut *conn).await?;
    sqlx::query_as(
        "SELECT pg_export_snapshot(), coalesce(max(version), 0) FROM _sqlx_migrations WHERE success",
    )
    .fetch_one(conn)
    .await
}

/// The owner's policies show it all rows.
pub(super) async fn act_as_owner(
    conn: &mut PgConnection,
    is_superuser: bool,
) -> Result<(), sqlx::Error> {
    if !is_superuser {
        sqlx::raw_sql("SET ROLE keepsake_owner").execute(&mut *conn).await?;
    }
    sqlx::raw_sql("SET statement_timeout = 0").execute(conn).await?;
    Ok(())
}

/// Rows of every table, by `schema.table`.
pub(super) async fn count_rows(
    conn: &mut PgConnection,
) -> Result<BTreeMap<String, i64>, sqlx::Error> {
    let tables: Vec<(String, String)> = sqlx::query_as(
        "SELECT n.nspname || '.' || c.relname, format('%I.%I', n.nspname, c.relname)
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
           AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
           AND c.relowner = 'keepsake_owner'::regrole",
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut rows = BTreeMap::new();
    for (name, quoted) in tables {
        let count = AssertSqlSafe(format!("SELECT count(*) FROM {quoted}"));
        rows.insert(name, sqlx::query_scalar(count).fetch_one(&mut *conn).await?);
    }
    Ok(rows)
}

/// Whether the database has an account, and whether others are connected to it.
pub(super) async fn in_use(conn: &mut PgConnection) -> Result<(bool, bool), sqlx::Error> {
    sqlx::query_as(
        "SELECT EXISTS (SELECT FROM users),
                EXISTS (SELECT FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL)",
    )
    .fetch_one(conn)
    .await
}

/// Ids of erasures name rows for good, and programs have read up to ids of events: later rows of a restored database get none
/// that a lost one gave away.
pub(super) async fn skip_ids(conn: &mut PgConnection, skipped: i64) -> Result<(), sqlx::Error> {
    for table in ["users", "memory_items", "memory_item_events", "sessions", "documents"] {
        sqlx::query(
            "SELECT setval(pg_get_serial_sequence($1, 'id'), nextval(pg_get_serial_sequence($1, 'id')) + $2)",
        )
        .bind(table)
        .bind(skipped)
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Makes the role that loads: it may add rows and set sequences, and sign in for some minutes.
pub(super) async fn make_loader(
    conn: &mut PgConnection,
    role: &str,
    password: &str,
    is_superuser: bool,
) -> Result<(), sqlx::Error> {
    let (quoted, database, until): (String, String, String) = sqlx::query_as(
        "SELECT quote_ident($1), quote_ident(current_database()), (clock_timestamp() + interval '10 minutes')::text",
    )
    .bind(role)
    .fetch_one(&mut *conn)
    .await?;
    let make = format!("CREATE ROLE {quoted} LOGIN PASSWORD '{password}' VALID UNTIL '{until}'");
    sqlx::raw_sql(AssertSqlSafe(make)).execute(&mut *conn).await?;
    if !is_superuser {
        // To take away again what it has.
        let grant = AssertSqlSafe(format!("GRANT {quoted} TO CURRENT_USER"));
        sqlx::raw_sql(grant).execute(&mut *conn).await?;
    }
    let may_connect: bool =
        sqlx::query_scalar("SELECT has_database_privilege($1, current_database(), 'CONNECT')")
            .bind(role)
            .fetch_one(&mut *conn)
            .await?;
    if !may_connect {
        let grant = AssertSqlSafe(format!("GRANT CONNECT ON DATABASE {database} TO {quoted}"));
        sqlx::raw_sql(grant).execute(&mut *conn).await?;
    }
    let grants = format!(
        "GRANT USAGE ON SCHEMA public TO {quoted};
         SET ROLE keepsake_owner;
         GRANT INSERT ON ALL TABLES IN SCHEMA public TO {quoted};
         GRANT UPDATE ON ALL SEQUENCES IN SCHEMA public TO {quoted};
         RESET ROLE"
    );
    sqlx::raw_sql(AssertSqlSafe(grants)).execute(conn).await?;
    Ok(())
}

/// With all that it may, in this database.
pub(super) async fn drop_loader(conn: &mut PgConnection, role: &str) -> Result<(), sqlx::Error> {
    let found: Option<String> =
        sqlx::query_scalar("SELECT quote_ident(rolname) FROM pg_roles WHERE rolname = $1")
            .bind(role)
            .fetch_optional(&mut *conn)
            .await?;
    if let Some(quoted) = found {
        // Of a role that is gone, nobody but a superuser may end the session that is about to end, and with it drop the database.
        sqlx::query(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = $1",
        )
        .bind(role)
        .execute(&mut *conn)
        .await?;
        let drop = AssertSqlSafe(format!("DROP OWNED BY {quoted}; DROP ROLE {quoted}"));
        sqlx::raw_sql(drop).execute(conn).await?;
    }
    Ok(())
}

/// Marks the throwaway database as one that may be dropped.
const OURS: &str = "throwaway of keepsake, to verify a backup";

/// Drops the throwaway database, if there is one. False if a database of that name is not ours.
pub(super) async fn drop_throwaway(
    conn: &mut PgConnection,
    name: &str,
) -> Result<bool, sqlx::Error> {
    let found: Option<(bool, String)> = sqlx::query_as(
        "SELECT shobj_description(oid, 'pg_database') IS NOT DISTINCT FROM $2, quote_ident(datname)
         FROM pg_database WHERE datname = $1",
    )
    .bind(name)
    .bind(OURS)
    .fetch_optional(&mut *conn)
    .await?;
    match found {
        None => Ok(true),
        Some((false, _)) => Ok(false),
        Some((true, quoted)) => {
            let drop = AssertSqlSafe(format!("DROP DATABASE {quoted} WITH (FORCE)"));
            sqlx::raw_sql(drop).execute(conn).await?;
            Ok(true)
        }
    }
}

/// False if the role may not create databases.
pub(super) async fn create_throwaway(
    conn: &mut PgConnection,
    name: &str,
    template: &str,
) -> Result<bool, sqlx::Error> {
    let may_create: bool = sqlx::query_scalar(
        "SELECT rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = current_user",
    )
    .fetch_one(&mut *conn)
    .await?;
    if !may_create {
        return Ok(false);
    }
    let quoted: String =
        sqlx::query_scalar("SELECT quote_ident($1)").bind(name).fetch_one(&mut *conn).await?;
    for statement in [
        format!("CREATE DATABASE {quoted} TEMPLATE {template} ENCODING 'UTF8'"),
        format!("COMMENT ON DATABASE {quoted} IS '{OURS}'"),
    ] {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *conn).await?;
    }
    Ok(true)
}

/// A backup of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedBackup {
    pub name: String,
    pub made_at: OffsetDateTime,
    pub bytes: i64,
    /// Of the Keepsake that made it.
    pub version: String,
    pub rows_total: i64,
    /// The last attempt.
    pub verified_at: Option<OffsetDateTime>,
    /// Why it failed.
    pub verify_problem: Option<String>,
}

/// Newest first.
pub async fn list(conn: &mut PgConnection) -> Result<Vec<ListedBackup>, sqlx::Error> {
    sqlx::query_as!(
        ListedBackup,
        "SELECT name, made_at, bytes, version, rows_total, verified_at, verify_problem
         FROM backups ORDER BY made_at DESC, name"
    )
    .fetch_all(conn)
    .await
}

pub(super) async fn insert(
    conn: &mut PgConnection,
    backup: &ListedBackup,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "INSERT INTO backups (name, made_at, bytes, version, rows_total, verified_at, verify_problem)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (name) DO UPDATE SET made_at = $2, bytes = $3, version = $4, rows_total = $5",
        backup.name,
        backup.made_at,
        backup.bytes,
        backup.version,
        backup.rows_total,
        backup.verified_at,
        backup.verify_problem,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn remove(conn: &mut PgConnection, names: &[String]) -> Result<(), sqlx::Error> {
    sqlx::query!("DELETE FROM backups WHERE name = ANY ($1)", names).execute(conn).await?;
    Ok(())
}

pub(super) async fn note_verified(
    conn: &mut PgConnection,
    name: &str,
    problem: Option<&str>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE backups SET verified_at = $2, verify_problem = $3 WHERE name = $1",
        name,
        now,
        problem
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("UPDATE backup_state SET verify_asked_at = NULL").execute(conn).await?;
    Ok(())
}

/// What is to be done, and what went wrong last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupState {
    /// Nights before it need no backup.
    pub since: Option<OffsetDateTime>,
    pub asked_at: Option<OffsetDateTime>,
    pub verify_asked_at: Option<OffsetDateTime>,
    pub problem: Option<String>,
    pub problem_at: Option<OffsetDateTime>,
}

pub async fn state(conn: &mut PgConnection) -> Result<BackupState, sqlx::Error> {
    let found = sqlx::query_as!(
        BackupState,
        "SELECT since, asked_at, verify_asked_at, problem, problem_at FROM backup_state"
    );
    Ok(found.fetch_optional(conn).await?.unwrap_or_default())
}

pub(super) async fn begin_nights(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE backup_state SET since = $1 WHERE since IS NULL", now)
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn ask(conn: &mut PgConnection, now: OffsetDateTime) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE backup_state SET asked_at = $1", now).execute(conn).await?;
    Ok(())
}

pub(super) async fn ask_to_verify(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE backup_state SET verify_asked_at = $1", now).execute(conn).await?;
    Ok(())
}

/// Whoever asked while it ran gets another one.
pub(super) async fn note_made(
    conn: &mut PgConnection,
    began_at: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE backup_state SET problem = NULL, problem_at = NULL,
             asked_at = CASE WHEN asked_at > $1 THEN asked_at END",
        began_at
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn note_problem(
    conn: &mut PgConnection,
    problem: &str,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE backup_state SET problem = $1, problem_at = $2", problem, now)
        .execute(conn)
        .await?;
    Ok(())
}

/// The MAC of the last line of `erasures.jsonl`; `None` before the first.
pub(super) async fn last_mac(conn: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    let mac = sqlx::query_scalar!("SELECT notes_mac FROM backup_state").fetch_optional(conn);
    Ok(mac.await?.flatten())
}

pub(super) async fn set_last_mac(conn: &mut PgConnection, mac: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE backup_state SET notes_mac = $1", mac).execute(conn).await?;
    Ok(())
}

/// After a restore: what was asked of the lost server is not asked of this one, whose folder may be another.
pub(super) async fn forget_state(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "UPDATE backup_state SET since = NULL, asked_at = NULL, verify_asked_at = NULL, problem = NULL, problem_at = NULL"
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("DELETE FROM backups").execute(conn).await?;
    Ok(())
}
