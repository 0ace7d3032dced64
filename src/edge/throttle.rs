//! Limits password guessing, and calls that make the server contact endpoints: tries per account and network,
//! per network, and per user. Kept in this server's memory, bounded even under a flood of distinct keys. It
//! stores no account addresses: accounts are identified by a hash keyed per process.
//!
//! A stranger must not be able to lock out the owner. So tries are refused by account and network together;
//! many tries at one account from everywhere only slow each try down.
//!
//! Invalid tokens are not counted. A token has 256 random bits, so guessing is hopeless; a wrong one costs
//! two index look-ups, a malformed one none. A limit by address would lock out honest agents behind the same
//! one.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use lru::LruCache;

use super::error::Problem;
use crate::accounts::UserId;

/// Per account and network: typing errors are not hindered, but a guesser gets one try in 12 s.
const PER_ACCOUNT_PER_MINUTE: NonZeroU32 = NonZeroU32::new(5).unwrap();
const PER_ACCOUNT_BURST: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// Per account from everywhere; beyond it every try waits, the owner's too.
const EVERYWHERE_PER_MINUTE: NonZeroU32 = NonZeroU32::new(20).unwrap();
const EVERYWHERE_BURST: NonZeroU32 = NonZeroU32::new(40).unwrap();
const SLOWED_BY: Duration = Duration::from_secs(2);
/// Enough for a family or an office behind one address.
const PER_ADDRESS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(30).unwrap();
const PER_ADDRESS_BURST: NonZeroU32 = NonZeroU32::new(60).unwrap();
/// Each test makes this server send four texts to an endpoint.
const TESTS_PER_USER_PER_MINUTE: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// Each lets this server fetch a document of an OAuth client.
const DOCUMENTS_PER_USER_PER_MINUTE: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// A service that connects many people registers a client for each.
const REGISTRATIONS_PER_ADDRESS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(10).unwrap();
const REGISTRATIONS_BURST: NonZeroU32 = NonZeroU32::new(30).unwrap();
/// Maximum keys of each kind; beyond it the least recently used is evicted. At most about 4 MB.
const KEYS_MAX: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

const SIGN_IN_SENTENCE: &str = "Too many attempts; wait a minute, then try again.";
const TEST_SENTENCE: &str =
    "Too many tests, each of which calls the endpoint; wait a moment, then test again.";

const DOCUMENT_SENTENCE: &str =
    "Too many programs were connected within a minute; wait a moment, then try again.";
const REGISTRATION_SENTENCE: &str =
    "Too many clients were registered from this network; wait a minute, then try again.";

pub struct Throttles {
    /// By the account's hash and the network.
    accounts: Limits<(u64, IpAddr)>,
    /// By the account's hash.
    everywhere: Limits<u64>,
    hasher: RandomState,
    networks: Limits<IpAddr>,
    tests: Limits<UserId>,
    documents: Limits<UserId>,
    registrations: Limits<IpAddr>,
}

impl Default for Throttles {
    fn default() -> Self {
        let account = Quota::per_minute(PER_ACCOUNT_PER_MINUTE).allow_burst(PER_ACCOUNT_BURST);
        let everywhere = Quota::per_minute(EVERYWHERE_PER_MINUTE).allow_burst(EVERYWHERE_BURST);
        let registration = Quota::per_minute(REGISTRATIONS_PER_ADDRESS_PER_MINUTE)
            .allow_burst(REGISTRATIONS_BURST);
        let address = Quota::per_minute(PER_ADDRESS_PER_MINUTE).allow_burst(PER_ADDRESS_BURST);
        Self {
            accounts: Limits::new(account),
            everywhere: Limits::new(everywhere),
            hasher: RandomState::new(),
            networks: Limits::new(address),
            tests: Limits::new(Quota::per_minute(TESTS_PER_USER_PER_MINUTE)),
            documents: Limits::new(Quota::per_minute(DOCUMENTS_PER_USER_PER_MINUTE)),
            registrations: Limits::new(registration),
        }
    }
}

impl Throttles {
    /// Counts a sign-in try and admits it, after a pause if too many come from everywhere.
    pub async fn admit_sign_in(&self, account: &str, address: IpAddr) -> Result<(), Problem> {
        let pause = self.check_sign_in(account, address)?;
        tokio::time::sleep(pause).await;
        Ok(())
    }

    /// Checks the network first, so that a blocked network uses up no account's tries.
    fn check_sign_in(&self, account: &str, address: IpAddr) -> Result<Duration, Problem> {
        let network = network_of(address);
        let account = self.hasher.hash_one(account);
        self.networks
            .try_once(network)
            .and_then(|()| self.accounts.try_once((account, network)))
            .map_err(|wait_s| Problem::throttled(SIGN_IN_SENTENCE, wait_s))?;
        Ok(match self.everywhere.try_once(account) {
            Ok(()) => Duration::ZERO,
            Err(_) => SLOWED_BY,
        })
    }

