//! The time words of a language, folded and by what they mean; and the language of a question.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::calendar::Unit;
use super::chunk::{Chunk, parts};
use crate::languages::characters::{fold, is_unspaced};
use crate::languages::{self, TimeWords};

/// What a word means. It may mean several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From 1.
    Month(u8),
    /// From 0, Monday.
    Weekday(u8),
    /// From 0, spring.
    Season(u8),
    /// So many units before the current one; negative is after it.
    Back(Unit, i64),
    LastNight,
    Weekend,
    Unit(Unit),
    /// Two of them.
    Pair(Unit),
    Number(i64),
    Ordinal(i64),
    /// By its first year.
    Decade(i32),
    DecadeBefore,
    DecadeAfter,
    DayEnding,
    /// Behind a number.
    Mark(Unit),
    Last,
    This,
    Next,
    AgoBefore,
    AgoAfter,
    Article,
    In,
    InAfter,
    On,
    About,
    Past,
    Between,
    BetweenAfter,
    And,
    To,
    Side(TimeRelation),
    SideAfter(TimeRelation),
    /// A phrase that says no time.
    NoTime,
    Determiner,
    EventEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeRelation {
    Before,
    /// From its end.
    After,
    /// From its beginning.
    Since,
    /// To its end.
    Until,
}

pub struct Lexicon {
    pub times: &'static TimeWords,
    /// By word, or by the words of a phrase with blanks between.
    kinds: HashMap<String, Vec<Kind>>,
    ambiguous: HashSet<String>,
    /// Every single word, the frequent ones too.
    words: HashSet<String>,
    /// The longest phrase, in words; of an unspaced language, in characters.
    pub longest: usize,
    script: QuestionScript,
}

