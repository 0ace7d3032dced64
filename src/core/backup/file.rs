//! The file of a backup: a tar archive of `manifest.json`, `database.dump` (pg_dump's custom format), `SHA256SUMS` of both,
//! so that `tar` and `sha256sum -c` read it, and `HMAC`, the server's signature of these sums. It is written under a temporary name and
//! renamed when it is complete and on the disk. Readable by its owner only: it is every user's memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tar::{Archive, EntryType, Header};
use tempfile::NamedTempFile;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use super::model::{BackupError, FORMAT, Manifest, failed_to};
use super::signature;
use crate::seal::{MacRefusal, Sealer};

/// Of files that are being written.
pub(super) const UNFINISHED: &str = ".keepsake-backup-";
const MANIFEST: &str = "manifest.json";
const DUMP: &str = "database.dump";
const SUMS: &str = "SHA256SUMS";
const HMAC: &str = "HMAC";
/// Of the manifest.
const SIGNED_SINCE: u32 = 2;
const BLOCK: u64 = 512;
/// A manifest has a line for each table; the sums are two lines.
const SMALL_ENTRY_MAX_BYTES: u64 = 1 << 20;
const CHUNK: usize = 256 << 10;

pub(super) struct BackupWriter {
    path: PathBuf,
    temporary: NamedTempFile,
    file: tokio::fs::File,
    made_at: u64,
    manifest_sum: String,
    /// Where the dump's header belongs, once its size is known.
    header_at: u64,
    dump_bytes: u64,
    dump_sum: Sha256,
}

impl BackupWriter {
    /// Writes the manifest, and leaves room for the dump's header.
    pub(super) async fn create(path: &Path, manifest: &Manifest) -> Result<Self, BackupError> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let write = failed_to("write", path);
        let made = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder);
        let (temporary, file) = match made.and_then(|made| Ok((made.reopen()?, made))) {
            Ok((file, made)) => (made, tokio::fs::File::from_std(file)),
            Err(error) => return Err(write(error)),
        };
        let mut text = serde_json::to_vec_pretty(manifest).unwrap_or_default();
        text.push(b'\n');
        let mut writer = Self {
            path: path.to_path_buf(),
            temporary,
            file,
            made_at: u64::try_from(manifest.made_at.unix_timestamp()).unwrap_or(0),
            manifest_sum: hex(&Sha256::digest(&text)),
            header_at: 0,
            dump_bytes: 0,
            dump_sum: Sha256::new(),
        };
        writer.put_entry(MANIFEST, &text).await?;
        writer.header_at = BLOCK + text.len() as u64 + padding(text.len() as u64);
        writer.put(&[0; BLOCK as usize]).await?;
        Ok(writer)
    }

    pub(super) async fn dump(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.dump_sum.update(bytes);
        self.dump_bytes += bytes.len() as u64;
        self.put(bytes).await
    }

    /// Ends the archive and gives it its name. Returns its size in bytes.
    pub(super) async fn finish(
        mut self,
        sealer: &Sealer,
        replace: bool,
    ) -> Result<u64, BackupError> {
        let dump_sum = hex(&std::mem::take(&mut self.dump_sum).finalize());
        self.put(&vec![0; padding(self.dump_bytes) as usize]).await?;
        let sums = format!("{}  {MANIFEST}\n{dump_sum}  {DUMP}\n", self.manifest_sum);
        self.put_entry(SUMS, sums.as_bytes()).await?;
        let mac = format!("{}\n", signature::sign_file(sealer, &sums));
        self.put_entry(HMAC, mac.as_bytes()).await?;
        self.put(&[0; 2 * BLOCK as usize]).await?;
        let header = self.header(DUMP, self.dump_bytes)?;
        let path = self.path.clone();
        let ended = async {
            let bytes = self.file.stream_position().await?;
            self.file.seek(SeekFrom::Start(self.header_at)).await?;
            self.file.write_all(header.as_bytes()).await?;
            self.file.flush().await?;
            self.file.sync_all().await?;
            Ok(bytes)
        };
        let bytes = ended.await.map_err(failed_to("write", &path))?;
        let named = match replace {
            true => self.temporary.persist(&path).map_err(|e| e.error),
            false => self.temporary.persist_noclobber(&path).map_err(|e| e.error),
        };
        match named {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(BackupError::Exists(path));
            }
            named => named.map_err(failed_to("write", &path))?,
        };
        sync_folder_of(&path)?;
        Ok(bytes)
    }

    async fn put_entry(&mut self, name: &str, content: &[u8]) -> Result<(), BackupError> {
        let bytes = content.len() as u64;
        let header = self.header(name, bytes)?;
        self.put(header.as_bytes()).await?;
        self.put(content).await?;
        self.put(&vec![0; padding(bytes) as usize]).await
    }

    async fn put(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        let written = self.file.write_all(bytes).await;
        written.map_err(failed_to("write", &self.path))
    }

    fn header(&self, name: &str, bytes: u64) -> Result<Header, BackupError> {
        let mut header = Header::new_gnu();
        header.set_path(name).map_err(failed_to("write", &self.path))?;
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_mtime(self.made_at);
        header.set_size(bytes);
        header.set_cksum();
        Ok(header)
    }
}

