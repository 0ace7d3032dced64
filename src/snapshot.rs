//! `keepsake backup` and `keepsake restore`: the whole database into a file, and back into an empty one.

use std::path::{Path, PathBuf};

use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::backup::{self, BackupError, BackupFile, BackupOrder, BackupProgress};
use keepsake::config::Config;
use keepsake::erasure::{self, ErasureError, ErasureNote};
use keepsake::wiring::{self, Database};

/// Prints the file, its size in bytes and its rows.
pub async fn back_up(config: &Config, path: &Path, replace: bool) -> anyhow::Result<()> {
    if !replace && path.exists() {
        bail!(BackupError::Exists(path.to_path_buf()));
    }
    Database::run(config, async |database| {
        let bar = bar("{wide_bar} {pos} of {len} rows · {eta} left")?;
        let order =
            BackupOrder { options: database.options(), data_dir: &config.data_dir, path, replace };
        let made = backup::make(order, wiring::now(), |progress| show(&bar, progress)).await;
        bar.finish_and_clear();
        let (manifest, bytes) = made?;
        println!("{}\t{bytes} bytes\t{} rows", path.display(), manifest.rows_total());
        Ok(())
    })
    .await?;
    match &config.secret_key {
        Some(_) => eprintln!(
            "The secret key is not in it: keep KEEPSAKE_SECRET_KEY in another place. Without it, keys of providers must be entered again and webhooks need new secrets."
        ),
        None => eprintln!(
            "The secret key is not in it: keep {} in another place. Without it, keys of providers must be entered again and webhooks need new secrets.",
            key_file(config).display()
        ),
    }
    Ok(())
}

/// Prints what was restored. Changes nothing if the file is damaged or the database is not empty.
pub async fn restore(config: &Config, path: &Path, erasures: Option<&Path>) -> anyhow::Result<()> {
    let file = BackupFile::open(path)?;
    let notes = erasures_for(&file, erasures)?;
    let checking = bar("checking {wide_bar} {bytes} of {total_bytes} · {eta} left")?;
    let shown = checking.clone();
    backup::check(&file, move |progress| show(&shown, progress)).await?;
    checking.finish_and_clear();
    let database = Database::of_restore(config).await?;
    let restored = restore_into(config, &database, &file, &notes).await;
    database.close().await?;
    let repeated = restored?;
    println!(
        "{} rows of {} restored, {repeated} erasures repeated",
        file.manifest.rows_total(),
        file.manifest.made_at
    );
    eprintln!(
        "Everybody signs in again; agents' tokens work as before. Invitations and links for new passwords are void. Webhooks are paused until their owners resume them."
    );
    if config.secret_key.is_none() && !key_file(config).exists() {
        eprintln!(
            "There is no secret key: put the one of the lost server into {} before you start, or keys of providers must be entered again and webhooks need new secrets.",
            key_file(config).display()
        );
    }
    Ok(())
}

async fn restore_into(
    config: &Config,
    database: &Database,
    file: &BackupFile,
    notes: &[ErasureNote],
) -> anyhow::Result<usize> {
    let loading = bar("{wide_bar} {bytes} of {total_bytes} · {eta} left")?;
    let repeating = bar("repeating erasures {wide_bar} {pos} of {len}")?;
    let (options, now) = (database.options(), wiring::now());
    let tell = |progress| show(&loading, progress);
    let then = async || {
        loading.finish_and_clear();
        repeat_all(database, notes, repeating).await
    };
    Ok(backup::restore(file, options, &config.data_dir, now, tell, then).await?)
}

/// In their order. Returns how many were still there.
async fn repeat_all(
    database: &Database,
    notes: &[ErasureNote],
    bar: ProgressBar,
) -> Result<usize, BackupError> {
    bar.set_length(notes.len() as u64);
    let activity = wiring::activity(&database.db);
    let (mut repeated, mut refused) = (0, Vec::new());
    for note in notes {
        match erasure::repeat(&database.db, &activity, note, wiring::now()).await {
            Ok(was_there) => repeated += usize::from(was_there),
            Err(ErasureError::LastAdmin) => refused.push(note.user),
            Err(error) => return Err(error.into()),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    for user in refused {
        eprintln!(
            "keepsake: account {user} was erased after the backup and is its only admin: make another admin, then erase it"
        );
    }
    Ok(repeated)
}

/// Those that the backup may lack: of the named file, or of the one beside the backup if there is one.
fn erasures_for(file: &BackupFile, named: Option<&Path>) -> anyhow::Result<Vec<ErasureNote>> {
    let path = match named {
        Some(path) if !path.exists() => bail!("there is no file {}", path.display()),
        Some(path) => path.to_path_buf(),
        None => backup::erasures_beside(&file.path),
    };
    if !path.exists() {
        eprintln!(
            "There is no {} beside the backup: what was erased since is there again.",
            backup::ERASURES
        );
    }
    Ok(backup::read_erasures(&path, file.manifest.made_at)?)
}

fn key_file(config: &Config) -> PathBuf {
    config.data_dir.join("secret-key")
}

fn bar(template: &str) -> anyhow::Result<ProgressBar> {
    Ok(ProgressBar::new(0).with_style(ProgressStyle::with_template(template)?))
}

fn show(bar: &ProgressBar, progress: BackupProgress) -> bool {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
    true
}
