//! The reader keeps one in-memory [`Index`] per searching user. The database is authoritative: each search first reads the
//! user's revision and applies changes since then, and reads its hits under the user's own rights. So a stale or wrong index
//! never shows more than the rows would.

mod held;
pub mod index;
mod numbers;
mod owners;
mod residents;
pub mod seen;
mod store;
pub mod vectors;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::PgConnection;
use tokio::sync::{OwnedMutexGuard, RwLock, Semaphore};

pub use self::held::SearchIndex;
use self::index::Index;
use self::residents::Residents;
use self::store::{History, MemoryState, SourceRange};
use super::query::{SearchQuery, ThemeFilter};
use crate::db::{Db, Tx, UserId};
use crate::embedding::SpaceId;
use crate::memories::passages::terms;
use crate::memories::words;
use crate::metrics;

/// Changed sources read per statement.
const REFRESHED: usize = 64;
/// With more changes than this, the index is rebuilt.
const CHANGES_MAX: i64 = 1_000;
/// Limit on concurrent index builds.
const LOADS_MAX: usize = 2;
/// Approximate size of a passage with a vector of 384 dimensions, to reserve memory before an index is built.
const BYTES_A_PASSAGE: usize = 700;
const LOOKED_AT_EVERY: Duration = Duration::from_secs(60);

type ResidentKey = (UserId, Option<SpaceId>);

/// Shared by all searches of this server.
#[derive(Clone)]
pub struct Reader(Arc<ReaderInner>);

struct ReaderInner {
    residents: Mutex<Residents>,
    loads: Semaphore,
    /// Serializes searches of memories that do not fit: one at a time.
    large: Arc<Semaphore>,
}

/// One user's index with the embeddings of one space.
#[derive(Default)]
pub struct Resident {
    /// Locked by the task that updates it.
    refreshing: Arc<tokio::sync::Mutex<()>>,
    index: RwLock<Index>,
    /// The revision of the index; `None` until it is built. Set while holding the index's write lock, or `refreshing`.
    known: Mutex<Option<KnownRevision>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct KnownRevision {
    history: History,
    revision: i64,
}

impl KnownRevision {
    fn of(standing: &MemoryState) -> Self {
        Self { history: standing.history, revision: standing.revision }
    }
}

impl Resident {
    fn known(&self) -> Option<KnownRevision> {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_known(&self, known: Option<KnownRevision>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    async fn replace(&self, index: Index, known: Option<KnownRevision>) {
        let mut held = self.index.write().await;
        self.set_known(known);
        *held = index;
    }
}

/// An outdated index and its target revision.
struct Refresh<'a> {
    resident: &'a Arc<Resident>,
    key: ResidentKey,
    known: KnownRevision,
    now: KnownRevision,
}

/// The needs of a search.
pub struct IndexRequest<'a> {
    pub user: UserId,
    /// The space of the embeddings; `None`: the serving one.
    pub space: Option<SpaceId>,
    pub theme: Option<&'a ThemeFilter>,
    /// `None` for a listing by date.
    pub text: Option<&'a str>,
}

impl<'a> IndexRequest<'a> {
    pub fn of(user: UserId, query: &'a SearchQuery, space: Option<SpaceId>) -> Self {
        Self { user, space, theme: query.filters.theme.as_ref(), text: query.text.as_deref() }
    }

