//! Parses the time that a question names ("last summer", "im Mai 2023", "hace dos semanas") into days.

mod calendar;
mod event;
mod words;

use std::ops::Range;

use time::{Date, Duration, Month, OffsetDateTime};

use crate::clock::Zone;
use crate::memories::Period;
use calendar::{day, day_number, months_back, of_month, of_week, of_year, year_of};
pub use event::EventClause;
use words::{
    ARTICLES, BETWEEN, DAYS, IN, LAST, MONTHS, NUMBERS, PAST, SEASONS, SIDES, THIS, TimeRelation,
    UNITS, Unit, WEEKDAYS, WEEKEND, of,
};
pub use words::{words_of, words_of_time};

/// Within this many words after "between", a word is a month.
const BETWEEN_WORDS: usize = 4;

/// Half-open range of days; `None`: unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Days {
    from: Option<Date>,
    until: Option<Date>,
}

/// The period that a question names, in the given time zone.
pub fn named(question: &str, zone: &str, now: OffsetDateTime) -> Option<Period> {
    let zone = Zone::from_column(zone);
    let days = days(question, zone.local(now).date())?;
    Some(Period {
        from: days.from.map(|day| zone.midnight(day)),
        until: days.until.map(|day| zone.midnight(day)),
    })
}

/// The days that a question names; `today` is the user's. An explicit date takes precedence over a relative one: "what she
/// did last Friday, on 23 January 2022".
fn days(question: &str, today: Date) -> Option<Days> {
    let words = words_of(question);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = (0..words.len()).filter_map(|at| Some((at, days_at(&words, at, today)?)));
    let found: Vec<(usize, (DatePrecision, Range<Date>))> = found.collect();
    if let Some(days) = between(&words, &found) {
        return Some(days);
    }
    let surest = found.iter().map(|(_, (sureness, _))| *sureness).max()?;
    let (at, (_, first)) = found.iter().find(|(_, (sureness, _))| *sureness == surest)?;
    let days = first.clone();
    let mut led_by = led_by(&words, *at);
    let nearest = led_by.next().unwrap_or_default();
    let side = of(&SIDES, nearest);
    let stretch = led_by.next().and_then(stretch);
    Some(match (side, stretch) {
        // "the week before 16 November"
        (Some(TimeRelation::Before), Some(stretch)) => {
            Days { from: days.start.checked_sub(stretch), until: Some(days.end) }
        }
        (Some(TimeRelation::After), Some(stretch)) => {
            Days { from: Some(days.start), until: days.end.checked_add(stretch) }
        }
        _ => beside(side, days),
    })
}

/// "between August 11 and August 15 2023": a missing year of the first date is that of the second.
fn between(words: &[&str], found: &[(usize, (DatePrecision, Range<Date>))]) -> Option<Days> {
    let [(at, (sureness, first)), (_, (_, last)), ..] = found else {
        return None;
    };
    let nearest = led_by(words, *at).next()?;
    if !BETWEEN.contains(&nearest) {
        return None;
    }
    let from = match sureness {
        DatePrecision::OfSomeYear => first.start.replace_year(last.start.year()).ok()?,
        _ => first.start,
    };
    (from < last.end).then_some(Days { from: Some(from), until: Some(last.end) })
}

/// The preceding words, nearest first, without those that are part of the time itself.
fn led_by<'a>(words: &[&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    before(words, at)
        .filter(|word| !IN.contains(word) && !LAST.contains(word) && day_number(word).is_none())
}

/// How precisely the days are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DatePrecision {
    /// Relative to today.
    FromToday,
    Year,
    /// A month or day without a year.
    OfSomeYear,
    Dated,
}

/// The approximate length of a unit or weekday in front of "before" or "after".
fn stretch(word: &str) -> Option<Duration> {
    let days = match of(&UNITS, word) {
        Some(Unit::Day) => 2,
        Some(Unit::Month) => 32,
        Some(Unit::Year) => 366,
        Some(Unit::Week) => 8,
        None if WEEKEND.contains(&word) || of(&WEEKDAYS, word).is_some() => 8,
        None => return None,
    };
    Some(Duration::days(days))
}

fn beside(side: Option<TimeRelation>, days: Range<Date>) -> Days {
    let (from, until) = match side {
        None => (Some(days.start), Some(days.end)),
        Some(TimeRelation::Before) => (None, Some(days.start)),
        Some(TimeRelation::After) => (Some(days.end), None),
        Some(TimeRelation::Since) => (Some(days.start), None),
        Some(TimeRelation::Until) => (None, Some(days.end)),
    };
    Days { from, until }
}

/// The preceding words, nearest first, without articles.
fn before<'a>(words: &[&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    words[..at].iter().rev().copied().filter(|word| !ARTICLES.contains(word))
}

