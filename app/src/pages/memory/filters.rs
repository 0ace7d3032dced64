//! What narrows the list: the search form with its chips and switches, and the
//! themes with their counts. It works as a form and links; the island only
//! spares the reload.

use leptos::prelude::*;

use crate::components::{Choice, DayFields, ITEM_TYPES, Pick};
use crate::view::{EmbeddingState, MemoryFilters, ThemeCount};

const EMBEDDING_STATES: [(EmbeddingState, &str); 3] = [
    (EmbeddingState::Ready, "Embedding ready"),
    (EmbeddingState::Pending, "Embedding pending"),
    (EmbeddingState::Error, "Embedding failed"),
];

/// The search box stays when results are swapped; the chips below it are swapped too,
/// so that they always show what the list was made with.
#[component]
pub fn SearchForm(agents: Vec<(i64, String)>, filters: MemoryFilters) -> impl IntoView {
    let agents: Vec<Choice> = agents
        .into_iter()
        .map(|(id, name)| (id.to_string(), name, filters.agent == Some(id)))
        .collect();
    let agents = (agents.len() > 1)
        .then(|| view! { <Pick name="agent" label="Agent" any="Any agent" choices=agents /> });
    let chips = ITEM_TYPES.map(|item_type| {
        let id = format!("type-{item_type}");
        view! {
            <label class="chip">
                <input
                    id=id
                    type="checkbox"
                    name="type"
                    value=item_type
                    checked=filters.has_type(item_type)
                />
                <span>{item_type}</span>
            </label>
        }
    });
    let states = EMBEDDING_STATES.map(|(state, words)| {
        view! {
            <option value=state.slug() selected=filters.embedding == Some(state)>
                {words}
            </option>
        }
    });
    let is_chosen = filters.embedding.is_some().then_some("");
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
                    placeholder="Search by meaning or words"
                    maxlength="2000"
                    dir="auto"
                    autocomplete="off"
                    enterkeyhint="search"
                />
                <button type="submit">"Search"</button>
            </div>
            <div class="narrow" data-live="narrow">
                {filters
                    .theme
                    .clone()
                    .map(|theme| view! { <input type="hidden" name="theme" value=theme /> })}
                <fieldset class="chips">
                    <legend class="visually-hidden">"Types"</legend>
                    {chips.into_iter().collect_view()}
                </fieldset>
                <fieldset class="chips">
                    <legend class="visually-hidden">"Archived memories and embeddings"</legend>
                    <label class="switch">
                        <input
                            id="archived"
                            type="checkbox"
                            role="switch"
                            name="archived"
                            value="1"
                            checked=filters.include_archived
                        />
                        <span>"Include archived"</span>
                    </label>
                    <label class="chip">
                        <input
                            id="only-archived"
                            type="checkbox"
                            name="status"
                            value="archived"
                            checked=filters.only_archived
                        />
                        <span>"Only archived"</span>
                    </label>
                <label class="pick">
                    <span class="visually-hidden">"Embedding status"</span>
                    <select id="embedding" name="embedding" data-chosen=is_chosen>
                        <option value="">"Any embedding status"</option>
                        {states.into_iter().collect_view()}
                    </select>
                </label>
                {agents}
                </fieldset>
                <fieldset class="chips">
                    <legend class="visually-hidden">"Another day"</legend>
                    <DayFields day=filters.day.clone() />
                    <a class="timeline-link" href="/timeline">"Timeline"</a>
                </fieldset>
            </div>
        </form>
    }
    .into_any()
}

/// A list at the side on a desk, folded on a phone.
#[component]
pub fn Themes(themes: Vec<ThemeCount>, filters: MemoryFilters) -> impl IntoView {
    let chosen = filters.theme.clone();
    let chosen_name = match &chosen {
        None => "all".to_owned(),
        Some(slug) => themes
            .iter()
            .find(|theme| theme.slug == *slug)
            .map_or_else(|| slug.clone(), |theme| theme.display_name.clone()),
    };
    let all = themes.iter().map(|theme| theme.active_count).sum::<i64>();
    let entry = move |slug: Option<String>, name: String, count: i64| {
        let href = filters.with_theme(slug.as_deref()).href();
        let current = (slug == chosen).then_some("true");
        view! {
            <li>
                <a href=href aria-current=current data-live-link="theme">
                    <bdi>{name}</bdi>
                    <span class="number">{count} <span class="visually-hidden">" active"</span></span>
                </a>
            </li>
        }
    };
    view! {
        <details class="themes fold" data-fold="">
            <summary>"Theme: " <bdi data-live="theme">{chosen_name}</bdi></summary>
            <nav aria-label="Themes">
                <ul data-live="themes">
                    {entry(None, "All themes".to_owned(), all)}
                    {themes
                        .into_iter()
                        .map(|theme| entry(Some(theme.slug), theme.display_name, theme.active_count))
                        .collect_view()}
                </ul>
            </nav>
        </details>
    }
    .into_any()
}
