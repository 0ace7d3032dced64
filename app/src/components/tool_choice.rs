//! Which tools an agent sees, and the button that changes it. It works without
//! JavaScript, and changes nothing of what the agent may do.

use leptos::prelude::*;

#[component]
pub fn ToolChoice(
    /// Where the form is posted.
    path: String,
    has_all: bool,
    /// Which agent, for those who do not see where the button stands.
    of: String,
) -> impl IntoView {
    let (told, action, label) = match has_all {
        true => (
            "Tools: all (13). The core, and correct, confirm, forget, stats, summary, entity, graph, files.",
            "core",
            "Core tools only",
        ),
        false => (
            "Tools: core (5). Search, add, get, archive, list themes.",
            "full",
            "All tools",
        ),
    };
    view! {
        <form class="switch" method="post" action=path>
            <span class="hint">{told}</span>
            <button type="submit" name="action" value=action>
                {label}
                <span class="visually-hidden">" for " {of}</span>
            </button>
        </form>
    }
    .into_any()
}
