//! Detects messages that no memory can help with (GoClaw's trivial filter); they are not searched for.

use crate::memories::{is_stop_word, mentions, words};

/// Minimum number of meaningful words in a message; one less in a question.
const TELLING_MIN: usize = 3;

/// Greetings, thanks, agreement, and common words of German, French and Spanish, folded; English uses its stop words. Sorted.
#[rustfmt::skip]
const SAYS_NOTHING: [&str; 264] = [
    "aber", "absolutely", "accord", "agreed", "ah", "ahead", "al", "alles", "alright", "amazing", "au", "auch", "auf",
    "aus", "aux", "avec", "awesome", "bei", "bien", "bin", "bist", "bitte", "bon", "bonjour", "bonsoir", "buenas",
    "bueno", "buenos", "bye", "ca", "ce", "ces", "cette", "cheers", "ciao", "claro", "como", "con", "continue",
    "cool", "correct", "course", "cya", "da", "danke", "dann", "dans", "das", "de", "definitely", "dein", "del",
    "dem", "den", "denn", "der", "des", "dich", "die", "dir", "doch", "done", "du", "ein", "eine", "einem", "einen",
    "einer", "eines", "el", "elle", "elles", "en", "enough", "er", "es", "est", "esto", "et", "euch", "exactly",
    "excellent", "fair", "fertig", "fine", "fur", "genau", "go", "good", "goodbye", "got", "gracias", "great",
    "greetings", "gruss", "gut", "guten", "habe", "haben", "haha", "hallo", "hast", "hat", "hello", "help", "hey",
    "hi", "hier", "hiya", "hm", "hmm", "hola", "howdy", "ich", "ihr", "il", "ils", "im", "indeed", "ist", "ja", "je",
    "k", "kein", "kk", "klar", "la", "las", "le", "les", "let", "lets", "like", "lol", "look", "looks", "los",
    "lovely", "ma", "mais", "make", "mal", "mas", "maybe", "mein", "merci", "mes", "mi", "mich", "mir", "mit", "moin",
    "mon", "muy", "nach", "ne", "need", "nein", "nice", "nicht", "noch", "non", "nope", "nosotros", "nous", "nur",
    "o", "oder", "oh", "ok", "okay", "ou", "oui", "para", "pardon", "parfait", "pas", "passt", "perfect", "perfecto",
    "perhaps", "pero", "please", "plus", "por", "pour", "prima", "proceed", "que", "qui", "quoi", "right", "said",
    "salut", "say", "schon", "see", "sein", "servus", "si", "sie", "sind", "son", "sont", "sorry", "sounds", "stimmt",
    "su", "super", "sur", "sure", "ta", "tell", "tes", "thank", "thanks", "thx", "toll", "ton", "tres", "tschuss",
    "tu", "ty", "uber", "uh", "um", "un", "una", "unas", "und", "understand", "understood", "une", "unos", "uns",
    "vale", "voila", "von", "vous", "wait", "wann", "want", "war", "waren", "warum", "weiter", "well", "wer",
    "werden", "wie", "wir", "wird", "wo", "wonderful", "wow", "y", "yeah", "yep", "yes", "yo", "yup", "zu", "zum",
    "zur",
];

/// Whether a message names nothing and has fewer than three meaningful words (a question: fewer than two).
pub fn is_trivial(message: &str) -> bool {
    let is_question = message.contains(['?', '？', '¿']);
    let least = TELLING_MIN - usize::from(is_question);
    let telling = words::query_terms(message).into_iter().filter(|term| {
        let says_nothing = |word: &String| {
            is_stop_word(word) || SAYS_NOTHING.binary_search(&word.as_str()).is_ok()
        };
        !term.alternatives.first().is_none_or(says_nothing)
    });
    telling.take(least).count() < least
        && !mentions::find(message).iter().any(|named| named.is_sure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_is_sorted() {
        assert!(SAYS_NOTHING.is_sorted());
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
