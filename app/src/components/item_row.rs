//! One memory in the list: its words first, then where they come from. The
//! whole row is the link.

use leptos::prelude::*;

use super::{
    EmbeddingMark, Marked, OutdatedBadge, Score, StateBadge, TypeBadge, When, retired_state,
};
use crate::view::{self, EmbeddingState, MemoryFilters, Span};

/// Who alone sees it: "for claude-code only"; nothing where it is shared.
#[component]
pub fn OwnerBadge(owner: Option<String>) -> impl IntoView {
    owner.map(|owner| {
        view! {
            <span class="badge badge-outline">
                "for " <bdi>{owner}</bdi> " only"
            </span>
        }
    })
}

/// Who stated it: "stated by an agent (a conversation), claude-code".
#[component]
pub fn WordOf(word: view::Word) -> impl IntoView {
    view! {
        <span class="source">
            {word.whose} {word.source.map(|source| format!(" ({source})"))}
            {word.agent.map(|agent| view! { ", " <bdi>{agent}</bdi> })}
        </span>
    }
    .into_any()
}

#[component]
pub fn ItemRow(row: view::ItemRow) -> impl IntoView {
    let mark = row.embedding_error.is_some().then(|| {
        view! { <EmbeddingMark state=EmbeddingState::Error /> }
    });
    // A turn is read where it was said, a part in its document.
    let href = match (&row.turn, &row.part) {
        (Some(turn), _) => turn.href(),
        (None, Some(part)) => part.href(),
        (None, None) => row.href.clone(),
    };
    let from = match (row.turn, row.part) {
        (Some(turn), _) => {
            let why = row.href;
            view! {
                <span class="source">
                    {format!("said by the {}", turn.role)}
                    {row.word.agent.map(|agent| view! { ", with " <bdi>{agent}</bdi> })}
                </span>
                <a class="above" href=why>"details"</a>
            }
            .into_any()
        }
        (None, Some(part)) => {
            let why = row.href;
            view! {
                <span class="source">
                    <bdi>
                        <Marked text=part.path.clone() />
                    </bdi>
                    {format!(", {}", part.lines_in_words())}
                </span>
                <a class="above" href=why>"details"</a>
            }
            .into_any()
        }
        (None, None) => view! { <WordOf word=row.word /> }.into_any(),
    };
    view! {
        <li class="row" data-row="" data-archived=row.retired.map(|_| "")>
            <div class="row-type">
                <TypeBadge item_type=row.item_type />
            </div>
            <div class="row-words">
                <a class="row-link" href=href dir="auto">
                    {row.snippet.into_iter().map(marked).collect_view()}
                </a>
                <p class="row-from">
                    {row.theme.map(|theme| {
                        let href = MemoryFilters::default().with_theme(Some(&theme)).href();
                        view! { <a class="theme" href=href data-live-link="filter"><bdi>{theme}</bdi></a> }
                    })}
                    {from}
                    {row.period.map(|period| view! { <span class="badge badge-outline">{period}</span> })}
                    <OwnerBadge owner=row.owner />
                    {row.retired.map(|retired| view! { <StateBadge state=retired_state(retired) /> })}
                    {row.outdated.map(|mark| view! { <OutdatedBadge mark /> })}
                    {mark}
                    {row
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
                {row.embedding_error.map(|error| view! { <p class="row-error hint">{error}</p> })}
            </div>
            <div class="row-when">
                <When at=row.created />
                {row.score.map(|score| view! { <Score id=row.id score parts=row.parts /> })}
            </div>
        </li>
    }
    .into_any()
}

fn marked(span: Span) -> AnyView {
    if span.marked { view! { <mark>{span.text}</mark> }.into_any() } else { span.text.into_any() }
}
