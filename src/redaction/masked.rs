//! Replaces secrets in texts by the name of their rule.

use aho_corasick::{AhoCorasick, MatchKind};

use super::private::without_private;
use super::rules::{FoundSecret, scan};

/// Shorter secrets are replaced only where they were found, since they may be words elsewhere.
const REPEATED_BYTES_MIN: usize = 8;

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
    let words: Vec<(String, &'static str)> = secrets
        .iter()
        .map(|(text, secret)| {
            (
                texts[*text][secret.start..secret.end].to_owned(),
                secret.rule,
            )
        })
        .filter(|(word, _)| word.len() >= REPEATED_BYTES_MIN)
        .collect();
    let finder = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(words.iter().map(|(word, _)| word))
        .ok();
    for (at, text) in texts.iter_mut().enumerate() {
        let found = secrets.iter().filter(|(of, _)| *of == at);
        let mut places: Vec<FoundSecret> = found.map(|(_, secret)| *secret).collect();
        for again in finder
            .iter()
            .flat_map(|finder| finder.find_iter(text.as_str()))
        {
            places.push(FoundSecret {
                rule: words[again.pattern().as_usize()].1,
                start: again.start(),
                end: again.end(),
            });
        }
        *text = replaced(text, places);
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
