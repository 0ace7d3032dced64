//! The excerpt of a text in a hit: where most and the rarest words of the query stand or, if no word matches, the passage
//! nearest by embedding.

use std::ops::Range;

use super::WeighedTerms;
use crate::memories::{passages, with_key, words};

/// Limit of an excerpt.
pub const SNIPPET_CHARS: usize = 280;
/// So much of it stands before the first match.
const LEAD_CHARS: usize = SNIPPET_CHARS / 4;

/// An excerpt of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// With `…` where it is cut.
    pub text: String,
    /// Byte ranges of matches in `text`, ascending and disjoint.
    pub matches: Vec<Range<usize>>,
}

/// The beginning of a text with its key.
pub fn beginning_of(key: Option<&str>, content: &str) -> Snippet {
    of(key, content, &Vec::new(), 0, SNIPPET_CHARS)
}

/// At most `most` characters of a text with its key. `passage` is the nearest by embedding.
pub fn of(
    key: Option<&str>,
    content: &str,
    terms: &WeighedTerms,
    passage: usize,
    most: usize,
) -> Snippet {
    let text = &*with_key(key, content);
    let (words, weights): (Vec<&words::Term>, Vec<f64>) =
        terms.iter().map(|(t, w)| (t, *w)).unzip();
    let matches = words::matches_by_term(text, &words);
    let char_starts = |from: usize| text[from..].char_indices().map(move |(at, _)| from + at);
    let end_after = |start: usize| char_starts(start).nth(most).unwrap_or(text.len());
    let room = most - LEAD_CHARS.min(most);
    let (first, start) = match best_window(text, &matches, &weights, room) {
        Some(best) if best.end <= end_after(0) => (best.start, 0),
        Some(best) => {
            let lead = text[..best.start].char_indices().rev().nth(LEAD_CHARS - 1);
            (best.start, lead.map_or(0, |(at, _)| at))
        }
        None if passage == 0 || end_after(0) == text.len() => (0, 0),
        // A piece is a slice of the content, so the pointers give its offset.
        None => {
            let piece = passages::cut(content).nth(passage);
            let at = piece.map_or(0, |piece| piece.as_ptr() as usize - content.as_ptr() as usize);
            let at = text.len() - content.len() + at;
            (at, at)
        }
    };
    let start = next_word(text, start).min(first);
    let end = word_end(text, end_after(start));
    let lead = if start > 0 { "…" } else { "" };
    let tail = if end < text.len() { "…" } else { "" };
    let shown = words::joined(matches.into_iter().map(|(range, _)| range));
    let shown = shown.into_iter().filter(|r| r.start >= start && r.end <= end);
    let shown = shown.map(|r| r.start - start + lead.len()..r.end - start + lead.len()).collect();
    Snippet { text: format!("{lead}{}{tail}", &text[start..end]), matches: shown }
}

/// From the first to the last match in the stretch of this many characters that has the most and the rarest of the words;
/// `None` if none matches.
fn best_window(
    text: &str,
    matches: &[(Range<usize>, usize)],
    weights: &[f64],
    chars: usize,
) -> Option<Range<usize>> {
    let mut places = Vec::with_capacity(matches.len());
    let (mut at, mut count) = (0, 0);
    for (range, _) in matches {
        count += text[at..range.start].chars().count();
        at = range.start;
        places.push(count);
    }
    let mut counts = vec![0_usize; weights.len()];
    let mut best: Option<(f64, Range<usize>)> = None;
    let (mut value, mut end) = (0.0, 0);
    for (first, (range, word)) in matches.iter().enumerate() {
        while end < matches.len() && places[end] < places[first] + chars {
            let added = matches[end].1;
            counts[added] += 1;
            value += if counts[added] == 1 { weights[added] } else { 0.0 };
            end += 1;
        }
        if best.as_ref().is_none_or(|(known, _)| value > known + 1e-9) {
            best = Some((value, range.start..matches[end - 1].0.end));
        }
        counts[*word] -= 1;
        value -= if counts[*word] == 0 { weights[*word] } else { 0.0 };
    }
    best.map(|(_, range)| range)
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

    fn weighed(query: &str) -> WeighedTerms {
        words::query_terms(query).into_iter().map(|term| (term, 1.0)).collect()
    }

    fn of_text(content: &str, query: &str) -> Snippet {
        of(None, content, &weighed(query), 0, SNIPPET_CHARS)
    }

    #[test]
    fn a_short_text_is_its_own_snippet() {
        let found = of_text("Anna deploys on Fridays", "deploy");
        assert_eq!(found.text, "Anna deploys on Fridays");
        assert_eq!(&found.text[found.matches[0].clone()], "deploys");
        let found = of(Some("prefers_dark_ui"), "true", &weighed("dark ui"), 0, SNIPPET_CHARS);
        assert_eq!(found.text, "prefers_dark_ui: true");
    }

    #[test]
    fn a_long_text_is_cut_around_the_match() {
        let content = format!("{} the needle é {}", "hay ".repeat(400), "hay ".repeat(400));
        let found = of_text(&content, "needle");
        assert!(found.text.starts_with('…') && found.text.ends_with('…'));
        assert!(found.text.chars().count() <= SNIPPET_CHARS + 2);
        assert_eq!(&found.text[found.matches[0].clone()], "needle");
        let words = found.text.trim_matches('…').split_whitespace();
        let is_whole = |word: &str| ["hay", "the", "needle", "é"].contains(&word);
        assert!(words.into_iter().all(is_whole), "{}", found.text);
    }

    #[test]
    fn shown_is_where_most_and_the_rarest_words_stand() {
        let hay = "hay ".repeat(200);
        let content =
            format!("A wing. {hay}A wing, a wing. {hay}The heron lands. {hay}A wing of hay.");
        let terms =
            |weights: [f64; 2]| words::query_terms("wing heron").into_iter().zip(weights).collect();
        let shown = |terms: &WeighedTerms| of(None, &content, terms, 0, SNIPPET_CHARS).text;
        assert!(shown(&terms([1.0, 4.0])).contains("The heron lands."));
        assert!(shown(&terms([4.0, 1.0])).starts_with("A wing. hay"));
        let both = format!("{content} {hay} A heron has wings.");
        let found = of(None, &both, &terms([1.0, 4.0]), 0, SNIPPET_CHARS);
        assert!(found.text.contains("A heron has wings."), "{}", found.text);
    }

    #[test]
    fn where_no_word_matches_the_nearest_passage_is_shown() {
        let paragraph = |word: &str| format!("{word} ").repeat(150);
        let content =
            format!("{}\n\n{}\n\n{}", paragraph("hay"), paragraph("straw"), paragraph("oats"));
        let second = of(Some("barn"), &content, &weighed("stable"), 1, SNIPPET_CHARS).text;
        assert!(second.starts_with("…straw") && second.ends_with("straw…"), "{second}");
        let first = beginning_of(Some("barn"), &content).text;
        assert!(first.starts_with("barn: hay hay"), "{first}");
    }

    #[test]
    fn a_text_without_spaces_is_cut_where_it_is() {
        let found = of_text(&"字".repeat(1_000), "");
        assert_eq!(found.text.chars().count(), SNIPPET_CHARS + 1);
    }
}
