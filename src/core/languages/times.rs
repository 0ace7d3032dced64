//! Words that say when. A word may stand in several lists, as English "second"; a list may have phrases of several words.
//! Inflected forms are listed, each as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimeWords {
    /// 5/7/2023 is 7 May, not 5 July.
    pub month_first: bool,
    /// Written without blanks, or with particles attached: words are found anywhere in a run of letters.
    pub unspaced: bool,

    /// From January.
    pub months: Vec<Vec<String>>,
    /// From Monday.
    pub weekdays: Vec<Vec<String>>,
    /// From spring.
    pub seasons: Vec<Vec<String>>,
    /// Today, yesterday, the day before.
    pub days_back: Vec<Vec<String>>,
    /// Tomorrow, the day after.
    pub days_ahead: Vec<Vec<String>>,
    /// This week, last week, the week before it, in one word or phrase; likewise months and years.
    pub weeks_back: Vec<Vec<String>>,
    pub months_back: Vec<Vec<String>>,
    pub years_back: Vec<Vec<String>>,
    /// Next week, the week after; likewise months and years.
    pub weeks_ahead: Vec<Vec<String>>,
    pub months_ahead: Vec<Vec<String>>,
    pub years_ahead: Vec<Vec<String>>,
    pub last_night: Vec<String>,
    pub weekend: Vec<String>,
    pub units: Units,
    /// Two of a unit in one word.
    pub pairs: Units,
    /// From one.
    pub numbers: Vec<Vec<String>>,
    /// From twenty.
    pub tens: Vec<Vec<String>>,
    /// From first.
    pub ordinals: Vec<Vec<String>>,
    /// By day or by first and last day: "12-31", "12-24/12-26", "easter-2/easter+1", "orthodox-easter".
    pub holidays: BTreeMap<String, Vec<String>>,
    /// By first year, "1990".
    pub decades: BTreeMap<String, Vec<String>>,
    /// Before the number of a decade, "années" 90.
    pub decade_before: Vec<String>,
    /// After it, 90"s".
    pub decade_after: Vec<String>,
    /// After the number of a day, 7"th".
    pub day_endings: Vec<String>,
    /// After a number, in 2023年5月7日.
    pub year_marks: Vec<String>,
    pub month_marks: Vec<String>,
    pub day_marks: Vec<String>,
    pub quarter_marks: Vec<String>,

    pub last: Vec<String>,
    pub this: Vec<String>,
    pub next: Vec<String>,
    /// Before a number and a unit, "vor" zwei Wochen.
    pub ago_before: Vec<String>,
    /// After them, two weeks "ago".
    pub ago_after: Vec<String>,
    /// Before a number and a unit that are still to come, "in" two weeks.
    pub ahead_before: Vec<String>,
    /// After them, two weeks "from now".
    pub ahead_after: Vec<String>,
    /// May stand between a preposition and a time.
    pub articles: Vec<String>,
    /// Prepositions of months, seasons and years, which bare numbers and ambiguous words need.
    #[serde(rename = "in")]
    pub inside: Vec<String>,
    /// The same behind the time.
    pub in_after: Vec<String>,
    /// Of weekdays and dates.
    pub on: Vec<String>,
    /// "early" 2023; the whole of it is meant.
    pub about: Vec<String>,
    /// Mark a question about the past, in which a weekday is a past one.
    pub past: Vec<String>,
    /// Ask for what is over: "used to", "formerly".
    pub earlier: Vec<String>,
    pub between: Vec<String>,
    pub between_after: Vec<String>,
    pub and: Vec<String>,
    /// From May "to" July.
    pub to: Vec<String>,
    pub before: Vec<String>,
    pub after: Vec<String>,
    pub since: Vec<String>,
    pub until: Vec<String>,
    pub before_after: Vec<String>,
    pub after_after: Vec<String>,
    pub since_after: Vec<String>,
    pub until_after: Vec<String>,
    /// Time words that are another word as well, a name or a verb: they need a second sign.
    pub ambiguous: Vec<String>,
    /// Phrases with a time word that say no time, "look after".
    pub no_time: Vec<String>,

    /// Required between "before" and an event, because "nach Berlin" names no time.
    pub determiners: Vec<String>,
    /// The words for before, after and since that need no determiner, as they have one ("antes da") or the language has none;
    /// an ambiguous one is meant in a question about the past.
    pub event_sides: Vec<String>,
    /// Endings of the word beside them: before mov"ing", düğün"den" sonra.
    pub event_endings: Vec<String>,
    /// Words that end an event's name.
    pub event_ends: Vec<String>,

    pub examples: Vec<TimeExample>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Units {
    pub minute: Vec<String>,
    pub hour: Vec<String>,
    pub day: Vec<String>,
    pub week: Vec<String>,
    pub month: Vec<String>,
    pub quarter: Vec<String>,
    pub year: Vec<String>,
}

/// A question on Thursday, 26 November 2026, and the days that it names, the last excluded, or an event. None: no limit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeExample {
    pub say: String,
    pub from: Option<String>,
    pub until: Option<String>,
    /// The event before or after which.
    pub before: Option<String>,
    pub after: Option<String>,
    /// It names no time.
    #[serde(default)]
    pub none: bool,
}
