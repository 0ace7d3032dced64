//! The banner of a page that shows another day than today, and the fields that choose one.

use leptos::prelude::*;

use crate::address::DayFilters;
use crate::memories::Day;
use crate::moment::date_of;
use crate::page::asked;

/// Nothing today. `today`: the same page without a day.
#[component]
pub fn DayBanner(day: Day, today: String) -> impl IntoView {
    let zone = asked().zone();
    let words = |at| date_of(zone.local(at));
    let what = match (day.as_of.map(words), day.at.map(words)) {
        (Some(as_of), None) => format!("The memory as of {as_of}"),
        (None, Some(at)) => format!("What was true on {at}, as known today"),
        (Some(as_of), Some(at)) => format!("What was true on {at}, as known on {as_of}"),
        (None, None) => return ().into_any(),
    };
    view! {
        <p class="day-banner" role="status">
            {what} " · " <a href=today>"back to today"</a>
        </p>
    }
    .into_any()
}

/// Two dates of a form.
#[component]
pub fn DayFields(day: DayFilters) -> impl IntoView {
    view! {
        <label class="pick day-field">
            <span>"Known on"</span>
            <input id="as-of" type="date" name="as_of" value=day.as_of />
        </label>
        <label class="pick day-field">
            <span>"True on"</span>
            <input id="true-at" type="date" name="at" value=day.at />
        </label>
    }
}
