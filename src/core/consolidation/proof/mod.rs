//! Whether a text is the person's own word: the one function that decides it, for the tools that add and correct and for what is
//! read of conversations. By words, without a model: what it cannot prove is not the person's.

mod labels;
mod order;
mod tense;
mod words;

use std::collections::HashSet;

use self::labels::{Label, label_of, without_person};
use self::words::{Word, clauses, unwrapped, words_of};
use super::same::StatementWords;
use super::sentences::sentences;
use super::transcript::without_own_memory;
use crate::languages::phrases::{has_any, has_no_borders, is_unparted, places};
use crate::languages::{self, Language, Languages, PhraseList, Script, phrase};
use crate::memories::mentions::{self, EntityType};
use crate::memories::quoted::own_words;
use crate::memories::with_key;

/// Two words with so much of a common beginning are forms of one word, if it has at least so many letters.
const BEGINNING_SHARE: f64 = 0.6;
const BEGINNING_SHARE_OF_NAME: f64 = 0.7;
const BEGINNING_MIN: usize = 4;
/// What is told by several clauses has so much of their words.
const TOLD_SHARE: f64 = 0.6;
/// In a script without spaces, a longer value means something without its key.
const BARE_CHARS_MAX: usize = 4;
/// So many words before a statement make it a supposition, if one of them does.
const PRETENDING_WORDS_MAX: usize = 3;
/// "I" in languages that have no list.
const SPEAKERS: [&str; 10] = ["jag", "jeg", "eg", "mina", "toi", "אני", "saya", "aku", "εγω", "аз"];
/// Limits of what is read of a message.
const SENTENCES_MAX: usize = 2_000;
const CLAUSES_MAX: usize = 40;
/// Limit on the telling words of a statement: a longer text is not what one sentence says.
const TELLING_MAX: usize = 60;

/// Whether the person says this in their own words of the message: its telling words stand in one sentence of theirs, or in
/// one for each of its clauses, with the same negations, conditions and persons, and no sentence that asks.
pub fn proves(content: &str, message: &str) -> bool {
    OwnSentences::of(message).say(content)
}

/// What a memory claims. A key is a part of it where the value means nothing alone.
pub fn claim_of(key: Option<&str>, content: &str) -> String {
    let is_dense = content.chars().filter(|c| is_unparted(*c)).count() > BARE_CHARS_MAX;
    let is_bare = !is_dense && StatementWords::of(content).is_bare();
    with_key(key.filter(|_| is_bare), content).into_owned()
}

/// Whether a sentence states something, of the speaker or of whomever: it may stand for a value in it, which has its other words.
pub fn is_plain(sentence: &str, value: &str, of_speaker: bool) -> bool {
    let (plain, value, languages) = (phrase(sentence), phrase(value), languages::of(sentence));
    let turns = |language: &Language, list: &PhraseList| {
        let mut said = list.iter().filter(|one| has_one(&plain, one, language));
        said.any(|one| !has_one(&value, one, language))
    };
    let has = |language: &Language| {
        let own = &language.own;
        turns(language, &own.negations)
            || turns(language, &own.supposed)
            || of_speaker && turns(language, &own.others)
    };
    !plain.contains(['?', '？', '؟']) && !languages.iter().any(has)
}

/// The person's own sentences of one message, without those that ask.
pub struct OwnSentences {
    sentences: Vec<OwnSentence>,
    languages: Languages,
    /// All words, to leave most messages out at once.
    words: HashSet<String>,
}

struct OwnSentence {
    clauses: Vec<Clause>,
    /// Folded words of the people that it names.
    people: Vec<HashSet<String>>,
}

struct Clause {
    /// As phrases are written.
    plain: String,
    words: Vec<Word>,
    asks: bool,
}

impl OwnSentences {
    pub fn of(message: &str) -> Self {
        let own = own_words(&without_own_memory(message));
        let languages = languages::of(&own);
        // A terminal breaks lines inside sentences.
        let joined = unwrapped(&own);
        let broken = (joined != own).then(|| sentences(&joined)).into_iter().flatten();
        let all = sentences(&own).chain(broken).take(SENTENCES_MAX);
        let sentences: Vec<OwnSentence> =
            all.map(|sentence| OwnSentence::of(sentence, languages)).collect();
        let clauses = sentences.iter().flat_map(|sentence| &sentence.clauses);
        let words = clauses.flat_map(|clause| &clause.words);
        let words = words.map(|word| word.folded.clone()).collect();
        Self { sentences, languages, words }
    }

    /// See [`proves`].
    pub fn say(&self, content: &str) -> bool {
        let content = content.trim();
        self.say_in_one(content) || {
            let clauses: Vec<&str> = clauses(content, languages::of(content)).collect();
            clauses.len() > 1 && clauses.iter().all(|clause| self.say_in_one(clause))
        }
    }

