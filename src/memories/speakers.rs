//! Who speaks: a text of a conversation begins with its speaker ("Caroline: …"). Such texts are
//! known by lexemes that no text or query yields, so that a search can tell who said a thing
//! from whom it names. It must never depend on anything but the text.

use super::words::{QUERY_TERMS_MAX, fold, plain_words, quote};
use crate::embedding::NamedWord;

/// Who speaks stands before a colon, in so many words and characters at most.
const SPEAKER_WORDS_MAX: usize = 3;
const SPEAKER_CHARS_MAX: usize = 40;
/// The lexeme of every text that begins with its speaker.
const SAID: &str = ":";

/// What a text is known by besides its words: `:` where it begins with its speaker, and
/// `caroline:`; nothing where it does not.
pub(super) fn lexemes(content: &str) -> Vec<String> {
    let speaker = speaker(content);
    let said = (!speaker.is_empty()).then_some(String::new());
    said.into_iter()
        .chain(speaker)
        .map(|name| format!("{name}{SAID}"))
        .collect()
}

/// The names before the first colon, folded; none where no one is said to speak.
fn speaker(content: &str) -> Vec<String> {
    let beginning = content.split('\n').next().unwrap_or_default();
    let Some((name, _)) = beginning.split_once(": ") else {
        return Vec::new();
    };
    let is_name = |word: &str| {
        word.starts_with(char::is_uppercase)
            && word.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    let names = name.split(' ');
    let fits = name.chars().count() <= SPEAKER_CHARS_MAX
        && names.clone().count() <= SPEAKER_WORDS_MAX
        && names.clone().all(is_name);
    let mut folded: Vec<String> = names.filter(|_| fits).map(fold).collect();
    folded.sort();
    folded.dedup();
    folded
}

/// The words of a query that may name who speaks, each once, and where they stand.
pub fn names(query: &str) -> Vec<NamedWord> {
    let mut names: Vec<NamedWord> = Vec::new();
    for (word, place) in plain_words(query).filter(|(w, _)| w.starts_with(char::is_alphabetic)) {
        match names.iter_mut().find(|n| n.word == word) {
            Some(name) => name.places.push(place),
            None => names.push(NamedWord {
                said_by: quote(&format!("{word}{SAID}")),
                word,
                places: vec![place],
            }),
        }
    }
    names.truncate(QUERY_TERMS_MAX);
    names
}

/// As a `tsquery`: texts of which this is the speaker, and those without one that name them.
pub fn said_by_or_of(speaker: &str) -> String {
    let said_by = quote(&format!("{speaker}{SAID}"));
    format!("{said_by} | ({} & !{})", quote(speaker), quote(SAID))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::words::of_item;

    #[test]
    fn who_speaks_stands_before_the_first_colon() {
        assert_eq!(speaker("Caroline: I moved"), ["caroline"]);
        assert_eq!(speaker("Zoë Van-Dam: hi: there"), ["van-dam", "zoe"]);
        for nobody in [
            "I moved",
            "see: this",
            "Caroline:hi",
            "The port of staging is: 80",
            "He said\nAnna: no",
            "Http://x: y",
            ": x",
            "",
        ] {
            assert_eq!(speaker(nobody), [""; 0], "{nobody}");
        }
        assert!(of_item("Caroline: hi", None, &[]).ends_with("':':1 'caroline:':1 "));
        assert!(!of_item("at 10:30, caroline: hi", None, &[]).contains(":'"));
    }

    #[test]
    fn each_name_of_a_query_tells_where_it_stands() {
        let query = "When did Caroline meet Caroline's 3 friends?";
        let found: Vec<(String, usize)> = names(query)
            .into_iter()
            .map(|n| (n.word, n.places.len()))
            .collect();
        let expected = [("caroline", 2), ("meet", 1), ("friends", 1)];
        assert_eq!(found, expected.map(|(w, n)| (w.to_owned(), n)));
    }
}