fn days_at(words: &[&str], at: usize, today: Date) -> Option<(DatePrecision, Range<Date>)> {
    let word = words[at];
    let counted = || {
        ago(words, at, today)
            .or_else(|| of(&DAYS, word).and_then(|back| day(today - Duration::days(back))))
            .map(|days| (DatePrecision::FromToday, days))
    };
    let counted_too = || {
        unit(words, at, today)
            .or_else(|| weekday(words, at, today))
            .map(|days| (DatePrecision::FromToday, days))
    };
    counted()
        .or_else(|| Some((DatePrecision::Dated, written(word)?)))
        .or_else(|| month(words, at, today))
        .or_else(|| season(words, at, today))
        .or_else(counted_too)
        .or_else(|| Some((DatePrecision::Year, of_year(year_of(word)?)?)))
}

/// "two weeks ago", "vor zwei Wochen", "il y a deux semaines", "hace dos semanas".
fn ago(words: &[&str], at: usize, today: Date) -> Option<Range<Date>> {
    let number = |word: &str| {
        of(&NUMBERS, word).or_else(|| word.parse().ok().filter(|n| (1..1_000).contains(n)))
    };
    let word = |n: usize| words.get(at + n).copied().unwrap_or_default();
    let (first, second) = match (word(0), word(1), word(2)) {
        ("vor" | "hace", number, unit) => (number, unit),
        ("il", "y", "a") => (word(3), word(4)),
        (number, unit, "ago") => (number, unit),
        _ => return None,
    };
    let (count, unit) = (number(first)?, of(&UNITS, second)?);
    match unit {
        Unit::Day => day(today.checked_sub(Duration::days(count))?),
        Unit::Week => of_week(today.checked_sub(Duration::weeks(count))?),
        Unit::Month => of_month(months_back(today, count)?),
        Unit::Year => of_year(today.year() - i32::try_from(count).ok()?),
    }
}

/// "2023-05-07", "2023-05".
fn written(word: &str) -> Option<Range<Date>> {
    let mut parts = word.split('-');
    let year = year_of(parts.next()?)?;
    let month = Month::try_from(parts.next()?.parse::<u8>().ok()?).ok()?;
    match parts.next() {
        None => of_month(Date::from_calendar_date(year, month, 1).ok()?),
        Some(number) => day(Date::from_calendar_date(year, month, number.parse().ok()?).ok()?),
    }
}

/// "May 2023", "7 May", "May 7th, 2023", "im Mai", "last May".
fn month(words: &[&str], at: usize, today: Date) -> Option<(DatePrecision, Range<Date>)> {
    let month = of(&MONTHS, words[at])?;
    let after: Vec<&str> =
        words[at + 1..].iter().copied().filter(|word| !ARTICLES.contains(word)).take(2).collect();
    let of_day = before(words, at).next().and_then(day_number);
    let year = after.first().and_then(|word| year_of(word));
    let (of_day, year) = match year {
        Some(_) => (of_day, year),
        None => match after.first().and_then(|word| day_number(word)) {
            Some(n) => (Some(n), after.get(1).and_then(|word| year_of(word))),
            None => (of_day, None),
        },
    };
    let mut nearest = before(words, at).filter(|word| day_number(word).is_none());
    let led_by = nearest.next().unwrap_or_default();
    let is_meant = year.is_some()
        || of_day.is_some()
        || [IN, LAST, THIS].iter().any(|some| some.contains(&led_by))
        || is_last(words, at)
        || of(&SIDES, led_by).is_some()
        || words[at.saturating_sub(BETWEEN_WORDS)..at].iter().any(|word| BETWEEN.contains(word));
    if !is_meant {
        return None;
    }
    // Without a year, the latest that has begun.
    let begun = |date: &Date| *date <= today;
    let year_of_it = year.unwrap_or_else(|| {
        let this_year = Date::from_calendar_date(today.year(), month, of_day.unwrap_or(1)).ok();
        today.year() - i32::from(!this_year.as_ref().is_some_and(begun))
    });
    let first = Date::from_calendar_date(year_of_it, month, of_day.unwrap_or(1)).ok()?;
    let days = match of_day {
        Some(_) => day(first)?,
        None => of_month(first)?,
    };
    Some((sureness(year), days))
}

fn sureness(year: Option<i32>) -> DatePrecision {
    match year {
        Some(_) => DatePrecision::Dated,
        None => DatePrecision::OfSomeYear,
    }
}

