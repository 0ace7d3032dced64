//! Zip archives as they were downloaded. Their directory is read entry by entry, and only files that may be imported are
//! unpacked, each within its limit: whatever an archive claims costs no memory. Nothing is written to a disk.

use std::collections::HashSet;
use std::io::{Read, Seek};

use flate2::read::DeflateDecoder;
use rawzip::time::ZipDateTimeKind;
use rawzip::{
    CompressionMethod, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder,
};
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

use super::collection::{ENTRIES_MAX, ListedFile, Unreadable, shown_path};
use super::{ForeignReader, ReadResult, WHOLE_FILE, encoding};
use crate::input::Invalid;

/// Far more than a document's path has.
const PATH_BYTES_MAX: usize = 4096;
/// Entries of a hostile directory that are looked at.
const ENTRIES_LOOKED_AT_MAX: u64 = 200_000;

pub fn is_archive(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// Where a listed file is.
struct Packed {
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

impl ForeignReader<'_> {
    /// # Errors
    /// Nobody wants more. An archive that cannot be read is refused.
    pub fn read_archive(&mut self, source: impl Read + Seek) -> ReadResult {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let Ok(archive) = ZipArchive::from_seekable(source, &mut buffer) else {
            return self.refuse(WHOLE_FILE, damaged());
        };
        let (mut listed, mut packed, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        let (mut looked_at, mut beyond) = (0u64, 0);
        let mut entries = archive.entries(&mut buffer);
        loop {
            let entry = match entries.next_entry() {
                Ok(Some(entry)) if looked_at < ENTRIES_LOOKED_AT_MAX => entry,
                Ok(Some(_)) => {
                    beyond = archive.entries_hint().saturating_sub(looked_at).max(1);
                    break;
                }
                Ok(None) => break,
                Err(_) => {
                    self.refuse(WHOLE_FILE, damaged())?;
                    break;
                }
            };
            looked_at += 1;
            let Some(name) = encoding::decode(entry.file_path().as_bytes().to_vec()) else {
                self.refuse(
                    &format!("File {looked_at}"),
                    Invalid::new("path", "invalid_path", "Its name is no text."),
                )?;
                continue;
            };
            let path = name.text.replace('\\', "/");
            if entry.is_dir() || path.ends_with('/') {
                continue;
            }
            let refused = match () {
                () if path.len() > PATH_BYTES_MAX => Some("Its path is too long."),
                () if leads_out(&path) => Some("Its path leads out of the archive."),
                () if entry.flags().is_encrypted() => Some(
                    "It is encrypted: unpack the archive and give the files without a password.",
                ),
                () if entry.mode().is_symlink() => Some("It is a link to another file."),
                () if ![CompressionMethod::STORE, CompressionMethod::DEFLATE]
                    .contains(&entry.compression_method()) =>
                {
                    Some("It is packed in a way that is not read here: pack it with deflate.")
                }
                () if listed.len() < ENTRIES_MAX && !seen.insert(path.clone()) => {
                    Some("Another file of the archive has its name.")
                }
                () => None,
            };
            if let Some(sentence) = refused {
                self.refuse(&shown_path(&path), Invalid::new("path", "invalid_file", sentence))?;
                continue;
            }
            if listed.len() >= ENTRIES_MAX {
                beyond += 1;
                continue;
            }
            packed.push(Packed { place: entry.wayfinder(), method: entry.compression_method() });
            listed.push(ListedFile {
                path,
                packed_bytes: entry.compressed_size_hint(),
                modified: moment_of(entry.last_modified()),
                at: packed.len() - 1,
            });
        }
        self.read_collection(listed, beyond, true, |at, most| {
            let Packed { place, method } = &packed[at];
            unpack(&archive, *place, *method, most)
        })
    }
}

fn damaged() -> Invalid {
    Invalid::new("file", "invalid_file", "The zip archive is damaged, or was not downloaded whole.")
}

fn leads_out(path: &str) -> bool {
    let is_drive = path.as_bytes().get(1) == Some(&b':');
    path.starts_with('/') || is_drive || path.split('/').any(|name| name == "..")
}

fn unpack<R: ReaderAt>(
    archive: &ZipArchive<R>,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    most: u64,
) -> Result<Vec<u8>, Unreadable> {
    let entry = archive.get_entry(place).map_err(|_| Unreadable::Damaged)?;
    let mut bytes = Vec::new();
    let read = match method {
        CompressionMethod::DEFLATE => {
            let unpacked = DeflateDecoder::new(entry.reader());
            entry.verifying_reader(unpacked).take(most + 1).read_to_end(&mut bytes)
        }
        _ => entry.verifying_reader(entry.reader()).take(most + 1).read_to_end(&mut bytes),
    };
    match read {
        _ if bytes.len() as u64 > most => Err(Unreadable::TooLong),
        Ok(_) => Ok(bytes),
        Err(_) => Err(Unreadable::Damaged),
    }
}

/// As UTC. The first day of 1980 stands for no date.
fn moment_of(at: ZipDateTimeKind) -> Option<OffsetDateTime> {
    let month = Month::try_from(at.month()).ok()?;
    let date = Date::from_calendar_date(at.year().into(), month, at.day()).ok()?;
    let time = Time::from_hms(at.hour(), at.minute(), at.second()).ok()?;
    let at = PrimitiveDateTime::new(date, time).assume_utc();
    (at.year() > 1980).then_some(at)
}
