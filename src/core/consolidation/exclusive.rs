//! Whether two short statements about the person cannot both be true, by their words alone: one has one home, name, birthday
//! and set of pronouns at a time. In doubt, both may be. The phrases stand in the files of [`languages`].

use super::same::turns;
use crate::languages::phrases::{has_any, places};
use crate::languages::{self, Language, PhraseList, is_dense, phrase};
use crate::memories::mentions::{is_country, is_place};

/// A longer text says more than this.
const TEXT_CHARS_MAX: usize = 120;
/// More words, or characters of a script without blanks, may say when or under what condition it is so.
const WORDS_MAX: usize = 3;
const DENSE_CHARS_MAX: usize = 6;
/// Names that begin alike may be two forms of one: Anna, Anny, Anniny.
const ALIKE_CHARS: usize = 3;
/// Around words.
const PUNCTUATION: &[char] = &['.', ',', '!', ';', ':', '。', '，', '！', '،', '।', '"', ' '];
/// After a verb of a language in which its end says when or whether: it is over, or is not so.
const NOT_NOW: [&str; 9] = ["た", "ません", "ない", "았", "었", "던", "적", "지 않", "지 못"];

/// What a person has one of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Single {
    Home,
    Name,
    Birthday,
    Pronouns,
}

/// What a statement says of the person.
struct Stated<'a> {
    single: Single,
    value: &'a str,
    /// It says of whom: "The user lives in", "I live in".
    says_of_whom: bool,
}

/// Whether what one of these statements says ends what the other says. What does not say of whom ("Lives in Graz") may be
/// about somebody else: it counts beside what stands in the same place.
pub fn exclude(one: &str, other: &str, in_same_place: bool) -> bool {
    let (one_text, other_text) = (phrase_of(one), phrase_of(other));
    // In two languages one value may have two names.
    languages::all().any(|(_, language)| {
        let stated = stated(one, &one_text, language).zip(stated(other, &other_text, language));
        stated.is_some_and(|(a, b)| {
            a.single == b.single
                && (in_same_place || a.says_of_whom && b.says_of_whom)
                && !are_alike(a.value, b.value)
        })
    })
}

/// Whether it says something that one has one of.
pub fn is_exclusive(text: &str) -> bool {
    let plain = phrase_of(text);
    languages::all().any(|(_, language)| stated(text, &plain, language).is_some())
}

/// As the phrases are written; empty if it is too long.
fn phrase_of(text: &str) -> String {
    match text.chars().nth(TEXT_CHARS_MAX) {
        Some(_) => String::new(),
        None => phrase(text),
    }
}

/// Whether one value may be the other, or say no more: `Graz` and `Graz, Austria`, `Anna` and `Anny`.
fn are_alike(one: &str, other: &str) -> bool {
    let is_within = |one: &str, other: &str| words(one).all(|word| words(other).any(|w| w == word));
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    match one.contains(is_dense) {
        true => one.contains(other) || other.contains(one),
        false => shared >= ALIKE_CHARS || is_within(one, other) || is_within(other, one),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_matches(PUNCTUATION))
}

/// `None` if a statement says nothing of these, or more. `text` is as written, `plain` as the phrases are.
fn stated<'a>(text: &str, plain: &'a str, language: &Language) -> Option<Stated<'a>> {
    let said = &language.said;
    if plain.is_empty()
        || plain.trim_end().ends_with(['?', '？', '؟'])
        || has_any(plain, &said.passing, language)
    {
        return None;
    }
    let all: [(Single, &PhraseList, bool); 7] = [
        (Single::Home, &said.home, true),
        (Single::Home, &said.home_of, false),
        (Single::Name, &said.named, true),
        (Single::Name, &said.named_of, false),
        (Single::Birthday, &said.born, true),
        (Single::Birthday, &said.born_of, false),
        (Single::Pronouns, &said.pronouns, true),
    ];
    let all = all.into_iter().flat_map(|(single, phrases, is_own)| {
        phrases.iter().map(move |phrase| (single, phrase, is_own))
    });
    let mut all = all.filter_map(|(single, phrase, is_own)| {
        let (subject, value) = value_in(plain, phrase, language)?;
        let is_person = said.person.iter().any(|person| person == subject);
        let is_asked = said.remember.iter().any(|remember| remember == subject);
        let is_about_them = match is_own {
            true => subject.is_empty() || is_asked,
            // A dog is called Rex, too.
            false => is_person || subject.is_empty() && single == Single::Home,
        };
        let is_value = match single {
            Single::Home => is_town(text, value, language),
            Single::Name => is_capitalized(text, value),
            Single::Birthday | Single::Pronouns => true,
        };
        let says_of_whom = is_own || is_person;
        (is_about_them && is_value).then_some(Stated { single, value, says_of_whom })
    });
    all.next()
}

