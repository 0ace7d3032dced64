//! Themes, the groups of items: listing, naming and describing them.

pub mod store;

use time::OffsetDateTime;

use super::MemoryError;
use super::model::{Theme, ThemeCount, ThemeNames, ThemeSlug};
use super::quota::THEMES_MAX;
use crate::accounts::Viewer;
use crate::activity::Call;
use crate::clock::SharedClock;
use crate::db::Db;

/// Themes with their counts of active items, largest first, at most `limit`; and whether there are more.
pub async fn list_themes(
    db: &Db,
    viewer: &Viewer,
    limit: usize,
    now: OffsetDateTime,
) -> Result<(Vec<Theme>, bool), MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let ask = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut themes = store::list_themes(&mut tx, viewer.user_id, ask, now).await?;
    tx.commit().await?;
    let has_more = themes.len() > limit;
    themes.truncate(limit);
    Ok((themes, has_more))
}

/// Changes a theme's name and description. The activity record is committed in the same transaction.
pub async fn describe_theme(
    db: &Db,
    clock: &SharedClock,
    call: &Call,
    slug: &ThemeSlug,
    names: &ThemeNames,
) -> Result<Theme, MemoryError> {
    let (user, now) = (call.viewer.user_id, clock.now());
    let mut tx = db.as_user(user).await?;
    if !store::update_theme(&mut tx, user, slug, names, now).await? {
        return Err(MemoryError::NoSuchTheme);
    }
    let themes = store::list_themes(&mut tx, user, THEMES_MAX, now).await?;
    let theme = themes.into_iter().find(|theme| theme.slug == slug.as_str());
    let theme = theme.ok_or(MemoryError::NoSuchTheme)?;
    call.write(&mut tx, Vec::new()).await?;
    tx.commit().await?;
    Ok(theme)
}

/// The eleven themes with the most active items, largest first; empty ones are excluded. Callers show ten: the eleventh
/// tells that there are more.
pub async fn fullest_themes(
    db: &Db,
    viewer: &Viewer,
    now: OffsetDateTime,
) -> Result<Vec<ThemeCount>, MemoryError> {
    let mut tx = db.as_user(viewer.user_id).await?;
    let themes = store::fullest_themes(&mut tx, viewer.user_id, now).await?;
    tx.commit().await?;
    Ok(themes)
}
