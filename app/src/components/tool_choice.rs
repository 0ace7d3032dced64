//! Which tools an agent sees, and the buttons that change it. They work without
//! JavaScript, and change nothing of what the agent may do.

use leptos::prelude::*;

/// Each list, what it has, and the button that chooses it.
const LISTS: [(&str, &str, &str); 3] = [
    (
        "core",
        "Tools: core (5). Search, add, get, archive, list themes.",
        "Core tools",
    ),
    (
        "full",
        "Tools: all (13). Core, and correct, confirm, forget, stats, summary, entity, graph, files.",
        "All tools",
    ),
    (
        "single",
        "Tools: one (memory). Save, search, forget and list in one tool, for models that handle several tools badly.",
        "One tool",
    ),
];

#[component]
pub fn ToolChoice(
    /// Where the form is posted.
    path: String,
    profile: &'static str,
    /// Which agent, for those who do not see where the button stands.
    of: String,
) -> impl IntoView {
    let told = LISTS.iter().find(|(name, ..)| *name == profile);
    let told = told.map_or("", |(_, told, _)| told);
    let others = LISTS.iter().filter(|(name, ..)| *name != profile);
    let buttons = others.map(|(name, _, label)| {
        let of = of.clone();
        view! {
            <button type="submit" name="action" value=*name>
                {*label}
                <span class="visually-hidden">" for " {of}</span>
            </button>
        }
    });
    let buttons = buttons.collect_view();
    view! {
        <form class="switch" method="post" action=path>
            <span class="hint">{told}</span>
            {buttons}
        </form>
    }
    .into_any()
}
