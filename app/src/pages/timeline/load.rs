//! Changes of a memory by day, as their page shows them, in the person's time zone.

use crate::page::PageError;
use crate::view::{
    CalendarDay, DayFilters, DifferenceView, FactBar, HappeningRow, MemoryLine, StreamDay,
    TimelineFilters, TimelinePage,
};
use time::macros::{datetime, format_description};
use time::{Date, Duration, OffsetDateTime};

use crate::accounts::Viewer;
use crate::components::Axis;
use crate::input::Invalid;
use crate::memories::timeline::{
    self, ChangedItem, EventCursor, EventSubject, FactVersion, TimelineEvent,
};
use crate::memories::{ItemId, ItemSource};
use crate::page::{Page, database, invalid};
use crate::pages::item::load::{beginning, in_plain_words};
use crate::pages::memory::load::date_of;

/// Weeks in the calendar before the current one.
const WEEKS: i64 = 52;
/// The earliest possible time.
const FIRST: OffsetDateTime = datetime!(0001-01-01 0:00 UTC);
/// More changes a day than this get the darkest shade, more than a third of it the second darkest.
const MANY: i64 = 9;

impl Page {
    pub(crate) async fn timeline_view(
        &self,
        viewer: &Viewer,
        filters: &TimelineFilters,
    ) -> Result<TimelinePage, PageError> {
        let (db, user, zone) = (&self.state.db, viewer.user_id, self.zone());
        let today = zone.local(self.state.clock.now()).date();
        let first = today
            - Duration::weeks(WEEKS)
            - Duration::days(today.weekday().number_days_from_monday().into());
        let days = (first.to_julian_day()..=today.to_julian_day() + 1)
            .filter_map(|day| Date::from_julian_day(day).ok());
        let days: Vec<Date> = days.collect();
        let begins: Vec<OffsetDateTime> = days.iter().map(|day| zone.midnight(*day)).collect();
        let counts = timeline::counts(db, user, &begins).await.map_err(database)?;
        let chosen = match filters.day.as_str() {
            "" => None,
            text => Some(parse_day("day", text).map_err(invalid)?),
        };
        let within = match chosen {
            Some(day) => (zone.midnight(day), zone.midnight(day.next_day().unwrap_or(day))),
            None => (FIRST, zone.midnight(today.next_day().unwrap_or(today))),
        };
        let before = parse_before(&filters.before).map_err(invalid)?;
        let found = timeline::stream(db, user, within, before).await;
        let (found, next) = found.map_err(database)?;
        Ok(TimelinePage {
            learned: counts.iter().sum(),
            calendar: days.into_iter().zip(counts).map(calendar_day).collect(),
            chosen: chosen.map(words),
            days: self.by_day(found),
            older: next.map(|next| older(&filters.day, next)),
            difference: self.difference(viewer, filters).await?,
        })
    }

    fn by_day(&self, found: Vec<TimelineEvent>) -> Vec<StreamDay> {
        let zone = self.zone();
        let mut days: Vec<StreamDay> = Vec::new();
        for one in found {
            let date = zone.local(one.at).date();
            let iso = iso(date);
            if days.last().is_none_or(|day| day.iso != iso) {
                days.push(StreamDay { iso, words: words(date), rows: Vec::new() });
            }
            if let Some(day) = days.last_mut() {
                day.rows.push(self.happening_row(one));
            }
        }
        days
    }

    fn happening_row(&self, one: TimelineEvent) -> HappeningRow {
        let is_added = one.event == "added";
        let is_derived = one.source == ItemSource::Derived.as_str();
        let cause = match (one.event.as_str(), one.agent) {
            ("expired", _) => "it expired".to_owned(),
            ("faded", _) => "it was not used for a long time".to_owned(),
            ("added" | "superseded", None) if is_derived => {
                "derived from other memories".to_owned()
            }
            ("added", Some(agent)) if one.session.is_some() => {
                format!("read in a conversation of {agent}")
            }
            ("began" | "ended", _) => "by its dates".to_owned(),
            ("dreamt", _) => "sessions had ended".to_owned(),
            (_, Some(agent)) => format!("by {agent}"),
            (_, None) if one.by_dream == Some(true) => "by a dream".to_owned(),
            (_, None) if one.by_dream == Some(false) => {
                "by you, accepting a dream's proposal".to_owned()
            }
            // After a dream is undone, it is no longer recorded whether it acted by itself.
            ("superseded" | "put_aside" | "merged", None)
                if matches!(one.about, EventSubject::Item(_)) =>
            {
                "by you, or by a dream".to_owned()
            }
            (_, None) => "by you".to_owned(),
        };
        let href = match one.about {
            EventSubject::Item(item) => format!("/memory/{item}"),
            EventSubject::Entity(entity) => format!("/entities/{entity}"),
            // The page of the newest dreams may no longer have it.
            EventSubject::Dream(dream) => format!("/dreams?before={}#dream-{dream}", dream + 1),
        };
        HappeningRow {
            what: match one.about {
                EventSubject::Item(_) => in_plain_words(one.event),
                EventSubject::Entity(_) | EventSubject::Dream(_) => one.event,
            },
            cause,
            session: one.session.filter(|_| is_added),
            about: MemoryLine { href, text: beginning(one.beginning, timeline::CHARS_MAX) },
            instead: one.instead.map(|(item, text)| MemoryLine {
                href: format!("/memory/{item}"),
                text: beginning(text, timeline::CHARS_MAX),
            }),
            at: one.at,
        }
    }

