//! The embeddings of one space, one per passage: sign bits to preselect the nearest, and 8-bit codes per dimension to compare
//! those.

use std::ops::Range;
use std::sync::LazyLock;

use simsimd::{BinarySimilarity, SpatialSimilarity};

use crate::embedding::vector::codes;

/// Sign bits per vector: the maximum number of dimensions.
const SIGNS: usize = crate::embedding::DIMENSIONS;
const SIGN_BYTES: usize = SIGNS / 8;
/// Limit on the vectors that a query's [`Spread`] is computed over.
const SPREAD_MAX: usize = 512;
/// So many of them are compared with each other.
const PAIRED_MAX: usize = 24;
/// Weight of the prior, in vectors.
const PRIOR: f64 = 10.0;
/// The cosines of unrelated texts, for a memory that has no pairs of vectors yet (of the builtin model).
pub const UNRELATED: Spread = Spread { mean: 0.18, deviation: 0.11 };
/// How many deviations more than with a builtin model a text of another one has to stand out to be as relevant (bench/README.md,
/// "How sure").
const STRICTER: f64 = 0.5;
/// More passages are more chances to be near by accident: how many deviations the nearest of several is moved away, times
/// √(2 ln passages) (bench/README.md, "Long texts").
const BY_ACCIDENT: f64 = 0.5;

#[derive(Default)]
pub struct Vectors {
    /// Dimensions; 0 while there are no vectors.
    width: usize,
    /// Passage numbers, ascending, including those of sources that are gone.
    passages: Vec<u32>,
    signs: Vec<u8>,
    codes: Vec<i8>,
    /// Factor that scales the codes to length 1; 0 if it is gone.
    scales: Vec<f32>,
    gone: usize,
    /// Replaces the vectors in a large index: each passage's distance from the one query vector, ascending by passage.
    measured: Option<Vec<(u32, f32)>>,
}

/// The cosines of a query with a user's texts, most of which are unrelated to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub deviation: f64,
}

impl Spread {
    /// How many deviations a distance stands out.
    pub fn standing(&self, distance: f64) -> f64 {
        (1.0 - distance - self.mean) / self.deviation
    }

    /// The cosine with which a text of a builtin model would stand out as far, less [`STRICTER`] deviations.
    pub fn as_fitted(&self, distance: f64) -> f64 {
        UNRELATED.mean + UNRELATED.deviation * (self.standing(distance) - STRICTER)
    }
}

