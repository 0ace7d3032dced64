//! Reads the bytes of an import as they arrive: by lines for an export of Keepsake, otherwise as files of other programs
//! (`foreign/`). Held at a time is one line, or one file and the entry that is parsed. It blocks, so it runs on a thread of its
//! own, not in an async task.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use encoding_rs_io::DecodeReaderBytesBuilder;
use time::OffsetDateTime;

use super::foreign::{ForeignReader, ReadResult, Stop, is_archive, utf16_of};
use super::piece::{EntryPlace, FilePiece, Screening};
use super::read::{ImportRecord, known_fields, parse_line};
use crate::input::Invalid;
use crate::redaction::{RedactionError, fields_of};

/// Twice the length of the longest possible item.
pub const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Of an archive that comes through a pipe: it is put aside, since archives are read from their end.
const PIPED_ARCHIVE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How an export of Keepsake begins.
const BEGINNING: &[u8] = b"{\"keepsake_export\"";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Enough to tell what a file is.
const HEAD_BYTES: u64 = 4096;

/// Where an import is read from.
pub enum ImportSource {
    /// Read once.
    Stream(Box<dyn Read + Send>),
    /// From where it stands.
    File {
        file: File,
        /// What its person calls it; it helps to tell its form.
        name: Option<String>,
    },
    Folder(PathBuf),
}

impl ImportSource {
    pub fn stream(stream: impl Read + Send + 'static) -> Self {
        Self::Stream(Box::new(stream))
    }
}

/// Passes on each piece, screened, until `each` returns false.
pub(super) fn read(
    source: ImportSource,
    screen: Screening<'_>,
    each: &mut dyn FnMut(FilePiece) -> bool,
    now: OffsetDateTime,
) -> io::Result<()> {
    match read_source(source, screen, each, now) {
        Ok(()) | Err(Stop::Enough) => Ok(()),
        Err(Stop::Failed(error)) => Err(error),
    }
}

fn read_source(
    source: ImportSource,
    screen: Screening<'_>,
    each: &mut dyn FnMut(FilePiece) -> bool,
    now: OffsetDateTime,
) -> ReadResult {
    let (mut source, file, name): (Box<dyn Read>, _, _) = match source {
        ImportSource::Folder(root) => {
            return ForeignReader::new(screen, each, now).read_folder(&root);
        }
        ImportSource::Stream(stream) => (stream, None, None),
        ImportSource::File { file, name } => (Box::new(file.try_clone()?), Some(file), name),
    };
    let mut head = Vec::new();
    source.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    if is_archive(&head) {
        let file = match file {
            Some(mut file) => {
                file.seek(SeekFrom::Current(-(head.len() as i64)))?;
                file
            }
            None => put_aside(head.as_slice().chain(source))?,
        };
        return ForeignReader::new(screen, each, now).read_archive(file);
    }
    let utf16 = utf16_of(&head);
    let begins = match utf16 {
        Some(encoding) => encoding.decode_with_bom_removal(&head).0.into_owned().into_bytes(),
        None => head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head).to_vec(),
    };
    let is_lines = begins.starts_with(BEGINNING);
    let whole = io::Cursor::new(head).chain(source);
    match (is_lines, utf16) {
        (false, _) => {
            let mut reader = ForeignReader::new(screen, each, now);
            return reader.read_file(name.as_deref(), whole);
        }
        (true, Some(encoding)) => {
            let place = EntryPlace::of("The file".to_owned());
            let sentence = format!("It was {}, and is read as such.", encoding.name());
            let record = Ok(ImportRecord::Adapted(sentence));
            if each(FilePiece { place, bytes: 0, cost: 0, record }) {
                let decoded = DecodeReaderBytesBuilder::new().encoding(Some(encoding)).build(whole);
                read_lines(BufReader::new(decoded), screen, each)?;
            }
        }
        (true, None) => {
            let whole =
                DecodeReaderBytesBuilder::new().utf8_passthru(true).strip_bom(true).build(whole);
            read_lines(BufReader::new(whole), screen, each)?;
        }
    }
    Ok(())
}

