//! Chatter: texts that state nothing. They only ask, thank, greet, acknowledge ("Noted: I keep that in mind.") or say what is
//! not known ("I don't know your new address yet."). In doubt a text states something. Questions are known by their marks, in
//! any language; the others by how they begin, in the languages that have phrases.

use unicode_normalization::char::is_combining_mark;

use super::speakers::without_speaker;
use crate::languages::characters::{fold, is_unspaced};
use crate::languages::{self, ChatterPhrases, PhraseList};

/// A longer question tells something besides.
const QUESTION_CHARS_MAX: usize = 200;
/// Limits on what is acknowledged, in words: a thing, or a clause with a question word.
const THING_WORDS_MAX: usize = 2;
const CLAUSE_WORDS_MAX: usize = 12;

const QUESTION_MARKS: [char; 9] = ['?', '？', '؟', '⸮', '⁇', '⁈', '⁉', '፧', '\u{37E}'];
/// Question marks of Greek and Armenian: at the end of the sentence, in its word.
const GREEK_MARK: char = ';';
const ARMENIAN_MARK: char = '՞';
/// Ends of questions without a mark.
const QUESTION_ENDS: [&str; 6] =
    ["ですか", "ますか", "でしたか", "ましたか", "ませんか", "でしょうか"];
const QUOTES: [char; 21] = [
    '"', '\'', '“', '”', '„', '‟', '‘', '’', '‚', '«', '»', '‹', '›', '(', ')', '[', ']', '「',
    '」', '『', '』',
];

/// Whether a text, with or without its speaker, states nothing.
pub fn is_chatter(text: &str) -> bool {
    let mut has_words = false;
    for sentence in sentences(without_speaker(text.trim())) {
        let words = words_of(sentence);
        let says_nothing = words.is_empty() || is_bare_question(sentence) || is_bare(&words);
        if !says_nothing {
            return false;
        }
        has_words |= !words.is_empty();
    }
    has_words
}

/// Whether a text only thanks, greets and the like.
pub fn is_small_talk(text: &str) -> bool {
    let says_nothing = |sentence: &str| {
        let said = normal(&words_of(sentence));
        phrases().any(|phrases| phrases.after_bare(&said).is_empty())
    };
    sentences(text).all(says_nothing)
}

/// Sentences, clauses before a semicolon and lines, in any script.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let ends = rest.char_indices().find(|(at, c)| match c {
            '.' | '!' | '?' | '…' | ';' => {
                let after = rest[at + c.len_utf8()..].chars().next();
                after.is_none_or(char::is_whitespace)
            }
            '\n' | '。' | '！' | '？' | '；' | '؟' | '؛' | '۔' | '।' | '॥' | '։' | '።' | '፧'
            | '။' | '។' | '\u{37E}' => true,
            _ => false,
        });
        let end = ends.map_or(rest.len(), |(at, c)| at + c.len_utf8());
        let (sentence, after) = rest.split_at(end);
        rest = after;
        (!sentence.is_empty()).then_some(sentence.trim())
    })
}

/// Whether a sentence asks and tells nothing before it ("I moved to Bern, where …?").
fn is_bare_question(sentence: &str) -> bool {
    if !is_question(sentence) || sentence.chars().count() > QUESTION_CHARS_MAX {
        return false;
    }
    let Some((before, _)) = sentence.split_once([',', '，', '、', '،']) else {
        return true;
    };
    let said = normal(&words_of(before));
    let tells = |phrases: &ChatterPhrases| {
        after_phrase(&phrases.tells, &said).is_some() && !has_word(&phrases.asks, &said)
    };
    !phrases().any(tells)
}

/// Whether a sentence asks, by its marks or endings.
pub fn is_question(sentence: &str) -> bool {
    let is_greek = || sentence.contains(|c: char| matches!(c, 'α'..='ω' | 'Α'..='Ω'));
    let is_end =
        |c: &char| c.is_alphanumeric() || QUESTION_MARKS.contains(c) || ".。।,:;".contains(*c);
    let Some((at, last)) = sentence.char_indices().rev().find(|(_, c)| is_end(c)) else {
        return false;
    };
    // A statement may end with a quoted question.
    let is_quoted = sentence[at..].contains(QUOTES) && !sentence.starts_with(QUOTES);
    let unmarked = sentence.trim_end_matches(['。', '．', '.', '！', '!']);
    (QUESTION_MARKS.contains(&last) || last == GREEK_MARK && is_greek()) && !is_quoted
        || sentence.contains(ARMENIAN_MARK)
        || QUESTION_ENDS.iter().any(|end| unmarked.ends_with(end))
}