    /// The history of a memory's key, as bars on one time axis.
    pub(crate) async fn fact_view(
        &self,
        viewer: &Viewer,
        item: ItemId,
    ) -> Result<Vec<FactBar>, PageError> {
        let found = timeline::of_fact(&self.state.db, viewer.user_id, item).await;
        let found = found.map_err(database)?;
        let (now, zone) = (self.state.clock.now(), self.zone());
        let begins = |one: &FactVersion| one.period.from.unwrap_or(one.added_at);
        let axis = Axis { from: found.iter().map(begins).min().unwrap_or(now).min(now), to: now };
        let told = |at: OffsetDateTime| date_of(zone.local(at));
        let bars = found.into_iter().map(|one| FactBar {
            bar: axis.bar_of(begins(&one), one.period),
            is_current: one.period.until.is_none_or(|until| until > now),
            is_this: one.id == item,
            when: match (one.period.from, one.period.until) {
                (Some(from), Some(until)) => format!("{} to {}", told(from), told(until)),
                (Some(from), None) => format!("since {}", told(from)),
                (None, Some(until)) => format!("until {}", told(until)),
                (None, None) => format!("added {}", told(one.added_at)),
            },
            about: MemoryLine {
                href: format!("/memory/{}", one.id),
                text: beginning(one.beginning, timeline::CHARS_MAX),
            },
        });
        Ok(bars.collect())
    }

    async fn difference(
        &self,
        viewer: &Viewer,
        filters: &TimelineFilters,
    ) -> Result<Option<DifferenceView>, PageError> {
        if filters.from.is_empty() || filters.until.is_empty() {
            return Ok(None);
        }
        let day = |text: &String| -> Result<(Date, OffsetDateTime), PageError> {
            let date = parse_day("day", text).map_err(invalid)?;
            let day = self.day(&DayFilters { as_of: iso(date), at: String::new() })?;
            Ok((date, day.as_of.unwrap_or_else(|| self.state.clock.now())))
        };
        let mut both = [day(&filters.from)?, day(&filters.until)?];
        both.sort();
        let [(from, earlier), (until, later)] = both;
        let found = timeline::difference(&self.state.db, viewer.user_id, (earlier, later)).await;
        let found = found.map_err(database)?;
        let of = |date: Date| {
            move |one: ChangedItem| MemoryLine {
                href: format!("/memory/{}?as_of={}", one.id, iso(date)),
                text: beginning(one.beginning, timeline::CHARS_MAX),
            }
        };
        let (old, new) = (of(from), of(until));
        Ok(Some(DifferenceView {
            from: words(from),
            until: words(until),
            added: found.added.into_iter().map(new).collect(),
            gone: found.gone.into_iter().map(old).collect(),
            changed: found
                .changed
                .into_iter()
                .map(|(one, other)| (of(from)(one), of(until)(other)))
                .collect(),
            is_cut: found.is_cut,
        }))
    }
}

fn calendar_day((day, count): (Date, i64)) -> CalendarDay {
    let month = format_description!("[month repr:short]");
    CalendarDay {
        iso: iso(day),
        words: words(day),
        month: (day.day() <= 7 && day.weekday().number_days_from_monday() == 0)
            .then(|| day.format(month).unwrap_or_default()),
        count,
        level: match count {
            0 => 0,
            n if n > MANY => 3,
            n if n > MANY / 3 => 2,
            _ => 1,
        },
    }
}

pub(crate) fn iso(day: Date) -> String {
    day.format(format_description!("[year]-[month]-[day]")).unwrap_or_default()
}

fn words(day: Date) -> String {
    date_of(day.midnight().assume_utc())
}

/// The URL of older entries in the stream.
fn older(day: &str, (at, id): EventCursor) -> String {
    let micros = at.unix_timestamp_nanos() / 1_000;
    match day {
        "" => format!("/timeline?before={micros}.{id}"),
        day => format!("/timeline?day={day}&before={micros}.{id}"),
    }
}

fn parse_before(text: &str) -> Result<Option<EventCursor>, Invalid> {
    if text.is_empty() {
        return Ok(None);
    }
    let read = || {
        let (micros, id) = text.split_once('.')?;
        let nanos = i128::from(micros.parse::<i64>().ok()?) * 1_000;
        let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?;
        ((1..=9_998).contains(&at.year())).then_some((at, id.parse().ok()?))
    };
    let refused = "`before` is not valid; use the timeline's own links.";
    let read = read().ok_or_else(|| Invalid::new("before", "invalid_cursor", refused));
    read.map(Some)
}

pub(crate) fn parse_day(field: &'static str, text: &str) -> Result<Date, Invalid> {
    let day = Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
    day.filter(|day| (1..=9_998).contains(&day.year())).ok_or_else(|| {
        Invalid::new(field, "invalid_date", "That is not a date; give one such as 2026-03-03.")
    })
}