    fn say_in_one(&self, content: &str) -> bool {
        let claim = OwnClaim::of(content, self.languages);
        (1..=TELLING_MAX).contains(&claim.telling.len())
            && claim.telling.iter().filter(|word| word.is_value).all(|value| self.may_have(value))
            && self.sentences.iter().any(|sentence| claim.is_made_in(sentence))
    }

    /// Most names and numbers stand in no other message.
    fn may_have(&self, value: &Word) -> bool {
        let begins = value.folded.chars().next();
        self.words.contains(&value.folded)
            || self.words.iter().any(|word| word.chars().next() == begins)
            || Script::of(begins.unwrap_or(' ')) == Some(Script::Arabic)
    }
}

impl OwnSentence {
    fn of(sentence: &str, languages: Languages) -> Self {
        let is_question = sentence.trim_end().ends_with(['?', '？', '؟']);
        let mut all: Vec<Clause> = clauses(sentence, languages)
            .take(CLAUSES_MAX)
            .map(|clause| Clause::of(clause, languages))
            .collect();
        let last = all.len().saturating_sub(1);
        let mut asks = false;
        for (n, clause) in all.iter_mut().enumerate() {
            asks = clause.asks(is_question, n == last) || asks && is_question;
            clause.asks = asks;
        }
        let people = mentions::find(sentence).into_iter();
        let people = people.filter(|name| name.entity_type == EntityType::Person);
        let of_name = |name: String| words_of(&name, languages).into_iter().map(|w| w.folded);
        Self { clauses: all, people: people.map(|found| of_name(found.name).collect()).collect() }
    }
}

impl Clause {
    fn of(clause: &str, languages: Languages) -> Self {
        Self { plain: phrase(clause), words: words_of(clause, languages), asks: false }
    }

    fn asks(&self, is_question: bool, is_last: bool) -> bool {
        if is_question && is_last {
            return true;
        }
        let mut words = self
            .plain
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '¿'));
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        languages::all().any(|(_, language)| {
            let own = &language.own;
            let is_first = |list: &PhraseList| list.iter().any(|one| is_word(first, one));
            match has_no_borders(language) {
                true => is_of(&self.plain, language) && has_any(&self.plain, &own.asking, language),
                false => {
                    let is_speaker = own.speaker.iter().any(|one| is_word(second, one));
                    let turns = is_question && is_speaker && !language.words.stop.has_folded(first);
                    turns
                        || (is_speaker || is_question) && is_first(&own.asking)
                        || first.starts_with('¿')
                }
            }
        })
    }
}

/// Whether a word is this one, or begins so, if that ends in `*`.
fn is_word(word: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(begins) => word.starts_with(begins),
        None => word == wanted,
    }
}

/// Scripts are told apart, so that no phrase of another language is looked for.
fn is_of(plain: &str, language: &Language) -> bool {
    plain.chars().any(|c| Script::of(c) == Some(language.script))
}

/// What a text claims.
struct OwnClaim {
    plain: String,
    telling: Vec<Word>,
    folded: HashSet<String>,
    languages: Languages,
    of_message: Languages,
    /// It names the person, or where they live, by a label.
    label: Option<Label>,
}

impl OwnClaim {
    fn of(content: &str, of_message: Languages) -> Self {
        let languages = languages::of(content).or(of_message);
        let (label, text) = label_of(content);
        let text = match label {
            Some(_) => text.to_owned(),
            None => content.replace('_', " "),
        };
        let text = without_person(&text);
        let plain = phrase(&text);
        // Japanese tells in other endings what is said politely.
        let ends = ["ている", "でいる", "ない", "です", "ます", "だ"];
        let text = text.trim_end_matches(['。', '.']);
        let bare = ends.iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
        let words = words_of(bare, languages);
        let is_of_person = |word: &Word| {
            languages.iter().any(|l| l.said.person.iter().any(|name| name == word.folded))
        };
        let is_telling = |word: &&Word| !word.is_common && !is_of_person(word);
        let mut telling: Vec<Word> = words.iter().filter(is_telling).cloned().collect();
        if telling.is_empty() {
            telling.clone_from(&words);
        }
        let folded = words.into_iter().map(|word| word.folded).collect();
        Self { plain, telling, folded, languages, of_message, label }
    }

