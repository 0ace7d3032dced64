//! How much of one's room is used, and by what.

pub mod load;

use leptos::prelude::*;

use crate::components::{Progress, When};
use crate::view::StorageView;

#[component]
pub fn Storage(storage: StorageView) -> impl IntoView {
    let parts = storage
        .parts
        .into_iter()
        .map(|(label, size)| {
            view! {
                <div>
                    <dt>{label}</dt>
                    <dd class="number">{size}</dd>
                </div>
            }
        })
        .collect_view();
    let counted = match storage.counted {
        Some(moment) => view! { "Counted " <When at=moment /> "." }.into_any(),
        None => "It is counted in a moment.".into_any(),
    };
    view! {
        <section class="part" aria-labelledby="storage-title">
            <h2 id="storage-title">"Storage"</h2>
            <Progress
                label="Storage used".to_owned()
                done=storage.used
                failed=0
                total=storage.limit
                line=storage.line
            />
            <dl class="facts">{parts}</dl>
            <p class="hint">
                {counted}
                " Once it is full, nothing is added until you delete memories, sessions or documents; reading and exporting go on."
            </p>
        </section>
    }
    .into_any()
}
