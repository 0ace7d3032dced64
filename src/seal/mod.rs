//! Encrypts (seals) secrets that must be readable again, such as provider keys, before they reach the
//! database, and decrypts them. Each is bound to its user and column, so that a copy in another row does not
//! decrypt (DESIGN §9). One key seals; any number of older keys still open, so that keys can be rotated while
//! servers run.

mod file;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};

use file::KeyFile;

const KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 8;
const NONCE_BYTES: usize = 24;
const MARK_BYTES: usize = 9;
/// The first byte of every sealed value: its format.
const FORMAT: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("the operating system has no randomness to give")]
    Randomness,
    #[error("the secret was sealed with another KEEPSAKE_SECRET_KEY; give it anew")]
    OtherKey,
    #[error("the sealed secret is damaged; give it anew")]
    Damaged,
}

/// What a secret belongs to. It is authenticated, not stored.
#[derive(Clone, Copy, Debug)]
pub struct SecretOwner {
    /// 0 for the system's own.
    pub user_id: i64,
    /// `table.column`
    pub column: &'static str,
}

type KeyId = [u8; KEY_ID_BYTES];
type MarkKey = Hmac<Sha256>;

/// Cheap to clone; hides its keys.
#[derive(Clone)]
pub struct Sealer(Arc<SealerInner>);

struct SealerInner {
    ring: RwLock<Ring>,
    /// Read again when a rotation may have changed it.
    file: Option<KeyFile>,
    /// False if `KEEPSAKE_SECRET_KEY` seals and the file only opens.
    file_seals: bool,
}

struct Ring {
    sealing: Arc<CipherKey>,
    /// All keys that open, including the sealing one. A key is never dropped while the process runs, since a
    /// value that was read before a rotation may be opened after it.
    known: Vec<Arc<CipherKey>>,
}

struct CipherKey {
    id: KeyId,
    marks: MarkKey,
    cipher: XChaCha20Poly1305,
}

impl CipherKey {
    fn new(SealKey(key): &SealKey) -> Arc<Self> {
        let digest = Sha256::new().chain_update(b"keepsake key id").chain_update(key).finalize();
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&digest[..KEY_ID_BYTES]);
        let mark_key =
            Sha256::new().chain_update(b"keepsake mark key").chain_update(key).finalize();
        // Its block is 64 bytes, the rest of which is zero.
        let mut block = hmac::digest::Key::<MarkKey>::default();
        block[..mark_key.len()].copy_from_slice(&mark_key);
        let marks = <MarkKey as KeyInit>::new(&block);
        Arc::new(Self { id, marks, cipher: XChaCha20Poly1305::new(key.into()) })
    }
}

impl Ring {
    fn of(sealing: Arc<CipherKey>, others: impl IntoIterator<Item = Arc<CipherKey>>) -> Self {
        let mut ring = Self { known: vec![sealing.clone()], sealing };
        ring.learn(others);
        ring
    }

    fn learn(&mut self, keys: impl IntoIterator<Item = Arc<CipherKey>>) {
        for key in keys {
            if self.find(key.id).is_none() {
                self.known.push(key);
            }
        }
    }

    fn find(&self, id: KeyId) -> Option<Arc<CipherKey>> {
        self.known.iter().find(|key| key.id == id).cloned()
    }
}

