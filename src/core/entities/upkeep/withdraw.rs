//! Withdraws names that earlier rules have found, today's do not find, and nothing else confirms.

use std::collections::{HashMap, HashSet};

use time::OffsetDateTime;

use super::store;
use crate::db::{Db, UserId};
use crate::memories::mentions::{self, FoundName, NamingSource, normal::normal};
use crate::search::reader::on_a_thread;

/// Limits per step: names, and sources of each that are read. A name of more is left alone.
const NAMES_A_STEP: i64 = 25;
const SOURCES_A_NAME: i64 = 40;

/// Checks some names. Returns their number; `None` if none is left.
///
/// # Errors
/// Database errors only.
pub(super) async fn step(
    db: &Db,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Option<usize>, sqlx::Error> {
    let mut tx = db.as_writer(user).await?;
    let names = store::list_unchecked(&mut tx, user, NAMES_A_STEP, SOURCES_A_NAME).await?;
    if names.is_empty() {
        return Ok(None);
    }
    let doubtful: HashMap<i64, String> = names
        .iter()
        .filter(|name| !name.is_confirmed)
        .map(|name| (name.id, name.normal.clone()))
        .collect();
    let ids: Vec<i64> = doubtful.keys().copied().collect();
    let found_in = store::list_sources_of(&mut tx, user, &ids, SOURCES_A_NAME).await?;
    let sources: HashSet<i64> = found_in.iter().map(|(_, source)| *source).collect();
    let sources: Vec<i64> = sources.into_iter().collect();
    let texts = store::list_texts(&mut tx, user, &sources).await?;
    let read = on_a_thread(move || {
        let of = |text: store::SourceText| {
            NamingSource::of_text(text.id, text.created_at, &text.content)
        };
        texts.into_iter().map(of).collect::<Vec<_>>()
    });
    let read = read.await?;
    let today: HashMap<i64, HashSet<String>> =
        read.iter().map(|source| (source.id, sure_names(&source.named))).collect();
    let still: HashSet<i64> = found_in
        .iter()
        .filter(|(name, source)| today.get(source).is_some_and(|n| n.contains(&doubtful[name])))
        .map(|(name, _)| *name)
        .collect();
    let looked_at: HashSet<i64> = found_in.iter().map(|(name, _)| *name).collect();
    let gone: Vec<i64> = looked_at.into_iter().filter(|id| !still.contains(id)).collect();
    if !gone.is_empty() {
        let entities = store::delete_names(&mut tx, user, &gone).await?;
        // What they stood for may be named otherwise: "Anna" where "Annas" was found.
        let concerned = found_in.iter().filter(|(name, _)| gone.contains(name));
        let concerned: HashSet<i64> = concerned.map(|(_, source)| *source).collect();
        let read: Vec<NamingSource> =
            read.into_iter().filter(|source| concerned.contains(&source.id)).collect();
        mentions::write(&mut tx, user, &read, now).await?;
        store::settle(&mut tx, user, &entities).await?;
        let you = crate::entities::ensure_user(&mut tx, user, now).await?;
        store::note_withdrawn(&mut tx, user, you, gone.len(), now).await?;
    }
    let checked: Vec<i64> = names.iter().map(|name| name.id).collect();
    store::note_checked(&mut tx, user, &checked).await?;
    tx.commit().await?;
    Ok(Some(names.len()))
}

/// The normal forms of what would create an entity.
fn sure_names(found: &[FoundName]) -> HashSet<String> {
    let sure = found.iter().filter(|name| name.is_sure);
    sure.map(|name| normal(&name.name, name.entity_type)).collect()
}
