//! What narrows the list of calls: a form that works by itself; the island
//! only spares the button and the reload.

use leptos::prelude::*;

use crate::address::PERIODS;
use crate::components::{Choice, Pick, TOOLS};
use crate::view::ActivityFilters;

#[component]
pub fn Narrow(
    agents: Vec<(i64, String)>,
    filters: ActivityFilters,
    /// "3 March 2026"
    day: Option<String>,
    /// What the filters name by number is a document.
    is_document: bool,
) -> impl IntoView {
    let agents: Vec<Choice> = agents
        .into_iter()
        .map(|(id, name)| (id.to_string(), name, filters.agent == Some(id)))
        .collect();
    let tools = TOOLS
        .map(|(tool, did, _)| (tool.to_owned(), did.to_owned(), filters.tool == Some(tool)))
        .to_vec();
    let outcomes = [("ok", "ok", true), ("failed", "failed", false)]
        .map(|(slug, words, went_well)| {
            let is_chosen = filters.went_well == Some(went_well);
            (slug.to_owned(), words.to_owned(), is_chosen)
        })
        .to_vec();
    let periods = PERIODS
        .map(|(days, words)| (days.to_string(), words.to_owned(), filters.days == Some(days)))
        .to_vec();
    let chip = |name: &'static str, value: String, words: String, without: ActivityFilters| {
        view! {
            <input type="hidden" name=name value=value />
            <a class="chip" href=without.href() data-live-link="loosen">
                <bdi>{words}</bdi>
                <span aria-hidden="true">"✕"</span>
                <span class="visually-hidden">": show calls with any"</span>
            </a>
        }
    };
    let what = if is_document { "document" } else { "memory" };
    let item = filters.item.map(|id| {
        chip("item", id.to_string(), format!("with {what} {id}"), filters.without_item())
    });
    let theme = filters.theme.clone().map(|theme| {
        chip("theme", theme.clone(), format!("theme: {theme}"), filters.without_theme())
    });
    let day = filters
        .day
        .clone()
        .zip(day)
        .map(|(day, words)| chip("day", day, format!("on {words}"), filters.on_day(None)));
    let reset = filters.is_narrowed().then(|| {
        view! {
            <a class="reset" href="/activity" data-live-link="loosen">
                "Show all"
            </a>
        }
    });
    view! {
        <form id="filters" class="filters" method="get" action="/activity" autocomplete="off">
            <div class="narrow picks" data-live="narrow">
                <Pick name="agent" label="Agent" any="All agents" choices=agents />
                <Pick name="tool" label="Action" any="All actions" choices=tools />
                <Pick name="outcome" label="Outcome" any="All outcomes" choices=outcomes />
                <Pick name="days" label="Period" any="Any time" choices=periods />
                {item}
                {theme}
                {day}
                <button type="submit">
                    "Filter"
                </button>
                {reset}
            </div>
        </form>
    }
    .into_any()
}
