//! How the fact of a memory changed: the history of its key, as bars along time.

use leptos::prelude::*;
use time::OffsetDateTime;

use crate::components::{Axis, Marked, SpanBar};
use crate::memories::ItemId;
use crate::memories::timeline::{CHARS_MAX, FactVersion};
use crate::moment::date_of;
use crate::page::asked;
use crate::words::beginning;

/// `this`: the memory whose page it is.
#[component]
pub fn FactChanges(versions: Vec<FactVersion>, this: ItemId) -> impl IntoView {
    if versions.is_empty() {
        return ().into_any();
    }
    let (now, zone) = (asked().state.clock.now(), asked().zone());
    let begins = |one: &FactVersion| one.period.from.unwrap_or(one.added_at);
    let axis = Axis { from: versions.iter().map(begins).min().unwrap_or(now).min(now), to: now };
    let told = |at: OffsetDateTime| date_of(zone.local(at));
    let rows = versions.into_iter().map(|one| {
        let is_current = one.period.until.is_none_or(|until| until > now);
        let class = if is_current { "span" } else { "span span-past" };
        let current = (one.id == this).then_some("page");
        let when = match (one.period.from, one.period.until) {
            (Some(from), Some(until)) => format!("{} to {}", told(from), told(until)),
            (Some(from), None) => format!("since {}", told(from)),
            (None, Some(until)) => format!("until {}", told(until)),
            (None, None) => format!("added {}", told(one.added_at)),
        };
        let bar = axis.bar_of(begins(&one), one.period);
        view! {
            <li class=class>
                <p class="span-words" dir="auto">
                    <a href=format!("/memory/{}", one.id) aria-current=current>
                        <Marked text=beginning(one.beginning, CHARS_MAX) />
                    </a>
                </p>
                <div class="span-time">
                    <SpanBar bar />
                    <span class="hint number">{when}</span>
                </div>
            </li>
        }
    });
    view! {
        <section class="part" aria-labelledby="fact-title">
            <h2 id="fact-title">"How this fact changed"</h2>
            <ol class="spans">{rows.collect_view()}</ol>
        </section>
    }
    .into_any()
}
