//! Runs a day over 30 days: a chart, and the same figures as a table.

use leptos::prelude::*;
use time::macros::format_description;
use time::{Date, Duration};

use crate::components::{Bar, Bars, OUTCOMES, count};
use crate::jobs::DAYS_COUNTED;
use crate::queue::runs::store::DayRuns;
use crate::words;

/// `counted` leaves out the days on which nothing ran.
pub fn runs(today: Date, counted: &[DayRuns]) -> AnyView {
    let body = match counted.iter().all(|day| total(day) == 0) {
        true => view! {
            <p class="hint">"No run is recorded yet. This chart shows the runs of the last 30 days."</p>
        }
        .into_any(),
        false => view! { <Chart days=every_day(today, counted) /> }.into_any(),
    };
    view! {
        <section class="part" aria-labelledby="runs-title">
            <h2 id="runs-title">"Runs per day"</h2>
            {body}
        </section>
    }
    .into_any()
}

/// The last 30 days, oldest first.
fn every_day(today: Date, counted: &[DayRuns]) -> Vec<DayRuns> {
    let days = (0..DAYS_COUNTED).rev().map(|ago| today - Duration::days(ago));
    let none = |day| DayRuns { day, done: 0, failed: 0 };
    days.map(|day| counted.iter().find(|one| one.day == day).cloned().unwrap_or_else(|| none(day)))
        .collect()
}

/// "4 May"
fn day_name(day: Date) -> String {
    let format = format_description!("[day padding:none] [month repr:long]");
    day.format(format).unwrap_or_default()
}

#[component]
fn Chart(days: Vec<DayRuns>) -> impl IntoView {
    let first = days.first().map(|day| day_name(day.day));
    let summary = summary_of(&days);
    let bars = days
        .iter()
        .map(|day| Bar {
            title: format!(
                "{}: {} done, {} failed",
                day_name(day.day),
                count(day.done),
                count(day.failed)
            ),
            parts: vec![day.done, day.failed],
        })
        .collect();
    let rows = days.into_iter().rev().filter(|day| total(day) > 0).map(|day| {
        view! {
            <tr>
                <th scope="row">{day_name(day.day)}</th>
                <td class="number">{count(day.done)}</td>
                <td class="number">{count(day.failed)}</td>
            </tr>
        }
    });
    view! {
        <div class="runs">
            <Bars bars first summary classes=OUTCOMES />
            <p class="hint runs-key" aria-hidden="true">
                <span class="key-done">"done"</span>
                <span class="key-failed">"failed"</span>
            </p>
        </div>
        <details class="fold" id="runs-table">
            <summary>"Day by day"</summary>
            <table class="runs-table">
                <thead>
                    <tr>
                        <th scope="col">"Day (UTC)"</th>
                        <th scope="col" class="number">
                            "Done"
                        </th>
                        <th scope="col" class="number">
                            "Failed"
                        </th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </details>
    }
    .into_any()
}

fn total(day: &DayRuns) -> i64 {
    day.done + day.failed
}

/// "1,203 runs in 30 days, 3 failed; at most 90 a day (4 May)"
fn summary_of(days: &[DayRuns]) -> String {
    let runs = match days.iter().map(total).sum() {
        1 => "1 run".to_owned(),
        n => format!("{} runs", count(n)),
    };
    let failed: i64 = days.iter().map(|day| day.failed).sum();
    let most = days.iter().max_by_key(|day| total(day));
    let most =
        most.map(|day| format!("; at most {} per day ({})", count(total(day)), day_name(day.day)));
    format!(
        "{runs} in {}, {} failed{}",
        words::days(days.len()),
        count(failed),
        most.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    #[test]
    fn the_picture_is_told_in_words() {
        let day = |day, done, failed| DayRuns { day, done, failed };
        let days = [day(date!(2026 - 05 - 03), 1, 0), day(date!(2026 - 05 - 04), 1_200, 3)];
        assert_eq!(
            summary_of(&days),
            "1,204 runs in 2 days, 3 failed; at most 1,203 per day (4 May)"
        );
        assert_eq!(
            summary_of(&[day(date!(2026 - 05 - 03), 1, 0)]),
            "1 run in 1 day, 0 failed; at most 1 per day (3 May)"
        );
    }
}