/// Whether a sentence only thanks, greets, acknowledges, or says that something is not known.
fn is_bare(words: &[&str]) -> bool {
    let said = normal(words);
    phrases().any(|phrases| phrases.say_nothing(words, &said))
}

/// Of each language.
fn phrases() -> impl Iterator<Item = &'static ChatterPhrases> {
    languages::all().map(|(_, language)| &language.chatter)
}

impl ChatterPhrases {
    fn say_nothing(&self, words: &[&str], said: &str) -> bool {
        // Without the thanks before it.
        let rest = self.after_bare(said);
        let names_nothing =
            |about: &str| !about.contains(char::is_numeric) && !self.has_name(words, about);
        let is_kept = |about: &str| match length(about) {
            0 => true,
            n if n <= THING_WORDS_MAX => !has_word(&self.you, about) && names_nothing(about),
            n if n <= CLAUSE_WORDS_MAX => self.asks_in(about) && names_nothing(about),
            _ => false,
        };
        let is_lacking = |about: &str| match length(about) {
            0 => true,
            n if n <= CLAUSE_WORDS_MAX => {
                // "Sorry, I don't know where the key is.", not "I don't know how to swim."
                let is_told = has_word(&self.you, said) || said != rest && self.asks_in(about);
                is_told && !has_word(&self.tells, about) && names_nothing(about)
            }
            _ => false,
        };
        let after = |phrases| after_phrase(phrases, rest).map(|rest| self.after_bare(rest));
        rest.is_empty()
            || after(&self.keeps).is_some_and(is_kept)
            || after(&self.lacks).is_some_and(is_lacking)
    }

    fn after_bare<'t>(&self, said: &'t str) -> &'t str {
        let mut rest = said;
        while let Some(after) = after_phrase(&self.bare, rest) {
            rest = after;
        }
        rest
    }

    /// Begins with a question word or, in a script without spaces, has one.
    fn asks_in(&self, about: &str) -> bool {
        after_phrase(&self.asks, about).is_some()
            || about.contains(is_unspaced) && has_word(&self.asks, about)
    }

    /// Whether `about`, the last of the words, has a capitalized name.
    fn has_name(&self, words: &[&str], about: &str) -> bool {
        let is_pronoun = |word: &str| {
            word.split(['\'', '’']).next() == Some("I") || has_word(&self.you, &normal(&[word]))
        };
        let is_capital = |word: &str| word.starts_with(char::is_uppercase) && !is_pronoun(word);
        let first = words.len().saturating_sub(about.split_whitespace().count());
        (first..words.len()).any(|n| {
            // "die Tomaten", not "Anna".
            let is_noun = self.has_capital_nouns && n > 0 && !is_capital(words[n - 1]);
            is_capital(words[n]) && !is_noun
        })
    }
}

fn words_of(sentence: &str) -> Vec<&str> {
    let is_inside = |c: char| c.is_alphanumeric() || is_combining_mark(c) || is_apostrophe(c);
    let words =
        sentence.split(|c: char| !is_inside(c)).map(|word| word.trim_matches(is_apostrophe));
    words.filter(|word| !word.is_empty()).collect()
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

fn normal(words: &[&str]) -> String {
    fold(&words.join(" ")).replace('’', "'")
}

/// What follows the longest of these phrases that the text begins with.
fn after_phrase<'t>(phrases: &PhraseList, text: &'t str) -> Option<&'t str> {
    let after = phrases.iter().filter_map(|phrase| {
        let after = text.strip_prefix(phrase)?;
        let is_whole = after.is_empty() || after.starts_with(' ') || phrase.ends_with(is_unspaced);
        is_whole.then_some(after.trim_start())
    });
    after.min_by_key(|after| after.len())
}

fn has_word(list: &PhraseList, text: &str) -> bool {
    list.iter().any(|word| match word.contains(is_unspaced) {
        true => text.contains(word),
        false => text.split(' ').any(|one| one == word),
    })
}

