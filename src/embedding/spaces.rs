//! Which spaces a user has: they follow what is configured, never what happens
//! to be healthy. Every change of spaces is made here, by whoever holds the user's revision: a new
//! space sees every item, or the item every space.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Space, SpaceId, SpaceState};
use super::{
    COMPARED_FOR, EmbeddingError, Embeddings, RETIRED_FOR, RETIRED_MAX, SEARCHED_FOR, drain,
    overview, store,
};
use crate::db::{UserId, raise_revision, tell_anew};
use crate::providers::settings::{Effective, ProviderSettings};

/// So many items get their pending rows in the transaction of an add, where it makes the first space.
const FIRST_ITEMS_MAX: i64 = 1_000;

/// What following the settings came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    /// The spaces stay as they are.
    Kept,
    /// So many texts are being rebuilt.
    Building { texts: u64 },
}

/// On whose word the spaces follow the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Because {
    /// The user changed the settings, and was told what that means.
    UserChanged,
    /// The user wants every vector computed anew.
    UserRebuilds,
    /// They were behind: a job found it.
    Behind,
}

/// A user's spaces, told apart.
pub(super) struct Spaces {
    pub active: Option<Space>,
    pub building: Option<Space>,
    /// The one that served last first.
    pub retired: Vec<Space>,
}

/// What a user's searches compare with.
pub async fn serving_space(
    conn: &mut PgConnection,
    user: UserId,
) -> Result<Option<SpaceId>, sqlx::Error> {
    Ok(Spaces::of(conn, user)
        .await?
        .serving()
        .map(|space| space.id))
}

impl Spaces {
    pub async fn of(conn: &mut PgConnection, user: UserId) -> Result<Self, sqlx::Error> {
        let mut spaces = Self {
            active: None,
            building: None,
            retired: Vec::new(),
        };
        for space in store::list_spaces(conn, user).await? {
            match space.state {
                SpaceState::Active => spaces.active = Some(space),
                SpaceState::Building => spaces.building = Some(space),
                SpaceState::Retired => spaces.retired.push(space),
            }
        }
        Ok(spaces)
    }

    /// What searches compare with: the active one, or before there is one what
    /// is being built.
    pub fn serving(&self) -> Option<&Space> {
        self.active.as_ref().or(self.building.as_ref())
    }

    /// Whether these settings have their space, or are getting it.
    pub fn has(&self, wanted: &ProviderSettings) -> bool {
        match &self.building {
            Some(_) => is_of(&self.building, wanted),
            None => is_of(&self.active, wanted),
        }
    }

    /// The retired one whose vectors these settings would make again at this time.
    pub fn kept(&self, wanted: &ProviderSettings, at: OffsetDateTime) -> Option<&Space> {
        let mut retired = self.retired.iter();
        retired.find(|space| {
            space.settings.makes_the_vectors_of(wanted)
                && space.retired_at >= Some(at - RETIRED_FOR)
        })
    }

    /// The retired one whose vectors `space` takes over: it made the same ones, and had retired before
    /// `space` was begun. (What a user has rebuilt with the same model retires after that.)
    pub fn known_to(&self, space: &Space) -> Option<&Space> {
        let is_known = |kept: &&Space| {
            kept.retired_at <= Some(space.created_at)
                && (space.dimensions.is_none() || kept.dimensions == space.dimensions)
        };
        let kept = self.kept(&space.settings, space.created_at);
        kept.filter(is_known)
    }

    /// Retired ones that are of no use any more.
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

    /// Those whose vectors these settings make, but that keep another key or prefix of queries.
    fn outdated<'a>(&'a self, wanted: &'a ProviderSettings) -> impl Iterator<Item = &'a Space> {
        let spaces = [&self.active, &self.building].into_iter().flatten();
        spaces.filter(|s| s.settings.makes_the_vectors_of(wanted) && s.settings != *wanted)
    }

    /// Whether following these settings means computing every vector anew.
    pub fn need_rebuild(&self, wanted: &ProviderSettings) -> bool {
        !is_of(&self.active, wanted) && !is_of(&self.building, wanted)
    }
}

fn is_of(space: &Option<Space>, wanted: &ProviderSettings) -> bool {
    space
        .as_ref()
        .is_some_and(|space| space.settings.makes_the_vectors_of(wanted))
}

