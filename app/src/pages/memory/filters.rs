//! What narrows the list: the search form with its filters, and the
//! themes with their counts. It works as a form and links; the island only
//! spares the reload.

use leptos::prelude::*;

use crate::address::{MemoryFilters, StatusFilter};
use crate::components::{Choice, DayFields, ITEM_TYPES, Pick, type_name};
use crate::embedding::EmbeddingState;
use crate::memories::MemoryTheme;

/// In days, as the search takes them.
const DATES: [(i64, &str); 4] =
    [(1, "Last 24 hours"), (7, "Last 7 days"), (30, "Last 30 days"), (365, "Last year")];

const STATUSES: [(StatusFilter, &str); 2] =
    [(StatusFilter::Archived, "Archived"), (StatusFilter::All, "Active and archived")];

const EMBEDDING_STATES: [(EmbeddingState, &str); 3] = [
    (EmbeddingState::Ready, "Embedding ready"),
    (EmbeddingState::Pending, "Embedding pending"),
    (EmbeddingState::Error, "Embedding failed"),
];

/// So many themes are listed; the others are folded.
const THEMES_FIRST: usize = 10;

/// The search box stays when results are swapped; what is below it is swapped too, so that it shows what the list
/// was made with. On a phone the filters are folded.
#[component]
pub fn SearchForm(agents: Vec<(i64, String)>, filters: MemoryFilters) -> impl IntoView {
    let chosen = chosen(&filters, &agents);
    let count = chosen.len();
    view! {
        <form id="filters" class="filters" method="get" action="/memory" role="search" autocomplete="off">
            <div class="search">
                <label class="visually-hidden" for="q">
                    "Search your memory"
                </label>
                <input
                    id="q"
                    type="search"
                    name="q"
                    value=filters.q.clone()
                    placeholder="Search memories…"
                    maxlength="2000"
                    dir="auto"
                    autocomplete="off"
                    enterkeyhint="search"
                />
                <button type="submit">"Search"</button>
            </div>
            <details class="narrow-fold" data-fold="">
                <summary>
                    "Filters" <span data-live="filter-count">{(count > 0).then(|| format!(" ({count})"))}</span>
                </summary>
                <div class="narrow" data-live="narrow">
                    <Fields agents filters />
                </div>
            </details>
            <ul class="chosen" aria-label="Filters in use" data-live="chosen">
                {chosen}
            </ul>
        </form>
    }
    .into_any()
}

#[component]
fn Fields(agents: Vec<(i64, String)>, filters: MemoryFilters) -> impl IntoView {
    let hidden = [("theme", filters.theme.clone()), ("tag", filters.tag.clone())];
    let hidden = hidden.map(|(name, value)| {
        value.map(|value| view! { <input type="hidden" name=name value=value /> })
    });
    let agents: Vec<Choice> = agents
        .into_iter()
        .map(|(id, name)| (id.to_string(), name, filters.agent == Some(id)))
        .collect();
    let agents = (agents.len() > 1)
        .then(|| view! { <Pick name="agent" label="Agent" any="All agents" choices=agents /> });
    let days =
        DATES.map(|(days, words)| (days.to_string(), words.to_owned(), filters.days == Some(days)));
    let status = STATUSES.map(|(status, words)| {
        (status.slug().to_owned(), words.to_owned(), filters.status == status)
    });
    let states = EMBEDDING_STATES.map(|(state, words)| {
        (state.as_str().to_owned(), words.to_owned(), filters.embedding == Some(state))
    });
    let types = ITEM_TYPES.map(|item_type| {
        view! {
            <label class="chip">
                <input
                    id=format!("type-{item_type}")
                    type="checkbox"
                    name="type"
                    value=item_type
                    checked=filters.has_type(item_type)
                />
                <span>{type_name(item_type)}</span>
            </label>
        }
    });
    view! {
        {hidden.collect_view()}
        <fieldset class="chips">
            <legend class="visually-hidden">"Agent, date and status"</legend>
            {agents}
            <Pick name="days" label="Date" any="Any date" choices=days.to_vec() />
            <Pick name="status" label="Status" any="Active" choices=status.to_vec() />
        </fieldset>
        <fieldset class="chips">
            <legend class="visually-hidden">"Types"</legend>
            {types.collect_view()}
        </fieldset>
        <details class="fold more-filters" id="more-filters" open=filters.embedding.is_some() || !filters.day.is_today()>
            <summary>"More"</summary>
            <fieldset class="chips">
                <legend class="visually-hidden">"Another day, and embeddings"</legend>
                <DayFields day=filters.day.clone() />
                <a class="timeline-link" href="/timeline">"Timeline"</a>
                <Pick name="embedding" label="Embedding status" any="Any embedding status" choices=states.to_vec() />
            </fieldset>
        </details>
    }
    .into_any()
}