    /// Counts a test of an endpoint.
    pub fn check_test(&self, user: UserId) -> Result<(), Problem> {
        self.tests.try_once(user).map_err(|wait_s| Problem::throttled(TEST_SENTENCE, wait_s))
    }

    /// Counts the document of an OAuth client that is fetched for this user.
    pub fn check_document(&self, user: UserId) -> Result<(), Problem> {
        self.documents
            .try_once(user)
            .map_err(|wait_s| Problem::throttled(DOCUMENT_SENTENCE, wait_s))
    }

    /// Counts a client that registers itself.
    pub fn check_registration(&self, address: IpAddr) -> Result<(), Problem> {
        self.registrations
            .try_once(network_of(address))
            .map_err(|wait_s| Problem::throttled(REGISTRATION_SENTENCE, wait_s))
    }
}

/// One quota per key. Eviction takes constant time and does not help a guesser: evicting a key takes ten
/// thousand tries with other keys.
struct Limits<K: Hash + Eq> {
    quota: Quota,
    keys: Mutex<LruCache<K, DefaultDirectRateLimiter>>,
}

impl<K: Hash + Eq> Limits<K> {
    fn new(quota: Quota) -> Self {
        Self { quota, keys: Mutex::new(LruCache::new(KEYS_MAX)) }
    }

    /// On refusal, the seconds until the next try is admitted.
    fn try_once(&self, key: K) -> Result<(), u64> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let limiter = keys.get_or_insert(key, || RateLimiter::direct(self.quota));
        limiter.check().map_err(|refused| {
            let wait = refused.wait_time_from(limiter.clock().now());
            wait.as_secs() + 1
        })
    }
}

/// The owner of one IPv6 address has the whole /64 network.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_eleventh_try_for_one_account_is_refused_and_others_go_on() {
        let throttles = Throttles::default();
        let address = ip("127.0.0.1");
        let admits = |account| throttles.check_sign_in(account, address).is_ok();
        assert!((0..10).all(|_| admits("a@example.com")));
        let refused = throttles.check_sign_in("a@example.com", address);
        let problem = refused.expect_err("one too many");
        assert_eq!(problem.status.as_u16(), 429);
        assert!(problem.retry_after_s().is_some_and(|s| (1..=13).contains(&s)));
        assert!(admits("b@example.com"));
    }

    #[test]
    fn strangers_slow_an_account_down_and_never_lock_its_owner_out() {
        let throttles = Throttles::default();
        let guess = |network: u32| {
            let address = ip(&format!("198.51.{}.{}", network / 250, network % 250 + 1));
            (0..11).map(move |_| address)
        };
        let refused = (0..100)
            .flat_map(guess)
            .filter(|address| throttles.check_sign_in("a@example.com", *address).is_err());
        assert_eq!(refused.count(), 100, "the eleventh of each network");
        let owner = throttles.check_sign_in("a@example.com", ip("203.0.113.9"));
        assert_eq!(owner.expect("not locked out"), SLOWED_BY);
        let other = throttles.check_sign_in("b@example.com", ip("203.0.113.9"));
        assert_eq!(other.expect("another account"), Duration::ZERO);
    }

    #[test]
    fn a_network_of_ipv6_is_throttled_as_one() {
        let throttles = Throttles::default();
        let admits = |n: u32, address: &str| {
            let account = format!("{n}@example.com");
            throttles.check_sign_in(&account, ip(address)).is_ok()
        };
        assert!((0..60).all(|n| admits(n, &format!("2001:db8:1:2::{n:x}"))));
        assert!(!admits(61, "2001:db8:1:2:ffff::1"));
        assert!(admits(62, "2001:db8:1:3::1"));
        assert_eq!(network_of(ip("::ffff:192.0.2.7")), ip("192.0.2.7"));
    }

    #[test]
    fn the_eleventh_test_of_an_endpoint_within_a_minute_is_refused() {
        let throttles = Throttles::default();
        assert!((0..10).all(|_| throttles.check_test(UserId(1)).is_ok()));
        assert!(throttles.check_test(UserId(1)).is_err());
        assert!(throttles.check_test(UserId(2)).is_ok());
    }

    #[test]
    fn a_flood_of_distinct_keys_takes_bounded_memory_and_no_longer_a_try() {
        let limits = Limits::new(Quota::per_minute(PER_ACCOUNT_PER_MINUTE));
        let round = |from: usize| {
            let start = Instant::now();
            (from..from + KEYS_MAX.get()).for_each(|key| {
                limits.try_once(key).ok();
            });
            start.elapsed()
        };
        let filling = round(0);
        let flooded = (1..=20).map(|n| round(n * KEYS_MAX.get())).min();
        let kept = limits.keys.lock().expect("not poisoned").len();
        assert_eq!(kept, KEYS_MAX.get());
        // Scanning all keys at each try would take thousands of times longer.
        assert!(flooded.is_some_and(|flooded| flooded < filling * 20), "{flooded:?}");
    }
}
