//! Entities: the people, projects, organizations and places that memories name. Every filter
//! lives in the address; a form and plain links change it. Names that may be one are asked about above.

pub mod load;
mod manage;
pub mod one;
pub mod post;
mod relations;
mod same;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Choice, Done, FirstSteps, FormError, Marked, Pick, Section, StateBadge, TOKEN_PLACE, TypeBadge,
    When, add_line, count,
};
use crate::forms::{FormName, FormState};
use crate::limits::ROWS_MAX;
use crate::page::{Page, asked};
use crate::view::{EntitiesPage, EntityFilters, EntityRow, EntitySettingsView, EntitySort};
use same::Same;

pub use relations::Bar;

/// In the list only where they are chosen.
const FOLDED: [&str; 3] = ["date", "email", "url"];

pub async fn show(page: Page) -> Response {
    let filters = EntityFilters::from_query(page.query());
    let found = page.entities_view(&page.viewer, &filters).await;
    let href = filters.href();
    page.render(Section::Entities, "Entities", href, found, move |page| match page.is_empty {
        true => view! { <Beginning page /> }.into_any(),
        false => view! { <Found page filters=filters.clone() /> }.into_any(),
    })
    .await
}

#[component]
fn Found(page: EntitiesPage, filters: EntityFilters) -> impl IntoView {
    let order = match filters.sort {
        EntitySort::Mentions => "most mentioned first",
        EntitySort::Name => "by name",
        EntitySort::LastSeen => "most recently seen first",
    };
    let heading = match page.total {
        0 => "No entities".to_owned(),
        1 => "1 entity".to_owned(),
        n => format!("{} entities, {order}", count(n)),
    };
    let more = page.has_more.then(|| more_of(&filters));
    let rows = if page.rows.is_empty() {
        view! {
            <div class="nothing">
                <p class="first-words">"No entity matches."</p>
                <p>
                    <a href="/entities">"Show all entities"</a>
                </p>
            </div>
        }
        .into_any()
    } else {
        view! { <Table rows=page.rows /> }.into_any()
    };
    view! {
        <div class="page">
            <h1>"Entities"</h1>
            <p class="lead">
                "The people, projects, organizations and places that your memories name. "
                <a href="/graph">"See how they are connected"</a>
            </p>
            <Same pairs=page.pairs total=page.pairs_total is_manageable=page.is_manageable />
            <Narrow types=page.types filters />
            <section id="results" class="results" aria-labelledby="count">
                <h2 id="count" class="count">
                    {heading}
                </h2>
                {rows}
                {more}
            </section>
            <Settings settings=page.settings />
        </div>
    }
    .into_any()
}

#[component]
fn Narrow(types: Vec<(&'static str, i64)>, filters: EntityFilters) -> impl IntoView {
    let unfolded = types.iter().filter(|(slug, _)| !FOLDED.contains(slug));
    let all = unfolded.map(|(_, n)| n).sum();
    let link = |slug: Option<&'static str>, n: i64| {
        let href = filters.with_type(slug).href();
        let current = (filters.entity_type == slug).then_some("true");
        view! {
            <li>
                <a class="chip" href=href aria-current=current>
                    {slug.unwrap_or("all")}
                    <span class="number">{count(n)}</span>
                </a>
            </li>
        }
    };
    let links: Vec<_> = [link(None, all)]
        .into_iter()
        .chain(types.iter().map(|(slug, n)| link(Some(*slug), *n)))
        .collect();
    let sorts: Vec<Choice> =
        [(EntitySort::Name, "By name"), (EntitySort::LastSeen, "Most recently seen first")]
            .map(|(sort, words)| (sort.slug().to_owned(), words.to_owned(), filters.sort == sort))
            .to_vec();
    let reset = filters.is_narrowed().then(|| {
        view! {
            <a class="reset" href="/entities">
                "Show all"
            </a>
        }
    });
    let chosen =
        filters.entity_type.map(|slug| view! { <input type="hidden" name="type" value=slug /> });
    view! {
        <div class="filters">
            <form id="filters" method="get" action="/entities" role="search" autocomplete="off">
                <div class="search">
                    <label class="visually-hidden" for="q">
                        "Search by name"
                    </label>
                    <input
                        id="q"
                        type="search"
                        name="q"
                        value=filters.q.clone()
                        placeholder="Search by name"
                        maxlength="200"
                        dir="auto"
                        autocomplete="off"
                        enterkeyhint="search"
                    />
                    <button type="submit">"Search"</button>
                </div>
                {chosen}
                <div class="narrow picks">
                    <Pick name="sort" label="Order" any="Most mentioned first" choices=sorts />
                    <button type="submit">"Sort"</button>
                    {reset}
                </div>
            </form>
            <nav aria-label="Types">
                <ul class="chips">{links}</ul>
            </nav>
        </div>
    }
    .into_any()
}

