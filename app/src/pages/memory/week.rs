//! What changed this week, in one line above the list; folded below it, the memories themselves.

use leptos::prelude::*;

use crate::components::{MarkedLink, When, count};
use crate::memories::ItemId;
use crate::memories::timeline::{CHARS_MAX, Week};
use crate::words::{beginning, used};

/// Empty where the list is filtered, so that it can be replaced at any time.
#[component]
pub fn ThisWeek(week: Option<Week>) -> impl IntoView {
    let is_quiet = |week: &Week| {
        (week.learned, week.changed, week.ended) == (0, 0, 0) && week.lines.is_empty()
    };
    let body = week.filter(|week| !is_quiet(week)).map(|week| {
        let told = [
            (week.learned, "learned"),
            (week.changed, "changed"),
            (week.ended, "expired or faded"),
        ];
        let told = told.map(|(n, what)| format!("{} {what}", count(n))).join(", ");
        let (mut changes, mut expiring, mut most_used) = (Vec::new(), Vec::new(), Vec::new());
        for one in week.lines {
            let line = link(one.id, one.beginning);
            match (one.instead, one.expires_at, one.uses) {
                (Some((id, text)), ..) => changes.push(
                    view! {
                        <li>
                            <del>{line}</del>
                            " → "
                            {link(id, text)}
                        </li>
                    }
                    .into_any(),
                ),
                (None, Some(at), _) => expiring.push(
                    view! { <li>{line} " " <span class="hint">"expires " <When at /></span></li> }
                        .into_any(),
                ),
                (None, None, uses) => {
                    let times = used(uses.unwrap_or_default());
                    most_used.push(
                        view! { <li>{line} " " <span class="hint">{times}</span></li> }.into_any(),
                    );
                }
            }
        }
        view! {
            <details class="week fold" id="week">
                <summary>"This week: " {told}</summary>
                {list("Changed", changes)}
                {list("Expiring soon", expiring)}
                {list("Most used", most_used)}
                <p>
                    <a href="/timeline">"Timeline"</a>
                </p>
            </details>
        }
    });
    view! { <div data-live="week">{body}</div> }.into_any()
}

fn link(id: ItemId, text: String) -> AnyView {
    let href = format!("/memory/{id}");
    view! { <MarkedLink href text=beginning(text, CHARS_MAX) /> }.into_any()
}

fn list(heading: &'static str, lines: Vec<AnyView>) -> Option<AnyView> {
    (!lines.is_empty()).then(|| {
        view! {
            <h2>{heading}</h2>
            <ul>{lines}</ul>
        }
        .into_any()
    })
}
