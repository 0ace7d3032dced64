//! What a text was written from: links with whose word each is.

use leptos::prelude::*;

use super::{Marked, StateBadge};
use crate::consolidation::summary::SourceItem;
use crate::kinds::whose;

#[component]
pub fn SourceList(items: Vec<SourceItem>) -> impl IntoView {
    let rows = items.into_iter().map(|item| {
        let archived = (!item.is_active).then(|| view! { <StateBadge state="archived" /> });
        let beginning = match item.is_cut {
            true => format!("{}…", item.beginning.trim_end()),
            false => item.beginning,
        };
        view! {
            <li>
                <a href=format!("/memory/{}", item.id.0) dir="auto">
                    <Marked text=beginning />
                </a>
                <span class="source">{whose(item.trust)}</span>
                {archived}
            </li>
        }
    });
    view! { <ul>{rows.collect_view()}</ul> }.into_any()
}
