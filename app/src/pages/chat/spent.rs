//! What was spent: today beside its cap, and the last 30 days, as a picture and as
//! a table.

use std::sync::Arc;

use leptos::prelude::*;
use time::macros::format_description;

use crate::components::{Bar, Bars, Progress, calls, count};
use crate::providers::chat::{ChatOverview, ChatPurpose, DaySpend};
use crate::words;

#[component]
pub fn Spent(overview: Arc<ChatOverview>) -> impl IntoView {
    let (days, cap) = (&overview.days, overview.cap);
    let today = days.last().map_or(0, tokens);
    let line = format!("{} of {} tokens today", count(today), count(cap));
    let has_any = days.iter().any(|day| day.calls > 0);
    let days = has_any.then(|| view! { <LastDays days=days.clone() /> });
    view! {
        <section class="part" id="spent" aria-labelledby="spent-title">
            <h2 id="spent-title">"Usage"</h2>
            <Progress
                label="Tokens today".to_owned()
                done=today
                failed=0
                total=cap
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
fn LastDays(days: Vec<DaySpend>) -> impl IntoView {
    let first = days.first().map(name_of);
    let summary = summary_of(&days);
    let week = week_of(&days);
    let bars = days
        .iter()
        .map(|day| Bar {
            title: format!("{}: {} tokens", name_of(day), count(tokens(day))),
            parts: purposes().map(|purpose| spent_on(day, purpose)).collect(),
        })
        .collect();
    let rows = days
        .iter()
        .rev()
        .filter(|day| day.calls > 0)
        .map(|day| {
            view! {
                <tr>
                    <th scope="row">{name_of(day)}</th>
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

fn week_of(days: &[DaySpend]) -> Vec<OfWeek> {
    let week = &days[days.len().saturating_sub(WEEK_DAYS)..];
    let sums = purposes().map(|purpose| {
        (purpose.map_or("Earlier", title_of), week.iter().map(|day| spent_on(day, purpose)).sum())
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

/// "21 November"
fn name_of(day: &DaySpend) -> String {
    let format = format_description!("[day padding:none] [month repr:long]");
    day.day.format(format).unwrap_or_default()
}

fn tokens(day: &DaySpend) -> i64 {
    day.tokens_in + day.tokens_out
}

/// `None` is what was spent before purposes were recorded.
fn purposes() -> impl Iterator<Item = Option<ChatPurpose>> {
    ChatPurpose::ALL.into_iter().map(Some).chain([None])
}

fn spent_on(day: &DaySpend, purpose: Option<ChatPurpose>) -> i64 {
    let of = day.by_purpose.iter().filter(|(of, _)| *of == purpose);
    of.map(|(_, tokens)| tokens).sum()
}

pub fn title_of(purpose: ChatPurpose) -> &'static str {
    match purpose {
        ChatPurpose::Facts => "Reading sessions",
        ChatPurpose::Enrichment => "Nightly entity reading",
        ChatPurpose::Summary => "Summary",
        ChatPurpose::Reflection => "Weekly reflection",
        ChatPurpose::Dreaming => "Dreaming",
        ChatPurpose::Evaluation => "Measuring search",
    }
}

fn summary_of(days: &[DaySpend]) -> String {
    let sum = |of: fn(&DaySpend) -> i64| days.iter().map(of).sum::<i64>();
    let failed = match sum(|day| day.failed_calls) {
        0 => String::new(),
        n => format!(", {} failed", count(n)),
    };
    format!(
        "{} tokens in {} and {}{failed}",
        count(sum(tokens)),
        calls(sum(|day| day.calls)),
        words::days(days.len())
    )
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    #[test]
    fn the_picture_is_told_in_words() {
        let day = DaySpend {
            day: date!(2026 - 05 - 01),
            tokens_in: 1_200,
            tokens_out: 34,
            by_purpose: vec![(Some(ChatPurpose::Facts), 1_000), (None, 234)],
            calls: 2,
            failed_calls: 1,
        };
        assert_eq!(summary_of(&[day.clone(), day]), "2,468 tokens in 4 calls and 2 days, 2 failed");
    }
}
