//! Splits a text into words for the name rules: position, spelling, sentence boundaries and language.

use std::ops::Range;

use super::lists::{COUNTRIES, GERMAN, PLACES, TITLES};
use super::patterns::PatternMatch;
use crate::languages::characters::fold;

pub struct TextWord<'t> {
    pub range: Range<usize>,
    pub text: &'t str,
    pub folded: String,
    pub is_capital: bool,
    pub is_first: bool,
    /// A slash, an underscore or a bracket is attached to it.
    pub is_code: bool,
    /// "'s" follows it.
    pub is_owner: bool,
    /// The text between it and the word before.
    pub gap: &'t str,
}

impl TextWord<'_> {
    /// `PostgreSQL`, `iPhone`, `GPT4`: capitals or digits inside the word.
    pub fn is_made_up(&self) -> bool {
        let mut inner = self.text.chars().skip(1);
        let has_lower = self.text.chars().any(char::is_lowercase);
        let has_letter = self.text.chars().any(char::is_alphabetic);
        inner.any(|c| c.is_uppercase() && has_lower || c.is_numeric() && has_letter)
    }

    pub fn is_all_capitals(&self) -> bool {
        let mut letters = self.text.chars().filter(|c| c.is_alphabetic());
        self.text.chars().count() > 1 && letters.all(char::is_uppercase)
    }

    pub fn is_initial(&self) -> bool {
        let mut chars = self.text.chars();
        chars.next().is_some_and(char::is_uppercase) && chars.as_str() == "."
    }

    /// "St. Thomas"
    pub fn is_saint(&self) -> bool {
        self.is_capital && matches!(self.folded.as_str(), "st" | "ste" | "mt")
    }

    /// A known one.
    pub fn is_place(&self) -> bool {
        self.is_in(&PLACES) || self.is_in(&COUNTRIES)
    }

    pub fn is_in(&self, list: &std::collections::HashSet<&'static str>) -> bool {
        list.contains(self.folded.as_str())
    }
}

/// Joins two words into one, if a word character follows.
fn is_connector(c: char) -> bool {
    matches!(c, '\'' | '’' | '-' | '‑' | '.' | '&' | '_')
}

/// Excludes scripts without capitals and spaces: only patterns find names in them.
fn is_word_char(c: char) -> bool {
    let is_spaced = !matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF
        | 0x3005..=0x31FF | 0x3400..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F);
    is_spaced && (c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c))
}

/// The length in bytes of an elided article in French or Italian: "d'Albert", "L'Université".
fn elision(word: &str, is_first: bool) -> usize {
    let mut chars = word.char_indices();
    let (Some((_, first)), Some((at, sign))) = (chars.next(), chars.next()) else {
        return 0;
    };
    let is_elided = matches!(first, 'd' | 'l' | 's' | 'n' | 'j' | 'c' | 'm' | 't')
        || is_first && matches!(first, 'D' | 'L' | 'J' | 'C' | 'N' | 'S');
    match chars.next() {
        Some((_, next)) if is_elided && matches!(sign, '\'' | '’') && next.is_uppercase() => {
            at + sign.len_utf8()
        }
        _ => 0,
    }
}

