//! Replaces secrets in texts by the name of their rule.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::private::without_private;
use super::rules::{FoundSecret, scan};

/// Other secrets are replaced only where they were found: shorter ones may be words elsewhere, and of longer ones the
/// finder's memory would be without bound.
const REPEATED_BYTES: RangeInclusive<usize> = 8..=256;

/// Different secrets of one call that are also looked for where they were not found.
const REPEATED_MAX: usize = 1_000;

/// The text without private sections and with every secret replaced, for what is written without its user's settings at hand.
pub fn without_secrets(text: &str) -> String {
    let mut texts = [without_private(text).into_owned()];
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
    for (at, secret) in secrets {
        places[*at].push(*secret);
    }
    let words = repeated(texts, secrets);
    let rules: Vec<&'static str> = words.values().copied().collect();
    let finder = finder_of(words.keys());
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

/// The secrets that are looked for everywhere, each with its rule.
fn repeated(texts: &[String], secrets: &[(usize, FoundSecret)]) -> BTreeMap<String, &'static str> {
    let mut words = BTreeMap::new();
    for (at, secret) in secrets {
        let word = &texts[*at][secret.start..secret.end];
        if REPEATED_BYTES.contains(&word.len()) && words.len() < REPEATED_MAX {
            words.insert(word.to_owned(), secret.rule);
        }
    }
    words
}

fn finder_of<'a>(words: impl Iterator<Item = &'a String>) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        // Of few words it would be a DFA, whose table takes hundreds of bytes for each byte of a word.
        .kind(Some(AhoCorasickKind::NoncontiguousNFA))
        .build(words)
        .ok()
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
        assert_eq!(texts[1], "é[removed: github-pat]é and [removed: github-pat]");
    }

    #[test]
    fn looking_for_secrets_again_takes_little_memory() {
        let secret = |start, end| FoundSecret { rule: "private-key", start, end };
        let mut texts = ["k".repeat(4 << 20), "k".repeat(300)];
        let long = [(0, secret(0, 4 << 20)), (1, secret(0, 257))];
        assert_eq!(repeated(&texts, &long), BTreeMap::new());
        mask_all(&mut texts, &long);
        assert_eq!(texts[0], "[removed: private-key]");
        assert_eq!(texts[1], format!("[removed: private-key]{}", "k".repeat(43)));

        let mut random = 1u64;
        let mut letter = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'0' + (random >> 32) as u8 % 75)
        };
        let mut word = || (0..256).map(|_| letter()).collect::<String>();
        for (words, mib_max) in [(100, 2), (REPEATED_MAX, 16)] {
            let texts: Vec<String> = (0..words).map(|_| word()).collect();
            let found: Vec<_> = (0..words).map(|n| (n, secret(0, 256))).collect();
            let words = repeated(&texts, &found);
            assert_eq!(words.len(), texts.len());
            let bytes = finder_of(words.keys()).map(|finder| finder.memory_usage());
            assert!(bytes.is_some_and(|n| n < mib_max << 20), "{bytes:?}");
        }
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
