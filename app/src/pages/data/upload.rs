//! The body of an upload, which is bounded until its file begins: the parser keeps in memory what comes before a part's
//! content, and reads other parts to their ends.

use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Error;
use axum::body::{Body, Bytes};
use futures_util::{TryStreamExt, stream};
use tokio::task::yield_now;

use crate::export::FORM_BYTES_MAX;

/// So much is parsed at a time before the file begins.
const PIECE_BYTES: usize = 4 << 10;

/// What of a form comes before its file.
#[derive(Default)]
pub struct Preamble {
    file_began: AtomicBool,
    is_too_long: AtomicBool,
}

impl Preamble {
    /// From now on, the file bounds itself.
    pub fn end(&self) {
        self.file_began.store(true, Ordering::Relaxed);
    }

    /// Whether the body failed for this.
    pub fn is_too_long(&self) -> bool {
        self.is_too_long.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: u64) -> Result<(), Error> {
        if bytes <= FORM_BYTES_MAX {
            return Ok(());
        }
        self.is_too_long.store(true, Ordering::Relaxed);
        Err(Error::new("too much before the file"))
    }
}

/// Fails once more than [`FORM_BYTES_MAX`] came before the preamble's end.
pub fn bounded(body: Body, preamble: Arc<Preamble>) -> Body {
    let from = (body.into_data_stream(), Bytes::new(), 0, preamble);
    let pieces = stream::try_unfold(from, |(mut body, mut rest, read, preamble)| async move {
        if read > 0 && !preamble.file_began.load(Ordering::Relaxed) {
            // The parser reads whatever is ready, the end too; it first has to look at what it has.
            yield_now().await;
        }
        if rest.is_empty() {
            match body.try_next().await? {
                Some(chunk) => rest = chunk,
                None => return Ok(None),
            }
        }
        if preamble.file_began.load(Ordering::Relaxed) {
            return Ok(Some((take(&mut rest), (body, rest, read, preamble))));
        }
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        let read = read + piece.len() as u64;
        preamble.count(read)?;
        Ok::<_, Error>(Some((piece, (body, rest, read, preamble))))
    });
    Body::from_stream(pieces)
}
