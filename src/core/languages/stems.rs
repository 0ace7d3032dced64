//! Stems of words: by Snowball or, where it has none for a language, without the ending that its file lists.

use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::characters::{fold, lower};
use super::{ALL, Language, Languages, Script};

/// A longer word has no stem.
const CHARS_MAX: usize = 40;
/// So much of a word remains without its ending; of one letter, one less, and two less in scripts whose letters are syllables.
const STEM_CHARS_MIN: usize = 4;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

impl Languages {
    /// The folded stems of a word in the languages that it may be in, without duplicates and without the word itself. An
    /// ASCII word has its English stem in any text, since English words stand in all of them.
    pub fn stems(self, word: &str, folded: &str) -> Vec<String> {
        let mut stems: Vec<String> = Vec::new();
        let is_ascii = folded.bytes().all(|b| b.is_ascii_lowercase());
        let script = word.chars().find_map(Script::of);
        let is_word = folded.len() >= 3 && folded.chars().count() <= CHARS_MAX;
        let (true, Some(script)) = (is_word && !folded.contains(char::is_numeric), script) else {
            return stems;
        };
        if is_ascii && word.is_ascii() {
            stems.push(ENGLISH.stem(folded).into_owned());
        }
        let written = lower(word);
        let others = self.written_in(script).iter();
        let others = others.filter(|language| language.stemmer != Some(Algorithm::English));
        for stem in others.filter_map(|language| language.stem(&written, folded)) {
            if !stems.contains(&stem) {
                stems.push(stem);
            }
        }
        stems.retain(|stem| !stem.is_empty() && stem != folded);
        stems
    }
}

impl Language {
    fn stem(&self, written: &str, folded: &str) -> Option<String> {
        match self.stemmer {
            Some(algorithm) => Some(fold(&Stemmer::create(algorithm).stem(written))),
            None if matches!(self.script, Script::Han | Script::Kana | Script::Hangul) => None,
            None => self.without_ending(folded).map(str::to_owned),
        }
    }

    /// Without the longest of its endings.
    fn without_ending<'w>(&self, word: &'w str) -> Option<&'w str> {
        let is_syllabic = matches!(self.script, Script::Devanagari | Script::Hangul);
        let stems = self.endings.folded().filter_map(|ending| {
            let less = if is_syllabic { 2 } else { usize::from(ending.chars().count() == 1) };
            let stem = word.strip_suffix(ending)?;
            (stem.chars().count() >= STEM_CHARS_MIN - less).then_some(stem)
        });
        stems.min_by_key(|stem| stem.len())
    }
}

/// How many characters at the end of a word without spaces around its particles are such a particle: `열쇠는`, of `열쇠`.
pub fn particle_chars(word: &str) -> usize {
    let mut languages = ALL.values().filter(|language| language.script == Script::Hangul);
    let particle = languages.find_map(|language| {
        let stem = language.without_ending(word)?;
        Some(word[stem.len()..].chars().count())
    });
    particle.unwrap_or_default()
}
