//! Whether a claim tells of today what a message tells of the past, or the other way round.

use super::words::Word;
use super::{Clause, OwnClaim};
use crate::languages::phrases::has_any;
use crate::languages::{Language, Languages, Script};

impl OwnClaim {
    /// By the words that say so, and by the endings of the verbs that both have.
    pub(super) fn is_of_another_time(
        &self,
        run: &[Clause],
        plain: &str,
        meant: &[&Language],
    ) -> bool {
        let says = meant.iter().any(|language| {
            let past = &language.own.past;
            has_any(plain, past, language) != has_any(&self.plain, past, language)
        });
        let is_other_form = |word: &Word| {
            let mut said = run.iter().flat_map(|clause| &clause.words);
            let said = said.by_ref().filter(|other| self.is_same(word, other));
            let mut said = said.filter(|other| !self.is_form(word, other)).peekable();
            said.peek().is_some()
                && said.all(|other| is_another_tense(word, other, self.of_message))
        };
        says || self.telling.iter().any(is_other_form)
    }
}

fn is_another_tense(word: &Word, other: &Word, languages: Languages) -> bool {
    let (one, two) = (word.folded.as_str(), other.folded.as_str());
    let is_plural = |one: &str, two: &str| one.strip_suffix('s') == Some(two);
    if one == two || is_plural(one, two) || is_plural(two, one) {
        return false;
    }
    if one.chars().next().and_then(Script::of) == Some(Script::Arabic) {
        return is_imperfect(one) != is_imperfect(two);
    }
    languages.iter().any(|language| {
        language.own.past_endings.iter().any(|group| {
            let ends = |word: &str| group.split(' ').any(|ending| word.ends_with(ending));
            ends(one) != ends(two)
        })
    })
}

/// Arabic tells the person of today's verbs by their first letter.
fn is_imperfect(word: &str) -> bool {
    let word = word.trim_start_matches(['و', 'ف', 'ب', 'ل', 'ك']);
    word.starts_with(['ا', 'أ', 'ي', 'ت', 'ن'])
}
