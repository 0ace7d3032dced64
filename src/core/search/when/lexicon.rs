//! The time words of a language, folded and by what they mean; and the language of a question.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use super::calendar::Unit;
use super::chunk::parts;
use super::holiday::Holiday;
use crate::languages::characters::fold;
use crate::languages::{self, Language, TimeWords, WordList};

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
    Holiday(Holiday),
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
    AheadBefore,
    AheadAfter,
    Article,
    In,
    InAfter,
    On,
    About,
    Past,
    Earlier,
    Between,
    BetweenAfter,
    And,
    To,
    Side(TimeRelation),
    SideAfter(TimeRelation),
    /// A phrase that says no time.
    NoTime,
    Determiner,
    /// "Before" and the like that need no determiner.
    EventSide,
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
    /// Every single word, stop words too.
    words: HashSet<String>,
    stop: &'static WordList,
    /// The longest phrase, in words; of an unspaced language, in characters.
    pub longest: usize,
}

/// A longer word is no number.
const NUMBER_BYTES_MAX: usize = 40;

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

    pub fn is_stop_word(&self, word: &str) -> bool {
        self.stop.has_folded(word)
    }

    /// "zweiundzwanzig", "ventidue", Arabic "and twenty".
    pub fn compound(&self, word: &str) -> Option<i64> {
        let ands = self.times.and.iter().map(|and| fold(and)).chain([String::new()]);
        let ands: Vec<String> = ands.collect();
        let cuts = word.char_indices().filter(|_| word.len() <= NUMBER_BYTES_MAX);
        cuts.map(|(at, _)| word.split_at(at)).find_map(|(first, rest)| {
            let mut seconds = ands.iter().filter_map(|and| self.number(rest.strip_prefix(and)?));
            match first {
                "" => seconds.find(|second| is_ten(*second)),
                _ => {
                    let first = self.number(first)?;
                    seconds.find_map(|second| tens_and_ones(first, second))
                }
            }
        })
    }

    fn number(&self, word: &str) -> Option<i64> {
        self.kinds.get(word)?.iter().find_map(|kind| match kind {
            Kind::Number(number) => Some(*number),
            _ => None,
        })
    }

    fn of(language: &'static Language) -> Self {
        let times = &language.times;
        let common = [&language.words.stop, &language.words.weak];
        let common = common.into_iter().flat_map(WordList::folded);
        let mut words: HashSet<String> = common.map(str::to_owned).collect();
        let mut kinds: HashMap<String, Vec<Kind>> = HashMap::new();
        let mut longest = 1;
        let mut put = |list: &[String], kind: Kind| {
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
                let known = kinds.entry(key.clone()).or_default();
                if !known.contains(&kind) {
                    known.push(kind);
                }
                words.insert(key);
            }
        };
        for (list, kind) in lists(times) {
            put(list, kind);
        }
        Self {
            times,
            kinds,
            ambiguous: times.ambiguous.iter().map(|word| fold(word)).collect(),
            words,
            stop: &language.words.stop,
            longest,
        }
    }

    /// How many characters the longest word has that begins here; 0 if there is none.
    pub fn longest_at(&self, chars: &[char], is_word: impl Fn(&str) -> bool) -> usize {
        let most = self.longest.min(chars.len());
        let begins = |length: &usize| is_word(&chars[..*length].iter().collect::<String>());
        (1..=most).rev().find(begins).unwrap_or(0)
    }
}

fn is_ten(number: i64) -> bool {
    (20..100).contains(&number) && number % 10 == 0
}

/// Twenty and two, in any order.
pub fn tens_and_ones(first: i64, second: i64) -> Option<i64> {
    // French "soixante-douze".
    let is_number =
        is_ten(first) && (1..20).contains(&second) || is_ten(second) && (1..10).contains(&first);
    is_number.then_some(first + second)
}

/// Each list of a file, with what its words mean.
fn lists(t: &'static TimeWords) -> Vec<(&'static [String], Kind)> {
    type Numbered = (&'static [Vec<String>], fn(usize) -> Kind);
    let numbered: [Numbered; 14] = [
        (&t.months, |at| Kind::Month(at as u8 + 1)),
        (&t.weekdays, |at| Kind::Weekday(at as u8)),
        (&t.seasons, |at| Kind::Season(at as u8)),
        (&t.days_back, |at| Kind::Back(Unit::Day, at as i64)),
        (&t.days_ahead, |at| Kind::Back(Unit::Day, -1 - at as i64)),
        (&t.weeks_back, |at| Kind::Back(Unit::Week, at as i64)),
        (&t.months_back, |at| Kind::Back(Unit::Month, at as i64)),
        (&t.years_back, |at| Kind::Back(Unit::Year, at as i64)),
        (&t.weeks_ahead, |at| Kind::Back(Unit::Week, -1 - at as i64)),
        (&t.months_ahead, |at| Kind::Back(Unit::Month, -1 - at as i64)),
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
    let holidays = t
        .holidays
        .iter()
        .filter_map(|(days, list)| Some((list.as_slice(), Kind::Holiday(Holiday::parse(days)?))));
    let mut all: Vec<(&[String], Kind)> = numbered.chain(decades).chain(holidays).collect();
    for (units, kind) in [(&t.units, Kind::Unit as fn(Unit) -> Kind), (&t.pairs, Kind::Pair)] {
        all.extend([
            (units.minute.as_slice(), kind(Unit::Minute)),
            (&units.hour, kind(Unit::Hour)),
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
        (&t.ahead_before, Kind::AheadBefore),
        (&t.ahead_after, Kind::AheadAfter),
        (&t.articles, Kind::Article),
        (&t.inside, Kind::In),
        (&t.in_after, Kind::InAfter),
        (&t.on, Kind::On),
        (&t.about, Kind::About),
        (&t.past, Kind::Past),
        (&t.earlier, Kind::Earlier),
        (&t.between, Kind::Between),
        (&t.between_after, Kind::BetweenAfter),
        (&t.and, Kind::And),
        (&t.to, Kind::To),
        (&t.no_time, Kind::NoTime),
        (&t.determiners, Kind::Determiner),
        (&t.event_sides, Kind::EventSide),
        (&t.event_ends, Kind::EventEnd),
    ]);
    all
}

static ALL: LazyLock<BTreeMap<&'static str, Lexicon>> = LazyLock::new(|| {
    let files = languages::all().filter(|(_, language)| !language.times.months.is_empty());
    files.map(|(code, language)| (code, Lexicon::of(language))).collect()
});

/// Of the likeliest language of the question, or of several. Without any, English stands for those that write dates in
/// digits.
pub fn lexicons(question: &str) -> Vec<&'static Lexicon> {
    let knows = |code: &str, word: &str| ALL.get(code).is_some_and(|lexicon| lexicon.knows(word));
    let likeliest = languages::likeliest(question, knows);
    let found: Vec<&Lexicon> = likeliest.codes().filter_map(|code| ALL.get(code)).collect();
    match found.is_empty() {
        true => ALL.values().filter(|lexicon| lexicon.times.month_first).collect(),
        false => found,
    }
}