#[component]
fn Table(rows: Vec<EntityRow>) -> impl IntoView {
    let rows = rows.into_iter().map(|row| {
        let seen = row.last_seen.map(|moment| view! { <When at=moment /> });
        view! {
            <tr data-row="">
                <th scope="row">
                    <a href=row.link.href() dir="auto">
                        <Marked text=row.link.name.clone() />
                    </a>
                    {row.is_user.then(|| view! { <StateBadge state="you" /> })}
                </th>
                <td>
                    <TypeBadge item_type=row.link.entity_type.to_owned() />
                </td>
                <td class="number" data-label=unit(row.mentions, "mention", "mentions")>
                    {count(row.mentions)}
                </td>
                <td class="number" data-label=unit(row.relations, "relation", "relations")>
                    {count(row.relations)}
                </td>
                <td data-label="last seen">{seen}</td>
            </tr>
        }
    });
    view! {
        <table class="entities">
            <thead>
                <tr>
                    <th scope="col">"Name"</th>
                    <th scope="col">"Type"</th>
                    <th scope="col" class="number">
                        "Mentions"
                    </th>
                    <th scope="col" class="number">
                        "Relations"
                    </th>
                    <th scope="col">"Last seen"</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
    .into_any()
}

/// What a number counts, for a card on a phone.
fn unit(n: i64, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

fn more_of(filters: &EntityFilters) -> AnyView {
    match filters.with_more() {
        Some(more) => {
            let step = more.shown - filters.shown;
            view! {
                <p class="more">
                    <a class="button" href=more.href()>
                        {format!("Show {step} more")}
                    </a>
                </p>
            }
            .into_any()
        }
        None => view! {
            <p class="more hint">
                {format!("{ROWS_MAX} are shown at most. Search by name to see others.")}
            </p>
        }
        .into_any(),
    }
}

#[component]
fn Beginning(page: EntitiesPage) -> impl IntoView {
    view! {
        <div class="column">
            <h1>"Entities"</h1>
            <FirstSteps
                first_words="No entities yet."
                lead="Here will be the people, projects, organizations and places that your memories name, and how they are connected. Names are found as memories are added."
                by_hand="add a first memory"
                caption="Add a memory that names somebody"
                line=naming_line(&page.public_url)
            />
            <Settings settings=page.settings />
        </div>
    }
    .into_any()
}

/// The line of the other pages, with a name in what it adds.
fn naming_line(url: &str) -> String {
    add_line(url, TOKEN_PLACE).replace("\"preference\"", "\"fact\"").replace(
        "Prefers short answers, with the reasons after them.",
        "Anna Berg lives in Lyon and works at Acme GmbH.",
    )
}

/// A switch: its name in the form, label, hint, and whether it is on.
type Switch = (&'static str, &'static str, &'static str, bool);

#[component]
fn Settings(settings: EntitySettingsView) -> impl IntoView {
    let form = asked().form.of(FormName::EntitySettings);
    let is_open = form.done.is_some() || form.error.is_some();
    let switches: [Switch; 3] = [
        (
            "by_rules",
            "Find names as memories are added",
            "By rules, without a model.",
            settings.by_rules,
        ),
        (
            "by_model",
            "Let the chat model find relations",
            "When it reads a session, and at night. Needs a chat model.",
            settings.by_model,
        ),
        (
            "in_search",
            "Use entities in search",
            "A memory ranks higher when it names what the query names.",
            settings.in_search,
        ),
    ];
    let switches = switches.map(|(name, label, hint, is_on)| {
        let hint_id = format!("{name}-hint");
        view! {
            <div class="field">
                <label class="switch">
                    <input
                        type="checkbox"
                        role="switch"
                        name=name
                        value="1"
                        checked=is_on
                        aria-describedby=hint_id.clone()
                    />
                    <span>{label}</span>
                </label>
                <p class="hint" id=hint_id>
                    {hint}
                </p>
            </div>
        }
    });
    let full = settings.is_full.then(|| {
        view! {
            <p class="hint">
                "There are 100,000 entities, the maximum. New names are linked to these; no new entities are created."
            </p>
        }
    });
    view! {
        <details class="manage" id="settings" open=is_open>
            <summary>"Settings"</summary>
            <form class="stack manage-body" method="post" action="/entities/settings">
                <Outcome form />
                {switches.into_iter().collect_view()}
                {full}
                <div>
                    <button type="submit">"Save"</button>
                </div>
            </form>
        </details>
    }
    .into_any()
}

#[component]
fn Outcome(form: FormState) -> impl IntoView {
    view! {
        <FormError form=form.clone() fields=&[] />
        <Done form />
    }
}
