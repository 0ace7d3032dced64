//! Replaces secrets in texts by the name of their rule.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};

use super::private::without_private;
use super::rules::{FoundSecret, scan};

/// Shorter secrets are replaced only where they were found, since they may be words elsewhere.
const REPEATED_BYTES_MIN: usize = 8;

/// Different secrets of one call that are also looked for where they were not found.
const REPEATED_MAX: usize = 1_000;

/// The text without private sections and with every secret replaced, for what is written without its user's settings at hand.
pub fn without_secrets(text: &str) -> String {
    let mut texts = [without_private(text).unwrap_or_else(|| text.to_owned())];
    let found = scan(&texts[0]).into_iter();
    let places: Vec<_> = found.map(|secret| (0, secret)).collect();
    mask_all(&mut texts, &places);
    let [text] = texts;
    text
}

/// Replaces the secrets, each by the index of its text, and the same secrets wherever else these texts have them.
pub(super) fn mask_all(texts: &mut [String], secrets: &[(usize, FoundSecret)]) {
    if secrets.is_empty() {
        return;
    }
    let mut places: Vec<Vec<FoundSecret>> = vec![Vec::new(); texts.len()];
    let mut words: BTreeMap<String, &'static str> = BTreeMap::new();
    for (at, secret) in secrets {
        places[*at].push(*secret);
        let word = &texts[*at][secret.start..secret.end];
        if word.len() >= REPEATED_BYTES_MIN && words.len() < REPEATED_MAX {
            words.insert(word.to_owned(), secret.rule);
        }
    }
    let rules: Vec<&'static str> = words.values().copied().collect();
    let finder = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(words.keys())
        .ok();
    for (text, mut places) in texts.iter_mut().zip(places) {
        for again in finder.iter().flat_map(|f| f.find_iter(text.as_str())) {
            places.push(FoundSecret {
                rule: rules[again.pattern().as_usize()],
                start: again.start(),
                end: again.end(),
            });
        }
        if !places.is_empty() {
            *text = replaced(text, places);
        }
    }
}

fn replaced(text: &str, mut places: Vec<FoundSecret>) -> String {
    places.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    let (mut replaced, mut from) = (String::with_capacity(text.len()), 0);
    for place in places {
        if place.start >= from {
            replaced.push_str(&text[from..place.start]);
            replaced.push_str(&format!("[removed: {}]", place.rule));
        }
        from = from.max(place.end);
    }
    replaced.push_str(&text[from..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAT: &str = "ghp_1B4a9Zq7Lm2Xc8Vb5Nn0Kj3Hg6Fd1Sa4Qw7E";

    #[test]
    fn a_secret_is_replaced_wherever_it_stands() {
        let mut texts = [format!("Token: {PAT}."), format!("é{PAT}é and {PAT}")];
        let first = scan(&texts[0])[0];
        mask_all(&mut texts, &[(0, first)]);
        assert_eq!(texts[0], "Token: [removed: github-pat].");
        assert_eq!(
            texts[1],
            "é[removed: github-pat]é and [removed: github-pat]"
        );
    }

    #[test]
    fn what_was_replaced_is_no_secret() {
        let text =
            format!("api_key = {PAT} postgres://anna:hunter2secret@db/x 4111 1111 1111 1111");
        let masked = without_secrets(&text);
        assert_eq!(scan(&masked), [], "{masked}");
        assert_eq!(without_secrets(&masked), masked);
        assert_eq!(without_secrets("Nothing here."), "Nothing here.");
    }
}
