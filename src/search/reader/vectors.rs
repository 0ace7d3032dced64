//! The embeddings of one space, one per source: sign bits to preselect the nearest, and 8-bit codes per dimension to compare
//! those.

use std::sync::LazyLock;

use simsimd::{BinarySimilarity, SpatialSimilarity};

use crate::embedding::vector::codes;

/// Sign bits per vector: the maximum number of dimensions.
const SIGNS: usize = crate::embedding::DIMENSIONS;
const SIGN_BYTES: usize = SIGNS / 8;

#[derive(Default)]
pub struct Vectors {
    /// Dimensions; 0 while there are no vectors.
    width: usize,
    /// Source numbers, ascending, including those that are gone.
    sources: Vec<u32>,
    signs: Vec<u8>,
    codes: Vec<i8>,
    /// Factor that scales the codes to length 1.
    scales: Vec<f32>,
    gone: usize,
    /// Replaces the vectors in a large index: each source's distance from the one query vector.
    measured: Option<Vec<(u32, f32)>>,
}

/// A copy of a quantized vector, to compare sources with each other.
#[derive(Clone, Debug)]
pub struct Direction {
    codes: Box<[i8]>,
    scale: f32,
}

impl Direction {
    /// Cosine similarity; 0 for different dimensions.
    pub fn likeness(&self, other: &Self) -> f64 {
        let dot = i8::dot(&self.codes, &other.codes).unwrap_or_default();
        dot * f64::from(self.scale) * f64::from(other.scale)
    }
}

/// A query's vector, prepared for comparison.
pub struct PreparedQuery {
    signs: Vec<u8>,
    /// Codes and scale of the vector, and of its quantization error.
    codes: [(Vec<i8>, f32); 2],
}

/// Cosine distance of two vectors of length 1; `None` for different dimensions.
pub fn exact_distance(one: &[f32], other: &[f32]) -> Option<f32> {
    let likeness = f32::dot(one, other).filter(|_| one.len() == other.len())?;
    Some((1.0 - likeness as f32).clamp(0.0, 2.0))
}

impl PreparedQuery {
    pub fn new(vector: &[f32]) -> Self {
        let first = codes(vector);
        let left = vector.iter().zip(&first.0);
        let left: Vec<f32> = left.map(|(v, code)| v - f32::from(*code) * first.1).collect();
        Self { signs: signs(vector), codes: [first, codes(&left)] }
    }
}

impl Vectors {
    pub fn push(&mut self, source: u32, vector: &[f32]) {
        if self.width == 0 {
            self.width = vector.len();
        }
        if vector.len() != self.width {
            return;
        }
        let (codes, _) = codes(vector);
        let length = i8::dot(&codes, &codes).unwrap_or_default().sqrt() as f32;
        self.sources.push(source);
        self.signs.extend(signs(vector));
        self.codes.extend(codes);
        self.scales.push(if length > 0.0 { 1.0 / length } else { 0.0 });
    }

    fn place(&self, source: u32) -> Option<usize> {
        self.sources.binary_search(&source).ok()
    }

    /// Zeroes the vector of a source that is gone; its place stays.
    pub fn remove(&mut self, source: u32) {
        let Some(at) = self.place(source) else { return };
        self.signs[at * SIGN_BYTES..(at + 1) * SIGN_BYTES].fill(0);
        self.codes[at * self.width..(at + 1) * self.width].fill(0);
        self.gone += 1;
    }

    pub fn count(&self) -> usize {
        self.sources.len() - self.gone
    }

    /// The dimensions may differ: a query can be embedded before those of the space are known.
    fn compares(&self, asked: &PreparedQuery) -> bool {
        asked.codes[0].0.len() == self.width
    }

    /// For a large index: source numbers, ascending, with their cosine distances from the query.
    pub fn set_measured(&mut self, distances: Vec<(u32, f32)>) {
        self.measured = Some(distances);
    }

