//! Looks for phrases of the files of [`crate::languages`] in a sentence.

use super::{Language, PhraseList, Script};

/// `plain`: as phrases are written ([`crate::languages::phrase`]).
pub fn has_any(plain: &str, phrases: &PhraseList, language: &Language) -> bool {
    phrases.iter().any(|phrase| places(plain, phrase, language).next().is_some())
}

/// Where the words begin and end, as whole words; a `*` beside a letter stands for the rest of a word.
pub fn places(
    plain: &str,
    part: &str,
    language: &Language,
) -> impl Iterator<Item = (usize, usize)> {
    let is_begun = part.starts_with('*') && !part.starts_with("* ");
    let words = part.trim_matches('*');
    let is_open = part.ends_with('*') && !words.ends_with(' ');
    let words = words.trim();
    let places = plain.match_indices(words).map(|(place, _)| (place, place + words.len()));
    places.filter(move |(place, end)| {
        let is_in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let begins = words.starts_with(char::is_alphanumeric)
            && is_in_word(plain[..*place].chars().next_back());
        let goes_on =
            words.ends_with(char::is_alphanumeric) && is_in_word(plain[*end..].chars().next());
        has_no_borders(language) || (is_begun || !begins) && (is_open || !goes_on)
    })
}

/// Words stand beside each other without blanks, or end in particles.
pub fn has_no_borders(language: &Language) -> bool {
    matches!(language.script, Script::Han | Script::Kana | Script::Hangul)
}

/// Chinese, Japanese and Thai do not separate words.
pub fn is_unparted(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}
