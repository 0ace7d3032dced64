//! Decides whether two names are the same: normalization and similarity. Depends only on the names.

use std::collections::HashSet;

use super::EntityType;
use super::lists::{LEGAL_FORMS, OF_MEN, OF_WOMEN, TITLES};
use crate::db::labels;
use crate::languages;
use crate::languages::characters::fold;
use crate::texts::is_unseen;

/// Limit of a name, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// Minimum trigram similarity at which two names are the same,
const SAME_MIN: f64 = 0.9;
/// if both folded names are at least this long: short names are similar by chance.
const SAME_CHARS_MIN: usize = 8;
/// Minimum trigram similarity at which the user is asked.
const ALIKE_MIN: f64 = 0.6;

/// The normal form of a name: without case, accents, width, invisible characters, spaces, punctuation, titles and legal
/// forms. Empty if nothing remains.
pub fn normal(name: &str, entity_type: EntityType) -> String {
    let words = words(name);
    let mut words: &[String] = &words;
    if matches!(entity_type, EntityType::Email | EntityType::Url) {
        let address = visible(name).trim().to_lowercase();
        let bare = ["https://", "http://", "mailto:"]
            .iter()
            .fold(address.as_str(), |rest, scheme| rest.strip_prefix(scheme).unwrap_or(rest));
        return bare.trim_end_matches('/').to_owned();
    }
    while let [first, rest @ ..] = words
        && !rest.is_empty()
        && TITLES.contains(first.as_str())
    {
        words = rest;
    }
    while let [rest @ .., last] = words
        && !rest.is_empty()
        && LEGAL_FORMS.contains(last.as_str())
    {
        words = rest;
    }
    words.concat()
}

/// The folded words of a name.
pub fn words(name: &str) -> Vec<String> {
    let keeps_sign = |c: char| c == '+' || c == '#';
    fold(&visible(name))
        .split(|c: char| !(c.is_alphanumeric() || keeps_sign(c) || is_mark(c)))
        .filter(|word| !word.is_empty())
        .map(|word| word.trim_start_matches('#').to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Candidate names in a query: normalized runs of one to three words, except runs of stop words only.
pub fn runs(text: &str) -> Vec<String> {
    const RUNS_MAX: usize = 96;
    let (words, languages) = (words(text), languages::of(text));
    let mut runs: Vec<String> = Vec::new();
    for length in (1..=3).rev() {
        for run in words.windows(length) {
            if run.iter().all(|word| languages.is_common_lexeme(word)) {
                continue;
            }
            let joined = run.concat();
            if !runs.contains(&joined) && runs.len() < RUNS_MAX {
                runs.push(joined);
            }
        }
    }
    runs
}

/// Removes invisible characters that change how others are read: zero-width, direction and control characters.
pub fn visible(text: &str) -> String {
    let is_seen =
        |c: &char| !c.is_control() && !is_unseen(*c) && !matches!(c, '\u{FFF9}'..='\u{FFFB}');
    text.chars().filter(is_seen).collect()
}

/// The similarity of two names of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameLikeness {
    /// Certainly one entity.
    Same,
    /// Possibly one entity: the user decides.
    Alike(LikenessReason),
    Different,
}

labels! {
    pub enum LikenessReason {
        /// They look the same but use letters of different scripts.
        Letters = "letters",
        Spelling = "spelling",
        /// One consists of some of the other's words.
        Part = "part",
        Initials = "initials",
    }
}

pub fn likeness(one: &str, other: &str, entity_type: EntityType) -> NameLikeness {
    let (a, b) = (normal(one, entity_type), normal(other, entity_type));
    if a.is_empty() || b.is_empty() {
        return NameLikeness::Different;
    }
    if are_man_and_woman(one, other) {
        return NameLikeness::Different;
    }
    if a == b {
        return NameLikeness::Same;
    }
    if matches!(entity_type, EntityType::Email | EntityType::Url | EntityType::Date) {
        return NameLikeness::Different;
    }
    // Different numbers mean different things: iPhone 14 and 15, OPS-141 and OPS-142.
    if digits(&a) != digits(&b) {
        return NameLikeness::Different;
    }
    if skeleton(&a) == skeleton(&b) {
        return NameLikeness::Alike(LikenessReason::Letters);
    }
    let shared = trigrams_shared(&a, &b);
    let shorter = a.chars().count().min(b.chars().count());
    if shared >= SAME_MIN && shorter >= SAME_CHARS_MIN {
        return NameLikeness::Same;
    }
    let (of_one, of_other) = (words(one), words(other));
    if is_part(&of_one, &of_other) || is_part(&of_other, &of_one) {
        return NameLikeness::Alike(LikenessReason::Part);
    }
    if are_initials(&of_one, &of_other) || are_initials(&of_other, &of_one) {
        return NameLikeness::Alike(LikenessReason::Initials);
    }
    // People often share one of their names, so each word of a person's name is compared.
    let is_spelling = match entity_type {
        EntityType::Person => of_one.len() == of_other.len() && each_is_near(&of_one, &of_other),
        _ => shared >= ALIKE_MIN || is_one_edit(&a, &b) && shorter >= SAME_CHARS_MIN,
    };
    match is_spelling {
        true => NameLikeness::Alike(LikenessReason::Spelling),
        false => NameLikeness::Different,
    }
}

/// "Mr. Fuchs" and "Mrs. Fuchs" are different people.
fn are_man_and_woman(one: &str, other: &str) -> bool {
    let titled = |name: &str, list: &HashSet<&'static str>| {
        words(name).first().is_some_and(|first| list.contains(first.as_str()))
    };
    titled(one, &OF_MEN) && titled(other, &OF_WOMEN)
        || titled(one, &OF_WOMEN) && titled(other, &OF_MEN)
}