    /// The `most` nearest wanted sources with their cosine distances, nearest first. Preselects `looked_at` of them by sign
    /// bits, then compares by codes.
    pub fn nearest(
        &self,
        asked: &PreparedQuery,
        looked_at: usize,
        most: usize,
        wanted: impl Fn(u32) -> bool,
    ) -> Vec<(u32, f32)> {
        let mut found: Vec<(u32, f32)> = if let Some(measured) = &self.measured {
            let wanted = measured.iter().filter(|(source, _)| wanted(*source));
            wanted.copied().collect()
        } else if self.compares(asked) {
            let near = self.near_by_signs(asked, looked_at, wanted).into_iter();
            near.map(|at| (self.sources[at], self.distance_at(at, asked))).collect()
        } else {
            return Vec::new();
        };
        let order = |a: &(u32, f32), b: &(u32, f32)| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0));
        if found.len() > most {
            found.select_nth_unstable_by(most, order);
            found.truncate(most);
        }
        found.sort_unstable_by(order);
        found
    }

    fn near_by_signs(
        &self,
        asked: &PreparedQuery,
        looked_at: usize,
        wanted: impl Fn(u32) -> bool,
    ) -> Vec<usize> {
        let all = (0..self.sources.len()).filter(|at| wanted(self.sources[*at]));
        if self.count() <= looked_at {
            return all.collect();
        }
        let mut counts = [0_usize; SIGNS + 1];
        let mut differing: Vec<(u32, u16)> = Vec::with_capacity(self.sources.len());
        for at in all {
            let signs = &self.signs[at * SIGN_BYTES..(at + 1) * SIGN_BYTES];
            let differ = u8::hamming(signs, &asked.signs).unwrap_or_default() as u16;
            counts[usize::from(differ)] += 1;
            differing.push((at as u32, differ));
        }
        let mut within = 0;
        let farthest = counts.iter().position(|count| {
            within += count;
            within >= looked_at
        });
        let farthest = farthest.unwrap_or(SIGNS);
        let near = differing.into_iter().filter(|(_, differ)| usize::from(*differ) <= farthest);
        near.map(|(at, _)| at as usize).collect()
    }

    /// Cosine distance of a source, 0 to 2; `None` without a vector.
    pub fn distance(&self, source: u32, asked: &PreparedQuery) -> Option<f32> {
        if let Some(measured) = &self.measured {
            let at = measured.binary_search_by_key(&source, |(source, _)| *source);
            return Some(measured[at.ok()?].1);
        }
        let place = self.place(source).filter(|_| self.compares(asked))?;
        Some(self.distance_at(place, asked))
    }

    /// The quantized vector of a source; `None` without one, or if vectors are not kept.
    pub fn direction(&self, source: u32) -> Option<Direction> {
        let at = self.place(source).filter(|_| self.measured.is_none())?;
        Some(Direction {
            codes: self.codes[at * self.width..(at + 1) * self.width].into(),
            scale: self.scales[at],
        })
    }

    fn distance_at(&self, at: usize, asked: &PreparedQuery) -> f32 {
        let codes = &self.codes[at * self.width..(at + 1) * self.width];
        let dot = |(other, scale): &(Vec<i8>, f32)| {
            i8::dot(codes, other).unwrap_or_default() as f32 * scale
        };
        let likeness: f32 = asked.codes.iter().map(dot).sum::<f32>() * self.scales[at];
        (1.0 - likeness).clamp(0.0, 2.0)
    }

    pub fn settle(&mut self) {
        self.sources.shrink_to_fit();
        self.signs.shrink_to_fit();
        self.codes.shrink_to_fit();
        self.scales.shrink_to_fit();
    }

    pub fn bytes(&self) -> usize {
        self.sources.capacity() * 4
            + self.signs.capacity()
            + self.codes.capacity()
            + self.scales.capacity() * 4
    }
}

/// The sign bits after a fixed random rotation. The rotation spreads a vector of 384 dimensions over all [`SIGNS`] bits.
fn signs(vector: &[f32]) -> Vec<u8> {
    let mut turned: Vec<f32> = vector.iter().zip(FLIPS.iter()).map(|(v, f)| v * f).collect();
    turned.resize(SIGNS, 0.0);
    hadamard(&mut turned);
    let byte = |eight: &[f32]| {
        let bits = eight.iter().map(|v| u8::from(*v > 0.0));
        bits.fold(0, |byte, bit| byte << 1 | bit)
    };
    turned.chunks_exact(8).map(byte).collect()
}

