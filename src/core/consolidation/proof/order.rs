//! Whether a claim has the words of a message in their order, as far as it tells who does what to whom.

use super::words::Word;
use super::{Clause, OwnClaim, TOLD_SHARE};
use crate::languages::Language;
use crate::languages::phrases::has_any;

impl OwnClaim {
    /// Whether names and numbers stand in the order of the message: not "from Graz to Linz" of "from Linz to Graz".
    pub(super) fn is_in_order(&self, run: &[Clause]) -> bool {
        let said: Vec<&Word> = run.iter().flat_map(|clause| &clause.words).collect();
        let mut at = 0;
        self.telling.iter().filter(|word| word.is_value).all(|word| {
            let next = said[at..].iter().position(|other| self.is_same(word, other));
            at += next.unwrap_or_default();
            next.is_some()
        })
    }

    /// Whether it has most words of several clauses, and in their order: not the verb of one and the object of another.
    pub(super) fn is_told_by(&self, run: &[Clause]) -> bool {
        let telling = run.iter().flat_map(|clause| &clause.words).filter(|word| !word.is_common);
        let telling: Vec<&Word> = telling.collect();
        let covered = telling
            .iter()
            .filter(|other| self.telling.iter().any(|word| self.is_same(word, other)));
        let mut at = 0;
        let is_in_order = self.telling.iter().all(|word| {
            let has = |clause: &Clause| clause.words.iter().any(|other| self.is_same(word, other));
            let next = run[at..].iter().position(has);
            at += next.unwrap_or_default();
            next.is_some()
        });
        is_in_order && covered.count() as f64 >= telling.len() as f64 * TOLD_SHARE
    }

    /// Whether two words have changed places that stood on either side of a comparison or a verb, or the subject has become
    /// another's: "likes coffee more than tea" of "I like tea more than coffee". An adverb may move.
    pub(super) fn has_changed_places(
        &self,
        run: &[Clause],
        plain: &str,
        meant: &[&Language],
        speaks: bool,
    ) -> bool {
        let said: Vec<&Word> = run.iter().flat_map(|clause| &clause.words).collect();
        let place = |word: &Word| said.iter().position(|other| self.is_same(word, other));
        let places: Vec<usize> = self.telling.iter().filter_map(place).collect();
        if places.is_sorted() {
            return false;
        }
        // Lengths of the longest falling sequences that end at each.
        let mut falling: Vec<usize> = Vec::with_capacity(places.len());
        for (n, at) in places.iter().enumerate() {
            let before = (0..n).filter(|m| places[*m] > *at).map(|m| falling[m]);
            falling.push(before.max().unwrap_or(0) + 1);
        }
        let has_turned = falling.iter().any(|length| *length > 2);
        let compares = |l: &&Language| has_any(plain, &l.own.compares, l);
        has_turned
            || meant.iter().any(compares)
            || !speaks && meant.iter().any(|l| l.own.names_subject)
    }
}
