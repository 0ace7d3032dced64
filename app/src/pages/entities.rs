//! Entities: the people, projects, organizations and places that memories name. Every filter lives in the address; a form and
//! plain links change it. Names that may be one are asked about above.

mod manage;
pub mod one;
mod relations;
pub mod same;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::address::{EntityFilters, entity_path, order_slug};
use crate::components::{
    Choice, Done, FirstSteps, FormError, Marked, Pick, Section, StateBadge, TOKEN_PLACE, TypeBadge,
    When, add_line, count,
};
use crate::entities::settings::{self, EntitySettings};
use crate::entities::{self, Entity, EntityError, EntityFilter, EntityList, EntityOrder};
use crate::forms::{Field, FormName, FormState, Posted, done};
use crate::input::{check_text, sentence};
use crate::limits::ROWS_MAX;
use crate::memories::manage::is_browser_read_only;
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::NAME_CHARS_MAX;
use crate::page::{Page, PageError, asked, database, invalid};
use same::PossibleDuplicates;

const PATH: &str = "/entities";
/// In the list only where they are chosen.
const FOLDED: [EntityType; 3] = [EntityType::Date, EntityType::Email, EntityType::Url];

pub async fn show(page: Page) -> Response {
    let filters = EntityFilters::from_query(page.query());
    let found = load(&page, &filters).await;
    let href = filters.href();
    page.render(Section::Entities, "Entities", href, found, move |(list, settings, can_manage)| {
        match list.by_type.is_empty() {
            true => view! { <Beginning settings /> }.into_any(),
            false => {
                let filters = filters.clone();
                view! { <EntitiesPage list filters settings can_manage /> }.into_any()
            }
        }
    })
    .await
}

/// The list, the switches, and whether people decide about entities here: not where an admin has made the browser read-only.
async fn load(
    page: &Page,
    filters: &EntityFilters,
) -> Result<(Arc<EntityList>, EntitySettings, bool), PageError> {
    let (db, user) = (&page.state.db, page.viewer.user_id);
    check_text("q", &filters.q, NAME_CHARS_MAX).map_err(invalid)?;
    let unfolded = || EntityType::ALL.into_iter().filter(|one| !FOLDED.contains(one)).collect();
    let filter = EntityFilter {
        types: filters.entity_type.map_or_else(unfolded, |one| vec![one]),
        text: Some(filters.q.clone()).filter(|q| !q.is_empty()),
        sort: filters.sort,
        limit: filters.shown as i64,
    };
    let list = entities::page(db, user, &filter).await.map_err(database)?;
    let settings = settings::of(db, user).await.map_err(database)?;
    let is_read_only = is_browser_read_only(db).await.map_err(database)?;
    Ok((Arc::new(list), settings, !is_read_only))
}

#[derive(Deserialize)]
pub struct EntitySettingsForm {
    by_rules: Field,
    by_model: Field,
    in_search: Field,
}

pub async fn change_settings(Posted(posted, form): Posted<EntitySettingsForm>) -> Response {
    let attempt = async {
        let form = form?;
        let wanted = EntitySettings {
            by_rules: form.by_rules.is_checked(),
            by_model: form.by_model.is_checked(),
            in_search: form.in_search.is_checked(),
            is_full: false,
        };
        settings::save(&posted.state.db, posted.user(), wanted).await?;
        Ok(done(FormName::EntitySettings, "Saved."))
    };
    posted.respond(show, PATH, FormName::EntitySettings, attempt.await).await
}

pub fn entity_error(error: EntityError) -> PageError {
    match error {
        EntityError::Database(error) => database(error),
        error => PageError { is_invalid: true, sentence: sentence(&error.to_string()) },
    }
}

/// `field` is the field to blame.
fn entity_problem(error: EntityError, field: Option<&str>) -> Problem {
    let said = sentence(&error.to_string());
    let (status, code) = match error {
        EntityError::Invalid(invalid) => return invalid.into(),
        EntityError::Database(error) => return error.into(),
        EntityError::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
        EntityError::NoSuchName(_) => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_entity"),
        EntityError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
    };
    Problem { field: field.map(str::to_owned), ..Problem::new(status, code, said) }
}

