//! Export and import of a person's data: the export is written in small steps ([`Export`]); the import reads
//! it and files of other programs ([`Importer`], `foreign/`). The format is described in `docs/export.md`. It never
//! contains keys, tokens or passwords.

mod documents;
mod entities;
mod episodes;
mod fields;
mod foreign;
mod import;
mod kinds;
mod lines;
mod moment;
mod origins;
mod piece;
mod projects;
pub mod read;
mod sessions;
mod signature;
mod source;
mod store;
mod upload;
mod write;

pub use foreign::{FILE_BYTES_MAX, parse_foreign};
pub use import::{ImportError, ImportOutcome, ImportProblem, ImportReport, Importer};
pub use kinds::{KINDS, RecordKind};
pub use lines::ExportOverview;
pub use signature::{FileOrigin, is_signed};
pub use source::{ImportSource, LINE_BYTES_MAX};
pub use upload::{
    FORM_BYTES_MAX, ImportState, ImportStatus, Imports, UPLOAD_BYTES_MAX, Upload, UploadError,
};
pub use write::Export;

/// The version in the first line; a newer one is refused.
pub const FORM_VERSION: i64 = 1;
