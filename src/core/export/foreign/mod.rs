//! Reads files of other programs, entry by entry and field by field: what is odd costs only itself and is told, with the
//! sentence and the place. Each form is known by its shape; a name only helps. Held at a time is one file of at most
//! [`FILE_BYTES_MAX`], and the entry that is parsed.

mod archive;
mod chats;
mod collection;
mod dates;
mod draft;
mod encoding;
mod entry;
mod folder;
mod front_matter;
mod graph;
mod json;
mod links;
mod memories;
mod notes;
mod table;
mod texts;

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read};

pub(super) use archive::is_archive;
pub(super) use encoding::utf16_of;
use time::OffsetDateTime;

use self::draft::Draft;
use self::graph::PassedEntities;
use self::links::Links;
use super::piece::{EntryPlace, FilePiece, Screening, screened};
use super::read::ImportRecord;
use crate::input::Invalid;

/// A file that is not an export of Keepsake is read as a whole.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Of a file that names no entry.
const WHOLE_FILE: &str = "The file";
const NOT_A_FORM: &str = "It is in no form that is known here; give an export of Keepsake, mem0, OpenMemory, ChatGPT or Claude, the payloads of a vector store, the memory.jsonl of the MCP memory server, a list of texts, CSV, or Markdown, also as a zip.";

/// Why reading ends before the file does.
pub(super) enum Stop {
    /// Nobody wants more.
    Enough,
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) type ReadResult<T = ()> = Result<T, Stop>;

/// Reads foreign files and passes on their records.
pub(super) struct ForeignReader<'a> {
    pub(super) screen: Screening<'a>,
    pub(super) each: &'a mut dyn FnMut(FilePiece) -> bool,
    now: OffsetDateTime,
    /// Bytes of the import's file that are read.
    pub(super) bytes: u64,
    /// Bytes that were read or unpacked.
    pub(super) cost: u64,
    /// The file of an archive or folder that is being read.
    path: Option<String>,
    /// Names of Claude's projects by id.
    projects: HashMap<String, String>,
    graph: PassedEntities,
    links: Links,
    notes: i64,
    users: BTreeSet<String>,
}

impl<'a> ForeignReader<'a> {
    pub fn new(
        screen: Screening<'a>,
        each: &'a mut dyn FnMut(FilePiece) -> bool,
        now: OffsetDateTime,
    ) -> Self {
        Self {
            screen,
            each,
            now,
            bytes: 0,
            cost: 0,
            path: None,
            projects: HashMap::new(),
            graph: PassedEntities::default(),
            links: Links::default(),
            notes: 0,
            users: BTreeSet::new(),
        }
    }

    /// One file, by itself. `name`: what it is called, if that is known.
    ///
    /// # Errors
    /// The source fails, or nobody wants more.
    pub fn read_file(&mut self, name: Option<&str>, source: impl Read) -> ReadResult {
        let mut bytes = Vec::new();
        source.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        self.bytes += bytes.len() as u64;
        self.cost += bytes.len() as u64;
        if !self.read_bytes(name, bytes)? {
            self.refuse(WHOLE_FILE, Invalid::new("file", "unknown_form", NOT_A_FORM))?;
        }
        self.finish()
    }

    /// What was gathered from all files: relations of notes.
    fn finish(&mut self) -> ReadResult {
        let links = std::mem::take(&mut self.links);
        links.write(self)?;
        if self.users.len() > 1 {
            self.adapt(
                WHOLE_FILE,
                "It has memories of more than one `user_id`: all are imported here.",
            )?;
        }
        Ok(())
    }

