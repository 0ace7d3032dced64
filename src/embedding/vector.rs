//! A vector as it is kept: of length 1, as wide as its model makes it. What a provider answers is checked here.
//!
//! Nova §0.2 and DESIGN §4 pad vectors with zeros to one width. Nothing needs that here, since
//! two spaces are never compared; 384 dimensions take 0.8 kB in their row, and padded 2.8 kB
//! out of it (bench/README.md, "Search by meaning").

use pgvector::HalfVector;

/// The widest vector that is kept (Nova §0.2).
pub const DIMENSIONS: usize = 1_024;

/// Why an answer of a provider is no vector.
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
    #[error("the vector is all zeros")]
    Zero,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<f32>);

impl Vector {
    /// Checks what a provider answered and brings it to length 1.
    pub fn from_answer(values: &[f32]) -> Result<Self, VectorError> {
        match values.len() {
            0 => return Err(VectorError::Empty),
            dimensions if dimensions > DIMENSIONS => {
                return Err(VectorError::TooWide { dimensions });
            }
            _ => {}
        }
        let norm = values
            .iter()
            .map(|v| f64::from(*v) * f64::from(*v))
            .sum::<f64>()
            .sqrt();
        if !norm.is_finite() {
            return Err(VectorError::NotFinite);
        }
        // As small as what rounds to zero in half precision.
        if norm < 1e-12 {
            return Err(VectorError::Zero);
        }
        let scaled = values.iter().map(|v| (f64::from(*v) / norm) as f32);
        Ok(Self(scaled.collect()))
    }

    /// As it is stored and compared.
    pub fn half(&self) -> HalfVector {
        HalfVector::from_f32_slice(&self.0)
    }

    pub fn values(&self) -> &[f32] {
        &self.0
    }
}

/// Eight bits a value: the nearest whole numbers at a scale, and that scale.
pub fn codes(values: &[f32]) -> (Vec<i8>, f32) {
    /// At this height the last bit of a number is worth 1: what is added to it is rounded, and is its lowest bits.
    const WHOLE: f32 = (3 << 22) as f32;
    let highest = values
        .iter()
        .fold(0.0_f32, |highest, v| highest.max(v.abs()));
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
