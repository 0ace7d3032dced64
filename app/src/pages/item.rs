//! One memory, whole: its words, where they come from, what happened to them,
//! its vector, and why it would surface. What a person decides about it stands apart (`manage.rs`).

mod lineage;
pub mod load;
mod manage;
pub mod post;
mod related;
mod why;

use axum::response::Response;
use leptos::prelude::*;

use crate::address::said_in;
use crate::components::not_found;
use crate::components::{
    Content, DayBanner, EmbeddingMark, Fact, Facts, Marked, Section, SourceList, SpanBar,
    StateBadge, TypeBadge, When, WordOf, count, did, memories, retired_state,
};
use crate::forms::{FormName, FormState};
use crate::moment::Moment;
use crate::page::{Page, asked};
use crate::view::{
    ActivityFilters, DayFilters, EntityLink, FactBar, HistoryEntry, ItemPage, MemoryFilters,
    OutdatedMark, PartPlace, ProposedRow, PutAside, Reading, Retired, SourceItem, SpanPlace,
    TurnPlace,
};
use manage::{Decided, Manage};
use related::Related;
use why::{Surfaces, Vector};

pub async fn show(page: Page) -> Response {
    let query = page.asked_for("q").filter(|query| !query.trim().is_empty());
    let day = DayFilters::from_query(page.query());
    let form = page.form.clone();
    // What is not a number names nothing.
    let found = match page.id().parse() {
        Ok(id) => page.item_page(id, query.as_deref(), &day).await,
        Err(_) => Ok(None),
    };
    let href = format!("/memory/{}", page.id());
    page.render(Section::Memory, "A memory", href, found, move |page| {
        let body = match page {
            Some(page) => view! { <Whole item=page form=form.clone() /> }.into_any(),
            None => {
                not_found();
                view! { <Missing /> }.into_any()
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

#[component]
fn Missing() -> impl IntoView {
    view! {
        <h1>"No such memory"</h1>
        <p>"It may have been deleted permanently, or it was never yours."</p>
        <p>
            <a href="/data#receipts-title">"Receipts of what was deleted"</a>
        </p>
    }
}

#[component]
fn Whole(item: ItemPage, form: FormState) -> impl IntoView {
    let retired = item.retired.map(|retired| {
        let why = match retired {
            Retired::Archived => "It is archived",
            Retired::Superseded => "Another memory has replaced it",
            Retired::PutAside => "It contradicts another memory, which is active",
            Retired::Expired => "It has expired",
            Retired::Faded => "It was not used for a long time, and faded",
        };
        view! { <p class="aside">{why} ": agents find it only when they include archived memories."</p> }
    });
    let outdated = item.outdated.map(|mark| {
        let why = match mark {
            OutdatedMark::ReplacedBy(newer) => {
                view! { "It says what has changed since: " {memory_link(newer)} " holds now." }
                    .into_any()
            }
            OutdatedMark::NotHeld => "It says what is not held any more.".into_any(),
        };
        view! { <p class="aside">{why}</p> }
    });
    view! {
        <DayBanner day=item.day.clone() today=format!("/memory/{}", item.id) />
        <article class="item">
            <div class="parts">
                <div>
                    <Decided item=item.clone() form=form.of(FormName::Manage) />
                    <Headline item=item.clone() />
                    <Content text=item.content.clone() />
                    <Names names=item.names.clone() />
                    {retired}
                    {outdated}
                    <Derived ids=item.derived.clone() />
                    <Changes fact=item.fact.clone() />
                    <Chain older=item.superseded.clone() newer=item.superseded_by />
                    <Proposals proposed=item.proposed.clone() />
                    <Contradictions put_aside=item.put_aside.clone() />
                </div>
                <Related related=item.related.clone() lineage=item.lineage.clone() />
                <Surfaces id=item.id why=item.why.clone() embedding=item.embedding.clone() />
                {item.turn.clone().map(|turn| view! { <WhereSaid turn /> })}
                {item.part.clone().map(|part| view! { <OfDocument part /> })}
                {item.span.clone().map(|span| view! { <OfSession span /> })}
                <Origins items=item.origins.clone() gone=item.origins_gone />
            </div>
            <div class="parts">
                <section class="part" aria-labelledby="provenance">
                    <h2 id="provenance">"Source"</h2>
                    <Provenance item=item.clone() />
                </section>
                <Manage item=item.clone() form />
                <Vector embedding=item.embedding.clone() />
                {item.part.is_none().then(|| view! { <Happened item=item.clone() /> })}
            </div>
        </article>
    }
    .into_any()
}

/// Of a part it is its document's page that tells.
#[component]
fn Happened(item: ItemPage) -> impl IntoView {
    view! {
        <section class="part" aria-labelledby="history">
            <h2 id="history">"History"</h2>
            <History entries=item.history />
            <Readings item_id=item.id readings=item.readings kept_days=item.kept_days />
        </section>
    }
    .into_any()
}

fn memory_link(id: i64) -> AnyView {
    view! { <a href=format!("/memory/{id}")>"memory " {id}</a> }.into_any()
}

/// What took its place, and whose place it took.
#[component]
fn Chain(older: Vec<i64>, newer: Option<i64>) -> impl IntoView {
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

/// How the fact changed, along time.
#[component]
fn Changes(fact: Vec<FactBar>) -> impl IntoView {
    if fact.is_empty() {
        return ().into_any();
    }
    let rows = fact.into_iter().map(|one| {
        let class = if one.is_current { "span" } else { "span span-past" };
        let current = one.is_this.then_some("page");
        view! {
            <li class=class>
                <p class="span-words" dir="auto">
                    <a href=one.about.href aria-current=current>
                        <Marked text=one.about.text />
                    </a>
                </p>
                <div class="span-time">
                    <SpanBar bar=one.bar />
                    <span class="hint number">{one.when}</span>
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

/// What was written from it.
#[component]
fn Derived(ids: Vec<i64>) -> impl IntoView {
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

/// What it was written from.
#[component]
fn Origins(items: Vec<SourceItem>, gone: i64) -> impl IntoView {
    if items.is_empty() && gone == 0 {
        return ().into_any();
    }
    let told = items.len() as i64;
    let gone = match gone {
        0 => String::new(),
        1 => " One more has expired.".to_owned(),
        n => format!(" {} more have expired.", count(n)),
    };
    view! {
        <section class="part" aria-labelledby="origins-title">
            <h2 id="origins-title">"Sources"</h2>
            <p class="hint">
                "It was written from these. When one of them is deleted permanently, this text is deleted too." {gone}
            </p>
            <details class="sources">
                <summary>{memories(told)}</summary>
                <SourceList items />
            </details>
        </section>
    }
    .into_any()
}

/// What it was said against, by others whose word counts for less here.
#[component]
fn Contradictions(put_aside: Vec<PutAside>) -> impl IntoView {
    let list = (!put_aside.is_empty()).then(|| {
        let entries = put_aside.into_iter().map(|aside| {
            view! {
                <li>
                    <a href=format!("/memory/{}", aside.id) dir="auto">
                        <Marked text=aside.beginning />
                    </a>
                    <WordOf word=aside.word />
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
fn Proposals(proposed: Vec<ProposedRow>) -> impl IntoView {
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
fn Names(names: Vec<EntityLink>) -> impl IntoView {
    if names.is_empty() {
        return ().into_any();
    }
    let links = names.into_iter().enumerate().map(|(n, link)| {
        let joint = if n == 0 { "" } else { ", " };
        view! {
            {joint}
            <a href=link.href() title=link.entity_type>
                <bdi>
                    <Marked text=link.name.clone() />
                </bdi>
            </a>
        }
    });
    view! { <p class="aside names">"Names: " {links.collect_view()}</p> }.into_any()
}

/// A turn is no memory, and goes with what it was said in.
#[component]
fn WhereSaid(turn: TurnPlace) -> impl IntoView {
    view! {
        <section class="part" aria-labelledby="turn-title">
            <h2 id="turn-title">"A message, not a memory"</h2>
            <p>
                {format!("The {} said this. Search finds it while no memory matches better, ", turn.role)}
                "and it stays as long as its session. "
                <a href=turn.href()>"View conversation"</a>
            </p>
            <p class="hint">
                "You choose whether messages are searched on the page "
                <a href="/sessions">"Sessions"</a> "."
            </p>
        </section>
    }
    .into_any()
}

/// An episode is no memory, and goes with its session.
#[component]
fn OfSession(span: SpanPlace) -> impl IntoView {
    let session = match span.session {
        Some((id, name)) => view! {
            "It summarizes the session "
            <a href=format!("/sessions/{id}") dir="auto">
                <Marked text=name />
            </a>
        }
        .into_any(),
        None => "It was imported, and summarizes a session that is not here".into_any(),
    };
    // "6 days ago to 6 days ago" would say nothing.
    let (from, until) = (asked().moment(span.from), asked().moment(span.until));
    let is_one = from.exact == until.exact;
    let exact = |moment: Moment| view! { <time datetime=moment.iso>{moment.exact}</time> };
    let when = match is_one {
        true => view! { ", on " {exact(from)} }.into_any(),
        false => view! { ", from " {exact(from)} " to " {exact(until)} }.into_any(),
    };
    view! {
        <section class="part" aria-labelledby="span-title">
            <h2 id="span-title">"An episode, not a memory"</h2>
            <p>{session} {when} "."</p>
            <p class="hint">
                "Search lists it after memories. You choose how long episodes stay on the page "
                <a href="/sessions#lifetimes">"Sessions"</a> "."
            </p>
        </section>
    }
    .into_any()
}

/// A part is no memory, and changes with its document.
#[component]
fn OfDocument(part: PartPlace) -> impl IntoView {
    let lines = part.lines_in_words();
    view! {
        <section class="part" aria-labelledby="part-title">
            <h2 id="part-title">"A part of a document"</h2>
            <p>
                {format!("These are {lines} of ")} <a href=part.href()>
                    <bdi>
                        <Marked text=part.path.clone() />
                    </bdi>
                </a> ". They stay as long as the document contains them. The document's page shows which searches found it."
            </p>
        </section>
    }
    .into_any()
}

#[component]
fn Headline(item: ItemPage) -> impl IntoView {
    let theme = item.theme.as_ref().map(|(slug, name)| {
        let href = MemoryFilters::default().with_theme(Some(slug)).href();
        view! {
            <a class="theme" href=href>
                <bdi>{name.clone()}</bdi>
            </a>
        }
    });
    let heading = match (&item.turn, &item.part, &item.span) {
        (Some(_), ..) => "A message".to_owned(),
        (None, Some(_), _) => "A part of a document".to_owned(),
        (None, None, Some(_)) => "An episode".to_owned(),
        (None, None, None) => format!("Memory {}", item.id),
    };
    let mark = item.embedding.state.map(|state| {
        view! { <EmbeddingMark state /> }
    });
    view! {
        <header class="item-head">
            <h1 class="visually-hidden">{heading}</h1>
            <p class="badges">
                <TypeBadge item_type=item.item_type.clone() />
                {theme}
                {item.retired.map(|retired| view! { <StateBadge state=retired_state(retired) /> })}
                {item
                    .protected
                    .then(|| {
                        let state = if item.locked { "confirmed" } else { "confirmed by an agent" };
                        view! { <StateBadge state /> }
                    })}
                {mark}
                {item
                    .tags
                    .iter()
                    .map(|tag| {
                        view! {
                            <span class="tag">
                                <bdi>{tag.clone()}</bdi>
                            </span>
                        }
                    })
                    .collect_view()}
            </p>
        </header>
    }
    .into_any()
}

#[component]
fn Provenance(item: ItemPage) -> impl IntoView {
    let quote = item.source_context.map(|context| {
        view! {
            <blockquote class="quote" dir="auto">
                <Marked text=context />
            </blockquote>
        }
    });
    let conversation = item.said_in.map(|place| {
        view! {
            <p>
                <a href=said_in(place)>"View conversation"</a>
            </p>
        }
    });
    let mut facts: Vec<Fact> = vec![
        ("Trust", item.word.into_any()),
        ("Source", view! { <bdi>{item.source}</bdi> }.into_any()),
    ];
    if let Some(agent) = item.agent {
        facts.push(("Agent", view! { <bdi>{agent}</bdi> }.into_any()));
    }
    if let Some(owner) = item.owner {
        let alone = view! { <span>"this agent only: " <bdi>{owner}</bdi></span> };
        facts.push(("Visible to", alone.into_any()));
    }
    if let Some(key) = item.key {
        facts.push(("Key", view! { <code>{key}</code> }.into_any()));
    }
    if !item.period.is_empty() {
        facts.push(("Valid", item.period.into_any()));
    }
    facts.push(("Confidence", format!("{} %", item.confidence).into_any()));
    if let Some(strength) = item.strength {
        facts.push(("Strength", strength.in_words().into_any()));
        if let Some(used) = strength.used {
            facts.push(("Last used", view! { <When at=used /> }.into_any()));
        }
        if let Some(fades) = strength.fades.filter(|_| item.retired.is_none()) {
            let fades = view! { <span><When at=fades /> ", if it is not used"</span> };
            facts.push(("Fades", fades.into_any()));
        }
    }
    facts.push(("Added", view! { <When at=item.created /> }.into_any()));
    if item.updated != item.created {
        facts.push(("Changed", view! { <When at=item.updated /> }.into_any()));
    }
    if let Some(verified) = item.verified {
        facts.push(("Last stated", view! { <When at=verified /> }.into_any()));
    }
    if let Some(expires) = item.expires {
        let term = match item.retired {
            Some(Retired::Expired) => "Expired",
            _ => "Expires",
        };
        facts.push((term, view! { <When at=expires /> }.into_any()));
    }
    facts.push(("ID", view! { <span class="number">{item.id}</span> }.into_any()));
    view! {
        {quote}
        {conversation}
        <Facts facts />
    }
    .into_any()
}

/// Who got it, and when; the rest is on the page of activity.
#[component]
fn Readings(item_id: i64, readings: Vec<Reading>, kept_days: i64) -> impl IntoView {
    let list = if readings.is_empty() {
        let none = format!("No agent found or read it in the last {kept_days} days.");
        view! { <p class="hint">{none}</p> }.into_any()
    } else {
        let entries = readings.into_iter().map(|reading| {
            let event = if reading.tool == "memory_search" { "found" } else { did(&reading.tool) };
            view! {
                <li>
                    <span class="event">{event}</span>
                    <span class="actor">"by " <bdi>{reading.agent}</bdi></span>
                    <When at=reading.at />
                </li>
            }
        });
        view! { <ol class="timeline">{entries.collect_view()}</ol> }.into_any()
    };
    view! {
        <h3>"Read by"</h3>
        {list}
        <p>
            <a href=ActivityFilters::of_item(item_id).href()>"View activity"</a>
        </p>
    }
    .into_any()
}

#[component]
fn History(entries: Vec<HistoryEntry>) -> impl IntoView {
    view! {
        <ol class="timeline">
            {entries
                .into_iter()
                .map(|entry| {
                    view! {
                        <li>
                            <span class="event">{entry.event}</span>
                            {entry.actor.map(|actor| {
                                view! {
                                    <span class="actor">"by " <bdi>{actor}</bdi></span>
                                }
                            })}
                            <When at=entry.at />
                            {(!entry.changes.is_empty())
                                .then(|| view! { <p class="hint"><bdi>{entry.changes.join("; ")}</bdi></p> })}
                        </li>
                    }
                })
                .collect_view()}
        </ol>
    }
    .into_any()
}
