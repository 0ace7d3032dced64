//! Slows down guessing: so many sign-ins for an address on the network, and so
//! many for an account. Kept in this server's memory.

use std::net::IpAddr;
use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// A person who mistypes is not hindered; a guesser gets one try in 12 s.
const PER_ACCOUNT_PER_MINUTE: NonZeroU32 = NonZeroU32::new(5).unwrap();
const PER_ACCOUNT_BURST: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// A family or an office behind one address.
const PER_ADDRESS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(30).unwrap();
const PER_ADDRESS_BURST: NonZeroU32 = NonZeroU32::new(60).unwrap();
/// Past this many keys, those at rest are forgotten.
const KEYS_MAX: usize = 10_000;

pub const THROTTLED_SENTENCE: &str =
    "Too many tries in a short time; wait a minute, then try again.";

pub struct SignInThrottle {
    accounts: DefaultKeyedRateLimiter<String>,
    addresses: DefaultKeyedRateLimiter<IpAddr>,
}

impl SignInThrottle {
    pub fn new() -> Self {
        let account = Quota::per_minute(PER_ACCOUNT_PER_MINUTE).allow_burst(PER_ACCOUNT_BURST);
        let address = Quota::per_minute(PER_ADDRESS_PER_MINUTE).allow_burst(PER_ADDRESS_BURST);
        Self {
            accounts: RateLimiter::keyed(account),
            addresses: RateLimiter::keyed(address),
        }
    }

    /// Counts a try; false when it is one too many.
    pub fn admits(&self, account: &str, address: IpAddr) -> bool {
        if self.accounts.len() + self.addresses.len() > KEYS_MAX {
            self.accounts.retain_recent();
            self.addresses.retain_recent();
        }
        let by_address = self.addresses.check_key(&address).is_ok();
        by_address && self.accounts.check_key(&account.to_owned()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_try_for_one_account_is_refused_and_others_go_on() {
        let throttle = SignInThrottle::new();
        let address = IpAddr::from([127, 0, 0, 1]);
        assert!((0..10).all(|_| throttle.admits("a@example.com", address)));
        assert!(!throttle.admits("a@example.com", address));
        assert!(throttle.admits("b@example.com", address));
    }
}
