//! Time clauses relative to an event: "before the move", "seit dem Umzug". Only the memory knows when it happened.

use time::OffsetDateTime;

use super::Days;
use super::calendar::day;
use super::chunk::{Chunk, chunks};
use super::cut::{TimeToken, tokens};
use super::lexicon::{Kind, Lexicon, TimeRelation, lexicons};
use crate::clock::Zone;
use crate::languages::characters::lower;
use crate::memories::Period;

/// Limit on the words of the event, or on the characters of one without blanks.
const WORDS_MAX: usize = 5;
/// A single character is no event.
const CHARS_MIN: usize = 2;

/// An event named in a question, and the side of it that is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventClause {
    side: TimeRelation,
    /// Candidate names, longest first: "road trip home", "road trip", "road". The first that the memory has is used.
    names: Vec<String>,
}

/// A question as a language reads it.
struct EventReading<'a> {
    chunks: &'a [Chunk],
    tokens: &'a [TimeToken],
    lexicon: &'static Lexicon,
}

impl EventClause {
    pub fn named(question: &str) -> Option<Self> {
        let chunks = chunks(question);
        lexicons(question).into_iter().find_map(|lexicon| {
            let tokens = &tokens(&chunks, lexicon, 0);
            let reading = EventReading { chunks: &chunks, tokens, lexicon };
            let clause = |at| reading.after_side(at).or_else(|| reading.before_side(at));
            (0..tokens.len()).rev().find_map(clause)
        })
    }

    fn of(side: TimeRelation, names: impl Iterator<Item = String>) -> Option<Self> {
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then_some(Self { side, names })
    }

    /// See [`Self::names`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
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

impl EventReading<'_> {
    /// "before the move", "before moving", "после свадьбы".
    fn after_side(&self, at: usize) -> Option<EventClause> {
        let side = side(&self.tokens[at])?;
        let event = match &self.tokens[at + 1..] {
            [first, after @ ..] if first.kinds.contains(&Kind::Determiner) => after,
            [first, after @ ..] if first.is_possessive => after,
            rest @ [first, ..] if self.has_ending(first) => rest,
            rest @ [first, ..] if self.needs_no_determiner(&self.tokens[at]) => {
                Some(rest).filter(|_| self.is_name(first) && !first.is_capital)?
            }
            _ => return None,
        };
        let words = self.words(event.iter().take_while(|word| !is_end(word)));
        EventClause::of(side, (1..=words.len()).rev().map(|count| words[..count].join(" ")))
    }

    /// "düğünden sonra", "शादी के बाद", "搬家之后", "이사 후에".
    fn before_side(&self, at: usize) -> Option<EventClause> {
        let token = &self.tokens[at];
        let side = token.kinds.iter().find_map(|kind| match kind {
            Kind::SideAfter(side) if self.needs_no_determiner(token) => Some(*side),
            _ => None,
        })?;
        let before = &self.tokens[..at];
        let nearest = before.last().filter(|word| self.is_name(word))?;
        let is_inflected = !self.lexicon.times.event_endings.is_empty();
        if is_inflected && !self.has_ending(nearest) {
            return None;
        }
        if self.lexicon.times.unspaced {
            let stands_alone = nearest.chunk != token.chunk;
            let is_meant = !stands_alone || self.is_whole(at);
            return EventClause::of(side, self.ends(&nearest.text).filter(|_| is_meant));
        }
        let event = before.iter().rev().take_while(|word| self.is_name(word) && !is_end(word));
        let mut words = self.words(event);
        words.reverse();
        EventClause::of(side, (0..words.len()).map(|skipped| words[skipped..].join(" ")))
    }

    /// In Korean "전원", which begins as "전", no side is meant.
    fn is_whole(&self, at: usize) -> bool {
        let next = self.tokens.get(at + 1).filter(|next| next.chunk == self.tokens[at].chunk);
        next.is_none_or(|next| next.kinds.contains(&Kind::InAfter))
    }

    /// The last characters of a run without blanks, longest first: where its words begin is not known.
    fn ends(&self, run: &str) -> impl Iterator<Item = String> {
        let chars: Vec<char> = run.chars().collect();
        let lengths = (CHARS_MIN..=chars.len().min(WORDS_MAX)).rev();
        let ends = lengths.map(move |count| chars[chars.len() - count..].iter().collect());
        ends.filter(|end: &String| !self.lexicon.is_stop_word(end))
    }

    /// The words as they are written, since stems need accents.
    fn words<'t>(&self, tokens: impl Iterator<Item = &'t TimeToken>) -> Vec<String> {
        let mut chunks: Vec<usize> = tokens.map(|token| token.chunk).collect();
        chunks.dedup();
        chunks.iter().take(WORDS_MAX).map(|chunk| lower(&self.chunks[*chunk].written)).collect()
    }

    fn has_ending(&self, word: &TimeToken) -> bool {
        let mut endings = self.lexicon.times.event_endings.iter();
        endings.any(|ending| word.text.len() > ending.len() + 1 && word.text.ends_with(ending))
    }

    fn needs_no_determiner(&self, side: &TimeToken) -> bool {
        let is_past = || self.tokens.iter().any(|word| word.kinds.contains(&Kind::Past));
        side.kinds.contains(&Kind::EventSide) && (!side.is_ambiguous || is_past())
    }

    fn is_name(&self, word: &TimeToken) -> bool {
        word.kinds.is_empty() && word.written.is_none() && !self.lexicon.is_stop_word(&word.text)
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
impl EventClause {
    /// Whether one of these is a name of the event, and it is asked for the time before or after it.
    pub fn is_beside(&self, [before, after]: [&Option<String>; 2]) -> bool {
        let name = match self.side {
            TimeRelation::Before | TimeRelation::Until => before,
            TimeRelation::After | TimeRelation::Since => after,
        };
        self.names().any(|own| Some(own) == name.as_deref())
    }
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
            ("avant le déménagement", TimeRelation::Before, "déménagement"),
            ("después de la mudanza", TimeRelation::After, "mudanza"),
            ("hasta la boda", TimeRelation::Until, "boda"),
            ("dopo il matrimonio", TimeRelation::After, "matrimonio"),
            ("Waar woonden we voor de verhuizing?", TimeRelation::Before, "verhuizing"),
        ] {
            let expected = Some((side, words.to_owned()));
            let found = EventClause::named(question);
            let found = found.map(|clause| (clause.side, clause.names[0].clone()));
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
