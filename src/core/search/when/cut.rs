//! Cuts a question into words, numbers and dates. What is part of a code (`ERR_2001`, `192.168.1.1`) is neither.

use super::chunk::Chunk;
use super::lexicon::{Kind, Lexicon};
use super::numeric::{self, Written};
use crate::languages::characters::is_unspaced;

/// A word, a phrase or a number, as one language has it.
#[derive(Debug)]
pub struct TimeToken {
    /// Folded; blanks between the words of a phrase.
    pub text: String,
    pub kinds: &'static [Kind],
    pub written: Option<Written>,
    /// Of a compound, "zweiundzwanzig".
    pub compound: Option<i64>,
    pub is_ambiguous: bool,
    pub is_capital: bool,
    /// "'s" follows.
    pub is_possessive: bool,
    /// Number of its chunk.
    pub chunk: usize,
}

/// The question as a language has it: the longest phrases first.
pub fn tokens(chunks: &[Chunk], lexicon: &'static Lexicon, this_year: i32) -> Vec<TimeToken> {
    let mut pieces = Vec::new();
    for (nth, chunk) in chunks.iter().enumerate() {
        let begins = pieces.len();
        cut(chunk, lexicon, this_year, &mut pieces);
        pieces[begins..].iter_mut().for_each(|piece| piece.chunk = nth);
    }
    let mut tokens: Vec<TimeToken> = Vec::new();
    let mut at = 0;
    while at < pieces.len() {
        let most = match lexicon.times.unspaced {
            true => 1,
            false => lexicon.longest.min(pieces.len() - at),
        };
        let length = (2..=most).rev().find(|length| {
            let words = &pieces[at..at + length];
            words.iter().all(|piece| piece.written.is_none())
                && !lexicon.kinds(&phrase(words)).is_empty()
        });
        let words = &pieces[at..at + length.unwrap_or(1)];
        let text = phrase(words);
        at += words.len();
        let owner = tokens.last_mut().filter(|owner| owner.written.is_none());
        if let Some(owner) = owner.filter(|_| text == "s" && words[0].follows_apostrophe) {
            owner.is_possessive = true;
            continue;
        }
        let kinds = if words[0].is_code { &[] } else { lexicon.kinds(&text) };
        tokens.push(TimeToken {
            kinds,
            written: words[0].written,
            compound: if kinds.is_empty() { lexicon.compound(&text) } else { None },
            is_ambiguous: lexicon.is_ambiguous(&text),
            is_capital: words[0].is_capital,
            is_possessive: false,
            chunk: words[0].chunk,
            text,
        });
    }
    tokens
}

fn phrase(words: &[Piece]) -> String {
    let words: Vec<&str> = words.iter().map(|piece| piece.text.as_str()).collect();
    words.join(" ")
}

#[derive(Debug, Default)]
struct Piece {
    text: String,
    written: Option<Written>,
    is_code: bool,
    is_capital: bool,
    follows_apostrophe: bool,
    chunk: usize,
}

fn cut(chunk: &Chunk, lexicon: &'static Lexicon, this_year: i32, pieces: &mut Vec<Piece>) {
    let chars: Vec<char> = chunk.text.chars().collect();
    let mut is_capital = chunk.is_capital;
    for run in chars.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
        match is_unspaced(run[0]) && lexicon.times.unspaced {
            true => cut_unspaced(run, lexicon, pieces),
            false => cut_spaced(run, is_capital, lexicon, this_year, pieces),
        }
        is_capital = false;
    }
}

/// The longest words that are known, from left to right; what lies between is one piece.
fn cut_unspaced(run: &[char], lexicon: &'static Lexicon, pieces: &mut Vec<Piece>) {
    let (mut at, mut unknown) = (0, String::new());
    let push = |text: &mut String, pieces: &mut Vec<Piece>| {
        if !text.is_empty() {
            pieces.push(Piece { text: std::mem::take(text), ..Piece::default() });
        }
    };
    while at < run.len() {
        if let Some(year) = run.get(at..at + 4).and_then(numeric::han) {
            push(&mut unknown, pieces);
            let text = run[at..at + 4].iter().collect();
            pieces.push(Piece { text, written: Some(year), ..Piece::default() });
            at += 4;
            continue;
        }
        match lexicon.longest_at(&run[at..], |word| !lexicon.kinds(word).is_empty()) {
            0 => {
                unknown.push(run[at]);
                at += 1;
            }
            length => {
                push(&mut unknown, pieces);
                push(&mut run[at..at + length].iter().collect(), pieces);
                at += length;
            }
        }
    }
    push(&mut unknown, pieces);
}

fn cut_spaced(
    run: &[char],
    is_capital: bool,
    lexicon: &'static Lexicon,
    this_year: i32,
    pieces: &mut Vec<Piece>,
) {
    let run: String = run.iter().collect();
    let trimmed = run.trim_matches(|c: char| c.is_ascii_punctuation());
    if trimmed.is_empty() {
        // A dash alone is "to"; other punctuation is nothing.
        if run.contains('-') {
            pieces.push(Piece { text: "-".to_owned(), ..Piece::default() });
        }
        return;
    }
    let code = |pieces: &mut Vec<Piece>| {
        pieces.push(Piece {
            text: trimmed.to_owned(),
            is_code: true,
            is_capital,
            ..Piece::default()
        });
    };
    // A sign before it makes a code: `#2023`, `$2023`, `_may`, `/may`.
    if run.starts_with(|c: char| c.is_ascii_punctuation() && !matches!(c, '\'' | '-' | '.')) {
        return code(pieces);
    }
    let ends_with_dot = run.ends_with('.');
    if let Some(written) =
        numeric::date(trimmed, ends_with_dot, lexicon.times.month_first, this_year)
    {
        let written = Some(written);
        pieces.push(Piece { text: trimmed.to_owned(), written, ..Piece::default() });
        return;
    }
    let has_sign = trimmed.contains(|c: char| c.is_ascii_punctuation() && !matches!(c, '\'' | '-'));
    let has_digit = trimmed.contains(|c: char| c.is_ascii_digit());
    // In a compound with a sign or a number each part must be of a time: "mid-2023", "May/June", "7th", "24h".
    let parts: Vec<&str> = trimmed.split(|c: char| c.is_ascii_punctuation()).collect();
    let parts: Vec<&str> = parts.into_iter().flat_map(numeric::apart).collect();
    let is_of_time =
        |part: &&str| numeric::number(part).is_some() || !lexicon.kinds(part).is_empty();
    if (has_sign || has_digit) && !parts.iter().all(is_of_time) {
        return code(pieces);
    }
    // 2019-2021 was a date; other numbers side by side are a code: 10:30, 1,250, 555-1234.
    let is_number = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    if parts.windows(2).any(|two| two.iter().all(is_number)) {
        return code(pieces);
    }
    let mut end = 0;
    for (nth, part) in parts.iter().filter(|part| !part.is_empty()).enumerate() {
        let begins = trimmed[end..].find(part).map_or(end, |at| end + at);
        pieces.push(Piece {
            text: (*part).to_owned(),
            written: numeric::number(part),
            is_capital: is_capital && nth == 0,
            follows_apostrophe: trimmed[..begins].ends_with('\''),
            ..Piece::default()
        });
        end = begins + part.len();
    }
}
