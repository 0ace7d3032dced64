//! The timeline: a year of days with what was learned on each, and what changed by day, in the person's time zone.

use axum::response::Response;
use leptos::prelude::*;
use time::macros::{datetime, format_description};
use time::{Date, Duration, OffsetDateTime, Weekday};

use crate::address::TimelineFilters;
use crate::components::{MarkedLink, Section, When, count};
use crate::input::Invalid;
use crate::kinds::event_in_words;
use crate::memories::ItemSource;
use crate::memories::timeline::{self, CHARS_MAX, EventCursor, EventSubject, TimelineEvent};
use crate::moment::{date_of, iso, parse_day};
use crate::page::{Page, PageError, asked, database, invalid};
use crate::words::beginning;

const PATH: &str = "/timeline";
/// Weeks in the calendar before the current one.
const WEEKS: i64 = 52;
/// The earliest possible time.
const FIRST: OffsetDateTime = datetime!(0001-01-01 0:00 UTC);
/// More changes a day than this get the darkest shade, more than a third of it the second darkest.
const MANY: i64 = 9;
/// Of a square and its gap, in units of the picture.
const STEP: usize = 13;
const SQUARE: usize = 11;
const TOP: usize = 14;

#[derive(Clone)]
struct LoadedTimeline {
    /// From a Monday to today, a year: each day with how many memories were learned on it.
    calendar: Vec<(Date, i64)>,
    /// Only this day is listed.
    chosen: Option<Date>,
    /// Newest first, and where they go on.
    events: Vec<TimelineEvent>,
    older: Option<EventCursor>,
}

pub async fn show(page: Page) -> Response {
    let filters = TimelineFilters::from_query(page.query());
    let found = load(&page, &filters).await;
    page.render(Section::Memory, "Timeline", PATH, found, move |found| {
        view! { <TimelinePage found filters=filters.clone() /> }.into_any()
    })
    .await
}

