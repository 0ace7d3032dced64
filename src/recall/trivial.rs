//! Detects messages that no memory can help with (GoClaw's trivial filter); they are not searched for.

use crate::languages::{self, Language};
use crate::memories::chatter::is_small_talk;
use crate::memories::{mentions, words};

/// Minimum number of meaningful words in a message; one less in a question.
const TELLING_MIN: usize = 3;

/// Whether a message names nothing and has fewer than three meaningful words (a question: fewer than two).
pub fn is_trivial(message: &str) -> bool {
    let is_question = message.contains(['?', '？', '¿']);
    let least = TELLING_MIN - usize::from(is_question);
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
