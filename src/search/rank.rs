//! From the database's raw signals to a score. Scores are shares of the best
//! candidate of this one answer; those of two answers are not comparable.

use super::store::Candidate;

/// Why a hit stands where it does (`explain: true`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explanation {
    /// Σ idf · ts_rank over the words that matched, over log length; unbounded.
    pub lexical: f64,
    /// The same within this answer: 0 for its weakest candidate, 1 for its strongest.
    pub lexical_normalised: f64,
    /// The words that matched, of those asked for.
    pub words_matched: i64,
    /// No word matched; the text was found as a substring.
    pub is_substring: bool,
}

/// Min-max within the candidates; a lone or equal signal counts 1 (DESIGN §4).
pub fn normalise(candidates: &[Candidate]) -> Vec<f64> {
    let lexical = || candidates.iter().map(|c| c.lexical);
    let lowest = lexical().fold(f64::INFINITY, f64::min);
    let spread = lexical().fold(f64::NEG_INFINITY, f64::max) - lowest;
    lexical()
        .map(|s| {
            if spread > 0.0 {
                (s - lowest) / spread
            } else {
                1.0
            }
        })
        .collect()
}