/// "1 mention", "1,234 mentions"
fn mentions(n: i64) -> String {
    match n {
        1 => "1 mention".to_owned(),
        n => format!("{} mentions", count(n)),
    }
}

#[component]
fn EntitiesPage(
    list: Arc<EntityList>,
    filters: EntityFilters,
    settings: EntitySettings,
    can_manage: bool,
) -> impl IntoView {
    let order = match filters.sort {
        EntityOrder::Mentions => "most mentioned first",
        EntityOrder::Name => "by name",
        EntityOrder::LastSeen => "most recently seen first",
    };
    let heading = match list.total {
        0 => "No entities".to_owned(),
        1 => "1 entity".to_owned(),
        n => format!("{} entities, {order}", count(n)),
    };
    let more = (list.total > filters.shown as i64).then(|| more_of(&filters));
    let rows = if list.entities.is_empty() {
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
        view! { <Table rows=list.entities.clone() /> }.into_any()
    };
    view! {
        <div class="page">
            <h1>"Entities"</h1>
            <p class="lead">
                "The people, projects, organizations and places that your memories name. "
                <a href="/graph">"See how they are connected"</a>
            </p>
            <PossibleDuplicates pairs=list.pairs.clone() total=list.pairs_total can_manage />
            <Narrow by_type=list.by_type.clone() filters />
            <section id="results" class="results" aria-labelledby="count">
                <h2 id="count" class="count">
                    {heading}
                </h2>
                {rows}
                {more}
            </section>
            <Settings settings />
        </div>
    }
    .into_any()
}

#[component]
fn Narrow(by_type: Vec<(EntityType, i64)>, filters: EntityFilters) -> impl IntoView {
    let unfolded = by_type.iter().filter(|(one, _)| !FOLDED.contains(one));
    let all = unfolded.map(|(_, n)| n).sum();
    let link = |entity_type: Option<EntityType>, n: i64| {
        let href = filters.with_type(entity_type).href();
        let current = (filters.entity_type == entity_type).then_some("true");
        view! {
            <li>
                <a class="chip" href=href aria-current=current>
                    {entity_type.map_or("all", EntityType::as_str)}
                    <span class="number">{count(n)}</span>
                </a>
            </li>
        }
    };
    let count_of = |one: EntityType| by_type.iter().find(|(found, _)| *found == one);
    let links: Vec<_> = [link(None, all)]
        .into_iter()
        .chain(
            EntityType::ALL.into_iter().filter_map(count_of).map(|(one, n)| link(Some(*one), *n)),
        )
        .collect();
    let sorts: Vec<Choice> =
        [(EntityOrder::Name, "By name"), (EntityOrder::LastSeen, "Most recently seen first")]
            .map(|(sort, words)| {
                (order_slug(sort).to_owned(), words.to_owned(), filters.sort == sort)
            })
            .to_vec();
    let reset = filters.is_narrowed().then(|| {
        view! {
            <a class="reset" href="/entities">
                "Show all"
            </a>
        }
    });
    let chosen = filters
        .entity_type
        .map(|one| view! { <input type="hidden" name="type" value=one.as_str() /> });
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
fn Table(rows: Vec<Entity>) -> impl IntoView {
    let rows = rows.into_iter().map(|row| {
        let seen = row.last_seen.map(|at| view! { <When at /> });
        view! {
            <tr data-row="">
                <th scope="row">
                    <a href=entity_path(row.id.0) dir="auto">
                        <Marked text=row.name />
                    </a>
                    {row.is_user.then(|| view! { <StateBadge state="you" /> })}
                </th>
                <td>
                    <TypeBadge item_type=row.entity_type.as_str().to_owned() />
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
fn Beginning(settings: EntitySettings) -> impl IntoView {
    let line = naming_line(asked().state.public_url.as_str());
    view! {
        <div class="column">
            <h1>"Entities"</h1>
            <FirstSteps
                first_words="No entities yet."
                lead="Here will be the people, projects, organizations and places that your memories name, and how they are connected. Names are found as memories are added."
                by_hand="add a first memory"
                caption="Add a memory that names somebody"
                line
            />
            <Settings settings />
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
fn Settings(settings: EntitySettings) -> impl IntoView {
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
