//! The tokenizer of search. One function cuts stored texts and queries, so that the two agree. Depends only on the text:
//! - a *compound* (`src/db.rs`, `ERR-5021`, `anna@example.com`, `v1.2.3`) is a word as a whole, and so is each of its
//!   parts, level by level (`db.rs`, `db`);
//! - a word also counts by its stems in the languages that the text may be in ("deploys", "Häuser"; [`languages`]);
//! - scripts without spaces are cut into single characters and pairs of characters;
//! - a number or code in groups also counts without its separators (`1,250` and `1250`, `GR-482-KT` and `GR482KT`);
//! - an emoji is a word;
//! - case, accents, width and the digits of all scripts are folded (`É` → `e`, `Ａ` → `a`, `٤` → `4`).

mod compounds;
mod emoji;
mod joined;

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use self::compounds::{compound_end, push_compound};
use self::joined::GroupedNumber;
use crate::languages::characters::{fold, is_apostrophe, is_attached, is_spaced_word, is_unspaced};
use crate::languages::{self, Languages, Script, particle_chars};

/// Limit on the distinct words of a query.
pub const QUERY_TERMS_MAX: usize = 32;
/// A longer compound is indexed by its parts only.
const COMPOUND_CHARS_MAX: usize = 128;
/// Before a number or code that is no part of a longer one: `=v2.0.0`, not of `v2.0.0-rc.1`.
pub const WHOLE: char = '=';
/// A longer lexeme is not indexed.
const LEXEME_BYTES_MAX: usize = 512;

/// A word of a text: its lexeme and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextLexeme {
    lexeme: String,
    /// Byte range in the original text.
    range: Range<usize>,
    kind: WordKind,
    /// The compound without its separators, if it counts so too.
    joined: Option<String>,
    /// It is no part of another one.
    is_whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordKind {
    /// A word that is not part of a compound.
    Plain,
    /// `src/db.rs`: a whole compound.
    Compound,
    /// `db`: a part of a compound.
    Part,
    /// `250` in `1,250`: not asked for, but the number.
    Group,
    /// One character of a script without spaces, next to others.
    Character,
    /// One character of a script without spaces, on its own.
    Single,
    /// Two adjacent characters of a script without spaces.
    Pair,
    /// The same with a particle that is not asked for: `쇠는` in `열쇠는`.
    Particle,
}

/// A word of a query. Any of its alternatives matches, and they count as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// The folded word, then the other forms that a text with the word may have: its stems or, of a compound, the form without
    /// separators. Of a number or code, last, what only a text has where it is no part of a longer one
    /// ([`WHOLE`]).
    pub alternatives: Vec<String>,
    /// Counts little: "before", "out".
    pub is_weak: bool,
}

impl TextLexeme {
    /// The stems in these languages. A compound has none.
    fn stems(&self, text: &str, languages: Languages) -> Vec<String> {
        match self.kind {
            WordKind::Plain | WordKind::Part => {
                languages.stems(&text[self.range.clone()], &self.lexeme)
            }
            _ => Vec::new(),
        }
    }

    /// So is a single letter beside an apostrophe, in any language: `Brandt's`, `l'école`.
    fn is_stop_word(&self, text: &str, languages: Languages) -> bool {
        let is_clitic = || {
            let (before, after) = (&text[..self.range.start], &text[self.range.end..]);
            self.lexeme.chars().nth(1).is_none()
                && (before.ends_with(is_apostrophe) || after.starts_with(is_apostrophe))
        };
        languages.is_stop_word(&text[self.range.clone()]) || is_clitic()
    }

    fn is_common(&self, text: &str, languages: Languages) -> bool {
        self.is_stop_word(text, languages) || self.is_weak(text, languages)
    }

    fn is_weak(&self, text: &str, languages: Languages) -> bool {
        languages.is_weak_word(&text[self.range.clone()])
    }

    /// See [`WHOLE`].
    fn whole(&self) -> Option<String> {
        let is_code = self.lexeme.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_punctuation());
        (self.is_whole && is_code).then(|| format!("{WHOLE}{}", self.lexeme))
    }
}

impl Term {
    fn matches(&self, word: &TextLexeme, stems: &[String]) -> bool {
        self.alternatives
            .iter()
            .any(|a| *a == word.lexeme || stems.contains(a) || word.joined.as_ref() == Some(a))
    }