async fn load(page: &Page, filters: &TimelineFilters) -> Result<LoadedTimeline, PageError> {
    let (db, user, zone) = (&page.state.db, page.viewer.user_id, page.zone());
    let today = zone.local(page.state.clock.now()).date();
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
    let (events, older) = timeline::stream(db, user, within, before).await.map_err(database)?;
    let calendar = days.into_iter().zip(counts).collect();
    Ok(LoadedTimeline { calendar, chosen, events, older })
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

/// The URL of older entries in the stream.
fn older(day: &str, (at, id): EventCursor) -> String {
    let micros = at.unix_timestamp_nanos() / 1_000;
    match day {
        "" => format!("/timeline?before={micros}.{id}"),
        day => format!("/timeline?day={day}&before={micros}.{id}"),
    }
}

fn words(day: Date) -> String {
    date_of(day.midnight().assume_utc())
}

#[component]
fn TimelinePage(found: LoadedTimeline, filters: TimelineFilters) -> impl IntoView {
    let heading = match found.chosen.map(words) {
        Some(day) => format!("What changed on {day}"),
        None => "What changed".to_owned(),
    };
    let then = found.chosen.map(words).map(|day| {
        let href = format!("/memory?as_of={}", filters.day);
        view! {
            <p>
                <a href=href>"The whole memory as of " {day}</a> " · " <a href=PATH>"all days"</a>
            </p>
        }
    });
    let rows = match found.events.is_empty() {
        true => view! {
            <p class="hint">
                "No changes. Memories that are added, replaced, archived or restored are listed here by day."
            </p>
        }
        .into_any(),
        false => by_day(&found.events),
    };
    let older = found.older.map(|next| older(&filters.day, next)).map(|href| {
        view! {
            <p class="more">
                <a class="button" href=href>"Show older"</a>
            </p>
        }
    });
    view! {
        <div class="page">
            <p class="back">
                <a href="/memory">
                    <span aria-hidden="true">"← "</span>
                    "All memories"
                </a>
            </p>
            <h1>"Timeline"</h1>
            <Calendar days=found.calendar chosen=filters.day.clone() />
            <section class="part day-stream" aria-labelledby="stream-title">
                <h2 id="stream-title">{heading}</h2>
                {then}
                {rows}
                {older}
            </section>
        </div>
    }
    .into_any()
}

/// A column a week, a square a day.
#[component]
fn Calendar(days: Vec<(Date, i64)>, chosen: String) -> impl IntoView {
    let learned: i64 = days.iter().map(|(_, count)| count).sum();
    let weeks = days.len().div_ceil(7);
    let view_box = format!("0 0 {} {}", weeks * STEP, TOP + 7 * STEP);
    let squares = days.into_iter().enumerate().map(|(n, (day, learned))| {
        let (x, y) = (n / 7 * STEP, TOP + n % 7 * STEP);
        let title = match learned {
            0 => format!("{}: nothing learned", words(day)),
            1 => format!("{}: 1 memory learned", words(day)),
            n => format!("{}: {} memories learned", words(day), count(n)),
        };
        // Above the first week of each month.
        let begins_month = day.day() <= 7 && day.weekday() == Weekday::Monday;
        let month = begins_month.then(|| {
            let month = day.format(format_description!("[month repr:short]"));
            view! { <text x=x y=TOP - 4>{month.unwrap_or_default()}</text> }
        });
        let square = view! {
            <rect x=x y=y width=SQUARE height=SQUARE rx=2>
                <title>{title.clone()}</title>
            </rect>
        };
        // Where nothing was learned there is nothing to go to with a keyboard.
        let square = match learned {
            0 => view! { <g data-level="0">{square}</g> }.into_any(),
            _ => {
                let current = (iso(day) == chosen).then_some("date");
                let level = match learned {
                    n if n > MANY => 3,
                    n if n > MANY / 3 => 2,
                    _ => 1,
                };
                view! {
                    <a
                        href=format!("{PATH}?day={}", iso(day))
                        data-level=level.to_string()
                        aria-label=title
                        aria-current=current
                    >
                        {square}
                    </a>
                }
                .into_any()
            }
        };
        view! {
            {month}
            {square}
        }
    });
    let line = match learned {
        0 => "Nothing was learned in the last year.".to_owned(),
        1 => "1 memory was learned in the last year.".to_owned(),
        n => format!("{} memories were learned in the last year.", count(n)),
    };
    view! {
        <p class="lead">{line} " Each square is a day."</p>
        <div class="calendar-scroll" tabindex="0" role="group" aria-label="Memories learned, by day">
            <svg class="calendar" viewBox=view_box>
                {squares.collect_view()}
            </svg>
        </div>
        <form class="narrow picks" method="get" action=PATH>
            <label class="pick day-field">
                <span>"Day"</span>
                <input id="day" type="date" name="day" value=chosen />
            </label>
            <button type="submit">"Show"</button>
        </form>
    }
    .into_any()
}

fn by_day(events: &[TimelineEvent]) -> AnyView {
    let zone = asked().zone();
    let date = |event: &TimelineEvent| zone.local(event.at).date();
    let days = events.chunk_by(|one, other| date(one) == date(other));
    let days = days.map(|events| {
        let day = events.first().map(date);
        let rows = events.iter().cloned().map(|event| view! { <Happened event /> });
        view! {
            <h3>
                <time datetime=day.map(iso)>
                    <a href=day.map(|day| format!("{PATH}?day={}", iso(day)))>{day.map(words)}</a>
                </time>
            </h3>
            <ol>{rows.collect_view()}</ol>
        }
    });
    days.collect_view().into_any()
}

#[component]
fn Happened(event: TimelineEvent) -> impl IntoView {
    let cause = cause_of(&event);
    let href = match event.about {
        EventSubject::Item(item) => format!("/memory/{item}"),
        EventSubject::Entity(entity) => format!("/entities/{entity}"),
        // The page of the newest dreams may no longer have it.
        EventSubject::Dream(dream) => format!("/dreams?before={}#dream-{dream}", dream + 1),
    };
    let instead = event
        .instead
        .map(|(item, text)| view! { <p>"→ " {line(format!("/memory/{item}"), text)}</p> });
    let session = event.session.filter(|_| event.event == "added").map(|id| {
        view! { ", " <a href=format!("/sessions/{id}")>"view conversation"</a> }
    });
    let what = match event.about {
        EventSubject::Item(_) => event_in_words(event.event),
        EventSubject::Entity(_) | EventSubject::Dream(_) => event.event,
    };
    view! {
        <li data-row="">
            <p>
                <strong>{what}</strong> " " {line(href, event.beginning)}
            </p>
            {instead}
            <p class="hint">
                {cause} {session} " · " <When at=event.at />
            </p>
        </li>
    }
    .into_any()
}

/// By whom, or why.
fn cause_of(one: &TimelineEvent) -> String {
    let is_derived = one.source == ItemSource::Derived.as_str();
    match (one.event.as_str(), &one.agent) {
        ("expired", _) => "it expired".to_owned(),
        ("faded", _) => "it was not used for a long time".to_owned(),
        ("added" | "superseded", None) if is_derived => "derived from other memories".to_owned(),
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
    }
}

fn line(href: String, text: String) -> AnyView {
    view! { <MarkedLink href text=beginning(text, CHARS_MAX) /> }.into_any()
}