/// How near a source is to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearness {
    /// Cosine distance of its first passage or, if that is less, of its nearest one, corrected for their number.
    pub distance: f32,
    /// Number of the nearest passage in the index.
    pub passage: u32,
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
    /// Adds the vector of the next passage.
    pub fn push(&mut self, passage: u32, vector: &[f32]) {
        if self.width == 0 {
            self.width = vector.len();
        }
        if vector.len() != self.width {
            return;
        }
        let (codes, _) = codes(vector);
        let length = i8::dot(&codes, &codes).unwrap_or_default().sqrt() as f32;
        self.passages.push(passage);
        self.signs.extend(signs(vector));
        self.codes.extend(codes);
        self.scales.push(if length > 0.0 { 1.0 / length } else { 0.0 });
    }

    /// The places of these passages.
    fn places(&self, passages: Range<usize>) -> Range<usize> {
        let place = |passage: usize| self.passages.partition_point(|p| (*p as usize) < passage);
        place(passages.start)..place(passages.end)
    }

    /// Zeroes the vectors of a source that is gone; their places stay.
    pub fn remove(&mut self, passages: Range<usize>) {
        let places = self.places(passages);
        self.gone += places.len();
        self.signs[places.start * SIGN_BYTES..places.end * SIGN_BYTES].fill(0);
        self.codes[places.start * self.width..places.end * self.width].fill(0);
        self.scales[places].fill(0.0);
    }

    pub fn count(&self) -> usize {
        self.passages.len() - self.gone
    }

    /// The dimensions may differ: a query can be embedded before those of the space are known.
    fn compares(&self, asked: &PreparedQuery) -> bool {
        asked.codes[0].0.len() == self.width
    }

    /// For a large index: passage numbers, ascending, with their cosine distances from the query.
    pub fn set_measured(&mut self, distances: Vec<(u32, f32)>) {
        self.measured = Some(distances);
    }

    /// At least `most` of the nearest wanted passages, by sign bits only; unordered.
    pub fn near(
        &self,
        asked: &PreparedQuery,
        most: usize,
        wanted: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        if let Some(measured) = &self.measured {
            let wanted = measured.iter().filter(|(passage, _)| wanted(*passage));
            let mut near: Vec<(u32, f32)> = wanted.copied().collect();
            if near.len() > most {
                near.select_nth_unstable_by(most, |a, b| a.1.total_cmp(&b.1));
                near.truncate(most);
            }
            return near.into_iter().map(|(passage, _)| passage).collect();
        }
        if !self.compares(asked) {
            return Vec::new();
        }
        let is_wanted = |at: &usize| self.scales[*at] > 0.0 && wanted(self.passages[*at]);
        let all = (0..self.passages.len()).filter(is_wanted);
        if self.count() <= most {
            return all.map(|at| self.passages[at]).collect();
        }
        let mut counts = [0_usize; SIGNS + 1];
        let mut differing: Vec<(u32, u16)> = Vec::with_capacity(self.passages.len());
        for at in all {
            let signs = &self.signs[at * SIGN_BYTES..(at + 1) * SIGN_BYTES];
            let differ = u8::hamming(signs, &asked.signs).unwrap_or_default() as u16;
            counts[usize::from(differ)] += 1;
            differing.push((self.passages[at], differ));
        }
        let mut within = 0;
        let farthest = counts.iter().position(|count| {
            within += count;
            within >= most
        });
        let farthest = farthest.unwrap_or(SIGNS);
        let near = differing.into_iter().filter(|(_, differ)| usize::from(*differ) <= farthest);
        near.map(|(passage, _)| passage).collect()
    }

    /// Mean and deviation of the query's cosines with the passages that are seen, with a prior: the cosines of these passages
    /// with each other, which show what unrelated texts have in this space.
    pub fn spread(&self, asked: &PreparedQuery, seen: impl Fn(u32) -> bool) -> Spread {
        let mut cosines = Vec::new();
        let mut paired = Vec::new();
        if let Some(measured) = &self.measured {
            let step = measured.len().div_ceil(SPREAD_MAX).max(1);
            let some = measured.iter().step_by(step).filter(|(passage, _)| seen(*passage));
            cosines.extend(some.map(|(_, distance)| 1.0 - f64::from(*distance)));
        } else if self.compares(asked) {
            let step = self.passages.len().div_ceil(SPREAD_MAX).max(1);
            let is_seen = |at: &usize| self.scales[*at] > 0.0 && seen(self.passages[*at]);
            let some: Vec<usize> = (0..self.passages.len()).step_by(step).filter(is_seen).collect();
            cosines.extend(some.iter().map(|at| 1.0 - f64::from(self.distance_at(*at, asked))));
            let few = some.len().div_ceil(PAIRED_MAX).max(1);
            let few: Vec<usize> = some.into_iter().step_by(few).collect();
            for (nth, one) in few.iter().enumerate() {
                paired.extend(few[..nth].iter().map(|other| self.likeness_of(*one, *other)));
            }
        }
        let (mean, deviation) = match paired.len() {
            0..3 => (UNRELATED.mean, UNRELATED.deviation),
            _ => moments(&paired, (0.0, 0.0), 0.0),
        };
        let (mean, deviation) = moments(&cosines, (mean, deviation), PRIOR);
        Spread { mean, deviation: deviation.max(1e-3) }
    }

    /// How near a source with these passages is; `None` without a vector.
    pub fn nearness(
        &self,
        passages: Range<usize>,
        asked: &PreparedQuery,
        spread: &Spread,
    ) -> Option<Nearness> {
        let first = passages.start;
        let mut distances: Vec<(u32, f32)> = Vec::new();
        if let Some(measured) = &self.measured {
            let place = |of: usize| measured.partition_point(|(p, _)| (*p as usize) < of);
            distances.extend(&measured[place(passages.start)..place(passages.end)]);
        } else if self.compares(asked) {
            let places = self.places(passages).filter(|at| self.scales[*at] > 0.0);
            distances.extend(places.map(|at| (self.passages[at], self.distance_at(at, asked))));
        }
        let (passage, nearest) = distances.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let by_accident = (2.0 * (distances.len() as f64).ln()).sqrt() * BY_ACCIDENT;
        let corrected = nearest + (by_accident * spread.deviation) as f32;
        let of_first = distances.iter().find(|(p, _)| *p as usize == first);
        let distance = of_first.map_or(corrected, |(_, of_first)| of_first.min(corrected));
        Some(Nearness { distance, passage })
    }

    /// The quantized vector of a source's first embedded passage; `None` without one, or if vectors are not kept.
    pub fn direction(&self, passages: Range<usize>) -> Option<Direction> {
        let at = self.places(passages).next().filter(|_| self.measured.is_none())?;
        Some(Direction { codes: self.codes_at(at).into(), scale: self.scales[at] })
    }

    fn codes_at(&self, at: usize) -> &[i8] {
        &self.codes[at * self.width..(at + 1) * self.width]
    }

    fn distance_at(&self, at: usize, asked: &PreparedQuery) -> f32 {
        let codes = self.codes_at(at);
        let dot = |(other, scale): &(Vec<i8>, f32)| {
            i8::dot(codes, other).unwrap_or_default() as f32 * scale
        };
        let likeness: f32 = asked.codes.iter().map(dot).sum::<f32>() * self.scales[at];
        (1.0 - likeness).clamp(0.0, 2.0)
    }

    fn likeness_of(&self, one: usize, other: usize) -> f64 {
        let dot = i8::dot(self.codes_at(one), self.codes_at(other)).unwrap_or_default();
        dot * f64::from(self.scales[one]) * f64::from(self.scales[other])
    }

    pub fn settle(&mut self) {
        self.passages.shrink_to_fit();
        self.signs.shrink_to_fit();
        self.codes.shrink_to_fit();
        self.scales.shrink_to_fit();
    }

    pub fn bytes(&self) -> usize {
        self.passages.capacity() * 4
            + self.signs.capacity()
            + self.codes.capacity()
            + self.scales.capacity() * 4
    }
}