/// The words outside of the ranges found by pattern.
pub fn words<'t>(text: &'t str, by_form: &[PatternMatch]) -> Vec<TextWord<'t>> {
    let mut words: Vec<TextWord> = Vec::new();
    let mut at = 0;
    let mut last_end = 0;
    let mut is_first = true;
    let mut forms = by_form.iter().peekable();
    while let Some(c) = text[at..].chars().next() {
        if let Some(form) = forms.peek()
            && at >= form.range.start
        {
            at = form.range.end.max(at);
            last_end = at;
            is_first = false;
            forms.next();
            continue;
        }
        if !is_word_char(c) {
            at += c.len_utf8();
            continue;
        }
        let stop = forms.peek().map_or(text.len(), |form| form.range.start);
        let mut end = word_end(text, at, stop);
        let mut is_owner = false;
        for owner in ["'s", "’s", "'S", "’S"] {
            if text[at..end].ends_with(owner) && end - at > owner.len() {
                end -= owner.len();
                is_owner = true;
                break;
            }
        }
        let between = &text[last_end..at];
        let is_after_short =
            words.last().is_some_and(|w| w.is_in(&TITLES) || w.is_initial() || w.is_saint());
        let starts = words.is_empty() && is_first || begins_sentence(between, is_after_short);
        at += elision(&text[at..end], starts);
        let gap = &text[last_end..at];
        let word = &text[at..end];
        let previous = text[..at].chars().next_back();
        let next = text[end..].chars().next();
        let clings = |c: Option<char>| {
            c.is_some_and(|c| matches!(c, '/' | '\\' | '_' | '=' | '<' | '$' | '~'))
        };
        words.push(TextWord {
            is_code: clings(previous)
                || clings(next)
                || next == Some('(')
                || word.contains('_')
                || previous == Some('.'),
            range: at..end,
            folded: fold(word),
            is_capital: word.starts_with(char::is_uppercase),
            is_first: starts,
            is_owner,
            text: word,
            gap,
        });
        at = if is_owner {
            end + text[end..].chars().take(2).map(char::len_utf8).sum::<usize>()
        } else {
            end
        };
        last_end = end;
    }
    words
}

fn word_end(text: &str, start: usize, stop: usize) -> usize {
    let mut end = start;
    let mut chars = text[start..stop].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let goes_on = is_word_char(c)
            || is_connector(c) && chars.peek().is_some_and(|(_, next)| is_word_char(*next));
        if !goes_on {
            break;
        }
        end = start + at + c.len_utf8();
    }
    let rest = &text[end..stop];
    // C++, C#, and the dot of an initial.
    if rest.starts_with("++") {
        return end + 2;
    }
    let is_initial =
        text[start..end].chars().count() == 1 && text[start..end].starts_with(char::is_uppercase);
    match rest.chars().next() {
        Some('#') if is_initial => end + 1,
        Some('.') if is_initial && rest[1..].starts_with(' ') => end + 1,
        _ => end,
    }
}

fn begins_sentence(gap: &str, is_after_short_form: bool) -> bool {
    gap.contains([
        '!', '?', ':', ';', '\n', '•', '"', '“', '„', '«', '»', '”', '(', '[', '。', '！', '？',
        '—', '–', '*', '|', '>', '…', '¿', '¡',
    ]) || gap.contains('.') && !is_after_short_form
        || gap.trim_start().starts_with("- ")
        || gap.contains(" - ")
}

pub fn sentences<'w, 't>(words: &'w [TextWord<'t>]) -> impl Iterator<Item = &'w [TextWord<'t>]> {
    words.chunk_by(|_, next| !next.is_first)
}

pub fn is_german(words: &[TextWord]) -> bool {
    let german = words.iter().filter(|w| w.is_in(&GERMAN)).count();
    german > 0 && german * 12 >= words.len()
}

/// A Spanish verb at the beginning of a sentence: "Instalé Claude Code", "Migramos de Oracle".
pub fn is_spanish_verb(word: &TextWord) -> bool {
    let ends = ["amos", "imos", "aron", "ieron"];
    word.folded.chars().count() > 4
        && (word.text.ends_with(['é', 'ó']) || ends.iter().any(|end| word.folded.ends_with(end)))
}

pub fn joined(words: &[TextWord]) -> String {
    words.iter().map(|w| w.folded.as_str()).collect()
}

/// Whether it is a heading in title case, where capitalization does not indicate names.
pub fn is_title(words: &[TextWord]) -> bool {
    const WORDS_MIN: usize = 4;
    let long: Vec<&TextWord> = words.iter().filter(|w| w.text.chars().count() > 3).collect();
    let great = long.iter().filter(|w| w.is_capital).count();
    let capitals = words.iter().filter(|w| w.is_capital && w.text != "I").count();
    words.len() >= WORDS_MIN
        && long.len() > 2
        && great * 5 >= long.len() * 4
        && capitals * 3 >= words.len() * 2
}

pub fn is_shouted(words: &[TextWord]) -> bool {
    const WORDS_MIN: usize = 3;
    let great = words.iter().filter(|w| w.is_all_capitals()).count();
    words.len() >= WORDS_MIN && great * 2 > words.len()
}
