//! A user's spaces, created and swapped here. They follow the settings, not the health of providers. Changes hold the lock of
//! the user's revision, so that a new space contains every item and a new item is in every space.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Space, SpaceId, SpaceState};
use super::{
    COMPARED_FOR, EmbeddingError, Embeddings, RETIRED_FOR, RETIRED_MAX, SEARCHED_FOR, store,
};
use crate::db::{UserId, mark_all_changed, raise_revision};
use crate::providers::settings::{Effective, SpaceSettings};

/// With more items than this, the first space is created by the job and not in the transaction of an add.
const FIRST_ITEMS_MAX: i64 = 1_000;

/// The result of following the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    /// The spaces did not change.
    Kept,
    /// This many texts are being rebuilt.
    Building { texts: u64 },
}

/// Why the spaces follow the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FollowReason {
    /// The user changed the settings and confirmed.
    UserChanged,
    /// The user asked to recompute all embeddings.
    UserRebuilds,
    /// A job found the spaces outdated.
    Behind,
}

/// A user's spaces by state.
pub(super) struct Spaces {
    pub active: Option<Space>,
    pub building: Option<Space>,
    /// Most recently active first.
    pub retired: Vec<Space>,
}

/// The space that a user's searches use.
pub async fn serving_space(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<SpaceId>, sqlx::Error> {
    Ok(Spaces::of(conn, user).await?.serving().map(|space| space.id))
}

impl Spaces {
    pub async fn of(conn: &mut PgConnection, user: UserId) -> Result<Self, sqlx::Error> {
        let mut spaces = Self { active: None, building: None, retired: Vec::new() };
        for space in store::list_spaces(conn, user).await? {
            match space.state {
                SpaceState::Active => spaces.active = Some(space),
                SpaceState::Building => spaces.building = Some(space),
                SpaceState::Retired => spaces.retired.push(space),
            }
        }
        Ok(spaces)
    }

    /// The space that searches use: the active one or, until there is one, the building one.
    pub fn serving(&self) -> Option<&Space> {
        self.active.as_ref().or(self.building.as_ref())
    }

    /// The space that new embeddings are for: the building one or, without a rebuild, the active one.
    pub fn filled(&self) -> Option<&Space> {
        self.building.as_ref().or(self.active.as_ref())
    }

    /// [`Self::filled`], if it was built with these settings.
    pub fn filled_by(&self, wanted: Option<&SpaceSettings>) -> Option<&Space> {
        self.filled().filter(|space| {
            wanted.is_some_and(|wanted| space.settings.makes_the_vectors_of(wanted))
        })
    }

    /// Whether a space with these settings exists or is being built.
    pub fn has(&self, wanted: &SpaceSettings) -> bool {
        match &self.building {
            Some(_) => is_of(&self.building, wanted),
            None => is_of(&self.active, wanted),
        }
    }

    /// A retired space, still kept at this time, whose embeddings are valid for these settings.
    pub fn kept(&self, wanted: &SpaceSettings, at: OffsetDateTime) -> Option<&Space> {
        let mut retired = self.retired.iter();
        retired.find(|space| {
            space.settings.makes_the_vectors_of(wanted)
                && space.retired_at >= Some(at - RETIRED_FOR)
        })
    }

    /// The retired space whose embeddings `space` can reuse: same settings, and retired before `space` was created. (After a
    /// rebuild with the same model, the old space retires later, so it is not reused.)
    pub fn known_to(&self, space: &Space) -> Option<&Space> {
        let is_known = |kept: &&Space| {
            kept.retired_at <= Some(space.created_at)
                && (space.dimensions.is_none() || kept.dimensions == space.dimensions)
        };
        let kept = self.kept(&space.settings, space.created_at);
        kept.filter(is_known)
    }

    /// Retired spaces that can be deleted.
    pub fn outlived(&self, now: OffsetDateTime) -> Vec<i64> {
        let mut newer: Vec<&Space> = self.active.iter().collect();
        let (mut outlived, mut kept) = (Vec::new(), 0);
        let taken_over = self.building.as_ref().and_then(|b| self.known_to(b));
        for (n, space) in self.retired.iter().enumerate() {
            let age = now - space.retired_at.unwrap_or(now);
            let makes_the_same = |s: &&Space| s.settings.makes_the_vectors_of(&space.settings);
            let is_replaced = newer.iter().any(makes_the_same);
            let is_compared = n == 0 && self.building.is_none() && age <= COMPARED_FOR;
            let is_of_use = if is_replaced {
                is_compared
            } else {
                kept += 1;
                kept <= RETIRED_MAX
            };
            let is_taken_over = taken_over.is_some_and(|taken| taken.id == space.id);
            let is_outlived = age > RETIRED_FOR || age > SEARCHED_FOR && !is_of_use;
            if is_outlived && !is_taken_over {
                outlived.push(space.id.0);
            }
            newer.push(space);
        }
        outlived
    }

    /// Spaces with valid embeddings for these settings, but another key or query prefix.
    fn outdated<'a>(&'a self, wanted: &'a SpaceSettings) -> impl Iterator<Item = &'a Space> {
        let spaces = [&self.active, &self.building].into_iter().flatten();
        spaces.filter(|s| s.settings.makes_the_vectors_of(wanted) && s.settings != *wanted)
    }

    /// Whether these settings require recomputing all embeddings.
    pub fn need_rebuild(&self, wanted: &SpaceSettings) -> bool {
        !is_of(&self.active, wanted) && !is_of(&self.building, wanted)
    }
}

fn is_of(space: &Option<Space>, wanted: &SpaceSettings) -> bool {
    space.as_ref().is_some_and(|space| space.settings.makes_the_vectors_of(wanted))
}

impl Embeddings {
    /// Adjusts the spaces to the settings.
    pub(super) async fn follow(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        effective: &Effective<SpaceSettings>,
        because: FollowReason,
    ) -> Result<Followed, EmbeddingError> {
        let now = self.now();
        raise_revision(conn, user).await?;
        let Some(wanted) = effective.settings() else {
            if *effective == Effective::Off {
                store::delete_building(conn, user).await?;
            }
            return Ok(Followed::Kept);
        };
        let spaces = Spaces::of(conn, user).await?;
        if because == FollowReason::UserRebuilds {
            // The old embeddings are not trusted any more: backdated, so that the next job deletes them.
            store::let_go(conn, user, wanted, now - RETIRED_FOR * 2).await?;
        } else {
            let of_these = |space: &&Space| space.settings.makes_the_vectors_of(wanted);
            if let Some(active) = spaces.active.as_ref().filter(of_these) {
                // Back to the active space's settings: the building one is obsolete.
                store::delete_building(conn, user).await?;
                store::refresh_space(conn, user, active.id, wanted).await?;
                // Items added while embeddings were switched off.
                store::insert_missing(conn, user, active.id, now).await?;
                mark_all_changed(conn, user).await?;
                return Ok(Followed::Kept);
            }
            if let Some(building) = spaces.building.as_ref().filter(of_these) {
                store::refresh_space(conn, user, building.id, wanted).await?;
                return Ok(Followed::Kept);
            }
        }
        store::delete_building(conn, user).await?;
        let made = store::insert_space(conn, user, wanted, SpaceState::Building, now).await?;
        // The revision's lock excludes a concurrent insert.
        let space = made.ok_or(sqlx::Error::RowNotFound)?;
        let texts = store::insert_missing(conn, user, space, now).await?;
        let is_first = spaces.serving().is_none() && because == FollowReason::Behind;
        if texts == 0 || is_first {
            // Nothing to build, or nothing that could serve meanwhile: activate at once.
            store::retire_active(conn, user, now).await?;
            store::activate(conn, user, space, now).await?;
            return Ok(Followed::Kept);
        }
        Ok(Followed::Building { texts })
    }

    /// Creates the user's first space with a pending row per item, in the transaction of an add. With many items, that is left
    /// to the job. Returns false if nothing would compute them.
    pub(super) async fn make_first(
        &self,
        conn: &mut PgConnection,
        user: UserId,
    ) -> Result<bool, EmbeddingError> {
        let (settings, effective) = self.effective(conn, user).await?;
        let Some(wanted) = settings.awaited(&effective) else {
            return Ok(false);
        };
        if store::has_more_items_than(conn, user, FIRST_ITEMS_MAX).await? {
            return Ok(true);
        }
        let now = self.now();
        store::insert_space(conn, user, wanted, SpaceState::Active, now).await?;
        if let Some(active) = Spaces::of(conn, user).await?.active {
            store::insert_missing(conn, user, active.id, now).await?;
        }
        Ok(true)
    }

    /// Creates a missing or outdated space; the first step of the job. Does not restart a rebuild that the user cancelled.
    pub(super) async fn follow_if_behind(&self, user: UserId) -> Result<(), EmbeddingError> {
        let mut tx = self.db.as_user(user).await?;
        let (settings, effective) = self.effective(&mut tx, user).await?;
        let Some(wanted) = settings.awaited(&effective) else {
            return Ok(());
        };
        let spaces = Spaces::of(&mut tx, user).await?;
        // Vectors that serve are not given up for those of a model that cannot make them.
        let waits = spaces.need_rebuild(wanted)
            && spaces.serving().is_some()
            && self.missing_model(wanted).is_some();
        if !spaces.has(wanted) && !waits {
            self.follow(&mut tx, user, &effective, FollowReason::Behind).await?;
        }
        // An admin may have changed the key, or selected the same provider again.
        for space in spaces.outdated(wanted) {
            store::refresh_space(&mut tx, user, space.id, wanted).await?;
        }
        Ok(tx.commit().await?)
    }
}
