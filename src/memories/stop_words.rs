//! English words that occur in nearly every sentence. They are removed from a query unless nothing else remains. Stop
//! words of other languages are handled by rarity weighting.

pub fn is_stop_word(lexeme: &str) -> bool {
    STOP_WORDS.binary_search(&lexeme).is_ok()
}

/// Sorted. PostgreSQL's English list (Snowball), the other auxiliary verbs, and contractions as the tokenizer cuts them
/// (`isn`, `t`) or without the apostrophe. Words with another meaning are excluded: `may`, `us`, `let`, and `won`.
#[rustfmt::skip]
const STOP_WORDS: [&str; 175] = [
    "a", "about", "above", "after", "again", "against", "ain", "all", "am", "an", "and", "any",
    "are", "aren", "arent", "as", "at", "be", "because", "been", "before", "being", "below",
    "between", "both", "but", "by", "can", "cannot", "cant", "could", "couldn", "couldnt", "d",
    "did", "didn", "didnt", "do", "does", "doesn", "doesnt", "doing", "don", "dont", "down",
    "during", "each", "few", "for", "from", "further", "had", "hadn", "hadnt", "has", "hasn",
    "hasnt", "have", "haven", "havent", "having", "he", "her", "here", "hers", "herself", "him",
    "himself", "his", "how", "i", "if", "in", "into", "is", "isn", "isnt", "it", "its",
    "itself", "ive", "just", "ll", "m", "me", "mightn", "more", "most", "mustn", "my", "myself",
    "needn", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other",
    "ought", "our", "ours", "ourselves", "out", "over", "own", "re", "s", "same", "shan", "she",
    "should", "shouldn", "shouldnt", "so", "some", "such", "t", "than", "that", "thats", "the",
    "their", "theirs", "them", "themselves", "then", "there", "these", "they", "theyre", "this",
    "those", "through", "to", "too", "under", "until", "up", "ve", "very", "was", "wasn",
    "wasnt", "we", "were", "weren", "werent", "weve", "what", "whats", "when", "where", "which",
    "while", "who", "whom", "why", "will", "with", "wont", "would", "wouldn", "wouldnt", "you",
    "your", "youre", "yours", "yourself", "yourselves", "youve",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn the_list_goes_on_to_its_end() {
        for word in "myself themselves with would you your yours yourself".split(' ') {
            assert!(is_stop_word(word), "{word}");
        }
        for contraction in "isn t haven didn wouldn ll ve dont".split(' ') {
            assert!(is_stop_word(contraction), "{contraction}");
        }
        for telling in "may us let won win year yellow zebra".split(' ') {
            assert!(!is_stop_word(telling), "{telling}");
        }
    }
}
