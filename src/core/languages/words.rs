//! Words that occur in nearly every text, and what texts say that state nothing.

use std::collections::HashSet;

use serde::Deserialize;

use super::characters::{fold, lower};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommonWords {
    /// Say nothing alone, so that a search leaves them out of a question. Particles as the tokenizer cuts them: `isn`, `t`;
    /// of a script without spaces, single characters and pairs.
    #[serde(default)]
    pub stop: WordList,
    /// Say something beside other words only, as "before" and "out" do, so that they count little in a question.
    #[serde(default)]
    pub weak: WordList,
    /// Say nothing in a short message.
    #[serde(default)]
    pub small_talk: WordList,
    /// Do not change a statement when they are left out.
    #[serde(default)]
    pub articles: WordList,
    /// Change a statement when they are left out: negations, antonyms, frequency, quantity, duration and whether it still
    /// holds.
    #[serde(default)]
    pub turning: WordList,
}

/// What texts say that state nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatterPhrases {
    /// Thanks, greetings, agreement, regret.
    #[serde(default)]
    pub bare: PhraseList,
    /// "I'll remember", before at most what it is about.
    #[serde(default)]
    pub keeps: PhraseList,
    /// "You have not told me", before what it is.
    #[serde(default)]
    pub lacks: PhraseList,
    /// Words that mean the reader.
    #[serde(default)]
    pub you: PhraseList,
    /// Words that ask.
    #[serde(default)]
    pub asks: PhraseList,
    /// Words that mean the speaker.
    #[serde(default)]
    pub tells: PhraseList,
    /// Nouns are capitalized, not only names.
    #[serde(default)]
    pub has_capital_nouns: bool,
}

/// What tests check of a language, one a line.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// Sentences in this language alone.
    pub recognised: String,
    /// Messages that need no search, and those that do.
    pub trivial: String,
    pub telling: String,
    pub chatter: String,
    pub statements: String,
    /// A category or a key, `|`, a sentence in which a person says it; and sentences in which nothing lasting is said.
    pub said: String,
    pub unsaid: String,
    /// A newer statement, `|`, an older one that says the same or more.
    #[serde(default)]
    pub same: String,
    /// A newer statement, `|`, an older one that says something else.
    pub other: String,
    /// Two statements, `|` between, that cannot both be true; and such as can.
    pub excluded: String,
    pub both: String,
    /// A sentence, `|`, words of a query that find it.
    pub found: String,
    /// A sentence, `|`, words that do not.
    #[serde(default)]
    pub not_found: String,
}

impl Examples {
    /// Lines of two parts.
    pub fn pairs(lines: &str) -> impl Iterator<Item = (&str, &str)> {
        lines.lines().filter_map(|line| line.split_once(" | "))
    }
}

/// Words, separated by blanks.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub struct WordList {
    written: HashSet<String>,
    folded: HashSet<String>,
}

impl From<String> for WordList {
    fn from(words: String) -> Self {
        let written: HashSet<String> = words.split_whitespace().map(lower).collect();
        Self { folded: written.iter().map(|word| fold(word)).collect(), written }
    }
}

impl WordList {
    /// Whether it has a word as it is written, or without all accents: `té` is not `te`, but `mas` may be `más`.
    pub fn has(&self, word: &str) -> bool {
        let word = lower(word);
        self.written.contains(&word) || self.has_folded(&word) && fold(&word) == word
    }

    pub fn has_folded(&self, word: &str) -> bool {
        self.folded.contains(word)
    }

    pub fn folded(&self) -> impl Iterator<Item = &str> {
        self.folded.iter().map(String::as_str)
    }

    pub fn len(&self) -> usize {
        self.written.len()
    }

    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }
}

/// Phrases, separated by `|`; folded, with plain apostrophes and without hyphens.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub struct PhraseList(Vec<String>);

impl From<String> for PhraseList {
    fn from(phrases: String) -> Self {
        let phrases = phrases.split('|').map(phrase);
        Self(phrases.filter(|phrase| !phrase.is_empty()).collect())
    }
}

/// As a [`PhraseList`] has it.
pub fn phrase(text: &str) -> String {
    fold(text.trim()).replace('’', "'").replace('-', " ")
}

impl PhraseList {
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}
