//! Time clauses relative to an event: "before the move", "seit dem Umzug". Only the memory knows when it happened.

use time::OffsetDateTime;

use super::Days;
use super::calendar::day;
use super::chunk::{chunks, parts};
use super::cut::{TimeToken, tokens};
use super::lexicon::{Kind, Lexicon, TimeRelation, language_of};
use crate::clock::Zone;
use crate::memories::Period;

/// Limit on the words of the event; the longest beginning that the memory contains is used.
const WORDS_MAX: usize = 5;

/// An event named in a question, and the side of it that is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventClause {
    side: TimeRelation,
    /// In order, lower case, without accents.
    words: Vec<String>,
}

impl EventClause {
    pub fn named(question: &str) -> Option<Self> {
        let chunks = chunks(question);
        language_of(&chunks)
            .into_iter()
            .find_map(|lexicon| Self::named_in(&tokens(&chunks, lexicon, 0), lexicon))
    }

    fn named_in(tokens: &[TimeToken], lexicon: &Lexicon) -> Option<Self> {
        let is_ending = |word: &TimeToken| {
            let endings = &lexicon.times.event_endings;
            endings
                .iter()
                .any(|ending| word.text.len() > ending.len() + 1 && word.text.ends_with(ending))
        };
        (0..tokens.len()).rev().find_map(|at| {
            let side = side(&tokens[at])?;
            let event = match &tokens[at + 1..] {
                [first, after @ ..] if first.kinds.contains(&Kind::Determiner) => after,
                [first, after @ ..] if first.is_possessive => after,
                rest @ [first, ..] if is_ending(first) => rest,
                _ => return None,
            };
            let event = event.iter().take_while(|word| !is_end(word));
            let words: Vec<String> =
                event.flat_map(|word| parts(&word.text)).take(WORDS_MAX).collect();
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
        let Days { from, until } = Days::beside(Some(side), told);
        Some(Period {
            from: from.map(|day| zone.midnight(day)),
            until: until.map(|day| zone.midnight(day)),
        })
    }
}

fn side(word: &TimeToken) -> Option<TimeRelation> {
    word.kinds.iter().find_map(|kind| match kind {
        Kind::Side(side) => Some(*side),
        _ => None,
    })
}

fn is_end(word: &TimeToken) -> bool {
    let ends = [Kind::EventEnd, Kind::In, Kind::On, Kind::Between, Kind::And];
    ends.iter().any(|kind| word.kinds.contains(kind)) || side(word).is_some()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn what_is_asked_before_or_after_is_named() {
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
            ("dopo il matrimonio", TimeRelation::After, "matrimonio"),
            ("Waar woonden we voor de verhuizing?", TimeRelation::Before, "verhuizing"),
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
            "Who looks after the lift in building B?",
            "Is it after all the best?",
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
