//! One entity: what it is, how it is connected and since when, which memories name it, and what was decided about it. What a
//! person decides stands apart (`manage.rs`). Another user's entity is not found.

use axum::response::Response;
use leptos::prelude::*;

use super::manage::{self, Decisions, EntityForm, Manage};
use super::relations::Relations;
use super::{PATH, entity_error, mentions};
use crate::address::GraphFilters;
use crate::clock::Zone;
use crate::components::{
    Fact, Facts, Marked, Section, StateBadge, TypeBadge, When, memories, not_found,
};
use crate::db::actor;
use crate::entities::{self, Alias, Entity, EntityError, EntityId, Profile};
use crate::forms::{FormName, Posted};
use crate::limits::MENTIONED_IN_SHOWN;
use crate::memories::manage::is_browser_read_only;
use crate::memories::with_key;
use crate::page::{Page, PageError, database};
use crate::search::FoundItem;

const WORDS_SHOWN_CHARS: usize = 200;

pub async fn show(page: Page) -> Response {
    let found = load(&page).await;
    let (href, zone) = (format!("{PATH}/{}", page.id()), page.zone());
    page.render(Section::Entities, "An entity", href, found, move |found| {
        let body = match found {
            Some((profile, can_manage)) => {
                view! { <EntityPage profile zone=zone.clone() can_manage /> }.into_any()
            }
            None => {
                not_found();
                view! { <NoSuchEntity /> }.into_any()
            }
        };
        view! { <div class="page">{body}</div> }.into_any()
    })
    .await
}

/// `None`: there is no such entity. People decide about it here, unless an admin has made the browser read-only.
async fn load(page: &Page) -> Result<Option<(Profile, bool)>, PageError> {
    // What is not a number names nothing.
    let Ok(id) = page.id().parse() else {
        return Ok(None);
    };
    let (db, user, now) = (&page.state.db, page.viewer.user_id, page.state.clock.now());
    let sources = MENTIONED_IN_SHOWN as i64;
    let profile = match entities::profile(db, user, EntityId(id), sources, now).await {
        Ok(profile) => profile,
        Err(EntityError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(entity_error(error)),
    };
    let is_read_only = is_browser_read_only(db).await.map_err(database)?;
    Ok(Some((profile, !is_read_only)))
}

pub async fn decide(Posted(posted, form): Posted<EntityForm>) -> Response {
    actor::require_open_browser();
    let name = match form {
        Ok(EntityForm::Rename { .. }) => FormName::EntityRename,
        Ok(EntityForm::Merge { .. }) => FormName::EntityMerge,
        Ok(EntityForm::Split { .. }) => FormName::EntitySplit,
        _ => FormName::Entity,
    };
    let (path, outcome) = (format!("{PATH}/{}", posted.id), manage::apply(&posted, form).await);
    posted.respond_if_found(show, &path, name, outcome).await
}

#[component]
fn NoSuchEntity() -> impl IntoView {
    view! {
        <h1>"No such entity"</h1>
        <p>"The memories that named it may have been deleted, or it was never yours."</p>
        <p>
            <a href="/entities">"All entities"</a>
        </p>
    }
}

#[component]
fn EntityPage(profile: Profile, zone: Zone, can_manage: bool) -> impl IntoView {
    let Profile { entity, names, relations, sources, decisions } = profile;
    let (id, total) = (entity.id, entity.mentions);
    let around = GraphFilters::around(id.0).href();
    let summary = entity.summary.clone().map(|text| {
        view! {
            <p class="entity-summary" dir="auto">
                <Marked text />
            </p>
        }
    });
    view! {
        <article class="entity">
            <header class="item-head">
                <h1 dir="auto">
                    <Marked text=entity.name.clone() />
                </h1>
                <p class="badges">
                    <TypeBadge item_type=entity.entity_type.as_str().to_owned() />
                    {entity.is_user.then(|| view! { <StateBadge state="you" /> })}
                    {(entity.is_protected && !entity.is_user)
                        .then(|| view! { <StateBadge state="protected" /> })}
                    <a href=around>"Graph around it"</a>
                </p>
            </header>
            {summary}
            <About entity=entity.clone() names=names.clone() />
            <Relations of=id relations zone />
            <Memories total sources />
            <Decisions id decisions can_manage />
            <Manage entity names can_manage />
        </article>
    }
    .into_any()
}

#[component]
fn About(entity: Entity, names: Vec<Alias>) -> impl IntoView {
    let mut facts: Vec<Fact> = Vec::new();
    let others = names.into_iter().map(|alias| alias.name).filter(|name| *name != entity.name);
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        let names = others.into_iter().enumerate().map(|(n, name)| {
            let joint = if n == 0 { "" } else { ", " };
            view! {
                {joint}
                <bdi>
                    <Marked text=name />
                </bdi>
            }
        });
        facts.push(("Also called", names.collect_view().into_any()));
    }
    facts.push(("Named in", mentions(entity.mentions).into_any()));
    for (term, seen) in [("First seen", entity.first_seen), ("Last seen", entity.last_seen)] {
        if let Some(at) = seen {
            facts.push((term, view! { <When at /> }.into_any()));
        }
    }
    view! { <Facts facts inline=true /> }.into_any()
}

#[component]
fn Memories(total: i64, sources: Vec<FoundItem>) -> impl IntoView {
    let shown = sources.len();
    let list = if sources.is_empty() {
        view! { <p class="hint">"No memory names it now."</p> }.into_any()
    } else {
        let rows = sources.into_iter().map(|item| {
            let text = beginning(&item);
            view! {
                <li class="row" data-row="">
                    <div class="row-type">
                        <TypeBadge item_type=item.item_type.as_str().to_owned() />
                    </div>
                    <div class="row-words">
                        <a class="row-link" href=format!("/memory/{}", item.id) dir="auto">
                            <Marked text />
                        </a>
                    </div>
                    <div class="row-when">
                        <When at=item.created_at />
                    </div>
                </li>
            }
        });
        view! { <ol class="rows">{rows.collect_view()}</ol> }.into_any()
    };
    let rest = (shown == MENTIONED_IN_SHOWN && total > shown as i64).then(|| {
        let words = format!("The newest {} are shown.", memories(shown as i64));
        view! { <p class="hint">{words}</p> }
    });
    view! {
        <section class="part" aria-labelledby="memories-title">
            <h2 id="memories-title">"Memories that name it"</h2>
            {list}
            {rest}
        </section>
    }
    .into_any()
}

fn beginning(item: &FoundItem) -> String {
    let text = with_key(item.key.as_deref(), &item.content);
    match text.char_indices().nth(WORDS_SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.into_owned(),
    }
}
