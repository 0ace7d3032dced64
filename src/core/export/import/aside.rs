//! Keys: of the items of a batch that have the same key, one stays active.

use std::collections::HashMap;

use time::OffsetDateTime;

use super::store::{HeldPlace, KeyHolder, KeyHolders};
use crate::memories::write::NewSource;
use crate::memories::{PUT_ASIDE, SUPERSEDED, Status};

/// An item that is stored archived, since another one has its key.
pub(super) struct AsideItem {
    pub(super) held: HeldPlace,
    pub(super) event: &'static str,
}

/// An existing or earlier item keeps its key; the others are stored archived, to be linked to it. What was said before it
/// was true until then.
pub(super) fn put_aside(
    rows: &mut [NewSource<'_>],
    found: &HashMap<usize, i64>,
    holders: &KeyHolders<KeyHolder<i64>>,
    now: OffsetDateTime,
) -> HashMap<usize, AsideItem> {
    let mut aside = HashMap::new();
    let mut came_first: KeyHolders<KeyHolder<usize>> = KeyHolders::new();
    for at in (0..rows.len()).filter(|at| !found.contains_key(at)) {
        let Some(held) = HeldPlace::of(&rows[at]) else {
            continue;
        };
        let created_at = rows[at].created_at;
        let first = came_first.of(&held, now);
        if first.is_none() {
            came_first.insert(held.clone(), KeyHolder { id: at, created_at });
        }
        let another = first.filter(|first| rows[first.id].content_hash != rows[at].content_hash);
        let holder = holders.of(&held, now).map(|holder| holder.created_at);
        let Some(holder_since) = holder.or(another.map(|first| first.created_at)) else {
            continue;
        };
        let row = &mut rows[at];
        row.status = Status::Archived.as_str();
        let mut event = PUT_ASIDE;
        if created_at < holder_since {
            (row.updated_at, event) = (holder_since, SUPERSEDED);
        }
        aside.insert(at, AsideItem { held, event });
    }
    aside
}
