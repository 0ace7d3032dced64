//! The timeline: a year of days with what was learned on each, what changed by day, and the difference of two days.

pub mod load;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Marked, Section, When, count};
use crate::page::Page;
use crate::view::{
    CalendarDay, DifferenceView, HappeningRow, MemoryLine, StreamDay, TimelineFilters, TimelinePage,
};

const PATH: &str = "/timeline";
/// Of a square and its gap, in units of the picture.
const STEP: usize = 13;
const SQUARE: usize = 11;
const TOP: usize = 14;

pub async fn show(page: Page) -> Response {
    let filters = TimelineFilters::from_query(page.query());
    let found = page.timeline_view(&page.viewer, &filters).await;
    page.render(Section::Memory, "Timeline", PATH, found, move |page| {
        view! { <Whole page filters=filters.clone() /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: TimelinePage, filters: TimelineFilters) -> impl IntoView {
    let heading = match &page.chosen {
        Some(day) => format!("What changed on {day}"),
        None => "What changed".to_owned(),
    };
    let then = page.chosen.clone().map(|day| {
        let href = format!("/memory?as_of={}", filters.day);
        view! {
            <p>
                <a href=href>"The whole memory as of " {day}</a> " · " <a href=PATH>"all days"</a>
            </p>
        }
    });
    let rows = match page.days.is_empty() {
        true => view! {
            <p class="hint">
                "No changes. Memories that are added, replaced, archived or restored are listed here by day."
            </p>
        }
        .into_any(),
        false => page.days.into_iter().map(|day| view! { <Day day /> }).collect_view().into_any(),
    };
    let older = page.older.map(|href| {
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
            <Calendar days=page.calendar learned=page.learned chosen=filters.day.clone() />
            <section class="part day-stream" aria-labelledby="stream-title">
                <h2 id="stream-title">{heading}</h2>
                {then}
                {rows}
                {older}
            </section>
            <Compared difference=page.difference filters />
        </div>
    }
    .into_any()
}

/// A column a week, a square a day.
#[component]
fn Calendar(days: Vec<CalendarDay>, learned: i64, chosen: String) -> impl IntoView {
    let weeks = days.len().div_ceil(7);
    let view_box = format!("0 0 {} {}", weeks * STEP, TOP + 7 * STEP);
    let squares = days.into_iter().enumerate().map(|(n, day)| {
        let (x, y) = (n / 7 * STEP, TOP + n % 7 * STEP);
        let title = match day.count {
            0 => format!("{}: nothing learned", day.words),
            1 => format!("{}: 1 memory learned", day.words),
            n => format!("{}: {} memories learned", day.words, count(n)),
        };
        let month = day.month.map(|month| view! { <text x=x y=TOP - 4>{month}</text> });
        let square = view! {
            <rect x=x y=y width=SQUARE height=SQUARE rx=2>
                <title>{title.clone()}</title>
            </rect>
        };
        // Where nothing was learned there is nothing to go to with a keyboard.
        let square = match day.count {
            0 => view! { <g data-level="0">{square}</g> }.into_any(),
            _ => {
                let current = (day.iso == chosen).then_some("date");
                view! {
                    <a
                        href=format!("{PATH}?day={}", day.iso)
                        data-level=day.level.to_string()
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

#[component]
fn Day(day: StreamDay) -> impl IntoView {
    let rows = day.rows.into_iter().map(|row| view! { <Happened row /> });
    view! {
        <h3>
            <time datetime=day.iso.clone()>
                <a href=format!("{PATH}?day={}", day.iso)>{day.words}</a>
            </time>
        </h3>
        <ol>{rows.collect_view()}</ol>
    }
}

#[component]
fn Line(line: MemoryLine) -> impl IntoView {
    view! {
        <a href=line.href dir="auto">
            <Marked text=line.text />
        </a>
    }
}

#[component]
fn Happened(row: HappeningRow) -> impl IntoView {
    let instead = row.instead.map(|line| view! { <p>"→ " <Line line /></p> });
    let session = row.session.map(|id| {
        view! { ", " <a href=format!("/sessions/{id}")>"view conversation"</a> }
    });
    view! {
        <li data-row="">
            <p>
                <strong>{row.what}</strong> " " <Line line=row.about />
            </p>
            {instead}
            <p class="hint">
                {row.cause} {session} " · " <When at=row.at />
            </p>
        </li>
    }
    .into_any()
}

#[component]
fn Compared(difference: Option<DifferenceView>, filters: TimelineFilters) -> impl IntoView {
    let lines = |title: &'static str, lines: Vec<MemoryLine>| {
        (!lines.is_empty()).then(|| {
            let rows = lines.into_iter().map(|line| view! { <li><Line line /></li> });
            view! {
                <h3>{title}</h3>
                <ul>{rows.collect_view()}</ul>
            }
        })
    };
    let told = difference.map(|found| {
        let is_same = found.added.is_empty() && found.gone.is_empty() && found.changed.is_empty();
        let changed = found.changed.into_iter().map(|(old, new)| {
            view! { <li><Line line=old /> " → " <Line line=new /></li> }
        });
        let changed: Vec<_> = changed.collect();
        let changed = (!changed.is_empty()).then(|| {
            view! {
                <h3>"Changed"</h3>
                <ul>{changed}</ul>
            }
        });
        let line = match is_same {
            true => format!("No differences between {} and {}.", found.from, found.until),
            false => format!("From {} to {}:", found.from, found.until),
        };
        let cut =
            found.is_cut.then(|| view! { <p class="hint">"Not all differences are shown."</p> });
        view! {
            <p>{line}</p>
            {changed}
            {lines("Added", found.added)}
            {lines("Removed", found.gone)}
            {cut}
        }
    });
    view! {
        <section class="part" id="difference" aria-labelledby="difference-title">
            <h2 id="difference-title">"Compare two days"</h2>
            <form class="narrow picks" method="get" action="/timeline#difference">
                <label class="pick day-field">
                    <span>"From"</span>
                    <input id="from" type="date" name="from" value=filters.from required />
                </label>
                <label class="pick day-field">
                    <span>"To"</span>
                    <input id="until" type="date" name="until" value=filters.until required />
                </label>
                <button type="submit">"Compare"</button>
            </form>
            {told}
        </section>
    }
    .into_any()
}
