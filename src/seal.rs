//! Seals secrets that must be read again (providers' keys) before they reach the
//! database, and opens them. Each is bound to the user and the column it was
//! sealed for: copied into another's row it does not open (DESIGN §9).

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};

const KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 8;
const NONCE_BYTES: usize = 24;
/// The first byte of everything sealed: how the rest is made.
const FORMAT: u8 = 1;
const KEY_FILE: &str = "secret-key";

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("the operating system has no randomness to give")]
    Randomness,
    #[error("the secret was sealed with another KEEPSAKE_SECRET_KEY; give it anew")]
    OtherKey,
    #[error("the sealed secret is damaged; give it anew")]
    Damaged,
}

/// What a secret belongs to; part of what is authenticated, not of what is kept.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// 0 for what is the system's.
    pub user_id: i64,
    /// `table.column`
    pub column: &'static str,
}

/// Cheap to clone; shows nothing of its key.
#[derive(Clone)]
pub struct Sealer(Arc<Key>);

struct Key {
    id: [u8; KEY_ID_BYTES],
    cipher: XChaCha20Poly1305,
}

impl Sealer {
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        let digest = Sha256::new()
            .chain_update(b"keepsake key id")
            .chain_update(key)
            .finalize();
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&digest[..KEY_ID_BYTES]);
        Self(Arc::new(Key {
            id,
            cipher: XChaCha20Poly1305::new(key.into()),
        }))
    }

    /// With `KEEPSAKE_SECRET_KEY`, or with the key in the data folder, which is
    /// made when there is none.
    pub fn of(configured: Option<&SecretKey>, data_dir: &Path) -> anyhow::Result<Self> {
        match configured {
            Some(key) => Ok(Self::new(&key.0)),
            None => key_of_folder(data_dir).map(|key| Self::new(&key)),
        }
    }

    /// Format, key id, nonce, ciphertext.
    pub fn seal(&self, bound: Bound, secret: &str) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_BYTES];
        OsRng
            .try_fill_bytes(&mut nonce)
            .map_err(|_| SealError::Randomness)?;
        let aad = self.authenticated(bound);
        let payload = Payload {
            msg: secret.as_bytes(),
            aad: &aad,
        };
        let sealed = self.0.cipher.encrypt(XNonce::from_slice(&nonce), payload);
        let mut out = vec![FORMAT];
        out.extend(self.0.id);
        out.extend(nonce);
        out.extend(sealed.map_err(|_| SealError::Damaged)?);
        Ok(out)
    }

    pub fn open(&self, bound: Bound, sealed: &[u8]) -> Result<String, SealError> {
        let head = 1 + KEY_ID_BYTES + NONCE_BYTES;
        if sealed.len() < head || sealed[0] != FORMAT {
            return Err(SealError::Damaged);
        }
        if sealed[1..=KEY_ID_BYTES] != self.0.id {
            return Err(SealError::OtherKey);
        }
        let aad = self.authenticated(bound);
        let payload = Payload {
            msg: &sealed[head..],
            aad: &aad,
        };
        let nonce = XNonce::from_slice(&sealed[1 + KEY_ID_BYTES..head]);
        let opened = self.0.cipher.decrypt(nonce, payload);
        String::from_utf8(opened.map_err(|_| SealError::Damaged)?).map_err(|_| SealError::Damaged)
    }

    fn authenticated(&self, bound: Bound) -> Vec<u8> {
        let mut aad = self.0.id.to_vec();
        aad.extend(bound.user_id.to_be_bytes());
        aad.extend(bound.column.as_bytes());
        aad
    }
}

/// `KEEPSAKE_SECRET_KEY`: 32 bytes in base64 or hex.
#[derive(Clone)]
pub struct SecretKey([u8; KEY_BYTES]);

impl SecretKey {
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let bytes = match text.len() {
            64 => (0..KEY_BYTES)
                .map(|i| u8::from_str_radix(text.get(i * 2..i * 2 + 2)?, 16).ok())
                .collect::<Option<Vec<u8>>>()?,
            _ => STANDARD.decode(text).ok()?,
        };
        Some(Self(bytes.try_into().ok()?))
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

fn key_of_folder(data_dir: &Path) -> anyhow::Result<[u8; KEY_BYTES]> {
    let path = data_dir.join(KEY_FILE);
    let shown = path.display();
    if !path.exists() {
        make_key_file(data_dir, &path).with_context(|| format!("cannot make {shown}"))?;
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    let key = SecretKey::parse(&text)
        .with_context(|| format!("{shown} does not hold 32 bytes in base64; restore it from a backup, or remove it and give every provider key anew"))?;
    Ok(key.0)
}

/// Whole or not at all; when two starts race, the first one's key stays.
fn make_key_file(data_dir: &Path, path: &Path) -> anyhow::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    let mut key = [0; KEY_BYTES];
    OsRng.try_fill_bytes(&mut key)?;
    std::fs::create_dir_all(data_dir)?;
    let half = data_dir.join(format!(".{KEY_FILE}.{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&half)?;
    writeln!(file, "{}", STANDARD.encode(key))?;
    file.sync_all()?;
    match std::fs::hard_link(&half, path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    std::fs::remove_file(&half)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNA: Bound = Bound {
        user_id: 1,
        column: "embedding_settings.sealed_key",
    };

    #[test]
    fn what_is_sealed_opens_again_and_looks_different_each_time() {
        let sealer = Sealer::new(&[7; 32]);
        let (one, two) = (
            sealer.seal(ANNA, "sk-secret").expect("sealed"),
            sealer.seal(ANNA, "sk-secret").expect("sealed"),
        );
        assert_ne!(one, two);
        assert_eq!(sealer.open(ANNA, &one).as_deref(), Ok("sk-secret"));
        assert!(!one.windows(9).any(|w| w == b"sk-secret"));
    }

    #[test]
    fn it_opens_for_no_other_user_column_or_key_and_not_when_changed() {
        let sealer = Sealer::new(&[7; 32]);
        let sealed = sealer.seal(ANNA, "sk-secret").expect("sealed");
        let ben = Bound { user_id: 2, ..ANNA };
        let elsewhere = Bound {
            column: "x.y",
            ..ANNA
        };
        assert_eq!(sealer.open(ben, &sealed), Err(SealError::Damaged));
        assert_eq!(sealer.open(elsewhere, &sealed), Err(SealError::Damaged));
        let other = Sealer::new(&[8; 32]);
        assert_eq!(other.open(ANNA, &sealed), Err(SealError::OtherKey));
        let mut changed = sealed.clone();
        *changed.last_mut().expect("bytes") ^= 1;
        assert_eq!(sealer.open(ANNA, &changed), Err(SealError::Damaged));
        assert_eq!(sealer.open(ANNA, &[]), Err(SealError::Damaged));
    }

    #[test]
    fn the_key_of_a_folder_is_made_once_and_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().expect("a folder");
        let first = key_of_folder(folder.path()).expect("made");
        assert_eq!(key_of_folder(folder.path()).expect("read"), first);
        let file = std::fs::metadata(folder.path().join(KEY_FILE)).expect("a file");
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_secret_key_is_32_bytes_in_base64_or_hex() {
        assert!(SecretKey::parse(&"ab".repeat(32)).is_some());
        assert!(SecretKey::parse(&STANDARD.encode([1; 32])).is_some());
        for refused in ["", "secret", &"zz".repeat(32), &STANDARD.encode([1; 31])] {
            assert!(SecretKey::parse(refused).is_none(), "{refused}");
        }
    }
}
