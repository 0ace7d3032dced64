//! Reads the bytes of an import as they arrive: by lines for an export of Keepsake, otherwise as one
//! document. Held at a time is one line, or one document and the entry that is parsed. It blocks, so it runs
//! on a thread of its own, not in an async task.

use std::io::{self, BufRead, Read};

use super::document::parse_document;
use super::read::{ImportRecord, ItemRecord, known_fields, parse_line};
use crate::input::Invalid;
use crate::memories::NewItem;
use crate::redaction::{RedactionError, ScreenedField, SecretWarning, fields_of};

/// Twice the length of the longest possible item.
pub const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// A file that is not line-based is read as a whole.
pub const DOCUMENT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How an export of Keepsake begins.
const BEGINNING: &[u8] = b"{\"keepsake_export\"";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One piece of an import.
pub(super) struct FilePiece {
    /// Such as "Line 3" or "Entry 5".
    pub place: String,
    /// Bytes read so far.
    pub bytes: u64,
    pub record: Result<ImportRecord, Invalid>,
}

/// Screens texts, and waits for it.
pub(super) type Screening<'a> =
    &'a mut dyn FnMut(&mut [ScreenedField<'_>]) -> Result<Vec<SecretWarning>, RedactionError>;

/// Passes on each piece, screened, until `each` returns false.
pub(super) fn read(
    mut source: impl BufRead,
    screen: Screening<'_>,
    each: impl FnMut(FilePiece) -> bool,
) -> io::Result<()> {
    let mut head = Vec::new();
    let looked_at = (BYTE_ORDER_MARK.len() + BEGINNING.len()) as u64;
    source.by_ref().take(looked_at).read_to_end(&mut head)?;
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head);
    let is_lines = head.starts_with(BEGINNING);
    let whole = head.chain(source);
    match is_lines {
        true => read_lines(whole, screen, each),
        false => read_document(whole, screen, each),
    }
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

fn screened(item: ItemRecord, screen: Screening<'_>) -> io::Result<Result<ItemRecord, Invalid>> {
    let mut content = item.item.content().to_owned();
    let mut tags = item.item.tags().to_vec();
    let mut attributes = item.attributes.clone();
    let mut fields = vec![ScreenedField::new("content", &mut content)];
    fields.extend(tags.iter_mut().map(|tag| ScreenedField::new("tags", tag)));
    fields.extend(fields_of(&mut attributes, &[]));
    match screen(&mut fields) {
        Err(RedactionError::Invalid(invalid)) => return Ok(Err(invalid)),
        Err(error) => return Err(io::Error::other(error)),
        Ok(_) => {}
    }
    let theme = Some(item.item.theme_display_name());
    let parsed = NewItem::parse(item.item.item_type(), &content, theme, &tags);
    Ok(parsed.map(|parsed| ItemRecord { item: parsed, attributes, ..item }))
}

fn read_lines(
    mut source: impl BufRead,
    screen: Screening<'_>,
    mut each: impl FnMut(FilePiece) -> bool,
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
        let place = format!("Line {number}");
        let piece = FilePiece { place, bytes, record };
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

fn read_document(
    source: impl Read,
    screen: Screening<'_>,
    mut each: impl FnMut(FilePiece) -> bool,
) -> io::Result<()> {
    let mut document = Vec::new();
    source.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut document)?;
    let bytes = document.len() as u64;
    let mut done = Ok(());
    let parsed = match document.as_slice() {
        _ if bytes > DOCUMENT_BYTES_MAX => Err(Invalid::new(
            "file",
            "too_long",
            format!(
                "The file has over {} MiB, which is the most for a file that is not an export of Keepsake.",
                DOCUMENT_BYTES_MAX / 1024 / 1024
            ),
        )),
        [] => Err(Invalid::new("file", "required", "The file is empty.")),
        [b'P', b'K', ..] => Err(Invalid::new(
            "file",
            "is_zip",
            "The file is a zip archive; unpack it and give the conversations.json that is in it.",
        )),
        document => parse_document(document, |number, item| {
            let item = match item {
                Ok(item) => screened(item, screen),
                invalid => Ok(invalid),
            };
            match item {
                Ok(item) => each(FilePiece {
                    place: format!("Entry {number}"),
                    bytes,
                    record: item.map(Box::new).map(ImportRecord::Item),
                }),
                Err(error) => {
                    done = Err(error);
                    false
                }
            }
        }),
    };
    if let Err(invalid) = parsed {
        each(FilePiece { place: "The file".to_owned(), bytes, record: Err(invalid) });
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::FORM_VERSION;

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
        let read = read(file.as_bytes(), &mut screen, |piece| piece.record.is_ok());
        assert!(read.is_ok());
        assert_eq!(screened, ["c", "a", "item", "fact"]);
    }
}
