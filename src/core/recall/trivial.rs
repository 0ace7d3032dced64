//! Detects messages that no memory can help with (GoClaw's trivial filter); they are not searched for.

use crate::languages::{self, Language, is_dense, phrase};
use crate::memories::chatter::{is_question, is_small_talk};
use crate::memories::{mentions, words};

/// Minimum number of meaningful words in a message. A question has one: "Where do I live?".
const TELLING_MIN: usize = 3;

/// Whether a message names nothing and has fewer than three meaningful words (a question: none).
pub fn is_trivial(message: &str) -> bool {
    let least = if is_question(message) || asks(message) { 1 } else { TELLING_MIN };
    let terms = words::query_terms(message);
    // So few words tell no language: it may be in any in which it says nothing.
    let says_little = |language: &Language| {
        let common = &language.words;
        let says_nothing =
            |word: &str| common.stop.has_folded(word) || common.small_talk.has_folded(word);
        let words = terms.iter().filter_map(|term| term.alternatives.first());
        words.filter(|word| !says_nothing(word)).take(least).count() < least
    };
    let is_little = languages::all().any(|(_, language)| says_little(language));
    let names_any = || mentions::find(message).iter().any(|named| named.is_sure);
    is_small_talk(message) || is_little && !names_any()
}

/// Whether it begins with a word that asks, as a question without its mark does, or has one where words have no borders.
fn asks(message: &str) -> bool {
    let text = phrase(message);
    let begins = |word: &str| match word.contains(is_dense) {
        true => text.contains(word),
        false => text.split_whitespace().next() == Some(word),
    };
    languages::all().any(|(_, language)| language.chatter.asks.iter().any(begins))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_each_language_are_trivial_or_not() {
        for (code, language) in languages::all() {
            let examples = &language.examples;
            assert!(examples.trivial.lines().count() >= 4 && examples.telling.lines().count() >= 3);
            let wrong = |m: &&str| is_trivial(m) != examples.trivial.lines().any(|one| one == *m);
            let all = examples.trivial.lines().chain(examples.telling.lines());
            let wrong: Vec<&str> = all.filter(wrong).collect();
            assert!(wrong.is_empty(), "{code}: {wrong:?}");
        }
    }

    #[test]
    fn small_talk_is_trivial_and_questions_are_not() {
        for trivial in [
            "",
            "  ",
            "hi",
            "Hello there!",
            "ok thanks",
            "Yes, go ahead.",
            "sounds great, thank you so much",
            "👍",
            "...",
            "Guten Morgen, danke!",
            "ja genau",
            "merci beaucoup",
            "Bonjour, ça va bien",
            "vale, gracias",
            "What?",
            "Really?",
            "why not",
            "lol",
            "continue please",
        ] {
            assert!(is_trivial(trivial), "{trivial}");
        }
        for telling in [
            "When is my dentist appointment?",
            "where do i live",
            "Wo wohne ich?",
            "我住在哪里",
            "What do I drink in the morning?",
            "Plan the boat trip for Friday",
            "Wann ist der Zahnarzttermin im Mai?",
            "où habite ma soeur aînée ?",
            "fix src/db.rs please",
            "Ask Marta Helgesen",
            "私の好きなお茶は何ですか",
        ] {
            assert!(!is_trivial(telling), "{telling}");
        }
    }
}
