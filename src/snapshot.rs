//! `keepsake backup` and `keepsake restore`: the whole database into a file, and back into an empty one.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::backup::{
    self, BackupError, BackupFile, BackupOrder, BackupProgress, ErasuresFile, ErasuresSince,
    FileTrust, Repeated, Restored,
};
use keepsake::config::Config;
use keepsake::wiring::{self, Database};

/// Names that are printed.
const LEFT_OUT_SHOWN: usize = 10;

/// Prints the file, its size in bytes and its rows.
pub async fn back_up(config: &Config, path: &Path, replace: bool) -> anyhow::Result<()> {
    if !replace && path.exists() {
        bail!(BackupError::Exists(path.to_path_buf()));
    }
    let sealer = match config.database_url {
        // The data folder may be another than the server's: a key that is made here would sign for nobody.
        Some(_) => wiring::existing_sealer(config)?.with_context(|| {
            format!(
                "there is no secret key to sign the backup with: set KEEPSAKE_SECRET_KEY, or KEEPSAKE_DATA_DIR to the folder whose {} is the server's",
                key_file(config).display()
            )
        })?,
        None => wiring::sealer(config)?,
    };
    Database::run(config, async |database| {
        let bar = bar("{wide_bar} {pos} of {len} rows · {eta} left")?;
        let (options, data_dir) = (database.options(), &config.data_dir);
        let order = BackupOrder { options, sealer: &sealer, data_dir, path, replace };
        let made = backup::make(order, wiring::now(), |progress| show(&bar, progress)).await;
        bar.finish_and_clear();
        let (manifest, bytes) = made?;
        println!("{}\t{bytes} bytes\t{} rows", path.display(), manifest.rows_total());
        Ok(())
    })
    .await?;
    match &config.secret_key {
        Some(_) => eprintln!(
            "The secret key is not in it: keep KEEPSAKE_SECRET_KEY in another place. Without it, a restore cannot check this file, keys of providers must be entered again and webhooks need new secrets."
        ),
        None => eprintln!(
            "The secret key is not in it: keep {} in another place. Without it, a restore cannot check this file, keys of providers must be entered again and webhooks need new secrets.",
            key_file(config).display()
        ),
    }
    Ok(())
}

/// Prints what was restored. Changes nothing if the file is damaged or not this server's, or the database is not empty.
pub async fn restore(
    config: &Config,
    path: &Path,
    erasures: Option<&Path>,
    trust: FileTrust,
) -> anyhow::Result<()> {
    let file = BackupFile::open(path)?;
    let sealer = wiring::existing_sealer(config)?;
    let no_key = || BackupError::NoSecretKey(key_file(config));
    let signed = match &sealer {
        Some(sealer) => file.check_signature(sealer),
        None => Err(no_key()),
    };
    let is_signed = trust.require(signed, say)?.is_some();
    let checking = bar("checking {wide_bar} {bytes} of {total_bytes} · {eta} left")?;
    let shown = checking.clone();
    backup::check(&file, move |progress| show(&shown, progress)).await?;
    checking.finish_and_clear();
    let erasures = erasures_for(&file, erasures)?;
    let since = match sealer.filter(|_| is_signed) {
        Some(sealer) => trust.require(erasures.since(&file, &sealer), say)?,
        None => None,
    };
    if since.is_none() {
        eprintln!(
            "keepsake: restoring what nobody vouches for: whoever could write {} or {} chose the accounts, their rights and all memories in it, and what is erased and revoked again.",
            path.display(),
            backup::ERASURES
        );
    }
    let since = since.unwrap_or_else(|| erasures.unchecked(&file));
    if !erasures.is_there() {
        eprintln!(
            "There is no {} beside the backup: what was erased or revoked since is there again.",
            backup::ERASURES
        );
    }
    let database = Database::of_restore(config).await?;
    let restored = restore_into(config, &database, &file, &since).await;
    database.close().await?;
    let Restored { then: repeated, left_out } = restored?;
    println!(
        "{} rows of {} restored, {} erasures and {} revocations repeated",
        file.manifest.rows_total(),
        file.manifest.made_at,
        repeated.erasures,
        repeated.revocations,
    );
    if !left_out.is_empty() {
        let more = match left_out.len().saturating_sub(LEFT_OUT_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = left_out[..left_out.len().min(LEFT_OUT_SHOWN)].join(", ");
        eprintln!("keepsake: left out, since Keepsake has not made it: {shown}{more}");
    }
    for user in repeated.last_admins {
        eprintln!(
            "keepsake: account {user} was erased, disabled or made a member after the backup, and is its only admin: make another admin, then do it again"
        );
    }
    eprintln!(
        "Everybody signs in again; agents' tokens work as before. Invitations and links for new passwords are void. Webhooks and users' own endpoints are paused until their owners resume them."
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
    since: &ErasuresSince,
) -> anyhow::Result<Restored<Repeated>> {
    let loading = bar("{wide_bar} {bytes} of {total_bytes} · {eta} left")?;
    let repeating = bar("repeating erasures and revocations {wide_bar} {pos} of {len}")?;
    let (options, now) = (database.options(), wiring::now());
    let tell = |progress| show(&loading, progress);
    let then = async || {
        loading.finish_and_clear();
        repeating.set_length(since.notes.len() as u64);
        let (db, activity) = (&database.db, wiring::activity(&database.db));
        let accounts = wiring::accounts(config, db);
        let told = || repeating.inc(1);
        let done = backup::repeat(db, &accounts, &activity, since, wiring::now(), told).await;
        repeating.finish_and_clear();
        done
    };
    Ok(backup::restore(file, options, &config.data_dir, now, tell, then).await?)
}

/// The named file, or the one beside the backup if there is one.
fn erasures_for(file: &BackupFile, named: Option<&Path>) -> anyhow::Result<ErasuresFile> {
    let path = match named {
        Some(path) if !path.exists() => bail!("there is no file {}", path.display()),
        Some(path) => path.to_path_buf(),
        None => backup::erasures_beside(&file.path),
    };
    Ok(ErasuresFile::read(&path)?)
}

fn say(problem: &BackupError) {
    eprintln!("keepsake: {problem}");
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