/// A backup whose manifest is read. Nothing of it is to be believed before [`Self::check_signature`] and [`Self::check`].
#[derive(Clone, Debug)]
pub struct BackupFile {
    pub path: PathBuf,
    pub manifest: Manifest,
    /// Of the whole file.
    pub bytes: u64,
    pub(super) dump_at: u64,
    pub(super) dump_bytes: u64,
    /// Whether the manifest is as its checksum says.
    is_manifest_whole: bool,
    dump_sum: String,
    sums: String,
    /// `None` for a file of version 0.2.0.
    mac: Option<String>,
}

impl BackupFile {
    /// Reads all but the dump; blocks for some milliseconds.
    ///
    /// # Errors
    /// [`BackupError::NotABackup`], [`BackupError::Damaged`] if its end is missing, [`BackupError::Newer`].
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let file = File::open(path).map_err(failed_to("read", path))?;
        let about = file.metadata().map_err(failed_to("read", path))?;
        if !about.is_file() {
            return Err(BackupError::NotABackup(path.to_path_buf()));
        }
        let mut archive = Archive::new(file);
        let mut entries = archive.entries_with_seek().map_err(failed_to("read", path))?;
        let first = entries.next().and_then(Result::ok);
        let text = first.and_then(|mut entry| small(&mut entry, MANIFEST));
        let text = text.ok_or_else(|| BackupError::NotABackup(path.to_path_buf()))?;
        let manifest = read_manifest(path, &text)?;
        let cut = || BackupError::Damaged { path: path.to_path_buf(), what: "its end is missing" };
        let dump = entries.next().and_then(Result::ok).ok_or_else(cut)?;
        let (dump_at, dump_bytes) = (dump.raw_file_position(), dump.size());
        drop(dump);
        let mut next = |name: &str| {
            let entry = entries.next().and_then(Result::ok);
            let text = entry.and_then(|mut entry| small(&mut entry, name));
            text.and_then(|text| String::from_utf8(text).ok())
        };
        let sums = next(SUMS).ok_or_else(cut)?;
        let mac = next(HMAC).map(|mac| mac.trim_end().to_owned());
        if mac.is_none() && manifest.format >= SIGNED_SINCE {
            return Err(cut());
        }
        let sum_of = |name: &str| {
            let mut lines = sums.lines().filter_map(|line| line.split_once("  "));
            lines.find(|(_, of)| *of == name).map(|(sum, _)| sum)
        };
        let dump_sum = sum_of(DUMP).ok_or_else(cut)?.to_owned();
        Ok(Self {
            path: path.to_path_buf(),
            manifest,
            bytes: about.len(),
            dump_at,
            dump_bytes,
            is_manifest_whole: sum_of(MANIFEST) == Some(&hex(&Sha256::digest(&text))),
            dump_sum,
            sums,
            mac,
        })
    }

    /// Whether this server has made it, if its checksums are right. Reads nothing more.
    ///
    /// # Errors
    /// [`BackupError::Unsigned`], [`BackupError::OtherKey`], [`BackupError::Forged`].
    pub fn check_signature(&self, sealer: &Sealer) -> Result<(), BackupError> {
        let path = || self.path.clone();
        if !self.is_manifest_whole {
            return Err(self.differs());
        }
        let mac = self.mac.as_ref().ok_or_else(|| BackupError::Unsigned(path()))?;
        signature::check_file(sealer, &self.sums, mac).map_err(|refusal| match refusal {
            MacRefusal::OtherKey => BackupError::OtherKey(path()),
            MacRefusal::Wrong => BackupError::Forged(path()),
        })
    }

    /// Compares the checksums: reads the whole file, and blocks meanwhile. `tell` gets the bytes read, and
    /// returns false to stop.
    pub fn check(&self, mut tell: impl FnMut(u64) -> bool) -> Result<(), BackupError> {
        let mut file = File::open(&self.path).map_err(failed_to("read", &self.path))?;
        file.seek(SeekFrom::Start(self.dump_at)).map_err(failed_to("read", &self.path))?;
        let mut dump = file.take(self.dump_bytes);
        let (mut sum, mut read, mut chunk) = (Sha256::new(), 0, vec![0; CHUNK]);
        loop {
            let n = dump.read(&mut chunk).map_err(failed_to("read", &self.path))?;
            if n == 0 {
                break;
            }
            sum.update(&chunk[..n]);
            read += n as u64;
            if !tell(read) {
                return Err(BackupError::Interrupted);
            }
        }
        match self.is_manifest_whole {
            true => self.is_dump(sum),
            false => Err(self.differs()),
        }
    }

    /// Whether this is the checksum of the dump.
    pub(super) fn is_dump(&self, sum: Sha256) -> Result<(), BackupError> {
        match hex(&sum.finalize()) == self.dump_sum {
            true => Ok(()),
            false => Err(self.differs()),
        }
    }

    fn differs(&self) -> BackupError {
        BackupError::Damaged { path: self.path.clone(), what: "its checksum differs" }
    }
}

