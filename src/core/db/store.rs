//! SQL that prepares a database, run as the role of the URL before the server starts, and SQL of a user's revision, run as
//! the app role.

use std::time::Duration;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::UserId;

pub struct ServerVersion {
    pub version: String,
    pub version_num: i32,
    pub encoding: String,
}

pub async fn server(conn: &mut PgConnection) -> Result<ServerVersion, sqlx::Error> {
    let (version, version_num, encoding) = sqlx::query_as(
        "SELECT current_setting('server_version'), current_setting('server_version_num')::int,
                current_setting('server_encoding')",
    )
    .fetch_one(conn)
    .await?;
    Ok(ServerVersion { version, version_num, encoding })
}

/// Held until the connection closes: of all starts on a database, one makes roles, grants and extensions.
pub async fn lock_preparation(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT pg_advisory_lock(hashtext('keepsake start'))").execute(conn).await?;
    Ok(())
}

/// Roles belong to the whole cluster, so another database's Keepsake may have created them, or may be doing so now.
pub async fn make_roles(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(
        "DO $$
         DECLARE
             role text;
             -- Since PostgreSQL 16 a member need not be allowed to act as the role.
             may_act_as text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
         BEGIN
             FOREACH role IN ARRAY ARRAY['keepsake_owner', 'keepsake_app', 'keepsake_system'] LOOP
                 BEGIN
                     EXECUTE format('CREATE ROLE %I NOLOGIN', role);
                 EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
                 END;
                 IF NOT pg_has_role(current_user, role, may_act_as) THEN
                     EXECUTE format('GRANT %I TO %I', role, current_user);
                 END IF;
             END LOOP;
             -- pg_dump as the owner needs it under FORCE; a superuser may give it.
             IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
                AND NOT (SELECT rolbypassrls FROM pg_roles WHERE rolname = 'keepsake_owner') THEN
                 ALTER ROLE keepsake_owner BYPASSRLS;
             END IF;
         END $$;
         GRANT USAGE, CREATE ON SCHEMA public TO keepsake_owner;
         GRANT USAGE ON SCHEMA public TO keepsake_app, keepsake_system;",
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Drops all that the owner role owns in this database.
pub async fn drop_owned(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql("DROP OWNED BY keepsake_owner").execute(conn).await?;
    Ok(())
}

/// What [`drop_owned`] took, and only some roles can give back.
pub async fn owner_may_create(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT has_schema_privilege('keepsake_owner', 'public', 'CREATE')")
        .fetch_one(conn)
        .await
}

/// Does nothing, and needs no privilege, if the extension exists.
pub async fn make_extension(conn: &mut PgConnection, name: &str) -> Result<(), sqlx::Error> {
    let exists: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = $1)")
            .bind(name)
            .fetch_one(&mut *conn)
            .await?;
    if !exists {
        let create = format!("CREATE EXTENSION IF NOT EXISTS {name}");
        sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(conn).await?;
    }
    Ok(())
}

pub async fn pgvector_version(conn: &mut PgConnection) -> Result<String, sqlx::Error> {
    sqlx::query_scalar("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        .fetch_one(conn)
        .await
}

/// For the session, until [`reset_statement_timeout`].
pub async fn set_statement_timeout(
    conn: &mut PgConnection,
    limit: Duration,
) -> Result<(), sqlx::Error> {
    let set = format!("SET statement_timeout = {}", limit.as_millis());
    sqlx::raw_sql(sqlx::AssertSqlSafe(set)).execute(conn).await?;
    Ok(())
}

/// Back to the connection's default.
pub async fn reset_statement_timeout(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql("RESET statement_timeout").execute(conn).await?;
    Ok(())
}

pub struct DatabaseState {
    pub is_migrated: bool,
    pub has_vector: bool,
}

/// Runs as the system role.
pub async fn fitness(conn: &mut PgConnection) -> Result<DatabaseState, sqlx::Error> {
    let (is_migrated, has_vector) = sqlx::query_as(
        "SELECT to_regclass('memory_embeddings') IS NOT NULL AND to_regclass('job_queue') IS NOT NULL,
                EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector')",
    )
    .fetch_one(conn)
    .await?;
    Ok(DatabaseState { is_migrated, has_vector })
}

/// Size on disk in bytes, including indexes; `None` without the privilege to read it.
pub async fn size(conn: &mut PgConnection) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT pg_database_size(current_database())
         WHERE has_database_privilege(current_database(), 'CONNECT')",
    )
    .fetch_optional(conn)
    .await
}

/// Version of the newest applied migration.
pub async fn schema_version(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success")
        .fetch_one(conn)
        .await
}

/// 0 of an empty database.
pub async fn count_migrations(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    let is_there = "SELECT to_regclass('_sqlx_migrations') IS NOT NULL";
    if !sqlx::query_scalar(is_there).fetch_one(&mut *conn).await? {
        return Ok(0);
    }
    sqlx::query_scalar("SELECT count(*) FROM _sqlx_migrations WHERE success").fetch_one(conn).await
}

/// Until the transaction ends.
pub async fn lock_functions(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql("SELECT pg_advisory_xact_lock(hashtext('keepsake functions'))")
        .execute(conn)
        .await?;
    Ok(())
}

