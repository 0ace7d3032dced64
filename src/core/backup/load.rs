//! Restores a backup into an empty database, or into a throwaway one to verify it. The schema is made by our own
//! migrations; of the file only rows are loaded, as a role that may do nothing else (`loader.rs`).

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tempfile::NamedTempFile;
use time::OffsetDateTime;

use super::file::BackupFile;
use super::loader::Loader;
use super::model::{BackupError, BackupProgress, failed_to};
use super::programs::{Archive, ClientPrograms, DumpTarget};
use super::{contents, store};
use crate::accounts;
use crate::db::{self, DatabaseError};
use crate::providers::settings;
use crate::{replay, webhooks};

/// More than anybody adds between a backup and its restore.
const IDS_SKIPPED: i64 = 1_000_000;
const THROWAWAY: &str = "_backup_check";
const OTHERS_LEAVE_WITHIN: Duration = Duration::from_secs(3);
const LOOKED_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Compares the checksums, on a thread of its own.
pub async fn check(
    file: &BackupFile,
    mut tell: impl FnMut(BackupProgress) -> bool + Send + 'static,
) -> Result<(), BackupError> {
    if file.manifest.schema > db::schema_of_this_version() {
        return Err(BackupError::Newer {
            path: file.path.clone(),
            keepsake: file.manifest.keepsake.clone(),
        });
    }
    let (file, total) = (file.clone(), file.bytes);
    let checked = tokio::task::spawn_blocking(move || {
        file.check(|done| tell(BackupProgress { done, total }))
    });
    checked.await.unwrap_or(Err(BackupError::Interrupted))
}

/// A backup that was restored.
#[derive(Debug)]
pub struct Restored<T> {
    /// What the restore's last part returned.
    pub then: T,
    /// What the file has and Keepsake does not make: `VIEW public sales`.
    pub left_out: Vec<String>,
}

/// Restores a checked backup into an empty database, and brings its schema forward. Links and web sessions of
/// the backup end, and webhooks and users' own endpoints are paused. `then` is the restore's last part. After an error, also
/// of that, the database is as empty as before.
///
/// # Errors
/// [`BackupError::NotEmpty`], [`BackupError::InUse`], [`BackupError::NotCleared`]; otherwise what failed.
pub async fn restore<T>(
    file: &BackupFile,
    options: &PgConnectOptions,
    data_dir: &Path,
    now: OffsetDateTime,
    mut tell: impl FnMut(BackupProgress) -> bool,
    then: impl AsyncFnOnce() -> Result<T, BackupError>,
) -> Result<Restored<T>, BackupError> {
    let mut conn = PgConnection::connect_with(options).await?;
    let server = store::server(&mut conn).await?;
    let dumped_by = Some(file.manifest.postgres);
    let programs = ClientPrograms::find(data_dir, server.major, dumped_by).await?;
    let target = DumpTarget { options, is_superuser: server.is_superuser };
    store::act_as_owner(&mut conn, server.is_superuser).await?;
    must_be_unused(&mut conn).await?;
    conn.close().await?;
    db::clear(options).await?;
    let total = file.dump_bytes;
    let restored = async {
        let left_out =
            load(&programs, &target, file, |done| tell(BackupProgress { done, total })).await?;
        db::prepare(options).await?;
        end_old_doors(options, now).await?;
        Ok(Restored { then: then().await?, left_out })
    };
    match restored.await {
        Ok(done) => Ok(done),
        Err(error) => match empty_again(options).await {
            Ok(()) => Err(error),
            Err(_) => Err(BackupError::NotCleared(error.to_string())),
        },
    }
}

/// The database has roles and extensions, and no tables. Until the last step it says of no migration that it was made, so
/// that a server refuses it. Returns what was left out.
async fn load(
    programs: &ClientPrograms,
    target: &DumpTarget<'_>,
    file: &BackupFile,
    tell: impl FnMut(u64) -> bool,
) -> Result<Vec<String>, BackupError> {
    let schema = file.manifest.schema;
    if !db::has_migration(schema) {
        return Err(BackupError::UnknownSchema { path: file.path.clone(), schema });
    }
    db::migrate_to(target.options, schema).await?;
    let ours = programs.dump_schema(target).await?;
    let ours = Archive::Ours(&ours);
    db::clear(target.options).await?;
    let listed = programs.list(ours).await?;
    let chosen = contents::choose(&programs.list(Archive::Backup(file)).await?, &listed);
    let section = |name: &str| [OsString::from(format!("--section={name}"))];
    programs.restore(target, &section("pre-data"), ours, |_| true).await?;
    load_rows(programs, target, file, &chosen.list, tell).await?;
    programs.restore(target, &section("post-data"), ours, |_| true).await?;
    programs.restore(target, &section("data"), ours, |_| true).await?;
    compare(target, &file.manifest.rows).await?;
    Ok(chosen.left_out)
}