/// Each filter in use as a link that removes it.
fn chosen(filters: &MemoryFilters, agents: &[(i64, String)]) -> Vec<AnyView> {
    let mut chosen: Vec<(&'static str, String, MemoryFilters)> = Vec::new();
    if let Some(theme) = &filters.theme {
        chosen.push(("theme", theme.clone(), filters.with_theme(None)));
    }
    if let Some(tag) = &filters.tag {
        chosen.push(("tag", tag.clone(), filters.with_tag(None)));
    }
    for item_type in &filters.types {
        let without = filters.without_type(item_type);
        chosen.push(("type", type_name(item_type).to_owned(), without));
    }
    if let Some(id) = filters.agent {
        let name = agents.iter().find(|(agent, _)| *agent == id);
        let name = name.map_or_else(|| id.to_string(), |(_, name)| name.clone());
        chosen.push(("agent", name, filters.with_agent(None)));
    }
    if let Some(days) = filters.days {
        let words = DATES.iter().find(|(n, _)| *n == days);
        let words =
            words.map_or_else(|| format!("last {days} days"), |(_, words)| words.to_lowercase());
        chosen.push(("date", words, filters.with_days(None)));
    }
    if filters.status != StatusFilter::Active {
        let words = filters.status.slug().to_owned();
        chosen.push(("status", words, filters.with_status(StatusFilter::Active)));
    }
    if let Some(state) = filters.embedding {
        let words = state.as_str().to_owned();
        chosen.push(("embedding", words, filters.with_embedding(None)));
    }
    if !filters.day.is_today() {
        let days = [filters.day.as_of.as_str(), filters.day.at.as_str()];
        let words: Vec<&str> = days.into_iter().filter(|day| !day.is_empty()).collect();
        chosen.push(("day", words.join(", "), filters.today()));
    }
    let link = |(name, words, without): (&'static str, String, MemoryFilters)| {
        view! {
            <li>
                <a class="chip" href=without.href() data-live-link="loosen">
                    <span class="visually-hidden">"Remove the filter "</span>
                    {name} ": " <bdi>{words}</bdi> <span aria-hidden="true">"×"</span>
                </a>
            </li>
        }
        .into_any()
    };
    chosen.into_iter().map(link).collect()
}

/// A list at the side on a desk, folded on a phone.
#[component]
pub fn Themes(themes: Vec<MemoryTheme>, has_more: bool, filters: MemoryFilters) -> impl IntoView {
    let chosen = filters.theme.clone();
    let chosen_name = match &chosen {
        None => "all".to_owned(),
        Some(slug) => themes
            .iter()
            .find(|theme| theme.slug == *slug)
            .map_or_else(|| slug.clone(), |theme| theme.display_name.clone()),
    };
    // Unknown where smaller themes are not listed.
    let all = themes.iter().map(|theme| theme.active_count).sum::<i64>();
    let all = (!has_more).then_some(all);
    let entry = |slug: Option<String>, name: String, count: Option<i64>| {
        let href = filters.with_theme(slug.as_deref()).href();
        let current = (slug == chosen).then_some("true");
        view! {
            <li>
                <a href=href aria-current=current data-live-link="theme">
                    <bdi>{name}</bdi>
                    {count
                        .map(|count| {
                            view! {
                                <span class="number">
                                    {count} <span class="visually-hidden">" active"</span>
                                </span>
                            }
                        })}
                </a>
            </li>
        }
    };
    let is_shown = |theme: &MemoryTheme| chosen.as_deref() == Some(&theme.slug);
    let mut first = themes;
    let mut rest = first.split_off(first.len().min(THEMES_FIRST));
    // What is chosen is in sight.
    if let Some(at) = rest.iter().position(is_shown) {
        first.push(rest.remove(at));
    }
    let of = |theme: MemoryTheme| {
        let count = Some(theme.active_count);
        entry(Some(theme.slug), theme.display_name, count)
    };
    let told = match has_more {
        true => "More themes".to_owned(),
        false => format!("{} more", rest.len()),
    };
    let rest = (!rest.is_empty()).then(|| {
        view! {
            <details class="fold" id="more-themes">
                <summary>{told}</summary>
                <ul>{rest.into_iter().map(of).collect_view()}</ul>
                {has_more.then(|| view! { <p class="hint">"Smaller themes are not listed."</p> })}
            </details>
        }
    });
    view! {
        <details class="themes fold" data-fold="">
            <summary>"Theme: " <bdi data-live="theme">{chosen_name}</bdi></summary>
            <nav aria-label="Themes" data-live="themes">
                <ul>
                    {entry(None, "All themes".to_owned(), all)}
                    {first.into_iter().map(of).collect_view()}
                </ul>
                {rest}
            </nav>
        </details>
    }
    .into_any()
}
