//! Time clauses relative to an event: "before the move", "seit dem Umzug". Only the memory knows when it happened.

use time::OffsetDateTime;

use super::words::{BETWEEN, IN, SIDES, TimeRelation, of, words_of};
use super::{Days, beside, day};
use crate::clock::Zone;
use crate::memories::Period;

/// Limit on the words of the event; the longest beginning that the memory contains is used.
const WORDS_MAX: usize = 5;

/// Required between "before" and the event, because "nach Berlin" and "named after Anna" name no time.
const DETERMINERS: &[&str] = &[
    "the", "a", "an", "this", "that", "my", "your", "his", "her", "their", "our", "its", "der",
    "dem", "den", "die", "das", "meinem", "meiner", "deinem", "deiner", "seinem", "seiner",
    "ihrem", "ihrer", "unserem", "unserer", "le", "la", "l", "les", "mon", "ma", "ton", "ta",
    "son", "sa", "notre", "votre", "leur", "el", "los", "las", "mi", "tu", "su", "nuestro",
    "nuestra",
];
/// Words that end the event's name.
const ENDS: &[&str] = &[
    "to", "and", "or", "but", "is", "are", "was", "were", "did", "do", "does", "had", "has",
    "have", "with", "about", "um", "und", "oder", "war", "hat", "mit", "et", "ou", "pour", "avec",
    "y", "o", "para", "con",
];
const BETWEEN_SIDE_AND_EVENT: &[&str] = &["de", "d", "que"];

/// An event named in a question, and the side of it that is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventClause {
    side: TimeRelation,
    /// In order, lower case, without accents.
    words: Vec<String>,
}

impl EventClause {
    pub fn named(question: &str) -> Option<Self> {
        let words = words_of(question);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        (0..words.len()).rev().find_map(|at| {
            let side = of(&SIDES, words[at])?;
            let mut rest = &words[at + 1..];
            while let [first, ..] = rest
                && BETWEEN_SIDE_AND_EVENT.contains(first)
            {
                rest = &rest[1..];
            }
            let event = match rest {
                [first, after @ ..] if DETERMINERS.contains(first) => after,
                [first, ..] if first.len() > 4 && first.ends_with("ing") => rest,
                // "after Anna's surgery"
                [_, "s", after @ ..] => after,
                _ => return None,
            };
            let is_of_it = |word: &&&str| {
                !(ENDS.contains(word)
                    || IN.contains(word)
                    || BETWEEN.contains(word)
                    || of(&SIDES, word).is_some())
            };
            let event = event.iter().take_while(is_of_it).take(WORDS_MAX);
            let words: Vec<String> = event.map(|word| (*word).to_owned()).collect();
            (!words.is_empty()).then_some(Self { side, words })
        })
    }

    /// Candidate names, longest first: "road trip home", "road trip", "road".
    pub fn phrases(&self) -> impl Iterator<Item = String> {
        (1..=self.words.len()).rev().map(|n| self.words[..n].join(" "))
    }

    /// The period before or after the days on which the event was mentioned first and last. Includes those days, because
    /// people talk about it then.
    pub fn period(
        &self,
        first: OffsetDateTime,
        last: OffsetDateTime,
        zone: &str,
    ) -> Option<Period> {
        let zone = Zone::from_column(zone);
        let of_day = |at| day(zone.local(at).date());
        let told = of_day(first)?.start..of_day(last)?.end;
        let side = match self.side {
            TimeRelation::Before | TimeRelation::Until => TimeRelation::Until,
            TimeRelation::After | TimeRelation::Since => TimeRelation::Since,
        };
        let Days { from, until } = beside(Some(side), told);
        Some(Period {
            from: from.map(|day| zone.midnight(day)),
            until: until.map(|day| zone.midnight(day)),
        })
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn what_is_asked_before_or_after_is_named_in_four_languages() {
        for (question, side, words) in [
            ("Where did we live before the move?", TimeRelation::Before, "move"),
            ("What did she do after the road trip to relax?", TimeRelation::After, "road trip"),
            ("since my surgery", TimeRelation::Since, "surgery"),
            ("before moving to Berlin", TimeRelation::Before, "moving"),
            ("How did Tom feel after Anna's wedding party?", TimeRelation::After, "wedding party"),
            ("Was trank Anna vor dem Umzug?", TimeRelation::Before, "umzug"),
            ("seit der Reise nach Wien", TimeRelation::Since, "reise"),
            ("avant le déménagement", TimeRelation::Before, "demenagement"),
            ("después de la mudanza", TimeRelation::After, "mudanza"),
            ("hasta la boda", TimeRelation::Until, "boda"),
        ] {
            let expected = Some((side, words.to_owned()));
            let found = EventClause::named(question);
            let found =
                found.map(|clause| (clause.side, clause.phrases().next().unwrap_or_default()));
            assert_eq!(found, expected, "{question}");
        }
        for question in [
            "Have I done this before?",
            "Wann fuhr Anna nach Berlin?",
            "Who is named after Anna?",
            "before 2020",
            "the day after",
            "before the",
            "",
        ] {
            assert_eq!(EventClause::named(question), None, "{question}");
        }
        assert!(EventClause::named(&"before ".repeat(100_000)).is_none());
    }

    #[test]
    fn the_days_on_which_it_is_told_are_meant_too() {
        let (first, last) = (datetime!(2026-03-03 12:00 UTC), datetime!(2026-03-05 23:30 UTC));
        let period = |question: &str| {
            let clause = EventClause::named(question).expect("an event");
            clause.period(first, last, "Europe/Berlin").expect("days")
        };
        let before = period("before the move");
        assert_eq!((before.from, before.until), (None, Some(datetime!(2026-03-06 23:00 UTC))));
        let after = period("after the move");
        assert_eq!((after.from, after.until), (Some(datetime!(2026-03-02 23:00 UTC)), None));
    }
}
