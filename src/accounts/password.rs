//! Passwords: argon2id with 19 MiB and two passes, off the async threads, at
//! most two at a time, so that a flood of sign-ins takes neither the memory nor
//! the cores. An unknown user costs as much time as a known one.

use std::sync::LazyLock;

use argon2::password_hash::{
    PasswordHash, PasswordHasher, PasswordVerifier, SaltString, rand_core,
};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::model::Password;

const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const HASHES_AT_ONCE: usize = 2;

static TURNSTILE: Semaphore = Semaphore::const_new(HASHES_AT_ONCE);

/// What an unknown user's password is compared with.
static NOBODY: LazyLock<String> =
    LazyLock::new(|| hash_now(b"nobody's password").unwrap_or_default());

#[derive(Debug, thiserror::Error)]
#[error("the password could not be hashed: {0}")]
pub struct HashError(String);

/// A hash in PHC form, parameters and salt included.
pub async fn hash(password: Password) -> Result<String, HashError> {
    let _turn = TURNSTILE.acquire().await;
    spawn_blocking(move || hash_now(password.as_bytes()))
        .await
        .map_err(|e| HashError(e.to_string()))?
}

/// Whether the password is the one that was hashed; with no hash, false after
/// the same time.
pub async fn verify(password: Password, hash: Option<String>) -> bool {
    let _turn = TURNSTILE.acquire().await;
    let check = move || {
        let known = hash.is_some();
        let hash = hash.as_deref().unwrap_or(&NOBODY);
        let matches = PasswordHash::new(hash)
            .is_ok_and(|hash| argon2().verify_password(password.as_bytes(), &hash).is_ok());
        known && matches
    };
    spawn_blocking(check).await.unwrap_or(false)
}

fn hash_now(password: &[u8]) -> Result<String, HashError> {
    let salt = SaltString::generate(&mut rand_core::OsRng);
    let hash = argon2()
        .hash_password(password, &salt)
        .map_err(|e| HashError(e.to_string()))?;
    Ok(hash.to_string())
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}
