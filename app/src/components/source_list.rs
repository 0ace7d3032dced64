//! What a text was written from: links with whose word each is.

use leptos::prelude::*;

use super::{Marked, StateBadge};
use crate::view::SourceItem;

#[component]
pub fn SourceList(items: Vec<SourceItem>) -> impl IntoView {
    let rows = items.into_iter().map(|item| {
        let archived = (!item.is_active).then(|| view! { <StateBadge state="archived" /> });
        view! {
            <li>
                <a href=format!("/memory/{}", item.id) dir="auto">
                    <Marked text=item.beginning />
                </a>
                <span class="source">{item.word}</span>
                {archived}
            </li>
        }
    });
    view! { <ul>{rows.collect_view()}</ul> }.into_any()
}
