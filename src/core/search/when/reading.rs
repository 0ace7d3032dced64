//! A question's words, and the signs that make an ambiguous word, a bare number or the name of a month a time: a preposition of
//! time, a number beside it, or "last".

use time::{Date, Month, OffsetDateTime, Weekday};

use super::calendar::{Unit, YEARS};
use super::cut::TimeToken;
use super::holiday::Holiday;
use super::lexicon::{Kind, Lexicon, TimeRelation, tens_and_ones};
use super::numeric::Written;

/// Within this many words before "and", "between" makes it the end of a time.
const BETWEEN_WORDS: usize = 6;
/// Limit on the words between the two ends of a time, and between a preposition and its time.
pub(super) const LINK_WORDS: usize = 4;

pub struct TimeReading<'a> {
    pub tokens: &'a [TimeToken],
    pub lexicon: &'static Lexicon,
    /// In the user's time zone.
    pub now: OffsetDateTime,
}

impl TimeReading<'_> {
    pub(super) fn today(&self) -> Date {
        self.now.date()
    }

    pub(super) fn any<T>(&self, at: usize, of: impl Fn(Kind) -> Option<T>) -> Option<T> {
        self.tokens.get(at)?.kinds.iter().find_map(|kind| of(*kind))
    }

    pub(super) fn is(&self, at: usize, kind: Kind) -> bool {
        self.any(at, |of| (of == kind).then_some(())).is_some()
    }

    pub(super) fn is_any(&self, at: usize, kinds: &[Kind]) -> bool {
        kinds.iter().any(|kind| self.is(at, *kind))
    }

    pub(super) fn written(&self, at: usize) -> Option<Written> {
        self.tokens.get(at)?.written
    }

    pub(super) fn number(&self, at: usize) -> Option<i64> {
        match self.written(at) {
            Some(Written::Number { value, .. }) => Some(value),
            Some(_) => None,
            None => {
                let named = self.any(at, |kind| match kind {
                    Kind::Number(number) => Some(number),
                    _ => None,
                });
                named.or_else(|| self.tokens.get(at)?.compound)
            }
        }
    }

    /// Of units, and the word after it: "3", "three", "twenty-two".
    pub(super) fn count(&self, at: usize) -> Option<(i64, usize)> {
        let number = || Some((self.number(at)?, at + 1));
        let counted = self.two_numbers(at).or_else(number);
        counted.filter(|(count, _)| (1..1_000).contains(count))
    }

    /// "twenty two", "veinte y dos".
    fn two_numbers(&self, at: usize) -> Option<(i64, usize)> {
        let named = |at| self.number(at).filter(|_| self.written(at).is_none());
        let second = at + 1 + usize::from(self.is(at + 1, Kind::And));
        Some((tens_and_ones(named(at)?, named(second)?)?, second + 1))
    }

    /// A number of units, or two in a word, and the word after them.
    pub(super) fn units(&self, at: usize) -> Option<(i64, Unit, usize)> {
        if let Some(unit) = self.pair(at) {
            return Some((2, unit, at + 1));
        }
        let (count, end) = self.count(at)?;
        let unit = self.skip(end);
        Some((count, self.unit(unit)?, unit + 1))
    }

    pub(super) fn unit(&self, at: usize) -> Option<Unit> {
        self.any(at, |kind| match kind {
            Kind::Unit(unit) => Some(unit),
            _ => None,
        })
    }

    pub(super) fn pair(&self, at: usize) -> Option<Unit> {
        self.any(at, |kind| match kind {
            Kind::Pair(unit) => Some(unit),
            _ => None,
        })
    }

    pub(super) fn side(&self, at: usize) -> Option<TimeRelation> {
        self.any(at, |kind| match kind {
            Kind::Side(side) => Some(side),
            _ => None,
        })
    }

    pub(super) fn side_after(&self, at: usize) -> Option<TimeRelation> {
        self.any(at, |kind| match kind {
            Kind::SideAfter(side) => Some(side),
            _ => None,
        })
    }

    pub(super) fn year_number(&self, at: usize) -> Option<i32> {
        match self.written(at)? {
            Written::Number { value, digits: 4 } => {
                i32::try_from(value).ok().filter(|year| YEARS.contains(year))
            }
            _ => None,
        }
    }

    /// "7", "7th", "first", "7日", and the word after it.
    pub(super) fn day_number(&self, at: usize) -> Option<(u8, usize)> {
        let number = match self.written(at) {
            Some(Written::Number { value, digits: 1..=2 }) => Some(value),
            Some(_) => None,
            None => self.any(at, |kind| match kind {
                Kind::Ordinal(number) => Some(number),
                Kind::Number(number) if self.is(at + 1, Kind::Mark(Unit::Day)) => Some(number),
                _ => None,
            }),
        };
        let number = number.filter(|number| (1..=31).contains(number))?;
        let has_ending = self.is_any(at + 1, &[Kind::DayEnding, Kind::Mark(Unit::Day)]);
        Some((number as u8, at + 1 + usize::from(has_ending)))
    }

    pub(super) fn holiday_name(&self, at: usize) -> Option<Holiday> {
        self.any(at, |kind| match kind {
            Kind::Holiday(holiday) => Some(holiday),
            _ => None,
        })
    }

    pub(super) fn season_name(&self, at: usize) -> Option<u8> {
        self.any(at, |kind| match kind {
            Kind::Season(season) => Some(season),
            _ => None,
        })
    }

    /// Whether the question is about the past.
    pub(super) fn is_past(&self) -> bool {
        (0..self.tokens.len()).any(|at| self.is(at, Kind::Past))
    }

    /// "May", "5月", and the word after it.
    pub(super) fn month_name(&self, at: usize) -> Option<(Month, usize)> {
        let named = self.any(at, |kind| match kind {
            Kind::Month(month) => Some(i64::from(month)),
            _ => None,
        });
        let (month, end) = match named {
            Some(month) => (month, at + 1),
            None => (self.number(at).filter(|_| self.is(at + 1, Kind::Mark(Unit::Month)))?, at + 2),
        };
        Some((Month::try_from(u8::try_from(month).ok()?).ok()?, end))
    }

    /// Past articles.
    pub(super) fn skip(&self, at: usize) -> usize {
        let is_article = |at: &usize| self.is(*at, Kind::Article);
        at + (at..at + LINK_WORDS).take_while(is_article).count()
    }

    /// Past articles and prepositions.
    pub(super) fn skip_in(&self, at: usize) -> usize {
        let is_link = |at: &usize| {
            self.is_any(*at, &[Kind::Article, Kind::In, Kind::On]) && !self.is_of_date(*at)
        };
        at + (at..at + LINK_WORDS).take_while(is_link).count()
    }

    /// The word before, without articles.
    pub(super) fn lead(&self, at: usize) -> Option<usize> {
        (0..at).rev().take(LINK_WORDS).find(|at| !self.is(*at, Kind::Article))
    }

    pub(super) fn is_led(&self, at: usize, kinds: &[Kind]) -> bool {
        // An article may be a preposition as well: Spanish "el lunes".
        self.lead(at).into_iter().chain(at.checked_sub(1)).any(|lead| self.is_any(lead, kinds))
    }

    pub(super) fn is_last(&self, start: usize, end: usize) -> bool {
        self.is_led(start, &[Kind::Last]) || self.is(end, Kind::Last)
    }

    pub(super) fn is_next(&self, start: usize, end: usize) -> bool {
        self.is_led(start, &[Kind::Next]) || self.is(end, Kind::Next)
    }

    /// Whether a preposition or the like marks these words as a time.
    pub(super) fn is_signed(&self, start: usize, end: usize) -> bool {
        let units = [Kind::Unit(Unit::Month), Kind::Unit(Unit::Year)];
        let after = [Kind::InAfter, Kind::BetweenAfter, Kind::Last, Kind::Next, units[0]];
        self.is(start, Kind::In)
            || self.is_prefixed(start)
            || self.is_led(start, &units)
            || self.is_any(end, &after)
            || self.side_after(end).is_some()
            || self.goes_on(end)
    }

    /// "to July", "and July" of "between".
    fn goes_on(&self, end: usize) -> bool {
        let is_between = || (end..end + BETWEEN_WORDS).any(|at| self.is(at, Kind::BetweenAfter));
        self.is_of_date(self.skip_in(end + 1))
            && (self.is(end, Kind::To) || self.is(end, Kind::And) && is_between())
    }

    pub(super) fn is_prefixed(&self, at: usize) -> bool {
        let kinds = [Kind::In, Kind::About, Kind::Last, Kind::This, Kind::Next, Kind::Between];
        let links = |lead: usize| {
            let is_after_date = lead.checked_sub(1).is_some_and(|at| self.is_of_date(at));
            let is_between =
                || (lead.saturating_sub(BETWEEN_WORDS)..lead).any(|at| self.is(at, Kind::Between));
            self.is(lead, Kind::To) && is_after_date || self.is(lead, Kind::And) && is_between()
        };
        self.is_led(at, &kinds)
            || self.lead(at).is_some_and(|lead| self.side(lead).is_some() || links(lead))
    }

    pub(super) fn is_of_date(&self, at: usize) -> bool {
        self.written(at).is_some()
            || self.month_name(at).is_some()
            || self
                .any(at, |kind| {
                    let is_of_date = matches!(
                        kind,
                        Kind::Mark(_) | Kind::SideAfter(_) | Kind::Season(_) | Kind::Holiday(_)
                    );
                    is_of_date.then_some(())
                })
                .is_some()
    }

    /// Whether an ambiguous word is a time here: what marks it stands beside it, and it begins no name ("Spring Boot").
    pub(super) fn is_marked(&self, start: usize, end: usize) -> bool {
        let Some(word) = self.tokens.get(start) else { return false };
        if !word.is_ambiguous {
            return self.is_signed(start, end);
        }
        let begins_name = self.tokens.get(end).is_some_and(|next| {
            next.is_capital && next.kinds.is_empty()
                || self.is(end, Kind::Article)
                || self.unit(end).is_some_and(|unit| unit != Unit::Month)
        });
        let follows_article = start.checked_sub(1).is_some_and(|at| self.is(at, Kind::Article));
        let is_led = self.is(start, Kind::In) || self.is_prefixed(start) && !follows_article;
        let is_followed = self.is_any(end, &[Kind::InAfter, Kind::Last, Kind::Unit(Unit::Month)])
            || self.side_after(end).is_some()
            || self.goes_on(end);
        !word.is_possessive && !begins_name && (is_led || is_followed)
    }

    pub(super) fn weekday_name(&self, at: usize) -> Option<Weekday> {
        self.any(at, |kind| match kind {
            Kind::Weekday(nth) => Some(Weekday::Monday.nth_next(nth)),
            _ => None,
        })
    }
}
