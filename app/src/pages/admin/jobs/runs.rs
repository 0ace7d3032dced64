//! Runs a day over 30 days: a chart, and the same figures as a table.

use leptos::prelude::*;

use crate::components::{Bar, Bars, OUTCOMES, count};
use crate::view::DayRuns;
use crate::words;

#[component]
pub fn Runs(days: Vec<DayRuns>) -> impl IntoView {
    let is_empty = days.iter().all(|day| total(day) == 0);
    let body = match is_empty {
        true => view! {
            <p class="hint">"No run is recorded yet. This chart shows the runs of the last 30 days."</p>
        }
        .into_any(),
        false => view! { <Chart days /> }.into_any(),
    };
    view! {
        <section class="part" aria-labelledby="runs-title">
            <h2 id="runs-title">"Runs per day"</h2>
            {body}
        </section>
    }
    .into_any()
}

#[component]
fn Chart(days: Vec<DayRuns>) -> impl IntoView {
    let first = days.first().map(|day| day.day.clone());
    let summary = summary_of(&days);
    let bars = days
        .iter()
        .map(|day| Bar {
            title: format!("{}: {} done, {} failed", day.day, count(day.done), count(day.failed)),
            parts: vec![day.done, day.failed],
        })
        .collect();
    let rows = days.into_iter().rev().filter(|day| total(day) > 0).map(|day| {
        view! {
            <tr>
                <th scope="row">{day.day}</th>
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
    let most = most.map(|day| format!("; at most {} per day ({})", count(total(day)), day.day));
    format!(
        "{runs} in {}, {} failed{}",
        words::days(days.len()),
        count(failed),
        most.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_told_in_words() {
        let day = |day: &str, done, failed| DayRuns { day: day.to_owned(), done, failed };
        let days = [day("3 May", 1, 0), day("4 May", 1_200, 3)];
        assert_eq!(
            summary_of(&days),
            "1,204 runs in 2 days, 3 failed; at most 1,203 per day (4 May)"
        );
        assert_eq!(
            summary_of(&[day("3 May", 1, 0)]),
            "1 run in 1 day, 0 failed; at most 1 per day (3 May)"
        );
    }
}
