//! A person's data, out and in again: the export, which goes out in small steps
//! ([`Export`]), and the import of it and of others' exports ([`Importer`]). The
//! form is described in `docs/export.md`. No key, token or password is ever in it.

mod document;
mod documents;
mod entities;
mod episodes;
mod import;
mod origins;
pub mod read;
mod rows;
mod sessions;
mod source;
mod store;
mod upload;
mod write;

pub use document::parse_document;
pub use import::{ImportError, Importer, Outcome, Problem};
pub use source::{DOCUMENT_BYTES_MAX, LINE_BYTES_MAX};
pub use upload::{Imports, Shown, State, UPLOAD_BYTES_MAX, Upload, UploadError};
pub use write::{Export, Overview};

/// What the first line says; a newer form is refused.
pub const FORM_VERSION: i64 = 1;
