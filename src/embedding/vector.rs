//! A vector as it is kept: of length 1, as wide as its model makes it, beside 1,024 signs by
//! which near ones are found first. What a provider answers is checked here.
//!
//! Nova §0.2 and DESIGN §4 pad vectors with zeros to one width. Nothing needs that here, since
//! two spaces are never compared; 384 dimensions take 0.8 kB in their row, and padded 2.8 kB
//! out of it (bench/README.md, "Search by meaning").

use std::sync::LazyLock;

use pgvector::{Bit, HalfVector};

/// The widest vector that is kept (Nova §0.2), and the number of signs of every vector.
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

    /// The signs of the vector after a fixed random rotation. Turned first, a
    /// vector of 384 dimensions spreads over all 1,024 bits; its own signs would
    /// fill 384 of them and leave the rest empty.
    pub fn bits(&self) -> Bit {
        let mut turned: Vec<f32> = self
            .0
            .iter()
            .zip(FLIPS.iter())
            .map(|(v, f)| v * f)
            .collect();
        turned.resize(DIMENSIONS, 0.0);
        hadamard(&mut turned);
        let signs: Vec<bool> = turned.iter().map(|v| *v > 0.0).collect();
        Bit::new(&signs)
    }
}

/// Signs of a fixed pseudo-random sequence: part of what is stored, so it may
/// never change.
static FLIPS: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..DIMENSIONS)
        .map(|_| if next() >> 63 == 0 { 1.0 } else { -1.0 })
        .collect()
});

/// The Walsh-Hadamard transform, in place: a rotation, but for its length.
fn hadamard(values: &mut [f32]) {
    let mut half = 1;
    while half < values.len() {
        for block in values.chunks_mut(half * 2) {
            let (left, right) = block.split_at_mut(half);
            for (l, r) in left.iter_mut().zip(right) {
                (*l, *r) = (*l + *r, *l - *r);
            }
        }
        half *= 2;
    }
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

    #[test]
    fn bits_of_a_short_vector_use_the_whole_width_and_tell_near_from_far() {
        let vector = |seed: f32| {
            let values: Vec<f32> = (0..384).map(|i| (i as f32 * seed).sin()).collect();
            Vector::from_answer(&values).expect("a vector")
        };
        let differ = |a: &Vector, b: &Vector| -> u32 {
            let (a, b) = (a.bits(), b.bits());
            let pairs = a.as_bytes().iter().zip(b.as_bytes());
            pairs.map(|(a, b)| (a ^ b).count_ones()).sum()
        };
        let (one, near, far) = (vector(1.0), vector(1.0005), vector(2.0));
        assert!(differ(&one, &near) < 100, "{}", differ(&one, &near));
        assert!(
            (400..624).contains(&differ(&one, &far)),
            "{}",
            differ(&one, &far)
        );
        let ones: u32 = one.bits().as_bytes().iter().map(|b| b.count_ones()).sum();
        assert!((400..624).contains(&ones), "{ones}");
    }
}
