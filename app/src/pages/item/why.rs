//! Why a memory would surface: by its vector, by its words, and, for a query
//! that is asked in the address, at which rank and with which score.

use leptos::prelude::*;

use crate::components::{EmbeddingMark, Fact, Facts, ScoreTable, When};
use crate::embedding::{EmbeddingState, ItemEmbedding};
use crate::input::sentence;
use crate::memories::{ItemId, MemoryItem, with_key, words};
use crate::page::{Page, PageError, database, invalid};
use crate::pages::embeddings::provider_name;
use crate::search::query::RESULTS_MAX;
use crate::search::{RawQuery, ResultPage, SearchQuery};

const INDEX_WORDS_SHOWN: usize = 24;

/// What the query finds, whatever the status.
pub async fn search(page: &Page, query: &str) -> Result<ResultPage, PageError> {
    let query = SearchQuery::parse(RawQuery {
        query,
        limit: Some(RESULTS_MAX as i64),
        status: Some("any"),
        ..RawQuery::default()
    });
    let found = page.state.search.find(&page.viewer, &query.map_err(invalid)?).await;
    found.map_err(database)
}

#[component]
pub fn TestQuery(
    item: MemoryItem,
    /// The query of the address, and what it finds.
    tested: Option<(String, ResultPage)>,
    has_vector: bool,
) -> impl IntoView {
    let id = item.id;
    let (query, answer) = match tested {
        Some((query, found)) => (query, Some(view! { <Answer id found /> })),
        None => (String::new(), None),
    };
    let content = with_key(item.key.as_deref(), &item.content);
    let words = words::telling_words(&content, INDEX_WORDS_SHOWN);
    view! {
        <section class="part" id="why" aria-labelledby="why-title">
            <h2 id="why-title">"Test a query"</h2>
            <form class="search" method="get" action=format!("/memory/{id}#why") role="search">
                <label class="visually-hidden" for="why-q">
                    "Would this query find it?"
                </label>
                <input
                    id="why-q"
                    type="search"
                    name="q"
                    value=query
                    placeholder="Would this query find it?"
                    maxlength="2000"
                    required
                    dir="auto"
                    autocomplete="off"
                    enterkeyhint="search"
                />
                <button type="submit">"Test"</button>
            </form>
            {answer}
            <FoundBy words has_vector />
        </section>
    }
    .into_any()
}

/// The item's rank in the answer.
#[component]
fn Answer(id: ItemId, found: ResultPage) -> impl IntoView {
    let all = found.hits.len();
    let of = match all {
        1 => "the only memory found".to_owned(),
        of => format!("of {of} memories found"),
    };
    let place = found.hits.iter().position(|hit| hit.item.id == id);
    let headline = match place {
        Some(_) if all == 1 => format!("Yes: it is {of}."),
        Some(at) => format!("Yes: at rank {} {of}.", at + 1),
        None if all == 0 => "Not found: this query finds nothing.".to_owned(),
        None => format!("Not in the top {all} for this query."),
    };
    let degraded = found.degraded.map(|clause| sentence(&clause));
    let hit = place.map(|at| &found.hits[at]);
    let table = hit.map(|hit| {
        view! { <ScoreTable score=hit.score parts=hit.explanation /> }
    });
    view! {
        <div class="surface" role="status">
            <p class="first-words">{headline}</p>
            {degraded.map(|sentence| view! { <p class="degraded">{sentence}</p> })}
            {table}
        </div>
    }
    .into_any()
}

#[component]
fn FoundBy(words: Vec<String>, has_vector: bool) -> impl IntoView {
    let by_meaning = match has_vector {
        true => "Semantic: its embedding is compared with every query.",
        false => "Semantic: not now, because its embedding is not ready.",
    };
    let by_words = if words.is_empty() {
        "Keywords: none are in the index."
    } else {
        "Keywords, most distinctive first. A query with any form of one of these can find it."
    };
    view! {
        <p class="hint">{by_meaning}</p>
        <p class="hint">{by_words}</p>
        <ul class="words">
            {words
                .into_iter()
                .map(|word| {
                    view! {
                        <li>
                            <bdi>{word}</bdi>
                        </li>
                    }
                })
                .collect_view()}
        </ul>
    }
    .into_any()
}

/// What is known of the item's vector.
#[component]
pub fn Vector(embedding: ItemEmbedding) -> impl IntoView {
    let body = match embedding.state {
        EmbeddingState::Off => view! {
            <p class="hint">
                "Embedding has stopped: only keywords find it now. "
                <a href="/settings/embeddings">"Embeddings"</a> " shows why."
            </p>
        }
        .into_any(),
        EmbeddingState::Pending | EmbeddingState::Ready | EmbeddingState::Error => known(embedding),
    };
    view! {
        <section class="part" aria-labelledby="vector">
            <h2 id="vector">"Embedding"</h2>
            {body}
        </section>
    }
    .into_any()
}

fn known(embedding: ItemEmbedding) -> AnyView {
    let state = embedding.state;
    let mut facts: Vec<Fact> = vec![("State", view! { <EmbeddingMark state /> }.into_any())];
    if let Some(provider) = embedding.provider_type {
        facts.push(("Provider", provider_name(provider).into_any()));
    }
    if let Some(model) = embedding.model {
        facts.push(("Model", view! { <bdi>{model}</bdi> }.into_any()));
    }
    if let Some(dimensions) = embedding.dimensions {
        facts.push(("Dimensions", dimensions.into_any()));
    }
    if embedding.passages > 1 {
        let (ready, all) = (embedding.passages_ready, embedding.passages);
        let told = format!("{ready} of {all} embedded: a long text is embedded in passages");
        facts.push(("Passages", told.into_any()));
    }
    if let Some(updated) = embedding.updated_at {
        let term = match state {
            EmbeddingState::Ready => "Created",
            EmbeddingState::Pending => "Pending since",
            EmbeddingState::Error | EmbeddingState::Off => "Attempts",
        };
        facts.push((term, view! { <When at=updated /> }.into_any()));
    }
    let error = embedding.error.map(|error| {
        view! {
            <p class="error">{error}</p>
            <p class="hint">
                <a href="/settings/embeddings">"Embeddings"</a> " can retry it."
            </p>
        }
    });
    view! {
        <Facts facts />
        {error}
    }
    .into_any()
}