fn digits(text: &str) -> String {
    text.chars().filter(|c| c.is_numeric()).collect()
}

/// Jaccard similarity of the trigrams, 0 to 1.
pub fn trigrams_shared(one: &str, other: &str) -> f64 {
    let of = |text: &str| -> HashSet<[char; 3]> {
        let padded: Vec<char> = [' ', ' '].into_iter().chain(text.chars()).chain([' ']).collect();
        padded.windows(3).map(|w| [w[0], w[1], w[2]]).collect()
    };
    let (a, b) = (of(one), of(other));
    let both = a.intersection(&b).count();
    both as f64 / (a.len() + b.len() - both).max(1) as f64
}

/// For example a given name and the full name, or "Aurora" and "Project Aurora".
fn is_part(few: &[String], many: &[String]) -> bool {
    few.len() < many.len()
        && few.iter().any(|word| word.chars().count() > 2)
        && few.iter().all(|word| many.contains(word))
}

/// For example "J. Smith" and "John Smith", or "IBM" and "International Business Machines".
fn are_initials(short: &[String], long: &[String]) -> bool {
    let first = |word: &String| word.chars().next();
    if let [one] = short
        && long.len() > 2
    {
        return one.chars().map(Some).eq(long.iter().map(first));
    }
    short.len() == long.len()
        && short != long
        && short
            .iter()
            .zip(long)
            .all(|(s, l)| s == l || s.chars().count() == 1 && first(s) == first(l))
        && short.iter().zip(long).any(|(s, l)| s == l && l.chars().count() > 1)
}

/// Each pair of words is equal, or long and one edit apart: "Lindqvist", "Lindquist".
fn each_is_near(one: &[String], other: &[String]) -> bool {
    let is_long = |word: &str| word.chars().count() >= 6;
    one.iter().zip(other).all(|(a, b)| a == b || is_long(a) && is_long(b) && is_one_edit(a, b))
}

fn is_one_edit(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    let rest = |text: &[char], from: usize| text[from.min(text.len())..].to_vec();
    match long.len() - short.len() {
        0 => {
            let is_swap = same + 1 < long.len()
                && short[same] == long[same + 1]
                && short[same + 1] == long[same]
                && rest(short, same + 2) == rest(long, same + 2);
            is_swap || rest(short, same + 1) == rest(long, same + 1)
        }
        _ => rest(short, same) == rest(long, same + 1),
    }
}

/// Replaces letters of other scripts by the Latin ones that look the same.
fn skeleton(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            'а' | 'α' => 'a',
            'в' | 'ь' | 'β' => 'b',
            'с' | 'ϲ' => 'c',
            'ԁ' => 'd',
            'е' | 'ε' => 'e',
            'н' | 'һ' => 'h',
            'і' | 'ι' | 'ı' | 'l' | '1' => 'i',
            'ј' => 'j',
            'к' | 'κ' => 'k',
            'м' | 'μ' => 'm',
            'п' | 'η' | 'ո' => 'n',
            'о' | 'ο' | 'σ' | '0' | 'օ' => 'o',
            'р' | 'ρ' => 'p',
            'ѕ' => 's',
            'т' | 'τ' => 't',
            'υ' | 'ս' => 'u',
            'ν' | 'ѵ' => 'v',
            'ѡ' | 'ω' | 'ԝ' => 'w',
            'х' | 'χ' => 'x',
            'у' | 'γ' => 'y',
            'ζ' => 'z',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_count_is_left_out() {
        let person = |name: &str| normal(name, EntityType::Person);
        assert_eq!(person("Zoë van-Dam"), person("ZOE VAN DAM"));
        assert_eq!(person("Dr. Meyer"), "meyer");
        assert_eq!(person("An\u{200B}na\u{202E}"), "anna");
        assert_eq!(normal("ACME GmbH", EntityType::Organization), "acme");
        assert_eq!(normal("GmbH", EntityType::Organization), "gmbh");
        assert_eq!(normal("C++", EntityType::Product), "c++");
        assert_eq!(normal("HTTPS://Example.com/a/", EntityType::Url), "example.com/a");
        assert_eq!(person("…"), "");
    }

    #[test]
    fn another_number_or_given_name_is_another_entity() {
        let of = |a: &str, b: &str, t| likeness(a, b, t);
        use EntityType::{Location, Organization, Person, Product};
        assert_eq!(of("iPhone 14", "iPhone 15", Product), NameLikeness::Different);
        assert_eq!(of("Anna Berg", "Anne Berg", Person), NameLikeness::Different);
        assert_eq!(of("Al", "Ale", Person), NameLikeness::Different);
        assert_eq!(of("Alex", "Alex Novak", Person), NameLikeness::Alike(LikenessReason::Part));
        assert_eq!(
            of("J. Smith", "John Smith", Person),
            NameLikeness::Alike(LikenessReason::Initials)
        );
        assert_eq!(
            of("IBM", "International Business Machines", Organization),
            NameLikeness::Alike(LikenessReason::Initials)
        );
        assert_eq!(
            of("Аnna", "Anna", Person),
            NameLikeness::Alike(LikenessReason::Letters),
            "the first letter is Cyrillic"
        );
        assert_eq!(
            of("Sodra Lindqvist", "Sodra Lindquist", Person),
            NameLikeness::Alike(LikenessReason::Spelling)
        );
        assert_eq!(of("Oslo", "Bergen", Location), NameLikeness::Different);
    }
}
