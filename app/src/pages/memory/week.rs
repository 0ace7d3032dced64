//! What changed this week, in one line above the list; folded below it, the memories themselves.

use leptos::prelude::*;

use crate::components::{Marked, When, count};
use crate::view::{MemoryLine, WeekView};

/// Empty where the list is filtered, so that it can be replaced at any time.
#[component]
pub fn Week(week: Option<WeekView>) -> impl IntoView {
    let body = week.filter(|week| *week != WeekView::default()).map(|week| {
        let told = [(week.learned, "learned"), (week.changed, "changed"), (week.ended, "expired or faded")];
        let told = told.map(|(n, what)| format!("{} {what}", count(n))).join(", ");
        let changes = week.changes.into_iter().map(|(old, new)| {
            view! {
                <li>
                    <del>{link(old)}</del>
                    " → "
                    {link(new)}
                </li>
            }
        });
        let expiring = week.expiring.into_iter();
        let expiring = expiring.map(|(line, at)| view! { <li>{link(line)} " " <span class="hint">"expires " <When at=at /></span></li> });
        let used = week.used.into_iter().map(|(line, n)| {
            let times = match n {
                1 => "used once".to_owned(),
                n => format!("used {} times", count(n)),
            };
            view! { <li>{link(line)} " " <span class="hint">{times}</span></li> }
        });
        view! {
            <details class="week fold" id="week">
                <summary>"This week: " {told}</summary>
                {list("Changed", changes.collect())}
                {list("Expiring soon", expiring.collect())}
                {list("Most used", used.collect())}
                <p>
                    <a href="/timeline">"Timeline"</a>
                </p>
            </details>
        }
    });
    view! { <div data-live="week">{body}</div> }.into_any()
}

fn link(line: MemoryLine) -> AnyView {
    view! {
        <a href=line.href dir="auto">
            <Marked text=line.text />
        </a>
    }
    .into_any()
}

fn list<T: IntoView + 'static>(heading: &'static str, lines: Vec<T>) -> Option<AnyView> {
    let rows = (!lines.is_empty()).then(|| {
        view! {
            <h2>{heading}</h2>
            <ul>{lines}</ul>
        }
    });
    rows.map(IntoAny::into_any)
}
