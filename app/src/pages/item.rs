//! One memory, whole: its words, where they come from, what happened to them,
//! its vector, and why it would surface. What a person decides about it stands apart (`manage.rs`).

mod fact;
mod history;
mod lineage;
pub mod manage;
mod related;
mod source;
mod why;

use axum::response::Response;
use leptos::prelude::*;

use crate::address::{DayFilters, MemoryFilters, entity_path};
use crate::components::{
    Content, DayBanner, EmbeddingMark, Marked, Retired, Section, StateBadge, TypeBadge, WordOf,
    not_found, retired_state,
};
use crate::consolidation::dreaming::model::ItemProposal;
use crate::consolidation::lineage::Lineage;
use crate::consolidation::reflection::Origins;
use crate::consolidation::{dreaming, reflection};
use crate::embedding::{EmbeddingState, ItemEmbedding};
use crate::entities::{self, EntityId};
use crate::forms::{FormName, FormState};
use crate::memories::derived::Outdated;
use crate::memories::fading::{self, FadingSettings, Strength};
use crate::memories::mentions::EntityType;
use crate::memories::proposals::{self, AgentProposal};
use crate::memories::timeline::{self, FactVersion};
use crate::memories::{
    self, Day, ItemDetails, ItemEvent, ItemId, MemoryError, MemoryItem, ReplacedItem, with_key,
};
use crate::page::{Page, PageError, database, invalid, memory_error};
use crate::pages::activity::readings::{self, Reading};
use crate::search::ResultPage;
use fact::FactChanges;
use history::History;
use manage::{Decided, ItemErasure, Manage};
use related::Related;
use source::{OfDocument, OfSession, Provenance, WhereSaid, WrittenFrom};
use why::{TestQuery, Vector};

/// So many memories are shown as alike.
const RELATED_SHOWN: usize = 5;

/// An entity by name.
type NamedEntity = (EntityId, String, EntityType);

#[derive(Clone)]
pub struct LoadedItem {
    item: MemoryItem,
    day: Day,
    retired: Option<Retired>,
    outdated: Option<Outdated>,
    embedding: ItemEmbedding,
    strength: Option<Strength>,
    fading: FadingSettings,
    /// The memories whose place it took, and those that contradict it, newest first.
    gave_way: Vec<ReplacedItem>,
    /// In the order of its text.
    names: Vec<NamedEntity>,
    /// What agents propose about it; as the history of its key and what is like it, only of today.
    proposed: Vec<AgentProposal>,
    fact: Vec<FactVersion>,
    related: Option<ResultPage>,
    /// What it was written from, and what was written from it.
    origins: Origins,
    lineage: Lineage,
    /// The query of the address, and what it finds.
    tested: Option<(String, ResultPage)>,
    history: Vec<ItemEvent>,
    /// Of its history, what dreams have proposed.
    dreams: Vec<ItemProposal>,
    /// The last times that an agent got it, newest first.
    readings: Vec<Reading>,
    /// What would go with it.
    erasure: ItemErasure,
    /// A person decides about it here: not about a turn or a part of a document, and not where an admin says so.
    is_manageable: bool,
}

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    // What is not a number names nothing.
    let found = match page.id().parse() {
        Ok(id) => load(&page, ItemId(id)).await,
        Err(_) => Ok(None),
    };
    let href = format!("/memory/{}", page.id());
    page.render(Section::Memory, "A memory", href, found, move |found| {
        let body = match found {
            Some(found) => view! { <ItemPage found form=form.clone() /> }.into_any(),
            None => {
                not_found();
                view! { <NoSuchMemory /> }.into_any()
            }
        };
        view! {
            <div class="page">
                <p class="back">
                    <a href="/memory">
                        <span aria-hidden="true">"← "</span>
                        "All memories"
                    </a>
                </p>
                {body}
            </div>
        }
        .into_any()
    })
    .await
}

