//! What is like a memory, and what it is connected to.

pub mod load;

use leptos::prelude::*;

use super::lineage::Lineage;
use crate::components::{Marked, type_name};
use crate::view::{LineageView, RelatedRow, RelatedView};

#[component]
pub fn Related(related: Option<RelatedView>, lineage: LineageView) -> impl IntoView {
    if related.is_none() && lineage.nodes.len() < 2 {
        return ().into_any();
    }
    let alike = related.map(|related| match related.rows.is_empty() {
        true => view! { <p class="hint">"No other memory is like it."</p> }.into_any(),
        false => {
            let by_words = related.is_by_words.then(|| {
                view! { <p class="hint">"By words: its embedding is not ready, or embeddings are off."</p> }
            });
            view! {
                {by_words}
                <ol class="lines">{related.rows.into_iter().map(row).collect_view()}</ol>
            }
            .into_any()
        }
    });
    view! {
        <section class="part" aria-labelledby="related-title">
            <h2 id="related-title">"Related"</h2>
            {alike}
            <Lineage lineage />
        </section>
    }
    .into_any()
}

fn row(row: RelatedRow) -> AnyView {
    let theme = row.theme.map(|theme| view! { " · " <bdi>{theme}</bdi> });
    view! {
        <li>
            <a href=row.line.href dir="auto">
                <Marked text=row.line.text />
            </a>
            <span class="hint">{row.how} " · " {type_name(&row.item_type).to_owned()} {theme}</span>
        </li>
    }
    .into_any()
}