/// What stands before the phrase, and what stands for `*`, else behind it, where the sentence says nothing else.
fn value_in<'a>(text: &'a str, phrase: &str, language: &Language) -> Option<(&'a str, &'a str)> {
    let (head, tail) = phrase.split_once('*').unwrap_or((phrase, ""));
    let (start, end) = match head.trim().is_empty() {
        true => (0, 0),
        false => places(text, head.trim(), language).next()?,
    };
    let rest = &text[end..];
    let (value, after) = match tail.trim().is_empty() {
        true => (rest, ""),
        false => {
            let (start, end) = places(rest, tail.trim(), language).next()?;
            (&rest[..start], &rest[end..])
        }
    };
    let value = value.trim_matches(PUNCTUATION);
    // Where nothing stands before the place, only a name with an ending is one: "İzmir'de".
    let is_name = !head.trim().is_empty() || value.contains('\'');
    let dense = value.chars().filter(|c| is_dense(*c)).count();
    let is_over = NOT_NOW.iter().any(|end| after.contains(end));
    let is_plain = !value.is_empty()
        && is_name
        && !is_over
        && !value.contains(['.', ';', '。', '?', '/', '_'])
        && words(value).count() <= WORDS_MAX
        && dense <= DENSE_CHARS_MAX
        // A name of few characters may have those of a word like "not".
        && (dense > 0 || !words(value).any(|word| turns(language, word)));
    is_plain.then(|| (text[..start].trim_matches(PUNCTUATION), value))
}

/// Whether it is a town, as far as words can tell: it has capitals and, where nouns have them, is a known one. A country says
/// less than a town in it.
fn is_town(text: &str, value: &str, language: &Language) -> bool {
    let is_other = |other: &str| match other.contains(is_dense) {
        true => value.contains(other),
        false => words(value).any(|word| word == other),
    };
    let is_known = || !language.chatter.has_capital_nouns || is_place(value);
    !is_country(value)
        && !language.said.no_home.iter().any(is_other)
        && is_capitalized(text, value)
        && is_known()
}

/// Whether each of its words is written with a capital, in a script that has some.
fn is_capitalized(text: &str, value: &str) -> bool {
    let is_capital = |word: &str| {
        let mut written = text.split_whitespace().map(|word| word.trim_matches(PUNCTUATION));
        written.any(|w| w.starts_with(char::is_uppercase) && phrase(w) == word)
    };
    let has_case = |word: &str| word.starts_with(|c: char| c.is_lowercase());
    words(value).all(|word| !has_case(word) || is_capital(word))
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
                    let found = exclude(one, other, true) || exclude(other, one, true);
                    (found != expected).then_some((code, one, other))
                }));
            }
        }
        assert_eq!(wrong, []);
    }

    #[test]
    fn what_does_not_say_of_whom_counts_beside_its_like() {
        assert!(exclude("Lives in Graz", "Now lives in Linz.", true));
        assert!(!exclude("Lives in Graz", "Now lives in Linz.", false));
        assert!(exclude("I live in Graz.", "Remember that I live in Linz.", false));
        for (one, other) in [
            ("Likes Graz", "Likes Linz"),
            ("Lives in Graz", "My name is Anna."),
            ("I moved to Neovim.", "I live in Graz."),
            ("Works at Siemens", "Works at Bosch"),
            ("Lives in Graz. Is allergic to nuts.", "Lives in Linz"),
            ("Lives in Vienna", "Wohnt in Wien"),
        ] {
            assert!(!exclude(one, other, true), "{one} | {other}");
        }
    }
}