/// `None` when there is no such item, or it is another's. On another day, as it was known then; refused where it was not.
/// With a query, also whether and why a search for it finds this item.
async fn load(page: &Page, id: ItemId) -> Result<Option<LoadedItem>, PageError> {
    let (state, viewer, now) = (&page.state, &page.viewer, page.state.clock.now());
    let (db, user) = (&state.db, viewer.user_id);
    let day = DayFilters::from_query(page.query()).parsed(&page.zone(), now).map_err(invalid)?;
    let (whole, history) = match memories::get_whole(db, &state.embeddings, viewer, id, &day).await
    {
        Ok(found) => found,
        Err(MemoryError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(memory_error(error)),
    };
    let ItemDetails { item, embedding, gave_way, strength, outdated } = whole;
    let query = page.asked_for("q").map(|query| query.trim().to_owned());
    let tested = match query.filter(|query| !query.is_empty()) {
        Some(query) => {
            let found = why::search(page, &query).await?;
            Some((query, found))
        }
        None => None,
    };
    let is_memory = item.theme.is_some() || item.span.is_some();
    // Past states cannot be changed.
    let is_manageable = is_memory && day.is_now() && page.is_manageable().await?;
    let retired = page.retired(
        item.status_at(day.as_of.unwrap_or(now)),
        item.superseded_by.is_some(),
        item.expires_at.filter(|_| day.as_of.is_none()),
    );
    let names = entities::of_source(db, user, id).await.map_err(database)?;
    let (proposed, fact, related) = match day.is_now() {
        true => {
            let text = with_key(item.key.as_deref(), &item.content);
            let related = state.search.related(viewer, (id, &*text), RELATED_SHOWN).await;
            (
                proposals::list(db, user, Some(id)).await.map_err(database)?.0,
                timeline::of_fact(db, user, id).await.map_err(database)?,
                Some(related.map_err(database)?),
            )
        }
        false => (Vec::new(), Vec::new(), None),
    };
    Ok(Some(LoadedItem {
        day,
        retired: by_history(retired, &history),
        outdated,
        embedding,
        strength,
        fading: fading::settings(db, user).await.map_err(database)?,
        gave_way,
        lineage: lineage::load(page, &item, &names).await?,
        names,
        proposed,
        fact,
        related,
        origins: reflection::origins(db, user, id).await.map_err(database)?,
        tested,
        history,
        dreams: dreaming::decide::of_item(db, user, id).await.map_err(database)?,
        readings: readings::of_item(page, id).await?,
        erasure: manage::erasure(page, id).await?,
        is_manageable,
        item,
    }))
}

/// More exactly why it is retired, as its history says.
fn by_history(retired: Option<Retired>, history: &[ItemEvent]) -> Option<Retired> {
    let latest = |is: fn(&&ItemEvent) -> bool| history.iter().rev().find(is);
    let is_last = |event: Option<&ItemEvent>, name| event.is_some_and(|e| e.event == name);
    let gave_way = latest(|event| event.is_giving_way());
    let last = latest(|event| event.event != "imported");
    match retired {
        Some(Retired::Superseded) if is_last(gave_way, "put_aside") => Some(Retired::PutAside),
        Some(Retired::Archived) if is_last(last, "faded") => Some(Retired::Faded),
        retired => retired,
    }
}

#[component]
fn NoSuchMemory() -> impl IntoView {
    view! {
        <h1>"No such memory"</h1>
        <p>"It may have been deleted permanently, or it was never yours."</p>
        <p>
            <a href="/data#receipts-title">"Receipts of what was deleted"</a>
        </p>
    }
}

#[component]
fn ItemPage(found: LoadedItem, form: FormState) -> impl IntoView {
    let item = found.item.clone();
    let retired = found.retired.map(|retired| {
        let why = match retired {
            Retired::Archived => "It is archived",
            Retired::Superseded => "Another memory has replaced it",
            Retired::PutAside => "It contradicts another memory, which is active",
            Retired::Expired => "It has expired",
            Retired::Faded => "It was not used for a long time, and faded",
        };
        view! { <p class="aside">{why} ": agents find it only when they include archived memories."</p> }
    });
    let outdated = found.outdated.map(|mark| {
        let why = match mark {
            Outdated::ReplacedBy(newer) => {
                view! { "It says what has changed since: " {memory_link(newer)} " holds now." }
                    .into_any()
            }
            Outdated::NotHeld => "It says what is not held any more.".into_any(),
        };
        view! { <p class="aside">{why}</p> }
    });
    let (put_aside, replaced): (Vec<_>, Vec<_>) =
        found.gave_way.iter().cloned().partition(|older| older.is_put_aside);
    let replaced = replaced.into_iter().map(|older| older.id).collect();
    let Origins { items: sources, gone, derived } = found.origins.clone();
    // Of a part it is its document's page that tells.
    let history = item.part.is_none().then(|| view! { <History found=found.clone() /> });
    let has_vector = found.embedding.state == EmbeddingState::Ready;
    view! {
        <DayBanner day=found.day today=format!("/memory/{}", item.id) />
        <article class="item">
            <div class="parts">
                <div>
                    <Decided found=found.clone() form=form.of(FormName::Manage) />
                    <Headline found=found.clone() />
                    <Content text=with_key(item.key.as_deref(), &item.content).into_owned() />
                    <Names names=found.names.clone() />
                    {retired}
                    {outdated}
                    <Derived ids=derived />
                    <FactChanges versions=found.fact.clone() this=item.id />
                    <Chain older=replaced newer=item.superseded_by />
                    <Proposals proposed=found.proposed.clone() />
                    <Contradictions put_aside />
                </div>
                <Related related=found.related.clone() lineage=found.lineage.clone() />
                <TestQuery item=item.clone() tested=found.tested.clone() has_vector />
                {item.turn.clone().map(|turn| view! { <WhereSaid turn /> })}
                {item.part.clone().map(|part| view! { <OfDocument part /> })}
                {item.span.clone().map(|span| view! { <OfSession span /> })}
                <WrittenFrom sources gone />
            </div>
            <div class="parts">
                <section class="part" aria-labelledby="provenance">
                    <h2 id="provenance">"Source"</h2>
                    <Provenance found=found.clone() />
                </section>
                <Manage found=found.clone() form />
                <Vector embedding=found.embedding.clone() />
                {history}
            </div>
        </article>
    }
    .into_any()
}

fn memory_link(id: ItemId) -> AnyView {
    view! { <a href=format!("/memory/{id}")>"memory " {id.0}</a> }.into_any()
}

/// What took its place, and whose place it took.
#[component]
fn Chain(older: Vec<ItemId>, newer: Option<ItemId>) -> impl IntoView {
    let newer = newer.map(|id| {
        view! { <p class="aside">"Replaced by " {memory_link(id)} "."</p> }
    });
    let older = (!older.is_empty()).then(|| {
        let links = older.into_iter().enumerate().map(|(n, id)| {
            let joint = if n == 0 { "" } else { ", " };
            view! {
                {joint}
                {memory_link(id)}
            }
        });
        view! { <p class="aside">"Replaces " {links.collect_view()} "."</p> }
    });
    view! {
        {newer}
        {older}
    }
    .into_any()
}

/// What was written from it.
#[component]
fn Derived(ids: Vec<ItemId>) -> impl IntoView {
    if ids.is_empty() {
        return ().into_any();
    }
    let links = ids.into_iter().enumerate().map(|(n, id)| {
        let joint = if n == 0 { "" } else { ", " };
        view! {
            {joint}
            {memory_link(id)}
        }
    });
    view! { <p class="aside">"Derived from it: " {links.collect_view()} "."</p> }.into_any()
}

/// What it was said against, by others whose word counts for less here.
#[component]
fn Contradictions(put_aside: Vec<ReplacedItem>) -> impl IntoView {
    let list = (!put_aside.is_empty()).then(|| {
        let entries = put_aside.into_iter().map(|aside| {
            view! {
                <li>
                    <a href=format!("/memory/{}", aside.id) dir="auto">
                        <Marked text=aside.beginning />
                    </a>
                    <WordOf source=aside.source trust=aside.trust agent=None />
                </li>
            }
        });
        view! {
            <section class="contradictions" aria-labelledby="contradictions">
                <h2 id="contradictions">"Archived, because it contradicts this"</h2>
                <ul>{entries.collect_view()}</ul>
            </section>
        }
    });
    view! { {list} }.into_any()
}

/// What agents propose about it.
#[component]
fn Proposals(proposed: Vec<AgentProposal>) -> impl IntoView {
    let lines = proposed.into_iter().map(|one| {
        let what = match one.instead {
            Some((new, _)) => view! {
                "replace this by " <a href=format!("/memory/{new}")>{format!("memory {new}")}</a>
            }
            .into_any(),
            None => "archive this".into_any(),
        };
        view! {
            <p class="aside">
                <bdi>{one.agent}</bdi> " proposes to " {what} ". " <a href="/learned#proposed">"Decide"</a>
            </p>
        }
    });
    lines.collect_view()
}

/// What its text names.
#[component]
fn Names(names: Vec<NamedEntity>) -> impl IntoView {
    if names.is_empty() {
        return ().into_any();
    }
    let links = names.into_iter().enumerate().map(|(n, (id, name, entity_type))| {
        let joint = if n == 0 { "" } else { ", " };
        view! {
            {joint}
            <a href=entity_path(id.0) title=entity_type.as_str()>
                <bdi>
                    <Marked text=name />
                </bdi>
            </a>
        }
    });
    view! { <p class="aside names">"Names: " {links.collect_view()}</p> }.into_any()
}

#[component]
fn Headline(found: LoadedItem) -> impl IntoView {
    let LoadedItem { item, retired, embedding, .. } = found;
    let theme = item.theme.zip(item.theme_display_name).map(|(slug, name)| {
        let href = MemoryFilters::default().with_theme(Some(&slug)).href();
        view! {
            <a class="theme" href=href>
                <bdi>{name}</bdi>
            </a>
        }
    });
    let heading = match (&item.turn, &item.part, &item.span) {
        (Some(_), ..) => "A message".to_owned(),
        (None, Some(_), _) => "A part of a document".to_owned(),
        (None, None, Some(_)) => "An episode".to_owned(),
        (None, None, None) => format!("Memory {}", item.id),
    };
    let state = embedding.state;
    let mark = (state != EmbeddingState::Off).then(|| {
        view! { <EmbeddingMark state /> }
    });
    view! {
        <header class="item-head">
            <h1 class="visually-hidden">{heading}</h1>
            <p class="badges">
                <TypeBadge item_type=item.item_type.as_str().to_owned() />
                {theme}
                {retired.map(|retired| view! { <StateBadge state=retired_state(retired) /> })}
                {item
                    .protected
                    .then(|| {
                        let state = if item.locked { "confirmed" } else { "confirmed by an agent" };
                        view! { <StateBadge state /> }
                    })}
                {mark}
                {item
                    .tags
                    .into_iter()
                    .map(|tag| {
                        view! {
                            <span class="tag">
                                <bdi>{tag}</bdi>
                            </span>
                        }
                    })
                    .collect_view()}
            </p>
        </header>
    }
    .into_any()
}
