//! A passage's search terms in binary form: the term numbers, ascending, four bytes each (little-endian CRC-32 of the
//! lexeme), then each term's frequency, one byte each (255: or more). Texts and queries use the lexemes of [`words`].
//! Lexemes with the same number cannot be told apart: about one pair in a hundred thousand lexemes.

use std::collections::BTreeMap;

use crate::memories::{chatter, speakers, words};

/// Bytes per term.
const TERM_BYTES: usize = 5;

/// The lexeme of a text without a key that states nothing.
const CHATTER: &str = "?:";

/// The terms of a text with its key and tags. A leading speaker adds terms as well, and so does [`CHATTER`].
pub fn of(text: &str, key: Option<&str>, tags: &[String]) -> Vec<u8> {
    let tags = tags.iter().map(String::as_str);
    let texts = std::iter::once(text).chain(key).chain(tags);
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for lexeme in texts.flat_map(words::lexemes) {
        *counts.entry(number(&lexeme)).or_default() += 1;
    }
    for lexeme in speakers::lexemes(text) {
        *counts.entry(number(&lexeme)).or_default() += 1;
    }
    if key.is_none() && chatter::is_chatter(text) {
        counts.insert(chatter(), 1);
    }
    let mut bytes = Vec::with_capacity(counts.len() * TERM_BYTES);
    bytes.extend(counts.keys().flat_map(|number| number.to_le_bytes()));
    let count = |count: &usize| u8::try_from(*count).unwrap_or(u8::MAX);
    bytes.extend(counts.values().map(count));
    bytes
}

/// The term number of a lexeme.
pub fn number(lexeme: &str) -> u32 {
    crc32fast::hash(lexeme.as_bytes())
}

/// The term of a text without a key that states nothing ([`chatter::is_chatter`]).
pub fn chatter() -> u32 {
    number(CHATTER)
}

/// Term numbers, ascending, with their frequencies. `None` if the bytes were not made by [`of`].
pub fn read(bytes: &[u8]) -> Option<Vec<(u32, u8)>> {
    if !bytes.len().is_multiple_of(TERM_BYTES) {
        return None;
    }
    let (numbers, counts) = bytes.split_at(bytes.len() / TERM_BYTES * size_of::<u32>());
    let numbers = numbers.chunks_exact(size_of::<u32>());
    let number = |four: &[u8]| four.try_into().map(u32::from_le_bytes);
    numbers.zip(counts).map(|(four, count)| Some((number(four).ok()?, *count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_as_they_are_written() {
        let tags = ["travel".to_owned()];
        let bytes = of("Anna: bees, bees and a hive", Some("home_city"), &tags);
        let terms = read(&bytes).expect("terms");
        let count = |lexeme: &str| {
            let found = terms.iter().find(|(one, _)| *one == number(lexeme));
            found.map(|(_, count)| *count)
        };
        assert_eq!((count("bees"), count("bee")), (Some(2), Some(2)));
        assert_eq!((count("hive"), count("travel")), (Some(1), Some(1)));
        assert_eq!((count("city"), count("anna:")), (Some(1), Some(1)));
        assert_eq!(count("honey"), None);
        assert!(terms.is_sorted());
        assert_eq!(read(&bytes[1..]), None);
        assert_eq!(read(&[]), Some(Vec::new()));
    }

    #[test]
    fn what_states_nothing_is_marked_unless_it_has_a_key() {
        let is_marked = |text: &str, key: Option<&str>| {
            let terms = read(&of(text, key, &[])).expect("terms");
            terms.contains(&(chatter(), 1))
        };
        assert!(is_marked("How do I take my tea?", None));
        assert!(!is_marked("How do I take my tea?", Some("open_question")));
        assert!(!is_marked("Tea with milk?: no sugar.", None));
        assert!(!words::lexemes("Really?: yes?:no").any(|lexeme| lexeme == CHATTER));
    }

    #[test]
    fn what_occurs_very_often_is_counted_up_to_a_limit() {
        let terms = read(&of(&"bee ".repeat(1_000), None, &[])).expect("terms");
        assert!(terms.contains(&(number("bee"), u8::MAX)));
    }
}
