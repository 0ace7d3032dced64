//! Word lists by language: one file `CODE.toml` a language, which is all that a new language needs. A rule that rests on
//! a list does not act in a language whose list is empty. [`of`] says which languages a text may be in, [`likeliest`] which
//! one a question is most likely in.

pub mod characters;
pub mod phrases;
mod recognised;
mod said;
mod stems;
mod times;
mod words;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use rust_stemmers::Algorithm;
use serde::Deserialize;

pub use self::recognised::{Languages, likeliest, of};
pub use self::said::{OwnPhrases, SaidPhrases};
pub use self::stems::particle_chars;
pub use self::times::TimeWords;
pub use self::words::{ChatterPhrases, CommonWords, Examples, PhraseList, WordList, phrase};

static FILES: Dir = include_dir!("$CARGO_MANIFEST_DIR/languages");

/// What a file says. Words are in lower case, as they are written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    /// In English.
    pub name: String,
    pub script: Script,
    /// All its letters but `a` to `z`; not needed if no other language here has the script.
    #[serde(default)]
    pub letters: String,
    /// Snowball's.
    pub stemmer: Option<Algorithm>,
    /// Where Snowball has none: the endings that a word loses; of Hangul, the particles.
    #[serde(default)]
    pub endings: WordList,
    #[serde(default)]
    pub words: CommonWords,
    #[serde(default)]
    pub chatter: ChatterPhrases,
    #[serde(default)]
    pub said: SaidPhrases,
    #[serde(default)]
    pub own: OwnPhrases,
    #[serde(default)]
    pub examples: Examples,
    #[serde(default)]
    pub times: TimeWords,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Script {
    Latin,
    Cyrillic,
    Arabic,
    Devanagari,
    Han,
    Kana,
    Hangul,
}

impl Script {
    pub const COUNT: usize = 7;

    /// The script of a letter, if a language here has it.
    pub fn of(c: char) -> Option<Self> {
        Some(match u32::from(c) {
            0x41..=0x5A | 0x61..=0x7A | 0xC0..=0x24F | 0x1E00..=0x1EFF | 0xFF21..=0xFF5A => {
                Self::Latin
            }
            0x400..=0x52F => Self::Cyrillic,
            0x620..=0x64A | 0x66E..=0x6D3 | 0x750..=0x77F => Self::Arabic,
            0x900..=0x965 | 0x970..=0x97F => Self::Devanagari,
            0x3041..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => Self::Kana,
            0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3134F => Self::Han,
            0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF => Self::Hangul,
            _ => return None,
        })
    }
}

/// Of a script without spaces, or of syllables: it says with one character what others say with several.
pub fn is_dense(c: char) -> bool {
    matches!(Script::of(c), Some(Script::Han | Script::Kana | Script::Hangul))
}

static ALL: LazyLock<BTreeMap<String, Language>> = LazyLock::new(|| {
    let files = FILES.files().filter_map(|file| {
        let code = file.path().to_str()?.strip_suffix(".toml")?;
        Some((code, file.contents_utf8()?))
    });
    #[allow(clippy::expect_used)] // A test reads each of them.
    let read = |text| toml::from_str(text).expect("a list of ours");
    files.map(|(code, text)| (code.to_owned(), read(text))).collect()
});

/// By code (ISO 639-1).
pub fn all() -> impl Iterator<Item = (&'static str, &'static Language)> {
    ALL.iter().map(|(code, language)| (code.as_str(), language))
}

/// Whether a word means a month in one of the languages, and nothing else there.
pub fn is_month(word: &str) -> bool {
    let word = characters::lower(word);
    let is_one = |times: &TimeWords| {
        times.months.iter().flatten().any(|month| *month == word)
            && !times.ambiguous.contains(&word)
    };
    all().any(|(_, language)| is_one(&language.times))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `None`: no language.
    fn recognised(text: &str) -> Vec<&'static str> {
        of(text).codes().collect()
    }

    #[test]
    fn each_language_is_recognised_by_its_own_sentences() {
        assert!(all().count() >= 16 && all().count() <= Languages::MAX);
        for (code, language) in all() {
            let sentences = language.examples.recognised.lines();
            let sentences: Vec<&str> = sentences.filter(|line| !line.is_empty()).collect();
            assert!(sentences.len() >= 2, "{code}");
            for sentence in sentences {
                assert_eq!(recognised(sentence), [code], "{sentence}");
            }
        }
    }

    #[test]
    fn what_may_be_in_several_languages_or_in_none_is_in_several_or_none() {
        assert!(recognised("Was Anna in Berlin?").len() > 1);
        assert_eq!(recognised("Молоко и хлеб"), ["ru", "uk"]);
        for none in ["", "Haus", "Anna Kovac 4711", "src/db.rs", "Πού μένω;", "42", "Kotek Bunia"]
        {
            assert_eq!(recognised(none), [""; 0], "{none}");
        }
        assert_eq!(recognised("من کتاب می‌خوانم"), [""; 0], "Persian");
        assert_eq!(recognised("Die Katze und der Hund mögen 茶"), ["de", "zh"]);
        assert_eq!(recognised("How did my grandfather die?"), ["en"]);
    }

    #[test]
    fn only_the_first_words_of_a_long_text_are_looked_at() {
        let german = "Die Katze schläft auf dem Sofa und träumt. ".repeat(20);
        let english = "The cat is sleeping on the sofa. ".repeat(20_000);
        assert_eq!(recognised(&format!("{german}{english}")), ["de"]);
        assert_eq!(recognised(&"x".repeat(1 << 20)), [""; 0]);
        assert_eq!(recognised(&"\u{301}".repeat(1 << 18)), [""; 0]);
    }

    #[test]
    fn lists_hold_what_they_are_for() {
        for (code, language) in all() {
            let words = &language.words;
            for list in [&words.stop, &words.small_talk, &words.turning] {
                assert!(list.len() >= 8, "{code}: {list:?}");
            }
            for phrases in
                [&language.chatter.bare, &language.chatter.keeps, &language.chatter.lacks]
            {
                assert!(phrases.iter().count() >= 5, "{code}: {phrases:?}");
            }
            let has_forms = language.stemmer.is_some() || !language.endings.is_empty();
            let is_unspaced = matches!(language.script, Script::Han | Script::Kana);
            assert!(has_forms != is_unspaced, "{code}");
        }
        let stop = |code: &str, word: &str| ALL[code].words.stop.has(word);
        assert!(stop("es", "te") && !stop("es", "té") && stop("fr", "où") && stop("fr", "ou"));
        assert!(
            stop("en", "haven") && stop("en", "THE") && !stop("en", "out") && !stop("en", "may")
        );
        assert!(stop("de", "die") && !stop("en", "die") && stop("zh", "什么"));
    }
}
