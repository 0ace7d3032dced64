//! Compounds: words joined by connectors or case changes, as a whole and in parts.

use std::ops::Range;

use super::{COMPOUND_CHARS_MAX, TextLexeme, WordKind, push_word, run_end};
use crate::languages::Script;
use crate::languages::characters::{is_apostrophe, is_digit, is_spaced_word};

/// The end of a run of words and connectors. A connector belongs to it if a word follows, and so does `++` or `#` after a
/// letter (`c++`, `c#`).
pub(super) fn compound_end(text: &str, start: usize) -> usize {
    let mut end = word_end(text, start);
    loop {
        let rest = &text[end..];
        let after = rest.trim_start_matches(is_connector);
        let connectors = rest.len() - after.len();
        if connectors == 0 {
            return end;
        }
        let sign = rest.starts_with("++") || rest.starts_with('#');
        let word_follows = after.starts_with(is_spaced_word);
        // Two connectors in a row (`a -- b`, `...`) separate words, but `://` and `::` join them.
        let joins = connectors == 1 || rest.starts_with("://") || rest.starts_with("::");
        if word_follows && joins {
            end = word_end(text, end + connectors);
        } else if sign {
            return end + if rest.starts_with('#') { 1 } else { 2 };
        } else {
            return end;
        }
    }
}

/// The end of the word that begins at `start`. An apostrophe between Cyrillic letters belongs to it: `пам'ять`.
fn word_end(text: &str, start: usize) -> usize {
    let is_cyrillic = |c: Option<char>| c.and_then(Script::of) == Some(Script::Cyrillic);
    let mut end = run_end(text, start, is_spaced_word);
    while let Some(sign) = text[end..].chars().next().filter(|c| is_apostrophe(*c)) {
        let after = end + sign.len_utf8();
        let is_inside = is_cyrillic(text[start..end].chars().next_back())
            && is_cyrillic(text[after..].chars().next());
        if !is_inside {
            break;
        }
        end = run_end(text, after, is_spaced_word);
    }
    end
}

/// Connectors, from the loosest to the tightest; a `.` between digits is the tightest of all.
const LEVELS: [&[char]; 4] =
    [&['/', '\\'], &['@', ':', '=', '&', '?'], &['.'], &['-', '_', '+', '#', '~']];

pub(super) fn push_compound(found: &mut Vec<TextLexeme>, text: &str, range: Range<usize>) {
    // Fast path: most words are lower case after the first letter and have no parts.
    if text.as_bytes()[range.start + 1..range.end].iter().all(u8::is_ascii_lowercase)
        && text.as_bytes()[range.start].is_ascii_alphabetic()
    {
        return push_word(found, text, range, WordKind::Plain);
    }
    let first = found.len();
    push_level(found, text, range, 0);
    if let [only] = &mut found[first..] {
        only.kind = WordKind::Plain;
    }
}

/// Pushes the piece as a whole if it splits at this level, then its parts.
fn push_level(found: &mut Vec<TextLexeme>, text: &str, range: Range<usize>, level: usize) {
    if level > LAST_LEVEL {
        return push_word(found, text, range, WordKind::Part);
    }
    let piece = &text[range.clone()];
    let pieces = pieces(piece, level);
    let falls_apart = pieces.len() > 1 || pieces[0].len() < piece.len();
    if falls_apart && piece.chars().count() <= COMPOUND_CHARS_MAX {
        push_word(found, text, range.clone(), WordKind::Compound);
    }
    for p in pieces {
        let part = range.start + p.start..range.start + p.end;
        push_level(found, text, part, level + 1);
    }
}

/// After the connectors: case and digit changes (`getUserName`, `v2`), then dots between digits.
const HUMPS_LEVEL: usize = LEVELS.len();
const LAST_LEVEL: usize = HUMPS_LEVEL + 1;

/// The parts of a piece at this level; never empty.
fn pieces(piece: &str, level: usize) -> Vec<Range<usize>> {
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let mut before: Option<char> = None;
    let mut chars = piece.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|&(_, c)| c);
        let between_digits = before.is_some_and(is_digit) && after.is_some_and(is_digit);
        let cut = match level {
            0..=3 => LEVELS[level].contains(&c) && !(c == '.' && between_digits),
            HUMPS_LEVEL => false,
            _ => c == '.',
        };
        let hump = level == HUMPS_LEVEL
            && before.is_some_and(|b| {
                (b.is_ascii_lowercase() && c.is_ascii_uppercase())
                    || (b.is_ascii_alphabetic() && c.is_ascii_digit())
                    || (b.is_ascii_digit() && c.is_ascii_alphabetic())
            });
        if cut {
            cuts.push(at..at + c.len_utf8());
        } else if hump {
            cuts.push(at..at);
        }
        before = Some(c);
    }
    let mut pieces = Vec::with_capacity(cuts.len() + 1);
    let mut start = 0;
    for cut in cuts.into_iter().chain(std::iter::once(piece.len()..piece.len())) {
        if cut.start > start {
            pieces.push(start..cut.start);
        }
        start = cut.end;
    }
    if pieces.is_empty() {
        pieces.push(0..piece.len());
    }
    pieces
}

fn is_connector(c: char) -> bool {
    LEVELS.iter().any(|level| level.contains(&c))
}
