//! The grammar of times: reads the words of a question from left to right.

use std::ops::Range;

use time::{Date, Duration, Month};

use super::calendar::{Unit, YEARS, day, months_back, of_month, of_week, of_year};
use super::lexicon::{Kind, TimeRelation};
use super::numeric::{Written, quarter_of};
use super::reading::TimeReading;

/// For the 29th of February.
const YEARS_BACK: i32 = 9;

/// How precisely the days are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatePrecision {
    /// Relative to today.
    FromToday,
    Year,
    /// A month or day without a year.
    OfSomeYear,
    Dated,
}

/// A time, and the number of the word after it.
type Parsed = (DatePrecision, Range<Date>, usize);

#[derive(Debug)]
pub struct TimeFound {
    pub precision: DatePrecision,
    pub days: Range<Date>,
    pub words: Range<usize>,
}

impl TimeReading<'_> {
    /// All times, from left to right.
    pub fn found(&self) -> Vec<TimeFound> {
        let (mut at, mut found) = (0, Vec::new());
        while at < self.tokens.len() {
            let Some((precision, days, end)) = self.parse(at) else {
                at += 1;
                continue;
            };
            found.push(TimeFound { precision, days, words: at..end });
            at = end;
        }
        found
    }

    fn parse(&self, at: usize) -> Option<Parsed> {
        self.date(at)
            .or_else(|| self.stretch(at))
            .or_else(|| self.ago(at))
            .or_else(|| self.ahead(at))
            .or_else(|| self.relative(at))
            .or_else(|| self.decade(at))
            .or_else(|| self.year(at))
            .or_else(|| self.quarter(at, None))
            .or_else(|| self.month(at, None))
            .or_else(|| self.season(at, None))
            .or_else(|| self.holiday(at, None))
            .or_else(|| self.weekday(at))
            .or_else(|| self.weekend(at))
    }

    /// "2023-05-07", "7.5.", "yesterday", "last night".
    fn date(&self, at: usize) -> Option<Parsed> {
        let is_meant = || self.is_signed(at, at + 1) || self.is_led(at, &[Kind::On]);
        match self.written(at) {
            Some(Written::Days { from, until, needs_sign }) => {
                (!needs_sign || is_meant()).then_some((DatePrecision::Dated, from..until, at + 1))
            }
            Some(Written::DayOfMonth { day: number, month }) if is_meant() => {
                let year = self.latest_year(month, number)?;
                let days = day(Date::from_calendar_date(year, month, number).ok()?)?;
                Some((DatePrecision::OfSomeYear, days, at + 1))
            }
            Some(_) => None,
            None if self.is(at, Kind::LastNight) => {
                let days = self.today().previous_day()?..self.today().next_day()?;
                Some((DatePrecision::FromToday, days, at + 1))
            }
            None => None,
        }
    }

    /// "the last three months", "les trois derniers mois", "过去三个月"; "the next two weeks".
    fn stretch(&self, at: usize) -> Option<Parsed> {
        let sign = |at: usize| match () {
            () if self.is(at, Kind::Last) => Some(1),
            () if self.is(at, Kind::Next) => Some(-1),
            () => None,
        };
        let (sign, (count, unit, end)) = match sign(at) {
            Some(sign) => (sign, self.units(self.skip(at + 1))?),
            None => {
                // "drei letzte Monate", "tre mesi scorsi"
                let between = self.count(at).and_then(|(count, end)| {
                    let unit = self.skip(self.skip(end) + 1);
                    Some((sign(self.skip(end))?, (count, self.unit(unit)?, unit + 1)))
                });
                let behind = || {
                    let (count, unit, end) = self.units(at).filter(|(count, ..)| *count > 1)?;
                    let last = self.skip(end);
                    Some((sign(last)?, (count, unit, last + 1)))
                };
                between.or_else(behind)?
            }
        };
        let (date, today) = (self.back(unit, sign * count)?, self.today());
        let days = date.min(today)..date.max(today).next_day()?;
        Some((DatePrecision::FromToday, days, end))
    }

    /// "two weeks ago", "vor zwei Wochen", "il y a deux semaines", "三天前".
    fn ago(&self, at: usize) -> Option<Parsed> {
        let (count, unit, end) = self.units_beside(at, Kind::AgoBefore, Kind::AgoAfter)?;
        let date = self.back(unit, count)?;
        let finer = match unit {
            Unit::Year => self.part_of_year(self.skip_in(end), date.year()),
            _ => None,
        };
        finer.or_else(|| Some((DatePrecision::FromToday, unit.around(date)?, end)))
    }

    /// "in two weeks", "两周后"; in a question about the past it is how long something took.
    fn ahead(&self, at: usize) -> Option<Parsed> {
        let (count, unit, end) = self.units_beside(at, Kind::AheadBefore, Kind::AheadAfter)?;
        let days = unit.around(self.back(unit, -count)?)?;
        (!self.is_past()).then_some((DatePrecision::FromToday, days, end))
    }

    /// A number of units with one of these words before or after it.
    fn units_beside(&self, at: usize, before: Kind, after: Kind) -> Option<(i64, Unit, usize)> {
        if self.is(at, before) {
            return self.units(at + 1 + usize::from(self.is(at + 1, Kind::About)));
        }
        let (count, unit, end) = self.units(at)?;
        self.is(end, after).then_some((count, unit, end + 1))
    }

    fn back(&self, unit: Unit, count: i64) -> Option<Date> {
        match unit {
            Unit::Minute => Some(self.now.checked_sub(Duration::minutes(count))?.date()),
            Unit::Hour => Some(self.now.checked_sub(Duration::hours(count))?.date()),
            _ => unit.before(self.today(), count),
        }
    }

    /// "last week", "la semaine dernière", "去年"; "last year in May", "last week on Friday".
    fn relative(&self, at: usize) -> Option<Parsed> {
        let (unit, back, end) = self.relative_unit(at)?;
        let date = unit.before(self.today(), back)?;
        let part = self.skip_in(end);
        let finer = match unit {
            Unit::Year => self.part_of_year(part, date.year()),
            Unit::Month => self.day_of(part, date),
            Unit::Week => self.weekday_of(part, date),
            _ => None,
        };
        finer.or_else(|| Some((DatePrecision::FromToday, unit.around(date)?, end)))
    }

    /// The unit, how many of it back, and the word after it.
    fn relative_unit(&self, at: usize) -> Option<(Unit, i64, usize)> {
        // Hindi "कल" is yesterday or tomorrow.
        let is_meant = self.tokens.get(at).is_some_and(|word| !word.is_ambiguous) || self.is_past();
        let word = self.any(at, |kind| match kind {
            Kind::Back(unit, back) if is_meant => Some((unit, back, at + 1)),
            _ => None,
        });
        let before = || {
            let back = self.any(at, |kind| match kind {
                Kind::Last => Some(1),
                Kind::This => Some(0),
                Kind::Next => Some(-1),
                _ => None,
            });
            let unit = self.skip(at + 1);
            // Polish "lata" is "years", and of the summer.
            let is_season = self.season_name(unit).is_some();
            Some((self.unit(unit).filter(|_| !is_season)?, back?, unit + 1))
        };
        let behind = || {
            let back = self.any(at + 1, |kind| match kind {
                Kind::Last => Some(1),
                Kind::Next => Some(-1),
                _ => None,
            });
            Some((self.unit(at)?, back?, at + 2))
        };
        // "the last day" of something is none.
        let is_long = |(unit, ..): &(Unit, i64, usize)| *unit > Unit::Day;
        word.or_else(|| before().or_else(behind).filter(is_long))
    }

    /// "last month on the 5th"
    fn day_of(&self, at: usize, month: Date) -> Option<Parsed> {
        let (number, end) = self.day_number(at).filter(|(_, end)| *end > at + 1)?;
        let days = day(month.replace_day(number).ok()?)?;
        Some((DatePrecision::FromToday, days, end))
    }

    fn part_of_year(&self, at: usize, year: i32) -> Option<Parsed> {
        self.month(at, Some(year))
            .or_else(|| self.season(at, Some(year)))
            .or_else(|| self.holiday(at, Some(year)))
            .or_else(|| self.quarter(at, Some(year)))
    }

    fn relative_year(&self, at: usize) -> Option<(i32, usize)> {
        let (unit, back, end) = self.relative_unit(at)?;
        Some((Unit::Year.before(self.today(), back)?.year(), end)).filter(|_| unit == Unit::Year)
    }

    /// A year after a month, a season or a quarter: "2023", "of 2023", "last year".
    fn year_behind(&self, at: usize) -> Option<(i32, usize)> {
        let number = self.skip(at);
        let Some(year) = self.year_number(number) else {
            return self.relative_year(self.skip_in(at));
        };
        Some((year, number + 1 + usize::from(self.is(number + 1, Kind::Mark(Unit::Year)))))
    }

    /// "2023" after a preposition, "2023年", "the year 2023"; "2023年5月7日".
    fn year(&self, at: usize) -> Option<Parsed> {
        let year = self.year_number(at)?;
        let is_unit = self.is(at + 1, Kind::Mark(Unit::Year));
        let end = at + 1 + usize::from(is_unit);
        if !is_unit
            && (self.unit(at + 1).is_some()
                || self.any(at + 1, |kind| matches!(kind, Kind::Mark(_)).then_some(())).is_some())
        {
            return None;
        }
        let part = if is_unit { self.skip_in(end) } else { end };
        let is_ambiguous = self.tokens.get(part).is_some_and(|word| word.is_ambiguous);
        if let Some(finer) = self.part_of_year(part, year).filter(|_| is_unit || !is_ambiguous) {
            return Some(finer);
        }
        // In Chinese, Japanese and Korean a year has its mark.
        let is_meant = is_unit
            || self.side_after(end).is_some()
            || !self.lexicon.times.unspaced && self.is_signed(at, end);
        is_meant.then_some((DatePrecision::Year, of_year(year)?, end))
    }

    /// "the 90s", "in den 1990ern", "les années 90", "90年代", "the nineties".
    fn decade(&self, at: usize) -> Option<Parsed> {
        let named = self.any(at, |kind| match kind {
            Kind::Decade(year) => Some(year),
            _ => None,
        });
        let is_before = self.is(at, Kind::DecadeBefore);
        let number = at + usize::from(is_before);
        let is_after = self.is(number + 1, Kind::DecadeAfter);
        let year = match (named, self.written(number)) {
            (Some(year), _) => Some(year),
            (None, Some(Written::Number { value, digits: 2 | 4 })) if is_before || is_after => {
                let value = i32::try_from(value).ok()?;
                let century = if value + 2000 > self.today().year() { 1900 } else { 2000 };
                Some(if value < 100 { value + century } else { value })
            }
            _ => None,
        };
        let year = year.filter(|year| year % 10 == 0 && YEARS.contains(year))?;
        let is_long = self.year_number(number).is_some();
        // Not "in his 90s", "in 30s".
        let has_article =
            at.checked_sub(1).is_some_and(|at| self.is_any(at, &[Kind::Article, Kind::About]));
        let is_meant = is_before
            || is_long
            || has_article
            || self.lexicon.times.unspaced
            || self.lexicon.times.articles.is_empty();
        let end = if named.is_some() { at + 1 } else { number + 1 + usize::from(is_after) };
        let days = of_year(year)?.start..of_year(year + 9)?.end;
        is_meant.then_some((DatePrecision::Year, days, end))
    }

    /// "Q3 2025", "the third quarter of 2025".
    fn quarter(&self, at: usize, year: Option<i32>) -> Option<Parsed> {
        let (nth, end) = match self.written(at) {
            Some(Written::Quarter(nth)) => (nth, at + 1),
            _ => {
                let ordinal = self.any(at, |kind| match kind {
                    Kind::Ordinal(nth) => Some(nth),
                    _ => None,
                });
                let nth =
                    ordinal.or_else(|| self.number(at)).filter(|nth| (1..=4).contains(nth))?;
                let unit = at + 1 + usize::from(self.is(at + 1, Kind::DayEnding));
                let kinds = [Kind::Unit(Unit::Quarter), Kind::Mark(Unit::Quarter)];
                (nth, self.is_any(unit, &kinds).then_some(unit + 1)?)
            }
        };
        let given = year.map(|year| (year, end)).or_else(|| self.year_behind(end));
        if let Some((year, end)) = given {
            return Some((DatePrecision::Dated, quarter_of(nth, year)?, end));
        }
        let is_meant = self.is_signed(at, end) || self.is_led(at, &[Kind::On]);
        let this_year = self.today().year();
        let latest = (0..2).filter_map(|back| quarter_of(nth, this_year - back));
        let days =
            latest.filter(|days| days.start <= self.today()).max_by_key(|days| days.start)?;
        is_meant.then_some((DatePrecision::OfSomeYear, days, end))
    }

    /// "May 2023", "7 May", "May 7th, 2023", "the 7th of May", "im Mai", "last May", "5月7日".
    fn month(&self, at: usize, year: Option<i32>) -> Option<Parsed> {
        let with_day = self.day_number(at).and_then(|(number, next)| {
            let name = self.skip(next);
            Some((Some(number), name, self.month_name(name)?))
        });
        let (before, name, (month, mut end)) =
            with_day.or_else(|| Some((None, at, self.month_name(at)?)))?;
        let mut number = before;
        let mut of_year = year.map(|year| (year, end)).or_else(|| self.year_behind(end));
        if of_year.is_none_or(|(_, next)| next == end)
            && number.is_none()
            && let Some((behind, next)) = self.day_number(self.skip(end))
            && self.unit(next).is_none()
        {
            (number, end) = (Some(behind), next);
            of_year = year.map(|year| (year, end)).or_else(|| self.year_behind(end));
        }
        if let Some((_, next)) = of_year {
            end = next;
        }
        // "sept ans": seven years.
        let is_number =
            self.tokens[name].is_ambiguous && before.is_none() && self.unit(name + 1).is_some();
        let is_digits = self.written(name).is_some();
        let is_meant =
            of_year.is_some() || number.is_some() || is_digits || self.is_marked(name, end);
        if is_number || !is_meant {
            return None;
        }
        let of_year = of_year.map(|(year, _)| year);
        let given = match of_year {
            Some(year) => year,
            None if self.is_next(at, end) => {
                let this = self.today().year();
                this + i32::from(Date::from_calendar_date(this, month, 1).ok()? <= self.today())
            }
            None => self.latest_year(month, number.unwrap_or(1))?,
        };
        let first = Date::from_calendar_date(given, month, number.unwrap_or(1)).ok()?;
        let days = match number {
            Some(_) => day(first)?,
            None => of_month(first)?,
        };
        Some((precision(of_year), days, end))
    }

    /// The latest year in which the day exists and has begun.
    fn latest_year(&self, month: Month, number: u8) -> Option<i32> {
        let years = (0..YEARS_BACK).map(|back| self.today().year() - back);
        let mut begun = years.filter(|year| {
            Date::from_calendar_date(*year, month, number).is_ok_and(|day| day <= self.today())
        });
        begun.next()
    }

    /// "last summer", "im Sommer 2022", "l'été dernier"; northern hemisphere.
    fn season(&self, at: usize, year: Option<i32>) -> Option<Parsed> {
        let season = self.season_name(at)?;
        let month = Month::try_from(season * 3 + 3).ok()?;
        let given = year.map(|year| (year, at + 1)).or_else(|| self.year_behind(at + 1));
        if given.is_none() && !self.is_marked(at, at + 1) {
            return None;
        }
        let of = |year: i32| -> Option<Range<Date>> {
            let first = Date::from_calendar_date(year, month, 1).ok()?;
            Some(first..of_month(months_back(first, -2)?)?.end)
        };
        if let Some((year, end)) = given {
            return Some((DatePrecision::Dated, of(year)?, end));
        }
        Some((DatePrecision::OfSomeYear, self.nearest(at, of)?, at + 1))
    }

    /// "last Christmas", "since Easter"; "at Christmas" in a question about the past.
    fn holiday(&self, at: usize, year: Option<i32>) -> Option<Parsed> {
        let (holiday, end) = (self.holiday_name(at)?, at + 1);
        let given = year.map(|year| (year, end)).or_else(|| self.year_behind(end));
        if let Some((year, end)) = given {
            return Some((DatePrecision::Dated, holiday.days(year)?, end));
        }
        let side = self.lead(at).and_then(|lead| self.side(lead)).or(self.side_after(end));
        let is_since = matches!(side, Some(TimeRelation::Since | TimeRelation::After));
        let is_on =
            self.lexicon.times.unspaced || self.is_signed(at, end) || self.is_led(at, &[Kind::On]);
        let is_meant =
            self.is_last(at, end) || self.is_next(at, end) || is_since || is_on && self.is_past();
        let days = self.nearest(at, |year| holiday.days(year)).filter(|_| is_meant)?;
        Some((DatePrecision::OfSomeYear, days, end))
    }

    /// The days `of` a year: of the latest in which they have begun, or for "last" and "next" are over or still to come.
    fn nearest(&self, at: usize, of: impl Fn(i32) -> Option<Range<Date>>) -> Option<Range<Date>> {
        let today = self.today();
        let (is_last, is_next) = (self.is_last(at, at + 1), self.is_next(at, at + 1));
        let mut latest = (-1..3).filter_map(|back| of(today.year() - back));
        match is_next {
            true => latest.rfind(|days| days.start > today),
            false => {
                latest.find(|days| if is_last { days.end <= today } else { days.start <= today })
            }
        }
    }

    /// "last Monday", "since Monday", "Friday last week", or "on Monday" in a question about the past: the latest before today.
    fn weekday(&self, at: usize) -> Option<Parsed> {
        let weekday = self.weekday_name(at)?;
        let end = at + 1;
        if let Some((Unit::Week, back, end)) = self.relative_unit(self.skip_in(end)) {
            let week = Unit::Week.before(self.today(), back)?;
            return Some((DatePrecision::FromToday, day(self.weekday_of(at, week)?.1.start)?, end));
        }
        let today = self.today();
        let before = at.checked_sub(1);
        let is_before = |kind| before.is_some_and(|before| self.is(before, kind));
        if self.tokens[at].is_ambiguous && is_before(Kind::Article) {
            return None;
        }
        // Chinese "上周五" is of last week.
        let weeks = [(Kind::Last, 1), (Kind::This, 0), (Kind::Next, -1)];
        let week = weeks.into_iter().find(|(kind, _)| is_before(*kind));
        if let Some((_, back)) = week.filter(|_| self.lexicon.times.unspaced) {
            return self.weekday_of(at, Unit::Week.before(today, back)?);
        }
        if self.is_next(at, end) {
            return Some((DatePrecision::FromToday, day(today.next_occurrence(weekday))?, end));
        }
        let is_on = || {
            self.is_led(at, &[Kind::On, Kind::In])
                || self.is(end, Kind::InAfter)
                || self.lexicon.times.unspaced
        };
        let is_side = self.lead(at).is_some_and(|lead| self.side(lead).is_some())
            || self.side_after(end).is_some();
        let is_meant = self.is_last(at, end) || is_side || is_on() && self.is_past();
        is_meant.then_some((DatePrecision::FromToday, day(today.prev_occurrence(weekday))?, end))
    }

    /// In the week of this date.
    fn weekday_of(&self, at: usize, date: Date) -> Option<Parsed> {
        let weekday = self.weekday_name(at)?;
        let days = i64::from(weekday.number_days_from_monday());
        let days = day(of_week(date)?.start.checked_add(Duration::days(days))?)?;
        Some((DatePrecision::FromToday, days, at + 1))
    }

    /// "last weekend", "at the weekend" in a question about the past.
    fn weekend(&self, at: usize) -> Option<Parsed> {
        let end = at + 1;
        if !self.is(at, Kind::Weekend) {
            return None;
        }
        let has_begun = self.today().weekday().number_days_from_monday() >= 5;
        let weeks = match () {
            () if self.is_last(at, end) => 1,
            () if self.is_next(at, end) => -1,
            () if self.is_led(at, &[Kind::This]) => 0,
            () if (self.is_led(at, &[Kind::On, Kind::In]) || self.is(end, Kind::InAfter))
                && self.is_past() =>
            {
                i64::from(!has_begun)
            }
            () => return None,
        };
        let monday = of_week(Unit::Week.before(self.today(), weeks)?)?.end;
        Some((DatePrecision::FromToday, monday.checked_sub(Duration::days(2))?..monday, end))
    }
}

fn precision(year: Option<i32>) -> DatePrecision {
    match year {
        Some(_) => DatePrecision::Dated,
        None => DatePrecision::OfSomeYear,
    }
}
