//! The reader: what searches read lies in memory, an [`Index`] of each user who searches. Rows are the truth: each
//! search asks for the user's revision first and takes in what has changed since, and what it finds is read from
//! the database under the user's own rights. An index that is stale or wrong shows nothing that the rows would not.

mod held;
pub mod index;
mod residents;
mod store;
pub mod vectors;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgConnection;
use tokio::sync::{OwnedMutexGuard, RwLock, Semaphore};

pub use self::held::{Held, Question};
use self::index::Index;
use self::residents::Residents;
use self::store::{History, Standing, Which};
use super::arms::speakers;
use super::query::SearchQuery;
use crate::db::{Db, Tx, UserId};
use crate::embedding::SpaceId;
use crate::memories::passages::terms;
use crate::memories::words;
use crate::metrics;

/// Changed sources that are read at once.
const REFRESHED: usize = 64;
/// With more changes than this an index is made anew.
const CHANGES_MAX: i64 = 1_000;
/// Indexes that are made at once.
const LOADS_MAX: usize = 2;
/// What a source takes, about: so much is made room for before its index is made.
const BYTES_A_SOURCE: usize = 700;
const LOOKED_AT_EVERY: Duration = Duration::from_secs(60);

type Key = (UserId, Option<SpaceId>);

/// Shared by all searches of this server.
#[derive(Clone)]
pub struct Reader(Arc<Inner>);

struct Inner {
    residents: Mutex<Residents>,
    loads: Semaphore,
    /// Of memories that are larger than all the room there is one is read at a time.
    large: Arc<Semaphore>,
}

/// One user's index with the vectors of one space.
#[derive(Default)]
pub struct Resident {
    /// Held by whoever brings it up to date.
    refreshing: Arc<tokio::sync::Mutex<()>>,
    index: RwLock<Index>,
    /// Up to where it is told; `None` until it is made. Set by whoever writes the index.
    known: Mutex<Option<Known>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    history: History,
    revision: i64,
}

impl Known {
    fn of(standing: &Standing) -> Self {
        Self {
            history: standing.history,
            revision: standing.revision,
        }
    }
}

impl Resident {
    fn known(&self) -> Option<Known> {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_known(&self, known: Option<Known>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    async fn replace(&self, index: Index, known: Option<Known>) {
        let mut held = self.index.write().await;
        self.set_known(known);
        *held = index;
    }
}

/// An index that is behind, and how far it is to be brought.
struct Refresh<'a> {
    resident: &'a Arc<Resident>,
    key: Key,
    known: Known,
    now: Known,
}

/// What a search needs.
pub struct Need<'a> {
    pub user: UserId,
    /// Whose vectors; `None`: of the space that serves.
    pub space: Option<SpaceId>,
    pub theme: Option<&'a str>,
    /// What is asked; `None` where it is by date.
    pub text: Option<&'a str>,
}

impl<'a> Need<'a> {
    pub fn of(user: UserId, query: &'a SearchQuery, space: Option<SpaceId>) -> Self {
        Self {
            user,
            space,
            theme: query.theme(),
            text: query.text.as_deref(),
        }
    }

    /// All terms that the arms may ask for.
    fn terms(&self) -> HashSet<u32> {
        let text = self.text.unwrap_or_default();
        let words = words::query_terms(text)
            .into_iter()
            .flat_map(|term| term.alternatives);
        let names = crate::memories::speakers::names(text).into_iter();
        let names = names.flat_map(|name| speakers::terms(&name.word));
        words
            .map(|word| terms::number(&word))
            .chain(names)
            .chain([index::said()])
            .collect()
    }
}

