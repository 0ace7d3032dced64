//! What stands around a time: "before", "between … and …", "the week before …".

use std::ops::Range;

use time::{Date, Duration};

use super::Days;
use super::calendar::{Unit, months_back};
use super::lexicon::{Kind, TimeRelation};
use super::parse::{DatePrecision, TimeFound};
use super::reading::{LINK_WORDS, TimeReading};

impl TimeReading<'_> {
    /// The days that are meant. A date goes before what is relative to today: "last Friday, on 23 January 2022".
    pub fn days(&self, found: &[TimeFound]) -> Option<Days> {
        if let Some(days) = self.range(found) {
            return Some(Days { from: Some(days.start), until: Some(days.end) });
        }
        let surest = found.iter().map(|one| one.precision).max()?;
        let first = found.iter().find(|one| one.precision == surest)?;
        let days = first.days.clone();
        if let Some(side) = self.side_after(first.words.end) {
            return Some(Days::beside(Some(side), days));
        }
        let Some((at, side)) = self.side_before(first.words.start) else {
            return Some(Days::beside(None, days));
        };
        // "the week before 16 November"
        let length = self.lead(at).and_then(|at| self.length(at));
        Some(match (side, length) {
            (TimeRelation::Before, Some(length)) => {
                Days { from: days.start.checked_sub(length), until: Some(days.end) }
            }
            (TimeRelation::After, Some(length)) => {
                Days { from: Some(days.start), until: days.end.checked_add(length) }
            }
            _ => Days::beside(Some(side), days),
        })
    }

    fn side_before(&self, at: usize) -> Option<(usize, TimeRelation)> {
        let links =
            [Kind::Article, Kind::In, Kind::On, Kind::About, Kind::Last, Kind::This, Kind::Next];
        let mut before = (0..at)
            .rev()
            .take(LINK_WORDS)
            .skip_while(|at| self.side(*at).is_none() && self.is_any(*at, &links));
        let at = before.next()?;
        Some((at, self.side(at)?))
    }

    /// The approximate length of a unit or weekday in front of "before" or "after".
    fn length(&self, at: usize) -> Option<Duration> {
        let is_day = self.weekday_name(at).is_some() || self.is(at, Kind::Weekend);
        let unit = self.unit(at).or(is_day.then_some(Unit::Week))?;
        let count = at.checked_sub(1).and_then(|at| self.count(at)).map_or(1, |(count, _)| count);
        unit.length().checked_mul(i32::try_from(count).ok()?)
    }

    /// "between August 11 and August 15 2023", "from May to July", "5月から7月まで". A missing year of the first is that of the
    /// second.
    fn range(&self, found: &[TimeFound]) -> Option<Range<Date>> {
        found
            .windows(2)
            .find_map(|two| {
                let [first, last] = two else { return None };
                if !self.is_linked(
                    first.words.start,
                    first.words.end..last.words.start,
                    last.words.end,
                ) {
                    return None;
                }
                let mut from = first.days.start;
                if first.precision == DatePrecision::OfSomeYear
                    && last.precision == DatePrecision::Dated
                {
                    from = from.replace_year(last.days.start.year()).ok()?;
                }
                if from >= last.days.end && first.precision <= DatePrecision::OfSomeYear {
                    from = months_back(from, 12)?;
                }
                (from < last.days.end).then_some(from..last.days.end)
            })
            .or_else(|| {
                // "between 11 and 15 August"
                let last =
                    found.iter().find(|one| one.days.start.next_day() == Some(one.days.end))?;
                let link = self.lead(last.words.start)?;
                let number = link.checked_sub(1)?;
                let (first, _) = self.day_number(number).filter(|(_, end)| *end == link)?;
                let is_linked = self.is_linked(number, link..link + 1, last.words.end);
                let from = last.days.start.replace_day(first).ok()?;
                (is_linked && from < last.days.start).then_some(from..last.days.end)
            })
    }

    fn is_linked(&self, start: usize, link: Range<usize>, end: usize) -> bool {
        let of_range =
            [Kind::To, Kind::SideAfter(TimeRelation::Since), Kind::Side(TimeRelation::Until)];
        let others = [Kind::Article, Kind::In, Kind::On, Kind::InAfter, Kind::And];
        let is_between = self.is_led(start, &[Kind::Between]) || self.is(end, Kind::BetweenAfter);
        let links = link.len() <= LINK_WORDS
            && link.clone().all(|at| self.is_any(at, &of_range) || self.is_any(at, &others));
        let says_to = link.clone().any(|at| self.is_any(at, &of_range));
        let says_and = link.clone().any(|at| self.is(at, Kind::And));
        links && (says_to || says_and && is_between)
    }

    /// The words that belong to the times found: with the prepositions and the like around them.
    pub fn around(&self, words: &Range<usize>) -> Range<usize> {
        let is_before = |at: &usize| {
            let kinds = [
                Kind::Article,
                Kind::In,
                Kind::On,
                Kind::About,
                Kind::Last,
                Kind::This,
                Kind::Next,
                Kind::Between,
                Kind::To,
                Kind::And,
            ];
            self.is_any(*at, &kinds) || self.side(*at).is_some() || self.unit(*at).is_some()
        };
        let is_after = |at: &usize| {
            self.is_any(*at, &[Kind::Last, Kind::Next, Kind::InAfter, Kind::BetweenAfter])
                || self.side_after(*at).is_some()
                || self.unit(*at).is_some()
        };
        let before = (0..words.start).rev().take(LINK_WORDS).take_while(is_before).count();
        let after = (words.end..words.end + LINK_WORDS).take_while(is_after).count();
        words.start - before..words.end + after
    }
}
