//! Themes, the groups of items: listing, naming and describing them.

pub mod store;

use time::OffsetDateTime;

use super::MemoryError;
use super::day::{Day, store as days};
use super::model::{MemoryTheme, ThemeCount, ThemeNames, ThemeSlug};
use super::projects::ProjectId;
use super::provenance::ItemKey;
use super::quota::THEMES_MAX;
use super::store::find_theme_of_key;
use crate::accounts::{UserId, Viewer};
use crate::activity::RunningCall;
use crate::clock::SharedClock;
use crate::db::Db;
use crate::input::Invalid;

/// Themes with their counts of active items, largest first, at most `limit`; and whether there are more.
pub async fn list_themes(
    db: &Db,
    viewer: &Viewer,
    limit: usize,
    now: OffsetDateTime,
) -> Result<(Vec<MemoryTheme>, bool), MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let themes = store::list_themes(&mut tx, viewer.user_id, asked(limit), now).await?;
    tx.commit().await?;
    Ok(cut(themes, limit))
}

/// The themes of a day, with their counts of what was known and true on it, largest first; and whether there are more.
pub async fn themes_on(
    db: &Db,
    viewer: &Viewer,
    limit: usize,
    day: &Day,
    now: OffsetDateTime,
) -> Result<(Vec<MemoryTheme>, bool), MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let ids = days::list_ids(&mut tx, viewer.user_id, day, now, None).await?;
    let themes = store::list_themes_of(&mut tx, viewer.user_id, &ids, asked(limit)).await?;
    tx.commit().await?;
    Ok(cut(themes, limit))
}

/// Where a fact of this key belongs if no theme is given: beside the value that is held, if one theme has it.
///
/// # Errors
/// Database errors only.
pub async fn theme_of_key(
    db: &Db,
    user: UserId,
    key: &ItemKey,
    project: Option<ProjectId>,
) -> Result<Option<String>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let theme = find_theme_of_key(&mut tx, user, key, project).await?;
    tx.commit().await?;
    Ok(theme)
}

/// One more than the limit, to know whether there are more.
fn asked(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)
}

fn cut(mut themes: Vec<MemoryTheme>, limit: usize) -> (Vec<MemoryTheme>, bool) {
    let has_more = themes.len() > limit;
    themes.truncate(limit);
    (themes, has_more)
}

/// The slug of the theme that this text means by its slug or display name; if there is none, the text's own slug.
pub async fn find_theme(db: &Db, user: UserId, text: &str) -> Result<ThemeSlug, MemoryError> {
    let slug = ThemeSlug::parse(text)?;
    let mut tx = db.as_user(user).await?;
    let found = store::find_theme(&mut tx, user, &slug, text.trim()).await?;
    tx.commit().await?;
    Ok(found.map_or(slug, |(_, slug)| slug))
}

/// Changes a theme's name and description. The activity record is committed in the same transaction.
pub async fn describe_theme(
    db: &Db,
    clock: &SharedClock,
    call: &RunningCall,
    slug: &ThemeSlug,
    names: &ThemeNames,
) -> Result<MemoryTheme, MemoryError> {
    let (user, now) = (call.viewer.user_id, clock.now());
    let mut tx = db.as_user(user).await?;
    let is_done =
        store::update_theme(&mut tx, user, call.viewer.agent_id, slug, names, now).await?;
    let themes = store::list_themes(&mut tx, user, THEMES_MAX, now).await?;
    let theme = themes.into_iter().find(|theme| theme.slug == slug.as_str());
    let theme = theme.ok_or(MemoryError::NoSuchTheme)?;
    if !is_done {
        let sentence = "`theme` is shared with other agents; one with a memory of its own describes only themes that it began.";
        return Err(Invalid::new("theme", "shared", sentence).into());
    }
    call.write(&mut tx, Vec::new()).await?;
    tx.commit().await?;
    Ok(theme)
}

/// The eleven themes with the most active items, largest first; empty ones are excluded. Callers show ten: the eleventh
/// tells that there are more. Only those that the person or two agents use: no page that one agent has read puts a name into
/// a prompt.
pub async fn themes_for_prompt(
    db: &Db,
    viewer: &Viewer,
    now: OffsetDateTime,
) -> Result<Vec<ThemeCount>, MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let themes = store::fullest_themes(&mut tx, viewer.user_id, now, true).await?;
    tx.commit().await?;
    Ok(themes)
}
