//! `data/secret-key`: one key per line. The first one encrypts; the others only decrypt what was sealed
//! before a rotation. The file is only replaced as a whole, and is readable by its owner alone, since it
//! opens every provider key.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::TryRngCore;
use rand::rngs::OsRng;

use super::{KEY_BYTES, SealKey};

const KEY_FILE: &str = "secret-key";

#[derive(Clone, Debug)]
pub(super) struct KeyFile(PathBuf);

impl KeyFile {
    pub(super) fn of(data_dir: &Path) -> Self {
        Self(data_dir.join(KEY_FILE))
    }

    pub(super) fn exists(&self) -> bool {
        self.0.exists()
    }

    /// At least one key; the first one encrypts.
    pub(super) fn read(&self) -> anyhow::Result<Vec<SealKey>> {
        let shown = self.0.display();
        let text = fs::read_to_string(&self.0).with_context(|| format!("cannot read {shown}"))?;
        let keys: Option<Vec<_>> = text.lines().map(SealKey::parse).collect();
        keys.filter(|keys| !keys.is_empty()).with_context(|| {
            format!("{shown} does not hold 32 bytes in base64 on each line; restore it from a backup, or remove it and give every provider key anew")
        })
    }

    /// Creates the file with a new key if it is missing. If two starts race, the first one's key stays.
    pub(super) fn make_if_missing(&self) -> anyhow::Result<()> {
        if self.exists() {
            return Ok(());
        }
        let make = || -> anyhow::Result<()> {
            fs::create_dir_all(self.folder())?;
            let half = self.write_half(&[new_key()?])?;
            match fs::hard_link(&half, &self.0) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error)?,
                _ => fs::remove_file(&half)?,
            }
            Ok(())
        };
        make().with_context(|| format!("cannot make {}", self.0.display()))
    }

    /// Adds a new key that encrypts from now on; the old ones still decrypt. Idempotent: an interrupted
    /// rotation has already added its key.
    pub(super) fn begin_rotation(&self) -> anyhow::Result<()> {
        let mut keys = self.read()?;
        if keys.len() == 1 {
            keys.insert(0, new_key()?);
            self.replace(&keys)?;
        }
        Ok(())
    }

    /// Removes all keys but the first.
    pub(super) fn end_rotation(&self) -> anyhow::Result<()> {
        let keys = self.read()?;
        self.replace(&keys[..1])
    }

    fn replace(&self, keys: &[SealKey]) -> anyhow::Result<()> {
        let replace = || -> anyhow::Result<()> {
            let half = self.write_half(keys)?;
            // The command may run as root for a server that does not.
            let (new, old) = (fs::metadata(&half)?, fs::metadata(&self.0)?);
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                std::os::unix::fs::chown(&half, Some(old.uid()), Some(old.gid()))?;
            }
            fs::rename(&half, &self.0)?;
            // A key must be durable before anything is sealed with it.
            fs::File::open(self.folder())?.sync_all()?;
            Ok(())
        };
        replace().with_context(|| format!("cannot replace {}", self.0.display()))
    }

    fn write_half(&self, keys: &[SealKey]) -> anyhow::Result<PathBuf> {
        let half = self.folder().join(format!(".{KEY_FILE}.{}", std::process::id()));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&half)?;
        for key in keys {
            writeln!(file, "{}", STANDARD.encode(key.0))?;
        }
        file.sync_all()?;
        Ok(half)
    }

    fn folder(&self) -> &Path {
        self.0.parent().unwrap_or(Path::new("."))
    }
}

fn new_key() -> anyhow::Result<SealKey> {
    let mut key = [0; KEY_BYTES];
    OsRng.try_fill_bytes(&mut key)?;
    Ok(SealKey(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> (tempfile::TempDir, KeyFile) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = KeyFile::of(folder.path());
        file.make_if_missing().expect("made");
        (folder, file)
    }

    fn bytes(file: &KeyFile) -> Vec<[u8; KEY_BYTES]> {
        let keys = file.read().expect("keys");
        keys.iter().map(|key| key.0).collect()
    }

    #[test]
    fn a_key_is_made_once_and_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;

        let (_folder, file) = fresh();
        let first = bytes(&file);
        file.make_if_missing().expect("there");
        assert_eq!((bytes(&file), first.len()), (first, 1));
        file.begin_rotation().expect("begun");
        let mode = fs::metadata(&file.0).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_rotation_that_was_broken_off_goes_on_with_the_key_it_made() {
        let (folder, file) = fresh();
        let old = bytes(&file)[0];
        file.begin_rotation().expect("begun");
        let [new, kept] = bytes(&file)[..] else {
            panic!("two keys");
        };
        assert!(kept == old && new != old);
        file.begin_rotation().expect("begun again");
        assert_eq!(bytes(&file), [new, old]);
        file.end_rotation().expect("ended");
        assert_eq!(bytes(&file), [new]);
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 1, "no half file is left");
    }

    #[test]
    fn a_file_that_holds_something_else_is_refused_and_not_repeated() {
        let (_folder, file) = fresh();
        for text in ["", "hunter2\n", "\n"] {
            fs::write(&file.0, text).expect("written");
            let Err(refused) = file.read() else {
                panic!("{text:?} was taken for a key");
            };
            let said = format!("{refused:#}");
            assert!(said.contains("32 bytes") && !said.contains("hunter2"), "{said}");
        }
    }
}
