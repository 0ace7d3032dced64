//! Prose and facts that have no word in common with what a group is asked.

use keepsake::languages;
use keepsake::memories::passages;
use keepsake::memories::words::{self, Term};

use super::cases::Group;

/// As common in German as the English words that the search leaves out of a question.
const COMMON: &[&str] = &[
    "am", "auf", "aus", "bei", "bekommt", "beim", "das", "dem", "den", "der", "die", "ein", "eine",
    "es", "fur", "im", "ist", "kein", "mit", "nicht", "noch", "sich", "sie", "um", "und", "von",
    "wann", "was", "welche", "welchem", "welcher", "wem", "wer", "wie", "wir", "wird", "wo", "zu",
    "zum",
];

/// Of two of these and a short memory the search makes two passages.
const PARAGRAPH_TOKENS: usize = 130;
/// So much prose is enough for a group: what comes again is not embedded again.
const PROSE_CHARS: usize = 2_000;

pub const WHO: [&str; 25] = [
    "Alwin", "Berengar", "Corvin", "Dagny", "Eluned", "Fenja", "Gideon", "Hjalmar", "Iolanda",
    "Jorunn", "Kasimir", "Leocadia", "Mafalda", "Nepomuk", "Odalys", "Perdita", "Quirin", "Runa",
    "Sunniva", "Thaddeus", "Ulyana", "Vesper", "Wendelin", "Xaver", "Ysolde",
];

/// The telling words of all that a group is asked.
pub fn terms(group: &Group) -> Vec<Term> {
    // In other languages, with their stop words, which may be words of the prose: single words are in no language.
    let words = group.cases.iter().flat_map(|case| match case.language {
        Some(_) => case.ask.split_whitespace().collect(),
        None => vec![case.ask.as_str()],
    });
    let (_, english) = languages::all().find(|(code, _)| *code == "en").unwrap();
    let is_common = |term: &Term| {
        let word = term.alternatives[0].as_str();
        let lists = [&english.words.stop, &english.words.weak];
        COMMON.contains(&word) || lists.iter().any(|list| list.has_folded(word))
    };
    words.flat_map(words::query_terms).filter(|term| !is_common(term)).collect()
}

/// In the group's language, where there are some in it.
pub fn sentences(group: &Group) -> Vec<&'static str> {
    let language = group.cases.iter().find_map(|case| case.language.as_deref());
    let text = match language {
        Some("de") => include_str!("prose/de.txt"),
        Some("zh") => include_str!("prose/zh.txt"),
        _ => include_str!("prose/en.txt"),
    };
    let terms = terms(group);
    text.lines().filter(|line| words::matches(line, &terms).is_empty()).collect()
}

pub fn paragraphs(sentences: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (mut open, mut chars) = (String::new(), 0);
    for sentence in sentences {
        if chars >= PROSE_CHARS {
            break;
        }
        if !open.is_empty() {
            open.push(' ');
        }
        open.push_str(sentence);
        if passages::tokens(&open) >= PARAGRAPH_TOKENS {
            chars += open.chars().count();
            all.push(std::mem::take(&mut open));
        }
    }
    assert!(all.len() >= 4, "too much of the prose has a word of what is asked: {all:?}");
    all
}

/// The statement in the middle or at the end of so many characters; which prose and which place it is depends on `n`.
pub fn amid<T: AsRef<str>>(statement: &str, prose: &[T], n: usize, chars: usize) -> String {
    let mut length = statement.chars().count();
    let mut parts: Vec<&str> = Vec::new();
    for part in prose.iter().cycle().skip(n) {
        if length >= chars {
            break;
        }
        let part: &str = part.as_ref();
        length += part.chars().count() + 2;
        parts.push(part);
    }
    let at = if n.is_multiple_of(2) { parts.len().div_ceil(2) } else { parts.len() };
    parts.insert(at, statement);
    parts.join("\n\n")
}

/// Short ones of everyday life, always the same.
pub fn facts(terms: &[Term], count: usize) -> Vec<String> {
    // 24, which has no divisor in common with 25: each goes with each.
    let deeds: Vec<&str> = include_str!("prose/deeds.txt").lines().collect();
    let all = (0..WHO.len() * deeds.len())
        .map(|n| format!("{} {}.", WHO[n % WHO.len()], deeds[n % deeds.len()]));
    let strange = all.filter(|fact| words::matches(fact, terms).is_empty());
    let facts: Vec<String> = strange.take(count).collect();
    assert_eq!(facts.len(), count, "too many of the facts have a word of {terms:?}");
    facts
}
