//! Validates every provider's vectors before they are used.

use super::MAX_DIMENSIONS;
use super::error::{NotEmbeddings, ProviderError, WrongVector};

/// Smaller norms round to zero in half precision.
const MIN_NORM: f64 = 1e-12;

/// One vector per text, of equal width, finite, non-zero and not too wide.
pub(super) fn vectors(vectors: &[Vec<f32>], sent: usize) -> Result<(), ProviderError> {
    let got = vectors.len();
    if got != sent {
        let flaw = NotEmbeddings::WrongCount { sent, got };
        return Err(ProviderError::NotEmbeddings(flaw));
    }
    let width = vectors.first().map_or(0, Vec::len);
    for vector in vectors {
        flaw_of(vector).map_or(Ok(()), |flaw| Err(ProviderError::WrongVector(flaw)))?;
        if vector.len() != width {
            return Err(ProviderError::NotEmbeddings(NotEmbeddings::Shape));
        }
    }
    Ok(())
}

fn flaw_of(vector: &[f32]) -> Option<WrongVector> {
    let dimensions = vector.len();
    let square = |v: &f32| f64::from(*v) * f64::from(*v);
    let norm = vector.iter().map(square).sum::<f64>().sqrt();
    match dimensions {
        0 => Some(WrongVector::Empty),
        _ if dimensions > MAX_DIMENSIONS => Some(WrongVector::TooWide { dimensions }),
        _ if !norm.is_finite() => Some(WrongVector::NotFinite),
        _ if norm < MIN_NORM => Some(WrongVector::Zero),
        _ => None,
    }
}