/// "last summer", "im Sommer 2022", "l'été dernier"; northern hemisphere.
fn season(words: &[&str], at: usize, today: Date) -> Option<(DatePrecision, Range<Date>)> {
    let month = of(&SEASONS, words[at])?;
    let mut after = words[at + 1..].iter().filter(|word| !ARTICLES.contains(word));
    let year = after.next().and_then(|word| year_of(word));
    let led_by = before(words, at).next().unwrap_or_default();
    let is_meant = year.is_some()
        || is_last(words, at)
        || [IN, THIS].iter().any(|some| some.contains(&led_by))
        || of(&SIDES, led_by).is_some();
    if !is_meant {
        return None;
    }
    let of = |year: i32| -> Option<Range<Date>> {
        let first = Date::from_calendar_date(year, month, 1).ok()?;
        let last = months_back(first, -2)?;
        Some(first..of_month(last)?.end)
    };
    let days = match year {
        Some(year) => of(year)?,
        // "last" must be over; otherwise it may be the current one.
        None => (0..2)
            .filter_map(|back| of(today.year() - back))
            .find(|days| match is_last(words, at) {
                true => days.end <= today,
                false => days.start <= today,
            })
            .or_else(|| of(today.year() - 2))?,
    };
    Some((sureness(year), days))
}

/// "last week", "diesen Monat", "l'année dernière"; "the last three months".
fn unit(words: &[&str], at: usize, today: Date) -> Option<Range<Date>> {
    let unit = of(&UNITS, words[at])?;
    let led_by = before(words, at).next().unwrap_or_default();
    let count =
        of(&NUMBERS, led_by).or_else(|| led_by.parse().ok().filter(|n| (1..1_000).contains(n)));
    if let Some(count) = count {
        let mut earlier = before(words, at).skip(1);
        let is_last = earlier.next().is_some_and(|word| LAST.contains(&word))
            || words.get(at + 1).is_some_and(|word| LAST.contains(word));
        let from = match unit {
            Unit::Day => today.checked_sub(Duration::days(count)),
            Unit::Week => today.checked_sub(Duration::weeks(count)),
            Unit::Month => months_back(today, count),
            Unit::Year => months_back(today, 12 * count),
        };
        return is_last.then_some(from?..today.next_day()?);
    }
    let back = match (is_last(words, at), THIS.contains(&led_by)) {
        (true, _) => 1,
        (false, true) => 0,
        _ => return None,
    };
    match unit {
        Unit::Day => None,
        Unit::Week => of_week(today.checked_sub(Duration::weeks(back))?),
        Unit::Month => of_month(months_back(today, back)?),
        Unit::Year => of_year(today.year() - i32::try_from(back).ok()?),
    }
}

/// "last Monday", "since Monday", or "on Monday" in a question about the past: the latest before today.
fn weekday(words: &[&str], at: usize, today: Date) -> Option<Range<Date>> {
    let weekday = of(&WEEKDAYS, words[at])?;
    let led_by = words[..at].last().copied().unwrap_or_default();
    let is_past = || words.iter().any(|word| PAST.contains(word));
    let is_meant = is_last(words, at)
        || of(&SIDES, led_by).is_some()
        || (IN.contains(&led_by) || led_by == "el") && is_past();
    is_meant.then(|| day(today.prev_occurrence(weekday)))?
}

