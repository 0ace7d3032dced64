//! The two ways of having nothing to show: nothing is remembered yet (how to
//! begin), and nothing matches (what to loosen, one link for each filter).

use leptos::prelude::*;

use crate::components::{FirstSteps, TOKEN_PLACE, add_line};
use crate::view::MemoryFilters;

#[component]
pub fn Beginning(public_url: String) -> impl IntoView {
    view! {
        <div class="column">
            <h1>"Memory"</h1>
            <FirstSteps
                first_words="Nothing is remembered yet."
                lead="Here will be what your agents learn about you: what you prefer, what is true, how you want things done. Each memory says who wrote it, and when."
                by_hand="add a first memory"
                caption="Add a memory"
                line=add_line(&public_url, TOKEN_PLACE)
            />
        </div>
    }
    .into_any()
}

#[component]
pub fn NothingMatches(filters: MemoryFilters) -> impl IntoView {
    let mut ways = Vec::new();
    if !filters.q.trim().is_empty() {
        ways.push((filters.without_words(), "leave out the words"));
    }
    if filters.theme.is_some() {
        ways.push((filters.with_theme(None), "look in all themes"));
    }
    if !filters.types.is_empty() {
        ways.push((filters.without_types(), "take any type"));
    }
    if filters.embedding.is_some() {
        ways.push((filters.with_embedding(None), "take any embedding status"));
    }
    if !filters.day.is_today() {
        ways.push((filters.today(), "look at today"));
    }
    if filters.only_archived {
        ways.push((filters.with_archived(), "take what is not archived too"));
    } else if !filters.include_archived && filters.day.is_today() {
        ways.push((filters.with_archived(), "include what is archived"));
    }
    view! {
        <div class="nothing">
            <p class="first-words">"Nothing here matches."</p>
            <p>"You could"</p>
            <ul>
                {ways
                    .into_iter()
                    .map(|(filters, words)| {
                        view! {
                            <li>
                                <a href=filters.href() data-live-link="loosen">
                                    {words}
                                </a>
                            </li>
                        }
                    })
                    .collect_view()}
                <li>
                    <a href="/memory" data-live-link="loosen">
                        "start over"
                    </a>
                </li>
            </ul>
        </div>
    }
    .into_any()
}
