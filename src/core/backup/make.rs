//! Makes a backup: counts the rows of a snapshot and dumps that same snapshot, while the server runs.

use std::path::Path;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use time::OffsetDateTime;

use crate::db::citus;

use super::file::BackupWriter;
use super::model::{BackupError, BackupProgress, FORMAT, Manifest};
use super::programs::{ClientPrograms, DumpTarget};
use super::store;
use crate::seal::Sealer;

/// What is backed up, and where to.
pub struct BackupOrder<'a> {
    pub options: &'a PgConnectOptions,
    /// Signs it.
    pub sealer: &'a Sealer,
    /// Its PostgreSQL's programs are preferred.
    pub data_dir: &'a Path,
    pub path: &'a Path,
    /// Replaces an existing file.
    pub replace: bool,
}

/// Returns the manifest and the size in bytes. `tell` gets rows, and returns false to stop; then, and after an
/// error, no file is left.
pub async fn make(
    order: BackupOrder<'_>,
    now: OffsetDateTime,
    mut tell: impl FnMut(BackupProgress) -> bool,
) -> Result<(Manifest, u64), BackupError> {
    if !order.replace && order.path.exists() {
        return Err(BackupError::Exists(order.path.to_path_buf()));
    }
    let mut conn = PgConnection::connect_with(order.options).await?;
    if citus::is_distributed(&mut conn).await? {
        return Err(BackupError::Distributed);
    }
    let server = store::server(&mut conn).await?;
    let programs = ClientPrograms::find(order.data_dir, server.major, None).await?;
    let (snapshot, schema) = store::begin_snapshot(&mut conn, server.is_superuser).await?;
    let manifest = Manifest {
        format: FORMAT,
        keepsake: env!("CARGO_PKG_VERSION").to_owned(),
        schema,
        postgres: programs.major,
        made_at: now,
        erasures: store::last_mac(&mut conn).await?,
        rows: store::count_rows(&mut conn).await?,
    };
    let mut writer = BackupWriter::create(order.path, &manifest).await?;
    let target = DumpTarget { options: order.options, is_superuser: server.is_superuser };
    let total = u64::try_from(manifest.rows_total()).unwrap_or(0);
    let (mut done, mut current) = (0, 0);
    let dumping = programs.dump(&target, &snapshot, &mut writer, |table| {
        if let Some(table) = table {
            done += current;
            let rows = manifest.rows.get(&table).copied().unwrap_or(0);
            current = u64::try_from(rows).unwrap_or(0);
        }
        tell(BackupProgress { done, total })
    });
    dumping.await?;
    let bytes = writer.finish(order.sealer, order.replace).await?;
    tell(BackupProgress { done: total, total });
    conn.close().await?;
    Ok((manifest, bytes))
}