/// Whether "last" precedes the word, or follows it as in French and Spanish.
fn is_last(words: &[&str], at: usize) -> bool {
    let led_by = before(words, at).next();
    let behind = words.get(at + 1).copied();
    led_by.into_iter().chain(behind).any(|word| LAST.contains(&word))
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    /// A Thursday.
    const TODAY: Date = date!(2026 - 11 - 26);

    #[test]
    fn days_are_named_in_four_languages() {
        for (question, from, until) in [
            ("What did I say yesterday?", date!(2026 - 11 - 25), TODAY),
            ("Was habe ich vorgestern gesagt?", date!(2026 - 11 - 24), date!(2026 - 11 - 25)),
            ("qu'ai-je dit aujourd'hui ?", TODAY, date!(2026 - 11 - 27)),
            ("¿Qué dije ayer?", date!(2026 - 11 - 25), TODAY),
            ("what did we decide last week", date!(2026 - 11 - 16), date!(2026 - 11 - 23)),
            ("was war letzte Woche", date!(2026 - 11 - 16), date!(2026 - 11 - 23)),
            ("la semaine dernière", date!(2026 - 11 - 16), date!(2026 - 11 - 23)),
            ("la semana pasada", date!(2026 - 11 - 16), date!(2026 - 11 - 23)),
            ("this month", date!(2026 - 11 - 01), date!(2026 - 12 - 01)),
            ("Where did we travel last summer?", date!(2026 - 06 - 01), date!(2026 - 09 - 01)),
            ("wo waren wir im Sommer 2022", date!(2022 - 06 - 01), date!(2022 - 09 - 01)),
            ("l'été dernier", date!(2026 - 06 - 01), date!(2026 - 09 - 01)),
            ("el verano de 2021", date!(2021 - 06 - 01), date!(2021 - 09 - 01)),
            ("last winter", date!(2025 - 12 - 01), date!(2026 - 03 - 01)),
            ("Who came in May 2023?", date!(2023 - 05 - 01), date!(2023 - 06 - 01)),
            ("im Mai", date!(2026 - 05 - 01), date!(2026 - 06 - 01)),
            ("in December", date!(2025 - 12 - 01), date!(2026 - 01 - 01)),
            ("en mayo de 2023", date!(2023 - 05 - 01), date!(2023 - 06 - 01)),
            ("on 7 May 2023", date!(2023 - 05 - 07), date!(2023 - 05 - 08)),
            ("on May 7th, 2023", date!(2023 - 05 - 07), date!(2023 - 05 - 08)),
            ("am 7. Mai 2023", date!(2023 - 05 - 07), date!(2023 - 05 - 08)),
            ("el 7 de mayo de 2023", date!(2023 - 05 - 07), date!(2023 - 05 - 08)),
            ("2023-05-07", date!(2023 - 05 - 07), date!(2023 - 05 - 08)),
            ("two weeks ago", date!(2026 - 11 - 09), date!(2026 - 11 - 16)),
            ("vor drei Tagen", date!(2026 - 11 - 23), date!(2026 - 11 - 24)),
            ("il y a deux mois", date!(2026 - 09 - 01), date!(2026 - 10 - 01)),
            ("hace 3 años", date!(2023 - 01 - 01), date!(2024 - 01 - 01)),
            ("in the last three months", date!(2026 - 08 - 26), date!(2026 - 11 - 27)),
            ("what happened in 2019?", date!(2019 - 01 - 01), date!(2020 - 01 - 01)),
            ("What did I say on Monday?", date!(2026 - 11 - 23), date!(2026 - 11 - 24)),
            ("letzten Donnerstag", date!(2026 - 11 - 19), date!(2026 - 11 - 20)),
            ("lundi dernier", date!(2026 - 11 - 23), date!(2026 - 11 - 24)),
        ] {
            let expected = Days { from: Some(from), until: Some(until) };
            assert_eq!(days(question, TODAY), Some(expected), "{question}");
        }
    }

    #[test]
    fn days_begin_where_the_person_is() {
        let now = time::macros::datetime!(2026-11-25 12:00 UTC);
        let period = named("yesterday", "Pacific/Auckland", now).expect("a time");
        let begins = time::macros::datetime!(2026-11-24 11:00 UTC);
        assert_eq!((period.from, period.until), (Some(begins), Some(begins + Duration::days(1))));
    }

    #[test]
    fn before_and_after_are_open_on_one_side() {
        for (question, from, until) in [
            ("before 2020", None, Some(date!(2020 - 01 - 01))),
            ("where did I live before May 2023?", None, Some(date!(2023 - 05 - 01))),
            ("after last summer", Some(date!(2026 - 09 - 01)), None),
            ("since March", Some(date!(2026 - 03 - 01)), None),
            ("seit letztem Jahr", Some(date!(2025 - 01 - 01)), None),
            ("antes de 2020", None, Some(date!(2020 - 01 - 01))),
            ("jusqu'en 2021", None, Some(date!(2022 - 01 - 01))),
            (
                "Where was John between August 11 and August 15 2023?",
                Some(date!(2023 - 08 - 11)),
                Some(date!(2023 - 08 - 16)),
            ),
            ("zwischen März und Mai", Some(date!(2026 - 03 - 01)), Some(date!(2026 - 06 - 01))),
            (
                "where was Tim in the week before 16 November 2023?",
                Some(date!(2023 - 11 - 08)),
                Some(date!(2023 - 11 - 17)),
            ),
            (
                "What did she finish last Friday, on 23 January 2022?",
                Some(date!(2022 - 01 - 23)),
                Some(date!(2022 - 01 - 24)),
            ),
        ] {
            assert_eq!(days(question, TODAY), Some(Days { from, until }), "{question}");
        }
    }

    #[test]
    fn words_that_only_look_like_time_name_none() {
        for question in [
            "May I ask what Mars is?",
            "Does she march on?",
            "What is the summer house like?",
            "a fall down the stairs",
            "room 1234",
            "How many days a week does she train?",
            "He is the last of them",
            "before the move",
            "Which dentist is open on Friday evenings?",
            "Wer kommt am Montag?",
            "",
            "2023-13-45",
            "31 February",
            "Who is Jan?",
        ] {
            assert_eq!(days(question, TODAY), None, "{question}");
        }
        assert_eq!(days(&"ago ".repeat(100_000), TODAY), None);
    }
}