    /// In the fewest clauses of the sentence that have its words.
    fn is_made_in(&self, sentence: &OwnSentence) -> bool {
        let all = &sentence.clauses;
        // Of each word, the clauses that have it, as bits.
        let mut having = Vec::with_capacity(self.telling.len());
        for word in &self.telling {
            let has = |clause: &Clause| clause.words.iter().any(|other| self.is_same(word, other));
            let bits = all.iter().enumerate().filter(|(_, clause)| has(clause));
            match bits.fold(0_u64, |bits, (n, _)| bits | 1 << n) {
                0 => return false,
                bits => having.push(bits),
            }
        }
        for length in 1..=all.len() {
            let bits = u64::MAX >> (64 - length);
            let has_all = |at: &usize| having.iter().all(|has| has & (bits << at) != 0);
            let mut runs = (0..=all.len() - length).filter(has_all).peekable();
            if runs.peek().is_some() {
                return runs.any(|at| {
                    let run = &all[at..at + length];
                    (length == 1 || self.is_told_by(run))
                        && self.is_in_order(run)
                        && self.is_as_said(sentence, at, run)
                });
            }
        }
        false
    }

    /// The words stand in `run`, which begins at `at`: whether they say the same there.
    fn is_as_said(&self, sentence: &OwnSentence, at: usize, run: &[Clause]) -> bool {
        if run.iter().any(|clause| clause.asks) {
            return false;
        }
        let plain: Vec<&str> = run.iter().map(|clause| clause.plain.as_str()).collect();
        let plain = plain.join(" , ");
        let before: Vec<&str> =
            sentence.clauses[..at].iter().map(|clause| clause.plain.as_str()).collect();
        let before = before.join(" , ");
        let spoken = || languages::all().filter(|(_, language)| is_of(&plain, language));
        let meant: Vec<&Language> = match self.languages.is_empty() {
            true => spoken().map(|(_, language)| language).collect(),
            false => self.languages.iter().filter(|language| is_of(&plain, language)).collect(),
        };
        // No list says how this language negates: all words are the same.
        let mut said = run.iter().flat_map(|clause| &clause.words).peekable();
        let is_speaker = |word: &Word| SPEAKERS.contains(&word.folded.as_str());
        if meant.is_empty()
            || self.languages.is_empty()
            || said.peek().is_some_and(|first| is_speaker(first))
        {
            let is_left_out =
                |word: &Word| !self.folded.contains(&word.folded) && !is_speaker(word);
            if said.any(is_left_out) {
                return false;
            }
        }
        // "Suppose: I live in Graz."
        let is_begun = before.split_whitespace().nth(PRETENDING_WORDS_MAX).is_none();
        let is_parted = meant.iter().any(|language| {
            let own = &language.own;
            let count = |text: &str| {
                own.negations.iter().filter(|one| has_one(text, one, language)).count()
            };
            let negated = count(&plain) != count(&self.plain);
            let is_supposed = |text: &str| has_any(text, &own.supposed, language);
            let supposed = is_supposed(&plain) || is_begun && is_supposed(&before);
            negated || supposed && !is_supposed(&self.plain)
        });
        if is_parted || self.is_of_another_time(run, &plain, &meant) {
            return false;
        }
        let speaks = meant.iter().any(|language| speaks(&plain, language));
        if self.has_changed_places(run, &plain, &meant, speaks) {
            return false;
        }
        // "I live with my brother" is of the speaker, "I think my brother lives" is not.
        let subject = match speaks {
            true => &plain[..self.begins_at(&plain, run)],
            false => plain.as_str(),
        };
        let names_one = |text: &str, list: fn(&Language) -> &PhraseList| {
            meant.iter().any(|language| {
                let mut named = list(language).iter().filter(|one| has_one(text, one, language));
                named.any(|one| !has_one(&self.plain, one, language))
            })
        };
        let of_another = |text: &str| names_one(text, |language| &language.own.others);
        let of_you = || names_one(subject, |language| &language.chatter.you);
        let is_speaker = |word: &str| {
            meant.iter().any(|language| language.own.speaker.iter().any(|one| one == word))
        };
        let of_named = sentence.people.iter().any(|name| {
            let mut words = subject.split(|c: char| !c.is_alphanumeric());
            name.is_disjoint(&self.folded)
                && words.any(|word| name.contains(word) && !is_speaker(word))
        });
        let begins = &plain[..self.begins_at(&plain, run)];
        let mut begins = begins.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
        let is_small = |word: &str| meant.iter().any(|l| l.words.small_talk.has_folded(word));
        let is_somebody = |word: &str| {
            !word.chars().any(is_unparted)
                && !self.folded.contains(word)
                && !SPEAKERS.contains(&word)
                && !self.languages.is_common_word(word)
                && !is_small(word)
        };
        let of_somebody = !speaks && self.label.is_none() && begins.any(is_somebody);
        if of_another(subject)
            || !speaks && (of_another(&before) || of_you())
            || of_named
            || of_somebody
        {
            return false;
        }
        match self.label {
            None => true,
            Some(label) => meant.iter().any(|language| {
                let said = &language.said;
                let phrases: &[&PhraseList] = match label {
                    Label::Name => &[&said.name, &said.preferred_name, &said.named],
                    Label::Home => &[&said.home, &said.location],
                };
                let labels = match label {
                    Label::Name => &language.own.name_labels,
                    Label::Home => &language.own.home_labels,
                };
                phrases.iter().any(|phrases| says_any(&plain, phrases, language))
                    || has_any(&plain, labels, language)
            }),
        }
    }