    /// All terms that the arms may look up.
    fn terms(&self) -> HashSet<u32> {
        let text = self.text.unwrap_or_default();
        let words = words::query_terms(text).into_iter().flat_map(|term| term.alternatives);
        let names = crate::memories::speakers::names(text).into_iter();
        let names = names.flat_map(|name| index::terms_of_name(&name.word));
        words
            .map(|word| terms::number(&word))
            .chain(names)
            .chain([index::said(), terms::chatter()])
            .collect()
    }
}

impl Reader {
    /// Limits all indexes together to this size.
    pub fn new(bytes_max: usize) -> Self {
        let inner = Arc::new(ReaderInner {
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

    /// The user's up-to-date index and a transaction of the user. Holds no connection while it waits for another task.
    ///
    /// # Errors
    /// Database errors only; the index is then unchanged or removed.
    pub async fn current(
        &self,
        db: &Db,
        need: &IndexRequest<'_>,
    ) -> Result<(Tx, SearchIndex), sqlx::Error> {
        let user = need.user;
        let mut of_key: Option<(ResidentKey, Arc<Resident>, bool)> = None;
        loop {
            let before = of_key.as_ref().and_then(|(_, resident, _)| resident.known());
            let mut tx = db.as_user(user).await?;
            let standing = store::find_standing(&mut tx, user, need.theme).await?;
            let serving = || standing.serving.space.as_ref().map(|space| space.id);
            let space = need.space.or_else(serving);
            let key = (user, space);
            // The cache may evict it during the update; this search keeps its own reference.
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
            let now = KnownRevision::of(&standing);
            let known = resident.known();
            let is_ahead = |known: KnownRevision| {
                known.history == now.history && known.revision > now.revision
            };
            // Another task has updated it since this transaction read the revision: a newer index is fine.
            let is_further =
                known.is_some_and(is_ahead) && before.is_some_and(|before| !is_ahead(before));
            if known == Some(now) || is_further {
                return Ok((tx, SearchIndex::new(resident, &standing, space)));
            }
            // Either another task updated it, or the database went back to an older state: read the revision again to tell.
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
                let refreshing = Refresh { resident: &resident, key, known, now };
                let (is_refreshed, given_back) = self.refresh(&mut tx, refreshing, taken).await?;
                if is_refreshed {
                    return Ok((tx, SearchIndex::new(resident, &standing, space)));
                }
                turn = Some(given_back);
            }
            drop(tx);
            let is_large = match turn {
                Some(turn) if since.is_none() || resident.known() == since => {
                    !self.load(db, key, Arc::clone(&resident), turn).await?
                }
                // Another task is building it, or has built it: wait and check again.
                turn => {
                    drop(turn);
                    drop(resident.refreshing.lock().await);
                    false
                }
            };
            of_key = Some((key, resident, is_large));
        }
    }

    /// Drops all indexes of the user.
    pub fn forget(&self, user: UserId) {
        self.residents().forget(user);
    }

    /// The number of indexes, and their approximate size in bytes.
    pub fn held(&self) -> (usize, usize) {
        self.residents().held()
    }

    fn residents(&self) -> MutexGuard<'_, Residents> {
        self.0.residents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves memory for an index; false if it is too large.
    fn make_room(&self, key: ResidentKey, resident: &Arc<Resident>, bytes: usize) -> bool {
        self.residents().note(key, resident, bytes)
    }

    /// Rebuilds the index from the rows at a revision or later; changes made meanwhile are applied again afterwards.
    /// Continues even if the search that started it is cancelled. Returns false if the index is too large to keep.
    async fn load(
        &self,
        db: &Db,
        key: ResidentKey,
        resident: Arc<Resident>,
        turn: OwnedMutexGuard<()>,
    ) -> Result<bool, sqlx::Error> {
        // Read with the owner's rights: the index holds everything, and each search applies its own scope.
        let (reader, db) = (self.clone(), db.of_owner());
        let loading = tokio::spawn(async move {
            let _turn = turn;
            // The semaphore is never closed.
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

    async fn make(
        &self,
        db: &Db,
        key: ResidentKey,
        resident: &Arc<Resident>,
    ) -> Result<bool, sqlx::Error> {
        let user = key.0;
        let mut tx = db.as_user(user).await?;
        let standing = store::find_standing(&mut tx, user, None).await?;
        let passages = store::count_passages(&mut tx, user).await?;
        let expected = usize::try_from(passages).unwrap_or(0) * BYTES_A_PASSAGE;
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
        resident.replace(index, Some(KnownRevision::of(&standing))).await;
        Ok(self.make_room(key, resident, bytes))
    }

    /// Applies the changes. Returns false if there are too many, or the index should be rebuilt. The lock moves into the
    /// blocking task, so it stays held until that ends, even if the search is cancelled.
    async fn refresh(
        &self,
        conn: &mut PgConnection,
        of: Refresh<'_>,
        mut turn: OwnedMutexGuard<()>,
    ) -> Result<(bool, OwnedMutexGuard<()>), sqlx::Error> {
        let (user, space) = of.key;
        let changed = store::list_changed(conn, user, of.known.revision, CHANGES_MAX + 1).await?;
        if changed.len() > CHANGES_MAX as usize || of.resident.index.read().await.needs_rebuild() {
            return Ok((false, turn));
        }
        metrics::index_refreshed();
        for some in changed.chunks(REFRESHED) {
            let rows =
                store::list_sources(conn, user, space, SourceRange::These(some), true).await?;
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

    /// Reads a memory that is too large to keep, for one search: only the postings of the query's terms, and no embeddings
    /// yet ([`SearchIndex::measure`]).
    async fn read_through(
        &self,
        db: &Db,
        need: &IndexRequest<'_>,
    ) -> Result<(Tx, SearchIndex), sqlx::Error> {
        metrics::searched_large();
        let turn = Arc::clone(&self.0.large).acquire_owned().await;
        let turn = turn.map_err(|_| sqlx::Error::WorkerCrashed)?;
        let mut tx = db.as_user(need.user).await?;
        let standing = store::find_standing(&mut tx, need.user, need.theme).await?;
        let serving = || standing.serving.space.as_ref().map(|space| space.id);
        let space = need.space.or_else(serving);
        let index = Index::of_terms(need.terms());
        let read = read_all(&mut tx, (need.user, space), index, false, |_| true).await?;
        // `None`: more passages than the index can number.
        let resident = Arc::new(Resident::default());
        let index = read.ok_or(sqlx::Error::WorkerCrashed)?;
        resident.replace(index, None).await;
        let mut held = SearchIndex::new(resident, &standing, space);
        held.large = Some(Arc::new(turn));
        Ok((tx, held))
    }
}

/// Loads all sources of a user into the index. Reads a page while the previous one is added. `None` if there are too many
/// passages, or `is_room` returns false.
async fn read_all(
    conn: &mut PgConnection,
    (user, space): ResidentKey,
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

/// Runs work that would block the request threads too long.
pub async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, sqlx::Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| sqlx::Error::WorkerCrashed)
}
