//! Words and clauses of a text, as a proof compares them.

use crate::languages::characters::{fold, is_unspaced, lower};
use crate::languages::phrases::has_no_borders;
use crate::languages::{Language, Languages, phrase};
use crate::memories::sentences::is_ordinal;

/// A word or, in a script without spaces, two adjacent characters.
#[derive(Clone, Debug)]
pub struct Word {
    pub folded: String,
    pub stems: Vec<String>,
    /// A name or a number.
    pub is_value: bool,
    /// Occurs in nearly every text.
    pub is_common: bool,
}

/// With a blank for each line break between two letters.
pub fn unwrapped(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let is_inside = line.starts_with(char::is_alphabetic)
            && !joined.ends_with("\n\n")
            && joined.trim_end_matches('\n').ends_with(char::is_alphanumeric);
        if is_inside && joined.ends_with('\n') {
            joined.pop();
            joined.push(' ');
        }
        joined += line;
    }
    joined
}

/// Parts of a sentence at commas, colons, dashes, and words that join two sentences.
pub fn clauses(sentence: &str, languages: Languages) -> impl Iterator<Item = &str> {
    let is_end = |at: usize, c: char| {
        let after = sentence[at + c.len_utf8()..].chars().next();
        match c {
            '.' if is_ordinal(&sentence[..at], &sentence[at + 1..]) => false,
            ',' | ';' | ':' | '-' | '.' | '!' | '?' | '؟' | '।' => {
                after.is_none_or(char::is_whitespace)
            }
            '—' | '–' | '，' | '；' | '：' | '、' | '،' | '。' | '！' | '？' | '(' | ')' | '|'
            | '\n' => true,
            _ => false,
        }
    };
    let ends = sentence.char_indices().filter(|(at, c)| is_end(*at, *c));
    let ends = ends.map(|(at, c)| at + c.len_utf8());
    let is_join = |word: &str| {
        let joins = |language: &Language| language.said.joins.iter().any(|join| join == word);
        languages.iter().any(|language| !has_no_borders(language) && joins(language))
    };
    let words = sentence.split_whitespace().filter(|word| is_join(&phrase(word)));
    let mut ends: Vec<usize> = ends
        .chain(words.map(|word| word.as_ptr() as usize - sentence.as_ptr() as usize))
        .chain([sentence.len()])
        .collect();
    ends.sort_unstable();
    ends.into_iter()
        .scan(0, |from, end| Some(&sentence[std::mem::replace(from, end)..end]))
        .map(str::trim)
        .filter(|clause| clause.contains(char::is_alphanumeric))
}

pub fn words_of(text: &str, languages: Languages) -> Vec<Word> {
    let mut words = Vec::new();
    let text = parted(text);
    let is_border = |c: char| {
        !c.is_alphanumeric() && !matches!(c, '\'' | '’' | '+' | '#' | IN_NUMBER) && !is_mark(c)
    };
    let all = text.split(is_border).map(|word| word.trim_matches(['\'', '’']));
    for (n, word) in all.filter(|word| !word.is_empty()).enumerate() {
        let is_value =
            word.contains(char::is_numeric) || n > 0 && word.starts_with(char::is_uppercase);
        // Genitives, and endings that Turkish writes after an apostrophe.
        let part = word.split(['\'', '’']).find(|part| part.chars().count() > 1).unwrap_or(word);
        let chars: Vec<char> = lower(part).chars().collect();
        if chars.iter().any(|c| is_unspaced(*c)) && chars.len() > 2 {
            words.extend(chars.windows(2).map(|pair| Word {
                folded: pair.iter().collect(),
                stems: Vec::new(),
                is_value: false,
                is_common: languages.is_common_word(&pair.iter().collect::<String>()),
            }));
            continue;
        }
        let folded = fold(part);
        words.push(Word {
            stems: languages.stems(part, &folded),
            is_common: match is_value {
                true => languages.is_stop_word(part),
                false => languages.is_common_word(part),
            },
            folded,
            is_value,
        });
    }
    words
}

/// Stands for what separates the digits of a number, a date or an address, so that they are one word.
const IN_NUMBER: char = '\u{e000}';

/// Without the marks of names in a script without spaces, whose words stand apart from others.
fn parted(text: &str) -> String {
    let mut parted = String::with_capacity(text.len());
    let mut chars = text.chars().filter(|c| !"「」『』《》〈〉".contains(*c)).peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let is_inside = before.is_numeric() && after.is_numeric() && ".:,/-".contains(c);
        if before.is_alphanumeric() && c.is_alphanumeric() && is_unspaced(before) != is_unspaced(c)
        {
            parted.push(' ');
        }
        parted.push(if is_inside { IN_NUMBER } else { c });
        before = c;
    }
    parted
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}