    /// Where the first of its words stands in a text with all of them.
    fn begins_at(&self, plain: &str, run: &[Clause]) -> usize {
        let words = run.iter().flat_map(|clause| &clause.words);
        let told = words.filter(|other| self.telling.iter().any(|word| self.is_same(word, other)));
        told.filter_map(|word| plain.find(&word.folded)).min().unwrap_or(plain.len())
    }

    fn is_same(&self, word: &Word, other: &Word) -> bool {
        if word.folded == other.folded {
            return true;
        }
        if word.folded.contains(char::is_numeric) || other.folded.contains(char::is_numeric) {
            return false;
        }
        if word.stems.iter().any(|stem| *stem == other.folded || other.stems.contains(stem))
            || other.stems.contains(&word.folded)
        {
            return true;
        }
        let first = word.folded.chars().next();
        match first.and_then(Script::of) {
            Some(Script::Han | Script::Kana) => {
                word.folded.chars().count() == 1 && other.folded.contains(&word.folded)
            }
            None => false,
            Some(Script::Hangul) => {
                // Of verbs that mean little, only the first syllable stays.
                let is_helping = first.is_some_and(|c| "있없않하합해이입못싶됐되".contains(c));
                word.folded.chars().count() >= 2 && other.folded.starts_with(&word.folded)
                    || has_common_beginning(word, other, 2)
                    || is_helping && other.folded.chars().next() == first
            }
            Some(Script::Arabic) => {
                let bare = |word: &str| {
                    let word = word.trim_start_matches(['و', 'ف', 'ب', 'ل', 'ك']);
                    let word = word.strip_prefix("ال").unwrap_or(word);
                    word.trim_start_matches(['ا', 'أ', 'ي', 'ت', 'ن', 'إ']).to_owned()
                };
                let (one, two) = (bare(&word.folded), bare(&other.folded));
                one.chars().count() >= 2 && one == two
                    || has_common_beginning(word, other, BEGINNING_MIN)
            }
            Some(Script::Devanagari) => has_common_beginning(word, other, 2),
            Some(_) => {
                has_common_beginning(word, other, BEGINNING_MIN) || self.is_form(word, other)
            }
        }
    }

    /// Whether one is the other's form of today in a note.
    fn is_form(&self, word: &Word, other: &Word) -> bool {
        self.languages.iter().any(|language| {
            language.own.forms.iter().any(|pair| {
                let (of_speaker, of_note) = pair.split_once(' ').unwrap_or_default();
                word.folded == of_note && other.folded == of_speaker
            })
        })
    }
}

fn has_common_beginning(word: &Word, other: &Word, min: usize) -> bool {
    let common = word.folded.chars().zip(other.folded.chars()).take_while(|(a, b)| a == b).count();
    let longest = word.folded.chars().count().max(other.folded.chars().count());
    let share = match word.is_value {
        true => BEGINNING_SHARE_OF_NAME,
        false => BEGINNING_SHARE,
    };
    common >= min && common as f64 >= longest as f64 * share
}

/// Whether the speaker is the subject, before whom no other stands; in Chinese "I" directly before a relative means "my".
fn speaks(plain: &str, language: &Language) -> bool {
    let others = language.own.others.iter();
    let others = others.filter_map(|other| Some(places(plain, other, language).next()?.1));
    let before = others.min().unwrap_or(plain.len());
    language.own.speaker.iter().any(|speaker| {
        places(plain, speaker, language).any(|(at, end)| {
            let rest = plain[end..].trim_start_matches(['的', 'の', '의', ' ']);
            let is_my = has_no_borders(language)
                && language.own.others.iter().any(|o| rest.starts_with(o.trim_end_matches('*')));
            at < before && !is_my
        })
    })
}

fn has_one(plain: &str, wanted: &str, language: &Language) -> bool {
    places(plain, wanted, language).next().is_some()
}

/// Like [`has_any`], for phrases with `*` between their words.
fn says_any(plain: &str, phrases: &PhraseList, language: &Language) -> bool {
    phrases.iter().any(|phrase| {
        let mut rest = plain;
        phrase.split('*').map(str::trim).filter(|part| !part.is_empty()).all(|part| {
            let found = places(rest, part, language).next();
            rest = found.map_or("", |(_, end)| &rest[end..]);
            found.is_some()
        })
    })
}

#[cfg(test)]
mod tests;