    /// Whether its form is known. Nothing of an unknown one is passed on.
    fn read_bytes(&mut self, name: Option<&str>, bytes: Vec<u8>) -> ReadResult<bool> {
        let place = self.place(WHOLE_FILE);
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let sentence = format!(
                "The file has over {} MiB, which is the most for a file that is not an export of Keepsake.",
                FILE_BYTES_MAX / 1024 / 1024
            );
            self.refuse_at(place, Invalid::new("file", "too_long", sentence))?;
            return Ok(true);
        }
        if bytes.is_empty() {
            self.refuse_at(place, Invalid::new("file", "required", "The file is empty."))?;
            return Ok(true);
        }
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return self.read_gzip(name, &bytes);
        }
        let Some(decoded) = encoding::decode(bytes) else {
            return Ok(false);
        };
        let is_known = self.read_text(name, &decoded.text)?;
        if let Some(was) = decoded.was.filter(|_| is_known) {
            self.adapt_at(place, format!("It was {was}, and is read as such."))?;
        }
        Ok(is_known)
    }

    fn read_gzip(&mut self, name: Option<&str>, bytes: &[u8]) -> ReadResult<bool> {
        let name = name.map(|name| name.trim_end_matches(".gz"));
        let mut inner = Vec::new();
        let unpacked = flate2::read::MultiGzDecoder::new(bytes)
            .take(FILE_BYTES_MAX + 1)
            .read_to_end(&mut inner);
        self.cost += inner.len() as u64;
        if unpacked.is_err() || inner.starts_with(&[0x1f, 0x8b]) {
            let sentence = "It is packed with gzip, and cannot be unpacked.";
            let place = self.place(WHOLE_FILE);
            self.refuse_at(place, Invalid::new("file", "invalid_file", sentence))?;
            return Ok(true);
        }
        self.read_bytes(name, inner)
    }

    fn read_text(&mut self, name: Option<&str>, text: &str) -> ReadResult<bool> {
        let ending = name.map(ending_of).unwrap_or_default();
        let is_text = matches!(ending.as_str(), "md" | "markdown" | "csv" | "tsv");
        if !is_text && json::is_json(text) {
            return self.read_json(text);
        }
        match ending.as_str() {
            "md" | "markdown" if !texts::is_list(text) => self.read_note(name, text, None),
            "md" | "markdown" => self.read_texts(text),
            "csv" | "tsv" => self.read_table(text, true),
            "json" | "jsonl" | "ndjson" => Ok(false),
            _ if texts::is_markup(text) => Ok(false),
            _ if self.read_table(text, false)? => Ok(true),
            ending if ending != "txt" && texts::is_note(text) => self.read_note(None, text, None),
            _ => self.read_texts(text),
        }
    }

    fn is_among_others(&self) -> bool {
        self.path.is_some()
    }

    fn place(&self, what: &str) -> String {
        match &self.path {
            Some(path) if what == WHOLE_FILE => path.clone(),
            Some(path) => format!("{path}: {what}"),
            None => what.to_owned(),
        }
    }

    fn emit(&mut self, place: EntryPlace, record: Result<ImportRecord, Invalid>) -> ReadResult {
        let piece = FilePiece { place, bytes: self.bytes, cost: self.cost, record };
        (self.each)(piece).then_some(()).ok_or(Stop::Enough)
    }

    fn pass_on(&mut self, place: &str, record: ImportRecord) -> ReadResult {
        let place = self.place(place);
        self.pass_on_at(EntryPlace::of(place), record)
    }

    fn pass_on_at(&mut self, mut place: EntryPlace, record: ImportRecord) -> ReadResult {
        let record = screened(record, &mut place, self.screen)?;
        self.emit(place, record)
    }

    fn refuse(&mut self, place: &str, invalid: Invalid) -> ReadResult {
        let place = self.place(place);
        self.refuse_at(place, invalid)
    }

    fn refuse_at(&mut self, place: String, invalid: Invalid) -> ReadResult {
        self.emit(EntryPlace::of(place), Err(invalid))
    }

    /// Something that is not imported, and does not have to be.
    fn skip(&mut self, place: &str, sentence: impl Into<String>) -> ReadResult {
        let place = EntryPlace::of(self.place(place));
        self.emit(place, Ok(ImportRecord::Skipped(sentence.into())))
    }

    fn adapt(&mut self, place: &str, sentence: &str) -> ReadResult {
        let place = self.place(place);
        self.adapt_at(place, sentence.to_owned())
    }

    fn adapt_at(&mut self, place: String, sentence: String) -> ReadResult {
        self.emit(EntryPlace::of(place), Ok(ImportRecord::Adapted(sentence)))
    }

    fn draft(&mut self, place: &str, draft: Draft) -> ReadResult {
        let (changes, item) = draft.done();
        let place = EntryPlace { name: self.place(place), changes };
        match item {
            Ok(item) => self.pass_on_at(place, ImportRecord::Item(Box::new(item))),
            Err(invalid) => self.emit(place, Err(invalid)),
        }
    }
}

/// Reads a file of another program without keeping anything: for fuzzing.
///
/// # Errors
/// [`Invalid`] if its form is not known.
pub fn parse_foreign(name: Option<&str>, bytes: &[u8]) -> Result<usize, Invalid> {
    let (mut records, mut refused) = (0, None);
    let mut each = |piece: FilePiece| {
        match piece.record {
            Ok(_) => records += 1,
            Err(invalid) => refused = Some(invalid),
        }
        true
    };
    let mut screen = |_: &mut [crate::redaction::ScreenedField<'_>]| Ok(Vec::new());
    let mut reader = ForeignReader::new(&mut screen, &mut each, OffsetDateTime::UNIX_EPOCH);
    let read = match is_archive(bytes) {
        true => reader.read_archive(io::Cursor::new(bytes)),
        false => reader.read_file(name, bytes),
    };
    debug_assert!(read.is_ok(), "slices do not fail");
    match (records, refused) {
        (0, Some(invalid)) => Err(invalid),
        (records, _) => Ok(records),
    }
}

/// `md` of `Notes/A.MD`.
fn ending_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default()
}
