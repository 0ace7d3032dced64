//! What was spent: today beside its cap, and the last 30 days, as a picture and as
//! a table.

use leptos::prelude::*;

use crate::components::{Bar, Bars, Progress, calls, count};
use crate::view::{ChatPage, DayTokens};

#[component]
pub fn Spent(page: ChatPage) -> impl IntoView {
    let today = page.days.last().map_or(0, DayTokens::tokens);
    let line = format!("{} of {} tokens today", count(today), count(page.cap));
    let has_any = page.days.iter().any(|day| day.calls > 0);
    let days = has_any.then(|| view! { <LastDays days=page.days /> });
    view! {
        <section class="part" id="spent" aria-labelledby="spent-title">
            <h2 id="spent-title">"What was spent"</h2>
            <Progress
                label="Tokens of today".to_owned()
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
                            "Nothing in the last 30 days. Every call of the model is counted here, in the tokens that it reads and writes; a test is not."
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
fn LastDays(days: Vec<DayTokens>) -> impl IntoView {
    let first = days.first().map(|day| day.day.clone());
    let summary = summary_of(&days);
    let bars = days
        .iter()
        .map(|day| Bar {
            title: format!("{}: {} tokens", day.day, count(day.tokens())),
            low: day.tokens(),
            high: 0,
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
                    <td class="number">{count(day.evaluation_tokens)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <Bars bars first summary />
        <details class="fold">
            <summary>"Day by day"</summary>
            <div class="table" tabindex="0" role="group" aria-label="What was spent, day by day">
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
                                "Read"
                            </th>
                            <th scope="col" class="number">
                                "Written"
                            </th>
                            <th scope="col" class="number">
                                "Of these, evaluation"
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

fn summary_of(days: &[DayTokens]) -> String {
    let sum = |of: fn(&DayTokens) -> i64| days.iter().map(of).sum::<i64>();
    let failed = match sum(|day| day.failed_calls) {
        0 => String::new(),
        n => format!(", {} failed", count(n)),
    };
    format!(
        "{} tokens in {} and {} days{failed}",
        count(sum(DayTokens::tokens)),
        calls(sum(|day| day.calls)),
        days.len()
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
            evaluation_tokens: 0,
            calls: 2,
            failed_calls: 1,
        };
        assert_eq!(
            summary_of(&[day.clone(), day]),
            "2,468 tokens in 4 calls and 2 days, 2 failed"
        );
    }
}
