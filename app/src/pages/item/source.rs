//! Where a memory comes from: who stated it and when, the message, session or document that it is of, and what it was written
//! from.

use leptos::prelude::*;

use super::LoadedItem;
use crate::address::{document_path, said_in};
use crate::components::{Fact, Facts, Marked, Retired, SourceList, When, count, memories};
use crate::consolidation::summary::SourceItem;
use crate::kinds::{source_in_words, whose};
use crate::memories::fading::Strength;
use crate::memories::{DocumentPart, EpisodeSpan, TurnPosition};
use crate::moment::Moment;
use crate::page::asked;
use crate::words::{lines_in_words, used};

#[component]
pub fn Provenance(found: LoadedItem) -> impl IntoView {
    let LoadedItem { item, retired, strength, fading, .. } = found;
    let fades = strength.and_then(|strength| strength.fades_at(&item, fading.threshold));
    let period = item.period.told(&asked().zone());
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
        ("Trust", whose(item.trust).into_any()),
        ("Source", view! { <bdi>{source_in_words(item.source, item.trust)}</bdi> }.into_any()),
    ];
    if let Some(agent) = item.agent {
        facts.push(("Agent", view! { <bdi>{agent}</bdi> }.into_any()));
    }
    if let Some((_, owner)) = item.owner {
        let alone = view! { <span>"this agent only: " <bdi>{owner}</bdi></span> };
        facts.push(("Visible to", alone.into_any()));
    }
    if let Some(key) = item.key {
        facts.push(("Key", view! { <code>{key}</code> }.into_any()));
    }
    if !period.is_empty() {
        facts.push(("Valid", period.into_any()));
    }
    facts.push(("Confidence", format!("{} %", item.confidence).into_any()));
    if let Some(strength) = strength {
        facts.push(("Strength", strength_in_words(&strength).into_any()));
        if let Some(used) = strength.last_accessed.filter(|_| strength.access_count > 0) {
            facts.push(("Last used", view! { <When at=used /> }.into_any()));
        }
        if let Some(fades) = fades.filter(|_| retired.is_none()) {
            let fades = view! { <span><When at=fades /> ", if it is not used"</span> };
            facts.push(("Fades", fades.into_any()));
        }
    }
    facts.push(("Added", view! { <When at=item.created_at /> }.into_any()));
    if item.updated_at != item.created_at {
        facts.push(("Changed", view! { <When at=item.updated_at /> }.into_any()));
    }
    if let Some(verified) = item.last_verified_at {
        facts.push(("Last stated", view! { <When at=verified /> }.into_any()));
    }
    if let Some(expires) = item.expires_at {
        let term = match retired {
            Some(Retired::Expired) => "Expired",
            _ => "Expires",
        };
        facts.push((term, view! { <When at=expires /> }.into_any()));
    }
    facts.push(("ID", view! { <span class="number">{item.id.0}</span> }.into_any()));
    view! {
        {quote}
        {conversation}
        <Facts facts />
    }
    .into_any()
}

/// "62 %, used 3 times"
fn strength_in_words(strength: &Strength) -> String {
    let uses = match strength.access_count {
        0 => "not used yet".to_owned(),
        n => used(n),
    };
    let never = match strength.half_life_days() {
        None => ", never fades",
        Some(_) => "",
    };
    format!("{} %, {uses}{never}", (100.0 * strength.value).round() as i64)
}

/// A turn is no memory, and goes with what it was said in.
#[component]
pub fn WhereSaid(turn: TurnPosition) -> impl IntoView {
    view! {
        <section class="part" aria-labelledby="turn-title">
            <h2 id="turn-title">"A message, not a memory"</h2>
            <p>
                {format!("The {} said this. Search finds it while no memory matches better, ", turn.role)}
                "and it stays as long as its session. "
                <a href=said_in((turn.session_id, Some(turn.position)))>"View conversation"</a>
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
pub fn OfSession(span: EpisodeSpan) -> impl IntoView {
    let session = match span.session_id.zip(span.session) {
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
pub fn OfDocument(part: DocumentPart) -> impl IntoView {
    let lines = lines_in_words(part.lines);
    view! {
        <section class="part" aria-labelledby="part-title">
            <h2 id="part-title">"A part of a document"</h2>
            <p>
                {format!("These are {lines} of ")} <a href=document_path(part.document)>
                    <bdi>
                        <Marked text=part.path.clone() />
                    </bdi>
                </a> ". They stay as long as the document contains them. The document's page shows which searches found it."
            </p>
        </section>
    }
    .into_any()
}

/// What it was written from.
#[component]
pub fn WrittenFrom(sources: Vec<SourceItem>, gone: i64) -> impl IntoView {
    if sources.is_empty() && gone == 0 {
        return ().into_any();
    }
    let told = sources.len() as i64;
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
                <SourceList items=sources />
            </details>
        </section>
    }
    .into_any()
}