impl Sealer {
    /// Uses one key, without a file.
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(Arc::new(SealerInner {
            ring: RwLock::new(Ring::of(CipherKey::new(&SealKey(*key)), [])),
            file: None,
            file_seals: false,
        }))
    }

    /// Seals with `KEEPSAKE_SECRET_KEY`, or with the key in the data folder, which is created if missing. The
    /// `old` keys (`KEEPSAKE_SECRET_KEYS_OLD`) only open, and so does the data folder's if another seals.
    pub fn of(
        configured: Option<&SealKey>,
        old: &[SealKey],
        data_dir: &Path,
    ) -> anyhow::Result<Self> {
        let file = KeyFile::of(data_dir);
        let of_file = match configured {
            Some(_) if !file.exists() => Vec::new(),
            Some(_) => file.read()?,
            None => {
                file.make_if_missing()?;
                file.read()?
            }
        };
        let mut all = configured.into_iter().chain(&of_file).map(CipherKey::new);
        let sealing = all.next().ok_or_else(|| anyhow::anyhow!("there is no key"))?;
        Ok(Self(Arc::new(SealerInner {
            ring: RwLock::new(Ring::of(sealing, all.chain(old.iter().map(CipherKey::new)))),
            file: Some(file),
            file_seals: configured.is_none(),
        })))
    }

    /// Returns format, key id, nonce and ciphertext.
    pub fn seal(&self, bound: SecretOwner, secret: &str) -> Result<Vec<u8>, SealError> {
        // A rotation may be about to remove the key that this process knows.
        if self.0.file_seals {
            self.look_at_the_file();
        }
        let key = self.sealing();
        let mut nonce = [0; NONCE_BYTES];
        OsRng.try_fill_bytes(&mut nonce).map_err(|_| SealError::Randomness)?;
        let aad = authenticated(key.id, bound);
        let payload = Payload { msg: secret.as_bytes(), aad: &aad };
        let sealed = key.cipher.encrypt(XNonce::from_slice(&nonce), payload);
        let mut out = vec![FORMAT];
        out.extend(key.id);
        out.extend(nonce);
        out.extend(sealed.map_err(|_| SealError::Damaged)?);
        Ok(out)
    }

    pub fn open(&self, bound: SecretOwner, sealed: &[u8]) -> Result<String, SealError> {
        let head = 1 + KEY_ID_BYTES + NONCE_BYTES;
        let id = key_id(sealed).filter(|_| sealed.len() >= head);
        let key = self.find(id.ok_or(SealError::Damaged)?)?;
        let aad = authenticated(key.id, bound);
        let payload = Payload { msg: &sealed[head..], aad: &aad };
        let nonce = XNonce::from_slice(&sealed[1 + KEY_ID_BYTES..head]);
        let opened = key.cipher.decrypt(nonce, payload);
        String::from_utf8(opened.map_err(|_| SealError::Damaged)?).map_err(|_| SealError::Damaged)
    }

    /// Whether the value was sealed with the current sealing key.
    pub fn is_current(&self, sealed: &[u8]) -> bool {
        key_id(sealed) == Some(self.sealing().id)
    }

    /// Twelve letters by each key, the sealing one's first, that nobody can guess who does not know the key.
    pub fn marks(&self, bound: SecretOwner) -> Vec<String> {
        let ring = self.0.ring.read().unwrap_or_else(PoisonError::into_inner);
        let others = ring.known.iter().filter(|key| key.id != ring.sealing.id);
        let mark = |key: &Arc<CipherKey>| {
            let mut mac = key.marks.clone();
            mac.update(&authenticated(key.id, bound));
            URL_SAFE_NO_PAD.encode(&mac.finalize().into_bytes()[..MARK_BYTES])
        };
        [&ring.sealing].into_iter().chain(others).map(mark).collect()
    }

    fn sealing(&self) -> Arc<CipherKey> {
        let ring = self.0.ring.read().unwrap_or_else(PoisonError::into_inner);
        ring.sealing.clone()
    }

    fn find(&self, id: KeyId) -> Result<Arc<CipherKey>, SealError> {
        let find = || {
            let ring = self.0.ring.read().unwrap_or_else(PoisonError::into_inner);
            ring.find(id)
        };
        // An unknown key may have been added since the start.
        let looked_again = || {
            self.look_at_the_file();
            find()
        };
        find().or_else(looked_again).ok_or(SealError::OtherKey)
    }

    /// Reloads the file. If it cannot be read, nothing changes.
    fn look_at_the_file(&self) {
        let keys = self.0.file.as_ref().and_then(|file| file.read().ok());
        let keys: Vec<_> = keys.iter().flatten().map(CipherKey::new).collect();
        let mut ring = self.0.ring.write().unwrap_or_else(PoisonError::into_inner);
        if let (Some(first), true) = (keys.first(), self.0.file_seals) {
            ring.sealing = first.clone();
        }
        ring.learn(keys);
    }
}

/// Adds a new key to the data folder, if that is where the sealing key is; running servers seal with it from
/// now on. With `KEEPSAKE_SECRET_KEY` the new key is already configured.
pub fn begin_rotation(configured: Option<&SealKey>, data_dir: &Path) -> anyhow::Result<()> {
    let file = KeyFile::of(data_dir);
    if configured.is_none() {
        file.make_if_missing()?;
        file.begin_rotation()?;
    }
    Ok(())
}

