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
    let end_after = |start: usize| {
        char_starts(start)
            .nth(SNIPPET_CHARS)
            .unwrap_or(content.len())
    };
    let start = if first < end_after(0) {
        0
    } else {
        content[..first]
            .char_indices()
            .rev()
            .nth(lead_chars - 1)
            .map_or(0, |(at, _)| at)
    };
    let end = end_after(start);
    let lead = if start > 0 { "…" } else { "" };
    let tail = if end < content.len() { "…" } else { "" };
    let text = format!("{lead}{}{tail}", &content[start..end]);
    let shown = matches
        .into_iter()
        .filter(|r| r.start >= start && r.end <= end);
    Snippet {
        text,
        matches: shown
            .map(|r| r.start - start + lead.len()..r.end - start + lead.len())
            .collect(),
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
    }
}