/// Before the tables have indexes, constraints, triggers and row security.
async fn load_rows(
    programs: &ClientPrograms,
    target: &DumpTarget<'_>,
    file: &BackupFile,
    list: &str,
    tell: impl FnMut(u64) -> bool,
) -> Result<(), BackupError> {
    let mut chosen = NamedTempFile::new().map_err(failed_to("write", &env::temp_dir()))?;
    chosen.write_all(list.as_bytes()).map_err(failed_to("write", chosen.path()))?;
    let mut use_list = OsString::from("--use-list=");
    use_list.push(chosen.path());
    let arguments = [OsString::from("--section=data"), use_list];
    let loader = Loader::begin(target).await?;
    let loads_as = loader.as_ref().map(Loader::target);
    let loads_as = loads_as.as_ref().unwrap_or(target);
    let loaded = programs.restore(loads_as, &arguments, Archive::Backup(file), tell).await;
    if let Some(loader) = loader {
        loader.end(target).await?;
    }
    loaded
}

async fn empty_again(options: &PgConnectOptions) -> Result<(), DatabaseError> {
    db::clear(options).await?;
    db::prepare(options).await
}

/// PostgreSQL lists the connections of whoever has just closed them for a moment longer.
async fn must_be_unused(conn: &mut PgConnection) -> Result<(), BackupError> {
    let given_up = Instant::now() + OTHERS_LEAVE_WITHIN;
    loop {
        match store::in_use(conn).await? {
            (true, _) => return Err(BackupError::NotEmpty),
            (false, false) => return Ok(()),
            (_, true) if Instant::now() > given_up => return Err(BackupError::InUse),
            (_, true) => tokio::time::sleep(LOOKED_AGAIN_AFTER).await,
        }
    }
}

/// What let somebody in, or let memories out, at the time of the backup may have been ended since. Agents' tokens and
/// passwords stay, and OAuth's clients go on.
async fn end_old_doors(options: &PgConnectOptions, now: OffsetDateTime) -> Result<(), BackupError> {
    let mut owner = db::connect_as_owner(options).await?;
    let mut tx = owner.begin().await?;
    accounts::end_links_and_web_sessions(&mut tx, now).await?;
    accounts::oauth::accept_any_turn_once(&mut tx, now).await?;
    webhooks::pause_all(&mut tx).await?;
    settings::pause_own_endpoints(&mut tx, now).await?;
    replay::store::forget_all(&mut tx).await?;
    db::mark_everything_changed(&mut tx).await?;
    store::skip_ids(&mut tx, IDS_SKIPPED).await?;
    store::forget_state(&mut tx).await?;
    tx.commit().await?;
    owner.close().await?;
    Ok(())
}

/// Restores the backup into a throwaway database on the same server, compares the rows, and drops it.
pub(super) async fn verify(
    file: &BackupFile,
    options: &PgConnectOptions,
    data_dir: &Path,
    mut go_on: impl FnMut() -> bool,
) -> Result<(), BackupError> {
    let mut conn = PgConnection::connect_with(options).await?;
    let server = store::server(&mut conn).await?;
    let dumped_by = Some(file.manifest.postgres);
    let programs = ClientPrograms::find(data_dir, server.major, dumped_by).await?;
    let name = throwaway_of(options);
    if !store::drop_throwaway(&mut conn, &name).await? {
        return Err(BackupError::CheckDatabaseTaken(name));
    }
    let there = options.clone().database(&name);
    let target = DumpTarget { options: &there, is_superuser: server.is_superuser };
    let verified = async {
        make_throwaway(&mut conn, &there).await?;
        load(&programs, &target, file, |_| go_on()).await
    };
    let verified = verified.await;
    store::drop_throwaway(&mut conn, &name).await?;
    conn.close().await?;
    verified.map(drop)
}

/// With the roles' rights and the extensions. pgvector is not trusted, so that a role that is no superuser finds it in
/// template1 or not at all.
async fn make_throwaway(
    conn: &mut PgConnection,
    there: &PgConnectOptions,
) -> Result<(), BackupError> {
    let name = there.get_database().unwrap_or_default();
    let mut missing = "";
    for template in ["template0", "template1"] {
        store::drop_throwaway(conn, name).await?;
        if !store::create_throwaway(conn, name, template).await? {
            return Err(BackupError::MayNotCreateDatabase(there.get_username().to_owned()));
        }
        match db::prepare_for_schema(there).await {
            Err(DatabaseError::ExtensionMissing { name }) => missing = name,
            prepared => return Ok(prepared?),
        }
    }
    Err(BackupError::NoExtensionInNewDatabase(missing))
}

fn throwaway_of(options: &PgConnectOptions) -> String {
    db::name_ending(options.get_database().unwrap_or("keepsake"), THROWAWAY)
}

async fn compare(
    target: &DumpTarget<'_>,
    dumped: &BTreeMap<String, i64>,
) -> Result<(), BackupError> {
    let mut conn = PgConnection::connect_with(target.options).await?;
    store::act_as_owner(&mut conn, target.is_superuser).await?;
    let restored = store::count_rows(&mut conn).await?;
    conn.close().await?;
    let names = dumped.keys().chain(restored.keys());
    let of = |rows: &BTreeMap<String, i64>, name: &String| rows.get(name).copied().unwrap_or(0);
    match names.into_iter().find(|name| of(dumped, name) != of(&restored, name)) {
        None => Ok(()),
        Some(table) => Err(BackupError::RowsDiffer {
            table: table.clone(),
            dumped: of(dumped, table),
            restored: of(&restored, table),
        }),
    }
}