fn read_manifest(path: &Path, text: &[u8]) -> Result<Manifest, BackupError> {
    let not_ours = || BackupError::NotABackup(path.to_path_buf());
    let value: serde_json::Value = serde_json::from_slice(text).map_err(|_| not_ours())?;
    let format = value["format"].as_u64().ok_or_else(not_ours)?;
    if format > FORMAT.into() {
        return Err(BackupError::Newer {
            path: path.to_path_buf(),
            keepsake: value["keepsake"].as_str().unwrap_or("?").to_owned(),
        });
    }
    serde_json::from_value(value).map_err(|_| not_ours())
}

/// The content of an entry, if it has this name and is small.
fn small(entry: &mut tar::Entry<'_, File>, name: &str) -> Option<Vec<u8>> {
    let is_it = entry.path_bytes().as_ref() == name.as_bytes();
    let mut content = Vec::new();
    if !is_it || entry.size() > SMALL_ENTRY_MAX_BYTES {
        return None;
    }
    let read = entry.read_to_end(&mut content).ok()?;
    (read as u64 == entry.size()).then_some(content)
}

/// Zeros up to the next block.
fn padding(bytes: u64) -> u64 {
    (BLOCK - bytes % BLOCK) % BLOCK
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

/// Makes a new or changed name durable.
pub(super) fn sync_folder_of(path: &Path) -> Result<(), BackupError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(failed_to("write", folder))
}
