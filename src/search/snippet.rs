//! The excerpt of a text in a hit.

use crate::memories::words;

/// Limit of an excerpt.
pub const SNIPPET_CHARS: usize = 280;

/// An excerpt around the first matching word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// With `…` where it is cut.
    pub text: String,
    /// Byte ranges of matches in `text`, ascending and disjoint.
    pub matches: Vec<std::ops::Range<usize>>,
}

/// A short text as a whole; otherwise a window that begins slightly before the first match.
pub fn of(content: &str, terms: &[words::Term]) -> Snippet {
    let matches = words::matches(content, terms);
    let lead_chars = SNIPPET_CHARS / 4;
    let first = matches.first().map_or(0, |r| r.start);
    let char_starts = |from: usize| content[from..].char_indices().map(move |(at, _)| from + at);
    let end_after = |start: usize| char_starts(start).nth(SNIPPET_CHARS).unwrap_or(content.len());
    let start = if first < end_after(0) {
        0
    } else {
        content[..first].char_indices().rev().nth(lead_chars - 1).map_or(0, |(at, _)| at)
    };
    let start = next_word(content, start).min(first);
    let end = word_end(content, end_after(start));
    let lead = if start > 0 { "…" } else { "" };
    let tail = if end < content.len() { "…" } else { "" };
    let text = format!("{lead}{}{tail}", &content[start..end]);
    let shown = matches.into_iter().filter(|r| r.start >= start && r.end <= end);
    Snippet {
        text,
        matches: shown.map(|r| r.start - start + lead.len()..r.end - start + lead.len()).collect(),
    }
}

/// How far a cut moves to stand between words; a script without spaces is cut where it is.
const WORD_CHARS_MAX: usize = 30;

fn next_word(content: &str, start: usize) -> usize {
    let before = content[..start].chars().next_back();
    if before.is_none_or(char::is_whitespace) {
        return start;
    }
    let mut chars = content[start..].char_indices().take(WORD_CHARS_MAX);
    let space = chars.find(|(_, c)| c.is_whitespace());
    space.map_or(start, |(at, space)| start + at + space.len_utf8())
}

fn word_end(content: &str, end: usize) -> usize {
    let is_inside = content[end..].starts_with(|c: char| !c.is_whitespace());
    let mut chars = content[..end].char_indices().rev().take(WORD_CHARS_MAX);
    match chars.find(|(_, c)| is_inside && c.is_whitespace()) {
        Some((at, _)) => at,
        None => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_its_own_snippet() {
        let found = of("Anna deploys on Fridays", &words::query_terms("deploy"));
        assert_eq!(found.text, "Anna deploys on Fridays");
        assert_eq!(&found.text[found.matches[0].clone()], "deploys");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_match() {
        let content = format!("{} the needle é {}", "hay ".repeat(400), "hay ".repeat(400));
        let found = of(&content, &words::query_terms("needle"));
        assert!(found.text.starts_with('…') && found.text.ends_with('…'));
        assert!(found.text.chars().count() <= SNIPPET_CHARS + 2);
        assert_eq!(&found.text[found.matches[0].clone()], "needle");
        let words = found.text.trim_matches('…').split_whitespace();
        let is_whole = |word: &str| ["hay", "the", "needle", "é"].contains(&word);
        assert!(words.into_iter().all(is_whole), "{}", found.text);
    }

    #[test]
    fn a_text_without_spaces_is_cut_where_it_is() {
        let found = of(&"字".repeat(1_000), &[]);
        assert_eq!(found.text.chars().count(), SNIPPET_CHARS + 1);
    }
}
