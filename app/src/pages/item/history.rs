//! What happened to a memory, and which agents got it.

use leptos::prelude::*;

use super::LoadedItem;
use crate::activity::KEPT_DAYS;
use crate::address::ActivityFilters;
use crate::components::{When, did};
use crate::consolidation::dreaming::model::ItemProposal;
use crate::kinds::{event_in_words, whose};
use crate::memories::{ItemEvent, ItemId, ItemSource, ItemState};
use crate::page::asked;
use crate::pages::activity::readings::Reading;

#[component]
pub fn History(found: LoadedItem) -> impl IntoView {
    let entries = entries(&found);
    view! {
        <section class="part" aria-labelledby="history">
            <h2 id="history">"History"</h2>
            <ol class="timeline">{entries}</ol>
            <Readings item=found.item.id readings=found.readings />
        </section>
    }
    .into_any()
}

/// Oldest first.
fn entries(found: &LoadedItem) -> Vec<AnyView> {
    let is_derived = found.item.source == ItemSource::Derived.as_str();
    let mut after = found.item.state();
    let mut entries = Vec::with_capacity(found.history.len());
    for event in found.history.iter().rev() {
        let changes = match &event.was {
            Some(was) if event.event == "changed" => changes(was, &after),
            _ => Vec::new(),
        };
        entries.push(entry(event, &changes, actor(event, is_derived, &found.dreams)));
        // Superseding records only the confidence, since nothing else changes.
        let confidence = event.was_confidence.unwrap_or(after.confidence);
        after = event.was.clone().unwrap_or(ItemState { confidence, ..after });
    }
    entries.reverse();
    entries
}

fn entry(event: &ItemEvent, changes: &[String], actor: Option<String>) -> AnyView {
    view! {
        <li>
            <span class="event">{event_in_words(event.event.clone())}</span>
            {actor
                .map(|actor| {
                    view! {
                        <span class="actor">"by " <bdi>{actor}</bdi></span>
                    }
                })}
            <When at=event.at />
            {(!changes.is_empty())
                .then(|| view! { <p class="hint"><bdi>{changes.join("; ")}</bdi></p> })}
        </li>
    }
    .into_any()
}

/// `None`: nobody caused it.
fn actor(event: &ItemEvent, is_derived: bool, dreams: &[ItemProposal]) -> Option<String> {
    let in_dream = dreams.iter().find(|dream| dream.at == event.at);
    match (event.event.as_str(), &event.agent, in_dream) {
        ("expired" | "faded" | "began" | "ended", ..) => None,
        // The server writes derived items.
        ("added" | "superseded", ..) if is_derived => None,
        (_, Some(agent), _) => Some(agent.clone()),
        (_, None, Some(dream)) if dream.by_dream => Some("a dream".to_owned()),
        (_, None, Some(_)) => Some("you, accepting a dream's proposal".to_owned()),
        (_, None, None) => Some("you".to_owned()),
    }
}

/// What differed before the change, in words.
fn changes(was: &ItemState, is: &ItemState) -> Vec<String> {
    let mut told = Vec::new();
    if was.tags != is.tags {
        told.push(match was.tags.is_empty() {
            true => "it had no tags".to_owned(),
            false => format!("its tags were {}", was.tags.join(", ")),
        });
    }
    if was.expires_at != is.expires_at {
        told.push(match was.expires_at {
            Some(at) => format!("it expired {}", asked().moment(at).exact),
            None => "it did not expire".to_owned(),
        });
    }
    if was.period != is.period {
        told.push(match was.period.told(&asked().zone()).as_str() {
            "" => "it had no dates".to_owned(),
            period => format!("it was valid {period}"),
        });
    }
    if was.confidence != is.confidence {
        told.push(format!("its confidence was {}", was.confidence));
    }
    if was.trust != is.trust {
        told.push(format!("it was {}", whose(was.trust)));
    }
    told
}

/// Who got it, and when; the rest is on the page of activity.
#[component]
fn Readings(item: ItemId, readings: Vec<Reading>) -> impl IntoView {
    let list = if readings.is_empty() {
        let none = format!("No agent found or read it in the last {KEPT_DAYS} days.");
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
            <a href=ActivityFilters::of_item(item.0).href()>"View activity"</a>
        </p>
    }
    .into_any()
}
