//! What was spent: today beside its cap, and the last 30 days, as a picture and as
//! a table.

use leptos::prelude::*;

use crate::components::{Bar, Bars, Progress, calls, count};
use crate::view::{ChatPage, DayTokens, PurposeView};
use crate::words;

#[component]
pub fn Spent(page: ChatPage) -> impl IntoView {
    let today = page.days.last().map_or(0, DayTokens::tokens);
    let line = format!("{} of {} tokens today", count(today), count(page.cap));
    let has_any = page.days.iter().any(|day| day.calls > 0);
    let days = has_any.then(|| view! { <LastDays days=page.days purposes=page.purposes /> });
    view! {
        <section class="part" id="spent" aria-labelledby="spent-title">
            <h2 id="spent-title">"Usage"</h2>
            <Progress
                label="Tokens today".to_owned()
                done=today
                failed=0
                total=page.cap
                line
            />
            {match days {
                Some(days) => days.into_any(),
                None => {
                    view! {
                        <p class="hint">
                            "No usage in the last 30 days. This chart counts the input and output tokens of every call except tests."
                        </p>
                    }
                        .into_any()
                }
            }}
        </section>
    }
    .into_any()
}

#[component]
fn LastDays(days: Vec<DayTokens>, purposes: Vec<PurposeView>) -> impl IntoView {
    let first = days.first().map(|day| day.day.clone());
    let summary = summary_of(&days);
    let week = week_of(&days, &purposes);
    let bars = days
        .iter()
        .map(|day| Bar {
            title: format!("{}: {} tokens", day.day, count(day.tokens())),
            parts: day.by_purpose.clone(),
        })
        .collect();
    let rows = days
        .into_iter()
        .rev()
        .filter(|day| day.calls > 0)
        .map(|day| {
            view! {
                <tr>
                    <th scope="row">{day.day}</th>
                    <td class="number">{count(day.calls)}</td>
                    <td class="number">{count(day.failed_calls)}</td>
                    <td class="number">{count(day.tokens_in)}</td>
                    <td class="number">{count(day.tokens_out)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <Bars bars first summary classes=PURPOSES />
        <Week week />
        <details class="fold">
            <summary>"Usage by day"</summary>
            <div class="table" tabindex="0" role="group" aria-label="Usage by day">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Day"</th>
                            <th scope="col" class="number">
                                "Calls"
                            </th>
                            <th scope="col" class="number">
                                "Failed"
                            </th>
                            <th scope="col" class="number">
                                "Input"
                            </th>
                            <th scope="col" class="number">
                                "Output"
                            </th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </details>
    }
    .into_any()
}

/// A class for each purpose, and one for what is of before.
const PURPOSES: &[&str] = &["part-0", "part-1", "part-2", "part-3", "part-4", "part-5", "part-6"];
const WEEK_DAYS: usize = 7;

/// Of the last seven days: a purpose, its tokens, and what all would have been without it.
type OfWeek = (&'static str, &'static str, i64, i64);

fn week_of(days: &[DayTokens], purposes: &[PurposeView]) -> Vec<OfWeek> {
    let week = &days[days.len().saturating_sub(WEEK_DAYS)..];
    let titles = purposes.iter().map(|purpose| purpose.title);
    let sums = titles.chain(["Earlier"]).enumerate().map(|(n, title)| {
        let of_days = week.iter().filter_map(|day| day.by_purpose.get(n));
        (title, of_days.sum::<i64>())
    });
    let sums: Vec<(&'static str, i64)> = sums.collect();
    let all: i64 = sums.iter().map(|(_, tokens)| tokens).sum();
    let rows = sums.into_iter().zip(PURPOSES);
    rows.filter(|((_, tokens), _)| *tokens > 0)
        .map(|((title, tokens), class)| (*class, title, tokens, all - tokens))
        .collect()
}

#[component]
fn Week(week: Vec<OfWeek>) -> impl IntoView {
    if week.is_empty() {
        return ().into_any();
    }
    let rows = week.into_iter().map(|(class, title, tokens, without)| {
        view! {
            <tr>
                <th scope="row">
                    <svg viewBox="0 0 8 8" width="8" height="8" aria-hidden="true">
                        <rect class=class width="8" height="8" />
                    </svg>
                    {format!(" {title}")}
                </th>
                <td class="number">{count(tokens)}</td>
                <td class="number">{count(without)}</td>
            </tr>
        }
    });
    view! {
        <div class="table" tabindex="0" role="group" aria-label="The last 7 days, by purpose">
            <table>
                <thead>
                    <tr>
                        <th scope="col">"Last 7 days"</th>
                        <th scope="col" class="number">
                            "Tokens"
                        </th>
                        <th scope="col" class="number">
                            "Everything except this purpose"
                        </th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn summary_of(days: &[DayTokens]) -> String {
    let sum = |of: fn(&DayTokens) -> i64| days.iter().map(of).sum::<i64>();
    let failed = match sum(|day| day.failed_calls) {
        0 => String::new(),
        n => format!(", {} failed", count(n)),
    };
    format!(
        "{} tokens in {} and {}{failed}",
        count(sum(DayTokens::tokens)),
        calls(sum(|day| day.calls)),
        words::days(days.len())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_told_in_words() {
        let day = DayTokens {
            day: "1 May".to_owned(),
            tokens_in: 1_200,
            tokens_out: 34,
            by_purpose: vec![1_000, 0, 234, 0, 0],
            calls: 2,
            failed_calls: 1,
        };
        assert_eq!(summary_of(&[day.clone(), day]), "2,468 tokens in 4 calls and 2 days, 2 failed");
    }
}