impl Reader {
    /// For indexes of so many bytes together.
    pub fn new(bytes_max: usize) -> Self {
        let inner = Arc::new(Inner {
            residents: Mutex::new(Residents::new(bytes_max)),
            loads: Semaphore::new(LOADS_MAX),
            large: Arc::new(Semaphore::new(1)),
        });
        let of_inner = Arc::downgrade(&inner);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOKED_AT_EVERY).await;
                let Some(inner) = of_inner.upgrade() else {
                    break;
                };
                Self(inner).residents().drop_unasked();
            }
        });
        Self(inner)
    }

    /// The user's index as it stands now, in a transaction of theirs. Whoever waits for another holds no connection.
    ///
    /// # Errors
    /// Only what the database says; then the index is as it was before, or is not there.
    pub async fn current(&self, db: &Db, need: &Need<'_>) -> Result<(Tx, Held), sqlx::Error> {
        let user = need.user;
        let mut of_key: Option<(Key, Arc<Resident>, bool)> = None;
        loop {
            let before = of_key
                .as_ref()
                .and_then(|(_, resident, _)| resident.known());
            let mut tx = db.as_user(user).await?;
            let standing = store::find_standing(&mut tx, user, need.theme).await?;
            let serving = || standing.serving.space.as_ref().map(|space| space.id);
            let space = need.space.or_else(serving);
            let key = (user, space);
            // It may be dropped while it is brought up to date: that is of no matter to this search.
            let (_, resident, is_large) = match of_key.take() {
                Some(of_key @ (other, ..)) if other == key => of_key,
                _ => {
                    let (resident, is_large) = self.residents().ask_for(key);
                    (key, resident, is_large)
                }
            };
            if is_large {
                drop(tx);
                return self.read_through(db, need).await;
            }
            let now = Known::of(&standing);
            let known = resident.known();
            let is_ahead =
                |known: Known| known.history == now.history && known.revision > now.revision;
            // Where somebody has brought it further since the revision was read here, that is as well.
            let is_further =
                known.is_some_and(is_ahead) && before.is_some_and(|before| !is_ahead(before));
            if known == Some(now) || is_further {
                return Ok((tx, Held::new(resident, &standing, space)));
            }
            // Whether somebody has, or it is of another time, the revision tells that is read after it.
            if known.is_some_and(is_ahead) && before.is_none() {
                of_key = Some((key, resident, false));
                continue;
            }
            let since = known.filter(|known| {
                known.history == now.history
                    && (standing.told_from..=now.revision).contains(&known.revision)
            });
            let mut turn = Arc::clone(&resident.refreshing).try_lock_owned().ok();
            if let Some(known) = since
                && let Some(taken) = turn.take_if(|_| resident.known() == since)
            {
                let refreshing = Refresh {
                    resident: &resident,
                    key,
                    known,
                    now,
                };
                let (is_refreshed, given_back) = self.refresh(&mut tx, refreshing, taken).await?;
                if is_refreshed {
                    return Ok((tx, Held::new(resident, &standing, space)));
                }
                turn = Some(given_back);
            }
            drop(tx);
            let is_large = match turn {
                Some(turn) if since.is_none() || resident.known() == since => {
                    !self.load(db, key, Arc::clone(&resident), turn).await?
                }
                // Somebody else does it, or has done it.
                turn => {
                    drop(turn);
                    drop(resident.refreshing.lock().await);
                    false
                }
            };
            of_key = Some((key, resident, is_large));
        }
    }

    /// The user's indexes are dropped.
    pub fn forget(&self, user: UserId) {
        self.residents().forget(user);
    }

    /// Users with an index, and the bytes that their indexes take, about.
    pub fn held(&self) -> (usize, usize) {
        self.residents().held()
    }

    fn residents(&self) -> MutexGuard<'_, Residents> {
        self.0
            .residents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for an index of so many bytes; false where there is not so much.
    fn make_room(&self, key: Key, resident: &Arc<Resident>, bytes: usize) -> bool {
        self.residents().note(key, resident, bytes)
    }

    /// Makes the index anew, of the rows as they stand at a revision or later: what changes meanwhile is told after
    /// it. It goes on where the search that began it is given up. False where the index is too large to be kept.
    async fn load(
        &self,
        db: &Db,
        key: Key,
        resident: Arc<Resident>,
        turn: OwnedMutexGuard<()>,
    ) -> Result<bool, sqlx::Error> {
        // All of it, whoever asked; what they see of it is left to each search.
        let (reader, db) = (self.clone(), db.of_owner());
        let loading = tokio::spawn(async move {
            let _turn = turn;
            // Never closed.
            let loads = reader.0.loads.acquire().await;
            let _permit = loads.map_err(|_| sqlx::Error::WorkerCrashed)?;
            let began = Instant::now();
            let made = reader.make(&db, key, &resident).await;
            if !matches!(made, Ok(true)) {
                resident.replace(Index::default(), None).await;
            }
            if made.is_err() {
                reader.make_room(key, &resident, 0);
            }
            if let Ok(is_kept) = made {
                metrics::index_loaded(is_kept, began.elapsed());
            }
            made
        });
        loading.await.map_err(|_| sqlx::Error::WorkerCrashed)?
    }

    async fn make(&self, db: &Db, key: Key, resident: &Arc<Resident>) -> Result<bool, sqlx::Error> {
        let user = key.0;
        let mut tx = db.as_user(user).await?;
        let standing = store::find_standing(&mut tx, user, None).await?;
        let sources = store::count_sources(&mut tx, user).await?;
        let expected = usize::try_from(sources).unwrap_or(0) * BYTES_A_SOURCE;
        if !self.make_room(key, resident, expected) {
            return Ok(false);
        }
        let has_room = |index: &Index| {
            let bytes = index.bytes().max(expected);
            self.make_room(key, resident, bytes)
        };
        let read = read_all(&mut tx, key, Index::default(), true, has_room).await?;
        drop(tx);
        let Some(index) = read else {
            return Ok(self.make_room(key, resident, usize::MAX));
        };
        let bytes = index.bytes();
        resident.replace(index, Some(Known::of(&standing))).await;
        Ok(self.make_room(key, resident, bytes))
    }

    /// Takes in what has changed. False where that is too much, or the index is worn. The turn is given back once no
    /// thread works on the index any more, whoever has given up waiting.
    async fn refresh(
        &self,
        conn: &mut PgConnection,
        of: Refresh<'_>,
        mut turn: OwnedMutexGuard<()>,
    ) -> Result<(bool, OwnedMutexGuard<()>), sqlx::Error> {
        let (user, space) = of.key;
        let changed = store::list_changed(conn, user, of.known.revision, CHANGES_MAX + 1).await?;
        if changed.len() > CHANGES_MAX as usize || of.resident.index.read().await.is_worn() {
            return Ok((false, turn));
        }
        metrics::index_refreshed();
        for some in changed.chunks(REFRESHED) {
            let rows = store::list_sources(conn, user, space, Which::These(some), true).await?;
            let (resident, some) = (Arc::clone(of.resident), some.to_vec());
            let has_numbers;
            (has_numbers, turn) = on_a_thread(move || {
                let there: HashSet<i64> = rows.iter().map(|row| row.id).collect();
                let mut index = resident.index.blocking_write();
                for id in some.iter().filter(|id| !there.contains(id)) {
                    index.remove(*id);
                }
                let has_numbers = rows.into_iter().all(|row| index.put(row));
                if index.is_unsettled() {
                    index.settle();
                }
                (has_numbers, turn)
            })
            .await?;
            if !has_numbers {
                return Ok((false, turn));
            }
        }
        of.resident.set_known(Some(of.now));
        let bytes = of.resident.index.read().await.bytes();
        self.make_room(of.key, of.resident, bytes);
        Ok((true, turn))
    }

    /// All of a memory that is too large to be kept, read for one search: of its terms those that are asked for, and
    /// no vectors yet ([`Held::measure`]).
    async fn read_through(&self, db: &Db, need: &Need<'_>) -> Result<(Tx, Held), sqlx::Error> {
        metrics::searched_large();
        let turn = Arc::clone(&self.0.large).acquire_owned().await;
        let turn = turn.map_err(|_| sqlx::Error::WorkerCrashed)?;
        let mut tx = db.as_user(need.user).await?;
        let standing = store::find_standing(&mut tx, need.user, need.theme).await?;
        let serving = || standing.serving.space.as_ref().map(|space| space.id);
        let space = need.space.or_else(serving);
        let index = Index::of_terms(need.terms());
        let read = read_all(&mut tx, (need.user, space), index, false, |_| true).await?;
        // It has more passages than there are numbers.
        let resident = Arc::new(Resident::default());
        let index = read.ok_or(sqlx::Error::WorkerCrashed)?;
        resident.replace(index, None).await;
        let mut held = Held::new(resident, &standing, space);
        held.large = Some(Arc::new(turn));
        Ok((tx, held))
    }
}

/// All sources of a user into this index, a page read while the one before is taken in.
/// `None` where there are too many, or there `is_room` for no more.
async fn read_all(
    conn: &mut PgConnection,
    (user, space): Key,
    mut index: Index,
    with_vectors: bool,
    is_room: impl Fn(&Index) -> bool,
) -> Result<Option<Index>, sqlx::Error> {
    let mut rows = store::list_page(conn, user, space, 0, with_vectors).await?;
    while let Some(last) = rows.last() {
        let last = last.id;
        let taking = on_a_thread(move || {
            let has_numbers = index.load(rows);
            (index, has_numbers)
        });
        let reading = store::list_page(conn, user, space, last, with_vectors);
        let (taken, read) = tokio::join!(taking, reading);
        let has_numbers;
        ((index, has_numbers), rows) = (taken?, read?);
        if !has_numbers || !is_room(&index) {
            return Ok(None);
        }
    }
    let settling = on_a_thread(move || {
        index.settle();
        index
    });
    Ok(Some(settling.await?))
}

/// For what takes longer than the threads of requests may.
pub async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, sqlx::Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| sqlx::Error::WorkerCrashed)
}
