//! Encrypts (seals) secrets that must be readable again, such as provider keys, before they reach the
//! database, and decrypts them. Each is bound to its user and column, so that a copy in another row does not
//! decrypt. One key seals; any number of older keys still open, so that keys can be rotated while
//! servers run.

mod file;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use rand::TryRngCore;
use rand::rngs::OsRng;
use ring::hmac;
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

/// Why a MAC does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacRefusal {
    /// Made with a key that is not known here.
    OtherKey,
    /// Of another message, or no MAC at all.
    Wrong,
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
    cipher: XChaCha20Poly1305,
    mac: hmac::Key,
}

impl CipherKey {
    fn new(SealKey(key): &SealKey) -> Arc<Self> {
        let digest = Sha256::new().chain_update(b"keepsake key id").chain_update(key).finalize();
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&digest[..KEY_ID_BYTES]);
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), b"keepsake mac");
        let mac = hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref());
        Arc::new(Self { id, cipher: XChaCha20Poly1305::new(key.into()), mac })
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

    /// [`Self::of`] without creating a key; `None` if there is none.
    pub fn of_existing(
        configured: Option<&SealKey>,
        old: &[SealKey],
        data_dir: &Path,
    ) -> anyhow::Result<Option<Self>> {
        let is_there = configured.is_some() || KeyFile::of(data_dir).exists();
        is_there.then(|| Self::of(configured, old, data_dir)).transpose()
    }

    /// A MAC (HMAC-SHA256) of the message, for one purpose: key id and tag in hexadecimal digits.
    pub fn mac(&self, purpose: &'static str, message: &[u8]) -> String {
        let key = self.newest();
        let tag = hmac::sign(&key.mac, &of_purpose(purpose, message));
        key.id.iter().chain(tag.as_ref()).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Compares in constant time.
    pub fn check_mac(
        &self,
        purpose: &'static str,
        message: &[u8],
        mac: &str,
    ) -> Result<(), MacRefusal> {
        let bytes = from_hex(mac).ok_or(MacRefusal::Wrong)?;
        let (id, tag) = bytes.split_first_chunk().ok_or(MacRefusal::Wrong)?;
        let key = self.find(*id).map_err(|_| MacRefusal::OtherKey)?;
        let checked = hmac::verify(&key.mac, &of_purpose(purpose, message), tag);
        checked.map_err(|_| MacRefusal::Wrong)
    }

    /// Returns format, key id, nonce and ciphertext.
    pub fn seal(&self, bound: SecretOwner, secret: &str) -> Result<Vec<u8>, SealError> {
        let key = self.newest();
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
            let tag = hmac::sign(&key.mac, &of_purpose("mark", &authenticated(key.id, bound)));
            URL_SAFE_NO_PAD.encode(&tag.as_ref()[..MARK_BYTES])
        };
        [&ring.sealing].into_iter().chain(others).map(mark).collect()
    }

    /// The sealing key, after a look at the file: a rotation may be about to remove the key that this process knows.
    fn newest(&self) -> Arc<CipherKey> {
        if self.0.file_seals {
            self.look_at_the_file();
        }
        self.sealing()
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

fn of_purpose(purpose: &str, message: &[u8]) -> Vec<u8> {
    [purpose.as_bytes(), b"\n", message].concat()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(byte).collect())?
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
            64 => from_hex(text)?,
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
    fn a_mac_holds_for_one_message_and_purpose_and_for_old_keys_of_the_ring() {
        let sealer = Sealer::new(&[7; 32]);
        let mac = sealer.mac("backup", b"message");
        assert_eq!(sealer.check_mac("backup", b"message", &mac), Ok(()));
        assert_eq!(sealer.mac("backup", b"message"), mac);
        assert_eq!(sealer.check_mac("notes", b"message", &mac), Err(MacRefusal::Wrong));
        assert_eq!(sealer.check_mac("backup", b"messagf", &mac), Err(MacRefusal::Wrong));
        for wrong in ["", "0", "zz", &mac[..mac.len() - 2], &format!("{}00", &mac[..78]), "+1"] {
            assert_eq!(sealer.check_mac("backup", b"message", wrong), Err(MacRefusal::Wrong));
        }
        let (other, folder) = (SealKey([8; 32]), tempfile::tempdir().expect("a folder"));
        let none = Sealer::of_existing(None, &[], folder.path()).expect("looked");
        assert!(none.is_none() && !folder.path().join("secret-key").exists());
        let with =
            |old: &[SealKey]| Sealer::of(Some(&other), old, folder.path()).expect("a sealer");
        let checked = with(&[]).check_mac("backup", b"message", &mac);
        assert_eq!(checked, Err(MacRefusal::OtherKey));
        let checked = with(&[SealKey([7; 32])]).check_mac("backup", b"message", &mac);
        assert_eq!(checked, Ok(()));
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
