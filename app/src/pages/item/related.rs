//! What is like a memory, and what it is connected to.

use leptos::prelude::*;

use super::lineage::Connections;
use crate::components::{MarkedLink, type_name};
use crate::consolidation::lineage::Lineage;
use crate::memories::timeline::CHARS_MAX;
use crate::memories::with_key;
use crate::search::{Hit, Mode, ResultPage};
use crate::words::beginning;

#[component]
pub fn Related(related: Option<ResultPage>, lineage: Lineage) -> impl IntoView {
    if related.is_none() && lineage.nodes.len() < 2 {
        return ().into_any();
    }
    let alike = related.map(|related| match related.hits.is_empty() {
        true => view! { <p class="hint">"No other memory is like it."</p> }.into_any(),
        false => {
            let by_words = (related.mode == Mode::Fts).then(|| {
                view! { <p class="hint">"By words: its embedding is not ready, or embeddings are off."</p> }
            });
            view! {
                {by_words}
                <ol class="lines">{related.hits.into_iter().map(row).collect_view()}</ol>
            }
            .into_any()
        }
    });
    view! {
        <section class="part" aria-labelledby="related-title">
            <h2 id="related-title">"Related"</h2>
            {alike}
            <Connections lineage />
        </section>
    }
    .into_any()
}

fn row(hit: Hit) -> AnyView {
    let how = match hit.explanation.distance {
        Some(_) => likeness(hit.explanation.relevance),
        None => words_shared(hit.explanation.words_matched),
    };
    let text = with_key(hit.item.key.as_deref(), &hit.item.content);
    let text: String = text.chars().take(CHARS_MAX as usize).collect();
    let theme = hit.item.theme.map(|theme| view! { " · " <bdi>{theme}</bdi> });
    view! {
        <li>
            <MarkedLink href=format!("/memory/{}", hit.item.id) text=beginning(text, CHARS_MAX) />
            <span class="hint">{how} " · " {type_name(hit.item.item_type.as_str()).to_owned()} {theme}</span>
        </li>
    }
    .into_any()
}

/// In words and as a number, whichever model has embedded them.
fn likeness(relevance: f64) -> String {
    let words = match relevance {
        0.9.. => "almost the same",
        0.6.. => "very similar",
        0.3.. => "similar",
        _ => "slightly similar",
    };
    format!("{words} ({relevance:.2})")
}

fn words_shared(n: i64) -> String {
    match n {
        1 => "1 word in common".to_owned(),
        n => format!("{n} words in common"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_told_in_words() {
        let said = [0.951, 0.71, 0.5, 0.1].map(likeness);
        assert_eq!(
            said,
            [
                "almost the same (0.95)",
                "very similar (0.71)",
                "similar (0.50)",
                "slightly similar (0.10)",
            ]
        );
        assert_eq!([1, 3].map(words_shared), ["1 word in common", "3 words in common"]);
    }
}
