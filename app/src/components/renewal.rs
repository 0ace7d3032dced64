//! For browsers without scripts: a page that renews itself while work goes on.

use leptos::prelude::*;

use crate::shell::IslandsBuilt;

/// Where no island can look again, the page renews itself, but for somebody who
/// asks it to hold still (`?hold=1`): what is typed would be gone. Never right after a form.
#[component]
pub fn Renewal(path: String, is_held: bool) -> impl IntoView {
    let islands_built = use_context::<IslandsBuilt>().is_some_and(|built| built.0);
    let offer = if is_held {
        view! {
            <p class="hint renewal">
                "This page holds still. " <a href=path>"Follow the progress again"</a> "."
            </p>
        }
        .into_any()
    } else {
        view! {
            <meta http-equiv="refresh" content=format!("5; url={path}") />
            <p class="hint renewal">
                "This page renews itself while the work goes on. "
                <a href=format!("{path}?hold=1")>"Hold it still"</a> " to change something."
            </p>
        }
        .into_any()
    };
    if islands_built {
        view! { <noscript>{offer}</noscript> }.into_any()
    } else {
        offer
    }
}
