//! The time signal: sources from the time that a query names or asks for rank higher (bench/README.md, "Time").

use time::OffsetDateTime;

use super::{SourceFilter, lexical, micros, time_of};
use crate::memories::Period;
use crate::memories::words::Term;
use crate::search::reader::index::{Index, IndexedSource};

const DAY: i64 = 86_400 * 1_000_000;
/// The fall-off outside the range grows with its length, up to this.
const LASTS_MAX: i64 = 366 * DAY;
/// Closeness of what holds in the range, but neither began nor was said in it: if it has a beginning and an end, if not.
const LASTING: [f64; 2] = [0.8, 0.4];

/// Half-open, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    from: i64,
    until: i64,
}

impl TimeRange {
    pub fn of(period: Period) -> Self {
        Self {
            from: period.from.map_or(i64::MIN, micros),
            until: period.until.map_or(i64::MAX, micros),
        }
    }

    /// Whether the source is from the range, or holds in it.
    pub fn has(self, source: &IndexedSource) -> bool {
        (self.from..self.until).contains(&source.created_at) || self.has_period_of(source)
    }

    /// Whether the source has dates, and holds at a time in the range.
    pub fn has_period_of(self, source: &IndexedSource) -> bool {
        let is_dated = source.valid_from != i64::MIN || source.valid_until != i64::MAX;
        is_dated && source.valid_from < self.until && self.from < source.valid_until
    }

    /// 1 inside the range, falling off outside. The fall-off is slower after it, because people talk about things
    /// afterwards, and for a longer range, because its limits are vaguer.
    pub fn closeness(self, source: &IndexedSource) -> f64 {
        let lasts = self.until.saturating_sub(self.from).min(LASTS_MAX) as f64;
        let (before, after) = (lasts / 8.0 + DAY as f64, lasts / 4.0 + 4.0 * DAY as f64);
        // One day more, so that the adjacent day counts less than the range.
        let edge = |apart: i64, scale: f64| (-(apart.saturating_add(DAY) as f64) / scale).exp();
        let of_moment = |at: i64| match at {
            at if at < self.from => edge(self.from.saturating_sub(at), before),
            at if at >= self.until => edge(at.saturating_sub(self.until), after),
            _ => 1.0,
        };
        let is_open = source.valid_from == i64::MIN || source.valid_until == i64::MAX;
        let lasting = match self.has_period_of(source) {
            true => LASTING[usize::from(is_open)],
            false => 0.0,
        };
        moments(source).map(of_moment).fold(lasting, f64::max)
    }
}

/// First and last time at which all of these words are mentioned together: by `valid_from` if any source has one, else by
/// creation. `None` if no source has all of the words.
pub fn first_and_last_mention(
    index: &Index,
    wanted: &SourceFilter,
    words: &[Term],
) -> Option<(OffsetDateTime, OffsetDateTime)> {
    let found = lexical::numbers_with_all(index, words);
    let found = found.into_iter().map(|number| index.source(number));
    let found: Vec<&IndexedSource> = found.filter(|source| wanted.has(source)).collect();
    let valid_from = |source: &&IndexedSource| Some(source.valid_from).filter(|at| *at != i64::MIN);
    let mut moments: Vec<i64> = found.iter().filter_map(valid_from).collect();
    if moments.is_empty() {
        moments = found.iter().map(|source| source.created_at).collect();
    }
    let (first, last) = (moments.iter().min()?, moments.iter().max()?);
    Some((time_of(*first), time_of(*last)))
}

/// Of the wanted sources, those in the time range.
pub fn mask(index: &Index, wanted: &[bool], time: TimeRange) -> Vec<bool> {
    let sources = index.sources().iter().zip(wanted);
    sources.map(|(source, wanted)| *wanted && time.has(source)).collect()
}

/// How much a time tells, 0 to 1: all, unless more than half of what is searched lies in it. A misread "before 2040" then costs
/// no place; up to ten in it cost no place among the first ten.
pub fn telling(wanted: &[bool], then: &[bool]) -> f64 {
    const FIRST: usize = 10;
    let count = |mask: &[bool]| mask.iter().filter(|is_in| **is_in).count();
    match (count(wanted), count(then)) {
        (_, then) if then <= FIRST => 1.0,
        (wanted, then) => (2.0 - 2.0 * then as f64 / wanted as f64).clamp(0.0, 1.0),
    }
}

/// Its creation, and its `valid_from` if there is one.
fn moments(source: &IndexedSource) -> impl Iterator<Item = i64> {
    let valid_from = Some(source.valid_from).filter(|at| *at != i64::MIN);
    [Some(source.created_at), valid_from].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_which_nearly_everything_lies_tells_little() {
        let of = |wanted: usize, then: usize| {
            let then: Vec<bool> = (0..wanted).map(|nth| nth < then).collect();
            telling(&vec![true; wanted], &then)
        };
        assert_eq!((of(10, 10), of(40, 20), of(40, 30), of(40, 40)), (1.0, 1.0, 0.5, 0.0));
        assert_eq!(of(0, 0), 1.0);
    }
}
