//! Whether two short statements about the person cannot both be true, by their words alone: of a home, a name, a form of
//! address, a birthday and pronouns one has one at a time. In doubt, both may be. The phrases stand in the files of
//! [`languages`].

use super::fallback::places;
use super::same::turns;
use crate::languages::{self, Language, PhraseList, is_dense, phrase};

/// More words, or characters of a script without blanks, may say when or under what condition it is so.
const WORDS_MAX: usize = 3;
const DENSE_CHARS_MAX: usize = 8;
/// Around words.
const PUNCTUATION: &[char] = &['.', ',', '!', ';', ':', '。', '，', '！', '،', '।', '"', ' '];

/// What a person has one of at a time.
fn kinds(language: &Language) -> [&PhraseList; 5] {
    let said = &language.said;
    [&said.home, &said.named, &said.preferred_name, &said.born, &said.pronouns]
}

/// Whether what one of these statements says ends what the other says.
pub fn exclude(one: &str, other: &str) -> bool {
    let (one, other) = (phrase(one), phrase(other));
    stated(&one).zip(stated(&other)).is_some_and(|((kind, value), (other_kind, other_value))| {
        kind == other_kind && !is_within(value, other_value) && !is_within(other_value, value)
    })
}

/// Whether one value says no more than the other: `Graz` and `Graz, Austria`.
fn is_within(value: &str, other: &str) -> bool {
    match value.contains(is_dense) {
        true => other.contains(value),
        false => words(value).all(|word| words(other).any(|other| other == word)),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_matches(PUNCTUATION))
}

/// Whether it says something that one has one of.
pub fn is_exclusive(text: &str) -> bool {
    stated(&phrase(text)).is_some()
}

/// Which of [`kinds`] is said, and its value; `None` if it is nothing of these, or more.
fn stated(text: &str) -> Option<(usize, &str)> {
    languages::all().find_map(|(_, language)| {
        kinds(language).into_iter().enumerate().find_map(|(kind, phrases)| {
            let mut values = phrases.iter().filter_map(|phrase| value_in(text, phrase, language));
            values.next().map(|value| (kind, value))
        })
    })
}

/// What stands for `*`, else behind the phrase, where a sentence says it of the person and nothing else.
fn value_in<'a>(text: &'a str, phrase: &str, language: &Language) -> Option<&'a str> {
    let (head, tail) = phrase.split_once('*').unwrap_or((phrase, ""));
    let (start, end) = match head.trim().is_empty() {
        true => (0, 0),
        false => places(text, head.trim(), language).next()?,
    };
    let before = text[..start].trim_matches(PUNCTUATION);
    let said = &language.said;
    let mut subjects = said.person.iter().chain(said.remember.iter());
    if !before.is_empty() && !subjects.any(|subject| subject == before) {
        return None;
    }
    let rest = &text[end..];
    let (value, after) = match tail.trim().is_empty() {
        true => (rest, ""),
        false => {
            let (start, end) = places(rest, tail.trim(), language).next()?;
            (&rest[..start], &rest[end..])
        }
    };
    let value = value.trim_matches(PUNCTUATION);
    let dense = value.chars().filter(|c| is_dense(*c)).count();
    // A name of few characters may have those of a word like "not".
    let turning = match dense {
        0 => [value, after].join(" "),
        _ => after.to_owned(),
    };
    let is_plain = !value.is_empty()
        && !value.contains(['.', ';', '。', '?'])
        && words(value).count() <= WORDS_MAX
        && dense <= DENSE_CHARS_MAX
        && !words(&turning).any(|word| turns(language, word));
    is_plain.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::Examples;

    #[test]
    fn examples_of_each_language_exclude_each_other_or_do_not() {
        let mut wrong = Vec::new();
        for (code, language) in languages::all() {
            let examples = &language.examples;
            assert!(Examples::pairs(&examples.excluded).count() >= 2, "{code}");
            for (pairs, expected) in [(&examples.excluded, true), (&examples.both, false)] {
                wrong.extend(Examples::pairs(pairs).filter_map(|(one, other)| {
                    let found = exclude(one, other) || exclude(other, one);
                    (found != expected).then_some((code, one, other))
                }));
            }
        }
        assert_eq!(wrong, []);
    }

    #[test]
    fn across_languages_too_and_nothing_beside_it() {
        assert!(exclude("Lives in Graz", "Ich wohne jetzt in Linz."));
        assert!(exclude("I live in Graz.", "Remember that I live in Linz."));
        for (one, other) in [
            ("Likes Graz", "Likes Linz"),
            ("Lives in Graz", "My name is Anna."),
            ("I moved to Neovim.", "I live in Graz."),
            ("Works at Siemens", "Works at Bosch"),
            ("Lives in Graz. Is allergic to nuts.", "Lives in Linz"),
        ] {
            assert!(!exclude(one, other), "{one} | {other}");
        }
    }
}