impl Embeddings {
    /// Brings the spaces to what is in force.
    pub(super) async fn follow(
        &self,
        conn: &mut PgConnection,
        user: UserId,
        effective: &Effective,
        because: Because,
    ) -> Result<Followed, EmbeddingError> {
        let now = self.0.clock.now();
        raise_revision(conn, user).await?;
        let Some(wanted) = effective.settings() else {
            if *effective == Effective::Off {
                store::delete_building(conn, user).await?;
            }
            return Ok(Followed::Kept);
        };
        let spaces = Spaces::of(conn, user).await?;
        if because == Because::UserRebuilds {
            // Its vectors are not trusted any more: the next job removes them.
            store::let_go(conn, user, wanted, now - RETIRED_FOR * 2).await?;
        } else {
            let of_these = |space: &&Space| space.settings.makes_the_vectors_of(wanted);
            if let Some(active) = spaces.active.as_ref().filter(of_these) {
                // Back to what serves: whatever was being built is not wanted any more.
                store::delete_building(conn, user).await?;
                store::refresh_space(conn, user, active.id, wanted).await?;
                // Items that were added while it was switched off.
                store::insert_missing(conn, user, active.id, now).await?;
                tell_anew(conn, user).await?;
                return Ok(Followed::Kept);
            }
            if let Some(building) = spaces.building.as_ref().filter(of_these) {
                store::refresh_space(conn, user, building.id, wanted).await?;
                return Ok(Followed::Kept);
            }
        }
        store::delete_building(conn, user).await?;
        let made = store::insert_space(conn, user, wanted, SpaceState::Building, now).await?;
        // Under the lock there is no other.
        let space = made.ok_or(sqlx::Error::RowNotFound)?;
        let texts = store::insert_missing(conn, user, space, now).await?;
        let is_first = spaces.serving().is_none() && because == Because::Behind;
        if texts == 0 || is_first {
            // Nothing to build, or nothing that would serve meanwhile.
            store::retire_active(conn, user, now).await?;
            store::activate(conn, user, space, now).await?;
            return Ok(Followed::Kept);
        }
        Ok(Followed::Building { texts })
    }

    /// The user's first space, with a pending row for each of their items, in the transaction of
    /// an adder. Of many items the rows are left to the job. False where
    /// nothing would compute them.
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
        let now = self.0.clock.now();
        store::insert_space(conn, user, wanted, SpaceState::Active, now).await?;
        if let Some(active) = Spaces::of(conn, user).await?.active {
            store::insert_missing(conn, user, active.id, now).await?;
        }
        Ok(true)
    }

    /// Makes the space that is missing, or that an admin's change asks for: what a
    /// job does first. A rebuild that the user cancelled is not begun again.
    pub(super) async fn follow_if_behind(&self, user: UserId) -> Result<(), EmbeddingError> {
        let mut tx = self.0.db.as_user(user).await?;
        let (settings, effective) = self.effective(&mut tx, user).await?;
        let Some(wanted) = settings.awaited(&effective) else {
            return Ok(());
        };
        let spaces = Spaces::of(&mut tx, user).await?;
        if !spaces.has(wanted) {
            self.follow(&mut tx, user, &effective, Because::Behind)
                .await?;
        }
        // An admin may have changed the key, or put the same provider in force again.
        for space in spaces.outdated(wanted) {
            store::refresh_space(&mut tx, user, space.id, wanted).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Puts the building space in the active one's place if nothing in it is
    /// pending any more: one transaction, while nobody adds. True
    /// where something is pending after all.
    pub(super) async fn swap(
        &self,
        user: UserId,
        building: &Space,
    ) -> Result<bool, EmbeddingError> {
        let now = self.0.clock.now();
        let mut tx = self.0.db.as_writer(user).await?;
        let spaces = Spaces::of(&mut tx, user).await?;
        let is_current = spaces
            .building
            .as_ref()
            .is_some_and(|b| b.id == building.id);
        if !is_current {
            return Ok(false);
        }
        store::insert_missing(&mut tx, user, building.id, now).await?;
        let counts = overview::store::count_states(&mut tx, user, building.id, now).await?;
        let is_complete = counts.pending == 0;
        let is_worth_it = !counts.are_all_failed() || spaces.active.is_none();
        if !is_complete || !is_worth_it {
            if is_complete {
                let sentence = "None of the memories could be embedded; the old vectors serve on.";
                let never = now + time::Duration::days(1);
                drain::store::set_problem(&mut tx, user, building.id, sentence, never).await?;
            }
            tx.commit().await?;
            return Ok(!is_complete);
        }
        store::retire_active(&mut tx, user, now).await?;
        store::forget_removed_key(&mut tx, user).await?;
        store::activate(&mut tx, user, building.id, now).await?;
        tx.commit().await?;
        tracing::info!(
            user = user.0,
            items = counts.ready,
            failed = counts.failed,
            "a rebuilt space took over"
        );
        Ok(false)
    }
}