/// Fixed pseudo-random signs, 1 or -1.
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
    (0..SIGNS).map(|_| if next() >> 63 == 0 { 1.0 } else { -1.0 }).collect()
});

/// In-place Walsh-Hadamard transform: a rotation, up to scale. Needs at least eight values.
fn hadamard(values: &mut [f32]) {
    for eight in values.as_chunks_mut::<8>().0 {
        let [a, b, c, d, e, f, g, h] = *eight;
        let ([a, b], [c, d]) = ([a + b, a - b], [c + d, c - d]);
        let ([e, f], [g, h]) = ([e + f, e - f], [g + h, g - h]);
        let (left, right) = ([a + c, b + d, a - c, b - d], [e + g, f + h, e - g, f - h]);
        for n in 0..4 {
            eight[n] = left[n] + right[n];
            eight[n + 4] = left[n] - right[n];
        }
    }
    let mut half = 8;
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
    use crate::embedding::Vector;

    /// Distinct vectors of length 1.
    fn vector(seed: u32) -> Vec<f32> {
        let values: Vec<f32> = (1..=384).map(|n| ((n * (seed + 1)) as f32).sin()).collect();
        Vector::from_answer(&values).expect("a vector").values().to_vec()
    }

    fn exact(one: &[f32], other: &[f32]) -> f32 {
        1.0 - one.iter().zip(other).map(|(a, b)| a * b).sum::<f32>()
    }

    #[test]
    fn distances_are_those_of_the_vectors() {
        let mut vectors = Vectors::default();
        for n in 0..50 {
            vectors.push(n, &vector(n));
        }
        let asked = PreparedQuery::new(&vector(7));
        for n in 0..50 {
            let found = vectors.distance(n, &asked).expect("there");
            let expected = exact(&vector(n), &vector(7));
            assert!((found - expected).abs() < 0.002, "{n}: {found}, {expected}");
        }
        assert!(vectors.distance(7, &asked).expect("there") < 0.000_1);
        assert_eq!(vectors.distance(50, &asked), None);
    }

    #[test]
    fn the_nearest_come_first_and_what_is_not_wanted_does_not() {
        // Increasingly far from the first, up to unrelated.
        let (first, last) = (vector(0), vector(1));
        let at = |n: u32| {
            let angle = (n as f32 / 500.0).sqrt() * std::f32::consts::FRAC_PI_2;
            let mixed = first.iter().zip(&last).map(|(a, b)| a * angle.cos() + b * angle.sin());
            Vector::from_answer(&mixed.collect::<Vec<f32>>()).expect("a vector").values().to_vec()
        };
        let mut vectors = Vectors::default();
        for n in 0..500 {
            vectors.push(n, &at(n));
        }
        let asked = PreparedQuery::new(&first);
        let found = vectors.nearest(&asked, 208, 10, |n| n % 2 == 1);
        let found: Vec<u32> = found.into_iter().map(|(n, _)| n).collect();
        assert_eq!(found[..5], [1, 3, 5, 7, 9]);
        assert!(found.iter().all(|n| n % 2 == 1 && *n < 30), "{found:?}");
        assert_eq!(vectors.nearest(&asked, 208, 10, |_| false), []);
    }

    #[test]
    fn a_vector_of_another_width_is_left_out() {
        let mut vectors = Vectors::default();
        vectors.push(0, &vector(1));
        vectors.push(1, &[1.0]);
        assert_eq!(vectors.count(), 1);
    }

    #[test]
    fn signs_of_a_short_vector_use_the_whole_width_and_tell_near_from_far() {
        let vector =
            |seed: f32| -> Vec<f32> { (0..384).map(|i| (i as f32 * seed).sin()).collect() };
        let differ =
            |a: &[f32], b: &[f32]| u8::hamming(&signs(a), &signs(b)).expect("of one width");
        let (one, near, far) = (vector(1.0), vector(1.0005), vector(2.0));
        assert!(differ(&one, &near) < 100.0);
        assert!((400.0..624.0).contains(&differ(&one, &far)));
        let ones: u32 = signs(&one).iter().map(|byte| byte.count_ones()).sum();
        assert!((400..624).contains(&ones), "{ones}");
    }
}
