//! Password hashing: argon2id with 19 MiB and two passes, on blocking threads. At most two run at a time and a bounded number
//! wait, so that a flood of sign-ins cannot use up memory or cores. An unknown user takes as long as a known one.

use std::sync::{Arc, OnceLock};

use argon2::password_hash::{
    PasswordHash, PasswordHasher, PasswordVerifier, SaltString, rand_core,
};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use super::model::Password;

const LANES: u32 = 1;
const HASHES_AT_ONCE: usize = 2;
/// About a second of work on two cores; longer waits are not acceptable for users.
const WAITING_MAX: usize = 64;

/// What a new hash costs; an old one is verified at the cost it was made with.
#[derive(Clone, Copy, Debug)]
pub struct HashCost {
    pub memory_kib: u32,
    pub passes: u32,
}

impl Default for HashCost {
    /// As OWASP recommends for argon2id.
    fn default() -> Self {
        Self { memory_kib: 19 * 1024, passes: 2 }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum HashError {
    #[error("too many passwords are being checked at this moment")]
    Busy,
    #[error("the password could not be hashed: {0}")]
    Failed(String),
}

/// Allows two at a time, and rejects when the queue is full.
pub(super) struct HashingQueue {
    cost: HashCost,
    /// The hash that an unknown user's password is compared with.
    nobody: Arc<OnceLock<String>>,
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

/// A place in the queue. Acquired before any look-up, so that a rejected request costs no query.
pub(super) struct QueuePlace(OwnedSemaphorePermit);

impl HashingQueue {
    pub(super) fn new(cost: HashCost) -> Self {
        Self {
            cost,
            nobody: Arc::default(),
            turns: Arc::new(Semaphore::new(HASHES_AT_ONCE)),
            places: Arc::new(Semaphore::new(WAITING_MAX)),
        }
    }

    /// Number of waiting passwords, at most [`WAITING_MAX`].
    pub(super) fn count_waiting(&self) -> usize {
        WAITING_MAX - self.places.available_permits()
    }

    pub(super) fn place(&self) -> Result<QueuePlace, HashError> {
        let place = self.places.clone().try_acquire_owned();
        place.map(QueuePlace).map_err(|_| HashError::Busy)
    }

    /// A hash in PHC format, with parameters and salt.
    pub(super) async fn hash(
        &self,
        place: QueuePlace,
        password: Password,
    ) -> Result<String, HashError> {
        let cost = self.cost;
        self.pass(place, move || hash_now(password.as_bytes(), cost)).await?
    }

    /// Whether the password matches the hash; without a hash, false after the same time.
    pub(super) async fn verify(
        &self,
        place: QueuePlace,
        password: Password,
        hash: Option<String>,
    ) -> Result<bool, HashError> {
        let (cost, nobody) = (self.cost, self.nobody.clone());
        self.pass(place, move || {
            let nobody =
                nobody.get_or_init(|| hash_now(b"nobody's password", cost).unwrap_or_default());
            let known = hash.is_some();
            let hash = hash.as_deref().unwrap_or(nobody);
            let matches = PasswordHash::new(hash).is_ok_and(|hash| {
                Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
            });
            known && matches
        })
        .await
    }

    /// The permit moves into the work: a client that disconnects does not release it early.
    async fn pass<T: Send + 'static>(
        &self,
        QueuePlace(place): QueuePlace,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HashError> {
        let turn = self.turns.clone().acquire_owned().await;
        drop(place);
        spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
        .map_err(|e| HashError::Failed(e.to_string()))
    }
}

fn hash_now(password: &[u8], cost: HashCost) -> Result<String, HashError> {
    let salt = SaltString::generate(&mut rand_core::OsRng);
    let params = Params::new(cost.memory_kib, cost.passes, LANES, None).unwrap_or_default();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash =
        argon2.hash_password(password, &salt).map_err(|e| HashError::Failed(e.to_string()))?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::future::{join_all, select};

    use super::*;

    /// 200 at once, half of which are cancelled while waiting or running.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn two_work_at_once_the_queue_is_bounded_and_hanging_up_frees_no_turn() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let queue = Arc::new(HashingQueue::new(HashCost::default()));
        let work = || {
            MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        };
        let tries = (0..200_u64).map(|n| {
            let queue = queue.clone();
            async move {
                let Ok(place) = queue.place() else {
                    return false;
                };
                let passing = Box::pin(async { queue.pass(place, work).await.is_ok() });
                if n % 2 == 0 {
                    return passing.await;
                }
                let patience = Box::pin(tokio::time::sleep(Duration::from_millis(n % 9)));
                select(passing, patience).await;
                true
            }
        });
        let admitted = join_all(tries).await.iter().filter(|a| **a).count();
        assert!(admitted < 200, "nobody was turned away");
        assert!(MOST.load(Ordering::SeqCst) <= HASHES_AT_ONCE);
        assert_eq!(queue.places.available_permits(), WAITING_MAX);
    }

    #[tokio::test]
    async fn the_server_hashes_with_argon2id_19_mib_and_two_passes() -> Result<(), HashError> {
        let queue = HashingQueue::new(HashCost::default());
        let password = Password::parse_new("password", "correct horse battery").ok();
        let password = password.expect("a password");
        let hash = queue.hash(queue.place()?, password.clone()).await?;
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        // Whatever new hashes cost, an old one is verified; and nobody has a password.
        let cheap = HashingQueue::new(HashCost { memory_kib: 8, passes: 1 });
        assert!(cheap.verify(cheap.place()?, password.clone(), Some(hash)).await?);
        assert!(!cheap.verify(cheap.place()?, password, None).await?);
        Ok(())
    }
}