    /// Whether the word may match: a stem begins as its word does, but for Arabic, which has prefixes.
    fn begins_as(&self, word: &TextLexeme) -> bool {
        let first = word.lexeme.chars().next();
        let is_arabic = || first.and_then(Script::of) == Some(Script::Arabic);
        self.alternatives.iter().any(|a| a.chars().next() == first) || is_arabic()
    }
}

/// All lexemes of a text, repeated as often as they occur.
pub fn lexemes(text: &str) -> impl Iterator<Item = String> {
    let languages = languages::of(text);
    words(text).into_iter().flat_map(move |word| {
        let stems = word.stems(text, languages).into_iter();
        stems.chain(word.whole()).chain(word.joined).chain([word.lexeme])
    })
}

/// The distinct words of a query, at most [`QUERY_TERMS_MAX`]. Stop words are removed unless nothing else remains.
pub fn query_terms(query: &str) -> Vec<Term> {
    let (words, languages) = (words(query), languages::of(query));
    let wanted = |w: &&TextLexeme| match w.kind {
        WordKind::Plain | WordKind::Compound | WordKind::Pair | WordKind::Single => true,
        // Short parts match too much: the `1` of `192.168.1.168` adds nothing to the whole.
        WordKind::Part => {
            let digits = w.lexeme.bytes().all(|b| b.is_ascii_digit());
            w.lexeme.chars().count() >= if digits { 3 } else { 2 }
        }
        WordKind::Character | WordKind::Group | WordKind::Particle => false,
    };
    let mut telling = Vec::new();
    let mut stop = Vec::new();
    for word in words.iter().filter(wanted) {
        let mut alternatives = vec![word.lexeme.clone()];
        alternatives.extend(word.stems(query, languages));
        alternatives.extend(word.joined.clone());
        alternatives.extend(word.whole());
        let term = Term { alternatives, is_weak: word.is_weak(query, languages) };
        let list = if word.is_stop_word(query, languages) { &mut stop } else { &mut telling };
        if list.len() < QUERY_TERMS_MAX && !list.contains(&term) {
            list.push(term);
        }
    }
    if telling.is_empty() { stop } else { telling }
}

/// Whether the query is words alone, without stop words as in a sentence.
pub fn is_bare(query: &str) -> bool {
    let languages = languages::of(query);
    !words(query).iter().any(|word| word.is_common(query, languages))
}

/// Substrings to search for if no word matches: the query split at blanks, without surrounding punctuation and short
/// pieces. Stop words and punctuation are removed unless nothing else remains.
pub fn query_fragments(query: &str) -> Vec<String> {
    let mut telling: Vec<String> = Vec::new();
    let mut stop: Vec<String> = Vec::new();
    let languages = languages::of(query);
    for run in query.split_whitespace() {
        let inner = run.trim_matches(PUNCTUATION);
        let fragment = if inner.is_empty() { run } else { inner };
        let list = match words(fragment).iter().all(|w| w.is_common(fragment, languages)) {
            true => &mut stop,
            false => &mut telling,
        };
        let long_enough = fragment.chars().count() >= 3 || fragment.chars().any(is_unspaced);
        if long_enough && list.len() < QUERY_TERMS_MAX && !list.iter().any(|f| f == fragment) {
            list.push(fragment.to_owned());
        }
    }
    if telling.is_empty() { stop } else { telling }
}

/// Punctuation around words: sentence ends, quotes and brackets, including those of CJK.
const PUNCTUATION: &[char] = &[
    '.', ',', ';', ':', '!', '?', '…', '*', '–', '—', '¿', '¡', '،', '؛', '؟', '।', '"', '\'', '`',
    '“', '”', '„', '‘', '’', '‚', '«', '»', '‹', '›', '(', ')', '[', ']', '{', '}', '<', '>', '。',
    '、', '，', '．', '；', '：', '！', '？', '・', '｡', '､', '･', '「', '」', '『', '』', '｢',
    '｣', '（', '）', '【', '】', '［', '］', '《', '》', '〈', '〉', '〔', '〕',
];

/// Byte ranges of the query's words in `text`, ascending, each with the position of its term. They may overlap.
pub fn matches_by_term(text: &str, terms: &[&Term]) -> Vec<(Range<usize>, usize)> {
    let mut found = Vec::new();
    let languages = languages::of(text);
    for word in words(text) {
        // Most words need no stemming.
        let alike = terms.iter().enumerate().filter(|(_, term)| term.begins_as(&word));
        let mut stems = None;
        for (nth, term) in alike {
            let stems = stems.get_or_insert_with(|| word.stems(text, languages));
            if term.matches(&word, stems) {
                found.push((word.range.clone(), nth));
            }
        }
    }
    found.sort_by_key(|(range, nth)| (range.start, range.end, *nth));
    found
}

