//! The SQL functions, `migrations/functions/*.sql`: applied after the migrations where the database has others. A migration
//! creates what its own statements need; one that changes a function's arguments or columns drops it first. A change that
//! servers of the version before cannot live with comes with a migration, which they refuse.

use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use super::{citus, store};

static FOLDER: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../migrations/functions");

/// By name.
fn files() -> Vec<&'static str> {
    let mut files: Vec<_> = FOLDER.files().collect();
    files.sort_unstable_by_key(|file| file.path());
    files.iter().filter_map(|file| file.contents_utf8()).collect()
}

/// Replaces all functions unless the database has those of this version and schema. Returns whether it did. In a transaction
/// of the owner, which holds off other servers until its end.
pub async fn apply(
    conn: &mut PgConnection,
    schema: i64,
    is_distributed: bool,
) -> Result<bool, sqlx::Error> {
    store::lock_functions(conn).await?;
    let ours = version(schema);
    if store::functions_version(conn).await?.as_ref() == Some(&ours) {
        return Ok(false);
    }
    for file in files() {
        let sql = if is_distributed { citus::block_of(file) } else { file.to_owned() };
        store::replace_functions(conn, sql).await?;
    }
    store::set_functions_version(conn, &ours).await?;
    Ok(true)
}

/// The newest migration and a hash of the files.
fn version(schema: i64) -> String {
    let mut hash = Sha256::new();
    for file in files() {
        hash.update(file);
    }
    let hash: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    format!("{schema} {hash}")
}