/// In a file without a name.
fn put_aside(source: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let copied = io::copy(&mut source.take(PIPED_ARCHIVE_BYTES_MAX + 1), &mut file)?;
    if copied > PIPED_ARCHIVE_BYTES_MAX {
        return Err(io::Error::other("an archive from a pipe has at most 1 GiB"));
    }
    file.rewind()?;
    Ok(file)
}

/// Of a line what is imported is screened, and parsed again if that changed it.
fn parse_screened(text: &str, screen: Screening<'_>) -> io::Result<Result<ImportRecord, Invalid>> {
    let parsed = parse_line(text).and_then(|record| Ok((record, known_fields(text)?)));
    let (record, mut line) = match parsed {
        Err(invalid) => return Ok(Err(invalid)),
        Ok((record, None)) => return Ok(Ok(record)),
        Ok((record, Some(line))) => (record, line),
    };
    let before = line.clone();
    match screen(&mut fields_of(&mut line, &[])) {
        Err(RedactionError::Invalid(invalid)) => Ok(Err(invalid)),
        Err(error) => Err(io::Error::other(error)),
        Ok(_) if line == before => Ok(Ok(record)),
        Ok(_) => Ok(parse_line(&line.to_string())),
    }
}

fn read_lines(
    mut source: impl BufRead,
    screen: Screening<'_>,
    each: &mut dyn FnMut(FilePiece) -> bool,
) -> io::Result<()> {
    let (mut bytes, mut line) = (0, Vec::new());
    for number in 1u64.. {
        line.clear();
        let read = source.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            return Ok(());
        }
        bytes += read;
        let is_whole = line.ends_with(b"\n") || read < LINE_BYTES_MAX;
        if !is_whole {
            bytes += skip_line(&mut source)?;
        }
        let record = match str::from_utf8(&line) {
            _ if !is_whole => Err(Invalid::new(
                "",
                "too_long",
                format!("It has over {LINE_BYTES_MAX} bytes, which is the most."),
            )),
            Err(_) => Err(Invalid::new("", "invalid_text", "It is not UTF-8.")),
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => parse_screened(text, screen)?,
        };
        let place = EntryPlace::of(format!("Line {number}"));
        let piece = FilePiece { place, bytes, cost: bytes, record };
        if !each(piece) {
            return Ok(());
        }
    }
    Ok(())
}

/// Skips to the end of the line, without storing it.
fn skip_line(source: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = source.fill_buf()?;
        let (used, is_end) = match buffer.iter().position(|b| *b == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        source.consume(used);
        skipped += used as u64;
        if is_end {
            return Ok(skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::FORM_VERSION;
    use crate::redaction::ScreenedField;

    #[test]
    fn of_a_line_only_what_is_imported_is_screened() {
        let file = format!(
            "{{\"keepsake_export\":{FORM_VERSION}}}\n\
             {{\"record\":\"item\",\"type\":\"fact\",\"content\":\"a\",\"attributes\":{{\"b\":\"c\"}},\"unknown\":[\"d\"]}}\n\
             {{\"record\":\"message\",\"content\":\"e\"}}\n"
        );
        let mut screened = Vec::new();
        let mut screen = |fields: &mut [ScreenedField<'_>]| {
            screened.extend(fields.iter().map(|field| field.text.clone()));
            Ok(Vec::new())
        };
        let source = ImportSource::stream(io::Cursor::new(file));
        let mut each = |piece: FilePiece| piece.record.is_ok();
        let read = read(source, &mut screen, &mut each, OffsetDateTime::UNIX_EPOCH);
        assert!(read.is_ok());
        assert_eq!(screened, ["c", "a", "item", "fact"]);
    }
}