/// Ascending ranges, overlapping ones as one.
pub fn joined(ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Byte ranges of the query's words in `text`, ascending and disjoint.
pub fn matches(text: &str, terms: &[Term]) -> Vec<Range<usize>> {
    let terms: Vec<&Term> = terms.iter().collect();
    joined(matches_by_term(text, &terms).into_iter().map(|(range, _)| range))
}

/// The plain words of a query without stop words, with their byte ranges.
pub(super) fn plain_words(query: &str) -> impl Iterator<Item = (String, Range<usize>)> {
    let languages = languages::of(query);
    words(query)
        .into_iter()
        .filter(move |w| w.kind == WordKind::Plain && !w.is_common(query, languages))
        .map(|w| (w.lexeme, w.range))
}

/// The distinct words of a text, longest first, to show to users.
pub fn telling_words(text: &str, most: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let languages = languages::of(text);
    for word in words(text) {
        let shown = matches!(
            word.kind,
            WordKind::Plain | WordKind::Compound | WordKind::Single | WordKind::Pair
        );
        if shown && !word.is_common(text, languages) && !found.contains(&word.lexeme) {
            found.push(word.lexeme);
        }
    }
    found.sort_by_key(|w| std::cmp::Reverse(w.chars().count()));
    found.truncate(most);
    found
}

/// All words of a text, in order; a compound comes before its parts.
fn words(text: &str) -> Vec<TextLexeme> {
    let mut found = Vec::new();
    let mut number: Option<GroupedNumber> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let end = if is_unspaced(c) {
            let end = run_end(text, at, is_unspaced);
            push_unspaced(&mut found, text, at..end);
            end
        } else if is_spaced_word(c) {
            let end = compound_end(text, at);
            let first = found.len();
            push_compound(&mut found, text, at..end);
            if let Some(whole) = found.get_mut(first).filter(|word| word.range == (at..end)) {
                whole.is_whole = true;
            }
            if number.as_ref().is_none_or(|number| number.range.end <= at) {
                number = joined::number(text, at).or_else(|| joined::account(text, at));
                if let Some(number) = &number {
                    number.push(&mut found, first);
                }
            }
            if let Some(number) = &number {
                number.mark(&mut found[first..]);
            }
            end
        } else if emoji::is_emoji(c) {
            let end = emoji::end(text, at);
            push_word(&mut found, text, at..end, WordKind::Plain);
            end
        } else {
            at + c.len_utf8()
        };
        at = end;
    }
    found
}

fn run_end(text: &str, start: usize, belongs: impl Fn(char) -> bool) -> usize {
    text[start..].find(|c| !belongs(c)).map_or(text.len(), |length| start + length)
}

fn push_word(found: &mut Vec<TextLexeme>, text: &str, range: Range<usize>, kind: WordKind) {
    let mut lexeme = fold(&text[range.clone()]);
    lexeme.retain(|c| !is_apostrophe(c));
    if lexeme.is_empty() || lexeme.len() > LEXEME_BYTES_MAX {
        return;
    }
    let joined = match kind {
        WordKind::Compound => joined::code(&lexeme),
        WordKind::Plain => joined::international(&lexeme),
        _ => None,
    };
    found.push(TextLexeme { lexeme, range, kind, joined, is_whole: false });
}

fn push_unspaced(found: &mut Vec<TextLexeme>, text: &str, range: Range<usize>) {
    let starts: Vec<usize> = text[range.clone()]
        .char_indices()
        .filter(|&(at, c)| at == 0 || !is_attached(c))
        .map(|(at, _)| range.start + at)
        .collect();
    let end_of = |n: usize| starts.get(n).copied().unwrap_or(range.end);
    let kind = match starts.len() {
        1 => WordKind::Single,
        _ => WordKind::Character,
    };
    let asked =
        starts.len().saturating_sub(particle_chars(&text[range.clone()].nfc().collect::<String>()));
    for (n, &start) in starts.iter().enumerate() {
        push_word(found, text, start..end_of(n + 1), kind);
        if n + 1 < starts.len() {
            let kind = if n + 2 <= asked { WordKind::Pair } else { WordKind::Particle };
            push_word(found, text, start..end_of(n + 2), kind);
        }
    }
}

#[cfg(test)]
mod tests;