/// Mean and deviation of the values, combined with a prior of this weight.
fn moments(values: &[f64], (mean, deviation): (f64, f64), weight: f64) -> (f64, f64) {
    let n = values.len() as f64 + weight;
    let sum: f64 = values.iter().sum::<f64>() + weight * mean;
    let of_squares = values.iter().map(|value| value * value).sum::<f64>();
    let of_squares = of_squares + weight * (deviation * deviation + mean * mean);
    (sum / n, (of_squares / n - (sum / n).powi(2)).max(0.0).sqrt())
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

    fn distance(vectors: &Vectors, passage: usize, asked: &PreparedQuery) -> Option<f32> {
        let spread = vectors.spread(asked, |_| true);
        Some(vectors.nearness(passage..passage + 1, asked, &spread)?.distance)
    }

    #[test]
    fn distances_are_those_of_the_vectors() {
        let mut vectors = Vectors::default();
        for n in 0..50 {
            vectors.push(n, &vector(n));
        }
        let asked = PreparedQuery::new(&vector(7));
        for n in 0..50 {
            let found = distance(&vectors, n as usize, &asked).expect("there");
            let expected = exact(&vector(n), &vector(7));
            assert!((found - expected).abs() < 0.002, "{n}: {found}, {expected}");
        }
        assert!(distance(&vectors, 7, &asked).expect("there") < 0.000_1);
        assert_eq!(distance(&vectors, 50, &asked), None);
        vectors.remove(7..8);
        assert_eq!((vectors.count(), distance(&vectors, 7, &asked)), (49, None));
    }

    /// Increasingly far from the first vector, up to unrelated.
    fn away(n: u32) -> Vec<f32> {
        let angle = (n as f32 / 500.0).sqrt() * std::f32::consts::FRAC_PI_2;
        let (first, last) = (vector(0), vector(1));
        let mixed = first.iter().zip(&last).map(|(a, b)| a * angle.cos() + b * angle.sin());
        Vector::from_answer(&mixed.collect::<Vec<f32>>()).expect("a vector").values().to_vec()
    }

    #[test]
    fn the_nearest_are_preselected_and_what_is_not_wanted_is_not() {
        let mut vectors = Vectors::default();
        for n in 0..500 {
            vectors.push(n, &away(n));
        }
        let asked = PreparedQuery::new(&vector(0));
        let found = vectors.near(&asked, 50, |n| n % 2 == 1);
        assert!((50..150).contains(&found.len()), "{}", found.len());
        assert!([1, 3, 5, 7, 9].iter().all(|n| found.contains(n)));
        assert!(found.iter().all(|n| n % 2 == 1));
        assert!(vectors.near(&asked, 50, |_| false).is_empty());
    }

    #[test]
    fn a_source_is_as_near_as_its_nearest_passage_less_what_their_number_explains() {
        let mut vectors = Vectors::default();
        for n in 0..40 {
            vectors.push(n, &vector(n + 2));
        }
        vectors.push(40, &vector(0));
        let asked = PreparedQuery::new(&vector(0));
        let spread = vectors.spread(&asked, |_| true);
        let of = |passages| vectors.nearness(passages, &asked, &spread).expect("there");
        let (alone, last_of_two, of_many) = (of(40..41), of(39..41), of(1..41));
        assert_eq!((alone.passage, last_of_two.passage, of_many.passage), (40, 40, 40));
        assert!(alone.distance < last_of_two.distance && last_of_two.distance < of_many.distance);
        assert!(of_many.distance < of(0..40).distance);
        // It is its first passage: there is nothing to correct.
        let mut vectors = Vectors::default();
        vectors.push(0, &vector(0));
        vectors.push(1, &vector(3));
        let both = vectors.nearness(0..2, &asked, &spread).expect("there");
        assert!(both.distance < 0.001, "{both:?}");
    }

    #[test]
    fn what_all_texts_have_in_common_is_no_likeness() {
        // All vectors lie around one direction, as those of some models do.
        let around = |n: u32| -> Vec<f32> {
            let mixed = vector(0).iter().zip(vector(n + 1)).map(|(a, b)| a * 2.0 + b).collect();
            let mixed: Vec<f32> = mixed;
            Vector::from_answer(&mixed).expect("a vector").values().to_vec()
        };
        let mut vectors = Vectors::default();
        for n in 0..60 {
            vectors.push(n, &around(n));
        }
        let asked = PreparedQuery::new(&around(7));
        let spread = vectors.spread(&asked, |_| true);
        let standing = |n: u32| {
            let distance = distance(&vectors, n as usize, &asked).expect("there");
            spread.standing(f64::from(distance))
        };
        assert!(spread.mean > 0.6, "{spread:?}");
        assert!(standing(7) > 2.0 && standing(20) < 1.0, "{} {}", standing(7), standing(20));
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