/// In words; in scripts without spaces, two characters count as one.
fn length(text: &str) -> usize {
    let of_word = |word: &str| match word.contains(is_unspaced) {
        true => word.chars().count().div_ceil(2),
        false => 1,
    };
    text.split_whitespace().map(of_word).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_in_normal_form() {
        for l in phrases() {
            for phrase in [&l.bare, &l.keeps, &l.lacks, &l.you, &l.asks, &l.tells]
                .into_iter()
                .flat_map(PhraseList::iter)
            {
                assert_eq!(normal(&words_of(phrase)), phrase);
            }
        }
    }

    #[test]
    fn examples_of_each_language_state_something_or_nothing() {
        for (code, language) in languages::all() {
            let examples = &language.examples;
            assert!(
                examples.chatter.lines().count() >= 4 && examples.statements.lines().count() >= 2
            );
            let wrong = |m: &&str| is_chatter(m) != examples.chatter.lines().any(|one| one == *m);
            let all = examples.chatter.lines().chain(examples.statements.lines());
            let wrong: Vec<&str> = all.filter(wrong).collect();
            assert!(wrong.is_empty(), "{code}: {wrong:?}");
        }
    }

    #[test]
    fn questions_state_nothing_in_any_language() {
        for text in [
            "How do I take my tea?",
            "Anna: When did Caroline meet Ben?",
            "Hi! What is my dentist called?",
            "Hi, what is my dentist called?",
            "Really?! And when?",
            "Did he say \"now\"?",
            "“Where do I live?”",
            "Wie heißt mein Zahnarzt, und wo ist er?",
            "¿Dónde vivo?",
            "Πού μένω;",
            "Որտե՞ղ եմ ապրում։",
            "أين أسكن؟ وأين أعمل؟",
            "我怎么喝茶？",
            "我怎么喝茶，加牛奶吗？",
            "私の住所は何ですか。",
            "मेरा पता क्या है?",
            "Ninakunywaje chai?",
        ] {
            assert!(is_chatter(text), "{text}");
        }
    }

    #[test]
    fn acknowledgements_state_nothing() {
        for text in [
            "Noted: I keep that in mind.",
            "Thanks!",
            "Thank you so much for telling me!",
            "Okay, I'll remember when the movers come.",
            "Got it, I’ll remember that for you.",
            "No, you have not told me which dentist you go to.",
            "I'm sorry, I don't know your new address yet.",
            "Danke, merke ich mir: die Tomaten.",
            "Gern geschehen. Bis bald!",
            "Leider weiß ich nicht, wo Sie wohnen.",
            "Das weiß ich leider nicht.",
            "Leider weiß ich nicht, wo der Schlüssel zum Gartenhaus ist.",
            "Merci, je m'en souviendrai.",
            "Vous ne m'avez pas encore dit où vous habitez.",
            "De acuerdo, lo tendré en cuenta.",
            "Todavía no me has dicho cuándo vienes.",
            "Va bene, me lo ricorderò.",
            "Obrigado, vou lembrar disso.",
            "Dank je, ik onthoud het.",
            "Dobrze, zapamiętam.",
            "Хорошо, я запомню.",
            "Ты ещё мне не сказал? Спасибо.",
            "Добре, я запам’ятаю.",
            "Tamam, bunu aklımda tutacağım.",
            "好的,我记住了。",
            "你还没有告诉我你的牙医是谁。",
            "はい、覚えておきます。",
            "네, 기억할게요.",
            "حسنًا، سأتذكر ذلك.",
            "ठीक है, मैं याद रखूँगा।",
        ] {
            assert!(is_chatter(text), "{text}");
        }
    }

    #[test]
    fn what_states_something_is_no_chatter() {
        for text in [
            "",
            "👍",
            "Thanks! My landlord is called Mr. Habsburger.",
            "Thanks, Habsburger is my landlord.",
            "Okay, the code is 4711.",
            "Okay, I'll remember the 4711.",
            "Okay, I'll remember when Marta comes.",
            "Okay, I'll remember that you are allergic to nuts.",
            "Noted: oat milk.",
            "Notiert: Habsburger.",
            "Danke, merke ich mir: dein Vermieter heißt Habsburger.",
            "I don't know how to swim.",
            "I don't know if you heard, my landlord died.",
            "I moved to Bern. Where is a doctor?",
            "I moved to Bern, where is a doctor?",
            "I live in Bern; where do I work?",
            "My tea is with milk, right?",
            "Ich trinke Tee mit Milch, oder?",
            "我搬到柏林了，附近有好医生吗？",
            "我记住了：你的房东叫王先生。",
            "मैं बर्लिन में रहता हूँ। मेरा पता क्या है?",
            "أسكن في برلين. أين أعمل؟",
            "Her favourite book is \"Who am I?\"",
            "The password is on the fridge.",
            "She said yes",
            "Where he lives is a secret.",
            &format!("{}?", "and then the cat ran over the roof ".repeat(10)),
        ] {
            assert!(!is_chatter(text), "{text}");
        }
    }
}
