//! `keepsake secret rotate`: re-encrypts every provider key while servers run. It can be interrupted and run
//! again: progress is kept, and no key is removed while anything is sealed with it.

use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use keepsake::config::Config;
use keepsake::embedding::{Embeddings, Resealed};
use keepsake::seal;
use keepsake::wiring::Database;

/// A request that read a key before it was resealed may write the old value back (a form that keeps its key).
/// After this time such requests have ended.
const SETTLED_AFTER: Duration = Duration::from_secs(10);
const PASSES_MAX: usize = 10;

pub async fn rotate(config: &Config) -> anyhow::Result<()> {
    Database::run(config, async |database| rotate_on(config, database).await).await
}

async fn rotate_on(config: &Config, database: &Database) -> anyhow::Result<()> {
    let key = config.secret_key.as_ref();
    let only = database.services(config)?.embeddings.begin_rotation().await?;
    let Some(_only) = only else {
        bail!("another rotation is running on this database; wait until it ends");
    };
    seal::begin_rotation(key, &config.data_dir)?;
    // Built after the rotation began, so that it has the new key.
    let services = database.services(config)?;
    let done = reseal_all(&services.embeddings).await?;
    seal::end_rotation(key, &config.data_dir)
        .context("every key is encrypted with the new key, but the old key could not be removed from the file")?;
    println!("{} encrypted with the new key", keys(done.resealed));
    match key {
        Some(_) => println!("KEEPSAKE_SECRET_KEYS_OLD is no longer needed"),
        None => {
            println!("the old key is removed from {}", config.data_dir.join("secret-key").display())
        }
    }
    if done.unreadable > 0 {
        eprintln!(
            "keepsake: {} could not be decrypted and are unchanged: put the key that encrypted them into KEEPSAKE_SECRET_KEYS_OLD and run this again, or have their owners enter them again",
            keys(done.unreadable)
        );
    }
    Ok(())
}

/// Repeats until a pass, run after older requests have ended, finds nothing to do.
async fn reseal_all(embeddings: &Embeddings) -> anyhow::Result<Resealed> {
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template(
        "{wide_bar} {pos} of {len} users{msg} · {eta} left",
    )?);
    let mut resealed = 0;
    for pass in 0..PASSES_MAX {
        let found = embeddings
            .reseal(|done, total| {
                bar.set_length(total);
                bar.set_position(done);
            })
            .await?;
        resealed += found.resealed;
        if pass > 0 && found.resealed == 0 {
            bar.finish_and_clear();
            return Ok(Resealed { resealed, ..found });
        }
        bar.set_message(format!(" · {} encrypted, waiting for running requests", keys(resealed)));
        tokio::time::sleep(SETTLED_AFTER).await;
    }
    bar.finish_and_clear();
    bail!(
        "after {PASSES_MAX} passes some keys are still encrypted with the old key: do all servers have the new one? Nothing was removed; run this again"
    )
}

fn keys(count: u64) -> String {
    match count {
        1 => "1 key".to_owned(),
        count => format!("{count} keys"),
    }
}
