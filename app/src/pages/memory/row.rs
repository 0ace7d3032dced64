//! One memory in the list: its words first, then where they come from. The
//! whole row is the link.

use leptos::prelude::*;

use crate::address::{DayFilters, MemoryFilters, document_path, said_in};
use crate::components::{
    EmbeddingMark, Marked, OutdatedBadge, OwnerBadge, Score, StateBadge, TypeBadge, When, WordOf,
    retired_state,
};
use crate::embedding::{EmbeddingState, ItemEmbedding};
use crate::memories::Period;
use crate::memories::period::PeriodPhase;
use crate::page::asked;
use crate::search::{Hit, Snippet};
use crate::words::lines_in_words;

#[component]
pub fn Row(hit: Hit, embedding: ItemEmbedding, is_ranked: bool, day: DayFilters) -> impl IntoView {
    let Hit { item, snippet, score, explanation, .. } = hit;
    let error =
        (embedding.state == EmbeddingState::Error).then(|| embedding.error.unwrap_or_default());
    let mark = error.is_some().then(|| {
        view! { <EmbeddingMark state=EmbeddingState::Error /> }
    });
    let page = day.on(&format!("/memory/{}", item.id));
    // On an earlier day, an item that expired later was active.
    let expires_at = item.expires_at.filter(|_| day.as_of.is_empty());
    let retired = asked().retired(item.status, item.is_superseded, expires_at);
    // A turn is read where it was said, a part in its document.
    let href = match (&item.turn, &item.part) {
        (Some(turn), _) => said_in((turn.session_id, Some(turn.position))),
        (None, Some(part)) => document_path(part.document),
        (None, None) => page.clone(),
    };
    let from = match (item.turn, item.part) {
        (Some(turn), _) => view! {
            <span class="source">
                {format!("said by the {}", turn.role)}
                {item.agent.map(|agent| view! { ", with " <bdi>{agent}</bdi> })}
            </span>
            <a class="above" href=page>"details"</a>
        }
        .into_any(),
        (None, Some(part)) => view! {
            <span class="source">
                <bdi>
                    <Marked text=part.path />
                </bdi>
                {format!(", {}", lines_in_words(part.lines))}
            </span>
            <a class="above" href=page>"details"</a>
        }
        .into_any(),
        (None, None) => {
            view! { <WordOf source=item.source trust=item.trust agent=item.agent /> }.into_any()
        }
    };
    view! {
        <li class="row" data-row="" data-archived=retired.map(|_| "")>
            <div class="row-type">
                <TypeBadge item_type=item.item_type.as_str().to_owned() />
            </div>
            <div class="row-words">
                <a class="row-link" href=href dir="auto">
                    {excerpt(&snippet)}
                </a>
                <p class="row-from">
                    {item.theme.map(|theme| {
                        let href = MemoryFilters::default().with_theme(Some(&theme)).href();
                        view! { <a class="theme" href=href data-live-link="filter"><bdi>{theme}</bdi></a> }
                    })}
                    {from}
                    {period_of(item.period).map(|period| view! { <span class="badge badge-outline">{period}</span> })}
                    <OwnerBadge owner=item.owner />
                    {retired.map(|retired| view! { <StateBadge state=retired_state(retired) /> })}
                    {item.replaced.outdated.map(|mark| view! { <OutdatedBadge mark /> })}
                    {mark}
                    {item
                        .tags
                        .into_iter()
                        .map(|tag| {
                            let href = MemoryFilters::default().with_tag(Some(&tag)).href();
                            view! {
                                <a class="tag" href=href data-live-link="filter">
                                    <bdi>{tag}</bdi>
                                </a>
                            }
                        })
                        .collect_view()}
                </p>
                {error.map(|error| view! { <p class="row-error hint">{error}</p> })}
            </div>
            <div class="row-when">
                <When at=item.created_at />
                {is_ranked.then(|| view! { <Score id=item.id.0 score parts=explanation /> })}
            </div>
        </li>
    }
    .into_any()
}

/// When it is true: "since 2019", "no longer true: 2010 to 2015".
fn period_of(period: Period) -> Option<String> {
    let told = Some(period.told(&asked().zone())).filter(|told| !told.is_empty())?;
    Some(match period.phase(asked().state.clock.now()) {
        PeriodPhase::Holds => told,
        PeriodPhase::Over => format!("no longer true: {told}"),
        PeriodPhase::Ahead => format!("not true yet: {}", told.replace("since ", "from ")),
    })
}

/// Marked where a word of the query matches.
fn excerpt(snippet: &Snippet) -> Vec<AnyView> {
    let mut spans = Vec::new();
    let mut push = |text: &str, is_match| {
        let text = text.to_owned();
        match is_match {
            _ if text.is_empty() => {}
            true => spans.push(view! { <mark>{text}</mark> }.into_any()),
            false => spans.push(text.into_any()),
        }
    };
    let mut at = 0;
    for range in &snippet.matches {
        push(&snippet.text[at..range.start], false);
        push(&snippet.text[range.clone()], true);
        at = range.end;
    }
    push(&snippet.text[at..], false);
    spans
}
