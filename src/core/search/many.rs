//! Detects queries for many things ("list all …", "in which order …") in English, German, French and Spanish. Their results
//! are diversified and more numerous. Detection uses words only.

use super::when::words_of;

/// Adjacent words, without accents; a trailing `*` matches any ending ("chronolog*").
const PHRASES: &[&str] = &[
    // English
    "list",
    "lists",
    "everything",
    "everyone",
    "everybody",
    "every",
    "each",
    "how many",
    "how often",
    "all the",
    "all of",
    "all my",
    "all his",
    "all her",
    "all our",
    "all their",
    "all kinds",
    "all sorts",
    "which order",
    "what order",
    "the order",
    "in order",
    "timeline",
    "sequence",
    "chronolog*",
    "summar*",
    "overview",
    "recap",
    "in total",
    "altogether",
    "so far",
    "over time",
    "over the",
    "name all",
    "name some",
    "name the",
    "different",
    "various",
    "in common",
    "which of the",
    "which ones",
    // German
    "alle",
    "allen",
    "aller",
    "alles",
    "jede",
    "jeder",
    "jedes",
    "jeden",
    "samtliche*",
    "wie viele",
    "wieviele",
    "wie oft",
    "liste",
    "auflisten",
    "nenne",
    "reihenfolge",
    "zusammenfass*",
    "uberblick",
    "insgesamt",
    "bisher",
    "verschiedene*",
    "zeitleiste",
    // French
    "tous les",
    "toutes les",
    "tous mes",
    "toutes mes",
    "tous ses",
    "toutes ses",
    "tout ce",
    "combien",
    "liste*",
    "enumer*",
    "ordre",
    "resum*",
    "au total",
    "en tout",
    "chaque",
    "differents",
    "differentes",
    // Spanish
    "todos los",
    "todas las",
    "todos mis",
    "todas mis",
    "todos sus",
    "todas sus",
    "todo lo",
    "cuantos",
    "cuantas",
    "lista",
    "orden",
    "cronolog*",
    "en total",
    "hasta ahora",
    "cada",
    "distintos",
    "distintas",
    "diferentes",
];

pub fn are_asked(text: Option<&str>) -> bool {
    let words: Vec<String> = text.map(words_of).unwrap_or_default();
    let begins_at = |phrase: &str, at: usize| {
        let mut rest = words[at..].iter();
        phrase.split(' ').all(|wanted| rest.next().is_some_and(|word| is(word, wanted)))
    };
    let stands = |phrase: &&str| (0..words.len()).any(|at| begins_at(phrase, at));
    PHRASES.iter().any(stands)
}

fn is(word: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => word == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_many_is_known_by_its_words() {
        for text in [
            "List all the books that she has read",
            "how many children does Ana have?",
            "In which order did we visit them?",
            "Summarise what we decided about Porto",
            "Wie oft war ich beim Arzt?",
            "Welche verschiedenen Berufe hatte er?",
            "Nenne mir alle Bücher",
            "Quels sont tous les livres d'Anne ?",
            "Résume le projet",
            "¿Cuántos hijos tiene?",
            "todas las ciudades",
        ] {
            assert!(are_asked(Some(text)), "{text}");
        }
        for text in [
            "When was she at the doctor's?",
            "Where does Anna live",
            "Wann war ich beim Arzt?",
            "Où habite Anne ?",
            "¿Dónde vive Ana?",
            "a recapture of the enlisted",
            "",
        ] {
            assert!(!are_asked(Some(text)), "{text}");
        }
        assert!(!are_asked(None));
    }
}
