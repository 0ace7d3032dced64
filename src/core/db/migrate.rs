//! Brings a database's schema to this program's: migrations, each once, and then the SQL functions.

use sqlx::Connection;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::PgConnectOptions;

use super::{DatabaseError, citus, connect_as_owner, functions, store};

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// Version of the newest migration that this program knows.
pub fn schema_of_this_version() -> i64 {
    MIGRATIONS.iter().map(|m| m.version).max().unwrap_or(0)
}

/// Whether the newest migration of a schema is one of this program's.
pub fn has_migration(version: i64) -> bool {
    MIGRATIONS.iter().any(|ours| ours.version == version)
}

/// Brings an empty database to the schema of an earlier version.
pub async fn migrate_to(options: &PgConnectOptions, version: i64) -> Result<(), DatabaseError> {
    let until = MIGRATIONS.iter().filter(|ours| ours.version <= version);
    let until = Migrator::with_migrations(until.cloned().collect());
    let mut owner = connect_as_owner(options).await?;
    until.run_direct(None, &mut owner, false).await.map_err(DatabaseError::Migrate)?;
    owner.close().await?;
    Ok(())
}

/// The missing migrations, and the SQL functions of this version.
pub async fn migrate(options: &PgConnectOptions) -> Result<(), DatabaseError> {
    let mut owner = connect_as_owner(options).await?;
    let is_distributed = citus::is_distributed(&mut owner).await?;
    let one_by_one = is_distributed.then(|| citus::one_by_one(&MIGRATIONS));
    let migrations = one_by_one.as_ref().unwrap_or(&MIGRATIONS);
    let is_cluster = is_distributed && store::count_migrations(&mut owner).await? > 0;
    migrations.run_direct(None, &mut owner, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => {
            match MIGRATIONS.iter().any(|ours| ours.version > version) {
                true => DatabaseError::SchemaBetween { version },
                false => DatabaseError::SchemaTooNew { version },
            }
        }
        other => DatabaseError::Migrate(other),
    })?;
    if is_cluster {
        citus::own_functions(&mut owner).await?;
    }
    let mut tx = owner.begin().await?;
    if functions::apply(&mut tx, schema_of_this_version(), is_distributed).await? && is_cluster {
        citus::adapt_functions(&mut tx).await?;
    }
    tx.commit().await?;
    owner.close().await?;
    Ok(())
}
