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
                "This page does not refresh by itself. " <a href=path>"Refresh automatically"</a> "."
            </p>
        }
        .into_any()
    } else {
        view! {
            <meta http-equiv="refresh" content=format!("5; url={path}") />
            <p class="hint renewal">
                "This page refreshes while work is under way. "
                <a href=format!("{path}?hold=1")>"Stop refreshing"</a> " to change something."
            </p>
        }
        .into_any()
    };
    if islands_built { view! { <noscript>{offer}</noscript> }.into_any() } else { offer }
}