/// Removes the older keys from the data folder, once nothing is sealed with them.
pub fn end_rotation(configured: Option<&SealKey>, data_dir: &Path) -> anyhow::Result<()> {
    match configured {
        None => KeyFile::of(data_dir).end_rotation(),
        Some(_) => Ok(()),
    }
}

fn key_id(sealed: &[u8]) -> Option<KeyId> {
    let (&format, rest) = sealed.split_first()?;
    let id = rest.get(..KEY_ID_BYTES).filter(|_| format == FORMAT)?;
    id.try_into().ok()
}

fn authenticated(id: KeyId, bound: SecretOwner) -> Vec<u8> {
    let mut aad = id.to_vec();
    aad.extend(bound.user_id.to_be_bytes());
    aad.extend(bound.column.as_bytes());
    aad
}

/// `KEEPSAKE_SECRET_KEY`: 32 bytes in base64 or hex.
#[derive(Clone)]
pub struct SealKey([u8; KEY_BYTES]);

impl SealKey {
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

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNA: SecretOwner = SecretOwner { user_id: 1, column: "embedding_settings.sealed_key" };

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
        let ben = SecretOwner { user_id: 2, ..ANNA };
        let elsewhere = SecretOwner { column: "x.y", ..ANNA };
        assert_eq!(sealer.open(ben, &sealed), Err(SealError::Damaged));
        assert_eq!(sealer.open(elsewhere, &sealed), Err(SealError::Damaged));
        let other = Sealer::new(&[8; 32]);
        assert_eq!(other.open(ANNA, &sealed), Err(SealError::OtherKey));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(sealer.open(ANNA, &changed).is_err(), "byte {at}");
            assert!(sealer.open(ANNA, &sealed[..at]).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn a_running_server_follows_a_rotation_of_the_folders_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let of_folder = || Sealer::of(None, &[], folder.path()).expect("a sealer");
        let running = of_folder();
        let old = running.seal(ANNA, "sk-secret").expect("sealed");
        begin_rotation(None, folder.path()).expect("begun");
        // Another process rotates: what it seals opens here, and this process seals with the new key.
        let rotating = of_folder();
        assert!(!rotating.is_current(&old));
        assert_eq!(rotating.open(ANNA, &old).as_deref(), Ok("sk-secret"));
        let new = rotating.seal(ANNA, "sk-secret").expect("sealed");
        assert_eq!(running.open(ANNA, &new).as_deref(), Ok("sk-secret"));
        let meanwhile = running.seal(ANNA, "sk-other").expect("sealed");
        assert!(rotating.is_current(&meanwhile) && rotating.is_current(&new));
        end_rotation(None, folder.path()).expect("ended");
        assert_eq!(of_folder().open(ANNA, &old), Err(SealError::OtherKey));
        assert_eq!(of_folder().open(ANNA, &new).as_deref(), Ok("sk-secret"));
        // Read before the rotation, opened after it.
        assert_eq!(running.open(ANNA, &old).as_deref(), Ok("sk-secret"));
    }

    #[test]
    fn a_configured_key_seals_and_the_old_and_the_folders_open() {
        let folder = tempfile::tempdir().expect("a folder");
        let of_folder = Sealer::of(None, &[], folder.path()).expect("a sealer");
        let by_folder = of_folder.seal(ANNA, "one").expect("sealed");
        let by_old = Sealer::new(&[7; 32]).seal(ANNA, "two").expect("sealed");
        let (new, old) = (SealKey([9; 32]), SealKey([7; 32]));
        let sealer = Sealer::of(Some(&new), &[old], folder.path()).expect("a sealer");
        assert_eq!(sealer.open(ANNA, &by_folder).as_deref(), Ok("one"));
        assert_eq!(sealer.open(ANNA, &by_old).as_deref(), Ok("two"));
        let sealed = sealer.seal(ANNA, "three").expect("sealed");
        assert!(sealer.is_current(&sealed) && !sealer.is_current(&by_folder));
        let alone = Sealer::new(&[9; 32]);
        assert_eq!(alone.open(ANNA, &sealed).as_deref(), Ok("three"));
    }

    #[test]
    fn a_secret_key_is_32_bytes_in_base64_or_hex() {
        assert!(SealKey::parse(&"ab".repeat(32)).is_some());
        assert!(SealKey::parse(&STANDARD.encode([1; 32])).is_some());
        for refused in ["", "secret", &"zz".repeat(32), &STANDARD.encode([1; 31])] {
            assert!(SealKey::parse(refused).is_none(), "{refused}");
        }
    }
}