impl Lexicon {
    pub fn kinds(&'static self, phrase: &str) -> &'static [Kind] {
        self.kinds.get(phrase).map_or(&[], Vec::as_slice)
    }

    pub fn is_ambiguous(&self, word: &str) -> bool {
        self.ambiguous.contains(word)
    }

    pub fn knows(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    fn of(times: &'static TimeWords) -> Self {
        let mut kinds: HashMap<String, Vec<Kind>> = HashMap::new();
        let mut words = HashSet::new();
        let mut longest = 1;
        let mut put = |list: &[String], kind: Option<Kind>| {
            for phrase in list {
                let mut parts = parts(&fold(phrase));
                if parts.is_empty() {
                    // A dash.
                    parts.push(phrase.clone());
                }
                let key = parts.join(if times.unspaced { "" } else { " " });
                longest =
                    longest.max(if times.unspaced { key.chars().count() } else { parts.len() });
                words.extend(parts);
                if let Some(kind) = kind {
                    let known = kinds.entry(key.clone()).or_default();
                    if !known.contains(&kind) {
                        known.push(kind);
                    }
                }
                words.insert(key);
            }
        };
        put(&times.common, None);
        for (list, kind) in lists(times) {
            put(list, Some(kind));
        }
        let of_words = times.months.iter().chain([&times.common]).flatten();
        let of_words =
            || of_words.clone().flat_map(|word| word.chars()).filter_map(QuestionScript::of);
        let script = match of_words().any(|script| script == QuestionScript::Kana) {
            true => Some(QuestionScript::Kana),
            false => of_words().next(),
        };
        Self {
            times,
            kinds,
            ambiguous: times.ambiguous.iter().map(|word| fold(word)).collect(),
            words,
            longest,
            script: script.unwrap_or(QuestionScript::Latin),
        }
    }
}

/// Each list of a file, with what its words mean.
fn lists(t: &'static TimeWords) -> Vec<(&'static [String], Kind)> {
    type Numbered = (&'static [Vec<String>], fn(usize) -> Kind);
    let numbered: [Numbered; 12] = [
        (&t.months, |at| Kind::Month(at as u8 + 1)),
        (&t.weekdays, |at| Kind::Weekday(at as u8)),
        (&t.seasons, |at| Kind::Season(at as u8)),
        (&t.days_back, |at| Kind::Back(Unit::Day, at as i64)),
        (&t.days_ahead, |at| Kind::Back(Unit::Day, -1 - at as i64)),
        (&t.weeks_back, |at| Kind::Back(Unit::Week, at as i64)),
        (&t.months_back, |at| Kind::Back(Unit::Month, at as i64)),
        (&t.years_back, |at| Kind::Back(Unit::Year, at as i64)),
        (&t.years_ahead, |at| Kind::Back(Unit::Year, -1 - at as i64)),
        (&t.numbers, |at| Kind::Number(at as i64 + 1)),
        (&t.tens, |at| Kind::Number(at as i64 * 10 + 20)),
        (&t.ordinals, |at| Kind::Ordinal(at as i64 + 1)),
    ];
    let numbered = numbered.into_iter().flat_map(|(lists, kind)| {
        let lists = lists.iter().enumerate();
        lists.map(move |(at, list)| (list.as_slice(), kind(at)))
    });
    let decades = t
        .decades
        .iter()
        .filter_map(|(year, list)| Some((list.as_slice(), Kind::Decade(year.parse().ok()?))));
    let mut all: Vec<(&[String], Kind)> = numbered.chain(decades).collect();
    for (units, kind) in [(&t.units, Kind::Unit as fn(Unit) -> Kind), (&t.pairs, Kind::Pair)] {
        all.extend([
            (units.hour.as_slice(), kind(Unit::Hour)),
            (&units.day, kind(Unit::Day)),
            (&units.week, kind(Unit::Week)),
            (&units.month, kind(Unit::Month)),
            (&units.quarter, kind(Unit::Quarter)),
            (&units.year, kind(Unit::Year)),
        ]);
    }
    let sides = [
        (&t.before, &t.before_after, TimeRelation::Before),
        (&t.after, &t.after_after, TimeRelation::After),
        (&t.since, &t.since_after, TimeRelation::Since),
        (&t.until, &t.until_after, TimeRelation::Until),
    ];
    for (before, after, side) in sides {
        all.extend([
            (before.as_slice(), Kind::Side(side)),
            (after.as_slice(), Kind::SideAfter(side)),
        ]);
    }
    all.extend([
        (t.last_night.as_slice(), Kind::LastNight),
        (&t.weekend, Kind::Weekend),
        (&t.decade_before, Kind::DecadeBefore),
        (&t.decade_after, Kind::DecadeAfter),
        (&t.day_endings, Kind::DayEnding),
        (&t.year_marks, Kind::Mark(Unit::Year)),
        (&t.month_marks, Kind::Mark(Unit::Month)),
        (&t.day_marks, Kind::Mark(Unit::Day)),
        (&t.quarter_marks, Kind::Mark(Unit::Quarter)),
        (&t.last, Kind::Last),
        (&t.this, Kind::This),
        (&t.next, Kind::Next),
        (&t.ago_before, Kind::AgoBefore),
        (&t.ago_after, Kind::AgoAfter),
        (&t.articles, Kind::Article),
        (&t.inside, Kind::In),
        (&t.in_after, Kind::InAfter),
        (&t.on, Kind::On),
        (&t.about, Kind::About),
        (&t.past, Kind::Past),
        (&t.between, Kind::Between),
        (&t.between_after, Kind::BetweenAfter),
        (&t.and, Kind::And),
        (&t.to, Kind::To),
        (&t.no_time, Kind::NoTime),
        (&t.determiners, Kind::Determiner),
        (&t.event_ends, Kind::EventEnd),
    ]);
    all
}

static ALL: LazyLock<Vec<Lexicon>> = LazyLock::new(|| {
    let files = languages::all().filter(|(_, language)| !language.times.months.is_empty());
    files.map(|(_, language)| Lexicon::of(&language.times)).collect()
});

/// The languages that the question has most words of: one, or several that have as many. Without any, English stands for
/// those that write dates in digits.
pub fn language_of(chunks: &[Chunk]) -> Vec<&'static Lexicon> {
    let mut counts = vec![0; ALL.len()];
    let scripts = QuestionScript::all_of(chunks);
    for chunk in chunks {
        let words = parts(&chunk.text);
        for (lexicon, count) in ALL.iter().zip(&mut counts) {
            if scripts.contains(&lexicon.script) {
                *count += match lexicon.times.unspaced {
                    true => characters_known(lexicon, &chunk.text),
                    false => words.iter().filter(|word| lexicon.knows(word)).count(),
                };
            }
        }
    }
    let most = counts.iter().copied().max().unwrap_or_default();
    if most == 0 {
        return ALL.iter().filter(|lexicon| lexicon.times.month_first).collect();
    }
    ALL.iter().zip(counts).filter(|(_, count)| *count == most).map(|(lexicon, _)| lexicon).collect()
}

fn characters_known(lexicon: &'static Lexicon, text: &str) -> usize {
    let chars: Vec<char> = text.chars().collect();
    let (mut at, mut known) = (0, 0);
    while at < chars.len() {
        let length = match is_unspaced(chars[at]) {
            true => lexicon.longest_at(&chars[at..], |word| lexicon.knows(word)),
            false => 0,
        };
        // Longer words tell more.
        known += length * length;
        at += length.max(1);
    }
    known
}

impl Lexicon {
    /// How many characters the longest word has that begins here; 0 if there is none.
    pub fn longest_at(&self, chars: &[char], is_word: impl Fn(&str) -> bool) -> usize {
        let most = self.longest.min(chars.len());
        let begins = |length: &usize| is_word(&chars[..*length].iter().collect::<String>());
        (1..=most).rev().find(begins).unwrap_or(0)
    }
}

/// Which languages a question may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuestionScript {
    Latin,
    Cyrillic,
    Arabic,
    Devanagari,
    Han,
    Kana,
    Hangul,
}

impl QuestionScript {
    fn of(c: char) -> Option<Self> {
        Some(match u32::from(c) {
            0x41..=0x24F if c.is_alphabetic() => Self::Latin,
            0x400..=0x52F => Self::Cyrillic,
            0x600..=0x6FF if c.is_alphabetic() => Self::Arabic,
            0x900..=0x97F => Self::Devanagari,
            0x3041..=0x30FF => Self::Kana,
            0x3400..=0x9FFF => Self::Han,
            0xAC00..=0xD7AF => Self::Hangul,
            _ => return None,
        })
    }

    /// Those whose languages come into question: where there is another script than Latin, Latin words are names in it.
    fn all_of(chunks: &[Chunk]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for script in chunks.iter().flat_map(|chunk| chunk.text.chars()).filter_map(Self::of) {
            if !all.contains(&script) {
                all.push(script);
            }
        }
        if all.len() > 1 {
            all.retain(|script| *script != Self::Latin);
        }
        match all.contains(&Self::Kana) {
            true => vec![Self::Kana],
            // Han alone may be Chinese or Japanese.
            false if all.contains(&Self::Han) => [all.as_slice(), &[Self::Kana]].concat(),
            false => all,
        }
    }
}
