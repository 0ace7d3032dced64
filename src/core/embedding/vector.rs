//! An embedding vector: of length 1, with its model's dimensions. Validates provider answers.
//!
//! Unlike Nova §0.2, vectors are not padded to one width, because spaces are never compared. 384 dimensions
//! take 0.8 kB in their row; padded, 2.8 kB outside of it (bench/README.md, "Search by meaning").

use pgvector::HalfVector;

/// Maximum number of dimensions (Nova §0.2).
pub const DIMENSIONS: usize = 1_024;

/// Why a provider's answer is not a valid vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    #[error("the vector is empty")]
    Empty,
    #[error(
        "the vector has {dimensions} dimensions, and at most {DIMENSIONS} are kept: set `dimensions` to {DIMENSIONS} or fewer, or choose a smaller model"
    )]
    TooWide { dimensions: usize },
    #[error("the vector holds something that is not a number")]
    NotFinite,
    #[error("the vector is all zeros: the model knows nothing of this text")]
    Zero,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<f32>);

impl Vector {
    /// Validates a provider's answer and scales it to length 1.
    pub fn from_answer(values: &[f32]) -> Result<Self, VectorError> {
        match values.len() {
            0 => return Err(VectorError::Empty),
            dimensions if dimensions > DIMENSIONS => {
                return Err(VectorError::TooWide { dimensions });
            }
            _ => {}
        }
        let norm = values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
        if !norm.is_finite() {
            return Err(VectorError::NotFinite);
        }
        // Values that round to zero in half precision.
        if norm < 1e-12 {
            return Err(VectorError::Zero);
        }
        let scaled = values.iter().map(|v| (f64::from(*v) / norm) as f32);
        Ok(Self(scaled.collect()))
    }

    /// In half precision, as stored and compared.
    pub fn half(&self) -> HalfVector {
        HalfVector::from_f32_slice(&self.0)
    }

    pub fn values(&self) -> &[f32] {
        &self.0
    }
}

/// Quantizes to 8 bits: integer codes and their common scale.
pub fn codes(values: &[f32]) -> (Vec<i8>, f32) {
    /// At this magnitude, the last mantissa bit is worth 1: adding it rounds a value and leaves it in the lowest bits.
    const WHOLE: f32 = (3 << 22) as f32;
    let highest = values.iter().fold(0.0_f32, |highest, v| highest.max(v.abs()));
    let scale = if highest > 0.0 { highest / 127.0 } else { 1.0 };
    let code = |v: &f32| (v / scale + WHOLE).to_bits() as i8;
    (values.iter().map(code).collect(), scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_brought_to_length_one() {
        let vector = Vector::from_answer(&[3.0, 4.0]).expect("a vector");
        assert_eq!(vector.0, [0.6, 0.8]);
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        let refused = |values: &[f32]| Vector::from_answer(values).expect_err("refused");
        assert_eq!(refused(&[]), VectorError::Empty);
        assert_eq!(refused(&[0.0; 8]), VectorError::Zero);
        assert_eq!(refused(&[1.0, f32::NAN]), VectorError::NotFinite);
        assert_eq!(refused(&[1.0, f32::INFINITY]), VectorError::NotFinite);
        let wide = refused(&[1.0; 1_536]);
        assert_eq!(wide, VectorError::TooWide { dimensions: 1_536 });
        assert!(wide.to_string().contains("`dimensions` to 1024"));
    }
}