/// What [`set_functions_version`] noted: in a comment, which goes with the functions wherever they are copied.
pub async fn functions_version(conn: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar("SELECT obj_description('current_user_id'::regproc, 'pg_proc')")
        .fetch_one(conn)
        .await
}

pub async fn set_functions_version(
    conn: &mut PgConnection,
    version: &str,
) -> Result<(), sqlx::Error> {
    let note = format!("COMMENT ON FUNCTION current_user_id() IS '{version}'");
    sqlx::raw_sql(sqlx::AssertSqlSafe(note)).execute(conn).await?;
    Ok(())
}

pub async fn replace_functions(conn: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(conn).await?;
    Ok(())
}

// Statements at the start of a transaction; see the migration `actors`. Numbers, hexadecimal digits and our own date format
// need no escaping.

pub fn requiring_token(user: UserId, token_id: i64, now: &str) -> String {
    format!("SELECT require_token({}, {token_id}, '{now}');", user.0)
}

pub fn requiring_service_token(user: Option<UserId>, token_id: i64, now: &str) -> String {
    let user = user.map_or_else(|| "NULL".to_owned(), |user| user.0.to_string());
    format!("SELECT require_service_token({user}, {token_id}, '{now}');")
}

/// Applies an agent's scope: what it sees, and who owns what it writes.
pub fn entering_scope(user: UserId, agent: i64) -> String {
    format!("SELECT enter_scope({}, {agent});", user.0)
}

/// Restricts reads of this user's memory to what is lent to the acting agent.
pub fn entering_lent(lender: UserId) -> String {
    format!("SELECT enter_lent({});", lender.0)
}

/// [`entering_scope`] for a job within a transaction.
pub async fn enter_scope(
    conn: &mut PgConnection,
    user: UserId,
    agent: i64,
) -> Result<(), sqlx::Error> {
    let enter = entering_scope(user, agent);
    sqlx::raw_sql(sqlx::AssertSqlSafe(enter)).execute(conn).await?;
    Ok(())
}

/// Sets the owner of everything the transaction writes from now on; `None`: shared.
pub async fn write_as(conn: &mut PgConnection, owner: Option<i64>) -> Result<(), sqlx::Error> {
    // The function returns void.
    sqlx::query("SELECT write_as($1)").bind(owner).execute(conn).await?;
    Ok(())
}

pub const ASYNC_COMMIT: &str = "SELECT set_config('synchronous_commit', 'off', true);";

/// After [`requiring_token`].
pub const REQUIRING_TEAM_WRITES: &str = "SELECT require_team_writes();";

pub const REQUIRING_OPEN_BROWSER: &str = "SELECT require_open_browser();";

pub fn requiring_session(user: UserId, session_hash: &[u8; 32], is_admin_act: bool) -> String {
    let hash: String = session_hash.iter().map(|b| format!("{b:02x}")).collect();
    format!("SELECT require_session({}, '\\x{hash}', {is_admin_act});", user.0)
}

/// Raises the user's revision and holds its row lock until the transaction ends.
pub fn raising_revision(user: UserId) -> String {
    let UserId(id) = user;
    format!(
        "SELECT set_config('keepsake.writes', 'on', true);
         INSERT INTO memory_revisions (user_id, revision) VALUES ({id}, 1)
         ON CONFLICT (user_id) DO UPDATE SET revision = memory_revisions.revision + 1"
    )
}

/// [`raising_revision`] within a transaction that holds no other lock of the user.
pub async fn raise_revision(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sqlx::AssertSqlSafe(raising_revision(user))).execute(conn).await?;
    Ok(())
}

/// The next number of a row, for a statement that reads rows of the user to decide whether to insert one: Citus runs it on the
/// user's server, whose own numbers have 15 digits.
pub async fn draw_id(conn: &mut PgConnection, sequence: &str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT nextval($1::text::regclass) AS "id!""#, sequence)
        .fetch_one(conn)
        .await
}

/// [`draw_id`] for so many rows.
pub async fn draw_ids(
    conn: &mut PgConnection,
    sequence: &str,
    count: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT nextval($1::text::regclass) AS "id!" FROM generate_series(1, $2::bigint)"#,
        sequence,
        count,
    )
    .fetch_all(conn)
    .await
}

/// Records that these sources changed at the transaction's revision, which must have been raised
/// ([`super::Db::as_writer`]).
pub async fn note_changes(conn: &mut PgConnection, sources: &[i64]) -> Result<(), sqlx::Error> {
    sqlx::query!("SELECT note_changes($1)", sources).execute(conn).await?;
    Ok(())
}

/// Records that anything of the user may have changed at this revision, so that indexes are rebuilt.
pub async fn mark_all_changed(conn: &mut PgConnection, user: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!("UPDATE memory_revisions SET told_from = revision WHERE user_id = $1", user.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// Of every user, as the owner role: no index or cursor of another time fits.
pub async fn mark_everything_changed(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    // More than the revisions that a lost database may have had since.
    sqlx::query!(
        "UPDATE memory_revisions SET revision = revision + 1000000000, told_from = revision + 1000000000"
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Runs as the system role. Deletes change records older than a day, of a batch of users. Returns the number of users.
pub async fn prune_changes(
    conn: &mut PgConnection,
    now: OffsetDateTime,
) -> Result<i64, sqlx::Error> {
    let users = sqlx::query_scalar!(r#"SELECT prune_changes($1) AS "users!""#, now);
    users.fetch_one(conn).await
}
