//! The role as which the rows of a backup are loaded: it may add rows to the tables of one database, and nothing else, since
//! a dump holds statements, which PostgreSQL runs with the rights of whoever loads it.

use rand::TryRngCore;
use rand::rngs::OsRng;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use super::model::BackupError;
use super::programs::DumpTarget;
use super::store;
use crate::db;

const PASSWORD_BYTES: usize = 32;
const ENDING: &str = "_load";

/// Until [`Loader::end`]. One that a crash has left is replaced by the next for the same database, and cannot sign in after
/// some minutes.
pub(super) struct Loader {
    role: String,
    options: PgConnectOptions,
}

impl Loader {
    /// `None` where the role cannot sign in and that of the URL is no superuser, which loads by itself then.
    pub(super) async fn begin(target: &DumpTarget<'_>) -> Result<Option<Self>, BackupError> {
        let database = target.options.get_database().unwrap_or("keepsake");
        let role = db::name_ending(database, ENDING);
        let mut password = [0; PASSWORD_BYTES];
        OsRng.try_fill_bytes(&mut password).map_err(|_| BackupError::Interrupted)?;
        let password: String = password.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut conn = PgConnection::connect_with(target.options).await?;
        store::drop_loader(&mut conn, &role).await?;
        store::make_loader(&mut conn, &role, &password, target.is_superuser).await?;
        conn.close().await?;
        let options = target.options.clone().username(&role).password(&password);
        let loader = Self { role, options };
        match PgConnection::connect_with(&loader.options).await {
            Ok(conn) => conn.close().await?,
            Err(error) => {
                let role = loader.role.clone();
                loader.end(target).await?;
                return match target.is_superuser {
                    true => Err(BackupError::LoaderRefused { role, why: error.to_string() }),
                    false => Ok(None),
                };
            }
        }
        Ok(Some(loader))
    }

    /// How pg_restore connects. It needs no other role.
    pub(super) fn target(&self) -> DumpTarget<'_> {
        DumpTarget { options: &self.options, is_superuser: true }
    }

    pub(super) async fn end(self, target: &DumpTarget<'_>) -> Result<(), BackupError> {
        let mut conn = PgConnection::connect_with(target.options).await?;
        store::drop_loader(&mut conn, &self.role).await?;
        conn.close().await?;
        Ok(())
    }
}
